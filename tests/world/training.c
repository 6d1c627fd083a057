/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* training.c - counters of the members of simulated training jobs */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "tests/world/training_model.h"

static const double HISTORY_S = 600;

/* After an HCA has stopped, its switch port waits until the switch discards packets; then for each repetition. */
static const double STOP_WAIT_S = 2, RETRY_S = 4.3, RETRY_WAIT_S = 0.27;
enum { RETRIES = 7 };

/* Share of a transfer's time in which a sender waits anyway, and a switch port in an all-to-all. */
static const double USUAL_WAIT = 0.01, INCAST_WAIT = 0.05;

struct training *training_create(const struct training_shape *shape)
{
	struct training *world = calloc(1, sizeof(*world));

	if (!world)
		return NULL;
	world->shape = *shape;
	world->skew_s = INFINITY;
	world->hosts = calloc(shape->hosts, sizeof(*world->hosts));
	if (!world->hosts) {
		free(world);
		return NULL;
	}
	return world;
}

void training_destroy(struct training *world)
{
	if (!world)
		return;
	for (uint32_t i = 0; i < world->job_count; i++) {
		struct model_job *job = &world->jobs[i];

		free(job->hosts);
		free(job->speed);
		free(job->spans);
		free(job->pipeline_hosts);
		free(job->scratch);
		model_routes_done(&job->routes[0]);
		model_routes_done(&job->routes[1]);
	}
	for (uint32_t i = 0; i < world->shape.hosts; i++)
		free(world->hosts[i].jobs);
	for (unsigned i = 0; i < world->fault_count; i++)
		free(world->faults[i]);
	free(world->faults);
	free(world->jobs);
	free(world->hosts);
	free(world);
}

/* A job on the list of its host. */
static bool host_add(struct model_host *host, uint32_t job, uint32_t index)
{
	struct host_job *larger = realloc(host->jobs, (host->count + 1) * sizeof(*larger));

	if (!larger)
		return false;
	host->jobs = larger;
	larger[host->count++] = (struct host_job){job, index};
	return true;
}

uint32_t training_add(struct training *world, const struct training_job *is)
{
	struct model_job *larger = realloc(world->jobs, (world->job_count + 1) * sizeof(*larger)), *job;
	uint32_t number = world->job_count;

	if (!larger)
		return TRAINING_NO_JOB;
	world->jobs = larger;
	job = &larger[number];
	*job = (struct model_job){.is = *is, .seed = model_mix(world->shape.seed, number + 1), .fault_s = INFINITY,
				  .fault_index = UINT32_MAX, .wait_from_s = INFINITY, .known_s = INFINITY,
				  .now_s = (double)is->begin_us / 1e6, .next_checkpoint_s = INFINITY,
				  .next_eval_s = INFINITY};
	job->hosts = malloc(is->host_count * sizeof(*job->hosts));
	job->speed = malloc(is->host_count * sizeof(*job->speed));
	job->scratch = malloc((is->micro_batches + 1) * sizeof(*job->scratch));
	if (!job->hosts || !job->speed || !job->scratch) {
		free(job->hosts);
		free(job->speed);
		free(job->scratch);
		return TRAINING_NO_JOB;
	}
	memcpy(job->hosts, is->hosts, is->host_count * sizeof(*job->hosts));
	job->is.hosts = job->hosts;
	for (uint32_t i = 0; i < is->host_count; i++)
		job->speed[i] = (float)(1 + 0.005 * model_normal(model_mix(world->shape.seed ^ 0xbeef, is->hosts[i])));
	world->job_count++;
	world->routes_known = false;
	for (uint32_t i = 0; i < is->host_count; i++)
		if (!host_add(&world->hosts[is->hosts[i]], number, i))
			return TRAINING_NO_JOB;
	return number;
}

void training_break(struct training *world, const struct training_fault *fault)
{
	struct training_fault **larger = realloc(world->faults, (world->fault_count + 1) * sizeof(*larger));
	struct training_fault *copy = malloc(sizeof(*copy));
	struct model_job *job = &world->jobs[fault->job];

	if (larger)
		world->faults = larger;
	if (!larger || !copy)
		abort();
	*copy = *fault;
	larger[world->fault_count++] = copy;
	job->fault = copy;
	job->fault_s = model_job_time(job, (double)fault->at_us / 1e6);
	for (uint32_t i = 0; i < job->is.host_count; i++)
		if (job->hosts[i] == fault->host)
			job->fault_index = i;
	if (fault->kind == TRAINING_SKEWED_ROUTES) {
		world->skew_s = (double)fault->at_us / 1e6;
		world->skew_leaf = fault->host / world->shape.hosts_per_leaf;
		world->skew_rail = fault->rail;
		world->routes_known = false;
	}
}

double model_job_time(const struct model_job *job, double world_s)
{
	double suspend = (double)job->is.suspend_us / 1e6, resume = (double)job->is.resume_us / 1e6;

	if (!job->is.suspend_us || world_s <= suspend)
		return world_s;
	return world_s < resume ? suspend : world_s - (resume - suspend);
}

double model_world_time(const struct model_job *job, double job_s)
{
	double suspend = (double)job->is.suspend_us / 1e6, resume = (double)job->is.resume_us / 1e6;

	return !job->is.suspend_us || job_s < suspend ? job_s : job_s + (resume - suspend);
}

/* Share of [from, from + length) that has passed. */
static double passed(double now, double from, double length)
{
	if (!(now > from))
		return 0;
	return now - from < length ? (now - from) / length : 1;
}

static double transfer_s(const struct training *world, double bytes, double rate)
{
	return bytes / (rate * world->shape.link_bytes_per_s);
}

/* Bytes of a pipeline to the next and previous stage. */
static double sent_forward(const struct model_job *job, const struct span *span, uint32_t i, double at)
{
	const struct pipeline_host *host = &span->hosts[i];
	double first = (double)host->forward[0], last = (double)host->forward[1];

	if (isinf(first) || i % job->is.stages == job->is.stages - 1)
		return 0;
	return job->is.micro_bytes * job->is.micro_batches * (double)host->forward_share * span->volume *
	       passed(at - span->begin_s, first, fmax(last - first, 1e-3));
}

static double sent_backward(const struct model_job *job, const struct span *span, uint32_t i, double at)
{
	const struct pipeline_host *host = &span->hosts[i];
	double first = (double)host->backward[0], last = (double)host->backward[1];

	if (isinf(first) || i % job->is.stages == 0)
		return 0;
	return job->is.micro_bytes * job->is.micro_batches * (double)host->backward_share * span->volume *
	       passed(at - span->begin_s, first, fmax(last - first, 1e-3));
}

/* In the collectives of a span. @received: what the host receives of SHARP */
static double sent_collective(const struct training *world, const struct model_job *job, const struct span *span,
			      uint32_t i, unsigned rail, double at, bool received)
{
	bool pipeline = job->is.kind == TRAINING_PIPELINE, all = job->is.kind == TRAINING_ALLTOALL;
	double bytes = job->is.step_bytes * span->volume / span->buckets, noise = 0, sum = 0;

	if (!pipeline)
		noise = model_noise(job, span, i);
	for (unsigned k = 0; k < span->buckets && k <= span->stop_bucket; k++) {
		double length = transfer_s(world, bytes, (double)span->rate[k][rail]), now = at, from, ready;
		double start = span->start_s[k], early, ahead;
		bool stopped = k == span->stop_bucket && span->stop_rails >> rail & 1;
		bool member = i == job->fault_index; /* the one that stops */

		if (at >= span->done_s[k]) {
			sum += bytes;
			continue;
		}
		if (pipeline) {
			ready = span->hosts[i].backward_share < 1 ? (double)INFINITY :
				span->begin_s + (double)span->hosts[i].backward[1];
			start = span->begin_s + (double)span->hosts[i].ring_s;
			stopped = stopped && i % job->is.stages == job->fault_index % job->is.stages;
		} else {
			ready = model_ready(job, span, k, noise);
			if (k)
				ready = fmax(ready, span->done_s[k - 1]);
		}
		from = start;
		if (stopped) {
			if (start < span->stop_s)
				now = fmin(at, span->stop_s);
			else
				from = INFINITY;
		}
		if (stopped && isinf(from) && member)
			return sum;
		if (all) {
			/* To and from the hosts that are there, and then those that were late. */
			early = bytes * (job->is.host_count - 2) / (job->is.host_count - 1);
			if (i == span->late)
				return sum + bytes * passed(now, from, length);
			return sum + early * passed(stopped && member ? now : at, ready, length) +
			       (bytes - early) * passed(now, from, length);
		}
		ahead = received && job->is.kind == TRAINING_SHARP ? 0 :
			pipeline ? (double)span->hosts[i].ahead : model_ahead(job, span, i, bytes);
		if (stopped && !isinf(from) && at >= span->stop_s) {
			/* What was on its way between those behind the one that stopped. */
			early = bytes * passed(now, from, length);
			return sum + early + (member ? 0 : fmin(ahead, bytes - early));
		}
		if (!(from > ready + 1e-6))
			ahead = 0;
		return sum + (at >= ready ? ahead : 0) + (bytes - ahead) * passed(now, from, length);
	}
	return sum;
}

static double wire_s(const struct span *span, double at)
{
	double sum = span->wire_s;

	if (span->kind != SPAN_STEP && span->kind != SPAN_EVAL)
		return sum;
	for (unsigned k = 0; k < span->buckets && span->start_s[k] < at; k++) {
		double end = fmin(span->done_s[k], at);

		if (isinf(span->done_s[k]))
			end = fmin(fmax(span->start_s[k], span->stop_s), at);
		sum += end - span->start_s[k];
	}
	return sum;
}

/* The time that senders of a rail have waited because uplinks, or (@slow) a slow link, limited them. */
static double limited_s(const struct training *world, const struct model_job *job, const struct span *span,
			unsigned rail, bool slow, double at)
{
	double sum = slow ? span->slow_s : span->wait_s[rail];
	double bytes = job->is.step_bytes * span->volume / (span->buckets ? span->buckets : 1);

	if (span->kind != SPAN_STEP && span->kind != SPAN_EVAL)
		return sum;
	for (unsigned k = 0; k < span->buckets && span->start_s[k] < at; k++) {
		double full = transfer_s(world, bytes, 1);
		double length = transfer_s(world, bytes, (double)span->rate[k][rail]);
		double until = isinf(span->done_s[k]) ? fmin(at, span->stop_s) : at;

		if (slow == !(span->uplink_limits[k] >> rail & 1))
			sum += (length - full) * passed(until, span->start_s[k], length);
	}
	return sum;
}

static double storage(const struct model_job *job, const struct span *span, uint32_t i, double at)
{
	double part = 0.7 + 0.3 * model_uniform(job->seed ^ span->number, i);

	if (span->kind == SPAN_LOAD)
		return job->is.load_bytes * passed(at, span->begin_s, part * job->is.load_s);
	if (i >= job->is.checkpoint_hosts)
		return 0;
	if (i == job->fault_index)
		at = fmin(at, span->stop_s);
	return job->is.checkpoint_bytes * passed(at, span->begin_s, 0.85 * part * span->compute_s);
}

/* Of a member in a job. */
static void job_counters(const struct training *world, struct model_job *job, uint32_t i, unsigned rail, double at,
			 struct training_counters *ret)
{
	const struct span *span = model_span_at(job, at);
	bool pipeline = job->is.kind == TRAINING_PIPELINE;
	uint32_t count = job->is.host_count, stages = pipeline ? job->is.stages : 1;
	uint32_t previous = (i + count - stages) % count;
	double micro = pipeline ? job->is.micro_bytes * job->is.micro_batches : 0, wire = wire_s(span, at);
	bool is_first = i % stages == 0, is_last = i % stages == stages - 1;

	ret->xmit_bytes += span->steps * (job->is.step_bytes + (is_last ? 0 : micro) + (is_first ? 0 : micro));
	ret->rcv_bytes += span->steps * (job->is.step_bytes + (is_last ? 0 : micro) + (is_first ? 0 : micro)) +
			  span->loads * job->is.load_bytes;
	if (i < job->is.checkpoint_hosts)
		ret->xmit_bytes += span->checkpoints * job->is.checkpoint_bytes;
	if (span->kind == SPAN_LOAD) {
		ret->rcv_bytes += storage(job, span, i, at);
	} else if (span->kind == SPAN_CHECKPOINT) {
		ret->xmit_bytes += storage(job, span, i, at);
	} else if (span->kind != SPAN_QUIET) {
		ret->xmit_bytes += sent_collective(world, job, span, i, rail, at, false);
		if (job->is.kind == TRAINING_ALLTOALL || job->is.kind == TRAINING_SHARP)
			ret->rcv_bytes += sent_collective(world, job, span, i, rail, at, true);
		else
			ret->rcv_bytes += sent_collective(world, job, span, previous, rail, at, true);
		if (pipeline) {
			ret->xmit_bytes += sent_forward(job, span, i, at) + sent_backward(job, span, i, at);
			ret->rcv_bytes += is_first ? 0 : sent_forward(job, span, i - 1, at);
			ret->rcv_bytes += is_last ? 0 : sent_backward(job, span, i + 1, at);
		}
	}
	ret->wait_own_s += USUAL_WAIT * wire * (0.5 + model_uniform(job->seed, i));
	if (job->routes[at >= world->skew_s].crossing[i] >> rail & 1)
		ret->wait_own_s += limited_s(world, job, span, rail, false, at);
	if (job->fault && job->fault->kind == TRAINING_SLOW_RAIL && rail == job->fault->rail) {
		if (job->is.kind == TRAINING_ALLTOALL)
			ret->wait_own_s += 0.3 * limited_s(world, job, span, rail, true, at);
		else if ((i + stages) % count == job->fault_index)
			ret->wait_own_s += limited_s(world, job, span, rail, true, at);
	}
	if (job->is.kind == TRAINING_ALLTOALL)
		ret->wait_to_s += INCAST_WAIT * wire;
	if (job->fault && job->fault->kind == TRAINING_HCA_STOPS && i == job->fault_index && rail == job->fault->rail &&
	    at > job->wait_from_s) {
		double since = at - job->wait_from_s;

		ret->wait_to_s += fmin(since, STOP_WAIT_S);
		for (unsigned n = 1; n <= RETRIES; n++)
			ret->wait_to_s += RETRY_WAIT_S *
					  passed(since, STOP_WAIT_S + RETRY_S * n, RETRY_WAIT_S);
	}
}

/* Management, monitoring and what hosts send besides: a little all the time, and now and then more. */
static void background(const struct training *world, uint32_t host, unsigned rail, double at,
		       struct training_counters *ret)
{
	uint64_t bits = model_mix(world->shape.seed ^ 0xabcd, host * 16 + rail);
	double rate = 200 + (double)(bits & 0xfff), period = 20 + (double)(bits >> 12 & 0x7f);

	ret->xmit_bytes += rate * at;
	ret->rcv_bytes += rate * at;
	if (rail == 0)
		ret->xmit_bytes += floor(at / period + (double)(bits >> 20 & 0xff) / 256) *
				   (20e3 + 2e3 * (double)(bits >> 28 & 0xff));
}

static double unreadable_from(const struct training *world, uint32_t member)
{
	uint32_t host = member / world->shape.rails;
	unsigned rail = member % world->shape.rails;

	for (unsigned i = 0; i < world->fault_count; i++) {
		const struct training_fault *fault = world->faults[i];

		if (fault->rail != rail)
			continue;
		if ((fault->kind == TRAINING_HCA_STOPS && fault->unreadable && fault->host == host) ||
		    (fault->kind == TRAINING_LEAF_STOPS &&
		     fault->host / world->shape.hosts_per_leaf == host / world->shape.hosts_per_leaf))
			return (double)fault->at_us / 1e6;
	}
	return INFINITY;
}

bool training_readable(const struct training *world, uint32_t member, int64_t at_us)
{
	return (double)at_us / 1e6 < unreadable_from(world, member);
}

void training_counters(struct training *world, uint32_t member, int64_t at_us, struct training_counters *ret)
{
	uint32_t number = member / world->shape.rails;
	unsigned rail = member % world->shape.rails;
	const struct model_host *host = &world->hosts[number];
	double at = fmin((double)at_us / 1e6, unreadable_from(world, member));

	*ret = host->base[rail];
	background(world, number, rail, at, ret);
	for (unsigned i = host->settled; i < host->count; i++) {
		struct model_job *job = &world->jobs[host->jobs[i].job];

		if (at * 1e6 >= (double)job->is.begin_us && job->count)
			job_counters(world, job, host->jobs[i].index, rail,
				     model_job_time(job, fmin(at, (double)job->is.end_us / 1e6)), ret);
	}
}

double training_read(struct training *world, int64_t from_us, int64_t to_us, uint32_t host)
{
	struct training_counters before, after;
	double sum = 0;

	for (unsigned rail = 0; rail < world->shape.rails; rail++) {
		training_counters(world, host * world->shape.rails + rail, from_us, &before);
		training_counters(world, host * world->shape.rails + rail, to_us, &after);
		sum += after.xmit_bytes - before.xmit_bytes;
	}
	return sum;
}

uint32_t training_job_at(const struct training *world, uint32_t host, int64_t at_us)
{
	const struct model_host *h = &world->hosts[host];

	for (unsigned i = 0; i < h->count; i++) {
		const struct model_job *job = &world->jobs[h->jobs[i].job];

		if (at_us >= job->is.begin_us && at_us < job->is.end_us)
			return h->jobs[i].job;
	}
	return TRAINING_NO_JOB;
}

/* Counters of jobs that are over become those of their hosts. */
static void settle(struct training *world, double horizon_s)
{
	for (uint32_t n = 0; n < world->job_count; n++) {
		struct model_job *job = &world->jobs[n];

		if (job->settled || !job->finished || (double)job->is.end_us / 1e6 >= horizon_s)
			continue;
		for (uint32_t i = 0; i < job->is.host_count; i++) {
			struct model_host *host = &world->hosts[job->hosts[i]];

			/* Jobs of a host end in their order. */
			for (unsigned rail = 0; rail < world->shape.rails; rail++)
				job_counters(world, job, i, rail, model_job_time(job, (double)job->is.end_us / 1e6),
					     &host->base[rail]);
			host->settled++;
		}
		job->settled = true;
		free(job->spans);
		free(job->pipeline_hosts);
		job->spans = NULL;
		job->pipeline_hosts = NULL;
		job->count = job->capacity = 0;
	}
}

bool training_advance(struct training *world, int64_t to_us)
{
	double to = (double)to_us / 1e6;

	if (!world->routes_known && !model_routes(world))
		return false;
	world->routes_known = true;
	for (;;) {
		struct model_job *next = NULL;
		double least = to;

		for (uint32_t i = 0; i < world->job_count; i++) {
			struct model_job *job = &world->jobs[i];

			if (!job->finished && model_world_time(job, job->now_s) <= least) {
				least = model_world_time(job, job->now_s);
				next = job;
			}
		}
		if (!next)
			break;
		if (!model_job_advance(world, next, to - HISTORY_S))
			return false;
	}
	world->now_us = to_us;
	settle(world, to - HISTORY_S);
	return true;
}

void training_truth(const struct training *world, uint32_t number, struct training_truth *ret)
{
	const struct model_job *job = &world->jobs[number];
	double steps = (double)job->steps_before, mean = job->sum_before / steps;

	*ret = (struct training_truth){.period_s = mean, .spread_s = NAN, .wire_share = job->wire_share_sum / steps,
				       .pause_s = job->pause_s, .slower = NAN};
	ret->spread_s = sqrt(fmax(0, job->squares_before / steps - mean * mean));
	if (job->steps_since)
		ret->slower = job->sum_since / (double)job->steps_since / mean;
	if (job->stopped_s > 0) {
		ret->last_us = (int64_t)(model_world_time(job, job->stopped_s) * 1e6);
		ret->known_us = ret->last_us + (int64_t)(job->pause_s * 1e6);
	} else if (!isinf(job->known_s)) {
		ret->known_us = (int64_t)(model_world_time(job, job->known_s) * 1e6);
	}
}
