/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* When forwarding tables are read: at first, periodically, after changes, and within the limits. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "collector/test_route_bed.h"

static void all_tables_are_read_twice_and_then_periodically(void **state)
{
	unsigned total = 0, i;
	struct bed bed;

	(void)state;
	bed_init(&bed, 1);
	assert_int_equal(bed_sweep(&bed), SWITCHES * BLOCKS);
	assert_int_equal(bed_known_tables(&bed), SWITCHES);
	bed_store(&bed);
	assert_int_equal(bed.read.switches[0].read_us, 77 * US_PER_S);
	for (i = 1; i < 6; i++)
		assert_in_range(bed_sweep(&bed), 0, BLOCKS);
	assert_int_equal(bed_sweep(&bed), SWITCHES * BLOCKS);
	/* Then each once in ten minutes, so one every 20 s. */
	for (i = 0; i < 120; i++) {
		unsigned smps = bed_sweep(&bed);

		assert_in_range(smps, 0, BLOCKS);
		total += smps;
	}
	assert_in_range(total, 2 * SWITCHES * BLOCKS - BLOCKS, 2 * SWITCHES * BLOCKS + BLOCKS);
	for (i = 0; i < SWITCHES; i++)
		assert_in_range(bed.asked[i], 4 * BLOCKS - BLOCKS, 4 * BLOCKS + BLOCKS);
	assert_int_equal(bed.events.count, 0);
	assert_int_equal(route_read_cost(bed.fabric, 600 * US_PER_S, 0, SWEEP_US), SWITCHES * BLOCKS / 60);
	assert_int_equal(route_read_cost(bed.fabric, 0, 0, SWEEP_US), 0);
	bed_done(&bed);
}

/* Once a minute for small tables; as often as the share of the rate allows for large ones. */
static void periodic_reads_take_no_more_than_their_share(void **state)
{
	static const double shares[] = { 0, 1e6, 4, 2, 0.4 };
	unsigned i, k;

	(void)state;
	for (k = 0; k < sizeof(shares) / sizeof(shares[0]); k++) {
		double per_s = SWITCHES * BLOCKS / 60.0, total = 0;
		struct bed bed;

		bed_init(&bed, 8);
		bed.read.interval_us = 60 * US_PER_S;
		bed.blocks_per_s = shares[k];
		for (i = 0; i < 8; i++)
			bed_sweep(&bed);
		for (i = 0; i < 240; i++)
			total += bed_sweep(&bed);
		per_s = shares[k] > 0 && shares[k] < per_s ? shares[k] : per_s;
		assert_true(total >= 2400 * per_s - BLOCKS && total <= 2400 * per_s + BLOCKS);
		assert_int_equal(route_read_cost(bed.fabric, 60 * US_PER_S, shares[k], 2400 * US_PER_S),
				 (uint64_t)(2400 * per_s + 0.5));
		bed_done(&bed);
	}
	/* 1,280 switches with 280 blocks in ten minutes, 48 with 17 well within one. */
	assert_true(route_read_blocks_per_s(0) == 600 && route_read_blocks_per_s(20000) == 600);
	assert_true(1280 * 280 / route_read_blocks_per_s(20000) < 600 && 48 * 17 / route_read_blocks_per_s(20000) < 60);
}

/* The SM changed many tables; a periodic read detects one, and all are read until none changes. */
static void a_change_found_periodically_causes_a_full_read(void **state)
{
	unsigned i, before;
	struct bed bed;

	(void)state;
	bed_init(&bed, 9);
	for (i = 0; i < 20; i++)
		bed_sweep(&bed);
	bed_store(&bed);
	for (i = 0; i < SWITCHES; i++)
		bed.tables[i][300] ^= 1;
	before = bed_known_tables(&bed);
	assert_int_equal(before, 0);
	for (i = 0; i < 4 && !bed_known_tables(&bed); i++)
		bed_sweep(&bed);
	assert_in_range(bed_known_tables(&bed), 1, 2);
	assert_int_equal(bed_sweep(&bed), SWITCHES * BLOCKS);
	assert_int_equal(bed_known_tables(&bed), SWITCHES);
	bed_store(&bed);
	/* Once more a minute later, and no more. */
	for (i = 0; i < 4; i++)
		assert_in_range(bed_sweep(&bed), 0, BLOCKS);
	assert_true(bed_sweep(&bed) + bed_sweep(&bed) >= SWITCHES * BLOCKS);
	for (i = 0; i < 20; i++)
		assert_in_range(bed_sweep(&bed), 0, BLOCKS);
	bed_done(&bed);
}

static void a_topology_change_causes_a_full_read_once_a_minute(void **state)
{
	unsigned total = 0, i;
	struct bed bed;

	(void)state;
	bed_init(&bed, 2);
	for (i = 0; i < 20; i++)
		bed_sweep(&bed);
	bed.generation++;
	assert_int_equal(bed_sweep(&bed), SWITCHES * BLOCKS);
	/* A flapping link: another topology in each sweep, for ten minutes. */
	for (i = 0; i < 60; i++) {
		bed.generation++;
		total += bed_sweep(&bed);
	}
	assert_in_range(total, 9 * SWITCHES * BLOCKS, 12 * SWITCHES * BLOCKS);
	bed_done(&bed);
}

static void a_limit_spreads_the_reading_over_sweeps(void **state)
{
	struct bed bed;
	unsigned i;

	(void)state;
	bed_init(&bed, 5);
	bed.smps_per_sweep = 5 * BLOCKS;
	for (i = 0; i < 6; i++) {
		assert_int_equal(bed_sweep(&bed), 5 * BLOCKS);
		assert_int_equal(bed_known_tables(&bed), 5 * (i + 1));
		bed_store(&bed);
	}
	/* During a round, a requested switch comes first. */
	bed.tables[29][9] ^= 1;
	assert_int_equal(route_read_request(&bed.read, 129, NULL), 0);
	bed_sweep(&bed);
	assert_true(bed_is_known(&bed, 29));
	bed_done(&bed);
}

static void blocks_per_transaction_are_limited(void **state)
{
	struct bed bed;
	unsigned i;

	(void)state;
	bed_init(&bed, 8);
	bed.blocks_per_sweep = 100;
	for (i = 0; i < 3; i++) {
		bed_sweep(&bed);
		assert_int_equal(bed.read.block_count, i < 2 ? 100 : SWITCHES * BLOCKS - 200);
		bed_store_blocks(&bed);
		assert_int_equal(routes_same(&bed.stored, &bed.read.routes), i == 2);
	}
	bed_sweep(&bed);
	assert_int_equal(bed.read.block_count, 0);
	bed_done(&bed);
}

static void an_interval_of_zero_disables_reads(void **state)
{
	struct bed bed;

	(void)state;
	bed_init(&bed, 7);
	bed.read.interval_us = 0;
	assert_int_equal(bed_sweep(&bed), 0);
	assert_int_equal(route_read_request(&bed.read, 100, NULL), 0);
	assert_int_equal(bed_sweep(&bed), 0);
	bed_done(&bed);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(all_tables_are_read_twice_and_then_periodically),
		cmocka_unit_test(periodic_reads_take_no_more_than_their_share),
		cmocka_unit_test(a_change_found_periodically_causes_a_full_read),
		cmocka_unit_test(a_topology_change_causes_a_full_read_once_a_minute),
		cmocka_unit_test(a_limit_spreads_the_reading_over_sweeps),
		cmocka_unit_test(blocks_per_transaction_are_limited),
		cmocka_unit_test(an_interval_of_zero_disables_reads),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
