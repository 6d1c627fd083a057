/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
#include "storage/readings.h"

#include <string.h>

#include "base/err.h"
#include "storage/db.h"
#include "storage/schema.h"

/* The traffic columns follow these in "SELECT *", as do all counters' in absolute: tables.c. */
enum { DELTA_ELAPSED = 2, DELTA_UNKNOWN, DELTA_TRAFFIC };
enum { ABSOLUTE_AT = 2, ABSOLUTE_WALL, ABSOLUTE_WIDE, ABSOLUTE_COUNTERS };

static int next_error(struct delta_scan *scan, struct error *err)
{
	int result = db_step(scan->errors, err);

	scan->error_row = result > 0;
	return result < 0 ? result : 0;
}

int delta_scan_begin(struct delta_scan *scan, sqlite3 *db, int64_t after, int64_t until, struct error *err)
{
	int result;

	memset(scan, 0, sizeof(*scan));
	result = db_prepare(db, "SELECT * FROM delta WHERE sweep > ?1 AND sweep <= ?2 ORDER BY sweep, port",
			    &scan->deltas, err);
	if (!result)
		result = db_prepare(db, "SELECT sweep, port, counter, value, marks FROM error"
				    " WHERE sweep > ?1 AND sweep <= ?2 ORDER BY sweep, port", &scan->errors, err);
	if (result < 0)
		return result;
	sqlite3_bind_int64(scan->deltas, 1, after);
	sqlite3_bind_int64(scan->deltas, 2, until);
	sqlite3_bind_int64(scan->errors, 1, after);
	sqlite3_bind_int64(scan->errors, 2, until);
	return next_error(scan, err);
}

int delta_scan_next(struct delta_scan *scan, struct error *err)
{
	int result = db_step(scan->deltas, err);

	if (result > 0) {
		scan->sweep = sqlite3_column_int64(scan->deltas, 0);
		scan->port = (uint32_t)sqlite3_column_int64(scan->deltas, 1);
	}
	return result;
}

/* Where the error row stands beside the delta: below 0 before it, 0 at it, above 0 behind. */
static int error_side(const struct delta_scan *scan)
{
	int64_t sweep = sqlite3_column_int64(scan->errors, 0), port = sqlite3_column_int64(scan->errors, 1);

	if (sweep != scan->sweep)
		return sweep < scan->sweep ? -1 : 1;
	return port < scan->port ? -1 : port > scan->port;
}

static void read_error(sqlite3_stmt *row, struct delta *delta)
{
	int64_t counter = sqlite3_column_int64(row, 2);
	int marks = sqlite3_column_int(row, 4);

	if (counter < 0 || counter >= COUNTER_COUNT)
		return; /* of a newer catalogue: not one that we can show */
	delta->value[counter] = db_u64(row, 3);
	if (marks & MARK_RESET)
		delta->reset |= COUNTER_BIT(counter);
	if (marks & MARK_SATURATED)
		delta->saturated |= COUNTER_BIT(counter);
}

int delta_scan_read(struct delta_scan *scan, struct delta *ret, struct error *err)
{
	int result = 0;

	memset(ret, 0, sizeof(*ret));
	ret->elapsed_us = sqlite3_column_int64(scan->deltas, DELTA_ELAPSED);
	ret->known = COUNTER_ALL_SET & ~db_u64(scan->deltas, DELTA_UNKNOWN);
	for (int i = 0; i < COUNTER_TRAFFIC_COUNT; i++)
		ret->value[i] = db_u64(scan->deltas, DELTA_TRAFFIC + i);
	while (!result && scan->error_row) {
		int side = error_side(scan);

		if (side > 0)
			break;
		if (side == 0)
			read_error(scan->errors, ret);
		result = next_error(scan, err);
	}
	return result;
}

void delta_scan_end(struct delta_scan *scan)
{
	sqlite3_finalize(scan->deltas);
	sqlite3_finalize(scan->errors);
	memset(scan, 0, sizeof(*scan));
}

void reading_apply(struct reading *reading, const struct delta *delta)
{
	reading->at_us += delta->elapsed_us;
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

static void read_absolute(sqlite3_stmt *row, struct stored_reading *ret)
{
	memset(ret, 0, sizeof(*ret));
	ret->there = true;
	ret->base_sweep = ret->read_sweep = sqlite3_column_int64(row, 0);
	ret->wall_us = sqlite3_column_int64(row, ABSOLUTE_WALL);
	ret->reading.at_us = sqlite3_column_int64(row, ABSOLUTE_AT);
	ret->reading.wide = db_u64(row, ABSOLUTE_WIDE);
	for (int i = 0; i < COUNTER_COUNT; i++) {
		if (sqlite3_column_type(row, ABSOLUTE_COUNTERS + i) == SQLITE_NULL)
			continue;
		ret->reading.present |= COUNTER_BIT(i);
		ret->reading.value[i] = db_u64(row, ABSOLUTE_COUNTERS + i);
	}
}

/* The bases of ports that are read all the time: none is older than @every sweeps. */
static int load_recent(sqlite3 *db, int64_t sweep, int64_t every, struct stored_reading *by_port, size_t count,
		       struct error *err)
{
	sqlite3_stmt *rows;
	int result = db_prepare(db, "SELECT * FROM absolute WHERE sweep > ?1 AND sweep <= ?2 ORDER BY sweep", &rows,
				err);

	if (result < 0)
		return result;
	sqlite3_bind_int64(rows, 1, sweep - every);
	sqlite3_bind_int64(rows, 2, sweep);
	while ((result = db_step(rows, err)) > 0) {
		uint64_t port = db_u64(rows, 1);

		if (port < count)
			read_absolute(rows, &by_port[port]);
	}
	sqlite3_finalize(rows);
	return result;
}

/* The bases of ports that a span covers: stored in the sweep that read them last. */
static int load_resting(sqlite3 *db, int64_t sweep, struct stored_reading *by_port, size_t count, struct error *err)
{
	sqlite3_stmt *rows;
	int result = db_prepare(db, "SELECT a.* FROM " SPANS_AT " g CROSS JOIN absolute a"
				" ON a.sweep = g.read_sweep AND a.port = g.port", &rows, err);

	if (result < 0)
		return result;
	sqlite3_bind_int64(rows, 1, sweep);
	while ((result = db_step(rows, err)) > 0) {
		uint64_t port = db_u64(rows, 1);

		if (port < count)
			read_absolute(rows, &by_port[port]);
	}
	sqlite3_finalize(rows);
	return result;
}

static int add_deltas(sqlite3 *db, int64_t sweep, int64_t every, struct stored_reading *by_port, size_t count,
		      struct error *err)
{
	struct delta_scan scan;
	struct delta delta;
	int result = delta_scan_begin(&scan, db, sweep - every, sweep, err);

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
			offset_us = result > 0 ? sqlite3_column_int64(row, 0) : 0;
			sqlite3_reset(row);
		}
		stored->wall_us = stored->reading.at_us + offset_us;
	}
	sqlite3_finalize(row);
	return result < 0 ? result : 0;
}

int readings_load(sqlite3 *db, int64_t sweep, int64_t every, struct stored_reading *by_port, size_t count,
		  struct error *err)
{
	int result = load_recent(db, sweep, every, by_port, count, err);

	if (!result)
		result = load_resting(db, sweep, by_port, count, err);
	if (!result)
		result = add_deltas(db, sweep, every, by_port, count, err);
	if (!result)
		result = date_readings(db, by_port, count, err);
	return result;
}
