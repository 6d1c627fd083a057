/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
#include "sim/relay/relay_map.h"

#include <arpa/inet.h>
#include <stdlib.h>
#include <string.h>

#include "base/err.h"
#include "fabric/fabric.h"

static void set_lid(struct relay_map *map, uint32_t node, uint32_t port, uint16_t lid, unsigned lmc)
{
	if (!lid || lid >= RELAY_LIDS)
		return;
	if (map->lid_of[port] != lid && map->node_of[map->lid_of[port]] == node)
		map->node_of[map->lid_of[port]] = FABRIC_NONE;
	map->lid_of[port] = lid;
	for (uint32_t path = 0; path < 1u << lmc && lid + path < RELAY_LIDS; path++)
		map->node_of[lid + path] = node;
}

int relay_map_init(struct relay_map *map, const struct fabric *fabric, struct error *err)
{
	map->fabric = fabric;
	map->node_of = malloc(RELAY_LIDS * sizeof(*map->node_of));
	map->lid_of = calloc(fabric->port_count ? fabric->port_count : 1, sizeof(*map->lid_of));
	if (!map->node_of || !map->lid_of) {
		relay_map_done(map);
		return err_nomem(err);
	}
	for (size_t i = 0; i < RELAY_LIDS; i++)
		map->node_of[i] = FABRIC_NONE;
	for (size_t i = 0; i < fabric->node_count; i++)
		if (fabric->nodes[i].lid && fabric->nodes[i].ports)
			set_lid(map, (uint32_t)i, fabric->nodes[i].first_port, fabric->nodes[i].lid, 0);
	for (size_t i = 0; i < fabric->port_count; i++)
		if (fabric->nodes[fabric->ports[i].node].type != NODE_SWITCH)
			set_lid(map, fabric->ports[i].node, (uint32_t)i, fabric->ports[i].lid,
				fabric->ports[i].lmc & 7);
	return 0;
}

void relay_map_done(struct relay_map *map)
{
	free(map->node_of);
	free(map->lid_of);
	memset(map, 0, sizeof(*map));
}

uint32_t relay_map_node(const struct relay_map *map, const char *node_id)
{
	if (strlen(node_id) < 3 || node_id[1] != '-')
		return FABRIC_NONE;
	return fabric_find_node(map->fabric, strtoull(node_id + 2, NULL, 16));
}

/* Source: IBA Vol 1, 14.2.2: hop by hop, starting at the sender's node. */
static uint32_t walk(const struct relay_map *map, uint32_t node, const uint8_t *mad)
{
	const struct fabric *fabric = map->fabric;
	unsigned count = mad[MAD_HOP_COUNT];

	for (unsigned hop = 1; hop <= count && hop < 64 && node != FABRIC_NONE; hop++) {
		uint32_t port = fabric_node_port(fabric, node, mad[MAD_INITIAL_PATH + hop]);

		if (port == FABRIC_NONE || fabric->ports[port].peer == FABRIC_NONE)
			return FABRIC_NONE;
		node = fabric->ports[fabric->ports[port].peer].node;
	}
	return node;
}

uint32_t relay_map_find(const struct relay_map *map, uint32_t origin, const struct packet *request)
{
	uint16_t lid = ntohs((uint16_t)request->dlid);

	if (request->mad[MAD_CLASS] == CLASS_SUBN_DIRECTED)
		return walk(map, origin, request->mad);
	return lid < RELAY_LIDS ? map->node_of[lid] : FABRIC_NONE;
}

/* Source: IBA Vol 1, 14.2.5.6 PortInfo: LID at byte 16, LocalPortNum at 28, LMC in the low bits of 34. */
void relay_map_learn(struct relay_map *map, uint32_t node, const uint8_t mad[PACKET_MAD_SIZE])
{
	const uint8_t *info = mad + PACKET_MAD_DATA;
	const struct node *owner;
	uint32_t port;

	if (node == FABRIC_NONE || !packet_is_port_info(mad))
		return;
	owner = &map->fabric->nodes[node];
	if (!owner->ports)
		return;
	if (owner->type == NODE_SWITCH)
		/* External ports have no LID of their own. */
		port = load_be32(mad + MAD_MODIFIER) & 0xff ? FABRIC_NONE : owner->first_port;
	else
		port = fabric_node_port(map->fabric, node,
					mad[MAD_MODIFIER + 3] ? mad[MAD_MODIFIER + 3] : info[28]);
	if (port != FABRIC_NONE)
		set_lid(map, node, port, load_be16(info + 16), info[34] & 7);
}

uint16_t relay_map_lid(const struct relay_map *map, uint32_t node, uint8_t number)
{
	const struct node *owner = &map->fabric->nodes[node];
	uint32_t port;

	if (!owner->ports)
		return 0;
	if (owner->type == NODE_SWITCH)
		return map->lid_of[owner->first_port];
	port = fabric_node_port(map->fabric, node, number);
	/* A request without a port (ClassPortInfo of an HCA) is for the node: each of its ports receives it. */
	if (number == 0)
		port = owner->first_port;
	return port == FABRIC_NONE ? 0 : map->lid_of[port];
}
