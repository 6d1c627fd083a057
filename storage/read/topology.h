/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * topology.h - nodes and ports as they were at one sweep, out of their versions
 *
 * In order of node id (when a node was first seen) and port number, whatever
 * order the fabric came in.
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
	char was[NODE_NAME_SIZE]; /* its description names nobody: the last one that did; "": none did */
};

struct stored_port {
	uint32_t id, node_id;
	uint32_t peer_id;   /* 0: none */
	int64_t from_sweep;
	struct port port;   /* node and peer index the topology's arrays */
};

struct topology {
	int64_t sweep; /* since when it is like this; 0: nothing loaded */
	struct stored_node *nodes;
	size_t node_count;
	struct stored_port *ports;
	size_t port_count;
};

/*
 * topology_load - what was there at a sweep
 * @sweep:  a sweep's `topology`, or any sweep
 * @ret:    topology_done() frees it; untouched on error
 */
int topology_load(sqlite3 *db, int64_t sweep, struct topology *ret, struct error *err);

/*
 * topology_move - the same from what was there at another sweep: only what changed between the two is read
 * @from:  stays as it is
 * Return: 1; 0 where so much changed that topology_load() is quicker (@ret is untouched); or an error.
 */
int topology_move(sqlite3 *db, const struct topology *from, int64_t sweep, struct topology *ret, struct error *err);

/*
 * topology_last_name - the last name that a node said, until a sweep
 * A node whose description names nobody (names_is_generic()) is called as it was before, with NAMES_WAS behind it.
 * @rows:  topology_prepare_names(), made once for many
 * @ret:   what is shown; "" where it never said one
 */
int topology_prepare_names(sqlite3 *db, sqlite3_stmt **ret, struct error *err);
int topology_last_name(sqlite3_stmt *rows, uint64_t node_guid, int64_t sweep, char ret[NODE_NAME_SIZE],
		       struct error *err);

void topology_done(struct topology *topology);

/*
 * topology_fabric - the same as a finished fabric: node i and port i are those of the topology
 * @names:      or NULL
 * @from_node:  id of the node that was asked from, 0: none
 */
int topology_fabric(const struct topology *topology, const struct name_map *names, uint32_t from_node,
		    uint8_t from_port, struct fabric **ret, struct error *err);

/*
 * topology_put_last_names - call the fabric's nodes that name nobody any more by their last names
 * For what is shown; the collector goes on with what nodes say. A name of @names wins.
 */
int topology_put_last_names(const struct topology *topology, const struct name_map *names, struct fabric *fabric,
			    struct error *err);

#endif
