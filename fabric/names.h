/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* names.h - nodes and ports by name, as people type, read and order them */
#ifndef IBWIRE_FABRIC_NAMES_H
#define IBWIRE_FABRIC_NAMES_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct error;
struct fabric;

/*
 * names_find_node - a node as typed: its name, or its GUID as 0x...
 * @typed:  whole name, case-sensitive; else 0x and a GUID
 * @ret:    index into fabric->nodes
 *
 * A name without its NAMES_WAS fits too, where no node has that name now.
 *
 * Return: 0; ERR_USAGE where nothing or several nodes are meant: the text lists
 * some of them, or names the nearest.
 */
int names_find_node(const struct fabric *fabric, const char *typed, uint32_t *ret, struct error *err);

/*
 * names_find_port - a port as typed: NAME/PORT or 0xGUID/PORT
 * @ret:  index into fabric->ports
 *
 * Return: 0 or ERR_USAGE, as above.
 */
int names_find_port(const struct fabric *fabric, const char *typed, uint32_t *ret, struct error *err);

/*
 * names_short - a node's name as it is shown
 * Managed switches are called "MF0;NAME:MODEL/U1": what is not NAME takes half
 * of the screen and tells nobody apart, so it is left out. Modules of a chassis
 * keep theirs: "MF0;NAME:MODEL/L01/U1" is "NAME/L01/U1".
 * @ret:  at least strlen(@name) + 1 bytes
 * Return: bytes written, the final NUL among them.
 */
size_t names_short(const char *name, char *ret);

/*
 * names_is_generic - does a NodeDescription name nobody?
 * @desc:  the description, or a name made from it
 *
 * True for none at all, for what firmware says before a host has given its name
 * ("MT4129 ConnectX7   Mellanox Technologies", "Quantum Mellanox Technologies"),
 * for a host that does not know its own ("localhost mlx5_0", "(none) mlx5_0") and
 * for a device without a host ("mlx5_0").
 * Source: descriptions in published ibnetdiscover outputs; rdma-ndd(8) writes "%h %d".
 */
bool names_is_generic(const char *desc);

/* Behind the name of a node that says none any more: the last one that it said. */
#define NAMES_WAS " (was)"

/* names_compare - as people order names: "node2" before "node10". As strcmp. */
int names_compare(const char *a, const char *b);

#endif
