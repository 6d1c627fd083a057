/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * training_sweep.h - sweeps that read the members of a job in a simulated training world
 *
 * Members are not read at the same time: at 30 us after each other over the whole fabric, and up to 10 ms later.
 * A share of 0.5 % of the readings is missing; the next one then covers both intervals.
 */
#ifndef IBWIRE_TESTS_WORLD_TRAINING_SWEEP_H
#define IBWIRE_TESTS_WORLD_TRAINING_SWEEP_H

#include "analysis/job_watch.h"
#include "tests/world/training.h"

struct training_sweep {
	struct training *world;
	const struct training_job *job;
	int64_t interval_us;
	uint64_t seed, number;
	double missing;             /* share of readings */
	/* Of the last sweep. */
	int64_t at_us;              /* its end */
	size_t count;               /* of readings */
	struct job_reading *readings;
	bool *down;                 /* by member of the job: host of the job * rails + rail */
	size_t member_count;
	struct job_member *members;
	struct training_counters *last;
	int64_t *last_us;           /* -1: not read yet */
};

/* @job: borrowed. false: no memory */
bool training_sweep_init(struct training_sweep *sweep, struct training *world, const struct training_shape *shape,
			 const struct training_job *job, int64_t interval_us, uint64_t seed);
void training_sweep_done(struct training_sweep *sweep);

/* training_sweep_run - the sweep that begins at a time; the world has advanced to half a second later */
void training_sweep_run(struct training_sweep *sweep, int64_t at_us);

#endif
