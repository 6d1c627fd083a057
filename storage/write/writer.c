/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
#include "storage/writer.h"

#include <errno.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/err.h"
#include "fabric/fabric.h"
#include "storage/pack/compactor.h"
#include "storage/file/db.h"
#include "storage/file/log.h"
#include "storage/file/schema.h"
#include "storage/write/writer_internal.h"

#define SETTLE_TIMEOUT_MS 500

/* Time limit of the compaction at the end, so that short runs of a collector compact too. */
#define FINISH_US (2 * US_PER_S)

/* Sweeps between two attempts to start the compactor's thread. */
#define COMPACTOR_PAUSE_SWEEPS 60

/* Called by SQLite after each commit, instead of its own checkpoint during a sweep. */
static int count_log(void *ctx, sqlite3 *db, const char *name, int frames)
{
	struct writer *writer = ctx;

	(void)db;
	(void)name;
	writer->log_frames = frames;
	return SQLITE_OK;
}

/* Store an event about the store itself with the newest sweep. Return: was it stored? */
static bool report_event(struct writer *writer, struct event *event)
{
	event->severity = EVENT_WARNING;
	event->wall_us = writer->cache.sweep_wall_us;
	return writer->sink.store_events(writer, event, 1, NULL) == 0;
}

static void report_compactor_failure(struct writer *writer, const struct error *failure)
{
	struct event event = { .kind = "history-failed" };

	if (writer->compactor_fail_reported)
		return;
	snprintf(event.text, sizeof(event.text), "sweeps are stored but not packed, the file grows faster and "
		 "expired samples remain: %.140s; ibwire retries", failure->text);
	writer->compactor_fail_reported = report_event(writer, &event);
}

/* After a sweep. Without the thread, sweeps are not packed, and SQLite checkpoints the log. */
static void wake_compactor(struct writer *writer)
{
	struct error err = { 0 };

	if (writer->compactor_pause)
		writer->compactor_pause--;
	if (!writer->compactor && !writer->compactor_pause) {
		if (compactor_start(writer->path, &writer->retention, &writer->compactor, &err) == 0) {
			sqlite3_wal_hook(writer->db, count_log, writer);
			writer->compactor_fail_reported = false;
		} else {
			writer->compactor_pause = COMPACTOR_PAUSE_SWEEPS;
			report_compactor_failure(writer, &err);
		}
	}
	compactor_wake(writer->compactor, writer->log_frames);
}

static void stop_compactor(struct writer *writer, int64_t finish_us)
{
	compactor_stop(writer->compactor, finish_us);
	writer->compactor = NULL;
	writer->compactor_pause = 0;
}

static void close_database(struct writer *writer)
{
	stop_compactor(writer, 0);
	if (writer->db && (writer->unsafe || writer->distrusted))
		sqlite3_db_config(writer->db, SQLITE_DBCONFIG_NO_CKPT_ON_CLOSE, 1, NULL);
	writer_unprepare(writer);
	sqlite3_close(writer->db);
	writer->db = NULL;
	writer_cache_done(&writer->cache);
	stored_findings_done(&writer->findings);
	writer->generation_known = false;
	writer->jobs_version = writer->firmware_version = writer->cables_version = 0;
}

static int find_files(const struct writer *writer, struct db_files *ret, struct error *err)
{
	return schema_find_files(writer->path, ret) ? 0 :
		err_set(err, ERR_IO, "cannot read %s: %s", writer->path, strerror(errno));
}

/* Open the file; create it if it does not exist. */
static int open_or_create(struct writer *writer, struct error *err)
{
	bool there = false;
	int result = schema_check(writer->path, &there, err);

	if (!result && !there)
		result = schema_create(writer->path, err);
	if (!result)
		result = schema_open_writer(writer->path, &writer->db, err);
	if (!result)
		result = find_files(writer, &writer->files, err);
	if (!result)
		result = writer_prepare(writer, err);
	if (result < 0 && writer->db) {
		/* A rejected file is not changed. */
		sqlite3_db_config(writer->db, SQLITE_DBCONFIG_NO_CKPT_ON_CLOSE, 1, NULL);
		close_database(writer);
	}
	writer->settings_stored = false;
	/* The cache is loaded when needed, so that a collector starts its discovery sooner. */
	writer->stale = true;
	return result;
}

/* No sweep can be stored until the next process has opened the database. @unsafe: nor may the log be copied. */
static int end_storing(struct writer *writer, bool unsafe)
{
	writer->ended = true;
	writer->unsafe |= unsafe;
	return ERR_IO;
}

/*
 * After an error of the disk, the kernel may have lost pages; so it may have if the database seems to be damaged.
 * If it still does after the log was recovered, it is.
 */
static void check_disk_error(struct writer *writer)
{
	int code = sqlite3_errcode(writer->db) & 0xff;
	bool damaged = code == SQLITE_CORRUPT || code == SQLITE_NOTADB;

	if (damaged && writer->recovered)
		end_storing(writer, true);
	else if (damaged || code == SQLITE_IOERR)
		writer->distrusted = true;
}

/* If this fails, the next sweep tries again. */
static int recover(struct writer *writer, struct error *err)
{
	int result;

	stop_compactor(writer, 0);
	result = log_recover(writer->db, err);
	writer->recovered |= !result;
	writer->distrusted = result < 0;
	writer->stale = true;
	return result;
}

/*
 * Is the newest sweep of the database the last one that this process stored? A sweep whose commit fails
 * is not in the database, since SQLite flushes the log before it updates the log's index.
 */
static int check_newest(struct writer *writer, int64_t newest, struct error *err)
{
	if (writer->stored_sweep < 0)
		writer->stored_sweep = newest;
	/* Two collectors would store every delta twice. */
	if (newest > writer->stored_sweep)
		return err_set(err, ERR_UNAVAILABLE, "another process stores sweeps in %s (sweep %lld); stop it, or "
			       "give another --db", writer->path, (long long)newest);
	if (newest < writer->stored_sweep) {
		err_set(err, ERR_IO, "%s has lost sweeps after sweep %lld; check its disk, and start the collector "
			"again", writer->path, (long long)newest);
		return end_storing(writer, true);
	}
	return 0;
}

/*
 * Do the names of the database and its log still belong to the files that are open? A removed log is
 * copied into the database when it is closed, but not if there is another log, whose pages may be newer.
 */
static int check_files(struct writer *writer, struct error *err)
{
	const struct db_files *opened = &writer->files;
	struct db_files now;
	bool replaced;

	if (writer->ended || !writer->db) {
		err_set(err, ERR_IO, "%s is not open; start the collector again", writer->path);
		return end_storing(writer, false);
	}
	if (find_files(writer, &now, err) < 0)
		return ERR_IO;
	if (now.device != opened->device || now.inode != opened->inode) {
		err_set(err, ERR_IO, "%s was moved or removed while it was written to; start the collector again",
			writer->path);
		return end_storing(writer, false);
	}
	if (now.wal == opened->wal && now.shm == opened->shm)
		return 0;
	replaced = now.wal != opened->wal && now.wal_bytes > 0;
	err_set(err, ERR_IO, replaced ? "%s-wal was replaced while in use: the newest sweeps may be lost; start the "
				      "collector again"
				      : "the log of %s (-wal or -shm) was removed while in use; start the collector "
				      "again", writer->path);
	return end_storing(writer, replaced);
}

int writer_refresh(struct writer *writer, struct error *err)
{
	int result = check_files(writer, err);

	if (!result && (writer->distrusted || compactor_failed(writer->compactor)))
		result = recover(writer, err);
	if (result < 0 || !writer->stale)
		return result;
	writer_cache_done(&writer->cache);
	stored_findings_done(&writer->findings);
	writer->generation_known = false;
	result = writer_cache_load(writer->db, &writer->cache, err);
	if (result < 0) {
		check_disk_error(writer);
		return result;
	}
	writer->stale = false;
	return check_newest(writer, writer->cache.sweep, err);
}

static int begin(struct writer *writer, struct error *err)
{
	char holder[LOCK_HOLDER_SIZE];
	int result = writer_refresh(writer, err);
	int64_t pid;

	if (result < 0)
		return result;
	/* A transaction whose end failed for lack of memory. */
	if (!sqlite3_get_autocommit(writer->db))
		sqlite3_exec(writer->db, "ROLLBACK", NULL, NULL, NULL);
	result = db_exec(writer->db, "BEGIN IMMEDIATE", err);
	if (result < 0)
		check_disk_error(writer);
	if (result < 0 && sqlite3_errcode(writer->db) == SQLITE_BUSY && lock_blocks_store(writer->path, &pid))
		err_set(err, result, "%s is locked by %s, so sweeps cannot be stored; end that process",
			writer->path, lock_holder(pid, holder));
	return result;
}

/* Commit if @result is 0, else roll back. Return: @result, or the error of the commit. */
static int end(struct writer *writer, int result, struct error *err)
{
	if (!result)
		result = db_exec(writer->db, "COMMIT", err);
	if (result < 0) {
		check_disk_error(writer);
		for (int i = 0; i < WRITER_STATEMENT_COUNT; i++)
			sqlite3_reset(writer->statements[i]);
		if (!sqlite3_get_autocommit(writer->db))
			sqlite3_exec(writer->db, "ROLLBACK", NULL, NULL, NULL);
		writer->stale = true;
		/* Now, so that no other process recovers the failed transaction. */
		if (writer->distrusted)
			recover(writer, NULL);
	}
	return result;
}

static int store_settings(struct writer *writer, struct error *err)
{
	if (writer->settings_stored || !writer->settings)
		return 0;
	sqlite3_bind_text(writer->statements[WRITE_SETTINGS], 1, writer->settings, -1, SQLITE_STATIC);
	return db_run(writer->statements[WRITE_SETTINGS], err);
}

static int store_sweep_events(struct writer *writer, const struct sweep *sweep, int64_t id, struct error *err)
{
	return writer_store_events(writer, sweep->events, sweep->event_count, id, err);
}

static int store_all(struct writer *writer, const struct sweep *sweep, struct error *err)
{
	static int (*const parts[])(struct writer *writer, const struct sweep *sweep, int64_t id, struct error *err) = {
		writer_store_sweep, writer_store_samples, writer_store_details, writer_store_routes, writer_store_pkeys,
		store_sweep_events, writer_store_findings, writer_store_job_minutes,
	};
	struct writer_cache *cache = &writer->cache;
	int64_t id = cache->sweep + 1, newest;
	bool changed = false;
	int result = db_integer(writer->db, "SELECT max(id) FROM sweep", 0, &newest, err);

	if (!result)
		result = check_newest(writer, newest, err);
	if (!result)
		result = writer_follow_clock(writer, sweep, err);
	if (!result)
		result = store_settings(writer, err);
	if (result < 0)
		return result;
	if (!writer->generation_known || writer->generation != sweep->generation ||
	    (writer->left_out && sweep->start_us >= writer->left_out_until_us)) {
		result = writer_store_topology(writer, sweep, id, &changed, err);
		if (changed)
			cache->topology = id;
	}
	for (size_t i = 0; !result && i < sizeof(parts) / sizeof(*parts); i++)
		result = parts[i](writer, sweep, id, err);
	return result;
}

static int store(void *ctx, const struct sweep *sweep, struct error *err)
{
	struct writer *writer = ctx;
	struct writer_cache *cache = &writer->cache;
	int result = begin(writer, err);

	if (result < 0)
		return result;
	result = end(writer, store_all(writer, sweep, err), err);
	if (result < 0)
		return result;
	cache->sweep++;
	writer->stored_sweep = cache->sweep;
	writer->recovered = false;
	cache->sweep_wall_us = sweep->wall_us;
	cache->sweep_start_us = sweep->start_us;
	writer->generation = sweep->generation;
	writer->generation_known = writer->settings_stored = true;
	wake_compactor(writer);
	return 0;
}

/* Events after the last sweep are stored with it. */
static int store_events(void *ctx, const struct event *events, size_t count, struct error *err)
{
	struct writer *writer = ctx;
	int result = begin(writer, err);

	if (result < 0)
		return result;
	return end(writer, writer_store_events(writer, events, count, writer->cache.sweep, err), err);
}

static int store_caps(void *ctx, const struct restored_caps *caps, size_t count, struct error *err)
{
	struct writer *writer = ctx;
	int result = begin(writer, err);

	if (result < 0)
		return result;
	return end(writer, writer_store_caps(writer, caps, count, err), err);
}

static int store_firmware(void *ctx, const struct node_firmware *list, size_t count, struct error *err)
{
	struct writer *writer = ctx;
	int result = begin(writer, err);

	if (result < 0)
		return result;
	return end(writer, writer_store_firmware(writer, list, count, err), err);
}

static int store_detected(void *ctx, struct detected_record *list, size_t count, struct error *err)
{
	struct writer *writer = ctx;
	int result = begin(writer, err);

	if (result < 0)
		return result;
	return end(writer, writer_store_detected(writer, list, count, err), err);
}

static size_t nodes_left_out(void *ctx, char ret_first[SINK_HOLDERS_SIZE])
{
	const struct writer *writer = ctx;

	memcpy(ret_first, writer->left_out_first, SINK_HOLDERS_SIZE);
	return writer->left_out;
}

static bool is_left_out(void *ctx, uint64_t node_guid)
{
	const struct writer *writer = ctx;

	return writer->left_out && !writer_cache_find_node(&writer->cache, node_guid);
}

static bool has_ended(void *ctx)
{
	const struct writer *writer = ctx;

	return writer->ended;
}

static int64_t log_held(void *ctx, char ret_holders[SINK_HOLDERS_SIZE])
{
	const struct writer *writer = ctx;

	return compactor_log_held(writer->compactor, ret_holders);
}

int writer_open(const char *path, struct writer **ret, struct error *err)
{
	struct writer *writer = calloc(1, sizeof(*writer));
	char real[PATH_MAX];
	bool there;
	int result;

	if (!writer)
		return err_nomem(err);
	writer->lock = DB_LOCK_NONE;
	writer->stored_sweep = -1;
	writer->ids_most = HISTORY_PORTS - 1;
	writer->sink = (struct sink){ .store = store, .restore = writer_restore, .store_events = store_events,
				      .store_caps = store_caps, .store_firmware = store_firmware,
				      .imported_firmware = writer_imported_firmware, .log_held = log_held,
				      .nodes_left_out = nodes_left_out, .is_left_out = is_left_out,
				      .running_jobs = writer_running_jobs, .store_detected = store_detected,
				      .imported_cables = writer_imported_cables, .has_ended = has_ended,
				      .ctx = writer };
	/* Before the lock, so that no lock file is created for a file of another program. */
	result = schema_check(path, &there, err);
	if (!result)
		result = schema_path(path, real, err);
	if (!result && !(writer->path = strdup(real)))
		result = err_nomem(err);
	if (!result)
		result = lock_take(writer->path, &writer->lock, err);
	if (!result)
		result = open_or_create(writer, err);
	if (result < 0) {
		writer_close(writer);
		return result;
	}
	*ret = writer;
	return 0;
}

/* Store the last readings and checkpoint the log, so that the file alone is complete. */
static void finish_database(struct writer *writer)
{
	stop_compactor(writer, FINISH_US);
	if (writer->unsafe || begin(writer, NULL) < 0 || end(writer, writer_store_last(writer, NULL), NULL) < 0)
		return;
	/* Do not wait for a long read transaction: then the log remains. */
	sqlite3_busy_timeout(writer->db, SETTLE_TIMEOUT_MS);
	/* Pages that were freed by hot. */
	if (sqlite3_exec(writer->db, "PRAGMA incremental_vacuum(8192); PRAGMA wal_checkpoint(TRUNCATE)", NULL, NULL,
			 NULL) == SQLITE_OK)
		return;
	check_disk_error(writer);
	if (writer->distrusted)
		recover(writer, NULL);
}

void writer_close(struct writer *writer)
{
	if (!writer)
		return;
	if (writer->db) {
		finish_database(writer);
		close_database(writer);
	}
	lock_release(&writer->lock);
	free(writer->imported);
	free(writer->cables);
	free(writer->port_ids);
	free(writer->samples);
	free(writer->block_ends);
	bytes_done(&writer->packed);
	free(writer->settings);
	free(writer->path);
	free(writer);
}

int writer_set_settings(struct writer *writer, const char *text, struct error *err)
{
	char *copy = strdup(text);

	if (!copy)
		return err_nomem(err);
	free(writer->settings);
	writer->settings = copy;
	writer->settings_stored = false;
	return 0;
}

void writer_set_retention(struct writer *writer, const struct writer_retention *retention)
{
	writer->retention = *retention;
	stop_compactor(writer, 0); /* the next sweep starts it again */
}

const struct sink *writer_sink(struct writer *writer)
{
	return &writer->sink;
}

int writer_check_fabric(struct writer *writer, const struct fabric *fabric, struct error *err)
{
	if (!writer->db)
		return err_set(err, ERR_UNAVAILABLE, "%s is not open; start the collector again", writer->path);
	return schema_check_fabric(writer->db, writer->path, fabric,
				   "give another --db, or --new-fabric to move it aside and create another", err);
}

/* PATH.old-TIME, a name that does not exist. */
static int old_name(const char *path, char ret[PATH_MAX], struct error *err)
{
	time_t now = (time_t)(clock_wall_us(clock_system()) / US_PER_S);
	char stamp[32];
	struct tm tm;

	gmtime_r(&now, &tm);
	strftime(stamp, sizeof(stamp), "%Y%m%dT%H%M%SZ", &tm);
	for (int i = 0; i < 1000; i++) {
		int len = i ? snprintf(ret, PATH_MAX, "%s.old-%s-%d", path, stamp, i)
			    : snprintf(ret, PATH_MAX, "%s.old-%s", path, stamp);

		if (len < 0 || len >= PATH_MAX - 8)
			break;
		if (access(ret, F_OK) < 0 && errno == ENOENT)
			return 0;
	}
	return err_set(err, ERR_IO, "no free name to move %s to; remove old ones", path);
}

static void move_with(const char *from, const char *to, const char *suffix)
{
	char source[PATH_MAX + 8], target[PATH_MAX + 8];

	snprintf(source, sizeof(source), "%s%s", from, suffix);
	snprintf(target, sizeof(target), "%s%s", to, suffix);
	if (rename(source, target) < 0)
		unlink(source);
}

int writer_forget_fabric(struct writer *writer, struct error *err)
{
	char old[PATH_MAX];
	int result = old_name(writer->path, old, err);

	if (result < 0)
		return result;
	if (writer->db) {
		finish_database(writer);
		close_database(writer);
	}
	if (rename(writer->path, old) < 0) {
		result = err_set(err, ERR_IO, "cannot move %s aside: %s", writer->path, strerror(errno));
		open_or_create(writer, NULL); /* the same file; if that fails too, store() reports it */
		return result;
	}
	/* A log that a reader kept from being checkpointed belongs to the old file. */
	move_with(writer->path, old, "-wal");
	move_with(writer->path, old, "-shm");
	writer->stored_sweep = -1;
	return open_or_create(writer, err);
}
