/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* job_minute.h - what is stored of the rhythm of a running job once a minute */
#ifndef IBWIRE_ANALYSIS_JOB_MINUTE_H
#define IBWIRE_ANALYSIS_JOB_MINUTE_H

#include <stdint.h>

#include "analysis/job_watch.h"

/* The state of a job (analysis/job_watch.h) at one sweep. Times are wall clocks: us since 1970 UTC. */
struct job_minute {
	int64_t job;            /* number of the job; 0: nothing is stored */
	int64_t wall_us;        /* of the sweep */
	struct rhythm rhythm;   /* of the last minutes */
	enum job_phase phase;
	int64_t since_us;       /* JOB_PHASE_STALLED, JOB_PHASE_SLOWER: since then; otherwise 0 */
	double slower;          /* JOB_PHASE_SLOWER: as in struct job_state; otherwise NAN */
	double before_s;        /* JOB_PHASE_SLOWER: period before; otherwise that of an hour ago, which the store
				   knows (NAN when it is stored); NAN: not known */
};

/*
 * job_minute_of - what is stored of a state
 * @wall_us, @boot_us:  the sweep: its wall clock, and CLOCK_BOOTTIME at the same moment
 */
struct job_minute job_minute_of(int64_t job, const struct job_state *state, int64_t wall_us, int64_t boot_us);

#endif
