/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * explore.h - discovery of the fabric with directed SMPs, on the request engine
 *
 * Breadth first along directed routes: NodeInfo of each node, and of the node behind each switch
 * port that has a link. Independent queries are in flight at the same time, within the limits of
 * the engine. A query that times out is retried soon, and the last time with a longer timeout after
 * all others; all retries to a node without any response yet are made after all others. Such a
 * query is counted in max_smps for 5 ms only, and a late response answers it, too: unresponsive
 * nodes delay no others, and slow nodes are found.
 *
 * With a list of ports, only these are read and what is behind them; the rest is taken from the last
 * topology (wire/merge.h). Their switches are reached along paths of the last topology that avoid
 * these ports. A node that it contains gets PortInfo of the port at the link, and is not followed
 * further. A new node is explored with everything behind it. The other end of each link that is gone
 * or leads elsewhere is read as well: a cable was moved, or two were swapped.
 */
#ifndef IBWIRE_WIRE_EXPLORE_H
#define IBWIRE_WIRE_EXPLORE_H

#include <stddef.h>
#include <stdint.h>

#include "fabric/record.h"

struct clock;
struct error;
struct fabric;
struct keys;
struct text;
struct transport;

/* A port of a switch whose link may have changed; 0: all ports of the switch. */
struct explore_port {
	uint64_t node_guid;
	uint8_t num;
};

/* Maximum number of ports to explore. */
#define EXPLORE_PORTS_MAX 256

struct explore_settings {
	unsigned max_smps;   /* in flight */
	unsigned per_node;   /* in flight to one node */
	unsigned timeout_ms; /* maximum response timeout */
	unsigned retries;
	int64_t deadline_us; /* CLOCK_BOOTTIME at which it ends with what it has found so far; 0: none */
	const struct keys *keys; /* M_Keys of the nodes; borrowed, or NULL */
	const struct fabric *last; /* as discovered before, for the keys of nodes behind ports; borrowed, or NULL */
	const struct explore_port *ports; /* of `last`; borrowed */
	size_t port_count;       /* 0: the whole fabric is explored */
	uint64_t own_guid;       /* of the local port */
};

/* explore_run() is done, and late responses may still arrive. */
#define EXPLORE_OPEN 1

/*
 * explore_run - discover the fabric behind the port of a transport, or explore ports of the last topology
 * @ret:          a finished fabric, without a name map
 * @ret_trailer:  all but took_us
 * @notes:        lines about inconsistencies are appended
 *
 * A node with GUID 0 has no identity and is left out: its peer then has a link and no peer. At the
 * deadline, queries without a response count as lost or silent, and a note has their number. Return:
 * 0; EXPLORE_OPEN; ERR_UNAVAILABLE: the node of this host does not respond, or the device failed; of
 * ports, also: the fabric contradicts the last topology, or more than half of it would be queried, so
 * the whole fabric must be discovered; ERR_NOMEM.
 */
int explore_run(const struct transport *transport, const struct clock *clock, const struct explore_settings *settings,
		struct fabric **ret, struct record_trailer *ret_trailer, struct text *notes, struct error *err);

#endif
