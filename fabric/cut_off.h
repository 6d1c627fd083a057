/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* cut_off.h - which hosts no longer reach each other in a variant of a fabric, and how many paths leaves have left */
#ifndef IBWIRE_FABRIC_CUT_OFF_H
#define IBWIRE_FABRIC_CUT_OFF_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct error;
struct fabric;
struct shape;

/*
 * Hosts are those of the shape. Two hosts reach each other if links of link_is_usable() connect any of their ports over
 * switches. Of hosts that reached each other before, the largest set that still does is the rest of the fabric; a host
 * is cut off if none of its ports is in it.
 */
struct cut_off {
	uint32_t *hosts;      /* cut off, in the order of the shape */
	size_t count;
	uint32_t *reduced;    /* not cut off, but fewer of their ports are connected */
	size_t reduced_count;
	uint64_t pairs, pairs_before; /* pairs of hosts that no longer reach each other; that did */
	uint32_t taken;       /* hosts of which all nodes with a link are taken out themselves: not counted elsewhere */
};

/*
 * cut_off_find - compare a fabric with its variant
 * @shape:  of the fabric before
 * @after:  a variant of shape->fabric (fabric/variant.h)
 * @taken:  by node: it is taken out on purpose; NULL: none
 * @ret:    for cut_off_done()
 *
 * Return: 0 or ERR_NOMEM.
 */
int cut_off_find(const struct shape *shape, const struct fabric *after, const bool *taken, struct cut_off *ret,
		 struct error *err);
void cut_off_done(struct cut_off *cut_off);

/*
 * link_append_cost - "taking it out leaves leaf-a01 with 15 of 16 uplinks; no host is cut off", or the hosts that are
 * @port:  either end of a usable link
 * Return: 0 or ERR_NOMEM.
 */
struct text;
int link_append_cost(const struct shape *shape, uint32_t port, struct text *text, struct error *err);

/* Shortest paths between two leaves, of which each cable counts; of all pairs of leaves with hosts. */
struct leaf_paths {
	double fewest, mean;  /* of pairs that have a path */
	uint32_t from, to;    /* nodes of the pair with the fewest; FABRIC_NONE: fewer than two leaves */
};

/* leaf_paths_count - Cost: leaves x links between switches. Return: 0 or ERR_NOMEM. */
int leaf_paths_count(const struct fabric *fabric, struct leaf_paths *ret, struct error *err);

#endif
