/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * lft.h - the forwarding tables that opensm wrote
 *
 * opensm with the log flag 0x40 writes opensm-lfts.dump after each routing: for
 * every switch a line per LID, with the output port and the GUID that the LID
 * belongs to. So this one file says the LIDs of all ports as well.
 * Source: opensm osm_dump.c (dump_lfts: "Unicast lids ..."), tried on 3.3.23.
 */
#ifndef IBWIRE_SIM_LFT_H
#define IBWIRE_SIM_LFT_H

#include <stddef.h>
#include <stdint.h>

#include "fabric/routes.h"

struct error;
struct fabric;

/* Its name in the run directory. */
#define LFT_FILE "opensm-lfts.dump"

struct lft {
	struct routes routes;
	uint16_t *port_lids; /* by port index: 0 where unknown; of a switch at its port 0 */
	size_t switch_count; /* tables in the file, of switches that the fabric holds */
};

/*
 * lft_parse - read a dump
 * @ret:  freed with lft_done; untouched on error
 *
 * Switches and GUIDs that the fabric does not hold are passed over.
 * Return: 0; ERR_IO where the dump is not complete (opensm may be writing it); ERR_NOMEM.
 */
int lft_parse(const struct fabric *fabric, const char *chars, size_t len, struct lft *ret, struct error *err);

void lft_done(struct lft *lft);

/*
 * lft_write - the text of a dump with other output ports in it
 * @chars, @len:  a dump; nothing else of it changes
 * @routes:       what its switches' tables shall be; entries that they do not hold stay
 *
 * opensm loads what comes out (routing_engine file). Source: opensm osm_ucast_file.c, do_ucast_file_load.
 * Return: 0; ERR_NOMEM.
 */
struct text;
int lft_write(const char *chars, size_t len, const struct routes *routes, struct text *ret, struct error *err);

#endif
