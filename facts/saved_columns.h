/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* saved_columns.h - the columns of jobs and of snapshots, each described once */
#ifndef IBWIRE_FACTS_SAVED_COLUMNS_H
#define IBWIRE_FACTS_SAVED_COLUMNS_H

#include <stdint.h>

#include "export/result.h"
#include "facts/job_rhythm.h"

struct job;

/* A row of a table of jobs. */
struct job_facts {
	const struct job *job;
	int64_t duration_us, suspended_us; /* job_duration_us(), job_suspended_us() */
	struct job_rhythm rhythm;          /* the row of job_rhythm_columns */
};

/*
 * job_facts_of - the row of a job
 * @now:    as of job_duration_us()
 * @at_us:  wall clock of the past time whose rhythm is shown; 0: now
 */
struct job_facts job_facts_of(const struct job *job, const struct job *now, int64_t at_us);

/* job_rhythm_time - for job_rhythm_of(): @at_us, or the end of a job that had ended before */
int64_t job_rhythm_time(const struct job *job, int64_t at_us);

/* job_set_end - set end_us, end_boot_us and end_boot_id to this moment, for job_duration_us() too. */
void job_set_end(struct job *job);

/* Columns of a struct job_facts, and of a struct saved_info; the last one has no key. */
extern const struct column job_columns[], snapshot_columns[];

#endif
