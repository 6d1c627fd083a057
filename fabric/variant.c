/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
#include "fabric/variant.h"

#include <stdlib.h>
#include <string.h>

#include "base/err.h"
#include "fabric/fabric.h"
#include "fabric/planes.h"
#include "fabric/routes.h"

struct fabric *fabric_variant_create(const struct fabric *fabric, struct error *err)
{
	struct fabric *variant = malloc(sizeof(*variant));

	if (!variant) {
		err_nomem(err);
		return NULL;
	}
	*variant = *fabric;
	variant->nodes = malloc((fabric->node_count + 1) * sizeof(*variant->nodes));
	variant->ports = malloc((fabric->port_count + 1) * sizeof(*variant->ports));
	if (!variant->nodes || !variant->ports) {
		fabric_variant_destroy(variant);
		err_nomem(err);
		return NULL;
	}
	if (fabric->node_count)
		memcpy(variant->nodes, fabric->nodes, fabric->node_count * sizeof(*variant->nodes));
	if (fabric->port_count)
		memcpy(variant->ports, fabric->ports, fabric->port_count * sizeof(*variant->ports));
	return variant;
}

void fabric_variant_destroy(struct fabric *variant)
{
	if (!variant)
		return;
	free(variant->nodes);
	free(variant->ports);
	free(variant);
}

static void set_down(struct port *port)
{
	port->state = PORT_DOWN;
	port->phys_state = PHYS_DISABLED;
	port->speed = LINK_SPEED_NONE;
	port->width = LINK_WIDTH_NONE;
}

void fabric_variant_take_out(struct fabric *variant, uint32_t port)
{
	set_down(&variant->ports[port]);
	if (variant->ports[port].peer != FABRIC_NONE)
		set_down(&variant->ports[variant->ports[port].peer]);
}

static void set_rate(struct port *port, enum link_speed speed, uint8_t width)
{
	port->speed = (uint8_t)speed;
	if (width != LINK_WIDTH_NONE)
		port->width = width;
}

void fabric_variant_set_rate(struct fabric *variant, uint32_t port, enum link_speed speed, uint8_t width)
{
	set_rate(&variant->ports[port], speed, width);
	if (variant->ports[port].peer != FABRIC_NONE)
		set_rate(&variant->ports[variant->ports[port].peer], speed, width);
}

/* Ports with a LID of their own: port 0 of a switch, which has that of its node, and ports of others with a link. */
static uint16_t *lid_of(struct fabric *variant, uint32_t port)
{
	struct port *self = &variant->ports[port];
	struct node *node = &variant->nodes[self->node];

	if (node->type == NODE_SWITCH)
		return node->first_port == port ? &node->lid : NULL;
	return self->peer == FABRIC_NONE || port_first_plane(variant, port) != port ? NULL : &self->lid;
}

/* Enter the LIDs that are present; those that cannot be kept become 0. */
static void enter_lids(struct fabric *variant, bool *used)
{
	for (uint32_t i = 0; i < variant->port_count; i++) {
		uint16_t *lid = lid_of(variant, i);

		if (!lid || !*lid)
			continue;
		if (*lid >= ROUTES_LIDS || used[*lid])
			*lid = 0;
		else
			used[*lid] = true;
	}
}

int64_t fabric_variant_assign_lids(struct fabric *variant, struct error *err)
{
	bool *used = calloc(ROUTES_LIDS, sizeof(*used));
	uint32_t next = 1;
	int64_t count = 0;

	if (!used)
		return err_nomem(err);
	enter_lids(variant, used);
	for (uint32_t i = 0; i < variant->port_count; i++) {
		uint16_t *lid = lid_of(variant, i);

		if (!lid || *lid)
			continue;
		while (next < ROUTES_LIDS && used[next])
			next++;
		if (next == ROUTES_LIDS) {
			free(used);
			return err_set(err, ERR_IO, "the fabric has more ports than unicast LIDs");
		}
		*lid = (uint16_t)next++;
		count++;
	}
	for (uint32_t i = 0; i < variant->port_count; i++)
		if (variant->nodes[variant->ports[i].node].type != NODE_SWITCH)
			variant->ports[i].lid = variant->ports[port_first_plane(variant, i)].lid;
	free(used);
	return count;
}

bool link_is_usable(const struct fabric *fabric, uint32_t port)
{
	const struct port *self = &fabric->ports[port], *peer;

	if (self->peer == FABRIC_NONE)
		return false;
	peer = &fabric->ports[self->peer];
	return self->state != PORT_DOWN && self->state != PORT_INIT && peer->state != PORT_DOWN &&
	       peer->state != PORT_INIT;
}
