/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* history_range.c - the sweeps of a window of the wall clock, and the errors in them */
#include "storage/history.h"

#include "base/err.h"
#include "storage/file/db.h"
#include "storage/file/schema.h"
#include "storage/read/reader_internal.h"
#include "storage/read/window_plan.h"

/* Share of a range by which deltas may be longer than it. */
#define RANGE_SPREAD 0.05

bool history_began_before(const struct history_range *range, int64_t elapsed_us)
{
	int64_t length_us = range->last_us - range->before_us;

	return range->before_us && length_us > 0 && (double)elapsed_us > (1 + RANGE_SPREAD) * (double)length_us;
}

int64_t history_covered_us(const struct history_range *range, int64_t longest_us)
{
	int64_t length_us = range->last_us - range->before_us;

	return range->before_us && length_us > 0 && length_us < longest_us ? length_us : longest_us;
}

/* Sets all but the sweeps of a range. */
static int describe_range(struct reader *reader, struct history_range *range, struct error *err)
{
	static const char sql[] =
		"SELECT (SELECT wall_us FROM sweep ORDER BY id DESC LIMIT 1), coalesce((SELECT from_us FROM hour WHERE"
		" state = 1 ORDER BY id LIMIT 1), (SELECT from_us FROM chunk_window WHERE state > 0 ORDER BY id"
		" LIMIT 1), (SELECT wall_us FROM sweep ORDER BY id LIMIT 1)), coalesce((SELECT wall_us FROM sweep"
		" WHERE id = ?1 + 1 AND id <= ?2), (SELECT from_us FROM chunk_window WHERE from_sweep = ?1 + 1"
		" AND to_sweep <= ?2 + 1 AND state > 0), (SELECT from_us FROM hour WHERE from_sweep = ?1 + 1"
		" AND to_sweep <= ?2 + 1 AND state = 1)), coalesce((SELECT wall_us FROM sweep WHERE id = ?2"
		" AND id > ?1), (SELECT to_us FROM chunk_window WHERE to_sweep = ?2 + 1 AND from_sweep > ?1"
		" AND state > 0), (SELECT to_us FROM hour WHERE to_sweep = ?2 + 1 AND from_sweep > ?1 AND state = 1)),"
		" w.to_us - w.from_us, w.to_sweep - w.from_sweep, h.to_us - h.from_us,"
		" (SELECT wall_us FROM sweep WHERE id = ?1) FROM (SELECT 1)"
		" LEFT JOIN chunk_window w ON w.from_sweep > ?1 AND w.id = (SELECT id FROM chunk_window WHERE"
		" to_sweep <= ?2 + 1 AND state > 0 ORDER BY to_sweep DESC LIMIT 1)"
		" LEFT JOIN hour h ON h.from_sweep > ?1 AND h.id = (SELECT id FROM hour WHERE"
		" to_sweep <= ?2 + 1 AND state = 1 ORDER BY to_sweep DESC LIMIT 1)";
	int64_t row[8];
	int result = reader->range ? 0 : db_prepare(reader->db, sql, &reader->range, err);

	if (result < 0)
		return result;
	DB_BIND(reader->range, 1, range->after, range->until);
	result = db_step(reader->range, err);
	for (int i = 0; result > 0 && i < 8; i++)
		row[i] = db_us(reader->range, i);
	sqlite3_reset(reader->range);
	if (result > 0)
		*range = (struct history_range){
			.after = range->after, .until = range->until, .newest_us = row[0],
			.oldest_us = range->since_us ? range->oldest_us : row[1],
			.first_us = row[2], .last_us = row[3], .chunk_us = row[4], .chunk_sweeps = row[5],
			.hour_us = row[6], .before_us = row[7], .since_us = range->since_us,
		};
	return result < 0 ? result : 0;
}

/*
 * Where a stored sum contains @sweep and the next one: its nearer end.
 * @needed: only if there is nothing else of its sweeps
 */
static int round_sweep(sqlite3 *db, int64_t *sweep, bool needed, struct error *err)
{
	static const char sql[] =
		"SELECT from_sweep - 1, to_sweep - 1 FROM (SELECT from_sweep, to_sweep, state FROM chunk_window"
		" UNION ALL SELECT from_sweep, to_sweep, 2 FROM hour WHERE state = 1 AND to_sweep <= coalesce("
		"(SELECT min(from_sweep) FROM chunk_window), to_sweep)) WHERE to_sweep > ?1 + 1 AND state > ?2"
		" ORDER BY to_sweep LIMIT 1";
	const int64_t args[] = { *sweep, needed ? WINDOW_COMPLETE : WINDOW_WRITING };
	int64_t run[2];
	int result = db_row(db, sql, args, 2, run, 2, err);

	if (result > 0 && run[0] < *sweep)
		*sweep = run[1] - *sweep < *sweep - run[0] ? run[1] : run[0];
	return result < 0 ? result : 0;
}

static int round_range(struct reader *reader, struct history_range *range, int64_t least, struct error *err)
{
	int64_t after = range->after, until = range->until;
	bool needed = until - after < least;
	int result = round_sweep(reader->db, &after, needed, err);

	if (!result)
		result = round_sweep(reader->db, &until, needed, err);
	/* A range that is shorter than a window stays as it is. */
	if (result < 0 || after >= until)
		return result;
	range->after = after;
	range->until = until;
	return describe_range(reader, range, err);
}

int reader_history_round(struct reader *reader, struct history_range *range, int64_t least, struct error *err)
{
	int result = reader_begin(reader, err);

	if (result < 0)
		return result;
	result = round_range(reader, range, least, err);
	reader_end(reader);
	return result;
}

/*
 * Where a window begins. The sweeps of a collector that started with a wrong clock are not in the order of their wall
 * clocks, so the first stored one, which is found faster, is not always the oldest.
 */
static int find_start(sqlite3 *db, int64_t since_us, int64_t until_us, struct history_range *range, struct error *err)
{
	static const char sql[] =
		"SELECT min(us) FROM (SELECT min(from_us) AS us FROM hour WHERE state = 1 UNION ALL"
		" SELECT min(from_us) FROM chunk_window WHERE state > 0 UNION ALL SELECT min(wall_us) FROM sweep)";
	int result = range->oldest_us > since_us ? db_row(db, sql, NULL, 0, &range->oldest_us, 1, err) : 0;

	range->since_us = range->oldest_us > since_us && range->oldest_us < until_us ? range->oldest_us : since_us;
	return result < 0 ? result : 0;
}

int reader_history_range(struct reader *reader, int64_t since_us, int64_t until_us, struct history_range *ret,
			 struct error *err)
{
	struct history_range range = { 0 };
	int result = reader_begin(reader, err);

	if (result < 0)
		return result;
	until_us = until_us ? until_us : INT64_MAX;
	result = window_find_sweeps(reader->db, since_us, until_us, &range.after, &range.until, err);
	if (!result)
		result = describe_range(reader, &range, err);
	if (!result)
		result = find_start(reader->db, since_us, until_us, &range, err);
	reader_end(reader);
	if (!result)
		*ret = range;
	return result;
}

static int report_errors(struct reader *reader, const struct history_range *range, history_error_fn *each, void *ctx,
		       struct error *err)
{
	static const char sql[] =
		"SELECT s.wall_us, n.guid, p.number, e.counter, e.value, e.marks OR EXISTS (SELECT 1 FROM error r"
		" WHERE r.sweep = e.sweep AND r.port = e.port AND r.marks & ?3) FROM sweep s"
		" CROSS JOIN error e ON e.sweep = s.id CROSS JOIN port p ON p.id = e.port"
		" CROSS JOIN node n ON n.id = p.node WHERE s.id > ?1 AND s.id <= ?2 ORDER BY s.id";
	struct history_error error;
	sqlite3_stmt *rows;
	int result = db_prepare(reader->db, sql, &rows, err);

	if (result < 0)
		return result;
	DB_BIND(rows, 1, range->after, range->until, MARK_RESET);
	while ((result = db_step(rows, err)) > 0) {
		int64_t counter = sqlite3_column_int64(rows, 3);

		/* Rows of traffic counters have only marks. */
		if (counter < COUNTER_TRAFFIC_COUNT || counter >= COUNTER_COUNT)
			continue;
		error = (struct history_error){
			.who = { db_u64(rows, 1), (uint8_t)sqlite3_column_int(rows, 2) },
			.wall_us = db_us(rows, 0), .counter = (enum counter)counter,
			.value = db_u64(rows, 4),
			.at_least = sqlite3_column_int(rows, 5) != 0,
		};
		if (!each(ctx, &error))
			break;
	}
	sqlite3_finalize(rows);
	return result < 0 ? result : 0;
}

int reader_history_errors(struct reader *reader, int64_t since_us, int64_t until_us, history_error_fn *each, void *ctx,
			  struct error *err)
{
	struct history_range range;
	int result = reader_history_range(reader, since_us, until_us, &range, err);

	if (!result)
		result = reader_begin(reader, err);
	if (result < 0)
		return result;
	result = report_errors(reader, &range, each, ctx, err);
	reader_end(reader);
	return result;
}
