/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* lft.h - opensm's dump of its tables (fabric/lft_dump.h) in a simulation, and tables that it shall load */
#ifndef IBWIRE_SIM_LFT_H
#define IBWIRE_SIM_LFT_H

#include <stddef.h>
#include <stdint.h>

#include "fabric/lft_dump.h"

struct error;
struct fabric;

/* Name of the dump in the run directory. */
#define LFT_FILE "opensm-lfts.dump"

/*
 * lft_write - replace the output ports in the text of a dump by those of @routes, where it has any
 * opensm loads the result with routing_engine file. Source: opensm osm_ucast_file.c, do_ucast_file_load.
 * Return: 0; ERR_NOMEM.
 */
struct text;
int lft_write(const char *chars, size_t len, const struct routes *routes, struct text *ret, struct error *err);

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
