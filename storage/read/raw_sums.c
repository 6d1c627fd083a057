/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
#include "storage/read/raw_sums.h"

#include <stdio.h>

#include "base/err.h"
#include "storage/codec/codec.h"
#include "storage/file/db.h"
#include "storage/codec/hot_block.h"
#include "storage/read/readings.h"
#include "storage/file/schema.h"
#include "storage/read/sums.h"

struct adding {
	sqlite3 *db;
	int64_t after, until;
	uint32_t first;
	struct port_sum *by_port;
	size_t count;
	struct raw_damage *damage;
	struct codec_sample samples[CODEC_BLOCK_PORTS];
};

static void add_chunk(struct port_sum *sum, const struct codec_sum *chunk)
{
	if (!chunk->samples)
		return;
	if (!sum->samples)
		sum->sum.known = COUNTER_ALL_SET;
	sum->samples += chunk->samples;
	sum->sum.elapsed_us = delta_us_add(sum->sum.elapsed_us, (int64_t)(chunk->elapsed_us & INT64_MAX));
	sum->sum.known &= ~chunk->unknown;
	sum->ever |= COUNTER_ALL_SET & ~chunk->never;
	for (int i = 0; i < COUNTER_TRAFFIC_COUNT; i++)
		port_sum_add_value(&sum->sum.value[i], chunk->value[i]);
}

/* Sweeps from @from up to but not @to, of @ports ports. */
static void note_damage(struct adding *adding, int64_t from, int64_t to, int64_t first, int64_t ports)
{
	if (!adding->damage->count++)
		snprintf(adding->damage->first, sizeof(adding->damage->first),
			 "sweeps %lld to %lld of ports %lld to %lld", (long long)from, (long long)to - 1,
			 (long long)first, (long long)(first + ports - 1));
}

/* Rows that a damaged page holds are left out, as are those behind it of this question. */
static int end_rows(struct adding *adding, int result, int64_t from, int64_t to)
{
	if (result >= 0 || (sqlite3_errcode(adding->db) & 0xff) != SQLITE_CORRUPT)
		return result < 0 ? result : 0;
	note_damage(adding, from, to, adding->first, (int64_t)adding->count);
	return 0;
}

/* The chunks of one window, of which sweeps [@from, @to) are wanted. */
static int add_window(struct adding *adding, sqlite3_stmt *chunks, int64_t window, int64_t window_from,
		      int64_t window_to, struct error *err)
{
	int64_t from = adding->after + 1 > window_from ? adding->after + 1 : window_from;
	int64_t to = adding->until + 1 < window_to ? adding->until + 1 : window_to;
	int result;

	sqlite3_bind_int64(chunks, 1, CHUNK_ID(window, adding->first));
	sqlite3_bind_int64(chunks, 2, CHUNK_ID(window, adding->first + adding->count));
	while ((result = db_step(chunks, err)) > 0) {
		int64_t id = sqlite3_column_int64(chunks, 0);
		int64_t at = id - CHUNK_ID(window, adding->first);
		const void *packed = sqlite3_column_blob(chunks, 1);
		size_t len = (size_t)sqlite3_column_bytes(chunks, 1);
		struct codec_sum chunk;

		if (at < 0 || at >= (int64_t)adding->count) /* keys of a damaged page may be in any order */
			note_damage(adding, window_from, window_to, adding->first, (int64_t)adding->count);
		else if (codec_sum_chunk(packed, len, (unsigned)(window_to - window_from), (unsigned)(from - window_from),
				    (unsigned)(to - window_from), &chunk) < 0)
			note_damage(adding, window_from, window_to, id - CHUNK_ID(window, 0), 1);
		else
			add_chunk(&adding->by_port[at], &chunk);
	}
	sqlite3_reset(chunks);
	return end_rows(adding, result, window_from, window_to);
}

/* Return: 0 or an error. @ret_next: the first sweep that no complete window holds. */
static int add_windows(struct adding *adding, int64_t *ret_next, struct error *err)
{
	sqlite3_stmt *windows = NULL, *chunks = NULL;
	int result = db_prepare(adding->db, "SELECT id, from_sweep, to_sweep, state FROM chunk_window"
				" WHERE to_sweep > ?1 AND state > 0 ORDER BY to_sweep", &windows, err);

	*ret_next = 0;
	if (!result)
		result = db_prepare(adding->db, "SELECT id, samples FROM chunk WHERE id >= ?1 AND id < ?2", &chunks,
				    err);
	if (!result) {
		sqlite3_bind_int64(windows, 1, adding->after + 1);
		while ((result = db_step(windows, err)) > 0) {
			int64_t from = sqlite3_column_int64(windows, 1), to = sqlite3_column_int64(windows, 2);

			if (from > adding->until)
				break;
			*ret_next = to;
			result = 0;
			if (sqlite3_column_int(windows, 3) == WINDOW_COMPLETE && from > 0 && to > adding->after &&
			    to > from && to - from <= CODEC_CHUNK_SWEEPS)
				result = add_window(adding, chunks, sqlite3_column_int64(windows, 0), from, to, err);
			if (result < 0)
				break;
		}
	}
	sqlite3_finalize(windows);
	sqlite3_finalize(chunks);
	return result < 0 ? result : 0;
}

static void add_block(struct adding *adding, int64_t id, const void *packed, size_t len)
{
	int64_t port = id % HOT_BLOCKS * CODEC_BLOCK_PORTS;

	if (hot_read_block(packed, len, adding->samples) < 0) {
		note_damage(adding, id / HOT_BLOCKS, id / HOT_BLOCKS + 1, port, CODEC_BLOCK_PORTS);
		return;
	}
	for (int i = 0; i < CODEC_BLOCK_PORTS; i++, port++)
		if (adding->samples[i].there && port >= adding->first && port < adding->first + (int64_t)adding->count)
			port_sum_add_sample(&adding->by_port[port - adding->first], &adding->samples[i]);
}

/* Blocks of sweeps from @from on. */
static int add_hot(struct adding *adding, int64_t from, struct error *err)
{
	sqlite3_stmt *rows;
	int result = db_prepare(adding->db, "SELECT id, samples FROM hot WHERE id >= ?1 AND id < ?2 ORDER BY id", &rows,
				err);

	if (result < 0)
		return result;
	sqlite3_bind_int64(rows, 1, HOT_ID(from, 0));
	sqlite3_bind_int64(rows, 2, HOT_ID(adding->until + 1, 0));
	while ((result = db_step(rows, err)) > 0)
		add_block(adding, sqlite3_column_int64(rows, 0), sqlite3_column_blob(rows, 1),
			  (size_t)sqlite3_column_bytes(rows, 1));
	result = end_rows(adding, result, from, adding->until + 1);
	sqlite3_finalize(rows);
	return result;
}

static int add_errors(struct adding *adding, struct error *err)
{
	sqlite3_stmt *rows;
	int result = db_prepare(adding->db, "SELECT port, counter, value, marks FROM error"
				" WHERE sweep > ?1 AND sweep <= ?2 AND port >= ?3 AND port < ?4", &rows, err);

	if (result < 0)
		return result;
	sqlite3_bind_int64(rows, 1, adding->after);
	sqlite3_bind_int64(rows, 2, adding->until);
	sqlite3_bind_int64(rows, 3, adding->first);
	sqlite3_bind_int64(rows, 4, adding->first + (int64_t)adding->count);
	while ((result = db_step(rows, err)) > 0) {
		struct port_sum *sum = &adding->by_port[sqlite3_column_int64(rows, 0) - adding->first];
		uint64_t counter = db_u64(rows, 1), value = db_u64(rows, 2);
		int marks = sqlite3_column_int(rows, 3);

		if (!sum->samples || counter >= COUNTER_COUNT)
			continue;
		if (marks & MARK_RESET)
			sum->sum.reset |= COUNTER_BIT(counter);
		if (marks & MARK_SATURATED)
			sum->sum.saturated |= COUNTER_BIT(counter);
		/* Of traffic counters only the marks stand there: their value is in the sample. */
		if (counter >= COUNTER_TRAFFIC_COUNT)
			port_sum_add_value(&sum->sum.value[counter], value);
	}
	sqlite3_finalize(rows);
	return result;
}

int raw_sums_add(sqlite3 *db, int64_t after, int64_t until, uint32_t first, struct port_sum *by_port, size_t count,
		 struct raw_damage *damage, struct error *err)
{
	struct adding adding = { .db = db, .after = after < 0 ? 0 : after, .first = first, .by_port = by_port,
				 .count = count, .damage = damage };
	int64_t newest = 0, next = 0;
	int result = db_integer(db, "SELECT max(id) FROM sweep", 0, &newest, err);

	adding.until = until < newest ? until : newest;
	if (result < 0 || !count || adding.after >= adding.until)
		return result;
	result = add_windows(&adding, &next, err);
	if (!result && next <= adding.until)
		result = add_hot(&adding, next > adding.after ? next : adding.after + 1, err);
	return result ? result : add_errors(&adding, err);
}
