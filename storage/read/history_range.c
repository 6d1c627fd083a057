/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* history_range.c - the sweeps of a window of the wall clock, and the errors in them */
#include "storage/history.h"

#include <string.h>

#include "base/err.h"
#include "storage/file/db.h"
#include "storage/file/schema.h"
#include "storage/read/reader_internal.h"
#include "storage/read/window_plan.h"

static int wall_of(struct reader *reader, int64_t sweep, int64_t *ret, struct error *err)
{
	int result = db_row(reader->db, "SELECT wall_us FROM sweep WHERE id = ?1", &sweep, 1, ret, 1, err);

	return result < 0 ? result : 0;
}

/* The lengths of the last window and the last hour in a range. */
static int find_runs(struct reader *reader, struct history_range *range, struct error *err)
{
	static const char *const sql[] = {
		"SELECT from_sweep, to_us - from_us, to_sweep - from_sweep FROM chunk_window"
		" WHERE to_sweep <= ?1 + 1 AND state > 0 ORDER BY to_sweep DESC LIMIT 1",
		"SELECT from_sweep, to_us - from_us, to_sweep - from_sweep FROM hour"
		" WHERE to_sweep <= ?1 + 1 AND state = 1 ORDER BY to_sweep DESC LIMIT 1",
	};

	for (int hour = 0; hour < 2; hour++) {
		int64_t run[3] = { 0 };
		int result = db_row(reader->db, sql[hour], &range->until, 1, run, 3, err);

		if (result < 0)
			return result;
		if (run[0] <= range->after)
			continue;
		*(hour ? &range->hour_us : &range->chunk_us) = run[1];
		if (!hour)
			range->chunk_sweeps = run[2];
	}
	return 0;
}

static int find_range(struct reader *reader, int64_t since_us, int64_t until_us, struct history_range *ret,
		      struct error *err)
{
	static const char oldest[] =
		"SELECT coalesce((SELECT from_us FROM hour WHERE state = 1 ORDER BY id LIMIT 1), (SELECT from_us FROM"
		" chunk_window WHERE state > 0 ORDER BY id LIMIT 1), (SELECT wall_us FROM sweep ORDER BY id LIMIT 1))";
	int64_t newest;
	int result = reader_newest_id(reader, &newest, err);

	memset(ret, 0, sizeof(*ret));
	if (!result)
		result = wall_of(reader, newest, &ret->newest_us, err);
	if (!result)
		result = db_integer(reader->db, oldest, 0, &ret->oldest_us, err);
	if (!result)
		result = window_find_sweeps(reader->db, since_us, until_us ? until_us : INT64_MAX, &ret->after,
					    &ret->until, err);
	if (result < 0 || ret->after >= ret->until)
		return result;
	result = wall_of(reader, ret->after + 1, &ret->first_us, err);
	if (!result)
		result = wall_of(reader, ret->until, &ret->last_us, err);
	return result ? result : find_runs(reader, ret, err);
}

/* Where a window of sums contains @sweep and the next one: the nearer end of that window. */
static int round_sweep(sqlite3 *db, int64_t *sweep, struct error *err)
{
	int64_t run[2];
	int result = db_row(db, "SELECT from_sweep - 1, to_sweep - 1 FROM chunk_window"
			    " WHERE to_sweep > ?1 + 1 AND state > 0 ORDER BY to_sweep LIMIT 1", sweep, 1, run, 2, err);

	if (result > 0 && run[0] < *sweep)
		*sweep = run[1] - *sweep < *sweep - run[0] ? run[1] : run[0];
	return result < 0 ? result : 0;
}

static int round_range(struct reader *reader, struct history_range *range, struct error *err)
{
	int64_t after = range->after, until = range->until;
	int result = round_sweep(reader->db, &after, err);

	if (!result)
		result = round_sweep(reader->db, &until, err);
	/* A range that is shorter than a window stays as it is. */
	if (result < 0 || after >= until)
		return result;
	range->after = after;
	range->until = until;
	result = wall_of(reader, after + 1, &range->first_us, err);
	return result ? result : wall_of(reader, until, &range->last_us, err);
}

int reader_history_round(struct reader *reader, struct history_range *range, struct error *err)
{
	int result = reader_begin(reader, err);

	if (result < 0)
		return result;
	result = round_range(reader, range, err);
	reader_end(reader);
	return result;
}

int reader_history_range(struct reader *reader, int64_t since_us, int64_t until_us, struct history_range *ret,
			 struct error *err)
{
	struct history_range range;
	int result = reader_begin(reader, err);

	if (result < 0)
		return result;
	result = find_range(reader, since_us, until_us, &range, err);
	reader_end(reader);
	if (!result)
		*ret = range;
	return result;
}

static int report_errors(struct reader *reader, const struct history_range *range, history_error_fn *each, void *ctx,
		       struct error *err)
{
	static const char sql[] =
		"SELECT s.wall_us, n.guid, p.number, e.counter, e.value, e.marks FROM sweep s"
		" CROSS JOIN error e ON e.sweep = s.id CROSS JOIN port p ON p.id = e.port"
		" CROSS JOIN node n ON n.id = p.node WHERE s.id > ?1 AND s.id <= ?2 ORDER BY s.id";
	struct history_error error;
	sqlite3_stmt *rows;
	int result = db_prepare(reader->db, sql, &rows, err);

	if (result < 0)
		return result;
	DB_BIND(rows, 1, range->after, range->until);
	while ((result = db_step(rows, err)) > 0) {
		int64_t counter = sqlite3_column_int64(rows, 3);

		/* Rows of traffic counters have only marks. */
		if (counter < COUNTER_TRAFFIC_COUNT || counter >= COUNTER_COUNT)
			continue;
		error = (struct history_error){
			.who = { db_u64(rows, 1), (uint8_t)sqlite3_column_int(rows, 2) },
			.wall_us = db_us(rows, 0), .counter = (enum counter)counter,
			.value = db_u64(rows, 4),
			.at_least = (sqlite3_column_int(rows, 5) & (MARK_RESET | MARK_SATURATED)) != 0,
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
