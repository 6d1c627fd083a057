/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* job_verdict_even.c - verdicts on uneven load of rails, uplinks and hosts */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>

#include "base/err.h"
#include "base/text.h"
#include "base/when.h"
#include "fabric/fabric.h"
#include "pages/job/job_verdict.h"
#include "pages/job/job_work.h"

/* A host is slow if the XmitWait% of the switch ports to it reaches this, and this multiple of the median. */
#define SLOW_STALL_PERCENT 5.0
#define SLOW_STALL_RATIO 3.0

/* A host above this multiple of the mean is uneven; the others are then slightly below the mean. */
#define HIGH_RATIO 1.3

static bool rails_are_uneven(const struct job_report *report)
{
	const struct job_evenness *rails = &report->over_rails;

	return rails->count > 1 &&
	       (rails->lowest_ratio < 1 - JOB_UNEVEN || rails->highest_ratio > 1 + JOB_UNEVEN);
}

bool job_host_is_uneven(const struct job_report *report, const struct job_host *host)
{
	return !rails_are_uneven(report) && job_host_takes_part(report, host) && host->ports.count > 1 &&
	       host->ports.lowest_ratio < 1 - JOB_UNEVEN;
}

void judge_rails(struct judging *judging)
{
	const struct job_report *report = judging->report;
	const struct job_evenness *rails = &report->over_rails;
	size_t count = 0;

	if (rails_are_uneven(report)) {
		judge_line(judging, JOB_VERDICT_RAILS_UNEVEN, FINDING_WARNING, "rails are uneven (cv %.2f): %.64s "
			   "carried %.0f %% of the mean, %.64s %.0f %%", rails->cv, report->rails[rails->lowest].name,
			   100 * rails->lowest_ratio, report->rails[rails->highest].name, 100 * rails->highest_ratio);
		return;
	}
	for (size_t i = 0; i < report->host_count; i++) {
		const struct job_evenness *ports = &report->hosts[i].ports;
		char low[JOB_LABEL_SIZE];

		if (!job_host_is_uneven(report, &report->hosts[i]) || count++ >= JUDGE_LINES_MOST)
			continue;
		judge_line(judging, JOB_VERDICT_RAILS_UNEVEN, FINDING_WARNING, "rails of %.128s are uneven (cv %.2f): "
			   "%s carried %.0f %% of their mean", report->hosts[i].name, ports->cv,
			   job_port_label(report, &report->ports[ports->lowest], low), 100 * ports->lowest_ratio);
	}
	if (count > JUDGE_LINES_MOST)
		judge_line(judging, JOB_VERDICT_RAILS_UNEVEN, FINDING_WARNING,
			   "and rails of %zu more host%s are uneven",
			   count - JUDGE_LINES_MOST, text_plural(count - JUDGE_LINES_MOST));
}

static void judge_group(struct judging *judging, const struct job_group *group)
{
	const struct job_report *report = judging->report;
	const struct job_uplink *hottest = group->hottest == UINT32_MAX ? NULL :
					   &report->uplinks[group->first + group->hottest];
	char since[WHEN_SIZE], expected[64] = "", when[WHEN_SIZE + 32] = "", share[96] = "";

	if (hottest && !isnan(hottest->member.destinations))
		snprintf(expected, sizeof(expected), ", the tables give it %.0f %% of the LIDs",
			 100 * hottest->member.destinations);
	if (hottest)
		snprintf(share, sizeof(share), "port %u carried %s%.0f %% of their load over the job (fair: %.0f %%)",
			 report->fabric->ports[hottest->port].num,
			 measure_is_at_least(hottest->share) ? "at least " : "", 100 * hottest->share.value,
			 100 * hottest->member.capacity);
	if (group->uneven_since_us)
		snprintf(when, sizeof(when), "; even until %s", when_format_local(group->uneven_since_us, since));
	judge_line(judging, JOB_VERDICT_ROUTING, FINDING_WARNING, "routing of %.128s is skewed: of its %u uplinks "
		   "(%s) %s%s%s%s", job_report_node_name(report, group->node), group->count,
		   group->direction == BALANCE_XMIT ? "sent" : "received", hottest ? share : "one is overloaded",
		   expected, when, group->shared ? "; the bytes include other jobs" : "");
}

size_t judge_routing(struct judging *judging)
{
	const struct job_report *report = judging->report;
	size_t count = 0;
	bool sent = false;

	/* What a leaf sends unevenly, spines receive unevenly. */
	for (size_t i = 0; i < report->group_count; i++)
		sent |= report->groups[i].skewed && report->groups[i].direction == BALANCE_XMIT;
	for (size_t i = 0; i < report->group_count; i++) {
		const struct job_group *group = &report->groups[i];

		if (group->skewed && !(sent && group->direction == BALANCE_RCV) && count++ < JUDGE_LINES_MOST)
			judge_group(judging, group);
	}
	if (count > JUDGE_LINES_MOST)
		judge_line(judging, JOB_VERDICT_ROUTING, FINDING_WARNING, "and %zu more switch%s with skewed routing",
			   count - JUDGE_LINES_MOST, count - JUDGE_LINES_MOST == 1 ? "" : "es");
	return count;
}

static double host_stall(const struct job_report *report, const struct job_host *host)
{
	double sum = 0;
	uint32_t count = 0;

	for (uint32_t i = host->first; i < host->first + host->count; i++) {
		if (!measure_is_exact(report->ports[i].peer_stall))
			continue;
		sum += report->ports[i].peer_stall.value;
		count++;
	}
	return count ? sum / count : NAN;
}

static void judge_stalled(struct judging *judging, double *values)
{
	struct job_report *report = judging->report;
	double most = 0, middle;
	size_t slowest = 0, count = 0;

	for (size_t i = 0; i < report->host_count; i++) {
		const struct job_host *host = &report->hosts[i];
		double stall = job_host_takes_part(report, host) ? host_stall(report, host) : NAN;

		if (isnan(stall))
			continue;
		values[count++] = stall;
		if (stall > most) {
			most = stall;
			slowest = i;
		}
	}
	middle = balance_median(values, count);
	if (count < 3 || most < SLOW_STALL_PERCENT || most < SLOW_STALL_RATIO * middle)
		return;
	report->slowest = (uint32_t)slowest;
	judge_line(judging, JOB_VERDICT_SLOW_HOST, FINDING_WARNING, "%.128s is the slowest host: the switch ports to "
		   "it waited %.0f %% of the time, those to the others %.1f %% (median)", report->hosts[slowest].name,
		   most, middle);
}

bool job_hosts_are_uneven(const struct job_report *report)
{
	const struct job_evenness *hosts = &report->over_hosts;

	return hosts->count > 1 && hosts->lowest != UINT32_MAX &&
	       report->hosts[hosts->lowest].used >= report->hosts[hosts->highest].used &&
	       (hosts->lowest_ratio < 1 - JOB_UNEVEN || hosts->highest_ratio > HIGH_RATIO);
}

void judge_slowest(struct judging *judging)
{
	struct job_report *report = judging->report;
	const struct job_evenness *hosts = &report->over_hosts;
	double *values = calloc(report->host_count + 1, sizeof(*values));

	if (!values) {
		judging->code = err_nomem(judging->err);
		return;
	}
	judge_stalled(judging, values);
	free(values);
	if (!job_hosts_are_uneven(report))
		return;
	if (report->slowest == UINT32_MAX && hosts->lowest_ratio < 1 - JOB_UNEVEN)
		report->slowest = hosts->lowest;
	judge_line(judging, JOB_VERDICT_SLOW_HOST, FINDING_WARNING, "hosts are uneven (cv %.2f): %.128s carried %.0f "
		   "%% of the mean, %.128s %.0f %%", hosts->cv, report->hosts[hosts->lowest].name,
		   100 * hosts->lowest_ratio, report->hosts[hosts->highest].name, 100 * hosts->highest_ratio);
}
