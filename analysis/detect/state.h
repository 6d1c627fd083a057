/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * state.h - what is recorded of hosts and jobs, and the result of comparing hosts; private to job_detect.c and
 * detect/
 */
#ifndef IBWIRE_ANALYSIS_DETECT_STATE_H
#define IBWIRE_ANALYSIS_DETECT_STATE_H

#include "analysis/job_cluster.h"
#include "analysis/job_detect.h"
#include "base/clock.h"

#define NO_JOB SIZE_MAX

static inline int64_t at_least(int64_t us, int64_t least_us)
{
	return us > least_us ? us : least_us;
}

struct detect_host {
	bool announced;       /* as in its last reading */
	bool seen;            /* was read at all */
	bool begun, active;   /* a job may run; it communicates, or pauses for a short time */
	int64_t began_us;     /* CLOCK_BOOTTIME at which it began to communicate; 0: not known */
	int64_t since_us;     /* the same; if it is not known, when it was first read */
	int64_t resumed_us;   /* CLOCK_BOOTTIME at which it began, or continued after a pause; 0: not known */
	int64_t quiet_us;     /* CLOCK_BOOTTIME since which it is quiet; 0: it is not */
	uint64_t from_sweep;  /* in which it began; those after it are compared */
	double xmit, rcv;     /* bytes per second, smoothed */
	double base;          /* bytes per second without a job */
	double before_sum, before_most; /* rates since it was first read, until it begins or is quiet */
	unsigned before_count;
	double xmit_sum, rcv_sum; /* bytes since the last evaluation */
	double xmit_begun, rcv_begun, begun_s; /* bytes and time since it began, without the first sweep */
	size_t job;           /* index, or NO_JOB */
	uint8_t strange;      /* evaluations in a row in which it was like no other host */
};

struct job_detect {
	int64_t interval_us;
	uint64_t sweep;       /* number of this one, from 1 */
	int64_t evaluated_us;
	struct detect_host *hosts;
	float *rates;         /* of each host CLUSTER_SWEEPS, as a ring */
	float *differences;   /* the same, of bytes sent less those received, per second */
	size_t host_count, host_capacity;
	struct detected_job *jobs;
	size_t job_count, job_capacity;
	uint64_t last_id;
};

/* The rate of a host in one of the last CLUSTER_SWEEPS sweeps; NAN: not known. */
static inline float *detect_rate(const struct job_detect *detect, size_t host, uint64_t sweep)
{
	return &detect->rates[host * CLUSTER_SWEEPS + sweep % CLUSTER_SWEEPS];
}

/* Noise of rates, as readings are not simultaneous, as a share of that at sweeps of 1 s. */
static inline float detect_noise(const struct job_detect *detect)
{
	return (float)US_PER_S / (float)at_least(detect->interval_us, US_PER_S);
}

/* Bytes sent less those received, per second; NAN: not known. */
static inline float *detect_difference(const struct job_detect *detect, size_t host, uint64_t sweep)
{
	return &detect->differences[host * CLUSTER_SWEEPS + sweep % CLUSTER_SWEEPS];
}

/* detect_reserve_host - memory for a host and those before it. Return: 0 or ERR_NOMEM */
int detect_reserve_host(struct job_detect *detect, uint32_t host, struct error *err);

/* detect_read_host - record a reading of a sweep that ended at @at_us, CLOCK_BOOTTIME; its host has been reserved */
void detect_read_host(struct job_detect *detect, const struct detect_reading *reading, int64_t at_us);

/* A cluster of hosts, and the job whose hosts they are. */
struct detect_cluster {
	struct cluster_quality quality;
	const struct cluster_host *hosts; /* the first of quality.count */
	size_t job;                       /* index, or NO_JOB: none yet */
};

/* The hosts that communicate, partitioned by how alike their traffic is. */
struct detect_comparison {
	struct detect_cluster *clusters;
	size_t cluster_count;
	struct cluster_host *hosts;       /* in order of cluster; those of CLUSTER_NONE last */
	size_t host_count;
	float *rates;                     /* of @hosts */
};

/*
 * detect_compare - compare the hosts that communicate, and find the job of each cluster; nothing of @detect changes
 * @ret:  for detect_comparison_done(), also after an error
 * Return: 0 or ERR_NOMEM.
 */
int detect_compare(const struct job_detect *detect, struct detect_comparison *ret, struct error *err);
void detect_comparison_done(struct detect_comparison *comparison);

/* detect_confidence - how certain it is that a cluster is a job, 0..1. @job: with the hosts of the cluster */
double detect_confidence(const struct job_detect *detect, const struct detected_job *job,
			 const struct cluster_quality *quality);

/*
 * detect_join_stages - join clusters that are stages of one job
 * @hosts, @host_count:  by cluster_hosts(); their cluster is set
 * @qualities, @count:   of the clusters, which become fewer; those that are joined have the mean
 * Return: 0 or ERR_NOMEM.
 */
int detect_join_stages(const struct job_detect *detect, struct cluster_host *hosts, size_t host_count,
		       struct cluster_quality *qualities, size_t *count, struct error *err);

#endif
