/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * topology_probe.h - has the topology changed? Asked cheaply, with every sweep
 *
 * A discovery costs thousands of SMPs. Between discoveries each sweep asks every
 * switch for SwitchInfo, whose PortStateChange is a hint (the SM clears it), and
 * a tenth of the switches' ports, up or down, for PortInfo: within ten sweeps a
 * link that went, came, or trained at another width or speed is seen, and is
 * then looked at by a discovery.
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

/* Over how many sweeps the PortInfos of all switch ports are spread. */
#define TOPOLOGY_PROBE_SWEEPS 10

/* A fabric with so many ports is small. */
#define TOPOLOGY_PROBE_SMALL 640

/* A node that is locked (collector/locked.h) is asked an SMP again after so many sweeps. */
#define TOPOLOGY_PROBE_LOCKED_SWEEPS 30

struct topology_probe {
	const struct fabric *fabric; /* of the checks that are under way */
	struct node_memory *memory;
	bool fresh;                  /* a discovery has just read all PortInfos: the next sweep asks for none */
	uint32_t turn;               /* which tenth is next */
	uint64_t sweep;              /* counts calls */
	/* What the last checks have seen. */
	bool changed;
	uint32_t changed_port;       /* index of the first port that differs; FABRIC_NONE: PortStateChange alone */
	uint32_t smps;               /* asked */
	uint32_t links_seen;         /* ports with a link, of those that answered */
	uint32_t links_not_active;   /* of those, ports in state Init or Armed: the SM is at work */
};

/*
 * topology_probe_submit - queue the SMPs that belong to one sweep
 * @check:   zeroed at first; must live until engine_run() has returned
 * @memory:  follows @fabric; is told who answers SMPs and who leaves them open
 *
 * Return: 0 or ERR_NOMEM.
 */
int topology_probe_submit(struct topology_probe *probe, struct engine *engine, const struct fabric *fabric,
			  struct node_memory *memory, struct error *err);

/* topology_probe_matches - does the PortInfo of a switch port (an index) agree with @fabric about its link? */
bool topology_probe_matches(const struct fabric *fabric, uint32_t port, const uint8_t mad[MAD_SIZE]);

/* topology_probe_cost - SMPs that one sweep of a fabric takes, on average. */
uint64_t topology_probe_cost(const struct fabric *fabric);

#endif
