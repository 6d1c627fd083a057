/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
#include "storage/read/topology.h"

#include <stddef.h>
#include <stdlib.h>
#include <string.h>

#include "base/array.h"
#include "base/err.h"
#include "base/text.h"
#include "fabric/name_map.h"
#include "fabric/names.h"
#include "storage/file/db.h"

static void copy_bytes(char *ret, size_t size, const void *bytes, int len)
{
	size_t copied = len < 0 ? 0 : (size_t)len < size ? (size_t)len : size;

	if (copied)
		memcpy(ret, bytes, copied);
}

/* The sweep of a query; changes: after one sweep, until another. */
struct when {
	int64_t sweep, after, until;
};

/* The rows of a query with ?1 to ?3 as an array of elements of @size bytes; caller owns, also after an error. */
static int load_rows(sqlite3 *db, const char *query, const struct when *when, size_t size,
		     void (*read)(sqlite3_stmt *row, void *element), void **ret_rows, size_t *ret_count,
		     struct error *err)
{
	size_t capacity = 0;
	sqlite3_stmt *rows;
	int result = db_prepare(db, query, &rows, err);

	if (result < 0)
		return result;
	sqlite3_bind_int64(rows, 1, when->sweep);
	sqlite3_bind_int64(rows, 2, when->after);
	sqlite3_bind_int64(rows, 3, when->until);
	while ((result = db_step(rows, err)) > 0) {
		void *grown = array_grow(*ret_rows, *ret_count, &capacity, size);

		if (!grown) {
			result = err_nomem(err);
			break;
		}
		*ret_rows = grown;
		read(rows, (char *)grown + (*ret_count)++ * size);
	}
	sqlite3_finalize(rows);
	return result;
}

static void read_node(sqlite3_stmt *row, void *at)
{
	struct stored_node *ret = at;
	struct node *node = &ret->node;

	memset(ret, 0, sizeof(*ret));
	ret->id = (uint32_t)sqlite3_column_int64(row, 0);
	node->guid = db_u64(row, 1);
	ret->from_sweep = sqlite3_column_int64(row, 2);
	copy_bytes(ret->name, sizeof(ret->name) - 1, sqlite3_column_blob(row, 3), sqlite3_column_bytes(row, 3));
	copy_bytes(node->desc, NODE_DESC_SIZE, sqlite3_column_blob(row, 4), sqlite3_column_bytes(row, 4));
	node->type = (uint8_t)sqlite3_column_int(row, 5);
	node->port_count = (uint8_t)sqlite3_column_int(row, 6);
	node->system_guid = db_u64(row, 7);
	node->vendor_id = (uint32_t)sqlite3_column_int64(row, 8);
	node->device_id = (uint16_t)sqlite3_column_int(row, 9);
	node->revision = (uint32_t)sqlite3_column_int64(row, 10);
	node->lid = (uint16_t)sqlite3_column_int(row, 11);
	node->lft_top = (uint16_t)sqlite3_column_int(row, 12);
	node->enhanced_port0 = sqlite3_column_int(row, 13) != 0;
}

#define NODES_AT \
	"SELECT v.node, n.guid, v.from_sweep, v.name, v.description, v.type, v.port_count, v.system_guid," \
	" v.vendor_id, v.device_id, v.revision, v.lid, v.lft_top, v.enhanced_port0" \
	" FROM node_version v CROSS JOIN node n ON n.id = v.node" \
	" WHERE v.from_sweep <= ?1 AND (v.to_sweep IS NULL OR v.to_sweep > ?1)"

static int load_nodes(sqlite3 *db, const char *query, const struct when *when, struct topology *topology,
		      struct error *err)
{
	void *rows = NULL;
	int result = load_rows(db, query, when, sizeof(*topology->nodes), read_node, &rows, &topology->node_count,
			       err);

	topology->nodes = rows;
	return result;
}

static void read_port(sqlite3_stmt *row, void *at)
{
	struct stored_port *ret = at;
	struct port *port = &ret->port;

	memset(ret, 0, sizeof(*ret));
	ret->id = (uint32_t)sqlite3_column_int64(row, 0);
	ret->node_id = (uint32_t)sqlite3_column_int64(row, 1);
	port->num = (uint8_t)sqlite3_column_int(row, 2);
	ret->from_sweep = sqlite3_column_int64(row, 3);
	ret->peer_id = (uint32_t)sqlite3_column_int64(row, 4);
	port->state = (uint8_t)sqlite3_column_int(row, 5);
	port->phys_state = (uint8_t)sqlite3_column_int(row, 6);
	port->width = (uint8_t)sqlite3_column_int(row, 7);
	port->speed = (uint8_t)sqlite3_column_int(row, 8);
	port->width_enabled = (uint8_t)sqlite3_column_int(row, 9);
	port->width_supported = (uint8_t)sqlite3_column_int(row, 10);
	port->speed_enabled = (uint16_t)sqlite3_column_int(row, 11);
	port->speed_supported = (uint16_t)sqlite3_column_int(row, 12);
	port->guid = db_u64(row, 13);
	port->lid = (uint16_t)sqlite3_column_int(row, 14);
	port->lmc = (uint8_t)sqlite3_column_int(row, 15);
	port->sm_lid = (uint16_t)sqlite3_column_int(row, 16);
	port->cap_mask = (uint32_t)sqlite3_column_int64(row, 17);
}

#define PORTS_AT \
	"SELECT v.port, p.node, p.number, v.from_sweep, v.peer, v.state, v.phys_state, v.width, v.speed," \
	" v.width_enabled, v.width_supported, v.speed_enabled, v.speed_supported, v.guid, v.lid, v.lmc," \
	" v.sm_lid, v.cap_mask FROM port_version v CROSS JOIN port p ON p.id = v.port" \
	" WHERE v.from_sweep <= ?1 AND (v.to_sweep IS NULL OR v.to_sweep > ?1)"

static int load_ports(sqlite3 *db, const char *query, const struct when *when, struct topology *topology,
		      struct error *err)
{
	void *rows = NULL;
	int result = load_rows(db, query, when, sizeof(*topology->ports), read_port, &rows, &topology->port_count,
			       err);

	topology->ports = rows;
	return result;
}

static int compare_nodes(const void *a, const void *b)
{
	uint32_t left = ((const struct stored_node *)a)->id, right = ((const struct stored_node *)b)->id;

	return left < right ? -1 : left > right;
}

static int compare_ports(const void *a, const void *b)
{
	const struct stored_port *left = a, *right = b;

	if (left->node_id != right->node_id)
		return left->node_id < right->node_id ? -1 : 1;
	return (int)left->port.num - (int)right->port.num;
}

/* Sort, unless it is in order, as it is if all were discovered in the first sweep. */
static void sort(void *array, size_t count, size_t size, int (*compare)(const void *, const void *))
{
	const char *items = array;

	for (size_t i = 1; i < count; i++) {
		if (compare(items + (i - 1) * size, items + i * size) > 0) {
			qsort(array, count, size, compare);
			return;
		}
	}
}

static int damaged(struct error *err, const char *what)
{
	return err_set(err, ERR_IO, "the database is damaged: %s; move it aside or restore a copy of it", what);
}

/* Turn ids into indices. */
static int connect(struct topology *topology, struct error *err)
{
	uint32_t *by_id, top = 0;
	size_t port = 0;

	for (size_t i = 0; i < topology->node_count; i++) {
		struct stored_node *node = &topology->nodes[i];

		node->node.first_port = (uint32_t)port;
		for (; port < topology->port_count && topology->ports[port].node_id == node->id; port++)
			topology->ports[port].port.node = (uint32_t)i;
		node->node.ports = (uint32_t)port - node->node.first_port;
	}
	if (port != topology->port_count)
		return damaged(err, "a port without its node");
	for (size_t i = 0; i < topology->port_count; i++)
		top = topology->ports[i].id > top ? topology->ports[i].id : top;
	by_id = calloc((size_t)top + 1, sizeof(*by_id));
	if (!by_id)
		return err_nomem(err);
	for (size_t i = 0; i < topology->port_count; i++)
		by_id[topology->ports[i].id] = (uint32_t)i + 1;
	for (size_t i = 0; i < topology->port_count; i++) {
		struct stored_port *stored = &topology->ports[i];
		uint32_t peer = stored->peer_id && stored->peer_id <= top ? by_id[stored->peer_id] : 0;

		stored->port.peer = peer ? peer - 1 : FABRIC_NONE;
	}
	free(by_id);
	return 0;
}

int topology_prepare_names(sqlite3 *db, sqlite3_stmt **ret, struct error *err)
{
	return db_prepare(db, "SELECT v.description FROM node n CROSS JOIN node_version v ON v.node = n.id"
			  " WHERE n.guid = ?1 AND v.from_sweep <= ?2 ORDER BY v.from_sweep DESC", ret, err);
}

int topology_last_name(sqlite3_stmt *rows, uint64_t node_guid, int64_t sweep, char ret[NODE_NAME_SIZE],
		       struct error *err)
{
	char desc[NODE_DESC_SIZE + 1];
	int result;

	ret[0] = '\0';
	db_bind_u64(rows, 1, node_guid);
	sqlite3_bind_int64(rows, 2, sweep);
	while ((result = db_step(rows, err)) > 0) {
		memset(desc, 0, sizeof(desc));
		copy_bytes(desc, NODE_DESC_SIZE, sqlite3_column_blob(rows, 0), sqlite3_column_bytes(rows, 0));
		if (names_is_generic(desc))
			continue;
		text_sanitise(desc, NODE_DESC_SIZE, ret, NODE_NAME_SIZE - strlen(NAMES_WAS));
		if (ret[0])
			strcat(ret, NAMES_WAS);
		break;
	}
	sqlite3_reset(rows);
	return result < 0 ? result : 0;
}

static int load_last_names(sqlite3 *db, int64_t sweep, struct topology *topology, struct error *err)
{
	sqlite3_stmt *rows;
	int result = topology_prepare_names(db, &rows, err);

	for (size_t i = 0; !result && i < topology->node_count; i++) {
		struct stored_node *node = &topology->nodes[i];

		if (names_is_generic(node->node.desc))
			result = topology_last_name(rows, node->node.guid, sweep, node->was, err);
	}
	sqlite3_finalize(rows);
	return result;
}

static void sort_rows(struct topology *topology)
{
	sort(topology->nodes, topology->node_count, sizeof(*topology->nodes), compare_nodes);
	sort(topology->ports, topology->port_count, sizeof(*topology->ports), compare_ports);
}

/* Return the topology, or free it after an error. */
static int end_load(int result, struct topology *topology, struct topology *ret)
{
	if (result < 0)
		topology_done(topology);
	else
		*ret = *topology;
	return result;
}

int topology_load(sqlite3 *db, int64_t sweep, struct topology *ret, struct error *err)
{
	const struct when when = { .sweep = sweep };
	struct topology topology = { .sweep = sweep };
	int result = load_nodes(db, NODES_AT, &when, &topology, err);

	if (!result)
		result = load_ports(db, PORTS_AT, &when, &topology, err);
	if (!result)
		result = load_last_names(db, sweep, &topology, err);
	if (!result) {
		sort_rows(&topology);
		result = connect(&topology, err);
	}
	return end_load(result, &topology, ret);
}

/* --- changes from one sweep to another --- */

/* Ids with a version that begins or ends after sweep ?2 until ?3, in rising order. */
#define CHANGED(what) \
	"SELECT " what " FROM " what "_version WHERE from_sweep > ?2 AND from_sweep <= ?3 UNION" \
	" SELECT " what " FROM " what "_version WHERE to_sweep > ?2 AND to_sweep <= ?3"

/* With more changes, which are also more than this part of all, everything is loaded. */
enum { CHANGES_FEW = 16, CHANGES_PART = 8 };

struct ids {
	uint32_t *ids;
	size_t count;
};

static void read_id(sqlite3_stmt *row, void *at)
{
	*(uint32_t *)at = (uint32_t)sqlite3_column_int64(row, 0);
}

static int load_changed(sqlite3 *db, const char *query, const struct when *when, struct ids *ret, struct error *err)
{
	void *ids = NULL;
	int result = load_rows(db, query, when, sizeof(*ret->ids), read_id, &ids, &ret->count, err);

	ret->ids = ids;
	return result;
}

static int compare_ids(const void *a, const void *b)
{
	uint32_t left = *(const uint32_t *)a, right = *(const uint32_t *)b;

	return left < right ? -1 : left > right;
}

/* Elements begin with their id. */
_Static_assert(offsetof(struct stored_node, id) == 0 && offsetof(struct stored_port, id) == 0, "the id is the first");

/*
 * Merge the unchanged elements of @old, of @size bytes, and all of @fresh into @fresh; both are in order
 * Return: 0 or ERR_NOMEM.
 */
static int merge(const void *old, size_t old_count, void **fresh, size_t *fresh_count, size_t size,
		 const struct ids *changed, int (*compare)(const void *, const void *), struct error *err)
{
	const char *from = old, *from_end = from + old_count * size;
	const char *next = *fresh, *next_end = next + *fresh_count * size;
	char *merged = malloc((old_count + *fresh_count + 1) * size), *to = merged;

	if (!merged)
		return err_nomem(err);
	for (; from < from_end; from += size) {
		if (changed->count && bsearch(from, changed->ids, changed->count, sizeof(*changed->ids), compare_ids))
			continue;
		for (; next < next_end && compare(next, from) < 0; next += size, to += size)
			memcpy(to, next, size);
		memcpy(to, from, size);
		to += size;
	}
	if (next < next_end)
		memcpy(to, next, (size_t)(next_end - next));
	*fresh_count = (size_t)(to - merged) / size + (size_t)(next_end - next) / size;
	free(*fresh);
	*fresh = merged;
	return 0;
}

static int merge_all(const struct topology *from, struct topology *to, const struct ids *nodes,
		     const struct ids *ports, struct error *err)
{
	void *rows = to->nodes;
	int result = merge(from->nodes, from->node_count, &rows, &to->node_count, sizeof(*to->nodes), nodes,
			   compare_nodes, err);

	to->nodes = rows;
	if (result < 0)
		return result;
	rows = to->ports;
	result = merge(from->ports, from->port_count, &rows, &to->port_count, sizeof(*to->ports), ports,
		       compare_ports, err);
	to->ports = rows;
	return result;
}

static bool are_many(const struct ids *changed, size_t all)
{
	return changed->count > CHANGES_FEW && changed->count > all / CHANGES_PART;
}

static int load_fresh(sqlite3 *db, const struct when *when, struct topology *ret, struct error *err)
{
	int result = load_nodes(db, NODES_AT " AND v.node IN (" CHANGED("node") ")", when, ret, err);

	if (!result)
		result = load_ports(db, PORTS_AT " AND v.port IN (" CHANGED("port") ")", when, ret, err);
	if (!result)
		result = load_last_names(db, when->sweep, ret, err);
	if (!result)
		sort_rows(ret);
	return result;
}

int topology_move(sqlite3 *db, const struct topology *from, int64_t sweep, struct topology *ret, struct error *err)
{
	const struct when when = { .sweep = sweep, .after = sweep < from->sweep ? sweep : from->sweep,
				   .until = sweep < from->sweep ? from->sweep : sweep };
	struct topology topology = { .sweep = sweep };
	struct ids nodes = { 0 }, ports = { 0 };
	int result = load_changed(db, CHANGED("node"), &when, &nodes, err);
	bool many;

	if (!result)
		result = load_changed(db, CHANGED("port"), &when, &ports, err);
	many = !result && (are_many(&nodes, from->node_count) || are_many(&ports, from->port_count));
	if (!result && !many)
		result = load_fresh(db, &when, &topology, err);
	if (!result && !many)
		result = merge_all(from, &topology, &nodes, &ports, err);
	if (!result && !many)
		result = connect(&topology, err);
	free(nodes.ids);
	free(ports.ids);
	return many ? 0 : end_load(result, &topology, ret) < 0 ? result : 1;
}

void topology_done(struct topology *topology)
{
	free(topology->nodes);
	free(topology->ports);
	memset(topology, 0, sizeof(*topology));
}

static int add_all(const struct topology *topology, struct fabric *fabric, struct error *err)
{
	for (size_t i = 0; i < topology->node_count; i++) {
		const struct node *node = &topology->nodes[i].node;

		if (fabric_add_node(fabric, node, err) < 0)
			return err_prefix(err, "the database is damaged");
		for (uint32_t p = 0; p < node->ports; p++)
			if (fabric_add_port(fabric, &topology->ports[node->first_port + p].port, err) < 0)
				return err_prefix(err, "the database is damaged");
	}
	for (size_t i = 0; i < topology->port_count; i++) {
		uint32_t peer = topology->ports[i].port.peer;

		if (peer != FABRIC_NONE && fabric_link(fabric, (uint32_t)i, peer, err) < 0)
			return err_prefix(err, "the database is damaged");
	}
	return 0;
}

int topology_put_last_names(const struct topology *topology, const struct name_map *names, struct fabric *fabric,
			    struct error *err)
{
	for (size_t i = 0; i < topology->node_count; i++) {
		const struct stored_node *stored = &topology->nodes[i];
		char *name;

		if (!stored->was[0] || (names && name_map_find(names, stored->node.guid)))
			continue;
		name = strdup(stored->was);
		if (!name)
			return err_nomem(err);
		free(fabric->nodes[i].name);
		fabric->nodes[i].name = name;
	}
	return 0;
}

int topology_fabric(const struct topology *topology, const struct name_map *names, uint32_t from_node,
		    uint8_t from_port, struct fabric **ret, struct error *err)
{
	struct error local = { 0 };
	struct fabric *fabric = fabric_create(&local);
	int result = fabric ? add_all(topology, fabric, &local) : local.code;

	if (!result)
		result = fabric_finish(fabric, names, &local);
	if (result < 0) {
		fabric_destroy(fabric);
		return err_set(err, result, "%s", local.text);
	}
	for (size_t i = 0; i < topology->node_count; i++) {
		if (from_node && topology->nodes[i].id == from_node) {
			fabric->from_node = (uint32_t)i;
			fabric->from_port = from_port;
		}
	}
	*ret = fabric;
	return 0;
}
