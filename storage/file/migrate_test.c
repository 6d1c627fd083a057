/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* migrate_test.c - a database of an older version is brought up to date and loses nothing */
#include <setjmp.h>
#include <signal.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cmocka.h>
#include <sqlite3.h>

#include "base/err.h"
#include "base/test_cases.h"
#include "base/text.h"
#include "storage/sql/delta_table.h"
#include "storage/reader.h"
#include "storage/file/schema.h"
#include "storage/test/test_check.h"
#include "storage/test/test_folder.h"
#include "storage/test/test_model.h"
#include "storage/writer.h"

static char full[80], old[80];

static int set_up(void **state)
{
	test_folder_make(state);
	snprintf(full, sizeof(full), "%s/full.db", folder);
	snprintf(old, sizeof(old), "%s/old.db", folder);
	return 0;
}

/* At @path, and the same at @old: what a program of version 1 would have stored of this model. */
static struct model *make_old(uint64_t seed, size_t steps)
{
	struct restored_caps caps = { .node_guid = 7, .caps = { .known = true, .cap_mask = 0x1200, .resp_time = 9 } };
	struct model *model = model_create(seed, 2, 6, 4);
	struct writer *writer = check_open_writer(full);

	model->keep_history = model->no_details = true;
	for (size_t i = 0; i < steps; i++) {
		if (i == steps / 3)
			model_reboot(model);
		check_store(writer, model_step(model));
	}
	for (size_t i = 0; i < model->sweep_count; i++)
		model->sweeps[i].ports_unfinished = model->sweeps[i].spread_us = model->sweeps[i].node_spread_us = -1;
	assert_int_equal(writer_sink(writer)->store_caps(writer, &caps, 1, NULL), 0);
	writer_close(writer);
	check_make_version_1(path, full);
	check_make_version_1(old, full);
	return model;
}

static int64_t version_of(const char *file)
{
	return check_integer(file, "PRAGMA user_version");
}

static void check_caps(struct writer *writer)
{
	struct restored restored = { 0 };

	assert_int_equal(writer_sink(writer)->restore(writer, &restored, NULL), 0);
	assert_int_equal(restored.caps_count, 1);
	assert_int_equal(restored.caps[0].node_guid, 7);
	assert_int_equal(restored.caps[0].caps.cap_mask, 0x1200);
	assert_int_equal(restored.caps[0].caps.resp_time, 9);
	assert_false(restored.caps[0].caps.tick_known);
	assert_int_equal(restored.caps[0].caps.missing, 0);
	restored_done(&restored);
}

static void version_1_goes_on_as_if_it_had_been_of_today(void **state)
{
	(void)state;
	for (uint64_t seed = 1; seed <= test_cases(3); seed++) {
		struct model *model = make_old(seed, 150);
		struct writer *writer = check_open_writer(path);
		struct reader *reader = check_open_reader(path);

		assert_int_equal(version_of(path), SCHEMA_VERSION);
		check_caps(writer);
		check_restore(writer, model);
		for (size_t id = 1; id <= model->sweep_count; id++)
			check_sweep(reader, model, (int64_t)id);
		model->no_details = false;
		for (int i = 0; i < 150; i++)
			check_store(writer, model_step(model));
		writer_close(writer);
		writer = check_open_writer(path);
		check_restore(writer, model);
		for (size_t id = 1; id <= model->sweep_count; id++)
			check_sweep(reader, model, (int64_t)id);
		check_details(reader, model, model->wall_us, 200000000);
		reader_close(reader);
		writer_close(writer);
		check_details_are_exact(path);
		check_integrity(path);
		model_destroy(model);
		test_folder_remove(NULL);
		set_up(NULL);
	}
}

/* The rows of one database that are not in the other, by the columns of version 1. */
static void assert_rows_kept(const char *table, const char *columns)
{
	char sql[2048];
	sqlite3 *db;
	sqlite3_stmt *row;

	assert_int_equal(sqlite3_open(path, &db), SQLITE_OK);
	assert_int_equal(delta_table_register(db, NULL), 0);
	snprintf(sql, sizeof(sql), "ATTACH '%s' AS old", old);
	assert_int_equal(sqlite3_exec(db, sql, NULL, NULL, NULL), SQLITE_OK);
	snprintf(sql, sizeof(sql),
		 "SELECT (SELECT count(*) FROM (SELECT %s FROM old.%s EXCEPT SELECT %s FROM main.%s)),"
		 " (SELECT count(*) FROM old.%s) - (SELECT count(*) FROM main.%s)", columns, table, columns, table,
		 table, table);
	if (sqlite3_prepare_v2(db, sql, -1, &row, NULL) != SQLITE_OK)
		fail_msg("%s: %s", sql, sqlite3_errmsg(db));
	assert_int_equal(sqlite3_step(row), SQLITE_ROW);
	if (sqlite3_column_int64(row, 0))
		fail_msg("%lld rows of %s are not as they were", sqlite3_column_int64(row, 0), table);
	/* Names and readings are added. */
	if (strcmp(table, "code") != 0 && strcmp(table, "absolute") != 0)
		assert_int_equal(sqlite3_column_int64(row, 1), 0);
	sqlite3_finalize(row);
	sqlite3_close(db);
}

static void every_row_is_kept_as_it_was(void **state)
{
	struct model *model = make_old(11, 100);
	sqlite3_stmt *tables;
	sqlite3 *db;
	int count = 0;

	(void)state;
	writer_close(check_open_writer(path));
	assert_int_equal(sqlite3_open(old, &db), SQLITE_OK);
	assert_int_equal(sqlite3_prepare_v2(db, "SELECT m.name, group_concat(c.name) FROM sqlite_schema m,"
					    " pragma_table_info(m.name) c WHERE m.type = 'table' GROUP BY 1", -1,
					    &tables, NULL), SQLITE_OK);
	for (; sqlite3_step(tables) == SQLITE_ROW; count++)
		assert_rows_kept((const char *)sqlite3_column_text(tables, 0),
				 (const char *)sqlite3_column_text(tables, 1));
	sqlite3_finalize(tables);
	sqlite3_close(db);
	assert_int_equal(count, 15);
	/* What version 1 did not know is not known. */
	assert_int_equal(check_integer(path, "SELECT count(*) FROM sweep WHERE ports_unfinished IS NOT NULL OR"
				       " spread_us IS NOT NULL OR node_spread_us IS NOT NULL"), 0);
	assert_int_equal(check_integer(path, "SELECT count(*) FROM caps WHERE tick IS NOT NULL OR missing"), 0);
	assert_int_equal(check_integer(path, "SELECT value FROM code WHERE kind = 'why' AND name = 'unfinished'"), 7);
	model_destroy(model);
}

/* One question for both databases. */
#define OF(before, after) { before "main" after, before "fresh" after }
#define COLUMNS(db) \
	"SELECT m.name, c.* FROM " db ".sqlite_schema m, pragma_table_xinfo(m.name, '" db "') c WHERE m.type = 'table'"

/* Is what stands at @path like a database that is made now? */
static void assert_like_new(void)
{
	static const struct { const char *made, *fresh; } same[] = {
		{ COLUMNS("main"), COLUMNS("fresh") },
		OF("SELECT type, name, tbl_name, sql FROM ", ".sqlite_schema"),
		OF("SELECT * FROM ", ".code"),
		OF("SELECT * FROM ", ".counter"),
		OF("SELECT * FROM ", ".detail_counter"),
	};
	char attach[128];
	sqlite3 *db;

	unlink(full);
	writer_close(check_open_writer(full));
	assert_int_equal(sqlite3_open(path, &db), SQLITE_OK);
	snprintf(attach, sizeof(attach), "ATTACH '%s' AS fresh", full);
	assert_int_equal(sqlite3_exec(db, attach, NULL, NULL, NULL), SQLITE_OK);
	for (size_t i = 0; i < sizeof(same) / sizeof(*same); i++) {
		const char *made = same[i].made, *fresh = same[i].fresh;
		struct text sql = { 0 };
		sqlite3_stmt *row;

		text_appendf(&sql, "SELECT (SELECT count(*) FROM (%s EXCEPT %s)) +"
			     " (SELECT count(*) FROM (%s EXCEPT %s)), (SELECT count(*) FROM (%s))",
			     made, fresh, fresh, made, fresh);
		if (sqlite3_prepare_v2(db, text_chars(&sql), -1, &row, NULL) != SQLITE_OK)
			fail_msg("%s: %s", text_chars(&sql), sqlite3_errmsg(db));
		assert_int_equal(sqlite3_step(row), SQLITE_ROW);
		if (sqlite3_column_int64(row, 0))
			fail_msg("%lld differences: %s", sqlite3_column_int64(row, 0), made);
		assert_true(sqlite3_column_int64(row, 1) > 0);
		sqlite3_finalize(row);
		text_done(&sql);
	}
	sqlite3_close(db);
}

static void what_comes_out_is_like_a_new_database(void **state)
{
	struct model *model = make_old(3, 5);

	(void)state;
	writer_close(check_open_writer(path));
	assert_like_new();
	model_destroy(model);
}

static void views_of_another_program_become_todays(void **state)
{
	static const char *const others[] = {
		"DROP VIEW nodes", "DROP VIEW nodes; CREATE VIEW nodes AS SELECT 1 AS node",
		"DROP VIEW node_names; DROP VIEW traffic; CREATE VIEW traffic AS SELECT 2 AS node",
	};
	sqlite3 *db;

	(void)state;
	for (size_t i = 0; i < sizeof(others) / sizeof(*others); i++) {
		writer_close(check_open_writer(path));
		assert_int_equal(sqlite3_open(path, &db), SQLITE_OK);
		assert_int_equal(sqlite3_exec(db, others[i], NULL, NULL, NULL), SQLITE_OK);
		sqlite3_close(db);
		writer_close(check_open_writer(path));
		assert_like_new();
	}
	/* What a person made is his. */
	assert_int_equal(sqlite3_open(path, &db), SQLITE_OK);
	assert_int_equal(sqlite3_exec(db, "CREATE VIEW mine AS SELECT 42 AS it; DROP VIEW nodes", NULL, NULL, NULL),
			 SQLITE_OK);
	sqlite3_close(db);
	writer_close(check_open_writer(path));
	assert_int_equal(check_integer(path, "SELECT it FROM mine"), 42);
	assert_int_equal(check_integer(path, "SELECT count(*) FROM nodes"), 0);
}

static void version_1_is_not_read_until_it_is_brought_up_to_date(void **state)
{
	struct model *model = make_old(5, 60);
	struct reader *reader = NULL;
	struct error err = { 0 };
	struct db_status status;
	struct writer *writer;

	(void)state;
	assert_int_equal(reader_open(path, &reader, &err), ERR_IO);
	assert_null(reader);
	assert_null(strchr(err.text, '\n'));
	assert_non_null(strstr(err.text, "ibwire collect --once"));
	assert_int_equal(version_of(path), 1);
	writer = check_open_writer(path);
	reader = check_open_reader(path);
	for (size_t id = 1; id <= model->sweep_count; id++)
		check_sweep(reader, model, (int64_t)id);
	model->no_details = false;
	for (int i = 0; i < 20; i++)
		check_store(writer, model_step(model));
	assert_int_equal(reader_status(reader, &status, NULL), 0);
	assert_int_equal(status.schema_version, SCHEMA_VERSION);
	assert_int_equal(status.last.spread_us, model->sweep.spread_us);
	check_sweep(reader, model, 60);
	check_sweep(reader, model, 80);
	check_details(reader, model, model->wall_us, 10000000);
	reader_close(reader);
	writer_close(writer);
	model_destroy(model);
}

static int64_t instructions_left;

static int count_down(void *ctx)
{
	(void)ctx;
	if (instructions_left-- <= 0)
		raise(SIGKILL);
	return 0;
}

/* SQLite calls this for each connection that is opened. */
static int count_instructions(sqlite3 *db, char **message, const void *api)
{
	(void)message;
	(void)api;
	sqlite3_progress_handler(db, 1, count_down, NULL);
	return SQLITE_OK;
}

/* Open as a collector does, and be killed after so many instructions of SQLite's. Return: was it killed? */
static bool killed_after(int64_t instructions)
{
	int status;
	pid_t child = fork();

	assert_true(child >= 0);
	if (!child) {
		struct writer *writer = NULL;

		instructions_left = instructions;
		if (sqlite3_auto_extension((void (*)(void))count_instructions) != SQLITE_OK)
			_exit(2);
		_exit(writer_open(path, &writer, NULL) < 0);
	}
	assert_int_equal(waitpid(child, &status, 0), child);
	if (WIFSIGNALED(status)) {
		assert_int_equal(WTERMSIG(status), SIGKILL);
		return true;
	}
	assert_int_equal(WEXITSTATUS(status), 0);
	return false;
}

static void killed_in_the_middle_it_is_still_version_1(void **state)
{
	static const char shape[] = "SELECT sum(length(sql)) * 1000 + count(*) FROM sqlite_schema";
	struct model *model = make_old(23, 12);
	int64_t before = check_integer(old, shape);
	int killed = 0;
	struct reader *reader;
	struct writer *writer;

	(void)state;
	for (int64_t after = 1; version_of(path) == 1; after += 1 + after / 25) {
		if (!killed_after(after))
			break;
		if (version_of(path) != 1)
			break;
		killed++;
		assert_int_equal(check_integer(path, shape), before);
	}
	assert_true(killed > 60);
	assert_int_equal(version_of(path), SCHEMA_VERSION);
	reader = check_open_reader(path);
	writer = check_open_writer(path);
	check_restore(writer, model);
	for (size_t id = 1; id <= model->sweep_count; id++)
		check_sweep(reader, model, (int64_t)id);
	reader_close(reader);
	writer_close(writer);
	check_integrity(path);
	model_destroy(model);
}

static void without_room_it_stays_what_it_was(void **state)
{
	struct model *model = make_old(29, 12);
	struct rlimit before, none;
	struct writer *writer = NULL;
	struct error err = { 0 };

	(void)state;
	signal(SIGXFSZ, SIG_IGN);
	assert_int_equal(getrlimit(RLIMIT_FSIZE, &before), 0);
	none = before;
	none.rlim_cur = 40000; /* enough for the index of the log, and for a few pages in it */
	assert_int_equal(setrlimit(RLIMIT_FSIZE, &none), 0);
	assert_int_equal(writer_open(path, &writer, &err), ERR_IO);
	assert_int_equal(setrlimit(RLIMIT_FSIZE, &before), 0);
	assert_null(writer);
	assert_null(strchr(err.text, '\n'));
	assert_non_null(strstr(err.text, path));
	assert_int_equal(version_of(path), 1);
	writer = check_open_writer(path);
	check_restore(writer, model);
	writer_close(writer);
	model_destroy(model);
}

#define TEST(name) cmocka_unit_test_setup_teardown(name, set_up, test_folder_remove)

int main(void)
{
	const struct CMUnitTest tests[] = {
		TEST(version_1_goes_on_as_if_it_had_been_of_today),
		TEST(every_row_is_kept_as_it_was),
		TEST(what_comes_out_is_like_a_new_database),
		TEST(views_of_another_program_become_todays),
		TEST(version_1_is_not_read_until_it_is_brought_up_to_date),
		TEST(killed_in_the_middle_it_is_still_version_1),
		TEST(without_room_it_stays_what_it_was),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
