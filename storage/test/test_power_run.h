/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * test_power_run.h - the recorded run of power_test.c: a collector with its compactor, snapshots, jobs,
 * restarts, a migration or a failed flush (cmocka assertions)
 *
 * A seed determines the sweeps and what is done after each; the compactor's thread has its own pace.
 */
#ifndef IBWIRE_STORAGE_TEST_POWER_RUN_H
#define IBWIRE_STORAGE_TEST_POWER_RUN_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct model;
struct sweep;
struct writer;
struct writer_retention;

/* What a run did, and the position from which on a power failure must not undo it. */
enum milestone_kind { STORED, OPENED, SNAPSHOT, REMOVING, REMOVED, JOB_BEGUN, JOB_CLOSED };

struct milestone {
	size_t position;
	enum milestone_kind kind;
	int number;
};

struct power_run {
	uint64_t seed;
	size_t sweeps_before; /* stored before the recording, in a database of version 1 */
	struct milestone milestones[256];
	size_t milestone_count;
	size_t operations;
	char reference[96]; /* the database at its end */
};

extern struct power_run power_run;
extern const struct writer_retention power_run_retention;

/* power_run_record - record the run of @seed; @migrate: with a database of version 1 and few sweeps. */
void power_run_record(uint64_t seed, bool migrate);

/* power_run_reached - was that reached before this position? */
bool power_run_reached(size_t position, enum milestone_kind kind, int number);

/* power_run_stored - sweeps whose commit returned before this position. */
size_t power_run_stored(size_t position);

/* power_run_model - the model after the first @sweeps of the run. Return: it (caller owns). */
struct model *power_run_model(size_t sweeps);

/* power_run_step - the next sweep of the history that the seed determines. */
const struct sweep *power_run_step(struct model *model);

/* What the run does, in any database. */
struct writer *power_run_open_writer(const char *name);
void power_run_save(const char *name, int number, const struct sweep *sweep);
void power_run_begin_job(const char *name, int number, int64_t wall_us);

#endif
