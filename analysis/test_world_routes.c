/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* Forwarding tables of the made world: as they are, and as they were read. */
#include <stdlib.h>

#include "analysis/test_world.h"
#include "fabric/fabric.h"

/* What is known of a switch's table is what it is now. */
void world_read_table(struct world *world, uint32_t at)
{
	uint8_t block[ROUTES_BLOCK];

	for (uint32_t lid = 0; lid <= world->node_count; lid += ROUTES_BLOCK) {
		for (uint32_t i = 0; i < ROUTES_BLOCK; i++)
			block[i] = lid + i && lid + i <= world->node_count ? world->tables[at][lid + i] :
									     ROUTES_NO_PORT;
		if (routes_set_block(&world->routes, world->nodes[at].guid, lid / ROUTES_BLOCK, block, NULL, NULL) < 0)
			abort();
	}
	world->read_guids[world->read_count++] = world->nodes[at].guid;
	if (!world->changes[at])
		return;
	world->changed_entries[world->changed_count] = world->changes[at];
	world->changed_guids[world->changed_count++] = world->nodes[at].guid;
	world->changes[at] = 0;
}

/* The link down from a spine to a leaf, one of those that are up; 0: none. */
static uint8_t way_down(const struct world *world, uint32_t spine, uint32_t leaf, uint32_t lid)
{
	unsigned parallel = world->made.parallel;

	for (unsigned i = 0; i < parallel; i++) {
		unsigned num = 1 + leaf * parallel + (lid / world->made.spines + i) % parallel;

		if (world_link_is_up(world, world->link_of[spine][num]))
			return (uint8_t)num;
	}
	return 0;
}

/* The port by which a switch sends to a LID as a subnet manager would have it. */
static uint8_t even_port(const struct world *world, uint32_t at, uint32_t lid)
{
	const struct world_shape *made = &world->made;
	uint32_t to = lid - 1, leaf, uplinks = made->spines * made->parallel;
	unsigned num;

	if (world->nodes[to].type != NODE_CA)
		return ROUTES_NO_PORT;
	leaf = world->link_of[to][1]->end[0].node;
	if (at >= made->leafs) {
		num = way_down(world, at, leaf, lid);
		return num ? (uint8_t)num : ROUTES_NO_PORT;
	}
	for (num = 1; num <= 100; num++)
		if (world->link_of[at][num] && world->link_of[at][num]->end[1].node == to)
			return (uint8_t)num;
	for (uint32_t i = 0; i < uplinks; i++) {
		num = 101 + (lid + i) % uplinks;
		if (world_link_is_up(world, world->link_of[at][num]) &&
		    way_down(world, world->link_of[at][num]->end[1].node, leaf, lid))
			return (uint8_t)num;
	}
	return ROUTES_NO_PORT;
}

void world_settle_routes(struct world *world)
{
	for (uint32_t at = 0; at < world->made.leafs + world->made.spines; at++)
		for (uint32_t lid = 1; lid <= world->node_count; lid++) {
			uint8_t port = even_port(world, at, lid);

			world->changes[at] += world->tables[at][lid] != port;
			world->tables[at][lid] = port;
		}
}

void world_make_routes(struct world *world)
{
	bool first = !world->has_routes;

	world->has_routes = true;
	world_settle_routes(world);
	for (uint32_t at = 0; at < world->made.leafs + world->made.spines; at++)
		world_read_table(world, at);
	if (first)
		world->changed_count = 0;
}

/* So many destinations that left by another uplink leave by this one. */
void world_skew(struct world *world, uint32_t at, uint8_t num, unsigned count)
{
	for (uint32_t lid = 1; lid <= world->node_count && count; lid++) {
		uint8_t was = world->tables[at][lid];

		if (was == ROUTES_NO_PORT || (at < world->made.leafs && was <= 100) || was == num)
			continue;
		world->tables[at][lid] = num;
		world->changes[at]++;
		count--;
	}
}
