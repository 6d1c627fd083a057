/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
#include "storage/test/test_history.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <unistd.h>

#include <cmocka.h>
#include <sqlite3.h>

#include "base/err.h"
#include "storage/admin.h"
#include "storage/admin/catalog.h"
#include "storage/test/test_check.h"
#include "storage/test/test_folder.h"
#include "storage/test/test_model.h"
#include "storage/writer.h"

struct model *test_history_store(uint64_t seed, size_t sweeps)
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

static void fail_at_fault(void *ctx, const struct admin_fault *fault)
{
	(void)ctx;
	fail_msg("%s: %s", fault->where, fault->what);
}

void check_sound(const char *of)
{
	struct error err = { 0 };
	uint64_t faults = 0;

	if (admin_check(of, fail_at_fault, NULL, &faults, &err) < 0)
		fail_msg("%s", err.text);
	assert_int_equal(faults, 0);
}

void check_same_content(const char *a, const char *b)
{
	sqlite3 *db;
	char sql[512];

	assert_int_equal(sqlite3_open(a, &db), SQLITE_OK);
	snprintf(sql, sizeof(sql), "ATTACH '%s' AS other", b);
	assert_int_equal(sqlite3_exec(db, sql, NULL, NULL, NULL), SQLITE_OK);
	for (size_t i = 0; i < catalog_table_count; i++) {
		const char *name = catalog_tables[i].name;
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
