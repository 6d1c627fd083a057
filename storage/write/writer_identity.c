/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * writer_identity.c - ids of nodes and ports
 *
 * The database has room for 2,097,151 ids of nodes and of ports each, and a compromised switch can respond to a
 * discovery with any number of nodes. So new ids are limited per hour, a node beyond the limit is left out of the
 * sweep, and ids of departed nodes are assigned again when no row about them is within the retention. The ids of a
 * table have no holes, so a free id keeps its row, with the last node or port that had it.
 */
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/err.h"
#include "base/text.h"
#include "fabric/fabric.h"
#include "storage/file/db.h"
#include "storage/write/writer_internal.h"

/*
 * New ids, of nodes and ports together: in the first topology of a database, later at once, and per hour. At once:
 * twice a fabric of 65,536 ports. Per hour: with the default retention, nodes that are forged for ever and never
 * respond to a poll have 0.9 million ids.
 */
enum { FIRST_MOST = 524288, NEW_MOST = 131072, NEW_PER_HOUR = 1024 };
#define COST_US (3600 * US_PER_S / NEW_PER_HOUR)

/* Nodes that were left out are tried again after this time. */
#define LEFT_OUT_US (60 * US_PER_S)

/* Ports whose rows are removed in the transaction of one sweep. */
#define EXPIRED_PORTS_MOST 4096

#define MOST_US (NEW_MOST * COST_US)

/*
 * The database has the time at which all credit is restored, so that the limit holds over restarts of the collector.
 * Return: that time. It is further ahead only if the clock was set back while no collector ran.
 */
static int64_t credit_at(const struct writer_cache *cache, int64_t wall_us)
{
	return cache->new_ids_us < wall_us || cache->new_ids_us > wall_us + MOST_US ? wall_us : cache->new_ids_us;
}

static int store_credit(struct writer *writer, struct error *err)
{
	DB_BIND(writer->statements[WRITE_NEW_IDS], 1, writer->cache.new_ids_us);
	return db_run(writer->statements[WRITE_NEW_IDS], err);
}

int writer_follow_clock(struct writer *writer, const struct sweep *sweep, struct error *err)
{
	struct writer_cache *cache = &writer->cache;
	int64_t step_us = sweep->wall_us - cache->sweep_wall_us - (sweep->start_us - cache->sweep_start_us);

	if (!cache->new_ids_us || strcmp(cache->boot_id, sweep->boot_id) || (step_us < US_PER_S && step_us > -US_PER_S))
		return 0;
	cache->new_ids_us = credit_at(cache, cache->sweep_wall_us) + step_us;
	return store_credit(writer, err);
}

/* May so many new ids be assigned? */
static bool take_credit(struct writer_cache *cache, bool first, size_t ids, int64_t wall_us)
{
	if (first)
		return cache->node_count + cache->port_count + ids <= FIRST_MOST;
	cache->new_ids_us = credit_at(cache, wall_us);
	if (cache->new_ids_us + (int64_t)ids * COST_US > wall_us + MOST_US)
		return false;
	cache->new_ids_us += (int64_t)ids * COST_US;
	return true;
}

/* --- free ids --- */

/* Rows of departed nodes (?1: JSON array of their ids) that the retention leaves, and their versions. */
#define NODES "(SELECT value FROM json_each(?1))"
#define PORTS "(SELECT p.id FROM json_each(?1) j CROSS JOIN port p ON p.node = j.value)"
#define DETAILS "(SELECT sweep, port FROM detail_last WHERE port IN " PORTS ")"
static const char *const expired_sql[] = {
	"DELETE FROM absolute WHERE (sweep, port) IN (SELECT read_sweep, port FROM span WHERE to_sweep IS NULL AND"
	" port IN " PORTS ")",
	"DELETE FROM span WHERE to_sweep IS NULL AND port IN " PORTS,
	"DELETE FROM detail_value WHERE (sweep, port) IN " DETAILS,
	"DELETE FROM detail WHERE (sweep, port) IN " DETAILS,
	"DELETE FROM detail_last WHERE port IN " PORTS,
	/* Their former peers. */
	"UPDATE port_version SET peer = NULL WHERE port IN (SELECT v.peer FROM port_version v WHERE v.port IN " PORTS
	") AND peer IN " PORTS,
	"DELETE FROM port_version WHERE port IN " PORTS,
	"DELETE FROM pkey_version WHERE port IN " PORTS,
	"DELETE FROM node_version WHERE node IN " NODES,
	"DELETE FROM route_version WHERE to_sweep IS NULL AND node IN " NODES,
	"DELETE FROM caps WHERE node IN " NODES,
	"DELETE FROM firmware WHERE node IN " NODES,
	"DELETE FROM wait_contradicted WHERE node IN " NODES,
};

/* What is known of ids while free ones are searched. */
struct search {
	bool *read;        /* by port: it has counters, in sums of hours perhaps */
	bool *named_node, *named_port; /* findings name them by their ids */
	struct text nodes; /* JSON array of nodes whose rows expired */
	bool complete;
};

static int find_uses(struct writer *writer, struct search *search, struct error *err)
{
	const struct writer_cache *cache = &writer->cache;
	sqlite3_stmt *rows;
	int result = db_prepare(writer->db, "SELECT port, 0 FROM span WHERE to_sweep IS NULL AND read_sweep IS NOT NULL"
				" UNION ALL SELECT j.value, 1 FROM finding_state s CROSS JOIN json_each(CASE WHEN"
				" json_valid(s.ports) THEN s.ports ELSE '[]' END) j WHERE s.ports <> ''", &rows, err);

	while (result >= 0 && (result = db_step(rows, err)) > 0) {
		uint64_t port = db_u64(rows, 0);

		if (port >= cache->port_count)
			continue;
		if (!sqlite3_column_int(rows, 1))
			search->read[port] = true;
		else
			search->named_port[port] = search->named_node[cache->ports[port].node] = true;
	}
	sqlite3_finalize(rows);
	return result;
}

/* Find nodes that left before the first sweep of which sums remain: of windows, or also of hours if they were read. */
static int find_expired(struct writer *writer, struct search *search, struct error *err)
{
	const struct writer_cache *cache = &writer->cache;
	size_t ports = 0;
	sqlite3_stmt *rows;
	int result = db_prepare(writer->db, "SELECT n.id, coalesce(max(v.to_sweep), 0) AS left_sweep FROM node n"
				" LEFT JOIN node_version v ON v.node = n.id GROUP BY n.id"
				" HAVING count(v.node) = count(v.to_sweep) AND left_sweep <= ?", &rows, err);

	sqlite3_bind_int64(rows, 1, cache->free_from_window);
	while (result >= 0 && ports < EXPIRED_PORTS_MOST && (result = db_step(rows, err)) > 0) {
		uint64_t node = db_u64(rows, 0);
		int64_t left_sweep = sqlite3_column_int64(rows, 1);
		bool was_read = false;
		size_t count = 0;

		/* The rows of those that are free were removed before. */
		if (node >= cache->node_count || cache->nodes[node].is_free ||
		    cache->nodes[node].stamp == cache->stamp || search->named_node[node])
			continue;
		for (unsigned num = 0; num < 256; num++) {
			uint32_t port = writer_cache_find_port(cache, (uint32_t)node, (uint8_t)num);

			count += port != 0;
			was_read |= port && (search->read[port] || cache->ports[port].last.there);
		}
		if (was_read && left_sweep > cache->free_from_hour)
			continue;
		text_appendf(&search->nodes, "%c%" PRIu64, *text_chars(&search->nodes) ? ',' : '[', node);
		/* Those without a version are free already. */
		ports += left_sweep ? count : 0;
	}
	sqlite3_finalize(rows);
	text_append(&search->nodes, *text_chars(&search->nodes) ? "]" : "[]");
	search->complete = ports < EXPIRED_PORTS_MOST;
	return result < 0 ? result : text_failed(&search->nodes) ? err_nomem(err) : 0;
}

static int remove_expired(struct writer *writer, const struct search *search, struct error *err)
{
	int result = 0;

	for (size_t i = 0; !result && i < sizeof(expired_sql) / sizeof(*expired_sql); i++) {
		sqlite3_stmt *remove;

		result = db_prepare(writer->db, expired_sql[i], &remove, err);
		sqlite3_bind_text(remove, 1, text_chars(&search->nodes), -1, SQLITE_STATIC);
		if (!result)
			result = db_run(remove, err);
		sqlite3_finalize(remove);
	}
	return result;
}

/* List the ids of a table without a version, and forget what the cache has of them. */
static int list_free(struct writer *writer, bool of_ports, const bool *named, struct error *err)
{
	struct writer_cache *cache = &writer->cache;
	uint32_t **list = of_ports ? &cache->free_ports : &cache->free_nodes;
	size_t known = of_ports ? cache->port_count : cache->node_count, count = 0;
	uint32_t *ids = reallocarray(*list, known, sizeof(*ids));
	sqlite3_stmt *rows;
	int result;

	if (!ids)
		return err_nomem(err);
	*list = ids;
	result = db_prepare(writer->db, of_ports ?
			    "SELECT id FROM port p WHERE NOT EXISTS (SELECT 1 FROM port_version v WHERE v.port = p.id)"
			    " ORDER BY id DESC" :
			    "SELECT id FROM node n WHERE NOT EXISTS (SELECT 1 FROM node_version v WHERE v.node = n.id)"
			    " ORDER BY id DESC", &rows, err);
	while (result >= 0 && (result = db_step(rows, err)) > 0) {
		uint64_t id = db_u64(rows, 0);

		if (id >= known || count == known || named[id] ||
		    (of_ports ? cache->ports[id].stamp : cache->nodes[id].stamp) == cache->stamp)
			continue;
		if (of_ports)
			cache->ports[id] = (struct known_port){ .node = cache->ports[id].node,
								.num = cache->ports[id].num, .is_free = true };
		else
			cache->nodes[id].is_free = true;
		ids[count++] = (uint32_t)id;
	}
	sqlite3_finalize(rows);
	*(of_ports ? &cache->free_port_count : &cache->free_node_count) = count;
	return result < 0 ? result : 0;
}

/* Search for free ids, unless no data has expired since the last search. */
static int find_free(struct writer *writer, struct error *err)
{
	struct writer_cache *cache = &writer->cache;
	struct search search = { 0 };
	int64_t row[2] = { 0 };
	/* Without hours, the windows have everything. */
	int result = db_row(writer->db, "SELECT w.from_sweep, min(w.from_sweep, coalesce((SELECT from_sweep FROM hour"
			    " ORDER BY id LIMIT 1), w.from_sweep)) FROM chunk_window w ORDER BY w.id LIMIT 1", NULL, 0,
			    row, 2, err);

	if (result <= 0 || (cache->free_from_window == row[0] && cache->free_from_hour == row[1]))
		return result < 0 ? result : 0;
	cache->free_from_window = row[0];
	cache->free_from_hour = row[1];
	search.read = calloc(cache->port_count, sizeof(*search.read));
	search.named_port = calloc(cache->port_count, sizeof(*search.named_port));
	search.named_node = calloc(cache->node_count, sizeof(*search.named_node));
	result = search.read && search.named_port && search.named_node ? 0 : err_nomem(err);
	if (!result)
		result = find_uses(writer, &search, err);
	if (!result)
		result = find_expired(writer, &search, err);
	if (!result)
		result = remove_expired(writer, &search, err);
	if (!result)
		result = list_free(writer, false, search.named_node, err);
	if (!result)
		result = list_free(writer, true, search.named_port, err);
	if (!search.complete)
		cache->free_from_window = 0;
	free(search.read);
	free(search.named_port);
	free(search.named_node);
	text_done(&search.nodes);
	return result;
}

/* --- new identities --- */

static int64_t add_node(struct writer *writer, uint64_t guid, struct error *err)
{
	struct writer_cache *cache = &writer->cache;
	uint32_t id = 0;
	int result;

	while (!id && cache->free_node_count) {
		uint32_t last = cache->free_nodes[--cache->free_node_count];

		id = cache->nodes[last].is_free ? last : 0;
	}
	if (!id && cache->node_count > writer->ids_most)
		return 0;
	id = id ? id : (uint32_t)cache->node_count;
	result = writer_cache_set_node(cache, id, guid, err);
	if (!result) {
		DB_BIND(writer->statements[WRITE_NODE], 1, id, (int64_t)guid);
		result = db_run(writer->statements[WRITE_NODE], err);
	}
	return result < 0 ? result : (int64_t)id;
}

static int64_t add_port(struct writer *writer, uint32_t node, uint8_t num, struct error *err)
{
	struct writer_cache *cache = &writer->cache;
	/* That of the departed node whose id the node has. */
	uint32_t id = writer_cache_find_port(cache, node, num);
	int result;

	if (id)
		return id;
	while (!id && cache->free_port_count) {
		uint32_t last = cache->free_ports[--cache->free_port_count];

		id = cache->ports[last].is_free ? last : 0;
	}
	if (!id && cache->port_count > writer->ids_most)
		return 0;
	id = id ? id : (uint32_t)cache->port_count;
	result = writer_cache_set_port(cache, id, node, num, err);
	if (!result) {
		DB_BIND(writer->statements[WRITE_PORT], 1, id, node, num);
		result = db_run(writer->statements[WRITE_PORT], err);
	}
	return result < 0 ? result : (int64_t)id;
}

int64_t writer_node_id(struct writer *writer, uint64_t guid, struct error *err)
{
	uint32_t known = writer_cache_find_node(&writer->cache, guid);

	/* A free id gets rows: not for another node. */
	if (known)
		writer->cache.nodes[known].is_free = false;
	return known || writer->left_out ? known : add_node(writer, guid, err);
}

/* The first node that is left out is named with the port that it is connected to. */
static void leave_out(struct writer *writer, const struct sweep *sweep, const struct node *node)
{
	const struct fabric *fabric = sweep->fabric;
	const char *name = fabric->names.shown[node - fabric->nodes];
	char *first = writer->left_out_first;
	size_t size = sizeof(writer->left_out_first);
	int len;

	writer->left_out_until_us = sweep->start_us + LEFT_OUT_US;
	if (writer->left_out++)
		return;
	len = snprintf(first, size, "%.*s (0x%016" PRIx64 ")", (int)text_cut_bytes(name, 48), name, node->guid);
	for (uint32_t i = node->first_port; i < node->first_port + node->ports; i++) {
		const struct port *peer = fabric->ports[i].peer == FABRIC_NONE ? NULL :
					  &fabric->ports[fabric->ports[i].peer];

		if (!peer || !writer->port_ids[fabric->ports[i].peer])
			continue;
		name = fabric->names.shown[peer->node];
		snprintf(first + len, size - (size_t)len, " at %.*s/%u", (int)text_cut_bytes(name, 40), name,
			 peer->num);
		return;
	}
}

static void use_node(struct writer_cache *cache, uint32_t id)
{
	cache->nodes[id].stamp = cache->stamp;
	cache->nodes[id].is_free = false;
}

static void use_port(struct writer_cache *cache, uint32_t id)
{
	cache->ports[id].stamp = cache->stamp;
	cache->ports[id].is_free = false;
}

/* Assign the ids that a node lacks. @first: in the first topology of the database */
static int identify_new(struct writer *writer, const struct sweep *sweep, const struct node *node, bool first,
			struct error *err)
{
	struct writer_cache *cache = &writer->cache;
	uint32_t *ids = writer->port_ids + node->first_port;
	int64_t id = writer_cache_find_node(cache, node->guid), port = 1;
	size_t lacking = 0;

	for (uint32_t i = 0; i < node->ports; i++)
		lacking += !ids[i];
	if (id && !lacking)
		return 0;
	if (cache->port_count + lacking > writer->ids_most + 1 + cache->free_port_count ||
	    !take_credit(cache, first, lacking + !id, sweep->wall_us)) {
		leave_out(writer, sweep, node);
		return 0;
	}
	if (!id)
		id = add_node(writer, node->guid, err);
	if (id > 0)
		use_node(cache, (uint32_t)id);
	for (uint32_t i = 0; id > 0 && port > 0 && i < node->ports; i++) {
		port = ids[i] ? ids[i] : add_port(writer, (uint32_t)id, sweep->fabric->ports[node->first_port + i].num,
						  err);
		if (port <= 0)
			break;
		ids[i] = (uint32_t)port;
		use_port(cache, (uint32_t)port);
	}
	if (!id || !port)
		leave_out(writer, sweep, node);
	return id < 0 ? (int)id : port < 0 ? (int)port : 0;
}

int writer_identify(struct writer *writer, const struct sweep *sweep, struct error *err)
{
	struct writer_cache *cache = &writer->cache;
	const struct fabric *fabric = sweep->fabric;
	uint32_t *ids = reallocarray(writer->port_ids, fabric->port_count + 1, sizeof(*ids));
	int64_t new_ids_us = cache->new_ids_us;
	bool first = cache->port_count <= 1;
	size_t lacking = 0;
	int result = 0;

	if (!ids)
		return err_nomem(err);
	writer->port_ids = ids;
	writer->port_id_count = fabric->port_count;
	writer->left_out = 0;
	cache->stamp++;
	/* The known ones first, so that none of them is free. */
	for (size_t i = 0; i < fabric->node_count; i++) {
		const struct node *node = &fabric->nodes[i];
		uint32_t id = writer_cache_find_node(cache, node->guid);

		lacking += !id;
		if (id)
			use_node(cache, id);
		for (uint32_t p = node->first_port; p < node->first_port + node->ports; p++) {
			ids[p] = id ? writer_cache_find_port(cache, id, fabric->ports[p].num) : 0;
			lacking += !ids[p];
			if (ids[p])
				use_port(cache, ids[p]);
		}
	}
	if (lacking)
		result = find_free(writer, err);
	for (size_t i = 0; !result && lacking && i < fabric->node_count; i++)
		result = identify_new(writer, sweep, &fabric->nodes[i], first, err);
	if (!result && cache->new_ids_us != new_ids_us)
		result = store_credit(writer, err);
	return result;
}
