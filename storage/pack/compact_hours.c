/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* compact_hours.c - the sums of the windows that began in one hour of the wall clock */
#include "storage/pack/compact.h"

#include <string.h>

#include "base/clock.h"
#include "base/err.h"
#include "storage/file/db.h"
#include "storage/file/schema.h"

#define US_PER_HOUR (3600 * US_PER_S)

/* Limit of the windows of an hour, also if the wall clock stops. */
#define HOUR_WINDOWS 256

struct hour {
	int64_t id, from_window, to_window, from_sweep, to_sweep, from_us, to_us, next_port;
};

/* An unfinished hour. Return: 1, 0 without one, or an error. */
static int find_unfinished(sqlite3 *db, struct hour *ret, struct error *err)
{
	int64_t row[4];
	int result = db_row(db, "SELECT id, from_window, to_window, next_port FROM hour WHERE state = 0"
			    " ORDER BY id DESC LIMIT 1", NULL, 0, row, 4, err);

	if (result <= 0)
		return result;
	if (row[1] < 1 || row[2] > SCHEMA_SWEEPS || row[2] - row[1] > HOUR_WINDOWS || row[3] < 0 ||
	    row[3] >= HISTORY_PORTS || row[3] % COMPACT_PORTS)
		return err_set(err, ERR_IO, "%s is damaged (hour %lld has impossible windows or ports); restore a "
			       "backup", sqlite3_db_filename(db, "main"), (long long)row[0]);
	*ret = (struct hour){ .id = row[0], .from_window = row[1], .to_window = row[2], .next_port = row[3] };
	return 1;
}

/* The windows of the hour that begins with window @from, if a later one exists. Return: 1, 0 or an error. */
static int find_windows(sqlite3 *db, int64_t from, struct hour *ret, struct error *err)
{
	sqlite3_stmt *rows;
	bool full = false;
	int result = db_prepare(db, "SELECT id, from_sweep, to_sweep, from_us, to_us FROM chunk_window"
				" WHERE id >= ? AND state > 0 ORDER BY id", &rows, err);

	if (result < 0)
		return result;
	sqlite3_bind_int64(rows, 1, from);
	while (!full && (result = db_step(rows, err)) > 0) {
		int64_t id = sqlite3_column_int64(rows, 0), from_us = db_us(rows, 3);

		if (!ret->from_window) {
			ret->from_window = id;
			ret->from_sweep = sqlite3_column_int64(rows, 1);
			ret->from_us = from_us;
		} else if (from_us / US_PER_HOUR != ret->from_us / US_PER_HOUR ||
			   id - ret->from_window >= HOUR_WINDOWS) {
			full = true;
			break;
		}
		ret->to_window = id + 1;
		ret->to_sweep = sqlite3_column_int64(rows, 2);
		ret->to_us = db_us(rows, 4);
	}
	sqlite3_finalize(rows);
	return result < 0 ? result : full;
}

/* Begin the next hour, if it is over. Return: 1, 0 if not, or an error. */
static int find_next(struct compaction *compaction, struct hour *hour, struct error *err)
{
	sqlite3 *db = compaction->db;
	int64_t last[2];
	int result = db_row(db, "SELECT max(id), max(to_window) FROM hour", NULL, 0, last, 2, err);

	if (result > 0)
		result = find_windows(db, last[1], hour, err);
	if (result <= 0)
		return result;
	hour->id = last[0] + 1;
	result = compact_begin(compaction, err);
	if (!result)
		result = db_row(db, "INSERT INTO hour (id, from_sweep, to_sweep, from_us, to_us, from_window,"
				" to_window, state, next_port) VALUES (?, ?, ?, ?, ?, ?, ?, 0, 0)",
				(int64_t[]){ hour->id, hour->from_sweep, hour->to_sweep, hour->from_us, hour->to_us,
					     hour->from_window, hour->to_window }, 7, NULL, 0, err);
	result = compact_end(compaction, result, err);
	return result ? result : 1;
}

/* Adds up the windows of the hour for the ports of this step. */
static int read_windows(struct compaction *compaction, const struct hour *hour, struct error *err)
{
	struct plan_part window = { .source = PLAN_WINDOW_SUMS, .unit.id = hour->from_window };
	struct sums_reader reader;
	int result = sums_begin(&reader, compaction->db, &(struct sums_query){ 0 }, (uint32_t)hour->next_port,
				compaction->port_sums, COMPACT_PORTS, err);

	for (; !result && window.unit.id < hour->to_window; window.unit.id++)
		result = sums_add(&reader, &window, err);
	sums_end(&reader);
	return result;
}

int compact_hours(struct compaction *compaction, struct error *err)
{
	struct hour hour = { 0 };
	int64_t ports = 0;
	int result = find_unfinished(compaction->db, &hour, err);

	if (!result)
		result = find_next(compaction, &hour, err);
	if (result <= 0)
		return result;
	result = db_integer(compaction->db, "SELECT max(id) FROM port", 0, &ports, err);
	if (result < 0)
		return result;
	memset(compaction->port_sums, 0, sizeof(compaction->port_sums));
	result = read_windows(compaction, &hour, err);
	if (!result)
		result = compact_begin(compaction, err);
	if (result < 0)
		return result;
	compaction->sum_unit = hour.id;
	compaction->next_port = (uint32_t)hour.next_port;
	result = compact_write_sums(compaction, WRITE_HOUR_SUMS, WRITE_HOUR_ERROR, err);
	if (!result)
		result = compact_update(compaction, UPDATE_HOUR, hour.id, hour.next_port + COMPACT_PORTS,
					hour.next_port + COMPACT_PORTS > ports ? WINDOW_COMPLETE : WINDOW_WRITING,
					err);
	result = compact_end(compaction, result, err);
	return result ? result : 1;
}
