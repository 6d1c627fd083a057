/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
#include "storage/read/history_plan.h"

#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

#include "base/array.h"
#include "base/err.h"
#include "storage/file/db.h"

struct planner {
	sqlite3_stmt *units[HISTORY_SOURCE_COUNT]; /* windows and hours; none for raw */
	int64_t longest_us;
	struct history_plan *plan;
};

static int add_part(struct planner *planner, const struct plan_part *part, struct error *err)
{
	struct history_plan *plan = planner->plan;
	struct plan_part *parts = array_grow(plan->parts, plan->count, &plan->capacity, sizeof(*parts));

	if (!parts)
		return err_nomem(err);
	plan->parts = parts;
	plan->parts[plan->count++] = *part;
	return 0;
}

/*
 * May a stored sum stand for its sweeps? It must be inside and short enough. Where nothing
 * shorter is kept it is all there is: then it counts where most of it is.
 */
static bool may_stand(const struct planner *planner, const struct plan_part *part, bool only, int64_t after,
		      int64_t until)
{
	int64_t middle = part->from_sweep + (part->to_sweep - 1 - part->from_sweep) / 2;

	if (only)
		return middle > after && middle <= until;
	return part->from_sweep > after && part->to_sweep - 1 <= until &&
	       part->to_us - part->from_us <= planner->longest_us;
}

static int plan_range(struct planner *planner, enum history_source level, int64_t after, int64_t until,
		      struct error *err);

/* The sums of one level that may stand, and what the levels below have between them. */
static int plan_level(struct planner *planner, enum history_source level, int64_t after, int64_t until,
		      struct error *err)
{
	sqlite3_stmt *rows = planner->units[level];
	int64_t at = after;
	int result;

	sqlite3_bind_int64(rows, 1, after + 1);
	while ((result = db_step(rows, err)) > 0) {
		struct plan_part part = {
			.source = level,
			.id = sqlite3_column_int64(rows, 0),
			.from_sweep = sqlite3_column_int64(rows, 1),
			.to_sweep = sqlite3_column_int64(rows, 2),
			.from_us = db_us(rows, 3),
			.to_us = db_us(rows, 4),
		};

		if (part.from_sweep > until)
			break;
		if (!may_stand(planner, &part, sqlite3_column_int(rows, 5) != 0, after, until))
			continue;
		result = plan_range(planner, level - 1, at, part.from_sweep - 1, err);
		if (!result)
			result = add_part(planner, &part, err);
		if (result < 0)
			break;
		at = part.to_sweep - 1;
	}
	sqlite3_reset(rows);
	return result < 0 ? result : plan_range(planner, level - 1, at, until, err);
}

static int plan_range(struct planner *planner, enum history_source level, int64_t after, int64_t until,
		      struct error *err)
{
	if (after >= until)
		return 0;
	if (level != HISTORY_RAW)
		return plan_level(planner, level, after, until, err);
	return add_part(planner, &(struct plan_part){ .source = HISTORY_RAW, .from_sweep = after + 1,
						      .to_sweep = until + 1 }, err);
}

int history_plan_make(sqlite3 *db, int64_t after, int64_t until, int64_t longest_us, struct history_plan *ret,
		      struct error *err)
{
	/* The last column: nothing shorter is kept of these sweeps. */
	static const char windows[] =
		"SELECT id, from_sweep, to_sweep, from_us, to_us, state = 2 FROM chunk_window"
		" WHERE to_sweep > ?1 AND state > 0 ORDER BY to_sweep";
	static const char hours[] =
		"SELECT id, from_sweep, to_sweep, from_us, to_us, NOT EXISTS (SELECT 1 FROM chunk_window w"
		" WHERE w.id >= h.from_window AND w.id < h.to_window) FROM hour h"
		" WHERE to_sweep > ?1 AND state = 1 ORDER BY to_sweep";
	struct planner planner = { .longest_us = longest_us, .plan = ret };
	int result;

	memset(ret, 0, sizeof(*ret));
	result = db_prepare(db, windows, &planner.units[HISTORY_CHUNK_SUMS], err);
	if (!result)
		result = db_prepare(db, hours, &planner.units[HISTORY_HOUR_SUMS], err);
	if (!result)
		result = plan_range(&planner, HISTORY_HOUR_SUMS, after, until, err);
	sqlite3_finalize(planner.units[HISTORY_CHUNK_SUMS]);
	sqlite3_finalize(planner.units[HISTORY_HOUR_SUMS]);
	return result;
}

void history_plan_done(struct history_plan *plan)
{
	free(plan->parts);
	memset(plan, 0, sizeof(*plan));
}
