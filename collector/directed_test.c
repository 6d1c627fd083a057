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
#include "collector/test_model.h"

static struct model *create(uint64_t seed)
{
	struct model *model = model_create(seed);

	model->wire.directed_smps = true;
	return model;
}

static void all_nodes_are_queried_by_path_and_none_is_locked(void **state)
{
	struct collector_report report;
	struct model *model = create(1);

	(void)state;
	assert_int_equal(model_run(model, 20, &report, NULL), 0);
	assert_int_equal(model->smps_by_lid, 0);
	/* SwitchInfo of six switches and SMInfo, at least. */
	assert_true(model->smps_by_path >= 20 * (MODEL_SPINES + MODEL_LEAFS + 1));
	assert_true(model->last_sweep.sm.known);
	assert_int_equal(report.ports_answered, report.ports_asked);
	assert_int_equal(model_events_of(model, EVENT_NODE_LOCKED), 0);
	assert_int_equal(model_events_of(model, EVENT_SM_LOST), 0);
	assert_true(model_check(model) > 0);
	free(model);
}

static void pull_cable(struct model *model)
{
	if (model->sweeps == 15)
		model->nodes[LEAF].ports[1].down = true;
}

/* No counter changes: only PortInfo by path, a tenth per sweep, detects it. */
static void a_link_that_goes_down_is_detected(void **state)
{
	struct model *model = create(2);

	(void)state;
	model->traffic = false;
	model->before_sweep = pull_cable;
	assert_int_equal(model_run(model, 30, NULL, NULL), 0);
	assert_int_equal(model_events_of(model, EVENT_LINK_DOWN), 1);
	free(model);
}

static void isolate_spine(struct model *model)
{
	unsigned port;

	for (port = 1; port <= MODEL_LEAFS && model->sweeps == 5; port++)
		model->nodes[0].ports[port].down = true;
}

/*
 * The leaves' paths led through it. They respond to PMA queries all the time, and get other paths.
 */
static void nodes_behind_a_removed_switch_get_other_paths(void **state)
{
	struct model *model = create(3);

	(void)state;
	model->traffic = false;
	model->before_sweep = isolate_spine;
	assert_int_equal(model_run(model, 30, NULL, NULL), 0);
	assert_int_equal(model_events_of(model, EVENT_NODE_LOCKED), 0);
	assert_true(model_events_of(model, EVENT_NODE_REMOVED) + model_events_of(model, EVENT_LINK_DOWN) > 0);
	assert_true(model->last_sweep.sm.known);
	free(model);
}

static void exchanged_lids_add_nothing_to_the_wrong_port(void **state)
{
	uint64_t seed;

	(void)state;
	for (seed = 300; seed < 310; seed++) {
		struct model *model = create(seed);

		model->before_sweep = model_swap_lids;
		assert_int_equal(model_run(model, 7, NULL, NULL), 0);
		model_check_own(model, HOST);
		model_check_own(model, HOST + 4);
		assert_true(model_check(model) > 0);
		free(model);
	}
}

/* No node responds at the end of the former path, but the new owner of the LID does. */
static void a_host_gets_the_lid_of_a_removed_one(struct model *model)
{
	struct model_node *gone = &model->nodes[HOST], *heir = &model->nodes[HOST + 4];

	if (model->sweeps != 3 || gone->absent)
		return;
	gone->absent = true;
	heir->lid = gone->lid;
	model->traffic = false;
	memcpy(heir->ports[1].value, gone->ports[1].value, sizeof(heir->ports[1].value));
	heir->ports[1].value[COUNTER_XMIT_DATA] += 1000;
}

static void a_reassigned_lid_adds_nothing_to_the_former_node(void **state)
{
	struct model *model = create(18);

	(void)state;
	model->before_sweep = a_host_gets_the_lid_of_a_removed_one;
	assert_int_equal(model_run(model, 8, NULL, NULL), 0);
	assert_true(model->nodes[HOST].ports[1].last.value[COUNTER_XMIT_DATA] <
		    model->nodes[HOST].ports[1].value[COUNTER_XMIT_DATA]);
	/* The test copies the counters of the former node, which may look like a reset. */
	assert_true(model->nodes[HOST + 4].ports[1].last.value[COUNTER_XMIT_DATA] ==
		    model->nodes[HOST + 4].ports[1].value[COUNTER_XMIT_DATA]);
	free(model);
}

static void sums_stay_exact_with_a_tenth_of_the_mads_lost(void **state)
{
	uint64_t seed;

	(void)state;
	for (seed = 40; seed < 45; seed++) {
		struct model *model = create(seed);

		model->loss_percent = 10;
		assert_int_equal(model_run(model, 40, NULL, NULL), 0);
		assert_true(model_check(model) > 0);
		assert_int_equal(model_events_of(model, EVENT_NODE_LOCKED), 0);
		free(model);
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
