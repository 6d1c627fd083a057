/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
#include "collector/detect_step.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "analysis/job_detect.h"
#include "analysis/rate.h"
#include "base/array.h"
#include "base/err.h"
#include "base/log.h"
#include "base/text.h"
#include "collector/findings_step.h"
#include "collector/sink.h"
#include "fabric/fabric.h"
#include "fabric/host_set.h"
#include "fabric/shape.h"

#define NO_HOST UINT32_MAX

/* "seen-HOST-20261130T0412" */
#define SEEN_ID_SIZE 128

/* Jobs of which the sink has no more are not known to run or not. */
enum { RUNNING_MOST = 1024 };

int detect_step_init(struct detect_step *step, int64_t interval_us, bool switches_only, struct error *err)
{
	*step = (struct detect_step){ .detect = job_detect_create(interval_us), .switches_only = switches_only };
	return step->detect ? 0 : err_nomem(err);
}

void detect_step_done(struct detect_step *step)
{
	for (size_t i = 0; i < step->host_count; i++)
		free(step->hosts[i].name);
	free(step->hosts);
	free(step->host_of);
	map_done(&step->by_name);
	job_detect_destroy(step->detect);
	memset(step, 0, sizeof(*step));
}

/* The number of a host, a new one for a new name. */
static int find_host(struct detect_step *step, const char *name, uint32_t *ret, struct error *err)
{
	uint64_t key = map_hash_text(MAP_HASH_START, name);
	struct detect_host *host;

	if (map_get(&step->by_name, key, ret))
		return 0;
	host = array_add(&step->hosts, &step->host_count, &step->host_capacity, sizeof(*host));
	if (!host)
		return err_nomem(err);
	*ret = (uint32_t)step->host_count - 1;
	host->name = strdup(name);
	return host->name && map_put(&step->by_name, key, *ret) == 0 ? 0 : err_nomem(err);
}

/* The host of each cabled port of compute hosts. */
static int update_hosts(struct detect_step *step, const struct shape *shape, struct error *err)
{
	const struct fabric *fabric = shape->fabric;
	uint32_t *host_of = reallocarray(step->host_of, fabric->port_count + 1, sizeof(*host_of)), number;
	int code = 0;

	if (!host_of)
		return err_nomem(err);
	step->host_of = host_of;
	memset(host_of, 0xff, (fabric->port_count + 1) * sizeof(*host_of));
	for (size_t i = 0; code == 0 && i < shape->host_count; i++) {
		const struct shape_host *host = &shape->hosts[i];

		if (host->class != CLASS_COMPUTE)
			continue;
		code = find_host(step, host->name, &number, err);
		for (uint32_t j = host->first; code == 0 && j < host->first + host->count; j++) {
			const struct node *node = &fabric->nodes[shape->host_nodes[j]];

			for (uint32_t port = node->first_port; port < node->first_port + node->ports; port++)
				if (fabric->ports[port].peer != FABRIC_NONE)
					host_of[port] = number;
		}
	}
	return code;
}

static bool is_detected(const struct running_job *job)
{
	return job->confidence > 0;
}

/* On which hosts jobs run that were begun. */
static int update_announced(struct detect_step *step, const struct shape *shape, const struct running_jobs *running,
			    struct error *err)
{
	bool *listed = calloc(shape->host_count + 1, sizeof(*listed));
	size_t names = 0;
	int code = listed ? 0 : err_nomem(err);

	for (size_t i = 0; i < step->host_count; i++)
		step->hosts[i].announced = 0;
	/* As many as findings look at (findings_step.c). */
	for (size_t i = 0; code == 0 && i < running->count && names < HOST_SET_MOST; i++) {
		const struct running_job *job = &running->list[i];
		uint32_t number;

		if (is_detected(job))
			continue;
		memset(listed, 0, shape->host_count * sizeof(*listed));
		code = shape_mark_hosts(shape, job->hosts, listed, NULL, err);
		names += code > 0 ? (size_t)code : 0;
		code = code < 0 ? code : 0;
		for (size_t j = 0; code == 0 && j < shape->host_count; j++) {
			if (!listed[j] || shape->hosts[j].class != CLASS_COMPUTE)
				continue;
			code = find_host(step, shape->hosts[j].name, &number, err);
			if (code == 0)
				step->hosts[number].announced = job->number;
		}
	}
	free(listed);
	return code;
}

/* --- what is stored --- */

/* Changes of this sweep. Ids and hosts are owned. */
struct records {
	struct detected_record *list;
	struct detected_job **jobs; /* whose number is set; NULL: none */
	size_t count, capacity, job_capacity;
};

static void free_records(struct records *records)
{
	for (size_t i = 0; i < records->count; i++) {
		free((char *)(uintptr_t)records->list[i].id);
		free((char *)(uintptr_t)records->list[i].hosts);
	}
	free(records->list);
	free(records->jobs);
}

static int64_t wall_of(const struct sweep *sweep, int64_t boot_us)
{
	return sweep->wall_us - (sweep->start_us - boot_us);
}

/* Named by its first host and its begin. Return: for free(); NULL: no memory. */
static char *make_id(const struct detect_step *step, const struct sweep *sweep, const struct detected_job *job)
{
	char id[SEEN_ID_SIZE], minute[32];
	time_t begin = (time_t)(wall_of(sweep, job->begin_us) / 1000000);
	struct tm utc;

	gmtime_r(&begin, &utc);
	strftime(minute, sizeof(minute), "%Y%m%dT%H%M", &utc);
	snprintf(id, sizeof(id), "seen-%.80s-%s", step->hosts[job->first_host].name, minute);
	return strdup(id);
}

static char *list_hosts(const struct detect_step *step, const struct detected_job *job)
{
	const char **names = calloc(job->host_count + 1, sizeof(*names));
	struct text text = { 0 };
	char *ret = NULL;

	for (size_t i = 0; names && i < job->host_count; i++)
		names[i] = step->hosts[job->hosts[i]].name;
	if (names)
		host_names_list(names, job->host_count, &text);
	if (names && !text_failed(&text))
		ret = strdup(text_chars(&text));
	text_done(&text);
	free(names);
	return ret;
}

/* @end_us: CLOCK_BOOTTIME; 0: it runs */
static int add_record(const struct detect_step *step, const struct sweep *sweep, struct detected_job *job,
		      int64_t end_us, int64_t replaced_by, struct records *records, struct error *err)
{
	struct detected_job **jobs = array_grow(records->jobs, records->count, &records->job_capacity, sizeof(*jobs));
	struct detected_record *record;

	if (!jobs)
		return err_nomem(err);
	records->jobs = jobs;
	jobs[records->count] = job;
	record = array_add(&records->list, &records->count, &records->capacity, sizeof(*record));
	if (!record)
		return err_nomem(err);
	*record = (struct detected_record){
		.number = job->number, .id = make_id(step, sweep, job), .hosts = list_hosts(step, job),
		.confidence = job->confidence,
		.begin_us = wall_of(sweep, job->begin_us), .begin_boot_us = job->begin_us,
		.end_us = end_us ? wall_of(sweep, end_us) : 0, .end_boot_us = end_us, .replaced_by = replaced_by,
	};
	return record->id && record->hosts ? 0 : err_nomem(err);
}

static void log_record(const struct detected_record *record, bool is_new)
{
	if (is_new)
		log_info("job %s was found in the traffic of %s, confidence %.0f %%", record->id, record->hosts,
			 100 * record->confidence);
	else if (record->end_us)
		log_info("job %s has %s", record->id, record->replaced_by ? "been replaced by one that was begun" :
			 "ended");
}

/* A failure is repaired by the next change; jobs without a row are stored with the next sweep. */
static void store_records(struct records *records, const struct sink *sink)
{
	struct error cause = { 0 };

	if (!records->count)
		return;
	if (sink->store_detected(sink->ctx, records->list, records->count, &cause) < 0) {
		log_warning("jobs that were found in the traffic were not stored: %s", cause.text);
		return;
	}
	for (size_t i = 0; i < records->count; i++) {
		log_record(&records->list[i], !records->jobs[i] || !records->jobs[i]->number);
		if (records->jobs[i])
			records->jobs[i]->number = records->list[i].number;
	}
}

/* --- running jobs --- */

/* A job that an earlier collector found, and that has not ended. */
static int restore_job(struct detect_step *step, const struct sweep *sweep, const struct running_job *row,
		       struct error *err)
{
	struct host_set set = { 0 };
	struct detected_job job = {
		.number = row->number, .confidence = row->confidence, .begin_known = true,
		.begin_us = sweep->start_us - (sweep->wall_us - row->begin_us), .last_us = sweep->start_us,
	};
	int code = host_set_add(&set, row->hosts, err);

	if (code != ERR_NOMEM)
		code = 0;
	job.hosts = calloc(set.count + 1, sizeof(*job.hosts));
	if (!job.hosts)
		code = err_nomem(err);
	for (size_t i = 0; code == 0 && i < set.count; i++)
		code = find_host(step, set.names[i], &job.hosts[job.host_count++], err);
	job.first_host = job.host_count ? job.hosts[0] : 0;
	if (code == 0 && job.host_count)
		code = job_detect_restore(step->detect, &job, err);
	free(job.hosts);
	host_set_done(&set);
	return code;
}

static const struct running_job *find_running(const struct running_jobs *running, int64_t number)
{
	for (size_t i = 0; i < running->count; i++)
		if (running->list[i].number == number)
			return &running->list[i];
	return NULL;
}

/* A begun job on one of its hosts; 0: none */
static int64_t announced_on(const struct detect_step *step, const struct detected_job *job)
{
	for (size_t i = 0; i < job->host_count; i++)
		if (step->hosts[job->hosts[i]].announced)
			return step->hosts[job->hosts[i]].announced;
	return 0;
}

/* Jobs that were begun replace those that were found; a job that another process has ended is none any more. */
static int follow_running(struct detect_step *step, const struct sweep *sweep, const struct running_jobs *running,
			  bool other_jobs, const struct sink *sink, struct error *err)
{
	size_t count;
	struct detected_job *jobs;
	struct records records = { 0 };
	int code = 0;

	for (size_t i = 0; code == 0 && !step->restored && i < running->count; i++)
		if (is_detected(&running->list[i]))
			code = restore_job(step, sweep, &running->list[i], err);
	step->restored = true;
	jobs = job_detect_jobs(step->detect, &count);
	for (size_t i = 0; code == 0 && i < count; i++) {
		int64_t by = announced_on(step, &jobs[i]);

		if (by && jobs[i].number)
			code = add_record(step, sweep, &jobs[i], sweep->start_us, by, &records, err);
	}
	if (code == 0)
		store_records(&records, sink);
	free_records(&records);
	for (size_t i = count; code == 0 && i-- > 0;) {
		if (announced_on(step, &jobs[i]))
			job_detect_drop(step->detect, jobs[i].id);
		else if (other_jobs && jobs[i].number && running->count < RUNNING_MOST &&
			 !find_running(running, jobs[i].number))
			job_detect_dismiss(step->detect, jobs[i].id);
	}
	return code;
}

/* --- traffic --- */

static void add_port(struct detect_host *host, double xmit_bytes_per_s, double rcv_bytes_per_s, int64_t elapsed_us)
{
	host->ports++;
	host->xmit_bytes_per_s += xmit_bytes_per_s;
	host->rcv_bytes_per_s += rcv_bytes_per_s;
	host->elapsed_us = elapsed_us > host->elapsed_us ? elapsed_us : host->elapsed_us;
}

/* Sums of the ports of each host. Without HCAs, the switch port at the other end receives what an HCA sends. */
static void add_ports(struct detect_step *step, const struct sweep *sweep)
{
	for (size_t i = 0; i < sweep->sample_count; i++) {
		const struct port_sample *sample = &sweep->samples[i];
		const struct port *port = &sweep->fabric->ports[sample->port];
		uint32_t at = step->switches_only ? port->peer : sample->port;
		uint32_t number = at == FABRIC_NONE ? NO_HOST : step->host_of[at];
		double xmit, rcv;

		if (number == NO_HOST || !sample->delta)
			continue;
		xmit = rate_bytes_per_s(sample->delta, COUNTER_XMIT_DATA).value;
		rcv = rate_bytes_per_s(sample->delta, COUNTER_RCV_DATA).value;
		if (isnan(xmit) || isnan(rcv))
			continue;
		add_port(&step->hosts[number], step->switches_only ? rcv : xmit, step->switches_only ? xmit : rcv,
			 sample->delta->elapsed_us);
	}
}

static int search(struct detect_step *step, const struct sweep *sweep, struct error *err)
{
	struct detect_reading *readings = calloc(step->host_count + 1, sizeof(*readings));
	size_t count = 0;
	int code;

	if (!readings)
		return err_nomem(err);
	for (size_t i = 0; i < step->host_count; i++) {
		struct detect_host *host = &step->hosts[i];

		host->xmit_bytes_per_s = host->rcv_bytes_per_s = 0;
		host->ports_before = host->ports;
		host->ports = 0;
		host->elapsed_us = 0;
	}
	add_ports(step, sweep);
	for (size_t i = 0; i < step->host_count; i++) {
		const struct detect_host *host = &step->hosts[i];
		double elapsed_s = (double)host->elapsed_us / 1e6;

		/* The sum lacks a port that has just become unreadable. */
		if (!host->ports || host->ports < host->ports_before)
			continue;
		readings[count++] = (struct detect_reading){
			.host = (uint32_t)i, .elapsed_us = host->elapsed_us, .announced = host->announced,
			.xmit_bytes = host->xmit_bytes_per_s * elapsed_s,
			.rcv_bytes = host->rcv_bytes_per_s * elapsed_s,
		};
	}
	code = job_detect_step(step->detect, sweep->start_us, readings, count, err);
	free(readings);
	return code;
}

static int store_changes(struct detect_step *step, const struct sweep *sweep, const struct sink *sink,
			 struct error *err)
{
	struct records records = { 0 };
	size_t count;
	struct detected_job *jobs = job_detect_jobs(step->detect, &count);
	int code = 0;

	for (size_t i = 0; code == 0 && i < count; i++) {
		bool runs = jobs[i].state == DETECTED_RUNNING, ends = !runs && jobs[i].state != DETECTED_CANDIDATE;

		/* One that was never stored, and has ended, is not stored any more. */
		if (runs ? jobs[i].changed || !jobs[i].number : ends && jobs[i].number)
			code = add_record(step, sweep, &jobs[i], ends ? jobs[i].last_us : 0, 0, &records, err);
	}
	if (code == 0)
		store_records(&records, sink);
	free_records(&records);
	return code;
}

int detect_step_run(struct detect_step *step, const struct sweep *sweep, const struct findings_step *findings,
		    const struct sink *sink, struct error *err)
{
	bool other_hosts = !step->has_hosts || step->generation != sweep->generation;
	bool other_jobs = !step->restored || step->jobs_revision != findings->jobs_revision;
	int code = 0;

	if (!step->detect || !findings->has_shape || findings->generation != sweep->generation)
		return 0;
	if (other_hosts)
		code = update_hosts(step, findings->shape, err);
	if (code == 0 && (other_hosts || other_jobs))
		code = update_announced(step, findings->shape, &findings->running, err);
	if (code == 0 && (other_hosts || other_jobs))
		code = follow_running(step, sweep, &findings->running, other_jobs, sink, err);
	if (code == 0) {
		step->has_hosts = true;
		step->generation = sweep->generation;
		step->jobs_revision = findings->jobs_revision;
		code = search(step, sweep, err);
	}
	return code == 0 ? store_changes(step, sweep, sink, err) : code;
}
