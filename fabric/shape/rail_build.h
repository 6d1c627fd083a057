/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* rail_build.h - rails of one class of hosts under construction; private to rails.c and rail_keys.c */
#ifndef IBWIRE_FABRIC_RAIL_BUILD_H
#define IBWIRE_FABRIC_RAIL_BUILD_H

#include "fabric/shape/build.h"

/* Maximum number of rails of a class. More devices than any host has: one host name everywhere. */
#define RAILS_MAX 256

/* An HCA port with a cable, or the first port of an HCA without any. */
struct rail_port {
	uint32_t port, node, host;
	uint32_t nth;     /* among the ports in use of its HCA, from 0 */
	uint32_t key;     /* of its device, or SHAPE_NONE */
	uint32_t rail;    /* or SHAPE_NONE */
	uint32_t adopted; /* of an HCA without a name: rail of its leaf, or SHAPE_NONE */
};

struct rail_build {
	struct shape_build *build;
	uint8_t class;
	bool full_names;       /* a host has two devices with the same number */
	bool by_port;          /* most HCAs have two cables: each port has a rail */
	struct rail_port *list; /* ports in use of the hosts of the class, in order of host */
	uint32_t list_count;
	struct shape_strings keys;
	uint32_t *rail_of_key; /* or SHAPE_NONE */
	uint32_t count;        /* number of rails */
	uint32_t *row;         /* by node: row of a leaf, or SHAPE_NONE */
	uint32_t *leaves;      /* by row: the switch */
	uint32_t leaf_count;
	uint32_t *ports;       /* rows of rails: number of ports of the rail on the leaf */
	uint32_t *most;        /* by row: rail with most ports */
	size_t miswired_capacity;
};

/*
 * rail_find_keys - list the ports with the keys of their devices, and find the keys that are rails
 *
 * Sets by_port, full_names, list, keys, rail_of_key, count. Return: 0, ERR_NOMEM.
 */
int rail_find_keys(struct rail_build *rails);

/* rail_by_settings - rail name of an HCA from the settings, or NULL (borrowed from them). */
const char *rail_by_settings(const struct shape_build *build, uint32_t node);

#endif
