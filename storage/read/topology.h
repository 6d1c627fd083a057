/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * topology.h - nodes and ports at a sweep, from their versions (inside storage/ only)
 *
 * In order of node id (when a node was first discovered) and port number.
 */
#ifndef IBWIRE_STORAGE_TOPOLOGY_H
#define IBWIRE_STORAGE_TOPOLOGY_H

#include <stddef.h>
#include <stdint.h>

#include <sqlite3.h>

#include "fabric/fabric.h"

struct error;
struct name_map;

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
 * topology_last_name - the last name of a node that is not generic, until a sweep
 * For a node with a generic description (names_is_generic()); NAMES_WAS is appended.
 * @rows:  of topology_prepare_names(), for many nodes
 * @ret:   the name to show; "" without one
 */
int topology_prepare_names(sqlite3 *db, sqlite3_stmt **ret, struct error *err);
int topology_last_name(sqlite3_stmt *rows, uint64_t node_guid, int64_t sweep, char ret[NODE_NAME_SIZE],
		       struct error *err);

/* topology_read_description - a column with a NodeDescription. */
void topology_read_description(sqlite3_stmt *row, int column, char ret[NODE_DESC_SIZE + 1]);

#endif
