/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* info.c - content of a database: since when, how many rows, how large */
#include <stdio.h>
#include <string.h>

#include "base/err.h"
#include "base/text.h"
#include "storage/admin/admin_internal.h"
#include "storage/file/db.h"
#include "storage/admin/catalog.h"
#include "storage/file/lock.h"
#include "storage/file/schema.h"

/*
 * The rows of a file up to this size are counted. In a larger one, tables with SOON_COUNTED rows or
 * more are estimated from PLACES places.
 */
#define EXACT_BYTES (INT64_C(64) << 20)
enum { PLACES = 16, SOON_COUNTED = 20000 };

/* Size of pages relative to that of their rows. */
#define PAGE_OVERHEAD 1.12

#define WALL_SINCE(sweep) "SELECT wall_us FROM sweep WHERE id >= (" sweep ") ORDER BY id LIMIT 1"
#define WALL_UNTIL(sweep) "SELECT wall_us FROM sweep WHERE id <= (" sweep ") ORDER BY id DESC LIMIT 1"

/* Queries for the wall clock of the oldest and the newest data. */
static const struct {
	enum data_kind kind;
	const char *since, *until;
} times[] = {
	{ DATA_RAW, WALL_SINCE("SELECT min(s) FROM (SELECT min(id) / 65536 AS s FROM hot UNION ALL"
			       " SELECT min(from_sweep) FROM chunk_window WHERE state = 1)"),
	  WALL_UNTIL("SELECT max(s) FROM (SELECT max(id) / 65536 AS s FROM hot UNION ALL"
		     " SELECT max(to_sweep) - 1 FROM chunk_window WHERE state = 1)") },
	{ DATA_SUMS, "SELECT min(from_us) FROM chunk_window WHERE state > 0",
	  "SELECT max(to_us) FROM chunk_window WHERE state > 0" },
	{ DATA_HOURS, "SELECT min(from_us) FROM hour", "SELECT max(to_us) FROM hour" },
	{ DATA_ERRORS, WALL_SINCE("SELECT min(sweep) FROM error"), WALL_UNTIL("SELECT max(sweep) FROM error") },
	{ DATA_READINGS, "SELECT wall_us FROM absolute ORDER BY sweep LIMIT 1",
	  "SELECT wall_us FROM absolute ORDER BY sweep DESC LIMIT 1" },
	{ DATA_DETAILS, WALL_SINCE("SELECT min(sweep) FROM detail"), WALL_UNTIL("SELECT max(sweep) FROM detail") },
	{ DATA_SWEEPS, "SELECT wall_us FROM sweep ORDER BY id LIMIT 1",
	  "SELECT wall_us FROM sweep ORDER BY id DESC LIMIT 1" },
	{ DATA_GAPS, WALL_SINCE("SELECT min(from_sweep) FROM span"), WALL_UNTIL("SELECT max(from_sweep) FROM span") },
	{ DATA_EVENTS, "SELECT wall_us FROM event ORDER BY id LIMIT 1",
	  "SELECT wall_us FROM event ORDER BY id DESC LIMIT 1" },
	{ DATA_FINDINGS, "SELECT min(opened_us) FROM finding", "SELECT max(opened_us) FROM finding" },
	{ DATA_SNAPSHOTS, "SELECT min(wall_us) FROM snapshot", "SELECT max(wall_us) FROM snapshot" },
	{ DATA_RHYTHMS, "SELECT min(wall_us) FROM job_rhythm", "SELECT max(wall_us) FROM job_rhythm" },
	{ DATA_TOPOLOGY, WALL_SINCE("SELECT min(from_sweep) FROM node_version"),
	  WALL_UNTIL("SELECT max(from_sweep) FROM port_version") },
	{ DATA_CABLES, "SELECT min(wall_us) FROM import", "SELECT max(wall_us) FROM import" },
};

/* The result of a query; 0 if it has none, or if the database has no such table. */
static int number_or_none(sqlite3 *db, const char *sql, int64_t *ret, struct error *err)
{
	int result = db_integer(db, sql, 0, ret, err);

	return result < 0 && sqlite3_errcode(db) == SQLITE_ERROR ? 0 : result;
}

static int read_times(sqlite3 *db, struct admin_info *ret, struct error *err)
{
	int result = 0;

	for (size_t i = 0; !result && i < sizeof(times) / sizeof(*times); i++) {
		struct data_info *info = &ret->data[times[i].kind];

		result = number_or_none(db, times[i].since, &info->since_us, err);
		if (!result)
			result = number_or_none(db, times[i].until, &info->until_us, err);
	}
	return result;
}

/* Approximate size of a row in bytes, as SQLite stores it. */
static int64_t row_bytes(sqlite3_stmt *row)
{
	int64_t bytes = 4;

	for (int i = 0; i < sqlite3_column_count(row); i++) {
		int64_t value = sqlite3_column_int64(row, i);

		bytes++;
		switch (sqlite3_column_type(row, i)) {
		case SQLITE_INTEGER:
			for (; value != 0 && value != -1; value >>= 8)
				bytes++;
			break;
		case SQLITE_NULL:
			break;
		default:
			bytes += sqlite3_column_bytes(row, i);
		}
	}
	return bytes;
}

/* Number of keys at one place. Tables with rows in few sweeps need more. */
static int64_t keys_of_place(const struct catalog_table *table)
{
	return table->range == RANGE_SWEEPS && table->scale == 1 ? 128 : 1;
}

/* Add rows and bytes of @keys keys from @first on. */
static int measure_place(sqlite3_stmt *rows, int64_t first, int64_t keys, int64_t *ret_rows, int64_t *ret_bytes,
		       struct error *err)
{
	int result;

	sqlite3_bind_int64(rows, 1, first);
	sqlite3_bind_int64(rows, 2, first + keys);
	while ((result = db_step(rows, err)) > 0) {
		(*ret_rows)++;
		*ret_bytes += row_bytes(rows);
	}
	sqlite3_reset(rows);
	return result;
}

/* Estimate a table from places at equal distances in its key. */
static int sample_table(sqlite3 *db, const struct catalog_table *table, struct data_info *info, struct error *err)
{
	int64_t first = 0, last = -1, rows = 0, bytes = 0, seen = 0, keys = keys_of_place(table);
	long long scale = (long long)table->scale;
	sqlite3_stmt *place;
	char sql[256];
	int result = db_integerf(db, 0, &first, err, "SELECT min(%s) / %lld FROM %s", table->key, scale, table->name);

	if (!result)
		result = db_integerf(db, -1, &last, err, "SELECT max(%s) / %lld FROM %s", table->key, scale,
				     table->name);
	snprintf(sql, sizeof(sql), "SELECT * FROM %s WHERE %s >= ?1 * %lld AND %s < ?2 * %lld", table->name, table->key,
		 scale, table->key, scale);
	if (result < 0 || (result = db_prepare(db, sql, &place, err)) < 0)
		return result;
	/* In the middle of PLACES parts, since both ends have more rows than average. */
	for (int64_t i = 0; !result && i < PLACES; i++) {
		int64_t at = first + (last - first + 1) * (2 * i + 1) / (2 * PLACES);

		result = measure_place(place, at, keys, &rows, &bytes, err);
		seen += last - at + 1 < keys ? last - at + 1 : keys;
	}
	sqlite3_finalize(place);
	if (result < 0 || seen <= 0)
		return result;
	info->rows += (int64_t)((double)rows / (double)seen * (double)(last - first + 1));
	info->bytes += (int64_t)((double)bytes / (double)seen * (double)(last - first + 1) * PAGE_OVERHEAD);
	return 0;
}

/* Size of the pages of a table and its indexes if SQLite has dbstat, else of its rows. */
static int measure_table(sqlite3 *db, const char *table, struct data_info *info, struct error *err)
{
	sqlite3_stmt *row;
	char sql[128];
	int result;

	if (db_prepare(db, "SELECT sum(d.pgsize) FROM sqlite_schema s JOIN dbstat d ON d.name = s.name"
		       " WHERE s.tbl_name = ?1 AND d.aggregate = 1", &row, NULL) == 0) {
		sqlite3_bind_text(row, 1, table, -1, SQLITE_STATIC);
		result = db_step(row, err);
		if (result > 0)
			info->bytes += sqlite3_column_int64(row, 0);
		sqlite3_finalize(row);
		return result < 0 ? result : 0;
	}
	if (sqlite3_errcode(db) != SQLITE_ERROR)
		return db_fail(db, err);
	snprintf(sql, sizeof(sql), "SELECT * FROM \"%.64s\"", table);
	result = db_prepare(db, sql, &row, err);
	if (result < 0)
		return result;
	while ((result = db_step(row, err)) > 0)
		info->bytes += (int64_t)((double)row_bytes(row) * PAGE_OVERHEAD);
	sqlite3_finalize(row);
	return result;
}

static int read_table(sqlite3 *db, const char *name, struct admin_info *ret, struct error *err)
{
	const struct catalog_table *table = catalog_find(name);
	struct data_info *info = &ret->data[table ? table->kind : DATA_OTHER];
	int64_t rows = 0;
	int result = 0;

	info->there = true;
	if (ret->file_bytes > EXACT_BYTES && table && table->key)
		result = db_integerf(db, 0, &rows, err, "SELECT count(*) FROM (SELECT 1 FROM \"%w\" LIMIT %d)", name,
				     SOON_COUNTED);
	if (result < 0)
		return result;
	if (rows >= SOON_COUNTED) {
		ret->estimated = info->estimated = true;
		return sample_table(db, table, info, err);
	}
	result = db_integerf(db, 0, &rows, err, "SELECT count(*) FROM \"%w\"", name);
	info->rows += rows;
	return result ? result : measure_table(db, name, info, err);
}

static int read_tables(sqlite3 *db, struct admin_info *ret, struct error *err)
{
	sqlite3_stmt *rows;
	int result = db_prepare(db, "SELECT name FROM sqlite_schema WHERE type = 'table' AND name NOT LIKE 'sqlite_%'",
				&rows, err);

	while (!result && (result = db_step(rows, err)) > 0)
		result = read_table(db, (const char *)sqlite3_column_text(rows, 0), ret, err);
	sqlite3_finalize(rows);
	return result;
}

/* The name of the collector's node, which identifies the fabric. */
static int read_collector_node(sqlite3 *db, struct admin_info *ret, struct error *err)
{
	const char *name;
	sqlite3_stmt *row;
	int result = db_prepare(db, "SELECT v.name FROM node_version v WHERE v.node ="
				" (SELECT from_node FROM sweep ORDER BY id DESC LIMIT 1)"
				" ORDER BY v.from_sweep DESC LIMIT 1", &row, err);

	if (result < 0)
		return result;
	result = db_step(row, err);
	name = result > 0 ? (const char *)sqlite3_column_text(row, 0) : NULL;
	if (name)
		text_sanitise(name, strlen(name), ret->collector_node, sizeof(ret->collector_node));
	sqlite3_finalize(row);
	return result < 0 ? result : 0;
}

static int read_file(sqlite3 *db, const char *path, struct admin_info *ret, struct error *err)
{
	int64_t version = 0, free_pages = 0;
	const struct { const char *sql; int64_t *ret; } numbers[] = {
		{ "PRAGMA user_version", &version }, { "PRAGMA page_size", &ret->page_bytes },
		{ "PRAGMA freelist_count", &free_pages },
		{ "SELECT value FROM meta WHERE key = 'created_us'", &ret->created_us },
		{ "SELECT count(*) FROM node", &ret->nodes }, { "SELECT count(*) FROM port", &ret->ports },
		{ "SELECT count(*) FROM sweep", &ret->sweeps },
		/* Readings of the sweeps whose samples are stored. */
		{ "SELECT sum(ports_answered) FROM sweep WHERE id >= coalesce((SELECT min(from_sweep) FROM chunk_window"
		  " WHERE state = 1), (SELECT min(id) / 65536 FROM hot))", &ret->port_samples },
	};
	int result = schema_verify_keys(db, err);

	for (size_t i = 0; !result && i < sizeof(numbers) / sizeof(*numbers); i++)
		result = db_integer(db, numbers[i].sql, 0, numbers[i].ret, err);
	ret->schema_version = (int)version;
	ret->free_bytes = free_pages * ret->page_bytes;
	return result ? result : admin_file_bytes(path, &ret->file_bytes, &ret->log_bytes, err);
}

int admin_info(const char *path, struct admin_info *ret, struct error *err)
{
	struct admin_info info = { .sqlite_version = sqlite3_libversion() };
	bool immutable;
	sqlite3 *db;
	int result = admin_open(path, false, &db, &immutable, err);

	if (result < 0)
		return result;
	result = db_exec(db, "BEGIN", err);
	if (!result)
		result = read_file(db, path, &info, err);
	if (!result)
		result = read_collector_node(db, &info, err);
	if (!result)
		result = read_tables(db, &info, err);
	if (!result)
		result = read_times(db, &info, err);
	sqlite3_close(db);
	if (result < 0)
		return result;
	info.live = lock_held(path, &info.collector_pid);
	*ret = info;
	return 0;
}
