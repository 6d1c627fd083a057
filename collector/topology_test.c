/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* What is told of a topology that changes, and of one that only looks as if it had. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>

#include <cmocka.h>

#include "base/log.h"
#include "collector/events.h"
#include "collector/test_model.h"

static struct model *create(uint64_t seed)
{
	struct model *model = model_create(seed);

	model->traffic = false;
	return model;
}

/* Nothing is known before, so nothing can be missed; but discovery says that it lost something. */
static void what_the_first_discovery_lost_is_looked_for_again(void **state)
{
	unsigned lost;

	(void)state;
	for (lost = 0; lost < 2; lost++) {
		struct model *model = create(1);

		model->nodes[HOST + 1].desc_lost = lost;
		assert_int_equal(model_run(model, 40, NULL, NULL), 0);
		assert_int_equal(model->discoveries, 1 + lost);
		free(model);
	}
}

/* Its agents are dead and its link is up: discovery finds nobody behind it. */
static void a_host_dies_and_returns(struct model *model)
{
	bool dead = model->sweeps >= 3 && model->sweeps < 30;

	if (dead != model->nodes[HOST].hung)
		model->nodes[LEAF].ports[3].value[COUNTER_LINK_DOWNED]++;
	model->nodes[HOST].hung = dead;
	model->nodes[HOST].silent = dead;
}

static void a_node_that_dies_behind_a_link_has_not_left(void **state)
{
	struct collector_report report;
	struct model *model = create(1);

	(void)state;
	model->before_sweep = a_host_dies_and_returns;
	assert_int_equal(model_run(model, 31, &report, NULL), 0);
	assert_true(model->discoveries > 1);
	/* It was asked on all the while: the sweep in which it returned has read it. */
	assert_int_equal(report.ports_answered, LIVE_PORTS);
	assert_int_equal(model->nodes[HOST].ports[1].status, SAMPLE_OK);
	assert_int_equal(model_events_of(model, EVENT_NODE_SILENT), 1);
	assert_int_equal(model_events_of(model, EVENT_NODE_ANSWERS), 1);
	assert_int_equal(model_events_of(model, EVENT_NODE_REMOVED), 0);
	assert_int_equal(model_events_of(model, EVENT_NODE_ADDED), 0);
	assert_int_equal(model_events_of(model, EVENT_PEER_CHANGED), 0);
	free(model);
}

static void an_smp_is_lost_now_and_then(struct model *model)
{
	if (model->sweeps % 10 == 5) {
		model->nodes[HOST + 1].desc_lost = true;
		model->nodes[0].ports[1].value[COUNTER_LINK_DOWNED]++;
	}
}

/* A description that did not come is not an empty one. */
static void a_lost_description_renames_nobody(void **state)
{
	struct model *model = create(2);

	(void)state;
	model->before_sweep = an_smp_is_lost_now_and_then;
	assert_int_equal(model_run(model, 60, NULL, NULL), 0);
	assert_true(model->discoveries > 6);
	assert_int_equal(model_events_of(model, EVENT_NODE_RENAMED), 0);
	assert_int_equal(model_events_of(model, EVENT_DISCOVERY_SHRUNK), 0);
	free(model);
}

static void a_description_is_gone_for_good(struct model *model)
{
	model->nodes[HOST + 1].desc_lost = model->sweeps >= 3;
}

/* One that stays empty is believed in the end. */
static void a_description_that_stays_empty_is_believed(void **state)
{
	struct model *model = create(3);

	(void)state;
	model->before_sweep = a_description_is_gone_for_good;
	assert_int_equal(model_run(model, 120, NULL, NULL), 0);
	assert_int_equal(model_events_of(model, EVENT_NODE_RENAMED), 1);
	free(model);
}

static void a_link_flaps(struct model *model)
{
	/* So that each discovery finds it otherwise than the one before. */
	model->nodes[HOST].ports[1].down = model->discoveries % 2;
	model->nodes[LEAF].ports[3].value[COUNTER_LINK_DOWNED]++;
}

/* A link that flaps for an hour does not cost a discovery every few seconds. */
static void a_link_that_flaps_for_long_is_looked_at_less_often(void **state)
{
	struct model *model = create(5);

	(void)state;
	model->before_sweep = a_link_flaps;
	model->interval_us = 1000000;
	assert_int_equal(model_run(model, 1800, NULL, NULL), 0);
	/* Half an hour: some at once, then two a minute. */
	assert_in_range(model->discoveries, 30, 80);
	assert_true(model_events_of(model, EVENT_LINK_DOWN) > 10);
	free(model);
}

static void the_own_link_goes(struct model *model)
{
	size_t i;

	for (i = 0; i < MODEL_NODES - 1; i++)
		model->nodes[i].silent = model->sweeps >= 2 && model->sweeps < 6;
}

/* It is not twenty nodes that broke: it is us. */
static void a_collector_that_is_cut_off_says_so_once(void **state)
{
	struct collector_report report;
	struct model *model = create(4);

	(void)state;
	model->before_sweep = the_own_link_goes;
	assert_int_equal(model_run(model, 4, &report, NULL), 0);
	/* Three times 250 ms. */
	assert_true(report.sweep_us < 900000);
	assert_int_equal(model_events_of(model, EVENT_FABRIC_SILENT), 1);
	model->sweeps = 4;
	assert_int_equal(model_run(model, 6, NULL, NULL), 0);
	assert_int_equal(model_events_of(model, EVENT_FABRIC_ANSWERS), 1);
	assert_int_equal(model_events_of(model, EVENT_NODE_SILENT), 0);
	assert_int_equal(model_events_of(model, EVENT_NODE_ANSWERS), 0);
	assert_true(model_check(model) > 0);
	free(model);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(what_the_first_discovery_lost_is_looked_for_again),
		cmocka_unit_test(a_node_that_dies_behind_a_link_has_not_left),
		cmocka_unit_test(a_lost_description_renames_nobody),
		cmocka_unit_test(a_link_that_flaps_for_long_is_looked_at_less_often),
		cmocka_unit_test(a_collector_that_is_cut_off_says_so_once),
		cmocka_unit_test(a_description_that_stays_empty_is_believed),
	};

	log_init("test", LOG_LEVEL_NONE);
	return cmocka_run_group_tests(tests, NULL, NULL);
}
