/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * node_memory.h - what the collector remembers of each node and port between sweeps
 *
 * Keyed by node GUID and port number, so it outlives topologies: a switch that
 * vanishes and returns finds its last readings again. Nothing is ever removed;
 * it grows with the number of different ports that were ever seen.
 */
#ifndef IBWIRE_COLLECTOR_NODE_MEMORY_H
#define IBWIRE_COLLECTOR_NODE_MEMORY_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/map.h"
#include "collector/sink.h"
#include "fabric/counter.h"
#include "fabric/detail.h"
#include "wire/mad.h"

struct error;
struct fabric;
struct keys;
struct path;
struct request;

struct port_entry {
	bool has_last;
	uint8_t extended_bad;      /* sweeps in a row that PortCountersExtended was an error in (sweep_port.c) */
	enum sample_status status; /* in the last stored sweep */
	counter_set saturated;     /* told in an event already */
	uint32_t cleared_window;   /* number of the window in which it was last cleared (sweep_events.h) */
	struct reading last;       /* the last one that was stored */
	/* Slow counters (details.h): the last readings that were stored, one per attribute; NULL: none. */
	struct detail_reading *details;
	uint64_t details_sweep; /* in which details_read were asked */
	uint64_t wait_sweep;   /* in which PortVLXmitWait was asked, 0: never */
	uint8_t details_read;  /* bits 1 << enum detail_attribute */
	uint8_t fec_layout;    /* enum fec_layout */
	bool redirect_new;     /* it said so in this sweep */
	struct mad_address redirect; /* node_memory_redirect(); LID 0: none */
};

/* What a node did with a sweep's SMPs; one answer is enough. */
enum smp_result { SMP_NOT_SENT, SMP_NO_RESPONSE, SMP_RESPONDED };

struct node_entry {
	uint64_t guid;
	struct pma_caps caps;
	bool caps_stored;
	uint32_t silent_sweeps; /* in a row in which it answered nothing */
	bool silence_reported;       /* in an event of its own */
	uint8_t unanswered[DETAIL_ATTRIBUTE_COUNT + 1]; /* slow questions in a row, per attribute, and for the tick */
	/* Of SMPs, and not of counters (collector/locked.h): */
	uint64_t smp_sent_at;  /* sweep in which a locked node was asked last (topology_probe.h) */
	uint8_t smp_result;       /* enum smp_result, in this sweep */
	uint8_t smp_timeout_sweeps; /* in a row in which it was asked and answered none, but for counters */
	bool locked;
	uint16_t lft_top;    /* SwitchInfo.LinearFDBTop as it said last; 0: not since the collector began */
	uint8_t planes_reported; /* how many ports of it were told to be planes (collector/layout.h) */
	uint32_t first_port; /* index into memory.ports of its port 0 */
	uint32_t ports;      /* port_count + 1 */
};

struct node_memory {
	struct node_entry *nodes;
	size_t node_count, node_capacity;
	struct port_entry *ports;
	size_t port_count, port_capacity;
	struct map by_guid;
	/* Of the fabric that node_memory_set_fabric() was given: its indices to ours. */
	uint32_t *node_of; /* by index into fabric->nodes */
	const struct keys *keys; /* M_Keys, or NULL (borrowed) */
	bool directed;           /* SMPs are routed along paths, not by LID */
	struct path *paths;      /* by index into fabric->nodes */
};

void node_memory_done(struct node_memory *memory);

/*
 * node_memory_set_fabric - make room for every node of a fabric and index them
 * Return: 0 or ERR_NOMEM (then the former index stands).
 */
int node_memory_set_fabric(struct node_memory *memory, const struct fabric *fabric, struct error *err);

/*
 * node_memory_agent_id - the number that the engine knows a port's agent by; never 0
 * @port:  index into the followed fabric's ports
 *
 * The ports of a switch have one agent between them, each port of an HCA has its
 * own. The number stays the same while the node has no more ports than it had.
 */
uint32_t node_memory_agent_id(const struct node_memory *memory, const struct fabric *fabric, uint32_t port);

/*
 * node_memory_route_smp - fill in how an SMP gets to a node: class, LID or path, M_Key, and the engine's lane
 * @node:  index into @fabric->nodes
 * @num:   the port whose LID it goes to; a switch has one, that of its port 0
 *
 * Keys stand with port GUIDs; where there is none with the port's, one with the
 * node's GUID is taken. Return: false where there is no way: no LID, or no path.
 */
bool node_memory_route_smp(const struct node_memory *memory, const struct fabric *fabric, uint32_t node, uint8_t num,
			   struct request *request);

/*
 * node_memory_route_smp_to_lid - the same for whoever has a LID; by LID and without a key
 * where nobody is known to. The lane is not filled in.
 */
bool node_memory_route_smp_to_lid(const struct node_memory *memory, const struct fabric *fabric, uint16_t lid,
				  struct request *request);

/*
 * node_memory_note_smp - an SMP to a node has ended
 * @answered:  whatever the answer says; false: left open, not where it was cancelled
 */
void node_memory_note_smp(struct node_memory *memory, uint32_t node, bool responded);

/* node_memory_node, node_memory_port - by index into the followed fabric. */
struct node_entry *node_memory_node(struct node_memory *memory, uint32_t node);
struct port_entry *node_memory_port(struct node_memory *memory, const struct fabric *fabric, uint32_t port);

/* node_memory_address - where a port's performance agent is asked. */
struct mad_address node_memory_address(struct node_memory *memory, const struct fabric *fabric, uint32_t port);

/*
 * node_memory_redirect - where the agent of a port says to ask instead; LID 0: nowhere
 * The ports of a switch share it, each port of an HCA has its own: its agent answers
 * for that port alone.
 */
struct mad_address *node_memory_redirect(struct node_memory *memory, const struct fabric *fabric, uint32_t port);

/* node_memory_agent - the entry of a port's performance agent: port 0 of a switch, else the port itself. */
struct port_entry *node_memory_agent(struct node_memory *memory, const struct fabric *fabric, uint32_t port);

/* counters_saturated - the counters of a reading that sit at their maximum. */
counter_set counters_saturated(const struct reading *reading);

/* node_memory_set_detail - this is the port's last reading of an attribute now. Return: 0 or ERR_NOMEM. */
int node_memory_set_detail(struct port_entry *port, const struct detail_reading *reading);

/*
 * node_memory_restore - take over what the sink gave back
 * @boot_id, @now_us, @wall_now_us:  of the clock now. Readings of another boot
 *     are moved onto this boot's time line by the wall clock, the only one that
 *     spans both.
 * Return: 0 or ERR_NOMEM.
 */
int node_memory_restore(struct node_memory *memory, const struct restored *restored, const char *boot_id,
			int64_t now_us, int64_t wall_now_us, struct error *err);

#endif
