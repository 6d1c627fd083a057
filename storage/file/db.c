/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
#include "storage/file/db.h"

#include <errno.h>
#include <stdarg.h>
#include <stdbool.h>
#include <string.h>

#include "base/err.h"
#include "base/text.h"

/*
 * SQLite 3.40 also reports SQLITE_NOMEM for a record whose length is impossible, older versions SQLITE_TOOBIG: the file
 * is damaged then.
 * Therefore its allocator is wrapped, to note whether memory was really missing.
 */
static _Thread_local bool memory_was_missing;

#ifndef SQLITE3EXT_H /* In the extension, SQLite belongs to the program that loads it. */
static sqlite3_mem_methods memory;

static void *noted(void *allocated)
{
	memory_was_missing |= !allocated;
	return allocated;
}

static void *allocate(int size)
{
	return noted(memory.xMalloc(size));
}

static void *reallocate(void *allocated, int size)
{
	return noted(memory.xRealloc(allocated, size));
}

__attribute__((constructor)) static void wrap_allocator(void)
{
	sqlite3_mem_methods wrapped;

	sqlite3_config(SQLITE_CONFIG_GETMALLOC, &memory);
	wrapped = memory;
	wrapped.xMalloc = allocate;
	wrapped.xRealloc = reallocate;
	sqlite3_config(SQLITE_CONFIG_MALLOC, &wrapped);
}
#endif

int db_nomem(void)
{
	memory_was_missing = true;
	return SQLITE_NOMEM;
}

/* The operation that failed; SQLite's own message is "disk I/O error" for all of them. */
static const char *io_error_text(sqlite3 *db)
{
	switch (sqlite3_extended_errcode(db)) {
	case SQLITE_IOERR_READ:
	case SQLITE_IOERR_SHORT_READ:
		return "a read failed";
	case SQLITE_IOERR_WRITE:
		return "a write failed";
	case SQLITE_IOERR_FSYNC:
	case SQLITE_IOERR_DIR_FSYNC:
		return "a flush to disk failed";
	case SQLITE_IOERR_TRUNCATE:
		return "a file could not be shortened";
	default:
		return sqlite3_errmsg(db);
	}
}

int db_fail(sqlite3 *db, struct error *err)
{
	const char *name = db ? sqlite3_db_filename(db, "main") : NULL;
	int code = db ? sqlite3_extended_errcode(db) : SQLITE_NOMEM;
	/* After a failed COMMIT, SQLite's errno is that of an earlier operation. */
	int system = db && (!errno || (code & 0xff) == SQLITE_CANTOPEN) ? sqlite3_system_errno(db) : errno;

	if (!name || !*name)
		name = "the database";
	switch (code & 0xff) {
	case SQLITE_NOMEM:
		if (memory_was_missing || !db)
			return err_nomem(err);
		/* fall through */
	case SQLITE_TOOBIG:
		return err_set(err, ERR_IO, "%s is damaged (the length of a record is impossible); " DB_RECOVER, name);
	case SQLITE_FULL:
		/* On a read-only connection: a page refers to another one after the end of the file. */
		if (sqlite3_db_readonly(db, "main") == 1)
			return err_set(err, ERR_IO, "%s is damaged (it refers to a page beyond its end); " DB_RECOVER,
				       name);
		return err_set(err, ERR_IO, "%s: no space left on its disk; free some space", name);
	case SQLITE_CORRUPT:
	case SQLITE_NOTADB:
		return err_set(err, ERR_IO, "%s is damaged (%s); " DB_RECOVER, name, sqlite3_errmsg(db));
	case SQLITE_CONSTRAINT:
		return err_set(err, ERR_IO, "%s is damaged (new rows violate its constraints: %s); " DB_RECOVER,
			       name, sqlite3_errmsg(db));
	case SQLITE_BUSY:
	case SQLITE_LOCKED:
		return err_set(err, ERR_IO, "%s is locked by another process; end it (see lsof) or try again", name);
	case SQLITE_READONLY:
	case SQLITE_PERM:
		return err_set(err, ERR_IO, "%s is not writable (%s); check its owner, and that of its folder", name,
			       sqlite3_errmsg(db));
	case SQLITE_CANTOPEN:
	case SQLITE_IOERR:
		return err_set(err, ERR_IO, "%s: %s (%s); check its disk, quota, folder and permissions", name,
			       io_error_text(db), system ? strerror(system) : "no further reason");
	default:
		return err_set(err, ERR_IO, "%s: %s", name, sqlite3_errmsg(db));
	}
}

int db_exec(sqlite3 *db, const char *sql, struct error *err)
{
	errno = 0;
	return sqlite3_exec(db, sql, NULL, NULL, NULL) == SQLITE_OK ? 0 : db_fail(db, err);
}

int db_execf(sqlite3 *db, struct error *err, const char *fmt, ...)
{
	va_list args;
	char *sql;
	int result;

	va_start(args, fmt);
	sql = sqlite3_vmprintf(fmt, args);
	va_end(args);
	result = sql ? db_exec(db, sql, err) : err_nomem(err);
	sqlite3_free(sql);
	return result;
}

int db_prepare(sqlite3 *db, const char *sql, sqlite3_stmt **ret, struct error *err)
{
	*ret = NULL;
	if (sqlite3_prepare_v3(db, sql, -1, SQLITE_PREPARE_PERSISTENT, ret, NULL) != SQLITE_OK)
		return db_fail(db, err);
	return 0;
}

int db_prepare_replace(sqlite3 *db, const char *table, int columns, sqlite3_stmt **ret, struct error *err)
{
	struct text sql = { 0 };
	int result;

	text_appendf(&sql, "REPLACE INTO %s VALUES (?", table);
	for (int i = 1; i < columns; i++)
		text_append(&sql, ", ?");
	text_append(&sql, ")");
	*ret = NULL;
	result = text_failed(&sql) ? err_nomem(err) : db_prepare(db, text_chars(&sql), ret, err);
	text_done(&sql);
	return result;
}

int db_step(sqlite3_stmt *statement, struct error *err)
{
	int code;

	errno = 0;
	code = sqlite3_step(statement);

	if (code == SQLITE_ROW)
		return 1;
	if (code == SQLITE_DONE)
		return 0;
	return db_fail(sqlite3_db_handle(statement), err);
}

int db_run(sqlite3_stmt *statement, struct error *err)
{
	int result = db_step(statement, err);

	sqlite3_reset(statement);
	return result < 0 ? result : 0;
}

int db_integer(sqlite3 *db, const char *sql, int64_t absent, int64_t *ret, struct error *err)
{
	sqlite3_stmt *statement;
	int result = db_prepare(db, sql, &statement, err);

	if (result < 0)
		return result;
	result = db_step(statement, err);
	if (result >= 0)
		*ret = result && sqlite3_column_type(statement, 0) != SQLITE_NULL
			? sqlite3_column_int64(statement, 0) : absent;
	sqlite3_finalize(statement);
	return result < 0 ? result : 0;
}

int db_integerf(sqlite3 *db, int64_t absent, int64_t *ret, struct error *err, const char *fmt, ...)
{
	va_list args;
	char *sql;
	int result;

	va_start(args, fmt);
	sql = sqlite3_vmprintf(fmt, args);
	va_end(args);
	result = sql ? db_integer(db, sql, absent, ret, err) : err_nomem(err);
	sqlite3_free(sql);
	return result;
}

int db_row(sqlite3 *db, const char *sql, const int64_t *args, int arg_count, int64_t *ret, int ret_count,
	   struct error *err)
{
	sqlite3_stmt *row;
	int result = db_prepare(db, sql, &row, err);

	if (result < 0)
		return result;
	for (int i = 0; i < arg_count; i++)
		sqlite3_bind_int64(row, i + 1, args[i]);
	result = db_step(row, err);
	for (int i = 0; result > 0 && i < ret_count; i++)
		ret[i] = db_us(row, i);
	sqlite3_finalize(row);
	return result;
}
