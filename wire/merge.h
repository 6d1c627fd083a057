/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * merge.h - a part of a fabric that was explored again, and the last topology for the rest of it
 *
 * A survey of a part contains new nodes, which were queried completely, and border nodes, of which
 * only some ports were read. An observed port (read, and its link was followed or is down) has the
 * link that was found, or none; all other ports and links are those of the last topology, unless
 * they contradict an observed port. What no path leads to any more is left out.
 */
#ifndef IBWIRE_WIRE_MERGE_H
#define IBWIRE_WIRE_MERGE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct error;
struct explore_port;
struct fabric;
struct survey;

/* merge_survey - @ret: a finished fabric of @base with the changes of @part. Return: 0 or ERR_NOMEM. */
int merge_survey(const struct fabric *base, const struct survey *part, struct fabric **ret, struct error *err);

/*
 * merge_is_complete - all SMPs to a node of a discovery were answered: it has a description, a switch
 * has all of its ports, and no port has state 0
 */
bool merge_is_complete(const struct fabric *fabric, uint32_t node);

/*
 * merge_find_holes - where requests of a discovery were lost: ports with a link to an unidentified
 * node, ports of switches that lead to incomplete HCAs, and incomplete switches with port number 0
 * @ret, @most:  receives at most this number of ports
 *
 * libibnetdisc creates a port without PortInfo (state 0) for a node that it enters. If the PortInfo
 * of port 0 of a switch is lost, it queries none of the others. If SwitchInfo is lost, wire/netdisc
 * sets the state of port 0 to 0. Source: rdma-core
 * libibnetdisc/ibnetdisc.c, recv_node_info() and recv_port0_info().
 * Return: their number.
 */
size_t merge_find_holes(const struct fabric *fabric, struct explore_port *ret, size_t most);

#endif
