/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
#include "storage/compact.h"

#include <stdlib.h>
#include <string.h>

#include "base/clock.h"
#include "base/err.h"
#include "storage/db.h"
#include "storage/hot_block.h"
#include "storage/schema.h"

/* Rows of hot that are removed at once. */
#define REMOVE_ROWS 1024

#define US_PER_HOUR (3600 * US_PER_S)

unsigned compact_window_sweeps(int64_t interval_us)
{
	/* 120 sweeps of a second, 60 of ten and more, as measured; in between a straight line. */
	if (interval_us <= 0 || interval_us >= 10 * US_PER_S)
		return 60;
	if (interval_us <= US_PER_S)
		return 120;
	return 120 - (unsigned)((interval_us - US_PER_S) * 60 / (9 * US_PER_S));
}

int compact_init(struct compaction *compaction, sqlite3 *db, unsigned window_sweeps, struct error *err)
{
	int result;

	memset(compaction, 0, sizeof(*compaction));
	compaction->db = db;
	compaction->window_sweeps = window_sweeps;
	result = db_prepare(db, "BEGIN IMMEDIATE", &compaction->begin, err);
	if (!result)
		result = db_prepare(db, "COMMIT", &compaction->commit, err);
	if (!result)
		result = db_prepare(db, "SELECT id, samples FROM hot WHERE id >= ? AND id < ?", &compaction->hot, err);
	if (!result)
		result = db_prepare(db, "SELECT port, counter, value, marks FROM error"
				    " WHERE sweep = ? AND port >= ? AND port < ?", &compaction->errors, err);
	if (!result)
		result = db_prepare(db, "SELECT * FROM absolute WHERE sweep = ? AND port >= ? AND port < ?",
				    &compaction->absolutes, err);
	if (!result)
		result = db_prepare(db, "REPLACE INTO chunk (id, samples) VALUES (?, ?)", &compaction->chunk, err);
	if (!result)
		result = db_prepare(db, "UPDATE chunk_window SET next_port = ?, state = ? WHERE id = ?",
				    &compaction->progress, err);
	if (!result)
		result = readings_prepare_absolute(db, &compaction->absolute, err);
	return result ? result : sums_writer_init(&compaction->sums, db, "chunk", err);
}

/* Forget the window: it is begun anew from what is stored. */
static void leave_window(struct compaction *compaction)
{
	free(compaction->last);
	free(compaction->offsets_us);
	free(compaction->samples);
	compaction->last = NULL;
	compaction->offsets_us = NULL;
	compaction->samples = NULL;
	compaction->window = 0;
}

void compact_done(struct compaction *compaction)
{
	leave_window(compaction);
	sqlite3_finalize(compaction->begin);
	sqlite3_finalize(compaction->commit);
	sqlite3_finalize(compaction->hot);
	sqlite3_finalize(compaction->errors);
	sqlite3_finalize(compaction->absolutes);
	sqlite3_finalize(compaction->chunk);
	sqlite3_finalize(compaction->progress);
	sqlite3_finalize(compaction->absolute);
	sums_writer_done(&compaction->sums);
	for (size_t i = 0; i < COMPACT_PORTS; i++)
		bytes_done(&compaction->packed[i]);
	compaction->begin = NULL;
}

int compact_begin(struct compaction *compaction, struct error *err)
{
	return db_run(compaction->begin, err);
}

int compact_end(struct compaction *compaction, int result, struct error *err)
{
	if (!result)
		result = db_run(compaction->commit, err);
	if (result < 0 && !sqlite3_get_autocommit(compaction->db))
		sqlite3_exec(compaction->db, "ROLLBACK", NULL, NULL, NULL);
	return result;
}

/*
 * Where the window that begins with @from ends: after so many sweeps, or, from half
 * of them on, with the hour of the wall clock. @ret_to: 0 where it is not full yet.
 */
static int find_end(struct compaction *compaction, int64_t from, int64_t *ret_to, int64_t wall_us[2],
		    struct error *err)
{
	unsigned full = compaction->window_sweeps, count = 0;
	sqlite3_stmt *rows;
	int result = db_prepare(compaction->db, "SELECT id, wall_us, interval_us FROM sweep WHERE id >= ? ORDER BY id",
				&rows, err);

	*ret_to = 0;
	if (result < 0)
		return result;
	sqlite3_bind_int64(rows, 1, from);
	while ((result = db_step(rows, err)) > 0) {
		int64_t id = sqlite3_column_int64(rows, 0), at_us = sqlite3_column_int64(rows, 1);

		if (!full)
			full = compact_window_sweeps(sqlite3_column_int64(rows, 2));
		if (full > CODEC_CHUNK_SWEEPS)
			full = CODEC_CHUNK_SWEEPS;
		if (!count)
			wall_us[0] = at_us;
		/* Sweeps that are missing, in a damaged database, are no reason to stop. */
		if (count && (id - from >= CODEC_CHUNK_SWEEPS ||
			      (2 * count >= full && at_us / US_PER_HOUR != wall_us[0] / US_PER_HOUR))) {
			*ret_to = id - from > CODEC_CHUNK_SWEEPS ? from + CODEC_CHUNK_SWEEPS : id;
			break;
		}
		wall_us[1] = at_us;
		if (++count >= full) {
			*ret_to = id + 1;
			break;
		}
	}
	sqlite3_finalize(rows);
	return result < 0 ? result : 0;
}

static int load_offsets(struct compaction *compaction, struct error *err)
{
	sqlite3_stmt *rows;
	int result = db_prepare(compaction->db, "SELECT id, wall_us - start_us FROM sweep WHERE id >= ? AND id < ?",
				&rows, err);

	if (result < 0)
		return result;
	sqlite3_bind_int64(rows, 1, compaction->from_sweep);
	sqlite3_bind_int64(rows, 2, compaction->to_sweep);
	while ((result = db_step(rows, err)) > 0)
		compaction->offsets_us[sqlite3_column_int64(rows, 0) - compaction->from_sweep] =
			sqlite3_column_int64(rows, 1);
	sqlite3_finalize(rows);
	return result;
}

/* Everything that the steps of a window need. */
static int enter_window(struct compaction *compaction, struct error *err)
{
	size_t sweeps = (size_t)(compaction->to_sweep - compaction->from_sweep);
	int64_t ports = 0;
	int result = db_integer(compaction->db, "SELECT max(id) FROM port", 0, &ports, err);

	if (result < 0)
		return result;
	compaction->port_count = (uint32_t)ports + 1;
	compaction->last = calloc(compaction->port_count, sizeof(*compaction->last));
	compaction->offsets_us = calloc(sweeps, sizeof(*compaction->offsets_us));
	compaction->samples = calloc(COMPACT_PORTS * sweeps, sizeof(*compaction->samples));
	if (!compaction->last || !compaction->offsets_us || !compaction->samples)
		return err_nomem(err);
	result = load_offsets(compaction, err);
	if (!result)
		result = db_exec(compaction->db, "BEGIN", err);
	if (result < 0)
		return result;
	result = readings_load(compaction->db, compaction->from_sweep - 1, compaction->last, compaction->port_count,
			       err);
	sqlite3_exec(compaction->db, "ROLLBACK", NULL, NULL, NULL); /* it only read */
	return result;
}

/* The window that was left unfinished. Return: 1, 0 where there is none, or an error. */
static int find_unfinished(struct compaction *compaction, struct error *err)
{
	sqlite3_stmt *row;
	int result = db_prepare(compaction->db, "SELECT id, from_sweep, to_sweep, next_port FROM chunk_window"
				" WHERE state = 0 ORDER BY id DESC LIMIT 1", &row, err);

	if (result < 0)
		return result;
	result = db_step(row, err);
	if (result > 0) {
		compaction->window = sqlite3_column_int64(row, 0);
		compaction->from_sweep = sqlite3_column_int64(row, 1);
		compaction->to_sweep = sqlite3_column_int64(row, 2);
		compaction->next_port = (uint32_t)sqlite3_column_int64(row, 3);
	}
	sqlite3_finalize(row);
	return result;
}

static int insert_window(struct compaction *compaction, const int64_t wall_us[2], struct error *err)
{
	sqlite3_stmt *insert;
	int result = db_prepare(compaction->db, "INSERT INTO chunk_window (id, from_sweep, to_sweep, from_us, to_us,"
				" state, next_port) VALUES (?, ?, ?, ?, ?, 0, 0)", &insert, err);

	if (result < 0)
		return result;
	sqlite3_bind_int64(insert, 1, compaction->window);
	sqlite3_bind_int64(insert, 2, compaction->from_sweep);
	sqlite3_bind_int64(insert, 3, compaction->to_sweep);
	sqlite3_bind_int64(insert, 4, wall_us[0]);
	sqlite3_bind_int64(insert, 5, wall_us[1]);
	result = compact_begin(compaction, err);
	if (!result)
		result = compact_end(compaction, db_run(insert, err), err);
	sqlite3_finalize(insert);
	return result;
}

/* Begin the next window, if it is full. Return: 1, 0 where it is not, or an error. */
static int find_next(struct compaction *compaction, struct error *err)
{
	int64_t from = 0, last = 0, to, wall_us[2] = { 0 };
	int result = db_integer(compaction->db, "SELECT max(to_sweep) FROM chunk_window", 0, &from, err);

	if (!result)
		result = db_integer(compaction->db, "SELECT max(id) FROM chunk_window", 0, &last, err);
	if (!result && !from)
		result = db_integer(compaction->db, "SELECT min(id) FROM sweep", 0, &from, err);
	if (result < 0 || !from)
		return result;
	result = find_end(compaction, from, &to, wall_us, err);
	if (result < 0 || !to)
		return result;
	compaction->window = last + 1;
	compaction->from_sweep = from;
	compaction->to_sweep = to;
	compaction->next_port = 0;
	result = insert_window(compaction, wall_us, err);
	return result ? result : 1;
}

/* Samples of one sweep and the ports from next_port on, into their places. */
static int read_blocks(struct compaction *compaction, int64_t sweep, struct error *err)
{
	size_t sweeps = (size_t)(compaction->to_sweep - compaction->from_sweep);
	size_t place = (size_t)(sweep - compaction->from_sweep);
	int64_t block = compaction->next_port / CODEC_BLOCK_PORTS;
	struct codec_sample unpacked[CODEC_BLOCK_PORTS];
	sqlite3_stmt *rows = compaction->hot;
	int result;

	sqlite3_bind_int64(rows, 1, HOT_ID(sweep, block));
	sqlite3_bind_int64(rows, 2, HOT_ID(sweep, block + COMPACT_PORTS / CODEC_BLOCK_PORTS));
	while ((result = db_step(rows, err)) > 0) {
		size_t first = (size_t)(sqlite3_column_int64(rows, 0) % HOT_BLOCKS - block) * CODEC_BLOCK_PORTS;
		const void *packed = sqlite3_column_blob(rows, 1);

		if (hot_read_block(packed, (size_t)sqlite3_column_bytes(rows, 1), unpacked) < 0) {
			/* Without these samples no reading of later can be told; nor is one. */
			compaction->damaged++;
			for (size_t i = first; i < first + CODEC_BLOCK_PORTS; i++)
				if (compaction->next_port + i < compaction->port_count)
					compaction->last[compaction->next_port + i].there = false;
			continue;
		}
		for (size_t i = 0; i < CODEC_BLOCK_PORTS; i++)
			compaction->samples[(first + i) * sweeps + place] = unpacked[i];
	}
	sqlite3_reset(rows);
	return result;
}

/* The deltas of one sweep beside which rows of error stand. They are few; the others are taken as their samples. */
static int read_deltas(struct compaction *compaction, int64_t sweep, struct error *err)
{
	size_t sweeps = (size_t)(compaction->to_sweep - compaction->from_sweep);
	size_t place = (size_t)(sweep - compaction->from_sweep);
	sqlite3_stmt *rows = compaction->errors;
	int result;

	memset(compaction->moved, 0, sizeof(compaction->moved));
	sqlite3_bind_int64(rows, 1, sweep);
	sqlite3_bind_int64(rows, 2, compaction->next_port);
	sqlite3_bind_int64(rows, 3, (int64_t)compaction->next_port + COMPACT_PORTS);
	while ((result = db_step(rows, err)) > 0) {
		size_t i = (size_t)(sqlite3_column_int64(rows, 0) - compaction->next_port);

		if (!compaction->moved[i])
			delta_of_sample(&compaction->samples[i * sweeps + place], &compaction->deltas[i]);
		compaction->moved[i] = true;
		delta_read_error(rows, 1, &compaction->deltas[i]);
	}
	sqlite3_reset(rows);
	return result;
}

/* Readings that were stored as they are in one sweep: from there on it goes on from them. */
static int read_absolutes(struct compaction *compaction, int64_t sweep, struct error *err)
{
	sqlite3_stmt *rows = compaction->absolutes;
	int result;

	sqlite3_bind_int64(rows, 1, sweep);
	sqlite3_bind_int64(rows, 2, compaction->next_port);
	sqlite3_bind_int64(rows, 3, (int64_t)compaction->next_port + COMPACT_PORTS);
	while ((result = db_step(rows, err)) > 0) {
		uint64_t port = db_u64(rows, 1);

		if (port < compaction->port_count)
			readings_read_absolute(rows, &compaction->last[port]);
	}
	sqlite3_reset(rows);
	return result;
}

/* One sweep of the ports of this step: its samples, sums, and what was read. */
static int read_sweep(struct compaction *compaction, int64_t sweep, struct error *err)
{
	size_t sweeps = (size_t)(compaction->to_sweep - compaction->from_sweep);
	size_t place = (size_t)(sweep - compaction->from_sweep);
	int result = read_blocks(compaction, sweep, err);

	if (!result)
		result = read_deltas(compaction, sweep, err);
	for (size_t i = 0; !result && i < COMPACT_PORTS; i++) {
		const struct codec_sample *sample = &compaction->samples[i * sweeps + place];
		struct stored_reading *last = &compaction->last[compaction->next_port + i];

		if (!sample->there)
			continue;
		if (compaction->moved[i])
			port_sum_add_delta(&compaction->port_sums[i], &compaction->deltas[i]);
		else
			port_sum_add_sample(&compaction->port_sums[i], sample);
		if (compaction->next_port + i >= compaction->port_count || !last->there)
			continue;
		if (compaction->moved[i])
			reading_apply(&last->reading, &compaction->deltas[i]);
		else
			reading_apply_sample(&last->reading, sample);
		last->read_sweep = sweep;
		last->wall_us = last->reading.at_us + compaction->offsets_us[place];
	}
	return result ? result : read_absolutes(compaction, sweep, err);
}

/* All sweeps of the ports of this step, packed. */
static int read_ports(struct compaction *compaction, struct error *err)
{
	size_t sweeps = (size_t)(compaction->to_sweep - compaction->from_sweep);
	int result = 0;

	memset(compaction->samples, 0, COMPACT_PORTS * sweeps * sizeof(*compaction->samples));
	memset(compaction->port_sums, 0, sizeof(compaction->port_sums));
	for (int64_t sweep = compaction->from_sweep; !result && sweep < compaction->to_sweep; sweep++)
		result = read_sweep(compaction, sweep, err);
	for (size_t i = 0; !result && i < COMPACT_PORTS; i++) {
		compaction->packed[i].len = 0;
		if (compaction->port_sums[i].samples &&
		    codec_write_chunk(&compaction->packed[i], &compaction->samples[i * sweeps], (unsigned)sweeps) < 0)
			result = err_nomem(err);
	}
	return result;
}

static int write_port(struct compaction *compaction, size_t i, struct error *err)
{
	uint32_t port = compaction->next_port + (uint32_t)i;
	struct stored_reading *last = port < compaction->port_count ? &compaction->last[port] : NULL;
	int result = 0;

	if (compaction->packed[i].len) {
		sqlite3_bind_int64(compaction->chunk, 1, CHUNK_ID(compaction->window, (int64_t)port));
		sqlite3_bind_blob(compaction->chunk, 2, compaction->packed[i].data, (int)compaction->packed[i].len,
				  SQLITE_STATIC);
		result = db_run(compaction->chunk, err);
		if (!result)
			result = sums_write(&compaction->sums, compaction->window, port, &compaction->port_sums[i],
					    err);
	}
	if (!result && last && last->there && last->read_sweep != last->base_sweep)
		result = readings_write_absolute(compaction->absolute, port, last, err);
	return result;
}

/* One step of the window. */
static int step_window(struct compaction *compaction, struct error *err)
{
	bool complete = compaction->next_port + COMPACT_PORTS >= compaction->port_count;
	int result = read_ports(compaction, err);

	if (!result)
		result = compact_begin(compaction, err);
	if (result < 0)
		return result;
	for (size_t i = 0; !result && i < COMPACT_PORTS; i++)
		result = write_port(compaction, i, err);
	sqlite3_bind_int64(compaction->progress, 1, (int64_t)compaction->next_port + COMPACT_PORTS);
	sqlite3_bind_int(compaction->progress, 2, complete ? WINDOW_COMPLETE : WINDOW_WRITING);
	sqlite3_bind_int64(compaction->progress, 3, compaction->window);
	if (!result)
		result = db_run(compaction->progress, err);
	result = compact_end(compaction, result, err);
	if (result < 0)
		return result;
	compaction->next_port += COMPACT_PORTS;
	if (complete)
		leave_window(compaction);
	return 1;
}

/* Rows of hot whose sweeps are in complete windows. */
static int remove_hot(struct compaction *compaction, struct error *err)
{
	int64_t before = 0, oldest = 0;
	sqlite3_stmt *remove;
	int result = db_integer(compaction->db, "SELECT max(to_sweep) FROM chunk_window WHERE state > 0", 0, &before,
				err);

	if (!result)
		result = db_integer(compaction->db, "SELECT min(id) FROM hot", INT64_MAX, &oldest, err);
	if (result < 0 || oldest >= HOT_ID(before, 0))
		return result;
	result = db_prepare(compaction->db, "DELETE FROM hot WHERE id < ?1 AND id <= coalesce((SELECT id FROM hot"
			    " ORDER BY id LIMIT 1 OFFSET ?2), ?1)", &remove, err);
	if (result < 0)
		return result;
	sqlite3_bind_int64(remove, 1, HOT_ID(before, 0));
	sqlite3_bind_int(remove, 2, REMOVE_ROWS);
	result = compact_begin(compaction, err);
	if (!result)
		result = compact_end(compaction, db_run(remove, err), err);
	sqlite3_finalize(remove);
	return result ? result : 1;
}

int compact_step(struct compaction *compaction, struct error *err)
{
	int result = 1;

	if (!compaction->window) {
		result = remove_hot(compaction, err);
		if (!result)
			result = compact_hours(compaction, err);
		if (result)
			return result;
		result = find_unfinished(compaction, err);
		if (!result)
			result = find_next(compaction, err);
		if (result > 0) {
			result = enter_window(compaction, err);
			result = result ? result : 1;
		}
	}
	if (result > 0)
		result = step_window(compaction, err);
	if (result < 0)
		leave_window(compaction);
	return result;
}
