/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* cables_write.c - imports of ibdiagnet's files */
#include <inttypes.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/clock.h"
#include "base/err.h"
#include "base/when.h"
#include "storage/cables.h"
#include "storage/file/db.h"
#include "storage/saved/saved_internal.h"

/* Clocks of hosts may differ by this. */
#define AHEAD_US (600 * US_PER_S)

struct importing {
	struct saved_writer *writer;
	const struct ibdiagnet *bundle;
	struct cables_imported *ret;
	int64_t id;       /* of the import */
	uint64_t *guids;  /* by port of the bundle: GUID of its node; 0: unknown */
	sqlite3_stmt *find, *same, *before, *end, *insert, *reading;
};

/* Is a bundle with these bytes stored? */
static int find_same(struct importing *importing, struct error *err)
{
	const int64_t digest = (int64_t)importing->bundle->digest;
	sqlite3_stmt *find;
	int result = db_prepare(importing->writer->db, "SELECT imported_us, wall_us FROM import WHERE digest = ?",
				&find, err);

	if (result < 0)
		return result;
	sqlite3_bind_int64(find, 1, digest);
	result = db_step(find, err);
	if (result > 0) {
		importing->ret->known = true;
		importing->ret->known_us = db_us(find, 0);
		importing->ret->wall_us = db_us(find, 1);
	}
	sqlite3_finalize(find);
	return result < 0 ? result : 0;
}

static int check_time(struct importing *importing, const char *source, int64_t wall_us, int64_t now_us,
		      struct error *err)
{
	char time[WHEN_SIZE], newest[WHEN_SIZE];
	int64_t newest_us = 0;
	int result;

	if (wall_us > now_us + AHEAD_US)
		return err_set(err, ERR_USAGE, "%s is of %s, which is in the future: give its time with --time", source,
			       when_format_local(wall_us, time));
	result = db_integer(importing->writer->db, "SELECT max(wall_us) FROM import", 0, &newest_us, err);
	if (result < 0 || wall_us >= newest_us)
		return result;
	return err_set(err, ERR_USAGE, "%s is of %s, older than the newest import (%s): nothing was imported; imports "
		       "must be in order of time", source, when_format_local(wall_us, time),
		       when_format_local(newest_us, newest));
}

/* Return: 1 if a node with this GUID was ever stored. */
static int is_known(struct importing *importing, uint64_t guid, struct error *err)
{
	int result;

	db_bind_u64(importing->find, 1, guid);
	result = db_step(importing->find, err);
	sqlite3_reset(importing->find);
	return result;
}

/* The node of each port; a GUID of the port is of no use without that. */
static int resolve(struct importing *importing, struct error *err)
{
	const struct ibdiagnet *bundle = importing->bundle;
	sqlite3_stmt *by_port;
	int result = db_prepare(importing->writer->db, "SELECT n.guid FROM port_version v JOIN port p ON p.id = v.port"
				" JOIN node n ON n.id = p.node WHERE v.guid = ? AND v.to_sweep IS NULL LIMIT 1",
				&by_port, err);

	for (size_t i = 0; result >= 0 && i < bundle->port_count; i++) {
		const struct ibdiagnet_port *port = &bundle->ports[i];

		result = is_known(importing, port->guid, err);
		if (result > 0)
			importing->guids[i] = port->guid;
		if (result || !port->by_port_guid)
			continue;
		db_bind_u64(by_port, 1, port->guid);
		result = db_step(by_port, err);
		if (result > 0)
			importing->guids[i] = db_u64(by_port, 0);
		sqlite3_reset(by_port);
	}
	sqlite3_finalize(by_port);
	return result < 0 ? result : 0;
}

/* Count the nodes of the bundle that are known: those it lists, else those of its ports. */
static int count_known(struct importing *importing, struct error *err)
{
	const struct ibdiagnet *bundle = importing->bundle;
	struct cables_imported *ret = importing->ret;
	int result = 0;

	for (size_t i = 0; result >= 0 && i < bundle->node_count; i++) {
		if (!bundle->nodes[i].listed)
			continue;
		result = is_known(importing, bundle->nodes[i].guid, err);
		ret->nodes++;
		ret->nodes_known += result > 0;
	}
	for (size_t i = 0; i < bundle->port_count; i++) {
		ret->unresolved += !importing->guids[i];
		if (!bundle->counts[IBDIAGNET_NODES].rows) {
			ret->nodes++;
			ret->nodes_known += importing->guids[i] != 0;
		}
	}
	return result < 0 ? result : 0;
}

static int check_fabric(struct importing *importing, const char *source, struct error *err)
{
	const struct cables_imported *ret = importing->ret;
	const char *what = importing->bundle->counts[IBDIAGNET_NODES].rows ? "nodes" : "ports";
	int64_t stored = 0;
	int result = db_integer(importing->writer->db, "SELECT count(*) FROM node", 0, &stored, err);

	if (result < 0)
		return result;
	if (!stored)
		return err_set(err, ERR_USAGE, "%s has no fabric yet, which the files could belong to: let ibwire "
			       "collect store a sweep first", importing->writer->path);
	if (!ret->nodes)
		return err_set(err, ERR_USAGE, "%s has no node and no port: nothing was imported", source);
	if ((double)ret->nodes_known < CABLES_KNOWN_LEAST * (double)ret->nodes)
		return err_set(err, ERR_USAGE, "%s is of another fabric: %zu of its %zu %s (%.0f %%) are in %s, at "
			       "least %.0f %% are required; give the --db of its fabric", source, ret->nodes_known,
			       ret->nodes, what, 100.0 * (double)ret->nodes_known / (double)ret->nodes,
			       importing->writer->path, 100 * CABLES_KNOWN_LEAST);
	return 0;
}

static int write_head(struct importing *importing, const char *source, int64_t wall_us, int64_t now_us,
		      struct error *err)
{
	const struct ibdiagnet *bundle = importing->bundle;
	size_t rows = 0, unread = 0;
	sqlite3_stmt *insert;
	int result = db_prepare(importing->writer->db, "INSERT INTO import (wall_us, imported_us, source, digest,"
				" rows_read, rows_unread) VALUES (?, ?, ?, ?, ?, ?)", &insert, err);

	if (result < 0)
		return result;
	for (int i = 0; i < IBDIAGNET_SECTIONS; i++) {
		rows += bundle->counts[i].rows;
		unread += bundle->counts[i].unread;
	}
	DB_BIND(insert, 1, wall_us, now_us);
	sqlite3_bind_text(insert, 3, source, -1, SQLITE_STATIC);
	DB_BIND(insert, 4, (int64_t)bundle->digest, (int64_t)rows, (int64_t)unread);
	result = db_run(insert, err);
	sqlite3_finalize(insert);
	importing->id = sqlite3_last_insert_rowid(importing->writer->db);
	return result;
}

static void bind_number(sqlite3_stmt *statement, int at, int number)
{
	if (number >= 0)
		sqlite3_bind_int(statement, at, number);
	else
		sqlite3_bind_null(statement, at);
}

enum { GUID_AT = 1, PORT_AT, IMPORT_AT, TEXTS_AT, CAGE_AT = TEXTS_AT + IBDIAGNET_CABLE_FIRMWARE + 1, PLANE_AT };

static void bind_cable(sqlite3_stmt *statement, const struct importing *importing, size_t at)
{
	const struct ibdiagnet_port *port = &importing->bundle->ports[at];

	DB_BIND(statement, GUID_AT, (int64_t)importing->guids[at], port->port, importing->id);
	for (int i = 0; i <= IBDIAGNET_CABLE_FIRMWARE; i++)
		sqlite3_bind_text(statement, TEXTS_AT + i, port->texts[i], -1, SQLITE_STATIC);
	bind_number(statement, CAGE_AT, port->cage);
	bind_number(statement, PLANE_AT, port->plane);
}

/* The cable that was in the port until this import. */
static int end_before(struct importing *importing, size_t at, struct error *err)
{
	const struct ibdiagnet_port *port = &importing->bundle->ports[at];
	int result;

	DB_BIND(importing->before, 1, (int64_t)importing->guids[at], port->port);
	sqlite3_bind_text(importing->before, 3, port->texts[IBDIAGNET_SERIAL], -1, SQLITE_STATIC);
	result = db_step(importing->before, err);
	if (result > 0) {
		importing->ret->appeared += !sqlite3_column_int(importing->before, 0);
		importing->ret->moved += sqlite3_column_int(importing->before, 1) != 0;
	}
	sqlite3_reset(importing->before);
	if (result < 0)
		return result;
	DB_BIND(importing->end, 1, (int64_t)importing->guids[at], port->port, importing->id);
	return db_run(importing->end, err);
}

/* The row of the cable in a port, unless it is still valid. What the import does not have may be the same. */
static int write_cable(struct importing *importing, size_t at, struct error *err)
{
	const struct ibdiagnet_port *port = &importing->bundle->ports[at];
	int result;

	if (!*port->texts[IBDIAGNET_SERIAL] || !importing->guids[at])
		return 0;
	importing->ret->cables++;
	bind_cable(importing->same, importing, at);
	result = db_run(importing->same, err);
	if (result < 0 || sqlite3_changes(importing->writer->db))
		return result;
	result = end_before(importing, at, err);
	if (result < 0)
		return result;
	bind_cable(importing->insert, importing, at);
	return db_run(importing->insert, err);
}

static void bind_real(sqlite3_stmt *statement, int at, double value)
{
	if (isnan(value))
		sqlite3_bind_null(statement, at);
	else
		sqlite3_bind_double(statement, at, value);
}

static int write_reading(struct importing *importing, size_t at, struct error *err)
{
	const struct ibdiagnet_port *port = &importing->bundle->ports[at];
	sqlite3_stmt *insert = importing->reading;
	const double numbers[] = { port->raw_ber, port->effective_ber, port->symbol_ber };
	bool any = port->counters_known || !isnan(port->temperature_c);

	for (int i = IBDIAGNET_RX_POWER; i < IBDIAGNET_TEXTS; i++)
		any |= *port->texts[i] != '\0';
	for (int i = 0; i < 3; i++)
		any |= !isnan(numbers[i]);
	if (!any || !importing->guids[at])
		return 0;
	DB_BIND(insert, 1, (int64_t)importing->guids[at], port->port, importing->id);
	bind_real(insert, 4, port->temperature_c);
	for (int i = IBDIAGNET_RX_POWER; i < IBDIAGNET_TEXTS; i++)
		sqlite3_bind_text(insert, 5 + i - IBDIAGNET_RX_POWER, *port->texts[i] ? port->texts[i] : NULL, -1,
				  SQLITE_STATIC);
	for (int i = 0; i < 3; i++)
		bind_real(insert, 8 + i, numbers[i]);
	for (int i = 0; i < IBDIAGNET_COUNTER_COUNT; i++) {
		if (port->counters_known >> i & 1)
			db_bind_u64(insert, 11 + i, port->counters[i]);
		else
			sqlite3_bind_null(insert, 11 + i);
	}
	return db_run(insert, err);
}

static int write_sensors(struct importing *importing, struct error *err)
{
	const struct ibdiagnet *bundle = importing->bundle;
	sqlite3_stmt *insert;
	int result = db_prepare(importing->writer->db, "INSERT INTO node_reading (node_guid, import, temperature_c)"
				" VALUES (?, ?, ?)", &insert, err);

	for (size_t i = 0; result >= 0 && i < bundle->node_count; i++) {
		const struct ibdiagnet_node *node = &bundle->nodes[i];

		if (isnan(node->temperature_c))
			continue;
		result = is_known(importing, node->guid, err);
		if (result <= 0)
			continue;
		DB_BIND(insert, 1, (int64_t)node->guid, importing->id);
		sqlite3_bind_double(insert, 3, node->temperature_c);
		result = db_run(insert, err);
	}
	sqlite3_finalize(insert);
	return result < 0 ? result : 0;
}

/* What a port had in two files of a bundle by different GUIDs is one row. */
#define LATER(column) column " = coalesce(excluded." column ", " column ")"

static int write_ports(struct importing *importing, struct error *err)
{
	sqlite3 *db = importing->writer->db;
	int result = db_prepare(db, "UPDATE cable SET last_import = ?3, cage = coalesce(?11, cage),"
				" plane = coalesce(?12, plane) WHERE node_guid = ?1 AND port = ?2 AND to_import IS NULL"
				" AND serial = ?4 AND ?5 IN ('', vendor) AND ?6 IN ('', part) AND ?7 IN ('', revision)"
				" AND ?8 IN ('', length) AND ?9 IN ('', type) AND ?10 IN ('', firmware)",
				&importing->same, err);

	if (result == 0)
		result = db_prepare(db, "SELECT EXISTS (SELECT 1 FROM cable WHERE serial = ?3), EXISTS (SELECT 1 FROM"
				    " cable WHERE node_guid = ?1 AND port = ?2 AND to_import IS NULL AND serial <> ?3)",
				    &importing->before, err);
	if (result == 0)
		result = db_prepare(db, "UPDATE cable SET to_import = ?3 WHERE node_guid = ?1 AND port = ?2"
				    " AND to_import IS NULL", &importing->end, err);
	if (result == 0)
		result = db_prepare(db, "INSERT INTO cable (node_guid, port, from_import, last_import, serial, vendor,"
				    " part, revision, length, type, firmware, cage, plane) VALUES (?1, ?2, ?3, ?3, ?4,"
				    " ?5, ?6, ?7, ?8, ?9, ?10, ?11, ?12)", &importing->insert, err);
	if (result == 0)
		result = db_prepare(db, "INSERT INTO cable_reading (node_guid, port, import, temperature_c, rx_power,"
				    " tx_power, tx_bias, raw_ber, effective_ber, symbol_ber, symbol_errors,"
				    " link_recoveries, link_downed, receive_errors)"
				    " VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)"
				    " ON CONFLICT (node_guid, port, import) DO UPDATE SET " LATER("temperature_c") ", "
				    LATER("rx_power") ", " LATER("tx_power") ", " LATER("tx_bias") ", "
				    LATER("raw_ber") ", " LATER("effective_ber") ", " LATER("symbol_ber") ", "
				    LATER("symbol_errors") ", " LATER("link_recoveries") ", " LATER("link_downed") ", "
				    LATER("receive_errors"), &importing->reading, err);
	for (size_t i = 0; result == 0 && i < importing->bundle->port_count; i++) {
		result = write_cable(importing, i, err);
		if (result == 0)
			result = write_reading(importing, i, err);
	}
	return result;
}

static int remove_old(struct importing *importing, struct error *err)
{
	long long before = (long long)importing->id - CABLES_READINGS_KEPT;
	int result = before > 0 ? db_execf(importing->writer->db, err, "DELETE FROM cable_reading WHERE import <= %lld",
					   before) : 0;

	return result < 0 || before <= 0 ? result :
		       db_execf(importing->writer->db, err, "DELETE FROM node_reading WHERE import <= %lld", before);
}

static int import_within(struct importing *importing, const char *source, int64_t wall_us, int64_t now_us,
			 struct error *err)
{
	int result = find_same(importing, err);

	if (result < 0 || importing->ret->known)
		return result;
	importing->ret->wall_us = wall_us;
	result = db_prepare(importing->writer->db, "SELECT 1 FROM node WHERE guid = ?", &importing->find, err);
	if (result == 0)
		result = resolve(importing, err);
	if (result == 0)
		result = count_known(importing, err);
	if (result == 0)
		result = check_fabric(importing, source, err);
	if (result == 0)
		result = check_time(importing, source, wall_us, now_us, err);
	if (result == 0)
		result = write_head(importing, source, wall_us, now_us, err);
	if (result == 0)
		result = write_ports(importing, err);
	if (result == 0)
		result = write_sensors(importing, err);
	return result ? result : remove_old(importing, err);
}

int cables_import(struct saved_writer *writer, const struct ibdiagnet *bundle, const char *source, int64_t wall_us,
		  int64_t now_us, struct cables_imported *ret, struct error *err)
{
	struct importing importing = { .writer = writer, .bundle = bundle, .ret = ret,
				       .guids = calloc(bundle->port_count + 1, sizeof(*importing.guids)) };
	int result = importing.guids ? saved_begin_step(writer, err) : err_nomem(err);

	*ret = (struct cables_imported){ 0 };
	if (result == 0) {
		result = import_within(&importing, source, wall_us, now_us, err);
		sqlite3_finalize(importing.find);
		sqlite3_finalize(importing.same);
		sqlite3_finalize(importing.before);
		sqlite3_finalize(importing.end);
		sqlite3_finalize(importing.insert);
		sqlite3_finalize(importing.reading);
		result = saved_end_step(writer, result, err);
	}
	free(importing.guids);
	return result;
}
