/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* Nodes that drop SMPs without their M_Key, and the effect of a file of keys. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <cmocka.h>

#include "base/log.h"
#include "collector/events.h"
#include "collector/topology_probe.h"
#include "collector/sweep_events.h"
#include "collector/test_model.h"
#include "wire/keys.h"

#define SPINE 0
#define LAST_HOST (MODEL_NODES - 1)

/* The only event of a kind, which must be about this node. */
static const struct event *only_event(const struct model *model, const char *kind, size_t node)
{
	size_t i;

	assert_int_equal(model_events_of(model, kind), 1);
	for (i = 0; strcmp(model->events[i].kind, kind) != 0; i++)
		;
	assert_true(model->events[i].node_guid == model_guid(node));
	return &model->events[i];
}

static void a_switch_with_counters_but_without_smps_is_locked(void **state)
{
	struct collector_report report;
	struct model *model = model_create(1);

	(void)state;
	model->nodes[LEAF].mkey = 0xfeed;
	assert_int_equal(model_run(model, LOCKED_AFTER_SWEEPS - 1, NULL, NULL), 0);
	assert_int_equal(model_events_of(model, EVENT_NODE_LOCKED), 0);
	free(model);
	model = model_create(1);
	model->nodes[LEAF].mkey = 0xfeed;
	assert_int_equal(model_run(model, 20, &report, NULL), 0);
	assert_int_equal(only_event(model, EVENT_NODE_LOCKED, LEAF)->severity, EVENT_WARNING);
	/* Its counters are read as usual. */
	assert_int_equal(model_events_of(model, EVENT_NODE_SILENT), 0);
	assert_int_equal(report.ports_answered, report.ports_asked);
	assert_true(model_check(model) > 0);
	free(model);
}

static void a_locked_switch_is_queried_now_and_then(void **state)
{
	struct model *model = model_create(2);
	unsigned refused;

	(void)state;
	model->nodes[LEAF].mkey = 0xfeed;
	assert_int_equal(model_run(model, 10, NULL, NULL), 0);
	refused = model->nodes[LEAF].smps_refused;
	free(model);
	model = model_create(2);
	model->nodes[LEAF].mkey = 0xfeed;
	assert_int_equal(model_run(model, 10 + 2 * TOPOLOGY_PROBE_LOCKED_SWEEPS, NULL, NULL), 0);
	assert_in_range(model->nodes[LEAF].smps_refused - refused, 1, 2);
	free(model);
}

static void unlock(struct model *model)
{
	if (model->sweeps == 10)
		model->nodes[LEAF].mkey = 0;
}

static void an_unlocked_switch_is_reported_once(void **state)
{
	struct model *model = model_create(3);

	(void)state;
	model->nodes[LEAF].mkey = 0xfeed;
	model->before_sweep = unlock;
	assert_int_equal(model_run(model, 10 + 2 * TOPOLOGY_PROBE_LOCKED_SWEEPS, NULL, NULL), 0);
	only_event(model, EVENT_NODE_LOCKED, LEAF);
	assert_int_equal(only_event(model, EVENT_NODE_UNLOCKED, LEAF)->severity, EVENT_INFO);
	free(model);
}

/* One host fails: then all LIDs are verified, and another host does not respond. */
static void fail_host(struct model *model)
{
	if (model->sweeps == 3)
		model->nodes[HOST].silent = true;
}

static void a_host_is_locked_after_it_was_queried(void **state)
{
	struct model *model = model_create(4);

	(void)state;
	model->nodes[HOST + 5].mkey = 0xfeed;
	model->before_sweep = fail_host;
	assert_int_equal(model_run(model, 20, NULL, NULL), 0);
	only_event(model, EVENT_NODE_LOCKED, HOST + 5);
	only_event(model, EVENT_NODE_SILENT, HOST);
	assert_true(model_check(model) > 0);
	free(model);
}

static void an_unresponsive_node_is_not_locked(void **state)
{
	struct model *model = model_create(5);

	(void)state;
	model->nodes[LEAF].silent = true;
	model->nodes[HOST].silent = true;
	assert_int_equal(model_run(model, 40, NULL, NULL), 0);
	assert_int_equal(model_events_of(model, EVENT_NODE_SILENT), 2);
	assert_int_equal(model_events_of(model, EVENT_NODE_LOCKED), 0);
	free(model);
}

/*
 * A tenth of the MADs is lost in some hundred sweeps of six switches: none is reported as locked.
 */
static void lost_smps_lock_no_node(void **state)
{
	uint64_t seed;

	(void)state;
	for (seed = 10; seed < 20; seed++) {
		struct model *model = model_create(seed);

		model->loss_percent = 10;
		assert_int_equal(model_run(model, 60, NULL, NULL), 0);
		assert_int_equal(model_events_of(model, EVENT_NODE_LOCKED), 0);
		free(model);
	}
}

/* Each node has its own key. The subnet manager runs on the last host, which has none. */
static void lock_all(struct model *model)
{
	size_t i;

	for (i = 0; i < LAST_HOST; i++)
		model->nodes[i].mkey = 0xabcdef00 + i;
}

#define DIRECTORY "locked_test.XXXXXX"
static char directory[sizeof(DIRECTORY)];

/* In the format of the subnet manager. */
static void write_keys(const struct model *model)
{
	char path[64];
	FILE *file;
	size_t i;

	snprintf(path, sizeof(path), "%s/" KEYS_FILE, directory);
	file = fopen(path, "w");
	assert_non_null(file);
	for (i = 0; i < MODEL_NODES; i++)
		fprintf(file, "0x%016llx 0x%016llx\n\n", (unsigned long long)model_guid(i),
			(unsigned long long)model->nodes[i].mkey);
	assert_int_equal(fclose(file), 0);
}

static void remove_keys(void)
{
	char path[64];

	snprintf(path, sizeof(path), "%s/" KEYS_FILE, directory);
	unlink(path);
	rmdir(directory);
}

/* The keys of all nodes, from a file in `directory`, which is created. */
static struct keys *keys_of(const struct model *model)
{
	struct keys *keys;

	snprintf(directory, sizeof(directory), DIRECTORY);
	assert_non_null(mkdtemp(directory));
	write_keys(model);
	assert_int_equal(keys_load(directory, &keys, NULL), 0);
	return keys;
}

static void each_node_is_queried_with_its_own_key(void **state)
{
	struct model *model = model_create(6);
	struct keys *keys;
	size_t i;

	(void)state;
	lock_all(model);
	keys = keys_of(model);
	remove_keys();
	model->wire.keys = keys;
	model->before_sweep = fail_host;
	assert_int_equal(model_run(model, 20, NULL, NULL), 0);
	for (i = 0; i < MODEL_NODES; i++)
		assert_int_equal(model->nodes[i].smps_refused, 0);
	assert_int_equal(model_events_of(model, EVENT_NODE_LOCKED), 0);
	keys_destroy(keys);
	free(model);
}

static void change_key(struct model *model)
{
	if (model->sweeps != 10)
		return;
	model->nodes[LEAF].mkey = 0x5eed;
	write_keys(model);
}

/*
 * Discoveries read the file each time. So must the sweeps, or the switch remains locked for them.
 */
static void a_changed_key_is_known_after_the_next_discovery(void **state)
{
	struct model *model = model_create(8);
	struct keys *keys;

	(void)state;
	lock_all(model);
	keys = keys_of(model);
	model->wire.keys = keys;
	model->traffic = false;
	model->before_sweep = change_key;
	assert_int_equal(model_run(model, 100, NULL, NULL), 0);
	only_event(model, EVENT_NODE_LOCKED, LEAF);
	only_event(model, EVENT_NODE_UNLOCKED, LEAF);
	/* A removed file changes nothing. */
	remove_keys();
	assert_int_equal(keys_refresh(keys, NULL), ERR_IO);
	assert_true(keys_find(keys, model_guid(LEAF)) == 0x5eed);
	keys_destroy(keys);
	free(model);
}

static void without_keys_all_queried_nodes_are_locked(void **state)
{
	struct model *model = model_create(7);

	(void)state;
	lock_all(model);
	assert_int_equal(model_run(model, 20, NULL, NULL), 0);
	assert_true(model_events_of(model, EVENT_NODE_LOCKED) >= MODEL_SPINES + MODEL_LEAFS);
	assert_true(model->nodes[SPINE].smps_refused > 0);
	assert_true(model_check(model) > 0);
	free(model);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(a_switch_with_counters_but_without_smps_is_locked),
		cmocka_unit_test(a_locked_switch_is_queried_now_and_then),
		cmocka_unit_test(an_unlocked_switch_is_reported_once),
		cmocka_unit_test(a_host_is_locked_after_it_was_queried),
		cmocka_unit_test(an_unresponsive_node_is_not_locked),
		cmocka_unit_test(lost_smps_lock_no_node),
		cmocka_unit_test(each_node_is_queried_with_its_own_key),
		cmocka_unit_test(a_changed_key_is_known_after_the_next_discovery),
		cmocka_unit_test(without_keys_all_queried_nodes_are_locked),
	};

	log_init("test", LOG_LEVEL_NONE);
	return cmocka_run_group_tests(tests, NULL, NULL);
}
