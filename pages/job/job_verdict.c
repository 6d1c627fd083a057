/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* job_verdict.c - what stands out in a job, most important first */
#include <inttypes.h>
#include <math.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#include "analysis/rate.h"
#include "base/err.h"
#include "base/text.h"
#include "base/when.h"
#include "collector/events.h"
#include "export/result.h"
#include "fabric/fabric.h"
#include "pages/job/job_verdict.h"
#include "pages/job/job_work.h"

/* Maximum peak of a port that carried no data; errors per hour of a link that are a warning without a collector. */
#define IDLE_PEAK_BYTES_PER_S 1e6
#define ERRORS_PER_HOUR 10

void judge_line(struct judging *judging, enum job_verdict verdict, enum finding_severity severity, const char *fmt, ...)
{
	struct job_report *report = judging->report;
	struct job_line *line;
	char text[1024];
	va_list args;

	va_start(args, fmt);
	vsnprintf(text, sizeof(text), fmt, args);
	va_end(args);
	line = job_grow(report, &report->verdict, &report->verdict_count, sizeof(*line));
	if (line)
		*line = (struct job_line){ verdict, severity, job_text(report, "%s", text) };
	if (!line || !line->text)
		judging->code = err_nomem(judging->err);
}

const char *job_port_label(const struct job_report *report, const struct job_port *port, char ret[JOB_LABEL_SIZE])
{
	char name[JOB_LABEL_SIZE];

	if (port->rail == UINT32_MAX)
		return job_report_port_name(report, port->port, ret, JOB_LABEL_SIZE);
	snprintf(name, sizeof(name), "%s", report->rails[port->rail].name);
	snprintf(ret, JOB_LABEL_SIZE, "%.64s of %.128s", name, report->hosts[port->host].name);
	return ret;
}

/* --- nothing known, no hosts, no traffic --- */

static bool is_unknown(struct judging *judging)
{
	const struct job_report *report = judging->report;

	if (!report->fabric || report->source == JOB_SOURCE_NONE)
		judge_line(judging, JOB_VERDICT_UNKNOWN, FINDING_WARNING, "nothing is known of its traffic: the "
			   "database has neither both of its snapshots nor sweeps of a collector of its time");
	else if (report->port_count && !report->total.known)
		judge_line(judging, JOB_VERDICT_UNKNOWN, FINDING_WARNING, "nothing is known of its traffic: none of "
			   "the %zu port%s of its hosts was read", report->port_count, text_plural(report->port_count));
	return report->verdict_count;
}

static bool has_no_hosts(struct judging *judging)
{
	const struct job_report *report = judging->report;
	const char *first = NULL;
	size_t missing = 0;

	for (size_t i = 0; i < report->host_count; i++) {
		missing += report->hosts[i].missing;
		first = report->hosts[i].missing && !first ? report->hosts[i].name : first;
	}
	if (!report->port_count)
		judge_line(judging, JOB_VERDICT_NO_HOSTS, FINDING_WARNING, "none of its hosts was in the "
			   "fabric%s%.128s", first ? ": " : "", first ? first : "");
	else if (missing)
		judge_line(judging, JOB_VERDICT_NO_HOSTS, FINDING_WARNING, "%zu of its %zu host%s %s not in the fabric"
			   "%s: %.128s%s", missing, report->host_count, text_plural(report->host_count),
			   report->running ? missing == 1 ? "is" : "are" : missing == 1 ? "was" : "were",
			   report->running ? "" : " at its end", first,
			   missing > 1 ? " ..." : "");
	return !report->port_count;
}

static bool is_idle(const struct job_port *port)
{
	return (!port->sum.known || job_is_exact(&port->sum)) &&
	       !(job_mean(&port->sum).value >= JOB_IDLE_BYTES_PER_S) &&
	       !(job_peak(&port->sum).value >= IDLE_PEAK_BYTES_PER_S);
}

static bool has_no_traffic(struct judging *judging)
{
	const struct job_report *report = judging->report;
	char bytes[32], span[WHEN_SIZE];

	for (size_t i = 0; i < report->port_count; i++)
		if (!is_idle(&report->ports[i]))
			return false;
	judge_line(judging, JOB_VERDICT_NO_TRAFFIC, FINDING_WARNING, "not over InfiniBand: the %u HCA port%s of its "
		   "hosts carried %s in %s; it used TCP over Ethernet, or did not communicate", report->total.known,
		   text_plural(report->total.known),
		   result_format_bytes(job_bytes(&report->total), bytes, sizeof(bytes)),
		   when_format_span(report->duration_us, span));
	return true;
}

/* --- unused ports --- */

bool job_host_takes_part(const struct job_report *report, const struct job_host *host)
{
	return !host->missing && host->count && host->sum.known && (!report->all_hosts || host->used);
}

static uint32_t count_unused(const struct job_report *report, uint32_t rail, uint32_t *ret_all)
{
	uint32_t unused = 0;

	*ret_all = 0;
	for (size_t i = 0; i < report->port_count; i++) {
		const struct job_port *port = &report->ports[i];

		if (port->rail != rail || !report->hosts[port->host].used)
			continue;
		unused += port->unused;
		++*ret_all;
	}
	return unused;
}

/* A rail that no host uses is one line. */
static void judge_unused_rails(struct judging *judging)
{
	struct job_report *report = judging->report;
	char names[201] = "";
	size_t unused = 0, slower = 0, len = 0;
	uint32_t ports;

	for (size_t i = 0; i < report->rail_count; i++) {
		struct job_rail *rail = &report->rails[i];

		rail->unused = count_unused(report, (uint32_t)i, &ports) == ports && ports > 1;
		if (!rail->unused)
			continue;
		if (len < sizeof(names))
			len += (size_t)snprintf(names + len, sizeof(names) - len, "%s%s", unused ? ", " : "",
						rail->name);
		unused++;
		slower += rail->slower;
	}
	if (unused)
		judge_line(judging, JOB_VERDICT_NIC_UNUSED, unused > slower ? FINDING_WARNING : FINDING_INFO,
			   "%zu of %zu rail%s unused: %s carried nothing on any of its hosts", unused,
			   report->rail_count, text_plural(report->rail_count), names);
}

/* Is a port unused on a rail that other hosts use? */
static bool is_unused(const struct job_report *report, const struct job_port *port)
{
	return port->unused && !(port->rail != UINT32_MAX && report->rails[port->rail].unused);
}

static void judge_unused_port(struct judging *judging, const struct job_port *port)
{
	const struct job_report *report = judging->report;
	const struct job_host *host = &report->hosts[port->host];
	char name[JOB_LABEL_SIZE], bytes[32], others[32];

	judge_line(judging, JOB_VERDICT_NIC_UNUSED, FINDING_WARNING, "%s was not used: %s%s, while the other %u HCA "
		   "port%s of the host carried %s each", job_port_label(report, port, name),
		   port->sum.known ? result_format_bytes(job_bytes(&port->sum), bytes, sizeof(bytes)) : "nothing known",
		   port->down ? " (its link is down)" : "", host->used, host->used == 1 ? "" : "s",
		   result_format_bytes(job_bytes(&host->sum) / host->used, others, sizeof(others)));
}

static void judge_unused(struct judging *judging)
{
	const struct job_report *report = judging->report;
	size_t count = 0;

	judge_unused_rails(judging);
	for (size_t i = 0; i < report->host_count; i++) {
		const struct job_host *host = &report->hosts[i];

		if (!report->all_hosts && job_is_exact(&host->sum) && !host->used && count++ < JUDGE_LINES_MOST)
			judge_line(judging, JOB_VERDICT_NIC_UNUSED, FINDING_WARNING, "%.128s carried nothing, while "
				   "other hosts of the job did", host->name);
	}
	for (size_t i = 0; i < report->port_count; i++) {
		const struct job_port *port = &report->ports[i];

		if (is_unused(report, port) && count++ < JUDGE_LINES_MOST)
			judge_unused_port(judging, port);
	}
	if (count > JUDGE_LINES_MOST)
		judge_line(judging, JOB_VERDICT_NIC_UNUSED, FINDING_WARNING, "and %zu more HCA port%s %s not used",
			   count - JUDGE_LINES_MOST, text_plural(count - JUDGE_LINES_MOST),
			   count - JUDGE_LINES_MOST == 1 ? "was" : "were");
}

/* --- links, errors --- */

static enum job_verdict verdict_of(enum finding_kind kind)
{
	/* JOB_VERDICT_COUNT: shown in other lines, or no property of the job. */
	static const enum job_verdict verdicts[FINDING_KIND_COUNT] = {
		[FINDING_LINK_DOWN] = JOB_VERDICT_LINK_FAILED, [FINDING_LINK_DEGRADED] = JOB_VERDICT_LINK_FAILED,
		[FINDING_LINK_FLAPPING] = JOB_VERDICT_LINK_FAILED, [FINDING_NODE_MISSING] = JOB_VERDICT_LINK_FAILED,
		[FINDING_LINK_NOT_ACTIVE] = JOB_VERDICT_LINK_FAILED,
		[FINDING_HOST_RESTART] = JOB_VERDICT_LINK_FAILED, [FINDING_RAIL_IMBALANCE] = JOB_VERDICT_COUNT,
		[FINDING_NIC_UNUSED] = JOB_VERDICT_COUNT, [FINDING_COVERAGE] = JOB_VERDICT_COUNT,
		[FINDING_NODE_SILENT] = JOB_VERDICT_COUNT, [FINDING_ROUTES_CHANGED] = JOB_VERDICT_COUNT,
		[FINDING_COUNTER_SATURATED] = JOB_VERDICT_COUNT, [FINDING_RAIL_MISWIRED] = JOB_VERDICT_COUNT,
		[FINDING_LOCKED] = JOB_VERDICT_COUNT, [FINDING_COUNTERS_CLEARED] = JOB_VERDICT_COUNT,
		[FINDING_UPLINKS_MISSING] = JOB_VERDICT_COUNT, [FINDING_TOPOLOGY_CHANGED] = JOB_VERDICT_COUNT,
		[FINDING_UPLINK_IMBALANCE] = JOB_VERDICT_ROUTING, [FINDING_BLACK_HOLE] = JOB_VERDICT_ROUTING,
		[FINDING_CONGESTION] = JOB_VERDICT_SLOW_HOST, [FINDING_TRAFFIC_FELL] = JOB_VERDICT_COUNT,
		[FINDING_PLAN_DIFFERS] = JOB_VERDICT_COUNT, [FINDING_FIRMWARE_MIXED] = JOB_VERDICT_COUNT,
		[FINDING_CABLE_HOT] = JOB_VERDICT_COUNT, [FINDING_JOB_STALLED] = JOB_VERDICT_STALLED,
		[FINDING_JOB_SLOWER] = JOB_VERDICT_DROP, [FINDING_PARTITION] = JOB_VERDICT_PARTITION,
	};

	return verdicts[kind] ? verdicts[kind] : JOB_VERDICT_ERRORS;
}

/* A finding that was open before the job is its fault by what the job's own time added. */
static void judge_finding(struct judging *judging, enum job_verdict verdict, const struct job_finding *finding)
{
	char since[WHEN_SIZE], count[64] = "";

	when_format_local(finding->since_us, since);
	if (finding->before && finding->counted)
		snprintf(count, sizeof(count), "%" PRIu64 " error%s during the job; ", finding->errors,
			 text_plural(finding->errors));
	judge_line(judging, verdict, finding->past ? FINDING_INFO : finding->severity, "%s %s: %s%s, since %s%s%s",
		   finding->subject, finding_kind_name(finding->kind), finding->past ? "" : count, finding->text,
		   since, finding->before ? " (before the job)" : "",
		   !finding->past ? "" : finding->counted || finding_counts_errors(finding->kind) ?
		   "; no increase during the job" : "; over before the job");
}

/* Return: the number of those that the job has; others are notes. */
static size_t judge_findings(struct judging *judging, enum job_verdict verdict)
{
	const struct job_report *report = judging->report;
	size_t count = 0, held = 0;

	for (size_t i = 0; i < report->finding_count; i++) {
		const struct job_finding *finding = &report->findings[i];

		if (!finding->on_job || finding->severity < FINDING_WARNING || verdict_of(finding->kind) != verdict)
			continue;
		held += !finding->past;
		if (count++ < JUDGE_LINES_MOST)
			judge_finding(judging, verdict, finding);
	}
	if (count > JUDGE_LINES_MOST)
		judge_line(judging, verdict, held > JUDGE_LINES_MOST ? FINDING_WARNING : FINDING_INFO,
			   "and %zu more finding%s of this kind on its links", count - JUDGE_LINES_MOST,
			   text_plural(count - JUDGE_LINES_MOST));
	return held;
}

/*
 * A node that did not respond, or refused queries: what its ports counted is known from the other ends of its links
 * only, or not at all.
 */
static void judge_silent(struct judging *judging)
{
	const struct job_report *report = judging->report;
	char since[WHEN_SIZE];
	size_t count = 0;

	for (size_t i = 0; i < report->finding_count; i++) {
		const struct job_finding *finding = &report->findings[i];

		if (!finding->on_job || finding->kind != FINDING_NODE_SILENT || finding->past ||
		    finding->severity < FINDING_WARNING || count++ >= JUDGE_LINES_MOST)
			continue;
		judge_line(judging, JOB_VERDICT_NOT_RESPONDING, finding->severity, "%.128s %s from %s%s (its "
			   "traffic is known from the other ends of its links, or unknown)", finding->subject,
			   finding->refusal ? "refused queries" : "did not respond",
			   when_format_local(finding->since_us, since), finding->before ? ", before the job" : "");
	}
	if (count > JUDGE_LINES_MOST)
		judge_line(judging, JOB_VERDICT_NOT_RESPONDING, FINDING_WARNING, "and %zu more node%s did not respond "
			   "or refused queries", count - JUDGE_LINES_MOST, text_plural(count - JUDGE_LINES_MOST));
}

/* Changes without a finding: they were too short for one, or no collector ran. */
static void judge_link_events(struct judging *judging)
{
	const struct job_report *report = judging->report;
	char time[WHEN_SIZE];
	size_t count = 0;

	for (size_t i = 0; i < report->event_count; i++) {
		const struct job_event *event = &report->events[i];

		if (!event->on_job || !event->bad || (strcmp(event->kind, EVENT_LINK_DOWN) != 0 &&
		    strcmp(event->kind, EVENT_LINK_RATE) != 0 && strcmp(event->kind, EVENT_LINK_STATE) != 0 &&
		    strcmp(event->kind, EVENT_NODE_REMOVED) != 0 && strcmp(event->kind, EVENT_PEER_CHANGED) != 0) ||
		    count++ >= JUDGE_LINES_MOST)
			continue;
		if (event->wall_us)
			judge_line(judging, JOB_VERDICT_LINK_FAILED, FINDING_WARNING, "%s at %s", event->text,
				   when_format_local(event->wall_us, time));
		else
			judge_line(judging, JOB_VERDICT_LINK_FAILED, FINDING_WARNING, "%s during the job", event->text);
	}
	if (count > JUDGE_LINES_MOST)
		judge_line(judging, JOB_VERDICT_LINK_FAILED, FINDING_WARNING, "and %zu more change%s of its links",
			   count - JUDGE_LINES_MOST, text_plural(count - JUDGE_LINES_MOST));
}

static bool has_errors(const struct job_report *report, const struct job_sum *sum)
{
	return (double)sum->errors >= ERRORS_PER_HOUR * fmax(1, (double)report->duration_us / 3.6e9);
}

/* Errors without a finding: a warning only if no collector ran, which would have opened one. */
static void judge_errors(struct judging *judging)
{
	const struct job_report *report = judging->report;
	const struct job_port *most = NULL;
	char name[JOB_LABEL_SIZE];
	size_t links = 0;

	for (size_t i = 0; i < report->port_count; i++) {
		const struct job_port *port = &report->ports[i];

		links += port->sum.errors > 0;
		if (port->sum.errors && (!most || port->sum.errors > most->sum.errors))
			most = port;
	}
	if (!most)
		return;
	judge_line(judging, JOB_VERDICT_ERRORS, !report->has_history && has_errors(report, &most->sum) ?
		   FINDING_WARNING : FINDING_INFO, "%" PRIu64 " error%s on %zu of its %zu host links, most on %s: "
		   "%" PRIu64,
		   report->total.errors, report->total.errors == 1 ? "" : "s", links, report->port_count,
		   job_port_label(report, most, name), most->sum.errors);
}

unsigned job_host_stands_out(const struct job_report *report, size_t index)
{
	const struct job_host *host = &report->hosts[index];
	const struct job_evenness *hosts = &report->over_hosts;
	bool is_unlike = job_hosts_are_uneven(report) && (index == hosts->lowest || index == hosts->highest);

	if (host->missing)
		return 2;
	if (!host->used)
		return !job_is_exact(&host->sum) || report->all_hosts ||
		       report->verdict[0].verdict == JOB_VERDICT_NO_TRAFFIC ? 0 : 2;
	for (uint32_t i = host->first; i < host->first + host->count; i++)
		is_unlike |= is_unused(report, &report->ports[i]);
	return is_unlike || index == report->slowest ? 2 :
	       has_errors(report, &host->sum) || job_host_is_uneven(report, host);
}

/* --- in total --- */

/* The worst finding that opened during the job and is not on its links; NULL: none. */
static const struct job_finding *find_elsewhere(const struct job_report *report)
{
	for (size_t i = 0; i < report->finding_count; i++) {
		const struct job_finding *finding = &report->findings[i];

		if (!finding->on_job && !finding->before && finding->severity >= FINDING_WARNING)
			return finding;
	}
	return NULL;
}

/* A job that slows down may just be finishing; a fault elsewhere at that time is the probable cause. */
static void judge_drop(struct judging *judging)
{
	const struct job_report *report = judging->report;
	const struct job_finding *elsewhere = find_elsewhere(report);
	double early = measure_exact(report->total.part[JOB_EARLY]);
	double late = measure_exact(report->total.part[JOB_LATE]);
	char before[32], after[32], span[WHEN_SIZE], since[WHEN_SIZE], other[320] = "";

	if (!(late < (1 - JOB_UNEVEN) * early))
		return;
	if (elsewhere)
		snprintf(other, sizeof(other), "; elsewhere in the fabric: %s %s since %s",
			 finding_kind_name(elsewhere->kind), elsewhere->subject,
			 when_format_local(elsewhere->since_us, since));
	when_format_span(report->part_until_us[JOB_LATE] - report->part_from_us[JOB_LATE], span);
	judge_line(judging, JOB_VERDICT_DROP, report->running || elsewhere ? FINDING_WARNING : FINDING_INFO,
		   "slower: in the last %s its ports moved %s, before that %s%s", span,
		   rate_format_bits(late, after, sizeof(after)), rate_format_bits(early, before, sizeof(before)),
		   other);
}

static void judge_clean(struct judging *judging)
{
	struct job_report *report = judging->report;
	size_t hosts = 0, worst = 0;
	char bytes[32], mean[32], cv[32] = "";
	struct measure rate = measure_scale(job_mean(&report->total),
					    1.0 / (report->total.known - report->ports_unused));
	const struct job_evenness *even = report->over_rails.count > 1 ? &report->over_rails : &report->over_hosts;

	for (size_t i = 0; i < report->verdict_count; i++)
		worst += report->verdict[i].severity > FINDING_INFO;
	if (worst)
		return;
	for (size_t i = 0; i < report->host_count; i++)
		hosts += job_host_takes_part(report, &report->hosts[i]);
	if (!isnan(even->cv))
		snprintf(cv, sizeof(cv), ", even (cv %.2f)", even->cv);
	judge_line(judging, JOB_VERDICT_CLEAN, FINDING_INFO, "clean: %zu host%s, %zu rail%s%s, %s%s, mean %s%s "
		   "per port%s", hosts, hosts == 1 ? "" : "s", report->rail_count,
		   report->rail_count == 1 ? "" : "s", cv,
		   report->total.at_least ? "at least " : "",
		   result_format_bytes(job_bytes(&report->total), bytes, sizeof(bytes)),
		   rate_format_bits(rate.value, mean, sizeof(mean)), measure_mark(rate),
		   report->total.errors ? "" : report->total.errors_at_least ? ", errors unknown in part" :
		   ", no errors");
}

/* The worst first, and of equal severity in the order of verdicts. */
static void put_first(struct job_report *report)
{
	for (size_t i = 1; i < report->verdict_count; i++)
		for (size_t j = i; j > 0; j--) {
			struct job_line *a = &report->verdict[j - 1], *b = &report->verdict[j], swap = *a;

			/* Lines that report no fault follow "clean". */
			if ((a->severity > FINDING_INFO) >= (b->severity > FINDING_INFO) &&
			    !(b->verdict == JOB_VERDICT_CLEAN && a->severity == FINDING_INFO))
				break;
			*a = *b;
			*b = swap;
		}
}

int job_judge(struct job_report *report, struct error *err)
{
	struct judging judging = { .report = report, .err = err };
	size_t stalled;

	if (is_unknown(&judging))
		return judging.code;
	if (has_no_hosts(&judging) || has_no_traffic(&judging)) {
		judge_silent(&judging);
		judge_findings(&judging, JOB_VERDICT_PARTITION);
		judge_findings(&judging, JOB_VERDICT_STALLED);
		judge_findings(&judging, JOB_VERDICT_LINK_FAILED);
		return judging.code;
	}
	judge_silent(&judging);
	judge_findings(&judging, JOB_VERDICT_PARTITION);
	stalled = judge_findings(&judging, JOB_VERDICT_STALLED);
	judge_unused(&judging);
	if (!judge_findings(&judging, JOB_VERDICT_LINK_FAILED))
		judge_link_events(&judging);
	judge_findings(&judging, JOB_VERDICT_ERRORS);
	judge_errors(&judging);
	judge_rails(&judging);
	if (!judge_routing(&judging))
		judge_findings(&judging, JOB_VERDICT_ROUTING);
	judge_slowest(&judging);
	judge_findings(&judging, JOB_VERDICT_SLOW_HOST);
	/* A finding about its traffic says more than a comparison of its parts. */
	if (!judge_findings(&judging, JOB_VERDICT_DROP) && !stalled)
		judge_drop(&judging);
	judge_clean(&judging);
	put_first(report);
	return judging.code;
}
