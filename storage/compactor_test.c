/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* compactor_test.c - where its thread cannot be started, sweeps are stored all the same, and an event says so */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/resource.h>
#include <unistd.h>

#include <cmocka.h>

#include "storage/reader.h"
#include "storage/test_check.h"
#include "storage/test_folder.h"
#include "storage/test_model.h"
#include "storage/writer.h"

#define WINDOW 10

/* No file can be opened any more: so the thread has no connection. Return: what was allowed before. */
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

static void what_cannot_be_started_is_told_once_and_tried_again(void **state)
{
	struct model *model = model_create(1, 2, 20, 10);
	struct writer *writer = check_open_writer_with(path, WINDOW);
	struct reader *reader;
	rlim_t before;

	(void)state;
	model->calm = model->keep_history = true;
	before = allow_no_more_files();
	/* Twice it is tried, and it says so once. */
	for (int i = 0; i < 70; i++)
		check_store(writer, model_step(model));
	allow_files(before);
	assert_int_equal(check_integer(path, "SELECT count(*) FROM sweep"), 70);
	assert_int_equal(check_integer(path, "SELECT count(*) FROM chunk_window"), 0);
	assert_int_equal(check_integer(path, "SELECT count(*) FROM event WHERE kind = 'history-failed' AND"
				       " text LIKE 'sweeps are stored and not packed%tried again'"), 1);
	for (int i = 0; i < 60; i++)
		check_store(writer, model_step(model));
	writer_close(writer);
	assert_int_equal(check_integer(path, "SELECT count(*) FROM chunk_window WHERE state = 1"), 130 / WINDOW);
	reader = check_open_reader(path);
	for (int64_t id = 1; id <= 130; id++)
		check_sweep(reader, model, id);
	reader_close(reader);
	check_integrity(path);
	model_destroy(model);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		TEST_IN_FOLDER(what_cannot_be_started_is_told_once_and_tried_again),
	};

	return cmocka_run_group_tests_name("compactor", tests, NULL, NULL);
}
