/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* Exploring ports of the last topology: changed links, and holes of a discovery by libibnetdisc. */
#define UNIT_TEST_TEARDOWN bed_teardown

#include <stdio.h>

#include "base/unit_test.h"
#include "fabric/fabric.h"
#include "tests/wire/explore_bed.h"
#include "tests/world/virtual.h"
#include "wire/merge.h"

/* Discover the whole fabric; the result becomes the last topology. */
static void discover_base(void)
{
	fabric_destroy((struct fabric *)bed.last);
	bed.last = NULL;
	bed.part_count = 0;
	bed_discover(3, NULL);
	assert_non_null(bed.fabric);
	bed.last = bed.fabric;
	bed.fabric = NULL;
}

/* A switch of the last topology notices that the link of a port has changed. */
static bool notice(uint32_t node, unsigned num)
{
	uint64_t guid = bed.built->nodes[node].guid;
	uint32_t was = fabric_find_node(bed.last, guid);

	if (was == FABRIC_NONE || bed.last->nodes[was].type != NODE_SWITCH)
		return false;
	bed.parts[bed.part_count++] = (struct explore_port){ guid, (uint8_t)num };
	return true;
}

static void pull(uint32_t a, unsigned a_num)
{
	uint32_t peer = bed_port_of(a, a_num)->peer;

	if (peer == FABRIC_NONE)
		return;
	/* The end at one switch is enough. */
	if (bed_random(2) || !notice(a, a_num))
		if (!notice(bed.built->ports[peer].node, bed.built->ports[peer].num))
			notice(a, a_num);
	bed_cut(a, a_num);
}

static void plug(uint32_t a, unsigned a_num, uint32_t b, unsigned b_num)
{
	pull(a, a_num);
	pull(b, b_num);
	bed_cable(a, a_num, b, b_num);
	notice(a, a_num);
	notice(b, b_num);
}

/* Not the cable of this host, and no port twice. */
static bool is_movable(uint32_t a, unsigned a_num)
{
	uint32_t peer = bed_port_of(a, a_num)->peer;

	return !(a == 0 && a_num == 1) && !(peer != FABRIC_NONE && bed.built->ports[peer].node == 0);
}

static void move_some_cables(void)
{
	uint64_t changes = 1 + bed_random(4);

	for (uint64_t i = 0; i < changes; i++) {
		uint32_t a = (uint32_t)bed_random(bed.count), b = (uint32_t)bed_random(bed.count);
		unsigned a_num = (unsigned)(1 + bed_random(bed.built->nodes[a].port_count));
		unsigned b_num = (unsigned)(1 + bed_random(bed.built->nodes[b].port_count));

		if (!is_movable(a, a_num) || !is_movable(b, b_num) || (a == b && a_num == b_num))
			continue;
		if (bed_random(2))
			pull(a, a_num);
		else
			plug(a, a_num, b, b_num);
	}
}

/* One end of each changed cable is enough: the result is that of a discovery of the whole fabric. */
TEST(explored_ports_and_the_last_topology_are_the_whole_fabric)
{
	unsigned explored = 0, impossible = 0;
	uint64_t smps = 0, smps_of_whole = 0;

	for (uint64_t seed = 1; seed <= 6000; seed++) {
		uint64_t whole;

		bed_draw(seed);
		discover_base();
		whole = bed.trailer.smps;
		move_some_cables();
		if (!bed.part_count)
			continue;
		bed_discover(3, NULL);
		impossible += !bed.fabric;
		if (!bed.fabric)
			continue;
		explored++;
		smps += bed.trailer.smps;
		smps_of_whole += whole;
		bed_check_found();
		bed_check_peers();
	}
	assert_true(explored > 500 && impossible < explored / 100);
	assert_true(smps * 2 < smps_of_whole);
}

/* Explore one port of a switch. Return: the number of SMPs. */
static uint64_t explore_port(uint32_t node, unsigned num)
{
	bed.parts[0] = (struct explore_port){ bed.built->nodes[node].guid, (uint8_t)num };
	bed.part_count = 1;
	bed_discover(3, NULL);
	assert_non_null(bed.fabric);
	bed_check_found();
	assert_string_equal(text_chars(&bed.notes), "");
	assert_int_equal(bed.trailer.lost + bed.trailer.silent, 0);
	return bed.trailer.smps;
}

/* The result becomes the last topology. */
static void keep_result(void)
{
	fabric_destroy((struct fabric *)bed.last);
	bed.last = bed.fabric;
	bed.fabric = NULL;
}

TEST(a_host_reboot_costs_nine_smps)
{
	bed_star(38);
	discover_base();
	assert_true(bed.trailer.smps > 150);
	bed_cut(5, 1);
	/* The switch: NodeInfo, PortInfo of port 0 and of the port; the host: NodeInfo, PortInfo, NodeDescription. */
	assert_int_equal(explore_port(1, 5), 3);
	keep_result();
	bed_cable(5, 1, 1, 5);
	snprintf(bed.built->nodes[5].desc, sizeof(bed.built->nodes[5].desc), "rebooted");
	assert_int_equal(explore_port(1, 5), 6);
}

/* A swapped cable leaves all ports up: one of them leads to the other one. */
TEST(two_swapped_cables_are_found_from_one_port)
{
	bed_star(38);
	discover_base();
	bed_cut(5, 1);
	bed_cut(6, 1);
	bed_cable(5, 1, 1, 6);
	bed_cable(6, 1, 1, 5);
	assert_in_range(explore_port(1, 6), 9, 10);
	/* PortStateChange names no port: all ports are explored, and unchanged peers are not queried. */
	assert_in_range(explore_port(1, 0), 2 + 2 * 39, 2 + 2 * 39 + 6);
}

/* Two spines, a leaf with hosts; another leaf with two hosts is plugged in. */
TEST(a_new_leaf_is_found_with_its_hosts)
{
	bed_build(4, 40, 12);
	bed_cable(1, 39, 3, 1);
	bed_cable(1, 40, 4, 1);
	for (unsigned i = 0; i < 12; i++)
		bed_cable(5 + i, 1, i < 10 ? 1 : 2, 2 + i);
	discover_base();
	bed_cable(2, 39, 3, 2);
	bed_cable(2, 40, 4, 2);
	/* Its 40 ports, and the nodes behind four of them. */
	assert_in_range(explore_port(3, 2), 43 + 8, 43 + 20);
	keep_result();
	bed_cut(2, 39);
	bed_cut(2, 40);
	/* Without the last link to them, the leaf and its hosts are removed. */
	bed.parts[1] = (struct explore_port){ bed.built->nodes[4].guid, 2 };
	bed.part_count = 2;
	bed.parts[0] = (struct explore_port){ bed.built->nodes[3].guid, 2 };
	bed_discover(3, NULL);
	bed_check_found();
	assert_false(bed_has_node(2));
	assert_int_equal(bed.trailer.smps, 6);
}

TEST(a_fabric_that_contradicts_the_last_topology_is_not_explored_in_parts)
{
	bed_star(38);
	discover_base();
	bed.built->nodes[1].guid = 0x999000;
	bed.parts[0] = (struct explore_port){ bed.last->nodes[1].guid, 5 };
	bed.part_count = 1;
	bed_discover(3, NULL);
	assert_null(bed.fabric);
	/* More than half of it is new. */
	bed_star(20);
	bed_cut(1, 21);
	for (unsigned num = 2; num < 20; num++)
		bed_cut(1, num);
	discover_base();
	for (unsigned i = 0; i < 18; i++)
		bed_cable(2 + i, 1, 1, i + 2);
	bed.parts[0] = (struct explore_port){ bed.built->nodes[1].guid, 0 };
	bed.part_count = 1;
	bed_discover(3, NULL);
	assert_null(bed.fabric);
}

/* As of libibnetdisc: a port without PortInfo has state 0, and a switch without that of port 0 no other port. */
TEST(holes_of_a_discovery_are_completed)
{
	struct explore_port holes[EXPLORE_PORTS_MAX];
	struct fabric *holed = fabric_create(NULL);

	bed_star(38);
	bed.agents[9].dead = true;
	discover_base();
	assert_int_equal(merge_find_holes(bed.last, holes, EXPLORE_PORTS_MAX), 1);
	for (uint32_t i = 0; i < bed.last->node_count; i++) {
		struct node node = bed.last->nodes[i];

		if (node.guid == bed.built->nodes[7].guid)
			node.desc[0] = '\0';
		assert_true(fabric_add_node(holed, &node, NULL) >= 0);
		for (uint32_t p = node.first_port; p < node.first_port + node.ports; p++) {
			struct port port = bed.last->ports[p];

			if (node.guid == bed.built->nodes[6].guid)
				port = (struct port){ .num = port.num };
			if (!(node.type == NODE_SWITCH && port.num == 20))
				assert_true(fabric_add_port(holed, &port, NULL) >= 0);
		}
	}
	for (uint32_t p = 0; p < bed.last->port_count; p++)
		if (bed.last->ports[p].peer != FABRIC_NONE) {
			const struct port *peer = &bed.last->ports[bed.last->ports[p].peer];
			const struct port *port = &bed.last->ports[p];
			uint32_t a = fabric_find_port(holed, bed.last->nodes[port->node].guid, port->num);
			uint32_t b = fabric_find_port(holed, bed.last->nodes[peer->node].guid, peer->num);

			if (a != FABRIC_NONE && b != FABRIC_NONE)
				assert_int_equal(fabric_link(holed, a, b, NULL), 0);
		}
	assert_int_equal(fabric_finish(holed, NULL, NULL), 0);
	holed->from_node = bed.last->from_node;
	holed->from_port = bed.last->from_port;
	fabric_destroy((struct fabric *)bed.last);
	bed.last = holed;
	bed.agents[9].dead = false;
	bed.part_count = merge_find_holes(bed.last, bed.parts, EXPLORE_PORTS_MAX);
	assert_true(bed.part_count == 4);
	bed_discover(3, NULL);
	assert_non_null(bed.fabric);
	bed_check_found();
}
