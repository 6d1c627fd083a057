/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* port_sum_table.c - the SQL table port_sum(since, until): the sums of each port in a window */
#include <stdlib.h>
#include <string.h>

#include "base/err.h"
#include "storage/read/readings.h"
#include "storage/sql/sample_plan.h"
#include "storage/sql/sql_tables.h"
#include "storage/read/sums.h"

struct sum_cursor {
	sqlite3_vtab_cursor base;
	struct port_names names;
	struct port_sum *sums; /* from `first` on */
	size_t first, count, at;
	int64_t until;         /* the last sweep */
};

/* All ports cost as much as 300,000 rows, so that a join does not read them again for each of its rows. */
static int best_index(sqlite3_vtab *table, sqlite3_index_info *info)
{
	enum { ALL_COST = 300000, ONE_COST = 2000, PORTS = 5000 };
	int code = sample_best_index(table, info);
	bool one = code == SQLITE_OK && strchr(info->idxStr, SAMPLE_PLAN_COLUMN(SAMPLE_PORT_ID));

	info->estimatedCost = one ? ONE_COST : ALL_COST;
	info->estimatedRows = one ? 1 : PORTS;
	return code;
}

static int close_cursor(sqlite3_vtab_cursor *base)
{
	struct sum_cursor *cursor = (struct sum_cursor *)base;

	port_names_done(&cursor->names);
	free(cursor->sums);
	free(cursor);
	return SQLITE_OK;
}

/* Ports without stored data in the window have no row. */
static void skip_empty(struct sum_cursor *cursor)
{
	while (cursor->at < cursor->count && (!cursor->sums[cursor->at].samples ||
					      !port_names_has(&cursor->names, cursor->first + cursor->at)))
		cursor->at++;
}

static int load(struct sum_cursor *cursor, int64_t since_us, int64_t until_us, int64_t port, struct error *err)
{
	sqlite3 *db = sql_table_of(&cursor->base)->db;
	uint32_t id = (uint32_t)port;
	struct sums_query query = { .ports = port ? &id : NULL, .port_count = 1 };
	int result = port_names_load(&cursor->names, db, err);

	cursor->until = cursor->at = cursor->count = 0;
	free(cursor->sums);
	cursor->sums = NULL;
	if (result < 0 || port < 0 || (port && !port_names_has(&cursor->names, (uint64_t)port)))
		return result;
	cursor->first = (size_t)port;
	cursor->count = port ? 1 : cursor->names.count;
	cursor->sums = calloc(cursor->count ? cursor->count : 1, sizeof(*cursor->sums));
	if (!cursor->sums) {
		cursor->count = 0;
		return err_nomem(err);
	}
	result = window_find_sweeps(db, since_us, until_us, &query.after, &query.until, err);
	cursor->until = query.until;
	if (!result)
		result = sums_load(db, &query, cursor->sums, cursor->count, NULL, err);
	skip_empty(cursor);
	return result;
}

static int filter(sqlite3_vtab_cursor *base, int unused, const char *plan, int argc, sqlite3_value **argv)
{
	struct sample_bounds bounds;
	struct error err = { 0 };
	int result = sample_bounds_read(plan, argc, argv, &bounds, &err);

	(void)unused;
	if (!result)
		result = load((struct sum_cursor *)base, bounds.from_us > 0 ? bounds.from_us - 1 : 0, bounds.to_us,
			      bounds.nothing ? -1 : bounds.port_id, &err);
	return result < 0 ? sql_fail(base->pVtab, &err) : SQLITE_OK;
}

static int next(sqlite3_vtab_cursor *base)
{
	struct sum_cursor *cursor = (struct sum_cursor *)base;

	cursor->at++;
	skip_empty(cursor);
	return SQLITE_OK;
}

static int at_end(sqlite3_vtab_cursor *base)
{
	const struct sum_cursor *cursor = (const struct sum_cursor *)base;

	return cursor->at >= cursor->count;
}

static int column(sqlite3_vtab_cursor *base, sqlite3_context *context, int at)
{
	const struct sum_cursor *cursor = (const struct sum_cursor *)base;
	const struct port_sum *sum = &cursor->sums[cursor->at];
	uint64_t port = cursor->first + cursor->at;
	const int64_t numbers[] = { (int64_t)port, sql_capped(sum->samples), sum->sum.elapsed_us,
				    (int64_t)(COUNTER_ALL_SET & ~sum->sum.known), (int64_t)sum->sum.reset,
				    (int64_t)sum->sum.saturated };
	bool bytes = at == SUM_XMIT_BYTES || at == SUM_RCV_BYTES;
	int counter = bytes ? at - SUM_XMIT_BYTES + COUNTER_XMIT_DATA : at - SUM_COUNTERS;

	if (at < SUM_PORT_ID)
		port_names_put(&cursor->names, context, port, cursor->until, (enum sql_port)(at - SUM_NODE));
	else if (at < SUM_XMIT_BYTES)
		sqlite3_result_int64(context, numbers[at - SUM_PORT_ID]);
	/* NULL where the counter is unknown in all deltas; otherwise the sum of the others (column unknown). */
	else if (at < SUM_SINCE && sum->ever & COUNTER_BIT(counter))
		sqlite3_result_int64(context, bytes ? sql_bytes(sum->sum.value[counter]) :
				     sql_capped(sum->sum.value[counter]));
	return SQLITE_OK;
}

static int rowid(sqlite3_vtab_cursor *base, sqlite3_int64 *ret)
{
	const struct sum_cursor *cursor = (const struct sum_cursor *)base;

	*ret = (sqlite3_int64)(cursor->first + cursor->at);
	return SQLITE_OK;
}

int port_sum_table_register(sqlite3 *db, struct error *err)
{
	static const sqlite3_module module = {
		.xConnect = sql_connect, .xDisconnect = sql_disconnect, .xBestIndex = best_index, .xOpen = sql_open,
		.xClose = close_cursor, .xFilter = filter, .xNext = next, .xEof = at_end, .xColumn = column,
		.xRowid = rowid,
	};
	static const struct sql_kind kind = {
		.name = SAMPLE_PORT_SUM, .counters = COUNTER_COUNT, .cursor_size = sizeof(struct sum_cursor),
		.columns = "node TEXT, node_guid TEXT, port INTEGER, port_id INTEGER, samples INTEGER,"
			   " elapsed_us INTEGER, unknown INTEGER, reset INTEGER, saturated INTEGER,"
			   " xmit_bytes INTEGER, rcv_bytes INTEGER",
		.hidden = ", since HIDDEN, until HIDDEN",
	};

	return sql_register(db, &kind, &module, err);
}
