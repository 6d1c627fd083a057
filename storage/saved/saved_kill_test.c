/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* saved_kill_test.c - snapshots are complete or absent: kills, a running collector, a full disk, permissions */
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/err.h"
#include "base/unit_test.h"
#include "storage/saved.h"
#include "storage/test/test_check.h"
#include "storage/test/test_folder.h"
#include "storage/test/test_model.h"
#include "storage/test/test_saved.h"
#include "storage/writer.h"

enum { NAMES = 400 };

/* Take and remove snapshots until the process is killed. */
static void go_on_for_ever(struct model *model)
{
	struct saved_writer *writer = test_saved_open();
	char name[16];

	for (int i = 0; i < NAMES; i++) {
		const struct saved_label label = { .name = name };
		struct sweep sweep = *model_step(model);

		snprintf(name, sizeof(name), "k%d", i);
		/* To be compared with the stored rows. */
		sweep.ports_planned = (uint32_t)sweep.sample_count;
		if (saved_write(writer, &label, &sweep, NULL) < 0)
			_exit(1);
		snprintf(name, sizeof(name), "k%d", i / 2);
		saved_remove(writer, name, NULL);
	}
	for (;;)
		pause();
}

TEST_IN_FOLDER(killed_at_any_time_no_snapshot_is_partial)
{
	struct model *model = model_create(94, 8, 30, 60);
	const struct sweep *sweep = model_step(model);
	struct saved_writer *writer = test_saved_open();
	int status;

	saved_writer_close(writer);
	for (int round = 0; round < 40; round++) {
		pid_t child = fork();

		assert_true(child >= 0);
		if (!child) {
			go_on_for_ever(model);
			_exit(0);
		}
		usleep((useconds_t)model_random(model, 40000));
		kill(child, SIGKILL);
		assert_int_equal(waitpid(child, &status, 0), child);
		assert_true(WIFSIGNALED(status));
		assert_int_equal(check_integer(path, "SELECT count(*) FROM snapshot s WHERE complete AND ports_planned"
					       " <> (SELECT count(*) FROM snapshot_port WHERE snapshot = s.id)"), 0);
		/* Free the names for the next child. */
		writer = test_saved_open();
		for (int i = 0; i < NAMES; i++) {
			char name[16];

			snprintf(name, sizeof(name), "k%d", i);
			saved_remove(writer, name, NULL);
		}
		saved_writer_close(writer);
	}
	check_integrity(path);
	/* The next snapshot removes the remains, if they are old enough. */
	check_change(path, "UPDATE snapshot SET wall_us = wall_us - 700000000");
	writer = test_saved_open();
	test_saved_save(writer, "last", sweep);
	saved_writer_close(writer);
	assert_int_equal(check_integer(path, "SELECT count(*) FROM snapshot"), 1);
	assert_int_equal(check_integer(path, "SELECT count(DISTINCT snapshot) FROM snapshot_port"), 1);
	assert_int_equal(check_integer(path, "SELECT count(DISTINCT snapshot) FROM snapshot_node"), 1);
	test_saved_check("last", sweep);
	model_destroy(model);
}

static int64_t longer(int64_t a, int64_t b)
{
	return a > b ? a : b;
}

/* Duration of storing the next sweep. */
static int64_t store_us(struct writer *writer, struct model *model)
{
	const struct sweep *sweep = model_step(model);
	int64_t began_us = clock_boottime_us(clock_system());

	check_store(writer, sweep);
	return clock_boottime_us(clock_system()) - began_us;
}

/* A collector stores a sweep every few milliseconds while snapshots are taken and removed; neither fails. */
TEST_IN_FOLDER(a_collector_continues_to_store_meanwhile)
{
	struct model *collected = model_create(95, 4, 12, 14), *taken = model_create(96, 24, 40, 800);
	const struct sweep *sweep = model_step(taken);
	int64_t worst_us = 0, alone_us = 0;
	int status, sweeps = 0, go[2];
	struct writer *collector;
	pid_t child;
	char byte = 0;

	assert_int_equal(pipe(go), 0);
	/* Before the collector has a thread: after fork(), its locks would never be released in the child. */
	child = fork();
	assert_true(child >= 0);
	if (!child) {
		struct saved_writer *writer = NULL;

		close(go[1]);
		for (int i = 0; i < 4; i++) {
			/* Continue until the other process has started. */
			if (read(go[0], &byte, 1) != 1 || read(go[0], &byte, 1) != 1)
				_exit(1);
			if (!writer)
				writer = test_saved_open();
			test_saved_save(writer, "big", sweep);
			if (i < 3 && saved_remove(writer, "big", NULL) < 0)
				_exit(1);
		}
		printf("# note: the longest lock of a snapshot: %.1f ms\n", (double)saved_longest_us(writer) / 1000);
		fflush(stdout);
		saved_writer_close(writer);
		_exit(0);
	}
	collector = check_open_writer(path);
	for (; sweeps < 40; sweeps++)
		alone_us = longer(alone_us, store_us(collector, collected));
	assert_int_equal(write(go[1], &byte, 1), 1);
	while (waitpid(child, &status, WNOHANG) == 0) {
		worst_us = longer(worst_us, store_us(collector, collected));
		sweeps++;
		assert_int_equal(write(go[1], &byte, 1), 1);
		usleep(5000);
	}
	assert_int_equal(status, 0);
	writer_close(collector);
	close(go[0]);
	close(go[1]);
	print_message("# note: the longest commit of %d beside four snapshots of %zu ports: %.1f ms; of 40 before: "
		      "%.1f\n", sweeps - 40, sweep->sample_count, (double)worst_us / 1000, (double)alone_us / 1000);
	assert_true(sweeps > 45);
	assert_int_equal(check_integer(path, "SELECT max(id) FROM sweep"), sweeps);
	test_saved_check("big", sweep);
	check_integrity(path);
	model_destroy(collected);
	model_destroy(taken);
}

/* Without space there is an error and no snapshot; the next one is complete. */
TEST_IN_FOLDER(a_full_disk_leaves_no_partial_snapshot)
{
	struct model *model = model_create(97, 8, 30, 60);
	struct saved_writer *writer = test_saved_open();
	struct rlimit before, small = { .rlim_cur = 0 };
	const struct saved_label label = { .name = "full" };
	const struct sweep *sweep = model_step(model);
	struct error err = { 0 };
	struct saved_names names;

	test_saved_save(writer, "first", sweep);
	signal(SIGXFSZ, SIG_IGN);
	assert_int_equal(getrlimit(RLIMIT_FSIZE, &before), 0);
	small.rlim_max = before.rlim_max;
	small.rlim_cur = 200000;
	assert_int_equal(setrlimit(RLIMIT_FSIZE, &small), 0);
	for (int i = 0; i < 20 && saved_write(writer, &label, sweep, &err) == 0; i++)
		saved_remove(writer, "full", NULL);
	assert_int_equal(setrlimit(RLIMIT_FSIZE, &before), 0);
	signal(SIGXFSZ, SIG_DFL);
	assert_int_equal(err.code, ERR_IO);
	test_saved_list(&names);
	assert_int_equal(names.count, 1);
	test_saved_save(writer, "full", sweep);
	saved_writer_close(writer);
	test_saved_check("first", sweep);
	test_saved_check("full", sweep);
	check_integrity(path);
	model_destroy(model);
}

TEST_IN_FOLDER(missing_write_access_is_an_error)
{
	struct error err = { 0 };
	int status;
	pid_t child;

	if (geteuid()) {
		print_message("# only root can become somebody else\n");
		skip();
	}
	saved_writer_close(test_saved_open());
	assert_int_equal(chmod(folder, 0755), 0);
	child = fork();
	assert_true(child >= 0);
	if (!child) {
		struct saved_writer *writer = NULL;
		char fresh[96];

		snprintf(fresh, sizeof(fresh), "%s/fresh.db", folder);
		if (setgid(65534) < 0 || setuid(65534) < 0)
			_exit(90);
		if (saved_writer_open(path, &writer, &err) != ERR_IO || !strstr(err.text, "may not be written"))
			_exit(91);
		_exit(saved_writer_open(fresh, &writer, &err) == ERR_IO ? 0 : 92);
	}
	assert_int_equal(waitpid(child, &status, 0), child);
	assert_int_equal(status, 0);
}
