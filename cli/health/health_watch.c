/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * health_watch.c - `ibwire health --watch`: print a line when a finding opens, changes or closes
 *
 * With --format json each line is one object, for alerting tools. Findings that are open at the
 * start come first, as "open". Acknowledged and drained findings are marked. Later changes are also
 * delivered to the receivers of --exec and --webhook.
 */
#include "cli/health/health.h"

#include <stdio.h>
#include <string.h>

#include "base/clock.h"
#include "base/err.h"
#include "base/log.h"
#include "base/stop.h"
#include "base/when.h"
#include "cli/health/health_notify.h"
#include "cli/lib/pager.h"
#include "cli/lib/moment_options.h"
#include "export/result.h"
#include "fabric/fabric.h"
#include "storage/reader.h"

/* Poll interval for new sweeps. */
#define POLL_US (500 * US_PER_MS)

struct watching {
	struct health_request request;
	struct moment moment;
	struct result *result;    /* of --format json or csv; NULL: text lines */
	struct health_rows open;  /* of the previous sweep */
	struct notify exec, webhook;
	bool began;
	bool stale;
};

static void print_line(const struct watching *watching, const char *change, int64_t wall_us,
		       const struct health_row *health)
{
	const struct finding *finding = &health->row.finding;
	char when[WHEN_SIZE];

	if (watching->result) {
		health_put_row(watching->result, &watching->moment, wall_us, change, health);
		return;
	}
	fprintf(watching->request.options->out, "%s  %-8s %-8s %s  %s%s%s: %s%s\n", when_format_local(wall_us, when),
		change, finding_severity_name(finding->severity), finding->subject, finding_kind_name(finding->kind),
		finding->cause[0] ? ", cause: " : "", finding->cause, finding->text,
		health->place == HEALTH_ACKNOWLEDGED ? " (acknowledged)" :
		health->place == HEALTH_DRAINED ? " (drained)" : "");
}

/* Print and deliver a change. */
static void report(struct watching *watching, const char *change, int64_t wall_us, const struct health_row *health)
{
	print_line(watching, change, wall_us, health);
	notify_add(&watching->exec, &watching->moment, wall_us, change, health);
	notify_add(&watching->webhook, &watching->moment, wall_us, change, health);
}

/* The finding of this number; NULL: none. */
static const struct health_row *find_row(const struct health_rows *rows, int64_t id)
{
	for (size_t i = 0; i < rows->count; i++)
		if (rows->list[i].row.finding.id == id)
			return &rows->list[i];
	return NULL;
}

/* A finding that another one explains is neither reported nor delivered until that closes. */
static bool is_wanted(const struct watching *watching, const struct health_row *row)
{
	return watching->request.filter.all || (row->row.finding.severity > FINDING_INFO && !row->row.origin);
}

static bool find_closing(void *ctx, const struct finding_row *row)
{
	struct finding *finding = ctx;

	if (row->finding.id != finding->id)
		return true;
	finding->closed_us = row->finding.closed_us;
	finding->last_seen_us = row->finding.last_seen_us;
	return false;
}

/* Report a closed finding with its time: several sweeps may have passed since the last poll. */
static int report_closed(struct watching *watching, struct health_row *row, int64_t before_us, struct error *err)
{
	int64_t wall_us = watching->moment.snapshot->sweep.wall_us;
	/*
	 * From the sweep before the last poll: a finding that closes in the first sweep of a window
	 * is not open in it.
	 */
	struct finding_query query = { .since_us = before_us - 1, .until_us = wall_us };
	int code = reader_findings(watching->moment.reader, &query, find_closing, &row->row.finding, err);

	if (code == 0)
		report(watching, "closed", row->row.finding.closed_us ? row->row.finding.closed_us : wall_us, row);
	return code;
}

static int report_changes(struct watching *watching, const struct health_rows *now, int64_t before_us,
			  struct error *err)
{
	int64_t wall_us = watching->moment.snapshot->sweep.wall_us;
	int code = 0;

	for (size_t i = 0; i < now->count; i++) {
		const struct health_row *row = &now->list[i];
		const struct health_row *before = find_row(&watching->open, row->row.finding.id);

		bool was_wanted = before && is_wanted(watching, before);

		if (!is_wanted(watching, row)) {
			if (was_wanted)
				report(watching, "closed", wall_us, row);
			continue;
		}
		if (!before && !watching->began)
			print_line(watching, "open", row->row.opened_us, row);
		else if (!was_wanted)
			report(watching, "opened", wall_us, row);
		else if (!before->row.finding.ok_since_us && row->row.finding.ok_since_us)
			print_line(watching, "clearing", wall_us, row);
		else if (before->row.finding.severity != row->row.finding.severity || before->place != row->place ||
			 strcmp(before->row.cause, row->row.cause))
			report(watching, "changed", wall_us, row);
	}
	for (size_t i = 0; code == 0 && i < watching->open.count; i++) {
		struct health_row *row = &watching->open.list[i];

		if (is_wanted(watching, row) && !find_row(now, row->row.finding.id))
			code = report_closed(watching, row, before_us, err);
	}
	return code;
}

/* Compare the findings of the newest sweep with the previous ones. */
static int poll_sweep(struct watching *watching, struct error *err)
{
	struct snapshot_query query = { .names = watching->moment.names };
	struct finding_query findings = { 0 };
	int64_t before_us = watching->moment.snapshot->sweep.wall_us;
	struct snapshot *snapshot;
	struct health_rows now;
	int code = snapshot_load(watching->moment.reader, &query, &snapshot, err);

	if (code < 0)
		return code;
	snapshot_destroy(watching->moment.snapshot);
	watching->moment.snapshot = snapshot;
	watching->moment.fabric = snapshot->fabric;
	code = health_load(&watching->moment, &watching->request.filter, &findings, &now, err);
	if (code < 0)
		return code;
	code = report_changes(watching, &now, before_us, err);
	/* Rows contain pointers into themselves; the list moves as a whole and stays valid. */
	health_rows_done(&watching->open);
	watching->open = now;
	watching->began = true;
	/* Selected names were valid once and may disappear. */
	watching->request.filter.may_be_unknown = true;
	return code;
}

/* Report on stderr, once, that sweeps stopped or resumed. */
static void check_age(struct watching *watching)
{
	const struct sweep_info *sweep = &watching->moment.snapshot->sweep;
	int64_t now_us = clock_wall_us(clock_system()), age_us = when_age_us(now_us, sweep->wall_us);
	bool stale = health_is_stale(sweep, age_us);
	char age[WHEN_AGE_SIZE];

	if (stale && !watching->stale)
		log_warning("the newest sweep is %s: new findings are not detected; check that ibwire collect is "
			    "running", when_format_age(now_us, sweep->wall_us, age));
	else if (!stale && watching->stale)
		log_info("sweeps resumed");
	watching->stale = stale;
}

int health_watch(const struct health_request *request, struct error *err)
{
	struct watching watching = { .request = *request };
	const struct clock *clock = clock_system();
	int64_t newest = 0, shown = -1;
	int code = options_open_moment(request->options, false, &watching.moment, err);

	pager_cancel();
	if (code < 0)
		return code;
	if (request->exec)
		notify_exec(&watching.exec, request->exec, clock);
	if (request->webhook)
		code = notify_webhook(&watching.webhook, request->webhook, clock, err);
	if (code == 0 && request->options->format != RESULT_TABLE &&
	    !(watching.result = health_result(request->options, true)))
		code = err_nomem(err);
	stop_install();
	while (code == 0 && !stop_requested()) {
		code = reader_newest(watching.moment.reader, &newest, err);
		if (code == 0 && newest != shown) {
			code = poll_sweep(&watching, err);
			shown = newest;
			/* The reader closed the pipe. */
			if (fflush(request->options->out) || ferror(request->options->out))
				break;
		}
		if (code == 0 && request->poll)
			code = request->poll(request->poll_ctx, &watching.moment, watching.result, err);
		if (code)
			break;
		check_age(&watching);
		notify_step(&watching.exec);
		notify_step(&watching.webhook);
		clock->sleep_until(clock->ctx, clock_boottime_us(clock) + POLL_US);
	}
	if (watching.result && code >= 0) {
		int finished = result_finish(watching.result, err);

		code = finished < 0 ? finished : code;
	}
	result_destroy(watching.result);
	notify_close(&watching.exec);
	notify_close(&watching.webhook);
	health_rows_done(&watching.open);
	moment_done(&watching.moment);
	return code;
}
