/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * recover_test.c - one page of each table and index is damaged: a recovered database has all rows but those of the
 * page, and a collector continues it
 *
 * SQLite's table dbstat counts the rows of each page of the undamaged file.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <sqlite3.h>

#include "base/err.h"
#include "base/test_cases.h"
#include "base/text.h"
#include "base/unit_test.h"
#include "storage/admin.h"
#include "storage/admin/catalog.h"
#include "storage/reader.h"
#include "storage/test/test_check.h"
#include "storage/test/test_folder.h"
#include "storage/test/test_model.h"
#include "storage/writer.h"

#define SWEEPS 35
#define WINDOW 10

static char damaged[96], recovered[96];
static struct model *model;

static void remove_files(const char *name)
{
	static const char *const suffixes[] = { "", "-wal", "-shm", ".lock" };
	char file[112];

	for (size_t i = 0; i < sizeof(suffixes) / sizeof(*suffixes); i++) {
		snprintf(file, sizeof(file), "%s%s", name, suffixes[i]);
		remove(file);
	}
}

static int set_up(void **state)
{
	test_folder_make(state);
	snprintf(damaged, sizeof(damaged), "%s/damaged.db", folder);
	snprintf(recovered, sizeof(recovered), "%s/recovered.db", folder);
	model = model_create(11, 2, 20, 10);
	check_collect(path, model, SWEEPS, WINDOW);
	return 0;
}

static int tear_down(void **state)
{
	model_destroy(model);
	return test_folder_remove(state);
}

/* What admin_recover() reported. */
static struct {
	int64_t rows, removed;
	bool missing;
	char text[160];
} reports[64];

static void note_table(void *ctx, const struct admin_recovered *table)
{
	size_t at = (size_t)(catalog_find(table->table) - catalog_tables);

	(void)ctx;
	reports[at].rows = table->rows;
	reports[at].removed = table->removed;
	reports[at].missing = *table->missing;
	snprintf(reports[at].text, sizeof(reports[at].text), "%s", table->missing);
}

static void note_fault(void *ctx, const struct admin_fault *fault)
{
	snprintf(ctx, 256, "%s: %s", fault->where, fault->what);
}

static void count_rows(const char *file, int64_t ret[])
{
	sqlite3 *db;

	assert_int_equal(sqlite3_open(file, &db), SQLITE_OK);
	for (size_t i = 0; i < catalog_table_count; i++) {
		char sql[128];
		sqlite3_stmt *count;

		/* Rows of absolute without counters are not of the damaged database. */
		snprintf(sql, sizeof(sql), "SELECT count(*) FROM %s%s", catalog_tables[i].name,
			 strcmp(catalog_tables[i].name, "absolute")
				 ? "" : " WHERE wide > 0 OR coalesce(xmit_data, symbol_errors) NOT NULL");
		assert_int_equal(sqlite3_prepare_v2(db, sql, -1, &count, NULL), SQLITE_OK);
		assert_int_equal(sqlite3_step(count), SQLITE_ROW);
		ret[i] = sqlite3_column_int64(count, 0);
		sqlite3_finalize(count);
	}
	sqlite3_close(db);
}

/* Damage a page of a copy of the database, recover it, and check the result. */
static void recover_without(const char *name, int64_t page, int64_t page_bytes)
{
	struct error err = { 0 };
	char fault[256] = "";
	uint64_t faults;
	size_t len;
	char *bytes = test_file_read(path, &len);

	remove_files(damaged);
	remove_files(recovered);
	memset(bytes + (page - 1) * page_bytes, 0, (size_t)page_bytes);
	test_file_write(damaged, bytes, len);
	free(bytes);
	memset(reports, 0, sizeof(reports));
	if (admin_recover(damaged, recovered, note_table, NULL, &err) < 0)
		fail_msg("a page of %s: %s", name, err.text);
	assert_int_equal(admin_check(recovered, note_fault, fault, &faults, &err), 0);
	if (faults)
		fail_msg("a page of %s: %s", name, fault);
}

/* A reader and a collector open it; the collector stores another sweep. */
static void check_usable(void)
{
	int64_t sweeps = check_integer(recovered, "SELECT count(*) FROM sweep");
	struct writer *writer;

	reader_close(check_open_reader(recovered));
	writer = check_open_writer_with(recovered, WINDOW);
	check_store(writer, &model->sweep);
	writer_close(writer);
	assert_int_equal(check_integer(recovered, "SELECT count(*) FROM sweep"), sweeps + 1);
}

/* Rows of @table are missing if they are on the page, and those that were reported as removed; of others only these. */
static void check_rows(const int64_t rows[], const char *name, bool is_table, int64_t cells)
{
	int64_t left[64];

	/* Read from their indexes, too. */
	bool searched = !strcmp(name, "node") || !strcmp(name, "port");

	count_rows(recovered, left);
	for (size_t i = 0; i < catalog_table_count; i++) {
		const char *table = catalog_tables[i].name;
		bool hit = is_table && !searched && !strcmp(table, name);
		int64_t lost = hit ? cells : 0;
		int64_t before = rows[i], after = left[i];

		/* The last one is computed. */
		if (catalog_tables[i].range == RANGE_NONE || !strcmp(table, "detail_last"))
			continue;
		/* A lost boot gets a new name. */
		if (before - after != lost + reports[i].removed && strcmp(table, "boot"))
			fail_msg("a page of %s: of %lld rows of %s there are %lld, %lld were on the page, %lld removed",
				 name, (long long)before, table, (long long)after, (long long)lost,
				 (long long)reports[i].removed);
		if (reports[i].missing != hit)
			fail_msg("a page of %s: %s is missing \"%s\"", name, table, reports[i].text);
	}
}

TEST_WITH(the_rows_of_a_damaged_page_are_missing_and_no_others, set_up, tear_down)
{
	/* The leaf in the middle of each table and index; in the short form of every fourth. */
	static const char pages[] =
		"SELECT name, pageno, ncell, pgsize, name IN (SELECT name FROM sqlite_schema WHERE type = 'table')"
		" FROM (SELECT *, row_number() OVER (PARTITION BY name ORDER BY path) AS place,"
		" count(*) OVER (PARTITION BY name) AS places FROM dbstat WHERE pagetype = 'leaf')"
		" WHERE place = places / 2 + 1 AND pageno > 1 AND name NOT LIKE 'sqlite_s%'";
	unsigned tables = 0, indexes = 0, at = 0, step = 4 / test_cases(4);
	int64_t rows[64];
	sqlite3_stmt *page;
	sqlite3 *db;

	assert_int_equal(sqlite3_open(path, &db), SQLITE_OK);
	if (sqlite3_prepare_v2(db, pages, -1, &page, NULL) != SQLITE_OK) {
		sqlite3_close(db);
		print_message("# this SQLite has no dbstat\n");
		skip();
	}
	count_rows(path, rows);
	while (sqlite3_step(page) == SQLITE_ROW) {
		const char *name = (const char *)sqlite3_column_text(page, 0);
		bool is_table = sqlite3_column_int(page, 4);

		if (at++ % step)
			continue;
		recover_without(name, sqlite3_column_int64(page, 1), sqlite3_column_int64(page, 3));
		check_rows(rows, name, is_table, sqlite3_column_int64(page, 2));
		check_usable();
		tables += is_table;
		indexes += !is_table;
	}
	sqlite3_finalize(page);
	sqlite3_close(db);
	assert_true(tables > test_cases(20) && indexes > test_cases(8));
}
