/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * delta_scan.c - iterates over stored samples in order of sweep and port
 *
 * Chunks hold the sweeps of one port, blocks of hot the ports of one sweep. So a slice of sweeps is
 * unpacked for all ports: of chunks as many sweeps as fit into SLICE_SAMPLES, of hot one sweep.
 */
#include "storage/read/readings.h"

#include <stdlib.h>
#include <string.h>

#include "base/array.h"
#include "base/err.h"
#include "storage/codec/codec.h"
#include "storage/file/db.h"
#include "storage/file/schema.h"
#include "storage/read/window_plan.h"

/* Of 96 bytes each: at most 48 MB, a window of 4,096 ports and 120 sweeps. */
#define SLICE_SAMPLES (512 * 1024)

struct slice_port {
	uint32_t id;
	bool errors; /* can it have rows in error? */
};

struct delta_walk {
	sqlite3 *db;
	sqlite3_stmt *sums, *errors;
	struct window_plan plan;
	struct plan_part part; /* what is left of the part that is being read */
	struct packed_reader packed;
	const uint32_t *ports; /* in rising order (borrowed from the caller) */
	size_t port_count;  /* 0: all */
	size_t most_ports;  /* of a slice */
	/* The slice: samples[port * slice_sweeps + sweep]. */
	int64_t slice_from;
	unsigned slice_sweeps;
	struct slice_port *slice_ports;
	size_t slice_count, slice_capacity;
	struct codec_sample *samples;
	size_t sample_capacity;
	unsigned sweep_at;  /* place of the current sample, and the port after it */
	size_t port_at;
	bool error_row;     /* of all ports: `errors` has a row that was not used */
	struct codec_sample unpacked[CODEC_CHUNK_SWEEPS];
};

static int next_error(struct delta_walk *walk, struct error *err)
{
	int result = db_step(walk->errors, err);

	walk->error_row = result > 0;
	return result < 0 ? result : 0;
}

static int prepare(struct delta_walk *walk, int64_t after, int64_t until, struct error *err)
{
	static const char own_errors[] = "SELECT sweep, port, counter, value, marks FROM error"
					 " WHERE sweep = ?1 AND port = ?2";
	static const char all_errors[] = "SELECT sweep, port, counter, value, marks FROM error"
					 " WHERE sweep > ?1 AND sweep <= ?2 ORDER BY sweep, port";
	int result = window_plan_begin(&walk->plan, walk->db, after, until, PLAN_SAMPLES, err);

	packed_begin(&walk->packed, walk->db, walk->port_count ? walk->ports : NULL, walk->port_count);
	if (!result)
		result = db_prepare(walk->db, "SELECT reset | saturated OR EXISTS (SELECT 1 FROM chunk_error e WHERE"
				    " e.window = s.window AND e.port = s.port) FROM chunk_sum s"
				    " WHERE s.window = ?1 AND s.port = ?2", &walk->sums, err);
	if (!result)
		result = db_prepare(walk->db, walk->port_count ? own_errors : all_errors, &walk->errors, err);
	if (result < 0 || walk->port_count)
		return result;
	DB_BIND(walk->errors, 1, after, walk->plan.until);
	return next_error(walk, err);
}

int delta_scan_begin_ports(struct delta_scan *scan, sqlite3 *db, int64_t after, int64_t until, const uint32_t *ports,
			   size_t count, struct error *err)
{
	struct delta_walk *walk = calloc(1, sizeof(*walk));
	int64_t most = 0;
	int result;

	memset(scan, 0, sizeof(*scan));
	scan->walk = walk;
	if (!walk)
		return err_nomem(err);
	walk->db = db;
	walk->ports = ports;
	walk->port_count = count;
	result = db_integer(db, "SELECT max(id) FROM port", 0, &most, err);
	walk->most_ports = count ? count : most > 0 ? (size_t)most : 1;
	return result ? result : prepare(walk, after, until, err);
}

int delta_scan_begin(struct delta_scan *scan, sqlite3 *db, int64_t after, int64_t until, struct error *err)
{
	return delta_scan_begin_ports(scan, db, after, until, NULL, 0, err);
}

/* Add a port to the slice. Return: its samples, or NULL without memory. */
static struct codec_sample *add_port(struct delta_walk *walk, uint32_t port, bool errors)
{
	struct slice_port *ports = array_grow(walk->slice_ports, walk->slice_count, &walk->slice_capacity,
					      sizeof(*ports));
	size_t needed = (walk->slice_count + 1) * walk->slice_sweeps;

	if (!ports)
		return NULL;
	walk->slice_ports = ports;
	if (needed > walk->sample_capacity) {
		size_t capacity = needed > 2 * walk->sample_capacity ? needed : 2 * walk->sample_capacity;
		struct codec_sample *samples = reallocarray(walk->samples, capacity, sizeof(*samples));

		if (!samples)
			return NULL;
		walk->samples = samples;
		walk->sample_capacity = capacity;
	}
	ports[walk->slice_count] = (struct slice_port){ port, errors };
	return &walk->samples[walk->slice_count++ * walk->slice_sweeps];
}

/* By its sums in a window: can a port have rows in error there? */
static bool may_have_errors(struct delta_walk *walk, int64_t window, uint32_t port)
{
	bool may = true;

	DB_BIND(walk->sums, 1, window, port);
	if (sqlite3_step(walk->sums) == SQLITE_ROW)
		may = sqlite3_column_int(walk->sums, 0) != 0;
	sqlite3_reset(walk->sums);
	return may;
}

/* The sweeps of a chunk that belong to the slice. */
static int unpack_chunk(void *ctx, const struct packed_row *row, struct error *err)
{
	struct delta_walk *walk = ctx;
	uint32_t port = row->from_port;
	struct codec_sample *samples;

	if (codec_read_chunk(row->data, row->len, walk->unpacked, (unsigned)(row->to_sweep - row->from_sweep)) < 0)
		return PACKED_DAMAGED;
	samples = add_port(walk, port, walk->port_count && may_have_errors(walk, walk->part.unit.id, port));
	if (!samples)
		return err_nomem(err);
	memcpy(samples, &walk->unpacked[walk->slice_from - row->from_sweep], walk->slice_sweeps * sizeof(*samples));
	return 0;
}

static int unpack_block(void *ctx, const struct packed_row *row, struct error *err)
{
	struct delta_walk *walk = ctx;

	if (hot_read_block(row->data, row->len, walk->unpacked) < 0)
		return PACKED_DAMAGED;
	for (uint32_t i = 0; i < CODEC_BLOCK_PORTS; i++) {
		uint32_t port = row->from_port + i;
		struct codec_sample *sample;

		if (!walk->unpacked[i].there ||
		    (walk->port_count && ports_find(walk->ports, walk->port_count, port) == walk->port_count))
			continue;
		sample = add_port(walk, port, true);
		if (!sample)
			return err_nomem(err);
		*sample = walk->unpacked[i];
	}
	return 0;
}

/* Unpack the next sweeps of the current part. */
static int load_part(struct delta_walk *walk, struct error *err)
{
	struct plan_part slice = walk->part;
	int64_t most = SLICE_SAMPLES / (int64_t)walk->most_ports;
	int result = 0;

	if (slice.source == PLAN_HOT)
		result = packed_next_hot(&walk->packed, slice.from_sweep, slice.to_sweep, &slice.from_sweep, err);
	if (slice.source == PLAN_HOT || most < 1)
		most = 1;
	if (slice.to_sweep - slice.from_sweep > most)
		slice.to_sweep = slice.from_sweep + most;
	walk->part.from_sweep = slice.to_sweep;
	walk->slice_from = slice.from_sweep;
	walk->slice_sweeps = (unsigned)(slice.to_sweep - slice.from_sweep);
	if (result < 0 || !walk->slice_sweeps)
		return result;
	return packed_read(&walk->packed, &slice, slice.source == PLAN_HOT ? unpack_block : unpack_chunk, walk, err);
}

/* The next slice that has samples. Return: 1, 0 at the end, or an error. */
static int load_slice(struct delta_walk *walk, struct error *err)
{
	int result = 1;

	walk->slice_count = walk->sweep_at = 0;
	walk->port_at = 0;
	while (result > 0 && !walk->slice_count) {
		if (walk->part.from_sweep >= walk->part.to_sweep)
			result = window_plan_next(&walk->plan, &walk->part, err);
		if (result <= 0)
			break;
		/* An expired part has no samples. */
		if (walk->part.source != PLAN_CHUNKS && walk->part.source != PLAN_HOT)
			walk->part.from_sweep = walk->part.to_sweep;
		else if ((result = load_part(walk, err)) == 0)
			result = 1;
	}
	return result;
}

/* Move to the next sample of the slice. Return: false at its end. */
static bool step(struct delta_scan *scan)
{
	struct delta_walk *walk = scan->walk;

	for (; walk->sweep_at < walk->slice_sweeps && walk->slice_count; walk->sweep_at++, walk->port_at = 0) {
		while (walk->port_at < walk->slice_count) {
			size_t port = walk->port_at++;

			scan->sample = &walk->samples[port * walk->slice_sweeps + walk->sweep_at];
			if (!scan->sample->there)
				continue;
			scan->sweep = walk->slice_from + walk->sweep_at;
			scan->port = walk->slice_ports[port].id;
			return true;
		}
	}
	return false;
}

int delta_scan_next(struct delta_scan *scan, struct error *err)
{
	int result;

	while (!step(scan)) {
		struct packed_reader *packed = &scan->walk->packed;

		packed->on_damage = scan->on_damage;
		packed->on_damage_ctx = scan->on_damage_ctx;
		result = load_slice(scan->walk, err);
		scan->damage = packed->damage;
		if (result <= 0)
			return result;
	}
	return 1;
}

/* Order of the row of error and the current delta: below 0, 0 or above 0, as in strcmp(). */
static int error_side(const struct delta_scan *scan)
{
	sqlite3_stmt *row = scan->walk->errors;
	int64_t sweep = sqlite3_column_int64(row, 0), port = sqlite3_column_int64(row, 1);

	if (sweep != scan->sweep)
		return sweep < scan->sweep ? -1 : 1;
	return port < scan->port ? -1 : port > scan->port;
}

void delta_put_error(struct delta *delta, int64_t counter, uint64_t value, int marks)
{
	if (counter < 0 || counter >= COUNTER_COUNT)
		return; /* of a newer version */
	delta->value[counter] = value;
	if (marks & MARK_RESET)
		delta->reset |= COUNTER_BIT(counter);
	if (marks & MARK_SATURATED)
		delta->saturated |= COUNTER_BIT(counter);
}

static void read_error(sqlite3_stmt *row, struct delta *delta)
{
	delta_put_error(delta, sqlite3_column_int64(row, 2), db_u64(row, 3), sqlite3_column_int(row, 4));
}

/* Only the rows of the current port and sweep. */
static int read_own_errors(struct delta_scan *scan, struct delta *ret, struct error *err)
{
	sqlite3_stmt *rows = scan->walk->errors;
	int result;

	DB_BIND(rows, 1, scan->sweep, scan->port);
	while ((result = db_step(rows, err)) > 0)
		read_error(rows, ret);
	sqlite3_reset(rows);
	return result;
}

/* A stored sample as a delta without its rows of error. */
static void read_sample(const struct codec_sample *sample, struct delta *ret)
{
	memset(ret, 0, sizeof(*ret));
	ret->elapsed_us = sample->elapsed_us;
	ret->known = COUNTER_ALL_SET & ~sample->unknown;
	memcpy(ret->value, sample->value, sizeof(sample->value));
}

int delta_scan_read(struct delta_scan *scan, struct delta *ret, struct error *err)
{
	struct delta_walk *walk = scan->walk;
	int result = 0;

	read_sample(scan->sample, ret);
	if (walk->port_count)
		return walk->slice_ports[walk->port_at - 1].errors ? read_own_errors(scan, ret, err) : 0;
	while (!result && walk->error_row) {
		int side = error_side(scan);

		if (side > 0)
			break;
		if (side == 0)
			read_error(walk->errors, ret);
		result = next_error(walk, err);
	}
	return result;
}

void delta_scan_end(struct delta_scan *scan)
{
	struct delta_walk *walk = scan->walk;

	scan->walk = NULL;
	if (!walk)
		return;
	window_plan_end(&walk->plan);
	packed_end(&walk->packed);
	sqlite3_finalize(walk->sums);
	sqlite3_finalize(walk->errors);
	free(walk->slice_ports);
	free(walk->samples);
	free(walk);
}
