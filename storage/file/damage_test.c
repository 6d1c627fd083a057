/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* damage_test.c - of a damaged database what can be read is right, what cannot is named, and nothing crashes */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>
#include <sqlite3.h>

#include "base/err.h"
#include "base/text.h"
#include "fabric/fabric.h"
#include "storage/admin.h"
#include "storage/reader.h"
#include "storage/test/test_check.h"
#include "storage/test/test_folder.h"
#include "storage/test/test_model.h"
#include "storage/writer.h"

#define SWEEPS 64
#define WINDOW 10

static struct model *make_database(uint64_t seed)
{
	struct writer *writer = check_open_writer_with(path, WINDOW);
	struct model *model = model_create(seed, 2, 20, 10);

	model->calm = model->keep_history = true;
	for (int i = 0; i < SWEEPS; i++)
		check_store(writer, model_step(model));
	writer_close(writer);
	assert_int_equal(check_integer(path, "SELECT count(*) FROM chunk_window WHERE state = 1"), SWEEPS / WINDOW);
	return model;
}

static void change(const char *sql)
{
	char *message = NULL;
	sqlite3 *db;

	assert_int_equal(sqlite3_open(path, &db), SQLITE_OK);
	if (sqlite3_exec(db, sql, NULL, NULL, &message) != SQLITE_OK)
		fail_msg("%s: %s", sql, message);
	assert_true(sqlite3_total_changes(db) > 0);
	sqlite3_close(db);
}

/* Whatever is said of a port's readings and sums is the truth. Return: how many ports nothing is said of. */
static int check_said(const struct snapshot *snapshot, const struct model *model, int64_t sweep)
{
	int missing = 0;

	for (size_t i = 0; i < snapshot->fabric->port_count; i++) {
		const struct port *port = &snapshot->fabric->ports[i];
		uint64_t guid = snapshot->fabric->nodes[port->node].guid;
		const struct model_truth *truth = NULL;

		for (size_t p = 0; p < model->port_count; p++)
			if (model->ports[p].num == port->num && model->ports[p].pollable &&
			    model->nodes[model->ports[p].node].node.guid == guid)
				truth = &model->sweeps[sweep - 1].truth[p];
		if (!truth)
			continue;
		if (snapshot->rows[i].has_reading)
			assert_int_equal(snapshot->rows[i].reading.value[0], truth->reading.value[0]);
		if (snapshot->rows[i].sum.elapsed_us)
			assert_int_equal(snapshot->rows[i].sum.value[0], truth->delta.value[0]);
		missing += !snapshot->rows[i].has_reading || !snapshot->rows[i].sum.elapsed_us;
	}
	return missing;
}

static void a_damaged_chunk_is_named_and_the_others_are_right(void **state)
{
	struct model *model = make_database(3);
	struct reader *reader;
	int missing = 0;

	(void)state;
	/* Port 7 in sweeps 21 to 30. */
	change("UPDATE chunk SET samples = substr(samples, 1, length(samples) - 1) WHERE id = 3 * 2097152 + 7");
	reader = check_open_reader(path);
	for (int64_t id = 2; id <= SWEEPS; id++) {
		struct snapshot_query query = { .at_us = model->sweeps[id - 1].wall_us, .absolute = true };
		struct snapshot *snapshot;

		assert_int_equal(snapshot_load(reader, &query, &snapshot, NULL), 0);
		assert_int_equal(snapshot->damaged, id >= 21 && id <= 30);
		if (snapshot->damaged)
			assert_string_equal(snapshot->damage, "sweeps 21 to 30 of ports 7 to 7");
		missing += check_said(snapshot, model, id);
		snapshot_destroy(snapshot);
	}
	assert_int_equal(missing, 10);
	reader_close(reader);
	model_destroy(model);
}

static void a_damaged_block_makes_no_wrong_reading(void **state)
{
	struct model *model = make_database(4);
	struct reader *reader;
	struct writer *writer;
	int missing = 0;

	(void)state;
	/* The close stored the last readings; without them they would come from the deltas. */
	change("DELETE FROM absolute WHERE sweep = 64");
	change("UPDATE hot SET samples = x'01ffffffff' WHERE id = 62 * 65536 + 1");
	reader = check_open_reader(path);
	for (int64_t id = 61; id <= SWEEPS; id++) {
		struct snapshot_query query = { .at_us = model->sweeps[id - 1].wall_us, .absolute = true };
		struct snapshot *snapshot;

		assert_int_equal(snapshot_load(reader, &query, &snapshot, NULL), 0);
		if (id == 62)
			assert_string_equal(snapshot->damage, "sweeps 62 to 62 of ports 32 to 63");
		missing += check_said(snapshot, model, id);
		snapshot_destroy(snapshot);
	}
	/* From then on none of the block, in which are ports without counters too. */
	assert_in_range(missing, 3 * 28, 3 * 32);
	reader_close(reader);
	/* The collector goes on; of these ports as if it saw them for the first time. */
	writer = check_open_writer_with(path, WINDOW);
	for (int i = 0; i < 10; i++)
		check_store(writer, model_step(model));
	writer_close(writer);
	assert_int_equal(check_integer(path, "SELECT count(*) FROM chunk_window WHERE state = 1"), 7);
	assert_int_equal(check_integer(path, "SELECT count(*) FROM event WHERE kind = 'history-failed'"), 1);
	reader = check_open_reader(path);
	check_sweep(reader, model, SWEEPS + 10);
	reader_close(reader);
	model_destroy(model);
}

static bool take_any(void *ctx, const struct cell *cells, int count)
{
	(void)ctx;
	(void)cells;
	(void)count;
	return true;
}

static bool take_header(void *ctx, const char *const *names, int count)
{
	(void)ctx;
	(void)names;
	(void)count;
	return true;
}

/* @sql on the rows of @table as if nothing were declared of its columns; what is declared is there again afterwards. */
static void forge(const char *table, const char *sql)
{
	static const char loosen[] =
		"PRAGMA writable_schema = ON; CREATE TEMP TABLE kept AS SELECT name, sql FROM sqlite_schema;"
		"UPDATE sqlite_schema SET sql = replace(replace(sql, ', STRICT', ''), ') STRICT', ')')"
		" WHERE name = '%s'; PRAGMA ignore_check_constraints = ON;"
		"PRAGMA writable_schema = RESET; %s; PRAGMA writable_schema = ON;"
		"UPDATE sqlite_schema SET sql = (SELECT k.sql FROM kept k WHERE k.name = sqlite_master.name)"
		" WHERE name = '%s'";
	struct text script = { 0 };

	text_appendf(&script, loosen, table, sql, table);
	change(text_chars(&script));
	text_done(&script);
}

static void note_fault(void *ctx, const struct admin_fault *fault)
{
	char *said = ctx;
	size_t len = strlen(said);

	snprintf(said + len, 4096 - len, "%s: %s\n", fault->where, fault->what);
}

/* Nobody works with the file; a check names @what. */
static void assert_refused(const char *what)
{
	char said[4096] = "";
	struct reader *reader;
	struct writer *writer;
	struct error err;
	uint64_t faults;

	assert_int_equal(reader_open(path, &reader, &err), ERR_IO);
	if (!strstr(err.text, what))
		fail_msg("\"%s\" does not name %s", err.text, what);
	assert_null(strchr(err.text, '\n'));
	assert_int_equal(writer_open(path, &writer, &err), ERR_IO);
	if (admin_check(path, note_fault, said, &faults, &err) == 0)
		assert_non_null(strstr(said, what));
	else
		assert_non_null(strstr(err.text, what));
}

static void values_out_of_range_are_refused_and_named(void **state)
{
	static const struct { const char *table, *sql, *what; } forged[] = {
		{ "chunk_window", "UPDATE chunk_window SET to_sweep = 'x' WHERE id = 3", "chunk_window.to_sweep" },
		{ "sweep", "UPDATE sweep SET id = 9223372036854775806 WHERE id = 64", "sweep.id" },
		{ "hot", "UPDATE hot SET id = 9223372036854775806 WHERE id = (SELECT max(id) FROM hot)", "hot.id" },
		{ "port", "UPDATE port SET id = 2147483648 WHERE id = 3", "port.id" },
		{ "port", "UPDATE port SET id = 2000000 WHERE id = 3", "table port" },
		{ "sweep", "UPDATE sweep SET wall_us = x'00' WHERE id = 9", "sweep.wall_us" },
		{ "absolute", "UPDATE absolute SET sweep = -1 WHERE sweep = 1", "absolute.sweep" },
	};
	size_t len;

	(void)state;
	model_destroy(make_database(6));
	for (size_t i = 0; i < sizeof(forged) / sizeof(*forged); i++) {
		char *bytes = test_file_read(path, &len);

		forge(forged[i].table, forged[i].sql);
		assert_refused(forged[i].what);
		test_file_write(path, bytes, len);
		free(bytes);
	}
	reader_close(check_open_reader(path));
}

static void a_table_that_is_a_view_is_refused(void **state)
{
	(void)state;
	model_destroy(make_database(7));
	change("UPDATE meta SET key = key; PRAGMA foreign_keys = OFF; CREATE TABLE other AS SELECT * FROM sweep;"
	       "DROP TABLE sweep; CREATE VIEW sweep AS WITH RECURSIVE r (id) AS (SELECT 1 UNION ALL SELECT id + 1"
	       " FROM r) SELECT * FROM r JOIN other USING (id)");
	assert_refused("TABLE sweep");
}

static void sql_asks_its_own_views(void **state)
{
	struct sql_consumer consumer = { .header = take_header, .row = take_any };
	struct reader *reader;

	(void)state;
	model_destroy(make_database(8));
	change("UPDATE meta SET key = key; DROP VIEW traffic; CREATE VIEW traffic AS WITH RECURSIVE r (id) AS"
	       " (SELECT 1 UNION ALL SELECT id + 1 FROM r) SELECT * FROM r");
	reader = check_open_reader(path);
	assert_int_equal(reader_sql(reader, "SELECT xmit_bytes FROM traffic", 0, &consumer, NULL), 0);
	assert_int_equal(reader_sql(reader, "SELECT count(*) FROM main.traffic", 0, &consumer, NULL), ERR_USAGE);
	reader_close(reader);
}

/* What is walked over is what is stored, not the numbers between. */
static void a_sweep_that_is_far_ahead_hangs_nobody(void **state)
{
	struct model *model = make_database(9);
	struct snapshot_query query = { .absolute = true, .window_us = INT64_C(1) << 50 };
	struct sql_consumer consumer = { .header = take_header, .row = take_any };
	char said[4096] = "";
	struct snapshot *snapshot;
	struct reader *reader;
	struct writer *writer;
	uint64_t faults;

	(void)state;
	change("UPDATE sweep SET id = id + 4294967296 WHERE id = 64");
	assert_int_equal(admin_check(path, note_fault, said, &faults, NULL), 0);
	assert_non_null(strstr(said, "2^31"));
	reader = check_open_reader(path);
	assert_int_equal(snapshot_load(reader, &query, &snapshot, NULL), 0);
	for (size_t i = 0; i < snapshot->fabric->port_count; i++) {
		struct reading reading;

		assert_true(reader_reading(reader, 0, snapshot->fabric->nodes[snapshot->fabric->ports[i].node].guid,
					   snapshot->fabric->ports[i].num, &reading, NULL) >= 0);
	}
	assert_int_equal(reader_sql(reader, "SELECT * FROM traffic", 0, &consumer, NULL), 0);
	snapshot_destroy(snapshot);
	reader_close(reader);
	writer = check_open_writer(path);
	check_store(writer, model_step(model));
	writer_close(writer);
	model_destroy(model);
}

/* Any answer is allowed but a crash. */
static void ask_all(const struct model *model)
{
	struct sql_consumer consumer = { .header = take_header, .row = take_any };
	struct reader *reader = NULL;
	struct writer *writer = NULL;

	if (reader_open(path, &reader, NULL) == 0) {
		for (int64_t id = 1; id <= SWEEPS; id += 9) {
			struct snapshot_query query = { .at_us = model->sweeps[id - 1].wall_us, .absolute = true,
							.window_us = id % 2 ? 20000000 : 0 };
			struct snapshot *snapshot = NULL;

			if (snapshot_load(reader, &query, &snapshot, NULL) == 0)
				snapshot_destroy(snapshot);
		}
		reader_sql(reader, "SELECT count(*) FROM traffic", 0, &consumer, NULL);
		reader_close(reader);
	}
	if (writer_open(path, &writer, NULL) == 0) {
		writer_set_retention(writer, &(struct writer_retention){ .window_sweeps = 3, .raw_us = 10000000 });
		writer_sink(writer)->store(writer, &model->sweep, NULL);
		writer_close(writer);
	}
}

static void damaged_pages_are_survived(void **state)
{
	struct model *model = make_database(5);
	FILE *file = fopen(path, "rb");
	char *bytes;
	long size;

	(void)state;
	assert_non_null(file);
	fseek(file, 0, SEEK_END);
	size = ftell(file);
	rewind(file);
	bytes = malloc((size_t)size);
	assert_non_null(bytes);
	assert_int_equal(fread(bytes, 1, (size_t)size, file), size);
	fclose(file);
	for (int round = 0; round < 60; round++) {
		size_t at = 16384 + (size_t)model_random(model, (uint64_t)size - 16384 - 512);

		test_folder_renew();
		file = fopen(path, "wb");
		assert_non_null(file);
		assert_int_equal(fwrite(bytes, 1, (size_t)size, file), size);
		fseek(file, (long)at, SEEK_SET);
		for (int i = 0; i < 200; i++)
			fputc((int)model_random(model, 256), file);
		fclose(file);
		ask_all(model);
	}
	free(bytes);
	model_destroy(model);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		TEST_IN_FOLDER(a_damaged_chunk_is_named_and_the_others_are_right),
		TEST_IN_FOLDER(a_damaged_block_makes_no_wrong_reading),
		TEST_IN_FOLDER(values_out_of_range_are_refused_and_named),
		TEST_IN_FOLDER(a_table_that_is_a_view_is_refused),
		TEST_IN_FOLDER(sql_asks_its_own_views),
		TEST_IN_FOLDER(a_sweep_that_is_far_ahead_hangs_nobody),
		TEST_IN_FOLDER(damaged_pages_are_survived),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
