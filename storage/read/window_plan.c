/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
#include "storage/read/window_plan.h"

#include <stdio.h>

#include "base/err.h"
#include "storage/codec/codec.h"
#include "storage/file/db.h"
#include "storage/file/schema.h"

/* The last column: are the parts of the sum no longer stored? */
static const char find_window[] =
	"SELECT id, from_sweep, to_sweep, from_us, to_us, state = 2 FROM chunk_window"
	" WHERE to_sweep > ?1 AND state > 0 ORDER BY to_sweep";

/*
 * The windows of an hour expire in their order. Once the sums of the first are being removed, those of
 * the others no longer count: the parts of an hour are stored all together or not at all. (next_port 1 is
 * WINDOW_SUMS_EXPIRING.)
 */
#define HOUR_EXPIRED "NOT EXISTS (SELECT 1 FROM chunk_window w WHERE w.id = h.from_window AND w.next_port <> 1)"

static const char find_hour[] =
	"SELECT id, from_sweep, to_sweep, from_us, to_us, " HOUR_EXPIRED " FROM hour h"
	" WHERE to_sweep > ?1 AND state = 1 ORDER BY to_sweep";

int window_plan_begin(struct window_plan *plan, sqlite3 *db, int64_t after, int64_t until, int64_t longest_us,
		      struct error *err)
{
	int64_t newest = 0;
	int result = db_integer(db, "SELECT max(id) FROM sweep", 0, &newest, err);

	*plan = (struct window_plan){ .db = db, .at = after < 0 ? 1 : after + 1,
				      .until = until < newest ? until : newest, .longest_us = longest_us };
	if (!result)
		result = db_prepare(db, find_window, &plan->find_window, err);
	return result ? result : db_prepare(db, find_hour, &plan->find_hour, err);
}

void window_plan_end(struct window_plan *plan)
{
	sqlite3_finalize(plan->find_window);
	sqlite3_finalize(plan->find_hour);
}

/* The only check of ids and sweeps of a row: they cannot overflow in calculations, and the plan always advances. */
static bool is_valid(const struct plan_unit *unit, int64_t at)
{
	return unit->id >= 1 && unit->id <= SCHEMA_SWEEPS && unit->from_sweep >= 1 &&
	       unit->to_sweep > unit->from_sweep && unit->to_sweep > at && unit->to_sweep <= SCHEMA_SWEEPS;
}

/* The first window or hour that ends after sweep `at`; without one its sweeps are INT64_MAX. */
static int find_unit(struct window_plan *plan, sqlite3_stmt *find, struct plan_unit *unit, struct error *err)
{
	int result;

	if (unit->to_sweep > plan->at)
		return 0;
	/* Nearly always the row after the previous one. A search for each takes 2.5 times as long. */
	if (unit->to_sweep < plan->at) {
		sqlite3_reset(find);
		sqlite3_bind_int64(find, 1, plan->at);
	}
	*unit = (struct plan_unit){ .from_sweep = INT64_MAX, .to_sweep = INT64_MAX };
	do
		result = db_step(find, err);
	while (result > 0 && sqlite3_column_int64(find, 2) <= plan->at);
	if (result > 0) {
		*unit = (struct plan_unit){
			.id = sqlite3_column_int64(find, 0), .from_sweep = sqlite3_column_int64(find, 1),
			.to_sweep = sqlite3_column_int64(find, 2), .from_us = db_us(find, 3), .to_us = db_us(find, 4),
			.expired = sqlite3_column_int(find, 5) != 0,
		};
		result = 0;
		if (!is_valid(unit, plan->at) ||
		    (unit == &plan->window && unit->to_sweep - unit->from_sweep > CODEC_CHUNK_SWEEPS))
			result = err_set(err, ERR_IO, "%s is damaged (%s %lld has an impossible range of sweeps); "
					 "restore a backup", sqlite3_db_filename(plan->db, "main"),
					 unit == &plan->window ? "window" : "hour", (long long)unit->id);
	}
	return result;
}

/* Does the sum of a window or hour cover the sweeps from `at` on? */
static bool use_sum(const struct window_plan *plan, const struct plan_unit *unit)
{
	int64_t span_us = unit->to_us - unit->from_us;

	if (unit->expired)
		return unit->from_sweep <= plan->at;
	/* A negative length: the wall clock was set back. */
	return unit->from_sweep == plan->at && unit->to_sweep - 1 <= plan->until &&
	       (plan->longest_us == PLAN_ANY_SUM || (span_us >= 0 && span_us <= plan->longest_us));
}

/* The part of a window or hour whose sum is used. Return: 1, or 0 at the end of the plan. */
static int next_sum(struct window_plan *plan, enum plan_source source, const struct plan_unit *unit,
		    struct plan_part *ret)
{
	/* An expired sum that ends after the range belongs to a later range, with all sweeps until its end. */
	if (unit->to_sweep - 1 > plan->until)
		return 0;
	*ret = (struct plan_part){ .source = source, .from_sweep = unit->from_sweep, .to_sweep = unit->to_sweep,
				   .unit = *unit };
	plan->at = unit->to_sweep;
	return 1;
}

static int next_samples(struct window_plan *plan, enum plan_source source, const struct plan_unit *unit,
			struct plan_part *ret)
{
	int64_t end = unit->to_sweep - 1 < plan->until ? unit->to_sweep : plan->until + 1;

	*ret = (struct plan_part){ .source = source, .from_sweep = plan->at, .to_sweep = end, .unit = *unit };
	plan->at = end;
	return 1;
}

int window_plan_next(struct window_plan *plan, struct plan_part *ret, struct error *err)
{
	const struct plan_unit *window = &plan->window, *hour = &plan->hour;
	int64_t next;

	while (plan->at <= plan->until) {
		int result = find_unit(plan, plan->find_hour, &plan->hour, err);

		if (!result)
			result = find_unit(plan, plan->find_window, &plan->window, err);
		if (result < 0)
			return result;
		if (use_sum(plan, hour))
			return next_sum(plan, PLAN_HOUR_SUMS, hour, ret);
		if (use_sum(plan, window))
			return next_sum(plan, PLAN_WINDOW_SUMS, window, ret);
		if (window->from_sweep <= plan->at)
			return next_samples(plan, PLAN_CHUNKS, window, ret);
		next = hour->from_sweep > plan->at && hour->from_sweep < window->from_sweep ? hour->from_sweep :
		       window->from_sweep;
		if (next == INT64_MAX)
			return next_samples(plan, PLAN_HOT, window, ret);
		/* Nothing is stored of the sweeps before the first window. */
		plan->at = next;
	}
	return 0;
}

/* The last sweep labelled at or before a time, INT64_MAX: the newest; 0: there is none. */
static int last_sweep(sqlite3 *db, int64_t at_us, int64_t *ret, struct error *err)
{
	static const char newest[] = "SELECT id FROM sweep ORDER BY id DESC LIMIT 1";
	static const char by_label[] =
		"SELECT id FROM sweep WHERE wall_us <= ?1 ORDER BY wall_us DESC, id DESC LIMIT 1";
	int result;

	*ret = 0;
	result = at_us == INT64_MAX ? db_row(db, newest, NULL, 0, ret, 1, err) :
		 db_row(db, by_label, &at_us, 1, ret, 1, err);
	return result < 0 ? result : 0;
}

int window_moment_sweep(sqlite3 *db, int64_t at_us, int64_t *ret, struct error *err)
{
	/* Not inside of a window or hour whose parts have expired: the first that ends after the sweep. */
	static const char sql[] =
		"SELECT s.id FROM sweep s WHERE s.wall_us <= ?1"
		" AND NOT coalesce((SELECT w.from_sweep <= s.id AND w.state = 2 FROM chunk_window w"
		" WHERE w.to_sweep > s.id + 1 AND w.state > 0 ORDER BY w.to_sweep LIMIT 1), 0)"
		" AND NOT coalesce((SELECT h.from_sweep <= s.id AND " HOUR_EXPIRED " FROM hour h"
		" WHERE h.to_sweep > s.id + 1 AND h.state = 1 ORDER BY h.to_sweep LIMIT 1), 0)"
		" ORDER BY s.wall_us DESC, s.id DESC LIMIT 1";
	int result = at_us == INT64_MAX ? 0 : db_row(db, sql, &at_us, 1, ret, 1, err);

	return result ? result < 0 ? result : 0 : last_sweep(db, at_us, ret, err);
}

int window_sweep_before(sqlite3 *db, int64_t sweep, int64_t at_us, int64_t *ret, struct error *err)
{
	int result;

	*ret = 0;
	result = db_row(db, "SELECT id FROM sweep WHERE id <= ?1 AND +wall_us <= ?2 ORDER BY id DESC LIMIT 1",
			(int64_t[]){ sweep, at_us }, 2, ret, 1, err);
	return result < 0 ? result : 0;
}

int window_find_sweeps(sqlite3 *db, int64_t since_us, int64_t until_us, int64_t *ret_after, int64_t *ret_until,
		       struct error *err)
{
	int64_t after, until;
	int result = last_sweep(db, until_us, &until, err);

	if (!result)
		result = last_sweep(db, since_us, &after, err);
	/* The wall clock was set back in between. */
	if (!result && after > until && since_us < until_us)
		result = window_sweep_before(db, until, since_us, &after, err);
	if (result < 0)
		return result;
	*ret_until = until;
	*ret_after = after < until ? after : until;
	return 0;
}

void packed_begin(struct packed_reader *reader, sqlite3 *db, const uint32_t *ports, size_t port_count)
{
	*reader = (struct packed_reader){ .db = db, .ports = ports, .port_count = port_count,
					   .to_port = (uint32_t)HISTORY_PORTS };
}

void packed_end(struct packed_reader *reader)
{
	sqlite3_finalize(reader->chunks);
	sqlite3_finalize(reader->hot);
	sqlite3_finalize(reader->next_hot);
}

/* The file is damaged there, so its rows are skipped; other errors end the read. */
static bool is_damage(const struct packed_reader *reader)
{
	return (sqlite3_errcode(reader->db) & 0xff) == SQLITE_CORRUPT;
}

static void note_damage(struct packed_reader *reader, const struct packed_row *row)
{
	if (!reader->damage.count++)
		snprintf(reader->damage.first, sizeof(reader->damage.first), "sweeps %lld to %lld of ports %u to %u",
			 (long long)row->from_sweep, (long long)row->to_sweep - 1, row->from_port, row->to_port - 1);
	if (reader->on_damage)
		reader->on_damage(reader->on_damage_ctx, row->from_sweep, row->to_sweep, row->from_port, row->to_port);
}

/* The rows with ids in [@from, @to) of chunk or hot; @all: the sweeps and ports that they can hold. */
static int read_rows(struct packed_reader *reader, sqlite3_stmt *rows, int64_t from, int64_t to,
		     const struct packed_row *all, packed_fn *each, void *ctx, struct error *err)
{
	int result;

	DB_BIND(rows, 1, from, to);
	while ((result = db_step(rows, err)) > 0) {
		int64_t id = sqlite3_column_int64(rows, 0);
		struct packed_row row = *all;

		if (rows == reader->hot) {
			row.from_sweep = id / HOT_BLOCKS;
			row.to_sweep = row.from_sweep + 1;
			row.from_port = (uint32_t)(id % HOT_BLOCKS) * CODEC_BLOCK_PORTS;
			row.to_port = row.from_port + CODEC_BLOCK_PORTS;
		} else {
			row.from_port = (uint32_t)(id % HISTORY_PORTS);
			row.to_port = row.from_port + 1;
		}
		row.data = sqlite3_column_blob(rows, 1);
		row.len = (size_t)sqlite3_column_bytes(rows, 1);
		result = each(ctx, &row, err);
		if (result < 0) {
			sqlite3_reset(rows);
			return result;
		}
		if (result == PACKED_DAMAGED)
			note_damage(reader, &row);
	}
	if (result < 0 && is_damage(reader)) {
		note_damage(reader, all);
		result = 0;
	}
	sqlite3_reset(rows);
	return result;
}

static int read_chunks(struct packed_reader *reader, const struct plan_unit *window, packed_fn *each, void *ctx,
		       struct error *err)
{
	struct packed_row row = { .from_sweep = window->from_sweep, .to_sweep = window->to_sweep,
				  .from_port = reader->from_port, .to_port = reader->to_port };
	int result = 0;

	if (!reader->ports)
		return read_rows(reader, reader->chunks, CHUNK_ID(window->id, row.from_port),
				 CHUNK_ID(window->id, row.to_port), &row, each, ctx, err);
	for (size_t i = 0; !result && i < reader->port_count; i++) {
		row.from_port = reader->ports[i];
		row.to_port = row.from_port + 1;
		result = read_rows(reader, reader->chunks, CHUNK_ID(window->id, row.from_port),
				   CHUNK_ID(window->id, row.to_port), &row, each, ctx, err);
	}
	return result;
}

/* The blocks of the listed ports in one sweep. */
static int read_blocks(struct packed_reader *reader, int64_t sweep, packed_fn *each, void *ctx, struct error *err)
{
	struct packed_row row = { .from_sweep = sweep, .to_sweep = sweep + 1 };
	int64_t before = -1;
	int result = 0;

	for (size_t i = 0; !result && i < reader->port_count; i++) {
		int64_t block = reader->ports[i] / CODEC_BLOCK_PORTS;

		row.from_port = (uint32_t)block * CODEC_BLOCK_PORTS;
		row.to_port = row.from_port + CODEC_BLOCK_PORTS;
		if (block != before)
			result = read_rows(reader, reader->hot, HOT_ID(sweep, block), HOT_ID(sweep, block + 1), &row,
					   each, ctx, err);
		before = block;
	}
	return result;
}

int packed_next_hot(struct packed_reader *reader, int64_t sweep, int64_t absent, int64_t *ret, struct error *err)
{
	int64_t next = absent;
	int result = reader->next_hot ? 0 : db_prepare(reader->db, "SELECT id FROM hot WHERE id >= ?1 ORDER BY id"
						       " LIMIT 1", &reader->next_hot, err);

	if (result < 0)
		return result;
	sqlite3_bind_int64(reader->next_hot, 1, HOT_ID(sweep, 0));
	result = db_step(reader->next_hot, err);
	if (result > 0)
		next = sqlite3_column_int64(reader->next_hot, 0) / HOT_BLOCKS;
	sqlite3_reset(reader->next_hot);
	/* After a damaged page each sweep is tried. */
	if (result < 0 && is_damage(reader))
		result = db_row(reader->db, "SELECT id FROM sweep WHERE id >= ?1 ORDER BY id LIMIT 1", &sweep, 1, &next,
				1, err);
	*ret = next > sweep ? next : sweep;
	return result < 0 ? result : 0;
}

int packed_read(struct packed_reader *reader, const struct plan_part *part, packed_fn *each, void *ctx,
		struct error *err)
{
	struct packed_row all = { .from_port = reader->from_port, .to_port = reader->to_port };
	int64_t blocks_end = (reader->to_port + CODEC_BLOCK_PORTS - 1) / CODEC_BLOCK_PORTS;
	sqlite3_stmt **rows = part->source == PLAN_CHUNKS ? &reader->chunks : &reader->hot;
	int result = *rows ? 0 : db_prepare(reader->db, part->source == PLAN_CHUNKS ?
					    "SELECT id, samples FROM chunk WHERE id >= ?1 AND id < ?2 ORDER BY id" :
					    "SELECT id, samples FROM hot WHERE id >= ?1 AND id < ?2 ORDER BY id",
					    rows, err);

	if (result < 0)
		return result;
	if (part->source == PLAN_CHUNKS)
		return read_chunks(reader, &part->unit, each, ctx, err);
	for (int64_t sweep = part->from_sweep; !result && sweep < part->to_sweep; sweep++) {
		result = packed_next_hot(reader, sweep, part->to_sweep, &sweep, err);
		if (result < 0 || sweep >= part->to_sweep)
			break;
		all.from_sweep = sweep;
		all.to_sweep = sweep + 1;
		result = reader->ports ? read_blocks(reader, sweep, each, ctx, err) :
			 read_rows(reader, reader->hot, HOT_ID(sweep, reader->from_port / CODEC_BLOCK_PORTS),
				   HOT_ID(sweep, blocks_end), &all, each, ctx, err);
	}
	return result;
}

size_t ports_find(const uint32_t *ports, size_t count, uint64_t port)
{
	size_t low = 0, high = count;

	while (low < high) {
		size_t middle = (low + high) / 2;

		if (ports[middle] == port)
			return middle;
		if (ports[middle] < port)
			low = middle + 1;
		else
			high = middle;
	}
	return count;
}
