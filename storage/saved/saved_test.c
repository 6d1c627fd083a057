/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* saved_test.c - snapshots are read as they were written, and are complete or absent after any failure */
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/err.h"
#include "base/test_cases.h"
#include "base/unit_test.h"
#include "fabric/fabric.h"
#include "storage/reader.h"
#include "storage/saved.h"
#include "storage/test/test_check.h"
#include "storage/test/test_folder.h"
#include "storage/test/test_model.h"
#include "storage/writer.h"

/* All snapshots, in the order of the list. */
struct saved_names {
	int64_t ids[64];
	char names[64][SAVED_NAME_SIZE];
	size_t count;
};

static void save(struct saved_writer *writer, const char *name, const struct sweep *sweep)
{
	const struct saved_label label = { .name = name, .note = strcmp(name, "1") ? "a note" : NULL, .slow = true };
	struct error err = { 0 };

	if (saved_write(writer, &label, sweep, &err) < 0)
		fail_msg("%s", err.text);
}

static bool add_name(void *ctx, const struct saved_info *info)
{
	struct saved_names *names = ctx;

	names->ids[names->count] = info->id;
	snprintf(names->names[names->count++], SAVED_NAME_SIZE, "%s", info->name);
	return names->count < 64;
}

static void list_saved(struct saved_names *ret)
{
	struct reader *reader = check_open_reader(path);

	ret->count = 0;
	assert_int_equal(saved_list(reader, add_name, ret, NULL), 0);
	reader_close(reader);
}

static struct saved *load_saved(const char *name)
{
	struct reader *reader = check_open_reader(path);
	struct saved_names names;
	struct saved *saved = NULL;
	struct error err = { 0 };
	size_t i;

	list_saved(&names);
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

	assert_int_equal(detail->present, given->present);
	if (given->attribute == DETAIL_EXTENDED_SPEEDS)
		assert_int_equal(detail->layout, given->layout);
	for (unsigned number = 0; number < detail_count((enum detail_attribute)given->attribute); number++)
		if (given->present >> number & 1)
			assert_int_equal(detail->value[number], given->value[number]);
}

static void check_sample(const struct saved *saved, const struct sweep *sweep, const struct port_sample *sample)
{
	const struct port *port = &sweep->fabric->ports[sample->port];
	uint32_t at = fabric_find_port(saved->fabric, sweep->fabric->nodes[port->node].guid, port->num);
	const struct full_reading *found = &saved->readings[at];

	assert_int_not_equal(at, FABRIC_NONE);
	assert_int_equal(saved->fabric->ports[at].state, port->state);
	assert_int_equal(found->status, sample->status);
	assert_int_equal(found->reading.present, sample->reading ? sample->reading->present : 0);
	for (int i = 0; sample->reading && i < COUNTER_COUNT; i++)
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
	struct saved *saved = load_saved(name);

	assert_string_equal(saved->info.boot_id, sweep->boot_id);
	assert_int_equal(saved->info.wall_us, sweep->wall_us);
	assert_int_equal(saved->info.ports_answered, sweep->ports_answered);
	assert_string_equal(saved->info.note, strcmp(name, "1") ? "a note" : "");
	assert_int_equal(saved->fabric->port_count, sweep->sample_count);
	assert_int_equal(saved->fabric->node_count, sweep->fabric->node_count);
	for (size_t i = 0; i < sweep->fabric->node_count; i++) {
		assert_int_equal(saved->fabric->nodes[i].guid, sweep->fabric->nodes[i].guid);
		assert_string_equal(saved->fabric->nodes[i].name, sweep->fabric->nodes[i].name);
	}
	for (size_t i = 0; i < sweep->sample_count; i++)
		check_sample(saved, sweep, &sweep->samples[i]);
	for (size_t i = 0; i < sweep->detail_count; i++) {
		const struct detail_sample *detail = &sweep->details[i];
		const struct port *port = &sweep->fabric->ports[detail->port];
		uint32_t at = fabric_find_port(saved->fabric, sweep->fabric->nodes[port->node].guid, port->num);

		/* Snapshots have no seldom attributes. */
		if (at != FABRIC_NONE && saved->readings[at].status == SAMPLE_OK &&
		    detail->reading->attribute < DETAIL_SELDOM)
			check_detail(&saved->readings[at], detail->reading);
	}
	saved_destroy(saved);
}

TEST_IN_FOLDER(a_snapshot_is_read_as_it_was_written)
{
	struct model *model = model_create(91, 4, 12, 14);
	struct saved_writer *writer = check_open_saved(path);
	char name[16];

	for (int i = 0; i < 40; i++) {
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

TEST_IN_FOLDER(a_name_is_unique_and_free_again_after_removal)
{
	const struct saved_label label = { .name = "one" };
	struct model *model = model_create(92, 2, 8, 6);
	struct saved_writer *writer = check_open_saved(path);
	const struct sweep *sweep = model_step(model);
	struct error err = { 0 };
	struct saved_names names;

	assert_int_equal(saved_is_free(writer, "one", NULL), 0);
	save(writer, "one", sweep);
	assert_int_equal(saved_is_free(writer, "one", &err), ERR_USAGE);
	assert_int_equal(saved_write(writer, &label, sweep, &err), ERR_USAGE);
	/* Nothing of the rejected one remains. */
	assert_int_equal(check_integer(path, "SELECT count(*) FROM snapshot"), 1);
	assert_int_equal(check_integer(path, "SELECT count(DISTINCT snapshot) FROM snapshot_port"), 1);
	assert_int_equal(saved_remove(writer, "two", &err), ERR_USAGE);
	save(writer, "two", sweep);
	assert_int_equal(saved_remove(writer, "one", &err), 0);
	assert_int_equal(check_integer(path, "SELECT count(DISTINCT snapshot) FROM snapshot_node"), 1);
	save(writer, "one", model_step(model));
	list_saved(&names);
	assert_int_equal(names.count, 2);
	assert_string_equal(names.names[0], "two");
	assert_string_equal(names.names[1], "one");
	saved_writer_close(writer);
	model_destroy(model);
}

static void check_same(const struct saved *found, const char *name)
{
	struct saved *alone = load_saved(name);

	assert_string_equal(found->info.name, name);
	assert_int_equal(found->info.id, alone->info.id);
	assert_int_equal(found->fabric->port_count, alone->fabric->port_count);
	assert_int_equal(found->fabric->node_count, alone->fabric->node_count);
	for (size_t i = 0; i < alone->fabric->node_count; i++)
		assert_string_equal(found->fabric->nodes[i].name, alone->fabric->nodes[i].name);
	for (size_t i = 0; i < alone->fabric->port_count; i++)
		assert_int_equal(found->fabric->ports[i].peer, alone->fabric->ports[i].peer);
	assert_memory_equal(found->readings, alone->readings, alone->fabric->port_count * sizeof(*alone->readings));
	saved_destroy(alone);
}

TEST_IN_FOLDER(two_at_a_time_are_the_same_as_each_alone)
{
	struct model *model = model_create(94, 4, 40, 14);
	struct saved_writer *writer = check_open_saved(path);
	struct saved *both[2] = { NULL, NULL };
	struct saved_names names;
	struct reader *reader;
	struct error err = { 0 };

	save(writer, "one", model_step(model));
	save(writer, "two", model_step(model));
	saved_writer_close(writer);
	list_saved(&names);
	reader = check_open_reader(path);
	for (int round = 0; round < 20; round++) {
		assert_int_equal(saved_load_two(reader, names.ids, NULL, both, &err), 0);
		check_same(both[0], "one");
		check_same(both[1], "two");
		saved_destroy(both[0]);
		saved_destroy(both[1]);
	}
	/* If either is missing, it is an error and nothing is returned. */
	for (int round = 0; round < 2; round++) {
		int64_t ids[2] = { names.ids[0], names.ids[1] };

		both[0] = both[1] = NULL;
		ids[round] = 7;
		err = (struct error){ 0 };
		assert_int_equal(saved_load_two(reader, ids, NULL, both, &err), ERR_UNAVAILABLE);
		assert_non_null(strstr(err.text, "removed by another process"));
		assert_null(both[0]);
		assert_null(both[1]);
	}
	reader_close(reader);
	model_destroy(model);
}

/* The name that was shown, except if it contains control characters. */
TEST_IN_FOLDER(a_node_has_the_name_that_was_shown)
{
	struct model *model = model_create(90, 2, 8, 6);
	struct saved_writer *writer = check_open_saved(path);
	char derived[NODE_NAME_SIZE];
	struct saved *saved;

	save(writer, "one", model_step(model));
	saved_writer_close(writer);
	saved = load_saved("one");
	snprintf(derived, sizeof(derived), "%s", saved->fabric->nodes[1].name);
	saved_destroy(saved);
	check_change(path, "UPDATE snapshot_node SET name = 'node0001 mlx5_0 \\x1b (was)' WHERE node = 0");
	check_change(path, "UPDATE snapshot_node SET name = 'evil' || char(27) || '[2J' WHERE node = 1");
	saved = load_saved("one");
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

/* From single sweeps and hours. */
TEST_IN_FOLDER(resets_that_a_collector_stored_are_found)
{
	struct model *model = model_create(99, 3, 10, 8);
	struct writer *writer = check_open_writer_with(path, 3);
	struct resets resets = { .model = model };
	struct reader *reader;
	size_t found = 0;

	model->keep_history = true;
	for (int round = 0; round < 300; round++) {
		check_store(writer, model_step(model));
		model_jump(model, 59000000);
	}
	writer_close(writer);
	/* A close waits two seconds for the thread that packs hours; sanitizers take longer. */
	while (check_integer(path, "SELECT count(*) FROM hour WHERE state = 1") <= 2) {
		writer = check_open_writer_with(path, 3);
		check_store(writer, model_step(model));
		writer_close(writer);
	}
	reader = check_open_reader(path);
	resets.by_port = calloc(model->port_count, sizeof(*resets.by_port));
	for (unsigned round = 0; round < test_cases(200); round++) {
		int64_t before = (int64_t)model_random(model, 301);
		int64_t after = before + (int64_t)model_random(model, (uint64_t)(301 - before));

		memset(resets.by_port, 0, model->port_count * sizeof(*resets.by_port));
		assert_int_equal(saved_resets(reader, before, after, add_resets, &resets, NULL), 0);
		for (size_t i = 0; i < model->port_count; i++) {
			counter_set expected = 0;

			for (int64_t id = before + 1; id <= after + 1 && id <= (int64_t)model->sweep_count; id++) {
				const struct model_truth *truth = &model->sweeps[id - 1].truth[i];

				expected |= truth->has_delta ? truth->delta.reset & truth->delta.known : 0;
			}
			assert_true(resets.by_port[i] == expected);
			found += expected != 0;
		}
	}
	assert_true(found > test_cases(100));
	free(resets.by_port);
	reader_close(reader);
	model_destroy(model);
}

TEST_IN_FOLDER(damaged_rows_are_an_error_and_no_crash)
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

	for (size_t i = 0; i < sizeof(damages) / sizeof(damages[0]); i++) {
		struct model *model = model_create(99 + i, 2, 8, 6);
		struct saved_writer *writer = check_open_saved(path);
		struct reader *reader;
		struct saved *saved = NULL;
		struct error err = { 0 };
		struct saved_names names;
		char name[16];
		int code;

		snprintf(name, sizeof(name), "d%zu", i);
		save(writer, name, model_step(model));
		saved_writer_close(writer);
		check_change(path, damages[i]);
		list_saved(&names);
		reader = check_open_reader(path);
		code = saved_load(reader, names.ids[names.count - 1], NULL, &saved, &err);
		assert_true(code == 0 || (code == ERR_IO && err.text[0]));
		saved_destroy(saved);
		reader_close(reader);
		writer = check_open_saved(path);
		assert_int_equal(saved_remove(writer, name, NULL), 0);
		saved_writer_close(writer);
		model_destroy(model);
	}
}

/* --- kills, a running collector, a full disk, permissions --- */

enum { NAMES = 400 };

/* Take and remove snapshots until the process is killed. */
static void save_until_killed(struct model *model)
{
	struct saved_writer *writer = check_open_saved(path);
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
	struct saved_writer *writer = check_open_saved(path);
	int status;

	saved_writer_close(writer);
	for (unsigned round = 0; round < test_cases(40); round++) {
		pid_t child = fork();

		assert_true(child >= 0);
		if (!child) {
			save_until_killed(model);
			_exit(0);
		}
		usleep((useconds_t)model_random(model, 40000));
		kill(child, SIGKILL);
		assert_int_equal(waitpid(child, &status, 0), child);
		assert_true(WIFSIGNALED(status));
		assert_int_equal(check_integer(path, "SELECT count(*) FROM snapshot s WHERE complete AND ports_planned"
					       " <> (SELECT count(*) FROM snapshot_port WHERE snapshot = s.id)"), 0);
		/* Free the names for the next child. */
		writer = check_open_saved(path);
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
	writer = check_open_saved(path);
	save(writer, "last", sweep);
	saved_writer_close(writer);
	assert_int_equal(check_integer(path, "SELECT count(*) FROM snapshot"), 1);
	assert_int_equal(check_integer(path, "SELECT count(DISTINCT snapshot) FROM snapshot_port"), 1);
	assert_int_equal(check_integer(path, "SELECT count(DISTINCT snapshot) FROM snapshot_node"), 1);
	check_saved("last", sweep);
	model_destroy(model);
}

/* A collector stores a sweep every few milliseconds while snapshots are taken and removed; neither fails. */
TEST_IN_FOLDER(a_collector_continues_to_store_meanwhile)
{
	struct model *collected = model_create(95, 4, 12, 14), *taken = model_create(96, 24, 40, 800);
	const struct sweep *sweep = model_step(taken);
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
				writer = check_open_saved(path);
			save(writer, "big", sweep);
			if (i < 3 && saved_remove(writer, "big", NULL) < 0)
				_exit(1);
		}
		saved_writer_close(writer);
		_exit(0);
	}
	collector = check_open_writer(path);
	for (; sweeps < 40; sweeps++)
		check_store(collector, model_step(collected));
	assert_int_equal(write(go[1], &byte, 1), 1);
	while (waitpid(child, &status, WNOHANG) == 0) {
		check_store(collector, model_step(collected));
		sweeps++;
		assert_int_equal(write(go[1], &byte, 1), 1);
		usleep(5000);
	}
	assert_int_equal(status, 0);
	writer_close(collector);
	close(go[0]);
	close(go[1]);
	assert_true(sweeps > 45);
	assert_int_equal(check_integer(path, "SELECT max(id) FROM sweep"), sweeps);
	check_saved("big", sweep);
	check_integrity(path);
	model_destroy(collected);
	model_destroy(taken);
}

/* Without space there is an error and no snapshot; the next one is complete. */
TEST_IN_FOLDER(a_full_disk_leaves_no_partial_snapshot)
{
	struct model *model = model_create(97, 8, 30, 60);
	struct saved_writer *writer = check_open_saved(path);
	struct rlimit before, small = { .rlim_cur = 0 };
	const struct saved_label label = { .name = "full" };
	const struct sweep *sweep = model_step(model);
	struct error err = { 0 };
	struct saved_names names;

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
	list_saved(&names);
	assert_int_equal(names.count, 1);
	save(writer, "full", sweep);
	saved_writer_close(writer);
	check_saved("first", sweep);
	check_saved("full", sweep);
	check_integrity(path);
	model_destroy(model);
}

TEST_IN_FOLDER(missing_write_access_is_an_error)
{
	struct error err = { 0 };
	int status;
	pid_t child;

	test_folder_for_nobody();
	saved_writer_close(check_open_saved(path));
	child = fork();
	assert_true(child >= 0);
	if (!child) {
		struct saved_writer *writer = NULL;
		char fresh[96];

		snprintf(fresh, sizeof(fresh), "%s/fresh.db", folder);
		if (setgid(65534) < 0 || setuid(65534) < 0)
			_exit(90);
		if (saved_writer_open(path, &writer, &err) != ERR_IO || !strstr(err.text, "is not writable"))
			_exit(91);
		_exit(saved_writer_open(fresh, &writer, &err) == ERR_IO ? 0 : 92);
	}
	assert_int_equal(waitpid(child, &status, 0), child);
	assert_int_equal(status, 0);
}
