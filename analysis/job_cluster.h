/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * job_cluster.h - partition hosts by how alike their traffic is
 *
 * Two hosts are alike if their rates vary together over the time in which both communicate. While that time is
 * short, or if the rates do not vary, it counts whether they began together. A cluster is represented by the sum of
 * its hosts, so that no table of all pairs is needed. Pure functions.
 */
#ifndef IBWIRE_ANALYSIS_JOB_CLUSTER_H
#define IBWIRE_ANALYSIS_JOB_CLUSTER_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct error;

/* Sweeps that are compared. */
enum { CLUSTER_SWEEPS = 256 };

/* No cluster: a host that is like no other. */
#define CLUSTER_NONE UINT32_MAX

struct cluster_host {
	uint32_t host;      /* of the owner */
	int64_t began_us;   /* CLOCK_BOOTTIME at which it began, or went on after a pause; 0: not known */
	double bytes_per_s; /* since it began, mean of the direction with less */
	uint64_t job;       /* of which it was last; 0: none */
	uint32_t from;      /* first sweep to be compared, below CLUSTER_SWEEPS */
	float *rates;       /* CLUSTER_SWEEPS of them, the newest last; NAN: not known. They are changed. */
	float variation;    /* set: standard deviation as a share of the mean */
	float energy;       /* set: sum of the squares of what is compared */
	uint32_t cluster;   /* result */
	double alike, sweeps; /* set: as in struct cluster_quality */
};

struct cluster_quality {
	uint32_t count;      /* hosts, at least 2 */
	double alike;        /* mean of how alike its hosts are to the others, up to 1 */
	double sweeps;       /* of evidence: compared, counted less where rates hardly vary, and of a common begin */
};

struct cluster_limits {
	int64_t slack_us; /* hosts that begin within this time begin together */
	float noise;      /* share of a rate by which it may vary because readings are not simultaneous */
};

/*
 * cluster_hosts - partition hosts
 * @hosts:     are sorted
 * @ret:       for free(): the clusters, by the number in cluster_host.cluster
 * Return: 0 or ERR_NOMEM.
 */
int cluster_hosts(struct cluster_host *hosts, size_t count, const struct cluster_limits *limits,
		  struct cluster_quality **ret, size_t *ret_count, struct error *err);

#endif
