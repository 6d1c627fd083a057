/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* compact_hours.c - the sums of the windows that began in one hour of the wall clock */
#include "storage/pack/compact.h"

#include <string.h>

#include "base/err.h"
#include "storage/file/db.h"
#include "storage/file/schema.h"

/* Limit of the windows of an hour, also in windows_sql. */
#define HOUR_WINDOWS 256

struct hour {
	int64_t id, from_window, to_window, next_port;
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

/*
 * The windows of an hour: from the first window ?1 on, until the first of another hour of the wall
 * clock, at most HOUR_WINDOWS. No row without a later window.
 */
static const char windows_sql[] =
	"WITH f AS (SELECT * FROM chunk_window WHERE id >= ?1 AND state > 0 ORDER BY id LIMIT 1),"
	" n AS (SELECT w.id FROM f CROSS JOIN chunk_window w ON w.id > f.id AND w.state > 0 AND (w.id >= f.id + 256"
	" OR w.from_us / 3600000000 <> f.from_us / 3600000000) ORDER BY w.id LIMIT 1),"
	" l AS (SELECT w.* FROM n CROSS JOIN chunk_window w ON w.id < n.id AND w.state > 0 ORDER BY w.id DESC LIMIT 1)"
	" SELECT f.id, l.id + 1, f.from_sweep, l.to_sweep, f.from_us, l.to_us FROM f CROSS JOIN l";

/* Begin the next hour, if it is over. Return: 1, 0 if not, or an error. */
static int find_next(struct compaction *compaction, struct hour *hour, struct error *err)
{
	sqlite3 *db = compaction->db;
	int64_t last[2], row[7];
	int result = db_row(db, "SELECT max(id), max(to_window) FROM hour", NULL, 0, last, 2, err);

	if (result > 0)
		result = db_row(db, windows_sql, &last[1], 1, &row[1], 6, err);
	if (result <= 0)
		return result;
	row[0] = last[0] + 1;
	*hour = (struct hour){ .id = row[0], .from_window = row[1], .to_window = row[2] };
	result = compact_begin(compaction, err);
	if (!result)
		result = db_row(db, "INSERT INTO hour (id, from_window, to_window, from_sweep, to_sweep, from_us,"
				" to_us, state, next_port) VALUES (?, ?, ?, ?, ?, ?, ?, 0, 0)", row, 7, NULL, 0, err);
	result = compact_end(compaction, result, err);
	return result ? result : 1;
}

/* Adds up the windows of the hour for the ports of this step. */
static int read_windows(struct compaction *compaction, const struct hour *hour, struct error *err)
{
	struct plan_part window = { .source = PLAN_WINDOW_SUMS, .unit.id = hour->from_window };
	struct sums_reader reader;
	int result = sums_begin(&reader, compaction->db, &(struct sums_query){ .first = (uint32_t)hour->next_port },
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
	result = compact_write_sums(compaction, WRITE_HOUR_SUM, WRITE_HOUR_ERROR, err);
	if (!result)
		result = db_row(compaction->db, "UPDATE hour SET next_port = ?, state = ? WHERE id = ?",
				(int64_t[]){ hour.next_port + COMPACT_PORTS, hour.next_port + COMPACT_PORTS > ports ?
					     WINDOW_COMPLETE : WINDOW_WRITING, hour.id }, 3, NULL, 0, err);
	result = compact_end(compaction, result, err);
	return result ? result : 1;
}
