/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* migrate_test.c - migration steps run in order, completely or not at all; outdated views are replaced */
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include <sqlite3.h>

#include "base/err.h"
#include "base/text.h"
#include "base/unit_test.h"
#include "storage/file/db.h"
#include "storage/file/schema.h"
#include "storage/reader.h"
#include "storage/test/test_check.h"
#include "storage/test/test_folder.h"
#include "storage/writer.h"

static char full[80];

static int set_up(void **state)
{
	test_folder_make(state);
	snprintf(full, sizeof(full), "%s/full.db", folder);
	return 0;
}

/* Two artificial steps, and one that fails after a change. */
static int add_column(sqlite3 *db, struct error *err)
{
	return db_exec(db, "ALTER TABLE boot ADD COLUMN kernel TEXT", err);
}

static int fill_column(sqlite3 *db, struct error *err)
{
	return db_exec(db, "INSERT INTO boot (boot_id, kernel) VALUES ('b', '6.1')", err);
}

static int fail_step(sqlite3 *db, struct error *err)
{
	int result = fill_column(db, err);

	return result ? result : err_set(err, ERR_IO, "the step failed");
}

static schema_step_fn *const two_steps[] = { add_column, fill_column, NULL };

static int migrate(schema_step_fn *const *steps, struct error *err)
{
	sqlite3 *db;
	int result;

	assert_int_equal(sqlite3_open(path, &db), SQLITE_OK);
	result = schema_run_steps(db, steps, NULL, err);
	sqlite3_close(db);
	return result;
}

static void assert_migrated(int version, int rows)
{
	assert_int_equal(check_integer(path, "PRAGMA user_version"), version);
	assert_int_equal(check_integer(path, "SELECT count(*) FROM boot"), rows);
	assert_int_equal(check_integer(path, "SELECT count(*) FROM pragma_table_info('boot') WHERE name = 'kernel'"),
			 version > 1);
}

/* A new database that counts as one of version 1. */
static void make_version_1(void)
{
	writer_close(check_open_writer(path));
	check_change(path, "PRAGMA user_version = 1");
}

TEST_WITH(steps_run_from_the_version_of_the_file, set_up, test_folder_remove)
{
	static schema_step_fn *const first[] = { add_column, NULL };

	make_version_1();
	assert_int_equal(migrate(first, NULL), 0);
	assert_migrated(2, 0);
	assert_int_equal(migrate(two_steps, NULL), 0);
	assert_migrated(3, 1);
	assert_int_equal(migrate(two_steps, NULL), 0);
	assert_migrated(3, 1);
}

TEST_WITH(a_failed_step_changes_nothing, set_up, test_folder_remove)
{
	static schema_step_fn *const failing[] = { add_column, fail_step, NULL };
	struct error err = { 0 };

	make_version_1();
	assert_int_equal(migrate(failing, &err), ERR_IO);
	assert_string_equal(err.text, "the step failed");
	assert_migrated(1, 0);
}

/* The same query on both databases. */
#define OF(before, after) { before "main" after, before "fresh" after }
#define COLUMNS(db) \
	"SELECT m.name, c.* FROM " db ".sqlite_schema m, pragma_table_xinfo(m.name, '" db "') c WHERE m.type = 'table'"

/* The database at @path has the schema of a new database. */
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

TEST_WITH(views_of_another_program_are_replaced, set_up, test_folder_remove)
{
	static const char *const others[] = {
		"DROP VIEW nodes", "DROP VIEW nodes; CREATE VIEW nodes AS SELECT 1 AS node",
		"DROP VIEW node_names; DROP VIEW traffic; CREATE VIEW traffic AS SELECT 2 AS node",
	};

	for (size_t i = 0; i < sizeof(others) / sizeof(*others); i++) {
		writer_close(check_open_writer(path));
		check_change(path, others[i]);
		writer_close(check_open_writer(path));
		assert_like_new();
	}
	/* Additional views remain. */
	check_change(path, "CREATE VIEW mine AS SELECT 42 AS it; DROP VIEW nodes");
	writer_close(check_open_writer(path));
	assert_int_equal(check_integer(path, "SELECT it FROM mine"), 42);
	assert_int_equal(check_integer(path, "SELECT count(*) FROM nodes"), 0);
}

/* Version 1 had no jobs. Readers reject it, the next writer adds the table and keeps everything else. */
TEST_WITH(a_database_of_version_1_gets_the_table_of_jobs, set_up, test_folder_remove)
{
	struct error err = { 0 };
	struct reader *reader;

	make_version_1();
	check_change(path, "DROP TABLE job; DELETE FROM code WHERE kind = 'job_ending';"
		     " INSERT INTO boot (boot_id) VALUES ('kept')");
	assert_int_equal(reader_open(path, &reader, &err), ERR_IO);
	check_error_line(&err, "schema version 1");
	writer_close(check_open_writer(path));
	assert_int_equal(check_integer(path, "PRAGMA user_version"), 2);
	assert_int_equal(check_integer(path, "SELECT count(*) FROM boot WHERE boot_id = 'kept'"), 1);
	assert_like_new();
}
