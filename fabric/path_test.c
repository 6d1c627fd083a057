/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
#include <stdlib.h>

#include "base/unit_test.h"
#include "fabric/fabric.h"
#include "fabric/path.h"
#include "fabric/test_net.h"

#define SWITCHES 20
#define HOSTS 40
#define RADIX 12

static void link_at_random(struct fabric *fabric, uint64_t *random, uint32_t port, bool to_switch)
{
	for (int tries = 0; tries < 50 && fabric->ports[port].peer == FABRIC_NONE; tries++) {
		uint32_t other = (uint32_t)(net_random(random) % fabric->port_count);
		const struct port *peer = &fabric->ports[other];

		if (peer->num && peer->peer == FABRIC_NONE && peer->node != fabric->ports[port].node &&
		    (!to_switch || fabric->nodes[peer->node].type == NODE_SWITCH))
			fabric_link(fabric, port, other, NULL);
	}
}

/* Switches in any order, cabled at random; hosts with one or two ports, on switches; some without a cable. */
static struct fabric *make(uint64_t seed)
{
	struct fabric *fabric = fabric_create(NULL);
	uint64_t random = seed;

	for (uint32_t i = 0; i < SWITCHES + HOSTS; i++) {
		bool is_switch = i % 3 == 0;
		struct node node = { .guid = i + 1, .type = is_switch ? NODE_SWITCH : NODE_CA,
				     .port_count = is_switch ? RADIX : 1 + i % 2 };

		assert_true(fabric_add_node(fabric, &node, NULL) >= 0);
		for (uint32_t port = is_switch ? 0 : 1; port <= node.port_count; port++)
			assert_true(fabric_add_port(fabric, &(struct port){ .num = (uint8_t)port }, NULL) >= 0);
	}
	for (uint32_t i = 0; i < fabric->port_count; i++)
		if (fabric->ports[i].num && net_random(&random) % 3)
			link_at_random(fabric, &random, i, fabric->nodes[fabric->ports[i].node].type == NODE_CA);
	assert_int_equal(fabric_finish(fabric, NULL, NULL), 0);
	fabric->from_node = 1 + 3 * (uint32_t)(net_random(&random) % 10);
	fabric->from_port = 1;
	return fabric;
}

/* How far each node is, by relaxing all links until nothing changes. */
static void measure(const struct fabric *fabric, unsigned *distance)
{
	bool changed = true;

	for (size_t i = 0; i < fabric->node_count; i++)
		distance[i] = 1000;
	distance[fabric->from_node] = 0;
	while (changed) {
		changed = false;
		for (size_t i = 0; i < fabric->port_count; i++) {
			const struct port *port = &fabric->ports[i];
			uint32_t there;

			if (port->peer == FABRIC_NONE || distance[port->node] == 1000)
				continue;
			if (port->node == fabric->from_node ? port->num != fabric->from_port
							    : fabric->nodes[port->node].type != NODE_SWITCH)
				continue;
			there = fabric->ports[port->peer].node;
			if (distance[there] > distance[port->node] + 1) {
				distance[there] = distance[port->node] + 1;
				changed = true;
			}
		}
	}
}

static uint32_t walk(const struct fabric *fabric, const struct path *path)
{
	uint32_t node = fabric->from_node;

	for (unsigned hop = 0; hop < path->hops; hop++) {
		uint32_t port = fabric_node_port(fabric, node, path->ports[hop]);

		assert_true(hop == 0 || fabric->nodes[node].type == NODE_SWITCH);
		assert_int_not_equal(port, FABRIC_NONE);
		assert_int_not_equal(fabric->ports[port].peer, FABRIC_NONE);
		node = fabric->ports[fabric->ports[port].peer].node;
	}
	return node;
}

TEST(each_path_leads_to_its_node_and_none_is_shorter)
{
	unsigned distance[SWITCHES + HOSTS], reached = 0;

	for (uint64_t seed = 1; seed <= 200; seed++) {
		struct fabric *fabric = make(seed);
		struct path *paths;

		assert_int_equal(paths_find(fabric, NULL, &paths, NULL), 0);
		measure(fabric, distance);
		for (uint32_t i = 0; i < fabric->node_count; i++) {
			if (distance[i] == 1000) {
				assert_int_equal(paths[i].hops, PATH_NONE);
				continue;
			}
			reached++;
			assert_int_equal(paths[i].hops, distance[i]);
			assert_int_equal(walk(fabric, &paths[i]), i);
		}
		free(paths);
		fabric_destroy(fabric);
	}
	assert_true(reached > 200 * 20);
}

TEST(without_a_local_port_there_are_no_paths)
{
	struct fabric *fabric = make(1);
	struct path *paths;

	fabric->from_node = FABRIC_NONE;
	assert_int_equal(paths_find(fabric, NULL, &paths, NULL), 0);
	for (size_t i = 0; i < fabric->node_count; i++)
		assert_int_equal(paths[i].hops, PATH_NONE);
	free(paths);
	fabric_destroy(fabric);
}

/* A chain of more switches than an SMP has room for. */
TEST(a_path_that_is_too_long_is_none)
{
	struct fabric *fabric = fabric_create(NULL);
	struct path *paths;

	for (uint32_t i = 0; i < 70; i++) {
		assert_true(fabric_add_node(fabric, &(struct node){ .guid = i + 1, .type = NODE_SWITCH,
								    .port_count = 2 }, NULL) >= 0);
		assert_true(fabric_add_port(fabric, &(struct port){ .num = 1 }, NULL) >= 0);
		assert_true(fabric_add_port(fabric, &(struct port){ .num = 2 }, NULL) >= 0);
		if (i)
			assert_int_equal(fabric_link(fabric, 2 * i - 1, 2 * i, NULL), 0);
	}
	assert_int_equal(fabric_finish(fabric, NULL, NULL), 0);
	fabric->from_node = 0;
	assert_int_equal(paths_find(fabric, NULL, &paths, NULL), 0);
	assert_int_equal(paths[PATH_HOPS_MAX].hops, PATH_HOPS_MAX);
	assert_int_equal(paths[PATH_HOPS_MAX + 1].hops, PATH_NONE);
	assert_int_equal(paths[69].hops, PATH_NONE);
	free(paths);
	fabric_destroy(fabric);
}
