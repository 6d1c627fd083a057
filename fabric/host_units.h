/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * host_units.h - which hosts are near each other: units of hosts that the same leaves serve
 *
 * A leaf of a plain tree is a unit; of a rail-optimised fabric, in which each HCA of a host goes to another
 * leaf, the leaves of a scalable unit are one.
 */
#ifndef IBWIRE_FABRIC_HOST_UNITS_H
#define IBWIRE_FABRIC_HOST_UNITS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct error;

/* No unit. */
#define HOST_UNIT_NONE UINT32_MAX

/* Hosts in order of name, and the leaves of each. */
struct host_leaves {
	uint32_t host_count, leaf_count;
	const uint32_t *first;  /* by host: its first leaf in leaves; one more at the end */
	const uint32_t *leaves; /* numbers below leaf_count, in rising order for each host; at least one */
	const bool *others;     /* by leaf: it serves hosts that are not listed, such as storage; or NULL */
};

struct host_units {
	uint32_t count;
	uint32_t *of_host; /* by host */
	uint32_t *of_leaf; /* by leaf, or HOST_UNIT_NONE: hosts of several units share it, or it has no host */
};

/*
 * host_units_find - find the units
 * @ret:  for host_units_done(); untouched on error
 *
 * Hosts with equal sets of leaves are a unit. The sets of most hosts come first. If one unit has more of the leaves of
 * a set than are in no unit yet, the set belongs to that unit; so a miswired or missing cable makes no unit and joins
 * no two. Leaves that hosts of different leaves share (a storage network) count only for hosts that have no other:
 * those with other hosts, and those less than three quarters of whose hosts are in one unit.
 *
 * Each host is in exactly one unit, and each unit has at least one host and one leaf. The result depends on the
 * order of hosts and leaves, which should be that of their names.
 * Return: 0 or ERR_NOMEM.
 */
int host_units_find(const struct host_leaves *hosts, struct host_units *ret, struct error *err);
void host_units_done(struct host_units *units);

#endif
