/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* The detected shape of a generated fabric is the generated one, also with cables removed, swapped and moved. */
#include <stdio.h>
#include <string.h>

#include "base/err.h"
#include "base/map.h"
#include "base/unit_test.h"
#include "fabric/fabric.h"
#include "fabric/shape.h"
#include "fabric/test_net.h"
#include "sim/net_shape.h"

#define ROUNDS 200
#define CHANGES_MAX 8

/* Modifications of a generated fabric. */
struct truth {
	struct net_shape net;
	struct fabric *fabric;
	struct shape *shape;
	struct shape_missing cut[CHANGES_MAX]; /* one for each removed cable */
	unsigned cuts;
	uint32_t swapped[CHANGES_MAX]; /* HCA ports with exchanged leaves */
	unsigned swaps;
	unsigned recabled; /* trunks with another end */
	unsigned dark;     /* leaves without a host */
};

static uint64_t draw(uint64_t *random, uint64_t below)
{
	*random = map_mix(*random + 0x9e3779b97f4a7c15ULL);
	return *random % below;
}

static const char *name_of(const struct truth *truth, uint32_t node)
{
	return truth->fabric->nodes[node].name;
}

/* The generated names contain the tier of each switch. */
static unsigned true_tier(const char *name)
{
	return strstr(name, "leaf-") ? 1 : strstr(name, "spine-") ? 2 : strstr(name, "core-") ? 3 : 0;
}

/* A shape with a link of each leaf to each spine, and of each spine to each core of its group. */
static struct net_shape random_net(uint64_t *random)
{
	struct net_shape net = net_shape_default((enum net_shape_kind)draw(random, 3));
	unsigned down, over;

	net.management = (unsigned)draw(random, 4);
	net.hosts = 6 + (unsigned)draw(random, 12);
	net.spines = 2 + (unsigned)draw(random, 7);
	switch (net.kind) {
	case NET_SHAPE_RAIL:
		net.units = 1 + (unsigned)draw(random, 4);
		net.rails = 1u << draw(random, 4);
		break;
	case NET_SHAPE_TREE2:
		net.leafs = 2 + (unsigned)draw(random, 20);
		net.rails = 1 + (unsigned)draw(random, 2);
		break;
	case NET_SHAPE_TREE3:
		net.units = 2 + (unsigned)draw(random, 5);
		net.leafs = 3 + (unsigned)draw(random, 5);
		net.rails = 1 + (unsigned)draw(random, 2);
		net.cores = net.spines * (1 + (unsigned)draw(random, 3));
		break;
	}
	down = net.kind == NET_SHAPE_RAIL ? net.hosts : net.hosts * net.rails;
	over = 1 + (unsigned)draw(random, 3);
	if (down < net.spines * over)
		over = 1;
	if (down < net.spines)
		net.hosts = net.spines;
	net.oversubscription_milli = 1000 * over;
	return net;
}

static uint32_t up_port(const struct truth *truth, uint64_t *random)
{
	const struct fabric *fabric = truth->fabric;
	uint32_t port;

	for (uint32_t tries = 0; tries < 10000; tries++) {
		const char *name, *peer;

		port = (uint32_t)draw(random, fabric->port_count);
		if (fabric->ports[port].peer == FABRIC_NONE)
			continue;
		name = name_of(truth, fabric->ports[port].node);
		peer = name_of(truth, fabric->ports[fabric->ports[port].peer].node);
		if (true_tier(name) && true_tier(peer) == true_tier(name) + 1)
			return port;
	}
	return FABRIC_NONE;
}

static void unlink_port(struct fabric *fabric, uint32_t port)
{
	fabric->ports[fabric->ports[port].peer].peer = FABRIC_NONE;
	fabric->ports[port].peer = FABRIC_NONE;
}

/* The switches of a tier connected to a switch, without one cable. */
static unsigned neighbours(const struct truth *truth, uint32_t node, unsigned tier, uint32_t without)
{
	const struct fabric *fabric = truth->fabric;
	uint32_t j, first = fabric->nodes[node].first_port, seen[256];
	unsigned count = 0;

	for (uint32_t i = first; i < first + fabric->nodes[node].ports; i++) {
		uint32_t peer = fabric->ports[i].peer;

		if (peer == FABRIC_NONE || i == without || peer == without)
			continue;
		peer = fabric->ports[peer].node;
		if (true_tier(name_of(truth, peer)) != tier)
			continue;
		for (j = 0; j < count && seen[j] != peer;)
			j++;
		if (j == count)
			seen[count++] = peer;
	}
	return count;
}

/*
 * A switch without cables is not part of the fabric, and the tier of a switch with a single neighbour is undefined:
 * these cables are not removed.
 */
static void cut_cables(struct truth *truth, uint64_t *random)
{
	const struct fabric *fabric = truth->fabric;
	unsigned wanted = (unsigned)draw(random, 4), tier;

	while (truth->cuts < wanted) {
		uint32_t port = up_port(truth, random), low, high;

		if (port == FABRIC_NONE)
			return;
		low = fabric->ports[port].node;
		high = fabric->ports[fabric->ports[port].peer].node;
		tier = true_tier(name_of(truth, low));
		if (neighbours(truth, low, tier + 1, port) < 1 || neighbours(truth, high, tier, port) < 2) {
			wanted--;
			continue;
		}
		truth->cut[truth->cuts++] = (struct shape_missing){ .low = low, .high = high };
		unlink_port(truth->fabric, port);
	}
}

/* Move the management hosts from leaves to free ports of switches of higher tiers. */
static void raise_management(struct truth *truth)
{
	struct fabric *fabric = truth->fabric;

	/* Of two connected switches, which one is the leaf would be undefined. */
	if (truth->net.kind == NET_SHAPE_RAIL && truth->net.units * truth->net.rails < 4)
		return;
	for (uint32_t hca = 0; hca < fabric->node_count && strstr(name_of(truth, hca), "mgmt"); hca++) {
		uint32_t port = fabric->nodes[hca].first_port;

		for (uint32_t i = (uint32_t)fabric->port_count; i-- > 0;) {
			if (fabric->ports[i].peer != FABRIC_NONE || !fabric->ports[i].num ||
			    true_tier(name_of(truth, fabric->ports[i].node)) < 2)
				continue;
			unlink_port(fabric, port);
			fabric->ports[port].peer = i;
			fabric->ports[i].peer = port;
			break;
		}
	}
}

/* Exchange the leaves of two cables of a host; at most one host per unit. */
static void swap_cables(struct truth *truth, uint64_t *random)
{
	struct fabric *fabric = truth->fabric;
	unsigned rails = truth->net.rails, hosts = truth->net.hosts;
	uint32_t first = truth->net.management;

	if (truth->net.kind != NET_SHAPE_RAIL || rails < 2 || hosts < 12)
		return;
	for (unsigned unit = 0; unit < truth->net.units && truth->swaps + 2 <= CHANGES_MAX; unit++) {
		uint32_t host = first + (unit * hosts + (uint32_t)draw(random, hosts)) * rails;
		uint32_t a = fabric->nodes[host + draw(random, rails / 2)].first_port;
		uint32_t b = fabric->nodes[host + rails / 2 + draw(random, rails / 2)].first_port;
		uint32_t a_peer = fabric->ports[a].peer, b_peer = fabric->ports[b].peer;

		if (draw(random, 2))
			continue;
		fabric->ports[a].peer = b_peer;
		fabric->ports[b_peer].peer = a;
		fabric->ports[b].peer = a_peer;
		fabric->ports[a_peer].peer = b;
		truth->swapped[truth->swaps++] = a;
		truth->swapped[truth->swaps++] = b;
	}
}

static void check_tiers(const struct truth *truth)
{
	for (uint32_t i = 0; i < truth->fabric->node_count; i++)
		if (truth->shape->nodes[i].tier != true_tier(name_of(truth, i)))
			fail_msg("%s is of tier %u (%s)", name_of(truth, i), truth->shape->nodes[i].tier,
				 truth->shape->reason);
	assert_int_equal(truth->shape->kind, SHAPE_FAT_TREE);
	assert_int_equal(truth->shape->tier_count, truth->net.kind == NET_SHAPE_TREE3 ? 3 : 2);
	assert_int_equal(truth->shape->parts, 1);
}

static void check_hosts(const struct truth *truth)
{
	const struct shape *shape = truth->shape;
	size_t hosts = truth->net.hosts * truth->net.units * (truth->net.kind == NET_SHAPE_RAIL ? 1 : truth->net.leafs);

	assert_int_equal(shape->host_count, hosts + truth->net.management);
	for (uint32_t i = 0; i < shape->host_count; i++) {
		const struct shape_host *host = &shape->hosts[i];
		bool management = host_is_management(host->name);

		assert_int_equal(host->class, management ? CLASS_MANAGEMENT : CLASS_COMPUTE);
		assert_int_equal(host->count, management ? 1 : truth->net.rails);
		for (uint32_t j = 0; j < host->count; j++) {
			uint32_t node = shape->host_nodes[host->first + j];
			char wanted[64];

			snprintf(wanted, sizeof(wanted), "%s mlx5_%u", host->name, j);
			assert_string_equal(name_of(truth, node), wanted);
			assert_int_equal(shape->nodes[node].host, i);
		}
	}
}

static bool was_swapped(const struct truth *truth, uint32_t port)
{
	for (unsigned i = 0; i < truth->swaps; i++)
		if (truth->swapped[i] == port)
			return true;
	return false;
}

static void check_rails(const struct truth *truth)
{
	const struct shape *shape = truth->shape;
	char wanted[64];

	assert_int_equal(shape->rail_count, truth->net.rails);
	for (uint32_t i = 0; i < shape->rail_count; i++) {
		const struct shape_rail *rail = &shape->rails[i];

		snprintf(wanted, sizeof(wanted), "mlx5_%u", i);
		assert_string_equal(rail->name, wanted);
		assert_int_equal(rail->count, shape->host_count - truth->net.management);
		for (uint32_t j = rail->first; j < rail->first + rail->count; j++) {
			const char *name = name_of(truth, truth->fabric->ports[shape->rail_ports[j]].node);

			assert_string_equal(strchr(name, ' ') + 1, wanted);
			assert_int_equal(shape->ports[shape->rail_ports[j]].rail, i);
		}
		assert_int_equal(rail->leaves, truth->net.kind == NET_SHAPE_RAIL ?
				 truth->net.units : truth->net.units * truth->net.leafs);
		snprintf(wanted, sizeof(wanted), "-r%u:", i);
		for (uint32_t j = rail->first_leaf; j < rail->first_leaf + rail->leaves; j++)
			assert_true(truth->net.kind != NET_SHAPE_RAIL ||
				    strstr(name_of(truth, shape->rail_leaves[j]), wanted));
	}
	assert_int_equal(shape->miswired_count, truth->swaps);
	for (uint32_t i = 0; i < shape->miswired_count; i++) {
		const struct shape_miswired *miswired = &shape->miswired[i];

		assert_true(was_swapped(truth, miswired->port));
		snprintf(wanted, sizeof(wanted), "-r%u:", miswired->leaf_rail);
		assert_non_null(strstr(name_of(truth, miswired->leaf), wanted));
	}
}

/* Each port of a trunk is in one group, of its kind and switch, and each group has all its ports. */
static void check_groups(const struct truth *truth)
{
	const struct shape *shape = truth->shape;
	const struct fabric *fabric = truth->fabric;
	uint32_t members = 0, trunks = 0;

	for (uint32_t i = 0; i < shape->group_count; i++) {
		const struct shape_group *group = &shape->groups[i];

		members += group->count;
		assert_true(group->count > 0 && group->built >= group->count);
		assert_int_equal(group->tier, true_tier(name_of(truth, group->node)));
		for (uint32_t j = group->first; j < group->first + group->count; j++) {
			const struct port *port = &fabric->ports[shape->members[j]];
			uint32_t peer = fabric->ports[port->peer].node;

			assert_int_equal(port->node, group->node);
			assert_int_equal(shape->ports[shape->members[j]].group, i);
			assert_true(j == group->first || shape->members[j] > shape->members[j - 1]);
			if (group->kind == GROUP_UP)
				assert_int_equal(true_tier(name_of(truth, peer)), group->tier + 1);
			else
				assert_int_equal(peer, group->peer);
		}
	}
	for (uint32_t i = 0; i < fabric->port_count; i++) {
		unsigned tier = true_tier(name_of(truth, fabric->ports[i].node));

		trunks += fabric->ports[i].peer != FABRIC_NONE && tier &&
			  true_tier(name_of(truth, fabric->ports[fabric->ports[i].peer].node));
	}
	assert_int_equal(members, trunks);
}

/* Removed cables between two switches, and whether the fabric is large enough to detect them. */
static unsigned cuts_between(const struct truth *truth, uint32_t low, uint32_t high)
{
	unsigned cuts = 0;

	for (unsigned i = 0; i < truth->cuts; i++)
		cuts += truth->cut[i].low == low && truth->cut[i].high == high;
	return cuts;
}

static bool can_tell(const struct truth *truth)
{
	switch (truth->net.kind) {
	case NET_SHAPE_RAIL:
		return truth->net.units * truth->net.rails >= 16 && truth->net.spines >= 6;
	case NET_SHAPE_TREE2:
		return truth->net.leafs >= 16 && truth->net.spines >= 6;
	default:
		return false;
	}
}

static void check_missing(const struct truth *truth)
{
	const struct shape *shape = truth->shape;
	unsigned found = 0;

	for (unsigned i = 0; i < shape->missing_count; i++) {
		const struct shape_missing *missing = &shape->missing[i];
		unsigned cuts = cuts_between(truth, missing->low, missing->high);

		if (!cuts || missing->expected - missing->links != cuts)
			fail_msg("%s to %s: %u of %u, but %u were cut", name_of(truth, missing->low),
				 name_of(truth, missing->high), missing->links, missing->expected, cuts);
		found += cuts;
	}
	if (can_tell(truth))
		assert_int_equal(found, truth->cuts);
}

static void check(struct truth *truth)
{
	struct error err = { 0 };

	assert_int_equal(shape_create(truth->fabric, NULL, &truth->shape, &err), 0);
	check_tiers(truth);
	check_hosts(truth);
	assert_int_equal(truth->shape->empty_leaves, truth->dark);
	if (!truth->dark)
		check_rails(truth);
	check_groups(truth);
	if (!truth->recabled)
		check_missing(truth);
	assert_int_equal(truth->shape->slow_count, 0);
	shape_destroy(truth->shape);
}

/* @change: modifies the generated fabric, or NULL. */
static unsigned each_random(uint64_t seed, void (*change)(struct truth *truth, uint64_t *random))
{
	unsigned changes = 0;

	for (unsigned round = 0; round < ROUNDS; round++) {
		uint64_t random = map_mix(seed + round);
		struct truth truth = { .net = random_net(&random) };
		struct error err = { 0 };

		if (net_shape_build(&truth.net, &truth.fabric, &err) < 0)
			continue;
		if (change)
			change(&truth, &random);
		changes += truth.cuts + truth.swaps + truth.recabled + truth.dark;
		check(&truth);
		if (round % 8 == 0)
			net_add_host_anywhere(truth.fabric);
		fabric_destroy(truth.fabric);
	}
	return changes;
}

TEST(the_shape_of_a_generated_fabric_is_detected)
{
	each_random(1, NULL);
}

TEST(removed_cables_are_missing_and_change_no_tier)
{
	assert_true(each_random(1000, cut_cables) > ROUNDS / 2);
}

TEST(only_swapped_cables_are_miswired)
{
	assert_true(each_random(2000, swap_cables) > ROUNDS / 10);
}

/* Exchange the upper ends of two cables, also between pods: the number of links per switch is unchanged. */
static void swap_trunks(struct truth *truth, uint64_t *random)
{
	struct fabric *fabric = truth->fabric;
	unsigned swaps = 1 + (unsigned)draw(random, 3);

	/* With few or small pods, one cable is half of those of a core or leaf. */
	if (truth->net.kind == NET_SHAPE_TREE3 &&
	    (truth->net.units < 4 || truth->net.leafs < 4 || truth->net.spines < 4))
		return;
	for (unsigned i = 0; i < swaps; i++) {
		uint32_t a = up_port(truth, random), b = up_port(truth, random), a_peer, b_peer;

		if (a == b || true_tier(name_of(truth, fabric->ports[a].node)) !=
		    true_tier(name_of(truth, fabric->ports[b].node)))
			continue;
		a_peer = fabric->ports[a].peer;
		b_peer = fabric->ports[b].peer;
		fabric->ports[a].peer = b_peer;
		fabric->ports[b_peer].peer = a;
		fabric->ports[b].peer = a_peer;
		fabric->ports[a_peer].peer = b;
		truth->recabled++;
	}
}

TEST(exchanged_trunks_change_no_tier)
{
	assert_true(each_random(5000, swap_trunks) > ROUNDS / 4);
}

/* Remove all hosts of half of the leaves, two at least keep theirs. */
static void switch_off(struct truth *truth, uint64_t *random)
{
	struct fabric *fabric = truth->fabric;
	unsigned leafs = truth->net.units * (truth->net.kind == NET_SHAPE_RAIL ? truth->net.rails : truth->net.leafs);

	if (leafs < 5)
		return;
	for (uint32_t i = 0; i < fabric->node_count && truth->dark < leafs - 2; i++) {
		const struct node *node = &fabric->nodes[i];

		if (true_tier(name_of(truth, i)) != 1 || draw(random, 2))
			continue;
		for (uint32_t j = node->first_port; j < node->first_port + node->ports; j++)
			if (fabric->ports[j].peer != FABRIC_NONE &&
			    !true_tier(name_of(truth, fabric->ports[fabric->ports[j].peer].node)))
				unlink_port(fabric, j);
		truth->dark++;
	}
}

TEST(leaves_without_active_hosts_are_leaves)
{
	assert_true(each_random(6000, switch_off) > ROUNDS / 4);
}

static void raise_hosts(struct truth *truth, uint64_t *random)
{
	(void)random;
	raise_management(truth);
}

TEST(hosts_on_a_spine_do_not_make_it_a_leaf)
{
	each_random(3000, raise_hosts);
}

static void all_at_once(struct truth *truth, uint64_t *random)
{
	raise_management(truth);
	cut_cables(truth, random);
	swap_cables(truth, random);
}

TEST(several_faults_are_distinguished)
{
	each_random(4000, all_at_once);
}
