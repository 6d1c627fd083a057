/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
#include "storage/read/readings.h"

#include <stdlib.h>
#include <string.h>

#include "base/err.h"
#include "storage/file/db.h"

void reading_apply(struct reading *reading, const struct delta *delta)
{
	reading->at_us = delta_us_add(reading->at_us, delta->elapsed_us);
	/* The usual case. */
	if ((delta->known & COUNTER_ALL_SET) == COUNTER_ALL_SET && !(delta->reset & COUNTER_ALL_SET)) {
		for (int i = 0; i < COUNTER_COUNT; i++)
			reading->value[i] += delta->value[i];
		return;
	}
	for (int i = 0; i < COUNTER_COUNT; i++) {
		counter_set bit = COUNTER_BIT(i);

		if (!(delta->known & bit))
			continue;
		/* The delta of a counter that was reset is its new value. */
		if (delta->reset & bit)
			reading->value[i] = delta->value[i];
		else
			reading->value[i] += delta->value[i];
	}
}

int readings_prepare_absolute(sqlite3 *db, sqlite3_stmt **ret, struct error *err)
{
	/* The collector and the compaction may store the same reading. */
	return db_prepare_replace(db, "absolute", ABSOLUTE_COUNTERS + COUNTER_COUNT, ret, err);
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

/* The readings of all ports, or of one, at a sweep. */
struct loading {
	sqlite3 *db;
	int64_t sweep;
	uint32_t port; /* the only one; 0: all */
	struct stored_reading *by_port; /* of all ports by id */
	size_t count;
	bool *covered; /* parallel: a gap covers the port */
};

static struct stored_reading *entry_of(const struct loading *loading, uint64_t port)
{
	if (loading->port)
		return port == loading->port ? loading->by_port : NULL;
	return port < loading->count ? &loading->by_port[port] : NULL;
}

/*
 * From which sweep on each port that was being read has an absolute reading: the end of the newest
 * window before the sweep. 0: no window is that old. Before version 3 it was any of the last
 * absolute_every sweeps.
 */
static int find_bases(const struct loading *loading, int64_t *ret, struct error *err)
{
	int64_t every = 0;
	int result = db_integer(loading->db, "SELECT value FROM meta WHERE key = 'absolute_every'", 0, &every, err);

	if (!result)
		result = db_row(loading->db, "SELECT to_sweep - 1 - ?2 FROM chunk_window WHERE to_sweep <= ?1 + 1"
				" AND state > 0 ORDER BY to_sweep DESC LIMIT 1",
				(int64_t[]){ loading->sweep, every }, 2, ret, 1, err);
	return result < 0 ? result : 0;
}

/* Backwards, until each port has its newest reading; one port by a lookup in each stored sweep. */
static int load_recent(struct loading *loading, int64_t from, struct error *err)
{
	static const char all[] = "SELECT * FROM absolute WHERE sweep >= ?1 AND sweep <= ?2 ORDER BY sweep DESC";
	static const char one[] = "SELECT a.* FROM sweep s CROSS JOIN absolute a ON a.sweep = s.id AND a.port = ?3"
				  " WHERE s.id >= ?1 AND s.id <= ?2 ORDER BY s.id DESC LIMIT 1";
	size_t missing = loading->port ? 1 : loading->count - 1; /* no port has the id 0 */
	sqlite3_stmt *rows;
	int result = db_prepare(loading->db, loading->port ? one : all, &rows, err);

	if (result < 0)
		return result;
	DB_BIND(rows, 1, from, loading->sweep, loading->port);
	while (missing && (result = db_step(rows, err)) > 0) {
		struct stored_reading *stored = entry_of(loading, db_u64(rows, 1));

		if (!stored || stored->there)
			continue;
		readings_read_absolute(rows, stored);
		missing--;
	}
	sqlite3_finalize(rows);
	return result < 0 ? result : 0;
}

/* The readings of ports that a gap covers: stored in the sweep that read them last. */
static int load_covered(struct loading *loading, struct error *err)
{
	sqlite3_stmt *rows;
	int result = db_prepare(loading->db, "SELECT a.* FROM " GAPS_AT " g CROSS JOIN absolute a"
				" ON a.sweep = g.read_sweep AND a.port = g.port WHERE ?2 = 0 OR g.port = ?2", &rows,
				err);

	if (result < 0)
		return result;
	DB_BIND(rows, 1, loading->sweep, loading->port);
	while ((result = db_step(rows, err)) > 0) {
		struct stored_reading *stored = entry_of(loading, db_u64(rows, 1));

		if (!stored)
			continue;
		readings_read_absolute(rows, stored);
		loading->covered[stored - loading->by_port] = true;
	}
	sqlite3_finalize(rows);
	return result;
}

/* A reading that damaged samples would lead to is unknown, never wrong. */
static void discard_readings(void *ctx, int64_t from_sweep, int64_t to_sweep, uint32_t from_port, uint32_t to_port)
{
	const struct loading *loading = ctx;

	(void)from_sweep;
	for (uint32_t i = from_port; i < to_port; i++) {
		struct stored_reading *stored = entry_of(loading, i);

		if (stored && stored->base_sweep < to_sweep - 1)
			stored->there = false;
	}
}

static int add_deltas(struct loading *loading, int64_t after, struct error *err)
{
	struct delta_scan scan;
	struct delta delta;
	int result;

	if (after >= loading->sweep)
		return 0;
	result = delta_scan_begin_ports(&scan, loading->db, after, loading->sweep, &loading->port, loading->port > 0,
					err);
	scan.on_damage = discard_readings;
	scan.on_damage_ctx = loading;
	while (!result && (result = delta_scan_next(&scan, err)) > 0) {
		struct stored_reading *stored = entry_of(loading, scan.port);

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

/* The wall clock of a reading: that of its sweep, and the time since the sweep began. */
static int date_readings(struct loading *loading, struct error *err)
{
	int64_t sweep = -1, offset_us = 0;
	sqlite3_stmt *row;
	int result = db_prepare(loading->db, "SELECT wall_us - start_us FROM sweep WHERE id = ?", &row, err);

	for (size_t i = 0; result >= 0 && i < loading->count; i++) {
		struct stored_reading *stored = &loading->by_port[i];

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

static int load(struct loading *loading, struct error *err)
{
	int64_t from = 0, oldest = loading->sweep;
	int result;

	if (!loading->count)
		return 0;
	loading->covered = calloc(loading->count, sizeof(*loading->covered));
	result = loading->covered ? find_bases(loading, &from, err) : err_nomem(err);
	if (!result)
		result = load_recent(loading, from, err);
	if (!result)
		result = load_covered(loading, err);
	for (size_t i = 0; !result && i < loading->count; i++)
		if (loading->by_port[i].there && !loading->covered[i] && loading->by_port[i].base_sweep < oldest)
			oldest = loading->by_port[i].base_sweep;
	if (!result)
		result = add_deltas(loading, oldest, err);
	if (!result)
		result = date_readings(loading, err);
	free(loading->covered);
	return result;
}

int readings_load(sqlite3 *db, int64_t sweep, struct stored_reading *by_port, size_t count, struct error *err)
{
	return load(&(struct loading){ .db = db, .sweep = sweep, .by_port = by_port, .count = count }, err);
}

int readings_load_port(sqlite3 *db, int64_t sweep, uint32_t port, struct stored_reading *ret, struct error *err)
{
	*ret = (struct stored_reading){ 0 };
	return load(&(struct loading){ .db = db, .sweep = sweep, .port = port, .by_port = ret, .count = 1 }, err);
}
