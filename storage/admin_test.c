/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* admin_test.c - what is kept where, what is damaged, copies, and parts of a history */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cmocka.h>
#include <sqlite3.h>

#include "base/err.h"
#include "storage/admin.h"
#include "storage/kept.h"
#include "storage/lock.h"
#include "storage/reader.h"
#include "storage/schema.h"
#include "storage/test_check.h"
#include "storage/test_model.h"
#include "storage/writer.h"

static char folder[64], path[80], copy[96];

static int set_up(void **state)
{
	(void)state;
	check_make_folder(folder);
	snprintf(path, sizeof(path), "%s/fabric.db", folder);
	snprintf(copy, sizeof(copy), "%s/copy.db", folder);
	return 0;
}

static int tear_down(void **state)
{
	(void)state;
	check_remove_folder(folder);
	return 0;
}

/* Samples of every other seed are packed by windows as far as the writer's thread comes; of the rest they stay hot. */
static struct model *store_history(uint64_t seed, size_t sweeps)
{
	struct model *model = model_create(seed, 4, 10, 12);
	unsigned window_sweeps = seed % 2 ? 7 : 0;
	struct writer *writer = check_open_writer_with(path, window_sweeps);

	model->keep_history = true;
	for (size_t i = 0; i < sweeps; i++) {
		check_store(writer, model_step(model));
		if (i % 50 == 49) {
			usleep(100000);
			writer_close(writer);
			writer = check_open_writer_with(path, window_sweeps);
		}
	}
	writer_close(writer);
	if (sweeps > 50 && window_sweeps)
		assert_true(check_integer(path, "SELECT count(*) FROM chunk") > 0);
	return model;
}

/* What is left out of a disguised copy as it is: no column with a word of somebody's in it may be missing here. */
static bool is_nobodys(const char *table, const char *column)
{
	static const char *const columns[] = {
		"meta.key", "meta.value", "event.kind", "hot.samples", "chunk.samples",
		"route_version.ports",
	};
	char name[96];

	snprintf(name, sizeof(name), "%s.%s", table, column);
	for (size_t i = 0; i < sizeof(columns) / sizeof(*columns); i++)
		if (!strcmp(columns[i], name))
			return true;
	return false;
}

static bool is_hidden(const struct kept_table *table, const char *column)
{
	for (int i = 0; i < KEPT_COLUMNS_MOST && table->columns[i].name; i++)
		if (!strcmp(table->columns[i].name, column))
			return table->columns[i].hidden;
	return false;
}

static void every_table_and_every_naming_column_is_in_the_list(void **state)
{
	static const char query[] = "SELECT m.name, c.name, c.type FROM sqlite_schema m, pragma_table_info(m.name) c"
				    " WHERE m.type = 'table' AND m.name NOT LIKE 'sqlite_%'";
	sqlite3_stmt *rows;
	sqlite3 *db;

	(void)state;
	assert_int_equal(schema_create(path, NULL), 0);
	assert_int_equal(sqlite3_open(path, &db), SQLITE_OK);
	assert_int_equal(sqlite3_prepare_v2(db, query, -1, &rows, NULL), SQLITE_OK);
	while (sqlite3_step(rows) == SQLITE_ROW) {
		const char *name = (const char *)sqlite3_column_text(rows, 0);
		const char *column = (const char *)sqlite3_column_text(rows, 1);
		const char *type = (const char *)sqlite3_column_text(rows, 2);
		const struct kept_table *table = kept_find(name);

		if (!table)
			fail_msg("table %s is not in kept.c", name);
		if (table->range == RANGE_NONE || is_nobodys(name, column) || is_hidden(table, column))
			continue;
		if (!strcmp(type, "TEXT") || !strcmp(type, "BLOB") || !*type || strstr(column, "guid"))
			fail_msg("column %s of table %s may name somebody, and kept.c does not hide it", column, name);
	}
	sqlite3_finalize(rows);
	sqlite3_close(db);
}

static void fail_at_fault(void *ctx, const struct admin_fault *fault)
{
	(void)ctx;
	fail_msg("%s: %s", fault->where, fault->what);
}

static void assert_sound(const char *of)
{
	struct error err = { 0 };
	uint64_t faults = 0;

	if (admin_check(of, fail_at_fault, NULL, &faults, &err) < 0)
		fail_msg("%s", err.text);
	assert_int_equal(faults, 0);
}

static void info_counts_what_is_there(void **state)
{
	struct model *model = store_history(3, 40);
	struct admin_info info;

	(void)state;
	assert_int_equal(admin_info(path, &info, NULL), 0);
	assert_int_equal(info.schema_version, SCHEMA_VERSION);
	assert_false(info.live);
	assert_int_equal(info.sweeps, 40);
	assert_int_equal(info.nodes, check_integer(path, "SELECT count(*) FROM node"));
	assert_int_equal(info.kept[KEPT_EVENTS].rows, check_integer(path, "SELECT count(*) FROM event"));
	assert_int_equal(info.kept[KEPT_ERRORS].rows, check_integer(path, "SELECT count(*) FROM error"));
	assert_int_equal(info.kept[KEPT_SWEEPS].since_us, model->sweeps[0].wall_us);
	assert_int_equal(info.kept[KEPT_SWEEPS].until_us, model->sweeps[39].wall_us);
	assert_true(info.kept[KEPT_RAW].bytes > 0 && info.kept[KEPT_RAW].bytes < info.file_bytes);
	assert_true(info.kept[KEPT_RAW].until_us == model->sweeps[39].wall_us);
	model_destroy(model);
}

/* All rows of each table of one database are in the other, and the other way round. */
static void assert_same_content(const char *a, const char *b)
{
	sqlite3 *db;
	char sql[512];

	assert_int_equal(sqlite3_open(a, &db), SQLITE_OK);
	snprintf(sql, sizeof(sql), "ATTACH '%s' AS other", b);
	assert_int_equal(sqlite3_exec(db, sql, NULL, NULL, NULL), SQLITE_OK);
	for (size_t i = 0; i < kept_table_count; i++) {
		const char *name = kept_tables[i].name;
		sqlite3_stmt *row;

		snprintf(sql, sizeof(sql), "SELECT"
			 " (SELECT count(*) FROM (SELECT * FROM main.%s EXCEPT SELECT * FROM other.%s)),"
			 " (SELECT count(*) FROM main.%s) - (SELECT count(*) FROM other.%s)", name, name, name, name);
		if (sqlite3_prepare_v2(db, sql, -1, &row, NULL) != SQLITE_OK)
			continue; /* of another version */
		assert_int_equal(sqlite3_step(row), SQLITE_ROW);
		if (sqlite3_column_int64(row, 0) || sqlite3_column_int64(row, 1))
			fail_msg("%s differs: %d rows, %d more", name, sqlite3_column_int(row, 0),
				 sqlite3_column_int(row, 1));
		sqlite3_finalize(row);
	}
	sqlite3_close(db);
}

static void an_export_of_everything_is_the_same(void **state)
{
	const struct export_query everything = { 0 };
	struct model *model = store_history(3, 130);
	struct export_summary summary;
	struct error err = { 0 };

	(void)state;
	if (admin_export(path, copy, &everything, &summary, &err) < 0)
		fail_msg("%s", err.text);
	assert_int_equal(summary.sweeps, 130);
	assert_int_equal(summary.since_us, model->sweeps[0].wall_us);
	assert_sound(copy);
	assert_same_content(path, copy);
	model_destroy(model);
}

static void check_part(uint64_t seed)
{
	struct model *model = store_history(seed, 150);
	const struct export_query query = { .since_us = model->sweeps[60].wall_us,
					    .until_us = model->sweeps[99].wall_us };
	struct snapshot_query before = { 0 };
	struct export_summary summary;
	struct snapshot *snapshot;
	struct reader *reader;
	struct writer *writer;
	struct error err = { 0 };
	int64_t first, last;

	if (admin_export(path, copy, &query, &summary, &err) < 0)
		fail_msg("%s", err.text);
	assert_sound(copy);
	first = check_integer(copy, "SELECT min(id) FROM sweep");
	last = check_integer(copy, "SELECT max(id) FROM sweep");
	assert_true(first <= 61 && last >= 100);
	assert_int_equal(check_integer(copy, "SELECT count(*) FROM event WHERE sweep NOT IN (SELECT id FROM sweep)"),
			 0);
	reader = check_open_reader(copy);
	for (int64_t id = first; id <= last; id++)
		check_sweep(reader, model, id);
	before.at_us = model->sweeps[first - 1].wall_us - 1;
	assert_int_equal(snapshot_load(reader, &before, &snapshot, &err), ERR_UNAVAILABLE);
	reader_close(reader);
	/* A collector could go on with it: ids have no holes. */
	writer = check_open_writer(copy);
	writer_close(writer);
	assert_sound(copy);
	model_destroy(model);
}

static void a_part_holds_its_sweeps_as_they_were_and_no_others(void **state)
{
	(void)state;
	for (uint64_t seed = 4; seed < 8; seed++) {
		check_part(seed);
		check_remove_folder(folder);
		set_up(NULL);
	}
}

/* What is too old is gone: a part of what is left, and all of it. */
static void a_history_that_forgot_is_exported_as_it_is(void **state)
{
	const struct writer_keep keep = { .raw_us = INT64_C(3600000000), .sums_us = INT64_C(7200000000),
					  .window_sweeps = 5 };
	const struct export_query everything = { 0 };
	struct model *model = model_create(21, 4, 10, 12);
	struct writer *writer = check_open_writer(path);
	struct export_summary summary;
	struct reader *reader;
	struct error err = { 0 };
	int64_t last;

	(void)state;
	model->keep_history = true;
	writer_set_keep(writer, &keep);
	for (int i = 0; i < 300; i++) {
		if (i % 20 == 19)
			model_jump(model, 600000000);
		check_store(writer, model_step(model));
		if (i % 50 == 49) {
			writer_close(writer);
			writer = check_open_writer(path);
			writer_set_keep(writer, &keep);
		}
	}
	writer_close(writer);
	assert_sound(path);
	last = check_integer(path, "SELECT max(id) FROM sweep");
	assert_true(check_integer(path, "SELECT coalesce(max(to_sweep), 0) FROM chunk_window WHERE state = 2") > 50);
	if (admin_export(path, copy, &everything, &summary, &err) < 0)
		fail_msg("%s", err.text);
	assert_sound(copy);
	assert_same_content(path, copy);
	reader = check_open_reader(copy);
	for (int64_t id = last - 20; id <= last; id++)
		check_sweep(reader, model, id);
	reader_close(reader);
	model_destroy(model);
}

static char *contents(const char *of, size_t *ret_len)
{
	FILE *file = fopen(of, "rb");
	char *bytes;

	assert_non_null(file);
	fseek(file, 0, SEEK_END);
	*ret_len = (size_t)ftell(file);
	rewind(file);
	bytes = malloc(*ret_len + 1);
	assert_non_null(bytes);
	assert_int_equal(fread(bytes, 1, *ret_len, file), *ret_len);
	fclose(file);
	return bytes;
}

static bool holds_guid(const char *bytes, size_t len, uint64_t guid)
{
	unsigned char big_endian[8];
	char digits[24];

	for (int i = 0; i < 8; i++)
		big_endian[i] = (unsigned char)(guid >> (56 - 8 * i));
	snprintf(digits, sizeof(digits), "%016llx", (unsigned long long)guid);
	return memmem(bytes, len, big_endian, 8) || memmem(bytes, len, digits, 16);
}

/* Names short enough to be there by chance say nothing. */
enum { TELLING_NAME = 6 };

static bool holds_node(const char *bytes, size_t len, const struct node *node)
{
	size_t name = strnlen(node->desc, NODE_DESC_SIZE);

	if (name >= TELLING_NAME && memmem(bytes, len, node->desc, name))
		return true;
	if (strlen(node->name) >= TELLING_NAME && memmem(bytes, len, node->name, strlen(node->name)))
		return true;
	return holds_guid(bytes, len, node->guid) || holds_guid(bytes, len, node->system_guid);
}

/* Does a file hold anything that tells who a node or a port of the history is? */
static bool names_somebody(const char *of, const struct model *model)
{
	size_t len;
	char *bytes = contents(of, &len);
	bool found = memmem(bytes, len, model->boot_id, strlen(model->boot_id)) != NULL;

	for (size_t f = 0; !found && f < model->fabric_count; f++) {
		const struct fabric *fabric = model->fabrics[f];

		for (size_t i = 0; !found && i < fabric->node_count; i++)
			found = holds_node(bytes, len, &fabric->nodes[i]);
		for (size_t i = 0; !found && i < fabric->port_count; i++)
			found = fabric->ports[i].guid > UINT32_MAX && holds_guid(bytes, len, fabric->ports[i].guid);
	}
	free(bytes);
	return found;
}

static void a_disguised_export_names_nobody(void **state)
{
	const struct export_query disguised = { .anonymise = true }, plain = { 0 };
	struct export_summary summary;
	struct error err = { 0 };
	char named[112];

	(void)state;
	for (uint64_t seed = 10; seed < 14; seed++) {
		struct model *model = store_history(seed, 90);

		snprintf(named, sizeof(named), "%s/named.db", folder);
		if (admin_export(path, copy, &disguised, &summary, &err) < 0 ||
		    admin_export(path, named, &plain, &summary, &err) < 0)
			fail_msg("%s", err.text);
		assert_sound(copy);
		assert_false(names_somebody(copy, model));
		assert_true(names_somebody(named, model)); /* it would be found */
		assert_int_equal(check_integer(copy, "SELECT count(DISTINCT guid) FROM node"),
				 check_integer(path, "SELECT count(DISTINCT guid) FROM node"));
		assert_int_equal(check_integer(copy, "SELECT count(DISTINCT name) FROM node_version"),
				 check_integer(path, "SELECT count(DISTINCT name) FROM node_version"));
		model_destroy(model);
		check_remove_folder(folder);
		set_up(NULL);
	}
}

static void a_backup_beside_a_writer_is_of_one_moment(void **state)
{
	struct model *model = model_create(8, 4, 10, 12);
	struct reader *reader;
	struct writer *writer;
	struct error err = { 0 };
	int64_t bytes = 0;
	pid_t writing;
	int status;

	(void)state;
	model->keep_history = true;
	writer = check_open_writer(path);
	check_store(writer, model_step(model));
	writer_close(writer);
	model_destroy(model);
	writing = fork();
	assert_true(writing >= 0);
	if (!writing) {
		struct model *same = model_create(8, 4, 10, 12);

		same->keep_history = true;
		if (writer_open(path, &writer, NULL) < 0)
			_exit(1);
		model_step(same);
		for (int i = 0; i < 200; i++)
			if (writer_sink(writer)->store(writer_sink(writer)->ctx, model_step(same), NULL) < 0)
				_exit(2);
		_exit(0);
	}
	for (int i = 0; i < 10; i++) {
		char name[112];

		usleep(20000);
		snprintf(name, sizeof(name), "%s.%d", copy, i);
		if (admin_backup(path, name, &bytes, &err) < 0)
			fail_msg("%s", err.text);
		assert_sound(name);
	}
	waitpid(writing, &status, 0);
	assert_int_equal(status, 0);
	assert_int_equal(admin_backup(path, copy, &bytes, NULL), 0);
	assert_same_content(path, copy);
	model = model_create(8, 4, 10, 12);
	model->keep_history = true;
	for (int i = 0; i < 201; i++)
		model_step(model);
	reader = check_open_reader(copy);
	for (int64_t id = 1; id <= 201; id += 20)
		check_sweep(reader, model, id);
	reader_close(reader);
	model_destroy(model);
}

static void count_faults_of(void *ctx, const struct admin_fault *fault)
{
	size_t *faults = ctx;

	assert_null(strchr(fault->where, '\n'));
	(*faults)++;
}

static void damaged_samples_are_named(void **state)
{
	struct model *model = store_history(18, 20);
	uint64_t faults = 0;
	size_t told = 0;
	sqlite3 *db;

	(void)state;
	assert_int_equal(sqlite3_open(path, &db), SQLITE_OK);
	assert_int_equal(sqlite3_exec(db, "UPDATE hot SET samples = substr(samples, 1, length(samples) - 1)"
				      " WHERE id / 65536 IN (3, 5)", NULL, NULL, NULL), SQLITE_OK);
	assert_true(sqlite3_changes(db) > 0);
	sqlite3_close(db);
	assert_int_equal(admin_check(path, count_faults_of, &told, &faults, NULL), 0);
	assert_int_equal(faults, check_integer(path, "SELECT count(*) FROM hot WHERE id / 65536 IN (3, 5)"));
	assert_int_equal(told, faults);
	model_destroy(model);
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

static bool take_sql(void *ctx, const char *const *names, int count)
{
	(void)ctx;
	(void)names;
	return count > 0;
}

static bool take_cells(void *ctx, const struct cell *cells, int count)
{
	(void)ctx;
	(void)cells;
	return count > 0;
}

static bool take_event(void *ctx, const struct event_row *row)
{
	(void)ctx;
	return row->id >= 0;
}

/* Everything that reads: it answers, or says in one line why not. */
static void try_everything(const struct model *model)
{
	const struct snapshot_query query = { .at_us = model->sweeps[10].wall_us, .window_us = 5000000,
					      .absolute = true };
	const struct sql_consumer consumer = { .header = take_sql, .row = take_cells };
	const struct export_query disguised = { .anonymise = true };
	const struct event_query events = { 0 };
	struct export_summary summary;
	struct snapshot *snapshot;
	struct admin_info info;
	struct reader *reader;
	struct error err = { 0 };
	int64_t bytes;

	if (reader_open(path, &reader, &err) == 0) {
		if (snapshot_load(reader, &query, &snapshot, &err) == 0)
			snapshot_destroy(snapshot);
		reader_events(reader, &events, take_event, NULL, &err);
		reader_sql(reader, "SELECT * FROM traffic", &consumer, &err);
		reader_close(reader);
	}
	admin_info(path, &info, &err);
	if (admin_backup(path, copy, &bytes, &err) == 0)
		unlink(copy);
	if (admin_export(path, copy, &disguised, &summary, &err) == 0)
		unlink(copy);
	assert_null(strchr(err.text, '\n'));
	assert_int_not_equal(access(copy, F_OK), 0);
}

static void a_damaged_page_is_found_and_crashes_nothing(void **state)
{
	enum { PAGE = 16384 };
	struct model *model = store_history(11, 60);
	size_t len, damaged = 0, found = 0;
	char *good = contents(path, &len);

	(void)state;
	for (size_t page = 1; page < len / PAGE; page += 2) {
		uint64_t faults = 0;
		size_t told = 0;
		struct error err = { 0 };
		FILE *file = fopen(path, "wb");

		assert_non_null(file);
		assert_int_equal(fwrite(good, 1, len, file), len);
		assert_int_equal(fclose(file), 0);
		write_garbage(path, (long)(page * PAGE), 64 + page % 3 * 2000);
		try_everything(model);
		damaged++;
		if (admin_check(path, count_faults_of, &told, &faults, &err) < 0 || faults)
			found++;
	}
	/* A page that nothing uses may be anything. */
	assert_true(damaged > 20 && found + damaged / 20 >= damaged);
	free(good);
	model_destroy(model);
}

static void compacting_gives_room_back_and_leaves_a_collector_alone(void **state)
{
	static const char filler[] =
		"CREATE TABLE filler (bytes BLOB); WITH RECURSIVE n (i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n"
		" WHERE i < 500) INSERT INTO filler SELECT randomblob(4000) FROM n; DROP TABLE filler";
	struct model *model = store_history(14, 80);
	int64_t before = 0, after = 0;
	struct error err = { 0 };
	struct reader *reader;
	sqlite3 *db;
	int lock;

	(void)state;
	assert_int_equal(lock_take(path, &lock, NULL), 0);
	assert_int_equal(admin_compact(path, &before, &after, &err), ERR_UNAVAILABLE);
	assert_non_null(strstr(err.text, "a collector writes"));
	lock_release(lock);
	assert_int_equal(sqlite3_open(path, &db), SQLITE_OK);
	assert_int_equal(sqlite3_exec(db, filler, NULL, NULL, NULL), SQLITE_OK);
	sqlite3_close(db);
	if (admin_compact(path, &before, &after, &err) < 0)
		fail_msg("%s", err.text);
	assert_true(after < before - 1000000);
	assert_sound(path);
	reader = check_open_reader(path);
	for (int64_t id = 1; id <= 80; id += 7)
		check_sweep(reader, model, id);
	reader_close(reader);
	model_destroy(model);
}

static void nothing_is_overwritten_and_nothing_half_stays(void **state)
{
	struct model *model = store_history(15, 5);
	const struct export_query everything = { 0 }, never = { .until_us = 1 };
	struct export_summary summary;
	struct error err = { 0 };
	char nowhere[128];
	int64_t bytes;

	(void)state;
	assert_int_equal(admin_backup(path, path, &bytes, &err), ERR_IO);
	assert_non_null(strstr(err.text, "there already"));
	assert_int_equal(admin_backup(path, folder, &bytes, &err), ERR_IO);
	assert_int_equal(admin_export(path, folder, &everything, &summary, &err), ERR_IO);
	snprintf(nowhere, sizeof(nowhere), "%s/none/copy.db", folder);
	assert_int_equal(admin_backup(path, nowhere, &bytes, &err), ERR_IO);
	assert_non_null(strstr(err.text, "none/copy.db"));
	assert_int_equal(admin_backup("/nonexistent.db", copy, &bytes, &err), ERR_UNAVAILABLE);
	assert_int_equal(admin_export(path, copy, &never, &summary, &err), ERR_UNAVAILABLE);
	assert_int_equal(access(copy, F_OK), -1);
	snprintf(nowhere, sizeof(nowhere), "%s.part", copy);
	assert_int_equal(access(nowhere, F_OK), -1);
	model_destroy(model);
}

static void a_database_of_version_1_is_counted_checked_and_copied(void **state)
{
	const struct export_query everything = { 0 };
	struct model *model = store_history(16, 12);
	struct export_summary summary;
	struct admin_info info;
	struct error err = { 0 };
	int64_t bytes, before, after;
	char old[112];

	(void)state;
	snprintf(old, sizeof(old), "%s/old.db", folder);
	check_make_version_1(old, path);
	assert_int_equal(admin_info(old, &info, NULL), 0);
	assert_int_equal(info.schema_version, 1);
	assert_true(info.kept[KEPT_RAW].rows > 0 && info.kept[KEPT_RAW].since_us);
	assert_false(info.kept[KEPT_HOURS].there);
	assert_sound(old);
	assert_int_equal(admin_backup(old, copy, &bytes, NULL), 0);
	assert_sound(copy);
	assert_same_content(old, copy);
	unlink(copy);
	assert_int_equal(admin_export(old, copy, &everything, &summary, &err), ERR_UNAVAILABLE);
	assert_non_null(strstr(err.text, "schema version 1"));
	/* Compacting brings it up to date. */
	assert_int_equal(admin_compact(old, &before, &after, NULL), 0);
	assert_sound(old);
	assert_int_equal(admin_export(old, copy, &everything, &summary, &err), 0);
	assert_int_equal(summary.sweeps, 12);
	model_destroy(model);
}

int main(void)
{
#define TEST(name) cmocka_unit_test_setup_teardown(name, set_up, tear_down)
	const struct CMUnitTest tests[] = {
		TEST(every_table_and_every_naming_column_is_in_the_list),
		TEST(info_counts_what_is_there),
		TEST(an_export_of_everything_is_the_same),
		TEST(a_part_holds_its_sweeps_as_they_were_and_no_others),
		TEST(a_history_that_forgot_is_exported_as_it_is),
		TEST(a_disguised_export_names_nobody),
		TEST(a_backup_beside_a_writer_is_of_one_moment),
		TEST(damaged_samples_are_named),
		TEST(a_damaged_page_is_found_and_crashes_nothing),
		TEST(compacting_gives_room_back_and_leaves_a_collector_alone),
		TEST(a_database_of_version_1_is_counted_checked_and_copied),
		TEST(nothing_is_overwritten_and_nothing_half_stays),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
