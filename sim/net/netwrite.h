/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * netwrite.h - writes a fabric as a net file for ibsim 0.10
 *
 * A net file has the format of an ibnetdiscover output, so that fabric/netfile.h can read it. Width and
 * speed are in the comment, where ibsim reads all widths, and speeds up to HDR and FDR10; its options
 * w=, s= and e= are less complete.
 */
#ifndef IBWIRE_SIM_NETWRITE_H
#define IBWIRE_SIM_NETWRITE_H

#include <stddef.h>

struct fabric;
struct text;

/* Maximum port number in ibsim: one byte, with 255 for "all". */
#define NETWRITE_MAX_PORTS 254

/* Numbers of modifications. */
struct netwrite_notes {
	size_t speeds_lowered;     /* links faster than HDR, set to HDR */
	size_t ends_differed;      /* links whose ends differ in speed or width: set to the lower one */
	size_t speeds_unknown;     /* links of unknown speed or width, set to SDR or 4x */
	size_t descs_changed;      /* descriptions that ibsim cannot represent */
	size_t ports_cut;          /* links of ports above NETWRITE_MAX_PORTS, omitted */
	size_t lids_dropped;       /* LIDs outside the unicast range */
	size_t port_guids_clash;   /* duplicate port GUIDs in ibsim (node GUID + port) */
};

/*
 * netwrite - append the net file of a fabric to @text
 * @fabric:     a finished fabric; links with an unknown end are omitted
 * @from_node:  index of the node named in "Initiated from", or FABRIC_NONE
 * @ret_notes:  the modifications, or NULL
 *
 * Nodes keep their order (ibsim attaches clients to the first one by default). text_failed() reports a lack
 * of memory.
 * Source: ibsim sim_net.c (parse_port, parse_port_connection_data,
 * parse_node_desc), tried on the ibsim 0.10 of Debian 12.
 */
void netwrite(struct text *text, const struct fabric *fabric, size_t from_node, struct netwrite_notes *ret_notes);

#endif
