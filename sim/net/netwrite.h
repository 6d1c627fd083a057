/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * netwrite.h - a fabric as a net file that ibsim 0.10 loads rightly
 *
 * Generated and mended nets go through this one writer. What it writes has the
 * form of an ibnetdiscover output, so that fabric/netfile.h and people read it too.
 * Width and speed stand in the comment: ibsim takes them from there (all
 * widths and speeds up to HDR, and FDR10, which its w=, s= and e= cannot say).
 */
#ifndef IBWIRE_SIM_NETWRITE_H
#define IBWIRE_SIM_NETWRITE_H

#include <stddef.h>

struct fabric;
struct text;

/* Ports of a node that ibsim can hold (its own limit is one byte with 255 for "all"). */
#define NETWRITE_MAX_PORTS 254

/* What is written other than it is. */
struct netwrite_notes {
	size_t speeds_lowered;     /* links faster than HDR, written as HDR */
	size_t ends_differed;      /* links whose ends differ in speed or width: the lower one is written */
	size_t speeds_unknown;     /* links without a known speed or width: SDR, 4x */
	size_t descs_changed;      /* descriptions that ibsim could not hold as they are */
	size_t ports_cut;          /* links of ports above NETWRITE_MAX_PORTS, left out */
	size_t lids_dropped;       /* LIDs outside the unicast range */
	size_t port_guids_clash;   /* port GUIDs that ibsim makes (node GUID + port) and that others have */
};

/*
 * netwrite - append the net file of a fabric to @text
 * @fabric:     a finished fabric; only links whose both ends are known are written
 * @from_node:  index of the node named in "Initiated from", or FABRIC_NONE
 * @ret_notes:  what had to be changed, or NULL
 *
 * Nodes keep their order (ibsim attaches clients to the first by default).
 * Whether memory sufficed says text_failed().
 * Source: ibsim sim_net.c (parse_port, parse_port_connection_data,
 * parse_node_desc), tried on the ibsim 0.10 of Debian 12.
 */
void netwrite(struct text *text, const struct fabric *fabric, size_t from_node, struct netwrite_notes *ret_notes);

#endif
