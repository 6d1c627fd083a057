/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* The collector on a fabric in memory, in virtual time. */
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
	/* The last reading is what the port shows now. */
	assert_true(model->nodes[0].ports[1].last.value[COUNTER_XMIT_DATA] ==
		    model->nodes[0].ports[1].value[COUNTER_XMIT_DATA]);
	assert_true(model->last_sweep.sm.known);
	free(model);
}

/* A node's capabilities are asked once; what it has not is not asked. */
static void capabilities_are_asked_once(void **state)
{
	struct model *model = model_create(2);

	(void)state;
	model_run(model, 10, NULL, NULL);
	/*
	 * Node 0 has four live ports with both attributes; its turn of slow questions, where it is asked again what
	 * it can do, comes only after these sweeps. Node 5 (a leaf, six ports) has only PortCounters of 64 bits.
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

/* After a reboot boottime starts anew: the wall clock bridges it, and nothing is lost or negative. */
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

/* The clock came up hours behind: what was read before the boot is still older than the boot. */
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

static void a_silent_node_is_told_once_and_catches_up(void **state)
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

static void a_leaf_dies(struct model *model)
{
	model->nodes[LEAF].silent = model->sweeps >= 2;
	if (model->sweeps == 2)
		model->requests_to[LEAF] = 0;
}

/* A dead node costs one question of three MADs in the sweep in which it dies, and soon one MAD a sweep. */
static void a_dead_node_costs_one_question_a_sweep(void **state)
{
	struct collector_report report;
	struct model *model = model_create(6);

	(void)state;
	model->before_sweep = a_leaf_dies;
	model_run(model, 3, &report, NULL);
	assert_int_equal(report.mads_timed_out, 3);
	assert_int_equal(model->requests_to[LEAF], 3);
	/* Three patiences of 20 ms, beside what the others take. */
	assert_true(report.sweep_us < 70000);
	assert_int_equal(model->nodes[LEAF].ports[1].status, SAMPLE_SILENT);
	free(model);
	model = model_create(6);
	model->before_sweep = a_leaf_dies;
	model_run(model, 12, &report, NULL);
	assert_int_equal(report.mads_timed_out, 1);
	assert_int_equal(model->requests_to[LEAF], 3 * 3 + 7 * 1);
	assert_int_equal(model->nodes[LEAF].ports[1].status, SAMPLE_BACKOFF);
	free(model);
}

static void a_leaf_returns(struct model *model)
{
	model->nodes[LEAF].silent = model->sweeps >= 2 && model->sweeps < 6;
}

static void a_node_that_returns_is_read_in_that_sweep(void **state)
{
	struct collector_report report;
	struct model *model = model_create(14);

	(void)state;
	model->before_sweep = a_leaf_returns;
	assert_int_equal(model_run(model, 6, &report, NULL), 0);
	assert_int_equal(report.ports_answered, LIVE_PORTS - 6);
	model->sweeps = 0;
	assert_int_equal(model_run(model, 7, &report, NULL), 0);
	assert_int_equal(report.ports_answered, LIVE_PORTS);
	assert_true(model_check(model) > 0);
	free(model);
}

/* The others do not wait for the dead: not for their timeouts, and not in the window. */
static void ten_hosts_die(struct model *model)
{
	size_t i;

	for (i = 0; i < 10; i++)
		model->nodes[HOST + i].silent = model->sweeps >= 2;
}

static void ten_dead_nodes_delay_nobody(void **state)
{
	struct collector_report clean, dead;
	struct model *model = model_create(15);

	(void)state;
	model_run(model, 2, &clean, NULL);
	model->sweeps = 0;
	model->before_sweep = ten_hosts_die;
	/* In the sweep in which they die, and in those that follow. */
	model_run(model, 3, &dead, NULL);
	assert_int_equal(dead.ports_answered, LIVE_PORTS - 10);
	assert_true(dead.sweep_us < clean.sweep_us + 3 * 20000 + 5000);
	model->sweeps = 0;
	model_run(model, 8, &dead, NULL);
	assert_true(dead.sweep_us < clean.sweep_us + 20000 + 5000);
	free(model);
}

/* Slow is not dead: what a node usually takes is learnt, and waited for. */
static void a_slow_node_is_waited_for_once_it_is_known(void **state)
{
	struct collector_report report;
	struct model *model = model_create(16);

	(void)state;
	model->nodes[HOST].answer_us = 60000;
	model->nodes[HOST + 5].answer_us = 15000;
	/* At first sight, and when there is something to go by. */
	model_run(model, 1, &report, NULL);
	assert_int_equal(report.ports_answered, LIVE_PORTS);
	model_run(model, 4, &report, NULL);
	assert_int_equal(report.ports_answered, LIVE_PORTS);
	assert_int_equal(report.mads_timed_out, 0);
	free(model);
}

static void a_fifth_of_all_mads_is_lost(void **state)
{
	uint64_t seed;

	(void)state;
	for (seed = 200; seed < 230; seed++) {
		struct model *model = model_create(seed);
		size_t i;
		int port;

		model_run(model, 1, NULL, NULL);
		model->loss_percent = 20;
		for (i = 0; i < MODEL_NODES; i++)
			for (port = 0; port <= MODEL_PORTS_MAX; port++)
				model->nodes[i].ports[port].sum = (struct delta){ 0 };
		model_run(model, 3, NULL, NULL);
		/* Each port that was read before the losses began has been read again, and what it says is right. */
		for (i = 0; i < MODEL_NODES; i++)
			for (port = 1; port <= MODEL_PORTS_MAX; port++)
				if (model->nodes[i].ports[port].has_first)
					assert_true(model->nodes[i].ports[port].sum.elapsed_us > 0);
		model->loss_percent = 0;
		model_run(model, 1, NULL, NULL);
		free(model);
	}
}

static void somebody_clears_counters(struct model *model)
{
	if (model->sweeps == 3)
		memset(model->nodes[0].ports[2].value, 0, sizeof(model->nodes[0].ports[2].value));
	if (model->sweeps == 13) {
		size_t i;
		int port;

		for (i = 0; i < MODEL_NODES; i++)
			for (port = 1; port <= MODEL_PORTS_MAX; port++)
				memset(model->nodes[i].ports[port].value, 0, sizeof(model->nodes[i].ports[port].value));
	}
}

static void counters_that_are_cleared_are_marked_and_told(void **state)
{
	struct model *model = model_create(7);

	(void)state;
	model->before_sweep = somebody_clears_counters;
	model_run(model, 16, NULL, NULL);
	/* One port alone, then the whole fabric as one event; the last is told when there are no more sweeps. */
	assert_int_equal(model_events_of(model, EVENT_COUNTERS_CLEARED), 2);
	assert_true(model->nodes[0].ports[2].sum.reset & COUNTER_BIT(COUNTER_RCV_DATA));
	model_check(model);
	free(model);
}

static void a_full_counter_is_told_once(void **state)
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

static void the_disk_is_full_for_a_while(struct model *model)
{
	model->store_fails = model->now_us > 50000000 && model->now_us < 90000000;
}

static void a_store_that_fails_loses_nothing(void **state)
{
	struct collector_report report;
	struct model *model = model_create(9);

	(void)state;
	model->before_sweep = the_disk_is_full_for_a_while;
	assert_int_equal(model_run(model, 20, &report, NULL), 0);
	assert_true(report.sweeps < 20 && report.sweeps > 10);
	assert_true(model_check(model) > 0);
	assert_int_equal(model_events_of(model, EVENT_STORE_FAILED), 1);
	/* A single sweep that cannot be stored is an error. */
	model->store_fails = true;
	model->before_sweep = NULL;
	assert_int_equal(model_run(model, 1, NULL, NULL), ERR_IO);
	free(model);
}

static void a_link_goes_and_comes(struct model *model)
{
	model->nodes[LEAF].ports[1].down = model->sweeps >= 3 && model->sweeps < 20;
}

/* Nothing tells of either but PortInfo, a tenth of the ports with each sweep. */
static void a_link_that_goes_is_an_event_and_its_return_another(void **state)
{
	struct model *model = model_create(10);

	(void)state;
	model->traffic = false;
	model->before_sweep = a_link_goes_and_comes;
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

static void a_link_downed_moves(struct model *model)
{
	if (model->sweeps == 3)
		model->nodes[0].ports[1].value[COUNTER_LINK_DOWNED]++;
}

/* A quiet fabric is discovered at the start and then every ten minutes; a sign of change brings one more. */
static void discovery_follows_signs_of_change(void **state)
{
	struct model *model = model_create(17);

	(void)state;
	model->traffic = false;
	model_run(model, 59, NULL, NULL);
	assert_int_equal(model->discoveries, 1);
	model_run(model, 59 * 3, NULL, NULL);
	assert_int_equal(model->discoveries, 1 + 1 + 2);
	model->sweeps = 0;
	model->before_sweep = a_link_downed_moves;
	model_run(model, 30, NULL, NULL);
	assert_int_equal(model->discoveries, 4 + 2);
	free(model);
}

static void a_link_goes_after_hours_of_quiet(struct model *model)
{
	if (model->sweeps != 630 || model->nodes[LEAF].ports[1].down)
		return;
	model->nodes[LEAF].ports[1].down = true;
	model->nodes[LEAF].ports[1].value[COUNTER_LINK_DOWNED]++;
}

/* Discoveries that found nothing because nothing had happened do not make a sign of change wait. */
static void a_sign_after_hours_of_quiet_is_followed_at_once(void **state)
{
	struct model *model = model_create(19);

	(void)state;
	model->traffic = false;
	model->before_sweep = a_link_goes_after_hours_of_quiet;
	model_run(model, 632, NULL, NULL);
	assert_int_equal(model_events_of(model, EVENT_LINK_DOWN), 1);
	free(model);
}

static void a_link_goes_late(struct model *model)
{
	if (model->sweeps == 200)
		model->nodes[LEAF].ports[1].down = true;
}

/* A hint that never goes away costs ever less, and what is really seen is followed at once all the same. */
static void a_stuck_hint_costs_little_and_delays_no_change(void **state)
{
	struct model *model = model_create(40);

	(void)state;
	model->traffic = false;
	model->state_change_stuck = true;
	model->before_sweep = a_link_goes_late;
	model_run(model, 190, NULL, NULL);
	assert_true(model->discoveries < 15);
	model_run(model, 24, NULL, NULL);
	assert_int_equal(model_events_of(model, EVENT_LINK_DOWN), 1);
	free(model);
}

static void two_hosts_change_lids(struct model *model)
{
	uint16_t lid = model->nodes[HOST].lid;

	/* Once: it may sleep more than once between two sweeps. */
	if (model->sweeps != 3 || lid != HOST + 1)
		return;
	model->nodes[HOST].lid = model->nodes[HOST + 4].lid;
	model->nodes[HOST + 4].lid = lid;
}

/* Is what was stored of a host's port its own: no mark, and the last reading what the port shows? */
static void assert_own_counts(const struct model *model, size_t host)
{
	const struct model_port *port = &model->nodes[host].ports[1];

	assert_true(port->has_first);
	assert_true(!port->sum.reset);
	assert_true(port->last.value[COUNTER_XMIT_DATA] == port->value[COUNTER_XMIT_DATA]);
}

/* Between two discoveries the subnet manager gives LIDs to others: nothing is booked on the wrong port. */
static void lids_that_changed_places_book_nothing_on_the_wrong_port(void **state)
{
	uint64_t seed;

	(void)state;
	for (seed = 300; seed < 310; seed++) {
		struct collector_report report;
		struct model *model = model_create(seed);

		model->no_downs = true;
		model->before_sweep = two_hosts_change_lids;
		assert_int_equal(model_run(model, 4, &report, NULL), 0);
		assert_int_equal(report.ports_answered, LIVE_PORTS - 2);
		assert_int_equal(model_run(model, 3, &report, NULL), 0);
		assert_int_equal(report.ports_answered, LIVE_PORTS);
		assert_own_counts(model, HOST);
		assert_own_counts(model, HOST + 4);
		assert_true(model_check(model) > 0);
		free(model);
	}
}

static void the_sm_starts_anew_and_gives_out_lids(struct model *model)
{
	model->sm_act_count = model->sweeps < 3 ? 1000 + (uint32_t)model->sweeps : 1;
	two_hosts_change_lids(model);
}

/* Two hosts that count the same change places: nothing falls or is too fast, but the subnet manager was restarted. */
static void lids_are_doubted_where_the_sm_was_restarted(void **state)
{
	struct collector_report report;
	struct model *model = model_create(298);

	(void)state;
	model->traffic = false;
	model->before_sweep = the_sm_starts_anew_and_gives_out_lids;
	assert_int_equal(model_run(model, 4, &report, NULL), 0);
	assert_int_equal(report.ports_answered, LIVE_PORTS - 2);
	free(model);
}

static void hosts_that_change_lids_are_told(void **state)
{
	struct model *model = model_create(299);

	(void)state;
	model->no_downs = true;
	model->before_sweep = two_hosts_change_lids;
	assert_int_equal(model_run(model, 8, NULL, NULL), 0);
	assert_int_equal(model_events_of(model, EVENT_NODE_LID), 2);
	assert_int_equal(model_events_of(model, EVENT_COUNTERS_CLEARED), 0);
	free(model);
}

static void a_host_takes_the_lid_of_one_that_is_gone(struct model *model)
{
	struct model_node *gone = &model->nodes[HOST], *heir = &model->nodes[HOST + 4];
	int counter;

	if (model->sweeps != 3 || gone->absent)
		return;
	gone->absent = true;
	heir->lid = gone->lid;
	model->traffic = false;
	/* Nothing falls and nothing is too fast: only that the heir is not where it was tells. */
	for (counter = 0; counter < COUNTER_COUNT; counter++)
		if (heir->ports[1].value[counter] < gone->ports[1].value[counter])
			heir->ports[1].value[counter] = gone->ports[1].value[counter];
	heir->ports[1].value[COUNTER_XMIT_DATA] += 1000;
}

static void a_lid_that_was_inherited_books_nothing_on_the_dead(void **state)
{
	struct model *model = model_create(18);

	(void)state;
	model->before_sweep = a_host_takes_the_lid_of_one_that_is_gone;
	assert_int_equal(model_run(model, 8, NULL, NULL), 0);
	assert_true(model->nodes[HOST].ports[1].last.value[COUNTER_XMIT_DATA] <
		    model->nodes[HOST].ports[1].value[COUNTER_XMIT_DATA]);
	assert_own_counts(model, HOST + 4);
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

static void discovery_fails_after_a_while(struct model *model)
{
	model->discovery_fails = model->sweeps >= 2;
}

/* A discovery that crashes each time is no event every few seconds, for days. */
static void discovery_that_keeps_failing_is_tried_ever_less(void **state)
{
	struct model *model = model_create(20);

	(void)state;
	model->traffic = false;
	model->before_sweep = discovery_fails_after_a_while;
	model_run(model, 360, NULL, NULL);
	/* In an hour: after five seconds, then twice as long each time until it is ten minutes. */
	assert_in_range(model_events_of(model, EVENT_DISCOVERY_FAILED), 7, 13);
	free(model);
}

static void the_hosts_own_cable_is_pulled(struct model *model)
{
	model->nodes[MODEL_NODES - 1].ports[1].down = model->sweeps >= 3 && model->sweeps < 40;
}

/* What cannot be seen from here is not gone. */
static void a_fabric_behind_a_dead_port_of_this_host_stays(void **state)
{
	struct collector_report report;
	struct model *model = model_create(21);

	(void)state;
	model->before_sweep = the_hosts_own_cable_is_pulled;
	model_run(model, 50, &report, NULL);
	assert_true(model_events_of(model, EVENT_DISCOVERY_FAILED) > 0);
	assert_int_equal(model_events_of(model, EVENT_NODE_REMOVED), 0);
	assert_int_equal(report.nodes, MODEL_NODES);
	assert_int_equal(report.ports_answered, LIVE_PORTS);
	free(model);
}

static void a_discovery_loses_an_smp(struct model *model)
{
	if (model->sweeps != 3)
		return;
	model->nodes[LEAF].ports_lost = true;
	model->nodes[0].ports[1].value[COUNTER_LINK_DOWNED]++;
}

/* One lost SMP hides all ports of a switch: what is missing is looked for again soon, not in ten minutes. */
static void what_a_discovery_misses_is_looked_for_again(void **state)
{
	struct collector_report report;
	struct model *model = model_create(23);

	(void)state;
	model->traffic = false;
	model->before_sweep = a_discovery_loses_an_smp;
	model_run(model, 8, &report, NULL);
	assert_int_equal(report.ports_answered, LIVE_PORTS);
	/* The first, the one that lost it, and the one that found it again. */
	assert_int_equal(model->discoveries, 3);
	assert_true(model_check(model) > 0);
	free(model);
}

static void half_the_fabric_is_gone(struct model *model)
{
	size_t i;

	for (i = HOST; i < MODEL_NODES; i++)
		model->nodes[i].absent = model->sweeps >= 2;
}

static void a_fabric_that_shrank_must_say_so_three_times(void **state)
{
	struct collector_report report;
	struct model *model = model_create(12);

	(void)state;
	model->before_sweep = half_the_fabric_is_gone;
	model_run(model, 20, &report, NULL);
	assert_int_equal(model_events_of(model, EVENT_DISCOVERY_SHRUNK), 2);
	assert_int_equal(model_events_of(model, EVENT_NODE_REMOVED), MODEL_HOSTS);
	assert_int_equal(report.nodes, MODEL_NODES - MODEL_HOSTS);
	model_check(model);
	free(model);
}

/* The answer with the 64-bit traffic counters dates a reading, also where the other one comes last. */
static void a_busy_answer_does_not_date_the_traffic(void **state)
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

/* Sum of reads of one attribute over all ports. */
static uint64_t reads_of(const struct model *model, enum detail_attribute attribute)
{
	uint64_t reads = 0;
	size_t i;
	int port;

	for (i = 0; i < MODEL_NODES; i++)
		for (port = 1; port <= MODEL_PORTS_MAX; port++)
			reads += model->nodes[i].ports[port].details[attribute].reads;
	return reads;
}

/* Every live port has its turn once in sixty sweeps, and what is refused is asked once. */
static void slow_counters_are_read_in_turn_and_exactly(void **state)
{
	struct model *model = model_create(30);
	uint64_t once;

	(void)state;
	model->nodes[HOST].refused = 1 << DETAIL_EXTENDED_SPEEDS;
	/* The counters that they explain stand still. */
	model->traffic = false;
	/* What a node can do is known after the first sweep. */
	model_run(model, 61, NULL, NULL);
	once = reads_of(model, DETAIL_RCV_ERRORS);
	assert_int_equal(once, LIVE_PORTS);
	assert_int_equal(reads_of(model, DETAIL_EXTENDED_SPEEDS), LIVE_PORTS - 1);
	assert_int_equal(reads_of(model, DETAIL_XMIT_DISCARDS), LIVE_PORTS);
	model->traffic = true;
	model_run(model, 200, NULL, NULL);
	assert_true(reads_of(model, DETAIL_EXTENDED_SPEEDS) > 3 * (LIVE_PORTS - 1));
	assert_int_equal(model->nodes[HOST].ports[1].details[DETAIL_EXTENDED_SPEEDS].reads, 0);
	assert_int_equal(model->nodes[HOST + 1].ports[1].details[DETAIL_EXTENDED_SPEEDS].last.layout, FEC_LAYOUT_LANES);
	assert_int_equal(model->nodes[0].ports[1].details[DETAIL_EXTENDED_SPEEDS].last.layout, FEC_LAYOUT_RS);
	assert_true(model_check_details(model) > LIVE_PORTS * 20);
	model_check(model);
	free(model);
}

/* Why is asked in the sweep that sees it. */
static void a_counter_that_moves_is_explained_at_once(void **state)
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

/* An attribute that a node never answers costs it three questions, and nobody a sweep's time. */
static void what_is_never_answered_is_given_up(void **state)
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

/* A node sends its questions elsewhere: they go there, from then on at once. */
static void a_redirection_is_followed_and_remembered(void **state)
{
	struct collector_report report;
	struct model *model = model_create(33);
	uint64_t asked;

	(void)state;
	model->nodes[HOST].redirect = model->nodes[LEAF].lid;
	assert_int_equal(model_run(model, 5, &report, NULL), 0);
	assert_int_equal(report.ports_answered, LIVE_PORTS);
	asked = model->requests_to[HOST];
	/* ClassPortInfo twice, the second at the other address; five times one port's two attributes. */
	assert_in_range(asked, 2 + 5, 2 + 5 * 2 + 1);
	assert_true(model_check(model) > 0);
	assert_int_equal(model->nodes[HOST].ports[1].last.value[COUNTER_RCV_DATA] & UINT32_MAX,
			 model->nodes[HOST].ports[1].value[COUNTER_RCV_DATA] & UINT32_MAX);
	/* The other node leaves: the node itself is asked again. */
	model->nodes[HOST].redirect = model->nodes[LEAF + 1].lid;
	model->nodes[LEAF].silent = true;
	assert_int_equal(model_run(model, 3, &report, NULL), 0);
	assert_int_equal(model->nodes[HOST].ports[1].status, SAMPLE_OK);
	free(model);
}

/* Too much for the interval: what was read is stored on time, what was not comes first the next time. */
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
	/* The first one also asked whose LIDs they are, at that rate. */
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

static void agents_drop_for_a_while(struct model *model)
{
	model->drops = model->sweeps >= 3 && model->sweeps < 8;
}

static void it_asks_less_while_agents_drop_datagrams(void **state)
{
	struct model *model = model_create(35);

	(void)state;
	model->before_sweep = agents_drop_for_a_while;
	model_run(model, 7, NULL, NULL);
	assert_int_equal(model_events_of(model, EVENT_THROTTLED), 1);
	assert_int_equal(model_events_of(model, EVENT_UNTHROTTLED), 0);
	model->sweeps = 0;
	model_run(model, 22, NULL, NULL);
	assert_int_equal(model_events_of(model, EVENT_THROTTLED), 2);
	assert_int_equal(model_events_of(model, EVENT_UNTHROTTLED), 1);
	free(model);
}

static void the_subnet_manager_brings_links_up(struct model *model)
{
	size_t i;
	int port;

	for (i = 0; i < MODEL_NODES; i++)
		for (port = 1; port <= MODEL_PORTS_MAX; port++)
			model->nodes[i].ports[port].init = model->sweeps >= 3 && model->sweeps < 6;
	/* A sign of change at the same time: discovery has to wait, but is not forgotten. */
	if (model->sweeps == 4)
		model->nodes[0].ports[1].value[COUNTER_LINK_DOWNED]++;
}

static void it_asks_less_and_discovery_waits_while_the_sm_is_at_work(void **state)
{
	struct model *model = model_create(36);

	(void)state;
	model->traffic = false;
	model->before_sweep = the_subnet_manager_brings_links_up;
	model_run(model, 6, NULL, NULL);
	assert_int_equal(model_events_of(model, EVENT_THROTTLED), 1);
	assert_int_equal(model->discoveries, 1);
	model->sweeps = 6;
	model->before_sweep = NULL;
	model_run(model, 12, NULL, NULL);
	assert_true(model->discoveries >= 2);
	free(model);
}

/* HCAs are left alone: their ports are no gaps, and nobody asks them anything. */
static void only_switches_are_asked_where_told(void **state)
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

static void all_other_hosts_fall_silent(struct model *model)
{
	size_t i;

	for (i = HOST; i < MODEL_NODES - 1; i++)
		model->nodes[i].silent = model->sweeps >= 2 && model->sweeps < 5;
}

/* It is not fifteen hosts that broke at once. */
static void hcas_that_are_silent_together_are_one_event(void **state)
{
	struct model *model = model_create(38);

	(void)state;
	model->before_sweep = all_other_hosts_fall_silent;
	model_run(model, 10, NULL, NULL);
	assert_int_equal(model_events_of(model, EVENT_HCAS_SILENT), 1);
	assert_int_equal(model_events_of(model, EVENT_HCAS_ANSWER), 1);
	assert_int_equal(model_events_of(model, EVENT_NODE_SILENT), 0);
	assert_int_equal(model_events_of(model, EVENT_NODE_ANSWERS), 0);
	free(model);
}

static void somebody_sets_the_clock(struct model *model)
{
	if (model->sweeps == 3)
		model->wall_offset_us -= 3600 * US_PER_S;
}

/* Rates and order stay right, whatever the clock on the wall says. */
static void a_step_of_the_wall_clock_is_told_and_touches_no_rate(void **state)
{
	struct model *model = model_create(39);

	(void)state;
	model->before_sweep = somebody_sets_the_clock;
	model_run(model, 8, NULL, NULL);
	assert_int_equal(model_events_of(model, EVENT_CLOCK_STEPPED), 1);
	assert_in_range(model->nodes[0].ports[1].sum.elapsed_us, 69900000, 70100000);
	model_check(model);
	free(model);
}

/* Everything at once: nodes fall silent and come back, links go, counters are cleared, MADs are lost. */
static void anything_may_happen(struct model *model)
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

static void whatever_happens_sums_are_exact_or_marked(void **state)
{
	uint64_t seed;

	(void)state;
	for (seed = 100; seed < 130; seed++) {
		struct model *model = model_create(seed);
		int run;

		for (run = 0; run < 5; run++) {
			model->before_sweep = run ? anything_may_happen : NULL;
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
		cmocka_unit_test(a_silent_node_is_told_once_and_catches_up),
		cmocka_unit_test(a_dead_node_costs_one_question_a_sweep),
		cmocka_unit_test(a_node_that_returns_is_read_in_that_sweep),
		cmocka_unit_test(ten_dead_nodes_delay_nobody),
		cmocka_unit_test(a_slow_node_is_waited_for_once_it_is_known),
		cmocka_unit_test(a_fifth_of_all_mads_is_lost),
		cmocka_unit_test(counters_that_are_cleared_are_marked_and_told),
		cmocka_unit_test(a_full_counter_is_told_once),
		cmocka_unit_test(a_store_that_fails_loses_nothing),
		cmocka_unit_test(a_link_that_goes_is_an_event_and_its_return_another),
		cmocka_unit_test(discovery_follows_signs_of_change),
		cmocka_unit_test(a_sign_after_hours_of_quiet_is_followed_at_once),
		cmocka_unit_test(a_stuck_hint_costs_little_and_delays_no_change),
		cmocka_unit_test(lids_that_changed_places_book_nothing_on_the_wrong_port),
		cmocka_unit_test(lids_are_doubted_where_the_sm_was_restarted),
		cmocka_unit_test(hosts_that_change_lids_are_told),
		cmocka_unit_test(a_lid_that_was_inherited_books_nothing_on_the_dead),
		cmocka_unit_test(discovery_that_fails_leaves_the_last_topology),
		cmocka_unit_test(discovery_that_keeps_failing_is_tried_ever_less),
		cmocka_unit_test(a_fabric_behind_a_dead_port_of_this_host_stays),
		cmocka_unit_test(what_a_discovery_misses_is_looked_for_again),
		cmocka_unit_test(a_fabric_that_shrank_must_say_so_three_times),
		cmocka_unit_test(a_busy_answer_does_not_date_the_traffic),
		cmocka_unit_test(nodes_without_counters_are_unsupported),
		cmocka_unit_test(slow_counters_are_read_in_turn_and_exactly),
		cmocka_unit_test(a_counter_that_moves_is_explained_at_once),
		cmocka_unit_test(what_is_never_answered_is_given_up),
		cmocka_unit_test(a_redirection_is_followed_and_remembered),
		cmocka_unit_test(a_sweep_that_is_too_long_is_cut_and_the_next_starts_on_time),
		cmocka_unit_test(it_asks_less_while_agents_drop_datagrams),
		cmocka_unit_test(it_asks_less_and_discovery_waits_while_the_sm_is_at_work),
		cmocka_unit_test(only_switches_are_asked_where_told),
		cmocka_unit_test(hcas_that_are_silent_together_are_one_event),
		cmocka_unit_test(a_step_of_the_wall_clock_is_told_and_touches_no_rate),
		cmocka_unit_test(whatever_happens_sums_are_exact_or_marked),
	};

	log_init("test", LOG_LEVEL_NONE);
	return cmocka_run_group_tests(tests, NULL, NULL);
}
