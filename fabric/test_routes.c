/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
#include "fabric/test_routes.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>

#include <cmocka.h>

uint32_t routes_add_switch(struct fabric *fabric, uint64_t guid, uint16_t lid, uint8_t ports, uint16_t top)
{
	struct node node = { .guid = guid, .type = NODE_SWITCH, .port_count = ports, .lid = lid, .lft_top = top };
	int64_t index = fabric_add_node(fabric, &node, NULL);

	assert_true(index >= 0);
	for (unsigned i = 0; i <= ports; i++) {
		struct port port = { .num = (uint8_t)i, .state = PORT_ACTIVE, .lid = i ? 0 : lid };

		assert_true(fabric_add_port(fabric, &port, NULL) >= 0);
	}
	return (uint32_t)index;
}

uint32_t routes_add_host(struct fabric *fabric, uint64_t guid, uint8_t ports, uint16_t lid, uint8_t lmc,
			 uint16_t device)
{
	struct node node = { .guid = guid, .type = NODE_CA, .port_count = ports, .device_id = device };
	int64_t index = fabric_add_node(fabric, &node, NULL);

	assert_true(index >= 0);
	for (unsigned i = 1; i <= ports; i++) {
		struct port port = { .num = (uint8_t)i, .state = PORT_ACTIVE, .lmc = lmc,
				     .lid = (uint16_t)(lid + ((i - 1) << lmc)) };

		assert_true(fabric_add_port(fabric, &port, NULL) >= 0);
	}
	return (uint32_t)index;
}

/* The first free port of a node, or FABRIC_NONE. */
static uint32_t free_port(const struct fabric *fabric, uint32_t node)
{
	uint32_t i;

	for (i = fabric->nodes[node].first_port; i < fabric->nodes[node].first_port + fabric->nodes[node].ports; i++)
		if (fabric->ports[i].num > 0 && fabric->ports[i].peer == FABRIC_NONE)
			return i;
	return FABRIC_NONE;
}

void routes_link(struct fabric *fabric, uint32_t a, uint32_t b)
{
	uint32_t one = free_port(fabric, a), other;

	if (one == FABRIC_NONE)
		return;
	other = free_port(fabric, b);
	if (other == FABRIC_NONE || other == one || a == b)
		return;
	assert_int_equal(fabric_link(fabric, one, other, NULL), 0);
}

void routes_set_state(struct fabric *fabric, uint32_t port, uint8_t state)
{
	fabric->ports[port].state = state;
	if (fabric->ports[port].peer != FABRIC_NONE)
		fabric->ports[fabric->ports[port].peer].state = state;
}
