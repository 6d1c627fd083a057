/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* Stored events and SQL cells are returned unchanged. */
#define UNIT_TEST_SETUP make_database
#define UNIT_TEST_TEARDOWN remove_database

#include <stdlib.h>

#include <jansson.h>

#include "base/err.h"
#include "base/unit_test.h"
#include "cli/test_commands.h"
#include "storage/test/test_check.h"
#include "storage/test/test_model.h"
#include "storage/writer.h"

TEST(events_match_stored_events)
{
	json_t *rows = run_json("events"), *newest = run_json("events|--limit|1");
	json_t *none = run_json("events|--kind|history-trimmed");
	json_t *counted = run_json("sql|SELECT count(*) AS n FROM event");

	assert_int_equal(json_array_size(rows), integer_of(json_array_get(counted, 0), "n"));
	assert_true(json_array_size(rows) > 0);
	assert_int_equal(json_array_size(newest), 1);
	assert_int_equal(integer_of(json_array_get(newest, 0), "id"),
			 integer_of(json_array_get(rows, json_array_size(rows) - 1), "id"));
	assert_int_equal(json_array_size(none), 0);
	json_decref(rows);
	json_decref(newest);
	json_decref(none);
	json_decref(counted);
}

TEST(sql_returns_every_cell_type)
{
	json_t *rows = run_json("sql|SELECT 1 AS a, 2.5 AS a, NULL, char(120, 27, 252), x'00ff', ''");
	const json_t *row = json_array_get(rows, 0);

	assert_int_equal(integer_of(row, "a"), 1);
	assert_true(json_real_value(json_object_get(row, "a_2")) == 2.5);
	assert_true(json_is_null(json_object_get(row, "NULL")));
	assert_int_equal(json_object_size(row), 6);
	assert_text(row, "char(120, 27, 252)", "x\033\xc3\xbc");
	assert_text(row, "x'00ff'", "00ff");
	assert_text(row, "''", "");
	json_decref(rows);
}

/* The last test: it adds to the database. */
TEST(stored_event_kind_of_another_version_is_accepted)
{
	struct event event = { .wall_us = model->wall_us, .kind = "painted", .text = "a switch was painted" };
	struct writer *writer;
	struct error err = { 0 };
	char *output;
	json_t *rows;

	assert_int_equal(run("events|--kind|painted", &output, &err), ERR_USAGE);
	free(output);
	writer = check_open_writer(db_path);
	assert_int_equal(writer_sink(writer)->store_events(writer, &event, 1, NULL), 0);
	writer_close(writer);
	rows = run_json("events|--kind|painted");
	assert_int_equal(json_array_size(rows), 1);
	assert_text(json_array_get(rows, 0), "text", "a switch was painted");
	json_decref(rows);
}
