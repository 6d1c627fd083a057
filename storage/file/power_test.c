/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * power_test.c - after a power failure at any point the database is whole, and no stored sweep is lost
 * (test_power_run.h has the run, test_power.h the disk)
 *
 * All commits are flushed before they return (WAL mode, synchronous=FULL: "transactions are durable",
 * SQLite's pragma.html#pragma_synchronous).
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

#include "base/test_cases.h"
#include "base/unit_test.h"
#include "storage/file/schema.h"
#include "storage/history.h"
#include "storage/jobs.h"
#include "storage/reader.h"
#include "storage/test/test_check.h"
#include "storage/test/test_folder.h"
#include "storage/test/test_history.h"
#include "storage/test/test_model.h"
#include "storage/test/test_power.h"
#include "storage/test/test_power_run.h"
#include "storage/writer.h"

#define S INT64_C(1000000)

enum { USUAL_POINTS = 120, POINTS_OF_RUN = 250 };

static char crash_folder[80], crash_path[96];

/* Of all runs: what the operation before the power failure belonged to. */
static struct { const char *name; size_t points; } phases[] = {
	{ .name = "creation" }, { .name = "migration" }, { .name = "ingest" }, { .name = "compaction and retention" },
	{ .name = "checkpoints" }, { .name = "snapshots" }, { .name = "jobs" }, { .name = "restarts of the collector" },
	{ .name = "repair of the log" }, { .name = "db compact" },
};
enum { PHASE_COUNT = sizeof(phases) / sizeof(*phases) };

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

	snprintf(attach, sizeof(attach), "ATTACH '%s' AS ref", power_run.reference);
	assert_int_equal(sqlite3_exec(db, attach, NULL, NULL, NULL), SQLITE_OK);
	for (size_t i = 0; i < sizeof(queries) / sizeof(*queries); i++)
		assert_none(db, queries[i]);
}

/* Snapshots and jobs whose command returned are complete. */
static void check_commands(sqlite3 *db, size_t position)
{
	char sql[128];

	for (size_t i = 0; i < power_run.milestone_count && power_run.milestones[i].position <= position; i++) {
		int number = power_run.milestones[i].number;

		sql[0] = '\0';
		if (power_run.milestones[i].kind == SNAPSHOT && !power_run_reached(position, REMOVING, number))
			snprintf(sql, sizeof(sql), "SELECT count(*) != 1 FROM snapshot WHERE complete AND name = 's%d'",
				 number);
		else if (power_run.milestones[i].kind == REMOVED)
			snprintf(sql, sizeof(sql), "SELECT count(*) FROM snapshot WHERE name = 's%d'", number);
		else if (power_run.milestones[i].kind == JOB_BEGUN)
			snprintf(sql, sizeof(sql), "SELECT count(*) != 1 FROM job WHERE id = '%d'", number);
		else if (power_run.milestones[i].kind == JOB_CLOSED)
			snprintf(sql, sizeof(sql), "SELECT count(*) != 1 FROM job WHERE id = '%d' AND ending = %d AND"
				 " exit_status = 3", number, JOB_ENDED);
		if (sql[0])
			assert_none(db, sql);
	}
	check_against_reference(db);
}

/* What the database has of all sweeps: sums of hours, of windows, or samples. */
struct pieces {
	const struct model *model;
	struct history_piece piece;
	int64_t samples, expected;
};

/* Retention may just be removing it, up to this sweep. */
static bool is_expired(const struct model *model, int64_t last)
{
	return model->sweeps[last - 1].wall_us + power_run_retention.hours_us < model->wall_us;
}

static bool check_piece(void *ctx, const struct history_piece *piece)
{
	struct pieces *pieces = ctx;

	assert_true(piece->from_sweep == pieces->piece.to_sweep || is_expired(pieces->model, piece->from_sweep - 1));
	pieces->piece = *piece;
	for (size_t p = 0; !is_expired(pieces->model, piece->to_sweep - 1) && p < pieces->model->port_count; p++)
		pieces->expected += check_truth(pieces->model, p, piece->from_sweep - 1, piece->to_sweep - 1).samples;
	return true;
}

static bool check_piece_delta(void *ctx, size_t port, const struct history_port *who, const struct delta *delta,
			      int64_t samples)
{
	struct pieces *pieces = ctx;
	size_t of_model = check_find_port(pieces->model, who->node_guid, who->num);
	struct check_sum truth = check_truth(pieces->model, of_model, pieces->piece.from_sweep - 1,
					     pieces->piece.to_sweep - 1);

	(void)port;
	assert_int_equal(samples, truth.samples);
	assert_int_equal(delta->elapsed_us, truth.delta.elapsed_us);
	assert_int_equal(delta->known, truth.delta.known);
	for (int i = 0; i < COUNTER_COUNT; i++)
		if (delta->known & COUNTER_BIT(i))
			assert_true(delta->value[i] == truth.delta.value[i]);
	if (!is_expired(pieces->model, pieces->piece.to_sweep - 1))
		pieces->samples += samples;
	return true;
}

/* The sums of all hours, then of all windows, are those of their sweeps, also where samples expired. */
static void check_sums(struct reader *reader, const struct model *model)
{
	static const int64_t longest_us[] = { 0, 1000 * S, 10000 * S };
	struct history_range range;

	assert_int_equal(reader_history_range(reader, 0, 0, &range, NULL), 0);
	assert_int_equal(range.until, model->sweep_count);
	for (size_t i = 0; i < sizeof(longest_us) / sizeof(*longest_us); i++) {
		struct pieces pieces = { .model = model, .piece.to_sweep = range.after + 1 };
		const struct history_consumer consumer = { check_piece, check_piece_delta, &pieces };
		const struct history_query query = { .after = range.after, .until = range.until,
						     .longest_us = longest_us[i],
						     .counters = COUNTER_BIT(COUNTER_COUNT) - 1 };

		assert_int_equal(reader_history(reader, &query, &consumer, NULL), 0);
		assert_int_equal(pieces.piece.to_sweep, range.until + 1);
		assert_int_equal(pieces.samples, pieces.expected);
	}
}

/* Sweeps that have samples, and sums: all of them with many points, otherwise the newest and some others. */
static void check_sweeps_and_sums(const struct model *model)
{
	struct reader *reader = check_open_reader(crash_path);
	int64_t newest = (int64_t)model->sweep_count, first = check_first_kept(crash_path);

	for (int64_t id = newest; id >= first; id -= many_points() || id > newest - 2 ? 1 : 7)
		check_sweep(reader, model, id);
	if (many_points() || newest % 4 == 0)
		check_sums(reader, model);
	reader_close(reader);
}

/* The next collector continues with exact sums, and the next commands are stored. */
static void check_next_collector(struct model *model, uint64_t seed)
{
	struct writer *writer = power_run_open_writer(crash_path);

	if (model->sweep_count)
		check_restore(writer, model);
	check_store(writer, power_run_step(model));
	check_store(writer, power_run_step(model));
	if (seed % 8 == 0) {
		power_run_save(crash_path, 1000, &model->sweep);
		power_run_begin_job(crash_path, 1000, model->wall_us);
	}
	writer_close(writer);
	check_sweeps_and_sums(model);
	check_sound(crash_path);
}

static bool database_exists(void)
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
		assert_false(power_run_reached(position, OPENED, 0));
	if (version != SCHEMA_VERSION)
		writer_close(check_open_writer(crash_path));
	check_sound(crash_path);
}

static void check_failure(size_t position, uint64_t seed)
{
	size_t stored = power_run_stored(position);
	struct model *model;
	int64_t newest = 0;
	sqlite3 *db;

	power_fail(position, seed, crash_folder);
	if (database_exists()) {
		open_first(position, seed);
		db = open_crashed();
		newest = query(db, "SELECT coalesce(max(id), 0) FROM sweep");
		assert_in_range(newest, stored, stored + 1);
		model = power_run_model((size_t)newest);
		if (newest) {
			check_sweeps_and_sums(model);
			check_commands(db, position);
		}
		sqlite3_close(db);
	} else {
		assert_false(power_run_reached(position, OPENED, 0) || power_run.sweeps_before);
		model = power_run_model(0);
	}
	if (many_points() || seed % 4 == 0 || !newest)
		check_next_collector(model, seed);
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
		print_error("run %llu, after operation %zu (%s), seed %llu; see %s\n",
			    (unsigned long long)power_run.seed, failing_at, power_phase_at(failing_at),
			    (unsigned long long)failing_seed, crash_folder);
	else
		remove_folders(state);
	failing_at = 0;
	power_free();
	return 0;
}

static void count_phase(const char *name)
{
	size_t i = 0;

	while (i < PHASE_COUNT && strcmp(phases[i].name, name) != 0)
		i++;
	assert_in_range(i, 0, PHASE_COUNT - 1);
	phases[i].points++;
}

static void fail_at_points(bool migrate, size_t points)
{
	for (uint64_t seed = environment("IBWIRE_POWER_SEED", 1); points; seed++) {
		size_t of_run = points < POINTS_OF_RUN ? points : POINTS_OF_RUN, count;

		power_run_record(seed, migrate);
		count = power_run.operations;
		for (size_t i = 0; i < of_run; i++) {
			failing_at = 1 + (i * count + (size_t)(seed * 7919 % count)) / of_run;
			if (failing_at > count)
				failing_at = count;
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
	struct model *model = power_run_model(0);
	struct writer *writer = check_open_writer(path);
	struct reader *reader;
	sqlite3 *db;
	char log[128], crash_log[128], same_version[64];
	char *bytes;
	size_t len;

	check_store(writer, power_run_step(model));
	db = check_open_second(path);
	snprintf(same_version, sizeof(same_version), "PRAGMA user_version = %d", SCHEMA_VERSION);
	assert_int_equal(sqlite3_exec(db, same_version, NULL, NULL, NULL), SQLITE_OK);
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
	check_next_collector(model, 1);
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
			if (!database_exists())
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
	for (size_t i = 0; i < PHASE_COUNT; i++) {
		char text[64];

		print_message("%6zu points: %s\n", phases[i].points, phases[i].name);
		assert_true(phases[i].points > 0 || !many_points());
		snprintf(text, sizeof(text), "Power failure: %s", phases[i].name);
		reliability_report(text, phases[i].points, "points", "unflushed writes lost, torn or garbage: the "
				   "database is whole, each stored sweep, sum, snapshot and job is exact, the next "
				   "collector continues");
	}
}
