/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* Reading forwarding tables: changes, unresponsive switches, other sizes, losses. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "collector/test_route_bed.h"

static void changes_are_one_event_per_switch_or_one_for_many(void **state)
{
	struct bed bed;
	unsigned i;

	(void)state;
	bed_init(&bed, 3);
	bed_sweep(&bed);
	bed_store(&bed);
	bed.tables[4][70] ^= 1;
	bed.tables[4][71] ^= 1;
	bed.tables[4][500] ^= 1;
	bed.tables[9][1] ^= 1;
	assert_int_equal(route_read_request(&bed.read, 104, NULL), 0);
	assert_int_equal(route_read_request(&bed.read, 109, NULL), 0);
	bed_sweep(&bed);
	assert_true(bed_is_known(&bed, 4) && bed_is_known(&bed, 9));
	assert_int_equal(bed.events.count, 2);
	assert_string_equal(bed.events.list[0].kind, EVENT_ROUTES_CHANGED);
	assert_string_equal(bed.events.list[0].text, "LFT of switch04 changed: 3 entries");
	assert_int_equal(bed.events.list[0].node_guid, 104);
	assert_string_equal(bed.events.list[1].text, "LFT of switch09 changed: 1 entry");
	assert_int_equal(bed.read.block_count, 3);
	assert_int_equal(bed.read.switches[4].changed, 3);
	/*
	 * Changes of a sweep that was not stored are stored with the next one, and reported once.
	 */
	route_read_skip(&bed.read);
	assert_int_equal(bed.read.switches[4].changed, 0);
	bed_sweep(&bed);
	assert_int_equal(bed.read.switches[4].changed, 0);
	assert_int_equal(bed.events.count, 2);
	assert_int_equal(bed.read.block_count, 3);
	bed_store(&bed);
	assert_int_equal(bed.read.block_count, 0);
	events_clear(&bed.events);
	for (i = 0; i < 20; i++)
		bed_sweep(&bed);
	for (i = 0; i <= ROUTE_READ_EVENTS; i++)
		bed.tables[i][5] ^= 3;
	bed.generation++;
	bed_sweep(&bed);
	assert_int_equal(bed_known_tables(&bed), SWITCHES);
	assert_int_equal(bed.events.count, 1);
	assert_string_equal(bed.events.list[0].text, "LFTs of 21 switches changed: 21 entries");
	assert_int_equal(bed.events.list[0].node_guid, 0);
	bed_store(&bed);
	bed_done(&bed);
}

static void an_unresponsive_switch_keeps_its_table_and_is_queried_rarely(void **state)
{
	unsigned i, before;
	struct bed bed;

	(void)state;
	bed_init(&bed, 4);
	bed_sweep(&bed);
	bed.silent[7] = bed.refuses[8] = true;
	bed.tables[7][100] ^= 1;
	bed.tables[8][100] ^= 1;
	bed.generation++;
	for (i = 0; i < 60; i++)
		bed_sweep(&bed);
	assert_true(!bed_is_known(&bed, 7) && !bed_is_known(&bed, 8));
	assert_int_equal(routes_out_port(routes_find(&bed.read.routes, 107), 99), bed.tables[7][99]);
	assert_true(routes_is_read(routes_find(&bed.read.routes, 107), 100));
	assert_int_equal(bed.events.count, 0);
	/* 600 s: after 2, 4, 8, ... sweeps, three MADs each; a rejection takes one. */
	assert_in_range(bed.asked[7] - BLOCKS, 3, 24);
	assert_in_range(bed.asked[8] - BLOCKS, 1, 16);
	before = bed.asked[7];
	bed.silent[7] = bed.refuses[8] = false;
	for (i = 0; i < 64; i++)
		bed_sweep(&bed);
	assert_true(bed_is_known(&bed, 7) && bed_is_known(&bed, 8));
	assert_true(bed.asked[7] > before);
	assert_int_equal(bed.events.count, 2);
	/* Unresponsive and locked switches are not queried. */
	before = bed.asked[3] + bed.asked[5];
	node_memory_node(&bed.memory, 3)->silent_sweeps = 1;
	node_memory_node(&bed.memory, 5)->locked = true;
	bed.generation++;
	for (i = 0; i < 20; i++)
		bed_sweep(&bed);
	assert_int_equal(bed.asked[3] + bed.asked[5], before);
	bed_done(&bed);
}

static void a_table_has_the_size_of_its_top(void **state)
{
	struct bed bed;
	unsigned lid, gone = 0;

	(void)state;
	bed_init(&bed, 6);
	bed_sweep(&bed);
	bed_store(&bed);
	node_memory_node(&bed.memory, 2)->lft_top = 200;
	for (lid = 256; lid < LIDS; lid++)
		gone += bed.tables[2][lid] != ROUTES_NO_PORT;
	assert_in_range(bed_sweep(&bed), 4, 4 + BLOCKS);
	assert_int_equal(routes_find(&bed.read.routes, 102)->lids, 256);
	assert_int_equal(bed.read.block_count, 4);
	assert_int_equal(bed.events.count, 1);
	assert_int_equal(strtoul(strchr(bed.events.list[0].text, ':') + 2, NULL, 10), gone);
	bed_store(&bed);
	node_memory_node(&bed.memory, 2)->lft_top = 511;
	bed_sweep(&bed);
	assert_true(bed_is_known(&bed, 2));
	assert_int_equal(bed.events.count, 2);
	bed_store(&bed);
	bed_done(&bed);
}

static void every_table_is_read_despite_losses(void **state)
{
	uint64_t seed;

	(void)state;
	for (seed = 1; seed <= 10; seed++) {
		struct bed bed;
		unsigned i, k;

		bed_init(&bed, seed);
		bed.loss_percent = 30;
		for (i = 0; i < 200; i++) {
			bed_sweep(&bed);
			if (bed_random(&bed) % 4)
				bed_store(&bed);
			for (k = 0; i < 60 && k < 3; k++)
				bed.tables[bed_random(&bed) % SWITCHES][bed_random(&bed) % LIDS] = (uint8_t)k;
		}
		bed_store(&bed);
		assert_int_equal(bed_known_tables(&bed), SWITCHES);
		bed_done(&bed);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(changes_are_one_event_per_switch_or_one_for_many),
		cmocka_unit_test(an_unresponsive_switch_keeps_its_table_and_is_queried_rarely),
		cmocka_unit_test(a_table_has_the_size_of_its_top),
		cmocka_unit_test(every_table_is_read_despite_losses),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
