/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * compact_hot.c - removes the rows of hot whose window is complete
 *
 * If SQLite removes rows one by one, it writes each page to the log, with fewer and fewer rows, before the
 * page becomes free: as many bytes as the compaction itself. If it empties a table it frees all pages at
 * once. So the few rows of later sweeps are saved, the table is emptied, and they are inserted again.
 */
#include "storage/pack/compact.h"

#include <stdlib.h>

#include "base/err.h"
#include "storage/file/db.h"
#include "storage/file/schema.h"

/* Rows that one transaction removes one by one. */
#define REMOVE_ROWS 1024

/* A table of at most so many rows, 1,300 pages, is emptied: that takes some milliseconds. */
#define CLEAR_ROWS 32768

/* And only if at most so many rows are inserted again. */
#define KEEP_ROWS 1024

/* Saved rows. */
struct saved_rows {
	struct bytes samples;
	size_t count;
	int64_t id[KEEP_ROWS];
	size_t end[KEEP_ROWS]; /* of its samples */
};

/* Save the rows from id @from on. Return: 1, 0 if they are too many, or an error. */
static int save_rows(sqlite3 *db, int64_t from, struct saved_rows *saved, struct error *err)
{
	sqlite3_stmt *rows;
	int result = db_prepare(db, "SELECT id, samples FROM hot WHERE id >= ? ORDER BY id", &rows, err);

	if (result < 0)
		return result;
	sqlite3_bind_int64(rows, 1, from);
	while ((result = db_step(rows, err)) > 0 && saved->count < KEEP_ROWS) {
		size_t len = (size_t)sqlite3_column_bytes(rows, 1);

		saved->id[saved->count] = sqlite3_column_int64(rows, 0);
		if (bytes_append(&saved->samples, len ? sqlite3_column_blob(rows, 1) : "", len) < 0) {
			result = err_nomem(err);
			break;
		}
		saved->end[saved->count++] = saved->samples.len;
	}
	sqlite3_finalize(rows);
	return result < 0 ? result : !result;
}

static int restore_rows(sqlite3 *db, const struct saved_rows *saved, struct error *err)
{
	sqlite3_stmt *insert;
	size_t at = 0;
	int result = db_prepare(db, "INSERT INTO hot (id, samples) VALUES (?, ?)", &insert, err);

	for (size_t i = 0; !result && i < saved->count; at = saved->end[i++]) {
		sqlite3_bind_int64(insert, 1, saved->id[i]);
		sqlite3_bind_blob(insert, 2, saved->samples.data + at, (int)(saved->end[i] - at), SQLITE_STATIC);
		result = db_run(insert, err);
	}
	sqlite3_finalize(insert);
	return result;
}

/* Remove all rows below an id by emptying the table. Return: 1, 0 if too many others exist, or an error. */
static int remove_all(struct compaction *compaction, int64_t end, struct error *err)
{
	struct saved_rows *saved = calloc(1, sizeof(*saved));
	int result, fits = 0;

	if (!saved)
		return err_nomem(err);
	result = compact_begin(compaction, err);
	if (!result) {
		fits = save_rows(compaction->db, end, saved, err);
		result = fits < 0 ? fits : 0;
		if (fits > 0)
			result = db_exec(compaction->db, "DELETE FROM hot", err);
		if (fits > 0 && !result)
			result = restore_rows(compaction->db, saved, err);
		result = compact_end(compaction, result, err);
	}
	bytes_done(&saved->samples);
	free(saved);
	return result < 0 ? result : fits;
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
	    (row[NEWEST] / HOT_BLOCKS - row[BEFORE] + 1) * blocks <= KEEP_ROWS) {
		result = remove_all(compaction, HOT_ID(row[BEFORE], 0), err);
		if (result)
			return result;
	}
	return remove_some(compaction, HOT_ID(row[BEFORE], 0), err);
}
