/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* Detail counters: queried in turn, and when a counter has increased. */
#include "base/clock.h"
#include "base/unit_test.h"
#include "collector/events.h"
#include "tests/world/lab.h"

/* Every live port has its turn once in sixty sweeps; rejected attributes are queried once. */
LAB_TEST(detail_counters_are_read_in_turn_and_exactly)
{
	uint64_t once;

	lab->agents[HOST].rejected = 1 << DETAIL_EXTENDED_SPEEDS;
	/* The counters that they explain do not change. */
	lab->traffic = false;
	/* Capabilities are known after the first sweep. */
	lab_run(lab, 61);
	once = lab_reads_of(lab, DETAIL_RCV_ERRORS);
	assert_int_equal(once, LIVE_PORTS);
	assert_int_equal(lab_reads_of(lab, DETAIL_EXTENDED_SPEEDS), LIVE_PORTS - 1);
	assert_int_equal(lab_reads_of(lab, DETAIL_XMIT_DISCARDS), LIVE_PORTS);
	lab->traffic = true;
	lab_run(lab, 200);
	assert_true(lab_reads_of(lab, DETAIL_EXTENDED_SPEEDS) > 3 * (LIVE_PORTS - 1));
	assert_int_equal(lab_port(lab, HOST, 1)->details[DETAIL_EXTENDED_SPEEDS].reads, 0);
	assert_int_equal(lab_port(lab, HOST + 1, 1)->details[DETAIL_EXTENDED_SPEEDS].last.layout, FEC_LAYOUT_LANES);
	assert_int_equal(lab_port(lab, 0, 1)->details[DETAIL_EXTENDED_SPEEDS].last.layout, FEC_LAYOUT_RS);
	assert_true(lab_check_details(lab) > LIVE_PORTS * 20);
	lab_check(lab);
}

static unsigned queries(const struct lab *lab)
{
	unsigned sum = 0;

	for (size_t i = 0; i < LAB_NODES; i++)
		sum += lab->agents[i].detail_queries;
	return sum;
}

/* In about 17 turns a port is queried once for each seldom attribute, with the MADs of four attributes per turn. */
LAB_TEST(seldom_attributes_take_the_place_of_others)
{
	enum { TURNS = 24 };
	unsigned before;
	uint64_t errors;

	lab->traffic = false;
	/* All ports have their first readings, and it is known which attributes hosts reject. */
	lab_run(lab, 20 * 60);
	before = queries(lab);
	errors = lab_reads_of(lab, DETAIL_RCV_ERRORS);
	for (int attribute = DETAIL_OP_RCV; attribute < DETAIL_SAMPLES_CONTROL; attribute++)
		if (attribute != DETAIL_VL_CONGESTION)
			assert_true(lab_reads_of(lab, (enum detail_attribute)attribute) >= LIVE_PORTS);
	lab_run(lab, TURNS * 60);
	assert_in_range(queries(lab) - before, LIVE_PORTS * 3 * TURNS, LIVE_PORTS * 4 * TURNS);
	assert_in_range(lab_reads_of(lab, DETAIL_RCV_ERRORS) - errors, LIVE_PORTS * (TURNS / 2), LIVE_PORTS * TURNS);
	for (int attribute = DETAIL_OP_RCV; attribute < DETAIL_SAMPLES_CONTROL; attribute++)
		if (attribute != DETAIL_VL_CONGESTION)
			assert_true(lab_reads_of(lab, (enum detail_attribute)attribute) >= 2 * LIVE_PORTS);
	assert_true(lab_reads_of(lab, DETAIL_VL_CONGESTION) > 0);
	assert_true(lab_reads_of(lab, DETAIL_SAMPLES_SELECT) > 0);
	assert_int_equal(lab_port(lab, HOST, 1)->details[DETAIL_VL_CONGESTION].reads, 0);
	assert_int_equal(lab->report.mads_timed_out, 0);
	assert_true(lab_check_details(lab) > 0);
}

/* Of NVIDIA's devices; where several service levels are in use, in every second turn, and 32 bits no longer. */
LAB_TEST(data_by_service_level_is_read_in_64_bits)
{
	enum { TURNS = 24 };
	const struct lab_detail *several = lab_port(lab, HOST + 1, 1)->details;
	const struct lab_detail *one = lab_port(lab, HOST + 2, 1)->details;
	const struct lab_detail *rejecting = lab_port(lab, HOST, 1)->details;
	uint64_t before, before_narrow, before_one;

	lab->traffic = false;
	for (size_t i = 0; i < LAB_NODES; i++)
		lab->run.world->built->nodes[i].vendor_id = 0x2c9;
	lab->agents[HOST].rejected = 1 << DETAIL_XMIT_DATA_SL_EXT | 1 << DETAIL_RCV_DATA_SL_EXT;
	lab_port(lab, HOST + 1, 1)->now->details[DETAIL_XMIT_DATA_SL_EXT][0] = UINT64_C(1) << 45;
	lab_port(lab, HOST + 1, 1)->now->details[DETAIL_XMIT_DATA_SL_EXT][3] = 7;
	lab_port(lab, HOST + 2, 1)->now->details[DETAIL_XMIT_DATA_SL_EXT][0] = 9;
	lab_run(lab, TURNS * 60);
	assert_true(several[DETAIL_XMIT_DATA_SL_EXT].last.value[0] == UINT64_C(1) << 45);
	before = several[DETAIL_XMIT_DATA_SL_EXT].reads + several[DETAIL_RCV_DATA_SL_EXT].reads;
	before_narrow = several[DETAIL_XMIT_DATA_SL].reads;
	before_one = one[DETAIL_XMIT_DATA_SL_EXT].reads;
	lab_port(lab, HOST + 1, 1)->now->details[DETAIL_XMIT_DATA_SL_EXT][3] += UINT64_C(1) << 40;
	lab_run(lab, TURNS * 60);
	assert_true(several[DETAIL_XMIT_DATA_SL_EXT].sum[3] == UINT64_C(1) << 40);
	assert_in_range(several[DETAIL_XMIT_DATA_SL_EXT].reads + several[DETAIL_RCV_DATA_SL_EXT].reads - before,
			TURNS / 2 - 2, TURNS / 2 + 3);
	assert_int_equal(several[DETAIL_XMIT_DATA_SL].reads, before_narrow);
	assert_in_range(one[DETAIL_XMIT_DATA_SL_EXT].reads - before_one, 1, 3);
	assert_int_equal(rejecting[DETAIL_XMIT_DATA_SL_EXT].reads, 0);
	assert_true(rejecting[DETAIL_XMIT_DATA_SL].reads > 1);
	assert_true(lab_check_details(lab) > 0);
}

/* Two switches have a FEC mode that is not in the standard; the second is of another vendor. */
LAB_TEST(an_unknown_fec_mode_is_read_from_the_vendor_attribute)
{
	lab->agents[0].fec_mode = lab->agents[4].fec_mode = 15;
	lab->agents[0].vendor_fec_mode = lab->agents[4].vendor_fec_mode = 13;
	lab->run.world->built->nodes[0].vendor_id = 0x2c9;
	lab_run(lab, 61);
	assert_int_equal(lab_port(lab, 0, 1)->details[DETAIL_EXTENDED_SPEEDS].last.layout, FEC_LAYOUT_RS_544);
	assert_int_equal(lab_port(lab, 4, 1)->details[DETAIL_EXTENDED_SPEEDS].last.layout, FEC_LAYOUT_UNKNOWN);
}

/* A host that rejects attributes at first. */
static void reject_at_start(struct lab *lab)
{
	bool refuses = lab->sweeps < 70;

	lab->agents[HOST].rejected = refuses ? 1 << DETAIL_EXTENDED_SPEEDS : 0;
	lab->agents[HOST].tick_rejected = refuses;
}

/* Run a number of sweeps; the first of sixty turns begins after 150. */
static struct lab *run_with_refusals(size_t sweeps)
{
	struct lab *lab = lab_create(34);

	lab->traffic = false;
	lab->before_sweep = reject_at_start;
	lab->agents[HOST].caps.cap_mask |= PMA_CAP_XMIT_WAIT;
	lab->agents[HOST + 1].caps.cap_mask |= PMA_CAP_XMIT_WAIT;
	lab->run.now_us = (60 * 60 - 150) * US_PER_S;
	lab_run(lab, sweeps);
	return lab;
}

TEST(a_rejected_attribute_is_queried_again_after_sixty_turns)
{
	struct lab *lab = run_with_refusals(149);

	assert_int_equal(lab_port(lab, HOST, 1)->details[DETAIL_EXTENDED_SPEEDS].reads, 0);
	assert_false(lab->nodes[HOST].tick_known);
	assert_true(lab->nodes[HOST + 1].tick_known);
	lab_destroy(lab);
	lab = run_with_refusals(149 + 130);
	assert_true(lab_port(lab, HOST, 1)->details[DETAIL_EXTENDED_SPEEDS].reads > 0);
	assert_true(lab->nodes[HOST].tick_known);
	lab_destroy(lab);
}

/* The explanation is queried in the sweep that detects the increase. */
LAB_TEST(an_increased_counter_is_explained_at_once)
{
	struct lab_port *port = lab_port(lab, LEAF, 2);
	const struct lab_detail *detail = &port->details[DETAIL_RCV_ERRORS];

	lab->traffic = false;
	lab_run(lab, 70);
	assert_true(detail->reads);
	port->now->value[COUNTER_RCV_ERRORS] += 3;
	port->now->details[DETAIL_RCV_ERRORS][0] += 3;
	lab_run(lab, 1);
	assert_int_equal(detail->sum[0], 3);
	assert_int_equal(detail->last.value[0], 3);
}

/* An attribute that a node never answers costs three queries and delays no sweep. */
LAB_TEST(an_attribute_that_times_out_is_given_up)
{
	lab->traffic = false;
	lab->agents[LEAF].ignored = 1 << DETAIL_EXTENDED_SPEEDS;
	lab_run(lab, 400);
	assert_int_equal(lab_port(lab, LEAF, 1)->details[DETAIL_EXTENDED_SPEEDS].reads, 0);
	assert_true(lab_port(lab, LEAF, 1)->details[DETAIL_RCV_ERRORS].reads >= 3);
	assert_int_equal(lab->report.mads_timed_out, 0);
	assert_int_equal(lab->report.ports_answered, LIVE_PORTS);
	assert_int_equal(lab_events_of(lab, EVENT_NODE_SILENT), 0);
}
