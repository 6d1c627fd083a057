/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
#include <stdlib.h>
#include <string.h>

#include "base/unit_test.h"
#include "collector/node_memory.h"
#include "fabric/fabric.h"

#define NODES 3
#define PORTS 64

static struct node nodes[NODES];
static struct restored_port ports[NODES * PORTS];

/* The stored state of three switches, with ports in order. */
static struct restored store_of(struct fabric *fabric)
{
	memset(nodes, 0, sizeof(nodes));
	for (size_t i = 0; i < NODES; i++) {
		nodes[i].guid = 100 + i;
		nodes[i].port_count = PORTS;
	}
	for (size_t i = 0; i < NODES * PORTS; i++) {
		ports[i] = (struct restored_port){ .node_guid = 100 + i / PORTS, .port = (uint8_t)(i % PORTS + 1) };
		ports[i].reading.value[COUNTER_XMIT_DATA] = i;
	}
	*fabric = (struct fabric){ .nodes = nodes, .node_count = NODES };
	return (struct restored){ .fabric = fabric, .ports = ports, .port_count = NODES * PORTS };
}

TEST(restored_nodes_take_no_more_memory_than_the_fabric)
{
	struct fabric fabric;
	struct restored restored = store_of(&fabric);
	struct node_memory memory = { 0 };

	assert_int_equal(node_memory_restore(&memory, &restored, "boot", 1000, 1000, NULL), 0);
	assert_int_equal(node_memory_set_fabric(&memory, &fabric, NULL), 0);
	assert_int_equal(memory.node_count, NODES);
	assert_int_equal(memory.port_count, NODES * (PORTS + 1));
	for (size_t i = 0; i < NODES * PORTS; i++) {
		const struct node_entry *node = node_memory_node(&memory, (uint32_t)(i / PORTS));
		const struct port_entry *port = &memory.ports[node->first_port + i % PORTS + 1];

		assert_true(port->has_last);
		assert_int_equal(port->last.value[COUNTER_XMIT_DATA], i);
	}
	node_memory_done(&memory);
}

/* The store may contain ports of nodes that are not in its newest fabric. */
TEST(ports_of_removed_nodes_are_restored_too)
{
	struct fabric fabric;
	struct restored restored = store_of(&fabric);
	struct node_memory memory = { 0 };

	fabric.node_count = 1;
	assert_int_equal(node_memory_restore(&memory, &restored, "boot", 1000, 1000, NULL), 0);
	assert_int_equal(memory.port_count, NODES * (PORTS + 1));
	fabric.node_count = NODES;
	assert_int_equal(node_memory_set_fabric(&memory, &fabric, NULL), 0);
	assert_int_equal(memory.ports[node_memory_node(&memory, 2)->first_port + 7].last.value[COUNTER_XMIT_DATA],
			 2 * PORTS + 6);
	node_memory_done(&memory);
}

/* Nodes that a forged switch showed once have readings in the store. */
TEST(of_many_departed_nodes_the_first_ones_are_restored)
{
	enum { DEPARTED = 1000, LIMIT = 32768 };
	struct fabric fabric;
	struct restored restored = store_of(&fabric);
	struct restored_port *many = calloc(DEPARTED * PORTS, sizeof(*many));
	struct restored_caps *caps = calloc(DEPARTED, sizeof(*caps));
	struct restored_detail detail = { .node_guid = 1000 + DEPARTED - 1, .port = 3 };
	struct node_memory memory = { 0 };
	size_t entries = NODES * (PORTS + 1);
	uint32_t index;

	assert_true(many && caps);
	for (size_t i = 0; i < DEPARTED * PORTS; i++)
		many[i] = (struct restored_port){ .node_guid = 1000 + i / PORTS, .port = (uint8_t)(i % PORTS + 1) };
	for (size_t i = 0; i < DEPARTED; i++)
		caps[i].node_guid = 1000 + i;
	/* The newest id is one of the fabric's nodes. */
	memcpy(&many[(DEPARTED - 1) * PORTS], ports, PORTS * sizeof(*ports));
	restored.ports = many;
	restored.port_count = DEPARTED * PORTS;
	restored.caps = caps;
	restored.caps_count = DEPARTED;
	restored.details = &detail;
	restored.detail_count = 1;
	assert_int_equal(node_memory_restore(&memory, &restored, "boot", 1000, 1000, NULL), 0);
	assert_in_range(memory.port_count, 2 * entries + LIMIT, 2 * entries + LIMIT + PORTS);
	assert_true(map_get(&memory.by_guid, 1000, &index));
	assert_true(memory.ports[memory.nodes[index].first_port + 1].has_last);
	assert_false(map_get(&memory.by_guid, 1000 + DEPARTED - 1, &index));
	assert_true(memory.ports[memory.nodes[0].first_port + 1].has_last);
	node_memory_done(&memory);
	free(many);
	free(caps);
}

/* The agent of an HCA port is responsible for that port; that of a switch for all of them. */
TEST(a_redirection_applies_to_the_ports_of_one_agent)
{
	struct fabric *fabric = fabric_create(NULL);
	const struct node added[] = { { .guid = 1, .type = NODE_CA, .port_count = 2 },
				      { .guid = 2, .type = NODE_SWITCH, .port_count = 2, .lid = 9 } };
	struct node_memory memory = { 0 };

	assert_true(fabric_add_node(fabric, &added[0], NULL) >= 0);
	for (uint8_t num = 1; num <= 2; num++)
		fabric_add_port(fabric, &(struct port){ .num = num, .lid = (uint16_t)(4 + num) }, NULL);
	assert_true(fabric_add_node(fabric, &added[1], NULL) >= 0);
	for (uint8_t num = 1; num <= 2; num++)
		fabric_add_port(fabric, &(struct port){ .num = num }, NULL);
	assert_int_equal(fabric_finish(fabric, NULL, NULL), 0);
	assert_int_equal(node_memory_set_fabric(&memory, fabric, NULL), 0);
	node_memory_redirect(&memory, 0)->lid = 50;
	assert_int_equal(node_memory_pma_request(&memory, 0, 0, NULL, NULL).to.lid, 50);
	assert_int_equal(node_memory_pma_request(&memory, 1, 0, NULL, NULL).to.lid, 6);
	node_memory_redirect(&memory, 2)->lid = 60;
	assert_int_equal(node_memory_pma_request(&memory, 3, 0, NULL, NULL).to.lid, 60);
	node_memory_done(&memory);
	fabric_destroy(fabric);
}
