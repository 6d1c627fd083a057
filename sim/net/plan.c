/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
#include "sim/net/plan.h"

#include <stdlib.h>
#include <string.h>

#include "base/array.h"
#include "base/err.h"
#include "sim/net/mend.h"

int64_t plan_add(struct plan *plan, const struct node *node, struct error *err)
{
	struct node *nodes = array_grow(plan->nodes, plan->node_count, &plan->node_capacity, sizeof(*nodes));

	if (!nodes)
		return err_nomem(err);
	plan->nodes = nodes;
	plan->nodes[plan->node_count] = *node;
	plan->nodes[plan->node_count].port_count = 0;
	return (int64_t)plan->node_count++;
}

int plan_cable(struct plan *plan, uint32_t a, uint32_t b, struct error *err)
{
	uint32_t ends[2] = { a, b };
	struct plan_cable *cable, *cables;

	for (int i = 0; i < 2; i++)
		if (plan->nodes[ends[i]].port_count >= MEND_MAX_PORTS)
			return err_set(err, ERR_USAGE, "\"%s\" would need more than %d ports: use smaller units, "
				       "more spines or fewer links", plan->nodes[ends[i]].desc,
				       MEND_MAX_PORTS);
	cables = array_grow(plan->cables, plan->cable_count, &plan->cable_capacity, sizeof(*cables));
	if (!cables)
		return err_nomem(err);
	plan->cables = cables;
	cable = &plan->cables[plan->cable_count++];
	for (int i = 0; i < 2; i++) {
		cable->node[i] = ends[i];
		cable->port[i] = ++plan->nodes[ends[i]].port_count;
	}
	return 0;
}

static int add_node(struct fabric *fabric, const struct node *planned, unsigned switch_ports, struct error *err)
{
	struct node node = *planned;
	unsigned first = node.type == NODE_SWITCH ? 0 : 1;

	if (node.type == NODE_SWITCH && node.port_count < switch_ports)
		node.port_count = (uint8_t)switch_ports;
	if (fabric_add_node(fabric, &node, err) < 0)
		return ERR_IO;
	for (unsigned i = first; i <= node.port_count; i++) {
		struct port port = { .num = (uint8_t)i, .state = PORT_DOWN, .phys_state = PHYS_POLLING };

		if (i == 0) {
			port.state = PORT_ACTIVE;
			port.phys_state = PHYS_LINK_UP;
			port.guid = node.guid;
		} else if (node.type != NODE_SWITCH) {
			port.guid = node.guid + i;
		}
		if (fabric_add_port(fabric, &port, err) < 0)
			return ERR_IO;
	}
	return 0;
}

static int connect_cables(const struct plan *plan, struct fabric *fabric, enum link_speed speed, uint8_t width,
			  struct error *err)
{
	for (size_t i = 0; i < plan->cable_count; i++) {
		const struct plan_cable *cable = &plan->cables[i];
		uint32_t ports[2];

		for (int end = 0; end < 2; end++) {
			struct port *port;

			/* The fabric has the nodes in the same order. */
			ports[end] = fabric_node_port(fabric, cable->node[end], cable->port[end]);
			port = &fabric->ports[ports[end]];
			port->state = PORT_ACTIVE;
			port->phys_state = PHYS_LINK_UP;
			port->speed = (uint8_t)speed;
			port->width = width;
		}
		if (fabric_link(fabric, ports[0], ports[1], err) < 0)
			return ERR_IO;
	}
	return 0;
}

int plan_build(const struct plan *plan, unsigned switch_ports, enum link_speed speed, uint8_t width,
	       uint32_t from_node, struct fabric **ret, struct error *err)
{
	struct fabric *fabric = fabric_create(err);
	int code = 0;

	if (!fabric)
		return ERR_NOMEM;
	for (size_t i = 0; i < plan->node_count && code == 0; i++)
		code = add_node(fabric, &plan->nodes[i], switch_ports, err);
	if (code == 0)
		code = connect_cables(plan, fabric, speed, width, err);
	if (code == 0)
		code = fabric_finish(fabric, NULL, err);
	if (code < 0) {
		fabric_destroy(fabric);
		return code;
	}
	fabric->from_node = from_node;
	fabric->from_port = 1;
	*ret = fabric;
	return 0;
}

void plan_done(struct plan *plan)
{
	free(plan->nodes);
	free(plan->cables);
	memset(plan, 0, sizeof(*plan));
}
