/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* Nodes that drop SMPs without their M_Key, and the effect of a file of keys. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/unit_test.h"
#include "collector/events.h"
#include "collector/topology_probe.h"
#include "collector/sweep_events.h"
#include "tests/world/lab.h"
#include "wire/keys.h"

#define SPINE 0
#define LAST_HOST (LAB_NODES - 1)

/* The only event of a kind, which must be about this node. */
static const struct event *only_event(struct lab *lab, const char *kind, size_t node)
{
	size_t i;

	assert_int_equal(lab_events_of(lab, kind), 1);
	for (i = 0; strcmp(lab->events[i].kind, kind) != 0; i++)
		;
	assert_true(lab->events[i].node_guid == lab_guid(node));
	return &lab->events[i];
}

TEST(a_switch_with_counters_but_without_smps_is_locked)
{
	struct lab *lab = lab_create(1);

	lab->agents[LEAF].mkey = 0xfeed;
	lab_run(lab, LOCKED_AFTER_SWEEPS - 1);
	assert_int_equal(lab_events_of(lab, EVENT_NODE_LOCKED), 0);
	lab_destroy(lab);
	lab = lab_create(1);
	lab->agents[LEAF].mkey = 0xfeed;
	lab_run(lab, 20);
	assert_int_equal(only_event(lab, EVENT_NODE_LOCKED, LEAF)->severity, EVENT_WARNING);
	/* Its counters are read as usual. */
	assert_int_equal(lab_events_of(lab, EVENT_NODE_SILENT), 0);
	assert_int_equal(lab->report.ports_answered, lab->report.ports_polled);
	assert_true(lab_check(lab) > 0);
	lab_destroy(lab);
}

TEST(a_locked_switch_is_queried_now_and_then)
{
	struct lab *lab = lab_create(2);
	unsigned refused;

	lab->agents[LEAF].mkey = 0xfeed;
	lab_run(lab, 10);
	refused = lab->agents[LEAF].smps_dropped;
	lab_destroy(lab);
	lab = lab_create(2);
	lab->agents[LEAF].mkey = 0xfeed;
	lab_run(lab, 10 + 2 * TOPOLOGY_PROBE_LOCKED_SWEEPS);
	assert_in_range(lab->agents[LEAF].smps_dropped - refused, 1, 2);
	lab_destroy(lab);
}

static void unlock(struct lab *lab)
{
	if (lab->sweeps == 10)
		lab->agents[LEAF].mkey = 0;
}

LAB_TEST(an_unlocked_switch_is_reported_once)
{
	lab->agents[LEAF].mkey = 0xfeed;
	lab_run_with(lab, unlock, 10 + 2 * TOPOLOGY_PROBE_LOCKED_SWEEPS);
	only_event(lab, EVENT_NODE_LOCKED, LEAF);
	assert_int_equal(only_event(lab, EVENT_NODE_UNLOCKED, LEAF)->severity, EVENT_INFO);
}

/* The SM was restarted: then all LIDs are verified. */
static void restart_sm(struct lab *lab)
{
	lab->run.world->act_count = lab->sweeps < 3 ? 1000 : 1;
}

LAB_TEST(a_host_is_locked_after_it_was_queried)
{
	lab->agents[HOST + 5].mkey = 0xfeed;
	lab_run_with(lab, restart_sm, 20);
	only_event(lab, EVENT_NODE_LOCKED, HOST + 5);
	assert_true(lab_check(lab) > 0);
}

/* Nothing else happens: NodeInfo of each HCA is read in its turn. */
TEST(any_locked_host_is_detected_within_a_turn)
{
	for (size_t host = HOST; host < OWN_HOST; host += 5) {
		struct lab *lab = lab_create(1);

		lab->traffic = false;
		lab->agents[host].mkey = 0xfeed;
		lab_run(lab, TOPOLOGY_PROBE_HCA_SWEEPS + LOCKED_AFTER_SWEEPS);
		only_event(lab, EVENT_NODE_LOCKED, host);
		lab_destroy(lab);
	}
}

LAB_TEST(an_unresponsive_node_is_not_locked)
{
	lab->agents[LEAF].dead = true;
	lab->agents[OWN_HOST - 1].dead = true; /* of another leaf */
	lab_run(lab, 40);
	assert_int_equal(lab_events_of(lab, EVENT_NODE_SILENT), 2);
	assert_int_equal(lab_events_of(lab, EVENT_NODE_LOCKED), 0);
}

/*
 * A tenth of the MADs is lost in some hundred sweeps of six switches: none is reported as locked.
 */
TEST(lost_smps_lock_no_node)
{
	for (uint64_t seed = 10; seed < 20; seed++) {
		struct lab *lab = lab_create(seed);

		lab->run.loss = 0.19;
		lab_run(lab, 60);
		assert_int_equal(lab_events_of(lab, EVENT_NODE_LOCKED), 0);
		lab_destroy(lab);
	}
}

/* Each node has its own key. The subnet manager runs on the last host, which has none. */
static void lock_all(struct lab *lab)
{
	for (size_t i = 0; i < LAST_HOST; i++)
		lab->agents[i].mkey = 0xabcdef00 + i;
}

#define DIRECTORY "locked_test.XXXXXX"
static char directory[sizeof(DIRECTORY)];

/* In the format of the subnet manager. */
static void write_keys(struct lab *lab)
{
	for (int pm = 0; pm < 2; pm++) {
		char path[64];
		FILE *file;

		snprintf(path, sizeof(path), "%s/%s", directory, pm ? KEYS_PM_FILE : KEYS_FILE);
		file = fopen(path, "w");
		assert_non_null(file);
		for (size_t i = 0; i < LAB_NODES; i++)
			fprintf(file, "0x%016llx 0x%016llx\n\n", (unsigned long long)lab_guid(i),
				(unsigned long long)(pm ? lab->agents[i].pm_key : lab->agents[i].mkey));
		assert_int_equal(fclose(file), 0);
	}
}

static void remove_keys(void)
{
	char path[64];

	snprintf(path, sizeof(path), "%s/" KEYS_FILE, directory);
	unlink(path);
	snprintf(path, sizeof(path), "%s/" KEYS_PM_FILE, directory);
	unlink(path);
	rmdir(directory);
}

/* The keys of all nodes, from a file in `directory`, which is created. */
static struct keys *keys_of(struct lab *lab)
{
	struct keys *keys;

	snprintf(directory, sizeof(directory), DIRECTORY);
	assert_non_null(mkdtemp(directory));
	write_keys(lab);
	assert_int_equal(keys_load(directory, &keys, NULL), 0);
	return keys;
}

LAB_TEST(each_node_is_queried_with_its_own_key)
{
	struct keys *keys;

	lock_all(lab);
	for (size_t i = 0; i < LAST_HOST; i++)
		lab->agents[i].pm_key = 0xfedc0000 + i;
	keys = keys_of(lab);
	remove_keys();
	lab->run.wire.keys = keys;
	lab_run_with(lab, restart_sm, 20);
	for (size_t i = 0; i < LAB_NODES; i++) {
		assert_int_equal(lab->agents[i].smps_dropped, 0);
		assert_int_equal(lab->agents[i].queries_dropped, 0);
		assert_true(lab->agents[i].queries > 0);
	}
	assert_int_equal(lab_events_of(lab, EVENT_NODE_LOCKED), 0);
	keys_destroy(keys);
}

static void change_key(struct lab *lab)
{
	if (lab->sweeps != 10)
		return;
	lab->agents[LEAF].mkey = 0x5eed;
	write_keys(lab);
}

/*
 * Discoveries read the file each time. So must the sweeps, or the switch remains locked for them.
 */
LAB_TEST(a_changed_key_is_known_after_the_next_discovery)
{
	struct keys *keys;

	lock_all(lab);
	keys = keys_of(lab);
	lab->run.wire.keys = keys;
	lab->traffic = false;
	lab_run_with(lab, change_key, 100);
	only_event(lab, EVENT_NODE_LOCKED, LEAF);
	only_event(lab, EVENT_NODE_UNLOCKED, LEAF);
	/* A removed file changes nothing. */
	remove_keys();
	assert_int_equal(keys_refresh(keys, NULL), ERR_IO);
	assert_true(keys_find(keys, lab_guid(LEAF)) == 0x5eed);
	keys_destroy(keys);
}

LAB_TEST(without_keys_all_queried_nodes_are_locked)
{
	lock_all(lab);
	lab_run(lab, 20);
	assert_true(lab_events_of(lab, EVENT_NODE_LOCKED) >= LAB_SPINES + LAB_LEAVES);
	assert_true(lab->agents[SPINE].smps_dropped > 0);
	assert_true(lab_check(lab) > 0);
}
