/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * db.h - calls of SQLite with errors as one line
 *
 * An error names the file, what happened and what to do. Counters are unsigned and have 64 bits,
 * SQLite's integers are signed: a value is stored as the same bits, so all values up to 2^64 - 1 are
 * restored; the views show values above 2^63 - 1 as 2^63 - 1.
 */
#ifndef IBWIRE_STORAGE_DB_H
#define IBWIRE_STORAGE_DB_H

#include <math.h>
#include <stdint.h>

#include <sqlite3.h>

struct error;

/* The advice for a damaged database (ibwire-db(1), RECOVERY). */
#define DB_RECOVER "restore a backup, or recover its rows: ibwire db recover NEW.db"

/* db_fail - set the error of the last call on @db. Return: its code. */
int db_fail(sqlite3 *db, struct error *err);

/* db_nomem - for a function that SQLite calls and that has no memory. Return: SQLITE_NOMEM. */
int db_nomem(void);

/*
 * db_exec, db_execf - run statements without result rows
 * @fmt: of sqlite3_mprintf(): as in printf(), and %Q for a quoted string
 * Return: 0 or a negative error.
 */
int db_exec(sqlite3 *db, const char *sql, struct error *err);
int db_execf(sqlite3 *db, struct error *err, const char *fmt, ...);

/* db_prepare - compile a statement; sqlite3_finalize() frees it. @ret is NULL on error. */
int db_prepare(sqlite3 *db, const char *sql, sqlite3_stmt **ret, struct error *err);

/* db_prepare_replace - compile "REPLACE INTO @table VALUES (?, ...)" with @columns parameters, as db_prepare(). */
int db_prepare_replace(sqlite3 *db, const char *table, int columns, sqlite3_stmt **ret, struct error *err);

/* db_run - run a prepared statement without result rows, and reset it. Return: 0 or an error. */
int db_run(sqlite3_stmt *statement, struct error *err);

/* db_step - the next row of a statement. Return: 1 with a row, 0 at the end, or a negative error. */
int db_step(sqlite3_stmt *statement, struct error *err);

/* db_integer, db_integerf - the integer result of a query; @absent: instead of NULL or a missing row. */
int db_integer(sqlite3 *db, const char *sql, int64_t absent, int64_t *ret, struct error *err);
int db_integerf(sqlite3 *db, int64_t absent, int64_t *ret, struct error *err, const char *fmt, ...);

/* DB_BIND - bind integers to parameters from @at on, as in DB_BIND(statement, 1, id, port). */
#define DB_BIND(statement, at, ...) \
	db_bind_integers(statement, at, (const int64_t[]){ __VA_ARGS__ }, \
			 (int)(sizeof((const int64_t[]){ __VA_ARGS__ }) / sizeof(int64_t)))
static inline void db_bind_integers(sqlite3_stmt *statement, int at, const int64_t *values, int count)
{
	for (int i = 0; i < count; i++)
		sqlite3_bind_int64(statement, at + i, values[i]);
}

/*
 * db_row - the first row of a query, as integers of at most 2^60 either way
 * @args:  @arg_count values for ?1, ?2, ...
 * @ret:   @ret_count columns, NULL as 0; untouched without a row
 *
 * Return: 1, 0 without a row, or a negative error.
 */
int db_row(sqlite3 *db, const char *sql, const int64_t *args, int arg_count, int64_t *ret, int ret_count,
	   struct error *err);

static inline void db_bind_u64(sqlite3_stmt *statement, int at, uint64_t value)
{
	sqlite3_bind_int64(statement, at, (sqlite3_int64)value);
}

/* db_bind_nonzero - bind an integer; NULL if it is 0. */
static inline void db_bind_nonzero(sqlite3_stmt *statement, int at, uint64_t value)
{
	if (value)
		db_bind_u64(statement, at, value);
	else
		sqlite3_bind_null(statement, at);
}

/* db_real - a finite number; NaN: none. */
static inline double db_real(sqlite3_stmt *statement, int at)
{
	double value = sqlite3_column_type(statement, at) == SQLITE_NULL ? NAN : sqlite3_column_double(statement, at);

	return isfinite(value) ? value : NAN;
}

/*
 * db_us - a time or duration in microseconds, between -2^60 and 2^60 (36,000 years)
 * Most of them are not checked when the database is opened; differences must fit 64 bits.
 */
static inline int64_t db_us(sqlite3_stmt *statement, int at)
{
	int64_t us = sqlite3_column_int64(statement, at), most = INT64_C(1) << 60;

	return us > most ? most : us < -most ? -most : us;
}

/* db_choice - a code from 0 to @most; the nearest one if the row is damaged. */
static inline int db_choice(sqlite3_stmt *statement, int at, int most)
{
	int64_t code = sqlite3_column_int64(statement, at);

	return code < 0 ? 0 : code > most ? most : (int)code;
}

static inline uint64_t db_u64(sqlite3_stmt *statement, int at)
{
	return (uint64_t)sqlite3_column_int64(statement, at);
}

#endif
