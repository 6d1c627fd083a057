/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * spread.h - forwarding tables made here, as a subnet manager makes them
 *
 * Shortest paths, and at each switch the destinations spread evenly over the
 * ports that are as near: each LID goes to the one of them that has the fewest
 * so far, as opensm's minhop does. So tables are even but not clever.
 * Source: opensm osm_switch.c, osm_switch_recommend_path (the idea only).
 */
#ifndef IBWIRE_TESTS_WORLD_SPREAD_H
#define IBWIRE_TESTS_WORLD_SPREAD_H

#include <stdbool.h>
#include <stdint.h>

#include "fabric/routes.h"

struct error;
struct fabric;

/* No way. */
#define SPREAD_FAR 0xff

/* How far switches are from each other, in links. */
struct spread {
	uint32_t *switch_of;  /* by node: its number among switches, or UINT32_MAX */
	uint32_t *nodes;      /* by number: the node */
	uint32_t count;       /* of switches */
	uint8_t *hops;        /* by number of the one, by number of the other */
};

/* spread_lids - give every HCA port, and every switch, a LID: HCAs first. Changes the fabric. Return: LIDs, 0 too. */
uint32_t spread_lids(struct fabric *fabric);

/*
 * spread_measure - hops between all switches over the links that are Active
 * @spread:  zeroed, or measured before: measured again
 * Return: 0 or ERR_NOMEM.
 */
int spread_measure(struct spread *spread, const struct fabric *fabric, struct error *err);

/*
 * spread_nearer - does a switch's port lead nearer to another switch?
 * False where its link is not Active.
 */
bool spread_nearer(const struct spread *spread, const struct fabric *fabric, uint32_t port, uint32_t to);

/*
 * spread_tables - all tables, even
 * @lids:   from spread_lids()
 * @order:  which of equal ports comes first: 0 the lowest; another number another beginning
 * @ret:    routes_done() frees it; tables made before are written over
 *
 * There is no way to an HCA whose link is down, and all that come after it move: a
 * subnet manager that reroutes when a host leaves does the same.
 * Return: 0 or ERR_NOMEM.
 */
int spread_tables(const struct spread *spread, const struct fabric *fabric, uint32_t lids, uint32_t order,
		  struct routes *ret, struct error *err);

/* spread_table - a switch's table, to be changed; NULL where it has none. */
uint8_t *spread_table(struct routes *routes, uint64_t node_guid);

void spread_done(struct spread *spread);

#endif
