/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* skew.h - a routing fault: too many destinations are routed through one port of a switch. No I/O */
#ifndef IBWIRE_SIM_SKEW_H
#define IBWIRE_SIM_SKEW_H

#include <stdint.h>

struct error;
struct fabric;
struct lft;
struct routes;

/*
 * skew_routes - route a share of the destinations behind other switches through one port
 * @port:        index of the port, connected to another switch
 * @share:       of the destinations that are HCAs (base LIDs) routed through ports to switches, 0 to 1
 * @ret:         the modified tables of @lft, freed with routes_done(); untouched on error
 * @ret_moved, @ret_all:  number of moved destinations, and of all
 *
 * Destinations are moved from all other ports equally, if they remain reachable, so the share may not be
 * reached. Return: 0; ERR_USAGE if the port is not connected to a switch or the share is invalid; ERR_NOMEM.
 */
int skew_routes(const struct fabric *fabric, const struct lft *lft, uint32_t port, double share, struct routes *ret,
		unsigned *ret_moved, unsigned *ret_all, struct error *err);

#endif
