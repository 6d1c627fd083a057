/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * Random fabrics of which a discovery misses some nodes. Who is to be put back is
 * known otherwise than the code finds it: of those that are missing and hang together all,
 * where one of them is cabled to a port that was found and is up; else none.
 */
#include <stdbool.h>

#include "base/map.h"
#include "base/unit_test.h"
#include "fabric/fabric.h"
#include "fabric/keep.h"

#define NODES 24
#define LINKS 40

struct world {
	uint64_t random;
	struct {
		unsigned node[2];
		uint8_t port[2];
		bool up; /* state of the end that was found, if the other one is missing */
	} links[LINKS];
	uint8_t ports[NODES]; /* so many, all cabled */
	bool missing[NODES];
};

static unsigned pick(struct world *world, unsigned below)
{
	world->random = map_mix(world->random + 0x9e3779b97f4a7c15ULL);
	return (unsigned)(world->random % below);
}

static void make(struct world *world, uint64_t seed)
{
	unsigned share;

	*world = (struct world){ .random = seed };
	share = 1 + pick(world, 9);
	for (unsigned i = 1; i < NODES; i++)
		world->missing[i] = pick(world, 10) < share;
	for (unsigned i = 0; i < LINKS; i++) {
		world->links[i].up = pick(world, 2);
		for (unsigned end = 0; end < 2; end++) {
			do
				world->links[i].node[end] = pick(world, NODES);
			while (end && world->links[i].node[1] == world->links[i].node[0]);
			world->links[i].port[end] = ++world->ports[world->links[i].node[end]];
		}
	}
}

static uint32_t port_at(const struct fabric *fabric, const struct world *world, unsigned link, unsigned end)
{
	return fabric_find_port(fabric, world->links[link].node[end] + 1, world->links[link].port[end]);
}

/* @all: as it is; else as the discovery found it */
static struct fabric *build(const struct world *world, bool all)
{
	struct fabric *fabric = fabric_create(NULL);

	for (unsigned i = 0; i < NODES; i++) {
		struct node node = { .guid = i + 1, .type = NODE_SWITCH, .port_count = world->ports[i], .desc = "n" };

		if (!all && world->missing[i])
			continue;
		assert_true(fabric_add_node(fabric, &node, NULL) >= 0);
		for (unsigned num = 1; num <= world->ports[i]; num++)
			assert_true(fabric_add_port(fabric, &(struct port){ .num = (uint8_t)num,
					.state = PORT_ACTIVE }, NULL) >= 0);
	}
	for (unsigned i = 0; i < LINKS; i++) {
		uint32_t ends[2];

		for (unsigned end = 0; end < 2; end++) {
			ends[end] = port_at(fabric, world, i, end);
			if (!all && world->missing[world->links[i].node[!end]] && !world->links[i].up &&
			    ends[end] != FABRIC_NONE)
				fabric->ports[ends[end]].state = PORT_DOWN;
		}
		if (ends[0] != FABRIC_NONE && ends[1] != FABRIC_NONE)
			assert_int_equal(fabric_link(fabric, ends[0], ends[1], NULL), 0);
	}
	assert_int_equal(fabric_finish(fabric, NULL, NULL), 0);
	fabric->from_node = fabric_find_node(fabric, 1);
	fabric->from_port = 1;
	return fabric;
}

/* Union-find over the missing nodes. Return: number of nodes to keep; @ret: which. */
static int expect(const struct world *world, bool ret[NODES])
{
	unsigned group[NODES];
	bool held[NODES] = { false };
	int count = 0;

	for (unsigned i = 0; i < NODES; i++)
		group[i] = i;
	for (unsigned i = 0; i < LINKS; i++) {
		unsigned a = world->links[i].node[0], b = world->links[i].node[1], from = group[a];

		for (unsigned j = 0; world->missing[a] && world->missing[b] && j < NODES; j++)
			if (group[j] == from)
				group[j] = group[b];
	}
	for (unsigned i = 0; i < LINKS; i++)
		for (unsigned end = 0; end < 2; end++)
			if (world->links[i].up && world->missing[world->links[i].node[end]] &&
			    !world->missing[world->links[i].node[!end]])
				held[group[world->links[i].node[end]]] = true;
	for (unsigned i = 0; i < NODES; i++) {
		ret[i] = world->missing[i] && held[group[i]];
		count += ret[i];
	}
	return count;
}

static void check(const struct world *world, const struct fabric *kept, const bool *back)
{
	for (unsigned i = 0; i < NODES; i++)
		assert_int_equal(fabric_find_node(kept, i + 1) != FABRIC_NONE, !world->missing[i] || back[i]);
	assert_int_equal(kept->nodes[kept->from_node].guid, 1);
	for (unsigned i = 0; i < LINKS; i++) {
		const unsigned *node = world->links[i].node;
		bool there[2] = {
			!world->missing[node[0]] || back[node[0]], !world->missing[node[1]] || back[node[1]],
		};
		bool found = !world->missing[node[0]] && !world->missing[node[1]];
		bool both_back = back[node[0]] && back[node[1]];

		for (unsigned end = 0; end < 2; end++) {
			uint32_t port = port_at(kept, world, i, end), peer = port_at(kept, world, i, !end);

			/* A cable with an end that is down does not count. */
			if (there[end])
				assert_int_equal(kept->ports[port].peer,
						 there[0] && there[1] && (found || both_back || world->links[i].up)
							 ? peer : FABRIC_NONE);
		}
	}
}

TEST(unresponsive_nodes_with_links_up_are_kept)
{
	int some = 0, none = 0;

	for (uint64_t seed = 1; seed <= 3000; seed++) {
		struct fabric *before, *found, *kept = NULL;
		bool back[NODES];
		struct world world;
		int count;

		make(&world, seed);
		before = build(&world, true);
		found = build(&world, false);
		count = expect(&world, back);
		assert_int_equal(fabric_keep_silent(before, found, &kept, NULL), count);
		if (count)
			check(&world, kept, back);
		else
			assert_null(kept);
		some += count > 0;
		none += count == 0;
		fabric_destroy(before);
		fabric_destroy(found);
		fabric_destroy(kept);
	}
	assert_true(some > 300 && none > 30);
}
