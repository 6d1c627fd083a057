/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
#include <stdlib.h>
#include <string.h>

#include "base/test_cases.h"
#include "base/unit_test.h"
#include "fabric/bad_links.h"
#include "fabric/fabric.h"
#include "fabric/shape.h"
#include "fabric/test_net.h"
#include "fabric/variant.h"

/* Candidates of a case: all of their subsets are tried. */
enum { BAD_MOST = 10 };

/* Pods of leaves and spines, and cores above: a spine is cabled to some cores, a leaf to the spines of its pod. */
static struct fabric *random_tree(uint64_t *random)
{
	uint32_t pods = 1 + (uint32_t)(net_random(random) % 3), cores[4], spines[4], leaf;
	uint32_t core_count = pods > 1 ? 1 + (uint32_t)(net_random(random) % 4) : 0;
	uint32_t spine_count = 1 + (uint32_t)(net_random(random) % 4);
	uint32_t leaf_count = 1 + (uint32_t)(net_random(random) % 3);
	struct fabric *fabric = net_new();
	unsigned host = 0;

	for (uint32_t i = 0; i < core_count; i++)
		cores[i] = net_switch(fabric, "core%u", i);
	for (uint32_t pod = 0; pod < pods; pod++) {
		for (uint32_t i = 0; i < spine_count; i++) {
			spines[i] = net_switch(fabric, "spine%u-%u", pod, i);
			for (uint32_t k = 0; k < core_count; k++)
				net_links(fabric, spines[i], cores[k], 1 + (unsigned)(net_random(random) % 2));
		}
		for (uint32_t i = 0; i < leaf_count; i++) {
			leaf = net_switch(fabric, "leaf%u-%u", pod, i);
			net_hosts(fabric, "node", host, 2, leaf);
			host += 2;
			for (uint32_t k = 0; k < spine_count; k++)
				net_links(fabric, leaf, spines[k], 1 + (unsigned)(net_random(random) % 2));
		}
	}
	return fabric;
}

/* --- the truth: the conditions, checked by enumerating paths --- */

static bool is_out(const struct fabric *fabric, const struct bad_link *links, size_t count, unsigned set, uint32_t port)
{
	for (size_t i = 0; i < count; i++)
		if (set >> i & 1 && (links[i].port == port || links[i].port == fabric->ports[port].peer))
			return true;
	return false;
}

struct truth {
	const struct shape *shape;
	const struct bad_link *links;
	size_t count;
	double keep;
	unsigned set;
};

static unsigned enumerate(const struct truth *truth, uint32_t node, unsigned tier)
{
	const struct fabric *fabric = truth->shape->fabric;
	unsigned paths = 0;

	if (truth->shape->nodes[node].tier == tier)
		return 1;
	for (uint32_t i = 0; i < fabric->nodes[node].ports; i++) {
		uint32_t port = fabric->nodes[node].first_port + i, peer = fabric->ports[port].peer;

		if (peer == FABRIC_NONE || is_out(fabric, truth->links, truth->count, truth->set, port) ||
		    truth->shape->nodes[fabric->ports[peer].node].tier != truth->shape->nodes[node].tier + 1)
			continue;
		paths += enumerate(truth, fabric->ports[peer].node, tier);
	}
	return paths;
}

/* All hosts reach each other in the fabrics of this test before anything is taken out. */
static bool all_reach(const struct truth *truth)
{
	const struct fabric *fabric = truth->shape->fabric;
	bool *seen = calloc(fabric->node_count, sizeof(*seen)), more = true, all = true;

	for (uint32_t i = 0; i < fabric->node_count && more; i++)
		if (fabric->nodes[i].type == NODE_CA)
			seen[i] = !(more = false);
	for (more = true; more;) {
		more = false;
		for (uint32_t port = 0; port < fabric->port_count; port++) {
			uint32_t peer = fabric->ports[port].peer;

			if (peer == FABRIC_NONE || is_out(fabric, truth->links, truth->count, truth->set, port) ||
			    !seen[fabric->ports[port].node] || seen[fabric->ports[peer].node])
				continue;
			seen[fabric->ports[peer].node] = more = true;
		}
	}
	for (uint32_t i = 0; i < fabric->node_count; i++)
		all = all && (seen[i] || fabric->nodes[i].type != NODE_CA);
	free(seen);
	return all;
}

static bool is_allowed(struct truth *truth, unsigned set)
{
	const struct shape *shape = truth->shape;

	for (uint32_t i = 0; i < shape->fabric->node_count; i++) {
		bool leaf = !strncmp(shape->fabric->nodes[i].name, "leaf", 4);

		for (unsigned tier = 2; leaf && tier <= shape->tier_count; tier++) {
			double before, after;

			truth->set = 0;
			before = enumerate(truth, i, tier);
			truth->set = set;
			after = enumerate(truth, i, tier);
			if (after + 1e-6 < truth->keep * before)
				return false;
		}
	}
	truth->set = set;
	return all_reach(truth);
}

static unsigned find_largest(struct truth *truth)
{
	unsigned best = 0;

	for (unsigned set = 0; set < 1u << truth->count; set++)
		if ((unsigned)__builtin_popcount(set) > best && is_allowed(truth, set))
			best = (unsigned)__builtin_popcount(set);
	return best;
}

static size_t choose_links(const struct fabric *fabric, uint64_t *random, struct bad_link *links)
{
	size_t count = 0, wanted = 1 + net_random(random) % BAD_MOST;

	for (int tries = 0; count < wanted && tries < 200; tries++) {
		uint32_t port = (uint32_t)(net_random(random) % fabric->port_count), peer = fabric->ports[port].peer;
		bool known = false;

		for (size_t i = 0; i < count; i++)
			known |= links[i].port == port || links[i].port == peer;
		if (peer != FABRIC_NONE && !known)
			links[count++] = (struct bad_link){ .port = port, .badness = (double)(net_random(random) % 5) };
	}
	return count;
}

TEST(the_first_round_is_the_largest_set_of_an_exhaustive_search)
{
	static const double keeps[] = { 0.5, 0.75, 0.9, 0.34 };
	unsigned cases = test_cases(300), equal = 0, proven = 0;

	for (unsigned seed = 1; seed <= cases; seed++) {
		uint64_t random = seed;
		struct fabric *fabric = random_tree(&random);
		struct shape *shape = net_shape(fabric, NULL);
		struct bad_link links[BAD_MOST];
		struct truth truth = { .shape = shape, .links = links, .keep = keeps[seed % 4] };
		struct bad_links_plan plan;
		unsigned largest, set = 0;

		truth.count = choose_links(fabric, &random, links);
		assert_int_equal(bad_links_plan(shape, links, truth.count, truth.keep, &plan, NULL), 0);
		largest = find_largest(&truth);
		for (size_t i = 0; i < truth.count; i++)
			set |= (unsigned)(links[i].round == 1) << i;
		assert_int_equal(__builtin_popcount(set), (int)plan.first);
		assert_true(is_allowed(&truth, set));
		assert_true(plan.first + 1 >= largest);
		if (plan.largest)
			assert_int_equal(plan.first, largest);
		equal += plan.first == largest;
		proven += plan.largest;
		/* A link without a round cannot be taken out even alone. */
		for (size_t i = 0; i < truth.count; i++)
			if (!links[i].round)
				assert_false(is_allowed(&truth, 1u << i));
		/* Each further round is allowed, too. */
		for (unsigned round = 2; round <= plan.rounds; round++) {
			set = 0;
			for (size_t i = 0; i < truth.count; i++)
				set |= (unsigned)(links[i].round == round) << i;
			assert_true(set && is_allowed(&truth, set));
		}
		net_done(fabric, shape);
	}
	assert_true(equal >= cases - cases / 50 && proven >= cases * 9 / 10);
	reliability_report("sets of bad links", cases, "fabrics", "the largest set, by exhaustive search");
}

/* 64 uplinks of which half are bad: no search over all subsets is needed to prove that 16 is the most. */
TEST(many_bad_uplinks_of_one_leaf_are_solved_at_once)
{
	struct fabric *fabric = net_new();
	uint32_t leaves[2], spines[16];
	struct bad_link links[32];
	struct bad_links_plan plan;
	struct shape *shape;
	size_t count = 0;

	for (unsigned i = 0; i < 16; i++)
		spines[i] = net_switch(fabric, "spine%u", i);
	for (unsigned i = 0; i < 2; i++) {
		leaves[i] = net_switch(fabric, "leaf%u", i);
		net_hosts(fabric, "node", 10 * i, 4, leaves[i]);
		for (unsigned k = 0; k < 60; k++) {
			uint32_t port = net_link(fabric, leaves[i], spines[k % 15]);

			if (i == 0 && k % 2 && count < 30)
				links[count++] = (struct bad_link){ .port = port, .badness = k };
		}
	}
	shape = net_shape(fabric, NULL);
	assert_int_equal(bad_links_plan(shape, links, count, 0.75, &plan, NULL), 0);
	assert_int_equal(plan.first, 15);
	assert_true(plan.largest);
	assert_int_equal(plan.rounds, 2);
	/* The worst come first. */
	assert_true(links[0].badness == 59 && links[14].badness > links[15].badness);
	net_done(fabric, shape);
}

TEST(the_only_link_of_a_host_is_never_taken_out)
{
	struct fabric *fabric = net_new();
	uint32_t leaf = net_switch(fabric, "leaf"), other = net_switch(fabric, "leaf2");
	uint32_t spine = net_switch(fabric, "spine");
	struct bad_link link = { 0 };
	struct bad_links_plan plan;
	struct shape *shape;

	net_hosts(fabric, "node", 1, 2, leaf);
	net_hosts(fabric, "node", 3, 2, other);
	net_link(fabric, leaf, spine);
	net_link(fabric, other, spine);
	shape = net_shape(fabric, NULL);
	link.port = fabric->nodes[leaf].first_port + 1;
	assert_int_equal(bad_links_plan(shape, &link, 1, 0, &plan, NULL), 0);
	assert_int_equal(plan.first, 0);
	assert_int_equal(plan.rounds, 0);
	assert_int_equal(link.round, 0);
	assert_string_equal(fabric->nodes[link.blocker].name, "node1 mlx5_0");
	net_done(fabric, shape);
}
