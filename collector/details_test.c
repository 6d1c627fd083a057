/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* Detail counters: queried in turn, and when a counter has increased. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>

#include <cmocka.h>

#include "base/clock.h"
#include "base/log.h"
#include "collector/events.h"
#include "collector/test_model.h"

/* Every live port has its turn once in sixty sweeps; rejected attributes are queried once. */
static void detail_counters_are_read_in_turn_and_exactly(void **state)
{
	struct model *model = model_create(30);
	uint64_t once;

	(void)state;
	model->nodes[HOST].refused = 1 << DETAIL_EXTENDED_SPEEDS;
	/* The counters that they explain do not change. */
	model->traffic = false;
	/* Capabilities are known after the first sweep. */
	model_run(model, 61, NULL, NULL);
	once = model_reads_of(model, DETAIL_RCV_ERRORS);
	assert_int_equal(once, LIVE_PORTS);
	assert_int_equal(model_reads_of(model, DETAIL_EXTENDED_SPEEDS), LIVE_PORTS - 1);
	assert_int_equal(model_reads_of(model, DETAIL_XMIT_DISCARDS), LIVE_PORTS);
	model->traffic = true;
	model_run(model, 200, NULL, NULL);
	assert_true(model_reads_of(model, DETAIL_EXTENDED_SPEEDS) > 3 * (LIVE_PORTS - 1));
	assert_int_equal(model->nodes[HOST].ports[1].details[DETAIL_EXTENDED_SPEEDS].reads, 0);
	assert_int_equal(model->nodes[HOST + 1].ports[1].details[DETAIL_EXTENDED_SPEEDS].last.layout, FEC_LAYOUT_LANES);
	assert_int_equal(model->nodes[0].ports[1].details[DETAIL_EXTENDED_SPEEDS].last.layout, FEC_LAYOUT_RS);
	assert_true(model_check_details(model) > LIVE_PORTS * 20);
	model_check(model);
	free(model);
}

/* A host that rejects attributes at first. */
static void reject_at_start(struct model *model)
{
	bool refuses = model->sweeps < 70;

	model->nodes[HOST].refused = refuses ? 1 << DETAIL_EXTENDED_SPEEDS : 0;
	model->nodes[HOST].tick_refused = refuses;
}

/* Run a number of sweeps; the first of sixty turns begins after 150. */
static struct model *run_with_refusals(size_t sweeps)
{
	struct model *model = model_create(34);

	model->traffic = false;
	model->before_sweep = reject_at_start;
	model->nodes[HOST].caps.cap_mask |= PMA_CAP_XMIT_WAIT;
	model->nodes[HOST + 1].caps.cap_mask |= PMA_CAP_XMIT_WAIT;
	model->now_us = (60 * 60 - 150) * US_PER_S;
	model_run(model, sweeps, NULL, NULL);
	return model;
}

static void a_rejected_attribute_is_queried_again_after_sixty_turns(void **state)
{
	struct model *model = run_with_refusals(149);

	(void)state;
	assert_int_equal(model->nodes[HOST].ports[1].details[DETAIL_EXTENDED_SPEEDS].reads, 0);
	assert_false(model->nodes[HOST].tick_known);
	assert_true(model->nodes[HOST + 1].tick_known);
	free(model);
	model = run_with_refusals(149 + 130);
	assert_true(model->nodes[HOST].ports[1].details[DETAIL_EXTENDED_SPEEDS].reads > 0);
	assert_true(model->nodes[HOST].tick_known);
	free(model);
}

/* The explanation is queried in the sweep that detects the increase. */
static void an_increased_counter_is_explained_at_once(void **state)
{
	struct model *model = model_create(31);
	struct model_port *port = &model->nodes[LEAF].ports[2];
	const struct model_detail *detail = &port->details[DETAIL_RCV_ERRORS];

	(void)state;
	model->traffic = false;
	model_run(model, 70, NULL, NULL);
	assert_true(detail->has_first);
	port->value[COUNTER_RCV_ERRORS] += 3;
	port->details[DETAIL_RCV_ERRORS].value[0] += 3;
	model_run(model, 1, NULL, NULL);
	assert_int_equal(detail->sum[0], 3);
	assert_int_equal(detail->last.value[0], 3);
	free(model);
}

/* An attribute that a node never answers costs three queries and delays no sweep. */
static void an_attribute_that_times_out_is_given_up(void **state)
{
	struct collector_report report;
	struct model *model = model_create(32);

	(void)state;
	model->traffic = false;
	model->nodes[LEAF].ignored = 1 << DETAIL_EXTENDED_SPEEDS;
	model_run(model, 400, &report, NULL);
	assert_int_equal(model->nodes[LEAF].ports[1].details[DETAIL_EXTENDED_SPEEDS].reads, 0);
	assert_true(model->nodes[LEAF].ports[1].details[DETAIL_RCV_ERRORS].reads >= 6);
	assert_int_equal(report.mads_timed_out, 0);
	assert_int_equal(report.ports_answered, LIVE_PORTS);
	assert_int_equal(model_events_of(model, EVENT_NODE_SILENT), 0);
	free(model);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(detail_counters_are_read_in_turn_and_exactly),
		cmocka_unit_test(a_rejected_attribute_is_queried_again_after_sixty_turns),
		cmocka_unit_test(an_increased_counter_is_explained_at_once),
		cmocka_unit_test(an_attribute_that_times_out_is_given_up),
	};

	log_init("test", LOG_LEVEL_NONE);
	return cmocka_run_group_tests(tests, NULL, NULL);
}
