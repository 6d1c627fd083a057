/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * power_test.c - after a power failure at any point the database is whole, and no stored sweep is lost
 *
 * The writer's commits are flushed before they return (WAL mode, synchronous=FULL: "transactions are
 * durable", SQLite's pragma.html#pragma_synchronous), and so are those of snapshots and jobs. Those of
 * the compactor are not (NORMAL): they may be lost, but only all of them since some commit.
 * IBWIRE_POWER_POINTS is the number of failures (120), IBWIRE_POWER_SEED the seed of the first run (1).
 * A number above 120 makes more runs, and a new collector continues after each failure.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include <sqlite3.h>

#include "base/err.h"
#include "base/test_cases.h"
#include "base/unit_test.h"
#include "collector/sink.h"
#include "storage/admin.h"
#include "storage/jobs.h"
#include "storage/reader.h"
#include "storage/saved.h"
#include "storage/test/test_check.h"
#include "storage/test/test_folder.h"
#include "storage/test/test_history.h"
#include "storage/test/test_model.h"
#include "storage/test/test_power.h"
#include "storage/writer.h"

#define S INT64_C(1000000)

enum { USUAL_POINTS = 120, POINTS_OF_RUN = 250, PHASES_MAX = 16 };

/* What a run did, and the position from which on a power failure must not undo it. */
enum milestone_kind { STORED, OPENED, SNAPSHOT, REMOVING, REMOVED, JOB_BEGUN, JOB_CLOSED };

struct milestone {
	size_t position;
	enum milestone_kind kind;
	int number;
};

struct run {
	uint64_t seed;
	size_t sweeps_before; /* stored before the recording, in a database of version 1 */
	struct milestone milestones[256];
	size_t milestone_count;
	size_t operations;
};

static struct run run;
static char crash_folder[80], crash_path[96], reference[96];
static struct { const char *name; size_t points; } phases[PHASES_MAX];
static const struct writer_retention retention = { .raw_us = 2000 * S, .sums_us = 6000 * S, .hours_us = 7000 * S,
						   .window_sweeps = 5 };

static void reached(enum milestone_kind kind, int number)
{
	assert_in_range(run.milestone_count, 0, 255);
	run.milestones[run.milestone_count++] = (struct milestone){ power_position(), kind, number };
}

/* --- the recorded run --- */

/* The next sweep of the history that the seed determines. */
static const struct sweep *step(struct model *model)
{
	if (model->sweep_count % 6 == 4)
		model_jump(model, 1500 * S);
	return model_step(model);
}

static struct model *make_model(size_t sweeps)
{
	struct model *model = model_create(run.seed, 2, 4, 3);

	model->keep_history = true;
	while (model->sweep_count < sweeps)
		step(model);
	return model;
}

static struct writer *open_writer(const char *name)
{
	struct writer *writer = check_open_writer(name);

	writer_set_retention(writer, &retention);
	return writer;
}

static void save(const char *name, int number, const struct sweep *sweep)
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

	snprintf(text, sizeof(text), "s%d", number);
	reached(REMOVING, number);
	assert_int_equal(saved_remove(writer, text, NULL), 0);
	reached(REMOVED, number);
	saved_writer_close(writer);
}

static void begin_job(const char *name, int number, int64_t wall_us)
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
	assert_int_equal(jobs_end(writer, &job, NULL), 0);
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
		power_phase("checkpoint");
		checkpoint(i % 4 == 3 ? SQLITE_CHECKPOINT_RESTART : SQLITE_CHECKPOINT_PASSIVE);
	}
	if (i % 8 == 3) {
		power_phase("snapshot");
		save(path, i, sweep);
		reached(SNAPSHOT, i);
	}
	if (i % 16 == 13)
		remove_saved(i - 10);
	if (i % 8 == 4) {
		power_phase("jobs");
		begin_job(path, i, sweep->wall_us);
		reached(JOB_BEGUN, i);
	}
	if (i % 8 == 6) {
		power_phase("jobs");
		end_job(i - 2, sweep->wall_us);
		reached(JOB_CLOSED, i - 2);
	}
}

static void live(struct model *model, int sweeps)
{
	struct writer *writer = open_writer(path);

	reached(OPENED, 0);
	for (int i = 0; i < sweeps; i++) {
		const struct sweep *sweep = step(model);

		power_phase("ingest");
		check_store(writer, sweep);
		reached(STORED, (int)model->sweep_count);
		disturb(i, sweep);
		if (i % 14 == 11) {
			power_phase("end and start of the collector");
			writer_close(writer);
			writer = open_writer(path);
		}
	}
	power_phase("end and start of the collector");
	writer_close(writer);
}

/* A database of version 1 with some sweeps. */
static void make_version_1(size_t sweeps)
{
	struct model *model = make_model(0);
	struct writer *writer = open_writer(path);

	for (size_t i = 0; i < sweeps; i++)
		check_store(writer, step(model));
	writer_close(writer);
	model_destroy(model);
	check_change(path, "PRAGMA user_version = 1; DROP TABLE job; DELETE FROM code WHERE kind = 'job_ending'");
	run.sweeps_before = sweeps;
}

/* Record a run, and keep its database as the reference for snapshots and jobs. */
static void record(uint64_t seed, bool migrate)
{
	struct model *model;
	int64_t before = 0, after = 0;

	memset(&run, 0, sizeof(run));
	run.seed = seed;
	if (migrate)
		make_version_1(12);
	model = make_model(run.sweeps_before);
	power_record(folder);
	power_phase(migrate ? "migration" : "creation");
	live(model, migrate ? 2 : 45);
	power_phase("db compact");
	if (seed % 2 && !migrate)
		assert_int_equal(admin_compact(path, &before, &after, NULL), 0);
	power_stop();
	run.operations = power_position();
	model_destroy(model);
	snprintf(reference, sizeof(reference), "%s/reference.db", folder);
	test_file_copy(path, reference);
}

/* --- after the power failure --- */

static size_t environment(const char *name, size_t usual)
{
	const char *given = getenv(name);

	return given ? strtoul(given, NULL, 10) : usual;
}

static size_t all_points(void)
{
	return environment("IBWIRE_POWER_POINTS", test_cases(USUAL_POINTS));
}

static bool many_points(void)
{
	return all_points() > USUAL_POINTS;
}

static bool is_reached(size_t position, enum milestone_kind kind, int number)
{
	for (size_t i = 0; i < run.milestone_count && run.milestones[i].position <= position; i++)
		if (run.milestones[i].kind == kind && run.milestones[i].number == number)
			return true;
	return false;
}

/* Sweeps whose commit returned before. */
static size_t stored_until(size_t position)
{
	size_t stored = run.sweeps_before;

	for (size_t i = 0; i < run.milestone_count && run.milestones[i].position <= position; i++)
		if (run.milestones[i].kind == STORED)
			stored = (size_t)run.milestones[i].number;
	return stored;
}

static sqlite3 *open_crashed(void)
{
	sqlite3 *db;

	assert_int_equal(sqlite3_open_v2(crash_path, &db, SQLITE_OPEN_READONLY, NULL), SQLITE_OK);
	return db;
}

static int64_t query(sqlite3 *db, const char *sql)
{
	sqlite3_stmt *row = NULL;
	int64_t value;

	if (sqlite3_prepare_v2(db, sql, -1, &row, NULL) != SQLITE_OK || sqlite3_step(row) != SQLITE_ROW)
		fail_msg("%s: %s", sqlite3_errmsg(db), sql);
	value = sqlite3_column_int64(row, 0);
	sqlite3_finalize(row);
	return value;
}

static void assert_none(sqlite3 *db, const char *sql)
{
	if (query(db, sql))
		fail_msg("%s", sql);
}

/* Rows of snapshots and jobs that the database has are those of the run. */
static void check_against_reference(sqlite3 *db)
{
	static const char *const queries[] = {
		"SELECT count(*) FROM snapshot s JOIN ref.snapshot r USING (id) WHERE s.complete AND"
		" (s.name, s.sweep, s.wall_us) IS NOT (r.name, r.sweep, r.wall_us)",
		"WITH b AS (SELECT s.id FROM snapshot s JOIN ref.snapshot r USING (id, name) WHERE s.complete) SELECT"
		" (SELECT count(*) FROM (SELECT * FROM snapshot_port WHERE snapshot IN b EXCEPT"
		" SELECT * FROM ref.snapshot_port)) + (SELECT count(*) FROM (SELECT * FROM ref.snapshot_port"
		" WHERE snapshot IN b EXCEPT SELECT * FROM main.snapshot_port))",
		"SELECT count(*) FROM job j LEFT JOIN ref.job r USING (number) WHERE (j.id, j.begin_us, j.hosts) IS NOT"
		" (r.id, r.begin_us, r.hosts) OR (j.ending AND j.end_us IS NOT r.end_us)",
	};
	char attach[128];

	snprintf(attach, sizeof(attach), "ATTACH '%s' AS ref", reference);
	assert_int_equal(sqlite3_exec(db, attach, NULL, NULL, NULL), SQLITE_OK);
	for (size_t i = 0; i < sizeof(queries) / sizeof(*queries); i++)
		assert_none(db, queries[i]);
}

/* Snapshots and jobs whose command returned are complete. */
static void check_commands(sqlite3 *db, size_t position)
{
	char sql[128];

	for (size_t i = 0; i < run.milestone_count && run.milestones[i].position <= position; i++) {
		int number = run.milestones[i].number;

		sql[0] = '\0';
		if (run.milestones[i].kind == SNAPSHOT && !is_reached(position, REMOVING, number))
			snprintf(sql, sizeof(sql), "SELECT count(*) != 1 FROM snapshot WHERE complete AND name = 's%d'",
				 number);
		else if (run.milestones[i].kind == REMOVED)
			snprintf(sql, sizeof(sql), "SELECT count(*) FROM snapshot WHERE name = 's%d'", number);
		else if (run.milestones[i].kind == JOB_BEGUN)
			snprintf(sql, sizeof(sql), "SELECT count(*) != 1 FROM job WHERE id = '%d'", number);
		else if (run.milestones[i].kind == JOB_CLOSED)
			snprintf(sql, sizeof(sql), "SELECT count(*) != 1 FROM job WHERE id = '%d' AND ending = %d AND"
				 " exit_status = 3", number, JOB_ENDED);
		if (sql[0])
			assert_none(db, sql);
	}
	check_against_reference(db);
}

/* The newest sweeps and some others that have samples. */
static void check_newest(sqlite3 *db, const struct model *model)
{
	struct reader *reader = check_open_reader(crash_path);
	int64_t newest = (int64_t)model->sweep_count;
	int64_t first = query(db, "SELECT coalesce(max(to_sweep), 1) FROM chunk_window WHERE state = 2");

	for (int64_t id = newest; id >= first; id -= id > newest - 2 ? 1 : 7)
		check_sweep(reader, model, id);
	reader_close(reader);
}

/* The next collector continues with exact sums, and the next commands are stored. */
static void go_on(struct model *model, uint64_t seed)
{
	struct writer *writer = open_writer(crash_path);
	sqlite3 *db;

	if (model->sweep_count)
		check_restore(writer, model);
	check_store(writer, step(model));
	check_store(writer, step(model));
	if (seed % 8 == 0) {
		save(crash_path, 1000, &model->sweep);
		begin_job(crash_path, 1000, model->wall_us);
	}
	writer_close(writer);
	db = open_crashed();
	check_newest(db, model);
	sqlite3_close(db);
	check_sound(crash_path);
}

static bool is_there(void)
{
	struct stat st;

	return stat(crash_path, &st) == 0 && st.st_size > 0;
}

/* A reader comes first, or the next collector. A reader rejects a database of version 1. */
static void open_first(size_t position, uint64_t seed)
{
	int64_t version = 0;
	sqlite3 *db;

	if (seed % 4 != 2) {
		db = open_crashed();
		version = query(db, "PRAGMA user_version");
		sqlite3_close(db);
	}
	if (version == 1)
		assert_false(is_reached(position, OPENED, 0));
	if (version != 2)
		writer_close(check_open_writer(crash_path));
	check_sound(crash_path);
}

static void check_failure(size_t position, uint64_t seed)
{
	size_t stored = stored_until(position);
	struct model *model;
	int64_t newest = 0;
	sqlite3 *db;

	power_fail(position, seed, crash_folder);
	if (is_there()) {
		open_first(position, seed);
		db = open_crashed();
		newest = query(db, "SELECT coalesce(max(id), 0) FROM sweep");
		assert_in_range(newest, stored, stored + 1);
		model = make_model((size_t)newest);
		if (newest) {
			check_newest(db, model);
			check_commands(db, position);
		}
		sqlite3_close(db);
	} else {
		assert_false(is_reached(position, OPENED, 0) || run.sweeps_before);
		model = make_model(0);
	}
	if (many_points() || seed % 4 == 0 || !newest)
		go_on(model, seed);
	model_destroy(model);
}

/* --- the tests --- */

static int set_up(void **state)
{
	test_folder_make(state);
	snprintf(crash_folder, sizeof(crash_folder), "%s-off", folder);
	snprintf(crash_path, sizeof(crash_path), "%s/fabric.db", crash_folder);
	return mkdir(crash_folder, 0700);
}

static size_t failing_at;
static uint64_t failing_seed;

static void remove_folders(void **state)
{
	test_folder_remove(state);
	snprintf(folder, sizeof(folder), "%.*s", (int)sizeof(folder) - 1, crash_folder);
	test_folder_remove(state);
}

/* The files of a failed test stay in crash_folder. */
static int tear_down(void **state)
{
	if (failing_at)
		print_error("run %llu, after operation %zu (%s), seed %llu; see %s\n", (unsigned long long)run.seed,
			    failing_at, power_phase_at(failing_at), (unsigned long long)failing_seed, crash_folder);
	else
		remove_folders(state);
	failing_at = 0;
	power_free();
	return 0;
}

static void count_phase(const char *name)
{
	size_t i = 0;

	while (i < PHASES_MAX - 1 && phases[i].name && strcmp(phases[i].name, name) != 0)
		i++;
	phases[i].name = name;
	phases[i].points++;
}

static void fail_at_points(bool migrate, size_t points)
{
	for (uint64_t seed = environment("IBWIRE_POWER_SEED", 1); points; seed++) {
		size_t of_run = points < POINTS_OF_RUN ? points : POINTS_OF_RUN;

		record(seed, migrate);
		for (size_t i = 0; i < of_run; i++) {
			failing_at = 1 + (i * run.operations + (size_t)(seed * 7919 % run.operations)) / of_run;
			if (failing_at > run.operations)
				failing_at = run.operations;
			failing_seed = seed * 1000003 + i;
			count_phase(power_phase_at(failing_at));
			check_failure(failing_at, failing_seed);
		}
		failing_at = 0;
		points -= of_run;
		power_free();
		test_folder_renew();
	}
}

TEST_WITH(no_stored_sweep_snapshot_or_job_is_lost_by_a_power_failure, set_up, tear_down)
{
	fail_at_points(false, all_points() - all_points() / 5);
}

/* A checkpoint writes the first page, too: while it is torn, the log has it. */
TEST_WITH(a_torn_first_page_is_read_from_the_log, set_up, tear_down)
{
	struct model *model = make_model(0);
	struct writer *writer = check_open_writer(path);
	struct reader *reader;
	sqlite3 *db;
	char log[128], crash_log[128];
	char *bytes;
	size_t len;

	check_store(writer, step(model));
	db = check_open_second(path);
	assert_int_equal(sqlite3_exec(db, "PRAGMA user_version = 2", NULL, NULL, NULL), SQLITE_OK);
	sqlite3_close(db);
	bytes = test_file_read(path, &len);
	memset(bytes, 0xa5, 512);
	test_file_write(crash_path, bytes, len);
	free(bytes);
	snprintf(log, sizeof(log), "%s-wal", path);
	snprintf(crash_log, sizeof(crash_log), "%s-wal", crash_path);
	test_file_copy(log, crash_log);
	writer_close(writer);
	reader = check_open_reader(crash_path);
	check_sweep(reader, model, 1);
	reader_close(reader);
	go_on(model, 1);
	model_destroy(model);
}

/* The log of a removed database, with sweeps of another fabric. */
static void leave_log(void)
{
	struct model *model = model_create(99, 2, 4, 3);
	struct writer *writer = check_open_writer(path);
	char name[96];
	char *bytes;
	size_t len;

	check_store_steps(writer, model, 3);
	snprintf(name, sizeof(name), "%s-wal", path);
	bytes = test_file_read(name, &len);
	writer_close(writer);
	unlink(path);
	test_file_write(name, bytes, len);
	free(bytes);
	model_destroy(model);
}

/* Its removal is on the disk before the new database has the name. */
TEST_WITH(the_log_of_a_removed_database_is_never_part_of_a_new_one, set_up, tear_down)
{
	leave_log();
	power_record(folder);
	power_phase("creation");
	writer_close(check_open_writer(path));
	power_stop();
	for (size_t position = power_position(), i = 0; i < 6 && position; i++, position--) {
		for (uint64_t seed = 0; seed < 100; seed++) {
			sqlite3 *db;

			power_fail(position, seed, crash_folder);
			if (!is_there())
				continue;
			db = open_crashed();
			assert_none(db, "SELECT count(*) FROM sweep");
			sqlite3_close(db);
		}
	}
}

TEST_WITH(a_migration_is_complete_or_absent_after_a_power_failure, set_up, tear_down)
{
	fail_at_points(true, all_points() / 5);
	for (size_t i = 0; i < PHASES_MAX && phases[i].name; i++)
		print_message("%6zu points: %s\n", phases[i].points, phases[i].name);
	reliability_report("Power failure", all_points(), "points of time",
			   "unflushed writes lost, torn or garbage: the database is whole, each stored sweep, snapshot "
			   "and job is exact, the next collector continues");
}
