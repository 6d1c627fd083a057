/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* job_record.c - begin and end of a job, with their snapshots */
#include <stdio.h>
#include <string.h>

#include "base/array.h"
#include "base/clock.h"
#include "base/err.h"
#include "base/log.h"
#include "base/nearest.h"
#include "base/text.h"
#include "cli/job/job.h"
#include "cli/lib/moment_options.h"
#include "fabric/host_set.h"
#include "fabric/shape.h"
#include "facts/saved_columns.h"
#include "storage/reader.h"

/* --- ids --- */

static bool offer_id(void *ctx, const struct job *job)
{
	struct nearest *nearest = ctx;
	size_t before = nearest->distance;

	/* The job is valid during this call only: keep the nearest id so far in the hint. */
	nearest_offer(nearest, job->id);
	if (nearest->distance < before)
		nearest_hint(nearest);
	return true;
}

int job_find(struct reader *reader, const char *cluster, const char *id, struct job *ret, struct error *err)
{
	struct nearest nearest;
	int code = jobs_find(reader, cluster, id, ret, err);

	if (code)
		return code < 0 ? code : 0;
	nearest_init(&nearest, id);
	code = jobs_list(reader, &(struct job_query){ .most = JOB_LIST_MOST }, NULL, offer_id, &nearest, err);
	if (code < 0)
		return code;
	return err_set(err, ERR_USAGE, "no job '%.64s' began%s%.64s%s", id, cluster && *cluster ? " in cluster " : "",
		       cluster ? cluster : "", *nearest.hint ? nearest.hint : "; see: ibwire job list");
}

int job_find_typed(const struct job_options *options, struct job *ret, struct error *err)
{
	const struct options *common = &options->snapshot.common;
	struct moment moment;
	int code = options_open_reader(common, &moment, err);

	if (code < 0)
		return code;
	code = job_find(moment.reader, options->labels[JOB_CLUSTER], common->argv[1], ret, err);
	moment_done(&moment);
	return code;
}

/* --- hosts --- */

/* The newest topology. Return: 1; 0 if none is stored; or an error. */
static int load_fabric(const char *path, struct snapshot **ret, struct error *err)
{
	const struct snapshot_query query = { .fabric_only = true };
	struct reader *reader;
	int code = reader_open(path, &reader, err);

	if (code < 0)
		return code == ERR_UNAVAILABLE ? 0 : code;
	code = snapshot_load(reader, &query, ret, err);
	reader_close(reader);
	return code == 0 ? 1 : code == ERR_UNAVAILABLE ? 0 : code;
}

/* @missing: number of unknown hosts, of which @name is the first. */
static int unknown_host(const struct shape *shape, const char *name, size_t missing, struct error *err)
{
	struct nearest nearest;
	char more[48] = "";

	nearest_init(&nearest, name);
	for (size_t i = 0; i < shape->host_count; i++)
		nearest_offer(&nearest, shape->hosts[i].name);
	if (missing > 1)
		snprintf(more, sizeof(more), " (and of %zu more host%s)", missing - 1, missing > 2 ? "s" : "");
	return err_set(err, ERR_USAGE, "the fabric has no HCA of host '%.64s'%s%s", name, more,
		       nearest.best ? nearest_hint(&nearest) : "; see: ibwire nodes");
}

/* Check that the fabric has these hosts, if a topology is stored. */
static int check_hosts(const struct job_options *options, const char *path, const struct host_set *hosts,
		       struct error *err)
{
	struct snapshot *snapshot = NULL;
	struct shape *shape = NULL;
	size_t missing = 0, first = 0;
	int code = load_fabric(path, &snapshot, err);

	if (code > 0)
		code = shape_create(snapshot->fabric, NULL, &shape, err);
	for (size_t i = 0; shape && i < hosts->count; i++) {
		uint32_t count;

		if (shape_hosts_named(shape, hosts->names[i], &count) == SHAPE_NONE && !missing++)
			first = i;
	}
	if (missing)
		code = unknown_host(shape, hosts->names[first], missing, err);
	shape_destroy(shape);
	snapshot_destroy(snapshot);
	if (code == ERR_USAGE && options->lenient) {
		log_warning("%s", err->text);
		code = 0;
	}
	return code;
}

/* The hosts as the database has them: as typed, except those of a file. */
static char *join_hosts(const char *typed, const struct host_set *hosts)
{
	struct text list = { 0 };
	char *joined;

	if (typed[0] != '@')
		return strdup(typed);
	for (size_t i = 0; i < hosts->count; i++)
		text_appendf(&list, "%s%s", i ? "," : "", hosts->names[i]);
	joined = text_failed(&list) ? NULL : strdup(text_chars(&list));
	text_done(&list);
	return joined;
}

/* --- begin and end --- */

/* Take a snapshot of a job. The job is recorded without it too: errors are warnings. */
static void take(struct job_options *options, const struct job *job, bool end)
{
	char name[JOB_SNAPSHOT_NAME_SIZE];
	struct error err = { 0 };

	if (options->no_snapshot)
		return;
	options->snapshot.fast = true;
	if (snapshot_store(&options->snapshot, job_snapshot_name(job->number, end, name), &err) < 0)
		log_warning("no snapshot at the %s of job %s: %s", end ? "end" : "begin",
			    job->display_id, err.text);
}

struct beginning {
	const struct job *job;
	struct host_set *hosts;
};

/* Does a running job use one of the hosts? Commands of `ibwire run` may run within another job. */
static bool overlaps(void *ctx, const struct job *running)
{
	const struct beginning *beginning = ctx;
	struct host_set others = { 0 };
	bool found = false;

	if (!*running->hosts || *running->command || !beginning->hosts->count)
		return false;
	if (host_set_add(&others, running->hosts, NULL) == 0)
		for (size_t i = 0; !found && i < others.count; i++)
			found = host_set_has(beginning->hosts, others.names[i]);
	host_set_done(&others);
	return found;
}

static void report_closed(void *ctx, const struct job *closed)
{
	const struct beginning *beginning = ctx;

	if (closed->ending == JOB_EXPIRED)
		log_warning("job %s never ended; closed because it is too old", closed->display_id);
	else
		log_warning("job %s never ended; closed because job %s began on its hosts", closed->display_id,
			    beginning->job->display_id);
}

/* Fill in the hosts and the command. */
static int describe(const struct job_options *options, const char *path, const char *command, struct host_set *hosts,
		    struct job *ret, struct error *err)
{
	int code = options->hosts ? options_add_hosts(hosts, options->hosts, err) : 0;

	if (code == 0 && options->hosts)
		code = check_hosts(options, path, hosts, err);
	if (code < 0)
		return code;
	host_set_sort(hosts);
	ret->hosts = options->hosts ? join_hosts(options->hosts, hosts) : strdup("");
	ret->command = strdup(command);
	return ret->hosts && ret->command ? 0 : err_nomem(err);
}

static int store_begin(struct saved_writer *writer, const struct job_options *options, struct host_set *hosts,
		       struct job *job, struct error *err)
{
	struct beginning beginning = { job, hosts };
	const struct job_rules rules = {
		.expire_us = options->expire_us, .overlaps = options->exclusive ? overlaps : NULL,
		.closed = report_closed, .ctx = &beginning,
	};

	job->begin_us = clock_wall_us(clock_system());
	job->begin_boot_us = clock_boottime_us(clock_system());
	clock_system()->boot_id(clock_system()->ctx, job->begin_boot_id);
	return jobs_begin(writer, job, &rules, err);
}

/* Copy a text of at most @size - 1 bytes. One that is too long is cut if @lenient. Return: 0 or ERR_USAGE. */
static int copy_text(char *ret, size_t size, const char *option, const char *text, bool lenient, struct error *err)
{
	if (!lenient && strlen(text) >= size)
		return err_set(err, ERR_USAGE, "--%s has %zu bytes; use at most %zu, or --lenient", option,
			       strlen(text), size - 1);
	snprintf(ret, size, "%.*s", (int)text_cut_bytes(text, size - 1), text);
	return 0;
}

int job_record_begin(struct job_options *options, const char *id, const char *command, struct job *ret,
		     struct error *err)
{
	struct saved_writer *writer = NULL;
	struct host_set hosts = { 0 };
	char path[4096];
	int code = options_db_path(&options->snapshot.common, true, path, sizeof(path), err);

	*ret = (struct job){ .exit_status = -1 };
	snprintf(ret->id, sizeof(ret->id), "%s", id);
	if (code == 0 && options->name)
		code = copy_text(ret->name, sizeof(ret->name), "name", options->name, options->lenient, err);
	for (int i = 0; code == 0 && i < JOB_LABELS; i++)
		if (options->labels[i])
			code = copy_text(ret->labels[i], sizeof(ret->labels[i]), job_label_name(i), options->labels[i],
					 options->lenient, err);
	/* First of all: this migrates or creates the database. */
	if (code == 0)
		code = saved_writer_open(path, &writer, err);
	if (code == 0)
		code = describe(options, path, command, &hosts, ret, err);
	if (code == 0)
		code = store_begin(writer, options, &hosts, ret, err);
	saved_writer_close(writer);
	host_set_done(&hosts);
	if (code == 0)
		take(options, ret, false);
	return code;
}

/* This is done after the snapshot, so as not to delay it. Errors are warnings. */
static void remove_old(const struct job_options *options, const char *path, const struct job *moment)
{
	struct saved_writer *writer = NULL;
	struct error err = { 0 };
	int code = saved_writer_open(path, &writer, &err);

	if (code == 0)
		code = jobs_remove_snapshots(writer, moment, options->keep_us, &err);
	saved_writer_close(writer);
	if (code < 0)
		log_warning("snapshots of older jobs were not removed: %s", err.text);
}

/* Open a database for a change of the job with an id. A reader creates none, and has the nearest id. */
static int open_writer_of(const struct job_options *options, const char *id, char path[4096],
			  struct saved_writer **ret, struct error *err)
{
	int code = options_db_path(&options->snapshot.common, true, path, 4096, err);
	struct reader *reader = NULL;
	struct job found = { 0 };

	if (code == 0)
		code = reader_open(path, &reader, err);
	if (code < 0)
		return code;
	code = job_find(reader, options->labels[JOB_CLUSTER], id, &found, err);
	reader_close(reader);
	job_done(&found);
	return code < 0 ? code : saved_writer_open(path, ret, err);
}

int job_record_end(struct job_options *options, const char *id, struct error *err)
{
	struct job job = { .exit_status = (int)options->status };
	struct saved_writer *writer = NULL;
	char path[4096];
	int code;

	job_set_end(&job);
	snprintf(job.id, sizeof(job.id), "%s", id);
	code = open_writer_of(options, id, path, &writer, err);
	if (code < 0)
		return code;
	code = jobs_end(writer, options->labels[JOB_CLUSTER], &job, err);
	saved_writer_close(writer);
	if (code == 0)
		take(options, &job, true);
	if (code >= 0 && options->keep_us)
		remove_old(options, path, &job);
	return code;
}

int job_record_suspend(const struct job_options *options, const char *id, bool suspended, struct error *err)
{
	struct saved_writer *writer = NULL;
	char path[4096];
	int code = open_writer_of(options, id, path, &writer, err);

	if (code == 0)
		code = jobs_suspend(writer, options->labels[JOB_CLUSTER], id, suspended, clock_wall_us(clock_system()),
				    err);
	saved_writer_close(writer);
	return code;
}
