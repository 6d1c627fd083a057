/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
#include "storage/sql/delta_table.h"

#include <stdlib.h>

#include "base/err.h"
#include "base/text.h"
#include "storage/codec/codec.h"
#include "storage/file/db.h"
#include "storage/read/readings.h"
#include "storage/file/schema.h"
#include "storage/sql/sql_tables.h"

enum { COLUMN_SWEEP, COLUMN_PORT, COLUMN_ELAPSED, COLUMN_UNKNOWN, COLUMN_TRAFFIC };

/* What a plan gives to the walk, in this order: bits of idxNum. */
enum { PLAN_SWEEP = 1, PLAN_AFTER = 2, PLAN_FROM = 4, PLAN_BEFORE = 8, PLAN_UNTIL = 16, PLAN_PORT = 32 };

struct delta_table {
	sqlite3_vtab base;
	sqlite3 *db;
};

struct delta_cursor {
	sqlite3_vtab_cursor base;
	struct delta_scan scan;
	uint32_t port;
	bool end;
};

static int connect(sqlite3 *db, void *aux, int argc, const char *const *argv, sqlite3_vtab **ret, char **message)
{
	struct text sql = { 0 };
	int code = SQLITE_NOMEM;

	(void)aux;
	(void)argc;
	(void)argv;
	(void)message;
	text_append(&sql, "CREATE TABLE delta (sweep INTEGER, port INTEGER, elapsed_us INTEGER, unknown INTEGER");
	for (int i = 0; i < COUNTER_TRAFFIC_COUNT; i++)
		text_appendf(&sql, ", %s INTEGER", counter_info((enum counter)i)->key);
	text_append(&sql, ")");
	if (!text_failed(&sql))
		code = sql_declare(db, text_chars(&sql), sizeof(struct delta_table), ret);
	text_done(&sql);
	if (code == SQLITE_OK)
		((struct delta_table *)*ret)->db = db;
	return code;
}

/* Which part of a plan a constraint can be; 0: none. */
static int plan_of(const struct sqlite3_index_constraint *constraint)
{
	if (constraint->iColumn == COLUMN_PORT)
		return constraint->op == SQLITE_INDEX_CONSTRAINT_EQ ? PLAN_PORT : 0;
	if (constraint->iColumn != COLUMN_SWEEP)
		return 0;
	switch (constraint->op) {
	case SQLITE_INDEX_CONSTRAINT_EQ:
		return PLAN_SWEEP;
	case SQLITE_INDEX_CONSTRAINT_GT:
		return PLAN_AFTER;
	case SQLITE_INDEX_CONSTRAINT_GE:
		return PLAN_FROM;
	case SQLITE_INDEX_CONSTRAINT_LT:
		return PLAN_BEFORE;
	case SQLITE_INDEX_CONSTRAINT_LE:
		return PLAN_UNTIL;
	default:
		return 0;
	}
}

/*
 * Costs in rows looked at. One sweep out of a chunk costs a whole window to unpack:
 * asking sweep after sweep in a join is dearer than walking over them all.
 */
static int best_index(sqlite3_vtab *table, sqlite3_index_info *info)
{
	int plan = 0, used = 0;
	double cost = 1e7;

	(void)table;
	for (int bit = 1; bit <= PLAN_PORT; bit <<= 1) {
		for (int i = 0; i < info->nConstraint; i++) {
			if (!info->aConstraint[i].usable || plan_of(&info->aConstraint[i]) != bit || plan & bit)
				continue;
			plan |= bit;
			info->aConstraintUsage[i].argvIndex = ++used;
		}
	}
	if (plan & PLAN_SWEEP)
		cost /= 100;
	else if (plan & (PLAN_AFTER | PLAN_FROM | PLAN_BEFORE | PLAN_UNTIL))
		cost /= 10;
	if (plan & PLAN_PORT)
		cost /= 1000;
	info->idxNum = plan;
	info->estimatedCost = cost;
	info->estimatedRows = (sqlite3_int64)cost / 10;
	return SQLITE_OK;
}

static int open_cursor(sqlite3_vtab *table, sqlite3_vtab_cursor **ret)
{
	(void)table;
	return sql_open(sizeof(struct delta_cursor), ret);
}

static int close_cursor(sqlite3_vtab_cursor *base)
{
	struct delta_cursor *cursor = (struct delta_cursor *)base;

	delta_scan_end(&cursor->scan);
	free(cursor);
	return SQLITE_OK;
}

static int next(sqlite3_vtab_cursor *base)
{
	struct delta_cursor *cursor = (struct delta_cursor *)base;
	struct error err = { 0 };
	int result = delta_scan_next(&cursor->scan, &err);

	cursor->end = result <= 0;
	return result < 0 ? sql_fail(base->pVtab, &err) : SQLITE_OK;
}

static int filter(sqlite3_vtab_cursor *base, int plan, const char *text, int argc, sqlite3_value **argv)
{
	struct delta_cursor *cursor = (struct delta_cursor *)base;
	struct delta_table *table = (struct delta_table *)base->pVtab;
	int64_t after = 0, until = INT64_MAX - 1, port = 0;
	struct error err = { 0 };

	(void)text;
	for (int bit = 1, i = 0; bit <= PLAN_PORT && i < argc; bit <<= 1) {
		int64_t value;

		if (!(plan & bit))
			continue;
		value = sqlite3_value_int64(argv[i++]);
		/* SQLite looks at each row again: what is no integer here may only give it too many. */
		if (bit == PLAN_PORT)
			port = value > 0 && value < HISTORY_PORTS ? value : -1;
		if ((bit == PLAN_SWEEP || bit == PLAN_AFTER || bit == PLAN_FROM) && value - 1 > after)
			after = value - 1;
		if ((bit == PLAN_SWEEP || bit == PLAN_BEFORE || bit == PLAN_UNTIL) && value < until)
			until = value;
	}
	delta_scan_end(&cursor->scan);
	cursor->end = true;
	if (port < 0)
		return SQLITE_OK;
	cursor->port = (uint32_t)port;
	if (delta_scan_begin_ports(&cursor->scan, table->db, after, until, &cursor->port, port > 0, &err) < 0)
		return sql_fail(base->pVtab, &err);
	return next(base);
}

static int at_end(sqlite3_vtab_cursor *base)
{
	return ((struct delta_cursor *)base)->end;
}

static int column(sqlite3_vtab_cursor *base, sqlite3_context *context, int at)
{
	const struct delta_scan *scan = &((struct delta_cursor *)base)->scan;

	if (at == COLUMN_SWEEP)
		sqlite3_result_int64(context, scan->sweep);
	else if (at == COLUMN_PORT)
		sqlite3_result_int64(context, scan->port);
	else if (at == COLUMN_ELAPSED)
		sqlite3_result_int64(context, scan->sample->elapsed_us);
	else if (at == COLUMN_UNKNOWN)
		sqlite3_result_int64(context, (int64_t)scan->sample->unknown);
	else if (!(scan->sample->unknown & COUNTER_BIT(at - COLUMN_TRAFFIC)))
		sqlite3_result_int64(context, (int64_t)scan->sample->value[at - COLUMN_TRAFFIC]);
	return SQLITE_OK;
}

static int rowid(sqlite3_vtab_cursor *base, sqlite3_int64 *ret)
{
	const struct delta_scan *scan = &((struct delta_cursor *)base)->scan;

	*ret = CHUNK_ID(scan->sweep, (int64_t)scan->port);
	return SQLITE_OK;
}

int delta_table_register(sqlite3 *db, struct error *err)
{
	/* Without xCreate: it is there by its name, and in no schema. */
	static const sqlite3_module module = {
		.xConnect = connect, .xDisconnect = sql_disconnect, .xBestIndex = best_index, .xOpen = open_cursor,
		.xClose = close_cursor, .xFilter = filter, .xNext = next, .xEof = at_end, .xColumn = column,
		.xRowid = rowid,
	};

	return sqlite3_create_module(db, "delta", &module, NULL) == SQLITE_OK ? 0 : db_fail(db, err);
}
