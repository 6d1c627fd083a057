/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
#include "analysis/job_cluster.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/err.h"

/* Deviations beyond so many standard deviations count as this: one pause that two jobs share by chance is no proof. */
#define DEVIATION_MOST 2.5f

/* How alike hosts have to be, and how much less suffices to stay. */
#define ALIKE_LEAST 0.7
#define ALIKE_STAY 0.6
#define ALIKE_BETTER 0.01
/* Added for hosts of the same job until now, subtracted for those of two. */
#define ALIKE_SAME_JOB 0.05

/*
 * What is expected before anything is compared, counted as so many sweeps. Most jobs do the same on each host, and
 * jobs differ in their rates.
 */
static const struct prior { double alike, sweeps; } priors[2][3] = {
	/* Together, not known, apart; at other rates and at the same one. */
	{ { 0.6, 6 }, { 0.3, 6 }, { 0.2, 6 } },
	{ { 0.95, 16 }, { 0.5, 6 }, { 0.3, 6 } },
};
/* As a share of the rate: of any number of sweeps, and of one more. */
#define SAME_RATE 0.02
#define SAME_RATE_SWEEP 0.1
/* Hosts of a cluster whose rates differ by more than this factor are no proof that it has a rate. */
#define RATES_NARROW 1.1

#define NOTHING 1e-3

/*
 * A host of another job may be like a close one, but is less so than its own hosts: the distance, 1 - correlation, is
 * at most this multiple of that among them.
 */
#define APART_FACTOR 4
#define APART_LEAST 0.06
/* The distance of two hosts is no measure yet. */
#define APART_UNKNOWN 0.01
#define APART_SWEEPS 8

struct cluster {
	uint32_t count, from;
	int64_t began_us;
	uint64_t job;
	float variation; /* sum of those of its hosts */
	double low, high; /* their lowest and highest rate */
	double distance; /* 1 - correlation of its hosts with the others, mean */
	float energy; /* of the sum */
	float sum[CLUSTER_SWEEPS];
};

/* The part of a host or cluster that is compared. */
struct side {
	const float *sum;
	uint32_t from;
	int64_t began_us;
	uint64_t job;
	float variation;
	double low, high;
	float energy; /* sum of squares */
};

static struct side side_of_host(const struct cluster_host *host)
{
	return (struct side){ host->rates, host->from, host->began_us, host->job, host->variation,
			      host->bytes_per_s, host->bytes_per_s, host->energy };
}

static struct side side_of(const struct cluster *cluster)
{
	return (struct side){ cluster->sum, cluster->from, cluster->began_us, cluster->job,
			      cluster->variation / (float)cluster->count, cluster->low, cluster->high,
			      cluster->energy };
}

/* Replace rates by their deviation in standard deviations; 0 where they are not known. */
static void normalise(struct cluster_host *host)
{
	double sum = 0, squares = 0, mean, deviation;
	unsigned known = 0;

	for (uint32_t i = 0; i < CLUSTER_SWEEPS; i++) {
		double rate = host->rates[i];

		if (i < host->from || isnan(rate))
			continue;
		known++;
		sum += rate;
		squares += rate * rate;
	}
	mean = known ? sum / known : 0;
	deviation = known ? sqrt(fmax(squares / known - mean * mean, 0)) : 0;
	host->variation = mean > 0 ? (float)(deviation / mean) : 0;
	for (uint32_t i = 0; i < CLUSTER_SWEEPS; i++) {
		float z = (host->rates[i] - (float)mean) / (float)deviation;

		if (i < host->from || !(deviation > 0) || isnan(z))
			z = 0;
		host->rates[i] = fminf(fmaxf(z, -DEVIATION_MOST), DEVIATION_MOST);
	}
	host->energy = 0;
	for (uint32_t i = 0; i < CLUSTER_SWEEPS; i++)
		host->energy += host->rates[i] * host->rates[i];
}

/* Sum of products. What is before @from is 0 in one of them, except in up to 7 sweeps. */
static float product(const float *a, const float *b, uint32_t from)
{
	float sums[8] = { 0 }, ret = 0;

	/* Apart, so that several are added at once. */
	for (uint32_t i = from / 8 * 8; i < CLUSTER_SWEEPS; i += 8)
		for (uint32_t j = 0; j < 8; j++)
			sums[j] += a[i + j] * b[i + j];
	for (uint32_t j = 0; j < 8; j++)
		ret += sums[j];
	return ret;
}

static const struct prior *prior_of(const struct side *a, const struct side *b, int64_t slack_us, uint32_t sweeps)
{
	double factor = 1 + SAME_RATE + SAME_RATE_SWEEP / (sweeps + 1);
	bool same_rate = fmax(a->high, b->high) <= fmin(a->low, b->low) * fmax(factor, RATES_NARROW) &&
			 a->low <= b->high * factor && a->high * factor >= b->low;
	int begin = !a->began_us || !b->began_us ? 1 : llabs(a->began_us - b->began_us) <= slack_us ? 0 : 2;

	return &priors[same_rate][begin];
}

/* How like two sides are. */
struct likeness {
	double value;   /* up to 1 */
	double r;       /* correlation of their rates */
	double sweeps;  /* that it is of, counted less where rates hardly vary */
	double weight;  /* of all that @value is of, in sweeps */
};

/* @inside: @a is a part of @b, which is compared without it. */
static struct likeness alike(const struct side *a, const struct side *b, bool inside,
			     const struct cluster_limits *limits)
{
	uint32_t from = a->from > b->from ? a->from : b->from;
	double ab = (double)product(a->sum, b->sum, from);
	double aa = (double)(from > a->from ? product(a->sum, a->sum, from) : a->energy);
	double bb = (double)(from > b->from ? product(b->sum, b->sum, from) : b->energy);
	float variation = fminf(fminf(a->variation, b->variation) / limits->noise, 1);
	const struct prior *prior = prior_of(a, b, limits->slack_us, CLUSTER_SWEEPS - from);
	struct likeness ret = { .sweeps = (CLUSTER_SWEEPS - from) * (double)variation };

	if (inside) {
		bb += aa - 2 * ab;
		ab -= aa;
	}
	/* Less is what rounding leaves of nothing. */
	ret.r = aa > NOTHING && bb > NOTHING ? ab / sqrt(aa * bb) : 0;
	ret.weight = prior->sweeps + ret.sweeps;
	ret.value = (prior->sweeps * prior->alike + ret.sweeps * ret.r) / ret.weight;
	if (a->job && b->job)
		ret.value += a->job == b->job ? ALIKE_SAME_JOB : -ALIKE_SAME_JOB;
	return ret;
}

/* Is it as like as the hosts of a cluster are among each other? */
static bool fits(const struct likeness *found, double distance)
{
	return found->value >= ALIKE_LEAST &&
	       (found->sweeps < APART_SWEEPS || 1 - found->r <= APART_FACTOR * distance + APART_LEAST);
}

static void add(struct cluster *cluster, const struct cluster_host *host, float sign)
{
	for (uint32_t i = 0; i < CLUSTER_SWEEPS; i++)
		cluster->sum[i] += sign * host->rates[i];
	cluster->variation += sign * host->variation;
	cluster->count += sign > 0 ? 1 : UINT32_MAX;
	cluster->energy = product(cluster->sum, cluster->sum, cluster->from);
}

/* Work of one partition. */
struct work {
	struct cluster_host *hosts;
	size_t host_count;
	struct cluster *clusters;
	size_t count;
	const struct cluster_limits *limits;
};

static void begin_cluster(struct work *work, struct cluster_host *host)
{
	struct cluster *cluster = &work->clusters[work->count];

	*cluster = (struct cluster){ .from = host->from, .began_us = host->began_us, .job = host->job,
				     .low = host->bytes_per_s, .high = host->bytes_per_s };
	host->cluster = (uint32_t)work->count++;
	add(cluster, host, 1);
}

/* The cluster that a host is most like. @least: hosts that it has; @own: not this one */
static uint32_t find_best(const struct work *work, const struct cluster_host *host, uint32_t least, uint32_t own,
			  struct likeness *ret)
{
	struct side side = side_of_host(host);
	uint32_t best = CLUSTER_NONE;

	ret->value = -INFINITY;
	for (uint32_t i = 0; i < work->count; i++) {
		const struct cluster *cluster = &work->clusters[i];
		struct side other;
		struct likeness found;

		if (i == own || cluster->count < least)
			continue;
		other = side_of(cluster);
		found = alike(&side, &other, false, work->limits);
		if (found.value > ret->value && fits(&found, cluster->count < 3 ? APART_UNKNOWN : cluster->distance)) {
			*ret = found;
			best = i;
		}
	}
	return best;
}

static void join(struct work *work, struct cluster_host *host, uint32_t at, const struct likeness *found)
{
	struct cluster *cluster = &work->clusters[at];

	cluster->distance += (fmax(1 - found->r, 0) - cluster->distance) / cluster->count;
	host->cluster = at;
	if (host->from < cluster->from)
		cluster->from = host->from;
	cluster->low = fmin(cluster->low, host->bytes_per_s);
	cluster->high = fmax(cluster->high, host->bytes_per_s);
	add(cluster, host, 1);
}

/* Each host joins the cluster that it is most like, or begins one. */
static void lead(struct work *work)
{
	for (size_t i = 0; i < work->host_count; i++) {
		struct cluster_host *host = &work->hosts[i];
		struct likeness found;
		uint32_t best = find_best(work, host, 1, CLUSTER_NONE, &found);

		if (best != CLUSTER_NONE)
			join(work, host, best, &found);
		else
			begin_cluster(work, host);
	}
}

static void merge(struct work *work, uint32_t into, uint32_t from)
{
	struct cluster *a = &work->clusters[into], *b = &work->clusters[from];

	for (uint32_t i = 0; i < CLUSTER_SWEEPS; i++)
		a->sum[i] += b->sum[i];
	a->distance = (a->distance * a->count + b->distance * b->count) / (a->count + b->count);
	a->count += b->count;
	a->variation += b->variation;
	a->low = fmin(a->low, b->low);
	a->high = fmax(a->high, b->high);
	a->from = a->from < b->from ? a->from : b->from;
	a->energy = product(a->sum, a->sum, a->from);
	b->count = 0;
	for (size_t i = 0; i < work->host_count; i++)
		if (work->hosts[i].cluster == from)
			work->hosts[i].cluster = into;
}

/* Merge each cluster with the one that it is most like, until none are alike. Single hosts have been compared. */
static void merge_all(struct work *work)
{
	bool merged = true;

	while (merged) {
		merged = false;
		for (uint32_t i = 0; i < work->count; i++) {
			const struct cluster *a = &work->clusters[i];
			struct side one = side_of(a);
			uint32_t best = CLUSTER_NONE;
			double most = -INFINITY;

			for (uint32_t j = 0; a->count > 1 && j < work->count; j++) {
				const struct cluster *b = &work->clusters[j];
				struct side other;
				struct likeness found;

				if (j == i || b->count < 2)
					continue;
				other = side_of(b);
				found = alike(&one, &other, false, work->limits);
				if (found.value <= most || !fits(&found, fmax(a->distance, b->distance)))
					continue;
				most = found.value;
				best = j;
			}
			if (best == CLUSTER_NONE)
				continue;
			merge(work, i < best ? i : best, i < best ? best : i);
			merged = true;
		}
	}
}

static struct likeness alike_others(const struct work *work, const struct cluster_host *host)
{
	const struct cluster *cluster = &work->clusters[host->cluster];
	struct side side = side_of_host(host), whole = side_of(cluster);

	return alike(&side, &whole, true, work->limits);
}

/* Move each host to the cluster that it is most like now. */
static void reassign(struct work *work)
{
	for (size_t i = 0; i < work->host_count; i++) {
		struct cluster_host *host = &work->hosts[i];
		uint32_t own = host->cluster, best;
		bool alone = work->clusters[own].count < 2;
		double stays = alone ? -INFINITY : alike_others(work, host).value;
		struct likeness found;

		best = find_best(work, host, 2, own, &found);
		if (best != CLUSTER_NONE && found.value > stays + ALIKE_BETTER) {
			add(&work->clusters[own], host, -1);
			join(work, host, best, &found);
		} else if (!alone && stays < ALIKE_STAY) {
			add(&work->clusters[own], host, -1);
			begin_cluster(work, host);
		}
	}
}

/* How like each host is to the others of its cluster. */
static void rate_hosts(struct work *work)
{
	for (size_t i = 0; i < work->host_count; i++) {
		struct cluster_host *host = &work->hosts[i];
		struct likeness found;

		if (work->clusters[host->cluster].count < 2)
			continue;
		found = alike_others(work, host);
		host->alike = found.value;
		host->sweeps = found.weight - priors[0][0].sweeps;
	}
}

/* Number the clusters of several hosts. */
static int finish(const struct work *work, struct cluster_quality **ret, size_t *ret_count, struct error *err)
{
	struct cluster_quality *list = calloc(work->host_count / 2 + 1, sizeof(*list));
	uint32_t *numbers = calloc(work->count + 1, sizeof(*numbers));
	size_t count = 0;

	if (!list || !numbers) {
		free(list);
		free(numbers);
		return err_nomem(err);
	}
	for (uint32_t i = 0; i < work->count; i++)
		numbers[i] = work->clusters[i].count < 2 ? CLUSTER_NONE : (uint32_t)count++;
	for (size_t i = 0; i < work->host_count; i++) {
		struct cluster_host *host = &work->hosts[i];

		host->cluster = numbers[host->cluster];
		if (host->cluster == CLUSTER_NONE)
			continue;
		list[host->cluster].count++;
		list[host->cluster].alike += host->alike;
		list[host->cluster].sweeps += host->sweeps;
	}
	for (size_t i = 0; i < count; i++) {
		list[i].alike = fmin(list[i].alike / list[i].count, 1);
		list[i].sweeps /= list[i].count;
	}
	free(numbers);
	*ret = list;
	*ret_count = count;
	return 0;
}

/* Hosts of a job together, then by begin. */
static int by_job(const void *a, const void *b)
{
	const struct cluster_host *one = a, *other = b;

	if (one->job != other->job)
		return !one->job || (other->job && one->job > other->job) ? 1 : -1;
	if (one->began_us != other->began_us)
		return one->began_us < other->began_us ? -1 : 1;
	return one->host < other->host ? -1 : one->host > other->host;
}

int cluster_hosts(struct cluster_host *hosts, size_t count, const struct cluster_limits *limits,
		  struct cluster_quality **ret, size_t *ret_count, struct error *err)
{
	enum { PASSES = 2 };
	/* Each pass begins a cluster for a host at most. */
	struct work work = { hosts, count, NULL, 0, limits };
	int code;

	*ret = NULL;
	*ret_count = 0;
	work.clusters = reallocarray(NULL, (1 + PASSES) * count + 1, sizeof(*work.clusters));
	if (!work.clusters)
		return err_nomem(err);
	for (size_t i = 0; i < count; i++)
		normalise(&hosts[i]);
	qsort(hosts, count, sizeof(*hosts), by_job);
	lead(&work);
	merge_all(&work);
	for (int i = 0; i < PASSES; i++)
		reassign(&work);
	merge_all(&work);
	rate_hosts(&work);
	code = finish(&work, ret, ret_count, err);
	free(work.clusters);
	return code;
}
