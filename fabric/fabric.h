/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * fabric.h - the model of a fabric: nodes, their ports, the links between them
 *
 * A struct fabric is built once and then read-only: create it, add each node followed by its ports
 * in rising order of port number, link ports, finish. After fabric_finish() the arrays do not move,
 * and indexes into them are handles while this fabric lives. Identity beyond one fabric is node
 * GUID and port number only: LIDs, names and cables change.
 *
 * Invariants after fabric_finish(): the ports of a node are contiguous and in rising order of
 * number; peer is symmetric; every name is non-empty printable UTF-8; nodes are in the order of
 * addition.
 */
#ifndef IBWIRE_FABRIC_FABRIC_H
#define IBWIRE_FABRIC_FABRIC_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/map.h"
#include "fabric/firmware.h"
#include "fabric/names.h"
#include "fabric/speed.h"

struct error;

/* Values of NodeInfo.NodeType. Source: IBA Vol 1, NodeInfo. */
enum node_type { NODE_CA = 1, NODE_SWITCH = 2, NODE_ROUTER = 3 };

/* Values of PortInfo.PortState and PortPhysicalState. Source: IBA Vol 1, PortInfo. */
enum port_state { PORT_STATE_UNKNOWN, PORT_DOWN, PORT_INIT, PORT_ARMED, PORT_ACTIVE };
enum port_phys_state {
	PHYS_UNKNOWN, PHYS_SLEEP, PHYS_POLLING, PHYS_DISABLED, PHYS_TRAINING, PHYS_LINK_UP, PHYS_ERROR_RECOVERY,
	PHYS_TEST,
};

/* AdaptiveRoutingInfo of a switch (wire/smp.h); UNKNOWN: not read. */
enum adaptive_routing { ADAPTIVE_UNKNOWN, ADAPTIVE_OFF, ADAPTIVE_ON };

/* No port or no node of this index. */
#define FABRIC_NONE UINT32_MAX

/* Length of NodeDescription, and of a name made from it (4 characters a byte). */
#define NODE_DESC_SIZE 64
#define NODE_NAME_SIZE (4 * NODE_DESC_SIZE + 1)

struct node {
	uint64_t guid;
	uint64_t system_guid; /* SystemImageGUID */
	uint32_t vendor_id;
	uint32_t revision;
	uint16_t device_id;
	uint16_t lid;         /* of a switch: port 0's; of others 0, see the ports */
	uint16_t lft_top;     /* SwitchInfo.LinearFDBTop, which the collector updates; 0 for others */
	/* Entries of a P_Key table; 0: unknown, or none. Not stored in the database. */
	uint16_t partition_cap;   /* NodeInfo.PartitionCap: of HCA ports, and of port 0 of a switch */
	uint16_t enforcement_cap; /* SwitchInfo.PartitionEnforcementCap: of external ports */
	uint8_t type;         /* enum node_type */
	uint8_t port_count;   /* NodeInfo.NumPorts: external ports */
	bool enhanced_port0;  /* a switch whose port 0 is a real port with counters */
	uint8_t adaptive;     /* enum adaptive_routing; the collector sets it after the discovery */
	struct firmware firmware; /* as read or imported, if at all; set after the discovery */
	bool kept;            /* the last discovery did not find it: of an earlier one (fabric/keep.h) */
	char desc[NODE_DESC_SIZE + 1]; /* NodeDescription as received: untrusted */
	char *name;           /* display name, never empty (owned by the fabric) */
	uint32_t first_port;  /* index of its first port in fabric.ports */
	uint32_t ports;       /* number of its ports in fabric.ports */
};

struct port {
	uint64_t guid;     /* PortGUID; 0 for a switch's external ports */
	uint32_t node;     /* index into fabric.nodes */
	uint32_t peer;     /* index into fabric.ports, or FABRIC_NONE */
	uint32_t cap_mask; /* PortInfo.CapabilityMask */
	uint16_t lid;      /* base LID; for a switch's external ports 0 */
	uint16_t sm_lid;   /* PortInfo.MasterSMLID */
	uint16_t speed_enabled, speed_supported; /* masks of 1 << enum link_speed */
	uint8_t num;
	uint8_t lmc;
	uint8_t state;      /* enum port_state */
	uint8_t phys_state; /* enum port_phys_state */
	/* NONE below PORT_INIT: stale on the wire while the port is down. */
	uint8_t speed;      /* enum link_speed, active */
	uint8_t width;      /* enum link_width, active */
	uint8_t width_enabled, width_supported; /* masks */
	uint8_t enforcement; /* of a switch port, as of the discovery: bits of enum pkey_enforcement (fabric/pkeys.h) */
};

struct fabric {
	struct node *nodes;
	size_t node_count, node_capacity;
	struct port *ports;
	size_t port_count, port_capacity;
	uint32_t from_node; /* node from which it was discovered, or FABRIC_NONE */
	uint8_t from_port;
	struct map by_guid; /* node GUID to index */
	struct names names; /* displayed names, empty before fabric_finish() */
	unsigned sharers;   /* number of fabric_share() without fabric_destroy() */
};

struct fabric *fabric_create(struct error *err);
void fabric_destroy(struct fabric *fabric);

/*
 * fabric_share - add an owner to a finished fabric, which is freed by the last fabric_destroy()
 * Return: @fabric. Not thread-safe.
 */
struct fabric *fabric_share(struct fabric *fabric);

/*
 * fabric_add_node - append a node
 * @node:  copied; name, first_port and ports are ignored
 *
 * Return: its index, or a negative error: ERR_IO: the GUID is 0 or already used; ERR_NOMEM.
 */
int64_t fabric_add_node(struct fabric *fabric, const struct node *node, struct error *err);

/*
 * fabric_add_port - append a port to the last node
 * @port:  copied; node and peer are ignored
 *
 * Return: its index, or a negative error: ERR_IO: its number is not above the previous one, or
 * above port_count of the node; ERR_NOMEM.
 */
int64_t fabric_add_port(struct fabric *fabric, const struct port *port, struct error *err);

/*
 * fabric_link - connect two ports, given by index
 *
 * Return: 0 (also if they are already connected), or ERR_IO: one of them has another peer; nothing
 * changes.
 */
int fabric_link(struct fabric *fabric, uint32_t a, uint32_t b, struct error *err);

/*
 * fabric_finish - set name and displayed name of every node; the fabric is read-only from here on
 * @map:  names by GUID that take precedence over descriptions, or NULL (fabric/name_map.h)
 */
struct name_map;
int fabric_finish(struct fabric *fabric, const struct name_map *map, struct error *err);

/* fabric_find_node - Return: the index of a GUID's node, or FABRIC_NONE. */
uint32_t fabric_find_node(const struct fabric *fabric, uint64_t guid);

/* fabric_node_port - Return: the index of a node's port by number, or FABRIC_NONE. */
uint32_t fabric_node_port(const struct fabric *fabric, uint32_t node, uint8_t num);

/* fabric_find_port - the same from a node's GUID. */
uint32_t fabric_find_port(const struct fabric *fabric, uint64_t node_guid, uint8_t num);

/*
 * fabric_port_lid - LID for GMPs to a port: its own, or that of its switch; 0: no unicast LID
 * (yet). A port in Init may have the permissive LID.
 */
uint16_t fabric_port_lid(const struct fabric *fabric, const struct port *port);

/* fabric_port_guid - its PortGUID: that of port 0 for ports of a switch; without one the GUID of the node. */
uint64_t fabric_port_guid(const struct fabric *fabric, uint32_t port);

/*
 * port_is_live - the agent of this port can be polled: it is in Init or above, and has a LID for
 * GMPs.
 */
bool port_is_live(const struct fabric *fabric, const struct port *port);

/*
 * fabric_port_agent - the port that represents the performance agent of a port
 * A switch has one agent for all of its ports, each port of an HCA has its own. Return: index of
 * the first port of the switch, or of the HCA port itself.
 */
uint32_t fabric_port_agent(const struct fabric *fabric, uint32_t port);

/*
 * fabric_count_unidentified - number of ports with a link to an unidentified node, which did not respond to
 * discovery.
 */
size_t fabric_count_unidentified(const struct fabric *fabric);

/* port_is_unidentified - the port has a link to such a node. */
bool port_is_unidentified(const struct port *port);

/* port_is_pollable - the port has counters: an external port, or an enhanced port 0 of a switch. */
bool port_is_pollable(const struct fabric *fabric, const struct port *port);

/*
 * port_is_sm - a subnet manager runs at the port. Source: IBA Vol 1, 14.2.5.6
 * (PortInfo.CapabilityMask, IsSM).
 */
bool port_is_sm(const struct port *port);

/* fabric_count_links - number of pairs of ports that are peers. */
size_t fabric_count_links(const struct fabric *fabric);

/*
 * fabric_link_state - PortState of the link of a port: the lower one of both ends
 * A port in Init or Armed discards data packets, so a link is Active only if both ends are. A port without a peer has
 * its own state. Source: IBA Vol 1, PortInfo.PortState.
 */
enum port_state fabric_link_state(const struct fabric *fabric, uint32_t port);

/* fabric_is_linked - a cable with a link at both ends, whether Active or waiting for the SM: Init, Armed. */
bool fabric_is_linked(const struct fabric *fabric, uint32_t port);

/* port_rate_bits_per_s - data rate of the link in one direction; 0: unknown. */
uint64_t port_rate_bits_per_s(const struct port *port);

/*
 * ports_best_width - best width, speed and data rate that both ends of a link support, or have enabled
 * A width above 4x counts only if the link runs at it: ibsim and some devices report 8x or 12x for four lanes.
 * Return: 0: unknown.
 */
uint8_t ports_best_width(const struct port *a, const struct port *b, bool supported);
enum link_speed ports_best_speed(const struct port *a, const struct port *b, bool supported);
uint64_t ports_best_rate(const struct port *a, const struct port *b, bool supported);

/*
 * node_is_aggregation - a SHARP aggregation node: a CA inside a switch, not a host. Detected by
 * device id or description.
 */
bool node_is_aggregation(const struct node *node);

/* Names of the codes, "unknown" where there is none: "Active", "LinkUp", "switch". */
const char *port_state_name(uint8_t state);
const char *port_phys_state_name(uint8_t phys_state);
const char *node_type_name(uint8_t type);

#endif
