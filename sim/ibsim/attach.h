/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* seat.h - at which nodes of a fabric clients of ibsim sit */
#ifndef IBWIRE_SIM_ATTACH_H
#define IBWIRE_SIM_ATTACH_H

#include <stdint.h>

struct error;
struct fabric;

#define ATTACH_ID_SIZE 20 /* "H-" and 16 digits; ibsim takes up to 31 characters */

/*
 * attach_choose - nodes for opensm and for the command
 * @sm, @attach:  as typed, or NULL: the first two of these that have a link at
 *                port 1: management hosts; then for the command the node that the dump was
 *                made from, and other HCAs in order. An aggregation node is no seat.
 * @ret_sm, @ret_attach: indices of nodes. They differ wherever there are two seats:
 *                opensm dies of some questions that go to its own node.
 *
 * Return: 0; ERR_USAGE where a typed node is none or has no link at port 1 (a
 * client sits at a CA's first port); ERR_UNAVAILABLE where no node has a link.
 */
int attach_choose(const struct fabric *fabric, const char *sm, const char *attach, uint32_t *ret_sm,
		uint32_t *ret_attach, struct error *err);

/* attach_id - what SIM_HOST wants: the node's id in the net file. Return: @ret. */
const char *attach_id(const struct fabric *fabric, uint32_t node, char ret[ATTACH_ID_SIZE]);

/*
 * attach_port_guid - the GUID that a client there sees as its own port's: ibsim makes it of the node's GUID
 * and the port's number. Source: ibsim sim_mad.c (do_nodeinfo, do_guidinfo).
 */
uint64_t attach_port_guid(const struct fabric *fabric, uint32_t node);

#endif
