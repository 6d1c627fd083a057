/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* job.h - shared by `ibwire job` and `ibwire run`: options, begin and end of a job */
#ifndef IBWIRE_CLI_JOB_H
#define IBWIRE_CLI_JOB_H

#include <stdbool.h>
#include <stdint.h>

#include "cli/lib/nccl_files.h"
#include "cli/snapshot/snapshot.h"
#include "storage/jobs.h"

struct command;
struct error;
struct reader;

/* Jobs of a list, and those among which an id that is not known is searched for a similar one. */
enum { JOB_LIST_MOST = 1000 };

struct job_options {
	struct snapshot_options snapshot; /* with the common options */
	const char *hosts;   /* as typed; NULL: all hosts of the fabric */
	const char *name;    /* or NULL */
	const char *html;    /* report: file to write a page to; NULL: none */
	bool no_snapshot;
	bool lenient;        /* begin: unknown hosts are a warning */
	bool shared;         /* begin: the default, which closes no job on the same hosts */
	bool exclusive;      /* begin: close jobs on the same hosts */
	const char *labels[JOB_LABELS]; /* begin; the cluster of all sub-commands with an id; NULL: none */
	int64_t expire_us;   /* begin: running jobs that are older are closed; 0: none */
	int64_t keep_us;     /* end: snapshots of jobs that ended longer ago are removed; 0: none */
	int64_t status;      /* end: exit status of the job; -1: unknown */
	int64_t limit;       /* list: number of jobs; 0: all */
	struct nccl_files nccl; /* report, run */
	const char *exec, *webhook; /* watch: receivers of changes; NULL: none */
};

#define JOB_EXPIRE_US (7 * 86400 * INT64_C(1000000))

/* Options of `job begin` and `ibwire run`. */
#define JOB_SPECS(options, prefix) \
	OPT_TEXT("hosts", 0, "LIST", &(options)->hosts, \
		 prefix "hosts of the job, such as node[001-064,070] (all)"), \
	OPT_TEXT("name", 0, "NAME", &(options)->name, prefix "name; jobs of the same name can be compared"), \
	OPT_FLAG("no-snapshot", 0, &(options)->no_snapshot, \
		 "take no snapshot: counters come from a collector's sweeps"), \
	POLLING_SPECS(&(options)->snapshot.polling, "")

/*
 * job_find - the newest job with an id, for job_done()
 * @cluster:  as of jobs_find()
 * Return: 0; ERR_USAGE with the nearest id if there is none, or if several clusters have it; ERR_IO; ERR_NOMEM.
 */
int job_find(struct reader *reader, const char *cluster, const char *id, struct job *ret, struct error *err);

/* job_find_typed - open the database of the options, and find the job whose id is the first argument, as job_find(). */
int job_find_typed(const struct job_options *options, struct job *ret, struct error *err);

/*
 * job_record_begin - store the begin of a job, with a snapshot
 * @id:       "": run-NUMBER
 * @command:  as of struct job
 * @ret:      for job_done(), on error too
 *
 * A snapshot that cannot be taken, closed jobs and hosts that are unknown (lenient) are warnings.
 * Return: 0; 1 if a job with this id is running already; ERR_USAGE for an invalid host list, a text that is too
 * long, or an unknown host; ERR_IO if the database cannot be written; ERR_NOMEM.
 */
int job_record_begin(struct job_options *options, const char *id, const char *command, struct job *ret,
		     struct error *err);

/*
 * job_record_end - store the end of the newest job with an id, with a snapshot
 * Return: 0; 1 if it had ended; ERR_USAGE if no such job began; ERR_UNAVAILABLE without a database; ERR_IO.
 */
int job_record_end(struct job_options *options, const char *id, struct error *err);

/* job_record_suspend - suspend or resume a job. Return: 0; 1 if nothing changes; or as job_record_end(). */
int job_record_suspend(const struct job_options *options, const char *id, bool suspended, struct error *err);

struct job_report;
struct name_map;

/* job_report_of - compute a report with the settings file (pages/job_report.h). */
int job_report_of(struct reader *reader, const struct name_map *names, const struct job *job, int64_t now_us,
		  struct job_report **ret, struct error *err);

/*
 * job_report_write - compute the report of the newest job with an id, and write it
 * @common:  of the command: database, name map, time
 * @path:    HTML if it ends with .html, JSON if with .json, else text; NULL: text on stderr
 * @nccl:    if the logs cannot be read, a warning is logged
 *
 * Return: 0; ERR_USAGE: no such job, or an invalid settings file; ERR_UNAVAILABLE without a database;
 * ERR_IO; ERR_NOMEM.
 */
int job_report_write(const struct options *common, const char *id, const char *path, const struct nccl_files *nccl,
		     struct error *err);

/* job_output - write a page as the options say, and destroy it. @page: NULL: no memory. Return: as output_page(). */
struct page;
int job_output(const struct job_options *options, struct page *page, struct error *err);

/* job_id_problem - what is wrong with an id of the batch system; NULL: nothing. */
const char *job_id_problem(const char *id);

/* Sub-commands in files of their own. */
int job_import_cmd(const struct command *command, struct job_options *options, struct error *err);
int job_report_cmd(const struct command *command, struct job_options *options, struct error *err);
int job_watch_cmd(const struct command *command, struct job_options *options, struct error *err);
int job_compare_cmd(const struct command *command, struct job_options *options, struct error *err);

#endif
