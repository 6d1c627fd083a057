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

static void restart_sm_and_reassign_lids(struct lab *lab)
{
	lab->run.world->act_count = lab->sweeps < 3 ? 1000 + (uint32_t)lab->sweeps : 1;
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

static void exchange_while_64_bit_counters_fail(struct lab *lab)
{
	lab_swap_lids(lab);
	lab->agents[HOST].extended_status = lab->agents[HOST + 4].extended_status = lab->sweeps == 3 ? 0x000c : 0;
}

/* One traffic counter is smaller, but its delta is unknown. */
LAB_TEST(lids_are_verified_if_counters_have_another_width)
{
	lab->traffic = false;
	*lab_port(lab, HOST + 4, 1)->now = *lab_port(lab, HOST, 1)->now;
	lab_port(lab, HOST + 4, 1)->now->value[COUNTER_XMIT_DATA] += 1000;
	lab_run_with(lab, exchange_while_64_bit_counters_fail, 8);
	assert_int_equal(lab_events_of(lab, EVENT_NODE_LID), 2);
	lab_check_own(lab, HOST);
	lab_check_own(lab, HOST + 4);
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

/* Another host has the LID for a sweep, and responds to performance queries only. */
static void share_a_lid_for_a_sweep(struct lab *lab)
{
	bool shared = lab->sweeps == 3;

	lab->nodes[HOST + 4].lid = shared ? lab->nodes[HOST].lid : HOST + 5;
	lab->agents[HOST + 4].ignored_smp = shared ? SMP_NODE_INFO : 0;
}

/* The former owner has it too, as its PortInfo by path shows. */
LAB_TEST(an_implausible_reading_is_not_confirmed_by_path)
{
	lab->traffic = false;
	lab_run_with(lab, share_a_lid_for_a_sweep, 4);
	assert_int_equal(lab->report.ports_answered, LIVE_PORTS - 2);
	lab_run_with(lab, share_a_lid_for_a_sweep, 3);
	assert_int_equal(lab_events_of(lab, EVENT_COUNTERS_CLEARED), 0);
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

/*
 * The first spine has a port without counters. After a restart of the SM the spine responds to no SMP, and the
 * process is stopped after the first NodeInfo, until just before the deadline of the sweep.
 */
static void stall_while_lids_are_verified(struct world_run *run, const uint8_t mad[MAD_SIZE])
{
	static int64_t began_us;
	struct agent *spine = &run->world->agents[0];
	struct mad_header header = mad_read_header(mad);
	bool smp = header.mgmt_class != CLASS_PERFORMANCE;
	int64_t stalled_until_us = began_us + run->settings.interval_us - 24 * US_PER_MS;

	spine->no_counters = !smp && mad[PMA_DATA_OFFSET + 1] == 4;
	spine->dead = smp && run->world->act_count == 1;
	if (smp && header.attribute == SMP_SM_INFO)
		began_us = run->now_us;
	else if (spine->dead && header.attribute == SMP_NODE_INFO && run->now_us < stalled_until_us)
		run->now_us = stalled_until_us;
}

static void restart_sm_once(struct lab *lab)
{
	lab->run.world->act_count = lab->sweeps == 3 ? 1 : 1000 + (uint32_t)lab->sweeps;
}

/* The LID of the spine is queried by path when the sweep ends. */
LAB_TEST(a_sweep_that_ends_before_a_lid_is_verified_is_reported_as_cut)
{
	lab->run.on_send = stall_while_lids_are_verified;
	lab_run_with(lab, restart_sm_once, 4);
	assert_int_equal(lab->report.ports_unfinished, 4);
	assert_int_equal(lab->report.sweeps_cut, 1);
	lab_run(lab, 2);
	assert_int_equal(lab->report.ports_answered, LIVE_PORTS - 1);
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
