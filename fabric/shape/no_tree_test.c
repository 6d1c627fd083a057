/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* Fabrics without tiers: torus, mesh, dragonflies; and those too small to have many. */
#include <string.h>

#include "base/unit_test.h"
#include "fabric/shape.h"
#include "fabric/test_net.h"

static void assert_no_tree(struct fabric *fabric)
{
	struct shape *shape = net_shape(fabric, NULL);
	unsigned switches = 0;

	assert_int_equal(shape->kind, SHAPE_NO_TREE);
	assert_int_equal(shape->tier_count, 0);
	assert_int_equal(shape->missing_count, 0);
	/* All cuts of up to 14 switches are tried, of more the bisection is an upper bound. */
	for (uint32_t i = 0; i < fabric->node_count; i++)
		switches += fabric->nodes[i].type == NODE_SWITCH;
	assert_true(shape->bisection_bits_per_s > 0);
	assert_int_equal(shape->bisection_at_most, switches > 14);
	assert_int_equal(shape->island_count, 0);
	for (uint32_t i = 0; i < fabric->node_count; i++) {
		if (fabric->nodes[i].type != NODE_SWITCH)
			continue;
		assert_int_equal(shape->nodes[i].tier, 0);
		assert_int_equal(shape->nodes[i].why, SHAPE_WHOLE_NO_TREE);
	}
	for (uint32_t i = 0; i < shape->group_count; i++)
		assert_int_equal(shape->groups[i].kind, GROUP_ACROSS);
	net_done(fabric, shape);
}

TEST(a_torus_is_no_tree)
{
	for (unsigned width = 3; width <= 6; width++) {
		for (unsigned height = 3; height <= 4; height++) {
			struct fabric *fabric = net_new();
			uint32_t at[6][4];

			for (unsigned x = 0; x < width; x++) {
				for (unsigned y = 0; y < height; y++) {
					at[x][y] = net_switch(fabric, "switch-%u-%u", x, y);
					net_hosts(fabric, "n", x * 100 + y * 10, 4, at[x][y]);
				}
			}
			for (unsigned x = 0; x < width; x++) {
				for (unsigned y = 0; y < height; y++) {
					net_links(fabric, at[x][y], at[(x + 1) % width][y], 2);
					net_links(fabric, at[x][y], at[x][(y + 1) % height], 2);
				}
			}
			assert_no_tree(fabric);
		}
	}
}

TEST(a_full_mesh_is_no_tree)
{
	for (unsigned size = 4; size <= 8; size++) {
		struct fabric *fabric = net_new();
		uint32_t at[8];

		for (unsigned i = 0; i < size; i++) {
			at[i] = net_switch(fabric, "switch%u", i);
			net_hosts(fabric, "n", i * 10, 4, at[i]);
			for (unsigned j = 0; j < i; j++)
				net_link(fabric, at[i], at[j]);
		}
		assert_no_tree(fabric);
	}
}

/* Groups that are meshes, and a link between each two of them. */
TEST(a_dragonfly_is_no_tree)
{
	struct fabric *fabric = net_new();
	uint32_t at[5][4];

	for (unsigned i = 0; i < 5; i++) {
		for (unsigned j = 0; j < 4; j++) {
			at[i][j] = net_switch(fabric, "group%u-%u", i, j);
			net_hosts(fabric, "n", i * 100 + j * 10, 4, at[i][j]);
			for (unsigned k = 0; k < j; k++)
				net_link(fabric, at[i][j], at[i][k]);
		}
	}
	for (unsigned i = 0; i < 5; i++)
		for (unsigned j = 0; j < i; j++)
			net_link(fabric, at[i][j % 4], at[j][i % 4]);
	assert_no_tree(fabric);
}

/* Groups that are small trees, and links between the spines of each two of them. */
TEST(a_dragonfly_with_spines_is_no_tree)
{
	struct fabric *fabric = net_new();
	uint32_t leaf, spine[4][4];

	for (unsigned i = 0; i < 4; i++) {
		for (unsigned j = 0; j < 4; j++) {
			spine[i][j] = net_switch(fabric, "group%u-spine%u", i, j);
		}
		for (unsigned j = 0; j < 4; j++) {
			leaf = net_switch(fabric, "group%u-leaf%u", i, j);
			net_hosts(fabric, "n", i * 100 + j * 10, 8, leaf);
			for (unsigned k = 0; k < 4; k++)
				net_links(fabric, leaf, spine[i][k], 2);
		}
		for (unsigned j = 0; j < i; j++)
			for (unsigned k = 0; k < 4; k++)
				net_links(fabric, spine[i][k], spine[j][k], 2);
	}
	assert_no_tree(fabric);
}

TEST(small_fabrics_have_a_shape)
{
	struct fabric *fabric = net_new();
	uint32_t a = net_switch(fabric, "a"), b;
	struct shape *shape;

	net_hosts(fabric, "n", 1, 4, a);
	shape = net_shape(fabric, NULL);
	assert_int_equal(shape->kind, SHAPE_ONE_SWITCH);
	assert_int_equal(shape->tier_count, 1);
	net_done(fabric, shape);

	/* Links of a switch to itself lead neither up nor down. */
	fabric = net_new();
	a = net_switch(fabric, "a");
	net_hosts(fabric, "n", 1, 4, a);
	net_links(fabric, a, a, 3);
	shape = net_shape(fabric, NULL);
	assert_int_equal(shape->kind, SHAPE_IRREGULAR);
	assert_int_equal(shape->loops, 3);
	assert_string_equal(shape->reason, "3 links join a switch with itself");
	net_done(fabric, shape);

	fabric = net_new();
	a = net_switch(fabric, "a");
	b = net_switch(fabric, "b");
	net_hosts(fabric, "n", 1, 4, a);
	net_hosts(fabric, "n", 5, 4, b);
	net_links(fabric, a, b, 3);
	shape = net_shape(fabric, NULL);
	assert_int_equal(shape->kind, SHAPE_IRREGULAR);
	assert_int_equal(shape->nodes[a].tier, 1);
	assert_int_equal(shape->nodes[b].tier, 1);
	assert_int_equal(shape->across, 3);
	net_done(fabric, shape);

	fabric = net_new();
	net_link(fabric, net_hca(fabric, 0, "x mlx5_0"), net_hca(fabric, 0, "y mlx5_0"));
	shape = net_shape(fabric, NULL);
	assert_int_equal(shape->kind, SHAPE_NO_SWITCH);
	assert_null(strstr(shape->reason, shape_kind_name(shape->kind)));
	assert_int_equal(shape->host_count, 2);
	assert_int_equal(shape->parts, 1);
	net_done(fabric, shape);

	fabric = net_new();
	shape = net_shape(fabric, NULL);
	assert_int_equal(shape->kind, SHAPE_NO_SWITCH);
	net_done(fabric, shape);

	/* Switches alone, and one that is cabled to itself. */
	fabric = net_new();
	a = net_switch(fabric, "a");
	net_links(fabric, a, net_switch(fabric, "b"), 2);
	net_link(fabric, a, a);
	shape = net_shape(fabric, NULL);
	assert_int_equal(shape->kind, SHAPE_UNKNOWN);
	assert_int_equal(shape->nodes[a].why, SHAPE_NO_HOSTS_BELOW);
	net_done(fabric, shape);
}

/* A dump of the switches of a tree looks like a torus. */
TEST(without_hosts_nothing_is_known_of_a_tree)
{
	struct fabric *fabric = net_new();
	uint32_t spine[2] = { net_switch(fabric, "spine0"), net_switch(fabric, "spine1") };
	struct shape *shape;

	for (unsigned i = 0; i < 4; i++) {
		uint32_t leaf = net_switch(fabric, "leaf%u", i);

		net_links(fabric, leaf, spine[0], 2);
		net_links(fabric, leaf, spine[1], 2);
	}
	shape = net_shape(fabric, NULL);
	assert_int_equal(shape->kind, SHAPE_UNKNOWN);
	assert_int_equal(shape->across, 0);
	assert_non_null(strstr(shape->reason, "no switch has a host"));
	assert_int_equal(shape->nodes[spine[0]].why, SHAPE_NO_HOSTS_BELOW);
	net_done(fabric, shape);
}
