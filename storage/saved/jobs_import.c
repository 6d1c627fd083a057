/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* jobs_import.c - jobs of the accounting: those that are not stored, and what is not known of the others */
#include <stdio.h>
#include <string.h>

#include "base/clock.h"
#include "base/err.h"
#include "storage/file/db.h"
#include "storage/saved/jobs_internal.h"
#include "storage/saved/saved_internal.h"

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
	jobs_bind_text(find, 2, job->labels[JOB_CLUSTER]);
	DB_BIND(find, 3, job->begin_us - BEGIN_SLACK_US, (job->end_us ? job->end_us + BEGIN_SLACK_US : INT64_MAX),
		job->begin_us);
	result = db_step(find, err);
	if (result > 0)
		result = jobs_read_row(find, ret, err) < 0 ? ERR_NOMEM : 1;
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
		jobs_bind_text(update, 3 + i, job->labels[i]);
	sqlite3_bind_int(update, 7, (int)job->ending);
	if (job->exit_status >= 0)
		sqlite3_bind_int(update, 8, job->exit_status);
	if (job->suspended_since_us)
		sqlite3_bind_int64(update, 9, job->suspended_since_us);
	if (job->suspended_us)
		sqlite3_bind_int64(update, 10, job->suspended_us);
	jobs_bind_text(update, 11, job->ended_by);
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
		result = jobs_insert(writer, job, err);
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
