/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * Rate and scope of polling: cut sweeps, half the rate, switches only; and steps of the wall clock.
 */
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

/* More than fits the interval: readings are stored on time, the others come first next time. */
static void a_sweep_that_is_too_long_is_cut_and_the_next_starts_on_time(void **state)
{
	struct collector_report report;
	struct model *model = model_create(34);
	int64_t began_us;
	size_t i;
	int port;

	(void)state;
	model_run(model, 1, NULL, NULL);
	model->interval_us = US_PER_S;
	model->max_mads_per_s = 60;
	for (i = 0; i < MODEL_NODES; i++)
		for (port = 0; port <= MODEL_PORTS_MAX; port++)
			model->nodes[i].ports[port].sum = (struct delta){ 0 };
	began_us = model->now_us;
	assert_int_equal(model_run(model, 10, &report, NULL), 0);
	assert_int_equal(report.sweeps, 10);
	/* The first one also verified LIDs at that rate. */
	assert_true(report.sweeps_late <= 1);
	assert_int_equal(report.sweeps_cut, 10);
	assert_true(report.ports_unfinished > 10);
	/* Nine intervals and a sweep, and the discovery. */
	assert_in_range(model->now_us - began_us, 9000000, 10200000);
	assert_int_equal(model_events_of(model, EVENT_SWEEP_CUT), 1);
	assert_int_equal(model_events_of(model, EVENT_NODE_SILENT), 0);
	for (i = 0; i < MODEL_NODES; i++)
		for (port = 1; port <= MODEL_PORTS_MAX; port++)
			if (model->nodes[i].ports[port].has_first)
				assert_true(model->nodes[i].ports[port].sum.elapsed_us > 0);
	model->max_mads_per_s = 0;
	model_run(model, 1, NULL, NULL);
	free(model);
}

static void drop_datagrams(struct model *model)
{
	model->drops = model->sweeps >= 3 && model->sweeps < 8;
	if (model->drops)
		model->nodes[HOST + 3].ports[1].value[COUNTER_VL15_DROPPED] += 100;
}

static void the_rate_is_halved_while_agents_drop_datagrams(void **state)
{
	struct model *model = model_create(35);
	size_t i;

	(void)state;
	model->before_sweep = drop_datagrams;
	model_run(model, 7, NULL, NULL);
	assert_int_equal(model_events_of(model, EVENT_THROTTLED), 1);
	assert_int_equal(model_events_of(model, EVENT_UNTHROTTLED), 0);
	for (i = 0; i < model->event_count; i++)
		if (!strcmp(model->events[i].kind, EVENT_THROTTLED))
			assert_int_equal(model->events[i].node_guid, model_guid(HOST + 3));
	model->sweeps = 0;
	model_run(model, 22, NULL, NULL);
	assert_int_equal(model_events_of(model, EVENT_THROTTLED), 2);
	assert_int_equal(model_events_of(model, EVENT_UNTHROTTLED), 1);
	free(model);
}

static void bring_links_up(struct model *model)
{
	size_t i;
	int port;

	for (i = 0; i < MODEL_NODES; i++)
		for (port = 1; port <= MODEL_PORTS_MAX; port++)
			model->nodes[i].ports[port].init = model->sweeps >= 3 && model->sweeps < 6;
	/* A hint of a change at the same time: discovery is deferred, but not forgotten. */
	if (model->sweeps == 4)
		model->nodes[0].ports[1].value[COUNTER_LINK_DOWNED]++;
}

static void rate_and_discovery_are_limited_while_the_sm_is_active(void **state)
{
	struct model *model = model_create(36);

	(void)state;
	model->traffic = false;
	model->before_sweep = bring_links_up;
	model_run(model, 6, NULL, NULL);
	assert_int_equal(model_events_of(model, EVENT_THROTTLED), 1);
	assert_int_equal(model->discoveries, 1);
	model->sweeps = 6;
	model->before_sweep = NULL;
	model_run(model, 12, NULL, NULL);
	assert_true(model->discoveries >= 2);
	free(model);
}

/* HCAs are not polled: their ports are no gaps, and are sent no query. */
static void only_switches_are_polled_if_configured(void **state)
{
	struct collector_report report;
	struct model *model = model_create(37);
	size_t i;

	(void)state;
	model->switches_only = true;
	assert_int_equal(model_run(model, 5, &report, NULL), 0);
	assert_int_equal(report.ports_asked, LIVE_PORTS - MODEL_HOSTS);
	assert_int_equal(report.ports_answered, LIVE_PORTS - MODEL_HOSTS);
	for (i = HOST; i < MODEL_NODES; i++) {
		assert_int_equal(model->nodes[i].ports[1].status, SAMPLE_UNPLANNED);
		assert_int_equal(model->requests_to[i] + model->slow_requests_to[i], 0);
	}
	assert_int_equal(model_events_of(model, EVENT_NODE_SILENT), 0);
	free(model);
}

static void step_wall_clock(struct model *model)
{
	if (model->sweeps == 3)
		model->wall_offset_us -= 3600 * US_PER_S;
}

/* Rates and order do not depend on the wall clock. */
static void a_step_of_the_wall_clock_is_reported_and_affects_no_rate(void **state)
{
	struct model *model = model_create(39);

	(void)state;
	model->before_sweep = step_wall_clock;
	model_run(model, 8, NULL, NULL);
	assert_int_equal(model_events_of(model, EVENT_CLOCK_STEPPED), 1);
	assert_in_range(model->nodes[0].ports[1].sum.elapsed_us, 69900000, 70100000);
	model_check(model);
	free(model);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(a_sweep_that_is_too_long_is_cut_and_the_next_starts_on_time),
		cmocka_unit_test(the_rate_is_halved_while_agents_drop_datagrams),
		cmocka_unit_test(rate_and_discovery_are_limited_while_the_sm_is_active),
		cmocka_unit_test(only_switches_are_polled_if_configured),
		cmocka_unit_test(a_step_of_the_wall_clock_is_reported_and_affects_no_rate),
	};

	log_init("test", LOG_LEVEL_NONE);
	return cmocka_run_group_tests(tests, NULL, NULL);
}
