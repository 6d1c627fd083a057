/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * Tiers, groups and cables of small fabrics: what is a tree, and what one odd cable must not
 * change.
 */
#include <stdio.h>

#include "base/unit_test.h"
#include "fabric/shape.h"
#include "fabric/test_net.h"

#define LEAVES 6
#define SPINES 4

/* Leafs with 8 hosts each, linked to every spine by two cables. */
struct tree {
	struct fabric *fabric;
	uint32_t leaf[LEAVES], spine[SPINES];
};

static struct tree tree_of(const char *prefix)
{
	struct tree tree = { .fabric = net_new() };

	for (unsigned i = 0; i < LEAVES; i++) {
		tree.leaf[i] = net_switch(tree.fabric, "leaf%u", i);
		net_hosts(tree.fabric, prefix, i * 8, 8, tree.leaf[i]);
	}
	for (unsigned i = 0; i < SPINES; i++) {
		tree.spine[i] = net_switch(tree.fabric, "spine%u", i);
		for (unsigned j = 0; j < LEAVES; j++)
			net_links(tree.fabric, tree.leaf[j], tree.spine[i], 2);
	}
	return tree;
}

static struct tree tree_new(void)
{
	return tree_of("node");
}

static void unlink_pair(struct fabric *fabric, uint32_t a, uint32_t b, unsigned count)
{
	uint32_t first = fabric->nodes[a].first_port;

	for (uint32_t i = first; i < first + fabric->nodes[a].ports && count; i++) {
		uint32_t peer = fabric->ports[i].peer;

		if (peer == FABRIC_NONE || fabric->ports[peer].node != b)
			continue;
		fabric->ports[i].peer = fabric->ports[peer].peer = FABRIC_NONE;
		count--;
	}
}

static void assert_tiers(const struct tree *tree, const struct shape *shape)
{
	for (unsigned i = 0; i < LEAVES; i++)
		assert_int_equal(shape->nodes[tree->leaf[i]].tier, 1);
	for (unsigned i = 0; i < SPINES; i++)
		assert_int_equal(shape->nodes[tree->spine[i]].tier, 2);
}

TEST(a_tree_has_groups_of_all_uplinks_and_of_each_pair_down)
{
	struct tree tree = tree_new();
	struct shape *shape = net_shape(tree.fabric, NULL);
	const struct shape_group *up = &shape->groups[shape->nodes[tree.leaf[2]].up_group];
	uint32_t port = tree.fabric->nodes[tree.spine[1]].first_port + 1;

	assert_tiers(&tree, shape);
	assert_int_equal(shape->kind, SHAPE_FAT_TREE);
	assert_int_equal(shape->plane_count, SPINES);
	assert_int_equal(up->count, 2 * SPINES);
	assert_int_equal(up->built, 2 * SPINES);
	assert_int_equal(up->peer, FABRIC_NONE);
	assert_int_equal(shape->groups[shape->ports[port].group].kind, GROUP_DOWN);
	assert_int_equal(shape->groups[shape->ports[port].group].count, 2);
	assert_int_equal(shape->groups[shape->ports[port].group].peer, tree.leaf[0]);
	assert_int_equal(shape->group_count, LEAVES + LEAVES * SPINES);
	assert_float_equal(shape_oversubscription(shape, tree.leaf[0], true), 1, 1e-9);
	/* 48 hosts of 400 Gb/s: half of them send to the other half. */
	assert_int_equal(shape->bisection_bits_per_s / 1000000000, 48 * 400 / 2);
	net_done(tree.fabric, shape);
}

TEST(a_link_that_is_down_is_built_and_does_not_carry)
{
	struct tree tree = tree_new();
	uint32_t port = tree.fabric->nodes[tree.spine[0]].first_port + 1, peer = tree.fabric->ports[port].peer;
	struct shape *shape;

	tree.fabric->ports[port].state = tree.fabric->ports[peer].state = PORT_DOWN;
	tree.fabric->ports[port].speed = tree.fabric->ports[peer].speed = LINK_SPEED_NONE;
	shape = net_shape(tree.fabric, NULL);
	assert_int_equal(shape->tiers[1].links_up, 48);
	assert_int_equal(shape->tiers[1].links_up_active, 47);
	assert_int_equal(shape->tiers[1].up_bits_per_s / 1000000000, 48 * 400);
	assert_int_equal(shape->tiers[1].up_bits_per_s_now / 1000000000, 47 * 400);
	assert_float_equal(shape_oversubscription(shape, tree.leaf[0], false), 1, 1e-9);
	assert_float_equal(shape_oversubscription(shape, tree.leaf[0], true), 8. / 7, 1e-9);
	assert_int_equal(shape->missing_count, 0);
	assert_int_equal(shape->bisection_bits_per_s_now / 1000000000, 47 * 400 / 2);
	net_done(tree.fabric, shape);
}

TEST(fewer_cables_than_the_pairs_around_are_missing)
{
	struct tree tree = tree_new();
	struct shape *shape;

	unlink_pair(tree.fabric, tree.leaf[1], tree.spine[0], 1);
	unlink_pair(tree.fabric, tree.leaf[3], tree.spine[2], 2);
	shape = net_shape(tree.fabric, NULL);
	assert_tiers(&tree, shape);
	assert_int_equal(shape->missing_count, 2);
	assert_int_equal(shape->missing[0].low, tree.leaf[1]);
	assert_int_equal(shape->missing[0].high, tree.spine[0]);
	assert_int_equal(shape->missing[0].links, 1);
	assert_int_equal(shape->missing[0].expected, 2);
	assert_int_equal(shape->missing[1].low, tree.leaf[3]);
	assert_int_equal(shape->missing[1].links, 0);
	assert_int_equal(shape->groups[shape->nodes[tree.leaf[1]].up_group].count, 7);
	assert_int_equal(shape->groups[shape->nodes[tree.leaf[1]].up_group].built, 8);
	net_done(tree.fabric, shape);
}

TEST(a_leaf_with_fewer_cables_everywhere_lacks_none)
{
	struct tree tree = tree_new();
	struct shape *shape;

	for (unsigned i = 0; i < SPINES; i++)
		unlink_pair(tree.fabric, tree.leaf[1], tree.spine[i], 1);
	shape = net_shape(tree.fabric, NULL);
	assert_int_equal(shape->missing_count, 0);
	net_done(tree.fabric, shape);
}

TEST(hosts_on_a_spine_do_not_make_it_a_leaf)
{
	struct tree tree = tree_new();
	struct shape *shape;

	net_hosts(tree.fabric, "mgmt", 1, 3, tree.spine[0]);
	net_hosts(tree.fabric, "atlas", 1, 1, tree.spine[1]);
	net_hosts(tree.fabric, "oss", 1, 10, tree.spine[2]); /* more than a leaf has */
	shape = net_shape(tree.fabric, NULL);
	assert_tiers(&tree, shape);
	assert_int_equal(shape->kind, SHAPE_FAT_TREE);
	net_done(tree.fabric, shape);
}

TEST(a_core_with_as_many_hosts_as_a_leaf_is_none)
{
	struct fabric *fabric = net_new();
	uint32_t core = net_switch(fabric, "core"), leaf[5];
	struct shape *shape;

	net_hosts(fabric, "a", 0, 8, core);
	for (unsigned i = 0; i < 5; i++) {
		leaf[i] = net_switch(fabric, "leaf%u", i);
		net_hosts(fabric, "n", i * 8, 8, leaf[i]);
		net_links(fabric, leaf[i], core, 4);
	}
	shape = net_shape(fabric, NULL);
	assert_int_equal(shape->nodes[core].tier, 2);
	assert_int_equal(shape->nodes[leaf[4]].tier, 1);
	assert_int_equal(shape->kind, SHAPE_FAT_TREE);
	net_done(fabric, shape);
}

TEST(a_leaf_with_two_hosts_on_one_spine_is_a_leaf)
{
	struct tree tree = tree_new();
	uint32_t small = net_switch(tree.fabric, "service-leaf");
	struct shape *shape;

	net_hosts(tree.fabric, "login", 1, 2, small);
	net_link(tree.fabric, small, tree.spine[0]);
	shape = net_shape(tree.fabric, NULL);
	assert_tiers(&tree, shape);
	assert_int_equal(shape->nodes[small].tier, 1);
	assert_int_equal(shape->missing_count, 0);
	net_done(tree.fabric, shape);
}

TEST(switches_without_a_tier_have_a_reason)
{
	struct tree tree = tree_new();
	uint32_t stub = net_switch(tree.fabric, "stub"), lone = net_switch(tree.fabric, "lone");
	struct shape *shape;

	net_links(tree.fabric, stub, tree.spine[0], 2);
	shape = net_shape(tree.fabric, NULL);
	assert_tiers(&tree, shape);
	assert_int_equal(shape->nodes[stub].tier, 0);
	assert_int_equal(shape->nodes[stub].why, SHAPE_NO_HOSTS_BELOW);
	assert_int_equal(shape->nodes[lone].tier, 0);
	assert_int_equal(shape->nodes[lone].why, SHAPE_UNCONNECTED);
	assert_int_equal(shape->nodes[lone].part, 1);
	assert_int_equal(shape->parts, 2);
	assert_int_equal(shape->kind, SHAPE_IRREGULAR);
	net_done(tree.fabric, shape);
}

TEST(two_trees_that_are_not_connected_are_two_parts)
{
	struct tree tree = tree_new();
	uint32_t other = net_switch(tree.fabric, "other"), above = net_switch(tree.fabric, "above");
	uint32_t third = net_switch(tree.fabric, "third");
	struct shape *shape;

	net_hosts(tree.fabric, "x", 1, 4, other);
	net_hosts(tree.fabric, "y", 1, 4, third);
	net_links(tree.fabric, other, above, 2);
	net_links(tree.fabric, third, above, 2);
	shape = net_shape(tree.fabric, NULL);
	assert_tiers(&tree, shape);
	assert_int_equal(shape->parts, 2);
	assert_int_equal(shape->nodes[tree.leaf[0]].part, 0);
	assert_int_equal(shape->nodes[other].part, 1);
	assert_int_equal(shape->nodes[other].tier, 1);
	assert_int_equal(shape->nodes[above].tier, 2);
	net_done(tree.fabric, shape);
}

/* Three tiers: @pods pods of 3 leaves and 2 spines, and 4 cores. */
struct tower {
	struct fabric *fabric;
	uint32_t leaf[4][3], spine[4][2], core[4];
};

static struct tower tower_new(unsigned pods)
{
	struct tower tower = { .fabric = net_new() };

	for (unsigned i = 0; i < 4; i++) {
		tower.core[i] = net_switch(tower.fabric, "core%u", i);
	}
	for (unsigned i = 0; i < pods; i++) {
		for (unsigned j = 0; j < 2; j++) {
			tower.spine[i][j] = net_switch(tower.fabric, "pod%u-spine%u", i, j);
			for (unsigned k = 0; k < 2; k++)
				net_links(tower.fabric, tower.spine[i][j], tower.core[2 * j + k], 2);
		}
		for (unsigned j = 0; j < 3; j++) {
			tower.leaf[i][j] = net_switch(tower.fabric, "pod%u-leaf%u", i, j);
			net_hosts(tower.fabric, "n", i * 100 + j * 10, 4, tower.leaf[i][j]);
			for (unsigned k = 0; k < 2; k++)
				net_links(tower.fabric, tower.leaf[i][j], tower.spine[i][k], 2);
		}
	}
	return tower;
}

static void assert_tower(const struct tower *tower, const struct shape *shape, unsigned pods)
{
	for (unsigned i = 0; i < pods; i++) {
		for (unsigned j = 0; j < 3; j++)
			assert_int_equal(shape->nodes[tower->leaf[i][j]].tier, 1);
		for (unsigned j = 0; j < 2; j++)
			assert_int_equal(shape->nodes[tower->spine[i][j]].tier, 2);
	}
	for (unsigned i = 0; i < 4; i++)
		assert_int_equal(shape->nodes[tower->core[i]].tier, 3);
}

TEST(planes_are_the_parts_without_the_leaves)
{
	struct tower tower = tower_new(3);
	struct shape *shape = net_shape(tower.fabric, NULL);

	assert_tower(&tower, shape, 3);
	assert_int_equal(shape->plane_count, 2);
	assert_int_equal(shape->nodes[tower.core[1]].plane, shape->nodes[tower.spine[2][0]].plane);
	assert_int_not_equal(shape->nodes[tower.core[1]].plane, shape->nodes[tower.spine[0][1]].plane);
	assert_int_equal(shape->nodes[tower.leaf[0][0]].plane, SHAPE_NONE);
	net_done(tower.fabric, shape);
}

/* Planes of an HCA with several ports; each has leaves and spines, and the spines are no planes then. */
TEST(separate_planes_are_planes)
{
	struct fabric *fabric = net_new();
	uint32_t hca[8], leaf[2][2], spine;
	struct shape *shape;

	for (unsigned i = 0; i < 8; i++)
		hca[i] = net_hca(fabric, 0, "n%u mlx5_0", i);
	for (unsigned plane = 0; plane < 2; plane++) {
		for (unsigned i = 0; i < 2; i++)
			leaf[plane][i] = net_switch(fabric, "leaf%u-%u", plane, i);
		for (unsigned i = 0; i < 8; i++)
			net_link(fabric, hca[i], leaf[plane][i / 4]);
		for (unsigned i = 0; i < 3; i++) {
			spine = net_switch(fabric, "spine%u-%u", plane, i);
			net_link(fabric, leaf[plane][0], spine);
			net_link(fabric, leaf[plane][1], spine);
		}
	}
	shape = net_shape(fabric, NULL);
	assert_int_equal(shape->kind, SHAPE_FAT_TREE);
	assert_int_equal(shape->parts, 2);
	assert_int_equal(shape->plane_count, 2);
	assert_int_equal(shape->nodes[leaf[1][0]].plane, shape->nodes[spine].plane);
	assert_int_not_equal(shape->nodes[leaf[0][0]].plane, shape->nodes[spine].plane);
	net_done(fabric, shape);
}

TEST(a_stray_cable_to_a_core_is_a_skip_and_moves_no_tier)
{
	struct tower tower = tower_new(3);
	struct shape *shape;

	net_link(tower.fabric, tower.leaf[1][0], tower.core[2]);
	shape = net_shape(tower.fabric, NULL);
	assert_tower(&tower, shape, 3);
	assert_int_equal(shape->kind, SHAPE_IRREGULAR);
	assert_int_equal(shape->skips, 1);
	assert_int_equal(shape->across, 0);
	net_done(tower.fabric, shape);
}

TEST(a_cable_between_spines_is_across_and_moves_no_tier)
{
	struct tower tower = tower_new(2);
	uint32_t port = net_link(tower.fabric, tower.spine[0][0], tower.spine[1][0]);
	struct shape *shape = net_shape(tower.fabric, NULL);

	assert_tower(&tower, shape, 2);
	assert_int_equal(shape->across, 1);
	assert_int_equal(shape->ports[port].way, WAY_ACROSS);
	assert_int_equal(shape->groups[shape->ports[port].group].kind, GROUP_ACROSS);
	net_done(tower.fabric, shape);
}

TEST(a_management_host_on_a_core_changes_nothing)
{
	struct tower tower = tower_new(2);
	struct shape *shape;

	net_hosts(tower.fabric, "mgmt", 1, 1, tower.core[3]);
	net_hosts(tower.fabric, "odd", 1, 1, tower.core[0]);
	shape = net_shape(tower.fabric, NULL);
	assert_tower(&tower, shape, 2);
	net_done(tower.fabric, shape);
}

TEST(a_storage_leaf_on_the_cores_skips_a_tier)
{
	struct tower tower = tower_new(3);
	uint32_t storage = net_switch(tower.fabric, "storage-leaf");
	struct shape *shape;

	net_hosts(tower.fabric, "oss", 1, 4, storage);
	for (unsigned i = 0; i < 4; i++)
		net_link(tower.fabric, storage, tower.core[i]);
	shape = net_shape(tower.fabric, NULL);
	assert_tower(&tower, shape, 3);
	assert_int_equal(shape->nodes[storage].tier, 1);
	assert_int_equal(shape->skips, 4);
	assert_int_equal(shape->groups[shape->nodes[storage].up_group].count, 4);
	net_done(tower.fabric, shape);
}

/* Modules of a director share their SystemImageGUID: 3 line and 2 spine modules, above 4 leaves. */
struct director {
	struct fabric *fabric;
	uint32_t modules[5];
};

static struct director director_new(void)
{
	struct director director = { .fabric = net_new() };
	struct node module = { .type = NODE_SWITCH, .port_count = 41, .system_guid = 0xd1, .device_id = 0xd2f0 };
	uint32_t *modules = director.modules, leaf;

	for (unsigned i = 0; i < 5; i++) {
		snprintf(module.desc, sizeof(module.desc), "MF0;core:CS8500/%c%02u/U1", i < 3 ? 'L' : 'S', i % 3 + 1);
		modules[i] = net_node(director.fabric, &module);
	}
	for (unsigned i = 0; i < 3; i++)
		for (unsigned j = 3; j < 5; j++)
			net_links(director.fabric, modules[i], modules[j], 4);
	for (unsigned i = 0; i < 4; i++) {
		leaf = net_switch(director.fabric, "leaf%u", i);
		net_hosts(director.fabric, "n", i * 10, 6, leaf);
		for (unsigned j = 0; j < 3; j++)
			net_link(director.fabric, leaf, modules[j]);
	}
	return director;
}

TEST(the_modules_of_a_director_are_one_box)
{
	struct director director = director_new();
	const struct fabric *fabric = director.fabric;
	const uint32_t *modules = director.modules;
	struct shape *shape = net_shape(director.fabric, NULL);

	assert_int_equal(shape->nodes[modules[1]].tier, 2);
	assert_int_equal(shape->nodes[modules[4]].tier, 3);
	assert_int_equal(shape->nodes[modules[4]].box, modules[0]);
	assert_int_equal(shape->tiers[2].boxes, 1);
	assert_int_equal(shape->tiers[2].switches, 3);
	assert_int_equal(shape->ports[fabric->nodes[modules[0]].first_port + 1].cage, 0);
	net_done(director.fabric, shape);
}

static void set_link(struct fabric *fabric, uint32_t port, enum link_speed speed, uint8_t width)
{
	uint32_t peer = fabric->ports[port].peer;

	fabric->ports[port].speed = fabric->ports[peer].speed = (uint8_t)speed;
	fabric->ports[port].width = fabric->ports[peer].width = width;
}

TEST(a_trunk_slower_than_comparable_ones_is_slow)
{
	struct tree tree = tree_new();
	uint32_t old = net_switch(tree.fabric, "old-spine"), port;
	struct shape *shape;

	/* A spine of an older generation is as slow to all leaves: no fault. */
	for (uint32_t i = 0; i < LEAVES; i++)
		set_link(tree.fabric, net_link(tree.fabric, tree.leaf[i], old), LINK_SPEED_HDR, LINK_WIDTH_4X);
	port = tree.fabric->nodes[tree.spine[1]].first_port + 4;
	set_link(tree.fabric, port, LINK_SPEED_NDR, LINK_WIDTH_1X);
	shape = net_shape(tree.fabric, NULL);
	assert_tiers(&tree, shape);
	assert_int_equal(shape->slow_count, 1);
	assert_true(shape->slow[0].port == port || shape->slow[0].port == tree.fabric->ports[port].peer);
	assert_int_equal(shape->slow[0].bits_per_s / 1000000000, 100);
	assert_int_equal(shape->slow[0].expected_bits_per_s / 1000000000, 400);
	assert_int_equal(shape->tiers[1].up_bits_per_s / 1000000000, 48 * 400 + 6 * 200);
	assert_int_equal(shape->tiers[1].up_bits_per_s_now / 1000000000, 47 * 400 + 100 + 6 * 200);
	net_done(tree.fabric, shape);
}

/* What both ends of a link support and have enabled. */
static void set_rates(struct fabric *fabric, uint32_t port, enum link_speed supported, enum link_speed enabled)
{
	struct port *ends[] = { &fabric->ports[port], &fabric->ports[fabric->ports[port].peer] };

	for (unsigned i = 0; i < 2; i++) {
		ends[i]->width_supported = ends[i]->width_enabled = LINK_WIDTH_1X | LINK_WIDTH_4X | LINK_WIDTH_12X;
		ends[i]->speed_supported = (uint16_t)(1 << supported | 1 << LINK_SPEED_SDR);
		ends[i]->speed_enabled = (uint16_t)(1 << enabled | 1 << LINK_SPEED_SDR);
	}
}

/* Which of the two rules says it does not matter: a verdict of one end is that of the other, and in the list. */
TEST(a_link_has_one_verdict)
{
	static const struct {
		bool trunk;
		enum link_speed supported, enabled; /* NONE: unknown */
		enum link_speed speed;
		uint8_t width;
		enum link_verdict verdict;
	} cases[] = {
		{ true, LINK_SPEED_NDR, LINK_SPEED_NDR, LINK_SPEED_NDR, LINK_WIDTH_4X, LINK_NOT_DEGRADED },
		{ true, LINK_SPEED_NDR, LINK_SPEED_NDR, LINK_SPEED_NDR, LINK_WIDTH_1X, LINK_NARROW },
		{ true, LINK_SPEED_NDR, LINK_SPEED_NDR, LINK_SPEED_HDR, LINK_WIDTH_4X, LINK_SLOW },
		{ true, LINK_SPEED_NDR, LINK_SPEED_HDR, LINK_SPEED_HDR, LINK_WIDTH_4X, LINK_LIMITED },
		{ true, LINK_SPEED_HDR, LINK_SPEED_HDR, LINK_SPEED_HDR, LINK_WIDTH_4X, LINK_NOT_DEGRADED },
		{ true, LINK_SPEED_NONE, LINK_SPEED_NONE, LINK_SPEED_HDR, LINK_WIDTH_4X, LINK_BELOW_NEIGHBORS },
		{ false, LINK_SPEED_NDR, LINK_SPEED_NDR, LINK_SPEED_NDR, LINK_WIDTH_1X, LINK_NARROW },
		{ false, LINK_SPEED_NDR, LINK_SPEED_NDR, LINK_SPEED_HDR, LINK_WIDTH_4X, LINK_SLOW },
		{ false, LINK_SPEED_NDR, LINK_SPEED_HDR, LINK_SPEED_HDR, LINK_WIDTH_4X, LINK_LIMITED },
		{ false, LINK_SPEED_HDR, LINK_SPEED_HDR, LINK_SPEED_HDR, LINK_WIDTH_4X, LINK_NOT_DEGRADED },
		{ false, LINK_SPEED_NONE, LINK_SPEED_NONE, LINK_SPEED_HDR, LINK_WIDTH_4X, LINK_BELOW_NEIGHBORS },
		{ false, LINK_SPEED_NONE, LINK_SPEED_NONE, LINK_SPEED_NDR, LINK_WIDTH_2X, LINK_NOT_DEGRADED },
	};

	for (size_t i = 0; i < sizeof(cases) / sizeof(*cases); i++) {
		struct tree tree = tree_new();
		uint32_t port = FABRIC_NONE, peer;
		struct shape *shape;

		for (uint32_t p = 0; p < tree.fabric->port_count; p++) {
			peer = tree.fabric->ports[p].peer;
			if (peer == FABRIC_NONE || tree.fabric->ports[p].node != tree.leaf[1])
				continue;
			if ((tree.fabric->nodes[tree.fabric->ports[peer].node].type == NODE_SWITCH) == cases[i].trunk)
				port = p;
		}
		peer = tree.fabric->ports[port].peer;
		if (cases[i].supported != LINK_SPEED_NONE)
			set_rates(tree.fabric, port, cases[i].supported, cases[i].enabled);
		set_link(tree.fabric, port, cases[i].speed, cases[i].width);
		shape = net_shape(tree.fabric, NULL);
		assert_int_equal(shape->ports[port].verdict, cases[i].verdict);
		assert_int_equal(shape->ports[peer].verdict, cases[i].verdict);
		assert_int_equal(link_is_degraded(shape, port), cases[i].verdict != LINK_NOT_DEGRADED);
		assert_int_equal(shape->slow_count, cases[i].verdict != LINK_NOT_DEGRADED);
		shape_destroy(shape);
		/* The subnet manager has not set it to Active. */
		tree.fabric->ports[peer].state = PORT_INIT;
		assert_int_equal(shape_create(tree.fabric, NULL, &shape, NULL), 0);
		assert_int_equal(shape->ports[port].verdict, LINK_NOT_DEGRADED);
		assert_int_equal(shape->slow_count, 0);
		net_done(tree.fabric, shape);
	}
}

/* A dump with another width or speed at each end of a cable: no comparable link is faster. */
TEST(ends_that_differ_are_no_neighbors)
{
	static const struct { uint8_t width; enum link_speed speed; enum link_verdict verdict; } cases[] = {
		{ LINK_WIDTH_1X, LINK_SPEED_EDR, LINK_NARROW }, { LINK_WIDTH_4X, LINK_SPEED_FDR, LINK_SLOW },
		{ LINK_WIDTH_1X, LINK_SPEED_FDR, LINK_NARROW }, { LINK_WIDTH_4X, LINK_SPEED_EDR, LINK_NOT_DEGRADED },
	};

	for (size_t i = 0; i < 2 * sizeof(cases) / sizeof(*cases); i++) {
		struct fabric *fabric = net_new();
		uint32_t leaf = net_switch(fabric, "leaf"), port;
		struct shape *shape;

		net_hosts(fabric, "n", 0, 2, leaf);
		shape = net_shape(fabric, NULL);
		shape_destroy(shape);
		port = fabric->nodes[leaf].first_port;
		while (fabric->ports[port].peer == FABRIC_NONE)
			port++;
		set_link(fabric, port, LINK_SPEED_EDR, LINK_WIDTH_4X);
		/* Either end. */
		port = i % 2 ? fabric->ports[port].peer : port;
		fabric->ports[port].width = cases[i / 2].width;
		fabric->ports[port].speed = cases[i / 2].speed;
		assert_int_equal(shape_create(fabric, NULL, &shape, NULL), 0);
		assert_int_equal(shape->ports[port].verdict, cases[i / 2].verdict);
		net_done(fabric, shape);
	}
}

/* Three islands of 3 leaves and 2 spines, a line module above each of them, and 2 spine modules. */
static struct fabric *islands_new(void)
{
	struct fabric *fabric = net_new();
	uint32_t top[2] = { net_switch(fabric, "top0"), net_switch(fabric, "top1") };

	for (unsigned i = 0; i < 3; i++) {
		uint32_t line = net_switch(fabric, "line%u", i), spine[2];

		for (unsigned j = 0; j < 2; j++) {
			spine[j] = net_switch(fabric, "island%u-spine%u", i, j);
			net_links(fabric, spine[j], line, 3);
			net_links(fabric, line, top[j], 3);
		}
		for (unsigned j = 0; j < 3; j++) {
			uint32_t leaf = net_switch(fabric, "island%u-leaf%u", i, j);

			net_hosts(fabric, "n", i * 100 + j * 10, 4, leaf);
			net_links(fabric, leaf, spine[0], 2);
			net_links(fabric, leaf, spine[1], 2);
		}
	}
	return fabric;
}

TEST(a_host_on_any_switch_changes_the_tier_of_no_other)
{
	struct fabric *fabrics[8] = { tree_new().fabric, tree_of("oss").fabric, director_new().fabric, islands_new() };

	for (unsigned i = 1; i <= 4; i++)
		fabrics[3 + i] = tower_new(i).fabric;
	for (unsigned i = 0; i < 8; i++) {
		shape_destroy(net_shape(fabrics[i], NULL));
		net_add_host_anywhere(fabrics[i]);
		fabric_destroy(fabrics[i]);
	}
}

static void remove_hosts(struct fabric *fabric, uint32_t leaf)
{
	uint32_t first = fabric->nodes[leaf].first_port;

	for (uint32_t i = first; i < first + fabric->nodes[leaf].ports; i++) {
		uint32_t peer = fabric->ports[i].peer;

		if (peer != FABRIC_NONE && fabric->nodes[fabric->ports[peer].node].type == NODE_CA)
			fabric->ports[i].peer = fabric->ports[peer].peer = FABRIC_NONE;
	}
}

/* What their uplinks reach decides, however many they are. */
TEST(leaves_whose_hosts_are_off_stay_leaves_beside_one_that_has_some)
{
	struct tree tree = tree_new();
	struct tower tower = tower_new(2);
	struct shape *shape;

	for (unsigned i = 1; i < LEAVES; i++)
		remove_hosts(tree.fabric, tree.leaf[i]);
	shape = net_shape(tree.fabric, NULL);
	assert_tiers(&tree, shape);
	assert_int_equal(shape->kind, SHAPE_FAT_TREE);
	assert_int_equal(shape->empty_leaves, LEAVES - 1);
	assert_int_equal(shape->plane_count, SPINES);
	net_done(tree.fabric, shape);

	for (unsigned i = 0; i < 3; i++)
		remove_hosts(tower.fabric, tower.leaf[1][i]);
	shape = net_shape(tower.fabric, NULL);
	assert_tower(&tower, shape, 2);
	assert_int_equal(shape->empty_leaves, 3);
	assert_int_equal(shape->plane_count, 2);
	net_done(tower.fabric, shape);
}

/* 144 hosts on six leaves and two spines: without 48 of them, two leaves are no cores. */
TEST(leaves_whose_hosts_are_off_keep_the_roles_of_their_ports)
{
	struct fabric *fabric = net_new();
	uint32_t leaf[6], spine[2] = { net_switch(fabric, "spine0"), net_switch(fabric, "spine1") };
	char role[SHAPE_ROLE_SIZE];
	struct shape *shape;

	for (unsigned i = 0; i < 6; i++) {
		leaf[i] = net_switch(fabric, "leaf%u", i);
		net_links(fabric, leaf[i], spine[0], 6);
		net_links(fabric, leaf[i], spine[1], 6);
		net_hosts(fabric, "n", i * 24, 24, leaf[i]);
	}
	remove_hosts(fabric, leaf[2]);
	remove_hosts(fabric, leaf[5]);
	shape = net_shape(fabric, NULL);
	assert_int_equal(shape->tier_count, 2);
	assert_int_equal(shape->plane_count, 2);
	assert_string_equal(shape_port_role(shape, fabric->nodes[leaf[5]].first_port + 1, role), "leaf-uplink");
	net_done(fabric, shape);
}

/* Pods with one spine: a leaf has a single neighbor. */
TEST(leaves_on_a_single_spine_whose_hosts_are_off_stay_leaves)
{
	struct fabric *fabric = net_new();
	uint32_t core[2] = { net_switch(fabric, "core0"), net_switch(fabric, "core1") }, leaf[3][4];
	struct shape *shape;

	for (unsigned i = 0; i < 3; i++) {
		uint32_t spine = net_switch(fabric, "spine%u", i);

		net_links(fabric, spine, core[0], 4);
		net_links(fabric, spine, core[1], 4);
		for (unsigned j = 0; j < 4; j++) {
			leaf[i][j] = net_switch(fabric, "leaf%u-%u", i, j);
			net_links(fabric, leaf[i][j], spine, 2);
			net_hosts(fabric, "n", i * 100 + j * 10, 4, leaf[i][j]);
			if (j >= 2)
				remove_hosts(fabric, leaf[i][j]);
		}
	}
	shape = net_shape(fabric, NULL);
	for (unsigned i = 0; i < 12; i++)
		assert_int_equal(shape->nodes[leaf[i / 4][i % 4]].tier, 1);
	assert_int_equal(shape->nodes[core[1]].tier, 3);
	assert_int_equal(shape->empty_leaves, 6);
	net_done(fabric, shape);
}

TEST(a_leaf_with_half_of_the_spines_whose_hosts_are_off_stays_a_leaf_beside_other_empty_ones)
{
	struct tree tree = tree_new();
	struct shape *shape;

	unlink_pair(tree.fabric, tree.leaf[0], tree.spine[0], 2);
	unlink_pair(tree.fabric, tree.leaf[0], tree.spine[1], 2);
	for (unsigned i = 0; i < 5; i++)
		remove_hosts(tree.fabric, tree.leaf[i]);
	shape = net_shape(tree.fabric, NULL);
	assert_tiers(&tree, shape);
	assert_int_equal(shape->plane_count, SPINES);
	net_done(tree.fabric, shape);
}

/* Two lanes of a 4x link are a divided port from HDR on; slower switches have none. */
TEST(two_lanes_are_a_divided_port_from_hdr_on)
{
	for (enum link_speed speed = LINK_SPEED_FDR; speed <= LINK_SPEED_NDR; speed++) {
		struct tree tree = tree_new();
		uint32_t last = FABRIC_NONE;
		struct shape *shape;

		for (uint32_t p = 0; p < tree.fabric->port_count; p++) {
			if (tree.fabric->ports[p].peer == FABRIC_NONE)
				continue;
			set_link(tree.fabric, p, speed, LINK_WIDTH_4X);
			if (tree.fabric->nodes[tree.fabric->ports[p].node].type == NODE_CA)
				last = p;
		}
		set_link(tree.fabric, last, speed, LINK_WIDTH_2X);
		shape = net_shape(tree.fabric, NULL);
		assert_int_equal(shape->slow_count, speed < LINK_SPEED_HDR);
		net_done(tree.fabric, shape);
	}
}
