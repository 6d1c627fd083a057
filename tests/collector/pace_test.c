/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * Rate and scope of polling: cut sweeps, half the rate, switches only; and steps of the wall clock.
 */
#include <string.h>

#include "base/unit_test.h"
#include "collector/events.h"
#include "tests/world/lab.h"

/* More than fits the interval: readings are stored on time, the others come first next time. */
LAB_TEST(a_sweep_that_is_too_long_is_cut_and_the_next_starts_on_time)
{
	int64_t began_us;

	lab_run(lab, 1);
	lab->run.settings.interval_us = US_PER_S;
	lab->run.settings.engine.max_mads_per_s = 60;
	for (size_t i = 0; i < LAB_NODES; i++)
		for (int port = 0; port <= LAB_SWITCH_PORTS; port++)
			lab_port(lab, i, port)->sum = (struct delta){ 0 };
	began_us = lab->run.now_us;
	lab_run(lab, 10);
	assert_int_equal(lab->report.sweeps, 10);
	/* The first one also verified LIDs at that rate. */
	assert_true(lab->report.sweeps_late <= 1);
	assert_int_equal(lab->report.sweeps_cut, 10);
	assert_true(lab->report.ports_unfinished > 10);
	/* Nine intervals and a sweep, and the discovery. */
	assert_in_range(lab->run.now_us - began_us, 9000000, 10200000);
	assert_int_equal(lab_events_of(lab, EVENT_SWEEP_CUT), 1);
	assert_int_equal(lab_events_of(lab, EVENT_NODE_SILENT), 0);
	for (size_t i = 0; i < LAB_NODES; i++)
		for (int port = 1; port <= LAB_SWITCH_PORTS; port++)
			if (lab_port(lab, i, port)->has_first)
				assert_true(lab_port(lab, i, port)->sum.elapsed_us > 0);
	lab->run.settings.engine.max_mads_per_s = 0;
	lab_run(lab, 1);
}

static void drop_datagrams(struct lab *lab)
{
	lab->drops = lab->sweeps >= 3 && lab->sweeps < 8;
	if (lab->drops)
		lab_port(lab, HOST + 3, 1)->now->value[COUNTER_VL15_DROPPED] += 100;
}

LAB_TEST(the_rate_is_halved_while_agents_drop_datagrams)
{
	lab_run_with(lab, drop_datagrams, 7);
	assert_int_equal(lab_events_of(lab, EVENT_THROTTLED), 1);
	assert_int_equal(lab_events_of(lab, EVENT_UNTHROTTLED), 0);
	for (size_t i = 0; i < lab->event_count; i++)
		if (!strcmp(lab->events[i].kind, EVENT_THROTTLED))
			assert_int_equal(lab->events[i].node_guid, lab_guid(HOST + 3));
	lab->sweeps = 0;
	lab_run(lab, 22);
	assert_int_equal(lab_events_of(lab, EVENT_THROTTLED), 2);
	assert_int_equal(lab_events_of(lab, EVENT_UNTHROTTLED), 1);
}

static void bring_links_up(struct lab *lab)
{
	for (size_t i = 0; i < LAB_NODES; i++)
		for (int port = 1; port <= LAB_SWITCH_PORTS; port++)
			lab_port(lab, i, port)->init = lab->sweeps >= 3 && lab->sweeps < 6;
	/* A hint of a change at the same time: discovery is deferred, but not forgotten. */
	if (lab->sweeps == 4)
		lab_port(lab, 0, 1)->now->value[COUNTER_LINK_DOWNED]++;
}

LAB_TEST(rate_and_discovery_are_limited_while_the_sm_is_active)
{
	lab->traffic = false;
	lab_run_with(lab, bring_links_up, 6);
	assert_int_equal(lab_events_of(lab, EVENT_THROTTLED), 1);
	assert_int_equal(lab->run.discoveries, 1);
	lab->sweeps = 6;
	lab_run_with(lab, NULL, 12);
	assert_true(lab->run.discoveries >= 2);
}

/* HCAs are not polled: their ports are no gaps, and are sent no query. */
LAB_TEST(only_switches_are_polled_if_configured)
{
	lab->run.settings.switches_only = true;
	lab_run(lab, 5);
	assert_int_equal(lab->report.ports_polled, LIVE_PORTS - LAB_HOSTS);
	assert_int_equal(lab->report.ports_answered, LIVE_PORTS - LAB_HOSTS);
	for (size_t i = HOST; i < LAB_NODES; i++) {
		assert_int_equal(lab_port(lab, i, 1)->status, SAMPLE_UNPLANNED);
		assert_int_equal(lab->agents[i].queries + lab->agents[i].detail_queries, 0);
	}
	assert_int_equal(lab_events_of(lab, EVENT_NODE_SILENT), 0);
}

static void step_wall_clock(struct lab *lab)
{
	if (lab->sweeps == 3)
		lab->run.wall_us -= 3600 * US_PER_S;
}

/* Rates and order do not depend on the wall clock. */
LAB_TEST(a_step_of_the_wall_clock_is_reported_and_affects_no_rate)
{
	lab_run_with(lab, step_wall_clock, 8);
	assert_int_equal(lab_events_of(lab, EVENT_CLOCK_STEPPED), 1);
	assert_in_range(lab_port(lab, 0, 1)->sum.elapsed_us, 69900000, 70100000);
	lab_check(lab);
}

LAB_TEST(planes_are_reported_once_and_not_polled)
{
	size_t i;

	lab->nodes[HOST].planes = lab->nodes[HOST + 1].planes = true;
	lab_run(lab, 12);
	assert_int_equal(lab_events_of(lab, EVENT_LAYOUT_UNSUPPORTED), 2);
	for (i = 0; strcmp(lab->events[i].kind, EVENT_LAYOUT_UNSUPPORTED) != 0; i++)
		;
	assert_true(lab->events[i].node_guid == lab_guid(HOST));
	assert_non_null(strstr(lab->events[i].text, "2 ports share one GUID"));
	assert_int_equal(lab->agents[HOST].queries + lab->agents[HOST].detail_queries, 0);
	assert_false(lab_port(lab, HOST, 1)->has_first);
	assert_int_equal(lab_port(lab, HOST, 1)->status, SAMPLE_UNSUPPORTED);
	/* They delay no sweep, and are neither unresponsive nor locked. */
	assert_int_equal(lab->report.ports_answered, lab->report.ports_polled);
	assert_int_equal(lab_events_of(lab, EVENT_NODE_SILENT) + lab_events_of(lab, EVENT_NODE_LOCKED), 0);
	/* The connected switch ports are polled. */
	assert_true(lab_port(lab, LAB_SPINES, LAB_SPINES + 1)->has_first);
	assert_true(lab_port(lab, HOST + 2, 1)->has_first);
	assert_true(lab_check(lab) > 0);
}

/* Detail queries after the planes are known, and later. */
static unsigned slow_before;

static void add_planes(struct lab *lab)
{
	if (lab->sweeps == 64)
		slow_before = lab->agents[HOST].detail_queries;
	if (lab->sweeps == 3)
		lab->nodes[HOST].planes = true;
	if (lab->sweeps == 80)
		lab->nodes[HOST].planes = false;
}

/* New firmware makes two planes of a port, and one again: its counters stop and continue. */
LAB_TEST(planes_that_come_and_go_are_tracked)
{
	lab_run_with(lab, add_planes, 79);
	assert_true(slow_before > 0);
	assert_int_equal(lab->agents[HOST].detail_queries, slow_before);
	assert_int_equal(lab_events_of(lab, EVENT_LAYOUT_UNSUPPORTED), 1);
	assert_int_equal(lab_port(lab, HOST, 1)->status, SAMPLE_UNSUPPORTED);
	lab_run(lab, 70);
	assert_int_equal(lab_port(lab, HOST, 1)->status, SAMPLE_OK);
	assert_true(lab_check(lab) > 0);
}

static void silence_all_others(struct lab *lab)
{
	for (size_t i = 0; i < OWN_HOST; i++)
		lab->agents[i].dead = lab->sweeps >= 2 && (i >= HOST || lab->sweeps >= 6);
}

/* Planes are not polled and do not respond, so they do not hide that all other nodes fail. */
LAB_TEST(planes_do_not_count_as_responses)
{
	lab->nodes[HOST].planes = lab->nodes[HOST + 1].planes = true;
	lab_run_with(lab, silence_all_others, 5);
	assert_int_equal(lab_events_of(lab, EVENT_HCAS_SILENT), 1);
	lab_run(lab, 4);
	assert_int_equal(lab_events_of(lab, EVENT_FABRIC_SILENT), 1);
	assert_int_equal(lab_events_of(lab, EVENT_NODE_SILENT), 0);
}
