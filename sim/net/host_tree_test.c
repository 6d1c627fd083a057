/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * host_tree_test.c - trees of hosts: of generated fabrics with cables swapped and cut they are those of the generator,
 * and of any fabric they are trees
 */
#include <stdio.h>
#include <string.h>

#include "base/map.h"
#include "base/test_cases.h"
#include "base/unit_test.h"
#include "fabric/fabric.h"
#include "fabric/host_tree.h"
#include "fabric/shape.h"
#include "fabric/test_net.h"
#include "sim/net_shape.h"

static const struct host_tree_options usual = { .rules = HOST_TREE_SLURM };

static uint64_t draw(uint64_t *random, uint64_t below)
{
	return net_random(random) % below;
}

static struct net_shape random_net(uint64_t *random)
{
	struct net_shape net = net_shape_default((enum net_shape_kind)draw(random, 3));

	net.management = (unsigned)draw(random, 4);
	net.hosts = 8 + (unsigned)draw(random, 9);
	net.spines = 2 + (unsigned)draw(random, 6);
	net.units = net.kind == NET_SHAPE_TREE2 ? 1 : 2 + (unsigned)draw(random, 4);
	net.leafs = 3 + (unsigned)draw(random, 5);
	net.rails = net.kind == NET_SHAPE_RAIL ? 1u << draw(random, 4) : 1;
	net.cores = net.spines;
	net.oversubscription_milli = 1000;
	if (net.kind != NET_SHAPE_RAIL)
		net.hosts = net.hosts < net.spines ? net.spines : net.hosts;
	return net;
}

/* The host of an HCA by its description, from 0; SHAPE_NONE: management. */
static uint32_t host_number(const char *name)
{
	unsigned number;

	return sscanf(name, "node%u", &number) == 1 ? number - 1 : SHAPE_NONE;
}

/* Exchange the leaves of two HCAs of one rail, of hosts of different units; at most one HCA of a host. */
static void miswire(struct fabric *fabric, const struct net_shape *net, uint64_t *random)
{
	uint32_t first = net->management;

	if (net->kind != NET_SHAPE_RAIL || net->rails < 4)
		return;
	for (unsigned unit = 0; unit + 1 < net->units; unit += 2) {
		uint32_t rail = (uint32_t)draw(random, net->rails);
		uint32_t host = unit * net->hosts + (uint32_t)draw(random, net->hosts);
		uint32_t other = (unit + 1) * net->hosts + (uint32_t)draw(random, net->hosts);
		uint32_t a = fabric->nodes[first + host * net->rails + rail].first_port;
		uint32_t b = fabric->nodes[first + other * net->rails + rail].first_port;
		uint32_t a_peer = fabric->ports[a].peer, b_peer = fabric->ports[b].peer;

		fabric->ports[a].peer = b_peer;
		fabric->ports[b_peer].peer = a;
		fabric->ports[b].peer = a_peer;
		fabric->ports[a_peer].peer = b;
	}
}

/* Remove some cables between switches: at most one of each switch of a tier, so that nothing is cut off. */
static void cut(struct fabric *fabric, uint64_t *random)
{
	for (unsigned tries = 0, cuts = 0; tries < 200 && cuts < 2; tries++) {
		uint32_t port = (uint32_t)draw(random, fabric->port_count), peer = fabric->ports[port].peer;

		if (peer == FABRIC_NONE || fabric->nodes[fabric->ports[port].node].type != NODE_SWITCH ||
		    fabric->nodes[fabric->ports[peer].node].type != NODE_SWITCH)
			continue;
		fabric->ports[port].peer = fabric->ports[peer].peer = FABRIC_NONE;
		cuts++;
	}
}

/* Height of the lowest switch above two hosts of a tree, by index; 1: the same leaf. */
static unsigned common_height(const struct host_tree *tree, uint32_t a, uint32_t b)
{
	uint32_t x = tree->leaf_of[a], y = tree->leaf_of[b];
	unsigned height = 1;

	/* All leaves have the same depth here. */
	for (; x != y; height++) {
		x = tree->switches[x].parent;
		y = tree->switches[y].parent;
		assert_true(x != SHAPE_NONE && y != SHAPE_NONE);
	}
	return height;
}

/* The height that the generator gives: unit or leaf, pod, all. */
static unsigned true_height(const struct net_shape *net, uint32_t a, uint32_t b)
{
	if (a / net->hosts == b / net->hosts)
		return 1;
	if (net->kind == NET_SHAPE_TREE3)
		return a / (net->hosts * net->leafs) == b / (net->hosts * net->leafs) ? 2 : 3;
	return 2;
}

TEST(hosts_of_generated_fabrics_are_as_near_as_they_were_made)
{
	for (unsigned round = 0; round < test_cases(60); round++) {
		uint64_t random = round;
		struct net_shape net = random_net(&random);
		uint32_t hosts = net.hosts * net.units * (net.kind == NET_SHAPE_RAIL ? 1 : net.leafs);
		struct fabric *fabric;
		struct host_tree *tree;
		struct shape *shape;

		assert_int_equal(net_shape_build(&net, &fabric, NULL), 0);
		miswire(fabric, &net, &random);
		cut(fabric, &random);
		assert_int_equal(shape_create(fabric, NULL, &shape, NULL), 0);
		assert_int_equal(host_tree_create(shape, &usual, &tree, NULL), 0);
		if (tree->host_count != hosts)
			fail_msg("round %u: %zu of %u hosts", round, tree->host_count, hosts);
		assert_int_equal(tree->left_count[HOST_LEFT_CLASS], net.management);
		for (unsigned i = 0; i < 2000; i++) {
			uint32_t a = (uint32_t)draw(&random, hosts), b = (uint32_t)draw(&random, hosts);
			uint32_t x = host_number(tree->hosts[a]), y = host_number(tree->hosts[b]);

			if (common_height(tree, a, b) != true_height(&net, x, y))
				fail_msg("round %u: %s and %s are at %u, not at %u", round, tree->hosts[a],
					 tree->hosts[b], common_height(tree, a, b), true_height(&net, x, y));
		}
		host_tree_destroy(tree);
		shape_destroy(shape);
		fabric_destroy(fabric);
	}
}

static void check_names(const struct host_tree *tree)
{
	static const char allowed[] = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789._-";

	for (size_t i = 0; i < tree->switch_count; i++) {
		const char *name = tree->switches[i].name;
		size_t len = strlen(name);

		assert_true(len && len <= 63 && strspn(name, allowed) == len);
		assert_true(!strchr("._-", name[0]) && !strchr("._-", name[len - 1]));
		for (size_t j = 0; j < i; j++)
			assert_string_not_equal(name, tree->switches[j].name);
	}
	for (size_t i = 0; i < tree->host_count; i++) {
		const char *name = tree->hosts[i];

		assert_true(strspn(name, allowed) == strlen(name));
		for (size_t j = 0; j < i; j++)
			assert_string_not_equal(name, tree->hosts[j]);
	}
}

/* Parents are behind their children, and each switch and host is below one. */
static void check_tree(const struct host_tree *tree)
{
	size_t hosts = 0, children = 0, roots = 0;

	for (uint32_t i = 0; i < tree->switch_count; i++) {
		const struct host_tree_switch *self = &tree->switches[i];

		assert_true(self->count > 0);
		assert_true(self->parent == SHAPE_NONE || (self->parent > i && self->parent < tree->switch_count));
		roots += self->parent == SHAPE_NONE;
		for (uint32_t j = self->first; j < self->first + self->count; j++) {
			if (self->is_leaf)
				assert_int_equal(tree->leaf_of[j], i);
			else
				assert_int_equal(tree->switches[tree->children[j]].parent, i);
		}
		*(self->is_leaf ? &hosts : &children) += self->count;
		assert_true(self->is_leaf || self->boxes || self->count > 1);
	}
	assert_int_equal(hosts, tree->host_count);
	assert_int_equal(children + roots, tree->switch_count);
}

/* Every host of the shape is in the tree, or left out for one reason. */
static void check_complete(const struct shape *shape, const struct host_tree *tree)
{
	size_t count = tree->host_count;

	for (size_t i = 0; i < HOST_LEFT_COUNT; i++)
		count += tree->left_count[i];
	assert_int_equal(count, shape->host_count);
}

/* The trees of a fabric, which is freed. */
static void check_fabric(struct fabric *fabric)
{
	struct shape *shape;

	assert_int_equal(shape_create(fabric, NULL, &shape, NULL), 0);
	for (int i = 0; i < 4; i++) {
		struct host_tree_options options = { .rules = (enum host_tree_rules)(i & 1), .all = i & 2 };
		struct host_tree *tree;

		assert_int_equal(host_tree_create(shape, &options, &tree, NULL), 0);
		check_names(tree);
		check_tree(tree);
		check_complete(shape, tree);
		host_tree_destroy(tree);
	}
	shape_destroy(shape);
	fabric_destroy(fabric);
}

TEST(any_fabric_has_a_tree)
{
	for (unsigned i = 0; i < test_cases(200); i++)
		check_fabric(net_random_fabric(i));
}

/* Hosts with one to three HCAs on any of some switches, which have any links, of a few boxes. */
static struct fabric *random_cluster(uint64_t random)
{
	struct fabric *fabric = net_new();
	uint32_t switches[12], count = 1 + (uint32_t)draw(&random, 12), hosts = 1 + (uint32_t)draw(&random, 40);

	for (uint32_t i = 0; i < count; i++) {
		struct node node = { .type = NODE_SWITCH, .port_count = 200, .system_guid = draw(&random, 9) };

		snprintf(node.desc, sizeof(node.desc), "%s%u", draw(&random, 4) ? "sw" : "sw #",
			 (unsigned)draw(&random, 9));
		switches[i] = net_node(fabric, &node);
	}
	for (uint32_t i = 0; i < hosts; i++) {
		unsigned number = (unsigned)draw(&random, 50), hcas = 1 + (unsigned)draw(&random, 3);

		for (unsigned j = 0; j < hcas; j++) {
			uint32_t hca = net_hca(fabric, draw(&random, 3) ? 0x900000 + number : 0, "%s%u mlx5_%u",
					       draw(&random, 9) ? "node" : "oss", number, j);

			if (draw(&random, 9))
				net_link(fabric, hca, switches[draw(&random, count)]);
		}
	}
	for (uint32_t i = (uint32_t)draw(&random, 30); i > 0; i--)
		net_link(fabric, switches[draw(&random, count)], switches[draw(&random, count)]);
	assert_int_equal(fabric_finish(fabric, NULL, NULL), 0);
	return fabric;
}

TEST(any_cluster_has_a_tree)
{
	for (unsigned i = 0; i < test_cases(1000); i++)
		check_fabric(random_cluster(i));
}
