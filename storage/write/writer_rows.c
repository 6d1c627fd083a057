/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* writer_rows.c - what stands in a row of its own: a sweep and its boot, events, what agents can do */
#include <stdio.h>
#include <string.h>

#include "fabric/fabric.h"
#include "storage/file/db.h"
#include "storage/write/writer_internal.h"

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
	sqlite3_bind_int64(insert, 1, id);
	sqlite3_bind_int64(insert, 2, sweep->wall_us);
	sqlite3_bind_int64(insert, 3, sweep->start_us);
	sqlite3_bind_int64(insert, 4, sweep->end_us);
	sqlite3_bind_int64(insert, 5, cache->boot);
	sqlite3_bind_int64(insert, 6, cache->topology);
	sqlite3_bind_null(insert, 7);
	sqlite3_bind_null(insert, 8);
	if (cache->from_node) {
		sqlite3_bind_int64(insert, 7, cache->from_node);
		sqlite3_bind_int(insert, 8, cache->from_port);
	}
	sqlite3_bind_int64(insert, 9, sweep->interval_us);
	sqlite3_bind_int64(insert, 10, sweep->discovery_us);
	db_bind_u64(insert, 11, sweep->discovery_smps);
	sqlite3_bind_int64(insert, 12, sweep->ports_planned);
	sqlite3_bind_int64(insert, 13, sweep->ports_asked);
	sqlite3_bind_int64(insert, 14, sweep->ports_answered);
	db_bind_u64(insert, 15, sweep->mads_sent);
	db_bind_u64(insert, 16, sweep->mads_timed_out);
	db_bind_u64(insert, 17, sweep->mads_retried);
	sqlite3_bind_int(insert, 18, sm->known);
	sqlite3_bind_int(insert, 19, sm->lid);
	db_bind_u64(insert, 20, sm->guid);
	sqlite3_bind_int(insert, 21, sm->state);
	sqlite3_bind_int(insert, 22, sm->priority);
	sqlite3_bind_int64(insert, 23, sm->act_count);
	sqlite3_bind_int64(insert, 24, sweep->ports_unfinished);
	sqlite3_bind_int64(insert, 25, sweep->spread_us);
	sqlite3_bind_int64(insert, 26, sweep->node_spread_us);
	return db_run(insert, err);
}

/* One end of what an event is about: NULL, NULL where there is none. */
static void bind_end(sqlite3_stmt *insert, int at, uint64_t guid, uint8_t port)
{
	sqlite3_bind_null(insert, at);
	sqlite3_bind_null(insert, at + 1);
	if (guid) {
		db_bind_u64(insert, at, guid);
		sqlite3_bind_int(insert, at + 1, port);
	}
}

/* Take back what the event that was just inserted stands for: not before, so that no id is another event's later. */
static int remove_replaced(struct writer *writer, const struct event *event, struct error *err)
{
	sqlite3_stmt *statement = writer->statements[REMOVE_EVENTS];

	if (!event->replaces)
		return 0;
	sqlite3_bind_int64(statement, 1, event->wall_us);
	sqlite3_bind_text(statement, 2, event->kind, -1, SQLITE_STATIC);
	sqlite3_bind_int64(statement, 3, sqlite3_last_insert_rowid(writer->db));
	sqlite3_bind_int64(statement, 4, event->replaces);
	return db_run(statement, err);
}

int writer_store_events(struct writer *writer, const struct event *events, size_t count, int64_t id,
			struct error *err)
{
	sqlite3_stmt *insert = writer->statements[WRITE_EVENT];
	int result = 0;

	for (size_t i = 0; !result && i < count; i++) {
		const struct event *event = &events[i];

		sqlite3_bind_int64(insert, 1, id);
		sqlite3_bind_int64(insert, 2, event->wall_us);
		sqlite3_bind_text(insert, 3, event->kind, -1, SQLITE_STATIC);
		sqlite3_bind_int(insert, 4, event->severity);
		bind_end(insert, 5, event->node_guid, event->port);
		bind_end(insert, 7, event->peer_guid, event->peer_port);
		sqlite3_bind_text(insert, 9, event->text, (int)strnlen(event->text, sizeof(event->text)),
				  SQLITE_STATIC);
		result = db_run(insert, err);
		if (!result)
			result = remove_replaced(writer, event, err);
	}
	return result;
}

int writer_store_caps(struct writer *writer, const struct restored_caps *caps, size_t count, struct error *err)
{
	int result = 0;

	for (size_t i = 0; !result && i < count; i++) {
		sqlite3_stmt *replace = writer->statements[WRITE_CAPS];
		int64_t node = writer_node_id(writer, caps[i].node_guid, err);

		if (node < 0)
			return (int)node;
		sqlite3_bind_int64(replace, 1, node);
		sqlite3_bind_int(replace, 2, caps[i].caps.known);
		sqlite3_bind_int(replace, 3, caps[i].caps.cap_mask);
		sqlite3_bind_int64(replace, 4, caps[i].caps.cap_mask2);
		sqlite3_bind_int(replace, 5, caps[i].caps.resp_time);
		if (caps[i].caps.tick_known)
			sqlite3_bind_int(replace, 6, caps[i].caps.tick);
		else
			sqlite3_bind_null(replace, 6);
		sqlite3_bind_int(replace, 7, caps[i].caps.missing);
		result = db_run(replace, err);
	}
	return result;
}
