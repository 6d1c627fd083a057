/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/err.h"
#include "base/test_cases.h"
#include "base/unit_test.h"
#include "fabric/fabric.h"
#include "fabric/routes.h"
#include "fabric/spread.h"
#include "fabric/test_net.h"
#include "fabric/variant.h"

enum { SWITCHES_MOST = 24, UNREACHED = 1000 };

/* Leaves with hosts, spines and cores, each pair with up to three cables, some cables missing and some links down. */
static struct fabric *random_tree(uint64_t seed)
{
	struct fabric *fabric = net_new();
	uint64_t random = seed;
	uint32_t switches[SWITCHES_MOST], leaves = 2 + (uint32_t)(net_random(&random) % 6);
	uint32_t spines = 1 + (uint32_t)(net_random(&random) % 5), cores = (uint32_t)(net_random(&random) % 4);

	for (uint32_t i = 0; i < leaves + spines + cores; i++)
		switches[i] = net_switch(fabric, "switch%u", i);
	for (uint32_t i = 0; i < leaves; i++)
		net_hosts(fabric, "node", i * 100, 1 + (unsigned)(net_random(&random) % 6), switches[i]);
	for (uint32_t i = 0; i < leaves; i++)
		for (uint32_t j = 0; j < spines; j++)
			net_links(fabric, switches[i], switches[leaves + j], (unsigned)(net_random(&random) % 4));
	for (uint32_t i = 0; i < spines; i++)
		for (uint32_t j = 0; j < cores; j++)
			net_links(fabric, switches[leaves + i], switches[leaves + spines + j],
				  (unsigned)(net_random(&random) % 3));
	for (uint32_t i = 0; i < fabric->port_count; i++)
		if (fabric->ports[i].peer != FABRIC_NONE && net_random(&random) % 20 == 0)
			fabric->ports[i].state = PORT_DOWN;
	assert_int_equal(fabric_finish(fabric, NULL, NULL), 0);
	return fabric;
}

static bool is_switch(const struct fabric *fabric, uint32_t node)
{
	return fabric->nodes[node].type == NODE_SWITCH;
}

/* Links between all pairs of switches, by relaxing until nothing changes. */
static unsigned *measure(const struct fabric *fabric)
{
	size_t count = fabric->node_count;
	unsigned *hops = malloc(count * count * sizeof(*hops));
	bool changed = true;

	for (size_t i = 0; i < count * count; i++)
		hops[i] = i % (count + 1) ? UNREACHED : 0;
	while (changed) {
		changed = false;
		for (uint32_t port = 0; port < fabric->port_count; port++) {
			uint32_t from = fabric->ports[port].node, to;

			if (!link_is_usable(fabric, port))
				continue;
			to = fabric->ports[fabric->ports[port].peer].node;
			for (size_t i = 0; i < count && is_switch(fabric, from) && is_switch(fabric, to); i++) {
				if (hops[to * count + i] + 1 >= hops[from * count + i])
					continue;
				hops[from * count + i] = hops[to * count + i] + 1;
				changed = true;
			}
		}
	}
	return hops;
}

static bool is_shortest(const struct fabric *fabric, const unsigned *hops, uint32_t port, uint32_t to)
{
	uint32_t from = fabric->ports[port].node, next;

	if (!fabric->ports[port].num || !link_is_usable(fabric, port))
		return false;
	next = fabric->ports[fabric->ports[port].peer].node;
	return is_switch(fabric, next) &&
	       hops[next * fabric->node_count + to] + 1 == hops[from * fabric->node_count + to];
}

/*
 * The property of tables that spread LIDs: each entry is on a shortest path, and no port has two LIDs more than another
 * one that could have taken one of them instead.
 */
static void check_switch(const struct fabric *fabric, const struct routes *routes, const unsigned *hops, uint32_t node,
			 bool balanced)
{
	const struct route_table *table = routes_find(routes, fabric->nodes[node].guid);
	unsigned given[256] = { 0 };

	for (int round = 0; round < 2; round++) {
		for (uint32_t i = 0; i < fabric->port_count; i++) {
			const struct port *port = &fabric->ports[i];
			uint32_t leaf = port->peer == FABRIC_NONE ? FABRIC_NONE : fabric->ports[port->peer].node, out;
			uint8_t num = routes_out_port(table, port->lid);

			if (is_switch(fabric, port->node) || leaf == FABRIC_NONE || !link_is_usable(fabric, i))
				continue;
			if (leaf == node) {
				assert_int_equal(num, fabric->ports[port->peer].num);
				continue;
			}
			if (hops[node * fabric->node_count + leaf] == UNREACHED) {
				assert_int_equal(num, ROUTES_NO_PORT);
				continue;
			}
			out = fabric_node_port(fabric, node, num);
			assert_true(out != FABRIC_NONE && is_shortest(fabric, hops, out, leaf));
			given[num] += round == 0;
			for (uint32_t k = fabric->nodes[node].first_port; round && balanced &&
			     k < fabric->nodes[node].first_port + fabric->nodes[node].ports; k++)
				if (is_shortest(fabric, hops, k, leaf))
					assert_true(given[num] <= given[fabric->ports[k].num] + 1);
		}
	}
}

/* In a tree a switch has the same choice for all destinations that it can choose for, or is above them. */
TEST(lids_are_spread_over_shortest_paths)
{
	unsigned cases = test_cases(300);

	for (unsigned seed = 1; seed <= cases; seed++) {
		struct fabric *fabric = random_tree(seed), *variant = fabric_variant_create(fabric, NULL);
		unsigned *hops = measure(fabric);
		struct routes routes = { 0 };

		assert_true(fabric_variant_assign_lids(variant, NULL) > 0);
		assert_int_equal(routes_spread(variant, SPREAD_MINHOP, NULL, &routes, NULL), 0);
		for (uint32_t i = 0; i < fabric->node_count; i++)
			if (is_switch(fabric, i))
				check_switch(variant, &routes, hops, i, false);
		routes_done(&routes);
		free(hops);
		fabric_variant_destroy(variant);
		fabric_destroy(fabric);
	}
}

TEST(uplinks_have_equally_many_lids)
{
	struct fabric *fabric = net_new(), *variant;
	uint32_t leaves[4], spines[3];
	struct routes routes = { 0 };
	unsigned *hops;

	for (unsigned i = 0; i < 3; i++)
		spines[i] = net_switch(fabric, "spine%u", i);
	for (unsigned i = 0; i < 4; i++) {
		leaves[i] = net_switch(fabric, "leaf%u", i);
		net_hosts(fabric, "node", 10 * i, 7, leaves[i]);
		for (unsigned j = 0; j < 3; j++)
			net_links(fabric, leaves[i], spines[j], 2);
	}
	assert_int_equal(fabric_finish(fabric, NULL, NULL), 0);
	variant = fabric_variant_create(fabric, NULL);
	assert_int_equal(fabric_variant_assign_lids(variant, NULL), 28 + 7);
	assert_int_equal(fabric_variant_assign_lids(variant, NULL), 0);
	assert_int_equal(routes_spread(variant, SPREAD_MINHOP, NULL, &routes, NULL), 0);
	hops = measure(fabric);
	for (unsigned i = 0; i < 4; i++)
		check_switch(variant, &routes, hops, leaves[i], true);
	for (unsigned i = 0; i < 3; i++)
		check_switch(variant, &routes, hops, spines[i], true);
	free(hops);
	routes_done(&routes);
	fabric_variant_destroy(variant);
	fabric_destroy(fabric);
}

/* Count entries of HCAs that differ. */
static unsigned count_changes(const struct fabric *fabric, const struct routes *a, const struct routes *b,
			      const struct fabric *after, const unsigned *hops, unsigned *ret_needless)
{
	unsigned changes = 0;

	*ret_needless = 0;
	for (uint32_t node = 0; node < fabric->node_count; node++) {
		const struct route_table *left = routes_find(a, fabric->nodes[node].guid);
		const struct route_table *right = routes_find(b, fabric->nodes[node].guid);

		for (uint32_t i = 0; left && i < fabric->port_count; i++) {
			uint16_t lid = fabric->ports[i].lid;
			uint8_t old = routes_out_port(left, lid);
			uint32_t out = fabric_node_port(fabric, node, old);

			if (is_switch(fabric, fabric->ports[i].node) || !link_is_usable(after, i) ||
			    old == routes_out_port(right, lid))
				continue;
			changes++;
			*ret_needless += out != FABRIC_NONE &&
				is_shortest(after, hops, out, fabric->ports[fabric->ports[i].peer].node);
		}
	}
	return changes;
}

TEST(entries_that_can_remain_do)
{
	unsigned changes = 0, fresh_needless = 0, needless;

	for (unsigned seed = 1; seed <= 40; seed++) {
		struct fabric *fabric = random_tree(seed), *before = fabric_variant_create(fabric, NULL), *after;
		struct routes old = { 0 }, kept = { 0 }, fresh = { 0 };
		uint64_t random = seed;
		unsigned *hops;

		fabric_variant_assign_lids(before, NULL);
		after = fabric_variant_create(before, NULL);
		for (int i = 0; i < 5; i++)
			fabric_variant_take_out(after, (uint32_t)(net_random(&random) % after->port_count));
		hops = measure(after);
		assert_int_equal(routes_spread(before, SPREAD_MINHOP, NULL, &old, NULL), 0);
		assert_int_equal(routes_spread(after, SPREAD_MINHOP, &old, &kept, NULL), 0);
		assert_int_equal(routes_spread(after, SPREAD_MINHOP, NULL, &fresh, NULL), 0);
		changes += count_changes(before, &old, &kept, after, hops, &needless);
		assert_int_equal(needless, 0);
		count_changes(before, &old, &fresh, after, hops, &needless);
		fresh_needless += needless;
		for (uint32_t i = 0; i < after->node_count; i++)
			if (is_switch(after, i))
				check_switch(after, &kept, hops, i, false);
		free(hops);
		routes_done(&old);
		routes_done(&kept);
		routes_done(&fresh);
		fabric_variant_destroy(after);
		fabric_variant_destroy(before);
		fabric_destroy(fabric);
	}
	assert_true(changes > 0 && fresh_needless > 0);
}

/*
 * 12 leaves, of which the first is on one of two spines only: from the other one minhop reaches it through a leaf,
 * which leads up again. Both spines are roots: nine tenths of the HCAs are one link away.
 */
TEST(updn_never_turns_up_again)
{
	struct fabric *fabric = net_new(), *variant;
	uint32_t spines[2], leaf;
	struct error err = { 0 };

	for (unsigned i = 0; i < 2; i++)
		spines[i] = net_switch(fabric, "spine%u", i);
	for (unsigned i = 0; i < 12; i++) {
		leaf = net_switch(fabric, "leaf%u", i);
		net_hosts(fabric, "node", 10 * i, i ? 6 : 3, leaf);
		net_link(fabric, leaf, spines[0]);
		if (i)
			net_link(fabric, leaf, spines[1]);
	}
	assert_int_equal(fabric_finish(fabric, NULL, NULL), 0);
	variant = fabric_variant_create(fabric, NULL);
	fabric_variant_assign_lids(variant, NULL);
	for (int engine = SPREAD_MINHOP; engine <= SPREAD_UPDN; engine++) {
		struct routes routes = { 0 };
		const struct route_table *table;
		unsigned holes = 0;

		assert_int_equal(routes_spread(variant, (enum spread_engine)engine, NULL, &routes, &err), 0);
		table = routes_find(&routes, variant->nodes[spines[1]].guid);
		for (uint32_t i = 0; i < variant->port_count; i++)
			holes += !is_switch(variant, variant->ports[i].node) && variant->ports[i].lid &&
				 routes_out_port(table, variant->ports[i].lid) == ROUTES_NO_PORT;
		assert_int_equal(holes, engine == SPREAD_UPDN ? 3 : 0);
		routes_done(&routes);
	}
	fabric_variant_destroy(variant);
	fabric_destroy(fabric);
}

TEST(any_fabric_has_tables)
{
	for (uint64_t seed = 1; seed <= test_cases(200); seed++) {
		struct fabric *fabric = net_random_fabric(seed), *variant = fabric_variant_create(fabric, NULL);
		struct routes routes = { 0 }, kept = { 0 };

		fabric_variant_assign_lids(variant, NULL);
		if (routes_spread(variant, seed % 2 ? SPREAD_MINHOP : SPREAD_UPDN, NULL, &routes, NULL) == 0) {
			assert_int_equal(routes_spread(variant, seed % 2 ? SPREAD_MINHOP : SPREAD_UPDN, &routes,
						       &kept, NULL), 0);
			assert_true(routes_same(&routes, &kept));
		}
		routes_done(&kept);
		routes_done(&routes);
		fabric_variant_destroy(variant);
		fabric_destroy(fabric);
	}
}
