/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * retain.c - removes data that exceeds the retention or the maximum size
 *
 * In steps like those of the compaction and in the same thread. A window is marked, then its samples are
 * removed, later its sums, and finally those of its hour.
 */
#include "storage/pack/compact.h"

#include <stdio.h>

#include "base/clock.h"
#include "base/err.h"
#include "base/when.h"
#include "collector/sink.h"
#include "storage/admin/admin_internal.h"
#include "storage/file/db.h"
#include "storage/file/schema.h"
#include "storage/writer.h"

/*
 * Free pages are reused before the file grows, so the file keeps its size when the oldest samples are
 * removed. Only much more than the rows of hot of one window is returned to the file system.
 */
#define FREE_BYTES_LEAST INT64_C(67108864)
#define VACUUM "PRAGMA incremental_vacuum(256)"

/* Shortest time between two events about a full file. */
#define FULL_EVENT_US (24 * 3600 * US_PER_S)

/*
 * The current time: that of the newest sweep. A clock may jump far ahead and return (a clock chip without a
 * battery, until NTP corrects it), and data that a wrong time removed is lost. So while the last 60 sweeps
 * span more than a day, it is the time of the earliest: data may stay longer than configured, never shorter.
 * A clock that stays wrong is not detected; at intervals of half an hour the time is 60 sweeps late.
 */
#define NOW \
	"SELECT CASE WHEN max(wall_us) - min(wall_us) > 86400000000 THEN min(wall_us)" \
	" ELSE (SELECT wall_us FROM sweep ORDER BY id DESC LIMIT 1) END" \
	" FROM sweep WHERE id > (SELECT max(id) FROM sweep) - 60"

/* chunk_window.next_port once all samples of the window are removed. */
#define ALL_REMOVED (-1)

/* A window or an hour. */
struct run {
	int64_t id, from_sweep, to_sweep, to_us;
	bool expiring; /* the sums of the window are being removed */
};

/*
 * Removed with the samples of a window: :id, :from its first sweep, :to the first after it, :until its end. Each
 * statement removes so many rows that other writers wait for some milliseconds, and is repeated until it finds none.
 * These stay: the readings of its last sweep, which the next window adds to; the last readings of ports that a gap
 * covers; and the row of its last sweep, for the times of the sums.
 */
#define RESTING \
	"(SELECT read_sweep, port FROM span WHERE read_sweep IS NOT NULL AND (to_sweep IS NULL OR to_sweep > :to))"
#define STILL_NAMED \
	"(SELECT read_sweep FROM span WHERE read_sweep IS NOT NULL AND (to_sweep IS NULL OR to_sweep > :to)" \
	" UNION ALL SELECT sweep FROM detail_last)"
/* Readings of slow counters, in the order of removal. */
#define READINGS \
	"(SELECT d.sweep, d.port, d.attribute FROM detail d WHERE d.sweep < :to AND NOT EXISTS (SELECT 1 FROM" \
	" detail_last l WHERE l.port = d.port AND l.attribute = d.attribute AND l.sweep = d.sweep)" \
	" ORDER BY d.sweep, d.port, d.attribute LIMIT 1024)"

/*
 * A statement, and one for the rows that depend on its rows, which goes first in the same transaction (or NULL).
 * A reading without its values would mean 0 for each; a value without its reading is damage.
 */
struct removal {
	const char *rows, *first;
};

static const struct removal samples_sql[] = {
	{ "DELETE FROM chunk WHERE id IN (SELECT id FROM chunk WHERE id >= :id * 2097152 AND id < (:id + 1) * 2097152"
	  " LIMIT 1024)", NULL },
	{ "DELETE FROM absolute WHERE (sweep, port) IN (SELECT sweep, port FROM absolute WHERE sweep < :to - 1 AND"
	  " (sweep, port) NOT IN " RESTING " LIMIT 2048)", NULL },
	{ "DELETE FROM detail WHERE (sweep, port, attribute) IN " READINGS,
	  "DELETE FROM detail_value WHERE (sweep, port, counter) IN (SELECT v.sweep, v.port, v.counter FROM "
	  READINGS " r CROSS JOIN detail_value v ON v.sweep = r.sweep AND v.port = r.port"
	  " AND v.counter >= 32 * r.attribute AND v.counter < 32 * (r.attribute + 1))" },
	/* Left over by versions that removed readings and values in two transactions. */
	{ "DELETE FROM detail_value WHERE (sweep, port, counter) IN (SELECT v.sweep, v.port, v.counter FROM"
	  " detail_value v WHERE v.sweep < :to AND NOT EXISTS (SELECT 1 FROM detail d WHERE d.sweep = v.sweep AND"
	  " d.port = v.port AND d.attribute = v.counter / 32) LIMIT 2048)", NULL },
	/* Texts of findings: one an hour, complete rows, and the newest of each finding stay. */
	{ "DELETE FROM finding_state WHERE (finding, from_sweep) IN (SELECT s.finding, s.from_sweep FROM finding f"
	  " CROSS JOIN finding_state s ON s.finding = f.id AND s.from_sweep >= :from AND s.from_sweep < :to"
	  " WHERE f.opened_sweep < :to AND (f.closed_sweep IS NULL OR f.closed_sweep >= :from)"
	  " AND s.state_sweep IS NOT NULL AND s.wall_us / 3600000000 = (SELECT e.wall_us / 3600000000"
	  " FROM finding_state e WHERE e.finding = s.finding AND e.from_sweep < s.from_sweep"
	  " ORDER BY e.from_sweep DESC LIMIT 1) AND EXISTS (SELECT 1 FROM finding_state n"
	  " WHERE n.finding = s.finding AND n.from_sweep > s.from_sweep) LIMIT 1024)", NULL },
	{ "DELETE FROM sweep WHERE id >= :from AND id < :to - 1 AND id NOT IN " STILL_NAMED, NULL },
};

/* Removed with its sums; the row of sweep of the last window of an hour stays. */
static const struct removal sums_sql[] = {
	{ "DELETE FROM chunk_sum WHERE (window, port) IN (SELECT window, port FROM chunk_sum WHERE window = :id"
	  " LIMIT 2048)", NULL },
	{ "DELETE FROM chunk_error WHERE (window, port, counter) IN (SELECT window, port, counter FROM chunk_error"
	  " WHERE window = :id LIMIT 2048)", NULL },
	{ "DELETE FROM error WHERE (sweep, port, counter) IN (SELECT sweep, port, counter FROM error WHERE sweep < :to"
	  " LIMIT 2048)", NULL },
	{ "DELETE FROM span WHERE (from_sweep, port) IN (SELECT from_sweep, port FROM span WHERE to_sweep <= :to"
	  " LIMIT 2048)", NULL },
	{ "DELETE FROM route_version WHERE (from_sweep, node, block) IN (SELECT from_sweep, node, block FROM"
	  " route_version WHERE to_sweep <= :to LIMIT 2048)", NULL },
	{ "DELETE FROM pkey_version WHERE (from_sweep, port) IN (SELECT from_sweep, port FROM pkey_version"
	  " WHERE to_sweep <= :to LIMIT 2048)", NULL },
	{ "DELETE FROM sweep WHERE id >= :from AND id < :to AND NOT EXISTS (SELECT 1 FROM hour h WHERE"
	  " h.to_sweep = sweep.id + 1) AND id NOT IN " STILL_NAMED, NULL },
	{ "DELETE FROM chunk_window WHERE id = :id", NULL },
};

static const struct removal hours_sql[] = {
	{ "DELETE FROM job_rhythm WHERE (job, wall_us) IN (SELECT job, wall_us FROM job_rhythm WHERE wall_us < :until"
	  " LIMIT 2048)", NULL },
	{ "DELETE FROM hour_sum WHERE (hour, port) IN (SELECT hour, port FROM hour_sum WHERE hour = :id"
	  " LIMIT 2048)", NULL },
	{ "DELETE FROM hour_error WHERE (hour, port, counter) IN (SELECT hour, port, counter FROM hour_error"
	  " WHERE hour = :id LIMIT 2048)", NULL },
	{ "DELETE FROM sweep WHERE id >= :from AND id < :to AND id NOT IN " STILL_NAMED, NULL },
	{ "DELETE FROM hour WHERE id = :id", NULL },
};

/* Run a statement inside a transaction. Return: the number of removed rows, or an error. */
static int64_t remove_rows(struct compaction *compaction, const char *sql, const struct run *run, struct error *err)
{
	const struct { const char *name; int64_t value; } parameters[] = {
		{ ":id", run->id }, { ":from", run->from_sweep }, { ":to", run->to_sweep }, { ":until", run->to_us },
	};
	sqlite3_stmt *remove;
	int result = db_prepare(compaction->db, sql, &remove, err);

	if (result < 0)
		return result;
	for (size_t i = 0; i < sizeof(parameters) / sizeof(*parameters); i++) {
		int at = sqlite3_bind_parameter_index(remove, parameters[i].name);

		if (at)
			sqlite3_bind_int64(remove, at, parameters[i].value);
	}
	result = db_run(remove, err);
	sqlite3_finalize(remove);
	return result < 0 ? result : sqlite3_changes(compaction->db);
}

/* Remove some rows and their dependent rows in one transaction. Return: the number of rows, or an error. */
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

/* Run the first statement that finds rows. Return: 1, 0 if none does, or an error. */
static int remove_next(struct compaction *compaction, const struct removal *removals, size_t count,
		       const struct run *run, struct error *err)
{
	int64_t removed = 0;

	for (size_t i = 0; !removed && i < count; i++)
		removed = remove_some(compaction, &removals[i], run, err);
	return removed < 0 ? (int)removed : removed > 0;
}

/* The first row of a query of runs. Return: 1, 0 without one, or an error. */
static int find_run(sqlite3 *db, const char *sql, struct run *ret, struct error *err)
{
	int64_t row[5];
	int result = db_row(db, sql, NULL, 0, row, 5, err);

	if (result > 0)
		*ret = (struct run){ row[0], row[1], row[2], row[3], row[4] != 0 };
	return result;
}

/* Mark a window whose samples no longer count. Return: 1 or an error. */
static int expire(struct compaction *compaction, const struct run *run, int64_t next_port, struct error *err)
{
	int result = compact_begin(compaction, err);

	if (!result)
		result = compact_end(compaction, compact_update_window(compaction, run->id, next_port,
								       WINDOW_SUMS_ONLY, err), err);
	return result ? result : 1;
}

static bool is_older(const struct run *run, int64_t now_us, int64_t retention_us)
{
	return retention_us > 0 && run->to_us + retention_us < now_us;
}

/* Report, at most once a day, that the file is full, and the age of its samples. */
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
	snprintf(text, sizeof(text), "the database has its maximum size (%.1f GB): samples up to %s are removed before "
		 "the end of their retention, their sums stay; raise --max-size", (double)retention->max_bytes / 1e9,
		 when_format_utc(run->to_us, when));
	DB_BIND(insert, 1, now_us, EVENT_INFO);
	sqlite3_bind_text(insert, 3, text, -1, SQLITE_STATIC);
	sqlite3_bind_int64(insert, 4, FULL_EVENT_US);
	result = compact_begin(compaction, err);
	if (!result)
		result = compact_end(compaction, db_run(insert, err), err);
	sqlite3_finalize(insert);
	return result;
}

/* Remove samples. Return: as retain_step(). */
static int retain_samples(struct compaction *compaction, const struct writer_retention *retention,
			  int64_t now_us, bool full, struct error *err)
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

/*
 * Remove sums of windows without samples, once the sums of their hour are complete; then those of hours. The windows of
 * an hour are removed together: a range that ends within an hour of which only some remain would lack all of it.
 */
static int retain_sums(struct compaction *compaction, const struct writer_retention *retention,
		       int64_t now_us, bool full, struct error *err)
{
	struct run run = { 0 };
	/* to_us: of the hour; 0: windows of it were removed already. */
	int result = find_run(compaction->db, "SELECT w.id, w.from_sweep, w.to_sweep,"
			      " (w.id = h.from_window) * h.to_us, w.next_port = 1 FROM chunk_window w JOIN hour h"
			      " ON h.from_window <= w.id AND h.to_window > w.id AND h.state = 1"
			      " WHERE w.state = 2 AND w.next_port <> 0 AND NOT EXISTS (SELECT 1 FROM chunk_window s"
			      " WHERE s.id >= w.id AND s.id < h.to_window AND (s.state <> 2 OR s.next_port = 0))"
			      " ORDER BY w.id LIMIT 1", &run, err);

	if (result > 0 && !run.expiring && (full || !run.to_us || is_older(&run, now_us, retention->sums_us)))
		return expire(compaction, &run, WINDOW_SUMS_EXPIRING, err);
	if (result > 0 && run.expiring)
		return remove_next(compaction, sums_sql, sizeof(sums_sql) / sizeof(*sums_sql), &run, err);
	if (result < 0)
		return result;
	/* An hour is removed after all of its windows. */
	result = find_run(compaction->db, "SELECT id, from_sweep, to_sweep, to_us, 0 FROM hour WHERE state = 1 AND"
			  " to_window <= (SELECT min(id) FROM chunk_window) ORDER BY id LIMIT 1", &run, err);
	if (result > 0 && (full || is_older(&run, now_us, retention->hours_us)))
		return remove_next(compaction, hours_sql, sizeof(hours_sql) / sizeof(*hours_sql), &run, err);
	return result < 0 ? result : 0;
}

/*
 * Jobs that ended before the retention, and those beyond the maximum number. Their snapshots become
 * incomplete, and the next one that is taken removes their rows.
 */
#define JOBS \
	"(SELECT number FROM job WHERE begin_us < :from AND end_us < :from UNION SELECT number FROM job WHERE" \
	" number <= (SELECT max(number) FROM job) - :to ORDER BY number LIMIT 256)"

static int retain_jobs(struct compaction *compaction, const struct writer_retention *retention, int64_t now_us,
		       struct error *err)
{
	/* The rhythms of a job go first: of long ones they are more than one transaction removes. */
	static const struct removal jobs[] = { {
		"DELETE FROM job_rhythm WHERE (job, wall_us) IN (SELECT job, wall_us FROM job_rhythm WHERE job IN "
		JOBS " LIMIT 2048)", NULL,
	}, {
		"DELETE FROM job_detected WHERE job IN " JOBS, NULL,
	}, {
		"DELETE FROM job WHERE number IN " JOBS,
		"UPDATE snapshot SET complete = 0 WHERE complete AND name IN (SELECT 'job-' || number || '-begin' FROM "
		JOBS " UNION ALL SELECT 'job-' || number || '-end' FROM " JOBS ")",
	} };
	const struct run run = { .from_sweep = retention->jobs_us > 0 ? now_us - retention->jobs_us : 0,
				 .to_sweep = WRITER_JOBS_MOST };
	const int64_t limits[] = { run.from_sweep, run.to_sweep };
	int64_t found;
	/* Without a transaction, since there is rarely one. */
	int result = db_row(compaction->db, "SELECT EXISTS (SELECT 1 FROM job WHERE begin_us < ?1 AND end_us < ?1)"
			    " OR (SELECT min(number) <= max(number) - ?2 FROM job)", limits, 2, &found, 1, err);

	if (result < 0 || !found)
		return result < 0 ? result : 0;
	return remove_next(compaction, jobs, sizeof(jobs) / sizeof(*jobs), &run, err);
}

/* The part of the log that counts: a reader that blocks checkpoints must not cost all samples. */
static int64_t log_bytes(sqlite3 *db, const struct writer_retention *retention)
{
	int64_t file, bytes = 0; /* if it is unknown */

	admin_file_bytes(sqlite3_db_filename(db, "main"), &file, &bytes, NULL);
	return bytes < retention->max_bytes / 4 ? bytes : retention->max_bytes / 4;
}

int retain_step(struct compaction *compaction, const struct writer_retention *retention, struct error *err)
{
	enum { TIME, PAGES, UNUSED, SIZE, COUNT };
	int64_t row[COUNT], now_us, unused;
	int result = db_row(compaction->db, "SELECT (" NOW "), page_count, freelist_count, page_size FROM"
			    " pragma_page_count, pragma_freelist_count, pragma_page_size", NULL, 0, row, COUNT, err);
	bool full;

	if (result < 0)
		return result;
	now_us = row[TIME];
	unused = row[UNUSED] * row[SIZE];
	full = retention->max_bytes > 0 && row[PAGES] * row[SIZE] - unused + log_bytes(compaction->db, retention) >
	       retention->max_bytes;
	result = retain_samples(compaction, retention, now_us, full, err);
	if (!result)
		result = retain_sums(compaction, retention, now_us, full, err);
	if (!result && now_us > 0)
		result = retain_jobs(compaction, retention, now_us, err);
	if (result || unused < FREE_BYTES_LEAST || row[UNUSED] < row[PAGES] / 16)
		return result;
	result = db_exec(compaction->db, VACUUM, err);
	return result ? result : 1;
}
