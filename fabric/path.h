/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * path.h - directed routes from this host to nodes
 *
 * SMPs can be routed along such a path, without LIDs and forwarding tables. In a fabric of planes
 * they must be.
 */
#ifndef IBWIRE_FABRIC_PATH_H
#define IBWIRE_FABRIC_PATH_H

#include <stdbool.h>
#include <stdint.h>

struct error;
struct fabric;

/*
 * Maximum number of hops. Source: IBA Vol 1, 14.2.1.2: an InitialPath of 64 bytes, the first
 * unused.
 */
#define PATH_HOPS_MAX 63

/* No path to this node. */
#define PATH_NONE UINT8_MAX

struct path {
	uint8_t hops;                 /* or PATH_NONE; 0: this host's own node */
	uint8_t ports[PATH_HOPS_MAX]; /* out of this host, then out of each switch */
};

/*
 * paths_find - shortest paths to all nodes of a fabric
 * @avoid: by index of a port: paths do not use it, or the other end of its cable; NULL: none
 * @ret:   one for each node, by index; free() them
 *
 * They start at fabric->from_port; only switches forward SMPs, and only ports with a peer are used,
 * up or down. Return: 0 or ERR_NOMEM.
 */
int paths_find(const struct fabric *fabric, const bool *avoid, struct path **ret, struct error *err);

#endif
