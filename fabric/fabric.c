/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
#include "fabric/fabric.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/array.h"
#include "base/err.h"
#include "base/text.h"
#include "fabric/name_map.h"

/* Device ids of SHARP aggregation nodes. Source: ibdiagnet and the field: "Mellanox Technologies Aggregation Node". */
#define DEVICE_ID_AGGREGATION_NODE 53001

/* Source: IBA Vol 1, 4.1.3 (local identifiers); above are multicast, and 0xffff, the permissive LID. */
#define LID_UNICAST_MAX 0xbfff

struct fabric *fabric_create(struct error *err)
{
	struct fabric *fabric = calloc(1, sizeof(*fabric));

	if (!fabric) {
		err_nomem(err);
		return NULL;
	}
	fabric->from_node = FABRIC_NONE;
	return fabric;
}

void fabric_destroy(struct fabric *fabric)
{
	if (!fabric)
		return;
	if (fabric->sharers) {
		fabric->sharers--;
		return;
	}
	for (size_t i = 0; i < fabric->node_count; i++)
		free(fabric->nodes[i].name);
	free(fabric->nodes);
	free(fabric->ports);
	map_done(&fabric->by_guid);
	names_done(&fabric->names);
	free(fabric);
}

struct fabric *fabric_share(struct fabric *fabric)
{
	fabric->sharers++;
	return fabric;
}

int64_t fabric_add_node(struct fabric *fabric, const struct node *node, struct error *err)
{
	uint32_t index = (uint32_t)fabric->node_count, other;
	struct node *nodes, *added;

	if (!node->guid)
		return err_set(err, ERR_IO, "a node has the GUID 0");
	if (map_get(&fabric->by_guid, node->guid, &other))
		return err_set(err, ERR_IO, "node 0x%016" PRIx64 " is there twice", node->guid);
	nodes = array_grow(fabric->nodes, fabric->node_count, &fabric->node_capacity, sizeof(*nodes));
	if (!nodes)
		return err_nomem(err);
	fabric->nodes = nodes;
	if (map_put(&fabric->by_guid, node->guid, index) < 0)
		return err_nomem(err);
	added = &nodes[index];
	*added = *node;
	added->desc[NODE_DESC_SIZE] = '\0';
	added->name = NULL;
	added->first_port = (uint32_t)fabric->port_count;
	added->ports = 0;
	fabric->node_count++;
	return index;
}

int64_t fabric_add_port(struct fabric *fabric, const struct port *port, struct error *err)
{
	struct port *ports, *added;
	struct node *node;

	if (!fabric->node_count)
		return err_set(err, ERR_IO, "a port comes before any node");
	node = &fabric->nodes[fabric->node_count - 1];
	if (port->num > node->port_count || (port->num == 0 && node->type != NODE_SWITCH))
		return err_set(err, ERR_IO, "node 0x%016" PRIx64 " has no port %u", node->guid, port->num);
	if (node->ports && fabric->ports[fabric->port_count - 1].num >= port->num)
		return err_set(err, ERR_IO, "port %u of node 0x%016" PRIx64 " is there twice or out of order",
			       port->num, node->guid);
	ports = array_grow(fabric->ports, fabric->port_count, &fabric->port_capacity, sizeof(*ports));
	if (!ports)
		return err_nomem(err);
	fabric->ports = ports;
	added = &ports[fabric->port_count];
	*added = *port;
	added->node = (uint32_t)fabric->node_count - 1;
	added->peer = FABRIC_NONE;
	if (added->state < PORT_INIT) {
		added->speed = LINK_SPEED_NONE;
		added->width = LINK_WIDTH_NONE;
	}
	node->ports++;
	return (int64_t)fabric->port_count++;
}

int fabric_link(struct fabric *fabric, uint32_t a, uint32_t b, struct error *err)
{
	struct port *ports = fabric->ports;

	if (ports[a].peer == b && ports[b].peer == a)
		return 0;
	if (ports[a].peer != FABRIC_NONE || ports[b].peer != FABRIC_NONE)
		return err_set(err, ERR_IO, "port %u of node 0x%016" PRIx64 " has two peers", ports[a].num,
			       fabric->nodes[ports[a].node].guid);
	ports[a].peer = b;
	ports[b].peer = a;
	return 0;
}

static int name_node(struct node *node, const struct name_map *map, struct error *err)
{
	const char *mapped = map ? name_map_find(map, node->guid) : NULL;
	char name[NODE_NAME_SIZE];

	if (mapped)
		text_sanitise(mapped, strlen(mapped), name, sizeof(name));
	else
		text_sanitise(node->desc, NODE_DESC_SIZE, name, sizeof(name));
	if (!name[0])
		snprintf(name, sizeof(name), "0x%016" PRIx64, node->guid);
	node->name = strdup(name);
	return node->name ? 0 : err_nomem(err);
}

int fabric_finish(struct fabric *fabric, const struct name_map *map, struct error *err)
{
	for (size_t i = 0; i < fabric->node_count; i++)
		if (name_node(&fabric->nodes[i], map, err) < 0)
			return ERR_NOMEM;
	return names_show(&fabric->names, fabric, err);
}

uint32_t fabric_find_node(const struct fabric *fabric, uint64_t guid)
{
	uint32_t index = FABRIC_NONE;

	map_get(&fabric->by_guid, guid, &index);
	return index;
}

uint32_t fabric_node_port(const struct fabric *fabric, uint32_t node, uint8_t num)
{
	const struct node *owner = &fabric->nodes[node];
	const struct port *ports = fabric->ports + owner->first_port;

	/* Ports are in rising order, so the index of number n is at most n. */
	for (uint32_t i = num < owner->ports ? num + 1u : owner->ports; i-- > 0 && ports[i].num >= num;)
		if (ports[i].num == num)
			return owner->first_port + i;
	return FABRIC_NONE;
}

uint32_t fabric_find_port(const struct fabric *fabric, uint64_t node_guid, uint8_t num)
{
	uint32_t node = fabric_find_node(fabric, node_guid);

	return node == FABRIC_NONE ? FABRIC_NONE : fabric_node_port(fabric, node, num);
}

uint16_t fabric_port_lid(const struct fabric *fabric, const struct port *port)
{
	const struct node *node = &fabric->nodes[port->node];
	uint16_t lid = node->type == NODE_SWITCH ? node->lid : port->lid;

	return lid <= LID_UNICAST_MAX ? lid : 0;
}

uint64_t fabric_port_guid(const struct fabric *fabric, uint32_t port)
{
	const struct node *node = &fabric->nodes[fabric->ports[port].node];
	uint32_t management = node->type == NODE_SWITCH ? fabric_node_port(fabric, fabric->ports[port].node, 0) : port;
	uint64_t guid = management != FABRIC_NONE ? fabric->ports[management].guid : 0;

	return guid ? guid : node->guid;
}

bool port_is_live(const struct fabric *fabric, const struct port *port)
{
	return port->state >= PORT_INIT && fabric_port_lid(fabric, port) != 0;
}

uint32_t fabric_port_agent(const struct fabric *fabric, uint32_t port)
{
	const struct node *node = &fabric->nodes[fabric->ports[port].node];

	return node->type == NODE_SWITCH ? node->first_port : port;
}

size_t fabric_count_unidentified(const struct fabric *fabric)
{
	size_t count = 0;

	for (size_t i = 0; i < fabric->port_count; i++)
		count += !fabric->nodes[fabric->ports[i].node].kept && port_is_unidentified(&fabric->ports[i]);
	return count;
}

bool port_is_unidentified(const struct port *port)
{
	return port->num > 0 && port->state >= PORT_INIT && port->peer == FABRIC_NONE;
}

bool port_is_pollable(const struct fabric *fabric, const struct port *port)
{
	return port->num > 0 || fabric->nodes[port->node].enhanced_port0;
}

bool port_is_sm(const struct port *port)
{
	return port->cap_mask >> 1 & 1;
}

size_t fabric_count_links(const struct fabric *fabric)
{
	size_t links = 0;

	for (size_t i = 0; i < fabric->port_count; i++)
		links += fabric->ports[i].peer != FABRIC_NONE && fabric->ports[i].peer > i;
	return links;
}

enum port_state fabric_link_state(const struct fabric *fabric, uint32_t index)
{
	const struct port *port = &fabric->ports[index];
	uint8_t peer = port->peer == FABRIC_NONE ? port->state : fabric->ports[port->peer].state;
	uint8_t state = peer < port->state ? peer : port->state;

	return state <= PORT_ACTIVE ? (enum port_state)state : PORT_STATE_UNKNOWN;
}

bool fabric_is_linked(const struct fabric *fabric, uint32_t port)
{
	const struct port *end = &fabric->ports[port];

	return end->num && end->peer != FABRIC_NONE && fabric->ports[end->peer].num && end->state >= PORT_INIT &&
	       fabric->ports[end->peer].state >= PORT_INIT;
}

uint64_t port_rate_bits_per_s(const struct port *port)
{
	return link_rate_bits_per_s(port->width, port->speed);
}

uint8_t ports_best_width(const struct port *a, const struct port *b, bool supported)
{
	uint8_t widths = supported ? a->width_supported & b->width_supported : a->width_enabled & b->width_enabled;

	if (link_width_lanes(a->width) <= 4 && widths & (LINK_WIDTH_1X | LINK_WIDTH_2X | LINK_WIDTH_4X))
		widths &= LINK_WIDTH_1X | LINK_WIDTH_2X | LINK_WIDTH_4X;
	return link_width_best(widths);
}

enum link_speed ports_best_speed(const struct port *a, const struct port *b, bool supported)
{
	return link_speed_best(supported ? a->speed_supported & b->speed_supported :
					   a->speed_enabled & b->speed_enabled);
}

uint64_t ports_best_rate(const struct port *a, const struct port *b, bool supported)
{
	return link_rate_bits_per_s(ports_best_width(a, b, supported), ports_best_speed(a, b, supported));
}

bool node_is_aggregation(const struct node *node)
{
	return node->type == NODE_CA &&
	       (node->device_id == DEVICE_ID_AGGREGATION_NODE || strstr(node->desc, "Aggregation Node"));
}

const char *port_state_name(uint8_t state)
{
	static const char *const names[] = { "unknown", "Down", "Init", "Armed", "Active" };

	return state < sizeof(names) / sizeof(names[0]) ? names[state] : names[0];
}

const char *port_phys_state_name(uint8_t phys_state)
{
	static const char *const names[] = {
		"unknown", "Sleep", "Polling", "Disabled", "Training", "LinkUp", "ErrorRecovery", "PhyTest",
	};

	return phys_state < sizeof(names) / sizeof(names[0]) ? names[phys_state] : names[0];
}

const char *node_type_name(uint8_t type)
{
	static const char *const names[] = { "unknown", "ca", "switch", "router" };

	return type < sizeof(names) / sizeof(names[0]) ? names[type] : names[0];
}
