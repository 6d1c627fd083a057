/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* names.h - find, display and order nodes and ports by name */
#ifndef IBWIRE_FABRIC_NAMES_H
#define IBWIRE_FABRIC_NAMES_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/map.h"

struct error;
struct fabric;

/*
 * names_find_node - find a node by user input: its name, or its GUID as 0x...
 * @typed:  complete name, case-sensitive; or 0x and a GUID
 * @ret:    index into fabric->nodes
 *
 * If no node has the name, a displayed name matches (struct names), also one with the last digits of
 * the GUID, "NAME (3f80)", that the node does not need now, and a name without its NAMES_WAS.
 *
 * Return: 0; ERR_USAGE: no node or several nodes match; the text lists some of them, or the most
 * similar name.
 */
int names_find_node(const struct fabric *fabric, const char *typed, uint32_t *ret, struct error *err);

/*
 * names_find_port - find a port by user input: NAME/PORT or 0xGUID/PORT
 * @ret:  index into fabric->ports
 *
 * Return: 0 or ERR_USAGE, as above.
 */
int names_find_port(const struct fabric *fabric, const char *typed, uint32_t *ret, struct error *err);

/*
 * names_short - display name of a node
 * The name of a managed switch, "MF0;NAME:MODEL/U1", is shortened to NAME. Modules of a chassis
 * keep their suffix: "MF0;NAME:MODEL/L01/U1" is "NAME/L01/U1".
 * @ret:  at least strlen(@name) + 1 bytes
 * Return: bytes written, including the final NUL.
 */
size_t names_short(const char *name, char *ret);

/*
 * names_display - the same for a name of a node, or a former one, of a fabric
 *
 * Where the fabric has other ASICs of the box, "MF0;NAME:MODEL/U1" is "NAME/U1", beside "NAME/U2":
 * NAME alone would be read as the box.
 * @fabric:  NULL: as names_short()
 */
size_t names_display(const struct fabric *fabric, const char *name, char *ret);

/* The displayed names of all nodes of a fabric. A zeroed struct is empty. */
struct names {
	char **shown;     /* parallel to the nodes; equal ones with the last digits of the GUID: "NAME (3f80)" */
	uint32_t *sorted; /* indices of the nodes in natural order of these names, then by GUID */
	uint32_t equal_switches; /* number of switches whose name another node has, too */
	char *chars;      /* storage of the names */
	struct map boxes; /* hashes of "MF0;NAME:MODEL" of boxes that have an ASIC beside U1 */
};

/* names_show - find the displayed names. Return: 0 or ERR_NOMEM: @ret is empty then. */
int names_show(struct names *ret, const struct fabric *fabric, struct error *err);
void names_done(struct names *names);

/*
 * names_is_generic - a NodeDescription does not identify a host
 * @desc:  the description, or a name made from it
 *
 * True for an empty description, for firmware defaults before a host has set its name ("MT4129
 * ConnectX7   Mellanox Technologies", "Quantum Mellanox Technologies"), for a host without a name
 * ("localhost mlx5_0", "(none) mlx5_0") and for a device without a host ("mlx5_0").
 * Source: descriptions in published ibnetdiscover outputs; rdma-ndd(8) writes "%h %d".
 */
bool names_is_generic(const char *desc);

/* Suffix of the last known name of a node whose description is generic now. */
#define NAMES_WAS " (was)"

/* names_compare - natural order: "node2" before "node10". As strcmp. */
int names_compare(const char *a, const char *b);

#endif
