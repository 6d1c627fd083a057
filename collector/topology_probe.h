/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * topology_probe.h - detect topology changes at low cost, with every sweep
 *
 * A discovery takes thousands of SMPs. Between discoveries, each sweep queries SwitchInfo of every
 * switch, whose PortStateChange is a hint (the SM clears it), and PortInfo of a tenth of the switch
 * ports. Within ten sweeps this detects a link that went down, came up, or trained at another width
 * or speed; the port is explored then. NodeInfo of 1/30 of the HCAs detects those that respond to PMA
 * queries and not to SMPs. Switch ports that have just lost their link, or whose HCA has become
 * unresponsive, are queried in every sweep.
 */
#ifndef IBWIRE_COLLECTOR_TOPOLOGY_PROBE_H
#define IBWIRE_COLLECTOR_TOPOLOGY_PROBE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "fabric/path.h"
#include "wire/explore.h"

struct engine;
struct error;
struct fabric;
struct node_memory;
struct sweep_result;

/* Number of sweeps in which PortInfo of all switch ports is queried once. */
#define TOPOLOGY_PROBE_SWEEPS 10

/* Up to this number of ports a fabric is small. */
#define TOPOLOGY_PROBE_SMALL 640

/* Number of sweeps in which NodeInfo of all HCAs is queried once. */
#define TOPOLOGY_PROBE_HCA_SWEEPS 30

/* Sweeps between SMPs to a locked node (sweep_events.c). */
#define TOPOLOGY_PROBE_LOCKED_SWEEPS 30

/* Switch ports that lost their link are queried in this number of sweeps; at most this many ports. */
#define TOPOLOGY_PROBE_LOST_SWEEPS 30
#define TOPOLOGY_PROBE_LOST_MAX 64

struct topology_probe {
	const struct fabric *fabric; /* of the current sweep */
	struct node_memory *memory;
	bool skip_hcas;              /* HCAs are not polled, and get no SMPs */
	bool fresh;                  /* a discovery has just read all PortInfos: the next sweep queries none */
	bool read_adaptive;          /* the next sweep queries AdaptiveRoutingInfo of NVIDIA's switches */
	uint32_t turn;               /* the tenth that is next */
	uint64_t sweep;              /* number of calls */
	uint64_t generation;         /* of the fabric (node_memory.h) whose lost links are listed */
	struct lost_link {
		uint64_t node_guid, sweep; /* sweep: the first one without the link */
		uint8_t num;
	} lost[TOPOLOGY_PROBE_LOST_MAX];
	size_t lost_count;
	/* Results of the last sweep. */
	struct explore_port changes[EXPLORE_PORTS_MAX]; /* ports that differ; number 0: PortStateChange of a switch */
	size_t change_count;
	bool differs;                /* of these, at least one port differs */
	bool whole;                  /* there are more changes than listed, or a path leads nowhere */
	uint32_t smps;               /* sent */
	uint32_t links_seen;         /* ports with a link, of those that responded */
	uint32_t links_not_active;   /* of those, ports in state Init or Armed */
};

/*
 * topology_probe_submit - queue the SMPs of one sweep
 * @probe:   initially zeroed; must be valid until engine_run() has returned
 * @memory:  the result of each node's SMPs is recorded
 *
 * Return: 0 or ERR_NOMEM.
 */
int topology_probe_submit(struct topology_probe *probe, struct engine *engine, struct node_memory *memory,
			  struct error *err);

/* topology_probe_cost - average number of SMPs per sweep. */
uint64_t topology_probe_cost(const struct fabric *fabric, bool skip_hcas);

/*
 * A link that went down since the last sweep may be back as it was, and that of an HCA that became
 * unresponsive may be up as before. Two SMPs determine that without a discovery: PortInfo of the
 * switch port, and NodeInfo of the node behind it, along a path that ends with this cable.
 */

/* More suspected links than this count as a change: a discovery covers all of them. */
#define LINK_VERIFY_MAX 32

struct link_verify {
	const struct fabric *fabric;
	struct node_memory *memory;
	bool changed;                     /* there are more links than below, or one cannot be queried */
	size_t count;
	uint32_t ports[LINK_VERIFY_MAX];    /* switch ports to verify, indices */
	bool downed[LINK_VERIFY_MAX];       /* LinkDowned increased; otherwise the HCA is unresponsive */
	bool differs[LINK_VERIFY_MAX];      /* the port or its peer differs from the topology, or timed out */
	struct path paths[LINK_VERIFY_MAX]; /* to their peers */
};

/*
 * link_verify_select - select the links that a sweep indicates as changed
 * @verify:  overwritten; `changed` if there are too many, or neither end is a switch port
 * @memory:  before sweep_commit()
 * @result:  of the current sweep
 */
void link_verify_select(struct link_verify *verify, struct node_memory *memory, const struct sweep_result *result);

/*
 * link_verify_run - query the selected links, unless a change is already known
 * @engine:       idle. Each SMP is sent once, so an unresponsive node costs 20 ms
 * @deadline_us:  CLOCK_BOOTTIME; links without a response by then differ
 * Return: 0; ERR_UNAVAILABLE if the local device failed; ERR_NOMEM.
 */
int link_verify_run(struct link_verify *verify, struct engine *engine, int64_t deadline_us, struct error *err);

#endif
