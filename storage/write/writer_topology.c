/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* writer_topology.c - versions of nodes and ports */
#include <stdlib.h>
#include <string.h>

#include "base/err.h"
#include "fabric/fabric.h"
#include "storage/file/db.h"
#include "storage/write/writer_internal.h"

static bool same_node(const struct known_node *known, const struct node *node)
{
	const struct node *now = &known->now;

	return now->system_guid == node->system_guid && now->vendor_id == node->vendor_id &&
	       now->revision == node->revision && now->device_id == node->device_id && now->lid == node->lid &&
	       now->lft_top == node->lft_top && now->type == node->type && now->port_count == node->port_count &&
	       now->enhanced_port0 == node->enhanced_port0 && now->adaptive == node->adaptive &&
	       memcmp(now->desc, node->desc, NODE_DESC_SIZE) == 0 &&
	       strcmp(known->name, node->name) == 0;
}

static bool same_port(const struct known_port *known, const struct port *port, uint32_t peer)
{
	const struct port *now = &known->now;

	return known->peer == peer && now->guid == port->guid && now->cap_mask == port->cap_mask &&
	       now->lid == port->lid && now->sm_lid == port->sm_lid && now->lmc == port->lmc &&
	       now->speed_enabled == port->speed_enabled && now->speed_supported == port->speed_supported &&
	       now->width_enabled == port->width_enabled && now->width_supported == port->width_supported &&
	       now->state == port->state && now->phys_state == port->phys_state && now->speed == port->speed &&
	       now->width == port->width;
}

/* End the version of node or port @id that starts at sweep @from. */
static int close_version(struct writer *writer, enum writer_statement which, int64_t from, int64_t id, int64_t sweep,
			 struct error *err)
{
	sqlite3_stmt *update = writer->statements[which];

	DB_BIND(update, 1, sweep, from, id);
	return db_run(update, err);
}

static int open_node(struct writer *writer, uint32_t id, int64_t sweep, struct error *err)
{
	sqlite3_stmt *insert = writer->statements[OPEN_NODE_VERSION];
	const struct known_node *known = &writer->cache.nodes[id];
	const struct node *node = &known->now;
	int len = NODE_DESC_SIZE;

	while (len && !node->desc[len - 1])
		len--;
	DB_BIND(insert, 1, sweep, id);
	sqlite3_bind_text(insert, 3, known->name, -1, SQLITE_STATIC);
	sqlite3_bind_blob(insert, 4, node->desc, len, SQLITE_STATIC);
	DB_BIND(insert, 5, node->type, node->port_count, (int64_t)node->system_guid, node->vendor_id, node->device_id,
		node->revision, node->lid, node->lft_top, node->enhanced_port0);
	if (node->adaptive == ADAPTIVE_UNKNOWN)
		sqlite3_bind_null(insert, 14);
	else
		sqlite3_bind_int(insert, 14, node->adaptive == ADAPTIVE_ON);
	return db_run(insert, err);
}

static int open_port(struct writer *writer, uint32_t id, int64_t sweep, struct error *err)
{
	sqlite3_stmt *insert = writer->statements[OPEN_PORT_VERSION];
	const struct known_port *known = &writer->cache.ports[id];
	const struct port *port = &known->now;

	DB_BIND(insert, 1, sweep, id);
	db_bind_nonzero(insert, 3, known->peer);
	DB_BIND(insert, 4, port->state, port->phys_state, port->width, port->speed, port->width_enabled,
		port->width_supported, port->speed_enabled, port->speed_supported, (int64_t)port->guid, port->lid,
		port->lmc, port->sm_lid, port->cap_mask);
	return db_run(insert, err);
}

static int store_node(struct writer *writer, uint32_t id, const struct node *node, int64_t sweep, bool *changed,
		      struct error *err)
{
	struct known_node *known = &writer->cache.nodes[id];
	int result = 0;

	known->stamp = writer->cache.stamp;
	if (known->from_sweep && same_node(known, node))
		return 0;
	*changed = true;
	if (known->from_sweep)
		result = close_version(writer, CLOSE_NODE_VERSION, known->from_sweep, id, sweep, err);
	known->now = *node;
	known->now.name = NULL;
	known->now.desc[NODE_DESC_SIZE] = '\0';
	strncpy(known->name, node->name, sizeof(known->name) - 1);
	known->from_sweep = sweep;
	return result ? result : open_node(writer, id, sweep, err);
}

static int store_port(struct writer *writer, const struct fabric *fabric, uint32_t index, int64_t sweep, bool *changed,
		      struct error *err)
{
	const struct port *port = &fabric->ports[index];
	uint32_t id = writer->port_ids[index];
	uint32_t peer = port->peer == FABRIC_NONE ? 0 : writer->port_ids[port->peer];
	struct known_port *known = &writer->cache.ports[id];
	int result = 0;

	if (!id)
		return 0;
	known->stamp = writer->cache.stamp;
	if (port_is_pollable(fabric, port))
		known->pollable = true;
	if (known->from_sweep && same_port(known, port, peer))
		return 0;
	*changed = true;
	if (known->from_sweep)
		result = close_version(writer, CLOSE_PORT_VERSION, known->from_sweep, id, sweep, err);
	known->now = *port;
	known->peer = peer;
	known->from_sweep = sweep;
	return result ? result : open_port(writer, id, sweep, err);
}

/* End the versions of nodes and ports that are no longer in the fabric. */
static int close_missing(struct writer *writer, int64_t sweep, bool *changed, struct error *err)
{
	struct writer_cache *cache = &writer->cache;
	int result = 0;

	for (size_t i = 1; !result && i < cache->node_count + cache->port_count; i++) {
		bool is_node = i < cache->node_count;
		size_t id = is_node ? i : i - cache->node_count;
		int64_t *from = is_node ? &cache->nodes[id].from_sweep : &cache->ports[id].from_sweep;

		if (!*from || (is_node ? cache->nodes[id].stamp : cache->ports[id].stamp) == cache->stamp)
			continue;
		*changed = true;
		result = close_version(writer, is_node ? CLOSE_NODE_VERSION : CLOSE_PORT_VERSION, *from, (int64_t)id,
				       sweep, err);
		*from = 0;
	}
	return result;
}

int writer_store_topology(struct writer *writer, const struct sweep *sweep, int64_t id, bool *ret_changed,
			  struct error *err)
{
	const struct fabric *fabric = sweep->fabric;
	bool changed = false;
	int result = writer_identify(writer, sweep, err);

	for (size_t i = 0; !result && i < fabric->node_count; i++) {
		uint32_t node = writer_cache_find_node(&writer->cache, fabric->nodes[i].guid);

		if (node)
			result = store_node(writer, node, &fabric->nodes[i], id, &changed, err);
	}
	for (size_t i = 0; !result && i < fabric->port_count; i++)
		result = store_port(writer, fabric, (uint32_t)i, id, &changed, err);
	if (!result)
		result = close_missing(writer, id, &changed, err);
	if (!result)
		*ret_changed = changed;
	return result;
}
