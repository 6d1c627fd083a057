/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* The collector on persistently faulty fabrics, in virtual time. */
#include <signal.h>
#include <stdio.h>
#include <string.h>

#include "base/stop.h"
#include "base/test_cases.h"
#include "base/unit_test.h"
#include "collector/events.h"
#include "tests/world/lab.h"

/* The store always takes longer than the interval: topology changes are still detected. */
LAB_TEST(discovery_proceeds_despite_late_sweeps)
{
	lab->traffic = false;
	lab->run.settings.interval_us = US_PER_S;
	lab->store_us = 1200000;
	lab_run(lab, 1100);
	assert_true(lab->report.sweeps_late > 1000);
	/* Twenty-two minutes: at the start, and every ten. */
	assert_int_equal(lab->run.discoveries, 3);
}

static void give_lid_to_host_with_drops(struct lab *lab)
{
	uint16_t lid = lab->nodes[HOST].lid;

	if (lab->sweeps != 3)
		return;
	lab->nodes[HOST + 4].lid = lid;
	lab->nodes[HOST].lid = 500;
}

/* The total of another node's counter is not the number of datagrams dropped now. */
LAB_TEST(discarded_readings_do_not_count_as_drops)
{
	lab_port(lab, HOST + 4, 1)->now->value[COUNTER_VL15_DROPPED] = 1000;
	lab_run_with(lab, give_lid_to_host_with_drops, 6);
	assert_true(lab_events_of(lab, EVENT_NODE_LID) > 0);
	assert_int_equal(lab_events_of(lab, EVENT_THROTTLED), 0);
}

static void reassign_queue_pair(struct lab *lab)
{
	lab->run.world->qp_shift = lab->sweeps >= 5;
}

/* The redirection leads to another node now: its counts are discarded, and the node is queried. */
LAB_TEST(a_redirection_to_another_node_adds_nothing)
{
	const struct lab_port *port = lab_port(lab, HOST, 1);

	lab->agents[HOST].redirect = lab->nodes[LEAF].lid;
	lab_port(lab, HOST, 1)->now->value[COUNTER_XMIT_DATA] = UINT32_MAX / 2;
	lab_run_with(lab, reassign_queue_pair, 9);
	assert_int_equal(port->status, SAMPLE_OK);
	assert_false(port->sum.reset);
	assert_true(lab_check(lab) > 0);
	assert_int_equal(lab_events_of(lab, EVENT_COUNTERS_CLEARED), 0);
}

/* A busy status at the first query does not make the node unresponsive. */
LAB_TEST(a_busy_node_is_queried_again)
{
	lab->agents[LEAF].busy_once = PMA_CLASS_PORT_INFO;
	lab_run(lab, 1);
	assert_int_equal(lab_port(lab, LEAF, 1)->status, SAMPLE_OK);
	assert_int_equal(lab_events_of(lab, EVENT_NODE_SILENT), 0);
}

/* Agents that do not copy PortSelect: their counters are read, and each is reported once. */
LAB_TEST(an_agent_that_returns_no_port_is_read_and_reported_once)
{
	lab->agents[LEAF].no_port_select = lab->agents[HOST].no_port_select = true;
	lab_run(lab, 10);
	assert_int_equal(lab->report.ports_answered, LIVE_PORTS);
	assert_int_equal(lab_events_of(lab, EVENT_PORT_SELECT_ZERO), 2);
	assert_true(lab_check(lab) > 0);
}

/* Without 64-bit error counters an HCA's PortXmitWait has 32 bits; a switch is reported by port. */
LAB_TEST(a_full_xmit_wait_of_hcas_is_reported_once_for_all)
{
	lab->traffic = false;
	for (unsigned i = 1; i < 5; i++) {
		lab->agents[HOST + i].caps.cap_mask |= PMA_CAP_XMIT_WAIT;
		lab->agents[HOST + i].caps.cap_mask2 = 0;
		lab_port(lab, HOST + i, 1)->now->value[COUNTER_XMIT_WAIT] = UINT64_C(1) << 33;
	}
	lab->agents[1].caps.cap_mask |= PMA_CAP_XMIT_WAIT;
	lab_port(lab, 1, 1)->now->value[COUNTER_XMIT_WAIT] = UINT64_C(1) << 33;
	lab_run(lab, 5);
	assert_int_equal(lab_events_of(lab, EVENT_COUNTER_SATURATED), 2);
}

/* Counters that were saturated before the restart are not news. */
LAB_TEST(saturated_counters_are_not_reported_again_after_a_restart)
{
	lab->traffic = false;
	lab_port(lab, 1, 1)->now->value[COUNTER_LINK_DOWNED] = 300;
	lab_run(lab, 2);
	lab_run(lab, 2);
	assert_int_equal(lab_events_of(lab, EVENT_COUNTER_SATURATED), 1);
	lab_port(lab, 1, 1)->now->value[COUNTER_SYMBOL_ERRORS] = 70000;
	lab_run(lab, 2);
	assert_int_equal(lab_events_of(lab, EVENT_COUNTER_SATURATED), 2);
}

/* The links of a switch stay in Init for hours. A sweep checks a tenth of all links: one event. */
LAB_TEST(links_that_stay_in_init_throttle_once)
{
	lab->traffic = false;
	for (int port = 1; port <= 6; port++)
		lab_port(lab, LEAF, port)->init = true;
	lab_run(lab, 300);
	assert_int_equal(lab_events_of(lab, EVENT_THROTTLED), 1);
	assert_int_equal(lab_events_of(lab, EVENT_UNTHROTTLED), 0);
}

static uint64_t reads_before;

static void lose_mads_for_hours(struct lab *lab)
{
	lab->run.loss = lab->sweeps < 3000 ? 0.64 : 0;
	if (lab->sweeps == 3000 + 3600)
		reads_before = lab_reads_of(lab, DETAIL_XMIT_DISCARDS);
}

/* Lost queries do not prove that counters are unsupported: later all are read again. */
LAB_TEST(detail_counters_recover_after_rejections)
{
	lab->traffic = false;
	lab_run_with(lab, lose_mads_for_hours, 3000 + 3600 + 122);
	/* In each second turn a seldom attribute is read instead. */
	assert_in_range(lab_reads_of(lab, DETAIL_XMIT_DISCARDS) - reads_before, LIVE_PORTS, 2 * LIVE_PORTS);
	assert_true(lab_check_details(lab) > 0);
}

/* A switch that answers no detail query takes three timeouts for each, whatever its port count. */
LAB_TEST(a_switch_without_detail_counters_takes_no_time)
{
	lab->traffic = false;
	lab->agents[LEAF].ignored = UINT32_MAX;
	lab->run.settings.interval_us = US_PER_S;
	lab_run(lab, 400);
	for (int i = 0; i < DETAIL_ATTRIBUTE_COUNT; i++)
		assert_int_equal(lab_port(lab, LEAF, 1)->details[i].reads, 0);
	assert_true(lab->agents[LEAF].detail_queries < 4 * 20);
	assert_int_equal(lab->report.sweeps_cut, 0);
}

/* If no sweep completes, changes are detected, detail counters and tables are read all the same. */
LAB_TEST(every_task_proceeds_if_all_sweeps_are_cut)
{
	lab->traffic = false;
	lab->run.settings.interval_us = US_PER_S;
	lab->run.settings.engine.max_mads_per_s = 60;
	lab->run.settings.routes_interval_us = 60 * US_PER_S;
	lab_set_tables(lab);
	lab_during(lab, &lab_port(lab, LEAF, 1)->down, 3, 0);
	lab_run(lab, 1500);
	assert_true(lab->report.sweeps_cut > 1480);
	for (size_t i = 0; i < HOST; i++)
		assert_true(lab->agents[i].table_queries >= 3);
	assert_int_equal(lab_events_of(lab, EVENT_LINK_DOWN), 1);
	/*
	 * A third of 25 turns, at least one; the two ends of the link that went down have had none.
	 */
	for (size_t i = 0; i < LAB_NODES; i++)
		for (int port = 1; port <= LAB_SWITCH_PORTS; port++)
			if (lab_port(lab, i, port)->has_first && lab_port(lab, i, port)->status != SAMPLE_DOWN)
				assert_true(lab_port(lab, i, port)->details[DETAIL_RCV_ERRORS].reads >= 1);
}

static uint16_t extended_status_until(struct lab *lab, uint64_t sweep)
{
	return lab->sweeps < sweep ? 0x001c : 0;
}

static void fail_extended_counters(struct lab *lab)
{
	lab->agents[LEAF].extended_status = extended_status_until(lab, 30);
	lab->agents[HOST].extended_status = extended_status_until(lab, 30);
	/* Once, at all ports of a switch. */
	lab->agents[LEAF + 1].extended_status = extended_status_until(lab, 1);
}

static bool is_read_wide(struct lab *lab, size_t node)
{
	return lab_port(lab, node, 1)->last.wide & COUNTER_BIT(COUNTER_XMIT_DATA);
}

/* A persistent error other than "unsupported": the port is read by PortCounters until it ends. */
LAB_TEST(a_port_with_failing_extended_counters_is_read_by_portcounters)
{
	const struct lab_port *port = lab_port(lab, HOST, 1), *switch_port = lab_port(lab, LEAF, 1);

	lab->before_sweep = fail_extended_counters;
	fail_extended_counters(lab);
	lab->agents[LEAF].caps.cap_mask = lab->agents[LEAF + 1].caps.cap_mask = PMA_CAP_EXTENDED;
	lab->agents[HOST].caps.cap_mask = PMA_CAP_EXTENDED;
	lab_run(lab, 5);
	assert_int_equal(port->status, SAMPLE_SILENT);
	assert_int_equal(switch_port->status, SAMPLE_SILENT);
	assert_true(is_read_wide(lab, LEAF + 1));
	lab_run(lab, 12);
	assert_int_equal(port->status, SAMPLE_OK);
	assert_int_equal(switch_port->status, SAMPLE_OK);
	assert_false(is_read_wide(lab, HOST) || is_read_wide(lab, LEAF));
	lab_run(lab, 120);
	assert_true(is_read_wide(lab, HOST) && is_read_wide(lab, LEAF));
	assert_true(lab_check(lab) > 0);
}

static void toggle_hosts(struct lab *lab)
{
	for (size_t i = HOST; i < LAB_NODES - 1; i++)
		lab->agents[i].dead = (lab->sweeps + i) % 2;
}

/* Fifteen hosts that respond in every second sweep, for a long time. */
LAB_TEST(events_of_unstable_nodes_are_limited)
{
	lab->traffic = false;
	lab->run.settings.interval_us = US_PER_S;
	lab_run_with(lab, toggle_hosts, 45 * 60);
	/* Of some 20,000. */
	assert_in_range(lab_events_of(lab, EVENT_NODE_SILENT), 1700, 1760);
	assert_in_range(lab_events_of(lab, EVENT_EVENTS_LEFT_OUT), 30, 90);
	assert_true(lab->event_count < LAB_EVENTS_MAX);
}

static void rename_while_off(struct lab *lab)
{
	struct node *node = &lab->run.world->built->nodes[HOST];

	lab->nodes[HOST].absent = lab->sweeps >= 3 && lab->sweeps < 15;
	snprintf(node->desc, sizeof(node->desc), "%s", lab->sweeps >= 3 && lab->sweeps < 25 ? "new" : "node06");
}

/* A host returns with another name, and gets its name back while no link is down. */
LAB_TEST(a_host_that_returned_is_not_missing_under_its_former_name)
{
	lab->traffic = false;
	lab->run.settings.discovery_interval_us = 20 * US_PER_S;
	lab_run_with(lab, rename_while_off, 150);
	for (size_t i = 0; i < lab->event_count; i++)
		assert_null(strstr(lab->events[i].text, "node-missing"));
}

static void change_lids_and_rates(struct lab *lab)
{
	size_t host = HOST + lab_random(lab) % LAB_HOSTS, other = lab_random(lab) % LAB_NODES;
	struct agent *agent = &lab->agents[other];
	uint16_t lid = lab->nodes[host].lid;

	switch (lab_random(lab) % 12) {
	case 0:
		lab->nodes[host].lid = lab->nodes[other].lid;
		lab->nodes[other].lid = lid;
		break;
	case 1:
		agent->dead = !agent->dead;
		break;
	case 2:
		lab->store_us = (int64_t)(lab_random(lab) % 1200000);
		break;
	case 3:
		lab_clear(lab, host, 1);
		break;
	case 4:
		agent->busy_once = lab_random(lab) % 2 ? PMA_CLASS_PORT_INFO : PMA_PORT_COUNTERS;
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
TEST(no_reading_is_added_to_another_port_under_random_faults)
{
	for (uint64_t seed = 500; seed < 500 + test_cases(40); seed++) {
		struct lab *lab = lab_create(seed);

		lab->run.settings.interval_us = US_PER_S;
		for (int run = 0; run < 6; run++) {
			lab->before_sweep = run ? change_lids_and_rates : NULL;
			lab_run(lab, 60);
		}
		assert_true(lab_check(lab) > 0);
		assert_true(lab_check_details(lab) > 0);
		lab_destroy(lab);
	}
}

static void raise_sigterm(struct lab *lab)
{
	(void)lab;
	raise(SIGTERM);
}

static void request_stop(struct lab *lab)
{
	if (lab->sweeps != 3)
		return;
	lab->agents[LAB_NODES - 1].latency_us = 15000;
	lab->act = raise_sigterm;
	lab->act_after = 5;
}

/* The collector is stopped while its query to the subnet manager is pending. */
LAB_TEST(a_stop_in_mid_sweep_reports_no_lost_sm)
{
	stop_install();
	lab_run_with(lab, request_stop, 10);
	assert_true(stop_requested());
	assert_int_equal(lab->sweeps, 4);
	assert_false(lab->last_sweep.sm.known);
	assert_int_equal(lab_events_of(lab, EVENT_SM_LOST), 0);
}
