/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * lft_dump.h - opensm-lfts.dump: opensm writes a line per switch and LID with the output port and the GUID of
 * the LID, so it has the LIDs of all ports too. Source: opensm osm_dump.c (dump_lfts), 3.3.23.
 *
 * It is read as opensm writes it in a simulation: there the GUID of a port is that of its node plus its number.
 */
#ifndef IBWIRE_FABRIC_LFT_DUMP_H
#define IBWIRE_FABRIC_LFT_DUMP_H

#include <stddef.h>
#include <stdint.h>

#include "fabric/routes.h"

struct error;
struct fabric;

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

/* lft_guid_of_line - the GUID of "Unicast lids [0-7] of switch Lid 1 guid 0x0000000000000020 ('name'):"; 0: none. */
uint64_t lft_guid_of_line(const char *line);

#endif
