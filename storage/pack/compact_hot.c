/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * compact_hot.c - rows of hot go once their window is complete
 *
 * Where rows are removed one by one, SQLite writes each page to the log, with ever fewer rows in it, before it
 * becomes free: as much as all that was compacted. A table that is emptied as a whole frees its pages as they
 * are. So the few rows of later sweeps are put aside, and put back.
 */
#include "storage/pack/compact.h"

#include <stdlib.h>

#include "base/err.h"
#include "storage/file/db.h"
#include "storage/file/schema.h"

/* Rows that are removed one by one in one transaction. */
#define REMOVE_ROWS 1024

/* The table is emptied if it has no more rows, 1,300 pages: that is done in some milliseconds. */
#define CLEAR_ROWS 32768

/* And if no more are to be put back. */
#define KEEP_ROWS 1024

/* Rows that are put aside. */
struct aside {
	struct bytes samples;
	size_t count;
	int64_t id[KEEP_ROWS];
	size_t end[KEEP_ROWS]; /* of its samples */
};

/* The rows from id @from on. Return: 1, 0 where they are too many, or an error. */
static int put_aside(sqlite3 *db, int64_t from, struct aside *aside, struct error *err)
{
	sqlite3_stmt *rows;
	int result = db_prepare(db, "SELECT id, samples FROM hot WHERE id >= ? ORDER BY id", &rows, err);

	if (result < 0)
		return result;
	sqlite3_bind_int64(rows, 1, from);
	while ((result = db_step(rows, err)) > 0 && aside->count < KEEP_ROWS) {
		size_t len = (size_t)sqlite3_column_bytes(rows, 1);

		aside->id[aside->count] = sqlite3_column_int64(rows, 0);
		if (bytes_append(&aside->samples, len ? sqlite3_column_blob(rows, 1) : "", len) < 0) {
			result = err_nomem(err);
			break;
		}
		aside->end[aside->count++] = aside->samples.len;
	}
	sqlite3_finalize(rows);
	return result < 0 ? result : !result;
}

static int put_back(sqlite3 *db, const struct aside *aside, struct error *err)
{
	sqlite3_stmt *insert;
	size_t at = 0;
	int result = db_prepare(db, "INSERT INTO hot (id, samples) VALUES (?, ?)", &insert, err);

	for (size_t i = 0; !result && i < aside->count; at = aside->end[i++]) {
		sqlite3_bind_int64(insert, 1, aside->id[i]);
		sqlite3_bind_blob(insert, 2, aside->samples.data + at, (int)(aside->end[i] - at), SQLITE_STATIC);
		result = db_run(insert, err);
	}
	sqlite3_finalize(insert);
	return result;
}

/* All rows below an id, by emptying the table. Return: 1, 0 where there are too many others, or an error. */
static int remove_all(struct compaction *compaction, int64_t end, struct error *err)
{
	struct aside *aside = calloc(1, sizeof(*aside));
	int result, fits = 0;

	if (!aside)
		return err_nomem(err);
	result = compact_begin(compaction, err);
	if (!result) {
		fits = put_aside(compaction->db, end, aside, err);
		result = fits < 0 ? fits : 0;
		if (fits > 0)
			result = db_exec(compaction->db, "DELETE FROM hot", err);
		if (fits > 0 && !result)
			result = put_back(compaction->db, aside, err);
		result = compact_end(compaction, result, err);
	}
	bytes_done(&aside->samples);
	free(aside);
	return result < 0 ? result : fits;
}

/* Some rows below an id. */
static int remove_some(struct compaction *compaction, int64_t end, struct error *err)
{
	sqlite3_stmt *row, *remove;
	int result = db_prepare(compaction->db, "SELECT id FROM hot ORDER BY id LIMIT 1 OFFSET ?", &row, err);

	if (result < 0)
		return result;
	sqlite3_bind_int(row, 1, REMOVE_ROWS);
	result = db_step(row, err);
	if (result > 0 && sqlite3_column_int64(row, 0) < end)
		end = sqlite3_column_int64(row, 0);
	sqlite3_finalize(row);
	/* With nothing but a bound SQLite removes as it goes; else it would look for all rows first. */
	if (result >= 0)
		result = db_prepare(compaction->db, "DELETE FROM hot WHERE id < ?", &remove, err);
	if (result < 0)
		return result;
	sqlite3_bind_int64(remove, 1, end);
	result = compact_begin(compaction, err);
	if (!result)
		result = compact_end(compaction, db_run(remove, err), err);
	sqlite3_finalize(remove);
	return result ? result : 1;
}

int compact_hot(struct compaction *compaction, struct error *err)
{
	int64_t before = 0, oldest = 0, newest = 0, ports = 0, blocks;
	int result = db_integer(compaction->db, "SELECT max(to_sweep) FROM chunk_window WHERE state > 0", 0, &before,
				err);

	if (!result)
		result = db_integer(compaction->db, "SELECT min(id) FROM hot", INT64_MAX, &oldest, err);
	if (result < 0 || oldest >= HOT_ID(before, 0))
		return result;
	result = db_integer(compaction->db, "SELECT max(id) FROM hot", 0, &newest, err);
	if (!result)
		result = db_integer(compaction->db, "SELECT max(id) FROM port", 0, &ports, err);
	if (result < 0)
		return result;
	blocks = ports / CODEC_BLOCK_PORTS + 1;
	if ((newest / HOT_BLOCKS - oldest / HOT_BLOCKS + 1) * blocks <= CLEAR_ROWS &&
	    (newest / HOT_BLOCKS - before + 1) * blocks <= KEEP_ROWS) {
		result = remove_all(compaction, HOT_ID(before, 0), err);
		if (result)
			return result;
	}
	return remove_some(compaction, HOT_ID(before, 0), err);
}
