/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * spread.h - forwarding tables as a subnet manager computes them
 *
 * Shortest paths; at each switch a LID is assigned to that of the ports on shortest paths which has the fewest LIDs,
 * as opensm's minhop does. Source: opensm osm_switch.c, osm_switch_recommend_path (the idea only).
 */
#ifndef IBWIRE_TESTS_WORLD_SPREAD_H
#define IBWIRE_TESTS_WORLD_SPREAD_H

#include <stdbool.h>
#include <stdint.h>

#include "fabric/routes.h"

struct fabric;

/* No path. */
#define SPREAD_FAR 0xff

/* Distances between switches, in links. */
struct spread {
	uint32_t *switch_of;  /* by node: number of the switch; UINT32_MAX for an HCA */
	uint32_t *nodes;      /* by number of the switch */
	uint32_t count;       /* of switches */
	uint8_t *hops;        /* by numbers of the two switches */
};

/* spread_lids - assign LIDs to all HCA ports, then to all switches. Return: the number of LIDs, LID 0 included. */
uint32_t spread_lids(struct fabric *fabric);

/*
 * spread_measure - compute the distances over Active links
 * @spread:  zeroed, or from an earlier call
 */
void spread_measure(struct spread *spread, const struct fabric *fabric);

/*
 * spread_nearer - is a switch's port on a shortest path to another switch?
 * False if its link is not Active.
 */
bool spread_nearer(const struct spread *spread, const struct fabric *fabric, uint32_t port, uint32_t to);

/*
 * spread_tables - compute all tables
 * @lids:   from spread_lids()
 * @order:  the first of equal ports: 0 is the lowest; other numbers rotate the ports
 * @ret:    freed by routes_done(); earlier tables are replaced
 *
 * An HCA whose link is down has no path, and the LIDs after it may get other ports, as when a subnet manager
 * reroutes after a host has left.
 */
void spread_tables(const struct spread *spread, const struct fabric *fabric, uint32_t lids, uint32_t order,
		   struct routes *ret);

/* spread_table - the mutable table of a switch, or NULL. */
uint8_t *spread_table(struct routes *routes, uint64_t node_guid);

void spread_done(struct spread *spread);

#endif
