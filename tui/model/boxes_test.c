/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
#include "base/unit_test.h"
#include "tui/model/boxes.h"

#include <stdlib.h>
#include <string.h>

#include "fabric/fabric.h"
#include "fabric/shape.h"
#include "storage/reader.h"
#include "tui/model/port_table.h"
#include "tui/model/test_sample.h"

/* Two leafs that are split Quantum-2 switches, a spine, hosts of two HCAs, one of them with two ports. */
struct made {
	struct fabric *fabric;
	struct shape *shape;
	struct snapshot snapshot;
	struct error_sums sums;
	struct port_table table;
	struct boxes boxes;
};

static void add_node(struct fabric *fabric, uint64_t guid, uint8_t type, uint16_t device, uint8_t ports,
		     const char *desc)
{
	struct node node = { .guid = guid, .system_guid = guid / 10, .type = type, .device_id = device,
			     .port_count = ports };

	strcpy(node.desc, desc);
	assert_true(fabric_add_node(fabric, &node, NULL) >= 0);
	for (int num = type == NODE_SWITCH ? 0 : 1; num <= ports; num++) {
		struct port port = { .num = (uint8_t)num, .state = PORT_ACTIVE, .phys_state = PHYS_LINK_UP,
				     .speed = LINK_SPEED_NDR, .width = LINK_WIDTH_4X };

		assert_true(fabric_add_port(fabric, &port, NULL) >= 0);
	}
}

static void link_ports(struct fabric *fabric, uint64_t a, uint8_t port_a, uint64_t b, uint8_t port_b)
{
	assert_int_equal(fabric_link(fabric, fabric_find_port(fabric, a, port_a), fabric_find_port(fabric, b, port_b),
				     NULL), 0);
}

static int setup(void **state)
{
	struct made *made = calloc(1, sizeof(*made));
	struct fabric *fabric = fabric_create(NULL);

	if (!made || !fabric)
		return -1;
	add_node(fabric, 9000, NODE_SWITCH, 0xd2f2, 64, "spine1");
	add_node(fabric, 2011, NODE_CA, 0, 1, "node2 mlx5_1");
	add_node(fabric, 1010, NODE_CA, 0, 1, "node1 mlx5_0");
	add_node(fabric, 8010, NODE_SWITCH, 0xd2f2, 64, "leaf2");
	add_node(fabric, 1011, NODE_CA, 0, 2, "node1 mlx5_1");
	add_node(fabric, 2010, NODE_CA, 0, 1, "node2 mlx5_0");
	add_node(fabric, 8000, NODE_SWITCH, 0xd2f2, 64, "leaf1");
	link_ports(fabric, 8000, 1, 1010, 1);
	link_ports(fabric, 8000, 2, 1011, 1);
	link_ports(fabric, 8010, 3, 1011, 2);
	link_ports(fabric, 8010, 1, 2010, 1);
	link_ports(fabric, 8010, 2, 2011, 1);
	link_ports(fabric, 8000, 40, 9000, 1);
	link_ports(fabric, 8010, 40, 9000, 2);
	if (fabric_finish(fabric, NULL, NULL) < 0 || shape_create(fabric, NULL, &made->shape, NULL) < 0)
		return -1;
	made->fabric = made->snapshot.fabric = fabric;
	made->snapshot.rows = calloc(fabric->port_count, sizeof(*made->snapshot.rows));
	if (!made->snapshot.rows || port_table_set(&made->table, &made->snapshot, &made->sums, NULL, NULL) < 0 ||
	    boxes_set(&made->boxes, &made->table, made->shape, NULL) < 0)
		return -1;
	*state = made;
	return 0;
}

static int teardown(void **state)
{
	struct made *made = *state;

	boxes_done(&made->boxes);
	port_table_done(&made->table);
	error_sums_done(&made->sums);
	free(made->snapshot.rows);
	shape_destroy(made->shape);
	fabric_destroy(made->fabric);
	free(made);
	return 0;
}

MODEL_TEST(leafs_come_first_and_hosts_last_each_by_name)
{
	static const char *const names[] = { "leaf1", "leaf2", "spine1", "node1", "node2" };

	assert_int_equal(made->boxes.count, 5);
	for (size_t i = 0; i < 5; i++)
		assert_string_equal(boxes_name(&made->boxes, &made->boxes.all[i]), names[i]);
}

MODEL_TEST(each_port_is_on_the_front_of_one_box)
{
	uint8_t *seen = calloc(made->fabric->port_count, 1);

	assert_non_null(seen);
	for (size_t i = 0; i < made->boxes.count; i++) {
		struct box_port *ports;
		long count = boxes_ports(&made->boxes, &made->boxes.all[i], &ports, NULL), at;

		assert_true(count > 0);
		for (at = 0; at < count; at++) {
			const struct port *self = &made->fabric->ports[ports[at].port];

			assert_false(seen[ports[at].port]++);
			assert_int_equal(boxes_find(&made->boxes, made->fabric->nodes[self->node].guid), i);
		}
		free(ports);
	}
	for (uint32_t port = 0; port < made->fabric->port_count; port++)
		assert_int_equal(seen[port], made->fabric->ports[port].num != 0);
	free(seen);
}

MODEL_TEST(a_host_shows_all_its_devices)
{
	static const char *const labels[] = { "mlx5_0", "mlx5_1/1", "mlx5_1/2" };
	struct box_port *ports;
	size_t box = boxes_find(&made->boxes, 1011);

	assert_int_equal(box, boxes_find(&made->boxes, 1010));
	assert_int_equal(boxes_ports(&made->boxes, &made->boxes.all[box], &ports, NULL), 3);
	for (size_t i = 0; i < 3; i++)
		assert_string_equal(ports[i].label, labels[i]);
	free(ports);
}

MODEL_TEST(a_split_port_is_called_as_on_the_box)
{
	struct box_port *ports;
	size_t box = boxes_find(&made->boxes, 8000);

	assert_int_equal(boxes_ports(&made->boxes, &made->boxes.all[box], &ports, NULL), 64);
	assert_string_equal(ports[0].label, "1.1");
	assert_string_equal(ports[11].label, "6.2");
	free(ports);
}

MODEL_TEST(a_filter_leaves_what_is_looked_for)
{
	struct boxes *boxes = &made->boxes;

	filter_set(&boxes->filter, "1$");
	boxes_arrange(boxes);
	assert_int_equal(boxes->row_count, 3);
	assert_int_equal(boxes_row(boxes, boxes_find(boxes, 9000)), 1);
	assert_int_equal(boxes_row(boxes, boxes_find(boxes, 8010)), boxes->row_count);
	assert_int_equal(boxes_find(boxes, 12345), boxes->count);
}

MODEL_TEST(without_a_shape_each_node_is_a_box)
{
	assert_int_equal(boxes_set(&made->boxes, &made->table, NULL, NULL), 0);
	assert_int_equal(made->boxes.count, made->fabric->node_count);
	assert_int_equal(port_table_set(&made->table, NULL, &made->sums, NULL, NULL), 0);
	assert_int_equal(boxes_set(&made->boxes, &made->table, NULL, NULL), 0);
	assert_int_equal(made->boxes.count, 0);
	assert_int_equal(boxes_find(&made->boxes, 1010), 0);
}
