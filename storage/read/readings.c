/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
#include "storage/read/readings.h"

#include <stdlib.h>
#include <string.h>

#include "base/err.h"
#include "base/text.h"
#include "storage/file/db.h"

/* All counters' columns follow these in "SELECT *": tables.c. */
enum { ABSOLUTE_PORT = 1, ABSOLUTE_AT, ABSOLUTE_WALL, ABSOLUTE_WIDE, ABSOLUTE_COUNTERS };

void reading_apply(struct reading *reading, const struct delta *delta)
{
	reading->at_us = delta_us_add(reading->at_us, delta->elapsed_us);
	/* As nearly always: nothing to look at. */
	if ((delta->known & COUNTER_ALL_SET) == COUNTER_ALL_SET && !(delta->reset & COUNTER_ALL_SET)) {
		for (int i = 0; i < COUNTER_COUNT; i++)
			reading->value[i] += delta->value[i];
		return;
	}
	for (int i = 0; i < COUNTER_COUNT; i++) {
		counter_set bit = COUNTER_BIT(i);

		if (!(delta->known & bit))
			continue;
		/* What a counter that was reset has counted since is its value. */
		if (delta->reset & bit)
			reading->value[i] = delta->value[i];
		else
			reading->value[i] += delta->value[i];
	}
}

int readings_prepare_absolute(sqlite3 *db, sqlite3_stmt **ret, struct error *err)
{
	struct text sql = { 0 };
	int result;

	/* The collector and the compaction may both come to store one reading. */
	text_append(&sql, "REPLACE INTO absolute (sweep, port, at_us, wall_us, wide");
	for (int i = 0; i < COUNTER_COUNT; i++)
		text_appendf(&sql, ", %s", counter_info((enum counter)i)->key);
	text_append(&sql, ") VALUES (?, ?, ?, ?, ?");
	for (int i = 0; i < COUNTER_COUNT; i++)
		text_append(&sql, ", ?");
	text_append(&sql, ")");
	result = text_failed(&sql) ? err_nomem(err) : db_prepare(db, text_chars(&sql), ret, err);
	text_done(&sql);
	return result;
}

int readings_write_absolute(sqlite3_stmt *insert, uint32_t port, const struct stored_reading *stored,
			    struct error *err)
{
	const struct reading *reading = &stored->reading;

	sqlite3_bind_int64(insert, 1, stored->read_sweep);
	sqlite3_bind_int64(insert, 1 + ABSOLUTE_PORT, port);
	sqlite3_bind_int64(insert, 1 + ABSOLUTE_AT, reading->at_us);
	sqlite3_bind_int64(insert, 1 + ABSOLUTE_WALL, stored->wall_us);
	db_bind_u64(insert, 1 + ABSOLUTE_WIDE, reading->wide);
	for (int i = 0; i < COUNTER_COUNT; i++) {
		if (reading->present & COUNTER_BIT(i))
			db_bind_u64(insert, 1 + ABSOLUTE_COUNTERS + i, reading->value[i]);
		else
			sqlite3_bind_null(insert, 1 + ABSOLUTE_COUNTERS + i);
	}
	return db_run(insert, err);
}

void readings_read_absolute(sqlite3_stmt *row, struct stored_reading *ret)
{
	memset(ret, 0, sizeof(*ret));
	ret->there = true;
	ret->base_sweep = ret->read_sweep = sqlite3_column_int64(row, 0);
	ret->wall_us = db_us(row, ABSOLUTE_WALL);
	ret->reading.at_us = db_us(row, ABSOLUTE_AT);
	ret->reading.wide = db_u64(row, ABSOLUTE_WIDE);
	for (int i = 0; i < COUNTER_COUNT; i++) {
		if (sqlite3_column_type(row, ABSOLUTE_COUNTERS + i) == SQLITE_NULL)
			continue;
		ret->reading.present |= COUNTER_BIT(i);
		ret->reading.value[i] = db_u64(row, ABSOLUTE_COUNTERS + i);
	}
}

/*
 * From where on each port that was being read at a sweep has an absolute reading:
 * the end of the newest window before it. 0: none is that old. Before version 3
 * it was any of the last absolute_every sweeps.
 */
static int find_bases(sqlite3 *db, int64_t sweep, int64_t *ret, struct error *err)
{
	sqlite3_stmt *row;
	int64_t every = 0;
	int result = db_integer(db, "SELECT value FROM meta WHERE key = 'absolute_every'", 0, &every, err);

	if (result < 0)
		return result;
	result = db_prepare(db, "SELECT to_sweep - 1 FROM chunk_window WHERE to_sweep <= ? + 1 AND state > 0"
				" ORDER BY to_sweep DESC LIMIT 1", &row, err);

	if (result < 0)
		return result;
	sqlite3_bind_int64(row, 1, sweep);
	result = db_step(row, err);
	if (result >= 0)
		*ret = result ? sqlite3_column_int64(row, 0) - every : 0;
	sqlite3_finalize(row);
	return result < 0 ? result : 0;
}

/* Backwards: of each port only the newest is read, and nothing more where all ports have one. */
static int load_recent(sqlite3 *db, int64_t from, int64_t sweep, struct stored_reading *by_port, size_t count,
		       struct error *err)
{
	size_t missing = count;
	sqlite3_stmt *rows;
	int result = db_prepare(db, "SELECT * FROM absolute WHERE sweep >= ?1 AND sweep <= ?2 ORDER BY sweep DESC",
				&rows, err);

	if (result < 0)
		return result;
	/* No port has the id 0. */
	missing -= missing > 0;
	sqlite3_bind_int64(rows, 1, from);
	sqlite3_bind_int64(rows, 2, sweep);
	while (missing && (result = db_step(rows, err)) > 0) {
		uint64_t port = db_u64(rows, 1);

		if (port >= count || by_port[port].there)
			continue;
		readings_read_absolute(rows, &by_port[port]);
		missing--;
	}
	sqlite3_finalize(rows);
	return result < 0 ? result : 0;
}

/* The bases of ports that a span covers at sweep ?1: stored in the sweep that read them last. */
#define RESTING_AT "SELECT a.* FROM " SPANS_AT " g CROSS JOIN absolute a" \
		   " ON a.sweep = g.read_sweep AND a.port = g.port"

static int load_resting(sqlite3 *db, int64_t sweep, struct stored_reading *by_port, bool *resting, size_t count,
			struct error *err)
{
	sqlite3_stmt *rows;
	int result = db_prepare(db, RESTING_AT, &rows, err);

	if (result < 0)
		return result;
	sqlite3_bind_int64(rows, 1, sweep);
	while ((result = db_step(rows, err)) > 0) {
		uint64_t port = db_u64(rows, 1);

		if (port >= count)
			continue;
		readings_read_absolute(rows, &by_port[port]);
		resting[port] = true;
	}
	sqlite3_finalize(rows);
	return result;
}

struct spoiling {
	struct stored_reading *by_port;
	size_t count;
};

/* A value that what is damaged would lead to is not known: better none than a wrong one. */
static void spoil(void *ctx, int64_t from_sweep, int64_t to_sweep, uint32_t from_port, uint32_t to_port)
{
	const struct spoiling *spoiling = ctx;

	(void)from_sweep;
	for (uint32_t i = from_port; i < to_port && i < spoiling->count; i++)
		if (spoiling->by_port[i].base_sweep < to_sweep - 1)
			spoiling->by_port[i].there = false;
}

/* Backwards as load_recent(), one look at the key for each stored sweep: those of other ports are passed by. */
static int load_recent_of(sqlite3 *db, int64_t from, int64_t sweep, uint32_t port, struct stored_reading *ret,
			  struct error *err)
{
	sqlite3_stmt *row;
	int result = db_prepare(db, "SELECT a.* FROM sweep s CROSS JOIN absolute a ON a.sweep = s.id AND a.port = ?3"
				" WHERE s.id >= ?1 AND s.id <= ?2 ORDER BY s.id DESC LIMIT 1", &row, err);

	if (result < 0)
		return result;
	sqlite3_bind_int64(row, 1, from);
	sqlite3_bind_int64(row, 2, sweep);
	sqlite3_bind_int64(row, 3, port);
	result = db_step(row, err);
	if (result > 0)
		readings_read_absolute(row, ret);
	sqlite3_finalize(row);
	return result < 0 ? result : 0;
}

static int load_resting_of(sqlite3 *db, int64_t sweep, uint32_t port, struct stored_reading *ret, bool *ret_resting,
			   struct error *err)
{
	sqlite3_stmt *row;
	int result = db_prepare(db, RESTING_AT " WHERE g.port = ?2", &row, err);

	*ret_resting = false;
	if (result < 0)
		return result;
	sqlite3_bind_int64(row, 1, sweep);
	sqlite3_bind_int64(row, 2, port);
	while ((result = db_step(row, err)) > 0) {
		readings_read_absolute(row, ret);
		*ret_resting = true;
	}
	sqlite3_finalize(row);
	return result;
}

static int add_deltas(sqlite3 *db, int64_t after, int64_t sweep, struct stored_reading *by_port, size_t count,
		      struct error *err)
{
	struct spoiling spoiling = { .by_port = by_port, .count = count };
	struct delta_scan scan;
	struct delta delta;
	int result;

	if (after >= sweep)
		return 0;
	result = delta_scan_begin(&scan, db, after, sweep, err);
	scan.on_damage = spoil;
	scan.on_damage_ctx = &spoiling;
	while (!result && (result = delta_scan_next(&scan, err)) > 0) {
		struct stored_reading *stored = scan.port < count ? &by_port[scan.port] : NULL;

		result = 0;
		if (!stored || !stored->there || scan.sweep <= stored->base_sweep)
			continue;
		result = delta_scan_read(&scan, &delta, err);
		if (result < 0)
			break;
		reading_apply(&stored->reading, &delta);
		stored->read_sweep = scan.sweep;
	}
	delta_scan_end(&scan);
	return result;
}

/* A reading's wall clock: its sweep's, and as much later as it was read. */
static int date_readings(sqlite3 *db, struct stored_reading *by_port, size_t count, struct error *err)
{
	int64_t sweep = -1, offset_us = 0;
	sqlite3_stmt *row;
	int result = db_prepare(db, "SELECT wall_us - start_us FROM sweep WHERE id = ?", &row, err);

	for (size_t i = 0; result >= 0 && i < count; i++) {
		struct stored_reading *stored = &by_port[i];

		if (!stored->there || stored->read_sweep == stored->base_sweep)
			continue;
		if (stored->read_sweep != sweep) {
			sweep = stored->read_sweep;
			sqlite3_bind_int64(row, 1, sweep);
			result = db_step(row, err);
			offset_us = result > 0 ? db_us(row, 0) : 0;
			sqlite3_reset(row);
		}
		stored->wall_us = delta_us_add(stored->reading.at_us, offset_us);
	}
	sqlite3_finalize(row);
	return result < 0 ? result : 0;
}

int readings_load(sqlite3 *db, int64_t sweep, struct stored_reading *by_port, size_t count, struct error *err)
{
	bool *resting = calloc(count ? count : 1, sizeof(*resting));
	int64_t from = 0, oldest = sweep;
	int result = resting ? find_bases(db, sweep, &from, err) : err_nomem(err);

	if (!result)
		result = load_recent(db, from, sweep, by_port, count, err);
	if (!result)
		result = load_resting(db, sweep, by_port, resting, count, err);
	for (size_t i = 0; !result && i < count; i++)
		if (by_port[i].there && !resting[i] && by_port[i].base_sweep < oldest)
			oldest = by_port[i].base_sweep;
	if (!result)
		result = add_deltas(db, oldest, sweep, by_port, count, err);
	if (!result)
		result = date_readings(db, by_port, count, err);
	free(resting);
	return result;
}

static int add_deltas_of(sqlite3 *db, int64_t sweep, uint32_t port, struct stored_reading *stored, struct error *err)
{
	struct delta_scan scan;
	struct delta delta;
	int result;

	if (stored->base_sweep >= sweep)
		return 0;
	result = delta_scan_begin_ports(&scan, db, stored->base_sweep, sweep, &port, 1, err);
	while (!result && (result = delta_scan_next(&scan, err)) > 0) {
		result = delta_scan_read(&scan, &delta, err);
		if (result < 0)
			break;
		reading_apply(&stored->reading, &delta);
		stored->read_sweep = scan.sweep;
	}
	/* As in spoil(): all that was walked over is behind the base. */
	stored->there = !scan.damage.count;
	delta_scan_end(&scan);
	return result;
}

int readings_load_port(sqlite3 *db, int64_t sweep, uint32_t port, struct stored_reading *ret, struct error *err)
{
	struct stored_reading stored = { 0 };
	int64_t from = 0;
	bool resting = false;
	int result = find_bases(db, sweep, &from, err);

	if (!result)
		result = load_recent_of(db, from, sweep, port, &stored, err);
	if (!result)
		result = load_resting_of(db, sweep, port, &stored, &resting, err);
	if (!result && stored.there && !resting)
		result = add_deltas_of(db, sweep, port, &stored, err);
	if (!result)
		result = date_readings(db, &stored, 1, err);
	if (!result)
		*ret = stored;
	return result;
}
