/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* wal_test.c - failed writes, removed and replaced logs: sums stay exact, losses are reported */
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <unistd.h>

#include <sqlite3.h>

#include "base/err.h"
#include "base/unit_test.h"
#include "collector/sink.h"
#include "storage/read/sums.h"
#include "storage/reader.h"
#include "storage/test/test_check.h"
#include "storage/test/test_folder.h"
#include "storage/test/test_model.h"
#include "storage/writer.h"

static char log_path[96];

/* Limit the size of files that this process writes: beyond it SQLite reports a disk I/O error. */
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

/* Fail to store a sweep that does not fit into the log. */
static void fail_one(struct writer *writer, const struct sweep *sweep, size_t most_bytes)
{
	struct error err = { 0 };

	limit_files(most_bytes);
	assert_int_equal(writer_sink(writer)->store(writer_sink(writer)->ctx, sweep, &err), ERR_IO);
	limit_files(RLIM_INFINITY);
}

/* First readings plus the sums since then are the last readings. */
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
	assert_int_equal(sums_load(db, &(struct sums_query){ .until = sweeps }, sums, PORTS, NULL, &err), 0);
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

TEST_IN_FOLDER(a_sweep_that_fails_is_stored_by_a_later_attempt)
{
	struct writer *writer;
	struct model *model = begin(&writer, 5);
	const struct sweep *sweep = model_step(model);
	size_t stored = log_bytes();

	for (size_t more = 0; more <= 60000; more += 20000) {
		fail_one(writer, sweep, stored + more);
		/* Nothing is left that a recovery could read. */
		assert_int_equal(log_bytes(), stored);
	}
	assert_int_equal(check_integer(path, "SELECT count(*) FROM sweep"), 5);
	assert_false(writer_sink(writer)->has_ended(writer));
	check_store(writer, sweep);
	check_exact(model, 6);
	writer_close(writer);
	model_destroy(model);
}

/* Overwrite the pages of the file that the log has, except the first one. Return: their number. */
static int lose_pages(void)
{
	enum { LOG_HEADER = 32, FRAME_HEADER = 24, PAGE = 16384 };
	size_t log_size, size;
	char *log = test_file_read(log_path, &log_size), *bytes = test_file_read(path, &size);
	int lost = 0;

	for (size_t at = LOG_HEADER; at + FRAME_HEADER + PAGE <= log_size; at += FRAME_HEADER + PAGE) {
		size_t page = (size_t)(unsigned char)log[at + 2] << 8 | (unsigned char)log[at + 3];

		if (page < 2 || page * PAGE > size)
			continue;
		memset(bytes + (page - 1) * PAGE, 0, PAGE);
		lost++;
	}
	test_file_write(path, bytes, size);
	free(log);
	free(bytes);
	return lost;
}

/* A checkpoint that a reader ends early is not flushed, so the kernel may lose what it wrote. */
TEST_IN_FOLDER(pages_that_a_checkpoint_wrote_and_the_kernel_lost_are_read_from_the_log)
{
	struct writer *writer;
	struct model *model = begin(&writer, 5);
	sqlite3 *reader = check_open_second(path), *other = check_open_second(path);
	const struct sweep *sweep;
	int frames = 0, copied = 0;

	writer_set_retention(writer, &(struct writer_retention){ 0 });
	assert_int_equal(sqlite3_exec(reader, "BEGIN; SELECT count(*) FROM sweep", NULL, NULL, NULL), SQLITE_OK);
	check_store(writer, model_step(model));
	writer_set_retention(writer, &(struct writer_retention){ 0 });
	assert_int_equal(sqlite3_wal_checkpoint_v2(other, NULL, SQLITE_CHECKPOINT_PASSIVE, &frames, &copied),
			 SQLITE_OK);
	assert_in_range(copied, 1, frames - 1);
	sqlite3_close(reader);
	sqlite3_close(other);
	assert_true(lose_pages() > 0);
	sweep = model_step(model);
	fail_one(writer, sweep, log_bytes());
	check_store(writer, sweep);
	check_exact(model, 7);
	writer_close(writer);
	check_integrity(path);
	model_destroy(model);
}

/* The next collector continues from what is left. */
TEST_IN_FOLDER(a_database_that_has_lost_sweeps_ends_the_writer)
{
	struct writer *writer;
	struct model *model = begin(&writer, 7);
	struct error err = { 0 };

	writer_set_retention(writer, &(struct writer_retention){ 0 });
	check_change(path, "DELETE FROM hot WHERE id >= 65536 * 6; DELETE FROM absolute WHERE sweep >= 6;"
			   " DELETE FROM sweep WHERE id >= 6");
	assert_int_equal(writer_sink(writer)->store(writer, model_step(model), &err), ERR_IO);
	check_error_line(&err, "has lost sweeps after sweep 5; check its disk, and start the collector again");
	assert_true(writer_sink(writer)->has_ended(writer));
	assert_int_equal(writer_sink(writer)->store(writer, model_step(model), &err), ERR_IO);
	check_error_line(&err, "start the collector again");
	writer_close(writer);
	assert_int_equal(check_integer(path, "SELECT max(id) FROM sweep"), 5);
	writer_close(check_open_writer(path));
	check_integrity(path);
	model_destroy(model);
}

/* @which: 1 the log, 2 its index, 3 both; 4 replace the log. */
static void remove_log(int which)
{
	char name[100];

	snprintf(name, sizeof(name), "%s-wal", path);
	if (which != 2)
		assert_int_equal(unlink(name), 0);
	if (which == 4)
		test_file_write(name, "another program's log", 21);
	snprintf(name, sizeof(name), "%s-shm", path);
	if (which == 2 || which == 3)
		assert_int_equal(unlink(name), 0);
}

TEST_IN_FOLDER(a_removed_log_is_saved_and_ends_the_writer)
{
	struct model *model = model_create(5, 2, 8, 6);

	for (int which = 1; which <= 3; which++) {
		struct writer *writer = check_open_writer(path);
		int64_t sweeps = check_integer(path, "SELECT coalesce(max(id), 0) FROM sweep");
		struct error err = { 0 };

		check_store_steps(writer, model, 2);
		writer_set_retention(writer, &(struct writer_retention){ 0 });
		remove_log(which);
		assert_int_equal(writer_sink(writer)->store(writer, model_step(model), &err), ERR_IO);
		check_error_line(&err, "was removed while in use; start the collector again");
		assert_true(writer_sink(writer)->has_ended(writer));
		writer_close(writer);
		assert_int_equal(check_integer(path, "SELECT count(*) FROM sweep"), sweeps + 2);
		check_integrity(path);
	}
	model_destroy(model);
}

/* Pages of the old log must not overwrite those of the new one. */
TEST_IN_FOLDER(a_replaced_log_ends_the_writer)
{
	struct model *model = model_create(5, 2, 8, 6);
	struct writer *writer = check_open_writer(path);
	struct error err = { 0 };
	size_t len, len_after;
	char *before, *after;

	check_store_steps(writer, model, 3);
	writer_set_retention(writer, &(struct writer_retention){ 0 });
	remove_log(4);
	before = test_file_read(path, &len);
	assert_int_equal(writer_sink(writer)->store(writer, model_step(model), &err), ERR_IO);
	check_error_line(&err, "-wal was replaced while in use");
	assert_true(writer_sink(writer)->has_ended(writer));
	assert_int_equal(writer_sink(writer)->store(writer, model_step(model), &err), ERR_IO);
	check_error_line(&err, "start the collector again");
	writer_close(writer);
	after = test_file_read(path, &len_after);
	assert_int_equal(len, len_after);
	assert_memory_equal(before, after, len);
	free(before);
	free(after);
	writer_close(check_open_writer(path));
	check_integrity(path);
	model_destroy(model);
}
