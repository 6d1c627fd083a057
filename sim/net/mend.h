/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * mend.h - net files that ibsim 0.10 loads, from fabrics and from ibnetdiscover outputs
 * Source: ibsim sim_net.c (parse_port, parse_port_connection_data, parse_node_desc); docs/simulation.md.
 */
#ifndef IBWIRE_SIM_MEND_H
#define IBWIRE_SIM_MEND_H

#include <stddef.h>

#include "fabric/netfile.h"

struct error;
struct fabric;
struct text;

/* Maximum port number in ibsim: one byte, with 255 for "all". */
#define MEND_MAX_PORTS 254

/* Numbers of modifications. */
struct mend_notes {
	struct netfile_notes read;
	size_t speeds_lowered;     /* links faster than HDR, set to HDR */
	size_t speeds_unknown;     /* links of unknown speed or width, set to SDR or 4x */
	size_t descs_changed;      /* descriptions that ibsim cannot represent */
	size_t ports_cut;          /* links of ports above MEND_MAX_PORTS, omitted */
	size_t lids_dropped;       /* LIDs outside the unicast range */
	size_t port_guids_clash;   /* duplicate port GUIDs in ibsim (node GUID + port) */
};

/* mend_fabric - change a fabric to what ibsim supports. @notes: counts the modifications */
void mend_fabric(struct fabric *fabric, struct mend_notes *notes);

/* mend_write - append the net file of such a fabric. text_failed() reports a lack of memory. */
void mend_write(struct text *text, const struct fabric *fabric);

/*
 * mend - read an ibnetdiscover output and write a net file
 * @chars, @len:  the dump
 * @net:          the net file is appended
 * @ret:          the fabric of the net file; from_node is set if the dump has it
 * @ret_notes:    the repairs
 *
 * Return: 0; ERR_IO if the dump has no node; ERR_NOMEM.
 */
int mend(const char *chars, size_t len, struct text *net, struct fabric **ret, struct mend_notes *ret_notes,
	 struct error *err);

/* mend_describe - call @print with one line for each kind of repair. */
void mend_describe(const struct mend_notes *notes, netfile_print *print, void *ctx);

#endif
