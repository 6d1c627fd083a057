/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* attach.h - the nodes to which clients of ibsim attach */
#ifndef IBWIRE_SIM_ATTACH_H
#define IBWIRE_SIM_ATTACH_H

#include <stdint.h>

struct error;
struct fabric;

#define ATTACH_ID_SIZE 20 /* "H-" and 16 digits; ibsim's limit is 31 characters */

/*
 * attach_choose - nodes for opensm and for the command
 * @sm, @attach:  name or GUID; NULL: chosen among HCAs with a link at port 1, except aggregation nodes:
 *                management hosts first; for the command then the node that the dump was made from,
 *                then other HCAs in order
 * @ret_sm, @ret_attach: indices of nodes. They differ if possible, because opensm crashes on some
 *                requests to its own node.
 *
 * Return: 0; ERR_USAGE if a given node does not exist or has no link at port 1 (clients attach to the
 * first port of a CA); ERR_UNAVAILABLE if no node has a link.
 */
int attach_choose(const struct fabric *fabric, const char *sm, const char *attach, uint32_t *ret_sm,
		uint32_t *ret_attach, struct error *err);

/* attach_id - the node's id in the net file, the value of SIM_HOST. Return: @ret. */
const char *attach_id(const struct fabric *fabric, uint32_t node, char ret[ATTACH_ID_SIZE]);

/*
 * attach_port_guid - the GUID of the port that a client at this node uses: ibsim adds the port number to
 * the node GUID. Source: ibsim sim_mad.c (do_nodeinfo, do_guidinfo).
 */
uint64_t attach_port_guid(const struct fabric *fabric, uint32_t node);

#endif
