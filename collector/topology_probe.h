/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * topology_probe.h - detect topology changes at low cost, with every sweep
 *
 * A discovery takes thousands of SMPs. Between discoveries, each sweep queries SwitchInfo of every
 * switch, whose PortStateChange is a hint (the SM clears it), and PortInfo of a tenth of the switch
 * ports. Within ten sweeps this detects a link that went down, came up, or trained at another width
 * or speed; a discovery follows.
 */
#ifndef IBWIRE_COLLECTOR_TOPOLOGY_PROBE_H
#define IBWIRE_COLLECTOR_TOPOLOGY_PROBE_H

#include <stdbool.h>
#include <stdint.h>

#include "wire/mad.h"

struct engine;
struct error;
struct fabric;
struct node_memory;

/* Number of sweeps in which PortInfo of all switch ports is queried once. */
#define TOPOLOGY_PROBE_SWEEPS 10

/* Up to this number of ports a fabric is small. */
#define TOPOLOGY_PROBE_SMALL 640

/* Sweeps between SMPs to a locked node (sweep_events.c). */
#define TOPOLOGY_PROBE_LOCKED_SWEEPS 30

struct topology_probe {
	const struct fabric *fabric; /* of the current sweep */
	struct node_memory *memory;
	bool fresh;                  /* a discovery has just read all PortInfos: the next sweep queries none */
	uint32_t turn;               /* the tenth that is next */
	uint64_t sweep;              /* number of calls */
	/* Results of the last sweep. */
	bool changed;
	uint32_t changed_port;       /* index of the first port that differs; FABRIC_NONE: PortStateChange alone */
	uint32_t smps;               /* sent */
	uint32_t links_seen;         /* ports with a link, of those that responded */
	uint32_t links_not_active;   /* of those, ports in state Init or Armed */
};

/*
 * topology_probe_submit - queue the SMPs of one sweep
 * @probe:   initially zeroed; must be valid until engine_run() has returned
 * @memory:  indexed by @fabric; the result of each node's SMPs is recorded
 *
 * Return: 0 or ERR_NOMEM.
 */
int topology_probe_submit(struct topology_probe *probe, struct engine *engine, const struct fabric *fabric,
			  struct node_memory *memory, struct error *err);

/* topology_probe_matches - does the PortInfo of a switch port (an index) match @fabric? */
bool topology_probe_matches(const struct fabric *fabric, uint32_t port, const uint8_t mad[MAD_SIZE]);

/* topology_probe_cost - average number of SMPs per sweep. */
uint64_t topology_probe_cost(const struct fabric *fabric);

#endif
