/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * jobs.h - jobs of a batch system and commands of `ibwire run`: when they ran, and on which hosts
 *
 * What a job moved is not stored: it is the difference of its two snapshots (storage/saved.h), or the
 * sum of the collector's sweeps between begin_sweep and end_sweep. A job has the snapshots that are
 * named job-NUMBER-begin and job-NUMBER-end, so it has them as soon as they are complete.
 */
#ifndef IBWIRE_STORAGE_JOBS_H
#define IBWIRE_STORAGE_JOBS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "analysis/job_minute.h"
#include "base/clock.h"

struct error;
struct reader;
struct saved_writer;

/* With the final NUL. */
#define JOB_ID_SIZE 129
#define JOB_NAME_SIZE 257

/* Bytes that are stored of a command line; a longer one ends with "...". */
#define JOB_COMMAND_MOST 4096

enum job_ending {
	JOB_RUNNING,
	JOB_ENDED,    /* by `job end`, or with the command of `ibwire run` */
	JOB_REPLACED, /* it never ended: another job began on its hosts */
	JOB_EXPIRED,  /* it never ended, and is too old */
	JOB_SUSPENDED, /* it has not ended, and has its hosts, but does not run */
	JOB_ENDING_COUNT,
};

/* Texts that the batch system has of a job, each a column of its name. An id is unique in its cluster. */
enum job_label { JOB_CLUSTER, JOB_USER, JOB_ACCOUNT, JOB_PARTITION, JOB_LABELS };

#define JOB_TEXT_SIZE 129
#define JOB_DISPLAY_SIZE (JOB_ID_SIZE + JOB_TEXT_SIZE)

struct job {
	int64_t number;               /* id of its row */
	char id[JOB_ID_SIZE];         /* of the batch system; not unique: a requeued job has several rows */
	char labels[JOB_LABELS][JOB_TEXT_SIZE]; /* "": unknown */
	/* As texts name it: its id, or "4711@alpha" if the newest 1,000 jobs are of several clusters; set when read. */
	char display_id[JOB_DISPLAY_SIZE];
	char name[JOB_NAME_SIZE];     /* "": none */
	char *hosts;                  /* host list as Slurm writes it; "": all hosts of the fabric */
	char *command;                /* of `ibwire run`; "": none */
	int64_t begin_us, end_us;     /* wall clock; end_us 0: it is running. They may be in any order */
	int64_t begin_boot_us, end_boot_us; /* CLOCK_BOOTTIME of these boots: */
	char begin_boot_id[BOOT_ID_SIZE], end_boot_id[BOOT_ID_SIZE];
	int64_t begin_sweep, end_sweep;       /* newest stored sweep at that time; 0: none */
	int64_t begin_snapshot, end_snapshot; /* saved_info.id; 0: none */
	enum job_ending ending;
	char ended_by[JOB_ID_SIZE];   /* JOB_REPLACED: id of the job that began on its hosts; otherwise "" */
	int exit_status;              /* -1: unknown */
	int64_t suspended_since_us;   /* wall clock; 0: it is not suspended */
	int64_t suspended_us;         /* sum of its earlier suspensions */
	struct job_minute minute;     /* the newest one that the collector stored; its job is 0 without one */
	double confidence;            /* up to 1: of a job that was found in the traffic; 0 or NAN: it was begun */
};

/* job_done - free the texts of a job that jobs_find() returned. */
void job_done(struct job *job);

/* job_is_detected - was it found in the traffic of its hosts (analysis/job_detect.h)? */
static inline bool job_is_detected(const struct job *job)
{
	return job->confidence > 0;
}

/* job_ending_name - "running", "ended", "replaced", "expired", "suspended" */
const char *job_ending_name(enum job_ending ending);

/* job_label_name - "cluster", "user", "account", "partition" */
const char *job_label_name(enum job_label label);

/*
 * job_duration_us - time from the begin of a job to its end
 * By CLOCK_BOOTTIME if both are of one boot, otherwise by the wall clock, but not negative.
 * @now:  of a running job: end_us, end_boot_us and end_boot_id of this moment
 */
int64_t job_duration_us(const struct job *job, const struct job *now);

/* job_suspended_us - for how long a job was suspended. @now: as of job_duration_us(), its end_us only */
int64_t job_suspended_us(const struct job *job, const struct job *now);

/* job_snapshot_name - "job-NUMBER-begin" or "job-NUMBER-end" */
#define JOB_SNAPSHOT_NAME_SIZE 32
const char *job_snapshot_name(int64_t number, bool end, char ret[JOB_SNAPSHOT_NAME_SIZE]);

/* The newest jobs that ran in a window, and all that are running. */
struct job_query {
	int64_t since_us, until_us; /* wall clock; 0: no limit */
	size_t most;                /* those that began last; 0: all */
	int64_t at_us;              /* struct job, minute: the newest until then; 0: of all */
};

/*
 * jobs_list - call @each for the jobs of a query, oldest first, until it returns false
 * @ret_older:  whether older ones ran in the window; NULL: not asked for
 * @job:        valid during the call
 * Return: 0 or ERR_IO.
 */
typedef bool job_fn(void *ctx, const struct job *job);
int jobs_list(struct reader *reader, const struct job_query *query, bool *ret_older, job_fn *each, void *ctx,
	      struct error *err);

/*
 * jobs_find - the newest job with an id
 * @cluster:  of this cluster, or else of an unknown one ("": only of an unknown one); NULL: of any
 * @ret:      for job_done() if there is one, otherwise untouched
 * Return: 1; 0 if there is none; ERR_USAGE without @cluster if several clusters have this id; ERR_IO; ERR_NOMEM.
 */
int jobs_find(struct reader *reader, const char *cluster, const char *id, struct job *ret, struct error *err);

/*
 * jobs_minutes - call @each for what was stored of the rhythm of a job, by time, until it returns false
 * @number:             of the job
 * @since_us, @until_us: wall clock
 * Return: 0 or ERR_IO.
 */
typedef bool job_minute_fn(void *ctx, const struct job_minute *minute);
int jobs_minutes(struct reader *reader, int64_t number, int64_t since_us, int64_t until_us, job_minute_fn *each,
		 void *ctx, struct error *err);

/*
 * jobs_get - the job with a number
 * @ret:  as of jobs_find()
 * Return: 1; 0 if it was removed; ERR_IO; ERR_NOMEM.
 */
int jobs_get(struct reader *reader, int64_t number, struct job *ret, struct error *err);

/* Which running jobs a new one closes. */
struct job_rules {
	int64_t expire_us;  /* those that run for longer; 0: none */
	bool (*overlaps)(void *ctx, const struct job *running); /* those on its hosts; NULL: none */
	void (*closed)(void *ctx, const struct job *closed);    /* called for each, or NULL */
	void *ctx;
};

/*
 * jobs_begin - store a new job, and close those that @rules name, in one transaction
 * @job:  id, labels, name, hosts, command and begin of the job, without begin_sweep. Its number and display_id are
 *        set, and its id "run-NUMBER" if it is ""
 *
 * A suspended job is not on its hosts. Return: 0; 1 if a job with this id has not ended in the same cluster, with
 * its number and begin_us in @job and nothing changed; ERR_IO.
 */
int jobs_begin(struct saved_writer *writer, struct job *job, const struct job_rules *rules, struct error *err);

/*
 * jobs_end - store the end of the newest job with an id
 * @cluster:  as of jobs_find()
 * @job:      id, exit_status and end of the job, without end_sweep. Its number and ending are set.
 *
 * A job that has expired, or that was replaced, can still end. An unknown exit status of a job that ended is
 * completed. Return: 0; 1 if it had ended; ERR_USAGE if no job or several jobs have this id; ERR_IO.
 */
int jobs_end(struct saved_writer *writer, const char *cluster, struct job *job, struct error *err);

/*
 * jobs_suspend - store that the newest job with an id does not run until jobs_suspend() without @suspended
 * @cluster:  as of jobs_find()
 * @wall_us:  this moment
 * Return: 0; 1 if nothing changes; ERR_USAGE as jobs_end(), or if it has ended; ERR_IO.
 */
int jobs_suspend(struct saved_writer *writer, const char *cluster, const char *id, bool suspended, int64_t wall_us,
		 struct error *err);

/*
 * jobs_import - store jobs as the accounting of a batch system has them
 * @jobs:     id, labels, name, hosts, begin_us, end_us, ending (ended, running, or suspended) and exit_status; the
 *            hosts are borrowed
 * @wall_us:  this moment
 * @ret:      how many were added, updated and unchanged
 *
 * A stored run of the same id and cluster that began between begin_us and end_us, or a minute before or after, is
 * this job: it gets what is missing, its end if it had none, and its state if it has not ended. Importing a job
 * again changes nothing. Several jobs are one transaction. Return: 0 or ERR_IO.
 */
enum job_import { JOB_ADDED, JOB_UPDATED, JOB_UNCHANGED, JOB_IMPORTS };
int jobs_import(struct saved_writer *writer, struct job *jobs, size_t count, int64_t wall_us,
		size_t ret[JOB_IMPORTS], struct error *err);

/*
 * jobs_remove_snapshots - remove the oldest snapshots of jobs that ended longer ago than @keep_us
 * @moment:  a job whose end is this moment
 *
 * At most four, so that a call is short: those of two jobs. Return: 0 or ERR_IO.
 */
int jobs_remove_snapshots(struct saved_writer *writer, const struct job *moment, int64_t keep_us, struct error *err);

/* jobs_remove - remove a job and its snapshots. Return: 0; ERR_USAGE if it does not exist; ERR_IO. */
int jobs_remove(struct saved_writer *writer, int64_t number, struct error *err);

#endif
