/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* roundtrip_test.c - stored data is read back unchanged */
#include <signal.h>
#include <stdlib.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "base/test_cases.h"
#include "base/unit_test.h"
#include "storage/reader.h"
#include "storage/test/test_check.h"
#include "storage/test/test_folder.h"
#include "storage/test/test_history.h"
#include "storage/test/test_model.h"
#include "storage/writer.h"

/* Short windows, so that there are many of them, and hours. */
static struct writer *open_writer(struct model *model)
{
	return check_open_writer_with(path, 1 + (unsigned)model_random(model, 30));
}

/* Some sweeps, with restarts, boots and clock jumps. */
static void live(struct model *model, struct reader **reader, size_t steps)
{
	struct writer *writer = open_writer(model);

	for (size_t i = 0; i < steps; i++) {
		check_store(writer, model_step(model));
		if (!*reader)
			*reader = check_open_reader(path);
		if (model_random(model, 40) == 0) {
			writer_close(writer);
			if (model_random(model, 3) == 0)
				model_reboot(model);
			writer = open_writer(model);
			if (model->sweeps[model->sweep_count - 1].fabric && !model_random(model, 2))
				model->sweep.generation += 1000; /* as another process would count */
		}
		if (model_random(model, 100) == 0)
			model_jump(model, (int64_t)model_random(model, 20000000) - 10000000);
		if (model_random(model, 80) == 0)
			model_jump(model, INT64_C(1800000000) + (int64_t)model_random(model, 3600000000));
		if (model_random(model, 10) == 0) {
			int64_t at_us = model->wall_us - (int64_t)model_random(model, 100000000);
			int64_t window_us = (int64_t)model_random(model, 60000000);

			check_window(*reader, model, at_us, window_us);
			check_details(*reader, model, at_us, window_us);
			check_window(*reader, model, model->wall_us, (int64_t)model_random(model, 40000000000));
		}
	}
	check_window(*reader, model, model->wall_us, 0);
	writer_close(writer);
}

TEST_IN_FOLDER(everything_is_read_as_it_was_stored)
{
	for (uint64_t seed = 0; seed < test_cases(3); seed++) {
		struct model *model = model_create(seed, 2, (uint8_t)(3 + seed), 3);
		struct reader *reader = NULL;
		struct writer *writer;

		model->keep_history = true;
		live(model, &reader, getenv("IBWIRE_LONG") ? 1500 : 450);
		for (size_t id = 1; id <= model->sweep_count; id += 4 / test_cases(4))
			check_sweep(reader, model, (int64_t)id);
		for (size_t id = 1; id <= model->sweep_count; id += 7)
			check_details(reader, model, model->sweeps[id - 1].wall_us, (int64_t)(id % 3) * 50000000);
		/* Whole hours and windows, and parts at both ends. */
		for (size_t i = 0; i < test_cases(100); i++) {
			int64_t at_us = model->sweeps[model_random(model, model->sweep_count)].wall_us;

			check_window(reader, model, at_us, (int64_t)model_random(model, 20000000000));
		}
		assert_true(check_integer(path, "SELECT count(*) FROM chunk_window WHERE state = 1") > 20);
		assert_true(check_integer(path, "SELECT count(*) FROM hour WHERE state = 1") > 3);
		assert_true(check_integer(path, "SELECT count(*) FROM hot") > 0);
		/* A window excludes the sweep at its beginning. */
		for (size_t id = 20; id <= model->sweep_count; id += 50)
			check_window(reader, model, model->sweeps[id - 1].wall_us,
				     model->sweeps[id - 1].wall_us - model->sweeps[id - 4].wall_us);
		reader_close(reader);
		writer = check_open_writer(path);
		check_restore(writer, model);
		writer_close(writer);
		check_details_are_exact(path);
		check_sound(path);
		test_folder_renew();
		model_destroy(model);
	}
}

/* Stores sweeps until it is killed; writes the number of commits to the pipe. */
static void store_until_killed(struct model *model, unsigned window_sweeps, int pipe_fd)
{
	/* Windows, hours and retention, so that the kill interrupts any of them. */
	struct writer_retention retention = { .window_sweeps = window_sweeps, .raw_us = 60000000,
					      .sums_us = 120000000 };
	struct writer *writer = NULL;

	if (writer_open(path, &writer, NULL) < 0)
		_exit(1);
	writer_set_retention(writer, &retention);
	for (;;) {
		const struct sink *sink = writer_sink(writer);
		uint32_t count;

		if (sink->store(sink->ctx, model_step(model), NULL) < 0)
			_exit(2);
		count = (uint32_t)model->sweep_count;
		if (write(pipe_fd, &count, sizeof(count)) != sizeof(count))
			_exit(3);
	}
}

/*
 * Kill a child that stores from where @model stands, some time after it committed
 * @sweeps of them. Return: the last sweep it committed to be committed.
 */
static uint32_t kill_while_storing(struct model *model, uint32_t sweeps, long after_us)
{
	struct timespec wait = { .tv_nsec = after_us * 1000 };
	uint32_t count = (uint32_t)model->sweep_count, committed;
	unsigned window_sweeps = 1 + (unsigned)random() % 12;
	int pipe_fds[2], status;
	pid_t child;

	assert_int_equal(pipe(pipe_fds), 0);
	child = fork();
	assert_true(child >= 0);
	if (!child) {
		close(pipe_fds[0]);
		store_until_killed(model, window_sweeps, pipe_fds[1]);
	}
	close(pipe_fds[1]);
	for (uint32_t i = 0; i < sweeps; i++)
		if (read(pipe_fds[0], &committed, sizeof(committed)) == sizeof(committed))
			count = committed;
	nanosleep(&wait, NULL);
	kill(child, SIGKILL);
	while (read(pipe_fds[0], &committed, sizeof(committed)) == sizeof(committed))
		count = committed;
	close(pipe_fds[0]);
	assert_int_equal(waitpid(child, &status, 0), child);
	assert_true(WIFSIGNALED(status));
	return count;
}

/* The sweeps of the killed process, which follow @before, and some of the others. */
static void check_some(struct reader *reader, const struct model *model, int64_t first, int64_t before)
{
	for (int64_t id = (int64_t)model->sweep_count; id >= first; id -= id > before ? 1 : 1 + random() % 10)
		check_sweep(reader, model, id);
}

TEST_IN_FOLDER(a_kill_loses_no_committed_sweep)
{
	int rounds = getenv("IBWIRE_LONG") ? 200 : 4 + (int)test_cases(21);
	struct model *model = model_create(77, 2, 6, 4);

	model->keep_history = true;
	for (int round = 0; round < rounds; round++) {
		uint32_t committed = kill_while_storing(model, round < 4 ? 0 : (uint32_t)(random() % 30),
						   random() % 20000);
		struct reader *reader = NULL;
		struct writer *writer;
		int64_t newest = 0, before = (int64_t)model->sweep_count;

		if (reader_open(path, &reader, NULL) < 0) {
			/* Killed before the file was created. */
			assert_int_equal(committed, 0);
			continue;
		}
		assert_int_equal(reader_newest(reader, &newest, NULL), 0);
		/* The last commit may be missing on the pipe. */
		assert_in_range(newest, committed, committed + 1);
		while (model->sweep_count < (size_t)newest)
			model_step(model);
		check_some(reader, model, check_first_kept(path), before);
		reader_close(reader);
		check_sound(path);
		if (!newest)
			continue;
		writer = check_open_writer(path);
		check_restore(writer, model);
		writer_close(writer);
	}
	assert_true(model->sweep_count > (rounds < 25 ? 10 : 50));
	if (getenv("IBWIRE_LONG"))
		check_sweeps(path, model, check_first_kept(path), (int64_t)model->sweep_count, 1);
	check_sound(path);
	model_destroy(model);
	reliability_report("SIGKILL while sweeps are stored", (unsigned long long)rounds, "kills",
			   "each committed sweep is exact, the database is whole, the next writer continues");
}
