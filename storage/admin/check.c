/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* check.c - check of pages, references, packed samples and absolute readings */
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/err.h"
#include "storage/admin.h"
#include "storage/admin/admin_internal.h"
#include "storage/codec/codec.h"
#include "storage/file/db.h"
#include "storage/read/readings.h"
#include "storage/file/schema.h"

/* Faults of one kind that are reported. */
enum { REPORTED_MOST = 20 };

struct checking {
	sqlite3 *db;
	admin_fault_fn *found;
	void *ctx;
	uint64_t faults;
	uint64_t of_kind; /* of the current check */
};

static void report(struct checking *checking, const char *where, const char *what)
{
	const struct admin_fault fault = { .where = where, .what = what };

	checking->faults++;
	if (checking->of_kind++ < REPORTED_MOST)
		checking->found(checking->ctx, &fault);
}

/* If a query failed because of damage, report that. Return: 0, or any other error. */
static int end_query(struct checking *checking, sqlite3_stmt *rows, int result, const char *where, struct error *err)
{
	char text[256];
	int code = sqlite3_errcode(checking->db) & 0xff;

	snprintf(text, sizeof(text), "%s", sqlite3_errmsg(checking->db));
	sqlite3_finalize(rows);
	if (result >= 0)
		return 0;
	if (code == SQLITE_CORRUPT || code == SQLITE_NOTADB || code == SQLITE_IOERR) {
		report(checking, where, text);
		return 0;
	}
	/* Damage that SQLite reports with another code or not at all. */
	if ((code == SQLITE_OK || code == SQLITE_NOMEM || code == SQLITE_TOOBIG) && err && err->code == ERR_IO) {
		report(checking, where, err->text);
		return 0;
	}
	return err ? err->code : result;
}

static int check_pages(struct checking *checking, struct error *err)
{
	sqlite3_stmt *rows;
	int result = db_prepare(checking->db, "PRAGMA integrity_check(1000)", &rows, err);

	while (result >= 0 && (result = db_step(rows, err)) > 0) {
		const char *text = (const char *)sqlite3_column_text(rows, 0);

		/* SQLite 3.40 lists a page for which it has no memory as a fault (SQLITE_NOMEM is 7). */
		if (!text || strstr(text, "error code=7"))
			result = err_nomem(err);
		else if (strcmp(text, "ok"))
			report(checking, "file", text);
	}
	return end_query(checking, rows, result, "file", err);
}

static int check_declared(struct checking *checking, struct error *err)
{
	sqlite3_stmt *rows;
	char text[256];
	int result = db_prepare(checking->db, "PRAGMA foreign_key_check", &rows, err);

	while (result >= 0 && (result = db_step(rows, err)) > 0) {
		const char *table = (const char *)sqlite3_column_text(rows, 0);

		snprintf(text, sizeof(text), "a row names a %s that is not there", sqlite3_column_text(rows, 2));
		report(checking, table ? table : "file", text);
	}
	return end_query(checking, rows, result, "file", err);
}

/* Other commands end if this check fails. */
static int check_keys(struct checking *checking, struct error *err)
{
	struct error fault = { 0 };

	if (schema_verify_keys(checking->db, &fault) < 0 && fault.code == ERR_NOMEM)
		return err_nomem(err);
	if (fault.code)
		report(checking, "keys", fault.text);
	return 0;
}

/* References that are not declared in the schema, and properties of ids and ranges. */
static const struct {
	const char *table, *what, *sql;
} references[] = {
	{ "error", "an error counter of a port that is not there",
	  "SELECT count(*) FROM error WHERE port NOT IN (SELECT id FROM port)" },
	{ "absolute", "an absolute value of a port that is not there",
	  "SELECT count(*) FROM absolute WHERE port NOT IN (SELECT id FROM port)" },
	{ "detail", "a slow counter of a port that is not there",
	  "SELECT count(*) FROM detail WHERE port NOT IN (SELECT id FROM port)" },
	{ "detail_value", "a slow counter's value without its reading",
	  "SELECT count(*) FROM detail_value v WHERE NOT EXISTS (SELECT 1 FROM detail d WHERE d.sweep = v.sweep"
	  " AND d.port = v.port AND d.attribute = v.counter / 32)" },
	{ "node_version", "a node with two versions at one time",
	  "SELECT count(*) FROM (SELECT 1 FROM node_version WHERE to_sweep IS NULL GROUP BY node"
	  " HAVING count(*) > 1)" },
	{ "firmware", "a node with two versions of firmware at one time",
	  "SELECT count(*) FROM (SELECT 1 FROM firmware WHERE to_sweep IS NULL GROUP BY node HAVING count(*) > 1)" },
	{ "port_version", "a port with two versions at one time",
	  "SELECT count(*) FROM (SELECT 1 FROM port_version WHERE to_sweep IS NULL GROUP BY port"
	  " HAVING count(*) > 1)" },
	{ "port_version", "a port without its node",
	  "SELECT count(*) FROM port_version WHERE " ADMIN_PORT_WITHOUT_NODE },
	{ "sweep", "an id that follows the one before only after 2^31 sweeps",
	  "SELECT count(*) FROM (SELECT id - lag(id) OVER (ORDER BY id) AS step FROM sweep) WHERE step > 2147483648" },
	{ "chunk_window", "a window that begins before the one before it ends, or is longer than 256 sweeps",
	  "SELECT count(*) FROM (SELECT *, lag(to_sweep, 1, 0) OVER (ORDER BY id) AS before FROM chunk_window)"
	  " WHERE from_sweep < before OR to_sweep - from_sweep NOT BETWEEN 1 AND 256" },
	{ "hour", "an hour that begins before the one before it ends",
	  "SELECT count(*) FROM (SELECT *, lag(to_sweep, 1, 0) OVER (ORDER BY id) AS before FROM hour)"
	  " WHERE from_sweep < before OR to_sweep <= from_sweep" },
	{ "snapshot_node", "nodes of a snapshot that are not numbered from 0",
	  "SELECT count(*) FROM (SELECT max(node) + 1 AS nodes, count(*) AS rows FROM snapshot_node GROUP BY snapshot)"
	  " WHERE nodes <> rows" },
	{ "port", "ids of ports have holes", "SELECT max(id) <> count(*) FROM port" },
	{ "node", "ids of nodes have holes", "SELECT max(id) <> count(*) FROM node" },
};

static int check_references(struct checking *checking, struct error *err)
{
	int result = 0;

	for (size_t i = 0; !result && i < sizeof(references) / sizeof(*references); i++) {
		sqlite3_stmt *row;
		char text[256];

		checking->of_kind = 0;
		result = db_prepare(checking->db, references[i].sql, &row, err);
		if (result < 0)
			break;
		result = db_step(row, err);
		if (result > 0 && sqlite3_column_int64(row, 0)) {
			snprintf(text, sizeof(text), "%s (%" PRId64 " times)", references[i].what,
				 (int64_t)sqlite3_column_int64(row, 0));
			report(checking, references[i].table, text);
		}
		result = end_query(checking, row, result, references[i].table, err);
	}
	return result;
}

/* Samples of sweeps [from, to) in rows of one table. */
struct packed {
	const char *table;
	int64_t from, to;
	bool hot; /* a row has the samples of a block of ports in one sweep; otherwise those of a port in a window */
};

static void report_packed(struct checking *checking, const struct packed *packed, const char *what)
{
	char text[256];

	if (packed->to - packed->from == 1)
		snprintf(text, sizeof(text), "sweep %" PRId64 ": %s", packed->from, what);
	else
		snprintf(text, sizeof(text), "sweeps %" PRId64 " to %" PRId64 ": %s", packed->from, packed->to - 1,
			 what);
	report(checking, packed->table, text);
}

static void check_row(struct checking *checking, sqlite3_stmt *row, const struct packed *packed)
{
	struct codec_sample samples[CODEC_CHUNK_SWEEPS];
	const void *data = sqlite3_column_blob(row, 1);
	size_t len = (size_t)sqlite3_column_bytes(row, 1);
	int64_t part = sqlite3_column_int64(row, 0) % (packed->hot ? HOT_BLOCKS : HISTORY_PORTS);
	char text[96];
	int result = -1;

	if (packed->hot)
		result = hot_read_block(data, len, samples);
	else if (packed->to - packed->from <= CODEC_CHUNK_SWEEPS)
		result = codec_read_chunk(data, len, samples, (unsigned)(packed->to - packed->from));
	if (!result)
		return;
	if (packed->hot)
		snprintf(text, sizeof(text), "the samples of ports %" PRId64 " to %" PRId64 " cannot be unpacked",
			 part * CODEC_BLOCK_PORTS, (part + 1) * CODEC_BLOCK_PORTS - 1);
	else
		snprintf(text, sizeof(text), "the samples of port %" PRId64 " cannot be unpacked", part);
	report_packed(checking, packed, text);
}

/* Unpack all rows of a table. If a page cannot be read, the rest of its sweep or window is skipped. */
static int check_packed(struct checking *checking, bool hot, struct error *err)
{
	static const char sweeps[] = "SELECT id * 65536, (id + 1) * 65536, id, id + 1 FROM sweep"
		" WHERE id >= (SELECT min(id) / 65536 FROM hot)";
	static const char windows[] = "SELECT id * 2097152, (id + 1) * 2097152, from_sweep, to_sweep FROM chunk_window"
		" WHERE state < 2 AND id BETWEEN 1 AND 1099511627776 AND from_sweep BETWEEN 1 AND to_sweep - 1";
	struct packed packed = { .table = hot ? "hot" : "chunk", .hot = hot };
	sqlite3_stmt *list, *rows = NULL;
	int result = db_prepare(checking->db, hot ? sweeps : windows, &list, err);

	if (!result)
		result = db_prepare(checking->db, hot ? "SELECT id, samples FROM hot WHERE id >= ?1 AND id < ?2" :
				    "SELECT id, samples FROM chunk WHERE id >= ?1 AND id < ?2", &rows, err);
	while (!result && (result = db_step(list, err)) > 0) {
		DB_BIND(rows, 1, sqlite3_column_int64(list, 0), sqlite3_column_int64(list, 1));
		packed.from = sqlite3_column_int64(list, 2);
		packed.to = sqlite3_column_int64(list, 3);
		while ((result = db_step(rows, err)) > 0)
			check_row(checking, rows, &packed);
		sqlite3_reset(rows);
		if (result < 0 && (sqlite3_errcode(checking->db) & 0xff) == SQLITE_CORRUPT) {
			report_packed(checking, &packed, "a page with samples cannot be read");
			result = 0;
		}
	}
	sqlite3_finalize(rows);
	return end_query(checking, list, result, packed.table, err);
}

static int check_hot(struct checking *checking, struct error *err)
{
	return check_packed(checking, true, err);
}

static int check_chunks(struct checking *checking, struct error *err)
{
	return check_packed(checking, false, err);
}

/* State of check_readings() at a sweep. */
struct followed {
	struct stored_reading *ports; /* last readings; base_sweep: earlier readings are not compared */
	size_t count;
	struct reading before;        /* of the port of the last delta, without it */
	int64_t sweep;
	unsigned moved, wrong;        /* ports in this sweep whose traffic counters increased; with a wrong reading */
};

/* Sums over a damaged row are incomplete until its end. */
static void stop_following(void *ctx, int64_t from_sweep, int64_t to_sweep, uint32_t from_port, uint32_t to_port)
{
	const struct followed *followed = ctx;

	(void)from_sweep;
	for (uint32_t port = from_port; port < to_port && port < followed->count; port++)
		followed->ports[port] = (struct stored_reading){ .base_sweep = to_sweep - 1 };
}

/* A lost mark of a reset affects one port; deltas that are stored twice affect most ports. */
static void end_sweep(struct checking *checking, struct followed *followed, int64_t next)
{
	char text[192];

	if (followed->wrong * 2 > followed->moved) {
		snprintf(text, sizeof(text), "sweep %" PRId64 ": what %u of %u ports counted does not lead from the "
			 "readings before to those of this sweep: some is stored twice, or missing", followed->sweep,
			 followed->wrong, followed->moved);
		report(checking, "absolute", text);
	}
	followed->sweep = next;
	followed->moved = followed->wrong = 0;
}

/* Add a delta to the last reading of its port. */
static void follow_delta(struct followed *followed, uint32_t port, const struct delta *delta)
{
	bool moved = false;

	if (port >= followed->count || !followed->ports[port].there)
		return;
	followed->before = followed->ports[port].reading;
	reading_apply(&followed->ports[port].reading, delta);
	for (int i = 0; i < COUNTER_TRAFFIC_COUNT; i++)
		moved |= delta->known & COUNTER_BIT(i) && delta->value[i];
	followed->moved += moved;
}

/* Compare a row of absolute with the last reading, to which @delta (or NULL) was added; replace it. */
static void follow_reading(struct followed *followed, sqlite3_stmt *row, const struct delta *delta)
{
	uint64_t port = db_u64(row, 1);
	struct stored_reading stored, *last = port < followed->count ? &followed->ports[port] : NULL;
	bool same = true;

	readings_read_absolute(row, &stored);
	if (!last || stored.base_sweep < last->base_sweep)
		return;
	for (int i = 0; delta && last->there && i < COUNTER_TRAFFIC_COUNT; i++) {
		counter_set bit = COUNTER_BIT(i);
		uint64_t value = stored.reading.value[i];

		if (!(delta->known & last->reading.present & stored.reading.present & bit))
			continue;
		/* A mark may be of a reset that was suspected only: then the counter went on. */
		same &= last->reading.value[i] == value ||
			(delta->reset & bit && followed->before.value[i] + delta->value[i] == value);
	}
	followed->wrong += !same;
	*last = stored;
}

/*
 * Check that each stored reading is the previous one plus the deltas between them, for counters that
 * the last of these deltas knows: a counter unknown to it starts from the new reading.
 */
static int follow(struct checking *checking, struct followed *followed, sqlite3_stmt *rows, struct delta_scan *scan,
		  struct error *err)
{
	int row = db_step(rows, err), result = 0;

	while (row >= 0 && !result && (result = delta_scan_next(scan, err)) > 0) {
		struct delta delta;
		int64_t sweep = 0, port = 0;

		for (; row > 0; row = db_step(rows, err)) {
			sweep = sqlite3_column_int64(rows, 0);
			port = sqlite3_column_int64(rows, 1);
			if (sweep > scan->sweep || (sweep == scan->sweep && port >= scan->port))
				break;
			follow_reading(followed, rows, NULL);
		}
		if (scan->sweep != followed->sweep)
			end_sweep(checking, followed, scan->sweep);
		result = row < 0 ? row : delta_scan_read(scan, &delta, err);
		if (result < 0)
			break;
		follow_delta(followed, scan->port, &delta);
		if (row > 0 && sweep == scan->sweep && port == scan->port) {
			follow_reading(followed, rows, &delta);
			row = db_step(rows, err);
		}
	}
	end_sweep(checking, followed, 0);
	return row < 0 ? row : result;
}

static int check_readings(struct checking *checking, struct error *err)
{
	struct followed followed = { 0 };
	int64_t first, newest, ports;
	struct delta_scan scan;
	sqlite3_stmt *rows = NULL;
	/* Older readings remain when the samples after them are removed. */
	int result = db_integer(checking->db, "SELECT coalesce((SELECT max(to_sweep) FROM chunk_window"
				" WHERE state = 2), (SELECT min(from_sweep) FROM chunk_window), 1) - 1", 0, &first,
				err);

	if (!result)
		result = db_integer(checking->db, "SELECT max(id) FROM sweep", 0, &newest, err);
	if (!result)
		result = db_integer(checking->db, "SELECT max(id) FROM port", 0, &ports, err);
	if (result < 0 || ports < 0 || ports >= HISTORY_PORTS)
		return end_query(checking, NULL, result, "absolute", err);
	followed.count = (size_t)ports + 1;
	followed.ports = calloc(followed.count, sizeof(*followed.ports));
	if (!followed.ports)
		return err_nomem(err);
	result = db_prepare(checking->db, "SELECT * FROM absolute WHERE sweep >= ? ORDER BY sweep, port", &rows, err);
	if (!result) {
		sqlite3_bind_int64(rows, 1, first);
		result = delta_scan_begin(&scan, checking->db, first, newest, err);
		scan.on_damage = stop_following;
		scan.on_damage_ctx = &followed;
		if (!result)
			result = follow(checking, &followed, rows, &scan, err);
		delta_scan_end(&scan);
	}
	free(followed.ports);
	return end_query(checking, rows, result, "absolute", err);
}

int admin_check(const char *path, admin_fault_fn *found, void *ctx, uint64_t *ret_faults, struct error *err)
{
	static int (*const checks[])(struct checking *checking, struct error *err) = {
		check_keys, check_pages, check_declared, check_references, check_hot, check_chunks, check_readings,
	};
	struct checking checking = { .found = found, .ctx = ctx };
	struct error local = { 0 };
	bool immutable;
	int result = admin_open(path, false, &checking.db, &immutable, &local);

	if (!result)
		admin_watch_stop(checking.db);
	/* All checks see the same state of the database. */
	if (!result)
		result = db_exec(checking.db, "BEGIN", &local);
	for (size_t i = 0; !result && i < sizeof(checks) / sizeof(*checks); i++) {
		checking.of_kind = 0;
		result = checks[i](&checking, &local);
	}
	sqlite3_close(checking.db);
	result = admin_stopped(result, &local);
	if (result < 0)
		return err_set(err, result, "%s", local.text);
	*ret_faults = checking.faults;
	return 0;
}
