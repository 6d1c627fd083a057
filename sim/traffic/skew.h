/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* skew.h - a fault in the routes: too many destinations leave a switch by one port. No I/O */
#ifndef IBWIRE_SIM_SKEW_H
#define IBWIRE_SIM_SKEW_H

#include <stdint.h>

struct error;
struct fabric;
struct lft;
struct routes;

/*
 * skew_routes - let a share of what leaves a switch towards other switches leave by one port
 * @port:        of the switch (index), cabled to another switch
 * @share:       of the destinations that are HCAs (by their base LIDs) and leave by ports to switches: 0 to 1
 * @ret:         the tables of @lft with that; routes_done() frees it; untouched on error
 * @ret_moved, @ret_all:  how many destinations go another way now, and of how many
 *
 * Destinations are taken from all other ports alike, and only where the new way arrives. So there may be fewer.
 * Return: 0; ERR_USAGE where the port leads to no switch, or the share is none; ERR_NOMEM.
 */
int skew_routes(const struct fabric *fabric, const struct lft *lft, uint32_t port, double share, struct routes *ret,
		unsigned *ret_moved, unsigned *ret_all, struct error *err);

#endif
