/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
#include "storage/jobs.h"

#include <inttypes.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/array.h"
#include "base/clock.h"
#include "base/err.h"
#include "base/text.h"
#include "storage/file/db.h"
#include "storage/read/reader_internal.h"
#include "storage/saved/saved_internal.h"

#define SNAPSHOT_OF(end) \
	"(SELECT s.id FROM snapshot s WHERE s.complete AND s.name = 'job-' || j.number || '-" end "')"
/* Of a row of job_rhythm, as read_minute() reads them. */
#define MINUTE_COLUMNS(r) \
	r ".job, " r ".wall_us, " r ".kind, " r ".period_s, " r ".spread_s, " r ".periods, " r ".wire_share, " \
	r ".bytes_per_s, " r ".shortest_s, " r ".phase, " r ".since_us, " r ".slower, " r ".before_s"
/* As read_job() reads them. */
#define JOB_COLUMNS \
	"j.number, id, name, hosts, command, begin_us, begin_boot_us, begin_boot_id, begin_sweep, end_us," \
	" end_boot_us, end_boot_id, end_sweep, ending, ended_by, exit_status, suspended_since_us, suspended_us," \
	" cluster, user, account, partition, " SNAPSHOT_OF("begin") ", " SNAPSHOT_OF("end") ", " JOB_DISPLAY_ID \
	", (SELECT confidence FROM job_detected d WHERE d.job = j.number), " MINUTE_COLUMNS("r")
enum { FIRST_LABEL = 18, FIRST_OF_MINUTE = FIRST_LABEL + JOB_LABELS + 4 };

/* Jobs with their newest row of job_rhythm until ?9, which is NULL if it is not bound: the newest of all. */
#define JOB_FROM \
	" FROM job j LEFT JOIN job_rhythm r ON r.job = j.number AND r.wall_us = (SELECT max(m.wall_us) FROM" \
	" job_rhythm m WHERE m.job = j.number AND m.wall_us <= ifnull(?9, 9223372036854775807))"
enum { MINUTE_UNTIL = 9 };

#define NEWEST_SWEEP "(SELECT max(id) FROM sweep)"
/* The sum of its suspensions, if it is resumed or ends at @time. */
#define SUSPENDED_UNTIL(time) \
	"CASE WHEN suspended_since_us < " time " THEN ifnull(suspended_us, 0) + " time " - suspended_since_us" \
	" ELSE suspended_us END"

void job_done(struct job *job)
{
	free(job->hosts);
	free(job->command);
	job->hosts = job->command = NULL;
}

const char *job_ending_name(enum job_ending ending)
{
	static const char *const names[JOB_ENDING_COUNT] = {
		[JOB_RUNNING] = "running", [JOB_ENDED] = "ended", [JOB_REPLACED] = "replaced",
		[JOB_EXPIRED] = "expired", [JOB_SUSPENDED] = "suspended",
	};

	return names[ending];
}

const char *job_label_name(enum job_label label)
{
	static const char *const names[JOB_LABELS] = {
		[JOB_CLUSTER] = "cluster", [JOB_USER] = "user", [JOB_ACCOUNT] = "account",
		[JOB_PARTITION] = "partition",
	};

	return names[label];
}

int64_t job_duration_us(const struct job *job, const struct job *now)
{
	const struct job *end = job->end_us ? job : now;
	bool one_boot = *job->begin_boot_id && !strcmp(job->begin_boot_id, end->end_boot_id);
	int64_t us = one_boot ? end->end_boot_us - job->begin_boot_us : end->end_us - job->begin_us;

	return us > 0 ? us : 0;
}

int64_t job_suspended_us(const struct job *job, const struct job *now)
{
	int64_t us = job->suspended_since_us ? now->end_us - job->suspended_since_us : 0;

	return job->suspended_us + (us > 0 ? us : 0);
}

const char *job_snapshot_name(int64_t number, bool end, char ret[JOB_SNAPSHOT_NAME_SIZE])
{
	snprintf(ret, JOB_SNAPSHOT_NAME_SIZE, "job-%" PRId64 "-%s", number, end ? "end" : "begin");
	return ret;
}

/* --- rows --- */

/* A text of any length, escaped as saved_copy_text() does. Return: NULL if memory is exhausted. */
static char *duplicate_text(sqlite3_stmt *row, int column)
{
	size_t size = 4 * (size_t)sqlite3_column_bytes(row, column) + 1;
	char *text = malloc(size);

	if (text)
		saved_copy_text(text, size, row, column);
	return text;
}

/* The columns of MINUTE_COLUMNS from @at on. */
static struct job_minute read_minute(sqlite3_stmt *row, int at)
{
	return (struct job_minute){
		.job = sqlite3_column_int64(row, at), .wall_us = db_us(row, at + 1),
		.rhythm = {
			.kind = (enum rhythm_kind)db_choice(row, at + 2, RHYTHM_KINDS - 1),
			.period_s = db_real(row, at + 3), .spread_s = db_real(row, at + 4),
			.periods = (unsigned)db_choice(row, at + 5, INT_MAX), .wire_share = db_real(row, at + 6),
			.bytes_per_s = db_real(row, at + 7), .shortest_s = db_real(row, at + 8),
		},
		.phase = (enum job_phase)db_choice(row, at + 9, JOB_PHASES - 1), .since_us = db_us(row, at + 10),
		.slower = db_real(row, at + 11), .before_s = db_real(row, at + 12),
	};
}

/* The columns of JOB_COLUMNS. @ret: for job_done(), on error too. */
static int read_job(sqlite3_stmt *row, struct job *ret, struct error *err)
{
	*ret = (struct job){
		.number = sqlite3_column_int64(row, 0),
		.hosts = duplicate_text(row, 3),
		.command = duplicate_text(row, 4),
		.begin_us = db_us(row, 5),
		.begin_boot_us = db_us(row, 6),
		.begin_sweep = sqlite3_column_int64(row, 8),
		.end_us = db_us(row, 9),
		.end_boot_us = db_us(row, 10),
		.end_sweep = sqlite3_column_int64(row, 12),
		.ending = (enum job_ending)db_choice(row, 13, JOB_ENDING_COUNT - 1),
		.exit_status = sqlite3_column_type(row, 15) != SQLITE_NULL ? db_choice(row, 15, 255) : -1,
		.suspended_since_us = db_us(row, 16),
		.suspended_us = db_us(row, 17),
		.begin_snapshot = sqlite3_column_int64(row, FIRST_LABEL + JOB_LABELS),
		.end_snapshot = sqlite3_column_int64(row, FIRST_LABEL + JOB_LABELS + 1),
		.minute = read_minute(row, FIRST_OF_MINUTE),
		.confidence = db_real(row, FIRST_LABEL + JOB_LABELS + 3),
	};
	saved_copy_text(ret->id, sizeof(ret->id), row, 1);
	saved_copy_text(ret->name, sizeof(ret->name), row, 2);
	saved_copy_text(ret->display_id, sizeof(ret->display_id), row, FIRST_LABEL + JOB_LABELS + 2);
	saved_copy_text(ret->begin_boot_id, sizeof(ret->begin_boot_id), row, 7);
	saved_copy_text(ret->end_boot_id, sizeof(ret->end_boot_id), row, 11);
	saved_copy_text(ret->ended_by, sizeof(ret->ended_by), row, 14);
	for (int i = 0; i < JOB_LABELS; i++)
		saved_copy_text(ret->labels[i], sizeof(ret->labels[i]), row, FIRST_LABEL + i);
	return ret->hosts && ret->command ? 0 : err_nomem(err);
}

#define IN_WINDOW "begin_us <= ?2 AND ifnull(end_us, ?1) >= ?1"

/* Did a job before the newest @query->most run in the window? */
static int has_older(sqlite3 *db, const struct job_query *query, int64_t until_us, bool *ret, struct error *err)
{
	const int64_t parameters[] = { query->since_us, until_us, (int64_t)query->most };
	int64_t number;
	int result = db_row(db, "SELECT number FROM job WHERE " IN_WINDOW " ORDER BY begin_us DESC LIMIT 1 OFFSET ?3",
			    parameters, 3, &number, 1, err);

	*ret = result > 0;
	return result < 0 ? result : 0;
}

int jobs_list(struct reader *reader, const struct job_query *query, bool *ret_older, job_fn *each, void *ctx,
	      struct error *err)
{
	int64_t until_us = query->until_us ? query->until_us : INT64_MAX;
	sqlite3_stmt *rows = NULL;
	bool more = true;
	int result = reader_begin(reader, err);

	if (result < 0)
		return result;
	if (ret_older)
		*ret_older = false;
	if (ret_older && query->most)
		result = has_older(reader->db, query, until_us, ret_older, err);
	if (result == 0)
		result = db_prepare(reader->db, "SELECT " JOB_COLUMNS JOB_FROM " WHERE number IN (SELECT * FROM (SELECT"
				    " number FROM job WHERE " IN_WINDOW " ORDER BY begin_us DESC LIMIT ?3) UNION SELECT"
				    " number FROM job WHERE end_us IS NULL AND begin_us <= ?2) ORDER BY number", &rows,
				    err);
	if (result == 0) {
		DB_BIND(rows, 1, query->since_us, until_us, query->most ? (int64_t)query->most : INT64_C(-1));
		db_bind_nonzero(rows, MINUTE_UNTIL, (uint64_t)query->at_us);
	}
	while (result >= 0 && more && (result = db_step(rows, err)) > 0) {
		struct job job;

		result = read_job(rows, &job, err);
		if (!result)
			more = each(ctx, &job);
		job_done(&job);
	}
	sqlite3_finalize(rows);
	reader_end(reader);
	return result < 0 ? result : 0;
}

static void bind_text(sqlite3_stmt *statement, int at, const char *text)
{
	if (*text)
		sqlite3_bind_text(statement, at, text, -1, SQLITE_STATIC);
	else
		sqlite3_bind_null(statement, at);
}

/* The number of the newest job with an id, as jobs_find() finds it. Return: 1, 0, or an error. */
static int find_number(sqlite3 *db, const char *cluster, const char *id, int64_t *ret, struct error *err)
{
	char least[JOB_TEXT_SIZE], most[JOB_TEXT_SIZE];
	sqlite3_stmt *find;
	int result;

	if (cluster)
		result = db_prepare(db, "SELECT number FROM job WHERE id = ?1 AND (cluster = ?2 OR cluster IS NULL)"
				    " ORDER BY cluster IS NULL, number DESC LIMIT 1", &find, err);
	else
		/* HAVING without GROUP BY needs SQLite 3.39. */
		result = db_prepare(db, "SELECT max(number), min(cluster), max(cluster) FROM job WHERE id = ?1"
				    " GROUP BY id", &find, err);
	if (result < 0)
		return result;
	sqlite3_bind_text(find, 1, id, -1, SQLITE_STATIC);
	if (cluster)
		bind_text(find, 2, cluster);
	result = db_step(find, err);
	if (result > 0)
		*ret = sqlite3_column_int64(find, 0);
	if (result > 0 && !cluster) {
		saved_copy_text(least, sizeof(least), find, 1);
		saved_copy_text(most, sizeof(most), find, 2);
		if (strcmp(least, most) != 0)
			result = err_set(err, ERR_USAGE, "the clusters %.100s and %.100s both have a job %.100s; give"
					 " --cluster", least, most, id);
	}
	sqlite3_finalize(find);
	return result;
}

/* Read a job, and end the transaction. @result: 0 or an error: there is none. Return: as jobs_find() */
static int get_job(struct reader *reader, int result, int64_t number, struct job *ret, struct error *err)
{
	struct job job = { 0 };
	sqlite3_stmt *row = NULL;
	bool found = false;

	if (result > 0)
		result = db_prepare(reader->db, "SELECT " JOB_COLUMNS JOB_FROM " WHERE number = ?1", &row, err);
	if (row) {
		DB_BIND(row, 1, number);
		result = db_step(row, err);
	}
	found = result > 0;
	if (found)
		result = read_job(row, &job, err);
	sqlite3_finalize(row);
	reader_end(reader);
	if (result < 0)
		job_done(&job);
	else if (found)
		*ret = job;
	return result < 0 ? result : found;
}

int jobs_minutes(struct reader *reader, int64_t number, int64_t since_us, int64_t until_us, job_minute_fn *each,
		 void *ctx, struct error *err)
{
	sqlite3_stmt *rows = NULL;
	bool more = true;
	int result = reader_begin(reader, err);

	if (result < 0)
		return result;
	result = db_prepare(reader->db, "SELECT " MINUTE_COLUMNS("r") " FROM job_rhythm r WHERE job = ?1 AND"
			    " wall_us BETWEEN ?2 AND ?3 ORDER BY wall_us", &rows, err);
	if (result == 0)
		DB_BIND(rows, 1, number, since_us, until_us);
	while (result >= 0 && more && (result = db_step(rows, err)) > 0) {
		const struct job_minute minute = read_minute(rows, 0);

		more = each(ctx, &minute);
	}
	sqlite3_finalize(rows);
	reader_end(reader);
	return result < 0 ? result : 0;
}

int jobs_find(struct reader *reader, const char *cluster, const char *id, struct job *ret, struct error *err)
{
	int64_t number = 0;
	int result = reader_begin(reader, err);

	if (result < 0)
		return result;
	result = find_number(reader->db, cluster, id, &number, err);
	return get_job(reader, result, number, ret, err);
}

int jobs_get(struct reader *reader, int64_t number, struct job *ret, struct error *err)
{
	int result = reader_begin(reader, err);

	return result < 0 ? result : get_job(reader, 1, number, ret, err);
}

/* --- writing --- */

struct running {
	struct job *jobs;
	size_t count, capacity;
};

static void free_running(struct running *running)
{
	for (size_t i = 0; i < running->count; i++)
		job_done(&running->jobs[i]);
	free(running->jobs);
}

/* All are loaded before the first is closed: a query does not iterate over rows that change. */
static int load_running(struct saved_writer *writer, struct running *ret, struct error *err)
{
	sqlite3_stmt *rows;
	int result = db_prepare(writer->db, "SELECT " JOB_COLUMNS JOB_FROM " WHERE end_us IS NULL"
				" ORDER BY number", &rows, err);

	while (result >= 0 && (result = db_step(rows, err)) > 0) {
		struct job *grown = array_grow(ret->jobs, ret->count, &ret->capacity, sizeof(*grown));

		if (!grown) {
			result = err_nomem(err);
			break;
		}
		ret->jobs = grown;
		result = read_job(rows, &grown[ret->count++], err);
	}
	sqlite3_finalize(rows);
	return result;
}

/* @moment: a job whose end is this moment. Those that the collector found are ended by it. */
static bool has_expired(const struct job *job, const struct job *moment, const struct job_rules *rules)
{
	return rules->expire_us && !job_is_detected(job) && job_duration_us(job, moment) > rules->expire_us;
}

/* Store the end of a job: its end, ending, ended_by and exit_status. */
static int store_end(struct saved_writer *writer, const struct job *job, struct error *err)
{
	sqlite3_stmt *update;
	int result = db_prepare(writer->db, "UPDATE job SET end_us = ?1, end_boot_us = ?2, end_boot_id = ?3,"
				" end_sweep = " NEWEST_SWEEP ", ending = ?4, ended_by = ?5, exit_status = ?6,"
				" suspended_us = " SUSPENDED_UNTIL("?1") ", suspended_since_us = NULL"
				" WHERE number = ?7", &update, err);

	if (result < 0)
		return result;
	DB_BIND(update, 1, job->end_us, job->end_boot_us);
	sqlite3_bind_text(update, 3, job->end_boot_id, -1, SQLITE_STATIC);
	sqlite3_bind_int(update, 4, (int)job->ending);
	bind_text(update, 5, job->ended_by);
	if (job->exit_status >= 0)
		sqlite3_bind_int(update, 6, job->exit_status);
	sqlite3_bind_int64(update, 7, job->number);
	result = db_run(update, err);
	sqlite3_finalize(update);
	return result;
}

/* Close the running jobs that a new one closes. @moment: as of has_expired() */
static int close_running(struct saved_writer *writer, const struct job *began, const struct job *moment,
			 struct running *running, const struct job_rules *rules, struct error *err)
{
	int result = 0;

	for (size_t i = 0; !result && i < running->count; i++) {
		struct job *job = &running->jobs[i];

		if (has_expired(job, moment, rules))
			job->ending = JOB_EXPIRED;
		else if (job->ending == JOB_RUNNING && rules->overlaps && rules->overlaps(rules->ctx, job))
			job->ending = JOB_REPLACED;
		else
			continue;
		if (job->ending == JOB_REPLACED)
			memcpy(job->ended_by, began->id, sizeof(job->ended_by));
		job->end_us = moment->end_us;
		job->end_boot_us = moment->end_boot_us;
		memcpy(job->end_boot_id, moment->end_boot_id, sizeof(job->end_boot_id));
		result = store_end(writer, job, err);
	}
	return result;
}

/* A command that is too long ends with "...", after a whole character. */
static void copy_command(char ret[JOB_COMMAND_MOST + 1], const char *command)
{
	bool is_long = strnlen(command, JOB_COMMAND_MOST + 1) > JOB_COMMAND_MOST;
	size_t len = text_cut_bytes(command, is_long ? JOB_COMMAND_MOST - 3 : JOB_COMMAND_MOST);

	snprintf(ret, JOB_COMMAND_MOST + 1, "%.*s%s", (int)len, command, is_long ? "..." : "");
}

static int insert_job(struct saved_writer *writer, struct job *job, struct error *err)
{
	sqlite3_stmt *insert;
	int result = db_prepare(writer->db, "INSERT INTO job (id, name, hosts, command, begin_us, begin_boot_us,"
				" begin_boot_id, begin_sweep, ending, cluster, user, account, partition)"
				" VALUES (?, ?, ?, ?, ?, ?, ?, " NEWEST_SWEEP ", 0, ?, ?, ?, ?)", &insert, err);
	const char *const texts[] = { job->id, job->name, job->hosts };
	char command[JOB_COMMAND_MOST + 1];

	if (result < 0)
		return result;
	for (int i = 0; i < 3; i++)
		sqlite3_bind_text(insert, 1 + i, texts[i] ? texts[i] : "", -1, SQLITE_STATIC);
	copy_command(command, job->command ? job->command : "");
	sqlite3_bind_text(insert, 4, command, -1, SQLITE_STATIC);
	DB_BIND(insert, 5, job->begin_us, job->begin_boot_us);
	sqlite3_bind_text(insert, 7, job->begin_boot_id, -1, SQLITE_STATIC);
	for (int i = 0; i < JOB_LABELS; i++)
		bind_text(insert, 8 + i, job->labels[i]);
	result = db_run(insert, err);
	sqlite3_finalize(insert);
	job->number = sqlite3_last_insert_rowid(writer->db);
	if (result < 0 || *job->id)
		return result;
	snprintf(job->id, sizeof(job->id), "run-%" PRId64, job->number);
	return db_execf(writer->db, err, "UPDATE job SET id = %Q WHERE number = %lld", job->id,
			(long long)job->number);
}

static int read_display_id(struct saved_writer *writer, struct job *job, struct error *err)
{
	sqlite3_stmt *find;
	int result = db_prepare(writer->db, "SELECT " JOB_DISPLAY_ID " FROM job j WHERE number = ?", &find, err);

	if (result < 0)
		return result;
	sqlite3_bind_int64(find, 1, job->number);
	result = db_step(find, err);
	if (result > 0)
		saved_copy_text(job->display_id, sizeof(job->display_id), find, 0);
	sqlite3_finalize(find);
	return result < 0 ? result : 0;
}

int jobs_begin(struct saved_writer *writer, struct job *job, const struct job_rules *rules, struct error *err)
{
	struct running running = { 0 };
	struct job moment = { .end_us = job->begin_us, .end_boot_us = job->begin_boot_us };
	int result = saved_begin_step(writer, err);

	if (result < 0)
		return result;
	memcpy(moment.end_boot_id, job->begin_boot_id, sizeof(moment.end_boot_id));
	result = load_running(writer, &running, err);
	for (size_t i = 0; !result && i < running.count; i++)
		if (!strcmp(running.jobs[i].id, job->id) &&
		    !strcmp(running.jobs[i].labels[JOB_CLUSTER], job->labels[JOB_CLUSTER]) &&
		    !has_expired(&running.jobs[i], &moment, rules)) {
			job->number = running.jobs[i].number;
			job->begin_us = running.jobs[i].begin_us;
			memcpy(job->display_id, running.jobs[i].display_id, sizeof(job->display_id));
			result = 1;
		}
	if (!result)
		result = close_running(writer, job, &moment, &running, rules, err);
	if (!result)
		result = insert_job(writer, job, err);
	if (!result)
		result = read_display_id(writer, job, err);
	result = saved_end_step(writer, result, err);
	for (size_t i = 0; !result && rules->closed && i < running.count; i++)
		if (running.jobs[i].end_us)
			rules->closed(rules->ctx, &running.jobs[i]);
	free_running(&running);
	return result;
}

/* The newest job with an id. Return: 1; ERR_USAGE if there is none; or as find_number(). */
static int require(struct saved_writer *writer, const char *cluster, const char *id, int64_t *ret_number,
		   struct error *err)
{
	int result = find_number(writer->db, cluster, id, ret_number, err);

	return result ? result : err_set(err, ERR_USAGE, "no job '%s' began; see: ibwire job list", id);
}

/* Return: 0, or 1 if it had ended. */
static int end_in_step(struct saved_writer *writer, const char *cluster, struct job *job, struct error *err)
{
	int64_t stored[2]; /* ending, whether the exit status is unknown */
	int result = require(writer, cluster, job->id, &job->number, err);

	if (result > 0)
		result = db_row(writer->db, "SELECT ending, exit_status IS NULL FROM job WHERE number = ?1",
				&job->number, 1, stored, 2, err);
	if (result < 0)
		return result;
	job->ending = (enum job_ending)stored[0];
	if (job->ending != JOB_ENDED) {
		job->ending = JOB_ENDED;
		job->ended_by[0] = '\0';
		return store_end(writer, job, err);
	}
	if (stored[1] && job->exit_status >= 0)
		result = db_execf(writer->db, err, "UPDATE job SET exit_status = %d WHERE number = %lld",
				  job->exit_status, (long long)job->number);
	return result < 0 ? result : 1;
}

int jobs_end(struct saved_writer *writer, const char *cluster, struct job *job, struct error *err)
{
	int result = saved_begin_step(writer, err);

	return result < 0 ? result : saved_end_step(writer, end_in_step(writer, cluster, job, err), err);
}

static int suspend_in_step(struct saved_writer *writer, const char *cluster, const char *id, bool suspended,
			   int64_t wall_us, struct error *err)
{
	int64_t number, ending = JOB_RUNNING;
	int result = require(writer, cluster, id, &number, err);

	if (result > 0)
		result = db_row(writer->db, "SELECT ending FROM job WHERE number = ?1", &number, 1, &ending, 1, err);
	if (result < 0)
		return result;
	if (ending != JOB_RUNNING && ending != JOB_SUSPENDED)
		return err_set(err, ERR_USAGE, "job '%s' has ended", id);
	if ((ending == JOB_SUSPENDED) == suspended)
		return 1;
	if (suspended)
		return db_execf(writer->db, err, "UPDATE job SET ending = %d, suspended_since_us = %lld"
				" WHERE number = %lld", JOB_SUSPENDED, (long long)wall_us, (long long)number);
	return db_execf(writer->db, err, "UPDATE job SET ending = %d, suspended_since_us = NULL,"
			" suspended_us = " SUSPENDED_UNTIL("%lld") " WHERE number = %lld", JOB_RUNNING,
			(long long)wall_us, (long long)wall_us, (long long)number);
}

int jobs_suspend(struct saved_writer *writer, const char *cluster, const char *id, bool suspended, int64_t wall_us,
		 struct error *err)
{
	int result = saved_begin_step(writer, err);

	return result < 0 ? result : saved_end_step(writer, suspend_in_step(writer, cluster, id, suspended, wall_us,
									    err), err);
}

/* --- import --- */

/* Jobs of an import in one step: about 5 ms. */
enum { IMPORT_JOBS = 64 };

/* A begin is recorded after the batch system has begun the job; clocks may differ by this time. */
#define BEGIN_SLACK_US (60 * US_PER_S)

/* The stored run of an imported job, for job_done(). Return: 1, 0, or an error. */
static int find_run(struct saved_writer *writer, const struct job *job, struct job *ret, struct error *err)
{
	sqlite3_stmt *find;
	int result = db_prepare(writer->db, "SELECT " JOB_COLUMNS JOB_FROM " WHERE id = ?1 AND (cluster IS ?2 OR"
				" cluster IS NULL) AND begin_us BETWEEN ?3 AND ?4 ORDER BY abs(begin_us - ?5), number"
				" LIMIT 1", &find, err);

	if (result < 0)
		return result;
	sqlite3_bind_text(find, 1, job->id, -1, SQLITE_STATIC);
	bind_text(find, 2, job->labels[JOB_CLUSTER]);
	DB_BIND(find, 3, job->begin_us - BEGIN_SLACK_US, (job->end_us ? job->end_us + BEGIN_SLACK_US : INT64_MAX),
		job->begin_us);
	result = db_step(find, err);
	if (result > 0)
		result = read_job(find, ret, err) < 0 ? ERR_NOMEM : 1;
	sqlite3_finalize(find);
	return result;
}

/* Fill a text that is unknown. Return: whether it changed. */
static bool fill_text(char *stored, size_t size, const char *imported)
{
	if (*stored || !*imported)
		return false;
	snprintf(stored, size, "%s", imported);
	return true;
}

/* Return: whether the stored job changed. */
static bool merge(struct job *stored, const struct job *job, int64_t wall_us)
{
	bool changed = fill_text(stored->name, sizeof(stored->name), job->name);
	int64_t until_us = job->end_us ? job->end_us : wall_us;

	for (int i = 0; i < JOB_LABELS; i++)
		changed |= fill_text(stored->labels[i], sizeof(stored->labels[i]), job->labels[i]);
	if (stored->exit_status < 0 && job->exit_status >= 0) {
		stored->exit_status = job->exit_status;
		changed = true;
	}
	/* A job that has ended, or is not known to have ended in the accounting, which may be old. */
	if (stored->ending == JOB_ENDED || (stored->end_us && !job->end_us) || stored->ending == job->ending)
		return changed;
	if (stored->ending == JOB_SUSPENDED) {
		stored->suspended_us = job_suspended_us(stored, &(struct job){ .end_us = until_us });
		stored->suspended_since_us = 0;
	}
	if (job->ending == JOB_SUSPENDED)
		stored->suspended_since_us = wall_us;
	stored->ending = job->ending;
	stored->end_us = job->end_us;
	stored->ended_by[0] = '\0';
	return true;
}

/* The newest sweep at a time of the wall clock. */
#define SWEEP_AT(us) "(SELECT id FROM sweep WHERE wall_us <= " us " ORDER BY wall_us DESC LIMIT 1)"

/* Store a job with what merge() changes. Its end is a wall clock: it has no CLOCK_BOOTTIME. */
static int store_import(struct saved_writer *writer, const struct job *job, bool ends, struct error *err)
{
	sqlite3_stmt *update;
	int result = db_prepare(writer->db, "UPDATE job SET name = ?2, cluster = ?3, user = ?4, account = ?5,"
				" partition = ?6, ending = ?7, exit_status = ?8, suspended_since_us = ?9,"
				" suspended_us = ?10, ended_by = ?11, end_us = iif(?12, ?13, end_us),"
				" end_boot_us = iif(?12, 0, end_boot_us), end_boot_id = iif(?12, '', end_boot_id),"
				" end_sweep = iif(?12, " SWEEP_AT("?13") ", end_sweep) WHERE number = ?1", &update,
				err);

	if (result < 0)
		return result;
	sqlite3_bind_int64(update, 1, job->number);
	sqlite3_bind_text(update, 2, job->name, -1, SQLITE_STATIC);
	for (int i = 0; i < JOB_LABELS; i++)
		bind_text(update, 3 + i, job->labels[i]);
	sqlite3_bind_int(update, 7, (int)job->ending);
	if (job->exit_status >= 0)
		sqlite3_bind_int(update, 8, job->exit_status);
	if (job->suspended_since_us)
		sqlite3_bind_int64(update, 9, job->suspended_since_us);
	if (job->suspended_us)
		sqlite3_bind_int64(update, 10, job->suspended_us);
	bind_text(update, 11, job->ended_by);
	DB_BIND(update, 12, ends, job->end_us);
	result = db_run(update, err);
	sqlite3_finalize(update);
	return result;
}

static int import_one(struct saved_writer *writer, struct job *job, int64_t wall_us, enum job_import *ret,
		      struct error *err)
{
	struct job stored = { 0 };
	int64_t end_us;
	int result = find_run(writer, job, &stored, err);

	*ret = result ? JOB_UNCHANGED : JOB_ADDED;
	if (!result) {
		result = insert_job(writer, job, err);
		if (!result)
			result = db_execf(writer->db, err, "UPDATE job SET begin_sweep = " SWEEP_AT("begin_us")
					  " WHERE number = %lld", (long long)job->number);
		if (!result && job->ending == JOB_SUSPENDED)
			job->suspended_since_us = wall_us;
		return result ? result : store_import(writer, job, job->end_us > 0, err);
	}
	end_us = stored.end_us;
	if (result > 0 && merge(&stored, job, wall_us)) {
		*ret = JOB_UPDATED;
		result = store_import(writer, &stored, stored.end_us != end_us, err);
	}
	job_done(&stored);
	return result < 0 ? result : 0;
}

int jobs_import(struct saved_writer *writer, struct job *jobs, size_t count, int64_t wall_us,
		size_t ret[JOB_IMPORTS], struct error *err)
{
	size_t counts[JOB_IMPORTS] = { 0 };
	int result = 0;

	for (size_t i = 0; result >= 0 && i < count;) {
		size_t end = i + IMPORT_JOBS < count ? i + IMPORT_JOBS : count;

		result = saved_begin_step(writer, err);
		if (result < 0)
			break;
		for (; !result && i < end; i++) {
			enum job_import how;

			result = import_one(writer, &jobs[i], wall_us, &how, err);
			counts[how]++;
		}
		result = saved_end_step(writer, result, err);
	}
	if (result >= 0)
		memcpy(ret, counts, sizeof(counts));
	return result < 0 ? result : 0;
}

/* Within a step. The time since the end of a job is measured as in job_duration_us(). */
static int remove_old_snapshot(struct saved_writer *writer, const struct job *moment, int64_t keep_us,
			       struct error *err)
{
	char name[JOB_SNAPSHOT_NAME_SIZE];
	sqlite3_stmt *find;
	int result = db_prepare(writer->db, "SELECT s.name FROM snapshot s JOIN job j"
				" ON j.number = CAST(substr(s.name, 5) AS INTEGER)"
				" WHERE s.complete AND s.name IN ('job-' || j.number || '-begin', 'job-' || j.number"
				" || '-end') AND iif(j.end_boot_id = ?1, ?2 - j.end_boot_us, ?3 - j.end_us) > ?4"
				" ORDER BY s.id LIMIT 1", &find, err);

	if (result < 0)
		return result;
	sqlite3_bind_text(find, 1, moment->end_boot_id, -1, SQLITE_STATIC);
	DB_BIND(find, 2, moment->end_boot_us, moment->end_us, keep_us);
	result = db_step(find, err);
	if (result > 0)
		saved_copy_text(name, sizeof(name), find, 0);
	sqlite3_finalize(find);
	return result > 0 ? saved_remove_name(writer, name, err) : result;
}

int jobs_remove_snapshots(struct saved_writer *writer, const struct job *moment, int64_t keep_us, struct error *err)
{
	int result = 0;

	for (int i = 0; result >= 0 && i < 4; i++) {
		result = saved_begin_step(writer, err);
		if (!result)
			result = saved_end_step(writer, remove_old_snapshot(writer, moment, keep_us, err), err);
	}
	return result;
}

int jobs_remove(struct saved_writer *writer, int64_t number, struct error *err)
{
	char name[JOB_SNAPSHOT_NAME_SIZE];
	int64_t found = 0;
	int result = saved_begin_step(writer, err);

	if (result < 0)
		return result;
	result = db_integerf(writer->db, 0, &found, err, "SELECT number FROM job WHERE number = %lld",
			     (long long)number);
	if (!result && !found)
		result = err_set(err, ERR_USAGE, "the job was removed by another process; see: ibwire job list");
	/* The snapshots first: after a kill, they still belong to a job, which can be removed. */
	for (int end = 0; !result && end < 2; end++)
		result = saved_remove_name(writer, job_snapshot_name(number, end, name), err);
	if (!result)
		result = db_execf(writer->db, err, "DELETE FROM job_rhythm WHERE job = %lld;"
				  " DELETE FROM job_detected WHERE job = %lld;"
				  " DELETE FROM job WHERE number = %lld", (long long)number, (long long)number,
				  (long long)number);
	return saved_end_step(writer, result, err);
}
