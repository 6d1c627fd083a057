/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* A fabric without SMPs by LID, e.g. with planes: everything works by path. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "base/log.h"
#include "collector/events.h"
#include "tests/world/lab.h"

static struct lab *create(uint64_t seed)
{
	struct lab *lab = lab_create(seed);

	lab->run.lid_smps_lost = true;
	return lab;
}

static void all_nodes_are_queried_by_path_and_none_is_locked(void **state)
{
	struct collector_report report;
	struct lab *lab = create(1);

	(void)state;
	assert_int_equal(lab_run(lab, 20, &report, NULL), 0);
	assert_int_equal(lab->run.smps_by_lid, 0);
	/* SwitchInfo of six switches and SMInfo, at least. */
	assert_true(lab->run.smps_by_path >= 20 * (LAB_SPINES + LAB_LEAVES + 1));
	assert_true(lab->last_sweep.sm.known);
	assert_int_equal(report.ports_answered, report.ports_asked);
	assert_int_equal(lab_events_of(lab, EVENT_NODE_LOCKED), 0);
	assert_int_equal(lab_events_of(lab, EVENT_SM_LOST), 0);
	assert_true(lab_check(lab) > 0);
	lab_destroy(lab);
}

static void pull_cable(struct lab *lab)
{
	if (lab->sweeps == 15)
		lab_port(lab, LEAF, 1)->down = true;
}

/* No counter changes: only PortInfo by path, a tenth per sweep, detects it. */
static void a_link_that_goes_down_is_detected(void **state)
{
	struct lab *lab = create(2);

	(void)state;
	lab->traffic = false;
	lab->before_sweep = pull_cable;
	assert_int_equal(lab_run(lab, 30, NULL, NULL), 0);
	assert_int_equal(lab_events_of(lab, EVENT_LINK_DOWN), 1);
	lab_destroy(lab);
}

static void isolate_spine(struct lab *lab)
{
	unsigned port;

	for (port = 1; port <= LAB_LEAVES && lab->sweeps == 5; port++)
		lab_port(lab, 0, port)->down = true;
}

/*
 * The leaves' paths led through it. They respond to PMA queries all the time, and get other paths.
 */
static void nodes_behind_a_removed_switch_get_other_paths(void **state)
{
	struct lab *lab = create(3);

	(void)state;
	lab->traffic = false;
	lab->before_sweep = isolate_spine;
	assert_int_equal(lab_run(lab, 30, NULL, NULL), 0);
	assert_int_equal(lab_events_of(lab, EVENT_NODE_LOCKED), 0);
	assert_true(lab_events_of(lab, EVENT_NODE_REMOVED) + lab_events_of(lab, EVENT_LINK_DOWN) > 0);
	assert_true(lab->last_sweep.sm.known);
	lab_destroy(lab);
}

static void exchanged_lids_add_nothing_to_the_wrong_port(void **state)
{
	uint64_t seed;

	(void)state;
	for (seed = 300; seed < 310; seed++) {
		struct lab *lab = create(seed);

		lab->before_sweep = lab_swap_lids;
		assert_int_equal(lab_run(lab, 7, NULL, NULL), 0);
		lab_check_own(lab, HOST);
		lab_check_own(lab, HOST + 4);
		assert_true(lab_check(lab) > 0);
		lab_destroy(lab);
	}
}

/* No node responds at the end of the former path, but the new owner of the LID does. */
static void a_host_gets_the_lid_of_a_removed_one(struct lab *lab)
{
	struct lab_node *departed = &lab->nodes[HOST], *successor = &lab->nodes[HOST + 4];

	if (lab->sweeps != 3 || departed->absent)
		return;
	departed->absent = true;
	successor->lid = departed->lid;
	lab->traffic = false;
	memcpy(successor->ports[1].now->value, departed->ports[1].now->value, sizeof(successor->ports[1].now->value));
	successor->ports[1].now->value[COUNTER_XMIT_DATA] += 1000;
}

static void a_reassigned_lid_adds_nothing_to_the_former_node(void **state)
{
	struct lab *lab = create(18);

	(void)state;
	lab->before_sweep = a_host_gets_the_lid_of_a_removed_one;
	assert_int_equal(lab_run(lab, 8, NULL, NULL), 0);
	assert_true(lab_port(lab, HOST, 1)->last.value[COUNTER_XMIT_DATA] <
		    lab_port(lab, HOST, 1)->now->value[COUNTER_XMIT_DATA]);
	/* The test copies the counters of the former node, which may look like a reset. */
	assert_true(lab_port(lab, HOST + 4, 1)->last.value[COUNTER_XMIT_DATA] ==
		    lab_port(lab, HOST + 4, 1)->now->value[COUNTER_XMIT_DATA]);
	lab_destroy(lab);
}

static void sums_stay_exact_with_a_tenth_of_the_mads_lost(void **state)
{
	uint64_t seed;

	(void)state;
	for (seed = 40; seed < 45; seed++) {
		struct lab *lab = create(seed);

		lab->run.loss = 0.19;
		assert_int_equal(lab_run(lab, 40, NULL, NULL), 0);
		assert_true(lab_check(lab) > 0);
		assert_int_equal(lab_events_of(lab, EVENT_NODE_LOCKED), 0);
		lab_destroy(lab);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(all_nodes_are_queried_by_path_and_none_is_locked),
		cmocka_unit_test(a_link_that_goes_down_is_detected),
		cmocka_unit_test(nodes_behind_a_removed_switch_get_other_paths),
		cmocka_unit_test(exchanged_lids_add_nothing_to_the_wrong_port),
		cmocka_unit_test(a_reassigned_lid_adds_nothing_to_the_former_node),
		cmocka_unit_test(sums_stay_exact_with_a_tenth_of_the_mads_lost),
	};

	log_init("test", LOG_LEVEL_NONE);
	return cmocka_run_group_tests(tests, NULL, NULL);
}
