/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * rail_build.h - what rail_keys.c and rails.c find of one class of hosts, and rail_list.c writes down; nobody else
 * includes it
 */
#ifndef IBWIRE_FABRIC_RAIL_BUILD_H
#define IBWIRE_FABRIC_RAIL_BUILD_H

#include "fabric/shape/build.h"

struct rail_build {
	struct shape_build *build;
	uint8_t class;
	bool full_names;       /* a host has two devices of one number */
	bool by_port;          /* most HCAs have two cables: each port is a rail's */
	uint32_t *key;         /* by port, or SHAPE_NONE */
	const char **keys;
	uint32_t key_count;
	uint32_t *rail_of_key; /* or SHAPE_NONE */
	uint32_t count;        /* of rails */
	uint32_t *rail;        /* by port, or SHAPE_NONE */
	uint32_t *adopted;     /* by port of an HCA without a name: the rail of its leaf, or SHAPE_NONE */
	uint32_t *row;         /* by node: a leaf's row, or SHAPE_NONE */
	uint32_t *leafs;       /* by row: the switch */
	uint32_t leaf_count;
	uint32_t *ports;       /* rows of rails: how many of its ports are on the leaf */
	uint32_t *most;        /* by row: the rail with most ports */
	uint32_t *scratch;
	size_t miswired_capacity;
};

/*
 * rail_find_keys - give each port of the class the key of its device, and find the keys that are rails
 *
 * Sets by_port, full_names, key, keys, rail_of_key, count. Return: 0, ERR_NOMEM.
 */
int rail_find_keys(struct rail_build *rails);

/*
 * rail_port_in_use - the @nth port of an HCA that stands for it, from 0 up: those with a cable, or the first where none
 * has one. Return: FABRIC_NONE behind the last.
 */
uint32_t rail_port_in_use(const struct shape_build *build, uint32_t node, uint32_t nth);

/* rail_by_settings - the name that the settings give an HCA's rail, or NULL (borrowed from them). */
const char *rail_by_settings(const struct shape_build *build, uint32_t node);

/* rail_serves - has a leaf, by row, half as many ports of a rail as of that which it has most of? */
bool rail_serves(const struct rail_build *rails, uint32_t leaf, uint32_t rail);

/* rail_list_init - room for all rails. rail_list_add - the rails of one class; @first_miswired: its first. */
int rail_list_init(struct shape_build *build);
int rail_list_add(struct rail_build *rails, size_t first_miswired);

#endif
