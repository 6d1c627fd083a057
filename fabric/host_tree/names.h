/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* names.h - names that schedulers accept; private to fabric/host_tree */
#ifndef IBWIRE_FABRIC_HOST_TREE_NAMES_H
#define IBWIRE_FABRIC_HOST_TREE_NAMES_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "fabric/host_tree.h"

/* Most characters of the name of a switch: 64 in Slurm with the final NUL, 63 in a label of Kubernetes. */
#define HOST_TREE_NAME_MOST 63

/*
 * host_tree_switch_name - @prefix, @name and @end as a name that Slurm and Kubernetes accept
 * @name, @len:  characters other than letters, digits, '.', '_' and '-' become '-', those at the ends are dropped; at
 *               least 18 characters fit. The end of a longer one is replaced by the GUID, or by @end
 *               unless it is ""; one that has no such characters is "switch-" and the GUID
 * @end:         of the same characters
 * Return: for free(); NULL: no memory.
 */
char *host_tree_switch_name(const char *prefix, const char *name, size_t len, const char *end, uint64_t guid);

/* The hosts of a tree. */
struct host_names {
	struct host_name {
		const char *name; /* of the shape, or of the tree */
		uint32_t host;    /* index into the shape's hosts */
	} *list;              /* in natural order, names are unique */
	size_t count;
};

/*
 * host_names_find - find the hosts of a tree, and the names by which the scheduler calls them
 * @is_cabled:  is the host cabled to a switch of the compute network? @context: its first argument
 * @tree:       gets the hosts that are left out, and owns new names
 * Return: 0 or ERR_NOMEM; @ret is for host_names_done() in any case.
 */
int host_names_find(struct host_names *ret, const struct shape *shape, const struct host_tree_options *options,
		    bool (*is_cabled)(void *context, uint32_t host), void *context, struct host_tree *tree,
		    struct error *err);
void host_names_done(struct host_names *names);

#endif
