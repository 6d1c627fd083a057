/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * db.h - the few words in which storage/ speaks to SQLite
 *
 * Every error becomes one line that names the file, says what happened and what
 * to do. Counters are unsigned and have 64 bits, SQLite's integers are signed:
 * a value is stored as the same bits, so that everything up to 2^64 - 1 comes
 * back; the views show what is above 2^63 - 1 as 2^63 - 1.
 */
#ifndef IBWIRE_STORAGE_DB_H
#define IBWIRE_STORAGE_DB_H

#include <stdint.h>

#include <sqlite3.h>

struct error;

/* The advice for a damaged database (ibwire-db(1), RECOVERY). */
#define DB_RECOVER "restore a backup, or recover its rows: sqlite3 OLD.db .recover | sqlite3 NEW.db"

/* db_fail - the error of the last call on @db as one line. Return: its code. */
int db_fail(sqlite3 *db, struct error *err);

/* db_exec - run statements that give no rows. Return: 0 or a negative error. */
int db_exec(sqlite3 *db, const char *sql, struct error *err);

/* db_prepare - compile a statement; sqlite3_finalize() frees it. @ret is NULL on error. */
int db_prepare(sqlite3 *db, const char *sql, sqlite3_stmt **ret, struct error *err);

/* db_run - run a prepared statement that gives no rows, and make it ready for the next time. */
int db_run(sqlite3_stmt *statement, struct error *err);

/*
 * db_step - the next row of a statement
 * Return: 1 with a row, 0 at the end, or a negative error.
 */
int db_step(sqlite3_stmt *statement, struct error *err);

/*
 * db_integer - the one integer that a query gives
 * @absent:  what @ret becomes where it gives no row or NULL
 */
int db_integer(sqlite3 *db, const char *sql, int64_t absent, int64_t *ret, struct error *err);

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

/*
 * db_us - a time or a span in microseconds, at most 2^60 (36,000 years) either way
 * No index bounds most of them: so differences of two fit 64 bits also where the database is damaged.
 */
static inline int64_t db_us(sqlite3_stmt *statement, int at)
{
	int64_t us = sqlite3_column_int64(statement, at), most = INT64_C(1) << 60;

	return us > most ? most : us < -most ? -most : us;
}

/* db_choice - a code from 0 to @most; the nearest of them where the row is damaged. */
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
