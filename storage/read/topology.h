/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * topology.h - nodes and ports at a sweep, from their versions
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

struct stored_node {
	uint32_t id;
	int64_t from_sweep;
	struct node node; /* name is NULL, first_port and ports index the topology's ports */
	char name[NODE_NAME_SIZE];
	char was[NODE_NAME_SIZE]; /* for a generic description: the last one that is not; "": none */
};

struct stored_port {
	uint32_t id, node_id;
	uint32_t peer_id;   /* 0: none */
	int64_t from_sweep;
	struct port port;   /* node and peer index the topology's arrays */
};

struct topology {
	int64_t sweep; /* since which it is unchanged; 0: nothing is loaded */
	struct stored_node *nodes;
	size_t node_count;
	struct stored_port *ports;
	size_t port_count;
};

/*
 * topology_load - read nodes and ports at a sweep
 * @sweep:  a sweep's `topology`, or any sweep
 * @ret:    topology_done() frees it; untouched on error
 */
int topology_load(sqlite3 *db, int64_t sweep, struct topology *ret, struct error *err);

/*
 * topology_move - the same from another sweep: reads only the changes between the two
 * @from:  unchanged
 * Return: 1; 0 for so many changes that topology_load() is faster (@ret is untouched); or an error.
 */
int topology_move(sqlite3 *db, const struct topology *from, int64_t sweep, struct topology *ret, struct error *err);

/*
 * topology_last_name - the last name of a node that is not generic, until a sweep
 * For a node with a generic description (names_is_generic()); NAMES_WAS is appended.
 * @rows:  of topology_prepare_names(), for many nodes
 * @ret:   the name to show; "" without one
 */
int topology_prepare_names(sqlite3 *db, sqlite3_stmt **ret, struct error *err);
int topology_last_name(sqlite3_stmt *rows, uint64_t node_guid, int64_t sweep, char ret[NODE_NAME_SIZE],
		       struct error *err);

void topology_done(struct topology *topology);

/*
 * topology_fabric - the same as a fabric: node i and port i are those of the topology
 * @names:      or NULL
 * @from_node:  id of the collector's own node, 0: none
 */
int topology_fabric(const struct topology *topology, const struct name_map *names, uint32_t from_node,
		    uint8_t from_port, struct fabric **ret, struct error *err);

/*
 * topology_put_last_names - replace generic names of the fabric by the last names of the nodes
 * Only for display. A name in @names takes precedence.
 */
int topology_put_last_names(const struct topology *topology, const struct name_map *names, struct fabric *fabric,
			    struct error *err);

#endif
