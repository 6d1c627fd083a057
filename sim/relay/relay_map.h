/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * relay_map.h - which node a MAD goes to
 *
 * A directed route is walked over the net as it was written; a LID is known
 * from the net, and from every PortInfo that passes by: the subnet manager
 * sets the LIDs, and what it set comes back in the answer.
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
	uint32_t *node_of; /* by LID; FABRIC_NONE: nobody's that we know */
	uint16_t *lid_of;  /* by index of the port; of a switch that of port 0 stands at its first port */
};

int relay_map_init(struct relay_map *map, const struct fabric *fabric, struct error *err);
void relay_map_done(struct relay_map *map);

/* relay_map_node - the node of an id as in the net file, "H-..." or "S-...". Return: its index or FABRIC_NONE. */
uint32_t relay_map_node(const struct relay_map *map, const char *node_id);

/*
 * relay_map_find - the node that a question is for
 * @seat:  where its sender sits: directed routes begin there
 *
 * Return: its index; FABRIC_NONE where there is none, or none that we know.
 */
uint32_t relay_map_find(const struct relay_map *map, uint32_t origin, const struct packet *request);

/* relay_map_learn - take LIDs from an answered PortInfo of @node; anything else changes nothing. */
void relay_map_learn(struct relay_map *map, uint32_t node, const uint8_t mad[PACKET_MAD_SIZE]);

/* relay_map_lid - the LID at which a node answers for a port of it. Return: it, or 0 where it is not known. */
uint16_t relay_map_lid(const struct relay_map *map, uint32_t node, uint8_t port);

#endif
