/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * relay_map.h - the destination node of a MAD
 * LIDs are those of the net file, updated from each PortInfo response: the subnet manager assigns them.
 */
#ifndef IBWIRE_SIM_RELAY_MAP_H
#define IBWIRE_SIM_RELAY_MAP_H

#include <stdint.h>

#include "sim/ibsim/packet.h"

struct error;
struct fabric;

#define RELAY_LIDS 0xc000 /* unicast LIDs are below */

struct relay_map {
	const struct fabric *fabric; /* borrowed */
	uint32_t *node_of; /* by LID; FABRIC_NONE: unknown */
	uint16_t *lid_of;  /* by port index; the LID of a switch is at its first port */
};

int relay_map_init(struct relay_map *map, const struct fabric *fabric, struct error *err);
void relay_map_done(struct relay_map *map);

/* relay_map_node - the node of an id in the net file, "H-..." or "S-...". Return: its index or FABRIC_NONE. */
uint32_t relay_map_node(const struct relay_map *map, const char *node_id);

/*
 * relay_map_find - the destination node of a request
 * @origin:  node of the sender, where directed routes begin
 *
 * Return: its index; FABRIC_NONE if it is unknown.
 */
uint32_t relay_map_find(const struct relay_map *map, uint32_t origin, const struct packet *request);

/* relay_map_learn - update LIDs from a PortInfo response of @node; other MADs are ignored. */
void relay_map_learn(struct relay_map *map, uint32_t node, const uint8_t mad[PACKET_MAD_SIZE]);

/* relay_map_lid - the LID of a port of a node. Return: the LID, or 0 if it is unknown. */
uint16_t relay_map_lid(const struct relay_map *map, uint32_t node, uint8_t port);

#endif
