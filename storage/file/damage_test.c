/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* damage_test.c - readable parts of a damaged database are correct, damage is reported, forged values are rejected */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <sqlite3.h>

#include "base/err.h"
#include "base/text.h"
#include "base/unit_test.h"
#include "fabric/fabric.h"
#include "storage/admin.h"
#include "storage/file/db.h"
#include "storage/reader.h"
#include "storage/test/test_check.h"
#include "storage/test/test_folder.h"
#include "storage/test/test_model.h"
#include "storage/writer.h"

#define SWEEPS 64
#define WINDOW 10

static struct model *make_database(uint64_t seed)
{
	struct model *model = model_create(seed, 2, 20, 10);

	model->calm = model->keep_history = true;
	check_collect(path, model, SWEEPS, WINDOW);
	assert_int_equal(check_integer(path, "SELECT count(*) FROM chunk_window WHERE state = 1"), SWEEPS / WINDOW);
	return model;
}

/* Known readings and sums of ports are correct. Return: number of ports without them. */
static int check_known(const struct snapshot *snapshot, const struct model *model, int64_t sweep)
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
		if (snapshot->rows[i].reading)
			assert_int_equal(snapshot->rows[i].reading->value[0], truth->reading.value[0]);
		if (snapshot->rows[i].sum.elapsed_us)
			assert_int_equal(snapshot->rows[i].sum.value[0], truth->delta.value[0]);
		missing += !snapshot->rows[i].reading || !snapshot->rows[i].sum.elapsed_us;
	}
	return missing;
}

TEST_IN_FOLDER(a_damaged_chunk_is_reported_and_the_others_are_correct)
{
	struct model *model = make_database(3);
	struct reader *reader;
	int missing = 0;

	/* Port 7 in sweeps 21 to 30. */
	check_change(path, "UPDATE chunk SET samples = substr(samples, 1, length(samples) - 1)"
			   " WHERE id = 3 * 2097152 + 7");
	reader = check_open_reader(path);
	for (int64_t id = 2; id <= SWEEPS; id++) {
		struct snapshot_query query = { .at_us = model->sweeps[id - 1].wall_us, .absolute = true };
		struct snapshot *snapshot;

		assert_int_equal(snapshot_load(reader, &query, &snapshot, NULL), 0);
		assert_int_equal(snapshot->damaged, id >= 21 && id <= 30);
		if (snapshot->damaged)
			assert_string_equal(snapshot->damage, "sweeps 21 to 30 of ports 7 to 7");
		missing += check_known(snapshot, model, id);
		snapshot_destroy(snapshot);
	}
	assert_int_equal(missing, 10);
	reader_close(reader);
	model_destroy(model);
}

/* SQLite 3.40 reports SQLITE_NOMEM for a length of a record close to 2^32. */
TEST_IN_FOLDER(an_impossible_length_is_damage_and_not_lack_of_memory)
{
	/* As varints: the length, the row id, the header with its length, a blob of 3,000 bytes and NULL. */
	static const char cell[] = "\x8f\xff\xff\xff\x7f\x01\x04\xae\x7c";
	struct error err = { 0 };
	sqlite3_stmt *rows;
	size_t len, at;
	sqlite3 *db;
	char *bytes;

	assert_int_equal(sqlite3_open(path, &db), SQLITE_OK);
	assert_int_equal(db_exec(db, "PRAGMA page_size = 4096; CREATE TABLE t (b, other);"
				 "INSERT INTO t VALUES (zeroblob(3000), NULL)", &err), 0);
	sqlite3_close(db);
	bytes = test_file_read(path, &len);
	/* The only cell of the second page. */
	at = 4096 + ((size_t)(unsigned char)bytes[4096 + 8] << 8 | (unsigned char)bytes[4096 + 9]);
	memcpy(bytes + at, cell, sizeof(cell) - 1);
	test_file_write(path, bytes, len);
	free(bytes);

	assert_int_equal(sqlite3_open(path, &db), SQLITE_OK);
	assert_int_equal(db_prepare(db, "SELECT hex(b) FROM t", &rows, &err), 0);
	assert_int_equal(db_step(rows, &err), ERR_IO);
	assert_non_null(strstr(err.text, "is damaged"));
	sqlite3_finalize(rows);
	sqlite3_close(db);
}

TEST_IN_FOLDER(a_damaged_block_causes_no_wrong_reading)
{
	struct model *model = make_database(4);
	struct reader *reader;
	int missing = 0;

	/* Without the last readings, which were stored at the end, they are computed from deltas. */
	check_change(path, "DELETE FROM absolute WHERE sweep = 64");
	check_change(path, "UPDATE hot SET samples = x'01ffffffff' WHERE id = 62 * 65536 + 1");
	reader = check_open_reader(path);
	for (int64_t id = 61; id <= SWEEPS; id++) {
		struct snapshot_query query = { .at_us = model->sweeps[id - 1].wall_us, .absolute = true };
		struct snapshot *snapshot;

		assert_int_equal(snapshot_load(reader, &query, &snapshot, NULL), 0);
		if (id == 62)
			assert_string_equal(snapshot->damage, "sweeps 62 to 62 of ports 32 to 63");
		missing += check_known(snapshot, model, id);
		snapshot_destroy(snapshot);
	}
	/* From then on those of the block are missing; some of its ports have no counters. */
	assert_in_range(missing, 3 * 28, 3 * 32);
	reader_close(reader);
	/* The collector continues; for these ports with a first reading. */
	check_collect(path, model, 10, WINDOW);
	assert_int_equal(check_integer(path, "SELECT count(*) FROM chunk_window WHERE state = 1"), 7);
	assert_int_equal(check_integer(path, "SELECT count(*) FROM event WHERE kind = 'history-failed'"), 1);
	reader = check_open_reader(path);
	check_sweep(reader, model, SWEEPS + 10);
	reader_close(reader);
	model_destroy(model);
}

/* Run @sql while CHECKs are off. */
static void forge(const char *sql)
{
	struct text script = { 0 };

	text_appendf(&script, "PRAGMA ignore_check_constraints = ON; %s", sql);
	check_change(path, text_chars(&script));
	text_done(&script);
}

static void note_fault(void *ctx, const struct admin_fault *fault)
{
	char *faults = ctx;
	size_t len = strlen(faults);

	snprintf(faults + len, 4096 - len, "%s: %s\n", fault->where, fault->what);
}

/* Reader and writer reject the file; a check reports @what. */
static void assert_rejected(const char *what)
{
	char found[4096] = "";
	struct reader *reader;
	struct writer *writer;
	struct error err;
	uint64_t faults;

	assert_int_equal(reader_open(path, &reader, &err), ERR_IO);
	check_error_line(&err, what);
	assert_int_equal(writer_open(path, &writer, &err), ERR_IO);
	if (admin_check(path, note_fault, found, &faults, &err) == 0)
		assert_non_null(strstr(found, what));
	else
		assert_non_null(strstr(err.text, what));
}

TEST_IN_FOLDER(values_out_of_range_are_rejected_and_reported)
{
	static const struct { const char *sql, *what; } forged[] = {
		{ "UPDATE chunk_window SET to_sweep = 'x' WHERE id = 3", "chunk_window.to_sweep" },
		{ "UPDATE sweep SET id = 9223372036854775806 WHERE id = 64", "sweep.id" },
		{ "UPDATE hot SET id = 9223372036854775806 WHERE id = (SELECT max(id) FROM hot)", "hot.id" },
		{ "UPDATE port SET id = 2147483648 WHERE id = 3", "port.id" },
		{ "UPDATE port SET id = 2000000 WHERE id = 3", "table port" },
		{ "UPDATE sweep SET wall_us = x'00' WHERE id = 9", "sweep.wall_us" },
		{ "INSERT INTO hour VALUES (1, 1, 2, 0, 1, 1, 'x', 1, 512)", "hour.to_window" },
		{ "UPDATE absolute SET sweep = -1 WHERE sweep = 1", "absolute.sweep" },
	};
	size_t len;

	model_destroy(make_database(6));
	for (size_t i = 0; i < sizeof(forged) / sizeof(*forged); i++) {
		char *bytes = test_file_read(path, &len);

		forge(forged[i].sql);
		assert_rejected(forged[i].what);
		test_file_write(path, bytes, len);
		free(bytes);
	}
	reader_close(check_open_reader(path));
}

TEST_IN_FOLDER(a_view_in_place_of_a_table_is_rejected)
{
	model_destroy(make_database(7));
	check_change(path, "PRAGMA foreign_keys = OFF; CREATE TABLE other AS SELECT * FROM sweep;"
	       "DROP TABLE sweep; CREATE VIEW sweep AS WITH RECURSIVE r (id) AS (SELECT 1 UNION ALL SELECT id + 1"
	       " FROM r) SELECT * FROM r JOIN other USING (id)");
	assert_rejected("TABLE sweep");
}

TEST_IN_FOLDER(triggers_are_not_executed)
{
	struct model *model = make_database(10);
	struct writer *writer;

	check_change(path, "CREATE TRIGGER t AFTER INSERT ON sweep BEGIN DELETE FROM hot; DELETE FROM chunk; END");
	writer = check_open_writer_with(path, WINDOW);
	check_store(writer, model_step(model));
	writer_close(writer);
	check_sweeps(path, model, 1, SWEEPS + 1, 1);
	model_destroy(model);
}

TEST_IN_FOLDER(sql_uses_its_own_views)
{
	struct reader *reader;

	model_destroy(make_database(8));
	check_change(path, "DROP VIEW traffic; CREATE VIEW traffic AS WITH RECURSIVE r (id) AS"
	       " (SELECT 1 UNION ALL SELECT id + 1 FROM r) SELECT * FROM r");
	reader = check_open_reader(path);
	assert_int_equal(check_run_sql(reader, "SELECT xmit_bytes FROM traffic"), 0);
	assert_int_equal(check_run_sql(reader, "SELECT id FROM main.traffic"), ERR_USAGE);
	if (sqlite3_libversion_number() >= 3035000)
		assert_int_equal(check_run_sql(reader, "SELECT count(*) FROM main.traffic"), ERR_USAGE);
	reader_close(reader);
}

/* Loops iterate over stored rows, not over the ids between them. */
TEST_IN_FOLDER(a_sweep_id_far_ahead_is_no_endless_loop)
{
	struct model *model = make_database(9);
	struct snapshot_query query = { .absolute = true, .window_us = INT64_C(1) << 50 };
	char found[4096] = "";
	struct snapshot *snapshot;
	struct reader *reader;
	struct writer *writer;
	uint64_t faults;

	check_change(path, "UPDATE sweep SET id = id + 4294967296 WHERE id = 64");
	assert_int_equal(admin_check(path, note_fault, found, &faults, NULL), 0);
	assert_non_null(strstr(found, "2^31"));
	reader = check_open_reader(path);
	assert_int_equal(snapshot_load(reader, &query, &snapshot, NULL), 0);
	for (size_t i = 0; i < snapshot->fabric->port_count; i++) {
		struct reading reading;

		assert_true(reader_reading(reader, 0, snapshot->fabric->nodes[snapshot->fabric->ports[i].node].guid,
					   snapshot->fabric->ports[i].num, &reading, NULL) >= 0);
	}
	assert_int_equal(check_run_sql(reader, "SELECT * FROM traffic"), 0);
	snapshot_destroy(snapshot);
	reader_close(reader);
	writer = check_open_writer(path);
	check_store(writer, model_step(model));
	writer_close(writer);
	model_destroy(model);
}
