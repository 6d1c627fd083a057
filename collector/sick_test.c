/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* The collector on persistently faulty fabrics, in virtual time. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "base/log.h"
#include "base/stop.h"
#include "base/test_cases.h"
#include "collector/events.h"
#include "collector/test_model.h"

/* The store always takes longer than the interval: topology changes are still detected. */
static void discovery_proceeds_despite_late_sweeps(void **state)
{
	struct collector_report report;
	struct model *model = model_create(1);

	(void)state;
	model->traffic = false;
	model->interval_us = US_PER_S;
	model->store_us = 1200000;
	assert_int_equal(model_run(model, 1100, &report, NULL), 0);
	assert_true(report.sweeps_late > 1000);
	/* Twenty-two minutes: at the start, and every ten. */
	assert_int_equal(model->discoveries, 3);
	free(model);
}

static void give_lid_to_host_with_drops(struct model *model)
{
	uint16_t lid = model->nodes[HOST].lid;

	if (model->sweeps != 3)
		return;
	model->nodes[HOST + 4].lid = lid;
	model->nodes[HOST].lid = 500;
}

/* The total of another node's counter is not the number of datagrams dropped now. */
static void discarded_readings_do_not_count_as_drops(void **state)
{
	struct model *model = model_create(3);

	(void)state;
	model->nodes[HOST + 4].ports[1].value[COUNTER_VL15_DROPPED] = 1000;
	model->before_sweep = give_lid_to_host_with_drops;
	model_run(model, 6, NULL, NULL);
	assert_true(model_events_of(model, EVENT_NODE_LID) > 0);
	assert_int_equal(model_events_of(model, EVENT_THROTTLED), 0);
	free(model);
}

static void reassign_queue_pair(struct model *model)
{
	model->queue_pairs_moved = model->sweeps >= 5;
}

/* The redirection leads to another node now: its counts are discarded, and the node is queried. */
static void a_redirection_to_another_node_adds_nothing(void **state)
{
	struct model *model = model_create(4);
	const struct model_port *port = &model->nodes[HOST].ports[1];

	(void)state;
	model->nodes[HOST].redirect = model->nodes[LEAF].lid;
	model->nodes[HOST].ports[1].value[COUNTER_XMIT_DATA] = UINT32_MAX / 2;
	model->before_sweep = reassign_queue_pair;
	model_run(model, 9, NULL, NULL);
	assert_int_equal(port->status, SAMPLE_OK);
	assert_false(port->sum.reset);
	assert_true(model_check(model) > 0);
	assert_int_equal(model_events_of(model, EVENT_COUNTERS_CLEARED), 0);
	free(model);
}

/* A busy status at the first query does not make the node unresponsive. */
static void a_busy_node_is_queried_again(void **state)
{
	struct model *model = model_create(5);

	(void)state;
	model->nodes[LEAF].caps_busy_once = true;
	model_run(model, 1, NULL, NULL);
	assert_int_equal(model->nodes[LEAF].ports[1].status, SAMPLE_OK);
	assert_int_equal(model_events_of(model, EVENT_NODE_SILENT), 0);
	free(model);
}

/* Counters that were saturated before the restart are not news. */
static void saturated_counters_are_not_reported_again_after_a_restart(void **state)
{
	struct model *model = model_create(6);

	(void)state;
	model->traffic = false;
	model->nodes[1].ports[1].value[COUNTER_LINK_DOWNED] = 300;
	model_run(model, 2, NULL, NULL);
	model_run(model, 2, NULL, NULL);
	assert_int_equal(model_events_of(model, EVENT_COUNTER_SATURATED), 1);
	model->nodes[1].ports[1].value[COUNTER_SYMBOL_ERRORS] = 70000;
	model_run(model, 2, NULL, NULL);
	assert_int_equal(model_events_of(model, EVENT_COUNTER_SATURATED), 2);
	free(model);
}

/* The links of a switch stay in Init for hours. A sweep checks a tenth of all links: one event. */
static void links_that_stay_in_init_throttle_once(void **state)
{
	struct model *model = model_create(7);
	int port;

	(void)state;
	model->traffic = false;
	for (port = 1; port <= 6; port++)
		model->nodes[LEAF].ports[port].init = true;
	model_run(model, 300, NULL, NULL);
	assert_int_equal(model_events_of(model, EVENT_THROTTLED), 1);
	assert_int_equal(model_events_of(model, EVENT_UNTHROTTLED), 0);
	free(model);
}

static uint64_t reads_before;

static void lose_mads_for_hours(struct model *model)
{
	model->loss_percent = model->sweeps < 3000 ? 40 : 0;
	if (model->sweeps == 3000 + 3600)
		reads_before = model_reads_of(model, DETAIL_XMIT_DISCARDS);
}

/* Lost queries do not prove that counters are unsupported: later all are read again. */
static void detail_counters_recover_after_rejections(void **state)
{
	struct model *model = model_create(8);

	(void)state;
	model->traffic = false;
	model->before_sweep = lose_mads_for_hours;
	model_run(model, 3000 + 3600 + 122, NULL, NULL);
	assert_in_range(model_reads_of(model, DETAIL_XMIT_DISCARDS) - reads_before, 2 * LIVE_PORTS, 3 * LIVE_PORTS);
	assert_true(model_check_details(model) > 0);
	free(model);
}

/* A switch that answers no detail query takes three timeouts for each, whatever its port count. */
static void a_switch_without_detail_counters_takes_no_time(void **state)
{
	struct collector_report report;
	struct model *model = model_create(9);
	int i;

	(void)state;
	model->traffic = false;
	model->nodes[LEAF].ignored = 0xff;
	model->interval_us = US_PER_S;
	model_run(model, 400, &report, NULL);
	for (i = 0; i < DETAIL_ATTRIBUTE_COUNT; i++)
		assert_int_equal(model->nodes[LEAF].ports[1].details[i].reads, 0);
	assert_true(model->slow_requests_to[LEAF] < 4 * 6);
	assert_int_equal(report.sweeps_cut, 0);
	free(model);
}

static void take_link_down(struct model *model)
{
	if (model->sweeps == 3)
		model->nodes[LEAF].ports[1].down = true;
}

/* If no sweep completes, changes are detected, detail counters and tables are read all the same. */
static void every_task_proceeds_if_all_sweeps_are_cut(void **state)
{
	struct collector_report report;
	struct model *model = model_create(10);
	size_t i;
	int port;

	(void)state;
	model->traffic = false;
	model->interval_us = US_PER_S;
	model->max_mads_per_s = 60;
	model->routes_interval_us = 60 * US_PER_S;
	for (i = 0; i < HOST; i++)
		model->nodes[i].lft_top = 150;
	model->before_sweep = take_link_down;
	assert_int_equal(model_run(model, 1500, &report, NULL), 0);
	assert_true(report.sweeps_cut > 1480);
	for (i = 0; i < HOST; i++)
		assert_true(model->nodes[i].lft_reads >= 3);
	assert_int_equal(model_events_of(model, EVENT_LINK_DOWN), 1);
	/*
	 * A third of 25 turns, at least one; the two ends of the link that went down have had none.
	 */
	for (i = 0; i < MODEL_NODES; i++)
		for (port = 1; port <= MODEL_PORTS_MAX; port++)
			if (model->nodes[i].ports[port].has_first && model->nodes[i].ports[port].status != SAMPLE_DOWN)
				assert_true(model->nodes[i].ports[port].details[DETAIL_RCV_ERRORS].reads >= 1);
	routes_done(&model->routes);
	free(model);
}

static uint16_t extended_status_until(const struct model *model, uint64_t sweep)
{
	return model->sweeps < sweep ? 0x001c : 0;
}

static void fail_extended_counters(struct model *model)
{
	model->nodes[LEAF].extended_status = extended_status_until(model, 30);
	model->nodes[HOST].extended_status = extended_status_until(model, 30);
	/* Once, at all ports of a switch. */
	model->nodes[LEAF + 1].extended_status = extended_status_until(model, 1);
}

static bool is_read_wide(const struct model *model, size_t node)
{
	return model->nodes[node].ports[1].last.wide & COUNTER_BIT(COUNTER_XMIT_DATA);
}

/* A persistent error other than "unsupported": the port is read by PortCounters until it ends. */
static void a_port_with_failing_extended_counters_is_read_by_portcounters(void **state)
{
	struct model *model = model_create(12);
	const struct model_port *port = &model->nodes[HOST].ports[1], *switch_port = &model->nodes[LEAF].ports[1];

	(void)state;
	model->before_sweep = fail_extended_counters;
	fail_extended_counters(model);
	model->nodes[LEAF].caps.cap_mask = model->nodes[LEAF + 1].caps.cap_mask = PMA_CAP_EXTENDED;
	model->nodes[HOST].caps.cap_mask = PMA_CAP_EXTENDED;
	model_run(model, 5, NULL, NULL);
	assert_int_equal(port->status, SAMPLE_SILENT);
	assert_int_equal(switch_port->status, SAMPLE_SILENT);
	assert_true(is_read_wide(model, LEAF + 1));
	model_run(model, 12, NULL, NULL);
	assert_int_equal(port->status, SAMPLE_OK);
	assert_int_equal(switch_port->status, SAMPLE_OK);
	assert_false(is_read_wide(model, HOST) || is_read_wide(model, LEAF));
	model_run(model, 120, NULL, NULL);
	assert_true(is_read_wide(model, HOST) && is_read_wide(model, LEAF));
	assert_true(model_check(model) > 0);
	free(model);
}

static void toggle_hosts(struct model *model)
{
	size_t i;

	for (i = HOST; i < MODEL_NODES - 1; i++)
		model->nodes[i].silent = (model->sweeps + i) % 2;
}

/* Fifteen hosts that respond in every second sweep, for a long time. */
static void events_of_unstable_nodes_are_limited(void **state)
{
	struct model *model = model_create(11);

	(void)state;
	model->traffic = false;
	model->interval_us = US_PER_S;
	model->before_sweep = toggle_hosts;
	model_run(model, 45 * 60, NULL, NULL);
	/* Of some 20,000. */
	assert_in_range(model_events_of(model, EVENT_NODE_SILENT), 1700, 1760);
	assert_in_range(model_events_of(model, EVENT_EVENTS_LEFT_OUT), 30, 90);
	assert_true(model->event_count < MODEL_EVENTS_MAX);
	free(model);
}

static void change_lids_and_rates(struct model *model)
{
	struct model_node *node = &model->nodes[HOST + model_random(model) % MODEL_HOSTS];
	struct model_node *other = &model->nodes[model_random(model) % MODEL_NODES];
	uint16_t lid = node->lid;

	switch (model_random(model) % 12) {
	case 0:
		node->lid = other->lid;
		other->lid = lid;
		break;
	case 1:
		other->silent = !other->silent;
		break;
	case 2:
		model->store_us = (int64_t)(model_random(model) % 1200000);
		break;
	case 3:
		memset(node->ports[1].value, 0, sizeof(node->ports[1].value));
		break;
	case 4:
		other->caps_busy_once = other->busy_once = true;
		break;
	default:
		break;
	}
}

/*
 * LIDs are reassigned, sweeps are late, agents are busy: each reading is the port's own. Without
 * lost MADs and cut sweeps: with them, one of two exchanged nodes may be read alone and look
 * plausible.
 */
static void no_reading_is_added_to_another_port_under_random_faults(void **state)
{
	uint64_t seed;

	(void)state;
	for (seed = 500; seed < 500 + test_cases(40); seed++) {
		struct model *model = model_create(seed);
		int run;

		model->interval_us = US_PER_S;
		for (run = 0; run < 6; run++) {
			model->before_sweep = run ? change_lids_and_rates : NULL;
			model_run(model, 60, NULL, NULL);
		}
		assert_true(model_check(model) > 0);
		assert_true(model_check_details(model) > 0);
		free(model);
	}
}

static void request_stop(struct model *model)
{
	if (model->sweeps != 3)
		return;
	model->nodes[MODEL_NODES - 1].answer_us = 15000;
	model->stop_after = 5;
}

/* The collector is stopped while its query to the subnet manager is pending. */
static void a_stop_in_mid_sweep_reports_no_lost_sm(void **state)
{
	struct model *model = model_create(2);

	(void)state;
	stop_install();
	model->before_sweep = request_stop;
	model_run(model, 10, NULL, NULL);
	assert_true(stop_requested());
	assert_int_equal(model->sweeps, 4);
	assert_false(model->last_sweep.sm.known);
	assert_int_equal(model_events_of(model, EVENT_SM_LOST), 0);
	free(model);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(discovery_proceeds_despite_late_sweeps),
		cmocka_unit_test(discarded_readings_do_not_count_as_drops),
		cmocka_unit_test(a_redirection_to_another_node_adds_nothing),
		cmocka_unit_test(a_busy_node_is_queried_again),
		cmocka_unit_test(saturated_counters_are_not_reported_again_after_a_restart),
		cmocka_unit_test(links_that_stay_in_init_throttle_once),
		cmocka_unit_test(detail_counters_recover_after_rejections),
		cmocka_unit_test(a_switch_without_detail_counters_takes_no_time),
		cmocka_unit_test(every_task_proceeds_if_all_sweeps_are_cut),
		cmocka_unit_test(a_port_with_failing_extended_counters_is_read_by_portcounters),
		cmocka_unit_test(events_of_unstable_nodes_are_limited),
		cmocka_unit_test(no_reading_is_added_to_another_port_under_random_faults),
		/* The last one: a stop cannot be revoked. */
		cmocka_unit_test(a_stop_in_mid_sweep_reports_no_lost_sm),
	};

	log_init("test", LOG_LEVEL_NONE);
	return cmocka_run_group_tests(tests, NULL, NULL);
}
