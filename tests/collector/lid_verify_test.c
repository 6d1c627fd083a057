/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* LIDs that are reassigned between two discoveries. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>

#include <cmocka.h>

#include "base/log.h"
#include "collector/events.h"
#include "tests/world/lab.h"

/* The subnet manager reassigns LIDs: no port gets the counters of another. */
static void exchanged_lids_add_nothing_to_the_wrong_port(void **state)
{
	uint64_t seed;

	(void)state;
	for (seed = 300; seed < 310; seed++) {
		struct collector_report report;
		struct lab *lab = lab_create(seed);

		lab->no_downs = true;
		lab->before_sweep = lab_swap_lids;
		assert_int_equal(lab_run(lab, 4, &report, NULL), 0);
		assert_int_equal(report.ports_answered, LIVE_PORTS - 2);
		assert_int_equal(lab_run(lab, 3, &report, NULL), 0);
		assert_int_equal(report.ports_answered, LIVE_PORTS);
		lab_check_own(lab, HOST);
		lab_check_own(lab, HOST + 4);
		assert_true(lab_check(lab) > 0);
		lab_destroy(lab);
	}
}

static void restart_sm_and_reassign_lids(struct lab *lab)
{
	lab->run.world->act_count = lab->sweeps < 3 ? 1000 + (uint32_t)lab->sweeps : 1;
	lab_swap_lids(lab);
}

/* Two hosts with equal counters exchange LIDs: the only indication is the restart of the SM. */
static void lids_are_verified_after_a_restart_of_the_sm(void **state)
{
	struct collector_report report;
	struct lab *lab = lab_create(298);

	(void)state;
	lab->traffic = false;
	lab->before_sweep = restart_sm_and_reassign_lids;
	assert_int_equal(lab_run(lab, 4, &report, NULL), 0);
	assert_int_equal(report.ports_answered, LIVE_PORTS - 2);
	lab_destroy(lab);
}

static void hosts_that_change_lids_are_reported(void **state)
{
	struct lab *lab = lab_create(299);

	(void)state;
	lab->no_downs = true;
	lab->before_sweep = lab_swap_lids;
	assert_int_equal(lab_run(lab, 8, NULL, NULL), 0);
	assert_int_equal(lab_events_of(lab, EVENT_NODE_LID), 2);
	assert_int_equal(lab_events_of(lab, EVENT_COUNTERS_CLEARED), 0);
	lab_destroy(lab);
}

static void a_host_gets_the_lid_of_a_removed_one(struct lab *lab)
{
	struct lab_node *departed = &lab->nodes[HOST], *successor = &lab->nodes[HOST + 4];
	int counter;

	if (lab->sweeps != 3 || departed->absent)
		return;
	departed->absent = true;
	successor->lid = departed->lid;
	lab->traffic = false;
	/* No counter decreases or is too fast: the only indication is the missing former node. */
	for (counter = 0; counter < COUNTER_COUNT; counter++)
		if (successor->ports[1].now->value[counter] < departed->ports[1].now->value[counter])
			successor->ports[1].now->value[counter] = departed->ports[1].now->value[counter];
	successor->ports[1].now->value[COUNTER_XMIT_DATA] += 1000;
}

static void a_reassigned_lid_adds_nothing_to_the_former_node(void **state)
{
	struct lab *lab = lab_create(18);

	(void)state;
	lab->before_sweep = a_host_gets_the_lid_of_a_removed_one;
	assert_int_equal(lab_run(lab, 8, NULL, NULL), 0);
	assert_true(lab_port(lab, HOST, 1)->last.value[COUNTER_XMIT_DATA] <
		    lab_port(lab, HOST, 1)->now->value[COUNTER_XMIT_DATA]);
	lab_check_own(lab, HOST + 4);
	lab_destroy(lab);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(exchanged_lids_add_nothing_to_the_wrong_port),
		cmocka_unit_test(lids_are_verified_after_a_restart_of_the_sm),
		cmocka_unit_test(hosts_that_change_lids_are_reported),
		cmocka_unit_test(a_reassigned_lid_adds_nothing_to_the_former_node),
	};

	log_init("test", LOG_LEVEL_NONE);
	return cmocka_run_group_tests(tests, NULL, NULL);
}
