/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * routes.h - the forwarding tables of the switches of a fabric, and their evaluation
 *
 * Tables are kept by node GUID, so they persist across topologies. They contain static routes: with
 * adaptive routing, packets take other ports, too.
 */
#ifndef IBWIRE_FABRIC_ROUTES_H
#define IBWIRE_FABRIC_ROUTES_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/map.h"

struct error;
struct fabric;
struct port;

/* A table's entry for "no port". Source: IBA Vol 1, LinearForwardingTable. */
#define ROUTES_NO_PORT 0xff
/* LIDs in one LinearForwardingTable attribute. */
#define ROUTES_BLOCK 64
/* Unicast LIDs end below this one. */
#define ROUTES_LIDS 0xc000

/* Blocks that a table has at most: LinearForwardingTable's modifiers. */
#define ROUTES_BLOCKS (ROUTES_LIDS / ROUTES_BLOCK)

struct route_table {
	uint64_t node_guid;
	uint32_t lids;   /* number of entries; a multiple of ROUTES_BLOCK */
	uint8_t *ports;  /* by LID; ROUTES_NO_PORT in blocks that were not read */
	bool *read;      /* by block: it was read */
};

/* A zeroed struct is empty; routes_done() frees it. */
struct routes {
	struct route_table *tables;
	size_t count, capacity;
	struct map by_guid;
};

void routes_done(struct routes *routes);

/*
 * routes_set_block - store 64 entries of the table of a switch
 * @block:  LIDs from 64 * block on; below ROUTES_BLOCKS
 * @ports:  64 bytes
 * @ret_changed: number of changed entries (known before, or not NO_PORT now); or NULL
 *
 * Return: 0; ERR_IO: no such block; ERR_NOMEM.
 */
int routes_set_block(struct routes *routes, uint64_t node_guid, unsigned block, const uint8_t ports[ROUTES_BLOCK],
		     unsigned *ret_changed, struct error *err);

/*
 * routes_size - set the size of the table of a switch: LinearFDBTop + 1, rounded up to blocks
 * New blocks are not read yet; blocks beyond are removed. At most ROUTES_LIDS; 0 as routes_cut().
 * Return: 0 or ERR_NOMEM.
 */
int routes_size(struct routes *routes, uint64_t node_guid, uint32_t lids, struct error *err);

/*
 * routes_cut - remove entries from @lids on, rounded up to blocks (LinearFDBTop decreased); 0: the
 * table.
 */
void routes_cut(struct routes *routes, uint64_t node_guid, uint32_t lids);

/* routes_copy - Return: 0 or ERR_NOMEM. @ret is overwritten. */
int routes_copy(const struct routes *routes, struct routes *ret, struct error *err);

/* routes_find - the table of a switch, or NULL: never read. */
const struct route_table *routes_find(const struct routes *routes, uint64_t node_guid);

/*
 * routes_out_port - output port of a switch for a LID; ROUTES_NO_PORT: none, or unknown
 * @table:  or NULL
 */
uint8_t routes_out_port(const struct route_table *table, uint16_t lid);

/* routes_is_read - the entry of a LID was read, so ROUTES_NO_PORT means no route. */
bool routes_is_read(const struct route_table *table, uint16_t lid);

/* routes_same - both have the same entries, as far as they were read. */
bool routes_same(const struct routes *a, const struct routes *b);

/* End of a route. */
enum route_end {
	ROUTE_ARRIVES,
	ROUTE_UNKNOWN,    /* an entry was not read, the destination has no LID, or the route has too many links */
	ROUTE_BLACK_HOLE, /* a switch has no port for the LID, or one without a link */
	ROUTE_DOWN,       /* the port has a link that is down, or does not carry data */
	ROUTE_LOOP,
	ROUTE_WRONG_END,  /* it ends at another HCA, or at a switch */
	ROUTE_END_COUNT,
};

#define ROUTE_HOPS_MAX 64

struct route_trace {
	enum route_end end;
	unsigned hops;                    /* links */
	uint32_t ports[ROUTE_HOPS_MAX];   /* sending port of each link, starting at the source */
	uint32_t at;                      /* last node; of a loop: where it enters */
};

/*
 * routes_trace - follow the static route from a port to a LID
 * @from:  an HCA port, or port 0 of a switch (index into fabric->ports)
 * @to:    the destination: an HCA port, or port 0 of a switch
 * @lid:   one of its LIDs (base LID and up, with LMC); 0: the base LID
 *
 * A route that reaches the destination switch has arrived, whatever its table contains.
 */
void routes_trace(const struct routes *routes, const struct fabric *fabric, uint32_t from, uint32_t to, uint16_t lid,
		  struct route_trace *ret);

/*
 * routes_is_destination - traffic is routed to this port
 * True for Active ports of HCAs other than aggregation nodes if the other end of the link carries
 * data, too. The state of an unresponsive HCA is outdated; but opensm 3.3.23 removes it from all
 * tables, and the switch end of its link is Init then (observed in the simulation).
 */
bool routes_is_destination(const struct fabric *fabric, const struct port *port);

/*
 * routes_count_lids - number of LIDs that the table of a switch routes through each of its ports
 * @node:     the switch
 * @ret_lids: by port number, 256 entries; with LMC the LIDs of a port count 1 each
 *
 * Destinations are those of routes_is_destination(), except those cabled to this switch. Return:
 * whether the table of the switch is known.
 */
bool routes_count_lids(const struct routes *routes, const struct fabric *fabric, uint32_t node,
		       uint32_t ret_lids[256]);

/* route_end_name - "arrives", "unknown", "black-hole", "link-down", "loop", "wrong-end". */
const char *route_end_name(enum route_end end);

/*
 * routes_check - find unreachable destinations
 * Destinations are the LIDs of the ports that routes_count_lids() counts. They must be reachable from
 * every switch that such a port is cabled to; tables of other switches matter if a route leads
 * through them (tables of spines rightly lack LIDs that no leaf sends through them).
 * Calls @report once for each fault: the switch at which routes end or arrive at a wrong port; of a
 * loop its switch with the lowest index. Entries that were not read, and routes through them, are
 * not faults.
 * end is never ROUTE_ARRIVES nor ROUTE_UNKNOWN; lids: number of affected destinations, from: of source switches.
 *
 * Return: number of faults, or ERR_NOMEM. Cost: switches x destinations, each entry once.
 */
struct route_fault {
	enum route_end end;
	uint32_t node;
	uint32_t lids, from;
	const uint64_t *nodes; /* one bit for each node of the fabric: the destinations; valid during the call */
};
typedef void routes_fault_fn(void *ctx, const struct route_fault *fault);
int64_t routes_check(const struct routes *routes, const struct fabric *fabric, routes_fault_fn *report, void *ctx,
		     struct error *err);

#endif
