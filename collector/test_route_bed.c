/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
#include "collector/test_route_bed.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#include <cmocka.h>

#include "base/err.h"
#include "base/map.h"
#include "fabric/fabric.h"
#include "wire/engine.h"

uint64_t bed_random(struct bed *bed)
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
	if (bed->silent[at] || bed_random(bed) % 100 < bed->loss_percent)
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

void bed_init(struct bed *bed, uint64_t seed)
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
	assert_int_equal(node_memory_set_fabric(&bed->memory, bed->fabric, NULL), 0);
	for (i = 0; i < SWITCHES; i++)
		for (lid = 0; lid < LIDS; lid++)
			bed->tables[i][lid] = (uint8_t)bed_random(bed);
	assert_int_equal(engine_create(&bed->transport, &bed->clock, &settings, &bed->engine, NULL), 0);
}

void bed_done(struct bed *bed)
{
	engine_destroy(bed->engine);
	route_read_done(&bed->read);
	node_memory_done(&bed->memory);
	events_done(&bed->events);
	routes_done(&bed->stored);
	fabric_destroy(bed->fabric);
}

void bed_store_blocks(struct bed *bed)
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
	route_read_commit(&bed->read);
}

void bed_store(struct bed *bed)
{
	bed_store_blocks(bed);
	assert_true(routes_same(&bed->stored, &bed->read.routes));
}

unsigned bed_sweep(struct bed *bed)
{
	const struct route_read_limits limits = { .smps = bed->smps_per_sweep, .blocks_per_s = bed->blocks_per_s,
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

bool bed_is_known(const struct bed *bed, unsigned at)
{
	const struct route_table *table = routes_find(&bed->read.routes, 100 + at);

	return table && table->lids == LIDS && memcmp(table->ports, bed->tables[at], LIDS) == 0;
}

unsigned bed_known_tables(const struct bed *bed)
{
	unsigned known = 0, i;

	for (i = 0; i < SWITCHES; i++)
		known += bed_is_known(bed, i);
	return known;
}
