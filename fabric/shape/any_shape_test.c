/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* Whatever a fabric is, it has a shape that agrees with itself: nodes and cables at random. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/unit_test.h"
#include "fabric/fabric.h"
#include "fabric/shape.h"
#include "fabric/test_net.h"

#define ROUNDS 400

static uint64_t draw(uint64_t *random, uint64_t below)
{
	return net_random(random) % below;
}

static struct node random_node(uint64_t *random)
{
	static const char *const descs[] = {
		"node%u mlx5_%u", "node%u HCA-%u", "oss%u mlx4_%u", "localhost mlx5_%u", "MF0;leaf%u:MQM8700/U%u",
		"", " ", "x%u", "(none)", "mlx5_%u", "a b c %u", "node%u", "mgmt%u hfi1_%u",
	};
	struct node node = {
		.type = (uint8_t)(1 + draw(random, 3)), .port_count = (uint8_t)(1 + draw(random, 60)),
		.system_guid = draw(random, 8),
		.device_id = (uint16_t)(draw(random, 8) ? draw(random, 4) + 0xd2f0 : 53001),
	};
	unsigned which = (unsigned)draw(random, sizeof(descs) / sizeof(descs[0]));

	node.guid = draw(random, UINT64_MAX) | 1;
#pragma GCC diagnostic push
#pragma GCC diagnostic ignored "-Wformat-nonliteral"
	snprintf(node.desc, sizeof(node.desc), descs[which], (unsigned)draw(random, 12), (unsigned)draw(random, 9));
#pragma GCC diagnostic pop
	for (unsigned i = 0; i < NODE_DESC_SIZE && draw(random, 8) == 0; i++)
		node.desc[i] = (char)draw(random, 256);
	if (draw(random, 2))
		node.type = NODE_SWITCH;
	return node;
}

static struct fabric *random_fabric(uint64_t *random)
{
	struct fabric *fabric = fabric_create(NULL);
	unsigned nodes = (unsigned)draw(random, 60), links = (unsigned)draw(random, 400);

	for (unsigned i = 0; i < nodes; i++) {
		struct node node = random_node(random);

		assert_true(fabric_add_node(fabric, &node, NULL) >= 0);
		for (unsigned j = node.type == NODE_SWITCH ? 0 : 1; j <= node.port_count; j++) {
			struct port port = {
				.num = (uint8_t)j, .state = (uint8_t)draw(random, 5), .lid = (uint16_t)draw(random, 50),
				.sm_lid = (uint16_t)draw(random, 50), .speed = (uint8_t)draw(random, LINK_SPEED_COUNT),
				.width = draw(random, 4) ? LINK_WIDTH_4X : LINK_WIDTH_1X,
			};

			if (draw(random, 10))
				assert_true(fabric_add_port(fabric, &port, NULL) >= 0);
		}
	}
	for (unsigned i = 0; i < links && fabric->port_count > 1; i++)
		fabric_link(fabric, (uint32_t)draw(random, fabric->port_count),
			    (uint32_t)draw(random, fabric->port_count), NULL);
	assert_int_equal(fabric_finish(fabric, NULL, NULL), 0);
	return fabric;
}

static void check_hosts(const struct shape *shape)
{
	const struct fabric *fabric = shape->fabric;
	size_t hcas = 0, listed = 0;

	for (size_t i = 0; i < fabric->node_count; i++) {
		bool is_host = fabric->nodes[i].type == NODE_CA && shape->nodes[i].class != CLASS_AGGREGATION;

		hcas += is_host;
		assert_true((shape->nodes[i].host == SHAPE_NONE) == !is_host);
		assert_true(shape->nodes[i].tier <= shape->tier_count);
		assert_true(!shape->nodes[i].tier || fabric->nodes[i].type == NODE_SWITCH);
		assert_int_equal(shape->nodes[shape->nodes[i].box].box, shape->nodes[i].box);
	}
	for (size_t i = 0; i < shape->host_count; i++) {
		assert_true(i == 0 || strcmp(shape->hosts[i].name, shape->hosts[i - 1].name));
		for (uint32_t j = 0; j < shape->hosts[i].count; j++)
			assert_int_equal(shape->nodes[shape->host_nodes[shape->hosts[i].first + j]].host, i);
		listed += shape->hosts[i].count;
	}
	assert_int_equal(hcas, listed);
}

static void check_groups(const struct shape *shape)
{
	size_t members = 0;

	for (size_t i = 0; i < shape->group_count; i++) {
		const struct shape_group *group = &shape->groups[i];

		assert_true(group->count > 0 && group->built >= group->count);
		for (uint32_t j = group->first; j < group->first + group->count; j++) {
			uint32_t port = shape->members[j], peer = shape->fabric->ports[port].peer;

			assert_int_equal(shape->fabric->ports[port].node, group->node);
			assert_int_equal(shape->ports[port].group, i);
			assert_true(group->peer == FABRIC_NONE || shape->fabric->ports[peer].node == group->peer);
		}
	}
	for (size_t i = 0; i < shape->fabric->port_count; i++) {
		members += shape->ports[i].group != SHAPE_NONE;
		assert_true(shape->ports[i].rail == SHAPE_NONE || shape->ports[i].rail < shape->rail_count);
		assert_true((shape->ports[i].way == WAY_NONE) == (shape->fabric->ports[i].peer == FABRIC_NONE));
	}
	for (size_t i = 0; i < shape->group_count; i++)
		members -= shape->groups[i].count;
	assert_int_equal(members, 0);
}

static void check_rest(const struct shape *shape)
{
	uint32_t switches = 0;
	char name[512];

	for (size_t i = 0; i <= SHAPE_TIERS_MAX; i++)
		switches += shape->tiers[i].switches;
	for (size_t i = 0; i < shape->fabric->node_count; i++) {
		switches -= shape->fabric->nodes[i].type == NODE_SWITCH;
		assert_false(shape_oversubscription(shape, (uint32_t)i, false) < 0);
	}
	assert_int_equal(switches, 0);
	for (size_t i = 0; i < shape->missing_count; i++)
		assert_true(shape->missing[i].links < shape->missing[i].expected);
	for (size_t i = 0; i < shape->rail_count; i++)
		for (size_t j = 0; j < shape->rails[i].count; j++)
			assert_int_equal(shape->ports[shape->rail_ports[shape->rails[i].first + j]].rail, i);
	for (size_t i = 0; i < shape->slow_count; i++)
		assert_true(shape->slow[i].bits_per_s < shape->slow[i].expected_bits_per_s);
	for (size_t i = 0; i < shape->fabric->port_count; i++)
		assert_true(strlen(shape_port_name(shape, (uint32_t)i, name, sizeof(name))) > 1);
	assert_true(shape->reason[0]);
}

TEST(the_shape_of_any_fabric_is_consistent)
{
	uint64_t random = 42;

	for (int round = 0; round < ROUNDS; round++) {
		struct fabric *fabric = random_fabric(&random);
		struct shape *shape;

		assert_int_equal(shape_create(fabric, NULL, &shape, NULL), 0);
		check_hosts(shape);
		check_groups(shape);
		check_rest(shape);
		shape_destroy(shape);
		fabric_destroy(fabric);
	}
}

TEST(every_value_has_a_name)
{
	for (unsigned i = 0; i < CLASS_COUNT; i++)
		assert_string_not_equal(node_class_name((uint8_t)i), "unknown");
	for (unsigned i = 0; i < SHAPE_WHY_COUNT; i++)
		assert_string_not_equal(shape_why_text((uint8_t)i), "unknown");
	assert_string_equal(node_class_name(200), "unknown");
	assert_string_equal(shape_why_text(200), "unknown");
	assert_string_equal(shape_kind_name(SHAPE_NO_TREE), "no tree");
}
