/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* Forwarding tables are read in time, told of once, and never at the cost of the sweeps. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "base/err.h"
#include "base/map.h"
#include "collector/events.h"
#include "collector/memory.h"
#include "collector/route_read.h"
#include "collector/test_model.h"
#include "fabric/fabric.h"
#include "wire/engine.h"
#include "wire/mad.h"
#include "wire/transport.h"

/* Switches in a row, each with a table; the wire loses some MADs, and some switches say nothing. */
enum { SWITCHES = 30, LIDS = 512, BLOCKS = LIDS / ROUTES_BLOCK };

#define SWEEP_US (10 * US_PER_S)

struct bed {
	struct clock clock;
	struct transport transport;
	struct engine *engine;
	struct fabric *fabric;
	struct memory memory;
	struct route_read read;
	struct events events;
	struct routes stored; /* what a sink would have */
	int64_t now_us;
	uint64_t random, generation, smps_per_sweep, blocks_per_sweep;
	double beat_per_s;
	uint8_t tables[SWITCHES][LIDS];
	unsigned asked[SWITCHES]; /* MADs that reached it */
	bool silent[SWITCHES];
	bool refuses[SWITCHES];
	unsigned loss_percent;
	uint8_t flying[64][MAD_SIZE];
	size_t flying_count;
};

static uint64_t next_random(struct bed *bed)
{
	return bed->random = map_mix(bed->random + 0x9e3779b97f4a7c15ULL);
}

static int64_t boottime_us(void *ctx)
{
	return ((struct bed *)ctx)->now_us;
}

static void sleep_until(void *ctx, int64_t until_us)
{
	struct bed *bed = ctx;

	if (until_us > bed->now_us)
		bed->now_us = until_us;
}

static int bed_send(void *ctx, const struct mad_address *to, const uint8_t mad[MAD_SIZE], unsigned timeout_ms,
		    struct error *err)
{
	struct bed *bed = ctx;
	struct mad_header header = mad_read_header(mad);
	unsigned at = to->lid - 1u;
	uint8_t *answer;

	(void)timeout_ms;
	(void)err;
	assert_true(mad_is_allowed(mad));
	assert_int_equal(header.attribute, SMP_LINEAR_FORWARDING_TABLE);
	assert_true(at < SWITCHES && header.modifier < BLOCKS);
	bed->now_us += 5;
	bed->asked[at]++;
	if (bed->silent[at] || next_random(bed) % 100 < bed->loss_percent)
		return 0;
	assert_true(bed->flying_count < 64);
	answer = bed->flying[bed->flying_count++];
	memcpy(answer, mad, MAD_SIZE);
	answer[3] = METHOD_GET_RESPONSE;
	if (bed->refuses[at])
		put_be16(answer + 4, 0x001c);
	memcpy(answer + SMP_DATA_OFFSET, bed->tables[at] + header.modifier * ROUTES_BLOCK, ROUTES_BLOCK);
	return 0;
}

static int bed_receive(void *ctx, uint8_t mad[MAD_SIZE], unsigned timeout_ms, struct error *err)
{
	struct bed *bed = ctx;

	(void)err;
	if (!bed->flying_count) {
		bed->now_us += timeout_ms * US_PER_MS;
		return TRANSPORT_NOTHING;
	}
	bed->now_us += 50;
	memcpy(mad, bed->flying[0], MAD_SIZE);
	memmove(bed->flying[0], bed->flying[1], --bed->flying_count * MAD_SIZE);
	return TRANSPORT_MAD;
}

static void make_fabric(struct bed *bed)
{
	unsigned i, p;

	bed->fabric = fabric_create(NULL);
	for (i = 0; i < SWITCHES; i++) {
		struct node node = { .guid = 100 + i, .type = NODE_SWITCH, .port_count = 2, .lid = (uint16_t)(i + 1),
				     .lft_top = LIDS - 1 };

		snprintf(node.desc, sizeof(node.desc), "switch%02u", i);
		assert_true(fabric_add_node(bed->fabric, &node, NULL) == i);
		for (p = 0; p <= 2; p++) {
			struct port port = { .num = (uint8_t)p, .state = PORT_ACTIVE };

			assert_true(fabric_add_port(bed->fabric, &port, NULL) >= 0);
		}
	}
	for (i = 1; i < SWITCHES; i++)
		assert_int_equal(fabric_link(bed->fabric, 3 * (i - 1) + 2, 3 * i + 1, NULL), 0);
	assert_int_equal(fabric_finish(bed->fabric, NULL, NULL), 0);
}

static void bed_init(struct bed *bed, uint64_t seed)
{
	static const struct engine_settings settings = { .window = 8, .per_node = 1, .timeout_ms = 100, .retries = 2 };
	unsigned i, lid;

	memset(bed, 0, sizeof(*bed));
	bed->random = seed;
	bed->now_us = 77 * US_PER_S;
	bed->generation = 1;
	bed->smps_per_sweep = 1000000;
	bed->clock = (struct clock){ boottime_us, boottime_us, sleep_until, NULL, bed };
	bed->transport = (struct transport){ bed_send, bed_receive, bed };
	bed->read.interval_us = 600 * US_PER_S;
	make_fabric(bed);
	assert_int_equal(memory_follow(&bed->memory, bed->fabric, NULL), 0);
	for (i = 0; i < SWITCHES; i++)
		for (lid = 0; lid < LIDS; lid++)
			bed->tables[i][lid] = (uint8_t)next_random(bed);
	assert_int_equal(engine_create(&bed->transport, &bed->clock, &settings, &bed->engine, NULL), 0);
}

static void bed_done(struct bed *bed)
{
	engine_destroy(bed->engine);
	route_read_done(&bed->read);
	memory_done(&bed->memory);
	events_done(&bed->events);
	routes_done(&bed->stored);
	fabric_destroy(bed->fabric);
}

static void store_blocks(struct bed *bed)
{
	size_t i;

	for (i = 0; i < bed->read.block_count; i++) {
		const struct route_block *block = &bed->read.blocks[i];
		const struct route_table *table = routes_find(&bed->read.routes, block->node_guid);
		uint16_t lid = (uint16_t)(block->block * ROUTES_BLOCK);

		if (routes_is_read(table, lid))
			routes_set_block(&bed->stored, block->node_guid, block->block, table->ports + lid, NULL, NULL);
		else
			routes_cut(&bed->stored, block->node_guid, lid);
	}
	route_read_keep(&bed->read);
}

static void store(struct bed *bed)
{
	store_blocks(bed);
	assert_true(routes_same(&bed->stored, &bed->read.routes));
}

/* One sweep; returns how many MADs it took. */
static unsigned sweep(struct bed *bed)
{
	const struct route_read_limits limits = { .smps = bed->smps_per_sweep, .beat_per_s = bed->beat_per_s,
						  .blocks = bed->blocks_per_sweep };
	unsigned before = 0, after = 0, i;
	int64_t began_us = bed->now_us;

	for (i = 0; i < SWITCHES; i++)
		before += bed->asked[i];
	assert_int_equal(route_read_run(&bed->read, bed->engine, bed->fabric, &bed->memory, bed->generation, &limits,
					bed->now_us, bed->now_us, &bed->events, NULL), 0);
	for (i = 0; i < SWITCHES; i++)
		after += bed->asked[i];
	/* Time is that of the wire alone: never a second. */
	assert_true(bed->now_us - began_us < US_PER_S);
	bed->now_us = began_us + SWEEP_US;
	return after - before;
}

static bool is_known(const struct bed *bed, unsigned at)
{
	const struct route_table *table = routes_find(&bed->read.routes, 100 + at);

	return table && table->lids == LIDS && memcmp(table->ports, bed->tables[at], LIDS) == 0;
}

static unsigned known_tables(const struct bed *bed)
{
	unsigned known = 0, i;

	for (i = 0; i < SWITCHES; i++)
		known += is_known(bed, i);
	return known;
}

static void all_tables_are_read_at_first_again_after_a_minute_and_then_at_the_beat(void **state)
{
	unsigned total = 0, i;
	struct bed bed;

	(void)state;
	bed_init(&bed, 1);
	assert_int_equal(sweep(&bed), SWITCHES * BLOCKS);
	assert_int_equal(known_tables(&bed), SWITCHES);
	store(&bed);
	assert_int_equal(route_read_at_us(&bed.read, 100), 77 * US_PER_S);
	for (i = 1; i < 6; i++)
		assert_in_range(sweep(&bed), 0, BLOCKS);
	assert_int_equal(sweep(&bed), SWITCHES * BLOCKS);
	/* Then each once in ten minutes, so one every 20 s. */
	for (i = 0; i < 120; i++) {
		unsigned smps = sweep(&bed);

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

/* Once a minute where that is little; as often as the share of the rate allows where it is much. */
static void the_beat_takes_no_more_than_its_share(void **state)
{
	static const double shares[] = { 0, 1e6, 4, 2, 0.4 };
	unsigned i, k;

	(void)state;
	for (k = 0; k < sizeof(shares) / sizeof(shares[0]); k++) {
		double per_s = SWITCHES * BLOCKS / 60.0, total = 0;
		struct bed bed;

		bed_init(&bed, 8);
		bed.read.interval_us = 60 * US_PER_S;
		bed.beat_per_s = shares[k];
		for (i = 0; i < 8; i++)
			sweep(&bed);
		for (i = 0; i < 240; i++)
			total += sweep(&bed);
		per_s = shares[k] > 0 && shares[k] < per_s ? shares[k] : per_s;
		assert_true(total >= 2400 * per_s - BLOCKS && total <= 2400 * per_s + BLOCKS);
		assert_int_equal(route_read_cost(bed.fabric, 60 * US_PER_S, shares[k], 2400 * US_PER_S),
				 (uint64_t)(2400 * per_s + 0.5));
		bed_done(&bed);
	}
	/* 1,280 switches with 280 blocks in ten minutes, 48 with 17 well within one. */
	assert_true(route_read_beat_per_s(0) == 600 && route_read_beat_per_s(20000) == 600);
	assert_true(1280 * 280 / route_read_beat_per_s(20000) < 600 && 48 * 17 / route_read_beat_per_s(20000) < 60);
}

/* The SM wrote to many; the beat comes to one of them, and then all are looked at, until nothing changes. */
static void a_change_that_the_beat_finds_has_all_tables_read(void **state)
{
	unsigned i, before;
	struct bed bed;

	(void)state;
	bed_init(&bed, 9);
	for (i = 0; i < 20; i++)
		sweep(&bed);
	store(&bed);
	for (i = 0; i < SWITCHES; i++)
		bed.tables[i][300] ^= 1;
	before = known_tables(&bed);
	assert_int_equal(before, 0);
	for (i = 0; i < 4 && !known_tables(&bed); i++)
		sweep(&bed);
	assert_in_range(known_tables(&bed), 1, 2);
	assert_int_equal(sweep(&bed), SWITCHES * BLOCKS);
	assert_int_equal(known_tables(&bed), SWITCHES);
	store(&bed);
	/* Once more a minute later, and that is all. */
	for (i = 0; i < 4; i++)
		assert_in_range(sweep(&bed), 0, BLOCKS);
	assert_true(sweep(&bed) + sweep(&bed) >= SWITCHES * BLOCKS);
	for (i = 0; i < 20; i++)
		assert_in_range(sweep(&bed), 0, BLOCKS);
	bed_done(&bed);
}

static void a_change_of_topology_has_all_tables_read_but_not_more_than_once_a_minute(void **state)
{
	unsigned total = 0, i;
	struct bed bed;

	(void)state;
	bed_init(&bed, 2);
	for (i = 0; i < 20; i++)
		sweep(&bed);
	bed.generation++;
	assert_int_equal(sweep(&bed), SWITCHES * BLOCKS);
	/* A link that flaps: another topology with each sweep, for ten minutes. */
	for (i = 0; i < 60; i++) {
		bed.generation++;
		total += sweep(&bed);
	}
	assert_in_range(total, 9 * SWITCHES * BLOCKS, 12 * SWITCHES * BLOCKS);
	bed_done(&bed);
}

static void what_changed_is_one_event_for_each_switch_or_one_for_many(void **state)
{
	struct bed bed;
	unsigned i;

	(void)state;
	bed_init(&bed, 3);
	sweep(&bed);
	store(&bed);
	bed.tables[4][70] ^= 1;
	bed.tables[4][71] ^= 1;
	bed.tables[4][500] ^= 1;
	bed.tables[9][1] ^= 1;
	assert_int_equal(route_read_want(&bed.read, 104, NULL), 0);
	assert_int_equal(route_read_want(&bed.read, 109, NULL), 0);
	sweep(&bed);
	assert_true(is_known(&bed, 4) && is_known(&bed, 9));
	assert_int_equal(bed.events.count, 2);
	assert_string_equal(bed.events.list[0].kind, EVENT_ROUTES_CHANGED);
	assert_string_equal(bed.events.list[0].text, "LFT of switch04 changed: 3 entries");
	assert_int_equal(bed.events.list[0].node_guid, 104);
	assert_string_equal(bed.events.list[1].text, "LFT of switch09 changed: 1 entry");
	assert_int_equal(bed.read.block_count, 3);
	assert_int_equal(bed.read.switches[4].changed, 3);
	/* A sweep that was not stored leaves what changed to the next one; what it tells is its own. */
	route_read_skip(&bed.read);
	assert_int_equal(bed.read.switches[4].changed, 0);
	sweep(&bed);
	assert_int_equal(bed.read.switches[4].changed, 0);
	assert_int_equal(bed.events.count, 2);
	assert_int_equal(bed.read.block_count, 3);
	store(&bed);
	assert_int_equal(bed.read.block_count, 0);
	events_clear(&bed.events);
	for (i = 0; i < 20; i++)
		sweep(&bed);
	for (i = 0; i <= ROUTE_READ_EVENTS; i++)
		bed.tables[i][5] ^= 3;
	bed.generation++;
	sweep(&bed);
	assert_int_equal(known_tables(&bed), SWITCHES);
	assert_int_equal(bed.events.count, 1);
	assert_string_equal(bed.events.list[0].text, "LFTs of 21 switches changed: 21 entries");
	assert_int_equal(bed.events.list[0].node_guid, 0);
	store(&bed);
	bed_done(&bed);
}

static void who_does_not_answer_stays_as_known_and_is_asked_seldom(void **state)
{
	unsigned i, before;
	struct bed bed;

	(void)state;
	bed_init(&bed, 4);
	sweep(&bed);
	bed.silent[7] = bed.refuses[8] = true;
	bed.tables[7][100] ^= 1;
	bed.tables[8][100] ^= 1;
	bed.generation++;
	for (i = 0; i < 60; i++)
		sweep(&bed);
	assert_true(!is_known(&bed, 7) && !is_known(&bed, 8));
	assert_int_equal(routes_out_port(routes_find(&bed.read.routes, 107), 99), bed.tables[7][99]);
	assert_true(routes_is_read(routes_find(&bed.read.routes, 107), 100));
	assert_int_equal(bed.events.count, 0);
	/* 600 s: after 2, 4, 8, ... sweeps, three MADs each; a refusal one. */
	assert_in_range(bed.asked[7] - BLOCKS, 3, 24);
	assert_in_range(bed.asked[8] - BLOCKS, 1, 16);
	before = bed.asked[7];
	bed.silent[7] = bed.refuses[8] = false;
	for (i = 0; i < 64; i++)
		sweep(&bed);
	assert_true(is_known(&bed, 7) && is_known(&bed, 8));
	assert_true(bed.asked[7] > before);
	assert_int_equal(bed.events.count, 2);
	/* Those that the sweeps find silent, or that are locked, are not asked at all. */
	before = bed.asked[3] + bed.asked[5];
	memory_node(&bed.memory, 3)->silent_sweeps = 1;
	memory_node(&bed.memory, 5)->locked = true;
	bed.generation++;
	for (i = 0; i < 20; i++)
		sweep(&bed);
	assert_int_equal(bed.asked[3] + bed.asked[5], before);
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
		assert_int_equal(sweep(&bed), 5 * BLOCKS);
		assert_int_equal(known_tables(&bed), 5 * (i + 1));
		store(&bed);
	}
	/* In the middle of a round, a switch that somebody asks for comes first. */
	bed.tables[29][9] ^= 1;
	assert_int_equal(route_read_want(&bed.read, 129, NULL), 0);
	sweep(&bed);
	assert_true(is_known(&bed, 29));
	bed_done(&bed);
}

static void what_is_stored_at_once_is_limited_too(void **state)
{
	struct bed bed;
	unsigned i;

	(void)state;
	bed_init(&bed, 8);
	bed.blocks_per_sweep = 100;
	for (i = 0; i < 3; i++) {
		sweep(&bed);
		assert_int_equal(bed.read.block_count, i < 2 ? 100 : SWITCHES * BLOCKS - 200);
		store_blocks(&bed);
		assert_int_equal(routes_same(&bed.stored, &bed.read.routes), i == 2);
	}
	sweep(&bed);
	assert_int_equal(bed.read.block_count, 0);
	bed_done(&bed);
}

static void a_table_follows_its_top(void **state)
{
	struct bed bed;
	unsigned lid, gone = 0;

	(void)state;
	bed_init(&bed, 6);
	sweep(&bed);
	store(&bed);
	memory_node(&bed.memory, 2)->lft_top = 200;
	for (lid = 256; lid < LIDS; lid++)
		gone += bed.tables[2][lid] != ROUTES_NO_PORT;
	assert_in_range(sweep(&bed), 4, 4 + BLOCKS);
	assert_int_equal(routes_find(&bed.read.routes, 102)->lids, 256);
	assert_int_equal(bed.read.block_count, 4);
	assert_int_equal(bed.events.count, 1);
	assert_int_equal(strtoul(strchr(bed.events.list[0].text, ':') + 2, NULL, 10), gone);
	store(&bed);
	memory_node(&bed.memory, 2)->lft_top = 511;
	sweep(&bed);
	assert_true(is_known(&bed, 2));
	assert_int_equal(bed.events.count, 2);
	store(&bed);
	bed_done(&bed);
}

static void a_lossy_wire_brings_every_table_in_the_end(void **state)
{
	uint64_t seed;

	(void)state;
	for (seed = 1; seed <= 10; seed++) {
		struct bed bed;
		unsigned i, k;

		bed_init(&bed, seed);
		bed.loss_percent = 30;
		for (i = 0; i < 200; i++) {
			sweep(&bed);
			if (next_random(&bed) % 4)
				store(&bed);
			for (k = 0; i < 60 && k < 3; k++)
				bed.tables[next_random(&bed) % SWITCHES][next_random(&bed) % LIDS] = (uint8_t)k;
		}
		store(&bed);
		assert_int_equal(known_tables(&bed), SWITCHES);
		bed_done(&bed);
	}
}

static void never_means_never(void **state)
{
	struct bed bed;

	(void)state;
	bed_init(&bed, 7);
	bed.read.interval_us = 0;
	assert_int_equal(sweep(&bed), 0);
	assert_int_equal(route_read_want(&bed.read, 100, NULL), 0);
	assert_int_equal(sweep(&bed), 0);
	bed_done(&bed);
}

/* The rest goes through the whole collector, on a model of a fabric. */
static void give_tables(struct model *model)
{
	unsigned i, lid;

	for (i = 0; i < MODEL_SPINES + MODEL_LEAFS; i++) {
		model->nodes[i].lft_top = 150;
		for (lid = 0; lid < MODEL_LIDS; lid++)
			model->nodes[i].lft[lid] = (uint8_t)(model_random(model) % (MODEL_PORTS_MAX + 1));
	}
}

static bool has_all(const struct model *model)
{
	unsigned i;

	for (i = 0; i < MODEL_SPINES + MODEL_LEAFS; i++) {
		const struct route_table *table = routes_find(&model->routes, model_guid(i));

		if (!table || table->lids != 192 || memcmp(table->ports, model->nodes[i].lft, 192) != 0)
			return false;
	}
	return true;
}

static struct model *with_tables(uint64_t seed)
{
	struct model *model = model_create(seed);

	model->routes_interval_us = 600 * US_PER_S;
	model->traffic = false;
	give_tables(model);
	return model;
}

static void one_sweep_alone_reads_and_stores_all_tables(void **state)
{
	struct model *model = with_tables(1);

	(void)state;
	assert_int_equal(model_run(model, 1, NULL, NULL), 0);
	assert_true(has_all(model));
	assert_int_equal(model_events_of(model, EVENT_ROUTES_CHANGED), 0);
	/* Those who come next know it, and tell what changed in between. */
	model->nodes[3].lft[17] ^= 1;
	assert_int_equal(model_run(model, 1, NULL, NULL), 0);
	assert_true(has_all(model));
	assert_int_equal(model_events_of(model, EVENT_ROUTES_CHANGED), 1);
	routes_done(&model->routes);
	free(model);
}

static void fail_now_and_then(struct model *model)
{
	model->store_fails = model_random(model) % 3 == 0;
	if (model_random(model) % 2)
		model->nodes[model_random(model) % (MODEL_SPINES + MODEL_LEAFS)].lft[model_random(model) % 192] ^= 1;
}

static void a_store_that_fails_loses_no_change(void **state)
{
	struct model *model = with_tables(2);
	unsigned i;

	(void)state;
	model->before_sweep = fail_now_and_then;
	model->routes_interval_us = 60 * US_PER_S;
	/* The sink holds what it was given against the tables. */
	assert_int_equal(model_run(model, 150, NULL, NULL), 0);
	model->before_sweep = NULL;
	model->store_fails = false;
	assert_int_equal(model_run(model, 8, NULL, NULL), 0);
	assert_true(has_all(model));
	for (i = 0; i < MODEL_SPINES + MODEL_LEAFS; i++)
		assert_true(model->nodes[i].lft_reads > 25 * 3);
	routes_done(&model->routes);
	free(model);
}

/* The SM starts anew and gives two switches each other's LID; only a discovery tells. */
static void swap_lids(struct model *model)
{
	uint16_t lid = model->nodes[2].lid;

	if (model->sweeps != 9)
		return;
	model->nodes[2].lid = model->nodes[3].lid;
	model->nodes[3].lid = lid;
	model->sm_act_count = 0;
}

static void a_table_is_not_taken_from_whoever_has_the_lid_now(void **state)
{
	struct model *model = with_tables(3);

	(void)state;
	model->sm_act_count = 7;
	model->routes_interval_us = 10 * US_PER_S; /* all with every sweep */
	model->before_sweep = swap_lids;
	assert_int_equal(model_run(model, 30, NULL, NULL), 0);
	assert_true(has_all(model));
	assert_int_equal(model_events_of(model, EVENT_ROUTES_CHANGED), 0);
	assert_true(model->nodes[2].lft_reads > 25 * 3);
	routes_done(&model->routes);
	free(model);
}

static void tables_are_read_along_paths_where_smps_go_there(void **state)
{
	struct model *model = with_tables(4);

	(void)state;
	model->wire.directed_smps = true;
	assert_int_equal(model_run(model, 3, NULL, NULL), 0);
	assert_true(has_all(model));
	assert_int_equal(model->smps_by_lid, 0);
	routes_done(&model->routes);
	free(model);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(all_tables_are_read_at_first_again_after_a_minute_and_then_at_the_beat),
		cmocka_unit_test(the_beat_takes_no_more_than_its_share),
		cmocka_unit_test(a_change_that_the_beat_finds_has_all_tables_read),
		cmocka_unit_test(a_change_of_topology_has_all_tables_read_but_not_more_than_once_a_minute),
		cmocka_unit_test(what_changed_is_one_event_for_each_switch_or_one_for_many),
		cmocka_unit_test(who_does_not_answer_stays_as_known_and_is_asked_seldom),
		cmocka_unit_test(a_limit_spreads_the_reading_over_sweeps),
		cmocka_unit_test(what_is_stored_at_once_is_limited_too),
		cmocka_unit_test(a_table_follows_its_top),
		cmocka_unit_test(a_lossy_wire_brings_every_table_in_the_end),
		cmocka_unit_test(never_means_never),
		cmocka_unit_test(one_sweep_alone_reads_and_stores_all_tables),
		cmocka_unit_test(a_store_that_fails_loses_no_change),
		cmocka_unit_test(a_table_is_not_taken_from_whoever_has_the_lid_now),
		cmocka_unit_test(tables_are_read_along_paths_where_smps_go_there),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
