/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* SMPs by LID and by path: LIDs that are reassigned between two discoveries; fabrics without SMPs by LID. */
#include "base/unit_test.h"
#include "collector/events.h"
#include "tests/world/lab.h"

static int setup(void **state);

/* The subnet manager reassigns LIDs: no port gets the counters of another. */
TEST(exchanged_lids_add_nothing_to_the_wrong_port)
{
	for (uint64_t seed = 300; seed < 320; seed++) {
		struct lab *lab = lab_create(seed);

		lab->run.lid_smps_lost = seed % 2;
		lab->no_downs = true;
		lab_run_with(lab, lab_swap_lids, 4);
		assert_int_equal(lab->report.ports_answered, LIVE_PORTS - 2);
		lab_run(lab, 3);
		assert_int_equal(lab->report.ports_answered, LIVE_PORTS);
		lab_check_own(lab, HOST);
		lab_check_own(lab, HOST + 4);
		assert_true(lab_check(lab) > 0);
		lab_destroy(lab);
	}
}

static void restart_sm(struct lab *lab)
{
	lab->run.world->act_count = lab->sweeps < 3 ? 1000 + (uint32_t)lab->sweeps : 1;
}

static void restart_sm_and_reassign_lids(struct lab *lab)
{
	restart_sm(lab);
	lab_swap_lids(lab);
}

/* Two hosts with equal counters exchange LIDs: the only indication is the restart of the SM. */
LAB_TEST(lids_are_verified_after_a_restart_of_the_sm)
{
	lab->traffic = false;
	*lab_port(lab, HOST + 4, 1)->now = *lab_port(lab, HOST, 1)->now;
	lab_run_with(lab, restart_sm_and_reassign_lids, 4);
	assert_int_equal(lab->report.ports_answered, LIVE_PORTS - 2);
}

LAB_TEST(hosts_that_change_lids_are_reported)
{
	lab->no_downs = true;
	lab_run_with(lab, lab_swap_lids, 8);
	assert_int_equal(lab_events_of(lab, EVENT_NODE_LID), 2);
	assert_int_equal(lab_events_of(lab, EVENT_COUNTERS_CLEARED), 0);
}

static void a_host_gets_the_lid_of_a_removed_one(struct lab *lab)
{
	struct lab_node *departed = &lab->nodes[HOST], *successor = &lab->nodes[HOST + 4];

	if (lab->sweeps != 3 || departed->absent)
		return;
	departed->absent = true;
	successor->lid = departed->lid;
	lab->traffic = false;
	/* No counter decreases or is too fast: the only indication is the missing former node. */
	for (int counter = 0; counter < COUNTER_COUNT; counter++)
		if (successor->ports[1].now->value[counter] < departed->ports[1].now->value[counter])
			successor->ports[1].now->value[counter] = departed->ports[1].now->value[counter];
	successor->ports[1].now->value[COUNTER_XMIT_DATA] += 1000;
}

TEST(a_reassigned_lid_adds_nothing_to_the_former_node)
{
	for (unsigned directed = 0; directed < 2; directed++) {
		struct lab *lab = lab_create(1);

		lab->run.lid_smps_lost = directed;
		lab_run_with(lab, a_host_gets_the_lid_of_a_removed_one, 8);
		assert_true(lab_port(lab, HOST, 1)->last.value[COUNTER_XMIT_DATA] <
			    lab_port(lab, HOST, 1)->now->value[COUNTER_XMIT_DATA]);
		lab_check_own(lab, HOST + 4);
		lab_destroy(lab);
	}
}

static void check_exchange(struct lab *lab, void (*exchange)(struct lab *lab))
{
	lab->no_downs = true;
	lab_run_with(lab, exchange, 8);
	lab_check_own(lab, HOST);
	lab_check_own(lab, HOST + 4);
}

/* Its new owner responds to PMA queries only, and is not known as locked yet. */
static void exchange_with_a_locked_host(struct lab *lab)
{
	lab_swap_lids(lab);
	lab->run.world->nodes[HOST + 4].locked = lab->sweeps >= 3;
}

LAB_TEST(a_lid_that_a_locked_node_has_now_adds_nothing)
{
	check_exchange(lab, exchange_with_a_locked_host);
}

static void exchange_with_a_host_that_rejects_smps(struct lab *lab)
{
	lab_swap_lids(lab);
	lab->agents[HOST + 4].rejected_smp = lab->sweeps == 3 ? SMP_NODE_INFO : 0;
}

LAB_TEST(an_error_status_of_node_info_proves_nothing)
{
	check_exchange(lab, exchange_with_a_host_that_rejects_smps);
}

static void lock_hosts_and_restart_sm(struct lab *lab)
{
	restart_sm(lab);
	for (size_t i = HOST; i < OWN_HOST; i++)
		lab->run.world->nodes[i].locked = lab->sweeps >= 3;
}

/* The interval ends while LIDs are queried, or then paths. */
TEST(readings_whose_lids_are_not_verified_in_time_are_reported)
{
	uint32_t unfinished = 0;

	for (int64_t interval_us = 50 * US_PER_MS; interval_us < 64 * US_PER_MS; interval_us += US_PER_MS / 2) {
		struct lab *lab = lab_create(1);

		lab->run.settings.interval_us = interval_us;
		lab_run_with(lab, lock_hosts_and_restart_sm, 4);
		unfinished += lab->report.ports_unfinished;
		assert_true(!lab->report.ports_unfinished || lab_events_of(lab, EVENT_SWEEP_CUT));
		lab_destroy(lab);
	}
	assert_true(unfinished > 0);
}

/* Two fabrics were merged: the first reading has no former one that it could contradict. */
LAB_TEST(a_lid_of_two_nodes_adds_nothing_to_the_wrong_one)
{
	lab->nodes[HOST].lid = lab->nodes[HOST + 4].lid;
	lab_run(lab, 5);
	assert_false(lab_port(lab, HOST, 1)->has_first);
	lab_check_own(lab, HOST + 4);
	lab->nodes[HOST].lid = 500;
	lab_run(lab, 5);
	lab_check_own(lab, HOST);
}

/* Without a reading, only the discovery shows that the LIDs have changed. */
static void redirect_while_lids_are_exchanged(struct lab *lab)
{
	lab_swap_lids(lab);
	for (size_t i = HOST; i <= HOST + 4; i += 4) {
		lab->agents[i].redirect = lab->sweeps >= 3 ? lab->nodes[LEAF].lid : 0;
		lab->agents[i].redirect_loop = lab->sweeps == 3;
	}
}

LAB_TEST(a_redirection_by_the_former_owner_of_a_lid_is_forgotten)
{
	/* Plausible in place of each other, one way. */
	lab->traffic = false;
	*lab_port(lab, HOST + 4, 1)->now = *lab_port(lab, HOST, 1)->now;
	lab_port(lab, HOST + 4, 1)->now->value[COUNTER_XMIT_DATA] += 1000;
	lab_run_with(lab, redirect_while_lids_are_exchanged, 10);
	lab_check_own(lab, HOST);
	lab_check_own(lab, HOST + 4);
}

static struct lab *create(uint64_t seed)
{
	struct lab *lab = lab_create(seed);

	lab->run.lid_smps_lost = true;
	return lab;
}

static int setup(void **state)
{
	*state = create(1);
	return 0;
}

LAB_TEST_WITH(all_nodes_are_queried_by_path_and_none_is_locked, setup)
{
	lab_run(lab, 20);
	assert_int_equal(lab->run.smps_by_lid, 0);
	/* SwitchInfo of six switches and SMInfo, at least. */
	assert_true(lab->run.smps_by_path >= 20 * (LAB_SPINES + LAB_LEAVES + 1));
	assert_true(lab->last_sweep.sm.known);
	assert_int_equal(lab->report.ports_answered, lab->report.ports_polled);
	assert_int_equal(lab_events_of(lab, EVENT_NODE_LOCKED), 0);
	assert_int_equal(lab_events_of(lab, EVENT_SM_LOST), 0);
	assert_true(lab_check(lab) > 0);
}

/* No counter changes: only PortInfo by path, a tenth per sweep, detects it. */
LAB_TEST_WITH(a_link_that_goes_down_is_detected, setup)
{
	lab->traffic = false;
	lab_during(lab, &lab_port(lab, LEAF, 1)->down, 15, 0);
	lab_run(lab, 30);
	assert_int_equal(lab_events_of(lab, EVENT_LINK_DOWN), 1);
}

/*
 * The leaves' paths led through it. They respond to PMA queries all the time, and get other paths.
 */
LAB_TEST_WITH(nodes_behind_a_removed_switch_get_other_paths, setup)
{
	lab->traffic = false;
	for (unsigned port = 1; port <= LAB_LEAVES; port++)
		lab_during(lab, &lab_port(lab, 0, port)->down, 5, 0);
	lab_run(lab, 30);
	assert_int_equal(lab_events_of(lab, EVENT_NODE_LOCKED), 0);
	assert_true(lab_events_of(lab, EVENT_NODE_REMOVED) + lab_events_of(lab, EVENT_LINK_DOWN) > 0);
	assert_true(lab->last_sweep.sm.known);
}

TEST(sums_stay_exact_with_a_tenth_of_the_mads_lost)
{
	for (uint64_t seed = 40; seed < 45; seed++) {
		struct lab *lab = create(seed);

		lab->run.loss = 0.19;
		lab_run(lab, 40);
		assert_true(lab_check(lab) > 0);
		assert_int_equal(lab_events_of(lab, EVENT_NODE_LOCKED), 0);
		lab_destroy(lab);
	}
}

