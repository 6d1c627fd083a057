/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* training_random.c - random jobs */
#include <math.h>
#include <stdlib.h>

#include "tests/world/training_model.h"

/* A sequence of random numbers. */
struct draw { uint64_t seed, n; };

static double between(struct draw *draw, double least, double most)
{
	return least + (most - least) * model_uniform(draw->seed, draw->n++);
}

static double log_between(struct draw *draw, double least, double most)
{
	return exp(between(draw, log(least), log(most)));
}

static bool with_chance(struct draw *draw, double chance)
{
	return between(draw, 0, 1) < chance;
}

void training_draw(uint64_t seed, const struct training_shape *shape, const uint32_t *hosts, uint32_t count,
		   int64_t begin_us, int64_t stop_us, struct training_job *ret)
{
	struct draw draw = {.seed = model_mix(seed, 77)};
	double period = log_between(&draw, 0.4, 20), share = between(&draw, 0.08, 0.6), link = shape->link_bytes_per_s;
	double kind = between(&draw, 0, 1);

	*ret = (struct training_job){.begin_us = begin_us, .stop_us = stop_us, .hosts = hosts, .host_count = count,
				     .checkpoint_every_s = INFINITY, .eval_every_s = INFINITY, .stages = 1};
	ret->kind = kind < 0.45 ? TRAINING_RING : kind < 0.65 ? TRAINING_PIPELINE :
		    kind < 0.8 ? TRAINING_SHARP : TRAINING_ALLTOALL;
	if (ret->kind == TRAINING_PIPELINE && count < 8)
		ret->kind = TRAINING_RING;
	ret->compute_s = period * (1 - share);
	ret->step_bytes = period * share * link;
	ret->noise = log_between(&draw, 0.002, 0.03);
	ret->common_noise = log_between(&draw, 0.002, 0.02);
	ret->buckets = 1;
	switch (ret->kind) {
	case TRAINING_RING:
	case TRAINING_SHARP:
		ret->overlapped = with_chance(&draw, 0.6);
		if (ret->overlapped) {
			ret->buckets = 1 + (unsigned)between(&draw, 0, TRAINING_BUCKETS_MAX);
			ret->compute_s = period * (share > 0.45 ? 0.75 : 0.95);
		}
		if (ret->kind == TRAINING_SHARP)
			ret->step_bytes /= 2;
		break;
	case TRAINING_PIPELINE:
		ret->stages = count >= 16 && with_chance(&draw, 0.5) ? 8 : 4;
		ret->host_count = count / ret->stages * ret->stages;
		ret->micro_batches = ret->stages * (2 + (unsigned)between(&draw, 0, 3));
		/* Filling and draining the pipeline takes time, too. */
		ret->compute_s *= (double)ret->micro_batches / (ret->micro_batches + ret->stages - 1);
		ret->micro_bytes = between(&draw, 0.01, 0.15) * link * ret->compute_s / ret->micro_batches;
		break;
	default:
		ret->buckets = 2 + (unsigned)between(&draw, 0, TRAINING_BUCKETS_MAX - 1);
		break;
	}
	ret->start_s = between(&draw, 10, 90);
	ret->load_s = log_between(&draw, 5, 120);
	ret->load_bytes = ret->load_s * link * log_between(&draw, 0.01, 0.4);
	ret->compile_s = log_between(&draw, 2, 60);
	if (with_chance(&draw, 0.8)) {
		double to = between(&draw, 0, 1);

		ret->checkpoint_every_s = log_between(&draw, 300, 3600);
		ret->checkpoint_s = log_between(&draw, 4, 90);
		ret->checkpoint_hosts = to < 0.33 ? 0 : to < 0.66 ? (ret->host_count + 7) / 8 : ret->host_count;
		ret->checkpoint_bytes = ret->checkpoint_s * link * log_between(&draw, 0.01, 0.3);
	}
	if (with_chance(&draw, 0.3)) {
		ret->eval_every_s = log_between(&draw, 1200, 7200);
		ret->eval_s = log_between(&draw, 20, 200);
	}
	/* The batch system notices the end of the processes, or ends them at the limit. */
	ret->end_us = stop_us + (int64_t)((1.5 * period + between(&draw, 2, 10)) * 1e6);
}

struct training *training_unannounced(uint64_t seed)
{
	struct training_shape shape = {.hosts = 320, .rails = 4, .hosts_per_leaf = 16, .uplinks = 8,
				       .link_bytes_per_s = 25e9, .seed = seed};
	struct training *world = training_create(&shape);
	struct draw draw = {.seed = model_mix(seed, 78)};
	uint32_t hosts[320], next = 0;

	if (!world)
		return NULL;
	for (uint32_t i = 0; i < shape.hosts; i++)
		hosts[i] = i;
	/* Half of the hosts are free in the order of their leaves, the others anywhere. */
	for (uint32_t i = shape.hosts / 2; i < shape.hosts - 1; i++) {
		uint32_t other = i + (uint32_t)between(&draw, 0, shape.hosts - i), host = hosts[i];

		hosts[i] = hosts[other];
		hosts[other] = host;
	}
	for (unsigned n = 0; n < 20; n++) {
		uint32_t count = (uint32_t)log_between(&draw, 2, 40);
		struct training_job job;

		if (next + count > shape.hosts - (20 - n) * 2)
			count = 2;
		training_draw(model_mix(seed, 100 + n), &shape, hosts + next, count, (int64_t)between(&draw, 0, 30e6),
			      (int64_t)86400e6, &job);
		job.start_s = between(&draw, 1, 10);
		job.load_s = between(&draw, 2, 10);
		job.load_bytes = job.load_s * between(&draw, 0.01, 0.3) * shape.link_bytes_per_s;
		job.compile_s = between(&draw, 1, 5);
		if (training_add(world, &job) == TRAINING_NO_JOB) {
			training_destroy(world);
			return NULL;
		}
		next += count;
	}
	return world;
}
