/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* state.h - what is kept of a watched job between sweeps; private to analysis/jobs/ */
#ifndef IBWIRE_ANALYSIS_JOBS_STATE_H
#define IBWIRE_ANALYSIS_JOBS_STATE_H

#include "analysis/job_watch.h"

enum {
	JOB_POINTS = 600,         /* of the ring: 10 min at 1 s, 100 min at 10 s */
	JOB_LONGEST = 12,         /* pauses that are kept: the longest */
};

struct job_member_state {
	int64_t read_us;          /* CLOCK_BOOTTIME of the last reading; 0: none */
	int64_t busy_us;          /* of the last one that shows traffic; 0: none */
	float rate;               /* slow average of what it sends when the job is busy, bytes per second */
	float wait_to, wait_own;  /* average over the current pause */
	unsigned wait_count;
	bool down;
};

struct job_pause { float seconds; int64_t end_us; };

/* Pauses of a job: the longest, longest first. */
struct job_pauses {
	struct job_pause longest[JOB_LONGEST];
	unsigned kept;
	uint64_t count;           /* all */
};

struct job_watch {
	struct job_member *members;
	struct job_member_state *states;
	size_t count;
	uint32_t hosts;
	int64_t interval_us;

	struct rhythm_point points[JOB_POINTS]; /* a ring: the oldest at @next if it is full */
	size_t point_count, next;
	uint64_t sweeps;

	double level;             /* slow average of bytes per second and member when busy */
	int64_t first_busy_us, busy_us; /* first and last reading with traffic of any member; 0: none */
	unsigned busy_sweeps;
	bool paused;              /* at least one sweep was quiet since busy_us */
	bool was_suspended;       /* in the current pause */
	int64_t quiet_us;         /* length of the current pause so far, as readings prove it */
	struct job_pauses pauses;

	struct rhythm_point series[JOB_POINTS]; /* scratch: the ring in order */
	struct job_state state;
};

/* pause_learn - count a pause after which traffic returned */
void pause_learn(struct job_pauses *pauses, double seconds, int64_t end_us);
/*
 * pause_allowed - seconds for which the job may be quiet
 * @uneven: a minority of its hosts stopped before the others, or is down: no pause of the job as a whole
 * Return: NAN: not learnt.
 */
double pause_allowed(const struct job_watch *watch, bool uneven);

/* stall_step - evaluate the current pause: enter or leave JOB_PHASE_STALLED */
void stall_step(struct job_watch *watch, int64_t at_us);

/*
 * suspects_of_stall - fill the suspects of a quiet job, most suspected first
 * Return: a minority of hosts stopped before the others, or is down.
 */
bool suspects_of_stall(struct job_watch *watch);

/* watch_window - slowest window of readings: the interval, or longer if sweeps take longer. In seconds */
double watch_window(const struct job_watch *watch);

#endif
