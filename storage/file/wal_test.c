/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* wal_test.c - the writer after a write or a flush that failed: what is stored is exact, what is lost is named */
#include <setjmp.h>
#include <signal.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <unistd.h>

#include <cmocka.h>
#include <sqlite3.h>

#include "base/err.h"
#include "collector/sink.h"
#include "storage/read/sums.h"
#include "storage/test/test_check.h"
#include "storage/test/test_folder.h"
#include "storage/test/test_model.h"
#include "storage/writer.h"

static char log_path[96];

/* Does this process write files beyond @bytes? SQLite reports a disk I/O error where not. */
static void limit_files(rlim_t bytes)
{
	struct rlimit limit;

	assert_int_equal(getrlimit(RLIMIT_FSIZE, &limit), 0);
	limit.rlim_cur = bytes;
	assert_int_equal(setrlimit(RLIMIT_FSIZE, &limit), 0);
}

static size_t log_bytes(void)
{
	size_t bytes;

	free(test_file_read(log_path, &bytes));
	return bytes;
}

static struct model *begin(struct writer **ret_writer, size_t sweeps)
{
	struct model *model = model_create(3, 2, 8, 6);

	signal(SIGXFSZ, SIG_IGN);
	snprintf(log_path, sizeof(log_path), "%s-wal", path);
	model->calm = true;
	*ret_writer = check_open_writer(path);
	for (size_t i = 0; i < sweeps; i++)
		check_store(*ret_writer, model_step(model));
	return model;
}

/* One sweep that is not stored: its last pages do not fit. */
static void fail_one(struct writer *writer, struct model *model, size_t more_bytes)
{
	struct error err = { 0 };

	limit_files(log_bytes() + more_bytes);
	assert_int_equal(writer_sink(writer)->store(writer_sink(writer)->ctx, model_step(model), &err), ERR_IO);
	limit_files(RLIM_INFINITY);
}

/* All that was counted since the first sweep leads from its readings to the last ones. */
static void check_exact(const struct model *model, int64_t sweeps)
{
	enum { PORTS = 128 };
	struct port_sum sums[PORTS] = { 0 };
	struct error err = { 0 };
	uint64_t counted = 0, read = 0;
	sqlite3 *db;

	assert_int_equal(check_integer(path, "SELECT count(*) FROM sweep"), sweeps);
	assert_true(check_integer(path, "SELECT max(id) FROM port") < PORTS);
	assert_int_equal(sqlite3_open_v2(path, &db, SQLITE_OPEN_READONLY, NULL), SQLITE_OK);
	assert_int_equal(sums_load(db, 0, sweeps, 0, sums, PORTS, NULL, &err), 0);
	sqlite3_close(db);
	for (size_t i = 0; i < PORTS; i++)
		counted += sums[i].sum.value[COUNTER_RCV_DATA];
	for (size_t i = 0; i < model->port_count; i++)
		if (model->ports[i].has_last)
			read += model->ports[i].last.value[COUNTER_RCV_DATA];
	assert_true(counted > 0);
	read -= (uint64_t)check_integer(path, "SELECT sum(rcv_data) FROM absolute WHERE sweep = 1");
	assert_true(counted == read);
	check_integrity(path);
}

static void nothing_of_a_failed_sweep_stays_in_the_log(void **state)
{
	struct writer *writer;
	struct model *model = begin(&writer, 5);
	size_t committed = log_bytes();

	(void)state;
	fail_one(writer, model, 60000);
	assert_true(log_bytes() <= committed);
	check_store(writer, model_step(model));
	assert_int_equal(check_integer(path, "SELECT count(*) FROM event WHERE kind = 'sweeps-lost'"), 0);
	writer_close(writer);
	model_destroy(model);
}

static void a_sweep_that_the_disk_lost_is_named_and_counted_again(void **state)
{
	struct writer *writer;
	struct model *model = begin(&writer, 7);
	size_t kept = log_bytes(), all;
	char *bytes;

	(void)state;
	check_store(writer, model_step(model));
	bytes = test_file_read(log_path, &all);
	assert_true(all > kept);
	/* As if the pages of the eighth sweep had been dropped. */
	memset(bytes + kept, 0, all - kept);
	test_file_write(log_path, bytes, all);
	free(bytes);
	fail_one(writer, model, 0);
	check_store(writer, model_step(model));
	check_exact(model, 8);
	assert_int_equal(check_integer(path, "SELECT count(*) FROM event WHERE kind = 'sweeps-lost' AND"
				       " text LIKE '1 sweeps stored after sweep 7 %'"), 1);
	writer_close(writer);
	model_destroy(model);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		TEST_IN_FOLDER(nothing_of_a_failed_sweep_stays_in_the_log),
		TEST_IN_FOLDER(a_sweep_that_the_disk_lost_is_named_and_counted_again),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
