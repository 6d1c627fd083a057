/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* jobs_read.c - jobs and their rhythms read, and a job found by its id */
#include <inttypes.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/err.h"
#include "storage/file/db.h"
#include "storage/read/reader_internal.h"
#include "storage/saved/jobs_internal.h"
#include "storage/saved/saved_internal.h"

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

int jobs_read_row(sqlite3_stmt *row, struct job *ret, struct error *err)
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

		result = jobs_read_row(rows, &job, err);
		if (!result)
			more = each(ctx, &job);
		job_done(&job);
	}
	sqlite3_finalize(rows);
	reader_end(reader);
	return result < 0 ? result : 0;
}

void jobs_bind_text(sqlite3_stmt *statement, int at, const char *text)
{
	if (*text)
		sqlite3_bind_text(statement, at, text, -1, SQLITE_STATIC);
	else
		sqlite3_bind_null(statement, at);
}

int jobs_find_number(sqlite3 *db, const char *cluster, const char *id, int64_t *ret, struct error *err)
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
		jobs_bind_text(find, 2, cluster);
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
		result = jobs_read_row(row, &job, err);
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
	result = jobs_find_number(reader->db, cluster, id, &number, err);
	return get_job(reader, result, number, ret, err);
}

int jobs_get(struct reader *reader, int64_t number, struct job *ret, struct error *err)
{
	int result = reader_begin(reader, err);

	return result < 0 ? result : get_job(reader, 1, number, ret, err);
}
