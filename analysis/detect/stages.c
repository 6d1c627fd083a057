/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * Stages of a pipeline. The hosts of a stage are alike, but not like those of another stage, which sends at other
 * times. What a host of a job sends is received by other hosts of the job: in each sweep a whole job sends as many
 * bytes as it receives. A stage does not, and the differences of the stages of a job cancel each other.
 */
#include "analysis/detect/state.h"

#include <math.h>
#include <stdlib.h>

#include "base/err.h"

enum {
	SWEEPS_LEAST = 12,   /* that are compared */
	STORAGE_SWEEPS = 16, /* one of so many is left out: in it, jobs load data or write a checkpoint */
};

/* Stages begin within this time. */
#define BEGIN_US (10 * US_PER_S)

/* Hosts that send what they receive: root mean square of the difference, as a share of that of the rate, at 1 s. */
#define BALANCED 0.001

/*
 * Sum of squares of the sum of differences, as a share of the sum of their squares: 1 of jobs that are not related, 0
 * if they cancel. Two of several stages cancel in part only.
 */
#define CANCEL_PAIR 0.5
#define CANCEL_ALL 0.1

/* Clusters whose differences cancel. */
struct group {
	uint32_t into;       /* the group that it is a part of: itself, if it is none */
	uint32_t from;       /* first sweep to be compared */
	int64_t began_us;    /* 0: not known */
	bool balanced;
	float energy;        /* sum of squares of @limited */
	double left;         /* sum of squares of @difference, without the largest */
	double of_parts;     /* the same of each of its clusters, summed up */
	float rate[CLUSTER_SWEEPS], difference[CLUSTER_SWEEPS];
	float limited[CLUSTER_SWEEPS]; /* @difference, the largest ones cut */
};

static int by_value(const void *a, const void *b)
{
	float one = *(const float *)a, other = *(const float *)b;

	return one < other ? -1 : one > other;
}

static double square(float x)
{
	return (double)x * (double)x;
}

/* Sets what follows from rates and differences. */
static void update(struct group *group, double balanced)
{
	uint32_t count = CLUSTER_SWEEPS - group->from;
	float sorted[CLUSTER_SWEEPS], most;
	double rates = 0, differences = 0;

	for (uint32_t i = 0; i < count; i++)
		sorted[i] = fabsf(group->difference[group->from + i]);
	qsort(sorted, count, sizeof(*sorted), by_value);
	most = count ? sorted[count - 1 - count / STORAGE_SWEEPS] : 0;
	group->energy = 0;
	for (uint32_t i = group->from; i < CLUSTER_SWEEPS; i++) {
		group->limited[i] = fminf(fmaxf(group->difference[i], -most), most);
		group->energy += group->limited[i] * group->limited[i];
		if (fabsf(group->difference[i]) > most)
			continue;
		rates += square(group->rate[i]);
		differences += square(group->difference[i]);
	}
	group->balanced = differences <= balanced * balanced * rates;
	group->left = differences;
}

/* Adds up what the hosts of each cluster did. */
static void add_hosts(const struct job_detect *detect, struct group *groups, const struct cluster_host *hosts,
		      size_t count)
{
	for (size_t i = 0; i < count; i++) {
		struct group *group;

		if (hosts[i].cluster == CLUSTER_NONE)
			continue;
		group = &groups[hosts[i].cluster];
		group->began_us = hosts[i].began_us;
		if (hosts[i].from > group->from)
			group->from = hosts[i].from;
		for (uint32_t j = 0; j < CLUSTER_SWEEPS; j++) {
			float rate = *detect_rate(detect, hosts[i].host, detect->sweep + 1 + j);

			if (isnan(rate))
				continue;
			group->rate[j] += rate;
			group->difference[j] += *detect_difference(detect, hosts[i].host, detect->sweep + 1 + j);
		}
	}
}

/* Adds @from to @to, which is before it. */
static void add_group(struct group *to, struct group *from, double balanced)
{
	from->into = to->into;
	if (from->from > to->from)
		to->from = from->from;
	to->of_parts += from->of_parts;
	for (uint32_t i = 0; i < CLUSTER_SWEEPS; i++) {
		to->rate[i] += from->rate[i];
		to->difference[i] += from->difference[i];
	}
	update(to, balanced);
}

/* What remains of the differences of two groups, as a share. */
static double remaining(const struct group *a, const struct group *b, int64_t slack_us)
{
	uint32_t from = a->from > b->from ? a->from : b->from;
	float product = 0;

	if (a->balanced || b->balanced || CLUSTER_SWEEPS - from < SWEEPS_LEAST)
		return INFINITY;
	if (a->began_us && b->began_us && llabs(a->began_us - b->began_us) > slack_us)
		return INFINITY;
	for (uint32_t i = from; i < CLUSTER_SWEEPS; i++)
		product += a->limited[i] * b->limited[i];
	return 1 + 2 * (double)product / (double)(a->energy + b->energy);
}

/* Joins each group with the one that cancels most of its differences, until none does. */
static void join(struct group *groups, uint32_t count, int64_t slack_us, double balanced)
{
	bool joined = true;

	while (joined) {
		joined = false;
		for (uint32_t i = 0; i < count; i++) {
			double least = CANCEL_PAIR;
			uint32_t best = i;

			for (uint32_t j = 0; j < count && groups[i].into == i; j++) {
				double found = j == i || groups[j].into != j ? INFINITY :
					       remaining(&groups[i], &groups[j], slack_us);

				if (found < least) {
					least = found;
					best = j;
				}
			}
			if (best == i)
				continue;
			add_group(&groups[i < best ? i : best], &groups[i < best ? best : i], balanced);
			joined = true;
		}
	}
}

/* Groups whose differences cancel become clusters. @hosts, @qualities and @count are changed. */
static void renumber(struct group *groups, struct cluster_host *hosts, size_t host_count,
		     struct cluster_quality *qualities, uint32_t *numbers, size_t *count)
{
	size_t kept = 0;

	for (uint32_t i = 0; i < *count; i++) {
		uint32_t into = i;

		while (groups[into].into != into)
			into = groups[into].into;
		if (into == i || groups[into].left > CANCEL_ALL * groups[into].of_parts) {
			numbers[i] = (uint32_t)kept;
			qualities[kept++] = qualities[i];
		} else {
			struct cluster_quality *all = &qualities[numbers[into]], *part = &qualities[i];
			uint32_t sum = all->count + part->count;

			numbers[i] = numbers[into];
			all->alike = (all->alike * all->count + part->alike * part->count) / sum;
			all->sweeps = (all->sweeps * all->count + part->sweeps * part->count) / sum;
			all->count = sum;
		}
	}
	for (size_t i = 0; i < host_count; i++)
		if (hosts[i].cluster != CLUSTER_NONE)
			hosts[i].cluster = numbers[hosts[i].cluster];
	*count = kept;
}

int detect_join_stages(const struct job_detect *detect, struct cluster_host *hosts, size_t host_count,
		       struct cluster_quality *qualities, size_t *count, struct error *err)
{
	struct group *groups = calloc(*count + 1, sizeof(*groups));
	uint32_t *numbers = calloc(*count + 1, sizeof(*numbers));
	double balanced = BALANCED * (double)detect_noise(detect);
	int code = groups && numbers ? 0 : err_nomem(err);

	if (code == 0) {
		add_hosts(detect, groups, hosts, host_count);
		for (uint32_t i = 0; i < *count; i++) {
			groups[i].into = i;
			update(&groups[i], balanced);
			groups[i].of_parts = groups[i].left;
		}
		join(groups, (uint32_t)*count, at_least(BEGIN_US, 2 * detect->interval_us), balanced);
		renumber(groups, hosts, host_count, qualities, numbers, count);
	}
	free(groups);
	free(numbers);
	return code;
}
