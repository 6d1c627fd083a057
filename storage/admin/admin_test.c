/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* admin_test.c - catalog, information, check and compaction of a database */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <sqlite3.h>

#include "base/err.h"
#include "base/test_cases.h"
#include "base/unit_test.h"
#include "storage/admin.h"
#include "storage/file/db.h"
#include "storage/admin/catalog.h"
#include "storage/file/lock.h"
#include "storage/reader.h"
#include "storage/file/schema.h"
#include "storage/test/test_check.h"
#include "storage/test/test_folder.h"
#include "storage/test/test_history.h"
#include "storage/test/test_model.h"
#include "storage/writer.h"

/* Columns that an anonymised copy need not replace: they identify neither nodes nor persons. */
static bool is_anonymous(const char *table, const char *column)
{
	static const char *const columns[] = {
		"meta.key", "meta.value", "event.kind", "hot.samples", "chunk.samples", "finding.kind",
		"finding_state.cause", "finding_state.advice", "finding_state.evidence", "acknowledgement.kind",
		"route_version.ports", "firmware.psid", "snapshot_firmware.psid",
		"cable.vendor", "cable.part", "cable.revision", "cable.length", "cable.type",
		"cable.firmware", "cable_reading.rx_power", "cable_reading.tx_power", "cable_reading.tx_bias",
		"pkey_version.keys",
	};
	char name[96];

	snprintf(name, sizeof(name), "%s.%s", table, column);
	for (size_t i = 0; i < sizeof(columns) / sizeof(*columns); i++)
		if (!strcmp(columns[i], name))
			return true;
	return false;
}

static bool is_hidden(const struct catalog_table *table, const char *column)
{
	for (int i = 0; i < CATALOG_COLUMNS_MAX && table->columns[i].name; i++)
		if (!strcmp(table->columns[i].name, column))
			return table->columns[i].hidden;
	return false;
}

TEST_IN_FOLDER(every_table_and_identifying_column_is_in_the_catalog)
{
	static const char query[] = "SELECT m.name, c.name, c.type FROM sqlite_schema m, pragma_table_info(m.name) c"
				    " WHERE m.type = 'table' AND m.name NOT LIKE 'sqlite_%'";
	sqlite3_stmt *rows;
	sqlite3 *db;

	assert_int_equal(schema_create(path, NULL), 0);
	assert_int_equal(sqlite3_open(path, &db), SQLITE_OK);
	assert_int_equal(sqlite3_prepare_v2(db, query, -1, &rows, NULL), SQLITE_OK);
	while (sqlite3_step(rows) == SQLITE_ROW) {
		const char *name = (const char *)sqlite3_column_text(rows, 0);
		const char *column = (const char *)sqlite3_column_text(rows, 1);
		const char *type = (const char *)sqlite3_column_text(rows, 2);
		const struct catalog_table *table = catalog_find(name);

		if (!table)
			fail_msg("table %s is not in catalog.c", name);
		if (table->range == RANGE_NONE || is_anonymous(name, column) || is_hidden(table, column))
			continue;
		if (!strcmp(type, "TEXT") || !strcmp(type, "BLOB") || !*type || strstr(column, "guid"))
			fail_msg("catalog.c does not hide column %s of table %s", column, name);
	}
	sqlite3_finalize(rows);
	sqlite3_close(db);
}

TEST_IN_FOLDER(info_counts_rows)
{
	struct model *model = test_history_store(3, 40);
	struct admin_info info;

	assert_int_equal(admin_info(path, &info, NULL), 0);
	assert_int_equal(info.schema_version, SCHEMA_VERSION);
	assert_false(info.live);
	assert_int_equal(info.sweeps, 40);
	assert_int_equal(info.nodes, check_integer(path, "SELECT count(*) FROM node"));
	assert_int_equal(info.data[DATA_EVENTS].rows, check_integer(path, "SELECT count(*) FROM event"));
	assert_int_equal(info.data[DATA_ERRORS].rows, check_integer(path, "SELECT count(*) FROM error"));
	assert_int_equal(info.data[DATA_SWEEPS].since_us, model->sweeps[0].wall_us);
	assert_int_equal(info.data[DATA_SWEEPS].until_us, model->sweeps[39].wall_us);
	assert_true(info.data[DATA_RAW].bytes > 0 && info.data[DATA_RAW].bytes < info.file_bytes);
	assert_true(info.data[DATA_RAW].until_us == model->sweeps[39].wall_us);
	model_destroy(model);
}

static void count_faults_of(void *ctx, const struct admin_fault *fault)
{
	size_t *faults = ctx;

	assert_null(strchr(fault->where, '\n'));
	(*faults)++;
}

TEST_IN_FOLDER(damaged_samples_are_reported)
{
	struct model *model = test_history_store(18, 20);
	uint64_t faults = 0;
	size_t reported = 0;

	check_change(path, "UPDATE hot SET samples = substr(samples, 1, length(samples) - 1)"
			   " WHERE id / 65536 IN (3, 5)");
	assert_int_equal(admin_check(path, count_faults_of, &reported, &faults, NULL), 0);
	assert_true(faults > 0);
	assert_int_equal(faults, check_integer(path, "SELECT count(*) FROM hot WHERE id / 65536 IN (3, 5)"));
	assert_int_equal(reported, faults);
	model_destroy(model);
}

static void expect_two_collectors(void *ctx, const struct admin_fault *fault)
{
	size_t *reported = ctx;

	assert_string_equal(fault->where, "absolute");
	assert_non_null(strstr(fault->what, "stored twice"));
	(*reported)++;
}

/* The second of two collectors stores the deltas of a sweep again: in samples that are packed later, and in hot. */
TEST_IN_FOLDER(deltas_that_are_stored_twice_are_detected)
{
	static const char twice[] =
		"CREATE TEMP TABLE one AS SELECT * FROM sweep ORDER BY id DESC LIMIT 1; UPDATE one SET id = id + 1;"
		"INSERT INTO hot SELECT id + 65536, samples FROM hot WHERE id / 65536 = (SELECT max(id) FROM sweep);"
		"INSERT INTO sweep SELECT * FROM one";

	for (unsigned window_sweeps = 0; window_sweeps <= 7; window_sweeps += 7) {
		struct model *model = model_create(19, 2, 8, 6);
		uint64_t faults = 0;
		size_t reported = 0;

		check_collect(path, model, 5, window_sweeps);
		check_sound(path);
		check_change(path, twice);
		check_collect(path, model, 20, window_sweeps);
		assert_int_equal(check_integer(path, "SELECT count(*) > 0 FROM chunk"), window_sweeps > 0);
		assert_int_equal(admin_check(path, expect_two_collectors, &reported, &faults, NULL), 0);
		assert_int_equal(faults, 1);
		assert_int_equal(reported, 1);
		model_destroy(model);
		test_folder_renew();
	}
}

static void write_garbage(const char *of, long at, size_t len)
{
	FILE *file = fopen(of, "r+b");

	assert_non_null(file);
	fseek(file, at, SEEK_SET);
	for (size_t i = 0; i < len; i++)
		fputc((int)(i * 37 + 11) & 0xff, file);
	assert_int_equal(fclose(file), 0);
}

static bool take_event(void *ctx, const struct event_row *row)
{
	(void)ctx;
	return row->id >= 0;
}

/* Every function either succeeds or fails with one line. */
static void call_everything(const struct model *model)
{
	const struct snapshot_query query = { .at_us = model->sweeps[10].wall_us, .window_us = 5000000,
					      .absolute = true };
	const struct export_query anonymised = { .anonymise = true };
	const struct event_query events = { 0 };
	struct export_summary summary;
	struct snapshot *snapshot;
	struct admin_info info;
	struct reader *reader;
	struct error err = { 0 };
	struct writer *writer;
	char copy[96];
	int64_t bytes;

	snprintf(copy, sizeof(copy), "%s/copy.db", folder);
	if (reader_open(path, &reader, &err) == 0) {
		if (snapshot_load(reader, &query, &snapshot, &err) == 0)
			snapshot_destroy(snapshot);
		reader_events(reader, &events, take_event, NULL, &err);
		check_run_sql(reader, "SELECT * FROM traffic");
		reader_close(reader);
	}
	admin_info(path, &info, &err);
	if (admin_backup(path, copy, &bytes, &err) == 0)
		unlink(copy);
	if (admin_export(path, copy, &anonymised, &summary, &err) == 0)
		unlink(copy);
	assert_null(strchr(err.text, '\n'));
	assert_int_not_equal(access(copy, F_OK), 0);
	if (writer_open(path, &writer, &err) == 0) {
		writer_set_retention(writer, &(struct writer_retention){ .window_sweeps = 3, .raw_us = 10000000 });
		writer_sink(writer)->store(writer, &model->sweep, NULL);
		writer_close(writer);
	}
}

TEST_IN_FOLDER(a_damaged_page_is_detected_and_causes_no_crash)
{
	enum { PAGE = 16384 };
	struct model *model = test_history_store(11, 60);
	size_t len, damaged = 0, found = 0, step = 8 / test_cases(4);
	char *good = test_file_read(path, &len);

	for (size_t page = 1; page < len / PAGE; page += step) {
		uint64_t faults = 0;
		size_t reported = 0;
		struct error err = { 0 };

		test_folder_renew();
		test_file_write(path, good, len);
		write_garbage(path, (long)(page * PAGE), 64 + page % 3 * 2000);
		damaged++;
		if (admin_check(path, count_faults_of, &reported, &faults, &err) < 0 || faults)
			found++;
		call_everything(model);
	}
	/* Damage of a free page is not detected. */
	assert_true(damaged > test_cases(20) && found + damaged / 20 >= damaged);
	free(good);
	model_destroy(model);
}

static void write_page_number(int64_t at, uint32_t page)
{
	FILE *file = fopen(path, "r+b");

	assert_non_null(file);
	fseek(file, (long)at, SEEK_SET);
	for (int shift = 24; shift >= 0; shift -= 8)
		fputc((int)(page >> shift & 0xff), file);
	assert_int_equal(fclose(file), 0);
}

/* SQLite reports "full" if a page refers to one above the maximum. */
TEST_IN_FOLDER(an_impossible_page_number_is_damage_and_no_full_disk)
{
	struct model *model = test_history_store(12, 60);
	int64_t at = check_integer(path, "SELECT (pageno - 1) * (SELECT page_size FROM pragma_page_size) + 8"
				   " FROM dbstat WHERE pagetype = 'internal' AND pageno > 1");
	struct error err = { 0 };
	sqlite3 *db;
	int code;

	assert_true(at > 8);
	write_page_number(at, UINT32_C(0x7fffffff));
	assert_int_equal(sqlite3_open_v2(path, &db, SQLITE_OPEN_READONLY, NULL), SQLITE_OK);
	code = db_exec(db, "SELECT sum(pgsize) FROM dbstat", &err);
	/* SQLite 3.46 skips such a page here; 3.40 does not. */
	if (code < 0 || sqlite3_libversion_number() < 3041000) {
		assert_int_equal(code, ERR_IO);
		assert_int_equal(sqlite3_errcode(db), SQLITE_FULL);
		assert_non_null(strstr(err.text, "is damaged"));
	}
	sqlite3_close(db);
	model_destroy(model);
}

TEST_IN_FOLDER(compaction_frees_space_and_refuses_to_delay_a_collector)
{
	static const char filler[] =
		"CREATE TABLE filler (bytes BLOB); WITH RECURSIVE n (i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n"
		" WHERE i < 500) INSERT INTO filler SELECT randomblob(4000) FROM n; DROP TABLE filler";
	struct model *model = test_history_store(14, 80);
	int64_t before = 0, after = 0;
	struct error err = { 0 };
	struct db_lock lock;

	assert_int_equal(lock_take(path, &lock, NULL), 0);
	assert_int_equal(admin_compact(path, &before, &after, &err), ERR_UNAVAILABLE);
	assert_non_null(strstr(err.text, "a collector writes"));
	lock_release(&lock);
	check_change(path, filler);
	if (admin_compact(path, &before, &after, &err) < 0)
		fail_msg("%s", err.text);
	assert_true(after < before - 1000000);
	check_sound(path);
	check_sweeps(path, model, 1, 80, 7);
	model_destroy(model);
}
