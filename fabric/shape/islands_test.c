/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* Small fabrics without cycles, islands, and the narrowest cut, compared with all cuts. */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/unit_test.h"
#include "fabric/fabric.h"
#include "fabric/shape.h"
#include "fabric/test_net.h"

/* 4xNDR */
#define LINK_GBPS UINT64_C(400)

static uint64_t bisection_gbps(const struct shape *shape)
{
	return shape->bisection_bits_per_s / 1000000000;
}

TEST(a_chain_of_switches_is_a_chain)
{
	for (unsigned size = 3; size <= 40; size++) {
		struct fabric *fabric = net_new();
		uint32_t last = 0;
		struct shape *shape;

		for (unsigned i = 0; i < size; i++) {
			uint32_t next = net_switch(fabric, "edge%u", i);

			net_hosts(fabric, "n", i * 10, 8, next);
			if (i)
				net_links(fabric, last, next, 2);
			last = next;
		}
		shape = net_shape(fabric, NULL);
		assert_int_equal(shape->kind, SHAPE_IRREGULAR);
		assert_int_equal(shape->tiers[1].switches, size);
		assert_non_null(strstr(shape->reason, "a chain of "));
		assert_int_equal(bisection_gbps(shape), 2 * LINK_GBPS);
		net_done(fabric, shape);
	}
}

/* Two sites: the hosts of each on a leaf, an extender at each end of the line between them. */
TEST(two_sites_over_extenders_are_a_chain)
{
	struct fabric *fabric = net_new();
	uint32_t at[4];
	struct shape *shape;

	for (unsigned i = 0; i < 4; i++) {
		at[i] = net_switch(fabric, i % 3 ? "extender%u" : "site%u", i);
		if (i % 3 == 0)
			net_hosts(fabric, "n", i * 100, 12, at[i]);
		if (i)
			net_link(fabric, at[i - 1], at[i]);
	}
	shape = net_shape(fabric, NULL);
	assert_int_equal(shape->kind, SHAPE_IRREGULAR);
	assert_non_null(strstr(shape->reason, "a chain of 4 switches"));
	assert_int_equal(shape->nodes[at[0]].tier, 1);
	assert_int_equal(shape->nodes[at[3]].tier, 1);
	assert_int_equal(bisection_gbps(shape), LINK_GBPS);
	net_done(fabric, shape);
}

/* A database rack: two leaves, seven links between them, and a spine with a link to each. */
TEST(a_rack_of_two_linked_leaves_and_a_spine_is_a_tree)
{
	struct fabric *fabric = net_new();
	uint32_t spine = net_switch(fabric, "spine"), leaf[2];
	struct shape *shape;

	for (unsigned i = 0; i < 2; i++) {
		leaf[i] = net_switch(fabric, "leaf%u", i);
		net_hosts(fabric, i ? "celadm" : "dbadm", 0, 11, leaf[i]);
		net_link(fabric, leaf[i], spine);
	}
	net_links(fabric, leaf[0], leaf[1], 7);
	shape = net_shape(fabric, NULL);
	assert_int_equal(shape->kind, SHAPE_IRREGULAR);
	assert_int_equal(shape->tier_count, 2);
	assert_int_equal(shape->nodes[spine].tier, 2);
	assert_int_equal(shape->across, 7);
	assert_true(shape_oversubscription(shape, leaf[0], false) == 11);
	net_done(fabric, shape);
}

TEST(a_triangle_of_leaves_is_no_torus)
{
	struct fabric *fabric = net_new();
	uint32_t leaf[3];
	struct shape *shape;

	for (unsigned i = 0; i < 3; i++) {
		leaf[i] = net_switch(fabric, "leaf%u", i);
		net_hosts(fabric, "n", i * 10, 8, leaf[i]);
		for (unsigned j = 0; j < i; j++)
			net_links(fabric, leaf[i], leaf[j], 3);
	}
	shape = net_shape(fabric, NULL);
	assert_int_equal(shape->kind, SHAPE_IRREGULAR);
	assert_int_equal(shape->tiers[1].switches, 3);
	assert_int_equal(bisection_gbps(shape), 6 * LINK_GBPS);
	net_done(fabric, shape);
}

TEST(a_tree_of_leaf_pairs_with_links_between_peers_is_a_tree)
{
	for (unsigned pairs = 1; pairs <= 8; pairs++) {
		for (unsigned between = 1; between <= 16; between *= 2) {
			struct fabric *fabric = net_new();
			uint32_t spine[2] = { net_switch(fabric, "spine0"), net_switch(fabric, "spine1") }, peer = 0;
			struct shape *shape;

			for (unsigned i = 0; i < 2 * pairs; i++) {
				uint32_t leaf = net_switch(fabric, "leaf%u", i);

				net_hosts(fabric, "n", i * 100, 8, leaf);
				net_link(fabric, leaf, spine[0]);
				net_link(fabric, leaf, spine[1]);
				if (i % 2)
					net_links(fabric, leaf, peer, between);
				peer = leaf;
			}
			shape = net_shape(fabric, NULL);
			assert_int_equal(shape->kind, SHAPE_IRREGULAR);
			assert_int_equal(shape->tiers[1].switches, 2 * pairs);
			assert_int_equal(shape->tiers[2].switches, 2);
			assert_int_equal(shape->across, pairs * between);
			/* Two leaves, each with one of the spines or with both, or pairs beside pairs. */
			assert_int_equal(bisection_gbps(shape) / LINK_GBPS,
					 pairs > 1 ? 2 * pairs : between < 6 ? 2 + between : 8);
			net_done(fabric, shape);
		}
	}
}

/* Trees of leaves and spines; the first @links spines of each are cabled to those of the next one. */
static struct fabric *make_islands(const unsigned *leaves, unsigned count, unsigned links)
{
	struct fabric *fabric = net_new();
	uint32_t spine[2], before[2] = { 0, 0 };

	for (unsigned i = 0; i < count; i++) {
		for (unsigned j = 0; j < 2; j++)
			spine[j] = net_switch(fabric, "cell%u-spine%u", i, j);
		for (unsigned j = 0; j < leaves[i]; j++) {
			uint32_t leaf = net_switch(fabric, "cell%u-leaf%u", i, j);

			net_hosts(fabric, "n", i * 1000 + j * 20, 8, leaf);
			net_links(fabric, leaf, spine[0], 2);
			net_links(fabric, leaf, spine[1], 2);
		}
		for (unsigned j = 0; i && j < links; j++)
			net_link(fabric, spine[j % 2], before[j % 2]);
		memcpy(before, spine, sizeof(before));
	}
	return fabric;
}

TEST(islands_are_cut_at_the_cables_between_them)
{
	static const unsigned leaves[] = { 3, 3 }, uneven[] = { 2, 3, 2 };
	struct fabric *fabric = make_islands(leaves, 2, 2);
	struct shape *shape = net_shape(fabric, NULL);

	assert_string_equal(shape->reason, "2 islands joined by 2 links");
	assert_int_equal(bisection_gbps(shape), 2 * LINK_GBPS);
	assert_string_equal(shape->bisection_cut, "2 links between parts with 24 and 24 HCA links");
	net_done(fabric, shape);
	fabric = make_islands(uneven, 3, 1);
	shape = net_shape(fabric, NULL);
	assert_int_equal(shape->island_count, 3);
	assert_int_equal(bisection_gbps(shape), LINK_GBPS);
	assert_string_equal(shape->bisection_cut, "1 link between parts with 16 and 40 HCA links");
	net_done(fabric, shape);
	/* Cables enough between them: the tier is narrower. */
	fabric = make_islands(leaves, 2, 12);
	shape = net_shape(fabric, NULL);
	assert_string_equal(shape->bisection_cut, "half of the links from tier 1 up to tier 2");
	assert_int_equal(bisection_gbps(shape), 12 * LINK_GBPS);
	net_done(fabric, shape);
}

/* --- another model: every cut of all switches --- */

enum { BRUTE_SWITCHES = 12 };

/*
 * The least capacity for each host of the smaller part, over all cuts of the switches; at most the
 * rate of a link to a host.
 */
static double narrowest(const struct fabric *fabric)
{
	uint32_t index[BRUTE_SWITCHES], count = 0, hosts[BRUTE_SWITCHES] = { 0 }, all = 0;
	double best = LINK_GBPS;

	for (uint32_t i = 0; i < fabric->node_count; i++)
		if (fabric->nodes[i].type == NODE_SWITCH)
			index[count++] = i;
	for (uint32_t i = 0; i < fabric->port_count; i++) {
		if (fabric->ports[i].peer == FABRIC_NONE || fabric->nodes[fabric->ports[i].node].type != NODE_CA)
			continue;
		for (uint32_t j = 0; j < count; j++)
			hosts[j] += fabric->ports[fabric->ports[i].peer].node == index[j];
		all++;
	}
	for (unsigned cut = 1; cut < (1u << count) - 1; cut++) {
		uint32_t inside = 0, links = 0, smaller;

		for (uint32_t j = 0; j < count; j++)
			inside += cut >> j & 1 ? hosts[j] : 0;
		for (uint32_t i = 0; i < fabric->port_count; i++) {
			uint32_t a, b;

			if (fabric->ports[i].peer == FABRIC_NONE)
				continue;
			for (a = 0; a < count && index[a] != fabric->ports[i].node;)
				a++;
			for (b = 0; b < count && index[b] != fabric->ports[fabric->ports[i].peer].node;)
				b++;
			links += a < count && b < count && (cut >> a & 1) && !(cut >> b & 1);
		}
		smaller = inside * 2 < all ? inside : all - inside;
		if (smaller)
			best = fmin(best, (double)(links * LINK_GBPS) / smaller);
	}
	return best;
}

/* The same for the cut that was found: half of a tier separates half of the hosts. */
static double found(const struct shape *shape)
{
	double gbps = (double)bisection_gbps(shape), hosts = 0;
	const char *parts = strstr(shape->bisection_cut, "with ");
	uint32_t links = 0;

	for (uint32_t i = 0; i < shape->fabric->port_count; i++)
		links += shape->ports[i].way == WAY_HOST;
	hosts = parts ? strtod(parts + strlen("with "), NULL) : links / 2.0;
	return gbps / hosts;
}

TEST(no_cut_of_a_random_tree_is_narrower)
{
	uint64_t random = 7;
	unsigned compared = 0;

	for (unsigned round = 0; round < 300; round++) {
		unsigned size = 2 + (unsigned)(net_random(&random) % (BRUTE_SWITCHES - 2));
		struct fabric *fabric = net_new();
		uint32_t at[BRUTE_SWITCHES];
		struct shape *shape;

		for (unsigned i = 0; i < size; i++) {
			at[i] = net_switch(fabric, "s%u", i);
			net_hosts(fabric, "n", i * 100, 4 + (unsigned)(net_random(&random) % 4), at[i]);
			if (i)
				net_links(fabric, at[i], at[net_random(&random) % i],
					  1 + (unsigned)(net_random(&random) % 4));
		}
		shape = net_shape(fabric, NULL);
		assert_int_not_equal(shape->kind, SHAPE_NO_TREE);
		assert_int_equal(shape->tiers[0].switches, 0);
		/* A switch with few hosts above the others is a tier, and tiers are cut in halves. */
		if (shape->tier_count == 1 && size > 1) {
			assert_true(fabs(found(shape) - narrowest(fabric)) < 1e-6);
			compared++;
		}
		net_done(fabric, shape);
	}
	assert_true(compared > 200);
}

/* Rings with chords. */
TEST(no_cut_of_a_random_mesh_is_narrower)
{
	uint64_t random = 19;
	unsigned compared = 0;

	for (unsigned round = 0; round < 100; round++) {
		unsigned size = 4 + (unsigned)(net_random(&random) % (BRUTE_SWITCHES - 3));
		struct fabric *fabric = net_new();
		uint32_t at[BRUTE_SWITCHES];
		struct shape *shape;

		for (unsigned i = 0; i < size; i++) {
			at[i] = net_switch(fabric, "s%u", i);
			net_hosts(fabric, "n", i * 100, 1 + (unsigned)(net_random(&random) % 8), at[i]);
			if (i)
				net_links(fabric, at[i], at[i - 1], 1 + (unsigned)(net_random(&random) % 3));
		}
		net_links(fabric, at[0], at[size - 1], 1 + (unsigned)(net_random(&random) % 3));
		for (unsigned i = 0; i < size / 2; i++)
			net_link(fabric, at[net_random(&random) % (size / 2)],
				 at[size / 2 + net_random(&random) % (size / 2)]);
		shape = net_shape(fabric, NULL);
		if (shape->kind == SHAPE_NO_TREE) {
			assert_true(fabs(found(shape) - narrowest(fabric)) < 1e-6);
			compared++;
		}
		net_done(fabric, shape);
	}
	assert_true(compared > 50);
}

/* --- more than 14 switches: a search instead of all cuts --- */

/*
 * A grid of switches with a host on each, the first coordinate in the lowest digits; a ring in each dimension of more
 * than two, or a line with @mesh.
 */
static struct fabric *make_grid(const unsigned sizes[3], bool mesh)
{
	struct fabric *fabric = net_new();
	unsigned count = sizes[0] * sizes[1] * sizes[2];
	uint32_t at[512];

	assert_true(count <= 512);
	for (unsigned i = 0; i < count; i++) {
		at[i] = net_switch(fabric, "s%u", i);
		net_hosts(fabric, "n", i * 10, 8, at[i]);
	}
	for (unsigned dim = 0, step = 1; dim < 3; step *= sizes[dim++]) {
		for (unsigned i = 0; i < count; i++) {
			unsigned x = i / step % sizes[dim];

			if (x + 1 < sizes[dim])
				net_link(fabric, at[i], at[i + step]);
			else if (!mesh && x > 1)
				net_link(fabric, at[i], at[i - x * step]);
		}
	}
	return fabric;
}

TEST(a_grid_is_cut_in_the_middle_of_its_longest_side)
{
	static const struct { unsigned sizes[3]; bool mesh; unsigned links; } cases[] = {
		{ { 4, 4, 1 }, false, 8 }, { { 6, 6, 1 }, false, 12 }, { { 8, 8, 1 }, false, 16 },
		{ { 5, 5, 1 }, false, 12 }, { { 3, 5, 1 }, false, 6 }, { { 3, 7, 1 }, false, 6 },
		{ { 4, 9, 1 }, false, 8 }, { { 4, 4, 4 }, false, 32 }, { { 3, 4, 5 }, false, 30 },
		{ { 8, 8, 8 }, false, 128 }, { { 4, 8, 16 }, false, 64 }, { { 15, 1, 1 }, false, 2 },
		{ { 40, 1, 1 }, false, 2 }, { { 2, 9, 1 }, false, 4 }, { { 4, 4, 1 }, true, 4 },
		{ { 5, 6, 1 }, true, 5 }, { { 4, 4, 4 }, true, 16 }, { { 8, 8, 8 }, true, 64 },
	};

	for (size_t i = 0; i < sizeof(cases) / sizeof(*cases); i++) {
		struct fabric *fabric = make_grid(cases[i].sizes, cases[i].mesh);
		struct shape *shape = net_shape(fabric, NULL);

		assert_int_equal(shape->kind, SHAPE_NO_TREE);
		assert_true(shape->bisection_at_most);
		assert_int_equal(bisection_gbps(shape), cases[i].links * LINK_GBPS);
		net_done(fabric, shape);
	}
}

TEST(a_hypercube_is_cut_in_half)
{
	for (unsigned dims = 4; dims <= 7; dims++) {
		struct fabric *fabric = net_new();
		uint32_t at[128];
		struct shape *shape;

		for (unsigned i = 0; i < 1u << dims; i++) {
			at[i] = net_switch(fabric, "s%u", i);
			net_hosts(fabric, "n", i * 10, 4, at[i]);
			for (unsigned j = 0; j < dims; j++)
				if (i >> j & 1)
					net_link(fabric, at[i], at[i ^ 1u << j]);
		}
		shape = net_shape(fabric, NULL);
		assert_true(shape->bisection_at_most);
		assert_int_equal(bisection_gbps(shape), (1u << (dims - 1)) * LINK_GBPS);
		net_done(fabric, shape);
	}
}

/* Cables of a torus that are down narrow the cut that leads through them. */
TEST(links_that_are_down_are_in_the_cut_now)
{
	static const unsigned sizes[] = { 4, 6, 1 };
	struct fabric *fabric = make_grid(sizes, false);
	struct shape *shape;

	for (uint32_t i = 0; i < fabric->port_count; i++) {
		struct port *port = &fabric->ports[i];

		/* From row 0 to row 1, of four switches each, and from row 2 to row 3. */
		if (port->peer != FABRIC_NONE && fabric->nodes[port->node].type == NODE_SWITCH) {
			int a = atoi(fabric->nodes[port->node].desc + 1) / 4;
			int b = atoi(fabric->nodes[fabric->ports[port->peer].node].desc + 1) / 4;

			if (fabric->nodes[fabric->ports[port->peer].node].type == NODE_SWITCH && abs(a - b) == 1 &&
			    (a < b ? a : b) % 2 == 0 && a + b < 6)
				port->state = PORT_INIT;
		}
	}
	shape = net_shape(fabric, NULL);
	assert_int_equal(bisection_gbps(shape), 8 * LINK_GBPS);
	assert_int_equal(shape->bisection_bits_per_s_now, 0);
	net_done(fabric, shape);
}

/* Links and hosts by number of the switch; the least capacity for each host of the smaller part over all cuts. */
static double narrowest_of(unsigned size, unsigned links[][16], const unsigned *hosts)
{
	unsigned inside = 0, set = 0, all = 0;
	long cut = 0;
	double best = LINK_GBPS;

	for (unsigned i = 0; i < size; i++)
		all += hosts[i];
	/* One switch moves from each cut to the next: the one whose bit a Gray code changes. */
	for (unsigned turn = 1; turn < 1u << (size - 1); turn++) {
		unsigned moved = (unsigned)__builtin_ctz(turn), smaller;

		for (unsigned i = 0; i < size; i++)
			cut += i == moved ? 0 : ((set >> i & 1) == (set >> moved & 1) ? 1 : -1) * (long)links[i][moved];
		set ^= 1u << moved;
		inside += set >> moved & 1 ? hosts[moved] : -hosts[moved];
		smaller = inside * 2 < all ? inside : all - inside;
		best = fmin(best, (double)cut * LINK_GBPS / smaller);
	}
	return best;
}

TEST(a_cut_that_was_searched_is_an_upper_bound_and_mostly_the_narrowest)
{
	uint64_t random = 23;
	unsigned compared = 0, equal = 0;

	for (unsigned round = 0; round < 60; round++) {
		unsigned size = 15 + round % 2, links[16][16] = { 0 }, hosts[16];
		struct fabric *fabric = net_new();
		uint32_t at[16];
		struct shape *shape;

		for (unsigned i = 0; i < size; i++) {
			at[i] = net_switch(fabric, "s%u", i);
			hosts[i] = 1 + (unsigned)(net_random(&random) % 8);
			net_hosts(fabric, "n", i * 100, hosts[i], at[i]);
		}
		for (unsigned i = 0; i < size + size * (round % 4) / 2; i++) {
			unsigned a = i < size ? i : (unsigned)(net_random(&random) % size);
			unsigned b = i < size ? (i + 1) % size : (unsigned)(net_random(&random) % size);
			unsigned count = a == b ? 0 : 1 + (unsigned)(net_random(&random) % 3);

			net_links(fabric, at[a], at[b], count);
			links[a][b] += count;
			links[b][a] += count;
		}
		shape = net_shape(fabric, NULL);
		if (shape->kind == SHAPE_NO_TREE) {
			double truth = narrowest_of(size, links, hosts);

			assert_true(shape->bisection_at_most);
			assert_true(found(shape) >= truth - 1e-6);
			equal += found(shape) < truth + 1e-6;
			compared++;
		}
		net_done(fabric, shape);
	}
	assert_true(compared > 40);
	print_message("# %u of %u are the narrowest\n", equal, compared);
	assert_true(equal * 10 >= compared * 9);
}

TEST(no_cut_of_random_islands_is_narrower)
{
	uint64_t random = 11;

	for (unsigned round = 0; round < 60; round++) {
		unsigned count = 2 + (unsigned)(net_random(&random) % 2), leaves[3];
		struct fabric *fabric;
		struct shape *shape;

		for (unsigned i = 0; i < count; i++)
			leaves[i] = 2 + (unsigned)(net_random(&random) % (count == 2 ? 3 : 1));
		fabric = make_islands(leaves, count, 1 + (unsigned)(net_random(&random) % 4));
		shape = net_shape(fabric, NULL);
		assert_int_equal(shape->island_count, count);
		/* Tiers are cut in halves: of an odd number of leaves none is found by whole switches. */
		assert_true(found(shape) <= narrowest(fabric) + 1e-6);
		assert_true(strstr(shape->bisection_cut, "tier") || fabs(found(shape) - narrowest(fabric)) < 1e-6);
		net_done(fabric, shape);
	}
}

TEST(random_trees_of_any_size_are_no_torus)
{
	uint64_t random = 3;

	for (unsigned round = 0; round < 400; round++) {
		unsigned size = 1 + (unsigned)(net_random(&random) % 40);
		struct fabric *fabric = net_new();
		uint32_t at[40];
		struct shape *shape;

		for (unsigned i = 0; i < size; i++) {
			unsigned hosts = (unsigned)(net_random(&random) % 8);

			at[i] = net_switch(fabric, "s%u", i);
			net_hosts(fabric, "n", i * 100, hosts < 3 ? 0 : hosts, at[i]);
			/* The first switches may have many neighbors; each has 64 ports. */
			if (i)
				net_link(fabric, at[i], at[net_random(&random) % i]);
		}
		shape = net_shape(fabric, NULL);
		assert_int_not_equal(shape->kind, SHAPE_NO_TREE);
		assert_null(strstr(shape->reason, "torus"));
		net_done(fabric, shape);
	}
}
