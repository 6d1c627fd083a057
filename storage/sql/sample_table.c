/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* sample_table.c - sample and delta: a row for each stored delta */
#include <stdlib.h>

#include "base/err.h"
#include "base/when.h"
#include "fabric/names.h"
#include "storage/codec/codec.h"
#include "storage/file/db.h"
#include "storage/read/readings.h"
#include "storage/sql/sample_plan.h"
#include "storage/file/schema.h"
#include "storage/sql/sql_tables.h"

struct sample_cursor {
	sqlite3_vtab_cursor base;
	struct sample_bounds bounds;
	struct delta_scan scan;
	bool scanning, end;
	uint32_t *ports;       /* ids in rising order; NULL: all ports */
	size_t port_count;
	sqlite3_stmt *wall;    /* of a sweep */
	struct port_names names;
	bool named;            /* names are loaded */
	/* Of the current sweep. */
	int64_t sweep, wall_us;
	char time[WHEN_SIZE];
	/* Of the current row, once a column needs it: error counters cost a lookup. */
	bool has_delta;
	struct delta delta;
};

static void stop(struct sample_cursor *cursor)
{
	if (cursor->scanning)
		delta_scan_end(&cursor->scan);
	cursor->scanning = false;
	cursor->end = true;
	free(cursor->ports);
	cursor->ports = NULL;
	cursor->port_count = 0;
}

static int close_cursor(sqlite3_vtab_cursor *base)
{
	struct sample_cursor *cursor = (struct sample_cursor *)base;

	stop(cursor);
	sqlite3_finalize(cursor->wall);
	port_names_done(&cursor->names);
	free(cursor);
	return SQLITE_OK;
}

static sqlite3 *db_of(const struct sample_cursor *cursor)
{
	return sql_table_of(&cursor->base)->db;
}

/* From the first to the last sweep that is labelled within the bounds; the clock may have jumped in between. */
static int find_sweeps(struct sample_cursor *cursor, struct error *err)
{
	struct sample_bounds *bounds = &cursor->bounds;
	int64_t sweeps[2] = { 0 };
	int result;

	if (!bounds->by_time)
		return 0;
	result = db_row(db_of(cursor), "SELECT min(id) - 1, max(id) FROM sweep WHERE wall_us BETWEEN ?1 AND ?2",
			(int64_t[]){ bounds->from_us, bounds->to_us }, 2, sweeps, 2, err);
	bounds->nothing |= !sweeps[1];
	bounds->after = sweeps[0] > bounds->after ? sweeps[0] : bounds->after;
	bounds->until = sweeps[1] < bounds->until ? sweeps[1] : bounds->until;
	return result < 0 ? result : 0;
}

static int add_port(struct sample_cursor *cursor, uint32_t id)
{
	uint32_t *ports = reallocarray(cursor->ports, cursor->port_count + 1, sizeof(*ports));

	if (!ports)
		return ERR_NOMEM;
	cursor->ports = ports;
	ports[cursor->port_count++] = id;
	return 0;
}

/* A superset, since SQLite checks each row again: nodes that ever had the name. */
#define OF_NODE \
	"(?4 IS NULL OR p.node IN" \
	" (SELECT v.node FROM node_version v WHERE ?4 IN (v.name, v.name || '" NAMES_WAS "')))"

/* The ports that the bounds allow: by id, by node and number. */
static int find_ports(struct sample_cursor *cursor, struct error *err)
{
	const struct sample_bounds *bounds = &cursor->bounds;
	sqlite3_stmt *rows;
	int result;

	if (!bounds->port_id && bounds->num < 0 && !bounds->by_guid && !bounds->node)
		return 0;
	result = db_prepare(db_of(cursor), bounds->by_guid ?
			    "SELECT p.id FROM node n CROSS JOIN port p ON p.node = n.id WHERE n.guid = ?3"
			    " AND (?1 = 0 OR p.id = ?1) AND (?2 < 0 OR p.number = ?2) AND " OF_NODE
			    " ORDER BY p.id" :
			    bounds->port_id ?
			    "SELECT p.id FROM port p WHERE p.id = ?1 AND (?2 < 0 OR p.number = ?2) AND " OF_NODE :
			    "SELECT p.id FROM port p WHERE (?2 < 0 OR p.number = ?2) AND " OF_NODE " ORDER BY p.id",
			    &rows, err);
	if (result < 0)
		return result;
	DB_BIND(rows, 1, bounds->port_id, bounds->num);
	db_bind_u64(rows, 3, bounds->guid);
	if (bounds->node)
		sqlite3_bind_text(rows, 4, bounds->node, -1, SQLITE_STATIC);
	while ((result = db_step(rows, err)) > 0) {
		if (add_port(cursor, (uint32_t)sqlite3_column_int64(rows, 0)) < 0) {
			result = err_nomem(err);
			break;
		}
	}
	sqlite3_finalize(rows);
	if (!result && !cursor->port_count)
		cursor->bounds.nothing = true;
	return result;
}

/* Reads the label of the current sweep. */
static int date_sweep(struct sample_cursor *cursor, struct error *err)
{
	int result = 0;

	if (!cursor->wall)
		result = db_prepare(db_of(cursor), "SELECT wall_us FROM sweep WHERE id = ?1", &cursor->wall, err);
	if (result < 0)
		return result;
	sqlite3_bind_int64(cursor->wall, 1, cursor->scan.sweep);
	result = db_step(cursor->wall, err);
	cursor->sweep = cursor->scan.sweep;
	cursor->wall_us = result > 0 ? db_us(cursor->wall, 0) : 0;
	cursor->time[0] = '\0';
	sqlite3_reset(cursor->wall);
	return result < 0 ? result : 0;
}

static int next_row(struct sample_cursor *cursor, struct error *err)
{
	int result;

	cursor->has_delta = false;
	do {
		result = delta_scan_next(&cursor->scan, err);
		cursor->end = result <= 0;
		if (result > 0 && cursor->scan.sweep != cursor->sweep)
			result = date_sweep(cursor, err);
	} while (result >= 0 && !cursor->end &&
		 (cursor->wall_us < cursor->bounds.from_us || cursor->wall_us > cursor->bounds.to_us));
	return result < 0 ? result : 0;
}

static int next(sqlite3_vtab_cursor *base)
{
	struct error err = { 0 };

	return next_row((struct sample_cursor *)base, &err) < 0 ? sql_fail(base->pVtab, &err) : SQLITE_OK;
}

static int filter(sqlite3_vtab_cursor *base, int unused, const char *plan, int argc, sqlite3_value **argv)
{
	struct sample_cursor *cursor = (struct sample_cursor *)base;
	struct error err = { 0 };
	int result;

	(void)unused;
	stop(cursor);
	cursor->sweep = -1;
	result = sample_bounds_read(plan, argc, argv, &cursor->bounds, &err);
	if (!result && !cursor->bounds.nothing)
		result = find_sweeps(cursor, &err);
	if (!result && !cursor->bounds.nothing)
		result = find_ports(cursor, &err);
	if (!result && !cursor->bounds.nothing && cursor->bounds.after < cursor->bounds.until) {
		cursor->scanning = true;
		result = delta_scan_begin_ports(&cursor->scan, db_of(cursor), cursor->bounds.after,
						cursor->bounds.until, cursor->ports, cursor->port_count, &err);
		if (!result)
			result = next_row(cursor, &err);
	}
	return result < 0 ? sql_fail(base->pVtab, &err) : SQLITE_OK;
}

static int at_end(sqlite3_vtab_cursor *base)
{
	return ((struct sample_cursor *)base)->end;
}

/* Error counters and marks have rows of their own. */
static int read_delta(struct sample_cursor *cursor)
{
	struct error err = { 0 };

	if (!cursor->has_delta && delta_scan_read(&cursor->scan, &cursor->delta, &err) < 0)
		return sql_fail(cursor->base.pVtab, &err);
	cursor->has_delta = true;
	return SQLITE_OK;
}

static int put_counter(struct sample_cursor *cursor, sqlite3_context *context, int counter, bool bytes)
{
	const struct codec_sample *sample = cursor->scan.sample;
	int code = SQLITE_OK;

	if (sample->unknown & COUNTER_BIT(counter))
		return SQLITE_OK;
	if (counter >= COUNTER_TRAFFIC_COUNT)
		code = read_delta(cursor);
	if (bytes)
		sqlite3_result_int64(context, sql_bytes(sample->value[counter]));
	else if (code == SQLITE_OK)
		sqlite3_result_int64(context, (int64_t)(counter < COUNTER_TRAFFIC_COUNT ? sample->value[counter] :
							cursor->delta.value[counter]));
	return code;
}

static int put_port(struct sample_cursor *cursor, sqlite3_context *context, int column)
{
	struct error err = { 0 };

	if (!cursor->named && port_names_load(&cursor->names, db_of(cursor), &err) < 0)
		return sql_fail(cursor->base.pVtab, &err);
	cursor->named = true;
	port_names_put(&cursor->names, context, cursor->scan.port, cursor->scan.sweep,
		       (enum sql_port)(column - SAMPLE_NODE));
	return SQLITE_OK;
}

static int column(sqlite3_vtab_cursor *base, sqlite3_context *context, int at)
{
	struct sample_cursor *cursor = (struct sample_cursor *)base;
	const struct delta_scan *scan = &cursor->scan;
	int code = SQLITE_OK;

	/* Only those of delta differ. */
	if (sql_table_of(base)->kind->counters == COUNTER_TRAFFIC_COUNT)
		at = sample_column_of(sql_table_of(base), at);
	switch (at) {
	case SAMPLE_TIME:
		if (!cursor->time[0])
			when_format_utc(cursor->wall_us, cursor->time);
		sqlite3_result_text(context, cursor->time, -1, SQLITE_TRANSIENT);
		break;
	case SAMPLE_NODE:
	case SAMPLE_NODE_GUID:
	case SAMPLE_PORT:
		code = put_port(cursor, context, at);
		break;
	case SAMPLE_SWEEP:
		sqlite3_result_int64(context, scan->sweep);
		break;
	case SAMPLE_WALL:
		sqlite3_result_int64(context, cursor->wall_us);
		break;
	case SAMPLE_PORT_ID:
		sqlite3_result_int64(context, scan->port);
		break;
	case SAMPLE_ELAPSED:
		sqlite3_result_int64(context, scan->sample->elapsed_us);
		break;
	case SAMPLE_UNKNOWN:
		sqlite3_result_int64(context, (int64_t)scan->sample->unknown);
		break;
	case SAMPLE_RESET:
	case SAMPLE_SATURATED:
		code = read_delta(cursor);
		if (code == SQLITE_OK)
			sqlite3_result_int64(context, (int64_t)(at == SAMPLE_RESET ? cursor->delta.reset :
										     cursor->delta.saturated));
		break;
	case SAMPLE_XMIT_BYTES:
	case SAMPLE_RCV_BYTES:
		code = put_counter(cursor, context, COUNTER_XMIT_DATA + at - SAMPLE_XMIT_BYTES, true);
		break;
	case SAMPLE_SINCE:
	case SAMPLE_UNTIL:
		break;
	default:
		code = put_counter(cursor, context, at - SAMPLE_COUNTERS, false);
	}
	return code;
}

static int rowid(sqlite3_vtab_cursor *base, sqlite3_int64 *ret)
{
	const struct delta_scan *scan = &((struct sample_cursor *)base)->scan;

	*ret = CHUNK_ID(scan->sweep, (int64_t)scan->port);
	return SQLITE_OK;
}

int sample_table_register(sqlite3 *db, struct error *err)
{
	/* Without xCreate the tables exist by their names, and in no schema. */
	static const sqlite3_module module = {
		.xConnect = sql_connect, .xDisconnect = sql_disconnect, .xBestIndex = sample_best_index,
		.xOpen = sql_open, .xClose = close_cursor, .xFilter = filter, .xNext = next, .xEof = at_end,
		.xColumn = column, .xRowid = rowid,
	};
	static const struct sql_kind sample = {
		.name = "sample", .counters = COUNTER_COUNT, .cursor_size = sizeof(struct sample_cursor),
		.columns = "sweep INTEGER, time TEXT, wall_us INTEGER, node TEXT, node_guid TEXT, port INTEGER,"
			   " port_id INTEGER, elapsed_us INTEGER, unknown INTEGER, reset INTEGER,"
			   " saturated INTEGER, xmit_bytes INTEGER, rcv_bytes INTEGER",
		.hidden = ", since HIDDEN, until HIDDEN",
	};
	static const struct sql_kind delta = {
		.name = SAMPLE_DELTA, .counters = COUNTER_TRAFFIC_COUNT, .cursor_size = sizeof(struct sample_cursor),
		.columns = "sweep INTEGER, port INTEGER, elapsed_us INTEGER, unknown INTEGER", .hidden = "",
	};
	int result = sql_register(db, &sample, &module, err);

	return result ? result : sql_register(db, &delta, &module, err);
}
