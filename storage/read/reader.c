/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
#include "storage/reader.h"

#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include "base/err.h"
#include "fabric/fabric.h"
#include "storage/admin/admin_internal.h"
#include "storage/file/db.h"
#include "storage/file/lock.h"
#include "storage/read/reader_internal.h"
#include "storage/file/schema.h"
#include "storage/sql/sql_tables.h"
#include "storage/file/tables.h"

static void close_database(struct reader *reader)
{
	sqlite3_finalize(reader->newest);
	sqlite3_finalize(reader->events);
	sqlite3_finalize(reader->range);
	reader->newest = reader->events = reader->range = NULL;
	sqlite3_close(reader->db);
	reader->db = NULL;
	reader->has_views = false;
	topology_done(&reader->topology);
}

bool reader_is_stopped(const struct reader *reader)
{
	return reader->stop && *reader->stop;
}

/* For SQLite. Return: whether to interrupt. */
static int check_stop(void *reader)
{
	return reader_is_stopped(reader);
}

void reader_set_stop(struct reader *reader, const atomic_bool *stop)
{
	reader->stop = stop;
	if (reader->db)
		sqlite3_progress_handler(reader->db, READER_STEPS_A_CHECK, stop ? check_stop : NULL, reader);
}

static int open_database(struct reader *reader, struct error *err)
{
	struct db_files found;
	bool there;
	int result = schema_check(reader->path, &there, err);

	if (!result && !there)
		return err_set(err, ERR_UNAVAILABLE, "there is no database %s; start one with: ibwire collect, "
			       "or give another --db", reader->path);
	if (!result && (!schema_find_files(reader->path, &found) || !found.inode))
		result = err_set(err, ERR_IO, "cannot read %s", reader->path);
	if (!result)
		result = schema_open_reader(reader->path, &reader->db, &reader->immutable, err);
	if (result < 0)
		return result;
	reader_set_stop(reader, reader->stop);
	reader->files = found;
	/* The log may have been created. */
	schema_find_files(reader->path, &found);
	reader->files.wal = found.wal;
	result = db_prepare(reader->db, "SELECT id FROM sweep ORDER BY id DESC LIMIT 1", &reader->newest, err);
	if (!result)
		result = sql_tables_register(reader->db, err);
	if (!result)
		result = schema_require_version(reader->db, reader->path, &reader->version, err);
	if (!result)
		result = schema_verify_keys(reader->db, err);
	if (result < 0)
		close_database(reader);
	return result;
}

bool reader_has_collector(const char *path)
{
	int64_t pid;

	return lock_held(path, &pid);
}

int storage_schema_version(void)
{
	return SCHEMA_VERSION;
}

int reader_open(const char *path, struct reader **ret, struct error *err)
{
	struct reader *reader = calloc(1, sizeof(*reader));
	int result;

	if (!reader)
		return err_nomem(err);
	reader->path = strdup(path);
	result = reader->path ? open_database(reader, err) : err_nomem(err);
	if (result < 0)
		reader_close(reader);
	else
		*ret = reader;
	return result;
}

void reader_close(struct reader *reader)
{
	if (!reader)
		return;
	close_database(reader);
	free(reader->path);
	free(reader);
}

/* Was the file or its log replaced? A removed one was not. */
static bool file_replaced(const struct reader *reader)
{
	struct db_files now;

	if (!schema_find_files(reader->path, &now) || !now.inode)
		return false;
	if (now.device != reader->files.device || now.inode != reader->files.inode)
		return true;
	return now.wal && (reader->immutable || now.wal != reader->files.wal);
}

int reader_begin(struct reader *reader, struct error *err)
{
	int result = 0;

	if (reader->db && file_replaced(reader))
		close_database(reader);
	if (reader_is_stopped(reader))
		return err_set(err, ERR_IO, "%s: interrupted", reader->path);
	if (!reader->db)
		result = open_database(reader, err);
	if (result < 0)
		return result;
	result = db_exec(reader->db, "BEGIN", err);
	if (!result) {
		result = schema_require_version(reader->db, reader->path, &reader->version, err);
		if (result < 0)
			reader_end(reader);
	}
	return result;
}

void reader_end(struct reader *reader)
{
	sqlite3_exec(reader->db, "ROLLBACK", NULL, NULL, NULL); /* it only read */
}

int reader_newest_id(struct reader *reader, int64_t *ret, struct error *err)
{
	int result = db_step(reader->newest, err);

	if (result >= 0)
		*ret = result ? sqlite3_column_int64(reader->newest, 0) : 0;
	sqlite3_reset(reader->newest);
	return result < 0 ? result : 0;
}

int reader_newest(struct reader *reader, int64_t *ret_id, struct error *err)
{
	int result = reader_begin(reader, err);

	if (result < 0)
		return result;
	result = reader_newest_id(reader, ret_id, err);
	reader_end(reader);
	return result;
}

static void read_sweep(sqlite3_stmt *row, struct stored_sweep *ret)
{
	struct sweep_info *info = &ret->info;

	memset(ret, 0, sizeof(*ret));
	info->id = sqlite3_column_int64(row, 0);
	info->wall_us = db_us(row, 1);
	info->duration_us = db_us(row, 2);
	info->interval_us = db_us(row, 3);
	info->discovery_us = db_us(row, 4);
	info->discovery_smps = db_u64(row, 5);
	info->ports_planned = (uint32_t)sqlite3_column_int64(row, 6);
	info->ports_polled = (uint32_t)sqlite3_column_int64(row, 7);
	info->ports_answered = (uint32_t)sqlite3_column_int64(row, 8);
	info->mads_sent = db_u64(row, 9);
	info->mads_timed_out = db_u64(row, 10);
	info->mads_retried = db_u64(row, 11);
	info->sm.known = sqlite3_column_int(row, 12) != 0;
	info->sm.lid = (uint16_t)sqlite3_column_int(row, 13);
	info->sm.guid = db_u64(row, 14);
	info->sm.state = (uint8_t)sqlite3_column_int(row, 15);
	info->sm.priority = (uint8_t)sqlite3_column_int(row, 16);
	info->sm.act_count = (uint32_t)sqlite3_column_int64(row, 17);
	ret->topology = sqlite3_column_int64(row, 18);
	ret->from_node = (uint32_t)sqlite3_column_int64(row, 19);
	ret->from_port = (uint8_t)sqlite3_column_int(row, 20);
	info->ports_unfinished = db_us(row, 21);
	info->spread_us = db_us(row, 22);
	info->node_spread_us = db_us(row, 23);
}

int reader_sweep(struct reader *reader, int64_t id, struct stored_sweep *ret, struct error *err)
{
	static const char query[] =
		"SELECT id, wall_us, end_us - start_us, interval_us, discovery_us, discovery_smps, ports_planned,"
		" ports_polled, ports_answered, mads_sent, mads_timed_out, mads_retried, sm_known, sm_lid, sm_guid,"
		" sm_state, sm_priority, sm_act_count, topology, from_node, from_port, coalesce(ports_unfinished, -1),"
		" coalesce(spread_us, -1), coalesce(node_spread_us, -1) FROM sweep WHERE id = ?";
	sqlite3_stmt *row;
	int result = db_prepare(reader->db, query, &row, err);

	if (result < 0)
		return result;
	sqlite3_bind_int64(row, 1, id);
	result = db_step(row, err);
	if (result > 0)
		read_sweep(row, ret);
	sqlite3_finalize(row);
	return result;
}

/* Discoveries are a few sweeps apart, and rows of sweep are short: the search ends soon. */
static int read_discovery(struct reader *reader, int64_t sweep, struct db_status *ret, struct error *err)
{
	int64_t found[3] = { 0 };
	int result = db_row(reader->db, "SELECT wall_us, discovery_us, discovery_smps FROM sweep"
			    " WHERE discovery_us > 0 AND id <= ?1 ORDER BY id DESC LIMIT 1", &sweep, 1, found, 3, err);

	ret->discovery_wall_us = found[0];
	ret->discovery_us = found[1];
	ret->discovery_smps = (uint64_t)found[2];
	return result < 0 ? result : 0;
}

/* The first sweep with samples; some rows of windows without samples remain. */
#define FIRST_KEPT "(SELECT min(id) FROM sweep WHERE id >=" \
	" (SELECT coalesce(max(to_sweep), 0) FROM chunk_window WHERE state = 2))"

static int read_status(struct reader *reader, int64_t at_us, struct db_status *ret, struct error *err)
{
	struct stored_sweep last = { 0 };
	int64_t newest = 0;
	int result = at_us ? reader_find_sweep(reader, at_us, &last, err) : reader_newest_id(reader, &newest, err);

	/* Ids increase by one. */
	if (!result)
		result = db_integer(reader->db, "SELECT (SELECT max(id) FROM sweep) - " FIRST_KEPT " + 1", 0,
				    &ret->sweeps, err);
	if (!result)
		result = db_integer(reader->db, "SELECT wall_us FROM sweep WHERE id = " FIRST_KEPT, 0,
				    &ret->first_wall_us, err);
	if (!result && newest)
		result = reader_sweep(reader, newest, &last, err);
	if (result >= 0)
		result = read_discovery(reader, last.info.id, ret, err);
	if (result < 0)
		return result;
	ret->schema_version = (int)reader->version;
	ret->last = last.info;
	ret->last_wall_us = last.info.wall_us;
	return 0;
}

int reader_settings(struct reader *reader, struct text *ret, struct error *err)
{
	sqlite3_stmt *row;
	int result = reader_begin(reader, err);

	if (result < 0)
		return result;
	result = db_prepare(reader->db, "SELECT value FROM meta WHERE key = 'settings'", &row, err);
	if (!result)
		result = db_step(row, err);
	if (result > 0 && sqlite3_column_type(row, 0) == SQLITE_TEXT)
		text_append(ret, (const char *)sqlite3_column_text(row, 0));
	sqlite3_finalize(row);
	reader_end(reader);
	return result < 0 ? result : text_failed(ret) ? err_nomem(err) : 0;
}

int reader_status(struct reader *reader, struct db_status *ret, struct error *err)
{
	return reader_status_at(reader, 0, ret, err);
}

int reader_status_at(struct reader *reader, int64_t at_us, struct db_status *ret, struct error *err)
{
	struct db_status status = { 0 };
	int result = reader_begin(reader, err);

	if (result < 0)
		return result;
	result = read_status(reader, at_us, &status, err);
	reader_end(reader);
	if (result < 0)
		return result;
	status.live = lock_held(reader->path, &status.collector_pid);
	status.store_blocked = status.live && lock_blocks_store(reader->path, &status.blocker_pid) &&
		status.blocker_pid != status.collector_pid;
	result = admin_file_bytes(reader->path, &status.size_bytes, &status.log_bytes, err);
	if (result < 0)
		return result;
	status.size_bytes += status.log_bytes;
	if (status.log_bytes > SCHEMA_LOG_BYTES_REPORTED)
		schema_log_holders(reader->db, status.log_holders, sizeof(status.log_holders));
	*ret = status;
	return 0;
}

int reader_sweep_beside(struct reader *reader, int64_t at_us, int64_t steps, int64_t *ret_wall_us, struct error *err)
{
	struct stored_sweep sweep;
	int result = reader_begin_at(reader, at_us, &sweep, err);

	if (result < 0)
		return result;
	*ret_wall_us = sweep.info.wall_us;
	result = db_row(reader->db, "SELECT wall_us FROM sweep WHERE id = max(" FIRST_KEPT ","
			" min((SELECT max(id) FROM sweep), ?1))", (int64_t[]){ sweep.info.id + steps }, 1,
			ret_wall_us, 1, err);
	reader_end(reader);
	return result < 0 ? result : 0;
}

static void read_event(sqlite3_stmt *row, struct event_row *ret)
{
	const char *text = (const char *)sqlite3_column_text(row, 8);
	struct event *event = &ret->event;

	memset(ret, 0, sizeof(*ret));
	ret->id = sqlite3_column_int64(row, 0);
	event->wall_us = db_us(row, 1);
	event->kind = (const char *)sqlite3_column_text(row, 2);
	if (!event->kind)
		event->kind = "";
	event->severity = (enum event_severity)db_choice(row, 3, EVENT_CRITICAL);
	event->node_guid = db_u64(row, 4);
	event->port = (uint8_t)sqlite3_column_int(row, 5);
	event->peer_guid = db_u64(row, 6);
	event->peer_port = (uint8_t)sqlite3_column_int(row, 7);
	if (text)
		strncpy(event->text, text, sizeof(event->text) - 1);
	ret->node = (const char *)sqlite3_column_text(row, 9);
	ret->peer = (const char *)sqlite3_column_text(row, 10);
}

/* Kept: commands read a few kinds of events one after another, which takes less time than to compile it. */
static int prepare_events(struct reader *reader, const struct event_query *query, struct error *err)
{
	/* The newest ones, then in order of age. */
	static const char sql[] =
		"SELECT e.id, e.wall_us, e.kind, e.severity, e.node_guid, e.port, e.peer_guid, e.peer_port, e.text, "
		TABLES_NAME_AT("e.node_guid", "e.sweep") ", " TABLES_NAME_AT("e.peer_guid", "e.sweep")
		" FROM event e WHERE e.id IN (SELECT id FROM event WHERE (?1 = 0 OR wall_us >= ?1)"
		" AND (?2 = 0 OR wall_us <= ?2) AND (?3 IS NULL OR kind = ?3)"
		" AND (?4 = 0 OR node_guid = ?4 OR peer_guid = ?4) AND (?6 = 0 OR id < ?6) AND id > ?7"
		" ORDER BY id DESC LIMIT ?5) ORDER BY e.id";
	int result = reader->events ? 0 : db_prepare(reader->db, sql, &reader->events, err);

	if (result < 0)
		return result;
	DB_BIND(reader->events, 1, query->since_us, query->until_us);
	sqlite3_bind_text(reader->events, 3, query->kind, -1, SQLITE_STATIC);
	db_bind_u64(reader->events, 4, query->node_guid);
	DB_BIND(reader->events, 5, query->limit > 0 ? query->limit : -1, query->before_id, query->after_id);
	return 0;
}

int reader_events(struct reader *reader, const struct event_query *query, reader_event_fn *each, void *ctx,
		  struct error *err)
{
	struct event_row row;
	int result = reader_begin(reader, err);

	if (result < 0)
		return result;
	result = prepare_events(reader, query, err);
	while (result >= 0 && (result = db_step(reader->events, err)) > 0) {
		read_event(reader->events, &row);
		if (!each(ctx, &row))
			break;
	}
	sqlite3_reset(reader->events);
	reader_end(reader);
	return result < 0 ? result : 0;
}
