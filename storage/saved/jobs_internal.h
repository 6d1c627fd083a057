/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* jobs_internal.h - what the files of jobs share: rows of the table job, read and written */
#ifndef IBWIRE_STORAGE_JOBS_INTERNAL_H
#define IBWIRE_STORAGE_JOBS_INTERNAL_H

#include <stdint.h>

#include <sqlite3.h>

#include "storage/jobs.h"

struct error;
struct saved_writer;

#define SNAPSHOT_OF(end) \
	"(SELECT s.id FROM snapshot s WHERE s.complete AND s.name = 'job-' || j.number || '-" end "')"
/* Of a row of job_rhythm, as jobs_read.c reads them. */
#define MINUTE_COLUMNS(r) \
	r ".job, " r ".wall_us, " r ".kind, " r ".period_s, " r ".spread_s, " r ".periods, " r ".wire_share, " \
	r ".bytes_per_s, " r ".shortest_s, " r ".phase, " r ".since_us, " r ".slower, " r ".before_s"
/* As jobs_read_row() reads them. */
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

/*
 * jobs_read_row - the columns of JOB_COLUMNS
 * @ret: for job_done(), on error too
 * Return: 0 or ERR_NOMEM
 */
int jobs_read_row(sqlite3_stmt *row, struct job *ret, struct error *err);

/* jobs_bind_text - bind a text, NULL for "". @text: remains until the statement has run. */
void jobs_bind_text(sqlite3_stmt *statement, int at, const char *text);

/* jobs_find_number - the number of the newest job with an id, as jobs_find() finds it. Return: 1, 0, or an error. */
int jobs_find_number(sqlite3 *db, const char *cluster, const char *id, int64_t *ret, struct error *err);

/*
 * jobs_insert - within a step, store the begin of a job, which is running
 * @job: gets its number, and an id if it has none
 * Return: 0 or a negative error
 */
int jobs_insert(struct saved_writer *writer, struct job *job, struct error *err);

#endif
