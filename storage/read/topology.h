/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * topology.h - nodes, ports and forwarding tables at a sweep, from their versions (inside storage/ only)
 *
 * Nodes are in the order in which they were first discovered (node.id), ports in that of their numbers.
 */
#ifndef IBWIRE_STORAGE_TOPOLOGY_H
#define IBWIRE_STORAGE_TOPOLOGY_H

#include <stddef.h>
#include <stdint.h>

#include <sqlite3.h>

#include "fabric/fabric.h"

struct error;
struct name_map;
struct pkeys;
struct routes;

/* The version of a node or port. */
struct stored_version {
	uint32_t id;
	int64_t from_sweep;
};

struct topology {
	int64_t sweep; /* that was requested; 0: nothing is loaded */
	struct fabric *fabric;
	struct stored_version *nodes, *ports; /* parallel to those of the fabric */
	uint32_t *port_index; /* by port id: index in the fabric + 1; 0: the port is not in it */
	size_t port_ids;      /* highest port id + 1 */
};

/*
 * topology_load - read nodes and ports at a sweep
 * @sweep:      a sweep's `topology`, or any sweep
 * @names:      or NULL
 * @from_node:  id of the collector's own node, 0: none
 * @ret:        topology_done() frees it; untouched on error
 */
int topology_load(sqlite3 *db, int64_t sweep, const struct name_map *names, uint32_t from_node, uint8_t from_port,
		  struct topology *ret, struct error *err);
void topology_done(struct topology *topology);

/*
 * topology_put_last_names - replace generic names of the fabric by the last names of the nodes
 * Only for display. A name in @names takes precedence.
 */
int topology_put_last_names(sqlite3 *db, const struct topology *topology, const struct name_map *names,
			    struct error *err);

/*
 * routes_load - the forwarding tables as they were known at a sweep
 * @sweep:  0: as they are known now
 * @until:  a block that was not known then is as it was first known by this sweep; or @sweep
 * @ret:    overwritten; routes_done() frees it; empty on error
 *
 * A damaged row is treated as a block that was not read.
 */
int routes_load(sqlite3 *db, int64_t sweep, int64_t until, struct routes *ret, struct error *err);

/*
 * pkeys_load - the P_Key tables as they were known at a sweep
 * @sweep:  0: as they are known now
 * @ret:    overwritten; pkeys_done() frees it; empty on error
 */
int pkeys_load(sqlite3 *db, int64_t sweep, struct pkeys *ret, struct error *err);

#endif
