/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* history_errors.c - errors of a window, sweep by sweep: they have rows of their own */
#include "storage/history.h"

#include "base/err.h"
#include "storage/file/db.h"
#include "storage/read/reader_internal.h"
#include "storage/file/schema.h"

static int give_errors(struct reader *reader, const struct history_range *range, history_error_fn *each, void *ctx,
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
	sqlite3_bind_int64(rows, 1, range->after);
	sqlite3_bind_int64(rows, 2, range->until);
	while ((result = db_step(rows, err)) > 0) {
		int64_t counter = sqlite3_column_int64(rows, 3);

		/* Of traffic counters only the marks stand there. */
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
	result = give_errors(reader, &range, each, ctx, err);
	reader_end(reader);
	return result;
}
