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

struct error;
struct fabric;

#define LFT_NO_PORT 0xff

struct lft {
	uint8_t **tables;    /* by node index: output port by LID; NULL where the file has none */
	size_t table_size;   /* LIDs in each table */
	uint16_t *port_lids; /* by port index: 0 where unknown; of a switch at its port 0 */
	size_t node_count;
	size_t switch_count; /* tables in the file */
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

/* lft_out_port - the port by which a switch (node index) forwards to a LID, or LFT_NO_PORT. */
uint8_t lft_out_port(const struct lft *lft, uint32_t node, uint16_t lid);

#endif
