/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* rail_build.h - rails of one class of hosts under construction; private to fabric/shape/rail*.c */
#ifndef IBWIRE_FABRIC_RAIL_BUILD_H
#define IBWIRE_FABRIC_RAIL_BUILD_H

#include "fabric/shape/build.h"

struct rail_build {
	struct shape_build *build;
	uint8_t class;
	bool full_names;       /* a host has two devices with the same number */
	bool by_port;          /* most HCAs have two cables: each port has a rail */
	uint32_t *key;         /* by port, or SHAPE_NONE */
	const char **keys;
	uint32_t key_count;
	uint32_t *rail_of_key; /* or SHAPE_NONE */
	uint32_t count;        /* number of rails */
	uint32_t *rail;        /* by port, or SHAPE_NONE */
	uint32_t *adopted;     /* by port of an HCA without a name: rail of its leaf, or SHAPE_NONE */
	uint32_t *row;         /* by node: row of a leaf, or SHAPE_NONE */
	uint32_t *leafs;       /* by row: the switch */
	uint32_t leaf_count;
	uint32_t *ports;       /* rows of rails: number of ports of the rail on the leaf */
	uint32_t *most;        /* by row: rail with most ports */
	uint32_t *scratch;
	size_t miswired_capacity;
};

/*
 * rail_find_keys - set the key of the device of each port of the class, and find the keys that are
 * rails
 *
 * Sets by_port, full_names, key, keys, rail_of_key, count. Return: 0, ERR_NOMEM.
 */
int rail_find_keys(struct rail_build *rails);

/*
 * rail_port_in_use - the @nth port of an HCA in use, from 0 on: ports with a cable, or the first
 * port if none has one. Return: FABRIC_NONE: no more.
 */
uint32_t rail_port_in_use(const struct shape_build *build, uint32_t node, uint32_t nth);

/* rail_by_settings - rail name of an HCA from the settings, or NULL (borrowed from them). */
const char *rail_by_settings(const struct shape_build *build, uint32_t node);

/*
 * rail_serves - a leaf, by row, serves a rail: it has at least half as many of its ports as of its
 * main rail.
 */
bool rail_serves(const struct rail_build *rails, uint32_t leaf, uint32_t rail);

/*
 * rail_list_init - room for all rails. rail_list_add - the rails of one class; @first_miswired: its
 * first.
 */
int rail_list_init(struct shape_build *build);
int rail_list_add(struct rail_build *rails, size_t first_miswired);

#endif
