/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * lft.h - opensm-lfts.dump: opensm writes a line per switch and LID with the output port and the GUID of
 * the LID, so it has the LIDs of all ports too. Source: opensm osm_dump.c (dump_lfts), 3.3.23.
 */
#ifndef IBWIRE_SIM_LFT_H
#define IBWIRE_SIM_LFT_H

#include <stddef.h>
#include <stdint.h>

#include "fabric/routes.h"

struct error;
struct fabric;

/* Name of the dump in the run directory. */
#define LFT_FILE "opensm-lfts.dump"

struct lft {
	struct routes routes;
	uint16_t *port_lids; /* by port index; 0: unknown; the LID of a switch is at its port 0 */
};

/*
 * lft_parse - read a dump
 * @ret:  freed with lft_done; untouched on error
 *
 * Switches and GUIDs that are not in the fabric are ignored.
 * Return: 0; ERR_IO if the dump is incomplete (opensm may be writing it); ERR_NOMEM.
 */
int lft_parse(const struct fabric *fabric, const char *chars, size_t len, struct lft *ret, struct error *err);

void lft_done(struct lft *lft);

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
