/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* port_sum_table.c - port_sum(since, until): a row of SQL for each port, what it counted in a window */
#include <stdlib.h>

#include "base/err.h"
#include "storage/read/readings.h"
#include "storage/sql/sql_tables.h"
#include "storage/read/sums.h"

enum {
	SUM_NODE, SUM_NODE_GUID, SUM_PORT, SUM_PORT_ID, SUM_SAMPLES, SUM_ELAPSED, SUM_UNKNOWN, SUM_RESET,
	SUM_SATURATED, SUM_XMIT_BYTES, SUM_RCV_BYTES, SUM_COUNTERS, SUM_SINCE = SUM_COUNTERS + COUNTER_COUNT, SUM_UNTIL,
};

/* Arguments of a plan, in this order: bits of idxNum. */
enum { PLAN_SINCE = 1, PLAN_UNTIL = 2, PLAN_PORT_ID = 4 };

struct sum_cursor {
	sqlite3_vtab_cursor base;
	struct port_names names;
	struct port_sum *sums; /* from `first` on */
	size_t first, count, at;
	int64_t until;         /* the last sweep */
};

static int plan_of(const struct sqlite3_index_constraint *constraint)
{
	if (constraint->op != SQLITE_INDEX_CONSTRAINT_EQ)
		return 0;
	return constraint->iColumn == SUM_SINCE ? PLAN_SINCE : constraint->iColumn == SUM_UNTIL ? PLAN_UNTIL :
	       constraint->iColumn == SUM_PORT_ID ? PLAN_PORT_ID : 0;
}

/* All ports cost as much as 300,000 rows, so that a join does not read them again for each of its rows. */
static int best_index(sqlite3_vtab *table, sqlite3_index_info *info)
{
	enum { ALL_COST = 300000, ONE_COST = 2000, PORTS = 5000 };
	int plan = 0, used = 0;

	(void)table;
	for (int bit = 1; bit <= PLAN_PORT_ID; bit <<= 1) {
		for (int i = 0; i < info->nConstraint; i++) {
			if (plan_of(&info->aConstraint[i]) != bit || plan & bit)
				continue;
			if (!info->aConstraint[i].usable) {
				if (bit == PLAN_PORT_ID)
					continue;
				return SQLITE_CONSTRAINT;
			}
			plan |= bit;
			info->aConstraintUsage[i].argvIndex = ++used;
			info->aConstraintUsage[i].omit = bit != PLAN_PORT_ID;
		}
	}
	info->idxNum = plan;
	info->estimatedCost = plan & PLAN_PORT_ID ? ONE_COST : ALL_COST;
	info->estimatedRows = plan & PLAN_PORT_ID ? 1 : PORTS;
	return SQLITE_OK;
}

static int close_cursor(sqlite3_vtab_cursor *base)
{
	struct sum_cursor *cursor = (struct sum_cursor *)base;

	port_names_done(&cursor->names);
	free(cursor->sums);
	free(cursor);
	return SQLITE_OK;
}

/* Ports of which nothing is stored in the window have no row. */
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

static int filter(sqlite3_vtab_cursor *base, int plan, const char *text, int argc, sqlite3_value **argv)
{
	struct sum_cursor *cursor = (struct sum_cursor *)base;
	int64_t since_us = 0, until_us = INT64_MAX, port = 0;
	struct error err = { 0 };
	int at = 0;

	(void)text;
	(void)argc;
	if (plan & PLAN_SINCE && !sql_parse_time(argv[at++], 0, &since_us, &err))
		return sql_fail(base->pVtab, &err);
	if (plan & PLAN_UNTIL && !sql_parse_time(argv[at++], INT64_MAX, &until_us, &err))
		return sql_fail(base->pVtab, &err);
	if (plan & PLAN_PORT_ID) {
		port = sqlite3_value_int64(argv[at]);
		/* Text and fractions compare in other ways: SQLite evaluates the condition for each port. */
		if (sqlite3_value_type(argv[at]) != SQLITE_INTEGER)
			port = 0;
		else if (port <= 0 || port > UINT32_MAX)
			port = -1;
	}
	return load(cursor, since_us, until_us, port, &err) < 0 ? sql_fail(base->pVtab, &err) : SQLITE_OK;
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
	/* NULL where no delta knows the counter; otherwise the sum of those that do (column unknown). */
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
		.name = "port_sum", .counters = COUNTER_COUNT, .cursor_size = sizeof(struct sum_cursor),
		.columns = "node TEXT, node_guid TEXT, port INTEGER, port_id INTEGER, samples INTEGER,"
			   " elapsed_us INTEGER, unknown INTEGER, reset INTEGER, saturated INTEGER,"
			   " xmit_bytes INTEGER, rcv_bytes INTEGER",
		.hidden = ", since HIDDEN, until HIDDEN",
	};

	return sql_register(db, &kind, &module, err);
}
