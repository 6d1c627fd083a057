/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* Snapshots come back as they were written, beside a collector, and after a kill at any moment. */
#include <setjmp.h>
#include <signal.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cmocka.h>
#include <sqlite3.h>

#include "base/clock.h"
#include "base/err.h"
#include "storage/lock.h"
#include "storage/reader.h"
#include "storage/saved.h"
#include "storage/test_check.h"
#include "storage/test_folder.h"
#include "storage/test_model.h"
#include "storage/writer.h"

static struct saved_writer *open_saved(void)
{
	struct saved_writer *writer = NULL;
	struct error err = { 0 };

	if (saved_writer_open(path, &writer, &err) < 0)
		fail_msg("%s", err.text);
	return writer;
}

static void save(struct saved_writer *writer, const char *name, const struct sweep *sweep)
{
	const struct saved_label label = { .name = name, .note = strcmp(name, "1") ? "a note" : NULL, .slow = true };
	struct error err = { 0 };

	if (saved_write(writer, &label, sweep, &err) < 0)
		fail_msg("%s", err.text);
}

/* By hand, past the program. */
static void change(const char *sql)
{
	sqlite3 *db;

	assert_int_equal(sqlite3_open(path, &db), SQLITE_OK);
	assert_int_equal(sqlite3_exec(db, sql, NULL, NULL, NULL), SQLITE_OK);
	assert_int_equal(sqlite3_close(db), SQLITE_OK);
}

struct names {
	int64_t ids[64];
	char names[64][SAVED_NAME_SIZE];
	size_t count;
};

static bool add_name(void *ctx, const struct saved_info *info)
{
	struct names *names = ctx;

	names->ids[names->count] = info->id;
	snprintf(names->names[names->count++], SAVED_NAME_SIZE, "%s", info->name);
	return names->count < 64;
}

static void list_names(struct names *ret)
{
	struct reader *reader = check_open_reader(path);

	ret->count = 0;
	assert_int_equal(saved_list(reader, add_name, ret, NULL), 0);
	reader_close(reader);
}

static struct saved *load(const char *name)
{
	struct reader *reader = check_open_reader(path);
	struct names names = { 0 };
	struct saved *saved = NULL;
	struct error err = { 0 };
	size_t i;

	assert_int_equal(saved_list(reader, add_name, &names, NULL), 0);
	for (i = 0; i < names.count && strcmp(names.names[i], name); i++)
		;
	assert_true(i < names.count);
	if (saved_load(reader, names.ids[i], NULL, &saved, &err) < 0)
		fail_msg("%s", err.text);
	reader_close(reader);
	return saved;
}

static void check_detail(const struct full_reading *found, const struct detail_reading *given)
{
	const struct detail_reading *detail = &found->details[given->attribute];
	unsigned number;

	assert_int_equal(detail->present, given->present);
	if (given->attribute == DETAIL_EXTENDED_SPEEDS)
		assert_int_equal(detail->layout, given->layout);
	for (number = 0; number < detail_count((enum detail_attribute)given->attribute); number++)
		if (given->present >> number & 1)
			assert_int_equal(detail->value[number], given->value[number]);
}

static void check_sample(const struct saved *saved, const struct sweep *sweep, const struct port_sample *sample)
{
	const struct port *port = &sweep->fabric->ports[sample->port];
	uint32_t at = fabric_find_port(saved->fabric, sweep->fabric->nodes[port->node].guid, port->num);
	const struct full_reading *found = &saved->readings[at];
	int i;

	assert_int_not_equal(at, FABRIC_NONE);
	assert_int_equal(saved->fabric->ports[at].state, port->state);
	assert_int_equal(found->status, sample->status);
	assert_int_equal(found->reading.present, sample->reading ? sample->reading->present : 0);
	for (i = 0; sample->reading && i < COUNTER_COUNT; i++)
		if (sample->reading->present & COUNTER_BIT(i))
			assert_true(found->reading.value[i] == sample->reading->value[i]);
	if (sample->reading) {
		assert_int_equal(found->reading.at_us, sample->reading->at_us);
		assert_int_equal(found->reading.wide, sample->reading->wide);
	}
	if (port->peer != FABRIC_NONE && port_is_pollable(sweep->fabric, &sweep->fabric->ports[port->peer])) {
		const struct port *peer = &sweep->fabric->ports[port->peer];

		assert_int_equal(saved->fabric->ports[at].peer,
				 fabric_find_port(saved->fabric, sweep->fabric->nodes[peer->node].guid, peer->num));
	} else {
		assert_int_equal(saved->fabric->ports[at].peer, FABRIC_NONE);
	}
}

static void check_saved(const char *name, const struct sweep *sweep)
{
	struct saved *saved = load(name);
	size_t i;

	assert_string_equal(saved->info.boot_id, sweep->boot_id);
	assert_int_equal(saved->info.wall_us, sweep->wall_us);
	assert_int_equal(saved->info.ports_answered, sweep->ports_answered);
	assert_string_equal(saved->info.note, strcmp(name, "1") ? "a note" : "");
	assert_int_equal(saved->fabric->port_count, sweep->sample_count);
	assert_int_equal(saved->fabric->node_count, sweep->fabric->node_count);
	for (i = 0; i < sweep->fabric->node_count; i++) {
		assert_int_equal(saved->fabric->nodes[i].guid, sweep->fabric->nodes[i].guid);
		assert_string_equal(saved->fabric->nodes[i].name, sweep->fabric->nodes[i].name);
	}
	for (i = 0; i < sweep->sample_count; i++)
		check_sample(saved, sweep, &sweep->samples[i]);
	for (i = 0; i < sweep->detail_count; i++) {
		const struct detail_sample *detail = &sweep->details[i];
		const struct port *port = &sweep->fabric->ports[detail->port];
		uint32_t at = fabric_find_port(saved->fabric, sweep->fabric->nodes[port->node].guid, port->num);

		if (at != FABRIC_NONE && saved->readings[at].status == SAMPLE_OK)
			check_detail(&saved->readings[at], detail->reading);
	}
	saved_destroy(saved);
}

static void what_is_written_comes_back(void **state)
{
	struct model *model = model_create(91, 4, 12, 14);
	struct saved_writer *writer = open_saved();
	char name[16];
	int i;

	(void)state;
	for (i = 0; i < 40; i++) {
		const struct sweep *sweep = model_step(model);

		snprintf(name, sizeof(name), "%d", i);
		save(writer, name, sweep);
		check_saved(name, sweep);
		if (i == 20)
			model_reboot(model);
	}
	saved_writer_close(writer);
	check_integrity(path);
	model_destroy(model);
}

static void a_name_is_given_once_and_free_again_when_it_is_removed(void **state)
{
	const struct saved_label label = { .name = "one" };
	struct model *model = model_create(92, 2, 8, 6);
	struct saved_writer *writer = open_saved();
	const struct sweep *sweep = model_step(model);
	struct error err = { 0 };
	struct names names;

	(void)state;
	assert_int_equal(saved_is_free(writer, "one", NULL), 0);
	save(writer, "one", sweep);
	assert_int_equal(saved_is_free(writer, "one", &err), ERR_USAGE);
	assert_int_equal(saved_write(writer, &label, sweep, &err), ERR_USAGE);
	/* Of the one that was refused nothing stays. */
	assert_int_equal(check_integer(path, "SELECT count(*) FROM snapshot"), 1);
	assert_int_equal(check_integer(path, "SELECT count(DISTINCT snapshot) FROM snapshot_port"), 1);
	assert_int_equal(saved_remove(writer, "two", &err), ERR_USAGE);
	save(writer, "two", sweep);
	assert_int_equal(saved_remove(writer, "one", &err), 0);
	assert_int_equal(check_integer(path, "SELECT count(DISTINCT snapshot) FROM snapshot_node"), 1);
	save(writer, "one", model_step(model));
	list_names(&names);
	assert_int_equal(names.count, 2);
	assert_string_equal(names.names[0], "two");
	assert_string_equal(names.names[1], "one");
	saved_writer_close(writer);
	model_destroy(model);
}

static void one_that_is_removed_while_it_is_chosen_is_named(void **state)
{
	struct model *model = model_create(93, 2, 8, 6);
	struct saved_writer *writer = open_saved();
	struct reader *reader;
	struct saved *saved = NULL;
	struct error err = { 0 };

	(void)state;
	save(writer, "one", model_step(model));
	saved_writer_close(writer);
	reader = check_open_reader(path);
	assert_int_equal(saved_load(reader, 7, NULL, &saved, &err), ERR_UNAVAILABLE);
	assert_non_null(strstr(err.text, "removed meanwhile"));
	assert_null(saved);
	reader_close(reader);
	model_destroy(model);
}

/* Take and remove until somebody kills us. */
static void go_on_for_ever(struct model *model)
{
	struct saved_writer *writer = open_saved();
	char name[16];
	int i;

	for (i = 0;; i++) {
		const struct saved_label label = { .name = name };
		struct sweep sweep = *model_step(model);

		snprintf(name, sizeof(name), "k%d", i);
		/* To be held against the rows that are there. */
		sweep.ports_planned = (uint32_t)sweep.sample_count;
		if (saved_write(writer, &label, &sweep, NULL) < 0)
			_exit(1);
		snprintf(name, sizeof(name), "k%d", i / 2);
		saved_remove(writer, name, NULL);
	}
}

static void killed_at_any_moment_none_is_half(void **state)
{
	struct model *model = model_create(94, 8, 30, 60);
	const struct sweep *sweep = model_step(model);
	struct saved_writer *writer = open_saved();
	int round, status;

	(void)state;
	saved_writer_close(writer);
	for (round = 0; round < 40; round++) {
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
		/* The next children's names shall be free. */
		writer = open_saved();
		for (int i = 0; i < 400; i++) {
			char name[16];

			snprintf(name, sizeof(name), "k%d", i);
			saved_remove(writer, name, NULL);
		}
		saved_writer_close(writer);
	}
	check_integrity(path);
	/* What they left behind goes with the next one, when it is old enough. */
	change("UPDATE snapshot SET wall_us = wall_us - 700000000");
	writer = open_saved();
	save(writer, "last", sweep);
	saved_writer_close(writer);
	assert_int_equal(check_integer(path, "SELECT count(*) FROM snapshot"), 1);
	assert_int_equal(check_integer(path, "SELECT count(DISTINCT snapshot) FROM snapshot_port"), 1);
	assert_int_equal(check_integer(path, "SELECT count(DISTINCT snapshot) FROM snapshot_node"), 1);
	check_saved("last", sweep);
	model_destroy(model);
}

static int64_t longer(int64_t a, int64_t b)
{
	return a > b ? a : b;
}

/* How long the next sweep takes to be stored. */
static int64_t store_us(struct writer *writer, struct model *model)
{
	const struct sweep *sweep = model_step(model);
	int64_t began_us = clock_boottime_us(clock_system());

	check_store(writer, sweep);
	return clock_boottime_us(clock_system()) - began_us;
}

/* A collector stores a sweep every few milliseconds, meanwhile snapshots come and go: nobody hears of the other. */
static void a_collector_writes_on_beside_it(void **state)
{
	struct model *collected = model_create(95, 4, 12, 14), *taken = model_create(96, 24, 40, 800);
	const struct sweep *sweep = model_step(taken);
	int64_t worst_us = 0, alone_us = 0;
	int status, sweeps = 0, go[2];
	struct writer *collector;
	pid_t child;
	char byte = 0;

	(void)state;
	assert_int_equal(pipe(go), 0);
	/* Before the collector has a thread: what that holds at a fork nobody would release in the child. */
	child = fork();
	assert_true(child >= 0);
	if (!child) {
		struct saved_writer *writer;

		if (read(go[0], &byte, 1) != 1)
			_exit(1);
		writer = open_saved();
		for (int i = 0; i < 4; i++) {
			save(writer, "big", sweep);
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
	check_saved("big", sweep);
	check_integrity(path);
	model_destroy(collected);
	model_destroy(taken);
}

/* No space left: nothing counts, the error says so, and the next one is whole. */
static void a_full_disk_leaves_nothing_half(void **state)
{
	struct model *model = model_create(97, 8, 30, 60);
	struct saved_writer *writer = open_saved();
	struct rlimit before, small = { .rlim_cur = 0 };
	const struct saved_label label = { .name = "full" };
	const struct sweep *sweep = model_step(model);
	struct error err = { 0 };
	struct names names;

	(void)state;
	save(writer, "first", sweep);
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
	list_names(&names);
	assert_int_equal(names.count, 1);
	save(writer, "full", sweep);
	saved_writer_close(writer);
	check_saved("first", sweep);
	check_saved("full", sweep);
	check_integrity(path);
	model_destroy(model);
}

/* A node that lost its description was called by its last name; what could harm a terminal is not believed. */
static void a_node_is_called_as_it_was_shown(void **state)
{
	struct model *model = model_create(90, 2, 8, 6);
	struct saved_writer *writer = open_saved();
	char derived[NODE_NAME_SIZE];
	struct saved *saved;

	(void)state;
	save(writer, "one", model_step(model));
	saved_writer_close(writer);
	saved = load("one");
	snprintf(derived, sizeof(derived), "%s", saved->fabric->nodes[1].name);
	saved_destroy(saved);
	change("UPDATE snapshot_node SET name = 'node0001 mlx5_0 \\x1b (was)' WHERE node = 0");
	change("UPDATE snapshot_node SET name = 'evil' || char(27) || '[2J' WHERE node = 1");
	saved = load("one");
	assert_string_equal(saved->fabric->nodes[0].name, "node0001 mlx5_0 \\x1b (was)");
	assert_string_equal(saved->fabric->nodes[1].name, derived);
	saved_destroy(saved);
	model_destroy(model);
}

struct resets {
	const struct model *model;
	counter_set *by_port;
};

static void add_resets(void *ctx, uint64_t node_guid, uint8_t num, counter_set counters)
{
	struct resets *resets = ctx;
	size_t i;

	for (i = 0; i < resets->model->port_count; i++)
		if (resets->model->nodes[resets->model->ports[i].node].node.guid == node_guid &&
		    resets->model->ports[i].num == num)
			break;
	assert_true(i < resets->model->port_count);
	resets->by_port[i] |= counters;
}

/* From single sweeps, windows and hours alike. */
static void resets_that_a_collector_saw_are_found(void **state)
{
	struct model *model = model_create(99, 3, 10, 8);
	struct writer *writer = check_open_writer_with(path, 3);
	struct resets resets = { .model = model };
	struct reader *reader;
	size_t found = 0, i;
	int round;

	(void)state;
	model->keep_history = true;
	for (round = 0; round < 300; round++)
		check_store(writer, model_step(model));
	writer_close(writer);
	assert_true(check_integer(path, "SELECT count(*) FROM chunk_window WHERE state = 1") > 20);
	reader = check_open_reader(path);
	resets.by_port = calloc(model->port_count, sizeof(*resets.by_port));
	for (round = 0; round < 200; round++) {
		int64_t before = (int64_t)model_random(model, 301);
		int64_t after = before + (int64_t)model_random(model, (uint64_t)(301 - before)), id;

		memset(resets.by_port, 0, model->port_count * sizeof(*resets.by_port));
		assert_int_equal(saved_resets(reader, before, after, add_resets, &resets, NULL), 0);
		for (i = 0; i < model->port_count; i++) {
			counter_set expected = 0;

			for (id = before + 1; id <= after + 1 && id <= 300; id++) {
				const struct model_truth *truth = &model->sweeps[id - 1].truth[i];

				expected |= truth->has_delta ? truth->delta.reset & truth->delta.known : 0;
			}
			assert_true(resets.by_port[i] == expected);
			found += expected != 0;
		}
	}
	assert_true(found > 100);
	free(resets.by_port);
	reader_close(reader);
	model_destroy(model);
}

/* One of an older version is brought up to date, but not under a collector that is of that version. */
static void an_older_database_is_brought_up_to_date(void **state)
{
	struct model *model = model_create(98, 2, 6, 4);
	struct saved_writer *writer = NULL;
	struct writer *collector;
	struct error err = { 0 };
	char full[80];
	int lock = -1;

	(void)state;
	model->no_details = true;
	snprintf(full, sizeof(full), "%s/full.db", folder);
	collector = check_open_writer(full);
	check_store(collector, model_step(model));
	writer_close(collector);
	check_make_version_1(path, full);
	assert_int_equal(lock_take(path, &lock, NULL), 0);
	assert_int_equal(saved_writer_open(path, &writer, &err), ERR_UNAVAILABLE);
	assert_non_null(strstr(err.text, "older version"));
	lock_release(lock);
	writer = open_saved();
	save(writer, "first", model_step(model));
	saved_writer_close(writer);
	check_saved("first", &model->sweep);
	model_destroy(model);
}

static void who_may_not_write_is_told(void **state)
{
	struct error err = { 0 };
	int status;
	pid_t child;

	(void)state;
	if (geteuid()) {
		print_message("# only root can become somebody else\n");
		skip();
	}
	saved_writer_close(open_saved());
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

/* What somebody wrote into the file by hand does no harm. */
static void damaged_rows_are_an_error_and_no_crash(void **state)
{
	static const char *const damages[] = {
		"DELETE FROM snapshot_node WHERE node = 0",
		"UPDATE snapshot_port SET number = number + 300 WHERE node = 1",
		"UPDATE snapshot_port SET peer_node = 99999",
		"UPDATE snapshot_port SET peer_node = 0, peer_number = 1",
		"UPDATE snapshot_node SET guid = 5",
		"UPDATE snapshot_node SET description = zeroblob(5000)",
		"UPDATE snapshot_port SET why = 77",
	};
	size_t i;

	(void)state;
	for (i = 0; i < sizeof(damages) / sizeof(damages[0]); i++) {
		struct model *model = model_create(99 + i, 2, 8, 6);
		struct saved_writer *writer = open_saved();
		struct reader *reader;
		struct saved *saved = NULL;
		struct error err = { 0 };
		struct names names;
		char name[16];
		int code;

		snprintf(name, sizeof(name), "d%zu", i);
		save(writer, name, model_step(model));
		saved_writer_close(writer);
		change(damages[i]);
		list_names(&names);
		reader = check_open_reader(path);
		code = saved_load(reader, names.ids[names.count - 1], NULL, &saved, &err);
		assert_true(code == 0 || (code == ERR_IO && err.text[0]));
		saved_destroy(saved);
		reader_close(reader);
		writer = open_saved();
		assert_int_equal(saved_remove(writer, name, NULL), 0);
		saved_writer_close(writer);
		model_destroy(model);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		TEST_IN_FOLDER(what_is_written_comes_back),
		TEST_IN_FOLDER(a_name_is_given_once_and_free_again_when_it_is_removed),
		TEST_IN_FOLDER(one_that_is_removed_while_it_is_chosen_is_named),
		TEST_IN_FOLDER(killed_at_any_moment_none_is_half),
		TEST_IN_FOLDER(a_collector_writes_on_beside_it),
		TEST_IN_FOLDER(a_full_disk_leaves_nothing_half),
		TEST_IN_FOLDER(a_node_is_called_as_it_was_shown),
		TEST_IN_FOLDER(resets_that_a_collector_saw_are_found),
		TEST_IN_FOLDER(an_older_database_is_brought_up_to_date),
		TEST_IN_FOLDER(who_may_not_write_is_told),
		TEST_IN_FOLDER(damaged_rows_are_an_error_and_no_crash),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
