/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* Ports as they are printed on the box. */
#include <stdio.h>

#include "base/unit_test.h"
#include "fabric/shape.h"
#include "fabric/test_net.h"

static uint16_t cage_of(const struct shape *shape, uint32_t node, unsigned num, uint16_t *ret_split)
{
	const struct shape_port *port = &shape->ports[fabric_node_port(shape->fabric, node, (uint8_t)num)];

	*ret_split = port->split;
	return port->cage;
}

TEST(cages_are_known_of_known_devices_only)
{
	static const struct {
		uint16_t device_id;
		uint8_t ports;
		unsigned num;
		uint16_t cage, split;
	} known[] = {
		{ 0xd2f0, 40, 12, 12, 0 }, { 0xd2f0, 41, 40, 40, 0 }, { 0xd2f0, 41, 41, 0, 0 },
		{ 0xd2f0, 81, 11, 6, 1 },  { 0xd2f0, 81, 12, 6, 2 },  { 0xd2f0, 81, 81, 0, 0 },
		{ 0xd2f2, 65, 1, 1, 1 },   { 0xd2f2, 65, 64, 32, 2 }, { 0xd2f2, 65, 65, 0, 0 },
		{ 0xd2f2, 129, 5, 0, 0 },  { 0xc738, 36, 12, 0, 0 },  { 0xd2f0, 36, 12, 0, 0 },
	};

	for (size_t i = 0; i < sizeof(known) / sizeof(known[0]); i++) {
		struct node node = { .type = NODE_SWITCH, .desc = "leaf01" };
		struct fabric *fabric = net_new();
		struct shape *shape;
		char name[64], wanted[64];
		uint16_t split;
		uint32_t at;

		node.device_id = known[i].device_id;
		node.port_count = known[i].ports;
		at = net_node(fabric, &node);
		shape = net_shape(fabric, NULL);
		assert_int_equal(cage_of(shape, at, known[i].num, &split), known[i].cage);
		assert_int_equal(split, known[i].split);
		if (known[i].split)
			snprintf(wanted, sizeof(wanted), "leaf01/%u (cage %u.%u)", known[i].num, known[i].cage, split);
		else if (known[i].cage && known[i].cage != known[i].num)
			snprintf(wanted, sizeof(wanted), "leaf01/%u (cage %u)", known[i].num, known[i].cage);
		else
			snprintf(wanted, sizeof(wanted), "leaf01/%u", known[i].num);
		assert_string_equal(shape_port_name(shape, fabric_node_port(fabric, at, (uint8_t)known[i].num), name,
						    sizeof(name)), wanted);
		net_done(fabric, shape);
	}
}
