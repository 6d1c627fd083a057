/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* The collector on a simulated fabric in virtual time. */
#include <stdio.h>
#include <string.h>

#include "base/err.h"
#include "base/test_cases.h"
#include "base/unit_test.h"
#include "collector/details.h"
#include "collector/events.h"
#include "tests/world/lab.h"

LAB_TEST(every_live_port_is_read_and_sums_are_exact)
{
	size_t counters;

	lab_run(lab, 25);
	assert_int_equal(lab->report.sweeps, 25);
	assert_int_equal(lab->report.nodes, LAB_NODES);
	assert_int_equal(lab->report.ports_polled, LIVE_PORTS);
	assert_int_equal(lab->report.ports_answered, LIVE_PORTS);
	counters = lab_check(lab);
	assert_true(counters > LIVE_PORTS * 10);
	/* The last reading is the current value of the port. */
	assert_true(lab_port(lab, 0, 1)->last.value[COUNTER_XMIT_DATA] ==
		    lab_port(lab, 0, 1)->now->value[COUNTER_XMIT_DATA]);
	assert_true(lab->last_sweep.sm.known);
}

/* Capabilities are queried once per node; unsupported attributes are not queried. */
LAB_TEST(capabilities_are_asked_once)
{
	lab_run(lab, 10);
	/*
	 * Node 0 has four live ports with 64-bit error counters: PortCountersExtended, and at most
	 * once PortCounters; its turn of detail queries, which includes ClassPortInfo, comes after
	 * these sweeps. Node 5 (a leaf, six ports) has only 64-bit traffic counters: both.
	 */
	assert_in_range(lab->agents[0].queries, 1 + 10 * 4, 1 + 10 * 4 + 4);
	assert_int_equal(lab->agents[LEAF + 3].queries, 1 + 10 * 6 * 2);
}

/* PortCounters of such a port is the check of one sweep in sixty, with the turn of ClassPortInfo. */
LAB_TEST(portcounters_is_read_once_in_sixty_sweeps_if_all_counters_have_64_bits)
{
	lab_run(lab, 120);
	assert_in_range(lab->agents[0].queries, 1 + 120 * 4 + 2 * 4, 1 + 120 * 4 + 2 * (4 + 1));
	assert_true(lab_port(lab, 0, 1)->last.wide & COUNTER_BIT(COUNTER_SYMBOL_ERRORS));
	assert_int_equal(lab_events_of(lab, EVENT_COUNTERS_CONTRADICT), 0);
}

static unsigned queries_before;

static void note_queries(struct lab *lab)
{
	if (lab->sweeps == DETAILS_SWEEPS)
		queries_before = lab->agents[0].queries;
}

/* 64-bit error counters that are announced and do not count. */
LAB_TEST(errors_are_read_from_portcounters_if_the_64_bit_ones_are_smaller)
{
	const struct lab_port *port = lab_port(lab, 0, 1);
	size_t i;

	lab->traffic = false;
	lab->agents[0].errors_narrow = true;
	lab->before_sweep = note_queries;
	lab_port(lab, 0, 1)->now->value[COUNTER_RCV_ERRORS] = 7;
	lab_run(lab, DETAILS_SWEEPS + 10);
	assert_int_equal(lab_events_of(lab, EVENT_COUNTERS_CONTRADICT), 1);
	for (i = 0; strcmp(lab->events[i].kind, EVENT_COUNTERS_CONTRADICT) != 0; i++)
		;
	assert_true(lab->events[i].node_guid == lab_guid(0) && lab->events[i].port == 1);
	assert_non_null(strstr(lab->events[i].text, "rcv_errors"));
	/* Both attributes from then on, and maybe ClassPortInfo. */
	assert_in_range(lab->agents[0].queries - queries_before, 10 * 4 * 2, 10 * 4 * 2 + 1);
	assert_true(port->last.value[COUNTER_RCV_ERRORS] == 7);
	assert_true(port->last.wide & COUNTER_BIT(COUNTER_XMIT_DATA));
	assert_false(port->last.wide & COUNTER_BIT(COUNTER_RCV_ERRORS));
}

LAB_TEST(a_restart_is_one_longer_delta)
{
	for (int run = 0; run < 10; run++) {
		lab_run(lab, 1);
		lab->run.clock.sleep_until(&lab->run, lab->run.now_us + 7000000);
	}
	assert_int_equal(lab->sweeps, 10);
	assert_true(lab_check(lab) > 0);
	assert_true(lab_port(lab, LEAF, 1)->sum.elapsed_us > 9 * 7000000LL);
}

/* After a reboot CLOCK_BOOTTIME restarts: the wall clock bridges it, and no counts are lost. */
LAB_TEST(a_reboot_keeps_the_counts)
{
	uint64_t first, sum, last;

	lab_run(lab, 3);
	lab->run.wall_us += lab->run.now_us + 60000000;
	lab->run.now_us = 5000000;
	snprintf(lab->run.boot_id, sizeof(lab->run.boot_id), "boot-2");
	lab_run(lab, 3);
	first = lab_port(lab, 1, 1)->first.value[COUNTER_RCV_DATA];
	sum = lab_port(lab, 1, 1)->sum.value[COUNTER_RCV_DATA];
	last = lab_port(lab, 1, 1)->last.value[COUNTER_RCV_DATA];
	assert_true(first + sum == last);
	/* 20 s before, 60 s of reboot and 5 s until the first sweep, 20 s after; and a little for each sweep. */
	assert_in_range(lab_port(lab, 1, 1)->sum.elapsed_us, 100000000, 110000000);
}

/* The clock came up hours behind: readings before the boot are still older than the boot. */
LAB_TEST(a_reboot_with_a_clock_that_is_behind_loses_no_counts)
{
	const struct lab_port *port = lab_port(lab, 1, 1);

	lab_run(lab, 3);
	lab->run.wall_us -= 2 * 3600 * US_PER_S;
	lab->run.now_us = 30000000;
	snprintf(lab->run.boot_id, sizeof(lab->run.boot_id), "boot-2");
	lab_run(lab, 3);
	assert_true(port->first.value[COUNTER_RCV_DATA] + port->sum.value[COUNTER_RCV_DATA] ==
		    port->last.value[COUNTER_RCV_DATA]);
	/* 20 s before, at least 30 s since the boot, 20 s after. */
	assert_in_range(port->sum.elapsed_us, 70000000, 80000000);
}

LAB_TEST(an_unresponsive_node_is_reported_once_and_catches_up)
{
	lab_run(lab, 2);
	lab->agents[LEAF].dead = true;
	lab_run(lab, 4);
	assert_int_equal(lab->report.ports_answered, LIVE_PORTS - 6);
	assert_int_equal(lab_port(lab, LEAF, 1)->status, SAMPLE_BACKOFF);
	assert_int_equal(lab_port(lab, LEAF + 1, 1)->status, SAMPLE_OK);
	assert_int_equal(lab_events_of(lab, EVENT_NODE_SILENT), 1);
	lab->agents[LEAF].dead = false;
	lab_run(lab, 2);
	assert_int_equal(lab->report.ports_answered, LIVE_PORTS);
	assert_true(lab_check(lab) > 0);
}

/* The hosts of an unresponsive leaf cannot be reached: the leaf alone is reported. */
LAB_TEST(a_silent_leaf_is_one_event)
{
	lab->no_downs = true;
	for (size_t i = 0; i < LAB_HOSTS / LAB_LEAVES; i++)
		lab_during(lab, &lab->agents[HOST + i].dead, 5, 10);
	lab_during(lab, &lab->agents[LEAF].dead, 5, 10);
	lab_run(lab, 20);
	assert_int_equal(lab_events_of(lab, EVENT_NODE_SILENT), 1);
	assert_int_equal(lab_events_of(lab, EVENT_NODE_ANSWERS), 1);
}

static void fail_leaf(struct lab *lab)
{
	lab->agents[LEAF].dead = lab->sweeps >= 2;
	if (lab->sweeps == 2)
		lab->agents[LEAF].queries = 0;
}

/*
 * Three MADs and one SMP in the sweep in which a node becomes unresponsive, and soon one MAD per
 * sweep.
 */
TEST(an_unresponsive_node_costs_one_query_per_sweep)
{
	struct lab *lab = lab_create(6);

	lab_run_with(lab, fail_leaf, 3);
	assert_int_equal(lab->report.mads_timed_out, 4);
	assert_int_equal(lab->agents[LEAF].queries, 3);
	/* 20 ms for the three MADs and 5 ms for the SMP, in addition to the other nodes. */
	assert_true(lab->report.sweep_us < 30000);
	assert_int_equal(lab_port(lab, LEAF, 1)->status, SAMPLE_SILENT);
	lab_destroy(lab);
	lab = lab_create(6);
	lab_run_with(lab, fail_leaf, 12);
	assert_int_equal(lab->report.mads_timed_out, 1);
	assert_int_equal(lab->agents[LEAF].queries, 3 * 3 + 7 * 1);
	assert_int_equal(lab_port(lab, LEAF, 1)->status, SAMPLE_BACKOFF);
	lab_destroy(lab);
}

TEST(a_fifth_of_all_mads_is_lost)
{
	for (uint64_t seed = 200; seed < 200 + test_cases(30); seed++) {
		struct lab *lab = lab_create(seed);

		lab_run(lab, 1);
		lab->run.loss = 0.36;
		for (size_t i = 0; i < LAB_NODES; i++)
			for (int port = 0; port <= LAB_SWITCH_PORTS; port++)
				lab_port(lab, i, port)->sum = (struct delta){ 0 };
		lab_run(lab, 3);
		/*
		 * Each port that was read before the losses has been read again, with correct
		 * counters.
		 */
		for (size_t i = 0; i < LAB_NODES; i++)
			for (int port = 1; port <= LAB_SWITCH_PORTS; port++)
				if (lab_port(lab, i, port)->has_first)
					assert_true(lab_port(lab, i, port)->sum.elapsed_us > 0);
		lab->run.loss = 0;
		lab_run(lab, 1);
		lab_destroy(lab);
	}
}

/* One port; a minute later two more, which are the first of all. */
static void clear_counters(struct lab *lab)
{
	size_t reported = lab_events_of(lab, EVENT_COUNTERS_CLEARED);

	if (lab->sweeps == 3 || lab->sweeps == 13)
		lab_clear(lab, 0, 2);
	if (lab->sweeps == 13)
		lab_clear(lab, 0, 3);
	for (size_t i = 0; lab->sweeps == 15 && i < LAB_NODES; i++)
		for (int port = 1; port <= LAB_SWITCH_PORTS; port++)
			lab_clear(lab, i, port);
	/* Each one is reported in the sweep that detects it. */
	assert_int_equal(reported, lab->sweeps < 4 ? 0 : lab->sweeps < 14 ? 1 : lab->sweeps < 16 ? 3 : 2);
}

LAB_TEST(cleared_counters_are_marked_and_reported)
{
	struct event last = { 0 };

	lab_run_with(lab, clear_counters, 16);
	/* One port alone, then the whole fabric as one event, in order of time. */
	assert_int_equal(lab_events_of(lab, EVENT_COUNTERS_CLEARED), 2);
	for (size_t i = 0; i < lab->event_count; i++)
		if (!strcmp(lab->events[i].kind, EVENT_COUNTERS_CLEARED))
			last = lab->events[i];
	assert_non_null(strstr(last.text, " ports"));
	assert_int_equal(last.node_guid, 0);
	assert_true(last.wall_us >= lab->last_sweep.wall_us);
	assert_non_null(strstr(last.text, " externally in "));
	assert_true(lab_port(lab, 0, 2)->sum.reset & COUNTER_BIT(COUNTER_RCV_DATA));
	lab_check(lab);
}

LAB_TEST(a_saturated_counter_is_reported_once)
{
	lab->traffic = false;
	lab_port(lab, 1, 1)->now->value[COUNTER_LINK_DOWNED] = 300;
	lab_run(lab, 5);
	assert_int_equal(lab_events_of(lab, EVENT_COUNTER_SATURATED), 1);
	assert_int_equal(lab_port(lab, 1, 1)->last.value[COUNTER_LINK_DOWNED], 255);
	assert_true(lab_port(lab, 1, 1)->sum.saturated & COUNTER_BIT(COUNTER_LINK_DOWNED));
	assert_true(lab_port(lab, 1, 1)->sum.known & COUNTER_BIT(COUNTER_LINK_DOWNED));
}

static void remove_device(struct lab *lab)
{
	lab->run.removed = lab->sweeps == 3;
}

/* A run ends with its device, and the next one continues when that has returned. */
LAB_TEST(a_removed_device_and_its_return_are_reported)
{
	const struct event *last = lab->events;

	lab->before_sweep = remove_device;
	assert_int_equal(lab_try(lab, 0), ERR_UNAVAILABLE);
	assert_int_equal(lab->sweeps, 3);
	last += lab->event_count - 1;
	assert_string_equal(last->kind, EVENT_DEVICE_REMOVED);
	assert_string_equal(last->text, "mlx5_0 port 1 of this host was removed");
	assert_true(last->wall_us > lab->last_sweep.wall_us);
	lab->before_sweep = NULL;
	lab->run.removed = false;
	lab->run.wire.device_returned = true;
	lab->run.now_us += 120 * US_PER_S;
	lab_run(lab, 3);
	assert_int_equal(lab_events_of(lab, EVENT_DEVICE_REMOVED), 1);
	assert_int_equal(lab_events_of(lab, EVENT_DEVICE_RETURNED), 1);
	assert_int_equal(lab_events_of(lab, EVENT_NODE_SILENT) + lab_events_of(lab, EVENT_FABRIC_SILENT), 0);
	assert_int_equal(lab_events_of(lab, EVENT_NODE_REMOVED) + lab_events_of(lab, EVENT_LINK_DOWN), 0);
	assert_true(lab_check(lab) > LIVE_PORTS * 10);
}

static void fill_disk_temporarily(struct lab *lab)
{
	lab->store_fails = lab->run.now_us > 50000000 && lab->run.now_us < 90000000;
}

LAB_TEST(a_store_that_fails_loses_nothing)
{
	lab_run_with(lab, fill_disk_temporarily, 20);
	assert_true(lab->report.sweeps < 20 && lab->report.sweeps > 10);
	assert_int_equal(lab->report.sweeps_made, 20);
	assert_int_equal(lab->report.unstored.code, 0);
	assert_true(lab_check(lab) > 0);
	assert_int_equal(lab_events_of(lab, EVENT_STORE_FAILED), 1);
	/* A single sweep that cannot be stored is an error. */
	lab->store_fails = true;
	lab->before_sweep = NULL;
	assert_int_equal(lab_try(lab, 1), ERR_IO);
}

LAB_TEST(a_collector_ends_if_another_one_stores)
{
	lab_during(lab, &lab->store_taken, 4, 0);
	assert_int_equal(lab_try(lab, 7), ERR_UNAVAILABLE);
	assert_string_equal(lab->err.text, "another process stores sweeps");
	assert_int_equal(lab->report.sweeps_made, lab->report.sweeps + 1);
}

LAB_TEST(a_collector_ends_if_its_store_has_ended)
{
	lab_during(lab, &lab->store_ended, 4, 0);
	assert_int_equal(lab_try(lab, 7), ERR_IO);
	assert_string_equal(lab->err.text, "the database was moved");
	assert_int_equal(lab->report.sweeps_made, lab->report.sweeps + 1);
}

LAB_TEST(the_report_contains_the_error_of_unstored_sweeps)
{
	lab_during(lab, &lab->store_fails, 4, 0);
	lab_run(lab, 7);
	assert_int_equal(lab->report.sweeps_made, 7);
	assert_int_equal(lab->report.sweeps, lab->sweeps);
	assert_true(lab->report.sweeps < 7);
	assert_int_equal(lab->report.unstored.code, ERR_IO);
	assert_string_equal(lab->report.unstored.text, "the disk is full");
}

/* The response with the 64-bit traffic counters sets the time, even if the other one is later. */
LAB_TEST(a_busy_response_does_not_set_the_time_of_the_reading)
{
	lab->agents[0].busy_once = PMA_PORT_COUNTERS;
	lab_run(lab, 1);
	assert_int_equal(lab->agents[0].busy_once, 0);
	assert_int_equal(lab_port(lab, 0, 1)->status, SAMPLE_OK);
	assert_true(lab_port(lab, 0, 1)->last.at_us < lab_port(lab, 0, 2)->last.at_us);
}

LAB_TEST(nodes_without_counters_are_unsupported)
{
	lab->agents[HOST].no_counters = true;
	lab->agents[HOST + 1].no_caps = true;
	lab_run(lab, 2);
	assert_int_equal(lab_port(lab, HOST, 1)->status, SAMPLE_UNSUPPORTED);
	assert_int_equal(lab_port(lab, HOST + 1, 1)->status, SAMPLE_OK);
	assert_int_equal(lab_port(lab, HOST + 1, 1)->last.wide, 0);
	assert_int_equal(lab->report.ports_answered, LIVE_PORTS - 1);
}

/* A node redirects its queries: later ones are sent to the other address directly. */
LAB_TEST(a_redirection_is_followed_and_remembered)
{
	uint64_t queried;

	lab->agents[HOST].redirect = lab->nodes[LEAF].lid;
	lab_run(lab, 5);
	assert_int_equal(lab->report.ports_answered, LIVE_PORTS);
	queried = lab->agents[HOST].queries;
	/*
	 * ClassPortInfo twice, the second at the other address; five times the two attributes of a
	 * port.
	 */
	assert_in_range(queried, 2 + 5, 2 + 5 * 2 + 1);
	assert_true(lab_check(lab) > 0);
	assert_int_equal(lab_port(lab, HOST, 1)->last.value[COUNTER_RCV_DATA] & UINT32_MAX,
			 lab_port(lab, HOST, 1)->now->value[COUNTER_RCV_DATA] & UINT32_MAX);
	/* The other node is removed: the node itself is queried again. */
	lab->agents[HOST].redirect = lab->nodes[LEAF + 1].lid;
	lab->agents[LEAF].dead = true;
	lab_run(lab, 3);
	assert_int_equal(lab_port(lab, HOST, 1)->status, SAMPLE_OK);
}

/* A single cause, not fifteen broken hosts. */
LAB_TEST(hcas_unresponsive_together_are_one_event)
{
	for (size_t i = HOST; i < OWN_HOST; i++)
		lab_during(lab, &lab->agents[i].dead, 2, 5);
	lab_run(lab, 10);
	assert_int_equal(lab_events_of(lab, EVENT_HCAS_SILENT), 1);
	assert_int_equal(lab_events_of(lab, EVENT_HCAS_ANSWER), 1);
	assert_int_equal(lab_events_of(lab, EVENT_NODE_SILENT), 0);
	assert_int_equal(lab_events_of(lab, EVENT_NODE_ANSWERS), 0);
}

/* Random faults: unresponsive nodes, links down, cleared counters, lost MADs. */
static void inject_random_faults(struct lab *lab)
{
	size_t index = lab_random(lab) % LAB_NODES;
	struct agent *agent = &lab->agents[index];
	struct lab_node *node = &lab->nodes[index];

	switch (lab_random(lab) % 8) {
	case 0:
		agent->dead = !agent->dead;
		break;
	case 1:
		node->ports[1].down = !node->ports[1].down;
		break;
	case 2:
		memset(node->ports[1].now, 0, sizeof(*node->ports[1].now));
		break;
	case 3:
		node->absent = !node->absent && lab_random(lab) % 3 == 0;
		break;
	case 4:
		lab->store_fails = lab_random(lab) % 4 == 0;
		break;
	case 5:
		lab->run.wall_us += (int64_t)(lab_random(lab) % 7200) * US_PER_S - 3600 * US_PER_S;
		break;
	case 6:
		agent->fec_mode = (uint8_t)(lab_random(lab) % 5);
		agent->redirect = lab_random(lab) % 2 ? lab->nodes[LEAF].lid : 0;
		break;
	case 7:
		lab->drops = !lab->drops;
		agent->rejected = (uint8_t)(lab_random(lab) % 32 == 0 ? 0xff : 0);
		break;
	default:
		break;
	}
	lab->run.loss = (double)(lab_random(lab) % 36) / 100;
}

TEST(sums_are_exact_or_marked_under_random_faults)
{
	for (uint64_t seed = 100; seed < 100 + test_cases(30); seed++) {
		struct lab *lab = lab_create(seed);

		for (int run = 0; run < 5; run++) {
			lab->before_sweep = run ? inject_random_faults : NULL;
			lab_run(lab, 40);
			lab->store_fails = false;
		}
		assert_true(lab->sweeps > 50);
		assert_true(lab_check(lab) > 0);
		assert_true(lab_check_details(lab) > 0);
		lab_destroy(lab);
	}
}
