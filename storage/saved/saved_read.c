/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* saved_read.c - snapshots read */
#include <stdlib.h>
#include <string.h>

#include "base/err.h"
#include "base/process.h"
#include "base/text.h"
#include "fabric/fabric.h"
#include "fabric/name_map.h"
#include "storage/file/db.h"
#include "storage/file/schema.h"
#include "storage/read/reader_internal.h"
#include "storage/saved.h"
#include "storage/saved/saved_columns.h"
#include "storage/saved/saved_internal.h"

#define INFO_COLUMNS \
	"id, name, note, wall_us, start_us, end_us, boot_id, sweep, discovered, slow, ports_planned, ports_polled," \
	" ports_answered, mads_sent, mads_timed_out, spread_us"

void saved_copy_text(char *to, size_t size, sqlite3_stmt *row, int column)
{
	const char *chars = (const char *)sqlite3_column_text(row, column);

	text_sanitise(chars ? chars : "", chars ? strlen(chars) : 0, to, size);
}

static void read_info(sqlite3_stmt *row, struct saved_info *ret)
{
	*ret = (struct saved_info){
		.id = sqlite3_column_int64(row, 0),
		.wall_us = db_us(row, 3),
		.start_us = db_us(row, 4),
		.end_us = db_us(row, 5),
		.sweep = sqlite3_column_int64(row, 7),
		.discovered = sqlite3_column_int(row, 8) != 0,
		.slow = sqlite3_column_int(row, 9) != 0,
		.ports_planned = (uint32_t)sqlite3_column_int64(row, 10),
		.ports_polled = (uint32_t)sqlite3_column_int64(row, 11),
		.ports_answered = (uint32_t)sqlite3_column_int64(row, 12),
		.mads_sent = db_u64(row, 13),
		.mads_timed_out = db_u64(row, 14),
		.spread_us = db_us(row, 15),
	};
	saved_copy_text(ret->name, sizeof(ret->name), row, 1);
	saved_copy_text(ret->note, sizeof(ret->note), row, 2);
	saved_copy_text(ret->boot_id, sizeof(ret->boot_id), row, 6);
}

int saved_list(struct reader *reader, saved_fn *each, void *ctx, struct error *err)
{
	struct saved_info info;
	sqlite3_stmt *rows = NULL;
	int result = reader_begin(reader, err);

	if (result < 0)
		return result;
	result = db_prepare(reader->db, "SELECT " INFO_COLUMNS " FROM snapshot WHERE complete ORDER BY id", &rows,
			    err);
	while (result >= 0 && (result = db_step(rows, err)) > 0) {
		read_info(rows, &info);
		if (!each(ctx, &info))
			break;
	}
	sqlite3_finalize(rows);
	reader_end(reader);
	return result < 0 ? result : 0;
}

/* --- one of them --- */

static int load_info(struct reader *reader, int64_t id, struct saved_info *ret, struct error *err)
{
	sqlite3_stmt *row;
	int result = db_prepare(reader->db, "SELECT " INFO_COLUMNS " FROM snapshot WHERE id = ? AND complete", &row,
				err);

	if (result < 0)
		return result;
	sqlite3_bind_int64(row, 1, id);
	result = db_step(row, err);
	if (result > 0)
		read_info(row, ret);
	sqlite3_finalize(row);
	if (result)
		return result < 0 ? result : 0;
	return err_set(err, ERR_UNAVAILABLE, "the snapshot was removed by another process; see: ibwire snapshot list");
}

/* The peer of a port, until all ports are loaded. */
struct end {
	uint32_t peer_node; /* FABRIC_NONE: none */
	uint8_t peer_number;
};

struct loading {
	struct reader *reader;
	struct saved *saved;
	struct end *ends; /* parallel to the fabric's ports */
	size_t capacity;
	sqlite3_stmt *ports;
	bool more;        /* ports has a row that was not read yet */
};

static int next_port(struct loading *loading, struct error *err)
{
	int result = db_step(loading->ports, err);

	loading->more = result > 0;
	return result < 0 ? result : 0;
}

static int reserve_port(struct loading *loading, struct error *err)
{
	size_t count = loading->saved->fabric->port_count;
	size_t capacity = loading->capacity ? 2 * loading->capacity : 1024;
	struct full_reading *readings;
	struct end *ends;

	if (count < loading->capacity)
		return 0;
	readings = reallocarray(loading->saved->readings, capacity, sizeof(*readings));
	if (!readings)
		return err_nomem(err);
	loading->saved->readings = readings;
	ends = reallocarray(loading->ends, capacity, sizeof(*ends));
	if (!ends)
		return err_nomem(err);
	loading->ends = ends;
	loading->capacity = capacity;
	return 0;
}

/*
 * The column is accessed once: separate calls for its type and its value would locate it twice,
 * for some 70 counters of each port.
 * Return: is the counter known?
 */
static bool read_counter(sqlite3_stmt *row, int column, uint64_t *ret)
{
	sqlite3_value *value = sqlite3_column_value(row, column);

	if (sqlite3_value_type(value) == SQLITE_NULL)
		return false;
	*ret = (uint64_t)sqlite3_value_int64(value);
	return true;
}

static void read_fast(sqlite3_stmt *row, struct reading *reading)
{
	reading->at_us = db_us(row, SAVED_AT);
	reading->wide = db_u64(row, SAVED_WIDE);
	for (int i = 0; i < COUNTER_COUNT; i++)
		if (read_counter(row, SAVED_FAST + i, &reading->value[i]))
			reading->present |= COUNTER_BIT(i);
}

static void read_slow(sqlite3_stmt *row, struct detail_reading *details)
{
	int column = SAVED_FAST + COUNTER_COUNT;
	uint64_t value;

	for (int i = 0; i < DETAIL_SELDOM; i++) {
		unsigned count = detail_count((enum detail_attribute)i);

		details[i].attribute = (uint8_t)i;
		details[i].at_us = db_us(row, SAVED_SLOW_AT);
		if (i == DETAIL_EXTENDED_SPEEDS)
			details[i].layout = (uint8_t)sqlite3_column_int(row, SAVED_FEC_LAYOUT);
		for (unsigned number = 0; number < count; number++, column++) {
			if (!read_counter(row, column, &value))
				continue;
			details[i].present |= UINT32_C(1) << number;
			details[i].value[number] = value;
		}
	}
}

static int add_port(struct loading *loading, struct error *err)
{
	sqlite3_stmt *row = loading->ports;
	const struct port port = {
		.num = (uint8_t)sqlite3_column_int(row, SAVED_NUMBER),
		.state = (uint8_t)sqlite3_column_int(row, SAVED_STATE),
		.phys_state = (uint8_t)sqlite3_column_int(row, SAVED_PHYS_STATE),
		.width = (uint8_t)sqlite3_column_int(row, SAVED_WIDTH),
		.speed = (uint8_t)sqlite3_column_int(row, SAVED_SPEED),
	};
	int why = sqlite3_column_int(row, SAVED_WHY);
	struct full_reading *reading;
	struct end *end;
	int64_t index;
	int result = reserve_port(loading, err);

	if (result < 0)
		return result;
	index = fabric_add_port(loading->saved->fabric, &port, err);
	if (index < 0)
		return (int)index;
	reading = &loading->saved->readings[index];
	end = &loading->ends[index];
	memset(reading, 0, sizeof(*reading));
	reading->status = why >= 0 && why < SAMPLE_STATUS_COUNT ? (enum sample_status)why : SAMPLE_UNPLANNED;
	end->peer_node = FABRIC_NONE;
	if (sqlite3_column_type(row, SAVED_PEER_NODE) != SQLITE_NULL)
		end->peer_node = (uint32_t)sqlite3_column_int64(row, SAVED_PEER_NODE);
	end->peer_number = (uint8_t)sqlite3_column_int(row, SAVED_PEER_NUMBER);
	if (reading->status != SAMPLE_OK)
		return 0;
	read_fast(row, &reading->reading);
	read_slow(row, reading->details);
	return 0;
}

static int add_node(struct loading *loading, sqlite3_stmt *row, struct error *err)
{
	struct node node = {
		.guid = db_u64(row, 1),
		.type = (uint8_t)sqlite3_column_int(row, 3),
		.port_count = (uint8_t)sqlite3_column_int(row, 4),
		.system_guid = db_u64(row, 5),
		.vendor_id = (uint32_t)sqlite3_column_int64(row, 6),
		.device_id = (uint16_t)sqlite3_column_int(row, 7),
	};
	const void *desc = sqlite3_column_blob(row, 2);
	size_t len = (size_t)sqlite3_column_bytes(row, 2);
	int64_t index;
	int result = 0;

	memcpy(node.desc, desc ? desc : "", len < NODE_DESC_SIZE ? len : NODE_DESC_SIZE);
	index = fabric_add_node(loading->saved->fabric, &node, err);
	if (index >= 0 && index != sqlite3_column_int64(row, 0))
		result = err_set(err, ERR_IO, "%s is damaged (a node of a snapshot is missing); remove the snapshot",
				 loading->reader->path);
	if (index < 0)
		result = (int)index;
	while (!result && loading->more && sqlite3_column_int64(loading->ports, SAVED_NODE) == index) {
		result = add_port(loading, err);
		if (!result)
			result = next_port(loading, err);
	}
	return result;
}

/* Is this a result of text_sanitise()? Backslashes of its escapes are allowed. */
static bool is_sanitised(const char *chars)
{
	char plain[NODE_NAME_SIZE], clean[4 * NODE_NAME_SIZE];
	size_t len = strlen(chars);

	if (!len || len >= sizeof(plain))
		return false;
	for (size_t i = 0; i <= len; i++)
		plain[i] = chars[i] == '\\' ? '/' : chars[i];
	text_sanitise(plain, len, clean, sizeof(clean));
	return !strcmp(plain, clean);
}

/*
 * The names that were shown at that time: they may differ from the descriptions, since a node that
 * lost its description keeps its last name.
 */
static int put_names(struct loading *loading, int64_t id, const struct name_map *names, struct error *err)
{
	struct fabric *fabric = loading->saved->fabric;
	sqlite3_stmt *rows;
	int result = db_prepare(loading->reader->db, "SELECT node, name FROM snapshot_node WHERE snapshot = ?", &rows,
				err);

	if (result < 0)
		return result;
	sqlite3_bind_int64(rows, 1, id);
	while ((result = db_step(rows, err)) > 0) {
		struct node *node = &fabric->nodes[sqlite3_column_int64(rows, 0)];
		const char *name = (const char *)sqlite3_column_text(rows, 1);
		char *copy;

		if (!name || !strcmp(name, node->name) || !is_sanitised(name) ||
		    (names && name_map_find(names, node->guid)))
			continue;
		copy = strdup(name);
		if (!copy) {
			result = err_nomem(err);
			break;
		}
		free(node->name);
		node->name = copy;
	}
	sqlite3_finalize(rows);
	return result;
}

static int link_ports(struct loading *loading, struct error *err)
{
	struct fabric *fabric = loading->saved->fabric;
	int result = 0;

	for (uint32_t i = 0; !result && i < fabric->port_count; i++) {
		const struct end *end = &loading->ends[i];
		uint32_t peer = end->peer_node < fabric->node_count ?
				fabric_node_port(fabric, end->peer_node, end->peer_number) : FABRIC_NONE;

		/* A peer without counters (base port 0) is not in the snapshot. */
		if (peer != FABRIC_NONE)
			result = fabric_link(fabric, i, peer, err);
	}
	return result;
}

static int load(struct loading *loading, int64_t id, const struct name_map *names, struct error *err)
{
	const enum detail_attribute last = DETAIL_SELDOM - 1;
	sqlite3 *db = loading->reader->db;
	sqlite3_stmt *nodes = NULL;
	struct text sql = { 0 };
	int result = load_info(loading->reader, id, &loading->saved->info, err);

	/*
	 * The second condition is always true. It makes SQLite locate all columns in one pass instead of
	 * one pass per column, which saves a third of the time.
	 */
	text_appendf(&sql, "SELECT * FROM snapshot_port WHERE snapshot = ? AND coalesce(%s, 0) NOT NULL"
		     " ORDER BY node, number", detail_info(last, detail_count(last) - 1)->key);
	if (!result && text_failed(&sql))
		result = err_nomem(err);
	if (!result)
		result = db_prepare(db, text_chars(&sql), &loading->ports, err);
	text_done(&sql);
	if (!result)
		result = db_prepare(db, "SELECT node, guid, description, type, port_count, system_guid, vendor_id,"
				    " device_id FROM snapshot_node WHERE snapshot = ? ORDER BY node", &nodes, err);
	if (!result) {
		sqlite3_bind_int64(loading->ports, 1, id);
		sqlite3_bind_int64(nodes, 1, id);
		loading->saved->fabric = fabric_create(err);
		result = loading->saved->fabric ? next_port(loading, err) : ERR_NOMEM;
	}
	while (!result && (result = db_step(nodes, err)) > 0)
		result = add_node(loading, nodes, err);
	if (!result)
		result = link_ports(loading, err);
	if (!result)
		result = fabric_finish(loading->saved->fabric, names, err);
	if (!result)
		result = put_names(loading, id, names, err);
	if (!result)
		result = saved_load_firmware(db, id, loading->saved->fabric, err);
	sqlite3_finalize(nodes);
	sqlite3_finalize(loading->ports);
	return result;
}

int saved_load(struct reader *reader, int64_t id, const struct name_map *names, struct saved **ret,
	       struct error *err)
{
	struct loading loading = { .reader = reader };
	int result = reader_begin(reader, err);

	if (result < 0)
		return result;
	loading.saved = calloc(1, sizeof(*loading.saved));
	result = loading.saved ? load(&loading, id, names, err) : err_nomem(err);
	reader_end(reader);
	free(loading.ends);
	if (result < 0)
		saved_destroy(loading.saved);
	else
		*ret = loading.saved;
	return result;
}

void saved_destroy(struct saved *saved)
{
	if (!saved)
		return;
	fabric_destroy(saved->fabric);
	free(saved->readings);
	free(saved);
}

/* --- two of them, in the time of one if two cores are idle --- */

/* The snapshot that a thread loads, and the result. */
struct second {
	const char *path;
	int64_t id;
	const struct name_map *names;
	const atomic_bool *stop;
	struct saved *saved;
	struct error err;
	int result;
};

/* A connection is used by one thread only: this one opens its own. */
static void *load_second(void *ctx)
{
	struct second *second = ctx;
	struct reader *reader = NULL;

	second->result = reader_open(second->path, &reader, &second->err);
	if (!second->result)
		reader_set_stop(reader, second->stop);
	if (!second->result)
		second->result = saved_load(reader, second->id, second->names, &second->saved, &second->err);
	reader_close(reader);
	return NULL;
}

int saved_load_two(struct reader *reader, const int64_t ids[2], const struct name_map *names, struct saved *ret[2],
		   struct error *err)
{
	struct second second = { .path = reader->path, .id = ids[1], .names = names, .stop = reader->stop };
	struct saved *first = NULL;
	pthread_t thread;
	bool started = !thread_start(load_second, &second, &thread);
	int result = saved_load(reader, ids[0], names, &first, err);

	if (started)
		pthread_join(thread, NULL);
	else if (!result)
		second.result = saved_load(reader, ids[1], names, &second.saved, &second.err);
	if (!result && second.result < 0)
		result = err_set(err, second.result, "%s", second.err.text);
	if (result < 0) {
		saved_destroy(first);
		saved_destroy(second.saved);
		return result;
	}
	ret[0] = first;
	ret[1] = second.saved;
	return 0;
}

/* --- counters that were reset between two of them --- */

#define PORTS "JOIN port p ON p.id = r.port JOIN node n ON n.id = p.node"

/* @sql: selects GUID, port number and set of counters of ids ?1 to ?2. */
static int report_resets(sqlite3 *db, const char *sql, int64_t first, int64_t last, saved_reset_fn *each, void *ctx,
		       struct error *err)
{
	sqlite3_stmt *rows;
	int result = db_prepare(db, sql, &rows, err);

	if (result < 0)
		return result;
	DB_BIND(rows, 1, first, last);
	while ((result = db_step(rows, err)) > 0)
		each(ctx, db_u64(rows, 0), (uint8_t)sqlite3_column_int(rows, 1), db_u64(rows, 2));
	sqlite3_finalize(rows);
	return result;
}

/*
 * Resets in sweeps [from, to): from sums of whole hours, since a saturated counter has a row in error
 * for each sweep; of single sweeps at the edges.
 */
static int report_all(sqlite3 *db, int64_t from, int64_t to, saved_reset_fn *each, void *ctx, struct error *err)
{
	static const char sweeps[] = "SELECT n.guid, p.number, 1 << r.counter FROM error r " PORTS
		" WHERE r.sweep BETWEEN ?1 AND ?2 AND r.marks & 1 AND r.counter BETWEEN 0 AND 62";
	static const char sums[] = "SELECT n.guid, p.number, r.reset FROM hour_sum r " PORTS
		" WHERE r.hour BETWEEN ?1 AND ?2 AND r.reset";
	int64_t hours[4] = { 0 }; /* their sweeps [0, 1), and ids [2, 3]; all 0: none */
	int result = db_row(db, "SELECT min(from_sweep), max(to_sweep), min(id), max(id) FROM hour WHERE state = 1 AND"
			    " from_sweep >= ?1 AND to_sweep <= ?2", (const int64_t[]){ from, to }, 2, hours, 4, err);

	if (result < 0 || !hours[1])
		return result < 0 ? result : report_resets(db, sweeps, from, to - 1, each, ctx, err);
	result = report_resets(db, sweeps, from, hours[0] - 1, each, ctx, err);
	if (!result)
		result = report_resets(db, sums, hours[2], hours[3], each, ctx, err);
	return result ? result : report_resets(db, sweeps, hours[1], to - 1, each, ctx, err);
}

int saved_resets(struct reader *reader, int64_t before, int64_t after, saved_reset_fn *each, void *ctx,
		 struct error *err)
{
	int result;

	if (before < 0 || after > SCHEMA_SWEEPS)
		return err_set(err, ERR_IO, "a snapshot is damaged: its sweep is out of range; remove it with "
			       "ibwire snapshot remove");
	result = reader_begin(reader, err);
	if (result < 0)
		return result;
	result = report_all(reader->db, before + 1, after + 2, each, ctx, err);
	reader_end(reader);
	return result;
}
