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
#include "collector/test_model.h"

/* The subnet manager reassigns LIDs: no port gets the counters of another. */
static void exchanged_lids_add_nothing_to_the_wrong_port(void **state)
{
	uint64_t seed;

	(void)state;
	for (seed = 300; seed < 310; seed++) {
		struct collector_report report;
		struct model *model = model_create(seed);

		model->no_downs = true;
		model->before_sweep = model_swap_lids;
		assert_int_equal(model_run(model, 4, &report, NULL), 0);
		assert_int_equal(report.ports_answered, LIVE_PORTS - 2);
		assert_int_equal(model_run(model, 3, &report, NULL), 0);
		assert_int_equal(report.ports_answered, LIVE_PORTS);
		model_check_own(model, HOST);
		model_check_own(model, HOST + 4);
		assert_true(model_check(model) > 0);
		free(model);
	}
}

static void restart_sm_and_reassign_lids(struct model *model)
{
	model->sm_act_count = model->sweeps < 3 ? 1000 + (uint32_t)model->sweeps : 1;
	model_swap_lids(model);
}

/* Two hosts with equal counters exchange LIDs: the only indication is the restart of the SM. */
static void lids_are_verified_after_a_restart_of_the_sm(void **state)
{
	struct collector_report report;
	struct model *model = model_create(298);

	(void)state;
	model->traffic = false;
	model->before_sweep = restart_sm_and_reassign_lids;
	assert_int_equal(model_run(model, 4, &report, NULL), 0);
	assert_int_equal(report.ports_answered, LIVE_PORTS - 2);
	free(model);
}

static void hosts_that_change_lids_are_reported(void **state)
{
	struct model *model = model_create(299);

	(void)state;
	model->no_downs = true;
	model->before_sweep = model_swap_lids;
	assert_int_equal(model_run(model, 8, NULL, NULL), 0);
	assert_int_equal(model_events_of(model, EVENT_NODE_LID), 2);
	assert_int_equal(model_events_of(model, EVENT_COUNTERS_CLEARED), 0);
	free(model);
}

static void a_host_gets_the_lid_of_a_removed_one(struct model *model)
{
	struct model_node *gone = &model->nodes[HOST], *heir = &model->nodes[HOST + 4];
	int counter;

	if (model->sweeps != 3 || gone->absent)
		return;
	gone->absent = true;
	heir->lid = gone->lid;
	model->traffic = false;
	/* No counter decreases or is too fast: the only indication is the missing former node. */
	for (counter = 0; counter < COUNTER_COUNT; counter++)
		if (heir->ports[1].value[counter] < gone->ports[1].value[counter])
			heir->ports[1].value[counter] = gone->ports[1].value[counter];
	heir->ports[1].value[COUNTER_XMIT_DATA] += 1000;
}

static void a_reassigned_lid_adds_nothing_to_the_former_node(void **state)
{
	struct model *model = model_create(18);

	(void)state;
	model->before_sweep = a_host_gets_the_lid_of_a_removed_one;
	assert_int_equal(model_run(model, 8, NULL, NULL), 0);
	assert_true(model->nodes[HOST].ports[1].last.value[COUNTER_XMIT_DATA] <
		    model->nodes[HOST].ports[1].value[COUNTER_XMIT_DATA]);
	model_check_own(model, HOST + 4);
	free(model);
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
