/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
#include "storage/pack/compact_rows.h"

#include <stdlib.h>

#include <sqlite3.h>

#include "base/err.h"
#include "base/text.h"
#include "storage/pack/compact.h"
#include "storage/file/db.h"
#include "storage/file/schema.h"
#include "storage/sql/sql_tables.h"

/* Columns of chunk_sum and of absolute before the counters': tables.c. */
enum { SUM_WINDOW, SUM_PORT, SUM_SAMPLES, SUM_ELAPSED, SUM_UNKNOWN, SUM_RESET, SUM_SATURATED, SUM_TRAFFIC };
enum { ABSOLUTE_SWEEP, ABSOLUTE_PORT, ABSOLUTE_AT, ABSOLUTE_WALL, ABSOLUTE_WIDE, ABSOLUTE_COUNTERS };

struct rows_cursor;

/* From here on the first port that has a row. */
typedef void find_fn(struct rows_cursor *cursor);

struct rows {
	sqlite3_vtab base;
	const struct compaction *compaction;
	find_fn *find;
};

struct rows_cursor {
	sqlite3_vtab_cursor base;
	const struct compaction *compaction;
	find_fn *find;
	size_t at; /* of the step's ports; COMPACT_PORTS: the end */
};

/* One that has a chunk, and so a sum as well. */
static void find_packed(struct rows_cursor *cursor)
{
	const size_t *chunk_at = cursor->compaction->chunk_at;

	while (cursor->at < COMPACT_PORTS && chunk_at[cursor->at] == chunk_at[cursor->at + 1])
		cursor->at++;
}

static const struct stored_reading *reading_at(const struct rows_cursor *cursor)
{
	return &cursor->compaction->last[cursor->compaction->next_port + cursor->at];
}

/* One whose last reading is not stored. */
static void find_absolute(struct rows_cursor *cursor)
{
	const struct compaction *compaction = cursor->compaction;

	for (; cursor->at < COMPACT_PORTS; cursor->at++) {
		if (compaction->next_port + cursor->at >= compaction->port_count)
			cursor->at = COMPACT_PORTS - 1;
		else if (reading_at(cursor)->there && reading_at(cursor)->read_sweep != reading_at(cursor)->base_sweep)
			return;
	}
}

static int connect_rows(sqlite3 *db, const struct compaction *compaction, find_fn *find,
			const struct text *declaration, sqlite3_vtab **ret)
{
	int code = text_failed(declaration) ? SQLITE_NOMEM :
		sql_declare(db, text_chars(declaration), sizeof(struct rows), ret);

	if (code == SQLITE_OK) {
		((struct rows *)*ret)->compaction = compaction;
		((struct rows *)*ret)->find = find;
	}
	return code;
}

static int connect_chunks(sqlite3 *db, void *aux, int argc, const char *const *argv, sqlite3_vtab **ret, char **message)
{
	struct text sql = { 0 };
	int code;

	(void)argc;
	(void)argv;
	(void)message;
	text_append(&sql, "CREATE TABLE new_chunk (id INTEGER, samples BLOB)");
	code = connect_rows(db, aux, find_packed, &sql, ret);
	text_done(&sql);
	return code;
}

static int connect_sums(sqlite3 *db, void *aux, int argc, const char *const *argv, sqlite3_vtab **ret, char **message)
{
	struct text sql = { 0 };
	int code;

	(void)argc;
	(void)argv;
	(void)message;
	text_append(&sql, "CREATE TABLE new_sum (window, port, samples, elapsed_us, unknown, reset, saturated");
	for (int i = 0; i < COUNTER_TRAFFIC_COUNT; i++)
		text_appendf(&sql, ", %s", counter_info((enum counter)i)->key);
	text_append(&sql, ")");
	code = connect_rows(db, aux, find_packed, &sql, ret);
	text_done(&sql);
	return code;
}

static int connect_absolutes(sqlite3 *db, void *aux, int argc, const char *const *argv, sqlite3_vtab **ret,
			     char **message)
{
	struct text sql = { 0 };
	int code;

	(void)argc;
	(void)argv;
	(void)message;
	text_append(&sql, "CREATE TABLE new_absolute (sweep, port, at_us, wall_us, wide");
	sql_declare_counters(&sql);
	text_append(&sql, ")");
	code = connect_rows(db, aux, find_absolute, &sql, ret);
	text_done(&sql);
	return code;
}

static int disconnect(sqlite3_vtab *table)
{
	free(table);
	return SQLITE_OK;
}

static int best_index(sqlite3_vtab *table, sqlite3_index_info *info)
{
	(void)table;
	info->estimatedCost = COMPACT_PORTS;
	info->estimatedRows = COMPACT_PORTS;
	return SQLITE_OK;
}

static int open_cursor(sqlite3_vtab *table, sqlite3_vtab_cursor **ret)
{
	struct rows_cursor *cursor = calloc(1, sizeof(*cursor));

	if (!cursor)
		return SQLITE_NOMEM;
	cursor->compaction = ((struct rows *)table)->compaction;
	cursor->find = ((struct rows *)table)->find;
	*ret = &cursor->base;
	return SQLITE_OK;
}

static int close_cursor(sqlite3_vtab_cursor *base)
{
	free(base);
	return SQLITE_OK;
}

static int first_row(sqlite3_vtab_cursor *base, int number, const char *name, int argc, sqlite3_value **argv)
{
	struct rows_cursor *cursor = (struct rows_cursor *)base;

	(void)number;
	(void)name;
	(void)argc;
	(void)argv;
	cursor->at = 0;
	cursor->find(cursor);
	return SQLITE_OK;
}

static int next_row(sqlite3_vtab_cursor *base)
{
	struct rows_cursor *cursor = (struct rows_cursor *)base;

	cursor->at++;
	cursor->find(cursor);
	return SQLITE_OK;
}

static int at_end(sqlite3_vtab_cursor *base)
{
	return ((struct rows_cursor *)base)->at >= COMPACT_PORTS;
}

static int rowid(sqlite3_vtab_cursor *base, sqlite3_int64 *ret)
{
	*ret = (sqlite3_int64)((struct rows_cursor *)base)->at;
	return SQLITE_OK;
}

static int chunk_column(sqlite3_vtab_cursor *base, sqlite3_context *context, int column)
{
	const struct rows_cursor *cursor = (struct rows_cursor *)base;
	const struct compaction *compaction = cursor->compaction;
	const size_t *chunk_at = &compaction->chunk_at[cursor->at];

	if (column == 0)
		sqlite3_result_int64(context, CHUNK_ID(compaction->window,
						       (int64_t)(compaction->next_port + cursor->at)));
	else
		sqlite3_result_blob(context, compaction->packed.data + chunk_at[0], (int)(chunk_at[1] - chunk_at[0]),
				    SQLITE_STATIC);
	return SQLITE_OK;
}

static void result_u64(sqlite3_context *context, uint64_t value)
{
	sqlite3_result_int64(context, (sqlite3_int64)value);
}

static int sum_column(sqlite3_vtab_cursor *base, sqlite3_context *context, int column)
{
	const struct rows_cursor *cursor = (struct rows_cursor *)base;
	const struct compaction *compaction = cursor->compaction;
	const struct port_sum *sum = &compaction->port_sums[cursor->at];

	if (column == SUM_WINDOW)
		sqlite3_result_int64(context, compaction->window);
	else if (column == SUM_PORT)
		sqlite3_result_int64(context, (sqlite3_int64)(compaction->next_port + cursor->at));
	else if (column == SUM_SAMPLES)
		result_u64(context, sum->samples);
	else if (column == SUM_ELAPSED)
		sqlite3_result_int64(context, sum->sum.elapsed_us);
	else if (column == SUM_UNKNOWN)
		result_u64(context, COUNTER_ALL_SET & ~sum->sum.known);
	else if (column == SUM_RESET)
		result_u64(context, sum->sum.reset);
	else if (column == SUM_SATURATED)
		result_u64(context, sum->sum.saturated);
	else if (sum->ever & COUNTER_BIT(column - SUM_TRAFFIC))
		result_u64(context, sum->sum.value[column - SUM_TRAFFIC]);
	return SQLITE_OK;
}

static int absolute_column(sqlite3_vtab_cursor *base, sqlite3_context *context, int column)
{
	const struct rows_cursor *cursor = (struct rows_cursor *)base;
	const struct stored_reading *last = reading_at(cursor);

	if (column == ABSOLUTE_SWEEP)
		sqlite3_result_int64(context, last->read_sweep);
	else if (column == ABSOLUTE_PORT)
		sqlite3_result_int64(context, (sqlite3_int64)(cursor->compaction->next_port + cursor->at));
	else if (column == ABSOLUTE_AT)
		sqlite3_result_int64(context, last->reading.at_us);
	else if (column == ABSOLUTE_WALL)
		sqlite3_result_int64(context, last->wall_us);
	else if (column == ABSOLUTE_WIDE)
		result_u64(context, last->reading.wide);
	else if (last->reading.present & COUNTER_BIT(column - ABSOLUTE_COUNTERS))
		result_u64(context, last->reading.value[column - ABSOLUTE_COUNTERS]);
	return SQLITE_OK;
}

#define ROWS(connect, column) \
	{ .xConnect = (connect), .xBestIndex = best_index, .xDisconnect = disconnect, .xOpen = open_cursor, \
	  .xClose = close_cursor, .xFilter = first_row, .xNext = next_row, .xEof = at_end, .xColumn = (column), \
	  .xRowid = rowid }

int compact_rows_register(struct compaction *compaction, struct error *err)
{
	static const sqlite3_module modules[] = {
		ROWS(connect_chunks, chunk_column),
		ROWS(connect_sums, sum_column),
		ROWS(connect_absolutes, absolute_column),
	};
	static const char *const names[] = { "new_chunk", "new_sum", "new_absolute" };

	for (size_t i = 0; i < sizeof(modules) / sizeof(*modules); i++)
		if (sqlite3_create_module(compaction->db, names[i], &modules[i], compaction) != SQLITE_OK)
			return db_fail(compaction->db, err);
	return 0;
}
