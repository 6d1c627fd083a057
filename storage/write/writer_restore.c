/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* writer_restore.c - what a collector that starts is given back */
#include <stdlib.h>
#include <string.h>

#include "base/err.h"
#include "storage/file/db.h"
#include "storage/read/routes.h"
#include "storage/read/topology.h"
#include "storage/write/writer_internal.h"

static int restore_ports(const struct writer *writer, struct restored *ret, struct error *err)
{
	const struct writer_cache *cache = &writer->cache;
	/* What to subtract from a wall clock to have the newest sweep's boottime. */
	int64_t offset_us = cache->sweep_wall_us - cache->sweep_start_us;
	sqlite3_stmt *row;
	int result;

	ret->ports = calloc(cache->port_count ? cache->port_count : 1, sizeof(*ret->ports));
	if (!ret->ports)
		return err_nomem(err);
	result = db_prepare(writer->db, "SELECT boot FROM sweep WHERE id = ?", &row, err);
	for (size_t i = 1; result >= 0 && i < cache->port_count; i++) {
		const struct known_port *known = &cache->ports[i];
		struct restored_port *port = &ret->ports[ret->port_count];

		if (!known->last.there)
			continue;
		*port = (struct restored_port){ .node_guid = cache->nodes[known->node].guid, .port = known->num,
						.reading = known->last.reading, .wall_us = known->last.wall_us };
		ret->port_count++;
		if (known->last.read_sweep == cache->sweep)
			continue;
		/* Read last in an earlier boot: only the wall clock spans the two. */
		sqlite3_bind_int64(row, 1, known->last.read_sweep);
		result = db_step(row, err);
		if (result > 0 && sqlite3_column_int64(row, 0) != cache->boot)
			port->reading.at_us = known->last.wall_us - offset_us;
		sqlite3_reset(row);
	}
	sqlite3_finalize(row);
	return result < 0 ? result : 0;
}

static int restore_caps(const struct writer *writer, struct restored *ret, struct error *err)
{
	const struct writer_cache *cache = &writer->cache;
	sqlite3_stmt *rows;
	int result;

	ret->caps = calloc(cache->node_count ? cache->node_count : 1, sizeof(*ret->caps));
	if (!ret->caps)
		return err_nomem(err);
	result = db_prepare(writer->db, "SELECT node, known, cap_mask, cap_mask2, resp_time, tick, missing FROM caps",
			    &rows, err);
	while (result >= 0 && (result = db_step(rows, err)) > 0) {
		uint64_t node = db_u64(rows, 0);
		struct restored_caps *caps = &ret->caps[ret->caps_count];

		if (!node || node >= cache->node_count)
			continue;
		caps->node_guid = cache->nodes[node].guid;
		caps->caps.known = sqlite3_column_int(rows, 1) != 0;
		caps->caps.cap_mask = (uint16_t)sqlite3_column_int(rows, 2);
		caps->caps.cap_mask2 = (uint32_t)sqlite3_column_int64(rows, 3);
		caps->caps.resp_time = (uint8_t)sqlite3_column_int(rows, 4);
		caps->caps.tick_known = sqlite3_column_type(rows, 5) != SQLITE_NULL;
		caps->caps.tick = (uint8_t)sqlite3_column_int(rows, 5);
		caps->caps.missing = (uint8_t)sqlite3_column_int(rows, 6);
		ret->caps_count++;
	}
	sqlite3_finalize(rows);
	return result < 0 ? result : 0;
}

int writer_restore(void *ctx, struct restored *ret, struct error *err)
{
	struct writer *writer = ctx;
	struct topology *topology = &writer->cache.loaded;
	int result = writer_refresh(writer, err);

	if (!result)
		result = restore_caps(writer, ret, err);
	if (!result)
		result = routes_load(writer->db, 0, &ret->routes, err);
	if (!result && writer->cache.sweep) {
		memcpy(ret->boot_id, writer->cache.boot_id, sizeof(ret->boot_id));
		result = restore_ports(writer, ret, err);
		if (!result)
			result = writer_restore_details(writer, ret, err);
		/* What refresh has just read, or another thing where sweeps were stored since. */
		if (!result && topology->sweep != writer->cache.sweep) {
			topology_done(topology);
			result = topology_load(writer->db, writer->cache.sweep, topology, err);
		}
		if (!result)
			result = writer_restore_findings(writer, ret, err);
		if (!result)
			result = topology_fabric(topology, NULL, writer->cache.from_node, writer->cache.from_port,
						 &ret->fabric, err);
		topology_done(topology);
	}
	if (result < 0)
		restored_done(ret);
	return result;
}
