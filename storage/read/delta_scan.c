/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * delta_scan.c - a walk over what was counted, wherever it is stored
 *
 * Sweeps of complete windows stand in chunks, port by port; newer ones in hot,
 * sweep by sweep. The walk unpacks a slice of sweeps of all its ports and steps
 * through it: of chunks as many sweeps as fit into SLICE_SAMPLES, of hot one.
 */
#include "storage/read/readings.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/err.h"
#include "storage/codec/codec.h"
#include "storage/file/db.h"
#include "storage/codec/hot_block.h"
#include "storage/file/schema.h"

/* Of 96 bytes each: 48 MB for a window of 4,096 ports and 120 sweeps, and never more. */
#define SLICE_SAMPLES (512 * 1024)

struct delta_walk {
	sqlite3 *db;
	sqlite3_stmt *window, *chunks, *hot, *next_hot, *sums, *errors;
	int64_t at, until;  /* the next sweep that no slice held; the last of all */
	int64_t hot_from;   /* sweeps before it are in chunks */
	const uint32_t *ports; /* in rising order (borrowed from the caller) */
	size_t port_count;  /* 0: all */
	size_t most_ports;  /* that a slice may have */
	/* The slice: samples[port * slice_sweeps + sweep]. */
	int64_t slice_from;
	unsigned slice_sweeps;
	uint32_t *slice_ports;
	bool *slice_errors; /* may a port have rows in error? */
	size_t slice_count, slice_capacity;
	struct codec_sample *samples;
	size_t sample_capacity;
	unsigned sweep_at;  /* the place behind the one that the walk stands on */
	size_t port_at;
	bool error_row;     /* of all ports: errors stands on a row that is not used up */
	struct codec_sample unpacked[CODEC_CHUNK_SWEEPS];
};

static void note_damage(struct delta_scan *scan, int64_t from_sweep, int64_t to_sweep, uint32_t from_port,
			uint32_t to_port)
{
	if (!scan->damaged++)
		snprintf(scan->damage, sizeof(scan->damage), "sweeps %lld to %lld of ports %u to %u",
			 (long long)from_sweep, (long long)to_sweep - 1, from_port, to_port - 1);
	if (scan->on_damage)
		scan->on_damage(scan->on_damage_ctx, from_sweep, to_sweep, from_port, to_port);
}

/* A page that cannot be read costs what stands on it, and the walk goes on behind it. */
static bool only_damaged(const struct delta_walk *walk)
{
	return (sqlite3_errcode(walk->db) & 0xff) == SQLITE_CORRUPT;
}

static int next_error(struct delta_walk *walk, struct error *err)
{
	int result = db_step(walk->errors, err);

	walk->error_row = result > 0;
	return result < 0 ? result : 0;
}

static int prepare(struct delta_walk *walk, int64_t after, struct error *err)
{
	int result = db_prepare(walk->db, "SELECT from_sweep, to_sweep, state, id FROM chunk_window WHERE to_sweep > ?1"
				" AND state > 0 ORDER BY to_sweep LIMIT 1", &walk->window, err);

	if (!result)
		result = db_prepare(walk->db, "SELECT id, samples FROM chunk WHERE id >= ?1 AND id < ?2 ORDER BY id",
				    &walk->chunks, err);
	if (!result)
		result = db_prepare(walk->db, "SELECT id, samples FROM hot WHERE id >= ?1 AND id < ?2 ORDER BY id",
				    &walk->hot, err);
	if (!result)
		result = db_prepare(walk->db, "SELECT id FROM hot WHERE id >= ?1 ORDER BY id LIMIT 1", &walk->next_hot,
				    err);
	if (!result)
		result = db_prepare(walk->db, "SELECT reset | saturated OR EXISTS (SELECT 1 FROM chunk_error e WHERE"
				    " e.window = s.window AND e.port = s.port) FROM chunk_sum s"
				    " WHERE s.window = ?1 AND s.port = ?2", &walk->sums, err);
	if (!result && walk->port_count)
		return db_prepare(walk->db, "SELECT sweep, port, counter, value, marks FROM error"
				  " WHERE sweep = ?1 AND port = ?2", &walk->errors, err);
	if (!result)
		result = db_prepare(walk->db, "SELECT sweep, port, counter, value, marks FROM error"
				    " WHERE sweep > ?1 AND sweep <= ?2 ORDER BY sweep, port", &walk->errors, err);
	if (result < 0)
		return result;
	sqlite3_bind_int64(walk->errors, 1, after);
	sqlite3_bind_int64(walk->errors, 2, walk->until);
	return next_error(walk, err);
}

int delta_scan_begin_ports(struct delta_scan *scan, sqlite3 *db, int64_t after, int64_t until, const uint32_t *ports,
			   size_t count, struct error *err)
{
	struct delta_walk *walk = calloc(1, sizeof(*walk));
	int64_t newest = 0, most = 0;
	int result;

	memset(scan, 0, sizeof(*scan));
	scan->walk = walk;
	if (!walk)
		return err_nomem(err);
	walk->db = db;
	walk->ports = ports;
	walk->port_count = count;
	walk->at = after < 0 ? 1 : after + 1;
	result = db_integer(db, "SELECT max(id) FROM sweep", 0, &newest, err);
	if (!result)
		result = db_integer(db, "SELECT max(id) FROM port", 0, &most, err);
	if (!result)
		result = db_integer(db, "SELECT max(to_sweep) FROM chunk_window WHERE state > 0", 0, &walk->hot_from,
				    err);
	walk->until = until < newest ? until : newest;
	walk->most_ports = count ? count : most ? (size_t)most : 1;
	return result ? result : prepare(walk, after, err);
}

int delta_scan_begin(struct delta_scan *scan, sqlite3 *db, int64_t after, int64_t until, struct error *err)
{
	return delta_scan_begin_ports(scan, db, after, until, NULL, 0, err);
}

static void *grown(void *array, size_t *capacity, size_t count, size_t size)
{
	size_t wanted = *capacity ? 2 * *capacity : 64;
	void *moved;

	if (wanted < count)
		wanted = count;
	moved = reallocarray(array, wanted, size);
	if (moved)
		*capacity = wanted;
	return moved;
}

/* Room for the samples of one more port of the slice. Return: NULL without memory. */
static struct codec_sample *add_port(struct delta_walk *walk, uint32_t port, bool errors)
{
	size_t wanted = (walk->slice_count + 1) * walk->slice_sweeps;

	if (walk->slice_count == walk->slice_capacity) {
		size_t capacity = walk->slice_capacity;
		uint32_t *ports = grown(walk->slice_ports, &capacity, 0, sizeof(*ports));
		bool *marks;

		if (!ports)
			return NULL;
		walk->slice_ports = ports;
		marks = reallocarray(walk->slice_errors, capacity, sizeof(*marks));
		if (!marks)
			return NULL;
		walk->slice_errors = marks;
		walk->slice_capacity = capacity;
	}
	if (wanted > walk->sample_capacity) {
		struct codec_sample *samples = grown(walk->samples, &walk->sample_capacity, wanted, sizeof(*samples));

		if (!samples)
			return NULL;
		walk->samples = samples;
	}
	walk->slice_ports[walk->slice_count] = port;
	walk->slice_errors[walk->slice_count] = errors;
	return &walk->samples[walk->slice_count++ * walk->slice_sweeps];
}

/* A port of one window whose sums say so has no rows in error there. */
static bool may_have_errors(struct delta_walk *walk, int64_t window, uint32_t port)
{
	bool may = true;

	sqlite3_bind_int64(walk->sums, 1, window);
	sqlite3_bind_int64(walk->sums, 2, port);
	if (sqlite3_step(walk->sums) == SQLITE_ROW)
		may = sqlite3_column_int(walk->sums, 0) != 0;
	sqlite3_reset(walk->sums);
	return may;
}

struct window_row {
	int64_t id, from, to;
};

/* The row of chunks that stands there: the part of it that belongs to the slice. */
static int unpack_chunk(struct delta_scan *scan, const struct window_row *window, struct error *err)
{
	struct delta_walk *walk = scan->walk;
	uint32_t port = (uint32_t)(sqlite3_column_int64(walk->chunks, 0) - CHUNK_ID(window->id, 0));
	const void *packed = sqlite3_column_blob(walk->chunks, 1);
	size_t len = (size_t)sqlite3_column_bytes(walk->chunks, 1);
	struct codec_sample *samples;

	if (codec_read_chunk(packed, len, walk->unpacked, (unsigned)(window->to - window->from)) < 0) {
		note_damage(scan, window->from, window->to, port, port + 1);
		return 0;
	}
	samples = add_port(walk, port, walk->port_count && may_have_errors(walk, window->id, port));
	if (!samples)
		return err_nomem(err);
	memcpy(samples, &walk->unpacked[walk->slice_from - window->from], walk->slice_sweeps * sizeof(*samples));
	return 0;
}

static int load_range(struct delta_scan *scan, const struct window_row *window, uint32_t from_port, uint32_t to_port,
		      struct error *err)
{
	struct delta_walk *walk = scan->walk;
	int result;

	sqlite3_bind_int64(walk->chunks, 1, CHUNK_ID(window->id, from_port));
	sqlite3_bind_int64(walk->chunks, 2, CHUNK_ID(window->id, to_port));
	while ((result = db_step(walk->chunks, err)) > 0) {
		result = unpack_chunk(scan, window, err);
		if (result < 0)
			break;
	}
	if (result < 0 && only_damaged(walk)) {
		note_damage(scan, window->from, window->to, from_port, to_port);
		result = 0;
	}
	sqlite3_reset(walk->chunks);
	return result;
}

static int load_chunks(struct delta_scan *scan, struct error *err)
{
	struct delta_walk *walk = scan->walk;
	struct window_row window = { 0 };
	int64_t sweeps, most;
	int state = 0, result;

	sqlite3_bind_int64(walk->window, 1, walk->at);
	result = db_step(walk->window, err);
	if (result > 0) {
		window.from = sqlite3_column_int64(walk->window, 0);
		window.to = sqlite3_column_int64(walk->window, 1);
		state = sqlite3_column_int(walk->window, 2);
		window.id = sqlite3_column_int64(walk->window, 3);
	}
	sqlite3_reset(walk->window);
	if (result < 0)
		return result;
	walk->slice_from = walk->at > window.from ? walk->at : window.from;
	walk->slice_sweeps = 0;
	/* The chunks expired, or the row is damaged: by its index it may end before the walk, which goes on anyway. */
	if (!result || window.to <= walk->at || state != WINDOW_COMPLETE || window.from < 1 ||
	    window.from >= window.to || window.to - window.from > CODEC_CHUNK_SWEEPS ||
	    walk->slice_from > walk->until) {
		walk->at = result && window.to > walk->at ? window.to : walk->hot_from;
		return 0;
	}
	most = SLICE_SAMPLES / (int64_t)walk->most_ports;
	sweeps = (window.to <= walk->until ? window.to : walk->until + 1) - walk->slice_from;
	sweeps = sweeps <= most ? sweeps : most ? most : 1;
	walk->slice_sweeps = (unsigned)sweeps;
	walk->at = walk->slice_from + sweeps;
	if (!walk->port_count)
		return load_range(scan, &window, 0, (uint32_t)HISTORY_PORTS, err);
	result = 0;
	for (size_t i = 0; !result && i < walk->port_count; i++)
		result = load_range(scan, &window, walk->ports[i], walk->ports[i] + 1, err);
	return result;
}

static bool port_wanted(const struct delta_walk *walk, uint32_t port)
{
	size_t low = 0, high = walk->port_count;

	while (low < high) {
		size_t middle = (low + high) / 2;

		if (walk->ports[middle] == port)
			return true;
		if (walk->ports[middle] < port)
			low = middle + 1;
		else
			high = middle;
	}
	return !walk->port_count;
}

static int unpack_block(struct delta_scan *scan, struct error *err)
{
	struct delta_walk *walk = scan->walk;
	int64_t id = sqlite3_column_int64(walk->hot, 0);
	uint32_t first = (uint32_t)(id % HOT_BLOCKS) * CODEC_BLOCK_PORTS;
	const void *packed = sqlite3_column_blob(walk->hot, 1);
	size_t len = (size_t)sqlite3_column_bytes(walk->hot, 1);

	if (hot_read_block(packed, len, walk->unpacked) < 0) {
		note_damage(scan, walk->slice_from, walk->slice_from + 1, first, first + CODEC_BLOCK_PORTS);
		return 0;
	}
	for (uint32_t i = 0; i < CODEC_BLOCK_PORTS; i++) {
		struct codec_sample *sample;

		if (!walk->unpacked[i].there || !port_wanted(walk, first + i))
			continue;
		sample = add_port(walk, first + i, true);
		if (!sample)
			return err_nomem(err);
		*sample = walk->unpacked[i];
	}
	return 0;
}

static int load_blocks(struct delta_scan *scan, int64_t from_block, int64_t to_block, struct error *err)
{
	struct delta_walk *walk = scan->walk;
	int result;

	sqlite3_bind_int64(walk->hot, 1, HOT_ID(walk->slice_from, from_block));
	sqlite3_bind_int64(walk->hot, 2, HOT_ID(walk->slice_from, to_block));
	while ((result = db_step(walk->hot, err)) > 0) {
		result = unpack_block(scan, err);
		if (result < 0)
			break;
	}
	if (result < 0 && only_damaged(walk)) {
		note_damage(scan, walk->slice_from, walk->slice_from + 1,
			    (uint32_t)from_block * CODEC_BLOCK_PORTS, (uint32_t)to_block * CODEC_BLOCK_PORTS);
		result = 0;
	}
	sqlite3_reset(walk->hot);
	return result;
}

/* Go on to the next sweep that has a row: ids may have any gap between them. */
static int next_hot(struct delta_walk *walk, struct error *err)
{
	int64_t next = walk->until + 1;
	char sql[80];
	int result;

	sqlite3_bind_int64(walk->next_hot, 1, HOT_ID(walk->at, 0));
	result = db_step(walk->next_hot, err);
	if (result > 0)
		next = sqlite3_column_int64(walk->next_hot, 0) / HOT_BLOCKS;
	sqlite3_reset(walk->next_hot);
	/* The rows behind a damaged page are looked for at each sweep. */
	if (result < 0 && only_damaged(walk)) {
		snprintf(sql, sizeof(sql), "SELECT min(id) FROM sweep WHERE id >= %lld", (long long)walk->at);
		result = db_integer(walk->db, sql, next, &next, err);
	}
	if (next > walk->at)
		walk->at = next;
	return result < 0 ? result : 0;
}

static int load_hot(struct delta_scan *scan, struct error *err)
{
	struct delta_walk *walk = scan->walk;
	int64_t block, before = -1;
	int result = next_hot(walk, err);

	if (result < 0 || walk->at > walk->until)
		return result;
	walk->slice_from = walk->at++;
	walk->slice_sweeps = 1;
	if (!walk->port_count)
		return load_blocks(scan, 0, HOT_BLOCKS, err);
	for (size_t i = 0; !result && i < walk->port_count; i++) {
		block = walk->ports[i] / CODEC_BLOCK_PORTS;
		if (block != before)
			result = load_blocks(scan, block, block + 1, err);
		before = block;
	}
	return result;
}

/* The next slice that has samples. Return: 1, 0 at the end, or an error. */
static int load_slice(struct delta_scan *scan, struct error *err)
{
	struct delta_walk *walk = scan->walk;
	int result = 0;

	walk->slice_count = 0;
	walk->sweep_at = 0;
	walk->port_at = 0;
	while (!result && !walk->slice_count && walk->at <= walk->until)
		result = walk->at < walk->hot_from ? load_chunks(scan, err) : load_hot(scan, err);
	return result ? result : walk->slice_count > 0;
}

/* The next sample of the slice, sweep by sweep. Return: was there one? */
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
			scan->port = walk->slice_ports[port];
			return true;
		}
	}
	return false;
}

int delta_scan_next(struct delta_scan *scan, struct error *err)
{
	int result;

	while (!step(scan)) {
		result = load_slice(scan, err);
		if (result <= 0)
			return result;
	}
	return 1;
}

/* Where the error row stands beside the delta: below 0 before it, 0 at it, above 0 behind. */
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
		return; /* of a newer catalogue: not one that we can show */
	delta->value[counter] = value;
	if (marks & MARK_RESET)
		delta->reset |= COUNTER_BIT(counter);
	if (marks & MARK_SATURATED)
		delta->saturated |= COUNTER_BIT(counter);
}

/* Of a row of the errors' statement. */
static void read_error(sqlite3_stmt *row, struct delta *delta)
{
	delta_put_error(delta, sqlite3_column_int64(row, 2), db_u64(row, 3), sqlite3_column_int(row, 4));
}

/* The rows of this port and sweep alone. */
static int read_own_errors(struct delta_scan *scan, struct delta *ret, struct error *err)
{
	sqlite3_stmt *rows = scan->walk->errors;
	int result;

	sqlite3_bind_int64(rows, 1, scan->sweep);
	sqlite3_bind_int64(rows, 2, scan->port);
	while ((result = db_step(rows, err)) > 0)
		read_error(rows, ret);
	sqlite3_reset(rows);
	return result;
}

/* A stored sample as a delta in which no error counter moved. */
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
		return walk->slice_errors[walk->port_at - 1] ? read_own_errors(scan, ret, err) : 0;
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
	sqlite3_finalize(walk->window);
	sqlite3_finalize(walk->chunks);
	sqlite3_finalize(walk->hot);
	sqlite3_finalize(walk->next_hot);
	sqlite3_finalize(walk->sums);
	sqlite3_finalize(walk->errors);
	free(walk->slice_ports);
	free(walk->slice_errors);
	free(walk->samples);
	free(walk);
}
