/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* Events of a topology that changes, and of one that only appears to change. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>

#include <cmocka.h>

#include "base/err.h"
#include "base/log.h"
#include "collector/events.h"
#include "collector/test_model.h"

static struct model *create(uint64_t seed)
{
	struct model *model = model_create(seed);

	model->traffic = false;
	return model;
}

/* There is no earlier topology to compare with, but discovery reports that it lost something. */
static void nodes_lost_by_the_first_discovery_are_found(void **state)
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

/* Its agents fail and its link is up: discovery finds no node behind it. */
static void fail_and_restore_host(struct model *model)
{
	bool dead = model->sweeps >= 3 && model->sweeps < 30;

	if (dead != model->nodes[HOST].hung)
		model->nodes[LEAF].ports[3].value[COUNTER_LINK_DOWNED]++;
	model->nodes[HOST].hung = dead;
	model->nodes[HOST].silent = dead;
}

static void an_unresponsive_node_behind_a_link_is_kept(void **state)
{
	struct collector_report report;
	struct model *model = create(1);

	(void)state;
	model->before_sweep = fail_and_restore_host;
	assert_int_equal(model_run(model, 31, &report, NULL), 0);
	assert_true(model->discoveries > 1);
	/* It was polled all the time: the sweep in which it responded again has read it. */
	assert_int_equal(report.ports_answered, LIVE_PORTS);
	assert_int_equal(model->nodes[HOST].ports[1].status, SAMPLE_OK);
	assert_int_equal(model_events_of(model, EVENT_NODE_SILENT), 1);
	assert_int_equal(model_events_of(model, EVENT_NODE_ANSWERS), 1);
	assert_int_equal(model_events_of(model, EVENT_NODE_REMOVED), 0);
	assert_int_equal(model_events_of(model, EVENT_NODE_ADDED), 0);
	assert_int_equal(model_events_of(model, EVENT_PEER_CHANGED), 0);
	free(model);
}

/* A spine's link goes down and does not return to its former state, or only the next time. */
static void retrain_link(struct model *model)
{
	struct model_port *port = &model->nodes[0].ports[1];

	port->init = !port->init;
	port->value[COUNTER_LINK_DOWNED]++;
}

static void fail_one_from_the_start(struct model *model)
{
	model->nodes[HOST].hung = model->nodes[HOST].silent = model->sweeps < 12;
}

/* The node behind the cable is unknown: discovery is repeated, with increasing delay. */
static void a_node_unresponsive_at_the_first_discovery_is_found(void **state)
{
	struct collector_report report;
	struct model *model = create(3);

	(void)state;
	fail_one_from_the_start(model);
	model->before_sweep = fail_one_from_the_start;
	assert_int_equal(model_run(model, 40, &report, NULL), 0);
	assert_int_equal(report.ports_answered, LIVE_PORTS);
	assert_int_equal(model_events_of(model, EVENT_NODE_ADDED), 1);
	/*
	 * After 5, 10, 20, 40 and 80 s; the next one finds it. This is a change, after which none
	 * is left.
	 */
	assert_in_range(model->discoveries, 4, 7);
	free(model);
}

static void hang_host_permanently(struct model *model)
{
	model->nodes[HOST].hung = model->nodes[HOST].silent = true;
	if (model->sweeps % 20 == 10)
		retrain_link(model);
}

static void a_node_that_never_responds_costs_little(void **state)
{
	struct model *model = create(4);

	(void)state;
	hang_host_permanently(model);
	model->before_sweep = hang_host_permanently;
	model->traffic = false;
	assert_int_equal(model_run(model, 360, NULL, NULL), 0);
	/*
	 * An hour: 8 until they are ten minutes apart, 6 more at most, and one or two for each of
	 * 18 changes.
	 */
	assert_in_range(model->discoveries, 8, 50);
	free(model);
}

static void lose_occasional_smps(struct model *model)
{
	if (model->sweeps % 10 == 5) {
		model->nodes[HOST + 1].desc_lost = true;
		retrain_link(model);
	}
}

/* A lost description is not an empty one. */
static void a_lost_description_renames_no_node(void **state)
{
	struct model *model = create(2);

	(void)state;
	model->before_sweep = lose_occasional_smps;
	assert_int_equal(model_run(model, 60, NULL, NULL), 0);
	assert_true(model->discoveries > 6);
	assert_int_equal(model_events_of(model, EVENT_NODE_RENAMED), 0);
	assert_int_equal(model_events_of(model, EVENT_DISCOVERY_SHRUNK), 0);
	free(model);
}

static void drop_description(struct model *model)
{
	model->nodes[HOST + 1].desc_lost = model->sweeps >= 3;
}

/* One that stays empty is accepted eventually. */
static void a_description_that_stays_empty_is_accepted(void **state)
{
	struct model *model = create(3);

	(void)state;
	model->before_sweep = drop_description;
	assert_int_equal(model_run(model, 120, NULL, NULL), 0);
	assert_int_equal(model_events_of(model, EVENT_NODE_RENAMED), 1);
	free(model);
}

static void flap_link_often(struct model *model)
{
	/* So that each discovery finds a different state than the one before. */
	model->nodes[HOST].ports[1].down = model->discoveries % 2;
	model->nodes[LEAF].ports[3].value[COUNTER_LINK_DOWNED]++;
}

/* A link that flaps for an hour does not cause a discovery every few seconds. */
static void a_link_that_keeps_flapping_causes_fewer_discoveries(void **state)
{
	struct model *model = create(5);

	(void)state;
	model->before_sweep = flap_link_often;
	model->interval_us = 1000000;
	assert_int_equal(model_run(model, 1800, NULL, NULL), 0);
	/* Half an hour: some at once, then two a minute. */
	assert_in_range(model->discoveries, 30, 80);
	assert_true(model_events_of(model, EVENT_LINK_DOWN) > 10);
	free(model);
}

static void fail_own_link(struct model *model)
{
	size_t i;

	for (i = 0; i < MODEL_NODES - 1; i++)
		model->nodes[i].silent = model->sweeps >= 2 && model->sweeps < 6;
}

/* The cause is at this host, not in twenty nodes. */
static void an_isolated_collector_reports_it_once(void **state)
{
	struct collector_report report;
	struct model *model = create(4);

	(void)state;
	model->before_sweep = fail_own_link;
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

static void toggle_link(struct model *model)
{
	model->nodes[LEAF].ports[1].down = model->sweeps >= 3 && model->sweeps < 20;
}

/* Only PortInfo shows it, of a tenth of the ports per sweep. */
static void link_down_and_link_up_are_events(void **state)
{
	struct model *model = model_create(10);

	(void)state;
	model->traffic = false;
	model->before_sweep = toggle_link;
	model_run(model, 16, NULL, NULL);
	assert_int_equal(model_events_of(model, EVENT_LINK_DOWN), 1);
	assert_int_equal(model->nodes[LEAF].ports[1].status, SAMPLE_DOWN);
	model_run(model, 16, NULL, NULL);
	assert_int_equal(model_events_of(model, EVENT_LINK_DOWN), 1);
	assert_int_equal(model_events_of(model, EVENT_LINK_UP), 1);
	assert_int_equal(model->nodes[LEAF].ports[1].status, SAMPLE_OK);
	model_check(model);
	free(model);
}

static void retrain_once(struct model *model)
{
	if (model->sweeps == 3)
		retrain_link(model);
}

/* A stable fabric is discovered at the start and every ten minutes; a hint adds a discovery. */
static void hints_of_a_change_cause_a_discovery(void **state)
{
	struct model *model = model_create(17);

	(void)state;
	model->traffic = false;
	model_run(model, 59, NULL, NULL);
	assert_int_equal(model->discoveries, 1);
	model_run(model, 59 * 3, NULL, NULL);
	assert_int_equal(model->discoveries, 1 + 1 + 2);
	model->sweeps = 0;
	model->before_sweep = retrain_once;
	model_run(model, 30, NULL, NULL);
	assert_int_equal(model->discoveries, 4 + 2);
	free(model);
}

static void flap_link(struct model *model)
{
	model->nodes[0].ports[1].value[COUNTER_LINK_DOWNED]++;
}

/* It is verified each time and is unchanged: there is no discovery. */
static void a_verified_link_costs_two_smps(void **state)
{
	struct model *model = model_create(17);
	unsigned smps, by_path;

	(void)state;
	model->traffic = false;
	model_run(model, 30, NULL, NULL);
	smps = model->smps_by_lid;
	assert_int_equal(model->smps_by_path, 0);
	model->smps_by_lid = 0;
	model->before_sweep = flap_link;
	model_run(model, 30, NULL, NULL);
	by_path = model->smps_by_path;
	/* Links are not verified before the first sweep of a run, nor after its last one. */
	assert_in_range(by_path, 27, 30);
	/* The tenths of the ports that are queried anyway differ in size. */
	assert_in_range(model->smps_by_lid - smps, by_path, by_path + 6);
	assert_int_equal(model->discoveries, 2);
	free(model);
}

static void swap_cables(struct model *model)
{
	if (model->sweeps != 5)
		return;
	model->cables_swapped = true;
	model->nodes[LEAF].ports[3].value[COUNTER_LINK_DOWNED]++;
	model->nodes[LEAF].ports[4].value[COUNTER_LINK_DOWNED]++;
}

/* All LIDs, states and widths are unchanged: only the nodes at the ends of the cables differ. */
static void swapped_cables_are_detected_at_once(void **state)
{
	struct model *model = model_create(18);

	(void)state;
	model->traffic = false;
	model->before_sweep = swap_cables;
	model_run(model, 8, NULL, NULL);
	assert_int_equal(model->discoveries, 2);
	assert_true(model_events_of(model, EVENT_PEER_CHANGED) > 0);
	free(model);
}

static void take_link_down_after_hours(struct model *model)
{
	if (model->sweeps != 630 || model->nodes[LEAF].ports[1].down)
		return;
	model->nodes[LEAF].ports[1].down = true;
	model->nodes[LEAF].ports[1].value[COUNTER_LINK_DOWNED]++;
}

/* Discoveries without a change do not delay one that a hint causes. */
static void a_hint_after_hours_causes_a_discovery_at_once(void **state)
{
	struct model *model = model_create(19);

	(void)state;
	model->traffic = false;
	model->before_sweep = take_link_down_after_hours;
	model_run(model, 632, NULL, NULL);
	assert_int_equal(model_events_of(model, EVENT_LINK_DOWN), 1);
	free(model);
}

static void take_link_down_late(struct model *model)
{
	if (model->sweeps == 200)
		model->nodes[LEAF].ports[1].down = true;
}

/* A permanent hint costs less and less, and a detected change is followed at once. */
static void a_persistent_hint_costs_little_and_delays_no_change(void **state)
{
	struct model *model = model_create(40);

	(void)state;
	model->traffic = false;
	model->state_change_stuck = true;
	model->before_sweep = take_link_down_late;
	model_run(model, 190, NULL, NULL);
	assert_true(model->discoveries < 15);
	model_run(model, 24, NULL, NULL);
	assert_int_equal(model_events_of(model, EVENT_LINK_DOWN), 1);
	free(model);
}

static void discovery_that_fails_leaves_the_last_topology(void **state)
{
	struct collector_report report;
	struct model *model = model_create(11);
	struct error err = { 0 };

	(void)state;
	model->discovery_fails = true;
	assert_int_equal(model_run(model, 1, NULL, &err), ERR_UNAVAILABLE);
	assert_string_equal(err.text, "discovery crashed");
	model->discovery_fails = false;
	model_run(model, 1, NULL, NULL);
	model->discovery_fails = true;
	assert_int_equal(model_run(model, 3, &report, NULL), 0);
	assert_int_equal(report.ports_answered, LIVE_PORTS);
	assert_true(model_events_of(model, EVENT_DISCOVERY_FAILED) >= 1);
	free(model);
}

static void fail_discovery(struct model *model)
{
	model->discovery_fails = model->sweeps >= 2;
}

/* A discovery that always fails is not an event every few seconds. */
static void discovery_that_keeps_failing_is_retried_less_often(void **state)
{
	struct model *model = model_create(20);

	(void)state;
	model->traffic = false;
	model->before_sweep = fail_discovery;
	model_run(model, 360, NULL, NULL);
	/* In an hour: after five seconds, then twice as long each time until it is ten minutes. */
	assert_in_range(model_events_of(model, EVENT_DISCOVERY_FAILED), 7, 13);
	free(model);
}

static void pull_own_cable(struct model *model)
{
	model->nodes[MODEL_NODES - 1].ports[1].down = model->sweeps >= 3 && model->sweeps < 40;
}

/* What cannot be reached from here is not removed. */
static void the_topology_behind_a_failed_local_port_is_kept(void **state)
{
	struct collector_report report;
	struct model *model = model_create(21);

	(void)state;
	model->before_sweep = pull_own_cable;
	model_run(model, 50, &report, NULL);
	assert_true(model_events_of(model, EVENT_DISCOVERY_FAILED) > 0);
	assert_int_equal(model_events_of(model, EVENT_NODE_REMOVED), 0);
	assert_int_equal(report.nodes, MODEL_NODES);
	assert_int_equal(report.ports_answered, LIVE_PORTS);
	free(model);
}

static void lose_discovery_smp(struct model *model)
{
	if (model->sweeps != 3)
		return;
	model->nodes[LEAF].ports_lost = true;
	retrain_link(model);
}

/* One lost SMP hides all ports of a switch: discovery is repeated soon, not after ten minutes. */
static void nodes_missed_by_a_discovery_are_discovered_again(void **state)
{
	struct collector_report report;
	struct model *model = model_create(23);

	(void)state;
	model->traffic = false;
	model->before_sweep = lose_discovery_smp;
	model_run(model, 8, &report, NULL);
	assert_int_equal(report.ports_answered, LIVE_PORTS);
	/* The first one, the one that lost it, and the one that found it again. */
	assert_int_equal(model->discoveries, 3);
	assert_true(model_check(model) > 0);
	free(model);
}

static void hide_half_the_fabric(struct model *model)
{
	size_t i;

	for (i = HOST; i < MODEL_NODES; i++)
		model->nodes[i].absent = model->sweeps >= 2;
}

static void a_smaller_fabric_is_accepted_after_three_discoveries(void **state)
{
	struct collector_report report;
	struct model *model = model_create(12);

	(void)state;
	model->before_sweep = hide_half_the_fabric;
	model_run(model, 20, &report, NULL);
	assert_int_equal(model_events_of(model, EVENT_DISCOVERY_SHRUNK), 2);
	assert_int_equal(model_events_of(model, EVENT_NODE_REMOVED), MODEL_HOSTS);
	assert_int_equal(report.nodes, MODEL_NODES - MODEL_HOSTS);
	model_check(model);
	free(model);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(nodes_lost_by_the_first_discovery_are_found),
		cmocka_unit_test(an_unresponsive_node_behind_a_link_is_kept),
		cmocka_unit_test(a_node_unresponsive_at_the_first_discovery_is_found),
		cmocka_unit_test(a_node_that_never_responds_costs_little),
		cmocka_unit_test(a_lost_description_renames_no_node),
		cmocka_unit_test(a_link_that_keeps_flapping_causes_fewer_discoveries),
		cmocka_unit_test(an_isolated_collector_reports_it_once),
		cmocka_unit_test(a_description_that_stays_empty_is_accepted),
		cmocka_unit_test(link_down_and_link_up_are_events),
		cmocka_unit_test(hints_of_a_change_cause_a_discovery),
		cmocka_unit_test(a_verified_link_costs_two_smps),
		cmocka_unit_test(swapped_cables_are_detected_at_once),
		cmocka_unit_test(a_hint_after_hours_causes_a_discovery_at_once),
		cmocka_unit_test(a_persistent_hint_costs_little_and_delays_no_change),
		cmocka_unit_test(discovery_that_fails_leaves_the_last_topology),
		cmocka_unit_test(discovery_that_keeps_failing_is_retried_less_often),
		cmocka_unit_test(the_topology_behind_a_failed_local_port_is_kept),
		cmocka_unit_test(nodes_missed_by_a_discovery_are_discovered_again),
		cmocka_unit_test(a_smaller_fabric_is_accepted_after_three_discoveries),
	};

	log_init("test", LOG_LEVEL_NONE);
	return cmocka_run_group_tests(tests, NULL, NULL);
}
