/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
#include "storage/pack/compactor.h"

#include <pthread.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

#include "base/clock.h"
#include "base/err.h"
#include "base/process.h"
#include "collector/sink.h"
#include "storage/pack/compact.h"
#include "storage/file/db.h"
#include "storage/file/schema.h"
#include "storage/writer.h"

/* From this size of the log on it is checkpointed; from this size on the next sweep may wait for that. */
#define LOG_BYTES INT64_C(8388608)
#define LOG_BYTES_MOST INT64_C(33554432)

/* A log that cannot be emptied is reported after so many sweeps in a row, so short readers are not. */
#define HELD_SWEEPS 3

/* Sweeps before the next attempt after a failure. */
#define PAUSE_SWEEPS 10

/* As in struct event. */
#define EVENT_TEXT_MOST 255

struct compactor {
	/* Only used by the thread. */
	sqlite3 *db;
	struct compaction compaction;
	struct writer_retention retention;
	int64_t page_bytes;
	unsigned pause;
	bool reported; /* an event reports that it fails */
	bool may_retain; /* windows were written since the last removal was complete */
	int own_frames; /* pages in the log after its own newest commit */
	int64_t held_bytes;   /* of a log that the last checkpoint could not empty; 0: it could, or the log is small */
	unsigned held_sweeps; /* in a row */
	pthread_t thread;
	pthread_mutex_t mutex;
	pthread_cond_t wake;
	/* Protected by the mutex. */
	bool woken, stop;
	bool failed; /* a write or flush: idle until the writer has recovered the log */
	int64_t finish_until_us; /* CLOCK_BOOTTIME; with stop */
	int log_frames;
	int64_t reported_bytes; /* as held_bytes, after HELD_SWEEPS */
	char holders[SINK_HOLDERS_SIZE];
};

/* Is there time for another step? */
static bool may_go_on(struct compactor *compactor)
{
	bool may;

	pthread_mutex_lock(&compactor->mutex);
	may = !compactor->failed &&
	      (!compactor->stop || clock_boottime_us(clock_system()) < compactor->finish_until_us);
	pthread_mutex_unlock(&compactor->mutex);
	return may;
}

/* Did a write or flush fail? The next checkpoint would not copy again what the kernel may have lost. */
static bool check_flush(struct compactor *compactor)
{
	switch (sqlite3_extended_errcode(compactor->db)) {
	case SQLITE_IOERR_WRITE:
	case SQLITE_IOERR_FSYNC:
		break;
	default:
		return false;
	}
	pthread_mutex_lock(&compactor->mutex);
	compactor->failed = true;
	pthread_mutex_unlock(&compactor->mutex);
	return true;
}

/* Reports a failure in an event, as soon as one can be stored. */
static void report(struct compactor *compactor, const struct error *failure)
{
	sqlite3_stmt *insert;

	if (compactor->reported || db_prepare(compactor->db, "INSERT INTO event (sweep, wall_us, kind, severity, text)"
					  " SELECT max(id), ?1, 'history-failed', ?2, ?3 FROM sweep", &insert,
					  NULL) < 0)
		return;
	DB_BIND(insert, 1, clock_wall_us(clock_system()), EVENT_WARNING);
	sqlite3_bind_text(insert, 3, failure->text, (int)strnlen(failure->text, EVENT_TEXT_MOST), SQLITE_STATIC);
	compactor->reported = db_run(insert, NULL) == 0;
	sqlite3_finalize(insert);
}

/*
 * A passive checkpoint blocks no sweep. If sweeps follow so fast that it never reaches the end of the
 * log, a restart is requested: then the next sweep waits until the rest is in the file. Readers are
 * never waited for.
 */
static void empty_log(struct compactor *compactor, int frames)
{
	int in_log = 0, done = 0;

	if (frames * compactor->page_bytes < LOG_BYTES)
		return;
	if (sqlite3_wal_checkpoint_v2(compactor->db, NULL, SQLITE_CHECKPOINT_PASSIVE, &in_log, &done) != SQLITE_OK) {
		check_flush(compactor);
		return;
	}
	compactor->held_bytes = in_log * compactor->page_bytes;
	if (compactor->held_bytes < SCHEMA_LOG_BYTES_REPORTED || (in_log - done) * compactor->page_bytes <= LOG_BYTES)
		compactor->held_bytes = 0;
	if (in_log * compactor->page_bytes < LOG_BYTES_MOST ||
	    (in_log - done) * compactor->page_bytes > LOG_BYTES)
		return;
	sqlite3_busy_timeout(compactor->db, 0);
	if (sqlite3_wal_checkpoint_v2(compactor->db, NULL, SQLITE_CHECKPOINT_RESTART, NULL, NULL) != SQLITE_OK)
		check_flush(compactor);
	sqlite3_busy_timeout(compactor->db, SCHEMA_BUSY_TIMEOUT_MS);
}

/* After each sweep: does a reader hold the log, and which one? */
static void report_log(struct compactor *compactor)
{
	char holders[SINK_HOLDERS_SIZE] = "";

	compactor->held_sweeps = compactor->held_bytes ? compactor->held_sweeps + 1 : 0;
	if (compactor->held_sweeps >= HELD_SWEEPS)
		schema_log_holders(compactor->db, holders, sizeof(holders));
	pthread_mutex_lock(&compactor->mutex);
	compactor->reported_bytes = compactor->held_sweeps >= HELD_SWEEPS ? compactor->held_bytes : 0;
	memcpy(compactor->holders, holders, sizeof(holders));
	pthread_mutex_unlock(&compactor->mutex);
}

/* SQLite calls this after each commit of the thread. */
static int count_log(void *ctx, sqlite3 *db, const char *name, int frames)
{
	struct compactor *compactor = ctx;

	(void)db;
	(void)name;
	compactor->own_frames = frames;
	return SQLITE_OK;
}

/* One step of compaction or removal, and a checkpoint, so that many steps do not fill the log. */
static int step(struct compactor *compactor, struct error *err)
{
	int result = compact_step(&compactor->compaction, err);

	if (result > 0)
		compactor->may_retain = true;
	/* It searches all windows, so not after each sweep. */
	if (!result && compactor->may_retain) {
		result = retain_step(&compactor->compaction, &compactor->retention, err);
		compactor->may_retain = result != 0;
	}
	if (result < 0 && check_flush(compactor))
		return result;
	empty_log(compactor, compactor->own_frames);
	compactor->own_frames = 0;
	return result;
}

static void work(struct compactor *compactor)
{
	struct error err = { 0 };
	bool packed = false;
	int result;

	if (compactor->pause && compactor->pause-- > 1)
		return;
	do {
		result = step(compactor, &err);
		packed |= result > 0;
	} while (result > 0 && may_go_on(compactor));
	/* The next sweeps invalidate all cached pages before they are read again. */
	if (packed) {
		sqlite3_db_release_memory(compactor->db);
		heap_give_back();
	}
	if (result >= 0 && compactor->compaction.damaged) {
		err_set(&err, ERR_IO, "%llu packs of new samples are unreadable and lost; check the disk, and run: "
			"ibwire db check", (unsigned long long)compactor->compaction.damaged);
		compactor->compaction.damaged = 0;
		report(compactor, &err);
	}
	if (result >= 0) {
		compactor->reported = false;
	} else {
		compactor->pause = PAUSE_SWEEPS;
		report(compactor, &err);
	}
}

bool compactor_failed(struct compactor *compactor)
{
	bool failed;

	if (!compactor)
		return false;
	pthread_mutex_lock(&compactor->mutex);
	failed = compactor->failed;
	pthread_mutex_unlock(&compactor->mutex);
	return failed;
}

static void *run(void *ctx)
{
	struct compactor *compactor = ctx;
	bool stop = false;

	while (!stop) {
		int frames;

		pthread_mutex_lock(&compactor->mutex);
		while (!compactor->woken && !compactor->stop)
			pthread_cond_wait(&compactor->wake, &compactor->mutex);
		compactor->woken = false;
		stop = compactor->stop;
		frames = compactor->log_frames;
		pthread_mutex_unlock(&compactor->mutex);
		if (may_go_on(compactor))
			work(compactor);
		if (!stop && !compactor_failed(compactor)) {
			empty_log(compactor, frames);
			report_log(compactor);
		}
	}
	return NULL;
}

static int start_thread(struct compactor *compactor, struct error *err)
{
	int code = thread_start(run, compactor, &compactor->thread);

	return code ? err_set(err, ERR_NOMEM, "cannot start a thread: %s", strerror(code)) : 0;
}

static void destroy(struct compactor *compactor)
{
	compact_done(&compactor->compaction);
	sqlite3_close(compactor->db);
	pthread_cond_destroy(&compactor->wake);
	pthread_mutex_destroy(&compactor->mutex);
	free(compactor);
}

int compactor_start(const char *path, const struct writer_retention *retention, struct compactor **ret,
		    struct error *err)
{
	struct compactor *compactor = calloc(1, sizeof(*compactor));
	int result;

	if (!compactor)
		return err_nomem(err);
	compactor->retention = *retention;
	compactor->may_retain = true;
	pthread_mutex_init(&compactor->mutex, NULL);
	pthread_cond_init(&compactor->wake, NULL);
	result = schema_open_second(path, &compactor->db, err);
	if (!result)
		result = db_integer(compactor->db, "PRAGMA page_size", 0, &compactor->page_bytes, err);
	if (!result)
		result = compact_init(&compactor->compaction, compactor->db, retention->window_sweeps, err);
	if (!result)
		sqlite3_wal_hook(compactor->db, count_log, compactor);
	if (!result)
		result = start_thread(compactor, err);
	if (result < 0)
		destroy(compactor);
	else
		*ret = compactor;
	return result;
}

void compactor_wake(struct compactor *compactor, int log_frames)
{
	if (!compactor)
		return;
	pthread_mutex_lock(&compactor->mutex);
	compactor->woken = true;
	compactor->log_frames = log_frames;
	pthread_cond_signal(&compactor->wake);
	pthread_mutex_unlock(&compactor->mutex);
}

int64_t compactor_log_held(struct compactor *compactor, char ret_holders[SINK_HOLDERS_SIZE])
{
	int64_t bytes;

	*ret_holders = '\0';
	if (!compactor)
		return 0;
	pthread_mutex_lock(&compactor->mutex);
	bytes = compactor->reported_bytes;
	memcpy(ret_holders, compactor->holders, sizeof(compactor->holders));
	pthread_mutex_unlock(&compactor->mutex);
	return bytes;
}

void compactor_stop(struct compactor *compactor, int64_t finish_us)
{
	if (!compactor)
		return;
	pthread_mutex_lock(&compactor->mutex);
	compactor->stop = true;
	compactor->finish_until_us = clock_boottime_us(clock_system()) + finish_us;
	pthread_cond_signal(&compactor->wake);
	pthread_mutex_unlock(&compactor->mutex);
	pthread_join(compactor->thread, NULL);
	destroy(compactor);
}
