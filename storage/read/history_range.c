/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* history_range.c - which sweeps a window of the wall clock holds, where single sweeps may be forgotten already */
#include "storage/history.h"

#include <string.h>

#include "base/err.h"
#include "storage/file/db.h"
#include "storage/read/reader_internal.h"
#include "storage/read/window_plan.h"

static int wall_of(struct reader *reader, int64_t sweep, int64_t *ret, struct error *err)
{
	sqlite3_stmt *row;
	int result = db_prepare(reader->db, "SELECT wall_us FROM sweep WHERE id = ?1", &row, err);

	*ret = 0;
	if (result < 0)
		return result;
	sqlite3_bind_int64(row, 1, sweep);
	result = db_step(row, err);
	if (result > 0)
		*ret = sqlite3_column_int64(row, 0);
	sqlite3_finalize(row);
	return result < 0 ? result : 0;
}

/* The last run of sweeps that one kind of sums has in a range. */
static int find_run(struct reader *reader, const char *sql, const struct history_range *range, int64_t *ret_us,
		    int64_t *ret_sweeps, struct error *err)
{
	sqlite3_stmt *row;
	int result = db_prepare(reader->db, sql, &row, err);

	if (result < 0)
		return result;
	sqlite3_bind_int64(row, 1, range->until);
	result = db_step(row, err);
	if (result > 0 && sqlite3_column_int64(row, 0) > range->after) {
		*ret_us = db_us(row, 1);
		*ret_sweeps = sqlite3_column_int64(row, 2);
	}
	sqlite3_finalize(row);
	return result < 0 ? result : 0;
}

static int find_runs(struct reader *reader, struct history_range *range, struct error *err)
{
	int64_t sweeps;
	int result = find_run(reader, "SELECT from_sweep, to_us - from_us, to_sweep - from_sweep FROM chunk_window"
			  " WHERE to_sweep <= ?1 + 1 AND state > 0 ORDER BY to_sweep DESC LIMIT 1", range,
			  &range->chunk_us, &range->chunk_sweeps, err);

	if (result < 0)
		return result;
	return find_run(reader, "SELECT from_sweep, to_us - from_us, to_sweep - from_sweep FROM hour"
			" WHERE to_sweep <= ?1 + 1 AND state = 1 ORDER BY to_sweep DESC LIMIT 1", range,
			&range->hour_us, &sweeps, err);
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

/* Where a window of sums holds @sweep and what comes behind it, the nearer end of that window. */
static int round_sweep(sqlite3 *db, int64_t *sweep, struct error *err)
{
	sqlite3_stmt *row;
	int result = db_prepare(db, "SELECT from_sweep, to_sweep FROM chunk_window"
				" WHERE to_sweep > ?1 + 1 AND state > 0 ORDER BY to_sweep LIMIT 1", &row, err);

	if (result < 0)
		return result;
	sqlite3_bind_int64(row, 1, *sweep);
	result = db_step(row, err);
	if (result > 0 && sqlite3_column_int64(row, 0) <= *sweep) {
		int64_t before = sqlite3_column_int64(row, 0) - 1, end = sqlite3_column_int64(row, 1) - 1;

		*sweep = end - *sweep < *sweep - before ? end : before;
	}
	sqlite3_finalize(row);
	return result < 0 ? result : 0;
}

static int round_range(struct reader *reader, struct history_range *range, struct error *err)
{
	int64_t after = range->after, until = range->until;
	int result = round_sweep(reader->db, &after, err);

	if (!result)
		result = round_sweep(reader->db, &until, err);
	/* What is shorter than a window stays as it is. */
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
