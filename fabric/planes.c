/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
#include "fabric/planes.h"

#include "fabric/fabric.h"

bool port_is_plane(const struct fabric *fabric, uint32_t index)
{
	const struct port *port = &fabric->ports[index];
	const struct node *node = &fabric->nodes[port->node];
	uint32_t i;

	/* A switch's ports have no GUIDs of their own. */
	if (node->type != NODE_CA || !port->guid)
		return false;
	for (i = node->first_port; i < node->first_port + node->ports; i++)
		if (i != index && fabric->ports[i].guid == port->guid)
			return true;
	return false;
}

unsigned node_planes(const struct fabric *fabric, uint32_t index)
{
	const struct node *node = &fabric->nodes[index];
	unsigned planes = 0;
	uint32_t i;

	for (i = node->first_port; i < node->first_port + node->ports; i++)
		planes += port_is_plane(fabric, i);
	return planes;
}
