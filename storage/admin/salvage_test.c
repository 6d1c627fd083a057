/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* salvage_test.c - an export of a database with damaged pages is sound, and holds each row that can be asked for */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <cmocka.h>
#include <sqlite3.h>

#include "base/err.h"
#include "fabric/fabric.h"
#include "storage/admin.h"
#include "storage/admin/catalog.h"
#include "storage/reader.h"
#include "storage/admin/salvage.h"
#include "storage/test/test_check.h"
#include "storage/test/test_folder.h"
#include "storage/test/test_history.h"
#include "storage/test/test_model.h"

enum { SWEEPS = 100 };

static char whole[96], copy[96], saved[96]; /* the database before it was damaged, its export, what was salvaged */

static void name_files(void)
{
	snprintf(whole, sizeof(whole), "%s/whole.db", folder);
	snprintf(copy, sizeof(copy), "%s/copy.db", folder);
	snprintf(saved, sizeof(saved), "%s/saved.db", folder);
}

static sqlite3 *open_file(const char *of)
{
	sqlite3 *db;

	assert_int_equal(sqlite3_open_v2(of, &db, SQLITE_OPEN_READWRITE, NULL), SQLITE_OK);
	return db;
}

static sqlite3_stmt *prepare(sqlite3 *db, const char *sql)
{
	sqlite3_stmt *statement;

	if (sqlite3_prepare_v2(db, sql, -1, &statement, NULL) != SQLITE_OK)
		fail_msg("%s: %s", sql, sqlite3_errmsg(db));
	return statement;
}

/* A history, and a copy of its file to compare with. */
static struct model *make_history(uint64_t seed)
{
	struct model *model = test_history_store(seed, SWEEPS);
	size_t len;
	char *bytes = test_file_read(path, &len);

	name_files();
	test_file_write(whole, bytes, len);
	free(bytes);
	return model;
}

/* Pages of one table (NULL: any), other than the one that all its rows are found by. Return: how many. */
static int list_pages(const char *table, int64_t *ret, int most)
{
	sqlite3 *db = open_file(whole);
	sqlite3_stmt *pages;
	int count = 0;

	if (sqlite3_prepare_v2(db, "SELECT pageno FROM dbstat WHERE pagetype <> 'overflow' AND path <> '/'"
			       " AND name NOT LIKE 'sqlite%' AND (?1 IS NULL OR name = ?1)", -1, &pages, NULL)
	    != SQLITE_OK) {
		sqlite3_close(db);
		skip(); /* an SQLite that does not tell */
	}
	sqlite3_bind_text(pages, 1, table, -1, SQLITE_STATIC);
	while (count < most && sqlite3_step(pages) == SQLITE_ROW)
		ret[count++] = sqlite3_column_int64(pages, 0);
	sqlite3_finalize(pages);
	sqlite3_close(db);
	return count;
}

static void damage_page(int64_t page)
{
	int64_t size = check_integer(whole, "PRAGMA page_size");
	FILE *file = fopen(path, "r+b");

	assert_non_null(file);
	fseek(file, (long)((page - 1) * size), SEEK_SET);
	for (int i = 0; i < 200; i++)
		fputc(0xff, file);
	assert_int_equal(fclose(file), 0);
}

/* "a = ?1 AND b = ?2", and the columns; of a table's primary key. */
static int key_sql(sqlite3 *db, const char *table, char where[256], int columns[4])
{
	sqlite3_stmt *info = prepare(db, "SELECT name, cid FROM pragma_table_info(?1) WHERE pk ORDER BY pk");
	size_t len = 0;
	int count = 0;

	sqlite3_bind_text(info, 1, table, -1, SQLITE_STATIC);
	while (sqlite3_step(info) == SQLITE_ROW) {
		columns[count++] = sqlite3_column_int(info, 1);
		len += (size_t)snprintf(where + len, 256 - len, "%s%s = ?%d", count > 1 ? " AND " : "",
					(const char *)sqlite3_column_text(info, 0), count);
	}
	sqlite3_finalize(info);
	return count;
}

/* Each row of a table that is in one database and not in the other cannot be asked for any more. Return: how many. */
static int check_missing_rows(sqlite3 *db, const char *table)
{
	sqlite3 *damaged = open_file(path);
	char sql[512], where[256];
	sqlite3_stmt *missing, *ask;
	int columns[4], keys, count = 0;

	keys = key_sql(db, table, where, columns);
	snprintf(sql, sizeof(sql), "SELECT * FROM main.%s EXCEPT SELECT * FROM saved.%s", table, table);
	missing = prepare(db, sql);
	snprintf(sql, sizeof(sql), "SELECT * FROM %s WHERE %s", table, where);
	ask = prepare(damaged, sql);
	while (sqlite3_step(missing) == SQLITE_ROW) {
		for (int i = 0; i < keys; i++)
			sqlite3_bind_value(ask, i + 1, sqlite3_column_value(missing, columns[i]));
		if (sqlite3_step(ask) == SQLITE_ROW)
			fail_msg("%s: row %lld, %lld can be read and is left out", table,
				 (long long)sqlite3_column_int64(missing, columns[0]),
				 (long long)sqlite3_column_int64(missing, columns[keys - 1]));
		sqlite3_reset(ask);
		count++;
	}
	sqlite3_finalize(missing);
	sqlite3_finalize(ask);
	sqlite3_close(damaged);
	return count;
}

static int check_saved(void)
{
	sqlite3 *db = open_file(whole);
	sqlite3_stmt *attach = prepare(db, "ATTACH ?1 AS saved");
	int missing = 0;

	sqlite3_bind_text(attach, 1, saved, -1, SQLITE_STATIC);
	assert_int_equal(sqlite3_step(attach), SQLITE_DONE);
	sqlite3_finalize(attach);
	for (size_t i = 0; i < kept_table_count; i++) {
		const char *table = kept_tables[i].name;
		sqlite3_stmt *invented;
		char sql[160];

		snprintf(sql, sizeof(sql), "SELECT count(*) FROM sqlite_schema WHERE name = '%s'", table);
		if (kept_tables[i].range == RANGE_NONE || !check_integer(whole, sql))
			continue;
		missing += check_missing_rows(db, table);
		snprintf(sql, sizeof(sql), "SELECT * FROM saved.%s EXCEPT SELECT * FROM main.%s", table, table);
		invented = prepare(db, sql);
		if (sqlite3_step(invented) != SQLITE_DONE && strcmp(table, "meta"))
			fail_msg("%s: what was saved has a row that was never there", table);
		sqlite3_finalize(invented);
	}
	sqlite3_close(db);
	return missing;
}

struct told {
	int count, tables;
	const char *last; /* table */
};

static void take_missing(void *ctx, const struct admin_fault *fault)
{
	struct told *told = ctx;

	told->count++;
	assert_non_null(kept_find(fault->where));
	assert_null(strchr(fault->what, '\n'));
	told->tables += !told->last || strcmp(told->last, fault->where);
	told->last = fault->where;
}

/* Return: how many rows are left out. */
static int salvage(struct told *told)
{
	sqlite3 *source = open_file(path);
	struct error err = { 0 };
	uint64_t missing = 0;
	int rows;

	*told = (struct told){ 0 };
	if (salvage_run(source, saved, take_missing, told, &missing, &err) < 0)
		fail_msg("%s", err.text);
	sqlite3_close(source);
	assert_int_equal(missing, told->count);
	check_integrity(saved);
	rows = check_saved();
	if (rows && !told->count)
		fail_msg("%d rows are left out and nothing is said of it", rows);
	return rows;
}

static void what_is_sound_is_salvaged_whole(void **state)
{
	struct told told;

	(void)state;
	for (uint64_t seed = 1; seed < 3; seed++) {
		model_destroy(make_history(seed));
		assert_int_equal(salvage(&told), 0);
		assert_int_equal(told.count, 0);
		test_folder_renew();
	}
}

/* Of each table that has some: one page at each end, and some that are apart and side by side. */
static void of_each_table_all_but_damaged_pages_is_salvaged(void **state)
{
	int64_t pages[4096];
	struct told told;

	(void)state;
	for (uint64_t seed = 1; seed < 4; seed++) {
		int damaged = 0;

		model_destroy(make_history(seed));
		for (size_t i = 0; i < kept_table_count; i++) {
			int count = list_pages(kept_tables[i].name, pages, 4096);

			if (kept_tables[i].range == RANGE_NONE || count < 3)
				continue;
			damage_page(pages[0]);
			damage_page(pages[count - 1]);
			damage_page(pages[count / 2]);
			damage_page(pages[count / 2 + 1 - (count == 3)]);
			damage_page(pages[count / 3]);
			damaged++;
		}
		assert_true(damaged > 3);
		assert_true(salvage(&told) > 0);
		assert_int_equal(told.tables, damaged);
		test_folder_renew();
	}
}

/* Sweeps of which the damaged database still tells are told by the export, and its other answers are none or right. */
static void check_export(const struct model *model)
{
	const struct export_query query = { .missing = take_missing, .missing_ctx = &(struct told){ 0 } };
	struct reader *reader, *damaged = NULL;
	struct export_summary summary;
	struct error err = { 0 };
	char rest[128];

	if (admin_export(path, copy, &query, &summary, &err) < 0) {
		/* Nothing to take a part from: all sweeps are gone. */
		assert_int_equal(err.code, ERR_IO);
		return;
	}
	check_integrity(copy);
	snprintf(rest, sizeof(rest), "%s.part.whole", copy);
	assert_int_equal(access(rest, F_OK), -1);
	reader = check_open_reader(copy);
	if (reader_open(path, &damaged, NULL) < 0)
		damaged = NULL;
	for (size_t i = 0; damaged && i < model->sweep_count; i += 7) {
		const struct snapshot_query at = { .at_us = model->sweeps[i].wall_us, .absolute = true };
		struct snapshot *before = NULL, *after = NULL;

		if (snapshot_load(damaged, &at, &before, NULL) < 0)
			continue;
		if (snapshot_load(reader, &at, &after, &err) < 0)
			fail_msg("sweep %zu: %s", i + 1, err.text);
		assert_int_equal(after->sweep.id, before->sweep.id);
		assert_int_equal(after->fabric->node_count, before->fabric->node_count);
		snapshot_destroy(before);
		snapshot_destroy(after);
	}
	reader_close(damaged);
	reader_close(reader);
}

static void an_export_of_a_database_with_damaged_pages_is_sound(void **state)
{
	int64_t pages[4096];

	(void)state;
	for (uint64_t seed = 3; seed < 8; seed++) {
		struct model *model = make_history(seed);
		int count = list_pages(NULL, pages, 4096);

		for (uint64_t i = 0; i <= seed; i++)
			damage_page(pages[model_random(model, (uint64_t)count)]);
		check_export(model);
		model_destroy(model);
		test_folder_renew();
	}
}

static void where_no_sweep_can_be_read_an_export_says_that_it_is_for_damage(void **state)
{
	static const char *const tables[] = { "sweep", "chunk_window", "hour", "event" };
	const struct export_query query = { .missing = take_missing, .missing_ctx = &(struct told){ 0 } };
	struct export_summary summary;
	struct error err = { 0 };

	(void)state;
	model_destroy(make_history(9));
	for (size_t i = 0; i < sizeof(tables) / sizeof(*tables); i++) {
		char sql[128];

		snprintf(sql, sizeof(sql), "SELECT rootpage FROM sqlite_schema WHERE name = '%s'", tables[i]);
		damage_page(check_integer(whole, sql));
	}
	assert_int_equal(admin_export(path, copy, &query, &summary, &err), ERR_IO);
	assert_non_null(strstr(err.text, path));
	assert_non_null(strstr(err.text, "is damaged"));
	assert_int_equal(access(copy, F_OK), -1);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		TEST_IN_FOLDER(what_is_sound_is_salvaged_whole),
		TEST_IN_FOLDER(of_each_table_all_but_damaged_pages_is_salvaged),
		TEST_IN_FOLDER(an_export_of_a_database_with_damaged_pages_is_sound),
		TEST_IN_FOLDER(where_no_sweep_can_be_read_an_export_says_that_it_is_for_damage),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
