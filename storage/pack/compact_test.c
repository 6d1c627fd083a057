/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * compact_test.c - compaction of more ports than are read, or written, at once
 *
 * A fabric that moves at random, of more ports than a stripe has. Whatever a step leaves, all sweeps read as they
 * were stored; and what the steps do not touch stays as it is.
 */
#include <stdio.h>

#include <sqlite3.h>

#include "base/err.h"
#include "base/test_cases.h"
#include "base/unit_test.h"
#include "storage/pack/compact.h"
#include "storage/reader.h"
#include "storage/test/test_check.h"
#include "storage/test/test_folder.h"
#include "storage/test/test_history.h"
#include "storage/test/test_model.h"

#define SWEEPS 45
#define WINDOW 10

static struct model *model;

/* Everything is in hot: the window is longer than the history. */
static int set_up(void **state)
{
	test_folder_make(state);
	model = model_create(5, 40, 36, 20);
	model->keep_history = true;
	check_collect(path, model, SWEEPS, 2 * SWEEPS);
	assert_int_equal(check_integer(path, "SELECT count(*) FROM chunk_window"), 0);
	assert_true(check_integer(path, "SELECT max(id) FROM port") > STRIPE_PORTS + COMPACT_PORTS / 2);
	return 0;
}

static int tear_down(void **state)
{
	model_destroy(model);
	return test_folder_remove(state);
}

/* Run @steps steps with a new compaction. Return: false if there were fewer. */
static bool make_steps(sqlite3 *db, int steps)
{
	static struct compaction compaction;
	struct error err = { 0 };
	int result = compact_init(&compaction, db, WINDOW, &err);

	if (!result)
		result = 1;
	for (int i = 0; result > 0 && i < steps; i++)
		result = compact_step(&compaction, &err);
	if (result < 0)
		fail_msg("%s", err.text);
	compact_done(&compaction);
	return result > 0;
}

static void check_all(void)
{
	struct reader *reader = check_open_reader(path);

	check_sweeps(path, model, 2, SWEEPS, 4);
	for (int64_t id = WINDOW + 1; id <= SWEEPS; id += 7)
		check_window(reader, model, model->sweeps[id - 1].wall_us, 12000000);
	reader_close(reader);
}

/* Ended after 1, 2, 3, ... steps, within windows and stripes. */
TEST_WITH(compaction_continues_after_any_number_of_steps, set_up, tear_down)
{
	sqlite3 *db = check_open_second(path);

	for (int steps = 1, every = 4 / (int)test_cases(4); make_steps(db, steps); steps++)
		if (steps % every == 0)
			check_all();
	sqlite3_close(db);
	assert_int_equal(check_integer(path, "SELECT count(*) FROM chunk_window WHERE state = 1"), SWEEPS / WINDOW);
	check_all();
	check_integrity(path);
}

/* A compaction that ends after each step stores the same as an uninterrupted one. */
TEST_WITH(one_run_stores_the_same_as_many, set_up, tear_down)
{
	sqlite3 *db = check_open_second(path);
	char copy[80], sql[120];

	snprintf(copy, sizeof(copy), "%s/b.db", folder);
	snprintf(sql, sizeof(sql), "VACUUM INTO '%s'", copy);
	assert_int_equal(sqlite3_exec(db, sql, NULL, NULL, NULL), SQLITE_OK);
	assert_false(make_steps(db, 1000000));
	sqlite3_close(db);
	db = check_open_second(copy);
	while (make_steps(db, 1))
		;
	sqlite3_close(db);
	check_same_content(path, copy);
}

static int64_t sql_integer(sqlite3 *db, const char *sql)
{
	sqlite3_stmt *row;
	int64_t value;

	assert_int_equal(sqlite3_prepare_v2(db, sql, -1, &row, NULL), SQLITE_OK);
	assert_int_equal(sqlite3_step(row), SQLITE_ROW);
	value = sqlite3_column_int64(row, 0);
	sqlite3_finalize(row);
	return value;
}

/* Only rows of complete windows are removed from hot, one by one or by emptying the table. */
TEST_WITH(rows_of_later_sweeps_stay_in_hot, set_up, tear_down)
{
	static const char before[] = "(SELECT coalesce(max(to_sweep), 0) * 65536 FROM chunk_window WHERE state > 0)";
	sqlite3 *db = check_open_second(path);
	int64_t rows = 0, least = INT64_MAX, last;
	int some = 0, all = 0;
	char sql[400];

	assert_int_equal(sqlite3_exec(db, "CREATE TEMP TABLE old AS SELECT * FROM hot", NULL, NULL, NULL), SQLITE_OK);
	last = sql_integer(db, "SELECT count(*) FROM hot");
	while (make_steps(db, 1)) {
		assert_int_equal(sql_integer(db, "SELECT count(*) FROM hot h LEFT JOIN old o USING (id)"
				     " WHERE h.samples IS NOT o.samples"), 0);
		snprintf(sql, sizeof(sql), "SELECT (SELECT count(*) FROM old WHERE id >= %s) -"
			 " (SELECT count(*) FROM hot WHERE id >= %s)", before, before);
		assert_int_equal(sql_integer(db, sql), 0);
		snprintf(sql, sizeof(sql), "SELECT count(*) FROM hot WHERE id < %s", before);
		rows = sql_integer(db, "SELECT count(*) FROM hot");
		some += rows < last && sql_integer(db, sql) > 0;
		all += rows < last && sql_integer(db, sql) == 0;
		least = rows < least ? rows : least;
		last = rows;
	}
	assert_true(all > 0);
	print_message("# note: hot lost some of its old rows %d times, and all that were left of them %d times\n", some,
		      all);
	snprintf(sql, sizeof(sql), "SELECT count(*) FROM hot WHERE id < %s", before);
	assert_int_equal(sql_integer(db, sql), 0);
	assert_int_equal(least, rows);
	sqlite3_close(db);
}
