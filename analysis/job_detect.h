/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * job_detect.h - find jobs in the traffic of hosts, without a batch system
 *
 * Hosts whose traffic begins, pauses and varies together are a job. A state machine without clock, I/O or globals:
 * the owner passes what each host sent and received between two sweeps, and reads the jobs after each. Memory is
 * linear in hosts, and does not grow with time.
 */
#ifndef IBWIRE_ANALYSIS_JOB_DETECT_H
#define IBWIRE_ANALYSIS_JOB_DETECT_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct error;
struct job_detect;

/* What the HCA ports of one host did between two readings. */
struct detect_reading {
	uint32_t host;                /* number that the owner gives to it, from 0; the same for all of its life */
	int64_t elapsed_us;
	double xmit_bytes, rcv_bytes; /* sums of its ports */
	bool announced;               /* a job that a batch system began runs on it: no job is searched there */
};

enum detected_state {
	DETECTED_CANDIDATE, /* not to be shown yet: its confidence is low */
	DETECTED_RUNNING,
	DETECTED_ENDED,     /* its hosts have been quiet for longer than its pauses allow */
	DETECTED_MERGED,    /* its hosts turned out to be of the job @merged_into */
};

struct detected_job {
	uint64_t id;            /* never used again */
	enum detected_state state;
	bool changed;           /* since the last step: state, hosts, or the confidence by more than 0.05 */
	uint32_t *hosts;        /* ascending */
	size_t host_count, host_capacity;
	int64_t begin_us;       /* CLOCK_BOOTTIME: no traffic of it before */
	bool begin_known;       /* otherwise it ran when its hosts were read first */
	uint32_t first_host;    /* the lowest of those that began first */
	int64_t last_us;        /* CLOCK_BOOTTIME of the reading that shows its last traffic */
	double confidence;      /* 0..1 */
	uint64_t merged_into;
	int64_t number;         /* of the owner; 0: none yet */

	/* Private. */
	double shown_confidence;
	int64_t longest_pause_us;
	bool dismissed, restored, shown;
};

/* job_detect_create - Return: NULL: no memory. @interval_us: of the sweeps, at least 1 */
struct job_detect *job_detect_create(int64_t interval_us);
void job_detect_destroy(struct job_detect *detect);

/*
 * job_detect_restore - a job that was found by an earlier process, and had not ended
 * @job:  hosts, begin_us, last_us, confidence and number; its hosts are copied
 * Return: 0 or ERR_NOMEM.
 */
int job_detect_restore(struct job_detect *detect, const struct detected_job *job, struct error *err);

/*
 * job_detect_step - evaluate one sweep
 * @at_us:     CLOCK_BOOTTIME of the sweep
 * @readings:  of hosts that were read, each at most once, in any order; those missing were not read
 * Jobs that had ended or were merged at the last step are removed first.
 * Return: 0 or ERR_NOMEM.
 */
int job_detect_step(struct job_detect *detect, int64_t at_us, const struct detect_reading *readings, size_t count,
		    struct error *err);

/* job_detect_jobs - all jobs, valid until the next step; the owner may set their number. */
struct detected_job *job_detect_jobs(struct job_detect *detect, size_t *ret_count);

/*
 * job_detect_dismiss - a job is none any more, though its hosts still communicate: the owner has ended it
 * The same hosts are found again only after they were quiet.
 */
void job_detect_dismiss(struct job_detect *detect, uint64_t id);

/*
 * job_detect_drop - another job, which was announced, runs on its hosts
 * The job is removed at once.
 */
void job_detect_drop(struct job_detect *detect, uint64_t id);

#endif
