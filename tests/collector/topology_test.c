/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* Events of a topology that changes, and of one that only appears to change. */
#include <stdio.h>
#include <string.h>

#include "base/clock.h"
#include "base/err.h"
#include "base/unit_test.h"
#include "collector/events.h"
#include "fabric/netfile.h"
#include "fabric/plan.h"
#include "tests/world/lab.h"
#include "wire/mad.h"

/* Counters do not change, so they indicate no change of the topology. */
static int setup(void **state)
{
	struct lab *lab = *state = lab_create(1);

	lab->traffic = false;
	return 0;
}

/* There is no earlier topology to compare with, but discovery reports that it lost something. */
LAB_TEST_WITH(nodes_lost_by_the_first_discovery_are_found, setup)
{
	lab->agents[HOST + 1].desc_lost = true;
	lab_run(lab, 40);
	assert_int_equal(lab->run.discoveries, 2);
}

/* Its agents fail and its link is up: discovery finds no node behind it. */
static void fail_and_restore_host(struct lab *lab)
{
	bool dead = lab->sweeps >= 3 && lab->sweeps < 30;

	if (dead != lab->agents[HOST].hidden)
		lab_port(lab, LEAF, 3)->now->value[COUNTER_LINK_DOWNED]++;
	lab->agents[HOST].hidden = dead;
	lab->agents[HOST].dead = dead;
}

LAB_TEST_WITH(an_unresponsive_node_behind_a_link_is_kept, setup)
{
	lab_run_with(lab, fail_and_restore_host, 31);
	assert_true(lab->run.parts > 0);
	/* It was polled all the time: the sweep in which it responded again has read it. */
	assert_int_equal(lab->report.ports_answered, LIVE_PORTS);
	assert_int_equal(lab_port(lab, HOST, 1)->status, SAMPLE_OK);
	assert_int_equal(lab_events_of(lab, EVENT_NODE_SILENT), 1);
	assert_int_equal(lab_events_of(lab, EVENT_NODE_ANSWERS), 1);
	assert_int_equal(lab_events_of(lab, EVENT_NODE_REMOVED), 0);
	assert_int_equal(lab_events_of(lab, EVENT_NODE_ADDED), 0);
	assert_int_equal(lab_events_of(lab, EVENT_PEER_CHANGED), 0);
}

/* A spine's link goes down and does not return to its former state, or only the next time. */
static void retrain_link(struct lab *lab)
{
	struct lab_port *port = lab_port(lab, 0, 1);

	port->init = !port->init;
	port->now->value[COUNTER_LINK_DOWNED]++;
}

/* A new LID. For the route checks, a LID above LinearFDBTop has no route. */
static void raise_lft_top(struct lab *lab)
{
	const struct fabric *stored = lab->last_sweep.fabric;

	assert_int_equal(stored->nodes[fabric_find_node(stored, lab_guid(LEAF))].lft_top, lab->sweeps > 5 ? 200 : 180);
	if (lab->sweeps == 5)
		lab->run.world->built->nodes[LEAF].lft_top = 200;
}

LAB_TEST_WITH(a_new_linear_fdb_top_needs_no_discovery, setup)
{
	lab->run.world->built->nodes[LEAF].lft_top = 180;
	lab_run_with(lab, raise_lft_top, 7);
	assert_int_equal(lab->run.discoveries, 1);
}

static void change_adaptive_routing(struct lab *lab)
{
	const struct fabric *stored = lab->last_sweep.fabric;

	lab->agents[1].adaptive = lab->sweeps < 10;
	/* The state is in the fabric of the sweep that queried it, and remains. */
	for (uint32_t i = 0; lab->sweeps > 5 && lab->sweeps < 10 && i < LAB_NODES; i++)
		assert_int_equal(stored->nodes[fabric_find_node(stored, lab_guid(i))].adaptive,
				 i < 2 ? ADAPTIVE_ON : i < HOST && i != LEAF && i != LEAF + 1 ? ADAPTIVE_OFF :
				 ADAPTIVE_UNKNOWN);
}

LAB_TEST(adaptive_routing_is_read_with_each_discovery)
{
	for (size_t i = 0; i < LAB_NODES; i++)
		lab->run.world->built->nodes[i].vendor_id = i != LEAF ? 0x2c9 : 0x1234;
	lab->agents[0].adaptive = true;
	lab->agents[LEAF + 1].rejected_smp = SMP_MLNX_ADAPTIVE_ROUTING_INFO;
	lab_run_with(lab, change_adaptive_routing, 5);
	assert_int_equal(lab_events_of(lab, EVENT_ADAPTIVE_ROUTING), 0);
	lab->run.settings.adaptive_routing = true;
	lab->run.settings.discovery_interval_us = 60 * INT64_C(1000000);
	lab_run(lab, 20);
	for (size_t i = 0; i < LAB_NODES; i++)
		assert_int_equal(lab->agents[i].adaptive_queries > 0, i < HOST && i != LEAF && i != LEAF + 1);
	assert_true(lab->agents[0].adaptive_queries <= lab->run.discoveries);
	/* The first reading, and one change. */
	assert_int_equal(lab_events_of(lab, EVENT_ADAPTIVE_ROUTING), 2);
	for (size_t i = 0, found = 0; i < lab->event_count; i++)
		if (!strcmp(lab->events[i].kind, EVENT_ADAPTIVE_ROUTING))
			assert_string_equal(lab->events[i].text, found++ ? "adaptive routing of node01 is now off" :
					    "adaptive routing is on at 2 switches and off at 2");
}

static bool file_changed;

static const char *topology_file(void *ctx, bool *ret_changed)
{
	(void)ctx;
	*ret_changed = file_changed;
	file_changed = false;
	return "FILE of TIME";
}

/* Its links go down and agents fail, which without a file would cause discoveries. */
static void remove_hosts(struct lab *lab)
{
	if (lab->sweeps == 3)
		retrain_link(lab);
	for (size_t i = 0; i < 6; i++)
		lab->nodes[HOST + i].absent = lab->sweeps >= 5;
	file_changed = lab->sweeps == 10;
}

LAB_TEST(a_topology_of_a_file_needs_no_smps)
{
	lab->run.discoverer.file = topology_file;
	lab_run_with(lab, remove_hosts, 5);
	assert_int_equal(lab->report.ports_answered, LIVE_PORTS);
	assert_int_equal(lab->run.discoveries, 1);
	lab_run(lab, 20);
	/* At the start of each collector, and when the file changed: the smaller fabric is accepted at once. */
	assert_int_equal(lab->run.discoveries, 3);
	assert_int_equal(lab_events_of(lab, EVENT_TOPOLOGY_FILE), 3);
	assert_int_equal(lab_events_of(lab, EVENT_NODE_REMOVED), 6);
	assert_int_equal(lab->report.ports_answered, LIVE_PORTS - 12);
	assert_int_equal(lab->report.ports_polled, LIVE_PORTS - 12);
	assert_int_equal(lab->run.smps_by_lid + lab->run.smps_by_path, 0);
	assert_int_equal(lab->last_sweep.sm.state, SM_NOT_QUERIED);
	assert_int_equal(lab_events_of(lab, EVENT_SM_LOST), 0);
	assert_true(lab_check(lab) > 0);
	assert_true(lab_check_details(lab) > 0);
}

/* The node behind the cable is unknown: the port is explored again, with increasing delay. */
LAB_TEST_WITH(a_node_unresponsive_at_the_first_discovery_is_found, setup)
{
	lab_during(lab, &lab->agents[HOST].hidden, 0, 12);
	lab_during(lab, &lab->agents[HOST].dead, 0, 12);
	lab_run(lab, 40);
	assert_int_equal(lab->report.ports_answered, LIVE_PORTS);
	assert_int_equal(lab_events_of(lab, EVENT_NODE_ADDED), 1);
	/*
	 * After 5, 10, 20, 40 and 80 s; the next one finds it. This is a change, after which none
	 * is left.
	 */
	assert_in_range(lab->run.parts, 3, 6);
	assert_int_equal(lab->run.discoveries, 1);
}

static void hang_host_permanently(struct lab *lab)
{
	lab->agents[HOST].hidden = lab->agents[HOST].dead = true;
	if (lab->sweeps % 20 == 10)
		retrain_link(lab);
}

LAB_TEST_WITH(a_node_that_never_responds_costs_little, setup)
{
	hang_host_permanently(lab);
	lab_run_with(lab, hang_host_permanently, 360);
	/*
	 * An hour: 8 until they are ten minutes apart, 6 more at most, and one or two for each of
	 * 18 changes.
	 */
	assert_in_range(lab->run.discoveries + lab->run.parts, 8, 50);
	assert_int_equal(lab->run.discoveries, 6);
}

static void lose_occasional_smps(struct lab *lab)
{
	if (lab->sweeps % 10 == 5)
		lab->agents[HOST + 1].desc_lost = true;
}

/* A lost description is not an empty one. */
LAB_TEST_WITH(a_lost_description_renames_no_node, setup)
{
	lab->before_sweep = lose_occasional_smps;
	lab->run.settings.discovery_interval_us = 60 * US_PER_S;
	lab_run(lab, 60);
	assert_true(lab->run.discoveries > 6);
	assert_int_equal(lab_events_of(lab, EVENT_NODE_RENAMED), 0);
	assert_int_equal(lab_events_of(lab, EVENT_DISCOVERY_SHRUNK), 0);
}

/* One that stays empty is accepted eventually. */
LAB_TEST_WITH(a_description_that_stays_empty_is_accepted, setup)
{
	lab_during(lab, &lab->agents[HOST + 1].desc_lost, 3, 0);
	lab_run(lab, 120);
	assert_int_equal(lab_events_of(lab, EVENT_NODE_RENAMED), 1);
}

static void flap_link_often(struct lab *lab)
{
	/* So that each discovery finds a different state than the one before. */
	lab_port(lab, HOST, 1)->down = lab->run.parts % 2 == 0;
	lab_port(lab, LEAF, 3)->now->value[COUNTER_LINK_DOWNED]++;
}

/* A link that flaps for an hour does not cause a discovery every few seconds. */
LAB_TEST_WITH(a_link_that_keeps_flapping_causes_fewer_discoveries, setup)
{
	lab->before_sweep = flap_link_often;
	lab->run.settings.interval_us = 1000000;
	lab_run(lab, 1800);
	/* Half an hour: some at once, then two a minute. */
	assert_in_range(lab->run.parts, 20, 80);
	assert_true(lab_events_of(lab, EVENT_LINK_DOWN) > 10);
}

/* Hosts that are switched off one after the other, of the leaves beside that of the link that flaps. */
#define OFF_FIRST 300
#define OFF_EVERY 37
#define OFF_HOSTS 8
static int64_t off_us[OFF_HOSTS];

static void flap_while_hosts_go(struct lab *lab)
{
	flap_link_often(lab);
	for (size_t i = 0; i < OFF_HOSTS; i++) {
		struct agent *agent = &lab->agents[HOST + 4 + i];
		bool off = lab->sweeps >= OFF_FIRST + OFF_EVERY * i;

		if (off && !agent->dead)
			off_us[i] = lab->run.wall_us + lab->run.now_us;
		agent->dead = lab_port(lab, HOST + 4 + i, 1)->down = off;
		lab_port(lab, LEAF + 1 + i / 4, (uint8_t)(3 + i % 4))->down = off;
	}
}

/* When a link of a node was first reported as down. */
static int64_t down_us(const struct lab *lab, size_t node)
{
	for (size_t i = 0; i < lab->event_count; i++)
		if (!strcmp(lab->events[i].kind, EVENT_LINK_DOWN) &&
		    (lab->events[i].node_guid == lab_guid(node) || lab->events[i].peer_guid == lab_guid(node)))
			return lab->events[i].wall_us;
	return INT64_MAX;
}

/* Otherwise hosts that are switched off would be reported as unresponsive. */
LAB_TEST_WITH(a_link_that_keeps_flapping_does_not_delay_the_discovery_of_others, setup)
{
	lab->run.settings.interval_us = 1000000;
	lab_run_with(lab, flap_while_hosts_go, OFF_FIRST + OFF_EVERY * OFF_HOSTS);
	for (size_t i = 0; i < OFF_HOSTS; i++)
		assert_in_range(down_us(lab, HOST + 4 + i) - off_us[i], 0, 10 * US_PER_S);
}

/* The cause is at this host, not in twenty nodes. */
LAB_TEST_WITH(an_isolated_collector_reports_it_once, setup)
{
	for (size_t i = 0; i < OWN_HOST; i++)
		lab_during(lab, &lab->agents[i].dead, 2, 6);
	lab_run(lab, 4);
	/* Three times 250 ms. */
	assert_true(lab->report.sweep_us < 900000);
	assert_int_equal(lab_events_of(lab, EVENT_FABRIC_SILENT), 1);
	lab->sweeps = 4;
	lab_run(lab, 6);
	assert_int_equal(lab_events_of(lab, EVENT_FABRIC_ANSWERS), 1);
	assert_int_equal(lab_events_of(lab, EVENT_NODE_SILENT), 0);
	assert_int_equal(lab_events_of(lab, EVENT_NODE_ANSWERS), 0);
	assert_true(lab_check(lab) > 0);
}

/* Only PortInfo shows it, of a tenth of the ports per sweep. */
LAB_TEST_WITH(link_down_and_link_up_are_events, setup)
{
	lab_during(lab, &lab_port(lab, LEAF, 1)->down, 3, 20);
	lab_run(lab, 16);
	assert_int_equal(lab_events_of(lab, EVENT_LINK_DOWN), 1);
	assert_int_equal(lab_port(lab, LEAF, 1)->status, SAMPLE_DOWN);
	lab_run(lab, 16);
	assert_int_equal(lab_events_of(lab, EVENT_LINK_DOWN), 1);
	assert_int_equal(lab_events_of(lab, EVENT_LINK_UP), 1);
	assert_int_equal(lab_port(lab, LEAF, 1)->status, SAMPLE_OK);
	lab_check(lab);
}

static void retrain_once(struct lab *lab)
{
	if (lab->sweeps == 3)
		retrain_link(lab);
}

/* A stable fabric is discovered at the start and every ten minutes; of a hint only the port is explored. */
LAB_TEST_WITH(hints_of_a_change_cause_no_discovery_of_the_whole_fabric, setup)
{
	lab_run(lab, 59);
	assert_int_equal(lab->run.discoveries, 1);
	lab_run(lab, 59 * 3);
	assert_int_equal(lab->run.discoveries, 1 + 1 + 2);
	lab->sweeps = 0;
	lab_run_with(lab, retrain_once, 30);
	assert_int_equal(lab->run.discoveries, 4 + 1);
	assert_int_equal(lab->run.parts, 1);
	assert_in_range(lab->run.part_smps, 3, 20);
}

static void flap_link(struct lab *lab)
{
	lab_port(lab, 0, 1)->now->value[COUNTER_LINK_DOWNED]++;
}

/* It is verified each time and is unchanged: there is no discovery. */
LAB_TEST_WITH(a_verified_link_costs_two_smps, setup)
{
	unsigned smps, by_path;

	lab_run(lab, 30);
	smps = lab->run.smps_by_lid;
	assert_int_equal(lab->run.smps_by_path, 0);
	lab->run.smps_by_lid = 0;
	lab_run_with(lab, flap_link, 30);
	by_path = lab->run.smps_by_path;
	/* Links are not verified before the first sweep of a run, nor after its last one. */
	assert_in_range(by_path, 27, 30);
	/* The tenths of the ports that are queried anyway differ in size. */
	assert_in_range(lab->run.smps_by_lid - smps, by_path, by_path + 6);
	assert_int_equal(lab->run.discoveries, 2);
}

static void swap_cables(struct lab *lab)
{
	if (lab->sweeps != 5)
		return;
	lab->cables_swapped = true;
	lab_port(lab, LEAF, 3)->now->value[COUNTER_LINK_DOWNED]++;
	lab_port(lab, LEAF, 4)->now->value[COUNTER_LINK_DOWNED]++;
}

/* All LIDs, states and widths are unchanged: only the nodes at the ends of the cables differ. */
LAB_TEST_WITH(swapped_cables_are_detected_at_once, setup)
{
	lab_run_with(lab, swap_cables, 8);
	assert_int_equal(lab->run.discoveries, 1);
	assert_int_equal(lab->run.parts, 1);
	assert_in_range(lab->run.part_smps, 8, 12);
	/* At both ends of both cables. */
	assert_int_equal(lab_events_of(lab, EVENT_PEER_CHANGED), 4);
}

static const struct plan *plan_of(void *ctx, uint64_t *ret_generation)
{
	*ret_generation = 1;
	return ctx;
}

static void swap_cables_for_a_while(struct lab *lab)
{
	bool swapped = lab->sweeps >= 5 && lab->sweeps < 20;

	if (swapped != lab->cables_swapped) {
		lab_port(lab, LEAF, 3)->now->value[COUNTER_LINK_DOWNED]++;
		lab_port(lab, LEAF, 4)->now->value[COUNTER_LINK_DOWNED]++;
	}
	lab->cables_swapped = swapped;
}

static const struct event *find_event(const struct lab *lab, const char *kind, const char *text)
{
	for (size_t i = 0; i < lab->event_count; i++)
		if (!strcmp(lab->events[i].kind, kind) && strstr(lab->events[i].text, text))
			return &lab->events[i];
	return NULL;
}

/* The cables of the first topology are the plan. */
LAB_TEST_WITH(swapped_cables_differ_from_the_plan_until_they_are_back, setup)
{
	struct plan plan = { 0 };
	struct text text = { 0 };
	const struct event *opened, *closed;

	netfile_write(&text, lab->run.world->built);
	assert_int_equal(plan_read(&plan, "plan.net", text_chars(&text), text.len, NULL), 0);
	lab->run.settings.plan = plan_of;
	lab->run.settings.plan_ctx = &plan;
	lab_run_with(lab, swap_cables_for_a_while, 40);
	opened = find_event(lab, EVENT_FINDING_OPENED, "plan-differs");
	closed = find_event(lab, EVENT_FINDING_CLOSED, "plan-differs");
	assert_non_null(opened);
	assert_non_null(closed);
	assert_non_null(strstr(opened->text, "exchange the cables at"));
	assert_int_equal(opened->node_guid, lab_guid(LEAF));
	assert_in_range(opened->port, 3, 4);
	assert_in_range(closed->wall_us - opened->wall_us, 100 * US_PER_S, 200 * US_PER_S);
	plan_done(&plan);
	text_done(&text);
}

static void reboot_host(struct lab *lab)
{
	bool off = lab->sweeps >= 3 && lab->sweeps < 12;

	if (off != lab->nodes[HOST].absent)
		lab_port(lab, LEAF, 3)->now->value[COUNTER_LINK_DOWNED]++;
	lab->nodes[HOST].absent = off;
	/* The SM has not configured the link in the sweep in which it is up again. */
	lab_port(lab, LEAF, 3)->init = lab_port(lab, HOST, 1)->init = lab->sweeps == 12;
}

LAB_TEST_WITH(a_host_reboot_costs_tens_of_smps, setup)
{
	lab_run_with(lab, reboot_host, 30);
	assert_int_equal(lab->run.discoveries, 1);
	assert_in_range(lab->run.part_smps, 9, 30);
	assert_int_equal(lab_events_of(lab, EVENT_NODE_REMOVED), 1);
	assert_int_equal(lab_events_of(lab, EVENT_NODE_ADDED), 1);
	assert_int_equal(lab->report.ports_answered, LIVE_PORTS);
	assert_true(lab_check(lab) > 0);
}

static void flap_twice(struct lab *lab)
{
	if (lab->sweeps == 3 || lab->sweeps == 6)
		retrain_link(lab);
	lab->agents[0].state_change = lab->sweeps == 4;
}

/* Explorations are five seconds apart: PortStateChange is seen before its reason. */
LAB_TEST_WITH(a_known_port_replaces_the_switch_that_signalled_it, setup)
{
	lab->run.settings.interval_us = US_PER_S;
	lab_run_with(lab, flap_twice, 20);
	assert_int_equal(lab->run.parts, 2);
	assert_int_equal(lab->run.part_smps, 12);
}

static void swap_cables_unseen(struct lab *lab)
{
	lab->cables_swapped = lab->sweeps >= 10;
	lab->agents[LEAF].state_change = lab->sweeps == 10;
}

/* Only PortStateChange shows the swap: no counter and no state of a port differs. */
LAB_TEST_WITH(an_unknown_peer_does_not_hide_a_signal_of_its_switch, setup)
{
	lab->agents[HOST + 2].hidden = lab->agents[HOST + 2].dead = true;
	lab_run_with(lab, swap_cables_unseen, 20);
	assert_int_equal(lab->run.discoveries, 1);
	assert_int_equal(lab_events_of(lab, EVENT_PEER_CHANGED), 4);
}

static void lose_port_info(struct lab *lab)
{
	lab->agents[LEAF].ignored_smp = lab->sweeps == 3 || lab->sweeps == 4 ? SMP_PORT_INFO : 0;
	lab->agents[LEAF].ignored_port = 3;
	if (lab->sweeps == 3)
		lab_port(lab, LEAF, 3)->now->value[COUNTER_LINK_DOWNED]++;
}

LAB_TEST_WITH(a_port_that_could_not_be_verified_is_explored, setup)
{
	lab_run_with(lab, lose_port_info, 10);
	assert_int_equal(lab->run.discoveries, 1);
	assert_true(lab->run.parts > 0);
	assert_int_equal(lab_events_of(lab, EVENT_NODE_REMOVED), 0);
}

static void replace_leaf(struct lab *lab)
{
	bool off = lab->sweeps >= 3 && lab->sweeps < 12;

	lab->nodes[LEAF].absent = off;
}

/* The spines' ports show it. Without a response from the leaf the whole fabric is discovered once. */
LAB_TEST_WITH(a_leaf_that_is_off_and_returns_is_explored_with_its_hosts, setup)
{
	lab_run_with(lab, replace_leaf, 30);
	assert_int_equal(lab_events_of(lab, EVENT_NODE_REMOVED), 5);
	assert_int_equal(lab_events_of(lab, EVENT_NODE_ADDED), 5);
	assert_true(lab->run.discoveries <= 3);
	assert_true(lab->run.parts > 0);
	assert_int_equal(lab->report.ports_answered, LIVE_PORTS);
}

LAB_TEST_WITH(ports_that_cannot_be_explored_cause_a_discovery_at_once, setup)
{
	lab->before_sweep = reboot_host;
	lab->run.parts_fail = true;
	lab_run(lab, 8);
	assert_true(lab->run.discoveries > 1);
	assert_int_equal(lab_events_of(lab, EVENT_NODE_REMOVED), 1);
	assert_int_equal(lab_events_of(lab, EVENT_DISCOVERY_FAILED), 0);
}

static void swap_cables_unnoticed(struct lab *lab)
{
	lab_port(lab, HOST, 1)->down = lab->sweeps >= 3 && lab->sweeps < 6;
	lab->cables_swapped = lab->sweeps >= 20;
}

/* The discovery after ten minutes finds another node behind a port that was explored. */
LAB_TEST_WITH(a_difference_between_explored_ports_and_a_discovery_is_one_event, setup)
{
	lab_run_with(lab, swap_cables_unnoticed, 65);
	assert_int_equal(lab->run.discoveries, 2);
	assert_int_equal(lab_events_of(lab, EVENT_DISCOVERY_DIFFERS), 1);
	for (size_t i = 0; i < lab->event_count; i++)
		if (!strcmp(lab->events[i].kind, EVENT_DISCOVERY_DIFFERS))
			assert_non_null(strstr(lab->events[i].text, "different links of node02/3"));
	lab_run(lab, 65);
	assert_int_equal(lab_events_of(lab, EVENT_DISCOVERY_DIFFERS), 1);
}

static void differ_in_hole(struct lab *lab)
{
	lab->run.difference = lab->run.discoveries == 4 ? NULL : "node01 differs";
}

/* Six discoveries, of which the fourth finds no difference. */
LAB_TEST_WITH(the_same_difference_between_engines_is_reported_once, setup)
{
	lab->run.settings.discovery_interval_us = 60 * US_PER_S;
	lab->before_sweep = differ_in_hole;
	differ_in_hole(lab);
	lab_run(lab, 36);
	assert_int_equal(lab->run.discoveries, 6);
	assert_int_equal(lab_events_of(lab, EVENT_DISCOVERY_DIFFERS), 2);
}

static void take_link_down_after_hours(struct lab *lab)
{
	if (lab->sweeps != 630 || lab_port(lab, LEAF, 1)->down)
		return;
	lab_port(lab, LEAF, 1)->down = true;
	lab_port(lab, LEAF, 1)->now->value[COUNTER_LINK_DOWNED]++;
}

/* Discoveries without a change do not delay one that a hint causes. */
LAB_TEST_WITH(a_hint_after_hours_causes_a_discovery_at_once, setup)
{
	lab_run_with(lab, take_link_down_after_hours, 632);
	assert_int_equal(lab_events_of(lab, EVENT_LINK_DOWN), 1);
}

/* A permanent hint costs less and less, and a detected change is followed at once. */
LAB_TEST_WITH(a_persistent_hint_costs_little_and_delays_no_change, setup)
{
	lab->agents[0].state_change = true;
	lab_during(lab, &lab_port(lab, LEAF, 1)->down, 200, 0);
	lab_run(lab, 190);
	assert_true(lab->run.discoveries < 15);
	lab_run(lab, 24);
	assert_int_equal(lab_events_of(lab, EVENT_LINK_DOWN), 1);
}

LAB_TEST_WITH(discovery_that_fails_leaves_the_last_topology, setup)
{
	lab->run.discovery_fails = true;
	assert_int_equal(lab_try(lab, 1), ERR_UNAVAILABLE);
	assert_string_equal(lab->err.text, "discovery crashed");
	lab->run.discovery_fails = false;
	lab_run(lab, 1);
	lab->run.discovery_fails = true;
	lab_run(lab, 3);
	assert_int_equal(lab->report.ports_answered, LIVE_PORTS);
	assert_true(lab_events_of(lab, EVENT_DISCOVERY_FAILED) >= 1);
}

/* A discovery that always fails is not an event every few seconds. */
LAB_TEST_WITH(discovery_that_keeps_failing_is_retried_less_often, setup)
{
	lab_during(lab, &lab->run.discovery_fails, 2, 0);
	lab_run(lab, 360);
	/* In an hour: after five seconds, then twice as long each time until it is ten minutes. */
	assert_in_range(lab_events_of(lab, EVENT_DISCOVERY_FAILED), 7, 13);
}

/* What cannot be reached from here is not removed. */
LAB_TEST_WITH(the_topology_behind_a_failed_local_port_is_kept, setup)
{
	lab_during(lab, &lab_port(lab, OWN_HOST, 1)->down, 3, 40);
	lab_run(lab, 50);
	assert_true(lab_events_of(lab, EVENT_DISCOVERY_FAILED) > 0);
	assert_int_equal(lab_events_of(lab, EVENT_NODE_REMOVED), 0);
	assert_int_equal(lab->report.nodes, LAB_NODES);
	assert_int_equal(lab->report.ports_answered, LIVE_PORTS);
}

static void lose_discovery_smp(struct lab *lab)
{
	if (lab->sweeps != 3)
		return;
	lab->agents[LEAF].ports_lost = true;
	retrain_link(lab);
}

/* One lost SMP hides all ports of a switch: discovery is repeated soon, not after ten minutes. */
LAB_TEST_WITH(nodes_missed_by_a_discovery_are_discovered_again, setup)
{
	lab->run.parts_fail = true;
	lab_run_with(lab, lose_discovery_smp, 8);
	assert_int_equal(lab->report.ports_answered, LIVE_PORTS);
	/* The first one, the one that lost it, and the one that found it again. */
	assert_int_equal(lab->run.discoveries, 3);
	assert_true(lab_check(lab) > 0);
}

static void lose_node_in_discovery(struct lab *lab)
{
	lose_discovery_smp(lab);
	lab->nodes[HOST].absent = lab->sweeps >= 3 && lab->run.discoveries <= 2;
	lab->agents[LEAF].ports_lost = lab->nodes[HOST].absent;
}

/* Such as at its deadline: what an incomplete discovery did not find may still exist. */
LAB_TEST_WITH(an_incomplete_discovery_removes_no_node, setup)
{
	lab->run.parts_fail = true;
	lab_run_with(lab, lose_node_in_discovery, 12);
	assert_int_equal(lab_events_of(lab, EVENT_NODE_REMOVED), 0);
	assert_true(lab->run.discoveries > 2);
	assert_int_equal(lab->report.nodes, LAB_NODES);
}

static void fail_leaf_and_host(struct lab *lab)
{
	lab->agents[LEAF].dead = lab->sweeps >= 3 && lab->sweeps < 8;
	lab->nodes[HOST + 5].absent = lab->sweeps >= 12;
	lab->nodes[HOST + 6].absent = lab->sweeps >= 12 && lab->sweeps < 18;
}

/* As on switches and hosts that were never named. */
LAB_TEST_WITH(events_distinguish_nodes_with_one_name, setup)
{
	size_t named = 0;

	for (size_t i = 0; i < LAB_NODES; i++)
		strcpy(lab->run.world->built->nodes[i].desc, "SwitchIB Mellanox Technologies");
	lab_run_with(lab, fail_leaf_and_host, 30);
	assert_int_equal(lab_events_of(lab, EVENT_NODE_REMOVED), 2);
	assert_int_equal(lab_events_of(lab, EVENT_NODE_ADDED), 1);
	assert_true(lab_events_of(lab, EVENT_NODE_SILENT) > 0 && lab_events_of(lab, EVENT_LINK_DOWN) > 0);
	for (size_t i = 0; i < lab->event_count; i++) {
		const struct event *event = &lab->events[i];
		char name[64];

		if (!event->node_guid || !strstr(event->text, "Mellanox"))
			continue;
		named++;
		snprintf(name, sizeof(name), "Technologies (%04x)", (unsigned)(event->node_guid & 0xffff));
		if (!strstr(event->text, name))
			fail_msg("%s, without its %s", event->text, name);
	}
	assert_true(named >= 6);
}

LAB_TEST_WITH(a_smaller_fabric_is_accepted_after_three_discoveries, setup)
{
	for (size_t i = HOST; i < OWN_HOST; i++)
		lab_during(lab, &lab->nodes[i].absent, 2, 0);
	lab_run(lab, 20);
	assert_int_equal(lab_events_of(lab, EVENT_DISCOVERY_SHRUNK), 2);
	assert_int_equal(lab_events_of(lab, EVENT_NODE_REMOVED), LAB_HOSTS - 1);
	assert_int_equal(lab->report.nodes, LAB_NODES - LAB_HOSTS + 1);
	lab_check(lab);
}

/* The sweep after which a link is down until the next one, while a discovery runs. */
static uint64_t outage_sweep;

static void break_link_during_discovery(struct lab *lab)
{
	bool out = lab->sweeps == outage_sweep;

	lab_port(lab, LEAF + 1, 1)->down = lab_port(lab, 0, 2)->down = out;
	/* Another switch is the reason for the discovery. */
	lab->agents[LEAF + 2].state_change = lab->sweeps + 1 == outage_sweep;
}

static int64_t wall_of(const struct lab *lab, const char *kind)
{
	for (size_t i = 0; i < lab->event_count; i++)
		if (!strcmp(lab->events[i].kind, kind))
			return lab->events[i].wall_us;
	return 0;
}

/* Whichever tenth of the ports is next. */
TEST(a_link_that_was_down_during_a_discovery_is_up_again_after_two_sweeps)
{
	for (outage_sweep = 10; outage_sweep < 20; outage_sweep++) {
		struct lab *lab = lab_create(1);

		lab->traffic = false;
		lab->run.discovery_us = US_PER_S;
		lab->run.parts_fail = true;
		lab_run_with(lab, break_link_during_discovery, 35);
		assert_int_equal(lab_events_of(lab, EVENT_LINK_DOWN), 1);
		assert_int_equal(lab_events_of(lab, EVENT_LINK_UP), 1);
		assert_true(wall_of(lab, EVENT_LINK_UP) - wall_of(lab, EVENT_LINK_DOWN) < 25 * US_PER_S);
		lab_destroy(lab);
	}
}

/* A host stops responding; its link goes down a little later. */
static void shut_host_down(struct lab *lab)
{
	lab->agents[HOST].dead = lab->sweeps >= outage_sweep;
	lab_port(lab, HOST, 1)->down = lab_port(lab, LEAF, 3)->down = lab->sweeps > outage_sweep + 1;
}

TEST(the_link_of_an_unresponsive_host_is_found_down_in_the_next_sweep)
{
	for (outage_sweep = 10; outage_sweep < 20; outage_sweep++) {
		struct lab *lab = lab_create(1);

		lab->traffic = false;
		lab_run_with(lab, shut_host_down, 35);
		assert_int_equal(lab_events_of(lab, EVENT_NODE_SILENT), 1);
		assert_true(wall_of(lab, EVENT_LINK_DOWN) - wall_of(lab, EVENT_NODE_SILENT) < 35 * US_PER_S);
		assert_true(wall_of(lab, EVENT_LINK_DOWN) > wall_of(lab, EVENT_NODE_SILENT));
		lab_destroy(lab);
	}
}
