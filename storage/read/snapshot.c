/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* snapshot.c - the fabric at a time, with the totals of its ports over a window */
#include <stdlib.h>
#include <string.h>

#include "base/err.h"
#include "base/when.h"
#include "fabric/fabric.h"
#include "storage/file/db.h"
#include "storage/read/firmware.h"
#include "storage/read/reader_internal.h"
#include "storage/read/readings.h"
#include "storage/read/sums.h"

enum { PORTS_AT_A_TIME = 1024 };

/* While a snapshot is loaded. */
struct loading {
	struct reader *reader;
	struct snapshot *snapshot;
	struct stored_sweep sweep;
};

static struct port_row *row_of(const struct loading *loading, uint64_t port_id)
{
	const struct topology *topology = &loading->reader->topology;
	uint32_t row = port_id < topology->port_ids ? topology->port_index[port_id] : 0;

	return row ? &loading->snapshot->rows[row - 1] : NULL;
}

static int nothing_before(struct reader *reader, int64_t at_us, struct error *err)
{
	char when[WHEN_SIZE], first[WHEN_SIZE];
	int64_t first_us = 0;
	int result = db_integer(reader->db, "SELECT wall_us FROM sweep ORDER BY wall_us LIMIT 1", 0, &first_us, err);

	if (result < 0)
		return result;
	if (!first_us)
		return err_set(err, ERR_UNAVAILABLE, "%s holds no sweep at or before %s; none is stored at all",
			       reader->path, when_format_utc(at_us, when));
	return err_set(err, ERR_UNAVAILABLE, "%s holds no sweep at or before %s; the oldest is of %s: choose a "
		       "later time", reader->path, when_format_utc(at_us, when), when_format_utc(first_us, first));
}

int reader_find_sweep(struct reader *reader, int64_t at_us, struct stored_sweep *ret, struct error *err)
{
	int64_t id = 0;
	int result = window_moment_sweep(reader->db, at_us ? at_us : INT64_MAX, &id, err);

	if (!result && id)
		result = reader_sweep(reader, id, ret, err);
	if (result)
		return result < 0 ? result : 0;
	if (!at_us)
		return err_set(err, ERR_UNAVAILABLE, "%s holds no sweep yet; wait for the collector's first one, "
			       "or start one with: ibwire collect", reader->path);
	return nothing_before(reader, at_us, err);
}

int reader_begin_at(struct reader *reader, int64_t at_us, struct stored_sweep *ret, struct error *err)
{
	int result = reader_begin(reader, err);

	if (result < 0)
		return result;
	result = reader_find_sweep(reader, at_us, ret, err);
	if (result < 0)
		reader_end(reader);
	return result;
}

/* Searched by sweep, since the wall clock may have jumped. */
int reader_window_begin(struct reader *reader, const struct stored_sweep *sweep, int64_t at_us, int64_t window_us,
			int64_t *ret_after, struct error *err)
{
	*ret_after = sweep->info.id - 1;
	if (window_us <= 0)
		return 0;
	return window_sweep_before(reader->db, sweep->info.id, (at_us ? at_us : sweep->info.wall_us) - window_us,
				   ret_after, err);
}

/* Loads the topology of the sweep, unless it is that of the previous snapshot. */
static int load_topology(struct reader *reader, const struct stored_sweep *sweep, const struct name_map *names,
			 struct error *err)
{
	struct topology fresh;
	int64_t firmware = 0;
	int result = firmware_state(reader->db, sweep->info.id, &firmware, err);

	if (result < 0)
		return result;
	if (reader->topology.fabric && reader->topology.sweep == sweep->topology && reader->names == names &&
	    reader->from_node == sweep->from_node && reader->from_port == sweep->from_port &&
	    reader->firmware == firmware)
		return 0;
	result = topology_load(reader->db, sweep->topology, names, sweep->from_node, sweep->from_port, &fresh, err);
	if (result < 0)
		return result;
	topology_done(&reader->topology);
	reader->topology = fresh;
	reader->names = names;
	reader->from_node = sweep->from_node;
	reader->from_port = sweep->from_port;
	reader->firmware = firmware;
	result = topology_put_last_names(reader->db, &fresh, names, err);
	if (!result)
		result = firmware_load(reader->db, sweep->info.id, &fresh, err);
	if (result < 0)
		topology_done(&reader->topology);
	return result;
}

static int make_rows(struct loading *loading, struct error *err)
{
	const struct fabric *fabric = loading->snapshot->fabric;
	struct port_row *rows = calloc(fabric->port_count + 1, sizeof(*rows));

	if (!rows)
		return err_nomem(err);
	loading->snapshot->rows = rows;
	for (size_t i = 0; i < fabric->port_count; i++) {
		bool pollable = port_is_pollable(fabric, &fabric->ports[i]);

		/* Read in this sweep, unless a gap covers the port. */
		rows[i].status = pollable ? SAMPLE_OK : SAMPLE_UNSUPPORTED;
		rows[i].last_wall_us = pollable ? loading->sweep.info.wall_us : 0;
	}
	return 0;
}

static int load_gaps(struct loading *loading, struct error *err)
{
	sqlite3_stmt *rows;
	int result = db_prepare(loading->reader->db,
				"SELECT g.port, g.why, CASE WHEN s.boot = n.boot"
				" THEN n.wall_us - (n.start_us - s.start_us) ELSE coalesce(s.wall_us, (SELECT a.wall_us"
				" FROM absolute a WHERE a.sweep = g.read_sweep AND a.port = g.port)) END"
				" FROM " GAPS_AT " g JOIN sweep n ON n.id = ?1"
				" LEFT JOIN sweep s ON s.id = g.read_sweep",
				/* The row of that sweep may be removed. */
				&rows, err);

	if (result < 0)
		return result;
	sqlite3_bind_int64(rows, 1, loading->sweep.info.id);
	while ((result = db_step(rows, err)) > 0) {
		struct port_row *row = row_of(loading, db_u64(rows, 0));
		int why = sqlite3_column_int(rows, 1);

		if (!row)
			continue;
		row->status = why > SAMPLE_OK && why < SAMPLE_STATUS_COUNT ? (enum sample_status)why : SAMPLE_UNPLANNED;
		row->last_wall_us = db_us(rows, 2);
	}
	sqlite3_finalize(rows);
	return result;
}

static int load_sums(struct loading *loading, int64_t after, struct error *err)
{
	struct sums_query query = { .after = after, .until = loading->sweep.info.id };
	size_t ids = loading->reader->topology.port_ids;
	/* One sweep is read quickly, so for a part of the ports at a time: the sums of all are large. */
	size_t step = query.until - after == 1 && ids > PORTS_AT_A_TIME ? PORTS_AT_A_TIME : ids;
	struct port_sum *by_port = malloc(step * sizeof(*by_port));
	struct sums_origin origin = { 0 };
	int result = by_port ? 0 : err_nomem(err);

	for (; !result && query.first < ids; query.first += (uint32_t)step) {
		memset(by_port, 0, step * sizeof(*by_port));
		result = sums_load(loading->reader->db, &query, by_port, step, &origin, err);
		if (!loading->snapshot->damaged)
			memcpy(loading->snapshot->damage, origin.damage.first, sizeof(origin.damage.first));
		loading->snapshot->damaged += origin.damage.count;
		for (size_t i = 0; !result && i < step; i++) {
			struct port_row *row = row_of(loading, query.first + i);

			if (row && by_port[i].samples)
				row->sum = by_port[i].sum;
		}
	}
	free(by_port);
	return result;
}

static int load_readings(struct loading *loading, struct error *err)
{
	size_t ids = loading->reader->topology.port_ids;
	struct stored_reading *by_port = calloc(ids, sizeof(*by_port));
	int result;

	if (!by_port)
		return err_nomem(err);
	loading->snapshot->readings = by_port;
	result = readings_load(loading->reader->db, loading->sweep.info.id, by_port, ids, err);
	for (size_t i = 0; !result && i < ids; i++) {
		struct port_row *row = row_of(loading, i);

		if (row && by_port[i].there)
			row->reading = &by_port[i].reading;
	}
	return result;
}

/* Both are in order of node id. What counters contradict later than at this time is not known yet. */
static int load_caps(struct loading *loading, struct error *err)
{
	static const char query[] = "SELECT c.node, c.known, c.cap_mask, c.cap_mask2, c.resp_time, c.tick, c.missing,"
				    " w.node IS NOT NULL FROM caps c LEFT JOIN wait_contradicted w ON w.node = c.node"
				    " AND w.from_sweep <= ? ORDER BY c.node";
	const struct stored_version *nodes = loading->reader->topology.nodes;
	size_t node_count = loading->snapshot->fabric->node_count, node = 0;
	struct pma_caps *caps = calloc(node_count + 1, sizeof(*caps));
	sqlite3_stmt *rows;
	int result;

	if (!caps)
		return err_nomem(err);
	loading->snapshot->caps = caps;
	result = db_prepare(loading->reader->db, query, &rows, err);
	if (result < 0)
		return result;
	sqlite3_bind_int64(rows, 1, loading->sweep.info.id);
	while ((result = db_step(rows, err)) > 0) {
		uint64_t id = db_u64(rows, 0);

		while (node < node_count && nodes[node].id < id)
			node++;
		if (node == node_count || nodes[node].id != id)
			continue;
		caps[node].known = sqlite3_column_int(rows, 1) != 0;
		caps[node].cap_mask = (uint16_t)sqlite3_column_int(rows, 2);
		caps[node].cap_mask2 = (uint32_t)sqlite3_column_int64(rows, 3);
		caps[node].resp_time = (uint8_t)sqlite3_column_int(rows, 4);
		caps[node].tick_known = sqlite3_column_type(rows, 5) != SQLITE_NULL;
		caps[node].tick = (uint8_t)sqlite3_column_int(rows, 5);
		caps[node].missing = (uint8_t)sqlite3_column_int(rows, 6);
		caps[node].wait_contradicted = sqlite3_column_int(rows, 7) != 0;
	}
	sqlite3_finalize(rows);
	return result;
}

/* Does a port lack counters of its own: excluded by the settings, a plane, or without a PMA? */
static bool is_without_own(const struct snapshot *snapshot, size_t port)
{
	const struct port *which = &snapshot->fabric->ports[port];
	enum sample_status status = snapshot->rows[port].status;

	return (status == SAMPLE_UNPLANNED || status == SAMPLE_UNSUPPORTED) &&
	       port_is_pollable(snapshot->fabric, which) && which->state != PORT_DOWN;
}

/* Ports without counters of their own show those of their peer. */
static void mirror_rows(struct snapshot *snapshot)
{
	for (size_t i = 0; i < snapshot->fabric->port_count; i++) {
		uint32_t peer = snapshot->fabric->ports[i].peer;
		struct port_row *row = &snapshot->rows[i];

		if (!is_without_own(snapshot, i) || peer == FABRIC_NONE || row->sum.elapsed_us ||
		    snapshot->rows[peer].status != SAMPLE_OK || !snapshot->rows[peer].sum.elapsed_us)
			continue;
		row->mirrored = true;
		row->last_wall_us = snapshot->rows[peer].last_wall_us;
		delta_mirror(&snapshot->rows[peer].sum, &row->sum);
	}
}

static int load(struct loading *loading, const struct snapshot_query *query, struct error *err)
{
	struct reader *reader = loading->reader;
	int64_t after = 0;
	int result = reader_find_sweep(reader, query->at_us, &loading->sweep, err);

	if (!result)
		result = reader_window_begin(reader, &loading->sweep, query->at_us, query->window_us, &after, err);
	if (!result)
		result = load_topology(reader, &loading->sweep, query->names, err);
	if (!result) {
		loading->snapshot->fabric = fabric_share(reader->topology.fabric);
		result = load_caps(loading, err);
	}
	loading->snapshot->sweep = loading->sweep.info;
	if (result || query->fabric_only)
		return result;
	result = db_integerf(reader->db, 0, &loading->snapshot->before_us, err,
			     "SELECT wall_us FROM sweep WHERE id = %lld", (long long)after);
	if (!result)
		result = make_rows(loading, err);
	if (!result)
		result = load_gaps(loading, err);
	if (!result)
		result = load_sums(loading, after, err);
	if (!result && query->absolute)
		result = load_readings(loading, err);
	if (!result)
		mirror_rows(loading->snapshot);
	return result;
}

int snapshot_load(struct reader *reader, const struct snapshot_query *query, struct snapshot **ret,
		  struct error *err)
{
	struct loading loading = { .reader = reader };
	int result = reader_begin(reader, err);

	if (result < 0)
		return result;
	loading.snapshot = calloc(1, sizeof(*loading.snapshot));
	result = loading.snapshot ? load(&loading, query, err) : err_nomem(err);
	reader_end(reader);
	if (result < 0)
		snapshot_destroy(loading.snapshot);
	else
		*ret = loading.snapshot;
	return result;
}

int reader_reading(struct reader *reader, int64_t at_us, uint64_t node_guid, uint8_t port, struct reading *ret,
		   struct error *err)
{
	const int64_t identity[] = { (int64_t)node_guid, port };
	struct stored_reading stored = { 0 };
	struct stored_sweep sweep;
	int64_t id = 0;
	int result = reader_begin_at(reader, at_us, &sweep, err);

	if (result < 0)
		return result;
	result = db_row(reader->db, "SELECT p.id FROM node n CROSS JOIN port p ON p.node = n.id"
			" WHERE n.guid = ?1 AND p.number = ?2", identity, 2, &id, 1, err);
	if (result > 0)
		result = readings_load_port(reader->db, sweep.info.id, (uint32_t)id, &stored, err);
	reader_end(reader);
	if (result < 0 || !stored.there)
		return result;
	*ret = stored.reading;
	return 1;
}

int reader_readings(struct reader *reader, int64_t sweep, const struct fabric *fabric, reader_reading_fn *each,
		    void *ctx, struct error *err)
{
	const struct topology *topology = &reader->topology;
	struct stored_reading *by_port = NULL;
	int result = reader_begin(reader, err);

	if (result < 0)
		return result;
	if (topology->fabric == fabric) {
		by_port = calloc(topology->port_ids, sizeof(*by_port));
		result = by_port ? readings_load(reader->db, sweep, by_port, topology->port_ids, err) : err_nomem(err);
	}
	reader_end(reader);
	for (size_t i = 0; by_port && !result && i < topology->port_ids; i++)
		if (by_port[i].there && topology->port_index[i])
			each(ctx, topology->port_index[i] - 1, &by_port[i].reading);
	free(by_port);
	return result;
}

int64_t snapshot_covered_us(const struct snapshot *snapshot)
{
	int64_t longest_us = 0, window_us = snapshot->sweep.wall_us - snapshot->before_us;

	for (uint32_t port = 0; port < snapshot->fabric->port_count; port++)
		if (snapshot->rows[port].sum.elapsed_us > longest_us)
			longest_us = snapshot->rows[port].sum.elapsed_us;
	return snapshot->before_us && window_us < longest_us ? window_us : longest_us;
}

void snapshot_destroy(struct snapshot *snapshot)
{
	if (!snapshot)
		return;
	fabric_destroy(snapshot->fabric);
	free(snapshot->rows);
	free(snapshot->readings);
	free(snapshot->caps);
	free(snapshot);
}
