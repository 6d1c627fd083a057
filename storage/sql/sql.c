/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* sql.c - runs one read-only statement */
#include <stdlib.h>
#include <string.h>

#include "base/clock.h"
#include "base/err.h"
#include "base/text.h"
#include "base/when.h"
#include "storage/file/db.h"
#include "storage/read/reader_internal.h"
#include "storage/file/schema.h"
#include "storage/sql/sql_tables.h"

/* PRAGMAs that only read: the second list only without an argument. */
static bool pragma_only_reads(const char *name, const char *argument)
{
	static const char *const reading[] = { "table_info", "table_xinfo", "table_list", "index_list", "index_info",
					       "index_xinfo", "foreign_key_list", "integrity_check", "quick_check" };
	static const char *const plain[] = { "user_version", "application_id", "page_size", "page_count",
					     "freelist_count", "compile_options", "database_list", "schema_version" };

	for (size_t i = 0; i < sizeof(reading) / sizeof(*reading); i++)
		if (sqlite3_stricmp(name, reading[i]) == 0)
			return true;
	for (size_t i = 0; !argument && i < sizeof(plain) / sizeof(*plain); i++)
		if (sqlite3_stricmp(name, plain[i]) == 0)
			return true;
	return false;
}

/* Functions that access files, programs or addresses of this process. */
static bool function_is_safe(const char *name)
{
	static const char *const denied[] = { "load_extension", "fts3_tokenizer", "readfile", "writefile", "edit" };

	for (size_t i = 0; i < sizeof(denied) / sizeof(*denied); i++)
		if (sqlite3_stricmp(name, denied[i]) == 0)
			return false;
	return true;
}

/*
 * SQLite before 3.35 disables temporary views together with those of the file. There, all views are enabled while a
 * statement is compiled, and reading a column of a view of the file is denied. A statement that names such a view and
 * uses none of its columns, as count(*), is not noticed; the functions that it can call are limited nevertheless.
 * @ret: names of views of the file, each between two newlines; nothing if the file's views are disabled
 */
static int enable_temporary_views(sqlite3 *db, struct text *ret, struct error *err)
{
	sqlite3_stmt *views;
	int result;

	if (sqlite3_libversion_number() >= 3035000)
		return 0;
	sqlite3_db_config(db, SQLITE_DBCONFIG_ENABLE_VIEW, 1, NULL);
	result = db_prepare(db, "SELECT char(10) || name || char(10) FROM main.sqlite_schema WHERE type = 'view'",
			    &views, err);
	while (!result && (result = db_step(views, err)) > 0) {
		text_append(ret, (const char *)sqlite3_column_text(views, 0));
		result = 0;
	}
	sqlite3_finalize(views);
	return result < 0 ? result : text_failed(ret) ? err_nomem(err) : 0;
}

static bool is_view_of_file(const struct text *views, const char *name, const char *database)
{
	char *listed;
	bool found;

	if (!views->len || !name || !database || strcmp(database, "main") != 0)
		return false;
	listed = sqlite3_mprintf("\n%s\n", name);
	found = !listed || strcasestr(text_chars(views), listed);
	sqlite3_free(listed);
	return found;
}

/* The file is opened read-only; this also denies everything except reading it. @ctx: its views that are denied */
static int authorize(void *ctx, int action, const char *first, const char *second, const char *database,
		     const char *trigger)
{
	(void)trigger;
	switch (action) {
	case SQLITE_READ:
		return is_view_of_file(ctx, first, database) ? SQLITE_DENY : SQLITE_OK;
	case SQLITE_SELECT:
	case SQLITE_RECURSIVE:
		return SQLITE_OK;
	case SQLITE_FUNCTION:
		return second && function_is_safe(second) ? SQLITE_OK : SQLITE_DENY;
	case SQLITE_PRAGMA:
		return first && pragma_only_reads(first, second) ? SQLITE_OK : SQLITE_DENY;
	default:
		return SQLITE_DENY;
	}
}

static int statement_error(sqlite3 *db, struct error *err)
{
	int code = sqlite3_errcode(db);

	if (code == SQLITE_AUTH)
		return err_set(err, ERR_USAGE, "only statements that read are possible here: SELECT, EXPLAIN, "
			       "and PRAGMAs that only read (%s)", sqlite3_errmsg(db));
	if (code == SQLITE_ERROR || code == SQLITE_RANGE || code == SQLITE_MISMATCH || code == SQLITE_TOOBIG)
		return err_set(err, ERR_USAGE, "%s; tables and views: SELECT name, sql FROM sqlite_schema",
			       sqlite3_errmsg(db));
	/* A table of ours failed and set the message. */
	if (sqlite3_extended_errcode(db) == SQLITE_CORRUPT_VTAB)
		return err_set(err, ERR_IO, "%s", sqlite3_errmsg(db));
	return db_fail(db, err);
}

/* Compile the only statement; white space and comments may follow it. */
static int compile(sqlite3 *db, const char *text, sqlite3_stmt **ret, struct error *err)
{
	sqlite3_stmt *statement = NULL, *second = NULL;
	const char *rest = text;

	while (!statement && *rest) {
		if (sqlite3_prepare_v2(db, rest, -1, &statement, &rest) != SQLITE_OK)
			return statement_error(db, err);
	}
	if (!statement)
		return err_set(err, ERR_USAGE, "no statement; give one, such as: SELECT * FROM nodes");
	while (!second && *rest) {
		if (sqlite3_prepare_v2(db, rest, -1, &second, &rest) != SQLITE_OK || second) {
			sqlite3_finalize(second);
			sqlite3_finalize(statement);
			return err_set(err, ERR_USAGE, "more than one statement; give one at a time");
		}
	}
	if (!sqlite3_stmt_readonly(statement)) {
		sqlite3_finalize(statement);
		return err_set(err, ERR_USAGE, "only statements that read are possible here: SELECT, EXPLAIN, "
			       "and PRAGMAs that only read");
	}
	*ret = statement;
	return 0;
}

/* Return: false: no memory. */
static bool read_cell(sqlite3_stmt *statement, int at, struct cell *ret)
{
	memset(ret, 0, sizeof(*ret));
	switch (sqlite3_column_type(statement, at)) {
	case SQLITE_INTEGER:
		ret->type = CELL_INTEGER;
		ret->integer = sqlite3_column_int64(statement, at);
		break;
	case SQLITE_FLOAT:
		ret->type = CELL_REAL;
		ret->real = sqlite3_column_double(statement, at);
		break;
	case SQLITE_TEXT:
		ret->type = CELL_TEXT;
		ret->bytes = (const char *)sqlite3_column_text(statement, at);
		ret->len = (size_t)sqlite3_column_bytes(statement, at);
		break;
	case SQLITE_BLOB:
		ret->type = CELL_BLOB;
		ret->bytes = sqlite3_column_blob(statement, at);
		ret->len = (size_t)sqlite3_column_bytes(statement, at);
		break;
	default:
		break;
	}
	return ret->type != CELL_TEXT || ret->bytes;
}

static int report_rows(sqlite3_stmt *statement, const struct sql_consumer *consumer, struct error *err)
{
	int count = sqlite3_column_count(statement), code = SQLITE_ROW;
	const char **names = calloc(count ? (size_t)count : 1, sizeof(*names));
	struct cell *cells = calloc(count ? (size_t)count : 1, sizeof(*cells));
	bool whole = names && cells, more;

	for (int i = 0; whole && i < count; i++) {
		names[i] = sqlite3_column_name(statement, i);
		whole = names[i];
	}
	more = whole && consumer->header(consumer->ctx, names, count);
	while (more && (code = sqlite3_step(statement)) == SQLITE_ROW) {
		for (int i = 0; whole && i < count; i++)
			whole = read_cell(statement, i, &cells[i]);
		more = whole && consumer->row(consumer->ctx, cells, count);
	}
	free(names);
	free(cells);
	if (!whole)
		return err_nomem(err);
	return code == SQLITE_ROW || code == SQLITE_DONE ? 0 : statement_error(sqlite3_db_handle(statement), err);
}

/* The time limit of a statement. */
struct limit {
	const struct reader *reader;
	int64_t until_us; /* CLOCK_BOOTTIME */
	bool expired;
};

/* SQLite calls this regularly, also while a table of ours runs a statement. Return: whether to interrupt. */
static int check_limit(void *ctx)
{
	struct limit *limit = ctx;

	limit->expired |= clock_boottime_us(clock_system()) >= limit->until_us;
	return limit->expired || reader_is_stopped(limit->reader);
}

static int limit_error(int64_t timeout_us, struct error *err)
{
	char span[WHEN_SIZE];

	return err_set(err, ERR_IO, "the statement was stopped after %s: while it runs, the database's log cannot be "
		       "emptied; limit it to fewer rows or less time, or raise --timeout",
		       when_format_span(timeout_us, span));
}

int reader_sql(struct reader *reader, const char *statement, int64_t timeout_us, const struct sql_consumer *consumer,
	       struct error *err)
{
	struct limit limit = { .reader = reader, .until_us = clock_boottime_us(clock_system()) + timeout_us };
	sqlite3_stmt *compiled = NULL;
	struct text views = { 0 };
	int result = reader_begin(reader, err);

	/*
	 * The views of the file are turned off, since it may contain any. These are made before the
	 * transaction: its end would drop them, and the whole schema would be read again.
	 */
	while (!result && !reader->has_views) {
		reader_end(reader);
		result = schema_make_temporary_views(reader->db, err);
		reader->has_views = !result;
		if (!result)
			result = reader_begin(reader, err);
	}
	if (result < 0)
		return result;
	/* A statement that runs notices a schema that another program has changed; compiling does not. */
	result = reader_newest_id(reader, &(int64_t){ 0 }, err);
	if (timeout_us)
		sqlite3_progress_handler(reader->db, READER_STEPS_A_CHECK, check_limit, &limit);
	if (!result)
		result = sql_tables_connect(reader->db, err);
	if (!result)
		result = enable_temporary_views(reader->db, &views, err);
	sqlite3_set_authorizer(reader->db, authorize, &views);
	if (!result)
		result = compile(reader->db, statement, &compiled, err);
	if (!result)
		result = report_rows(compiled, consumer, err);
	sqlite3_finalize(compiled);
	reader_set_stop(reader, reader->stop);
	sqlite3_set_authorizer(reader->db, NULL, NULL);
	sqlite3_db_config(reader->db, SQLITE_DBCONFIG_ENABLE_VIEW, 0, NULL);
	text_done(&views);
	reader_end(reader);
	return limit.expired ? limit_error(timeout_us, err) : result;
}
