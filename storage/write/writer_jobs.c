/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* writer_jobs.c - store the jobs that the collector found in the traffic */
#include "storage/write/writer_internal.h"

#include "base/err.h"
#include "storage/file/db.h"
#include "storage/jobs.h"

/* The newest sweep at a time of the last hours; the times of a sweep and of a reading in it differ by little. */
#define SWEEP_AT(us) "(SELECT id FROM sweep WHERE wall_us <= " us " + 100000 ORDER BY id DESC LIMIT 1)"

static int insert_job(struct writer *writer, struct detected_record *job, struct error *err)
{
	sqlite3_stmt *insert;
	int result = db_prepare(writer->db, "INSERT INTO job (id, name, hosts, command, begin_us, begin_boot_us,"
				" begin_boot_id, begin_sweep, ending) VALUES (?1, '', ?2, '', ?3, ?4, ?5, "
				SWEEP_AT("?3") ", 0)", &insert, err);

	if (result < 0)
		return result;
	sqlite3_bind_text(insert, 1, job->id, -1, SQLITE_STATIC);
	sqlite3_bind_text(insert, 2, job->hosts, -1, SQLITE_STATIC);
	DB_BIND(insert, 3, job->begin_us, job->begin_boot_us);
	sqlite3_bind_text(insert, 5, writer->cache.boot_id, -1, SQLITE_STATIC);
	result = db_run(insert, err);
	sqlite3_finalize(insert);
	job->number = sqlite3_last_insert_rowid(writer->db);
	return result;
}

static int update_job(struct writer *writer, const struct detected_record *job, struct error *err)
{
	sqlite3_stmt *update;
	int result = db_prepare(writer->db, "UPDATE job SET hosts = ?2 WHERE number = ?1 AND end_us IS NULL", &update,
				err);

	if (result < 0)
		return result;
	sqlite3_bind_int64(update, 1, job->number);
	sqlite3_bind_text(update, 2, job->hosts, -1, SQLITE_STATIC);
	result = db_run(update, err);
	sqlite3_finalize(update);
	return result;
}

static int put_confidence(struct writer *writer, const struct detected_record *job, struct error *err)
{
	sqlite3_stmt *put;
	int result = db_prepare(writer->db, "INSERT OR REPLACE INTO job_detected (job, confidence)"
				" SELECT number, ?2 FROM job WHERE number = ?1", &put, err);

	if (result < 0)
		return result;
	sqlite3_bind_int64(put, 1, job->number);
	sqlite3_bind_double(put, 2, job->confidence);
	result = db_run(put, err);
	sqlite3_finalize(put);
	return result;
}

/* It may have been ended by another process. */
static int end_job(struct writer *writer, const struct detected_record *job, struct error *err)
{
	sqlite3_stmt *update;
	int result = db_prepare(writer->db, "UPDATE job SET end_us = ?2, end_boot_us = ?3, end_boot_id = ?4,"
				" end_sweep = " SWEEP_AT("?2") ", ending = ?5,"
				" ended_by = (SELECT o.id FROM job o WHERE o.number = ?6)"
				" WHERE number = ?1 AND end_us IS NULL", &update, err);

	if (result < 0)
		return result;
	DB_BIND(update, 1, job->number, job->end_us, job->end_boot_us);
	sqlite3_bind_text(update, 4, writer->cache.boot_id, -1, SQLITE_STATIC);
	sqlite3_bind_int(update, 5, job->replaced_by ? JOB_REPLACED : JOB_ENDED);
	sqlite3_bind_int64(update, 6, job->replaced_by);
	result = db_run(update, err);
	sqlite3_finalize(update);
	return result;
}

int writer_store_detected(struct writer *writer, struct detected_record *list, size_t count, struct error *err)
{
	int result = 0;

	for (size_t i = 0; result >= 0 && i < count; i++) {
		bool known = list[i].number;

		result = known ? update_job(writer, &list[i], err) : insert_job(writer, &list[i], err);
		if (result >= 0)
			result = put_confidence(writer, &list[i], err);
		if (result >= 0 && list[i].end_us)
			result = end_job(writer, &list[i], err);
	}
	/* Its own commits do not change the version. */
	writer->jobs_version = 0;
	writer->jobs_stored = true;
	return result < 0 ? result : 0;
}
