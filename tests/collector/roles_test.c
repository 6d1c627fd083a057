/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * Tiers, planes and port roles while hosts are unplugged: a leaf without any host keeps its tier, plane
 * and roles, although the present topology does not show that it is a leaf.
 */

#include "base/err.h"
#include "base/unit_test.h"
#include "fabric/shape.h"
#include "sim/net_shape.h"
#include "tests/world/collect.h"
#include "tests/world/virtual.h"

struct roles {
	struct fabric *built;
	struct shape *shape;  /* of all nodes */
	uint64_t generation;
	size_t topologies, nodes_least;
};

static int compare_roles(void *ctx, const struct sweep *sweep, struct error *err)
{
	struct roles *roles = ctx;
	const struct fabric *now = sweep->fabric;
	struct shape *shape;

	if (roles->generation == sweep->generation)
		return 0;
	roles->generation = sweep->generation;
	roles->topologies++;
	if (now->node_count < roles->nodes_least)
		roles->nodes_least = now->node_count;
	assert_int_equal(shape_create(now, NULL, &shape, err), 0);
	assert_int_equal(shape->kind, roles->shape->kind);
	assert_int_equal(shape->plane_count, roles->shape->plane_count);
	for (uint32_t i = 0; i < now->port_count; i++) {
		const struct node *node = &now->nodes[now->ports[i].node];
		uint32_t was = fabric_find_port(roles->built, node->guid, now->ports[i].num);
		char role[SHAPE_ROLE_SIZE], before[SHAPE_ROLE_SIZE];

		if (node->type != NODE_SWITCH || now->ports[i].peer == FABRIC_NONE)
			continue;
		assert_int_equal(shape->nodes[now->ports[i].node].tier,
				 roles->shape->nodes[roles->built->ports[was].node].tier);
		assert_string_equal(shape_port_role(shape, i, role), shape_port_role(roles->shape, was, before));
	}
	shape_destroy(shape);
	return 0;
}

/* Unplug all hosts of some leaves, except that of the collector; plug them in ten minutes later. */
static void unplug_hosts(struct virtual *world, const struct roles *roles, double share)
{
	const struct fabric *built = roles->built;

	for (uint32_t leaf = 0; leaf < built->node_count; leaf++) {
		const struct node *node = &built->nodes[leaf];
		bool own = false;

		for (uint32_t i = node->first_port; i < node->first_port + node->ports; i++)
			own |= built->ports[i].peer != FABRIC_NONE &&
			       built->ports[built->ports[i].peer].node == built->from_node;
		if (node->type != NODE_SWITCH || roles->shape->nodes[leaf].tier != 1 || own ||
		    virtual_random(world) >= share)
			continue;
		for (uint32_t i = node->first_port; i < node->first_port + node->ports; i++) {
			uint32_t peer = built->ports[i].peer;
			uint32_t host = peer == FABRIC_NONE ? leaf : built->ports[peer].node;

			for (int on = 0; on < 2 && built->nodes[host].type == NODE_CA; on++)
				virtual_schedule(world, &(struct virtual_event){
					.at_us = (on ? 700 : 100) * INT64_C(1000000), .a = host,
					.what = on ? CHANGE_NODE_ON : CHANGE_NODE_OFF });
		}
	}
}

TEST(leaves_whose_hosts_are_unplugged_keep_tiers_planes_and_roles)
{
	for (int kind = NET_SHAPE_RAIL; kind <= NET_SHAPE_TREE3; kind++)
		for (int part = 1; part <= 4; part++) {
			struct net_shape generated = net_shape_default((enum net_shape_kind)kind);
			struct roles roles = { .nodes_least = SIZE_MAX };
			const struct sink sink = world_sink(compare_roles, &roles);
			struct virtual *world;
			struct error err;

			generated.links = 2;
			assert_int_equal(net_shape_build(&generated, &roles.built, &err), 0);
			world = virtual_create(roles.built, 10 * 1000000, (uint64_t)(10 * kind + part));
			assert_int_equal(shape_create(roles.built, NULL, &roles.shape, &err), 0);
			unplug_hosts(world, &roles, part / 4.0);
			if (world_collect(world, 10 * 1000000, 1200 * INT64_C(1000000), VIRTUAL_WALL_US, &sink, NULL,
					  &err) < 0)
				fail_msg("%s", err.text);
			assert_true(roles.topologies >= 3);
			assert_true(roles.nodes_least < roles.built->node_count);
			print_message("# note: %zu of %zu nodes, %zu topologies\n", roles.nodes_least,
				      roles.built->node_count, roles.topologies);
			shape_destroy(roles.shape);
			virtual_destroy(world);
		}
}
