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
#include "storage/file/schema.h"
#include "storage/sql/sql_tables.h"

struct rows_cursor {
	sqlite3_vtab_cursor base;
	size_t at; /* of the step's ports; COMPACT_PORTS: the end */
};

static const struct compaction *compaction_of(const struct rows_cursor *cursor)
{
	return sql_table_of(&cursor->base)->kind->owner;
}

static const struct stored_reading *reading_at(const struct rows_cursor *cursor)
{
	return &compaction_of(cursor)->last[compaction_of(cursor)->next_port + cursor->at];
}

static bool is_absolute(const struct rows_cursor *cursor)
{
	return sql_table_of(&cursor->base)->kind == &compaction_of(cursor)->kinds[2];
}

/* A chunk and a sum if there are samples in the window; a reading if it is not stored. */
static bool has_row(const struct rows_cursor *cursor)
{
	const struct compaction *compaction = compaction_of(cursor);
	const struct stored_reading *reading = reading_at(cursor);

	if (!is_absolute(cursor))
		return compaction->port_sums[cursor->at].samples > 0;
	return compaction->next_port + cursor->at < compaction->port_count && reading->there &&
	       reading->read_sweep != reading->base_sweep;
}

/* Moves to the next port that has a row. */
static void find_row(struct rows_cursor *cursor)
{
	while (cursor->at < COMPACT_PORTS && !has_row(cursor))
		cursor->at++;
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

static int sum_column(sqlite3_vtab_cursor *base, sqlite3_context *context, int column)
{
	const struct rows_cursor *cursor = (struct rows_cursor *)base;
	const struct compaction *compaction = compaction_of(cursor);
	const struct port_sum *sum = &compaction->port_sums[cursor->at];
	const uint64_t first[SUM_ROW_TRAFFIC] = {
		[SUM_ROW_UNIT] = (uint64_t)compaction->sum_unit, [SUM_ROW_PORT] = compaction->next_port + cursor->at,
		[SUM_ROW_SAMPLES] = sum->samples, [SUM_ROW_ELAPSED] = (uint64_t)sum->sum.elapsed_us,
		[SUM_ROW_UNKNOWN] = COUNTER_ALL_SET & ~sum->sum.known, [SUM_ROW_RESET] = sum->sum.reset,
		[SUM_ROW_SATURATED] = sum->sum.saturated,
	};

	if (column < SUM_ROW_TRAFFIC)
		sqlite3_result_int64(context, (sqlite3_int64)first[column]);
	else if (sum->ever & COUNTER_BIT(column - SUM_ROW_TRAFFIC))
		sqlite3_result_int64(context, (sqlite3_int64)sum->sum.value[column - SUM_ROW_TRAFFIC]);
	return SQLITE_OK;
}

static int absolute_column(sqlite3_vtab_cursor *base, sqlite3_context *context, int column)
{
	const struct rows_cursor *cursor = (struct rows_cursor *)base;
	const struct stored_reading *last = reading_at(cursor);
	const uint64_t first[ABSOLUTE_COUNTERS] = {
		[ABSOLUTE_SWEEP] = (uint64_t)last->read_sweep,
		[ABSOLUTE_PORT] = compaction_of(cursor)->next_port + cursor->at,
		[ABSOLUTE_AT] = (uint64_t)last->reading.at_us, [ABSOLUTE_WALL] = (uint64_t)last->wall_us,
		[ABSOLUTE_WIDE] = last->reading.wide,
	};

	if (column < ABSOLUTE_COUNTERS)
		sqlite3_result_int64(context, (sqlite3_int64)first[column]);
	else if (last->reading.present & COUNTER_BIT(column - ABSOLUTE_COUNTERS))
		sqlite3_result_int64(context, (sqlite3_int64)last->reading.value[column - ABSOLUTE_COUNTERS]);
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
	static const struct sql_kind kinds[COMPACT_KINDS] = {
		{ .name = "new_chunk", .columns = "id INTEGER, samples BLOB" },
		{ .name = "new_sum", .columns = "unit, port, samples, elapsed_us, unknown, reset, saturated",
		  .counters = COUNTER_TRAFFIC_COUNT },
		{ .name = "new_absolute", .columns = "sweep, port, at_us, wall_us, wide", .counters = COUNTER_COUNT },
	};
	int result = 0;

	for (size_t i = 0; !result && i < COMPACT_KINDS; i++) {
		struct sql_kind *kind = &compaction->kinds[i];

		*kind = kinds[i];
		kind->hidden = "";
		kind->cursor_size = sizeof(struct rows_cursor);
		kind->owner = compaction;
		result = sql_register(compaction->db, kind, &modules[i], err);
	}
	return result;
}
