/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* job_counters.c - the time of a job, its fabric, and what each port counted */
#include <stdlib.h>
#include <string.h>

#include "base/clock.h"
#include "base/err.h"
#include "base/when.h"
#include "fabric/fabric.h"
#include "facts/snapshot_diff.h"
#include "pages/job/job_work.h"
#include "storage/reader.h"
#include "storage/saved.h"

/* Differences of the two clocks up to this are corrections by NTP, not steps. */
#define STEP_LEAST_US (2 * US_PER_S)

/* --- time --- */

static int set_times(struct job_work *work, const struct db_status *status, struct error *err)
{
	struct job_report *report = work->report;
	const struct job *job = &report->job;
	bool one_boot = !strcmp(job->begin_boot_id, job->end_boot_id);
	char span[WHEN_SIZE];

	report->begin_us = job->begin_us;
	report->end_us = job->end_us;
	if (report->running) {
		report->end_us = status->last.id ? status->last.wall_us : work->settings->now_us;
		if (report->end_us < report->begin_us)
			report->end_us = work->settings->now_us;
	}
	report->duration_us = report->end_us - report->begin_us;
	if (report->running || !job->end_boot_us)
		return report->duration_us >= 0 ? 0 :
		       job_note(report, err, "the wall clock was set back during the job");
	if (!one_boot)
		return job_note(report, err, "this host was restarted during the job: its duration is by the wall "
				"clock");
	report->duration_us = job_duration_us(job, job);
	report->clock_step_us = report->end_us - report->begin_us - report->duration_us;
	if (llabs(report->clock_step_us) < STEP_LEAST_US)
		report->clock_step_us = 0;
	if (!report->clock_step_us)
		return 0;
	return job_note(report, err, "the wall clock was set %s by %s during the job: times of day are inexact, "
			"durations and bytes are not", report->clock_step_us < 0 ? "back" : "forward",
			when_format_span(llabs(report->clock_step_us), span));
}

/* Sweeps (after, until]. A job without a sweep in between gets the one after it. */
static int find_range(struct job_work *work, const struct db_status *status, struct error *err)
{
	const struct job_report *report = work->report;
	const struct job *job = &report->job;
	int64_t newest = status->last.id, until = report->running ? newest : job->end_sweep;
	int code = reader_history_range(work->reader, report->begin_us, report->end_us, &work->range, err);

	if (code < 0)
		return code;
	work->range.after = job->begin_sweep;
	work->range.until = until && until == job->begin_sweep && until < newest ? until + 1 : until;
	if (work->range.until < work->range.after)
		work->range.until = work->range.after;
	return 0;
}

static int note_range(struct job_work *work, const struct db_status *status, struct error *err)
{
	struct job_report *report = work->report;
	char time[WHEN_SIZE];
	int64_t oldest_us = work->range.oldest_us;

	if (work->range.after == work->range.until)
		return job_note(report, err, "no sweep of a collector is stored of this time: rates over time, "
				"findings and changed links are unknown");
	report->has_history = true;
	report->interval_us = status->last.interval_us;
	if (oldest_us > report->begin_us + 2 * report->interval_us && report->job.begin_sweep)
		return job_note(report, err, "the history before %s has expired", when_format_local(oldest_us, time));
	if (oldest_us > report->begin_us + 2 * report->interval_us)
		return job_note(report, err, "no collector ran at the begin of the job: the history begins at %s",
				when_format_local(oldest_us, time));
	return 0;
}

/* --- counters from two snapshots --- */

static void delta_of(const struct difference *difference, struct delta *ret)
{
	*ret = (struct delta){ .elapsed_us = difference->elapsed_us };
	for (int i = 0; i < COUNTER_COUNT; i++) {
		const struct counted *counted = &difference->counters[i];

		if (!counted->known)
			continue;
		ret->value[i] = counted->value;
		ret->known |= COUNTER_BIT(i);
		ret->reset |= counted->reset ? COUNTER_BIT(i) : 0;
		ret->saturated |= counted->saturated ? COUNTER_BIT(i) : 0;
	}
}

static int read_snapshots(struct job_work *work, struct error *err)
{
	const struct job_report *report = work->report;
	const struct fabric *fabric = report->fabric;
	struct diff diff;
	int code = diff_init(&diff, work->reader, work->saved[0], work->saved[1], err);

	for (uint32_t i = 0; code == 0 && i < fabric->port_count; i++) {
		const struct port *port = &fabric->ports[i];
		uint32_t at = fabric_find_port(work->saved[1]->fabric, fabric->nodes[port->node].guid, port->num);

		if (at != FABRIC_NONE)
			delta_of(&diff.ports[at].difference, &work->deltas[i]);
	}
	for (size_t i = 0; code == 0 && i < diff.port_count; i++) {
		uint32_t index;
		const struct fabric *of = diff_fabric(&diff, &diff.ports[i], &index);

		if (diff.ports[i].after == FABRIC_NONE && of->nodes[of->ports[index].node].type == NODE_CA)
			work->hca_left = true;
	}
	if (code == 0)
		diff_done(&diff);
	return code;
}

/* --- counters from the history --- */

static int read_history(struct job_work *work, struct error *err)
{
	const struct fabric *fabric = work->report->fabric;
	struct history_port *ports = calloc(fabric->port_count + 1, sizeof(*ports));
	struct history_sum *sums = calloc(fabric->port_count + 1, sizeof(*sums));
	const struct history_query query = {
		.after = work->range.after, .until = work->range.until, .ports = ports,
		.port_count = fabric->port_count, .damage = &work->damage,
		.counters = COUNTER_TRAFFIC_SET | COUNTER_ERROR_SET,
	};
	int code = ports && sums ? 0 : err_nomem(err);

	for (uint32_t i = 0; code == 0 && i < fabric->port_count; i++)
		ports[i] = history_port_of(fabric, i);
	if (code == 0)
		code = reader_history_sums(work->reader, &query, sums, err);
	for (uint32_t i = 0; code == 0 && i < fabric->port_count; i++) {
		if (history_began_before(&work->range, sums[i].sum.elapsed_us))
			continue;
		work->deltas[i] = sums[i].sum;
		if (sums[i].sum.elapsed_us > work->longest_us)
			work->longest_us = sums[i].sum.elapsed_us;
	}
	work->longest_us = history_covered_us(&work->range, work->longest_us);
	free(ports);
	free(sums);
	return code;
}

/* --- the fabric --- */

/* Snapshots that another process removed, or that are of a command that was killed, are missing. */
static int load_saved(struct job_work *work, struct error *err)
{
	const struct job *job = &work->report->job;
	int code;

	if (!job->begin_snapshot || !job->end_snapshot || work->report->running)
		return 0;
	code = saved_load_two(work->reader, (int64_t[]){ job->begin_snapshot, job->end_snapshot },
			      work->settings->names, work->saved, err);
	return code == ERR_UNAVAILABLE ? 0 : code;
}

static int load_fabric(struct job_work *work, struct error *err)
{
	struct job_report *report = work->report;
	const struct snapshot_query query = {
		.at_us = report->running ? 0 : report->end_us, .fabric_only = true, .names = work->settings->names,
	};
	int code = report->has_history ? snapshot_load(work->reader, &query, &work->snapshot, err) : ERR_UNAVAILABLE;

	if (code == 0) {
		work->caps = work->snapshot->caps;
		report->fabric = fabric_share(work->snapshot->fabric);
	} else if (code == ERR_UNAVAILABLE && work->saved[1]) {
		report->fabric = fabric_share(work->saved[1]->fabric);
	}
	return code == ERR_UNAVAILABLE ? 0 : code;
}

static int read_deltas(struct job_work *work, struct error *err)
{
	struct job_report *report = work->report;
	char span[WHEN_SIZE];

	work->deltas = calloc(report->fabric->port_count + 1, sizeof(*work->deltas));
	if (!work->deltas)
		return err_nomem(err);
	if (work->saved[0] && work->saved[1]) {
		report->source = JOB_SOURCE_SNAPSHOTS;
		return read_snapshots(work, err);
	}
	if (!report->has_history)
		return 0;
	report->source = JOB_SOURCE_HISTORY;
	if (job_note(report, err, "bytes are those of whole sweeps: they begin and end up to %s before the job",
		     when_format_span(report->interval_us, span)) < 0)
		return ERR_NOMEM;
	return read_history(work, err);
}

int job_read_counters(struct job_work *work, struct error *err)
{
	struct job_report *report = work->report;
	struct db_status status;
	int code = reader_status(work->reader, &status, err);

	if (code == 0)
		code = set_times(work, &status, err);
	if (code == 0)
		code = find_range(work, &status, err);
	if (code == 0)
		code = note_range(work, &status, err);
	if (code == 0)
		code = load_saved(work, err);
	if (code == 0)
		code = load_fabric(work, err);
	if (code == 0 && report->fabric)
		code = read_deltas(work, err);
	return code;
}
