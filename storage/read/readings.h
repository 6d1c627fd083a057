/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * readings.h - stored deltas, and the absolute values that follow from them
 *
 * The value of a port at a sweep is its newest stored absolute reading plus the
 * deltas of the later sweeps. That is exactly the value that was read: the writer
 * adds up in the same way, and stores the reading where a delta does not lead to it.
 */
#ifndef IBWIRE_STORAGE_READINGS_H
#define IBWIRE_STORAGE_READINGS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include <sqlite3.h>

#include "analysis/delta.h"
#include "fabric/counter.h"
#include "storage/history.h"

struct error;

/*
 * The gaps that cover sweep ?1, for a FROM clause: port, why, read_sweep. Both halves use the index on
 * to_sweep, so that gaps which ended earlier cost nothing (for one condition with OR, SQLite 3.40 uses
 * the key).
 */
#define GAPS_AT \
	"(SELECT port, why, read_sweep FROM span WHERE to_sweep IS NULL AND +from_sweep <= ?1 UNION ALL" \
	" SELECT port, why, read_sweep FROM span WHERE to_sweep > ?1 AND +from_sweep <= ?1)"

#define COUNTER_ALL_SET (COUNTER_BIT(COUNTER_COUNT) - 1)

struct codec_sample;
struct delta_walk;

/* Called for samples that cannot be unpacked: sweeps and ports [from, to). */
typedef void damage_fn(void *ctx, int64_t from_sweep, int64_t to_sweep, uint32_t from_port, uint32_t to_port);

/* Iterates over the deltas of some sweeps, in order of sweep and port. */
struct delta_scan {
	int64_t sweep;  /* of the current delta */
	uint32_t port;  /* id */
	const struct codec_sample *sample; /* as it is stored (borrowed until the next step) */
	struct history_damage damage;      /* samples that could not be unpacked and are left out */
	damage_fn *on_damage;              /* or NULL; set after delta_scan_begin() */
	void *on_damage_ctx;
	struct delta_walk *walk;
};

/*
 * delta_scan_begin - deltas of sweeps in (@after, @until]
 * delta_scan_end() is required whatever this returns. The caller holds a transaction open, since a
 * compaction could otherwise commit between two steps.
 */
int delta_scan_begin(struct delta_scan *scan, sqlite3 *db, int64_t after, int64_t until, struct error *err);

/*
 * delta_scan_begin_ports - the same of some ports only
 * @ports:  ids in rising order, each once (borrowed until the end)
 * @count:  of them; 0: all ports
 */
int delta_scan_begin_ports(struct delta_scan *scan, sqlite3 *db, int64_t after, int64_t until, const uint32_t *ports,
			   size_t count, struct error *err);

/* delta_scan_next - Return: 1 on the next delta (scan->sweep, scan->port), 0 at the end, or an error. */
int delta_scan_next(struct delta_scan *scan, struct error *err);

/* delta_scan_read - the current delta. Return: 0 or an error. */
int delta_scan_read(struct delta_scan *scan, struct delta *ret, struct error *err);
void delta_scan_end(struct delta_scan *scan);

/* delta_put_error - add a row of error to its delta; @marks: MARK_ bits. Unknown counters are ignored. */
void delta_put_error(struct delta *delta, int64_t counter, uint64_t value, int marks);

/* reading_apply - add a delta to a reading: its time, and each counter that is known in the delta. */
void reading_apply(struct reading *reading, const struct delta *delta);

/* The last reading of a port at a sweep. */
struct stored_reading {
	bool there;
	int64_t base_sweep; /* of the newest absolute row */
	int64_t read_sweep; /* that read the port last */
	int64_t wall_us;    /* wall clock of that reading */
	struct reading reading; /* at_us: CLOCK_BOOTTIME of that sweep's boot */
};

/*
 * readings_load - the last reading of every port at a sweep
 * @by_port:  zeroed array, index port id; @count entries
 */
int readings_load(sqlite3 *db, int64_t sweep, struct stored_reading *by_port, size_t count, struct error *err);

/* readings_load_port - the same for one port, at the cost of its own samples. */
int readings_load_port(sqlite3 *db, int64_t sweep, uint32_t port, struct stored_reading *ret, struct error *err);

/* readings_prepare_absolute, readings_write_absolute - store an absolute reading in its read_sweep. */
int readings_prepare_absolute(sqlite3 *db, sqlite3_stmt **ret, struct error *err);
int readings_write_absolute(sqlite3_stmt *insert, uint32_t port, const struct stored_reading *stored,
			    struct error *err);

/* The first columns of absolute, before those of the counters: tables.c. */
enum { ABSOLUTE_SWEEP, ABSOLUTE_PORT, ABSOLUTE_AT, ABSOLUTE_WALL, ABSOLUTE_WIDE, ABSOLUTE_COUNTERS };

/* readings_read_absolute - a row of "SELECT * FROM absolute". */
void readings_read_absolute(sqlite3_stmt *row, struct stored_reading *ret);

#endif
