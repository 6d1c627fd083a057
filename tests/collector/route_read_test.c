/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* Forwarding tables: when they are read, and their changes. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/clock.h"
#include "base/unit_test.h"
#include "collector/events.h"
#include "collector/node_memory.h"
#include "collector/route_read.h"
#include "fabric/fabric.h"
#include "tests/world/lab.h"
#include "wire/engine.h"

enum { SWITCHES = 30, LIDS = 512, BLOCKS = LIDS / ROUTES_BLOCK };

#define SWEEP_US (10 * US_PER_S)

/* Switches in a row, and a host at the first one; the store keeps the blocks that route_read lists. */
struct bed {
	struct world_run *run;
	struct agent *agents;
	const struct fabric *fabric;
	struct engine *engine;
	struct node_memory memory;
	struct route_read read;
	struct events events;
	struct routes stored;
	uint64_t smps_per_sweep, blocks_per_sweep;
	double blocks_per_s;
};

static uint64_t bed_random(struct bed *bed)
{
	return (uint64_t)(virtual_random(bed->run->world) * 9007199254740992.0);
}

static uint8_t *table(struct bed *bed, size_t at)
{
	return spread_table(&bed->run->world->tables, 100 + at);
}

static struct fabric *build(void)
{
	struct fabric *fabric = fabric_create(NULL);

	for (unsigned i = 0; i <= SWITCHES; i++) {
		struct node node = { .guid = 100 + i, .type = i < SWITCHES ? NODE_SWITCH : NODE_CA, .port_count = 2 };

		snprintf(node.desc, sizeof(node.desc), "switch%02u", i);
		assert_true(fabric_add_node(fabric, &node, NULL) == i);
		for (unsigned num = i < SWITCHES ? 0 : 1; num <= 2; num++)
			assert_true(fabric_add_port(fabric, &(struct port){ .num = (uint8_t)num, .state = PORT_ACTIVE },
						    NULL) >= 0);
	}
	for (unsigned i = 1; i < SWITCHES; i++)
		assert_int_equal(fabric_link(fabric, 3 * (i - 1) + 2, 3 * i + 1, NULL), 0);
	assert_int_equal(fabric_link(fabric, 1, 3 * SWITCHES, NULL), 0);
	assert_int_equal(fabric_finish(fabric, NULL, NULL), 0);
	fabric->from_node = SWITCHES;
	return fabric;
}

/* Random tables, each to be read every ten minutes; no limits. */
static void bed_init(struct bed *bed, uint64_t seed)
{
	static const struct engine_settings settings = { .window = 8, .per_node = 1, .timeout_ms = 100, .retries = 2 };
	struct virtual *world = virtual_create(build(), SWEEP_US, seed);

	*bed = (struct bed){ .run = virtual_alloc(1, sizeof(*bed->run)), .agents = world->agents,
			     .fabric = world->built, .smps_per_sweep = 1000000, .read.interval_us = 600 * US_PER_S };
	world_run_init(bed->run, world);
	bed->run->loss = 0;
	bed->run->boot_us = 0;
	bed->run->now_us = 77 * US_PER_S;
	assert_int_equal(node_memory_set_fabric(&bed->memory, bed->fabric, NULL), 0);
	for (unsigned i = 0; i < SWITCHES; i++) {
		world->built->nodes[i].lft_top = LIDS - 1;
		assert_int_equal(routes_size(&world->tables, 100 + i, LIDS, NULL), 0);
		for (unsigned lid = 0; lid < LIDS; lid++)
			table(bed, i)[lid] = (uint8_t)bed_random(bed);
	}
	assert_int_equal(engine_create(&bed->run->transport, &bed->run->clock, &settings, &bed->engine, NULL), 0);
}

static void bed_done(struct bed *bed)
{
	engine_destroy(bed->engine);
	route_read_done(&bed->read);
	node_memory_done(&bed->memory);
	events_done(&bed->events);
	routes_done(&bed->stored);
	virtual_destroy(bed->run->world);
	free(bed->run);
}

/* Store the listed blocks. */
static void bed_store_blocks(struct bed *bed)
{
	for (size_t i = 0; i < bed->read.block_count; i++)
		lab_store_block(&bed->stored, &bed->read.routes, &bed->read.blocks[i]);
	route_read_commit(&bed->read);
}

/* The same without a limit: then all that was read is stored. */
static void bed_store(struct bed *bed)
{
	bed_store_blocks(bed);
	assert_true(routes_same(&bed->stored, &bed->read.routes));
}

/* The reads of one sweep. Return: MADs that reached switches */
static unsigned bed_sweep(struct bed *bed)
{
	const struct route_read_limits limits = { .smps = bed->smps_per_sweep, .blocks_per_s = bed->blocks_per_s,
						  .blocks = bed->blocks_per_sweep };
	unsigned before = 0, after = 0;
	int64_t began_us = bed->run->now_us;

	for (unsigned i = 0; i < SWITCHES; i++)
		before += bed->agents[i].table_queries;
	assert_int_equal(route_read_run(&bed->read, bed->engine, &bed->memory, &limits, began_us, began_us,
					&bed->events, NULL), 0);
	for (unsigned i = 0; i < SWITCHES; i++)
		after += bed->agents[i].table_queries;
	assert_true(bed->run->now_us - began_us < US_PER_S);
	bed->run->now_us = began_us + SWEEP_US;
	return after - before;
}

/* Is the table of this switch known as it is now? */
static bool bed_is_known(struct bed *bed, unsigned at)
{
	const struct route_table *known = routes_find(&bed->read.routes, 100 + at);

	return known && known->lids == LIDS && memcmp(known->ports, table(bed, at), LIDS) == 0;
}

static unsigned bed_known_tables(struct bed *bed)
{
	unsigned known = 0;

	for (unsigned i = 0; i < SWITCHES; i++)
		known += bed_is_known(bed, i);
	return known;
}

TEST(all_tables_are_read_twice_and_then_periodically)
{
	unsigned total = 0;
	struct bed bed;

	bed_init(&bed, 1);
	assert_int_equal(bed_sweep(&bed), SWITCHES * BLOCKS);
	assert_int_equal(bed_known_tables(&bed), SWITCHES);
	bed_store(&bed);
	assert_int_equal(bed.read.switches[0].read_us, 77 * US_PER_S);
	for (unsigned i = 1; i < 6; i++)
		assert_in_range(bed_sweep(&bed), 0, BLOCKS);
	assert_int_equal(bed_sweep(&bed), SWITCHES * BLOCKS);
	/* Then each once in ten minutes, so one every 20 s. */
	for (unsigned i = 0; i < 120; i++) {
		unsigned smps = bed_sweep(&bed);

		assert_in_range(smps, 0, BLOCKS);
		total += smps;
	}
	assert_in_range(total, 2 * SWITCHES * BLOCKS - BLOCKS, 2 * SWITCHES * BLOCKS + BLOCKS);
	for (unsigned i = 0; i < SWITCHES; i++)
		assert_in_range(bed.agents[i].table_queries, 4 * BLOCKS - BLOCKS, 4 * BLOCKS + BLOCKS);
	assert_int_equal(bed.events.count, 0);
	assert_int_equal(route_read_cost(bed.fabric, 600 * US_PER_S, 0, SWEEP_US), SWITCHES * BLOCKS / 60);
	assert_int_equal(route_read_cost(bed.fabric, 0, 0, SWEEP_US), 0);
	bed_done(&bed);
}

/* Once a minute for small tables; as often as the share of the rate allows for large ones. */
TEST(periodic_reads_take_no_more_than_their_share)
{
	static const double shares[] = { 0, 1e6, 4, 2, 0.4 };

	for (unsigned k = 0; k < sizeof(shares) / sizeof(shares[0]); k++) {
		double per_s = SWITCHES * BLOCKS / 60.0, total = 0;
		struct bed bed;

		bed_init(&bed, 8);
		bed.read.interval_us = 60 * US_PER_S;
		bed.blocks_per_s = shares[k];
		for (unsigned i = 0; i < 8; i++)
			bed_sweep(&bed);
		for (unsigned i = 0; i < 240; i++)
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
TEST(a_change_found_periodically_causes_a_full_read)
{
	unsigned before;
	struct bed bed;

	bed_init(&bed, 9);
	for (unsigned i = 0; i < 20; i++)
		bed_sweep(&bed);
	bed_store(&bed);
	for (unsigned i = 0; i < SWITCHES; i++)
		table(&bed, i)[300] ^= 1;
	before = bed_known_tables(&bed);
	assert_int_equal(before, 0);
	for (unsigned i = 0; i < 4 && !bed_known_tables(&bed); i++)
		bed_sweep(&bed);
	assert_in_range(bed_known_tables(&bed), 1, 2);
	assert_int_equal(bed_sweep(&bed), SWITCHES * BLOCKS);
	assert_int_equal(bed_known_tables(&bed), SWITCHES);
	bed_store(&bed);
	/* Once more a minute later, and no more. */
	for (unsigned i = 0; i < 4; i++)
		assert_in_range(bed_sweep(&bed), 0, BLOCKS);
	assert_true(bed_sweep(&bed) + bed_sweep(&bed) >= SWITCHES * BLOCKS);
	for (unsigned i = 0; i < 20; i++)
		assert_in_range(bed_sweep(&bed), 0, BLOCKS);
	bed_done(&bed);
}

TEST(a_topology_change_causes_a_full_read_once_a_minute)
{
	unsigned total = 0;
	struct bed bed;

	bed_init(&bed, 2);
	for (unsigned i = 0; i < 20; i++)
		bed_sweep(&bed);
	bed.memory.generation++;
	assert_int_equal(bed_sweep(&bed), SWITCHES * BLOCKS);
	/* A flapping link: another topology in each sweep, for ten minutes. */
	for (unsigned i = 0; i < 60; i++) {
		bed.memory.generation++;
		total += bed_sweep(&bed);
	}
	assert_in_range(total, 9 * SWITCHES * BLOCKS, 12 * SWITCHES * BLOCKS);
	bed_done(&bed);
}

TEST(a_limit_spreads_the_reading_over_sweeps)
{
	struct bed bed;

	bed_init(&bed, 5);
	bed.smps_per_sweep = 5 * BLOCKS;
	for (unsigned i = 0; i < 6; i++) {
		assert_int_equal(bed_sweep(&bed), 5 * BLOCKS);
		assert_int_equal(bed_known_tables(&bed), 5 * (i + 1));
		bed_store(&bed);
	}
	/* During a round, a requested switch comes first. */
	table(&bed, 29)[9] ^= 1;
	assert_int_equal(route_read_request(&bed.read, 129, NULL), 0);
	bed_sweep(&bed);
	assert_true(bed_is_known(&bed, 29));
	bed_done(&bed);
}

TEST(blocks_per_transaction_are_limited)
{
	struct bed bed;

	bed_init(&bed, 8);
	bed.blocks_per_sweep = 100;
	for (unsigned i = 0; i < 3; i++) {
		bed_sweep(&bed);
		assert_int_equal(bed.read.block_count, i < 2 ? 100 : SWITCHES * BLOCKS - 200);
		bed_store_blocks(&bed);
		assert_int_equal(routes_same(&bed.stored, &bed.read.routes), i == 2);
	}
	bed_sweep(&bed);
	assert_int_equal(bed.read.block_count, 0);
	bed_done(&bed);
}

static bool is_below(void *ctx, uint64_t guid)
{
	return guid < *(const uint64_t *)ctx;
}

/* Those that the store found to be left out only as it stored them, and those of which it is known. */
TEST(tables_of_switches_that_are_left_out_are_stored_once_they_are_not)
{
	uint64_t accepted_from = 0;
	const struct sink sink = { .is_left_out = is_below, .ctx = &accepted_from };
	struct bed bed;

	bed_init(&bed, 12);
	bed.read.sink = &sink;
	bed_sweep(&bed);
	assert_int_equal(bed.read.block_count, SWITCHES * BLOCKS);
	for (accepted_from = 100 + SWITCHES; accepted_from >= 100; accepted_from -= 10) {
		if (accepted_from < 100 + SWITCHES) {
			bed_sweep(&bed);
			assert_int_equal(bed.read.block_count, 10 * BLOCKS);
		}
		route_read_commit(&bed.read);
	}
	bed_sweep(&bed);
	assert_int_equal(bed.read.block_count, 0);
	bed_done(&bed);
}

TEST(an_interval_of_zero_disables_reads)
{
	struct bed bed;

	bed_init(&bed, 7);
	bed.read.interval_us = 0;
	assert_int_equal(bed_sweep(&bed), 0);
	assert_int_equal(route_read_request(&bed.read, 100, NULL), 0);
	assert_int_equal(bed_sweep(&bed), 0);
	bed_done(&bed);
}

TEST(changes_are_one_event_per_switch_or_one_for_many)
{
	struct bed bed;

	bed_init(&bed, 3);
	bed_sweep(&bed);
	bed_store(&bed);
	table(&bed, 4)[70] ^= 1;
	table(&bed, 4)[71] ^= 1;
	table(&bed, 4)[500] ^= 1;
	table(&bed, 9)[1] ^= 1;
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
	for (unsigned i = 0; i < 20; i++)
		bed_sweep(&bed);
	for (unsigned i = 0; i <= ROUTE_READ_EVENTS; i++)
		table(&bed, i)[5] ^= 3;
	bed.memory.generation++;
	bed_sweep(&bed);
	assert_int_equal(bed_known_tables(&bed), SWITCHES);
	assert_int_equal(bed.events.count, 1);
	assert_string_equal(bed.events.list[0].text, "LFTs of 21 switches changed: 21 entries");
	assert_int_equal(bed.events.list[0].node_guid, 0);
	bed_store(&bed);
	bed_done(&bed);
}

TEST(an_unresponsive_switch_keeps_its_table_and_is_queried_rarely)
{
	unsigned before;
	struct bed bed;

	bed_init(&bed, 4);
	bed_sweep(&bed);
	bed.agents[7].dead = true;
	bed.agents[8].rejected_smp = SMP_LINEAR_FORWARDING_TABLE;
	table(&bed, 7)[100] ^= 1;
	table(&bed, 8)[100] ^= 1;
	bed.memory.generation++;
	for (unsigned i = 0; i < 60; i++)
		bed_sweep(&bed);
	assert_true(!bed_is_known(&bed, 7) && !bed_is_known(&bed, 8));
	assert_int_equal(routes_out_port(routes_find(&bed.read.routes, 107), 99), table(&bed, 7)[99]);
	assert_true(routes_is_read(routes_find(&bed.read.routes, 107), 100));
	assert_int_equal(bed.events.count, 0);
	/* 600 s: after 2, 4, 8, ... sweeps, three MADs each; a rejection takes one. */
	assert_in_range(bed.agents[7].table_queries - BLOCKS, 3, 24);
	assert_in_range(bed.agents[8].table_queries - BLOCKS, 1, 16);
	before = bed.agents[7].table_queries;
	bed.agents[7].dead = false;
	bed.agents[8].rejected_smp = 0;
	for (unsigned i = 0; i < 64; i++)
		bed_sweep(&bed);
	assert_true(bed_is_known(&bed, 7) && bed_is_known(&bed, 8));
	assert_true(bed.agents[7].table_queries > before);
	assert_int_equal(bed.events.count, 2);
	/* Unresponsive and locked switches are not queried. */
	before = bed.agents[3].table_queries + bed.agents[5].table_queries;
	node_memory_node(&bed.memory, 3)->unresponsive_sweeps = 1;
	node_memory_node(&bed.memory, 5)->locked = true;
	bed.memory.generation++;
	for (unsigned i = 0; i < 20; i++)
		bed_sweep(&bed);
	assert_int_equal(bed.agents[3].table_queries + bed.agents[5].table_queries, before);
	bed_done(&bed);
}

TEST(a_table_has_the_size_of_its_top)
{
	struct bed bed;
	unsigned gone = 0;

	bed_init(&bed, 6);
	bed_sweep(&bed);
	bed_store(&bed);
	node_memory_node(&bed.memory, 2)->lft_top = 200;
	for (unsigned lid = 256; lid < LIDS; lid++)
		gone += table(&bed, 2)[lid] != ROUTES_NO_PORT;
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

TEST(every_table_is_read_despite_losses)
{
	for (uint64_t seed = 1; seed <= 10; seed++) {
		struct bed bed;

		bed_init(&bed, seed);
		bed.run->loss = 0.3;
		for (unsigned i = 0; i < 200; i++) {
			bed_sweep(&bed);
			if (bed_random(&bed) % 4)
				bed_store(&bed);
			for (unsigned k = 0; i < 60 && k < 3; k++)
				table(&bed, bed_random(&bed) % SWITCHES)[bed_random(&bed) % LIDS] = (uint8_t)k;
		}
		bed_store(&bed);
		assert_int_equal(bed_known_tables(&bed), SWITCHES);
		bed_done(&bed);
	}
}
