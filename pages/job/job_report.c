/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* job_report.c - the report of a job: its steps, and its memory */
#include "pages/job_report.h"

#include <math.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/err.h"
#include "base/text.h"
#include "fabric/fabric.h"
#include "fabric/shape.h"
#include "facts/port_facts.h"
#include "pages/job/job_work.h"
#include "storage/reader.h"
#include "storage/saved.h"

/* --- memory --- */

struct job_piece {
	struct job_piece *next;
	max_align_t bytes[];
};

void *job_alloc(struct job_report *report, size_t count, size_t size)
{
	struct job_piece *piece = calloc(1, sizeof(*piece) + (count + 1) * size);

	if (!piece)
		return NULL;
	piece->next = report->memory;
	report->memory = piece;
	return piece->bytes;
}

char *job_text(struct job_report *report, const char *fmt, ...)
{
	char *chars, *ret;
	va_list args;
	int len;

	va_start(args, fmt);
	len = vasprintf(&chars, fmt, args);
	va_end(args);
	if (len < 0)
		return NULL;
	ret = job_alloc(report, (size_t)len + 1, 1);
	if (ret)
		memcpy(ret, chars, (size_t)len + 1);
	free(chars);
	return ret;
}

void *job_grow(struct job_report *report, void *array, size_t *count, size_t size)
{
	char *list, *moved;

	/* Capacities are powers of two; former arrays remain until the report is freed. */
	memcpy(&list, array, sizeof(list));
	if ((*count & (*count - 1)) == 0) {
		moved = job_alloc(report, *count ? 2 * *count : 1, size);
		if (!moved)
			return NULL;
		if (*count)
			memcpy(moved, list, *count * size);
		memcpy(array, &moved, sizeof(moved));
		list = moved;
	}
	return list + (*count)++ * size;
}

int job_note(struct job_report *report, struct error *err, const char *fmt, ...)
{
	char line[512], **note;
	va_list args;

	va_start(args, fmt);
	vsnprintf(line, sizeof(line), fmt, args);
	va_end(args);
	note = job_grow(report, &report->notes, &report->note_count, sizeof(*note));
	if (note)
		*note = job_text(report, "%s", line);
	return note && *note ? 0 : err_nomem(err);
}

/* --- numbers --- */

void job_add_known(double *sum, double more)
{
	*sum = facts_sum(*sum, more);
}

double job_bytes(const struct job_sum *sum)
{
	return sum->known ? (double)sum->xmit_bytes + (double)sum->rcv_bytes : NAN;
}

struct measure job_mean(const struct job_sum *sum)
{
	return measure_max(sum->mean_xmit, sum->mean_rcv);
}

struct measure job_peak(const struct job_sum *sum)
{
	return measure_max(sum->peak_xmit, sum->peak_rcv);
}

bool job_is_exact(const struct job_sum *sum)
{
	return measure_is_exact(sum->mean_xmit) && measure_is_exact(sum->mean_rcv);
}

void job_evenness_of(const double *values, size_t count, struct job_evenness *ret)
{
	double sum = 0, squares = 0, mean;

	*ret = (struct job_evenness){ .cv = NAN, .lowest = UINT32_MAX, .highest = UINT32_MAX,
				      .lowest_ratio = NAN, .highest_ratio = NAN };
	for (size_t i = 0; i < count; i++) {
		if (isnan(values[i]))
			continue;
		ret->count++;
		sum += values[i];
		if (ret->lowest == UINT32_MAX || values[i] < values[ret->lowest])
			ret->lowest = (uint32_t)i;
		if (ret->highest == UINT32_MAX || values[i] > values[ret->highest])
			ret->highest = (uint32_t)i;
	}
	mean = ret->count ? sum / ret->count : 0;
	if (!(mean > 0)) {
		ret->lowest = ret->highest = UINT32_MAX;
		return;
	}
	for (size_t i = 0; i < count; i++)
		squares += isnan(values[i]) ? 0 : (values[i] / mean - 1) * (values[i] / mean - 1);
	ret->lowest_ratio = values[ret->lowest] / mean;
	ret->highest_ratio = values[ret->highest] / mean;
	if (ret->count > 1)
		ret->cv = sqrt(squares / ret->count);
}

/* --- names --- */

const char *job_verdict_name(enum job_verdict verdict)
{
	static const char *const names[JOB_VERDICT_COUNT] = {
		[JOB_VERDICT_UNKNOWN] = "unknown", [JOB_VERDICT_NO_HOSTS] = "no-hosts",
		[JOB_VERDICT_NO_TRAFFIC] = "no-traffic",
		[JOB_VERDICT_NOT_RESPONDING] = "not-responding", [JOB_VERDICT_PARTITION] = "partition",
		[JOB_VERDICT_STALLED] = "stalled", [JOB_VERDICT_NIC_UNUSED] = "nic-unused",
		[JOB_VERDICT_LINK_FAILED] = "link-failed", [JOB_VERDICT_ERRORS] = "errors",
		[JOB_VERDICT_RAILS_UNEVEN] = "rails-uneven", [JOB_VERDICT_ROUTING] = "routing",
		[JOB_VERDICT_SLOW_HOST] = "slow-host", [JOB_VERDICT_DROP] = "slower", [JOB_VERDICT_NCCL] = "nccl",
		[JOB_VERDICT_CLEAN] = "clean",
	};

	return names[verdict];
}

const char *job_report_node_name(const struct job_report *report, uint32_t node)
{
	return report->fabric->names.shown[node];
}

const char *job_report_port_name(const struct job_report *report, uint32_t port, char *ret, size_t size)
{
	const struct port *of = &report->fabric->ports[port];

	snprintf(ret, size, "%s/%u", job_report_node_name(report, of->node), of->num);
	return ret;
}

/* --- the steps --- */

static int copy_job(struct job_report *report, const struct job *job, struct error *err)
{
	report->job = *job;
	report->job.hosts = job_text(report, "%s", job->hosts ? job->hosts : "");
	report->job.command = job_text(report, "%s", job->command ? job->command : "");
	report->running = !job->end_us;
	report->all_hosts = !report->job.hosts || !*report->job.hosts;
	report->slowest = UINT32_MAX;
	return report->job.hosts && report->job.command ? 0 : err_nomem(err);
}

/* What is known of the fabric, after its counters were read. */
static int evaluate(struct job_work *work, struct error *err)
{
	struct job_report *report = work->report;
	size_t nodes = report->fabric->node_count, ports = report->fabric->port_count;
	int code = shape_create(report->fabric, work->settings->shape, &report->shape, err);

	work->port_of = job_alloc(report, ports, sizeof(*work->port_of));
	work->on_job = job_alloc(report, ports, sizeof(*work->on_job));
	work->leaf = job_alloc(report, nodes, sizeof(*work->leaf));
	work->above = job_alloc(report, nodes, sizeof(*work->above));
	work->step = job_alloc(report, ports, sizeof(*work->step));
	for (int i = 0; i < JOB_PARTS; i++)
		work->parts[i] = job_alloc(report, ports, sizeof(*work->parts[i]));
	if (!work->port_of || !work->on_job || !work->leaf || !work->above || !work->step || !work->parts[JOB_EARLY] ||
	    !work->parts[JOB_LATE])
		return err_nomem(err);
	memset(work->port_of, 0xff, ports * sizeof(*work->port_of)); /* FABRIC_NONE */
	if (code == 0)
		code = job_find_members(work, err);
	if (code == 0)
		code = job_find_uplinks(work, err);
	if (code == 0)
		code = job_read_rates(work, err);
	if (code == 0)
		code = job_judge_uplinks(work, err);
	if (code == 0)
		code = job_read_findings(work, err);
	if (code == 0)
		code = job_read_levels(work, err);
	job_sort_uplinks(work->report);
	return code;
}

static void work_done(struct job_work *work)
{
	free(work->deltas);
	if (work->snapshot)
		snapshot_destroy(work->snapshot);
	saved_destroy(work->saved[0]);
	saved_destroy(work->saved[1]);
}

int job_report_compute(struct reader *reader, const struct job *job, const struct job_report_settings *settings,
		       struct job_report **ret, struct error *err)
{
	struct job_report *report = calloc(1, sizeof(*report));
	struct job_work work = { .reader = reader, .settings = settings, .report = report };
	int code = report ? copy_job(report, job, err) : err_nomem(err);

	balance_settings_default(&work.balance);
	if (settings->balance)
		work.balance = *settings->balance;
	if (code == 0)
		code = job_read_counters(&work, err);
	if (code == 0 && report->fabric)
		code = evaluate(&work, err);
	if (code == 0)
		code = job_read_rhythm(&work, err);
	if (code == 0 && work.damage.count)
		code = job_note(report, err, "%zu pack%s of samples %s unreadable and left out; see: ibwire db check",
				work.damage.count, text_plural(work.damage.count),
				work.damage.count == 1 ? "is" : "are");
	if (code == 0)
		code = job_judge(report, err);
	work_done(&work);
	if (code < 0)
		job_report_destroy(report);
	else
		*ret = report;
	return code;
}

void job_report_forget(struct job_report *report)
{
	struct job_piece *piece;

	while ((piece = report->memory)) {
		report->memory = piece->next;
		free(piece);
	}
}

void job_report_destroy(struct job_report *report)
{
	if (!report)
		return;
	shape_destroy(report->shape);
	fabric_destroy((struct fabric *)(uintptr_t)report->fabric);
	job_report_forget(report);
	free(report);
}
