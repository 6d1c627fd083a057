/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* saved_test.c - snapshots are read as they were written; damage is an error */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/err.h"
#include "base/unit_test.h"
#include "fabric/fabric.h"
#include "storage/file/lock.h"
#include "storage/reader.h"
#include "storage/saved.h"
#include "storage/test/test_check.h"
#include "storage/test/test_folder.h"
#include "storage/test/test_model.h"
#include "storage/test/test_saved.h"
#include "storage/writer.h"

TEST_IN_FOLDER(a_snapshot_is_read_as_it_was_written)
{
	struct model *model = model_create(91, 4, 12, 14);
	struct saved_writer *writer = test_saved_open();
	char name[16];

	for (int i = 0; i < 40; i++) {
		const struct sweep *sweep = model_step(model);

		snprintf(name, sizeof(name), "%d", i);
		test_saved_save(writer, name, sweep);
		test_saved_check(name, sweep);
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
	struct saved_writer *writer = test_saved_open();
	const struct sweep *sweep = model_step(model);
	struct error err = { 0 };
	struct saved_names names;

	assert_int_equal(saved_is_free(writer, "one", NULL), 0);
	test_saved_save(writer, "one", sweep);
	assert_int_equal(saved_is_free(writer, "one", &err), ERR_USAGE);
	assert_int_equal(saved_write(writer, &label, sweep, &err), ERR_USAGE);
	/* Nothing of the rejected one remains. */
	assert_int_equal(check_integer(path, "SELECT count(*) FROM snapshot"), 1);
	assert_int_equal(check_integer(path, "SELECT count(DISTINCT snapshot) FROM snapshot_port"), 1);
	assert_int_equal(saved_remove(writer, "two", &err), ERR_USAGE);
	test_saved_save(writer, "two", sweep);
	assert_int_equal(saved_remove(writer, "one", &err), 0);
	assert_int_equal(check_integer(path, "SELECT count(DISTINCT snapshot) FROM snapshot_node"), 1);
	test_saved_save(writer, "one", model_step(model));
	test_saved_list(&names);
	assert_int_equal(names.count, 2);
	assert_string_equal(names.names[0], "two");
	assert_string_equal(names.names[1], "one");
	saved_writer_close(writer);
	model_destroy(model);
}

TEST_IN_FOLDER(a_snapshot_that_is_removed_meanwhile_is_an_error)
{
	struct model *model = model_create(93, 2, 8, 6);
	struct saved_writer *writer = test_saved_open();
	struct reader *reader;
	struct saved *saved = NULL;
	struct error err = { 0 };

	test_saved_save(writer, "one", model_step(model));
	saved_writer_close(writer);
	reader = check_open_reader(path);
	assert_int_equal(saved_load(reader, 7, NULL, &saved, &err), ERR_UNAVAILABLE);
	assert_non_null(strstr(err.text, "removed meanwhile"));
	assert_null(saved);
	reader_close(reader);
	model_destroy(model);
}

static void check_same(const struct saved *found, const char *name)
{
	struct saved *alone = test_saved_load(name);

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
	struct saved_writer *writer = test_saved_open();
	struct saved *both[2] = { NULL, NULL };
	struct saved_names names;
	struct reader *reader;
	struct error err = { 0 };

	test_saved_save(writer, "one", model_step(model));
	test_saved_save(writer, "two", model_step(model));
	saved_writer_close(writer);
	test_saved_list(&names);
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
		assert_non_null(strstr(err.text, "removed meanwhile"));
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
	struct saved_writer *writer = test_saved_open();
	char derived[NODE_NAME_SIZE];
	struct saved *saved;

	test_saved_save(writer, "one", model_step(model));
	saved_writer_close(writer);
	saved = test_saved_load("one");
	snprintf(derived, sizeof(derived), "%s", saved->fabric->nodes[1].name);
	saved_destroy(saved);
	check_change(path, "UPDATE snapshot_node SET name = 'node0001 mlx5_0 \\x1b (was)' WHERE node = 0");
	check_change(path, "UPDATE snapshot_node SET name = 'evil' || char(27) || '[2J' WHERE node = 1");
	saved = test_saved_load("one");
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

/* From single sweeps, windows and hours. */
TEST_IN_FOLDER(resets_that_a_collector_stored_are_found)
{
	struct model *model = model_create(99, 3, 10, 8);
	struct writer *writer = check_open_writer_with(path, 3);
	struct resets resets = { .model = model };
	struct reader *reader;
	size_t found = 0;

	model->keep_history = true;
	for (int round = 0; round < 300; round++)
		check_store(writer, model_step(model));
	writer_close(writer);
	assert_true(check_integer(path, "SELECT count(*) FROM chunk_window WHERE state = 1") > 20);
	reader = check_open_reader(path);
	resets.by_port = calloc(model->port_count, sizeof(*resets.by_port));
	for (int round = 0; round < 200; round++) {
		int64_t before = (int64_t)model_random(model, 301);
		int64_t after = before + (int64_t)model_random(model, (uint64_t)(301 - before));

		memset(resets.by_port, 0, model->port_count * sizeof(*resets.by_port));
		assert_int_equal(saved_resets(reader, before, after, add_resets, &resets, NULL), 0);
		for (size_t i = 0; i < model->port_count; i++) {
			counter_set expected = 0;

			for (int64_t id = before + 1; id <= after + 1 && id <= 300; id++) {
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
		struct saved_writer *writer = test_saved_open();
		struct reader *reader;
		struct saved *saved = NULL;
		struct error err = { 0 };
		struct saved_names names;
		char name[16];
		int code;

		snprintf(name, sizeof(name), "d%zu", i);
		test_saved_save(writer, name, model_step(model));
		saved_writer_close(writer);
		check_change(path, damages[i]);
		test_saved_list(&names);
		reader = check_open_reader(path);
		code = saved_load(reader, names.ids[names.count - 1], NULL, &saved, &err);
		assert_true(code == 0 || (code == ERR_IO && err.text[0]));
		saved_destroy(saved);
		reader_close(reader);
		writer = test_saved_open();
		assert_int_equal(saved_remove(writer, name, NULL), 0);
		saved_writer_close(writer);
		model_destroy(model);
	}
}
