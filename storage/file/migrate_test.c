/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * migrate_test.c - migration steps run in order, completely or not at all, also if the process is killed;
 * outdated views are replaced
 */
#include <signal.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include <sqlite3.h>

#include "base/err.h"
#include "base/test_cases.h"
#include "base/text.h"
#include "base/unit_test.h"
#include "storage/file/db.h"
#include "storage/file/schema.h"
#include "storage/file/tables.h"
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

/* --- the database that the release with version 1 wrote --- */

#define RELEASED_SWEEPS 20
#define SWEEPS "SELECT count(*) FROM sweep"

static char released[80];

/* First version of SQLite with STRICT tables. */
#define STRICT_TABLES 3037000

static void remove_strict(char *sql)
{
	for (char *at; (at = strstr(sql, " STRICT;")); ) {
		char *end = at + strlen(" STRICT");

		at -= at[-1] == ',';
		memmove(at, end, strlen(end) + 1);
	}
}

/* Create it under another name, from which each test copies it. */
static int set_up_released(void **state)
{
	char name[512], *sql;
	size_t len;

	set_up(state);
	snprintf(released, sizeof(released), "%s/released.db", folder);
	snprintf(name, sizeof(name), "%s/tests/integration/version1.sql", getenv("IBWIRE_SRCDIR"));
	sql = test_file_read(name, &len);
	sql[len] = '\0';
	if (sqlite3_libversion_number() < STRICT_TABLES)
		remove_strict(sql);
	check_change(released, sql);
	free(sql);
	return 0;
}

static void copy_released(void)
{
	static const char *const suffixes[] = { "-wal", "-shm", "-journal" };
	char name[96];

	for (size_t i = 0; i < sizeof(suffixes) / sizeof(*suffixes); i++) {
		snprintf(name, sizeof(name), "%s%s", path, suffixes[i]);
		unlink(name);
	}
	test_file_copy(released, path);
}

/* Readers reject an older version, and the next writer migrates it. */
static void check_migrated(const char *version)
{
	struct error err = { 0 };
	struct reader *reader;

	assert_int_equal(reader_open(path, &reader, &err), ERR_IO);
	check_error_line(&err, version);
	writer_close(check_open_writer(path));
	assert_int_equal(check_integer(path, "PRAGMA user_version"), SCHEMA_VERSION);
}

/* Version 1 had no jobs. The next writer adds the table and keeps everything else. */
TEST_WITH(a_released_database_of_version_1_gets_the_table_of_jobs, set_up_released, test_folder_remove)
{
	copy_released();
	check_migrated("schema version 1");
	assert_int_equal(check_integer(path, SWEEPS), RELEASED_SWEEPS);
	assert_like_new();
	reader_close(check_open_reader(path));
}

static bool is_added(const char *table)
{
	char drop[80];

	snprintf(drop, sizeof(drop), "DROP TABLE %s;", table);
	return strstr(DROP_TABLES_OF_VERSION_7, drop);
}

/* Turn a current database into one of version 6. */
static void make_version_6(void)
{
	check_change(path, DROP_TABLES_OF_VERSION_7 " PRAGMA user_version = 6");
}

TEST_WITH(a_database_of_version_6_gets_the_new_tables, set_up, test_folder_remove)
{
	writer_close(check_open_writer(path));
	make_version_6();
	check_migrated("schema version 6");
	assert_like_new();
	reader_close(check_open_reader(path));
}

/*
 * Turn a current database into one of version 5, whose table of jobs has 16 columns; rows are stored with as many.
 * The constraint of types is that of the other tables: all but the last lines of the text.
 */
static void make_version_5(void)
{
	struct text sql = { 0 }, old = { 0 };

	make_version_6();
	tables_append_typed(&old, 5);
	text_append(&sql, "PRAGMA writable_schema = ON; UPDATE sqlite_schema SET sql = '");
	for (const char *at = strstr(text_chars(&old), "CREATE TABLE job "), *end = at + tables_statement_length(at);
	     at < end; at++)
		text_appendf(&sql, *at == '\'' ? "''" : "%c", *at);
	text_append(&sql, "' WHERE name = 'job'; PRAGMA user_version = 5; PRAGMA schema_version = 5000");
	check_change(path, text_chars(&sql));
	assert_int_equal(check_integer(path, "SELECT count(*) FROM pragma_table_info('job')"), 16);
	text_done(&sql);
	text_done(&old);
}

/* Version 6 added columns of jobs: rows of version 5 lack them, and can be changed then. */
TEST_WITH(jobs_of_version_5_have_no_cluster_and_can_get_one, set_up, test_folder_remove)
{
	static const char *const refused[] = {
		"UPDATE job SET suspended_us = 'x'", "UPDATE job SET ending = 4", "UPDATE job SET cluster = x'00'",
		"UPDATE job SET suspended_since_us = 1",
	};
	writer_close(check_open_writer(path));
	make_version_5();
	check_change(path, "INSERT INTO job (id, name, hosts, command, begin_us, begin_boot_us, begin_boot_id, end_us,"
		     " ending, exit_status) VALUES ('1', 'n', 'h', 'c', 2, 3, 'b', 4, 1, 5),"
		     " ('2', 'n', 'h', 'c', 2, 3, 'b', NULL, 0, NULL)");
	check_migrated("schema version 5");
	assert_int_equal(check_integer(path, "SELECT count(*) FROM job WHERE number = 1 AND exit_status = 5 AND"
				       " name = 'n' AND cluster IS NULL AND suspended_us IS NULL"), 1);
	check_integrity(path);
	assert_like_new();
	for (size_t i = 0; i < sizeof(refused) / sizeof(*refused); i++) {
		sqlite3 *db;

		assert_int_equal(sqlite3_open(path, &db), SQLITE_OK);
		assert_int_equal(sqlite3_exec(db, refused[i], NULL, NULL, NULL), SQLITE_CONSTRAINT);
		sqlite3_close(db);
	}
	check_change(path, "UPDATE job SET cluster = 'alpha', ending = 4, suspended_since_us = 9 WHERE number = 2");
	check_integrity(path);
	reader_close(check_open_reader(path));
}

/* The index of jobs by time was added by version 4, which cuts long commands. */
TEST_WITH(a_database_of_version_3_gets_the_index_of_jobs, set_up, test_folder_remove)
{
	writer_close(check_open_writer(path));
	make_version_5();
	check_change(path, "DROP INDEX job_by_time; INSERT INTO job (id, name, hosts, command, begin_us, begin_boot_us,"
		     " begin_boot_id, ending) VALUES ('4711', '', '', printf('%.5000c', 'a'), 1, 1, 'b', 0);"
		     " PRAGMA user_version = 3");
	check_migrated("schema version 3");
	assert_int_equal(check_integer(path, "SELECT count(*) FROM job WHERE id = '4711' AND length(command) <= 4096"),
			 1);
	assert_like_new();
}

/* The result of a change, and the types that the column has then; the change is undone. */
static void try_change(sqlite3 *db, const char *table, const char *column, const char *value, struct text *ret)
{
	struct text sql = { 0 };
	sqlite3_stmt *type;

	text_appendf(&sql, "SAVEPOINT try; UPDATE %s SET \"%s\" = %s", table, column, value);
	text_appendf(ret, "%s.%s = %s: %s", table, column, value,
		     sqlite3_exec(db, text_chars(&sql), NULL, NULL, NULL) ? "rejected" : "stored");
	text_clear(&sql);
	text_appendf(&sql, "SELECT DISTINCT typeof(\"%s\") FROM %s ORDER BY 1", column, table);
	assert_int_equal(sqlite3_prepare_v2(db, text_chars(&sql), -1, &type, NULL), SQLITE_OK);
	while (sqlite3_step(type) == SQLITE_ROW)
		text_appendf(ret, " %s", (const char *)sqlite3_column_text(type, 0));
	sqlite3_finalize(type);
	assert_int_equal(sqlite3_exec(db, "ROLLBACK TO try; RELEASE try", NULL, NULL, NULL), SQLITE_OK);
	text_append(ret, "\n");
	text_done(&sql);
}

/* Try values of each type in each column of the tables with rows. Return: their number. */
static unsigned try_changes(const char *name, struct text *ret)
{
	static const char columns[] =
		"SELECT m.name, c.name FROM sqlite_schema m, pragma_table_xinfo(m.name) c WHERE m.type = 'table'"
		" AND m.name NOT IN ('job', 'finding', 'finding_state', 'meta', 'sqlite_sequence') ORDER BY 1, 2";
	static const char *const values[] = { "NULL", "1", "1.5", "2.0", "'x'", "'7'", "x'00'" };
	unsigned count = 0;
	sqlite3_stmt *row;
	sqlite3 *db;

	assert_int_equal(sqlite3_open(name, &db), SQLITE_OK);
	assert_int_equal(sqlite3_prepare_v2(db, columns, -1, &row, NULL), SQLITE_OK);
	for (; sqlite3_step(row) == SQLITE_ROW; count++) {
		const char *table = (const char *)sqlite3_column_text(row, 0);

		for (size_t i = 0; !is_added(table) && i < sizeof(values) / sizeof(*values); i++)
			try_change(db, table, (const char *)sqlite3_column_text(row, 1), values[i], ret);
	}
	sqlite3_finalize(row);
	sqlite3_close(db);
	return count;
}

/* Version 5 checks types by constraints: the model is SQLite's check of the STRICT tables of version 1. */
TEST_WITH(types_are_checked_as_in_strict_tables, set_up_released, test_folder_remove)
{
	struct text strict = { 0 }, checked = { 0 };

	if (sqlite3_libversion_number() < STRICT_TABLES) {
		print_message("# this SQLite has no STRICT tables\n");
		skip();
	}
	copy_released();
	assert_true(try_changes(path, &strict) > 200);
	writer_close(check_open_writer(path));
	try_changes(path, &checked);
	assert_string_equal(text_chars(&checked), text_chars(&strict));
	text_done(&strict);
	text_done(&checked);
}

/* Tables of version 4 are STRICT; SQLite before 3.37 has to migrate them, too. */
TEST_WITH(strict_tables_of_version_4_get_constraints, set_up, test_folder_remove)
{
	static const char make_strict[] =
		"PRAGMA writable_schema = ON; UPDATE sqlite_schema SET sql = substr(sql, 1, instr(sql, printf("
		"',%c\tCONSTRAINT ', char(10)) || name || '_types CHECK') - 1) || char(10) || ')'"
		" || CASE WHEN sql LIKE '%) WITHOUT ROWID' THEN ' WITHOUT ROWID, STRICT' ELSE ' STRICT' END"
		" WHERE type = 'table' AND sql LIKE '%_types CHECK%';"
		" PRAGMA user_version = 4; PRAGMA schema_version = 4000";
	writer_close(check_open_writer(path));
	make_version_5();
	check_change(path, "INSERT INTO job (id, name, hosts, command, begin_us, begin_boot_us, begin_boot_id, ending)"
		     " VALUES ('4711', '', '', '', 1, 1, 'b', 0)");
	check_change(path, make_strict);
	check_migrated("schema version 4");
	assert_int_equal(check_integer(path, "SELECT count(*) FROM sqlite_schema WHERE sql LIKE '% STRICT'"), 0);
	assert_int_equal(check_integer(path, "SELECT count(*) FROM job WHERE id = '4711'"), 1);
	assert_like_new();
}

/* --- a process that is killed before any of its system calls --- */

static long calls_left;
static sqlite3_syscall_ptr real_open, real_close, real_write, real_pwrite, real_ftruncate, real_fcntl, real_unlink,
	real_mmap;

static void count_call(void)
{
	if (!calls_left--)
		raise(SIGKILL);
}

static int killed_open(const char *name, int flags, int mode)
{
	count_call();
	return ((int (*)(const char *, int, int))real_open)(name, flags, mode);
}

static int killed_close(int fd)
{
	count_call();
	return ((int (*)(int))real_close)(fd);
}

static ssize_t killed_write(int fd, const void *bytes, size_t len)
{
	count_call();
	return ((ssize_t (*)(int, const void *, size_t))real_write)(fd, bytes, len);
}

static ssize_t killed_pwrite(int fd, const void *bytes, size_t len, off_t at)
{
	count_call();
	return ((ssize_t (*)(int, const void *, size_t, off_t))real_pwrite)(fd, bytes, len, at);
}

static int killed_ftruncate(int fd, off_t size)
{
	count_call();
	return ((int (*)(int, off_t))real_ftruncate)(fd, size);
}

/* SQLite calls it with a lock, or without an argument. */
static int killed_fcntl(int fd, int what, ...)
{
	va_list list;
	void *argument;

	count_call();
	va_start(list, what);
	argument = va_arg(list, void *);
	va_end(list);
	return ((int (*)(int, int, ...))real_fcntl)(fd, what, argument);
}

static int killed_unlink(const char *name)
{
	count_call();
	return ((int (*)(const char *))real_unlink)(name);
}

static void *killed_mmap(void *address, size_t len, int protection, int flags, int fd, off_t at)
{
	count_call();
	return ((void *(*)(void *, size_t, int, int, int, off_t))real_mmap)(address, len, protection, flags, fd, at);
}

/* Source: SQLite, os_unix.c, aSyscall[]: which of the three writes it uses is decided when it is compiled. */
static void kill_before_call(long number)
{
	static const struct { const char *name; sqlite3_syscall_ptr *real, replacement; } calls[] = {
		{ "open", &real_open, (sqlite3_syscall_ptr)killed_open },
		{ "close", &real_close, (sqlite3_syscall_ptr)killed_close },
		{ "write", &real_write, (sqlite3_syscall_ptr)killed_write },
		{ "pwrite", &real_pwrite, (sqlite3_syscall_ptr)killed_pwrite },
		{ "pwrite64", &real_pwrite, (sqlite3_syscall_ptr)killed_pwrite },
		{ "ftruncate", &real_ftruncate, (sqlite3_syscall_ptr)killed_ftruncate },
		{ "fcntl", &real_fcntl, (sqlite3_syscall_ptr)killed_fcntl },
		{ "unlink", &real_unlink, (sqlite3_syscall_ptr)killed_unlink },
		{ "mmap", &real_mmap, (sqlite3_syscall_ptr)killed_mmap },
	};
	sqlite3_vfs *vfs = sqlite3_vfs_find(NULL);

	calls_left = number;
	for (size_t i = 0; i < sizeof(calls) / sizeof(*calls); i++) {
		sqlite3_syscall_ptr real = vfs->xGetSystemCall(vfs, calls[i].name);

		if (real && vfs->xSetSystemCall(vfs, calls[i].name, calls[i].replacement) == SQLITE_OK)
			*calls[i].real = real;
	}
}

/* Return: was it killed before it had migrated the database and closed it? */
static bool migrate_until_call(long number)
{
	pid_t child = fork();
	struct writer *writer;
	int status;

	assert_true(child >= 0);
	if (!child) {
		kill_before_call(number);
		if (writer_open(path, &writer, NULL) < 0)
			_exit(1);
		writer_close(writer);
		_exit(0);
	}
	assert_int_equal(waitpid(child, &status, 0), child);
	if (WIFSIGNALED(status))
		assert_int_equal(WTERMSIG(status), SIGKILL);
	else
		assert_int_equal(WEXITSTATUS(status), 0);
	return WIFSIGNALED(status);
}

/* The integer result of a statement; -1 on an error. A child process cannot fail the test. */
static int64_t query(sqlite3 *db, const char *sql)
{
	sqlite3_stmt *row = NULL;
	int64_t value = -1;

	if (sqlite3_prepare_v2(db, sql, -1, &row, NULL) == SQLITE_OK && sqlite3_step(row) == SQLITE_ROW)
		value = sqlite3_column_int64(row, 0);
	sqlite3_finalize(row);
	return value;
}

/* A reader whose transaction ends when @hold (a pipe) is closed. Its exit status is 0 if it always read version 1. */
static pid_t start_old_reader(int hold[2])
{
	int ready[2];
	pid_t child;
	char byte;

	assert_int_equal(pipe(hold) + pipe(ready), 0);
	child = fork();
	assert_true(child >= 0);
	if (!child) {
		sqlite3 *db = NULL;
		bool good;

		close(hold[1]);
		good = sqlite3_open_v2(path, &db, SQLITE_OPEN_READONLY, NULL) == SQLITE_OK &&
		       sqlite3_exec(db, "BEGIN", NULL, NULL, NULL) == SQLITE_OK &&
		       query(db, SWEEPS) == RELEASED_SWEEPS && write(ready[1], "r", 1) == 1 &&
		       read(hold[0], &byte, 1) == 0 && query(db, SWEEPS) == RELEASED_SWEEPS &&
		       query(db, "SELECT count(*) FROM sqlite_schema WHERE name = 'job'") == 0;
		sqlite3_close(db);
		_exit(!good);
	}
	assert_int_equal(read(ready[0], &byte, 1), 1);
	close(ready[0]);
	close(ready[1]);
	close(hold[0]);
	return child;
}

static void check_migrated_or_not(bool *ret_migrated)
{
	int64_t version = check_integer(path, "PRAGMA user_version");

	*ret_migrated = version == SCHEMA_VERSION;
	assert_true(version == 1 || version == SCHEMA_VERSION);
	assert_int_equal(check_integer(path, "SELECT count(*) FROM sqlite_schema WHERE name = 'job'"), version > 1);
	assert_int_equal(check_integer(path, SWEEPS), RELEASED_SWEEPS);
	check_integrity(path);
}

/* In every fourth case a reader has a transaction open since before the migration. IBWIRE_RELIABILITY: each call. */
TEST_WITH(a_process_killed_at_any_call_of_a_migration_leaves_a_whole_database, set_up_released, test_folder_remove)
{
	long step = getenv("IBWIRE_RELIABILITY") ? 1 : getenv("IBWIRE_TEST_SHORT") ? 31 : 11, kills = 0, migrated = 0;
	bool killed = true;

	for (long call = 0; killed; call += step, kills += killed) {
		pid_t reader = 0;
		bool complete;
		int hold[2], status;

		copy_released();
		if (call % 4 == 1)
			reader = start_old_reader(hold);
		killed = migrate_until_call(call);
		check_migrated_or_not(&complete);
		assert_true(complete || killed);
		migrated += complete && killed;
		writer_close(check_open_writer(path));
		check_migrated_or_not(&complete);
		assert_true(complete);
		if (reader) {
			close(hold[1]);
			assert_int_equal(waitpid(reader, &status, 0), reader);
			assert_int_equal(status, 0);
		}
		reader_close(check_open_reader(path));
	}
	assert_true(migrated > 0 && migrated < kills);
	reliability_report("SIGKILL in a schema migration", (unsigned long long)kills, "system calls",
			   "before each call of SQLite: the database has version 1 or the newest and is whole, the "
			   "next writer completes it, open readers keep their state");
}
