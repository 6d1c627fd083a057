/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
#include "storage/read/topology.h"

#include <stdlib.h>
#include <string.h>

#include "base/err.h"
#include "base/text.h"
#include "fabric/name_map.h"
#include "fabric/names.h"
#include "storage/file/db.h"
#include "storage/read/reader_internal.h"

static int damaged(struct error *err, const char *what)
{
	return err_set(err, ERR_IO, "the database is damaged: %s; move it aside or restore a copy of it", what);
}

/* @code: of a call of fabric/ that rejected a row. */
static int rejected(struct error *err, int64_t code)
{
	err_prefix(err, "the database is damaged");
	return (int)code;
}

static void read_description(sqlite3_stmt *row, int column, char ret[NODE_DESC_SIZE + 1])
{
	const void *bytes = sqlite3_column_blob(row, column);
	int len = sqlite3_column_bytes(row, column);

	memset(ret, 0, NODE_DESC_SIZE + 1);
	if (bytes)
		memcpy(ret, bytes, len < NODE_DESC_SIZE ? (size_t)len : NODE_DESC_SIZE);
}

#define IS_VALID_AT " AND v.from_sweep <= ?1 AND (v.to_sweep IS NULL OR v.to_sweep > ?1)"

static const char nodes_sql[] =
	"SELECT v.node, v.from_sweep, n.guid, v.description, v.type, v.port_count, v.system_guid, v.vendor_id,"
	" v.device_id, v.revision, v.lid, v.lft_top, v.enhanced_port0, v.adaptive_routing FROM node_version v"
	" CROSS JOIN node n ON n.id = v.node" IS_VALID_AT;

/* The version of a node. from_sweep 0: none */
struct node_version {
	int64_t from_sweep;
	struct node node;
};

static void read_node(sqlite3_stmt *row, struct node_version *ret)
{
	struct node *node = &ret->node;

	ret->from_sweep = sqlite3_column_int64(row, 1);
	node->guid = db_u64(row, 2);
	read_description(row, 3, node->desc);
	node->type = (uint8_t)sqlite3_column_int(row, 4);
	node->port_count = (uint8_t)sqlite3_column_int(row, 5);
	node->system_guid = db_u64(row, 6);
	node->vendor_id = (uint32_t)sqlite3_column_int64(row, 7);
	node->device_id = (uint16_t)sqlite3_column_int(row, 8);
	node->revision = (uint32_t)sqlite3_column_int64(row, 9);
	node->lid = (uint16_t)sqlite3_column_int(row, 10);
	node->lft_top = (uint16_t)sqlite3_column_int(row, 11);
	node->enhanced_port0 = sqlite3_column_int(row, 12) != 0;
	if (sqlite3_column_type(row, 13) != SQLITE_NULL)
		node->adaptive = sqlite3_column_int(row, 13) ? ADAPTIVE_ON : ADAPTIVE_OFF;
}

/* By their keys: in the order of ports, each version would be one more lookup. */
static const char versions_sql[] =
	"SELECT v.port, v.from_sweep, v.peer, v.state, v.phys_state, v.width, v.speed, v.width_enabled,"
	" v.width_supported, v.speed_enabled, v.speed_supported, v.guid, v.lid, v.lmc, v.sm_lid, v.cap_mask"
	" FROM port_version v WHERE true" IS_VALID_AT;

static const char ports_sql[] = "SELECT id, node, number FROM port ORDER BY node, number";

/* The version of a port. from_sweep 0: none */
struct port_version {
	int64_t from_sweep;
	uint32_t peer; /* its id; 0: none */
	struct port port;
};

static void read_version(sqlite3_stmt *row, struct port_version *ret)
{
	struct port *port = &ret->port;

	ret->from_sweep = sqlite3_column_int64(row, 1);
	ret->peer = (uint32_t)sqlite3_column_int64(row, 2);
	port->state = (uint8_t)sqlite3_column_int(row, 3);
	port->phys_state = (uint8_t)sqlite3_column_int(row, 4);
	port->width = (uint8_t)sqlite3_column_int(row, 5);
	port->speed = (uint8_t)sqlite3_column_int(row, 6);
	port->width_enabled = (uint8_t)sqlite3_column_int(row, 7);
	port->width_supported = (uint8_t)sqlite3_column_int(row, 8);
	port->speed_enabled = (uint16_t)sqlite3_column_int(row, 9);
	port->speed_supported = (uint16_t)sqlite3_column_int(row, 10);
	port->guid = db_u64(row, 11);
	port->lid = (uint16_t)sqlite3_column_int(row, 12);
	port->lmc = (uint8_t)sqlite3_column_int(row, 13);
	port->sm_lid = (uint16_t)sqlite3_column_int(row, 14);
	port->cap_mask = (uint32_t)sqlite3_column_int64(row, 15);
}

/* While a topology is loaded. */
struct loading {
	struct topology topology;
	sqlite3_stmt *nodes, *versions, *ports;
	size_t node_ids;  /* highest node id + 1 */
	int port_result;  /* 1: `ports` has a row that was not used; 0: no more rows; or an error */
	struct node_version *nodes_by_id;
	struct port_version *by_id;
	size_t version_count;
};

static int prepare(struct loading *loading, sqlite3 *db, struct error *err)
{
	struct topology *topology = &loading->topology;
	int64_t ids[2];
	int result = db_row(db, "SELECT (SELECT max(id) FROM node), (SELECT max(id) FROM port)", NULL, 0, ids, 2, err);

	if (result >= 0)
		result = db_prepare(db, nodes_sql, &loading->nodes, err);
	if (!result)
		result = db_prepare(db, versions_sql, &loading->versions, err);
	if (!result)
		result = db_prepare(db, ports_sql, &loading->ports, err);
	if (result < 0)
		return result;
	sqlite3_bind_int64(loading->nodes, 1, topology->sweep);
	sqlite3_bind_int64(loading->versions, 1, topology->sweep);
	loading->node_ids = (size_t)ids[0] + 1;
	topology->port_ids = (size_t)ids[1] + 1;
	topology->nodes = calloc(loading->node_ids, sizeof(*topology->nodes));
	topology->ports = calloc(topology->port_ids, sizeof(*topology->ports));
	topology->port_index = calloc(topology->port_ids, sizeof(*topology->port_index));
	loading->nodes_by_id = calloc(loading->node_ids, sizeof(*loading->nodes_by_id));
	loading->by_id = calloc(topology->port_ids, sizeof(*loading->by_id));
	if (!topology->nodes || !topology->ports || !topology->port_index || !loading->nodes_by_id || !loading->by_id)
		return err_nomem(err);
	topology->fabric = fabric_create(err);
	return topology->fabric ? 0 : ERR_NOMEM;
}

static int read_versions(struct loading *loading, struct error *err)
{
	int result;

	while ((result = db_step(loading->nodes, err)) > 0) {
		uint64_t id = db_u64(loading->nodes, 0);

		if (!id || id >= loading->node_ids || loading->nodes_by_id[id].from_sweep)
			return damaged(err, "a node with an impossible id, or with two versions");
		read_node(loading->nodes, &loading->nodes_by_id[id]);
	}
	while (result >= 0 && (result = db_step(loading->versions, err)) > 0) {
		uint64_t id = db_u64(loading->versions, 0);

		if (!id || id >= loading->topology.port_ids || loading->by_id[id].from_sweep)
			return damaged(err, "a port with an impossible id, or with two versions");
		read_version(loading->versions, &loading->by_id[id]);
		loading->version_count++;
	}
	return result;
}

/* The ports of the node that was added last; those of departed nodes are skipped. */
static int add_ports(struct loading *loading, uint32_t node, struct error *err)
{
	struct topology *topology = &loading->topology;
	sqlite3_stmt *row = loading->ports;

	for (; loading->port_result > 0 && sqlite3_column_int64(row, 1) <= node;
	     loading->port_result = db_step(row, err)) {
		uint64_t id = db_u64(row, 0);
		struct port_version *version = id < topology->port_ids ? &loading->by_id[id] : NULL;
		int64_t at;

		if (!version || !version->from_sweep || sqlite3_column_int64(row, 1) < node)
			continue;
		version->port.num = (uint8_t)sqlite3_column_int(row, 2);
		at = fabric_add_port(topology->fabric, &version->port, err);
		if (at < 0)
			return rejected(err, at);
		topology->ports[at] = (struct stored_version){ (uint32_t)id, version->from_sweep };
		topology->port_index[id] = (uint32_t)at + 1;
	}
	return loading->port_result < 0 ? loading->port_result : 0;
}

static int add_nodes(struct loading *loading, struct error *err)
{
	struct topology *topology = &loading->topology;
	int result = 0;

	loading->port_result = db_step(loading->ports, err);
	if (loading->port_result < 0)
		return loading->port_result;
	for (uint32_t id = 1; !result && id < loading->node_ids; id++) {
		const struct node_version *version = &loading->nodes_by_id[id];
		int64_t at = version->from_sweep ? fabric_add_node(topology->fabric, &version->node, err) : 0;

		if (at < 0)
			return rejected(err, at);
		if (!version->from_sweep)
			continue;
		topology->nodes[at] = (struct stored_version){ id, version->from_sweep };
		result = add_ports(loading, id, err);
	}
	if (!result && loading->version_count != topology->fabric->port_count)
		result = damaged(err, "a port without its node");
	return result;
}

static int add_links(const struct loading *loading, struct error *err)
{
	const struct topology *topology = &loading->topology;

	for (size_t i = 0; i < topology->fabric->port_count; i++) {
		uint32_t id = loading->by_id[topology->ports[i].id].peer;
		uint32_t peer = id < topology->port_ids ? topology->port_index[id] : 0;
		int code = peer ? fabric_link(topology->fabric, (uint32_t)i, peer - 1, err) : 0;

		if (code < 0)
			return rejected(err, code);
	}
	return 0;
}

int topology_load(sqlite3 *db, int64_t sweep, const struct name_map *names, uint32_t from_node, uint8_t from_port,
		  struct topology *ret, struct error *err)
{
	struct loading loading = { .topology.sweep = sweep };
	struct topology *topology = &loading.topology;
	int result = prepare(&loading, db, err);

	if (!result)
		result = read_versions(&loading, err);
	if (!result)
		result = add_nodes(&loading, err);
	if (!result)
		result = add_links(&loading, err);
	if (!result)
		result = fabric_finish(topology->fabric, names, err);
	for (size_t i = 0; !result && from_node && i < topology->fabric->node_count; i++) {
		if (topology->nodes[i].id == from_node) {
			topology->fabric->from_node = (uint32_t)i;
			topology->fabric->from_port = from_port;
		}
	}
	sqlite3_finalize(loading.nodes);
	sqlite3_finalize(loading.versions);
	sqlite3_finalize(loading.ports);
	free(loading.nodes_by_id);
	free(loading.by_id);
	if (result < 0)
		topology_done(topology);
	else
		*ret = *topology;
	return result;
}

void topology_done(struct topology *topology)
{
	fabric_destroy(topology->fabric);
	free(topology->nodes);
	free(topology->ports);
	free(topology->port_index);
	memset(topology, 0, sizeof(*topology));
}

static int prepare_names(sqlite3 *db, sqlite3_stmt **ret, struct error *err)
{
	return db_prepare(db, "SELECT v.description FROM node n CROSS JOIN node_version v ON v.node = n.id"
			  " WHERE n.guid = ?1 AND v.from_sweep <= ?2 ORDER BY v.from_sweep DESC", ret, err);
}

/*
 * The last name of a node that is not generic, until a sweep; "" without one. NAMES_WAS is appended.
 * @rows:  of prepare_names(), for many nodes
 */
static int find_last_name(sqlite3_stmt *rows, uint64_t node_guid, int64_t sweep, char ret[NODE_NAME_SIZE],
		       struct error *err)
{
	char desc[NODE_DESC_SIZE + 1];
	int result;

	ret[0] = '\0';
	db_bind_u64(rows, 1, node_guid);
	sqlite3_bind_int64(rows, 2, sweep);
	while ((result = db_step(rows, err)) > 0) {
		read_description(rows, 0, desc);
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

int topology_put_last_names(sqlite3 *db, const struct topology *topology, const struct name_map *names,
			    struct error *err)
{
	sqlite3_stmt *rows;
	int result = prepare_names(db, &rows, err);

	for (size_t i = 0; !result && i < topology->fabric->node_count; i++) {
		struct node *node = &topology->fabric->nodes[i];
		char was[NODE_NAME_SIZE], *name;

		if (!names_is_generic(node->desc) || (names && name_map_find(names, node->guid)))
			continue;
		result = find_last_name(rows, node->guid, topology->sweep, was, err);
		if (result < 0 || !was[0])
			continue;
		name = strdup(was);
		if (!name) {
			result = err_nomem(err);
			break;
		}
		free(node->name);
		node->name = name;
	}
	sqlite3_finalize(rows);
	return result;
}

/* Wall clock of the first stored sweep from one on. */
#define WALL_FROM(sweep) "(SELECT s.wall_us FROM sweep s WHERE s.id >= " sweep " ORDER BY s.id LIMIT 1)"

/* A stored description for display, or the last one that is not generic. */
static int read_name(sqlite3_stmt *row, int column, sqlite3_stmt *names, uint64_t guid, int64_t sweep,
		     char ret[NODE_NAME_SIZE], struct error *err)
{
	char desc[NODE_DESC_SIZE + 1];
	int result = 0;

	read_description(row, column, desc);
	ret[0] = '\0';
	if (names_is_generic(desc))
		result = find_last_name(names, guid, sweep, ret, err);
	if (!ret[0])
		text_sanitise(desc, NODE_DESC_SIZE, ret, NODE_NAME_SIZE);
	return result;
}

static int report_departed(sqlite3 *db, int64_t sweep, reader_departed_fn *each, void *ctx, struct error *err)
{
	static const char query[] =
		"SELECT n.guid, v.description, (SELECT s.wall_us FROM sweep s WHERE s.id >= v.from_sweep"
		" AND s.id < v.to_sweep ORDER BY s.id DESC LIMIT 1), " WALL_FROM("v.to_sweep")
		" FROM node n CROSS JOIN node_version v"
		" ON v.node = n.id AND v.from_sweep = (SELECT max(o.from_sweep) FROM node_version o"
		" WHERE o.node = n.id AND o.from_sweep <= ?1) WHERE v.to_sweep <= ?1 ORDER BY n.id";
	sqlite3_stmt *rows = NULL, *names = NULL;
	int result = db_prepare(db, query, &rows, err);

	if (!result)
		result = prepare_names(db, &names, err);
	if (!result)
		sqlite3_bind_int64(rows, 1, sweep);
	while (result >= 0 && (result = db_step(rows, err)) > 0) {
		struct departed_node departed = { .guid = db_u64(rows, 0), .seen_us = db_us(rows, 2),
					  .departed_us = db_us(rows, 3) };
		char name[NODE_NAME_SIZE];

		result = read_name(rows, 1, names, departed.guid, sweep, name, err);
		departed.name = name;
		if (result < 0 || !each(ctx, &departed))
			break;
	}
	sqlite3_finalize(rows);
	sqlite3_finalize(names);
	return result < 0 ? result : 0;
}

int reader_departed_nodes(struct reader *reader, int64_t at_us, reader_departed_fn *each, void *ctx, struct error *err)
{
	struct stored_sweep sweep;
	int result = reader_begin_at(reader, at_us, &sweep, err);

	if (result < 0)
		return result;
	result = report_departed(reader->db, sweep.info.id, each, ctx, err);
	reader_end(reader);
	return result;
}

static int find_peer(sqlite3 *db, uint64_t node_guid, uint8_t port, int64_t sweep, struct past_peer *ret,
		     struct error *err)
{
	static const char query[] =
		"SELECT f.guid, o.number, (SELECT l.description FROM node_version l WHERE l.node = f.id"
		" AND l.from_sweep <= ?3 ORDER BY l.from_sweep DESC LIMIT 1),"
		" CASE WHEN v.to_sweep <= ?3 THEN " WALL_FROM("v.to_sweep")
		" END FROM node n CROSS JOIN port p ON p.node = n.id AND p.number = ?2"
		" CROSS JOIN port_version v ON v.port = p.id AND v.from_sweep <= ?3 AND v.peer IS NOT NULL"
		" CROSS JOIN port o ON o.id = v.peer CROSS JOIN node f ON f.id = o.node"
		" WHERE n.guid = ?1 ORDER BY v.from_sweep DESC LIMIT 1";
	sqlite3_stmt *rows = NULL, *names = NULL;
	int result = db_prepare(db, query, &rows, err);
	bool found;

	if (!result)
		result = prepare_names(db, &names, err);
	if (!result) {
		db_bind_u64(rows, 1, node_guid);
		DB_BIND(rows, 2, port, sweep);
		result = db_step(rows, err);
	}
	found = result > 0;
	if (found) {
		*ret = (struct past_peer){ .guid = db_u64(rows, 0), .port = (uint8_t)sqlite3_column_int(rows, 1),
					   .until_us = db_us(rows, 3) };
		result = read_name(rows, 2, names, ret->guid, sweep, ret->name, err);
	}
	sqlite3_finalize(rows);
	sqlite3_finalize(names);
	return result < 0 ? result : found;
}

int reader_last_peer(struct reader *reader, uint64_t node_guid, uint8_t port, int64_t at_us, struct past_peer *ret,
		     struct error *err)
{
	struct stored_sweep sweep;
	int result = reader_begin_at(reader, at_us, &sweep, err);

	if (result < 0)
		return result;
	result = find_peer(reader->db, node_guid, port, sweep.info.id, ret, err);
	reader_end(reader);
	return result;
}
