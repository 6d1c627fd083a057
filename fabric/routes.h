/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * routes.h - the forwarding tables of a fabric's switches, and what follows from them
 *
 * Tables are kept by node GUID: they outlive a topology, whose indices change.
 * They are static routes: where adaptive routing is on, packets leave by other
 * ports too, and whoever shows a path says so.
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
	uint32_t lids;   /* entries that it has: 0 .. lids - 1; a multiple of ROUTES_BLOCK */
	uint8_t *ports;  /* by LID; ROUTES_NO_PORT in blocks that were not read */
	bool *read;      /* by block: was it read */
};

/* A zeroed struct is empty; routes_done() frees it. */
struct routes {
	struct route_table *tables;
	size_t count, capacity;
	struct map by_guid;
};

void routes_done(struct routes *routes);

/*
 * routes_set_block - 64 entries of a switch's table, as they were read
 * @block:  LIDs from 64 * block; below ROUTES_BLOCKS
 * @ports:  64 bytes
 * @ret_changed: how many entries are others than before (known before, or not NO_PORT now); or NULL
 *
 * Return: 0; ERR_IO where there is no such block; ERR_NOMEM.
 */
int routes_set_block(struct routes *routes, uint64_t node_guid, unsigned block, const uint8_t ports[ROUTES_BLOCK],
		     unsigned *ret_changed, struct error *err);

/*
 * routes_size - a switch's table has so many entries: LinearFDBTop + 1, rounded up to whole blocks
 * Blocks that are new are not read yet; those beyond are gone. At most ROUTES_LIDS; 0 as routes_cut().
 * Return: 0 or ERR_NOMEM.
 */
int routes_size(struct routes *routes, uint64_t node_guid, uint32_t lids, struct error *err);

/* routes_cut - entries from @lids up, rounded up to whole blocks, are gone (LinearFDBTop fell); 0: the whole table. */
void routes_cut(struct routes *routes, uint64_t node_guid, uint32_t lids);

/* routes_copy - Return: 0 or ERR_NOMEM. @ret is overwritten. */
int routes_copy(const struct routes *routes, struct routes *ret, struct error *err);

/* routes_find - a switch's table, or NULL where it was never read. */
const struct route_table *routes_find(const struct routes *routes, uint64_t node_guid);

/*
 * routes_out_port - the port by which a switch forwards to a LID; ROUTES_NO_PORT: nowhere, or not known
 * @table:  or NULL
 */
uint8_t routes_out_port(const struct route_table *table, uint16_t lid);

/* routes_is_read - was the entry of a LID read: does ROUTES_NO_PORT mean nowhere? */
bool routes_is_read(const struct route_table *table, uint16_t lid);

/* routes_same - do two hold the same entries, as far as they were read? */
bool routes_same(const struct routes *a, const struct routes *b);

/* How a trace ends. */
enum route_end {
	ROUTE_ARRIVES,
	ROUTE_UNKNOWN,    /* a switch's entry was not read, the destination has no LID, or the way has too many links */
	ROUTE_BLACK_HOLE, /* a switch has no port for this LID, or one without a link */
	ROUTE_DOWN,       /* the port it names has a link that is down, or not up enough for data */
	ROUTE_LOOP,
	ROUTE_WRONG_END,  /* it comes out at another HCA, or at a switch itself */
	ROUTE_END_COUNT,
};

#define ROUTE_HOPS_MAX 64

struct route_trace {
	enum route_end end;
	unsigned hops;                    /* links */
	uint32_t ports[ROUTE_HOPS_MAX];   /* the sending port of each link, from the source's on */
	uint32_t at;                      /* node at which it ends; of a loop: where it enters */
};

/*
 * routes_trace - follow the static route from a port to a LID
 * @from:  an HCA's port, or a switch's port 0 (index into fabric->ports)
 * @to:    the destination's port: an HCA's, or a switch's port 0
 * @lid:   one of its LIDs (base LID and up, with LMC); 0: the base LID
 *
 * A route that reaches the switch itself that is looked for has arrived, whatever the table there says.
 */
void routes_trace(const struct routes *routes, const struct fabric *fabric, uint32_t from, uint32_t to, uint16_t lid,
		  struct route_trace *ret);

/*
 * routes_is_destination - does traffic go to this port?
 * It does to Active ports of HCAs that are no aggregation nodes, where the other end of the link carries data too.
 * An HCA that answers nobody any more is as it was once; but opensm 3.3.23 takes it out of all tables, and the switch's
 * end of its link is Init from then on (seen in the simulation).
 */
bool routes_is_destination(const struct fabric *fabric, const struct port *port);

/*
 * routes_weigh - what each port of a switch is given to do by its table
 * @node:     the switch
 * @weights:  by port of the fabric: what a destination (an HCA's port) receives, any unit; NULL: 1 for each LID
 *            (with LMC each of a port's LIDs has its part of the weight, or counts 1)
 * @ret_weight: by port number, 256 of them: the sum over the destinations that leave by it
 * @ret_lids:   by port number, or NULL: how many LIDs leave by it
 *
 * Destinations are what routes_is_destination() says, and not those cabled to this very switch.
 * Return: whether the switch's table is known.
 */
bool routes_weigh(const struct routes *routes, const struct fabric *fabric, uint32_t node, const double *weights,
		  double ret_weight[256], uint32_t *ret_lids);

/* route_end_name - a word: "arrives", "unknown", "black-hole", "link-down", "loop", "wrong-end". */
const char *route_end_name(enum route_end end);

/*
 * routes_check - look for destinations that cannot be reached
 * Destinations are the LIDs of those ports that routes_weigh() counts. They have to be reached from every switch
 * that such a port is cabled to; what others hold counts where a route leads through them (tables of spines
 * lack what no leaf sends over them, and rightly so).
 * Calls @report once for each place at fault: the switch at which routes end or come out wrongly, of a loop
 * that switch of it that comes first in the fabric. What was not read is no fault, nor are routes that lead there.
 * @end:   never ROUTE_ARRIVES nor ROUTE_UNKNOWN
 * @lids:  of how many destinations, @from: from how many of those switches it is so
 *
 * Return: how many were reported, or ERR_NOMEM. Cost: switches x destinations, each entry looked at once.
 */
typedef void routes_fault_fn(void *ctx, enum route_end end, uint32_t node, uint32_t lids, uint32_t from);
int64_t routes_check(const struct routes *routes, const struct fabric *fabric, routes_fault_fn *report, void *ctx,
		     struct error *err);

#endif
