/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* writer_cache.c - the newest rows of the database, in memory */
#include <stdlib.h>
#include <string.h>

#include "base/array.h"
#include "base/err.h"
#include "storage/file/db.h"
#include "storage/write/writer_internal.h"

uint32_t writer_cache_find_node(const struct writer_cache *cache, uint64_t guid)
{
	uint32_t id = 0;

	map_get(&cache->by_guid, guid, &id);
	return id;
}

static uint64_t port_key(uint32_t node, uint8_t num)
{
	return (uint64_t)node << 8 | num;
}

uint32_t writer_cache_find_port(const struct writer_cache *cache, uint32_t node, uint8_t num)
{
	uint32_t id = 0;

	map_get(&cache->by_port, port_key(node, num), &id);
	return id;
}

int writer_cache_set_node(struct writer_cache *cache, uint32_t id, uint64_t guid, struct error *err)
{
	struct known_node *nodes = array_grow(cache->nodes, cache->node_count, &cache->node_capacity, sizeof(*nodes));

	if (!nodes)
		return err_nomem(err);
	cache->nodes = nodes;
	if (map_put(&cache->by_guid, guid, id) < 0)
		return err_nomem(err);
	if (id == cache->node_count)
		cache->node_count++;
	else
		map_put(&cache->by_guid, nodes[id].guid, 0);
	nodes[id] = (struct known_node){ .guid = guid };
	return 0;
}

int writer_cache_set_port(struct writer_cache *cache, uint32_t id, uint32_t node, uint8_t num, struct error *err)
{
	struct known_port *ports = array_grow(cache->ports, cache->port_count, &cache->port_capacity, sizeof(*ports));

	if (!ports)
		return err_nomem(err);
	cache->ports = ports;
	if (map_put(&cache->by_port, port_key(node, num), id) < 0)
		return err_nomem(err);
	if (id == cache->port_count)
		cache->port_count++;
	else
		map_put(&cache->by_port, port_key(ports[id].node, ports[id].num), 0);
	ports[id] = (struct known_port){ .node = node, .num = num };
	return 0;
}

void writer_cache_done(struct writer_cache *cache)
{
	free(cache->nodes);
	free(cache->ports);
	free(cache->free_nodes);
	free(cache->free_ports);
	map_done(&cache->by_guid);
	map_done(&cache->by_port);
	topology_done(&cache->loaded);
	memset(cache, 0, sizeof(*cache));
}

static int damaged(struct error *err)
{
	return err_set(err, ERR_IO,
		       "the database is damaged: rows that others refer to are missing; move it aside or restore a "
		       "copy of it");
}

static int load_identities(sqlite3 *db, struct writer_cache *cache, struct error *err)
{
	sqlite3_stmt *rows;
	int result;

	/* Entry 0 of nodes and ports. */
	if (writer_cache_set_node(cache, 0, 0, err) < 0 || writer_cache_set_port(cache, 0, 0, 0, err) < 0)
		return ERR_NOMEM;
	result = db_prepare(db, "SELECT id, guid FROM node ORDER BY id", &rows, err);
	while (!result && (result = db_step(rows, err)) > 0)
		result = db_u64(rows, 0) != cache->node_count ? damaged(err) :
			 writer_cache_set_node(cache, (uint32_t)cache->node_count, db_u64(rows, 1), err);
	sqlite3_finalize(rows);
	if (result < 0)
		return result;
	result = db_prepare(db, "SELECT id, node, number FROM port ORDER BY id", &rows, err);
	while (!result && (result = db_step(rows, err)) > 0) {
		uint64_t node = db_u64(rows, 1);

		result = !node || node >= cache->node_count || db_u64(rows, 0) != cache->port_count ? damaged(err) :
			 writer_cache_set_port(cache, (uint32_t)cache->port_count, (uint32_t)node,
					       (uint8_t)sqlite3_column_int(rows, 2), err);
	}
	sqlite3_finalize(rows);
	if (!result)
		result = db_integer(db, "SELECT value FROM meta WHERE key = 'new_ids_us'", 0, &cache->new_ids_us, err);
	return result;
}

static int load_sweep(sqlite3 *db, struct writer_cache *cache, struct error *err)
{
	sqlite3_stmt *row;
	int result = db_prepare(db,
				"SELECT s.id, s.wall_us, s.start_us, s.topology, s.from_node, s.from_port, s.boot,"
				" b.boot_id FROM sweep s LEFT JOIN boot b ON b.id = s.boot ORDER BY s.id DESC LIMIT 1",
				&row, err);

	if (result < 0)
		return result;
	result = db_step(row, err);
	if (result > 0) {
		const char *boot_id = (const char *)sqlite3_column_text(row, 7);

		cache->sweep = cache->loaded_sweep = sqlite3_column_int64(row, 0);
		cache->sweep_wall_us = db_us(row, 1);
		cache->sweep_start_us = db_us(row, 2);
		cache->topology = sqlite3_column_int64(row, 3);
		cache->from_node = (uint32_t)sqlite3_column_int64(row, 4);
		cache->from_port = (uint8_t)sqlite3_column_int(row, 5);
		cache->boot = sqlite3_column_int64(row, 6);
		result = boot_id ? 0 : damaged(err);
		if (boot_id)
			strncpy(cache->boot_id, boot_id, sizeof(cache->boot_id) - 1);
	}
	sqlite3_finalize(row);
	return result;
}

static int load_versions(sqlite3 *db, struct writer_cache *cache, struct error *err)
{
	struct topology *topology = &cache->loaded;
	const struct fabric *fabric;
	int result = topology_load(db, cache->sweep, NULL, cache->from_node, cache->from_port, topology, err);

	if (result < 0)
		return result;
	fabric = topology->fabric;
	for (size_t i = 0; i < fabric->node_count; i++) {
		struct known_node *known = &cache->nodes[topology->nodes[i].id];

		known->from_sweep = topology->nodes[i].from_sweep;
		known->now = fabric->nodes[i];
		strncpy(known->name, known->now.name, sizeof(known->name) - 1);
		known->now.name = NULL;
	}
	for (size_t i = 0; i < fabric->port_count; i++) {
		struct known_port *known = &cache->ports[topology->ports[i].id];

		known->from_sweep = topology->ports[i].from_sweep;
		known->now = fabric->ports[i];
		known->peer = known->now.peer == FABRIC_NONE ? 0 : topology->ports[known->now.peer].id;
		known->pollable = port_is_pollable(fabric, &fabric->ports[i]);
	}
	return 0;
}

static int load_gaps(sqlite3 *db, struct writer_cache *cache, struct error *err)
{
	sqlite3_stmt *rows;
	int result = db_prepare(db, "SELECT port, from_sweep, why FROM span WHERE to_sweep IS NULL", &rows, err);

	while (!result && (result = db_step(rows, err)) > 0) {
		uint64_t port = db_u64(rows, 0);

		result = port < cache->port_count ? 0 : damaged(err);
		if (result < 0)
			break;
		cache->ports[port].pollable = true;
		cache->ports[port].gap_from = sqlite3_column_int64(rows, 1);
		cache->ports[port].gap_why = sqlite3_column_int(rows, 2);
	}
	sqlite3_finalize(rows);
	return result;
}

static int load_readings(sqlite3 *db, struct writer_cache *cache, struct error *err)
{
	struct stored_reading *by_port;
	int result;

	by_port = calloc(cache->port_count, sizeof(*by_port));
	if (!by_port)
		return err_nomem(err);
	result = readings_load(db, cache->sweep, by_port, cache->port_count, err);
	for (size_t i = 0; !result && i < cache->port_count; i++)
		cache->ports[i].last = by_port[i];
	free(by_port);
	return result;
}

int writer_cache_load(sqlite3 *db, struct writer_cache *ret, struct error *err)
{
	static int (*const parts[])(sqlite3 *db, struct writer_cache *cache, struct error *err) = {
		load_identities, load_sweep, load_versions, load_gaps, load_readings,
	};
	struct writer_cache cache = { 0 };
	int result = db_exec(db, "BEGIN", err);

	if (result < 0)
		return result;
	for (size_t i = 0; !result && i < sizeof(parts) / sizeof(*parts); i++)
		result = parts[i](db, &cache, err);
	sqlite3_exec(db, "ROLLBACK", NULL, NULL, NULL); /* nothing was written */
	if (result < 0)
		writer_cache_done(&cache);
	else
		*ret = cache;
	return result;
}
