/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * node_memory.h - state of each node and port between sweeps
 *
 * Keyed by node GUID and port number, so it outlives topologies: a switch that disappears and
 * returns has its last readings. Entries are never removed; if there are too many, the collector starts again, and
 * the store returns a limited number of them.
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
#include "wire/engine.h"

struct error;
struct fabric;
struct keys;
struct path;
struct request;

struct port_entry {
	bool has_last;
	uint8_t extended_failures;      /* consecutive sweeps in which PortCountersExtended failed (sweep_port.c) */
	enum sample_status status; /* in the last stored sweep */
	counter_set saturated;     /* already reported */
	counter_set contradicted;  /* 64-bit error counters below those of PortCounters, not reported yet */
	uint8_t resets;            /* sweeps in which counters decreased (hidden_reset.c), at most 2 */
	int64_t reset_us;          /* the last of them: CLOCK_BOOTTIME */
	int64_t doubtful_us;       /* CLOCK_BOOTTIME of a reset since which no delta was exact; 0: none */
	float words_per_us[2];     /* rate sent, received: the last exact one, or since then the largest */
	bool has_rate[2];          /* there was an exact one */
	uint32_t cleared_window;   /* number of the window in which they were last cleared (sweep_events.h) */
	struct reading last;       /* last stored reading */
	/* Last stored readings of detail counters (details.h), in no order: node_memory_detail() */
	struct detail_reading *details;
	uint64_t details_sweep; /* sweep of details_read and details_seldom */
	uint64_t wait_sweep;   /* sweep in which PortVLXmitWait was queried, 0: never */
	uint32_t details_read; /* queried: bits 1 << enum detail_attribute */
	uint8_t detail_count;
	uint8_t details_seldom; /* the seldom attribute that is read, DETAIL_ATTRIBUTE_COUNT: none */
	uint8_t fec_layout;    /* enum fec_layout */
	bool redirect_new;     /* redirected in this sweep */
	struct mad_address redirect; /* node_memory_redirect(); LID 0: none */
	uint16_t redirect_from; /* the LID that redirected */
};

/* Result of a node's SMPs in one sweep; one response is sufficient. */
enum smp_result { SMP_NOT_SENT, SMP_NO_RESPONSE, SMP_RESPONDED };

struct node_entry {
	uint64_t guid;
	struct pma_caps caps;
	bool caps_stored;
	uint32_t unresponsive_sweeps; /* consecutive, without any response */
	bool unresponsive_reported;       /* as an event of this node */
	bool lacks_port_select;           /* its responses have PortSelect 0 instead of the port */
	bool lacks_port_select_reported;
	uint8_t timed_out_queries[DETAIL_ATTRIBUTE_COUNT]; /* detail and tick queries, consecutive */
	/* For SMPs only (sweep_events.c): */
	uint64_t smp_sent_at;  /* sweep of a locked node's last SMP (topology_probe.h) */
	uint8_t smp_result;       /* enum smp_result, in this sweep */
	uint8_t smp_timeout_sweeps; /* consecutive, with PMA responses and without an SMP response */
	uint8_t unconfirmed_sweeps; /* with an implausible reading, since the last SMP response by LID */
	bool locked;
	uint16_t lft_top;    /* last SwitchInfo.LinearFDBTop; 0: not read since the start */
	uint8_t adaptive, adaptive_reported; /* enum adaptive_routing: AdaptiveRoutingInfo as last read */
	struct firmware firmware; /* as last read or imported (firmware_read.h) */
	bool firmware_unstored, firmware_due;
	uint8_t firmware_failures; /* consecutive queries without it */
	uint64_t firmware_generation; /* of the fabric in the last run with this node; 0: none */
	uint8_t planes_reported; /* reported number of planes (sweep_events.c) */
	uint32_t first_port; /* index of its port 0 in node_memory.ports */
	uint32_t ports;      /* port_count + 1 */
};

struct node_memory {
	struct node_entry *nodes;
	size_t node_count, node_capacity;
	struct port_entry *ports;
	size_t port_count, port_capacity;
	struct map by_guid;
	const struct fabric *fabric; /* the current one, whose indices are used below and by all functions (borrowed) */
	uint64_t generation;     /* incremented with each change of `fabric` */
	uint32_t *node_of;       /* by index into fabric->nodes */
	const struct keys *keys; /* M_Keys, or NULL (borrowed) */
	bool directed;           /* SMPs are routed along paths, not by LID */
	bool no_smps;            /* none are sent: the functions that route an SMP return false */
	struct path *paths;      /* by index into fabric->nodes */
};

void node_memory_done(struct node_memory *memory);

/*
 * node_memory_set_fabric - the current fabric is another one: create entries for each of its nodes
 * Return: 0 or ERR_NOMEM (the former index remains).
 */
int node_memory_set_fabric(struct node_memory *memory, const struct fabric *fabric, struct error *err);

/*
 * node_memory_put_switch_info - set adaptive and lft_top of the current fabric's nodes to what was last read
 * @fabric:  memory->fabric
 * Return: whether one of them changed at a node.
 */
bool node_memory_put_switch_info(const struct node_memory *memory, struct fabric *fabric);

/* node_memory_put_firmware - set the firmware of the nodes of memory->fabric to what is known; @fabric: as above */
void node_memory_put_firmware(const struct node_memory *memory, struct fabric *fabric);

/*
 * node_memory_agent_id - the engine's identifier of a port's performance agent; never 0
 *
 * The ports of a switch share an agent, each port of an HCA has its own. The identifier is stable
 * while the node's number of ports does not increase.
 */
uint32_t node_memory_agent_id(const struct node_memory *memory, uint32_t port);

/* node_memory_vendor_id - the same of its agent of a vendor class, whose response times are others */
uint32_t node_memory_vendor_id(const struct node_memory *memory, uint32_t port);

/* node_memory_pma_request - a query to a port's performance agent; tag is the port */
struct request node_memory_pma_request(const struct node_memory *memory, uint32_t port, uint16_t attribute,
				       request_done *done, void *ctx);

/* node_memory_is_switch - is a node of the current fabric a switch? */
bool node_memory_is_switch(const struct node_memory *memory, uint32_t node);

/*
 * node_memory_route_smp - set class, LID or path, M_Key and agent of an SMP to a node
 * @num:   the port whose LID is used; of a switch that of port 0
 *
 * M_Keys are stored by port GUID; otherwise one with the node's GUID is used.
 * Return: false if there is no LID or no path, or no SMPs are sent.
 */
bool node_memory_route_smp(const struct node_memory *memory, uint32_t node, uint8_t num, struct request *request);

/* node_memory_route_smp_to_lid - the same for a LID, which may be unknown; the agent is not set */
bool node_memory_route_smp_to_lid(const struct node_memory *memory, uint16_t lid, struct request *request);

/*
 * node_memory_note_smp - an SMP to a node has ended
 * @responded:  with any status; false: timed out. Not to be called for a cancelled one.
 */
void node_memory_note_smp(struct node_memory *memory, uint32_t node, bool responded);

/* node_memory_port_index - index of the entry of a port; stable while the number of ports of its node is */
uint32_t node_memory_port_index(const struct node_memory *memory, uint32_t port);

/* node_memory_node, node_memory_port - the entry of a node or port */
struct node_entry *node_memory_node(struct node_memory *memory, uint32_t node);
struct port_entry *node_memory_port(struct node_memory *memory, uint32_t port);

/*
 * node_memory_redirect - the address to which a port's agent redirected; LID 0: none
 * Shared by the ports of a switch. Each port of an HCA has its own.
 */
struct mad_address *node_memory_redirect(struct node_memory *memory, uint32_t port);

/* node_memory_agent - the entry of a port's performance agent: port 0 of a switch, else the port itself. */
struct port_entry *node_memory_agent(struct node_memory *memory, uint32_t port);

/*
 * node_memory_set_caps - what a node's performance agent returned; zeroed: to be queried again
 * What its readings have contradicted remains.
 */
void node_memory_set_caps(struct node_entry *node, struct pma_caps caps);

/* counters_saturated - the counters of a reading that are at their maximum. */
counter_set counters_saturated(const struct reading *reading);

/* node_memory_detail - the last stored reading of an attribute; NULL: none. States (detail_is_state()) have none. */
const struct detail_reading *node_memory_detail(const struct port_entry *port, enum detail_attribute attribute);

/* node_memory_set_detail - store the last reading of an attribute. Return: 0 or ERR_NOMEM. */
int node_memory_set_detail(struct port_entry *port, const struct detail_reading *reading);

/*
 * node_memory_restore - initialise with the stored state
 * @boot_id, @now_us, @wall_now_us:  current clock. Readings of another boot are converted to this
 *     boot's time by the wall clock.
 * Of departed nodes, those that were known first are restored, up to a limit: false ones come later.
 * Return: 0 or ERR_NOMEM.
 */
int node_memory_restore(struct node_memory *memory, const struct restored *restored, const char *boot_id,
			int64_t now_us, int64_t wall_now_us, struct error *err);

#endif
