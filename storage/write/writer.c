/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
#include "storage/writer.h"

#include <errno.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/err.h"
#include "fabric/fabric.h"
#include "storage/pack/compactor.h"
#include "storage/file/db.h"
#include "storage/file/schema.h"
#include "storage/file/wal.h"
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

/* Store an event of the store itself with the newest sweep. Return: was it stored? */
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

/*
 * A reader may hold a lock on the range of the database that collectors lock. Storing continues
 * under PATH.lock, but a collector that uses another hard link would not be refused.
 */
static void report_reader(struct writer *writer)
{
	struct event event = { .kind = "lock-blocked" };
	char holder[LOCK_HOLDER_SIZE];

	if (writer->lock.db_fd < 0 || writer->lock.db_held || writer->lock_reported)
		return;
	snprintf(event.text, sizeof(event.text), "%s holds a read lock on the collector's part of the database file; "
		 "sweeps are stored, but a second collector on a hard link would not be refused; end it",
		 lock_holder(writer->lock.reader_pid, holder));
	writer->lock_reported = report_event(writer, &event);
}

static void report_log_removed(struct writer *writer)
{
	struct event event = { .kind = "log-removed", .text = "the database's log (-wal or -shm) was removed "
			       "while in use; its contents were saved, and nothing is lost" };

	if (writer->log_removed)
		writer->log_removed = !report_event(writer, &event);
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
	if (writer->db && writer->distrusted)
		sqlite3_db_config(writer->db, SQLITE_DBCONFIG_NO_CKPT_ON_CLOSE, 1, NULL);
	writer_unprepare(writer);
	sqlite3_close(writer->db);
	wal_close(&writer->wal);
	writer->db = NULL;
	writer_cache_done(&writer->cache);
	stored_findings_done(&writer->findings);
	writer->generation_known = false;
}

static int find_log(const struct writer *writer, struct log_files *ret, struct error *err)
{
	return schema_find_log(writer->path, ret) ? 0 :
		err_set(err, ERR_IO, "cannot read the log of %s: %s", writer->path, strerror(errno));
}

/* Open the file; create it if it does not exist. */
static int open_or_create(struct writer *writer, struct error *err)
{
	struct stat st;
	bool there = false;
	int result = schema_check(writer->path, &there, err);

	if (!result && !there)
		result = schema_create(writer->path, err);
	if (!result)
		result = lock_database(&writer->lock, writer->path, err);
	if (!result)
		result = schema_open_writer(writer->path, &writer->db, err);
	if (!result && stat(writer->path, &st) < 0)
		result = err_set(err, ERR_IO, "cannot read %s: %s", writer->path, strerror(errno));
	if (!result) {
		writer->device = st.st_dev;
		writer->inode = st.st_ino;
		result = find_log(writer, &writer->log, err);
	}
	if (!result)
		result = wal_open(writer->path, &writer->wal, err);
	if (!result)
		result = writer_prepare(writer, err);
	if (result < 0 && writer->db) {
		/* A rejected file is not changed. */
		sqlite3_db_config(writer->db, SQLITE_DBCONFIG_NO_CKPT_ON_CLOSE, 1, NULL);
		close_database(writer);
	}
	/* The cache is loaded when needed, so that a collector starts its discovery sooner. */
	writer->stale = true;
	return result;
}

/*
 * After an error of the disk, or damage caused by an earlier one, unflushed data may be wrong. An
 * index of the log that SQLite could not open for writing stays read-only until it is opened again.
 */
static void check_disk_error(struct writer *writer)
{
	int code = sqlite3_errcode(writer->db) & 0xff;

	if (code == SQLITE_IOERR || code == SQLITE_CORRUPT || code == SQLITE_NOTADB || code == SQLITE_READONLY)
		writer->distrusted = true;
}

/*
 * After a failed flush, data written since the last successful one must not be read: repair the log,
 * close the database and open it again. If that fails, the next sweep tries again.
 */
static int recover(struct writer *writer, struct error *err)
{
	struct wal old;
	int result;

	stop_compactor(writer, 0);
	if (writer->db) {
		result = wal_repair(&writer->wal, writer->path, err);
		if (result < 0)
			return result;
		close_database(writer);
	}
	old = writer->wal;
	writer->wal = WAL_NONE;
	result = open_or_create(writer, err);
	if (!result)
		writer->distrusted = false;
	/* If it could not be opened, the index is still to be rebuilt. */
	if (result < 0)
		writer->wal = old;
	else
		wal_unmap(&old);
	return result;
}

/* The database may have fewer sweeps than were committed, or one more: deltas start there. */
static void compare_with_committed(struct writer *writer)
{
	if (writer->committed_sweep < 0)
		writer->committed_sweep = writer->cache.sweep;
	if (writer->cache.sweep == writer->committed_sweep)
		return;
	writer->diverged = true;
	writer->resync_routes = true;
	if (writer->cache.sweep < writer->committed_sweep)
		writer->lost_until = writer->committed_sweep;
	writer->committed_sweep = writer->cache.sweep;
}

static bool log_is_ours(const struct writer *writer)
{
	struct log_files log;

	return find_log(writer, &log, NULL) < 0 || (log.wal == writer->log.wal && log.shm == writer->log.shm);
}

/*
 * PATH-wal or PATH-shm was removed. A log without a name disappears with this process, and other
 * processes do not see what is committed to it: its content is written to the file while it is
 * open, and the file is opened again. If another log exists, the file may have pages of that one,
 * which older pages must not overwrite: then the content of the removed log is lost, and the next
 * collector continues from the file. If only the index was removed, the log is complete.
 */
static int reopen_log(struct writer *writer, struct error *err)
{
	struct log_files log;
	bool lost;

	if (find_log(writer, &log, err) < 0)
		return ERR_IO;
	stop_compactor(writer, 0);
	lost = log.wal != writer->log.wal && log.wal_bytes > 0;
	sqlite3_busy_timeout(writer->db, SETTLE_TIMEOUT_MS);
	if (log.wal != writer->log.wal && !lost &&
	    sqlite3_wal_checkpoint_v2(writer->db, NULL, SQLITE_CHECKPOINT_TRUNCATE, NULL, NULL) != SQLITE_OK)
		return err_set(err, ERR_IO, "%s-wal was removed while in use, and its contents are not saved yet (%s); "
			       "ibwire retries with each sweep, so do not stop the collector", writer->path,
			       sqlite3_errmsg(writer->db));
	sqlite3_db_config(writer->db, SQLITE_DBCONFIG_NO_CKPT_ON_CLOSE, 1, NULL);
	close_database(writer);
	if (lost)
		return err_set(err, ERR_IO, "%s-wal was replaced while in use: the newest sweeps may be lost; "
			       "start the collector again", writer->path);
	writer->log_removed = true;
	return open_or_create(writer, err);
}

int writer_refresh(struct writer *writer, struct error *err)
{
	struct stat st;
	int result;

	if (!writer->db && !writer->distrusted)
		return err_set(err, ERR_IO, "%s is not open; start the collector again", writer->path);
	if (stat(writer->path, &st) < 0 || st.st_dev != writer->device || st.st_ino != writer->inode)
		return err_set(err, ERR_IO,
			       "%s was moved or removed while it was written to; start the collector again",
			       writer->path);
	if (compactor_failed(writer->compactor))
		writer->distrusted = true;
	if (writer->distrusted) {
		result = recover(writer, err);
		if (result < 0)
			return result;
	}
	if (!log_is_ours(writer)) {
		result = reopen_log(writer, err);
		if (result < 0)
			return result;
	}
	if (!writer->stale)
		return 0;
	writer_cache_done(&writer->cache);
	stored_findings_done(&writer->findings);
	writer->generation_known = false;
	result = writer_cache_load(writer->db, &writer->cache, err);
	if (!result) {
		writer->stale = false;
		compare_with_committed(writer);
	} else {
		check_disk_error(writer);
	}
	return result;
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
		/* Now: until the log is truncated, a recovery could read the failed sweep. */
		if (writer->distrusted)
			recover(writer, NULL);
	}
	return result;
}

/* Report sweeps that were committed and then lost by a failed flush. */
static int store_loss(struct writer *writer, const struct sweep *sweep, int64_t id, struct error *err)
{
	struct event event = { .kind = "sweeps-lost", .severity = EVENT_WARNING, .wall_us = sweep->wall_us };

	if (!writer->lost_until)
		return 0;
	snprintf(event.text, sizeof(event.text), "%lld sweeps stored after sweep %lld were lost by a disk that failed "
		 "to flush; deltas reach back to that sweep, so counters are complete; details and events are missing",
		 (long long)(writer->lost_until - writer->cache.sweep), (long long)writer->cache.sweep);
	return writer_store_events(writer, &event, 1, id, err);
}

static int store_sweep_events(struct writer *writer, const struct sweep *sweep, int64_t id, struct error *err)
{
	return writer_store_events(writer, sweep->events, sweep->event_count, id, err);
}

static int store_all(struct writer *writer, const struct sweep *sweep, struct error *err)
{
	static int (*const parts[])(struct writer *writer, const struct sweep *sweep, int64_t id, struct error *err) = {
		writer_store_sweep, writer_store_samples, writer_store_details, writer_store_routes, store_sweep_events,
		store_loss, writer_store_findings,
	};
	struct writer_cache *cache = &writer->cache;
	int64_t id = cache->sweep + 1, newest;
	bool changed = false;
	int result = db_integer(writer->db, "SELECT max(id) FROM sweep", 0, &newest, err);

	/* Two collectors would store every delta twice. */
	if (!result && newest > cache->sweep)
		result = err_set(err, ERR_UNAVAILABLE, "another process stores sweeps in %s (sweep %lld); stop it, or "
				 "give another --db", writer->path, (long long)newest);
	if (!result && newest < cache->sweep) {
		writer->distrusted = true;
		result = err_set(err, ERR_IO, "%s has lost sweeps after sweep %lld; check its disk", writer->path,
				 (long long)newest);
	}
	if (result < 0)
		return result;
	if (!writer->generation_known || writer->generation != sweep->generation) {
		result = writer_store_topology(writer, sweep->fabric, id, &changed, err);
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
	int result = lock_retry(&writer->lock, writer->path, err);

	if (!result)
		result = begin(writer, err);
	if (result < 0)
		return result;
	result = end(writer, store_all(writer, sweep, err), err);
	if (result < 0)
		return result;
	cache->sweep++;
	writer->committed_sweep = cache->sweep;
	writer->resync_routes = false;
	writer->lost_until = 0;
	cache->sweep_wall_us = sweep->wall_us;
	cache->sweep_start_us = sweep->start_us;
	writer->generation = sweep->generation;
	writer->generation_known = true;
	report_reader(writer);
	report_log_removed(writer);
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
	writer->wal = WAL_NONE;
	writer->committed_sweep = -1;
	writer->sink = (struct sink){ .store = store, .restore = writer_restore, .store_events = store_events,
				      .store_caps = store_caps, .log_held = log_held, .ctx = writer };
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
	if (begin(writer, NULL) == 0)
		end(writer, writer_store_last(writer, NULL), NULL);
	/* Pages that were freed by hot. */
	sqlite3_exec(writer->db, "PRAGMA incremental_vacuum(8192)", NULL, NULL, NULL);
	/* Do not wait for a long read transaction: then the log remains. */
	sqlite3_busy_timeout(writer->db, SETTLE_TIMEOUT_MS);
	sqlite3_exec(writer->db, "PRAGMA wal_checkpoint(TRUNCATE)", NULL, NULL, NULL);
}

void writer_close(struct writer *writer)
{
	if (!writer)
		return;
	if (writer->db) {
		finish_database(writer);
		close_database(writer);
	}
	wal_unmap(&writer->wal);
	lock_release(&writer->lock);
	free(writer->port_ids);
	free(writer->samples);
	free(writer->block_ends);
	bytes_done(&writer->packed);
	free(writer->path);
	free(writer);
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
		return err_set(err, ERR_UNAVAILABLE, "%s is not open since a write failed; ibwire retries",
			       writer->path);
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
	writer->committed_sweep = -1;
	return open_or_create(writer, err);
}
