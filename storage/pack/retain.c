/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
#include "storage/pack/retain.h"

#include <stdio.h>

#include "base/clock.h"
#include "base/err.h"
#include "base/when.h"
#include "collector/sink.h"
#include "storage/admin/admin_internal.h"
#include "storage/pack/compact.h"
#include "storage/file/db.h"
#include "storage/file/schema.h"
#include "storage/writer.h"

/*
 * Free pages are used again before the file grows, so a file whose oldest samples go
 * is as large as it was. Only much more than one window's rows of hot is given back.
 */
#define FREE_BYTES_LEAST INT64_C(67108864)
#define VACUUM "PRAGMA incremental_vacuum(256)"

/* An event says that the file is full, not more often than that. */
#define FULL_EVENT_US (24 * 3600 * US_PER_S)

/*
 * Now: the newest sweep's time. A clock that stood right may jump far ahead and return (a clock chip without
 * battery, until NTP corrects it), and what a wrong now removed is lost. So while the last 60 sweeps are more
 * than a day apart, now is the earliest of them: history then stays longer than it was to, never shorter. Nothing
 * can be said of a clock that stays wrong; and where sweeps are half an hour apart, now is 60 of them late.
 */
#define NOW \
	"SELECT CASE WHEN max(wall_us) - min(wall_us) > 86400000000 THEN min(wall_us)" \
	" ELSE (SELECT wall_us FROM sweep ORDER BY id DESC LIMIT 1) END" \
	" FROM sweep WHERE id > (SELECT max(id) FROM sweep) - 60"

/* chunk_window.next_port of one of whose samples nothing is left. */
#define ALL_REMOVED (-1)

/* A window or an hour. */
struct run {
	int64_t id, from_sweep, to_sweep, to_us;
	bool expiring; /* the sums of the window are being removed */
};

/*
 * What goes with the samples of a window: ?1 its id, ?2 its first sweep, ?3 the first behind it. Each statement
 * removes so many rows that others wait for some milliseconds, and is run until it finds none. The readings of its
 * last sweep stay, the next window counts from them; so does what ports that rest were read at last; and a row
 * of sweep, for the times of what remains.
 */
#define RESTING \
	"(SELECT read_sweep, port FROM span WHERE read_sweep IS NOT NULL AND (to_sweep IS NULL OR to_sweep > ?3))"
#define STILL_NAMED \
	"(SELECT read_sweep FROM span WHERE read_sweep IS NOT NULL AND (to_sweep IS NULL OR to_sweep > ?3)" \
	" UNION ALL SELECT sweep FROM detail_last)"
/* Readings of slow counters, those first that are removed first. */
#define READINGS \
	"(SELECT d.sweep, d.port, d.attribute FROM detail d WHERE d.sweep < ?3 AND NOT EXISTS (SELECT 1 FROM" \
	" detail_last l WHERE l.port = d.port AND l.attribute = d.attribute AND l.sweep = d.sweep)" \
	" ORDER BY d.sweep, d.port, d.attribute LIMIT 1024 + 0 * ?1 * ?2)"

/*
 * One statement, and what hangs on its rows and so goes before them in the same transaction (NULL: nothing). A
 * reading without its values would say 0 of each; a value without its reading is damage.
 */
struct removal {
	const char *rows, *first;
};

static const struct removal samples_sql[] = {
	{ "DELETE FROM chunk WHERE id IN (SELECT id FROM chunk WHERE id >= ?1 * 2097152 AND id < (?1 + 1) * 2097152"
	  " LIMIT 1024 + 0 * ?2 * ?3)", NULL },
	{ "DELETE FROM absolute WHERE (sweep, port) IN (SELECT sweep, port FROM absolute WHERE sweep < ?3 - 1 AND"
	  " (sweep, port) NOT IN " RESTING " LIMIT 2048 + 0 * ?1 * ?2)", NULL },
	{ "DELETE FROM detail WHERE (sweep, port, attribute) IN " READINGS,
	  "DELETE FROM detail_value WHERE (sweep, port, counter) IN (SELECT v.sweep, v.port, v.counter FROM "
	  READINGS " r CROSS JOIN detail_value v ON v.sweep = r.sweep AND v.port = r.port"
	  " AND v.counter >= 32 * r.attribute AND v.counter < 32 * (r.attribute + 1))" },
	/* What was left alone where the two above were two transactions. */
	{ "DELETE FROM detail_value WHERE (sweep, port, counter) IN (SELECT v.sweep, v.port, v.counter FROM"
	  " detail_value v WHERE v.sweep < ?3 AND NOT EXISTS (SELECT 1 FROM detail d WHERE d.sweep = v.sweep AND"
	  " d.port = v.port AND d.attribute = v.counter / 32) LIMIT 2048 + 0 * ?1 * ?2)", NULL },
	{ "DELETE FROM sweep WHERE id >= ?2 AND id < ?3 - 1 AND id NOT IN " STILL_NAMED " AND ?1", NULL },
};

/* And with its sums; of the last window of an hour the row of sweep stays. */
static const struct removal sums_sql[] = {
	{ "DELETE FROM chunk_sum WHERE (window, port) IN (SELECT window, port FROM chunk_sum WHERE window = ?1"
	  " LIMIT 2048 + 0 * ?2 * ?3)", NULL },
	{ "DELETE FROM chunk_error WHERE (window, port, counter) IN (SELECT window, port, counter FROM chunk_error"
	  " WHERE window = ?1 LIMIT 2048 + 0 * ?2 * ?3)", NULL },
	{ "DELETE FROM error WHERE (sweep, port, counter) IN (SELECT sweep, port, counter FROM error WHERE sweep < ?3"
	  " LIMIT 2048 + 0 * ?1 * ?2)", NULL },
	{ "DELETE FROM span WHERE (from_sweep, port) IN (SELECT from_sweep, port FROM span WHERE to_sweep <= ?3"
	  " LIMIT 2048 + 0 * ?1 * ?2)", NULL },
	{ "DELETE FROM route_version WHERE (from_sweep, node, block) IN (SELECT from_sweep, node, block FROM"
	  " route_version WHERE to_sweep <= ?3 LIMIT 2048 + 0 * ?1 * ?2)", NULL },
	{ "DELETE FROM sweep WHERE id >= ?2 AND id < ?3 AND NOT EXISTS (SELECT 1 FROM hour h WHERE"
	  " h.to_sweep = sweep.id + 1) AND id NOT IN " STILL_NAMED " AND ?1", NULL },
	{ "DELETE FROM chunk_window WHERE id = ?1 AND ?2 AND ?3", NULL },
};

static const struct removal hours_sql[] = {
	{ "DELETE FROM hour_sum WHERE (hour, port) IN (SELECT hour, port FROM hour_sum WHERE hour = ?1"
	  " LIMIT 2048 + 0 * ?2 * ?3)", NULL },
	{ "DELETE FROM hour_error WHERE (hour, port, counter) IN (SELECT hour, port, counter FROM hour_error"
	  " WHERE hour = ?1 LIMIT 2048 + 0 * ?2 * ?3)", NULL },
	{ "DELETE FROM sweep WHERE id >= ?2 AND id < ?3 AND id NOT IN " STILL_NAMED " AND ?1", NULL },
	{ "DELETE FROM hour WHERE id = ?1 AND ?2 AND ?3", NULL },
};

/* Run one statement inside a transaction. Return: how many rows it removed, or an error. */
static int64_t remove_rows(struct compaction *compaction, const char *sql, const struct run *run, struct error *err)
{
	sqlite3_stmt *remove;
	int result = db_prepare(compaction->db, sql, &remove, err);

	if (result < 0)
		return result;
	sqlite3_bind_int64(remove, 1, run->id);
	sqlite3_bind_int64(remove, 2, run->from_sweep);
	sqlite3_bind_int64(remove, 3, run->to_sweep);
	result = db_run(remove, err);
	sqlite3_finalize(remove);
	return result < 0 ? result : sqlite3_changes(compaction->db);
}

/* Some rows, with what hangs on them, in a transaction of their own. Return: how many rows, or an error. */
static int64_t remove_some(struct compaction *compaction, const struct removal *removal, const struct run *run,
			   struct error *err)
{
	int64_t removed = compact_begin(compaction, err);
	int result;

	if (removed < 0)
		return removed;
	if (removal->first)
		removed = remove_rows(compaction, removal->first, run, err);
	if (removed >= 0)
		removed = remove_rows(compaction, removal->rows, run, err);
	result = compact_end(compaction, removed < 0 ? (int)removed : 0, err);
	return result < 0 ? result : removed;
}

/* The first of the statements that has something to remove. Return: 1, 0 where none has, or an error. */
static int remove_next(struct compaction *compaction, const struct removal *removals, size_t count,
		       const struct run *run, struct error *err)
{
	int64_t removed = 0;

	for (size_t i = 0; !removed && i < count; i++)
		removed = remove_some(compaction, &removals[i], run, err);
	return removed < 0 ? (int)removed : removed > 0;
}

/* The first row of a query of runs. Return: 1, 0 where there is none, or an error. */
static int find_run(sqlite3 *db, const char *sql, struct run *ret, struct error *err)
{
	sqlite3_stmt *row;
	int result = db_prepare(db, sql, &row, err);

	if (result < 0)
		return result;
	result = db_step(row, err);
	if (result > 0)
		*ret = (struct run){ .id = sqlite3_column_int64(row, 0), .from_sweep = sqlite3_column_int64(row, 1),
				     .to_sweep = sqlite3_column_int64(row, 2), .to_us = db_us(row, 3),
				     .expiring = sqlite3_column_int(row, 4) != 0 };
	sqlite3_finalize(row);
	return result;
}

/* A window of which only the sums count, and what is left of it. */
static int expire(struct compaction *compaction, const struct run *run, int64_t next_port, struct error *err)
{
	int result = compact_begin(compaction, err);

	if (!result)
		result = compact_end(compaction, compact_update(compaction, UPDATE_WINDOW, run->id, next_port,
								WINDOW_SUMS_ONLY, err), err);
	return result ? result : 1;
}

static bool is_older(const struct run *run, int64_t now_us, int64_t retention_us)
{
	return retention_us > 0 && run->to_us + retention_us < now_us;
}

/* Once in a while: the file is full, and how far back its samples reach now. */
static int report_full(struct compaction *compaction, const struct writer_retention *retention, const struct run *run,
		     int64_t now_us, struct error *err)
{
	char text[256], when[WHEN_SIZE];
	sqlite3_stmt *insert;
	int result = db_prepare(compaction->db, "INSERT INTO event (sweep, wall_us, kind, severity, text)"
				" SELECT (SELECT max(id) FROM sweep), ?1, 'history-trimmed', ?2, ?3 WHERE NOT EXISTS"
				" (SELECT 1 FROM event WHERE wall_us > ?1 - ?4 AND kind = 'history-trimmed')", &insert,
				err);

	if (result < 0)
		return result;
	snprintf(text, sizeof(text), "the database is as large as it may be (%.1f GB): samples up to %s go before "
		 "their time, their sums stay; give more with --max-size", (double)retention->max_bytes / 1e9,
		 when_format_utc(run->to_us, when));
	sqlite3_bind_int64(insert, 1, now_us);
	sqlite3_bind_int(insert, 2, EVENT_INFO);
	sqlite3_bind_text(insert, 3, text, -1, SQLITE_STATIC);
	sqlite3_bind_int64(insert, 4, FULL_EVENT_US);
	result = compact_begin(compaction, err);
	if (!result)
		result = compact_end(compaction, db_run(insert, err), err);
	sqlite3_finalize(insert);
	return result;
}

/* Windows whose samples are to go. Return: as retain_step(). */
static int retain_samples(struct compaction *compaction, const struct writer_retention *retention,
			  int64_t now_us, bool full,
			  struct error *err)
{
	struct run run = { 0 };
	int result = find_run(compaction->db, "SELECT id, from_sweep, to_sweep, to_us, 0 FROM chunk_window"
			      " WHERE state = 2 AND next_port = 0 ORDER BY id LIMIT 1", &run, err);

	if (result > 0) {
		result = remove_next(compaction, samples_sql, sizeof(samples_sql) / sizeof(*samples_sql), &run, err);
		return result ? result : expire(compaction, &run, ALL_REMOVED, err);
	}
	if (!result)
		result = find_run(compaction->db, "SELECT id, from_sweep, to_sweep, to_us, 0 FROM chunk_window"
				  " WHERE state = 1 ORDER BY id LIMIT 1", &run, err);
	if (result <= 0)
		return result;
	if (is_older(&run, now_us, retention->raw_us))
		return expire(compaction, &run, 0, err);
	if (!full)
		return 0;
	result = report_full(compaction, retention, &run, now_us, err);
	return result ? result : expire(compaction, &run, 0, err);
}

/* Sums of windows without samples, once those of their hour are made; and of hours. */
static int retain_sums(struct compaction *compaction, const struct writer_retention *retention,
		       int64_t now_us, bool full,
		       struct error *err)
{
	struct run run = { 0 };
	int result = find_run(compaction->db, "SELECT id, from_sweep, to_sweep, to_us, next_port = 1 FROM chunk_window"
			      " WHERE state = 2 AND next_port <> 0 AND id < (SELECT max(to_window) FROM hour"
			      " WHERE state = 1) ORDER BY id LIMIT 1", &run, err);

	if (result > 0 && !run.expiring && (full || is_older(&run, now_us, retention->sums_us)))
		return expire(compaction, &run, WINDOW_SUMS_EXPIRING, err);
	if (result > 0 && run.expiring)
		return remove_next(compaction, sums_sql, sizeof(sums_sql) / sizeof(*sums_sql), &run, err);
	if (result < 0)
		return result;
	/* An hour goes behind all of its windows. */
	result = find_run(compaction->db, "SELECT id, from_sweep, to_sweep, to_us, 0 FROM hour WHERE state = 1 AND"
			  " to_window <= (SELECT min(id) FROM chunk_window) ORDER BY id LIMIT 1", &run, err);
	if (result > 0 && (full || is_older(&run, now_us, retention->hours_us)))
		return remove_next(compaction, hours_sql, sizeof(hours_sql) / sizeof(*hours_sql), &run, err);
	return result < 0 ? result : 0;
}

/* Pages of the file, and those of them that are free. */
static int count_pages(sqlite3 *db, int64_t *ret_pages, int64_t *ret_free, int64_t *ret_size, struct error *err)
{
	int result = db_integer(db, "PRAGMA page_count", 0, ret_pages, err);

	if (!result)
		result = db_integer(db, "PRAGMA freelist_count", 0, ret_free, err);
	return result ? result : db_integer(db, "PRAGMA page_size", 0, ret_size, err);
}

/* Bytes of the log that count: a reader that keeps it from being emptied must not cost all samples. */
static int64_t log_bytes(sqlite3 *db, const struct writer_retention *retention)
{
	int64_t bytes = admin_file_bytes(sqlite3_db_filename(db, "main"), "-wal");

	return bytes < retention->max_bytes / 4 ? bytes : retention->max_bytes / 4;
}

int retain_step(struct compaction *compaction, const struct writer_retention *retention, struct error *err)
{
	int64_t now_us = 0, pages = 0, unused = 0, size = 0;
	int result = db_integer(compaction->db, NOW, 0, &now_us, err);
	bool full;

	if (!result)
		result = count_pages(compaction->db, &pages, &unused, &size, err);
	if (result < 0)
		return result;
	full = retention->max_bytes > 0 &&
	       (pages - unused) * size + log_bytes(compaction->db, retention) > retention->max_bytes;
	result = retain_samples(compaction, retention, now_us, full, err);
	if (!result)
		result = retain_sums(compaction, retention, now_us, full, err);
	if (result || unused * size < FREE_BYTES_LEAST || unused < pages / 16)
		return result;
	result = db_exec(compaction->db, VACUUM, err);
	return result ? result : 1;
}
