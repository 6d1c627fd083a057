/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * compact_rows.c - the rows that a step of the compaction writes, as tables for INSERT ... SELECT
 *
 *     new_chunk, new_sum, new_absolute    the columns of chunk, chunk_sum and absolute, in their order
 *
 * One statement writes all rows of a step: its cursor stays at the last row, so that the next one is appended
 * without a search. A statement for each row takes three times as long.
 */
#include "storage/pack/compact.h"

#include <stdlib.h>

#include <sqlite3.h>

#include "base/err.h"
#include "base/text.h"
#include "storage/file/db.h"
#include "storage/file/schema.h"
#include "storage/sql/sql_tables.h"

/* The first columns of chunk_sum and of absolute: tables.c. */
enum { SUM_UNIT, SUM_PORT, SUM_SAMPLES, SUM_ELAPSED, SUM_UNKNOWN, SUM_RESET, SUM_SATURATED, SUM_TRAFFIC };
enum { ABSOLUTE_SWEEP, ABSOLUTE_PORT, ABSOLUTE_AT, ABSOLUTE_WALL, ABSOLUTE_WIDE, ABSOLUTE_COUNTERS };

struct rows_cursor {
	sqlite3_vtab_cursor base;
	size_t at; /* of the step's ports; COMPACT_PORTS: the end */
};

static const struct compaction *compaction_of(const struct rows_cursor *cursor)
{
	return sql_table_of(&cursor->base)->kind->owner;
}

static void declare_chunks(struct text *sql)
{
	text_append(sql, "CREATE TABLE new_chunk (id INTEGER, samples BLOB)");
}

static void declare_sums(struct text *sql)
{
	text_append(sql, "CREATE TABLE new_sum (unit, port, samples, elapsed_us, unknown, reset, saturated");
	sql_declare_counters(sql, COUNTER_TRAFFIC_COUNT);
	text_append(sql, ")");
}

static void declare_absolutes(struct text *sql)
{
	text_append(sql, "CREATE TABLE new_absolute (sweep, port, at_us, wall_us, wide");
	sql_declare_counters(sql, COUNTER_COUNT);
	text_append(sql, ")");
}

static const struct stored_reading *reading_at(const struct rows_cursor *cursor)
{
	const struct compaction *compaction = compaction_of(cursor);

	return &compaction->last[compaction->next_port + cursor->at];
}

static bool is_absolute(const struct rows_cursor *cursor)
{
	return sql_table_of(&cursor->base)->kind->declare == declare_absolutes;
}

/* Moves to the next port that has a row: samples in the window, or a last reading that is not stored. */
static void find_row(struct rows_cursor *cursor)
{
	const struct compaction *compaction = compaction_of(cursor);

	for (; cursor->at < COMPACT_PORTS; cursor->at++) {
		bool known = compaction->next_port + cursor->at < compaction->port_count;

		if (!is_absolute(cursor) && compaction->port_sums[cursor->at].samples)
			return;
		if (is_absolute(cursor) && known && reading_at(cursor)->there &&
		    reading_at(cursor)->read_sweep != reading_at(cursor)->base_sweep)
			return;
	}
}

static int best_index(sqlite3_vtab *table, sqlite3_index_info *info)
{
	(void)table;
	info->estimatedCost = COMPACT_PORTS;
	info->estimatedRows = COMPACT_PORTS;
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
	find_row(cursor);
	return SQLITE_OK;
}

static int next_row(sqlite3_vtab_cursor *base)
{
	struct rows_cursor *cursor = (struct rows_cursor *)base;

	cursor->at++;
	find_row(cursor);
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
	const struct compaction *compaction = compaction_of(cursor);
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
	const struct compaction *compaction = compaction_of(cursor);
	const struct port_sum *sum = &compaction->port_sums[cursor->at];

	if (column == SUM_UNIT)
		sqlite3_result_int64(context, compaction->sum_unit);
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
		sqlite3_result_int64(context, (sqlite3_int64)(compaction_of(cursor)->next_port + cursor->at));
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

#define ROWS(column) \
	{ .xConnect = sql_connect, .xBestIndex = best_index, .xDisconnect = sql_disconnect, .xOpen = sql_open, \
	  .xClose = close_cursor, .xFilter = first_row, .xNext = next_row, .xEof = at_end, .xColumn = (column), \
	  .xRowid = rowid }

int compact_rows_register(struct compaction *compaction, struct error *err)
{
	static const sqlite3_module modules[COMPACT_KINDS] = {
		ROWS(chunk_column), ROWS(sum_column), ROWS(absolute_column),
	};
	const size_t size = sizeof(struct rows_cursor);
	int result = 0;

	compaction->kinds[0] = (struct sql_kind){ "new_chunk", declare_chunks, size, compaction };
	compaction->kinds[1] = (struct sql_kind){ "new_sum", declare_sums, size, compaction };
	compaction->kinds[2] = (struct sql_kind){ "new_absolute", declare_absolutes, size, compaction };
	for (size_t i = 0; !result && i < COMPACT_KINDS; i++)
		result = sql_register(compaction->db, &compaction->kinds[i], &modules[i], err);
	return result;
}
