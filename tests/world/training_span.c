/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* training_span.c - the next span of a job: who enters which collective when, and how long that takes */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "tests/world/training_model.h"

/* Each of 2 (n - 1) steps of a ring takes that longer than its bytes. */
static const double STEP_LATENCY_S = 6e-6;

/* What a host sends to the next one in a turn of a ring, and how many of these a receiver has buffers for. */
static const double RING_CHUNK = 1 << 20;
enum { RING_SLOTS = 8 };

/* What a host sends to its switch before the switch has data of all others. */
static const double SHARP_WINDOW = 64 << 10;

double model_noise(const struct model_job *job, const struct span *span, uint32_t index)
{
	uint64_t bits = model_mix(job->seed ^ span->number << 20, index);
	double ret = 1 + job->is.noise * model_normal(bits);

	if (ret < 0.5)
		ret = 0.5;
	/* A pause of the process, about once in 65,536 iterations of a host. */
	if ((bits * 0xd6e8feb86659fd93u) >> 48 == 0)
		ret += 0.02 + 0.3 * (double)(bits >> 40 & 0xff) / 255;
	ret *= job->speed[index];
	if (span->faulty && job->fault->kind == TRAINING_SLOW_HOST && index == job->fault_index)
		ret *= job->fault->factor;
	return ret;
}

double model_ahead(const struct model_job *job, const struct span *span, uint32_t index, double bytes)
{
	uint32_t count = job->is.host_count, distance;
	double ret;

	if (index == span->late)
		return 0;
	if (job->is.kind == TRAINING_SHARP)
		return fmin(SHARP_WINDOW, bytes / 4);
	distance = (index + count - span->late) % count;
	ret = distance < RING_SLOTS * (count - distance) ? distance : RING_SLOTS * (count - distance);
	return fmin(ret * RING_CHUNK, bytes / 4);
}

double model_ready(const struct model_job *job, const struct span *span, unsigned bucket, double noise)
{
	double forward = 1.0 / 3, previous;

	if (job->is.overlapped)
		return span->begin_s +
		       span->compute_s * noise * (forward + (1 - forward) * (bucket + 1) / span->buckets);
	/* Layers backwards take twice as long as forwards. */
	previous = bucket ? span->done_s[bucket - 1] : span->begin_s;
	forward = span->compute_s / (span->buckets / 2 + 2 * (span->buckets - span->buckets / 2));
	return previous + forward * (bucket < span->buckets / 2 ? 1 : 2) * noise;
}

/* Traffic of any member from @first to @last; pauses in the training itself count. */
static void traffic(struct model_job *job, double first, double last)
{
	if (job->steps_before + job->steps_since >= 1 && first - job->last_traffic_s > job->pause_s)
		job->pause_s = first - job->last_traffic_s;
	if (last > job->last_traffic_s)
		job->last_traffic_s = last;
}

static bool stops(const struct model_job *job)
{
	return job->fault && (job->fault->kind == TRAINING_PROCESS_STOPS || job->fault->kind == TRAINING_HCA_STOPS ||
			      job->fault->kind == TRAINING_LEAF_STOPS);
}

static uint8_t stopped_rails(const struct training *world, const struct model_job *job)
{
	if (job->fault->kind == TRAINING_PROCESS_STOPS)
		return (uint8_t)((1u << world->shape.rails) - 1);
	return (uint8_t)(1u << job->fault->rail);
}

/* Nothing after the stop at @stop_s: the bucket is the last one that is begun, and does not end. */
static void stop(struct training *world, struct model_job *job, struct span *span, unsigned bucket, double last_s)
{
	span->stop_bucket = bucket;
	span->stop_rails = stopped_rails(world, job);
	span->stop_s = job->fault_s;
	span->late = job->fault_index;
	span->end_s = INFINITY;
	for (unsigned k = bucket; k < span->buckets; k++)
		span->done_s[k] = INFINITY;
	for (unsigned k = bucket + 1; k < span->buckets; k++)
		span->start_s[k] = INFINITY;
	job->stopped_s = fmax(job->last_traffic_s, last_s);
	job->wait_from_s = job->stopped_s;
}

/* Duration of a transfer at a rate. */
static double duration(const struct training *world, const struct model_job *job, double bytes, double rate)
{
	return bytes / (rate * world->shape.link_bytes_per_s) + 2 * (job->is.host_count - 1) * STEP_LATENCY_S;
}

static void collectives(struct training *world, struct model_job *job, struct span *span)
{
	double most = 0, second = 0, least = INFINITY, noise, fault_noise = 0, end = span->begin_s, bytes;
	uint8_t rails = stops(job) ? stopped_rails(world, job) : 0;
	bool process = job->fault && job->fault->kind == TRAINING_PROCESS_STOPS;

	for (uint32_t i = 0; i < job->is.host_count; i++) {
		noise = model_noise(job, span, i);
		if (i == job->fault_index)
			fault_noise = noise;
		if (noise > most) {
			second = most;
			most = noise;
			span->late = i;
		} else if (noise > second) {
			second = noise;
		}
		if (noise < least)
			least = noise;
	}
	bytes = job->is.step_bytes * span->volume / span->buckets;
	for (unsigned k = 0; k < span->buckets; k++) {
		double previous = k ? span->done_s[k - 1] : span->begin_s;
		double ready = fmax(previous, model_ready(job, span, k, most));
		double almost = fmax(previous, model_ready(job, span, k, second));
		double first = fmax(previous, model_ready(job, span, k, least));

		model_rates(world, job, ready, span->rate[k], &span->uplink_limits[k]);
		if (process && model_ready(job, span, k, fault_noise) > job->fault_s) {
			/* It never enters; the others wait for it. */
			if (span->late == job->fault_index)
				ready = almost;
			span->start_s[k] = INFINITY;
			if (job->is.kind == TRAINING_ALLTOALL)
				ready += duration(world, job, bytes, 1);
			stop(world, job, span, k, fmax(ready, first));
			return;
		}
		span->start_s[k] = ready;
		span->done_s[k] = ready;
		for (unsigned r = 0; r < world->shape.rails; r++)
			span->done_s[k] = fmax(span->done_s[k],
					       ready + duration(world, job, bytes, span->rate[k][r]));
		if (rails && span->done_s[k] > job->fault_s) {
			double last = fmax(job->fault_s, ready);

			if (job->is.kind == TRAINING_ALLTOALL)
				last = fmax(last, ready + duration(world, job, bytes, 1));
			/* Other rails complete what they began. */
			if (!process)
				for (unsigned r = 0; r < world->shape.rails; r++)
					if (!(rails >> r & 1))
						last = fmax(last, ready + duration(world, job, bytes,
										   span->rate[k][r]));
			stop(world, job, span, k, last);
			return;
		}
		traffic(job, first, fmin(almost, ready));
		traffic(job, ready, span->done_s[k]);
		end = span->done_s[k];
	}
	/* An optimizer's step follows, and the end of the computation where no bucket waits for it. */
	span->end_s = fmax(end, span->begin_s + (job->is.overlapped ? span->compute_s * most : 0)) +
		      0.02 * span->compute_s;
}

/* Micro-batches of one replica, forwards and backwards. */
static void micro_batches(struct training *world, struct model_job *job, struct span *span, uint32_t replica)
{
	unsigned stages = job->is.stages, count = job->is.micro_batches;
	double send = job->is.micro_bytes / world->shape.link_bytes_per_s;
	double *arrived = job->scratch, stop_s = stops(job) ? job->fault_s : INFINITY;
	uint32_t first = replica * stages;

	for (unsigned m = 0; m < count; m++)
		arrived[m] = span->begin_s;
	for (unsigned pass = 0; pass < 2; pass++) {
		double time = span->compute_s * (pass ? 2.0 : 1.0) / 3 / count;

		for (unsigned n = 0; n < stages; n++) {
			uint32_t i = first + (pass ? stages - 1 - n : n);
			struct pipeline_host *host = &span->hosts[i];
			double noise = model_noise(job, span, i), busy = 0, begin = INFINITY, last = INFINITY;
			unsigned done = 0;

			for (unsigned m = 0; m < count; m++) {
				busy = fmax(busy, arrived[m]) + time * noise;
				if (i == job->fault_index && busy > stop_s)
					busy = INFINITY;
				arrived[m] = busy + send;
				if (isinf(busy))
					continue;
				if (!done++)
					begin = busy - span->begin_s;
				last = busy - span->begin_s;
			}
			(pass ? host->backward : host->forward)[0] = (float)begin;
			(pass ? host->backward : host->forward)[1] = (float)last;
			*(pass ? &host->backward_share : &host->forward_share) = (float)done / (float)count;
		}
		/* The last stage begins backwards when it has all micro-batches. */
		for (unsigned m = 0; !pass && m < count; m++)
			arrived[m] = arrived[count - 1];
	}
}

static void pipeline(struct training *world, struct model_job *job, struct span *span)
{
	unsigned stages = job->is.stages;
	uint32_t replicas = job->is.host_count / stages;
	double first = INFINITY, last = span->begin_s, end = span->begin_s;
	double bytes = job->is.step_bytes * span->volume;
	bool stopped = false;

	for (uint32_t replica = 0; replica < replicas; replica++)
		micro_batches(world, job, span, replica);
	span->start_s[0] = INFINITY;
	for (unsigned stage = 0; stage < stages; stage++) {
		double ready = 0, done;
		uint32_t late = stage;
		bool own = stops(job) && job->fault_index % stages == stage;

		for (uint32_t i = stage; i < job->is.host_count; i += stages) {
			const struct pipeline_host *host = &span->hosts[i];
			double at = host->backward_share < 1 ? INFINITY : span->begin_s + (double)host->backward[1];

			first = fmin(first, span->begin_s + (double)host->forward[0]);
			if (!isinf(host->forward[1]))
				last = fmax(last, span->begin_s + (double)host->forward[1]);
			if (!isinf(host->backward[1]))
				last = fmax(last, span->begin_s + (double)host->backward[1]);
			if (at > ready) {
				ready = at;
				late = i;
			}
		}
		if (stage == 0)
			model_rates(world, job, isinf(ready) ? last : ready, span->rate[0], &span->uplink_limits[0]);
		if (own && ready > job->fault_s)
			ready = INFINITY;
		done = ready;
		for (unsigned r = 0; r < world->shape.rails; r++)
			done = fmax(done, ready + duration(world, job, bytes, span->rate[0][r]));
		if (own && done > job->fault_s && !isinf(ready)) {
			/* The all-reduce of the stage stands still. */
			stopped = true;
			late = job->fault_index;
			last = fmax(last, job->fault_s);
		} else if (!isinf(done)) {
			last = fmax(last, done);
		}
		for (uint32_t i = stage; i < job->is.host_count; i += stages) {
			uint32_t distance = (i + job->is.host_count - late) % job->is.host_count / stages;
			double ahead = distance < RING_SLOTS * (replicas - distance) ?
					       distance : RING_SLOTS * (replicas - distance);

			span->hosts[i].ring_s = (float)(ready - span->begin_s);
			span->hosts[i].ahead = (float)(distance ? fmin(ahead * RING_CHUNK, bytes / 4) : 0);
		}
		span->start_s[0] = fmin(span->start_s[0], ready);
		end = fmax(end, done);
	}
	if (stopped || isinf(end)) {
		span->done_s[0] = INFINITY;
		stop(world, job, span, 0, fmax(last, job->fault_s));
		return;
	}
	traffic(job, first, last);
	span->done_s[0] = end;
	span->end_s = end + 0.02 * span->compute_s;
}

static void step(struct training *world, struct model_job *job, struct span *span, bool eval)
{
	double common = 1 + job->is.common_noise * model_normal(model_mix(job->seed ^ 0x5eed, span->number));
	double length;

	span->kind = eval ? SPAN_EVAL : SPAN_STEP;
	span->volume = eval ? 0.002 : 1;
	span->compute_s = job->is.compute_s * common * (eval ? 0.35 : 1);
	if (job->prologue == 2) {
		span->compute_s += job->is.compile_s;
		job->prologue = 3;
	}
	span->buckets = eval || job->is.kind == TRAINING_PIPELINE ? 1 : job->is.buckets;
	span->stop_bucket = UINT32_MAX;
	span->faulty = job->fault && span->begin_s >= job->fault_s;
	if (job->is.kind == TRAINING_PIPELINE)
		pipeline(world, job, span);
	else
		collectives(world, job, span);
	length = span->end_s - span->begin_s;
	if (eval || isinf(length) || job->prologue < 4) {
		job->prologue = job->prologue < 4 ? 4 : job->prologue;
		return;
	}
	if (!(span->end_s > job->fault_s)) {
		job->steps_before++;
		job->sum_before += length;
		job->squares_before += length * length;
	} else if (span->begin_s >= job->fault_s) {
		double mean = job->sum_before / (double)job->steps_before, excess, spread, hidden;

		job->steps_since++;
		job->sum_since += length;
		spread = sqrt(fmax(0, job->squares_before / (double)job->steps_before - mean * mean));
		excess = job->sum_since / (double)job->steps_since - mean;
		hidden = fmin(job->fault->resolution_s, mean * (1 - job->wire_share_sum / (double)job->steps_before));
		if (isinf(job->known_s) && job->steps_since >= 3 && excess >= 0.03 * mean &&
		    excess >= 4 * spread / sqrt((double)job->steps_since) &&
		    excess * (double)job->steps_since >= hidden)
			job->known_s = span->end_s;
	}
}

/* What the span adds to the sums at its end. */
static void sum_up(const struct training *world, struct model_job *job, const struct span *span, struct span *next)
{
	double wire = 0;

	if (isinf(span->end_s))
		return;
	next->steps += span->kind == SPAN_STEP || span->kind == SPAN_EVAL ? span->volume : 0;
	next->loads += span->kind == SPAN_LOAD;
	next->checkpoints += span->kind == SPAN_CHECKPOINT;
	if (span->kind != SPAN_STEP && span->kind != SPAN_EVAL)
		return;
	for (unsigned k = 0; k < span->buckets; k++) {
		double bytes = job->is.step_bytes * span->volume / span->buckets;

		for (unsigned r = 0; r < world->shape.rails; r++) {
			double waits = duration(world, job, bytes, span->rate[k][r]) - duration(world, job, bytes, 1);

			if (span->uplink_limits[k] >> r & 1)
				next->wait_s[r] += waits;
			else
				next->slow_s += waits;
		}
		wire += span->done_s[k] - span->start_s[k];
	}
	next->wire_s += wire;
	if (span->kind == SPAN_STEP) {
		double share = wire / (span->end_s - span->begin_s);

		job->duty = job->duty > 0 ? 0.8 * job->duty + 0.2 * share : share;
		if (!(span->end_s > job->fault_s))
			job->wire_share_sum += share;
	}
}

static bool grow(struct model_job *job)
{
	size_t capacity = job->capacity ? job->capacity * 2 : 64;
	struct span *spans = calloc(capacity, sizeof(*spans));
	struct pipeline_host *hosts = NULL;

	if (job->is.kind == TRAINING_PIPELINE)
		hosts = calloc(capacity * job->is.host_count, sizeof(*hosts));
	if (!spans || (job->is.kind == TRAINING_PIPELINE && !hosts)) {
		free(spans);
		free(hosts);
		return false;
	}
	for (size_t i = 0; i < job->count; i++) {
		spans[i] = job->spans[(job->first + i) % job->capacity];
		if (!hosts)
			continue;
		memcpy(hosts + i * job->is.host_count, spans[i].hosts, job->is.host_count * sizeof(*hosts));
		spans[i].hosts = hosts + i * job->is.host_count;
	}
	free(job->spans);
	free(job->pipeline_hosts);
	job->spans = spans;
	job->pipeline_hosts = hosts;
	job->capacity = capacity;
	job->hint = job->first = 0;
	return true;
}

const struct span *model_span_at(struct model_job *job, double job_s)
{
	size_t i = job->hint;

	if (i >= job->count)
		i = job->count - 1;
	while (i > 0 && job->spans[(job->first + i) % job->capacity].begin_s > job_s)
		i--;
	while (i + 1 < job->count && job->spans[(job->first + i + 1) % job->capacity].begin_s <= job_s)
		i++;
	job->hint = i;
	return &job->spans[(job->first + i) % job->capacity];
}

static void checkpoint(struct model_job *job, struct span *span)
{
	double last = span->begin_s;

	span->kind = SPAN_CHECKPOINT;
	span->end_s = span->begin_s +
		      job->is.checkpoint_s * (1 + 0.1 * model_normal(model_mix(job->seed ^ 0xc4ec, span->number)));
	span->stop_s = INFINITY;
	if (stops(job) && job->fault_s < span->end_s) {
		/* The others wait for its end. */
		if (job->is.checkpoint_hosts)
			last = span->begin_s + 0.85 * (span->end_s - span->begin_s);
		span->compute_s = span->end_s - span->begin_s;
		span->late = job->fault_index;
		span->stop_rails = 0xff;
		span->stop_s = job->fault_s;
		span->end_s = INFINITY;
		job->stopped_s = fmax(job->last_traffic_s, last);
		job->wait_from_s = job->stopped_s;
		return;
	}
	span->compute_s = span->end_s - span->begin_s;
	if (job->is.checkpoint_hosts)
		traffic(job, span->begin_s, span->begin_s + 0.85 * span->compute_s);
}

bool model_job_advance(struct training *world, struct model_job *job, double horizon_s)
{
	struct span *span, last = {.end_s = job->now_s};
	struct pipeline_host *hosts;

	/* The span in which a job is killed remains, for its counters at that time. */
	horizon_s = model_job_time(job, fmin(horizon_s, (double)job->is.end_us / 1e6));
	while (job->count > 1 && job->spans[(job->first + 1) % job->capacity].begin_s < horizon_s) {
		job->first = (job->first + 1) % job->capacity;
		job->count--;
		job->hint -= job->hint > 0;
	}
	if (job->count == job->capacity && !grow(job))
		return false;
	if (job->count)
		last = job->spans[(job->first + job->count - 1) % job->capacity];
	span = &job->spans[(job->first + job->count) % job->capacity];
	hosts = job->pipeline_hosts ?
			job->pipeline_hosts + (job->first + job->count) % job->capacity * job->is.host_count : NULL;
	*span = (struct span){.begin_s = job->now_s, .number = job->number++, .hosts = hosts, .steps = last.steps,
			      .loads = last.loads, .checkpoints = last.checkpoints, .wire_s = last.wire_s,
			      .slow_s = last.slow_s};
	memcpy(span->wait_s, last.wait_s, sizeof(span->wait_s));
	if (job->count)
		sum_up(world, job, &last, span);
	job->count++;
	span->end_s = span->begin_s;
	if (job->prologue == 0) {
		span->end_s += job->is.start_s;
		job->prologue = 1;
	} else if (job->prologue == 1) {
		span->kind = SPAN_LOAD;
		span->end_s += job->is.load_s;
		job->prologue = 2;
		job->next_checkpoint_s = span->end_s + job->is.checkpoint_every_s;
		job->next_eval_s = span->end_s + job->is.eval_every_s;
	} else if (model_world_time(job, job->now_s) * 1e6 >= fmin((double)job->is.stop_us, (double)job->is.end_us)) {
		span->end_s = INFINITY;
	} else if (job->now_s >= job->next_checkpoint_s) {
		job->next_checkpoint_s = job->now_s + job->is.checkpoint_every_s;
		checkpoint(job, span);
	} else if (job->now_s >= job->next_eval_s) {
		job->eval_until_s = job->now_s + job->is.eval_s;
		job->next_eval_s = job->now_s + job->is.eval_every_s;
		step(world, job, span, true);
	} else {
		step(world, job, span, job->now_s < job->eval_until_s);
	}
	job->now_s = span->end_s;
	job->finished = isinf(span->end_s);
	return true;
}
