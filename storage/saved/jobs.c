/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* jobs.c - jobs begin, are suspended, end, and are removed */
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/array.h"
#include "base/err.h"
#include "base/text.h"
#include "storage/file/db.h"
#include "storage/saved/jobs_internal.h"
#include "storage/saved/saved_internal.h"

#define NEWEST_SWEEP "(SELECT max(id) FROM sweep)"
/* The sum of its suspensions, if it is resumed or ends at @time. */
#define SUSPENDED_UNTIL(time) \
	"CASE WHEN suspended_since_us < " time " THEN ifnull(suspended_us, 0) + " time " - suspended_since_us" \
	" ELSE suspended_us END"

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
		result = jobs_read_row(rows, &grown[ret->count++], err);
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
	jobs_bind_text(update, 5, job->ended_by);
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

int jobs_insert(struct saved_writer *writer, struct job *job, struct error *err)
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
		jobs_bind_text(insert, 8 + i, job->labels[i]);
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
		result = jobs_insert(writer, job, err);
	if (!result)
		result = read_display_id(writer, job, err);
	result = saved_end_step(writer, result, err);
	for (size_t i = 0; !result && rules->closed && i < running.count; i++)
		if (running.jobs[i].end_us)
			rules->closed(rules->ctx, &running.jobs[i]);
	free_running(&running);
	return result;
}

/* The newest job with an id. Return: 1; ERR_USAGE if there is none; or as jobs_find_number(). */
static int require(struct saved_writer *writer, const char *cluster, const char *id, int64_t *ret_number,
		   struct error *err)
{
	int result = jobs_find_number(writer->db, cluster, id, ret_number, err);

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
