/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* compactor_test.c - a thread that cannot start, and a log that a reader holds */
#include <stdio.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include <sqlite3.h>

#include "base/unit_test.h"
#include "storage/reader.h"
#include "storage/test/test_check.h"
#include "storage/test/test_folder.h"
#include "storage/test/test_model.h"
#include "storage/writer.h"

#define WINDOW 10

/* Without files the thread cannot connect. Return: the previous limit. */
static rlim_t allow_no_more_files(void)
{
	struct rlimit limit;
	rlim_t before;
	int next = dup(STDERR_FILENO);

	assert_true(next >= 0);
	close(next);
	assert_int_equal(getrlimit(RLIMIT_NOFILE, &limit), 0);
	before = limit.rlim_cur;
	limit.rlim_cur = (rlim_t)next;
	assert_int_equal(setrlimit(RLIMIT_NOFILE, &limit), 0);
	return before;
}

static void allow_files(rlim_t count)
{
	struct rlimit limit;

	assert_int_equal(getrlimit(RLIMIT_NOFILE, &limit), 0);
	limit.rlim_cur = count;
	assert_int_equal(setrlimit(RLIMIT_NOFILE, &limit), 0);
}

TEST_IN_FOLDER(a_failed_start_is_reported_once_and_retried)
{
	struct model *model = model_create(1, 2, 20, 10);
	struct writer *writer = check_open_writer_with(path, WINDOW);
	rlim_t before;

	model->calm = model->keep_history = true;
	before = allow_no_more_files();
	/* Tried twice, reported once. */
	check_store_steps(writer, model, 70);
	allow_files(before);
	assert_int_equal(check_integer(path, "SELECT count(*) FROM sweep"), 70);
	assert_int_equal(check_integer(path, "SELECT count(*) FROM chunk_window"), 0);
	assert_int_equal(check_integer(path, "SELECT count(*) FROM event WHERE kind = 'history-failed' AND"
				       " text LIKE 'sweeps are stored but not packed%ibwire retries'"), 1);
	check_store_steps(writer, model, 60);
	writer_close(writer);
	assert_int_equal(check_integer(path, "SELECT count(*) FROM chunk_window WHERE state = 1"), 130 / WINDOW);
	check_sweeps(path, model, 1, 130, 1);
	check_integrity(path);
	model_destroy(model);
}

/* Another process with a read transaction, from a byte on its pipe until the pipe is closed. */
struct holder {
	pid_t pid;
	int start, begun;
};

static void hold(int start, int begun)
{
	sqlite3 *db;
	char byte;
	bool ok = read(start, &byte, 1) == 1 && sqlite3_open_v2(path, &db, SQLITE_OPEN_READONLY, NULL) == SQLITE_OK &&
		  sqlite3_exec(db, "BEGIN; SELECT max(id) FROM sweep", NULL, NULL, NULL) == SQLITE_OK &&
		  write(begun, &byte, 1) == 1 && read(start, &byte, 1) == 0;

	_exit(!ok);
}

static struct holder holder_start(void)
{
	int start[2], begun[2];
	pid_t pid;

	assert_int_equal(pipe(start) | pipe(begun), 0);
	pid = fork();
	assert_true(pid >= 0);
	if (!pid) {
		close(start[1]);
		hold(start[0], begun[1]);
	}
	close(start[0]);
	close(begun[1]);
	return (struct holder){ pid, start[1], begun[0] };
}

static void holder_begin(const struct holder *holder)
{
	char byte = 0;

	assert_int_equal(write(holder->start, &byte, 1), 1);
	assert_int_equal(read(holder->begun, &byte, 1), 1);
}

static void holder_end(const struct holder *holder)
{
	int status;

	close(holder->start);
	close(holder->begun);
	assert_int_equal(waitpid(holder->pid, &status, 0), holder->pid);
	assert_int_equal(status, 0);
}

/* Store sweeps until the thread reports a held log, or none; with pauses for the thread. */
static void store_until_held(struct writer *writer, struct model *model, bool held, char holders[SINK_HOLDERS_SIZE])
{
	const struct sink *sink = writer_sink(writer);
	const struct timespec pause = { .tv_nsec = 5000000 };
	int64_t bytes = 0;

	for (int i = 0; i < 12000; i++) {
		check_store(writer, model_step(model));
		bytes = sink->log_held(sink->ctx, holders);
		if ((bytes != 0) == held)
			break;
		nanosleep(&pause, NULL);
	}
	assert_in_range(bytes, held ? 70000000 : 0, held ? 140000000 : 0);
}

TEST_IN_FOLDER(a_reader_that_holds_a_large_log_is_named)
{
	char expected[64], holders[SINK_HOLDERS_SIZE];
	/* Started before any connection exists. The later one reads the newest state and holds nothing. */
	struct holder later = holder_start(), first = holder_start();
	struct writer *writer = check_open_writer_with(path, WINDOW);
	struct model *model = model_create(1, 2, 5, 3);
	struct reader *reader;
	struct db_status status;
	sqlite3 *db;

	check_store_steps(writer, model, 3);
	holder_begin(&first);
	store_until_held(writer, model, false, holders);
	assert_int_equal(sqlite3_open(path, &db), SQLITE_OK);
	assert_int_equal(sqlite3_exec(db, "PRAGMA busy_timeout = 60000; PRAGMA wal_autocheckpoint = 0;"
				      " CREATE TABLE large (bytes); INSERT INTO large VALUES (zeroblob(70000000))",
				      NULL, NULL, NULL), SQLITE_OK);
	check_store(writer, model_step(model));
	holder_begin(&later);
	store_until_held(writer, model, true, holders);
	snprintf(expected, sizeof(expected), "process %d (compactor_test)", (int)first.pid);
	assert_string_equal(holders, expected);
	reader = check_open_reader(path);
	assert_int_equal(reader_status(reader, &status, NULL), 0);
	assert_true(status.log_bytes > 70000000);
	assert_string_equal(status.log_holders, expected);
	holder_end(&first);
	holder_end(&later);
	store_until_held(writer, model, false, holders);
	assert_int_equal(reader_status(reader, &status, NULL), 0);
	assert_string_equal(status.log_holders, "");
	reader_close(reader);
	sqlite3_close(db);
	writer_close(writer);
	model_destroy(model);
}
