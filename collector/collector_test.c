/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* The collector on a simulated fabric in virtual time. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "base/err.h"
#include "base/log.h"
#include "base/test_cases.h"
#include "collector/events.h"
#include "collector/test_model.h"

static void every_live_port_is_read_and_sums_are_exact(void **state)
{
	struct collector_report report;
	struct model *model = model_create(1);
	size_t counters;

	(void)state;
	assert_int_equal(model_run(model, 25, &report, NULL), 0);
	assert_int_equal(report.sweeps, 25);
	assert_int_equal(report.nodes, MODEL_NODES);
	assert_int_equal(report.ports_asked, LIVE_PORTS);
	assert_int_equal(report.ports_answered, LIVE_PORTS);
	counters = model_check(model);
	assert_true(counters > LIVE_PORTS * 10);
	/* The last reading is the current value of the port. */
	assert_true(model->nodes[0].ports[1].last.value[COUNTER_XMIT_DATA] ==
		    model->nodes[0].ports[1].value[COUNTER_XMIT_DATA]);
	assert_true(model->last_sweep.sm.known);
	free(model);
}

/* Capabilities are queried once per node; unsupported attributes are not queried. */
static void capabilities_are_asked_once(void **state)
{
	struct model *model = model_create(2);

	(void)state;
	model_run(model, 10, NULL, NULL);
	/*
	 * Node 0 has four live ports with both attributes; its turn of detail queries, which
	 * includes ClassPortInfo, comes after these sweeps. Node 5 (a leaf, six ports) has only
	 * 64-bit PortCounters.
	 */
	assert_int_equal(model->requests_to[0], 1 + 10 * 4 * 2);
	assert_int_equal(model->requests_to[LEAF + 3], 1 + 10 * 6 * 2);
	free(model);
}

static void a_restart_is_one_longer_delta(void **state)
{
	struct model *model = model_create(3);
	int run;

	(void)state;
	for (run = 0; run < 10; run++) {
		assert_int_equal(model_run(model, 1, NULL, NULL), 0);
		model->clock.sleep_until(model, model->now_us + 7000000);
	}
	assert_int_equal(model->sweeps, 10);
	assert_true(model_check(model) > 0);
	assert_true(model->nodes[LEAF].ports[1].sum.elapsed_us > 9 * 7000000LL);
	free(model);
}

/* After a reboot CLOCK_BOOTTIME restarts: the wall clock bridges it, and no counts are lost. */
static void a_reboot_keeps_the_counts(void **state)
{
	struct model *model = model_create(4);
	uint64_t first, sum, last;

	(void)state;
	model_run(model, 3, NULL, NULL);
	model->wall_offset_us += model->now_us + 60000000;
	model->now_us = 5000000;
	snprintf(model->boot_id, sizeof(model->boot_id), "boot-2");
	model_run(model, 3, NULL, NULL);
	first = model->nodes[1].ports[1].first.value[COUNTER_RCV_DATA];
	sum = model->nodes[1].ports[1].sum.value[COUNTER_RCV_DATA];
	last = model->nodes[1].ports[1].last.value[COUNTER_RCV_DATA];
	assert_true(first + sum == last);
	/* 20 s before, 60 s of reboot and 5 s until the first sweep, 20 s after; and a little for each sweep. */
	assert_in_range(model->nodes[1].ports[1].sum.elapsed_us, 100000000, 110000000);
	free(model);
}

/* The clock came up hours behind: readings before the boot are still older than the boot. */
static void a_reboot_with_a_clock_that_is_behind_loses_no_counts(void **state)
{
	struct model *model = model_create(24);
	const struct model_port *port = &model->nodes[1].ports[1];

	(void)state;
	model_run(model, 3, NULL, NULL);
	model->wall_offset_us -= 2 * 3600 * US_PER_S;
	model->now_us = 30000000;
	snprintf(model->boot_id, sizeof(model->boot_id), "boot-2");
	model_run(model, 3, NULL, NULL);
	assert_true(port->first.value[COUNTER_RCV_DATA] + port->sum.value[COUNTER_RCV_DATA] ==
		    port->last.value[COUNTER_RCV_DATA]);
	/* 20 s before, at least 30 s since the boot, 20 s after. */
	assert_in_range(port->sum.elapsed_us, 70000000, 80000000);
	free(model);
}

static void an_unresponsive_node_is_reported_once_and_catches_up(void **state)
{
	struct collector_report report;
	struct model *model = model_create(5);

	(void)state;
	model_run(model, 2, NULL, NULL);
	model->nodes[LEAF].silent = true;
	assert_int_equal(model_run(model, 4, &report, NULL), 0);
	assert_int_equal(report.ports_answered, LIVE_PORTS - 6);
	assert_int_equal(model->nodes[LEAF].ports[1].status, SAMPLE_BACKOFF);
	assert_int_equal(model->nodes[LEAF + 1].ports[1].status, SAMPLE_OK);
	assert_int_equal(model_events_of(model, EVENT_NODE_SILENT), 1);
	model->nodes[LEAF].silent = false;
	assert_int_equal(model_run(model, 2, &report, NULL), 0);
	assert_int_equal(report.ports_answered, LIVE_PORTS);
	assert_true(model_check(model) > 0);
	free(model);
}

static void fail_leaf(struct model *model)
{
	model->nodes[LEAF].silent = model->sweeps >= 2;
	if (model->sweeps == 2)
		model->requests_to[LEAF] = 0;
}

/* Three MADs in the sweep in which a node becomes unresponsive, and soon one MAD per sweep. */
static void an_unresponsive_node_costs_one_query_per_sweep(void **state)
{
	struct collector_report report;
	struct model *model = model_create(6);

	(void)state;
	model->before_sweep = fail_leaf;
	model_run(model, 3, &report, NULL);
	assert_int_equal(report.mads_timed_out, 3);
	assert_int_equal(model->requests_to[LEAF], 3);
	/* 20 ms for all three of them, in addition to the other nodes. */
	assert_true(report.sweep_us < 25000);
	assert_int_equal(model->nodes[LEAF].ports[1].status, SAMPLE_SILENT);
	free(model);
	model = model_create(6);
	model->before_sweep = fail_leaf;
	model_run(model, 12, &report, NULL);
	assert_int_equal(report.mads_timed_out, 1);
	assert_int_equal(model->requests_to[LEAF], 3 * 3 + 7 * 1);
	assert_int_equal(model->nodes[LEAF].ports[1].status, SAMPLE_BACKOFF);
	free(model);
}

static void restore_leaf(struct model *model)
{
	model->nodes[LEAF].silent = model->sweeps >= 2 && model->sweeps < 6;
}

static void a_node_that_responds_again_is_read_in_that_sweep(void **state)
{
	struct collector_report report;
	struct model *model = model_create(14);

	(void)state;
	model->before_sweep = restore_leaf;
	assert_int_equal(model_run(model, 6, &report, NULL), 0);
	assert_int_equal(report.ports_answered, LIVE_PORTS - 6);
	model->sweeps = 0;
	assert_int_equal(model_run(model, 7, &report, NULL), 0);
	assert_int_equal(report.ports_answered, LIVE_PORTS);
	assert_true(model_check(model) > 0);
	free(model);
}

static void a_fifth_of_all_mads_is_lost(void **state)
{
	uint64_t seed;

	(void)state;
	for (seed = 200; seed < 200 + test_cases(30); seed++) {
		struct model *model = model_create(seed);
		size_t i;
		int port;

		model_run(model, 1, NULL, NULL);
		model->loss_percent = 20;
		for (i = 0; i < MODEL_NODES; i++)
			for (port = 0; port <= MODEL_PORTS_MAX; port++)
				model->nodes[i].ports[port].sum = (struct delta){ 0 };
		model_run(model, 3, NULL, NULL);
		/*
		 * Each port that was read before the losses has been read again, with correct
		 * counters.
		 */
		for (i = 0; i < MODEL_NODES; i++)
			for (port = 1; port <= MODEL_PORTS_MAX; port++)
				if (model->nodes[i].ports[port].has_first)
					assert_true(model->nodes[i].ports[port].sum.elapsed_us > 0);
		model->loss_percent = 0;
		model_run(model, 1, NULL, NULL);
		free(model);
	}
}

static void clear_port(struct model *model, size_t node, int port)
{
	memset(model->nodes[node].ports[port].value, 0, sizeof(model->nodes[node].ports[port].value));
}

/* One port; a minute later two more, which are the first of all. */
static void clear_counters(struct model *model)
{
	size_t reported = model_events_of(model, EVENT_COUNTERS_CLEARED), i;
	int port;

	if (model->sweeps == 3 || model->sweeps == 13)
		clear_port(model, 0, 2);
	if (model->sweeps == 13)
		clear_port(model, 0, 3);
	for (i = 0; model->sweeps == 15 && i < MODEL_NODES; i++)
		for (port = 1; port <= MODEL_PORTS_MAX; port++)
			clear_port(model, i, port);
	/* Each one is reported in the sweep that detects it. */
	assert_int_equal(reported, model->sweeps < 4 ? 0 : model->sweeps < 14 ? 1 : model->sweeps < 16 ? 3 : 2);
}

static void cleared_counters_are_marked_and_reported(void **state)
{
	struct model *model = model_create(7);
	struct event last = { 0 };
	size_t i;

	(void)state;
	model->before_sweep = clear_counters;
	model_run(model, 16, NULL, NULL);
	/* One port alone, then the whole fabric as one event with the time of its first port. */
	assert_int_equal(model_events_of(model, EVENT_COUNTERS_CLEARED), 2);
	for (i = 0; i < model->event_count; i++)
		if (!strcmp(model->events[i].kind, EVENT_COUNTERS_CLEARED))
			last = model->events[i];
	assert_non_null(strstr(last.text, " ports"));
	assert_int_equal(last.node_guid, 0);
	assert_true(last.wall_us < model->last_sweep.wall_us - 10 * US_PER_S);
	assert_true(model->nodes[0].ports[2].sum.reset & COUNTER_BIT(COUNTER_RCV_DATA));
	model_check(model);
	free(model);
}

static void a_saturated_counter_is_reported_once(void **state)
{
	struct model *model = model_create(8);

	(void)state;
	model->traffic = false;
	model->nodes[1].ports[1].value[COUNTER_LINK_DOWNED] = 300;
	model_run(model, 5, NULL, NULL);
	assert_int_equal(model_events_of(model, EVENT_COUNTER_SATURATED), 1);
	assert_int_equal(model->nodes[1].ports[1].last.value[COUNTER_LINK_DOWNED], 255);
	assert_true(model->nodes[1].ports[1].sum.saturated & COUNTER_BIT(COUNTER_LINK_DOWNED));
	assert_true(model->nodes[1].ports[1].sum.known & COUNTER_BIT(COUNTER_LINK_DOWNED));
	free(model);
}

static void fill_disk_temporarily(struct model *model)
{
	model->store_fails = model->now_us > 50000000 && model->now_us < 90000000;
}

static void a_store_that_fails_loses_nothing(void **state)
{
	struct collector_report report;
	struct model *model = model_create(9);

	(void)state;
	model->before_sweep = fill_disk_temporarily;
	assert_int_equal(model_run(model, 20, &report, NULL), 0);
	assert_true(report.sweeps < 20 && report.sweeps > 10);
	assert_int_equal(report.sweeps_made, 20);
	assert_int_equal(report.unstored.code, 0);
	assert_true(model_check(model) > 0);
	assert_int_equal(model_events_of(model, EVENT_STORE_FAILED), 1);
	/* A single sweep that cannot be stored is an error. */
	model->store_fails = true;
	model->before_sweep = NULL;
	assert_int_equal(model_run(model, 1, NULL, NULL), ERR_IO);
	free(model);
}

static void start_other_collector(struct model *model)
{
	model->store_taken = model->sweeps >= 4;
}

static void a_collector_ends_if_another_one_stores(void **state)
{
	struct collector_report report;
	struct model *model = model_create(11);
	struct error err = { 0 };

	(void)state;
	model->before_sweep = start_other_collector;
	assert_int_equal(model_run(model, 7, &report, &err), ERR_UNAVAILABLE);
	assert_string_equal(err.text, "another process stores sweeps");
	assert_int_equal(report.sweeps_made, report.sweeps + 1);
	free(model);
}

static void fill_disk(struct model *model)
{
	model->store_fails = model->sweeps >= 4;
}

static void the_report_contains_the_error_of_unstored_sweeps(void **state)
{
	struct collector_report report;
	struct model *model = model_create(10);

	(void)state;
	model->before_sweep = fill_disk;
	assert_int_equal(model_run(model, 7, &report, NULL), 0);
	assert_int_equal(report.sweeps_made, 7);
	assert_int_equal(report.sweeps, model->sweeps);
	assert_true(report.sweeps < 7);
	assert_int_equal(report.unstored.code, ERR_IO);
	assert_string_equal(report.unstored.text, "the disk is full");
	free(model);
}

/* The response with the 64-bit traffic counters sets the time, even if the other one is later. */
static void a_busy_response_does_not_set_the_time_of_the_reading(void **state)
{
	struct model *model = model_create(22);

	(void)state;
	model->nodes[0].busy_once = true;
	model_run(model, 1, NULL, NULL);
	assert_false(model->nodes[0].busy_once);
	assert_int_equal(model->nodes[0].ports[1].status, SAMPLE_OK);
	assert_true(model->nodes[0].ports[1].last.at_us < model->nodes[0].ports[2].last.at_us);
	free(model);
}

static void nodes_without_counters_are_unsupported(void **state)
{
	struct collector_report report;
	struct model *model = model_create(13);

	(void)state;
	model->nodes[HOST].no_counters = true;
	model->nodes[HOST + 1].no_caps = true;
	assert_int_equal(model_run(model, 2, &report, NULL), 0);
	assert_int_equal(model->nodes[HOST].ports[1].status, SAMPLE_UNSUPPORTED);
	assert_int_equal(model->nodes[HOST + 1].ports[1].status, SAMPLE_OK);
	assert_int_equal(model->nodes[HOST + 1].ports[1].last.wide, 0);
	assert_int_equal(report.ports_answered, LIVE_PORTS - 1);
	free(model);
}

/* A node redirects its queries: later ones are sent to the other address directly. */
static void a_redirection_is_followed_and_remembered(void **state)
{
	struct collector_report report;
	struct model *model = model_create(33);
	uint64_t queried;

	(void)state;
	model->nodes[HOST].redirect = model->nodes[LEAF].lid;
	assert_int_equal(model_run(model, 5, &report, NULL), 0);
	assert_int_equal(report.ports_answered, LIVE_PORTS);
	queried = model->requests_to[HOST];
	/*
	 * ClassPortInfo twice, the second at the other address; five times the two attributes of a
	 * port.
	 */
	assert_in_range(queried, 2 + 5, 2 + 5 * 2 + 1);
	assert_true(model_check(model) > 0);
	assert_int_equal(model->nodes[HOST].ports[1].last.value[COUNTER_RCV_DATA] & UINT32_MAX,
			 model->nodes[HOST].ports[1].value[COUNTER_RCV_DATA] & UINT32_MAX);
	/* The other node is removed: the node itself is queried again. */
	model->nodes[HOST].redirect = model->nodes[LEAF + 1].lid;
	model->nodes[LEAF].silent = true;
	assert_int_equal(model_run(model, 3, &report, NULL), 0);
	assert_int_equal(model->nodes[HOST].ports[1].status, SAMPLE_OK);
	free(model);
}

static void silence_other_hosts(struct model *model)
{
	size_t i;

	for (i = HOST; i < MODEL_NODES - 1; i++)
		model->nodes[i].silent = model->sweeps >= 2 && model->sweeps < 5;
}

/* A single cause, not fifteen broken hosts. */
static void hcas_unresponsive_together_are_one_event(void **state)
{
	struct model *model = model_create(38);

	(void)state;
	model->before_sweep = silence_other_hosts;
	model_run(model, 10, NULL, NULL);
	assert_int_equal(model_events_of(model, EVENT_HCAS_SILENT), 1);
	assert_int_equal(model_events_of(model, EVENT_HCAS_ANSWER), 1);
	assert_int_equal(model_events_of(model, EVENT_NODE_SILENT), 0);
	assert_int_equal(model_events_of(model, EVENT_NODE_ANSWERS), 0);
	free(model);
}

/* Random faults: unresponsive nodes, links down, cleared counters, lost MADs. */
static void inject_random_faults(struct model *model)
{
	struct model_node *node = &model->nodes[model_random(model) % MODEL_NODES];

	switch (model_random(model) % 8) {
	case 0:
		node->silent = !node->silent;
		break;
	case 1:
		node->ports[1].down = !node->ports[1].down;
		break;
	case 2:
		memset(node->ports[1].value, 0, sizeof(node->ports[1].value));
		memset(node->ports[1].details[2].value, 0, sizeof(node->ports[1].details[2].value));
		break;
	case 3:
		node->absent = !node->absent && model_random(model) % 3 == 0;
		break;
	case 4:
		model->store_fails = model_random(model) % 4 == 0;
		break;
	case 5:
		model->wall_offset_us += (int64_t)(model_random(model) % 7200) * US_PER_S - 3600 * US_PER_S;
		break;
	case 6:
		node->fec_mode = (uint8_t)(model_random(model) % 5);
		node->redirect = model_random(model) % 2 ? model->nodes[LEAF].lid : 0;
		break;
	case 7:
		model->drops = !model->drops;
		node->refused = (uint8_t)(model_random(model) % 32 == 0 ? 0xff : 0);
		break;
	default:
		break;
	}
	model->loss_percent = (unsigned)(model_random(model) % 20);
}

static void sums_are_exact_or_marked_under_random_faults(void **state)
{
	uint64_t seed;

	(void)state;
	for (seed = 100; seed < 100 + test_cases(30); seed++) {
		struct model *model = model_create(seed);
		int run;

		for (run = 0; run < 5; run++) {
			model->before_sweep = run ? inject_random_faults : NULL;
			model_run(model, 40, NULL, NULL);
			model->store_fails = false;
		}
		assert_true(model->sweeps > 50);
		assert_true(model_check(model) > 0);
		assert_true(model_check_details(model) > 0);
		free(model);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(every_live_port_is_read_and_sums_are_exact),
		cmocka_unit_test(capabilities_are_asked_once),
		cmocka_unit_test(a_restart_is_one_longer_delta),
		cmocka_unit_test(a_reboot_keeps_the_counts),
		cmocka_unit_test(a_reboot_with_a_clock_that_is_behind_loses_no_counts),
		cmocka_unit_test(an_unresponsive_node_is_reported_once_and_catches_up),
		cmocka_unit_test(an_unresponsive_node_costs_one_query_per_sweep),
		cmocka_unit_test(a_node_that_responds_again_is_read_in_that_sweep),
		cmocka_unit_test(a_fifth_of_all_mads_is_lost),
		cmocka_unit_test(cleared_counters_are_marked_and_reported),
		cmocka_unit_test(a_saturated_counter_is_reported_once),
		cmocka_unit_test(a_store_that_fails_loses_nothing),
		cmocka_unit_test(a_collector_ends_if_another_one_stores),
		cmocka_unit_test(the_report_contains_the_error_of_unstored_sweeps),
		cmocka_unit_test(a_busy_response_does_not_set_the_time_of_the_reading),
		cmocka_unit_test(nodes_without_counters_are_unsupported),
		cmocka_unit_test(a_redirection_is_followed_and_remembered),
		cmocka_unit_test(hcas_unresponsive_together_are_one_event),
		cmocka_unit_test(sums_are_exact_or_marked_under_random_faults),
	};

	log_init("test", LOG_LEVEL_NONE);
	return cmocka_run_group_tests(tests, NULL, NULL);
}
