/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* Forwarding tables through the whole collector, from a simulated fabric to the store. */
#include <string.h>

#include "base/unit_test.h"
#include "collector/events.h"
#include "tests/world/lab.h"
#include "fabric/routes.h"

static bool has_all(struct lab *lab)
{
	for (unsigned i = 0; i < LAB_SPINES + LAB_LEAVES; i++) {
		const struct route_table *table = routes_find(&lab->routes, lab_guid(i));

		if (!table || table->lids != 192 || memcmp(table->ports, lab_table(lab, i), 192) != 0)
			return false;
	}
	return true;
}

static int setup(void **state)
{
	struct lab *lab = *state = lab_create(1);

	lab->run.settings.routes_interval_us = 600 * US_PER_S;
	lab->traffic = false;
	lab_set_tables(lab);
	return 0;
}

LAB_TEST_WITH(a_single_sweep_reads_and_stores_all_tables, setup)
{
	lab_run(lab, 1);
	assert_true(has_all(lab));
	assert_int_equal(lab_events_of(lab, EVENT_ROUTES_CHANGED), 0);
	/* The next collector restores the tables and reports what changed in between. */
	lab_table(lab, 3)[17] ^= 1;
	lab_run(lab, 1);
	assert_true(has_all(lab));
	assert_int_equal(lab_events_of(lab, EVENT_ROUTES_CHANGED), 1);
}

static void fail_occasionally(struct lab *lab)
{
	lab->store_fails = lab_random(lab) % 3 == 0;
	if (lab_random(lab) % 2)
		lab_table(lab, lab_random(lab) % (LAB_SPINES + LAB_LEAVES))[lab_random(lab) % 192] ^= 1;
}

LAB_TEST_WITH(a_store_that_fails_loses_no_change, setup)
{
	lab->before_sweep = fail_occasionally;
	lab->run.settings.routes_interval_us = 60 * US_PER_S;
	/* The sink compares what it receives with the tables. */
	lab_run(lab, 150);
	lab->before_sweep = NULL;
	lab->store_fails = false;
	lab_run(lab, 8);
	assert_true(has_all(lab));
	for (unsigned i = 0; i < LAB_SPINES + LAB_LEAVES; i++)
		assert_true(lab->agents[i].table_queries > 25 * 3);
}

/* The SM restarts and exchanges the LIDs of two switches; only a discovery detects it. */
static void swap_lids(struct lab *lab)
{
	uint16_t lid = lab->nodes[2].lid;

	if (lab->sweeps != 9)
		return;
	lab->nodes[2].lid = lab->nodes[3].lid;
	lab->nodes[3].lid = lid;
	lab->run.world->act_count = 0;
}

LAB_TEST_WITH(a_table_is_not_read_from_the_new_owner_of_a_lid, setup)
{
	lab->run.world->act_count = 7;
	lab->run.settings.routes_interval_us = 10 * US_PER_S; /* all in every sweep */
	lab_run_with(lab, swap_lids, 30);
	assert_true(has_all(lab));
	assert_int_equal(lab_events_of(lab, EVENT_ROUTES_CHANGED), 0);
	assert_true(lab->agents[2].table_queries > 25 * 3);
}

LAB_TEST_WITH(tables_are_read_by_path_if_smps_are_directed, setup)
{
	lab->run.lid_smps_lost = true;
	lab_run(lab, 3);
	assert_true(has_all(lab));
	assert_int_equal(lab->run.smps_by_lid, 0);
}

static unsigned reads_of(struct lab *lab)
{
	unsigned reads = 0;

	for (unsigned i = 0; i < LAB_SPINES + LAB_LEAVES; i++)
		reads += lab->agents[i].table_queries;
	return reads;
}

static uint64_t throttled_at;
static unsigned reads_then;

/* A node drops a datagram in each sweep, forever; a table changes while tables are deferred. */
static void drop_forever(struct lab *lab)
{
	lab_port(lab, LEAF, 1)->now->value[COUNTER_VL15_DROPPED] += lab->sweeps >= 2;
	if (!lab_events_of(lab, EVENT_THROTTLED))
		return;
	if (!throttled_at) {
		throttled_at = lab->sweeps;
		reads_then = reads_of(lab);
		lab_table(lab, 2)[17] ^= 1;
	}
	if (lab->sweeps == throttled_at + 5)
		assert_int_equal(reads_of(lab), reads_then);
}

LAB_TEST_WITH(tables_are_deferred_for_a_minute_at_most, setup)
{
	throttled_at = 0;
	lab->run.settings.routes_interval_us = 30 * US_PER_S;
	lab_run_with(lab, drop_forever, 30);
	assert_int_equal(lab_events_of(lab, EVENT_THROTTLED), 1);
	assert_int_equal(lab_events_of(lab, EVENT_UNTHROTTLED), 0);
	assert_int_equal(lab_events_of(lab, EVENT_ROUTES_CHANGED), 1);
	assert_true(has_all(lab));
}
