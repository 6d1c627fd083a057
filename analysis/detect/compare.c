/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * Comparing the hosts that communicate: job_cluster.h partitions them by how alike their traffic is; here each cluster
 * is matched with the job that has the most hosts in common, and it is computed how certain it is that a cluster is a
 * job. job_detect.c applies the result to hosts and jobs.
 */
#include "analysis/detect/state.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/array.h"
#include "base/err.h"

/* Readings show the hosts of a job to begin within this many sweeps. */
#define BEGIN_SWEEPS 1
#define BEGIN_LEAST_US (3 * US_PER_S)

/* Rates that vary by less at sweeps of 1 s say less: readings of a sweep are some milliseconds apart. */
#define NOISE_MOST 0.04f

/* After this many sweeps of evidence, confidence is half of what it can become. */
#define CONFIDENCE_SWEEPS 6
/* This share of confidence does not depend on whether the hosts send as many bytes as they receive. */
#define CONFIDENCE_UNBALANCED 0.6

/* The number of hosts that a cluster and a job have in common. */
struct overlap { uint32_t cluster; size_t job, hosts; };

static int by_hosts(const void *a, const void *b)
{
	const struct overlap *one = a, *other = b;

	if (one->hosts != other->hosts)
		return one->hosts > other->hosts ? -1 : 1;
	return one->job != other->job ? (one->job < other->job ? -1 : 1) : one->cluster < other->cluster ? -1 : 1;
}

static int by_cluster(const void *a, const void *b)
{
	const struct cluster_host *one = a, *other = b;

	if (one->cluster != other->cluster)
		return one->cluster < other->cluster ? -1 : 1;
	return one->host < other->host ? -1 : one->host > other->host;
}

/* Active hosts that have more than their first sweep, and the rates of each, oldest first. */
static int gather(const struct job_detect *detect, struct detect_comparison *ret, struct error *err)
{
	ret->hosts = calloc(detect->host_count + 1, sizeof(*ret->hosts));
	ret->rates = reallocarray(NULL, detect->host_count + 1, CLUSTER_SWEEPS * sizeof(*ret->rates));
	if (!ret->hosts || !ret->rates)
		return err_nomem(err);
	for (size_t i = 0; i < detect->host_count; i++) {
		const struct detect_host *host = &detect->hosts[i];
		uint64_t age = detect->sweep - host->from_sweep; /* its traffic began within the first sweep */
		float *copy = &ret->rates[ret->host_count * CLUSTER_SWEEPS];

		if (!host->active || age < 1)
			continue;
		for (uint64_t j = 0; j < CLUSTER_SWEEPS; j++)
			copy[j] = *detect_rate(detect, i, detect->sweep + 1 + j);
		ret->hosts[ret->host_count++] = (struct cluster_host){
			.host = (uint32_t)i, .began_us = host->resumed_us, .rates = copy,
			.bytes_per_s = host->begun_s > 0 ? fmin(host->xmit_begun, host->rcv_begun) / host->begun_s : 0,
			.job = host->job == NO_JOB ? 0 : detect->jobs[host->job].id,
			.from = age < CLUSTER_SWEEPS ? CLUSTER_SWEEPS - (uint32_t)age : 0 };
	}
	return 0;
}

/* Finds the job of each cluster. Pairs with the most hosts in common come first. */
static int match(const struct job_detect *detect, struct detect_cluster *found, size_t count, struct error *err)
{
	struct overlap *list = NULL;
	size_t *hosts = calloc(detect->job_count + 1, sizeof(*hosts)), listed = 0, capacity = 0;
	bool *taken = calloc(detect->job_count + 1, sizeof(*taken));
	int code = hosts && taken ? 0 : err_nomem(err);

	for (uint32_t i = 0; code == 0 && i < count; i++) {
		found[i].job = NO_JOB;
		memset(hosts, 0, detect->job_count * sizeof(*hosts));
		for (uint32_t j = 0; j < found[i].quality.count; j++) {
			size_t job = detect->hosts[found[i].hosts[j].host].job;

			if (job != NO_JOB)
				hosts[job]++;
		}
		for (size_t j = 0; code == 0 && j < detect->job_count; j++) {
			struct overlap *added;

			if (!hosts[j])
				continue;
			added = array_add(&list, &listed, &capacity, sizeof(*added));
			if (added)
				*added = (struct overlap){ i, j, hosts[j] };
			else
				code = err_nomem(err);
		}
	}
	if (code == 0 && listed)
		qsort(list, listed, sizeof(*list), by_hosts);
	for (size_t i = 0; code == 0 && i < listed; i++) {
		struct detect_cluster *one = &found[list[i].cluster];
		const struct detected_job *job = &detect->jobs[list[i].job];

		if (one->job != NO_JOB || taken[list[i].job])
			continue;
		/* Not the same job: less than half of the cluster, and less than half of the hosts of the job. */
		if (2 * list[i].hosts < one->quality.count && 2 * list[i].hosts < job->host_count)
			continue;
		one->job = list[i].job;
		taken[list[i].job] = true;
	}
	free(list);
	free(hosts);
	free(taken);
	return code;
}

/* Ratio of bytes sent and received, 0..1: it is near 1 if all hosts of the job are known. */
static double balance_of(const struct job_detect *detect, const struct detected_job *job)
{
	double xmit = 0, rcv = 0;

	for (size_t i = 0; i < job->host_count; i++) {
		xmit += detect->hosts[job->hosts[i]].xmit_sum;
		rcv += detect->hosts[job->hosts[i]].rcv_sum;
	}
	return fmax(xmit, rcv) > 0 ? fmin(xmit, rcv) / fmax(xmit, rcv) : 0;
}

double detect_confidence(const struct job_detect *detect, const struct detected_job *job,
			 const struct cluster_quality *quality)
{
	return fmin(fmax(quality->alike, 0), 1) * quality->sweeps / (quality->sweeps + CONFIDENCE_SWEEPS) *
	       (CONFIDENCE_UNBALANCED + (1 - CONFIDENCE_UNBALANCED) * balance_of(detect, job));
}

int detect_compare(const struct job_detect *detect, struct detect_comparison *ret, struct error *err)
{
	struct cluster_limits limits = {
		.slack_us = at_least(BEGIN_LEAST_US, BEGIN_SWEEPS * detect->interval_us),
		.noise = NOISE_MOST * detect_noise(detect),
	};
	struct cluster_quality *qualities = NULL;
	int code;

	*ret = (struct detect_comparison){ 0 };
	code = gather(detect, ret, err);
	if (code == 0)
		code = cluster_hosts(ret->hosts, ret->host_count, &limits, &qualities, &ret->cluster_count, err);
	if (code == 0)
		code = detect_join_stages(detect, ret->hosts, ret->host_count, qualities, &ret->cluster_count, err);
	if (code == 0 && !(ret->clusters = calloc(ret->cluster_count + 1, sizeof(*ret->clusters))))
		code = err_nomem(err);
	if (code == 0) {
		qsort(ret->hosts, ret->host_count, sizeof(*ret->hosts), by_cluster);
		for (size_t i = 0, at = 0; i < ret->cluster_count; at += qualities[i++].count)
			ret->clusters[i] = (struct detect_cluster){ qualities[i], &ret->hosts[at], NO_JOB };
		code = match(detect, ret->clusters, ret->cluster_count, err);
	}
	free(qualities);
	return code;
}

void detect_comparison_done(struct detect_comparison *comparison)
{
	free(comparison->clusters);
	free(comparison->hosts);
	free(comparison->rates);
}
