/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
#include <stdlib.h>
#include <string.h>

#include "base/test_cases.h"
#include "base/unit_test.h"
#include "fabric/cut_off.h"
#include "fabric/fabric.h"
#include "fabric/shape.h"
#include "fabric/test_net.h"
#include "fabric/variant.h"

/* Hosts with one or two HCAs on random switches that are cabled at random. */
static struct fabric *random_net(uint64_t *random)
{
	uint32_t switches[8], count = 2 + (uint32_t)(net_random(random) % 7);
	struct fabric *fabric = net_new();

	for (uint32_t i = 0; i < count; i++)
		switches[i] = net_switch(fabric, "switch%u", i);
	for (uint32_t i = 0; i < 2 * count; i++)
		net_link(fabric, switches[net_random(random) % count], switches[net_random(random) % count]);
	for (uint32_t i = 0; i < 3 * count; i++)
		for (uint32_t k = 0; k < 1 + net_random(random) % 2; k++)
			net_link(fabric, net_hca(fabric, 0, "node%u mlx5_%u", i, k),
				 switches[net_random(random) % count]);
	return fabric;
}

/* By node: those that a node reaches over switches. */
static void reach(const struct fabric *fabric, uint32_t from, bool *ret)
{
	bool more = true;

	memset(ret, 0, fabric->node_count * sizeof(*ret));
	ret[from] = true;
	while (more) {
		more = false;
		for (uint32_t port = 0; port < fabric->port_count; port++) {
			uint32_t node = fabric->ports[port].node, next;

			if (!link_is_usable(fabric, port) || !ret[node] ||
			    (node != from && fabric->nodes[node].type != NODE_SWITCH))
				continue;
			next = fabric->ports[fabric->ports[port].peer].node;
			more |= !ret[next];
			ret[next] = true;
		}
	}
}

/* hosts x hosts: do they reach each other? */
static bool *reach_all(const struct shape *shape, const struct fabric *fabric)
{
	bool *ret = calloc(shape->host_count * shape->host_count + 1, sizeof(*ret));
	bool *nodes = calloc(fabric->node_count, sizeof(*nodes));

	for (size_t i = 0; i < shape->host_count; i++)
		for (uint32_t k = shape->hosts[i].first; k < shape->hosts[i].first + shape->hosts[i].count; k++) {
			reach(fabric, shape->host_nodes[k], nodes);
			for (uint32_t node = 0; node < fabric->node_count; node++)
				if (nodes[node] && shape->nodes[node].host != SHAPE_NONE)
					ret[i * shape->host_count + shape->nodes[node].host] = true;
		}
	free(nodes);
	return ret;
}

TEST(pairs_are_those_of_a_search_from_each_host)
{
	unsigned cases = test_cases(200), cut = 0;

	for (unsigned seed = 1; seed <= cases; seed++) {
		uint64_t random = seed;
		struct fabric *fabric = random_net(&random), *after;
		struct shape *shape = net_shape(fabric, NULL);
		struct cut_off cut_off;
		uint64_t pairs = 0, pairs_before = 0;
		bool *then, *now;

		after = fabric_variant_create(fabric, NULL);
		for (uint32_t i = 0; i < fabric->port_count; i++)
			if (fabric->ports[i].peer != FABRIC_NONE && net_random(&random) % 8 == 0)
				fabric_variant_take_out(after, i);
		assert_int_equal(cut_off_find(shape, after, NULL, &cut_off, NULL), 0);
		then = reach_all(shape, fabric);
		now = reach_all(shape, after);
		for (size_t i = 0; i < shape->host_count; i++)
			for (size_t k = i + 1; k < shape->host_count; k++) {
				pairs_before += then[i * shape->host_count + k];
				pairs += then[i * shape->host_count + k] && !now[i * shape->host_count + k];
			}
		assert_int_equal(cut_off.pairs_before, pairs_before);
		assert_int_equal(cut_off.pairs, pairs);
		/* A host without any link left is cut off; hosts that are not reach one that is not. */
		for (size_t i = 0; i < cut_off.count; i++)
			cut++;
		assert_true(pairs == 0 ? cut_off.count == 0 : cut_off.count > 0 || shape->parts > 1);
		free(then);
		free(now);
		cut_off_done(&cut_off);
		fabric_variant_destroy(after);
		net_done(fabric, shape);
	}
	assert_true(cut > cases / 4);
}

TEST(the_smaller_part_is_cut_off_and_taken_hosts_are_not)
{
	struct fabric *fabric = net_new(), *after;
	uint32_t leaf[2] = { net_switch(fabric, "leaf1"), net_switch(fabric, "leaf2") };
	uint32_t spine = net_switch(fabric, "spine");
	struct leaf_paths paths;
	struct cut_off cut_off;
	struct shape *shape;
	bool *taken;

	net_hosts(fabric, "node", 1, 3, leaf[0]);
	net_hosts(fabric, "node", 11, 5, leaf[1]);
	net_links(fabric, leaf[0], spine, 2);
	net_links(fabric, leaf[1], spine, 3);
	shape = net_shape(fabric, NULL);
	assert_int_equal(leaf_paths_count(fabric, &paths, NULL), 0);
	assert_true(paths.fewest == 6 && paths.mean == 6);
	after = fabric_variant_create(fabric, NULL);
	taken = calloc(fabric->node_count, sizeof(*taken));
	for (uint32_t i = 0; i < fabric->nodes[leaf[0]].ports; i++) {
		uint32_t port = fabric->nodes[leaf[0]].first_port + i, peer = fabric->ports[port].peer;

		if (peer != FABRIC_NONE && fabric->ports[peer].node == spine)
			fabric_variant_take_out(after, port);
	}
	assert_int_equal(cut_off_find(shape, after, taken, &cut_off, NULL), 0);
	assert_int_equal(cut_off.count, 3);
	assert_int_equal(cut_off.pairs, 15);
	assert_string_equal(shape->hosts[cut_off.hosts[0]].name, "node1");
	cut_off_done(&cut_off);
	/* One of them is taken out itself. */
	taken[shape->host_nodes[shape->hosts[shape_find_host(shape, "node2")].first]] = true;
	assert_int_equal(cut_off_find(shape, after, taken, &cut_off, NULL), 0);
	assert_int_equal(cut_off.count, 2);
	assert_int_equal(cut_off.taken, 1);
	assert_int_equal(cut_off.pairs, 10);
	cut_off_done(&cut_off);
	free(taken);
	fabric_variant_destroy(after);
	net_done(fabric, shape);
}
