/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * compact_hot.c - removes the rows of hot whose window is complete
 *
 * If SQLite removes rows one by one, it writes each page to the log, with fewer and fewer rows, before the
 * page becomes free: as many bytes as the compaction itself. If it empties a table it frees all pages at
 * once. So the few rows of later sweeps are saved, the table is emptied, and they are inserted again.
 */
#include "storage/pack/compact.h"

#include "base/err.h"
#include "storage/file/db.h"
#include "storage/file/schema.h"

/* Rows that one transaction removes one by one. */
#define REMOVE_ROWS 1024

/* A table of at most so many rows, 1,300 pages, is emptied: that takes some milliseconds. */
#define CLEAR_ROWS 32768

/* And only if at most so many rows are inserted again. */
#define KEEP_ROWS 1024

/* Remove all rows below an id by emptying the table. */
static int remove_all(struct compaction *compaction, int64_t end, struct error *err)
{
	sqlite3 *db = compaction->db;
	int result = compact_begin(compaction, err);

	if (!result)
		result = db_row(db, "INSERT INTO temp.hot_rest SELECT * FROM hot WHERE id >= ?", &end, 1, NULL, 0, err);
	if (!result)
		result = db_exec(db, "DELETE FROM hot; INSERT INTO hot SELECT * FROM temp.hot_rest;"
				 " DELETE FROM temp.hot_rest", err);
	result = compact_end(compaction, result, err);
	return result ? result : 1;
}

/* Remove some rows below an id. */
static int remove_some(struct compaction *compaction, int64_t end, struct error *err)
{
	int64_t last;
	int result = db_row(compaction->db, "SELECT id FROM hot ORDER BY id LIMIT 1 OFFSET ?",
			    (int64_t[]){ REMOVE_ROWS }, 1, &last, 1, err);

	if (result > 0 && last < end)
		end = last;
	if (result >= 0)
		result = compact_begin(compaction, err);
	if (result < 0)
		return result;
	/* With only a bound SQLite removes while it searches; otherwise it would find all rows first. */
	result = db_row(compaction->db, "DELETE FROM hot WHERE id < ?", &end, 1, NULL, 0, err);
	result = compact_end(compaction, result, err);
	return result ? result : 1;
}

int compact_hot(struct compaction *compaction, struct error *err)
{
	enum { BEFORE, OLDEST, NEWEST, PORTS, COUNT };
	int64_t row[COUNT], blocks;
	int result = db_row(compaction->db, "SELECT (SELECT max(to_sweep) FROM chunk_window WHERE state > 0),"
			    " (SELECT min(id) FROM hot), (SELECT max(id) FROM hot), (SELECT max(id) FROM port)",
			    NULL, 0, row, COUNT, err);

	if (result < 0 || !row[OLDEST] || row[OLDEST] >= HOT_ID(row[BEFORE], 0))
		return result < 0 ? result : 0;
	blocks = row[PORTS] / CODEC_BLOCK_PORTS + 1;
	if ((row[NEWEST] / HOT_BLOCKS - row[OLDEST] / HOT_BLOCKS + 1) * blocks <= CLEAR_ROWS &&
	    (row[NEWEST] / HOT_BLOCKS - row[BEFORE] + 1) * blocks <= KEEP_ROWS)
		return remove_all(compaction, HOT_ID(row[BEFORE], 0), err);
	return remove_some(compaction, HOT_ID(row[BEFORE], 0), err);
}
