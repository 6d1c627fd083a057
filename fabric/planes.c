/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
#include "fabric/planes.h"

#include "fabric/fabric.h"

/* The first other port from @from to before @end with the GUID of this port. */
static uint32_t find(const struct fabric *fabric, uint32_t port, uint32_t from, uint32_t end)
{
	const struct port *wanted = &fabric->ports[port];

	/* External ports of a switch have no GUIDs. */
	if (fabric->nodes[wanted->node].type != NODE_CA || !wanted->guid)
		return FABRIC_NONE;
	for (; from < end; from++)
		if (from != port && fabric->ports[from].guid == wanted->guid)
			return from;
	return FABRIC_NONE;
}

static uint32_t end_of_node(const struct fabric *fabric, uint32_t port)
{
	const struct node *node = &fabric->nodes[fabric->ports[port].node];

	return node->first_port + node->ports;
}

bool port_is_plane(const struct fabric *fabric, uint32_t port)
{
	return find(fabric, port, fabric->nodes[fabric->ports[port].node].first_port, end_of_node(fabric, port)) !=
	       FABRIC_NONE;
}

uint32_t port_first_plane(const struct fabric *fabric, uint32_t port)
{
	uint32_t first = find(fabric, port, fabric->nodes[fabric->ports[port].node].first_port, port);

	return first == FABRIC_NONE ? port : first;
}

uint32_t port_next_plane(const struct fabric *fabric, uint32_t port)
{
	return find(fabric, port, port + 1, end_of_node(fabric, port));
}

unsigned node_planes(const struct fabric *fabric, uint32_t index)
{
	const struct node *node = &fabric->nodes[index];
	unsigned planes = 0;

	for (uint32_t i = node->first_port; i < node->first_port + node->ports; i++)
		planes += port_is_plane(fabric, i);
	return planes;
}
