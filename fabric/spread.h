/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * spread.h - forwarding tables as opensm computes them
 *
 * Each switch sends each LID through one of its ports on shortest paths to the switch of the LID, through the one that
 * has the fewest LIDs so far; of equal ones the lowest. LIDs are assigned in this order: those of HCAs switch by
 * switch, those with most HCAs first, and of one switch by port number. LIDs of switches count for nothing.
 *
 * With LMC the first LIDs of all ports are assigned, then their second ones ...; a further LID of a port prefers a
 * switch that has none of its LIDs yet.
 *
 * Source: opensm 3.3.23, osm_ucast_mgr.c (the order), osm_switch.c (osm_switch_recommend_path), osm_ucast_updn.c: the
 * behaviour, which tests/bench/drains.c compares entry by entry.
 */
#ifndef IBWIRE_FABRIC_SPREAD_H
#define IBWIRE_FABRIC_SPREAD_H

#include <stdint.h>

struct error;
struct fabric;
struct routes;

enum spread_engine {
	SPREAD_MINHOP,
	SPREAD_UPDN, /* paths that lead up first and then down, seen from the switches that are found to be roots */
};

/*
 * routes_spread - compute the forwarding tables of all switches
 * @fabric:  with LIDs (fabric_variant_assign_lids() in fabric/variant.h, for fabrics from files without them); only
 *           links of link_is_usable() are used
 * @keep:    tables of which entries on shortest paths remain, as at a sweep of a running opensm; NULL: all are new
 * @ret:     tables of all switches, for routes_done(); untouched on error
 *
 * A LID without a path has ROUTES_NO_PORT. Cost: 0.5 s for 960 switches and 12,226 LIDs, 1.1 s with updn.
 * Return: 0; ERR_IO: the fabric has no root for SPREAD_UPDN (opensm uses minhop then); ERR_NOMEM.
 */
int routes_spread(const struct fabric *fabric, enum spread_engine engine, const struct routes *keep, struct routes *ret,
		  struct error *err);

/* spread_engine_name - "minhop", "updn". */
const char *spread_engine_name(enum spread_engine engine);

#endif
