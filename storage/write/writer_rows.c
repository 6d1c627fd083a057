/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* writer_rows.c - the writer's statements; rows of sweeps, boots, events and capabilities */
#include <float.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "analysis/health.h"
#include "base/array.h"
#include "fabric/fabric.h"
#include "storage/file/db.h"
#include "storage/jobs.h"
#include "storage/read/firmware.h"
#include "storage/saved/saved_internal.h"
#include "storage/write/writer_internal.h"

static const char *const statement_sql[WRITER_STATEMENT_COUNT] = {
	[WRITE_NODE] = "INSERT INTO node (id, guid) VALUES (?, ?) ON CONFLICT (id) DO UPDATE SET guid = excluded.guid",
	[WRITE_PORT] = "INSERT INTO port (id, node, number) VALUES (?, ?, ?) ON CONFLICT (id) DO UPDATE SET"
		       " node = excluded.node, number = excluded.number",
	[WRITE_NEW_IDS] = "REPLACE INTO meta (key, value) VALUES ('new_ids_us', ?)",
	[WRITE_SETTINGS] = "REPLACE INTO meta (key, value) VALUES ('settings', ?)",
	[WRITE_BOOT] = "INSERT OR IGNORE INTO boot (boot_id) VALUES (?)",
	[FIND_BOOT] = "SELECT id FROM boot WHERE boot_id = ?",
	[WRITE_SWEEP] = "INSERT INTO sweep (id, wall_us, start_us, end_us, boot, topology, from_node, from_port,"
			" interval_us, discovery_us, discovery_smps, ports_planned, ports_polled, ports_answered,"
			" mads_sent, mads_timed_out, mads_retried, sm_known, sm_lid, sm_guid, sm_state, sm_priority,"
			" sm_act_count, ports_unfinished, spread_us, node_spread_us)"
			" VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)",
	[OPEN_NODE_VERSION] = "INSERT INTO node_version (from_sweep, node, name, description, type, port_count,"
			      " system_guid, vendor_id, device_id, revision, lid, lft_top, enhanced_port0,"
			      " adaptive_routing) VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)",
	[CLOSE_NODE_VERSION] = "UPDATE node_version SET to_sweep = ? WHERE from_sweep = ? AND node = ?",
	[OPEN_PORT_VERSION] = "INSERT INTO port_version (from_sweep, port, peer, state, phys_state, width, speed,"
			      " width_enabled, width_supported, speed_enabled, speed_supported, guid, lid, lmc, sm_lid,"
			      " cap_mask) VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)",
	[CLOSE_PORT_VERSION] = "UPDATE port_version SET to_sweep = ? WHERE from_sweep = ? AND port = ?",
	[OPEN_ROUTE_VERSION] = "INSERT INTO route_version (from_sweep, node, block, ports) VALUES (?, ?, ?, ?)",
	[CLOSE_ROUTE_VERSION] = "UPDATE route_version SET to_sweep = ? WHERE node = ? AND block = ? AND"
				" to_sweep IS NULL",
	[OPEN_PKEY_VERSION] = "INSERT INTO pkey_version (from_sweep, port, keys, enforcement) VALUES (?, ?, ?, ?)",
	[CLOSE_PKEY_VERSION] = "UPDATE pkey_version SET to_sweep = ? WHERE port = ? AND to_sweep IS NULL",
	[OPEN_GAP] = "INSERT INTO span (from_sweep, port, why, read_sweep) VALUES (?, ?, ?, ?)",
	[CLOSE_GAP] = "UPDATE span SET to_sweep = ? WHERE from_sweep = ? AND port = ?",
	[WRITE_HOT] = "INSERT INTO hot (id, samples) VALUES (?, ?)",
	[WRITE_ERROR] = "INSERT INTO error (sweep, port, counter, value, marks) VALUES (?, ?, ?, ?, ?)",
	[WRITE_DETAIL] = "INSERT INTO detail (sweep, port, attribute, at_us, elapsed_us, layout, missing, unknown)"
			 " VALUES (?, ?, ?, ?, ?, ?, ?, ?)",
	[WRITE_DETAIL_VALUE] = "INSERT INTO detail_value (sweep, port, counter, value, counted, marks)"
			       " VALUES (?, ?, ?, ?, ?, ?)",
	[WRITE_DETAIL_LAST] = "REPLACE INTO detail_last (port, attribute, sweep) VALUES (?, ?, ?)",
	[WRITE_CAPS] = "REPLACE INTO caps (node, known, cap_mask, cap_mask2, resp_time, tick, missing)"
		       " VALUES (?, ?, ?, ?, ?, ?, ?)",
	[WRITE_CONTRADICTED] = "INSERT OR IGNORE INTO wait_contradicted (node, from_sweep) VALUES (?, ?)",
	[REMOVE_EVENTS] = "DELETE FROM event WHERE id IN (SELECT id FROM event WHERE kind = ? AND id < ?"
			  " ORDER BY id DESC LIMIT ?)",
	[FIND_OTHER_COMMITS] = "PRAGMA data_version",
	[FIND_FIRMWARE] = "SELECT f.id, n.guid, " FIRMWARE_COLUMNS " FROM firmware f CROSS JOIN node n ON n.id = f.node"
			  " WHERE f.id > ?1 AND f.to_sweep IS NULL ORDER BY f.id",
	[FIND_IMPORT] = "SELECT max(id) FROM import",
	/* The newest temperature of each cable that is still in its port, and the one before. */
	[FIND_CABLES] = "SELECT c.node_guid, c.port, r.temperature_c, (SELECT b.temperature_c FROM cable_reading b"
			" WHERE b.node_guid = c.node_guid AND b.port = c.port AND b.import < c.last_import AND"
			" b.import >= c.from_import AND b.temperature_c NOT NULL ORDER BY b.import DESC LIMIT 1),"
			" i.wall_us, c.serial FROM cable c CROSS JOIN cable_reading r ON r.node_guid = c.node_guid AND"
			" r.port = c.port AND r.import = c.last_import JOIN import i ON i.id = c.last_import"
			" WHERE c.to_import IS NULL AND r.temperature_c NOT NULL",
	[FIND_JOBS] = "SELECT number, " JOB_DISPLAY_ID ", hosts, begin_us,"
		      " (SELECT confidence FROM job_detected d WHERE d.job = j.number)"
		      " FROM job j WHERE end_us IS NULL AND ending = 0"
		      " ORDER BY number DESC LIMIT 1024",
	[WRITE_EVENT] = "INSERT INTO event (sweep, wall_us, kind, severity, node_guid, port, peer_guid, peer_port,"
			" text) VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?)",
	[OPEN_FINDING] = "INSERT INTO finding (kind, node_guid, port, peer_guid, peer_port, tag, since_us, opened_us,"
			 " opened_sweep, last_seen_us) VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?)",
	[CLOSE_FINDING] = "UPDATE finding SET last_seen_us = ?2, closed_us = ?3, closed_sweep = ?4 WHERE id = ?1",
	[WRITE_FINDING_STATE] = "INSERT INTO finding_state (finding, from_sweep, wall_us, severity, since_us,"
				" last_seen_us, affected_hosts, state_sweep, peak, peak_us, text, evidence, subject,"
				" cause, advice, hosts, ports)"
				" VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)",
	/* Another process may have removed the job. The period of an hour ago is in an earlier row. */
	[WRITE_JOB_MINUTE] = "REPLACE INTO job_rhythm (job, wall_us, kind, periods, phase, since_us, period_s,"
			     " spread_s, wire_share, bytes_per_s, shortest_s, slower, before_s) SELECT ?1, ?2, ?3, ?4,"
			     " ?5, ?6, ?7, ?8, ?9, ?10, ?11, ?12, ifnull(?13, (SELECT b.period_s FROM job_rhythm b"
			     " WHERE b.job = ?1 AND b.wall_us BETWEEN ?2 - 3900000000 AND ?2 - 3600000000"
			     " ORDER BY b.wall_us DESC LIMIT 1)) WHERE EXISTS (SELECT 1 FROM job WHERE number = ?1)",
};

int writer_prepare(struct writer *writer, struct error *err)
{
	int result = 0;

	for (int i = 0; !result && i < WRITER_STATEMENT_COUNT; i++) {
		if (i == WRITE_ABSOLUTE)
			result = readings_prepare_absolute(writer->db, &writer->statements[i], err);
		else
			result = db_prepare(writer->db, statement_sql[i], &writer->statements[i], err);
	}
	return result;
}

void writer_unprepare(struct writer *writer)
{
	for (int i = 0; i < WRITER_STATEMENT_COUNT; i++) {
		sqlite3_finalize(writer->statements[i]);
		writer->statements[i] = NULL;
	}
}

static int store_boot(struct writer *writer, const char *boot_id, struct error *err)
{
	sqlite3_stmt *insert = writer->statements[WRITE_BOOT], *find = writer->statements[FIND_BOOT];
	struct writer_cache *cache = &writer->cache;
	int result;

	if (cache->boot && strcmp(cache->boot_id, boot_id) == 0)
		return 0;
	sqlite3_bind_text(insert, 1, boot_id, -1, SQLITE_STATIC);
	sqlite3_bind_text(find, 1, boot_id, -1, SQLITE_STATIC);
	result = db_run(insert, err);
	if (result < 0)
		return result;
	result = db_step(find, err);
	if (result > 0)
		cache->boot = sqlite3_column_int64(find, 0);
	sqlite3_reset(find);
	snprintf(cache->boot_id, sizeof(cache->boot_id), "%s", boot_id);
	return result < 0 ? result : 0;
}

int writer_store_sweep(struct writer *writer, const struct sweep *sweep, int64_t id, struct error *err)
{
	sqlite3_stmt *insert = writer->statements[WRITE_SWEEP];
	struct writer_cache *cache = &writer->cache;
	const struct fabric *fabric = sweep->fabric;
	const struct sm_state *sm = &sweep->sm;
	int result = store_boot(writer, sweep->boot_id, err);

	if (result < 0)
		return result;
	cache->from_node = 0;
	if (fabric->from_node != FABRIC_NONE)
		cache->from_node = writer_cache_find_node(cache, fabric->nodes[fabric->from_node].guid);
	cache->from_port = fabric->from_port;
	DB_BIND(insert, 1, id, sweep->wall_us, sweep->start_us, sweep->end_us, cache->boot, cache->topology,
		cache->from_node, cache->from_port, sweep->interval_us, sweep->discovery_us,
		(int64_t)sweep->discovery_smps, sweep->ports_planned, sweep->ports_polled, sweep->ports_answered,
		(int64_t)sweep->mads_sent, (int64_t)sweep->mads_timed_out, (int64_t)sweep->mads_retried, sm->known,
		sm->lid, (int64_t)sm->guid, sm->state, sm->priority, sm->act_count, sweep->ports_unfinished,
		sweep->spread_us, sweep->node_spread_us);
	if (!cache->from_node) {
		sqlite3_bind_null(insert, 7);
		sqlite3_bind_null(insert, 8);
	}
	return db_run(insert, err);
}

/* A port of an event; both columns are NULL without one. */
static void bind_port(sqlite3_stmt *insert, int at, uint64_t guid, uint8_t port)
{
	DB_BIND(insert, at, (int64_t)guid, port);
	if (!guid) {
		sqlite3_bind_null(insert, at);
		sqlite3_bind_null(insert, at + 1);
	}
}

/* Remove what the event summarises. The event is inserted first, so that no id is used twice. */
static int remove_replaced(struct writer *writer, const struct event *event, struct error *err)
{
	sqlite3_stmt *statement = writer->statements[REMOVE_EVENTS];

	if (!event->replaces)
		return 0;
	sqlite3_bind_text(statement, 1, event->kind, -1, SQLITE_STATIC);
	DB_BIND(statement, 2, sqlite3_last_insert_rowid(writer->db), event->replaces);
	return db_run(statement, err);
}

int writer_store_events(struct writer *writer, const struct event *events, size_t count, int64_t id,
			struct error *err)
{
	sqlite3_stmt *insert = writer->statements[WRITE_EVENT];
	int result = 0;

	for (size_t i = 0; !result && i < count; i++) {
		const struct event *event = &events[i];

		DB_BIND(insert, 1, id, event->wall_us);
		sqlite3_bind_text(insert, 3, event->kind, -1, SQLITE_STATIC);
		sqlite3_bind_int(insert, 4, event->severity);
		bind_port(insert, 5, event->node_guid, event->port);
		bind_port(insert, 7, event->peer_guid, event->peer_port);
		sqlite3_bind_text(insert, 9, event->text, (int)strnlen(event->text, sizeof(event->text)),
				  SQLITE_STATIC);
		result = db_run(insert, err);
		if (!result)
			result = remove_replaced(writer, event, err);
	}
	return result;
}

/* What a row cannot have is unknown: it must not keep the sweep from being stored. */
static void bind_real(sqlite3_stmt *insert, int at, double value, double most)
{
	if (value >= 0 && value <= most)
		sqlite3_bind_double(insert, at, value);
	else
		sqlite3_bind_null(insert, at);
}

/* The same of a number that is not 0. */
static double positive(double value)
{
	return value > 0 ? value : NAN;
}

int writer_store_job_minutes(struct writer *writer, const struct sweep *sweep, int64_t id, struct error *err)
{
	sqlite3_stmt *insert = writer->statements[WRITE_JOB_MINUTE];
	int result = 0;

	(void)id;
	for (size_t i = 0; !result && i < sweep->job_minute_count; i++) {
		const struct job_minute *minute = &sweep->job_minutes[i];
		const struct rhythm *rhythm = &minute->rhythm;

		DB_BIND(insert, 1, minute->job, minute->wall_us, rhythm->kind, rhythm->periods, minute->phase);
		db_bind_nonzero(insert, 6, minute->since_us > 0 ? (uint64_t)minute->since_us : 0);
		bind_real(insert, 7, positive(rhythm->period_s), DBL_MAX);
		bind_real(insert, 8, rhythm->spread_s, DBL_MAX);
		bind_real(insert, 9, rhythm->wire_share, 1);
		bind_real(insert, 10, rhythm->bytes_per_s, DBL_MAX);
		bind_real(insert, 11, rhythm->shortest_s, DBL_MAX);
		bind_real(insert, 12, positive(minute->slower), DBL_MAX);
		bind_real(insert, 13, positive(minute->before_s), DBL_MAX);
		result = db_run(insert, err);
	}
	return result;
}

int writer_store_caps(struct writer *writer, const struct restored_caps *caps, size_t count, struct error *err)
{
	sqlite3_stmt *replace = writer->statements[WRITE_CAPS];
	sqlite3_stmt *contradicted = writer->statements[WRITE_CONTRADICTED];
	int result = 0;

	for (size_t i = 0; !result && i < count; i++) {
		const struct pma_caps *one = &caps[i].caps;
		int64_t node = writer_node_id(writer, caps[i].node_guid, err);

		if (node < 0)
			return (int)node;
		if (!node)
			continue;
		DB_BIND(replace, 1, node, one->known, one->cap_mask, one->cap_mask2, one->resp_time, one->tick,
			one->missing);
		if (!one->tick_known)
			sqlite3_bind_null(replace, 6);
		result = db_run(replace, err);
		if (result || !one->wait_contradicted)
			continue;
		DB_BIND(contradicted, 1, node, writer->cache.sweep);
		result = db_run(contradicted, err);
	}
	return result;
}

int writer_store_firmware(struct writer *writer, const struct node_firmware *list, size_t count, struct error *err)
{
	int result = 0;

	for (size_t i = 0; result >= 0 && i < count; i++) {
		int64_t node = writer_node_id(writer, list[i].node_guid, err);
		struct firmware old;

		if (node < 0)
			return (int)node;
		if (node && list[i].firmware.source)
			result = firmware_put(writer->db, node, writer->cache.sweep, &list[i].firmware, &old, err);
		else if (node)
			result = firmware_forget(writer->db, node, writer->cache.sweep, err);
	}
	return result < 0 ? result : 0;
}

/* Has another process committed since then? @version: data_version then, 0: none; set to that of now */
static bool has_other_commits(struct writer *writer, int64_t *version)
{
	sqlite3_stmt *commits = writer->statements[FIND_OTHER_COMMITS];
	int64_t now = db_step(commits, NULL) > 0 ? sqlite3_column_int64(commits, 0) : 0;
	bool changed = !now || now != *version;

	sqlite3_reset(commits);
	*version = now;
	return changed;
}

const struct node_firmware *writer_imported_firmware(void *ctx, size_t *ret_count)
{
	struct writer *writer = ctx;
	sqlite3_stmt *rows = writer->statements[FIND_FIRMWARE];
	size_t count = 0, capacity = 0;
	struct node_firmware *list = NULL, *one;
	int result = 0;

	free(writer->imported);
	writer->imported = NULL;
	if (writer->ended || !rows || !has_other_commits(writer, &writer->firmware_version))
		return NULL;
	sqlite3_bind_int64(rows, 1, writer->firmware_id);
	while ((result = db_step(rows, NULL)) > 0) {
		one = array_add(&list, &count, &capacity, sizeof(*list));
		if (!one)
			break;
		one->node_guid = db_u64(rows, 1);
		firmware_read_row(rows, 2, &one->firmware);
		writer->firmware_id = sqlite3_column_int64(rows, 0);
		/* Rows of this process, which it knows. */
		count -= one->firmware.source != FIRMWARE_IMPORTED;
	}
	sqlite3_reset(rows);
	/* The rest is read with the next call. */
	if (result)
		writer->firmware_version = 0;
	writer->imported = list;
	*ret_count = count;
	return list;
}

const struct health_cable *writer_imported_cables(void *ctx, size_t *ret_count)
{
	struct writer *writer = ctx;
	sqlite3_stmt *newest = writer->statements[FIND_IMPORT], *rows = writer->statements[FIND_CABLES];
	struct health_cable *list = NULL, *one;
	size_t count = 0, capacity = 0;
	int64_t import;
	int result;

	*ret_count = writer->cable_count;
	if (writer->ended || !rows || !has_other_commits(writer, &writer->cables_version))
		return writer->cables;
	import = db_step(newest, NULL) > 0 ? sqlite3_column_int64(newest, 0) : 0;
	sqlite3_reset(newest);
	if (import == writer->cables_import)
		return writer->cables;
	while ((result = db_step(rows, NULL)) > 0) {
		one = array_add(&list, &count, &capacity, sizeof(*list));
		if (!one)
			break;
		one->node_guid = db_u64(rows, 0);
		one->port = (uint8_t)db_choice(rows, 1, 255);
		one->temperature_c = db_real(rows, 2);
		one->before_c = db_real(rows, 3);
		one->wall_us = db_us(rows, 4);
		saved_copy_text(one->serial, sizeof(one->serial), rows, 5);
	}
	sqlite3_reset(rows);
	/* They are read again with the next call. */
	if (result) {
		writer->cables_version = 0;
		free(list);
		return writer->cables;
	}
	free(writer->cables);
	writer->cables = list;
	writer->cable_count = *ret_count = count;
	writer->cables_import = import;
	return list;
}

/* Do other jobs run than in @jobs? Return: 1, 0, or a negative error. */
static int has_other_jobs(sqlite3_stmt *rows, const struct running_jobs *jobs)
{
	size_t count = 0;
	int result;

	while ((result = db_step(rows, NULL)) > 0) {
		if (count == jobs->count || jobs->list[count].number != sqlite3_column_int64(rows, 0))
			return 1;
		count++;
	}
	return result < 0 ? result : count < jobs->count;
}

/* Return: false: no memory, or the database cannot be read. */
static bool load_jobs(sqlite3_stmt *rows, struct running_jobs *ret)
{
	size_t capacity = 0;
	int result;

	while ((result = db_step(rows, NULL)) > 0) {
		struct running_job *job = array_add(&ret->list, &ret->count, &capacity, sizeof(*job));
		const char *hosts = (const char *)sqlite3_column_text(rows, 2);
		char id[JOB_DISPLAY_SIZE];

		if (!job)
			return false;
		saved_copy_text(id, sizeof(id), rows, 1);
		*job = (struct running_job){
			.number = sqlite3_column_int64(rows, 0), .id = strdup(id), .hosts = strdup(hosts ? hosts : ""),
			.begin_us = db_us(rows, 3),
			.confidence = db_real(rows, 4),
		};
		if (!job->id || !job->hosts)
			return false;
	}
	return result == 0;
}

bool writer_running_jobs(void *ctx, struct running_jobs *jobs)
{
	struct writer *writer = ctx;
	sqlite3_stmt *rows = writer->statements[FIND_JOBS];
	struct running_jobs now = { 0 };
	int changed;

	if (writer->ended || !rows)
		return false;
	/* Jobs begin and end in other processes, whose commits change the version. */
	if (!has_other_commits(writer, &writer->jobs_version))
		return false;
	changed = writer->jobs_stored ? 1 : has_other_jobs(rows, jobs);
	sqlite3_reset(rows);
	if (changed > 0 && !load_jobs(rows, &now))
		changed = -1;
	sqlite3_reset(rows);
	if (changed < 0)
		writer->jobs_version = 0;
	if (changed > 0) {
		writer->jobs_stored = false;
		running_jobs_done(jobs);
		*jobs = now;
	} else {
		running_jobs_done(&now);
	}
	return changed > 0;
}
