/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
#include "storage/test/test_power_run.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include <cmocka.h>
#include <sqlite3.h>

#include "base/err.h"
#include "collector/sink.h"
#include "storage/admin.h"
#include "storage/jobs.h"
#include "storage/saved.h"
#include "storage/test/test_check.h"
#include "storage/test/test_folder.h"
#include "storage/test/test_model.h"
#include "storage/test/test_power.h"
#include "storage/writer.h"

#define S INT64_C(1000000)

struct power_run power_run;

const struct writer_retention power_run_retention = { .raw_us = 2000 * S, .sums_us = 6000 * S, .hours_us = 7000 * S,
						      .window_sweeps = 5 };

static void reached(enum milestone_kind kind, int number)
{
	assert_in_range(power_run.milestone_count, 0, 255);
	power_run.milestones[power_run.milestone_count++] = (struct milestone){ power_position(), kind, number };
}

const struct sweep *power_run_step(struct model *model)
{
	if (model->sweep_count % 6 == 4)
		model_jump(model, 1500 * S);
	return model_step(model);
}

struct model *power_run_model(size_t sweeps)
{
	struct model *model = model_create(power_run.seed, 2, 4, 3);

	model->keep_history = true;
	while (model->sweep_count < sweeps)
		power_run_step(model);
	return model;
}

struct writer *power_run_open_writer(const char *name)
{
	struct writer *writer = check_open_writer(name);

	writer_set_retention(writer, &power_run_retention);
	return writer;
}

void power_run_save(const char *name, int number, const struct sweep *sweep)
{
	struct saved_writer *writer = check_open_saved(name);
	char text[16];
	struct error err = { 0 };

	snprintf(text, sizeof(text), "s%d", number);
	if (saved_write(writer, &(struct saved_label){ .name = text, .slow = true }, sweep, &err) < 0)
		fail_msg("%s", err.text);
	saved_writer_close(writer);
}

static void remove_saved(int number)
{
	struct saved_writer *writer = check_open_saved(path);
	char text[16];

	power_phase("snapshots");
	snprintf(text, sizeof(text), "s%d", number);
	reached(REMOVING, number);
	assert_int_equal(saved_remove(writer, text, NULL), 0);
	reached(REMOVED, number);
	saved_writer_close(writer);
}

void power_run_begin_job(const char *name, int number, int64_t wall_us)
{
	struct saved_writer *writer = check_open_saved(name);
	char hosts[] = "node[1-4]";
	struct job job = { .begin_us = wall_us, .begin_boot_id = "boot", .hosts = hosts };
	const struct job_rules rules = { 0 };
	struct error err = { 0 };

	snprintf(job.id, sizeof(job.id), "%d", number);
	if (jobs_begin(writer, &job, &rules, &err) != 0)
		fail_msg("%s", err.text);
	saved_writer_close(writer);
}

static void end_job(int number, int64_t wall_us)
{
	struct saved_writer *writer = check_open_saved(path);
	struct job job = { .end_us = wall_us, .end_boot_id = "boot", .exit_status = 3 };

	snprintf(job.id, sizeof(job.id), "%d", number);
	assert_int_equal(jobs_end(writer, NULL, &job, NULL), 0);
	saved_writer_close(writer);
}

/* As the compactor does from 8 MB on. */
static void checkpoint(int mode)
{
	sqlite3 *db = check_open_second(path);

	assert_int_equal(sqlite3_busy_timeout(db, 5000), SQLITE_OK);
	sqlite3_wal_checkpoint_v2(db, NULL, mode, NULL, NULL);
	sqlite3_close(db);
}

/* What other commands do after some of the sweeps. */
static void disturb(int i, const struct sweep *sweep)
{
	if (i % 6 == 5) {
		power_phase("checkpoints");
		checkpoint(i % 4 == 3 ? SQLITE_CHECKPOINT_RESTART : SQLITE_CHECKPOINT_PASSIVE);
	}
	if (i % 8 == 3) {
		power_phase("snapshots");
		power_run_save(path, i, sweep);
		reached(SNAPSHOT, i);
	}
	if (i % 16 == 13)
		remove_saved(i - 10);
	if (i % 8 == 4) {
		power_phase("jobs");
		power_run_begin_job(path, i, sweep->wall_us);
		reached(JOB_BEGUN, i);
	}
	if (i % 8 == 6) {
		power_phase("jobs");
		end_job(i - 2, sweep->wall_us);
		reached(JOB_CLOSED, i - 2);
	}
}

/*
 * The flush of its commit fails, once the compactor has done what it does after the sweep before, which must be
 * on the disk. The writer recovers the log.
 */
static void fail_to_store(struct writer *writer, const struct sweep *sweep)
{
	const struct sink *sink = writer_sink(writer);

	usleep(100000);
	power_phase("repair of the log");
	power_fail_flush();
	assert_int_equal(sink->store(sink->ctx, sweep, NULL), ERR_IO);
}

static void record_sweeps(struct model *model, int sweeps)
{
	struct writer *writer = power_run_open_writer(path);

	reached(OPENED, 0);
	for (int i = 0; i < sweeps; i++) {
		const struct sweep *sweep = power_run_step(model);

		power_phase("ingest");
		if (i == (int)(power_run.seed * 13 + 7) % sweeps)
			fail_to_store(writer, sweep);
		check_store(writer, sweep);
		reached(STORED, (int)model->sweep_count);
		disturb(i, sweep);
		if (i % 14 == 11) {
			power_phase("restarts of the collector");
			writer_close(writer);
			writer = power_run_open_writer(path);
		}
	}
	power_phase("restarts of the collector");
	writer_close(writer);
}

/* A database of version 1 with some sweeps. */
static void make_version_1(size_t sweeps)
{
	struct model *model = power_run_model(0);
	struct writer *writer = power_run_open_writer(path);

	for (size_t i = 0; i < sweeps; i++)
		check_store(writer, power_run_step(model));
	writer_close(writer);
	model_destroy(model);
	check_change(path, DROP_TABLES_OF_VERSION_7 " PRAGMA user_version = 1; DROP TABLE job;"
		     " DELETE FROM code WHERE kind = 'job_ending'");
	power_run.sweeps_before = sweeps;
}

/* Record a run, and keep its database as the reference for snapshots and jobs. */
void power_run_record(uint64_t seed, bool migrate)
{
	struct model *model;
	int64_t before = 0, after = 0;

	memset(&power_run, 0, sizeof(power_run));
	power_run.seed = seed;
	if (migrate)
		make_version_1(12);
	model = power_run_model(power_run.sweeps_before);
	power_record(folder);
	power_phase(migrate ? "migration" : "creation");
	record_sweeps(model, migrate ? 2 : 45);
	power_phase("db compact");
	if (seed % 2 && !migrate)
		assert_int_equal(admin_compact(path, &before, &after, NULL), 0);
	power_stop();
	power_run.operations = power_position();
	model_destroy(model);
	if (!migrate) {
		assert_true(check_integer(path, "SELECT count(*) FROM chunk_window WHERE state = 1") > 0);
		assert_true(check_integer(path, "SELECT count(*) FROM chunk_window WHERE state = 2") > 0);
		assert_true(check_integer(path, "SELECT count(*) FROM hour WHERE state = 1") > 0);
		assert_true(check_integer(path, "SELECT min(id) FROM chunk_window") > 1);
	}
	snprintf(power_run.reference, sizeof(power_run.reference), "%s/reference.db", folder);
	test_file_copy(path, power_run.reference);
}

bool power_run_reached(size_t position, enum milestone_kind kind, int number)
{
	for (size_t i = 0; i < power_run.milestone_count && power_run.milestones[i].position <= position; i++)
		if (power_run.milestones[i].kind == kind && power_run.milestones[i].number == number)
			return true;
	return false;
}

size_t power_run_stored(size_t position)
{
	size_t stored = power_run.sweeps_before;

	for (size_t i = 0; i < power_run.milestone_count && power_run.milestones[i].position <= position; i++)
		if (power_run.milestones[i].kind == STORED)
			stored = (size_t)power_run.milestones[i].number;
	return stored;
}
