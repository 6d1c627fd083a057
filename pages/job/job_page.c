/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * job_page.c - the page of a job
 *
 * It begins with the verdict. Below it are the facts about the job, then its rails, hosts, uplinks, findings
 * and changes. Of large jobs text and HTML list what stands out. HTML has figures, and puts first what the
 * verdict is about.
 */
#include "config.h"

#include "pages/job/job_page.h"

#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <string.h>

#include "analysis/nccl.h"
#include "analysis/rate.h"
#include "base/err.h"
#include "base/text.h"
#include "base/when.h"
#include "fabric/fabric.h"
#include "facts/cells.h"
#include "pages/job/job_work.h"

/* Sentences of the verdict in text without --all; hosts that are all listed in HTML. */
enum { LINES_MOST = 8, HOSTS_SHOWN = 16 };

struct job_part *job_part_of(struct page *page, const struct job_report *report, bool all)
{
	struct job_part *part = page_alloc(page, 1, sizeof(*part));

	if (part)
		*part = (struct job_part){ .report = report, .all = all };
	return part;
}

const char *job_shown(const char *typed, char *ret, size_t size)
{
	struct text text = { 0 };

	/* Almost every name needs no escaping, and so no allocation, which may fail. */
	if (!text_is_plain(typed, strlen(typed)))
		text_append_escaped(&text, typed, strlen(typed));
	snprintf(ret, size, "%s", text_failed(&text) ? "?" : text.len ? text_chars(&text) : typed);
	text_done(&text);
	return ret;
}

/* --- the verdict --- */

static enum page_state state_of(enum finding_severity severity)
{
	return severity == FINDING_CRITICAL ? PAGE_CRITICAL : severity == FINDING_WARNING ? PAGE_WARNING : PAGE_INFO;
}

static const char *ending_of(const struct job *job, struct page *page)
{
	switch (job->ending) {
	case JOB_RUNNING:
	case JOB_SUSPENDED:
		return job_ending_name(job->ending);
	case JOB_REPLACED:
		return page_print(page, "never ended; closed when job %s began on its hosts", job->ended_by);
	case JOB_EXPIRED:
		return "never ended; closed because it was too old";
	default:
		return job->exit_status >= 0 ? page_print(page, "exit status %d", job->exit_status) : NULL;
	}
}

static void add_verdict(const struct job_report *report, bool all, struct page *page)
{
	const struct job *job = &report->job;
	const struct job_line *first = &report->verdict[0];
	struct page_sign *signs = page_alloc(page, report->verdict_count, sizeof(*signs));
	char id[4 * JOB_DISPLAY_SIZE], name[4 * JOB_NAME_SIZE];
	bool named = *job->name, unknown = first->verdict == JOB_VERDICT_UNKNOWN;

	if (!signs)
		return;
	job_shown(job->display_id, id, sizeof(id));
	job_shown(job->name, name, sizeof(name));
	for (size_t i = 1; i < report->verdict_count; i++)
		signs[i - 1] = (struct page_sign){ .state = state_of(report->verdict[i].severity),
						      .text = report->verdict[i].text };
	page_add(page, &(struct page_section){
		.kind = PAGE_VERDICT,
		.state = unknown ? PAGE_INFO : first->verdict == JOB_VERDICT_CLEAN ? PAGE_GOOD :
			 state_of(first->severity),
		.verdict = {
			.subject = page_print(page, named ? "job %s (%s)" : "job %s", id, name),
			.heading = page_print(page, named ? "Job %s \u00b7 %s" : "Job %s", id, name),
			.detail = ending_of(job, page), .word = unknown ? "unknown" : NULL, .sentence = first->text,
			.signs = signs, .sign_count = report->verdict_count - 1, .text_most = all ? 0 : LINES_MOST,
		},
	});
}

/* --- facts about the job --- */

static const char *time_note(const struct job_report *report, struct page *page)
{
	const struct job *job = &report->job;
	const char *ending = job->ending == JOB_RUNNING ? "still running" : ending_of(job, page);
	int64_t suspended_us = job_suspended_us(job, &(struct job){ .end_us = report->end_us });
	char from[WHEN_SIZE], until[WHEN_SIZE], span[WHEN_SIZE];
	struct text text = { 0 };

	text_appendf(&text, "%s to %s%s%s", when_format_local(report->begin_us, from),
		     when_format_local(report->end_us, until), ending ? ", " : "", ending ? ending : "");
	if (suspended_us)
		text_appendf(&text, "; suspended for %s of this time", when_format_span(suspended_us, span));
	if (job_is_detected(job))
		text_appendf(&text, "; found in the traffic, confidence %.0f %%", 100 * job->confidence);
	return page_keep(page, &text);
}

/* "alice; account physics, partition gpu, cluster alpha"; NULL: nothing is known. */
static const char *labels_value(const struct job *job, struct page *page)
{
	char shown[4 * JOB_TEXT_SIZE];
	struct text text = { 0 };

	for (int i = 0; i < JOB_LABELS; i++)
		if (*job->labels[i])
			text_appendf(&text, "%s%s %s", text.len ? ", " : "", job_label_name(i),
				     job_shown(job->labels[i], shown, sizeof(shown)));
	return text.len || text_failed(&text) ? page_keep(page, &text) : NULL;
}

static const char *hosts_note(const struct job_report *report, struct page *page)
{
	struct text text = { 0 };
	char hosts[4 * 160];

	if (report->all_hosts)
		text_append(&text, "all compute hosts");
	else
		text_appendf(&text, "%.160s%s", job_shown(report->job.hosts, hosts, sizeof(hosts)),
			     strlen(report->job.hosts) > 160 ? "..." : "");
	text_appendf(&text, ", %zu HCA port%s on %u %s, %zu rail%s", report->port_count,
		     text_plural(report->port_count), report->leaf_count,
		     report->leaf_count == 1 ? "leaf" : "leaves", report->rail_count,
		     report->rail_count == 1 ? "" : "s");
	if (report->other_count)
		text_appendf(&text, "; %zu other job%s behind the same leaves: %s%s", report->other_count,
			     report->other_count == 1 ? "" : "s", report->others[0],
			     report->other_count > 1 ? " ..." : "");
	return page_keep(page, &text);
}

static const char *bytes_value(const struct job_sum *total, struct page *page)
{
	struct text text = { 0 };

	text_append(&text, total->at_least ? "at least " : "");
	result_append_bytes(&text, job_bytes(total));
	return page_keep(page, &text);
}

static const char *bytes_note(const struct job_report *report, struct page *page)
{
	const struct job_sum *total = &report->total;
	char mean[32], peak[32], step[WHEN_SIZE];
	struct text text = { 0 };

	text_append(&text, "sent ");
	result_append_bytes(&text, (double)total->xmit_bytes);
	text_append(&text, ", received ");
	result_append_bytes(&text, (double)total->rcv_bytes);
	text_appendf(&text, "; in total mean %s%s, peak %s%s",
		     rate_format_bits(job_mean(total).value, mean, sizeof(mean)), measure_mark(job_mean(total)),
		     rate_format_bits(job_peak(total).value, peak, sizeof(peak)), measure_mark(job_peak(total)));
	if (report->peak_step_us >= 60 * INT64_C(1000000))
		text_appendf(&text, " (over %s)", when_format_span(report->peak_step_us, step));
	text_append(&text, report->source == JOB_SOURCE_SNAPSHOTS ? "; by snapshots" : "; by sweeps");
	return page_keep(page, &text);
}

static const char *parts_note(const struct job_report *report, struct page *page)
{
	char span[WHEN_SIZE] = "", rates[JOB_PARTS][32];

	if (report->running)
		when_format_span(report->part_until_us[JOB_LATE] - report->part_from_us[JOB_LATE], span);
	return page_print(page, "%s %s%s, %s%s %s%s, sent + received", report->running ? "before" : "first half",
			  rate_format_bits(report->total.part[JOB_EARLY].value, rates[0], sizeof(rates[0])),
			  measure_mark(report->total.part[JOB_EARLY]),
			  report->running ? "last " : "second half", span,
			  rate_format_bits(report->total.part[JOB_LATE].value, rates[1], sizeof(rates[1])),
			  measure_mark(report->total.part[JOB_LATE]));
}

static void add_evenness(const struct job_evenness *even, const char *name, const char *lowest, const char *highest,
			 struct page_field *ret, struct page *page)
{
	ret->name = name;
	ret->value = page_print(page, "%.2f", even->cv);
	ret->note = even->highest_ratio - even->lowest_ratio < 0.01 ? "all within 1 % of the mean" :
		    page_print(page, "%s %.0f %%, %s %.0f %% of the mean", lowest, 100 * even->lowest_ratio, highest,
			       100 * even->highest_ratio);
}

/* Adaptive routing of the leaves of the job and the switches above them. */
static void add_routing(const struct job_report *report, struct page_field *ret, struct page *page)
{
	uint32_t on = report->adaptive_on, off = report->adaptive_off, unknown = report->adaptive_unknown;
	uint32_t sum = on + off + unknown;

	ret->name = "routing";
	ret->value = unknown == sum ? "adaptive unknown" : on && off ? "adaptive in part" :
		     page_print(page, "%s%s", on ? "adaptive" : "static", unknown ? ", partly unknown" : "");
	ret->note = page_print(page, "switches: %u with adaptive routing, %u without%s, %u unknown; tables %s; %s", on,
			       off, report->adaptive_inferred ?
			       page_print(page, " (%u inferred from the load)", report->adaptive_inferred) : "",
			       unknown, report->routes_known ? "known" : "unknown",
			       report->aggregation_nodes ? page_print(page, "SHARP: %u aggregation node%s",
								      report->aggregation_nodes,
								      text_plural(report->aggregation_nodes)) :
			       "no SHARP nodes");
}

static void add_errors(const struct job_report *report, struct page_field *ret, struct page *page)
{
	const struct job_sum *total = &report->total;
	size_t unknown = 0;

	for (size_t i = 0; i < report->port_count; i++)
		unknown += report->ports[i].sum.errors_at_least;
	ret->name = "errors";
	ret->value = total->errors || !unknown ?
		     page_print(page, "%s%" PRIu64, total->errors_at_least ? "at least " : "", total->errors) :
		     page_print(page, "unknown for %zu of %zu ports, 0 elsewhere", unknown, report->port_count);
	ret->note = isnan(total->stall_percent.value) ? "XmitWait unknown" :
		    page_print(page, "XmitWait up to %.1f %%%s (estimate)", total->stall_percent.value,
			       measure_mark(total->stall_percent));
}

static const char *rhythm_value(const struct job_report *report, struct page *page)
{
	char state[JOB_RHYTHM_SIZE];

	return page_print(page, "%s", job_rhythm_state_text(&report->rhythm, state));
}

/* Facts that text and HTML have; without the notes, which HTML has at its end. */
static size_t find_facts(const struct job_report *report, struct page_field *fields, struct page *page)
{
	const struct job_sum *total = &report->total;
	const struct job_evenness *rails = &report->over_rails, *hosts = &report->over_hosts;
	double early = measure_exact(total->part[JOB_EARLY]), late = measure_exact(total->part[JOB_LATE]);
	char span[WHEN_SIZE];
	size_t count = 0, missing = 0;

	for (size_t i = 0; i < report->host_count; i++)
		missing += report->hosts[i].missing;
	when_format_span(report->duration_us, span);
	fields[count++] = (struct page_field){ .name = "time", .value = page_print(page, "%s", span),
					       .note = time_note(report, page) };
	if (report->fabric)
		fields[count++] = (struct page_field){
			.name = "hosts", .value = page_print(page, "%zu", report->host_count - missing),
			.note = hosts_note(report, page),
		};
	if (total->known) {
		fields[count++] = (struct page_field){ .name = "moved", .value = bytes_value(total, page),
						       .note = bytes_note(report, page) };
		if (!isnan(rails->cv))
			add_evenness(rails, "rail cv", report->rails[rails->lowest].name,
				     report->rails[rails->highest].name, &fields[count++], page);
		if (!isnan(hosts->cv))
			add_evenness(hosts, "host cv", report->hosts[hosts->lowest].name,
				     report->hosts[hosts->highest].name, &fields[count++], page);
		add_errors(report, &fields[count++], page);
	}
	if (!isnan(total->part[JOB_LATE].value) && total->known && report->has_history)
		fields[count++] = (struct page_field){
			.name = "trend",
			.value = early > 0 && !isnan(late) ?
				 page_print(page, "%+.0f %%", round(100 * (late / early - 1)) + 0.0) : "unknown",
			.note = parts_note(report, page),
		};
	if (report->rhythm.known)
		fields[count++] = (struct page_field){ .name = "rhythm", .value = rhythm_value(report, page),
						       .note = report->rhythm.text };
	if (report->fabric && report->port_count)
		add_routing(report, &fields[count++], page);
	return count;
}

static void add_facts(const struct job_report *report, struct page *page)
{
	enum { FACTS_MOST = 11 };
	struct page_field *fields = page_alloc(page, FACTS_MOST, sizeof(*fields)), *more;
	size_t lines = report->nccl ? report->nccl_verdict->count : 0, count = 0;
	const char *labels = labels_value(&report->job, page);

	more = page_alloc(page, 2 + report->note_count + lines, sizeof(*more));
	if (!fields || !more)
		return;
	page_add(page, &(struct page_section){ .kind = PAGE_FIELDS,
					       .fields = { fields, find_facts(report, fields, page) } });
	if (labels)
		more[count++] = (struct page_field){ .name = "batch", .value = labels };
	if (*report->job.command)
		more[count++] = (struct page_field){ .name = "command", .value = report->job.command };
	for (size_t i = 0; i < report->note_count; i++)
		more[count++] = (struct page_field){ .name = "note", .value = report->notes[i] };
	/* Its warnings are part of the verdict. */
	for (size_t i = 0; i < lines; i++)
		if (report->nccl_verdict->lines[i].severity < NCCL_WARN)
			more[count++] = (struct page_field){ .name = "nccl",
							      .value = report->nccl_verdict->lines[i].text };
	if (count)
		page_add(page, &(struct page_section){ .kind = PAGE_FIELDS, .in = PAGE_TEXT,
						       .fields = { more, count } });
}

/* --- in data --- */

enum { ID, NAME, HOSTS, COMMAND, BEGIN, END, DURATION, RUNNING, ENDING, ENDED_BY, STATUS, NUMBER, VERDICT, VERDICT_TEXT,
       SOURCE, INTERVAL, STEP, XMIT, RCV, AT_LEAST, ERRORS, MEAN_XMIT, MEAN_RCV, PEAK_XMIT, PEAK_RCV, EARLY, LATE,
       LATE_FROM, HOSTS_CV, RAILS_CV, SLOWEST, PORTS, PORTS_KNOWN, PORTS_UNUSED, LEAVES, OTHERS, ROUTES_KNOWN,
       AR_ON, AR_OFF, AR_UNKNOWN, AGGREGATION, CLOCK_STEP, NOTES, FIRST_LABEL, SUSPENDED = FIRST_LABEL + JOB_LABELS,
       CONFIDENCE, PERIOD, WIRE, TREND, PHASE, RHYTHM_TEXT, JOB_COLUMNS };

/* Rows, NULL if their cells are unknown: the report, and the same if its ports, history or fabric are known. */
enum { REPORT_ROW, KNOWN_ROW, HISTORY_ROW, FABRIC_ROW, REPORT_ROWS };

#define OF(member) COLUMN_MEMBER(struct job_report, member)
#define IF_KNOWN(member) .row = KNOWN_ROW, OF(member)
#define IF_HISTORY(member) .row = HISTORY_ROW, OF(member)
#define IF_FABRIC(member) .row = FABRIC_ROW, OF(member)

static struct measure measure_errors(const void *row)
{
	const struct job_sum *total = &((const struct job_report *)row)->total;

	return measure_of((double)total->errors, !total->errors_at_least);
}

static const struct column job_columns[JOB_COLUMNS] = {
	[ID] = { .key = "id", .kind = COLUMN_TEXT }, [NAME] = { .key = "name", .kind = COLUMN_TEXT },
	[HOSTS] = { .key = "hosts", .kind = COLUMN_TEXT }, [COMMAND] = { .key = "command", .kind = COLUMN_TEXT },
	[BEGIN] = { .key = "begin", .kind = COLUMN_TIME, OF(begin_us) }, [END] = { .key = "end", .kind = COLUMN_TIME },
	[DURATION] = { .key = "duration_us", .kind = COLUMN_SPAN_US, OF(duration_us) },
	[RUNNING] = { .key = "running", .kind = COLUMN_BOOL, OF(running) },
	[ENDING] = { .key = "ending", .kind = COLUMN_TEXT },
	[ENDED_BY] = { .key = "ended_by", .kind = COLUMN_TEXT },
	[STATUS] = { .key = "exit_status", .kind = COLUMN_INTEGER },
	[NUMBER] = { .key = "number", .kind = COLUMN_INTEGER, OF(job.number) },
	[VERDICT] = { .key = "verdict", .kind = COLUMN_TEXT },
	[VERDICT_TEXT] = { .key = "verdict_text", .kind = COLUMN_TEXT },
	[SOURCE] = { .key = "source", .kind = COLUMN_TEXT },
	[INTERVAL] = { .key = "sweep_interval_us", .kind = COLUMN_SPAN_US, IF_HISTORY(interval_us) },
	[STEP] = { .key = "peak_step_us", .kind = COLUMN_SPAN_US, IF_HISTORY(peak_step_us) },
	[XMIT] = { .key = "xmit_bytes", .kind = COLUMN_BYTES, IF_KNOWN(total.xmit_bytes) },
	[RCV] = { .key = "rcv_bytes", .kind = COLUMN_BYTES, IF_KNOWN(total.rcv_bytes) },
	[AT_LEAST] = { .key = "at_least", .kind = COLUMN_BOOL, IF_KNOWN(total.at_least) },
	[ERRORS] = { .key = "errors", .kind = COLUMN_INTEGER, .row = KNOWN_ROW, .measure = measure_errors },
	[MEAN_XMIT] = { .key = "mean_xmit_bytes_per_s", .kind = COLUMN_REAL, IF_KNOWN(total.mean_xmit) },
	[MEAN_RCV] = { .key = "mean_rcv_bytes_per_s", .kind = COLUMN_REAL, IF_KNOWN(total.mean_rcv) },
	[PEAK_XMIT] = { .key = "peak_xmit_bytes_per_s", .kind = COLUMN_REAL, IF_KNOWN(total.peak_xmit) },
	[PEAK_RCV] = { .key = "peak_rcv_bytes_per_s", .kind = COLUMN_REAL, IF_KNOWN(total.peak_rcv) },
	[EARLY] = { .key = "early_bytes_per_s", .kind = COLUMN_REAL, IF_KNOWN(total.part[JOB_EARLY]) },
	[LATE] = { .key = "late_bytes_per_s", .kind = COLUMN_REAL, IF_KNOWN(total.part[JOB_LATE]) },
	[LATE_FROM] = { .key = "late_from", .kind = COLUMN_TIME, .flags = COLUMN_NONZERO, OF(part_from_us[JOB_LATE]) },
	[HOSTS_CV] = { .key = "hosts_cv", .kind = COLUMN_REAL, IF_KNOWN(over_hosts.cv) },
	[RAILS_CV] = { .key = "rails_cv", .kind = COLUMN_REAL, IF_KNOWN(over_rails.cv) },
	[SLOWEST] = { .key = "slowest_host", .kind = COLUMN_TEXT },
	[PORTS] = { .key = "ports", .kind = COLUMN_INTEGER, IF_FABRIC(port_count) },
	[PORTS_KNOWN] = { .key = "ports_known", .kind = COLUMN_INTEGER, IF_FABRIC(total.known) },
	[PORTS_UNUSED] = { .key = "ports_unused", .kind = COLUMN_INTEGER, IF_FABRIC(ports_unused) },
	[LEAVES] = { .key = "leaves", .kind = COLUMN_INTEGER, IF_FABRIC(leaf_count) },
	[OTHERS] = { .key = "other_jobs", .kind = COLUMN_LIST },
	[ROUTES_KNOWN] = { .key = "routes_known", .kind = COLUMN_BOOL, IF_FABRIC(routes_known) },
	[AR_ON] = { .key = "adaptive_routing_on", .kind = COLUMN_INTEGER, IF_FABRIC(adaptive_on) },
	[AR_OFF] = { .key = "adaptive_routing_off", .kind = COLUMN_INTEGER, IF_FABRIC(adaptive_off) },
	[AR_UNKNOWN] = { .key = "adaptive_routing_unknown", .kind = COLUMN_INTEGER, IF_FABRIC(adaptive_unknown) },
	[AGGREGATION] = { .key = "aggregation_nodes", .kind = COLUMN_INTEGER, IF_FABRIC(aggregation_nodes) },
	[CLOCK_STEP] = { .key = "clock_step_us", .kind = COLUMN_SPAN_US, OF(clock_step_us) },
	[NOTES] = { .key = "notes", .kind = COLUMN_LIST },
	[FIRST_LABEL + JOB_CLUSTER] = { .key = "cluster", .kind = COLUMN_TEXT },
	[FIRST_LABEL + JOB_USER] = { .key = "user", .kind = COLUMN_TEXT },
	[FIRST_LABEL + JOB_ACCOUNT] = { .key = "account", .kind = COLUMN_TEXT },
	[FIRST_LABEL + JOB_PARTITION] = { .key = "partition", .kind = COLUMN_TEXT },
	[SUSPENDED] = { .key = "suspended_us", .kind = COLUMN_SPAN_US },
	[CONFIDENCE] = { .key = "confidence_percent", .kind = COLUMN_PERCENT },
	[PERIOD] = { .key = "period_s", .kind = COLUMN_REAL, OF(rhythm.period_s) },
	[WIRE] = { .key = "wire_percent", .kind = COLUMN_PERCENT, OF(rhythm.wire_percent) },
	[TREND] = { .key = "trend_percent", .kind = COLUMN_PERCENT, OF(rhythm.trend_percent) },
	[PHASE] = { .key = "phase", .kind = COLUMN_TEXT },
	[RHYTHM_TEXT] = { .key = "rhythm_text", .kind = COLUMN_TEXT, OF(rhythm.text) },
};

static void put_text(struct result *result, size_t column, const char *chars)
{
	struct text text = { 0 };

	if (*chars) {
		text_append_escaped(&text, chars, strlen(chars));
		result_text(result, column, result_chars(result, &text));
	}
	text_done(&text);
}

static void put_job(const struct job_report *report, struct result *result)
{
	const struct job *job = &report->job;

	put_text(result, ID, job->id);
	put_text(result, NAME, job->name);
	put_text(result, HOSTS, job->hosts);
	put_text(result, COMMAND, job->command);
	for (int i = 0; i < JOB_LABELS; i++)
		put_text(result, FIRST_LABEL + i, job->labels[i]);
	result_integer(result, SUSPENDED, job_suspended_us(job, &(struct job){ .end_us = report->end_us }));
	if (job_is_detected(job))
		result_real(result, CONFIDENCE, 100 * job->confidence);
	if (report->rhythm.known)
		result_text(result, PHASE, job_phase_name(report->rhythm.phase));
	cells_nonzero(result, END, report->running ? 0 : report->end_us);
	result_text(result, ENDING, job_ending_name(job->ending));
	put_text(result, ENDED_BY, job->ended_by);
	if (job->exit_status >= 0)
		result_integer(result, STATUS, job->exit_status);
	result_empty(result, NOTES);
	for (size_t i = 0; i < report->note_count; i++)
		result_item(result, NOTES, "%s", report->notes[i]);
}

static void put_totals(const struct job_report *report, struct result *result)
{
	static const char *const sources[] = { "none", "snapshots", "history" };

	result_text(result, VERDICT, job_verdict_name(report->verdict[0].verdict));
	result_text(result, VERDICT_TEXT, report->verdict[0].text);
	result_text(result, SOURCE, sources[report->source]);
	if (report->total.known && report->slowest != UINT32_MAX)
		result_text(result, SLOWEST, report->hosts[report->slowest].name);
}

static void put_about(struct result *result, const void *ctx)
{
	const struct job_report *report = ctx;
	const void *const rows[REPORT_ROWS] = {
		[REPORT_ROW] = report, [KNOWN_ROW] = report->total.known ? report : NULL,
		[HISTORY_ROW] = report->has_history ? report : NULL, [FABRIC_ROW] = report->fabric ? report : NULL,
	};

	result_fill_rows(result, rows);
	put_job(report, result);
	put_totals(report, result);
	result_empty(result, OTHERS);
	for (size_t i = 0; i < report->other_count; i++)
		result_item(result, OTHERS, "%s", report->others[i]);
	result_end_row(result);
}

enum { VERDICT_KIND, VERDICT_SEVERITY, VERDICT_SENTENCE, VERDICT_COLUMNS };

static const struct column verdict_columns[VERDICT_COLUMNS] = {
	[VERDICT_KIND] = { .key = "verdict", .kind = COLUMN_TEXT },
	[VERDICT_SEVERITY] = { .key = "severity", .kind = COLUMN_TEXT },
	[VERDICT_SENTENCE] = { .key = "text", .kind = COLUMN_TEXT },
};

static void put_verdict(struct result *result, const void *ctx)
{
	const struct job_report *report = ctx;

	for (size_t i = 0; i < report->verdict_count; i++) {
		const struct job_line *line = &report->verdict[i];

		result_text(result, VERDICT_KIND, job_verdict_name(line->verdict));
		result_text(result, VERDICT_SEVERITY, finding_severity_name(line->severity));
		result_text(result, VERDICT_SENTENCE, line->text);
		result_end_row(result);
	}
}

/* --- cards of HTML --- */

static void add_rails_card(const struct job_report *report, struct page *page)
{
	page_add(page, &(struct page_section){ .kind = PAGE_CARD, .in = PAGE_HTML, .title = "Rails" });
	job_add_rates(report, PAGE_HTML, page);
	job_add_rails(report, true, PAGE_HTML, page);
	page_add_note(page, PAGE_HTML, true, "Rates are of the busier direction. CV: coefficient of variation of the "
		      "bytes of the hosts (0 is even).");
	page_close(page);
}

static void add_hosts_card(const struct job_report *report, struct page *page)
{
	bool few = report->host_count <= HOSTS_SHOWN, odd = false;

	for (size_t i = 0; i < report->host_count; i++)
		odd |= job_host_stands_out(report, i) > 0;
	page_add(page, &(struct page_section){ .kind = PAGE_CARD, .in = PAGE_HTML, .title = "Hosts" });
	page_add(page, &(struct page_section){ .kind = PAGE_PAIR, .in = PAGE_HTML });
	page_add(page, &(struct page_section){ .kind = PAGE_PART, .in = PAGE_HTML });
	job_add_host_bars(report, PAGE_HTML, page);
	page_close(page);
	page_add(page, &(struct page_section){ .kind = PAGE_PART, .in = PAGE_HTML });
	job_add_host_map(report, PAGE_HTML, page);
	page_close(page);
	page_close(page);
	job_add_ports(report, PAGE_HTML, page);
	if (!few && odd)
		page_add(page, &(struct page_section){ .kind = PAGE_PART, .in = PAGE_HTML,
						       .title = "Hosts that stand out" });
	if (few || odd)
		job_add_hosts(report, few, PAGE_HTML, page);
	if (!few && odd)
		page_close(page);
	if (!few && !odd)
		page_add_note(page, PAGE_HTML, false, "No host stands out.");
	if (!few) {
		page_add(page, &(struct page_section){
			.kind = PAGE_FOLD, .in = PAGE_HTML,
			.title = page_print(page, "all %zu hosts", report->host_count) });
		job_add_hosts(report, true, PAGE_HTML, page);
		page_close(page);
	}
	page_close(page);
}

static void add_uplinks_card(const struct job_report *report, struct page *page)
{
	struct text text = { 0 };
	const char *others;

	if (!report->group_count && !report->map.rows)
		return;
	page_add(page, &(struct page_section){ .kind = PAGE_CARD, .in = PAGE_HTML, .title = "Uplinks" });
	for (size_t i = 0; i < report->other_count; i++)
		text_appendf(&text, "%s%s", i ? ", " : "", report->others[i]);
	others = page_keep(page, &text);
	if (report->other_count)
		page_add_note(page, PAGE_HTML, false, "Uplinks also carried job%s %s: bytes marked as shared belong to "
			      "all of them.", report->other_count == 1 ? "" : "s", others);
	job_add_uplink_maps(report, PAGE_HTML, page);
	job_add_groups_folded(report, page);
	page_close(page);
}

static void add_findings_card(const struct job_report *report, struct page *page)
{
	if (!report->has_history)
		return;
	page_add(page, &(struct page_section){ .kind = PAGE_CARD, .in = PAGE_HTML, .title = "Findings and changes" });
	job_add_findings(report, true, PAGE_HTML, page);
	page_add(page, &(struct page_section){ .kind = PAGE_PART, .in = PAGE_HTML,
					       .title = "Links and routes that changed" });
	job_add_events(report, false, PAGE_HTML, page);
	page_close(page);
	page_close(page);
}

static void add_nccl_card(const struct job_report *report, struct page *page)
{
	static const enum page_state states[] = {
		[NCCL_OK] = PAGE_GOOD, [NCCL_NOTE] = PAGE_INFO, [NCCL_WARN] = PAGE_WARNING, [NCCL_FAIL] = PAGE_CRITICAL,
	};
	size_t count = report->nccl ? report->nccl_verdict->count : 0;
	struct page_sign *signs = page_alloc(page, count, sizeof(*signs));

	for (size_t i = 0; signs && i < count; i++)
		signs[i] = (struct page_sign){ .state = states[report->nccl_verdict->lines[i].severity],
					       .text = report->nccl_verdict->lines[i].text };
	if (signs && count)
		page_add(page, &(struct page_section){ .kind = PAGE_SIGNS, .in = PAGE_HTML, .title = "What NCCL logged",
						       .signs = { signs, count } });
}

static void add_accuracy_card(const struct job_report *report, struct page *page)
{
	static const char *const sources[] = {
		[JOB_SOURCE_NONE] = "Nothing is stored of the time of this job.",
		[JOB_SOURCE_SNAPSHOTS] = "Bytes and errors are the difference of two snapshots, at its begin and "
					 "at its end: exact.",
		[JOB_SOURCE_HISTORY] = "Bytes and errors are sums of the collector's sweeps: exact, except for a part "
				       "of a sweep at each end.",
	};
	struct page_sign *notes = page_alloc(page, report->note_count, sizeof(*notes));
	const struct job *job = &report->job;
	struct text text = { 0 };
	char span[WHEN_SIZE];

	for (size_t i = 0; notes && i < report->note_count; i++)
		notes[i].text = report->notes[i];
	if (report->interval_us)
		text_appendf(&text, "Sweeps every %s. ", when_format_span(report->interval_us, span));
	if (report->peak_step_us)
		text_appendf(&text, "Peak rates are means over %s. ", when_format_span(report->peak_step_us, span));
	text_appendf(&text, "Hosts: %s. ", job->hosts && job->hosts[0] ? job->hosts : "all of the fabric");
	if (job->command && job->command[0])
		text_appendf(&text, "Command: %s. ", job->command);
	text_appendf(&text, "Written by ibwire %s.", PACKAGE_VERSION);
	page_add(page, &(struct page_section){ .kind = PAGE_CARD, .in = PAGE_HTML, .title = "How it was measured" });
	page_add_note(page, PAGE_HTML, false, "%s", sources[report->source]);
	page_add(page, &(struct page_section){ .kind = PAGE_SIGNS, .in = PAGE_HTML,
					       .signs = { notes, notes ? report->note_count : 0 } });
	page_add_note(page, PAGE_HTML, true, "%s", page_keep(page, &text));
	page_close(page);
}

/* --- the page --- */

static void add_cards(const struct job_report *report, struct page *page)
{
	/* What the verdict is about comes first. */
	bool uplinks_first = report->verdict[0].verdict == JOB_VERDICT_ROUTING;

	if (report->rhythm_few_count) {
		page_add(page, &(struct page_section){ .kind = PAGE_CARD, .in = PAGE_HTML });
		job_add_rhythm(report, true, PAGE_HTML, page);
		page_close(page);
	}
	if (report->rail_count)
		add_rails_card(report, page);
	if (report->level_count) {
		page_add(page, &(struct page_section){ .kind = PAGE_CARD, .in = PAGE_HTML });
		job_add_levels(report, PAGE_HTML, page);
		page_close(page);
	}
	if (uplinks_first)
		add_uplinks_card(report, page);
	if (report->host_count)
		add_hosts_card(report, page);
	if (!uplinks_first)
		add_uplinks_card(report, page);
	add_findings_card(report, page);
	add_nccl_card(report, page);
	add_accuracy_card(report, page);
}

/* Sections of text and data. Text without traffic ends with the facts. */
static void add_tables(const struct job_report *report, bool all, struct page *page)
{
	unsigned text = report->total.known ? PAGE_TEXT : 0, figures = all ? text : 0;

	job_add_rhythm(report, all, PAGE_TEXT | PAGE_JSON, page);
	job_add_rails(report, all, text | PAGE_JSON, page);
	if (figures)
		job_add_rates(report, figures, page);
	job_add_hosts(report, all, text | PAGE_JSON, page);
	job_add_ports(report, PAGE_JSON | PAGE_CSV, page);
	job_add_levels(report, text | PAGE_JSON, page);
	job_add_groups(report, all, text | PAGE_JSON, page);
	if (figures)
		job_add_uplink_maps(report, figures, page);
	job_add_uplinks(report, all, text | PAGE_JSON, page);
	job_add_findings(report, all, text | PAGE_JSON, page);
	job_add_events(report, all, text | PAGE_JSON, page);
	job_add_rates_in_data(report, page);
	job_add_nccl(report, page);
}

struct page *job_report_page(const struct job_report *report, bool all)
{
	struct page *page;
	struct text title = { 0 };

	text_appendf(&title, "Job %s%s%s", report->job.display_id, report->job.name[0] ? " " : "", report->job.name);
	page = page_create(text_chars(&title));
	text_done(&title);
	add_verdict(report, all, page);
	add_facts(report, page);
	page_add(page, &(struct page_section){ .kind = PAGE_RECORD, .in = PAGE_JSON, .key = "job",
					       .table = { job_columns, JOB_COLUMNS, put_about, report } });
	page_add(page, &(struct page_section){ .kind = PAGE_TABLE, .in = PAGE_JSON, .key = "verdict",
					       .table = { verdict_columns, VERDICT_COLUMNS, put_verdict, report } });
	add_tables(report, all, page);
	add_cards(report, page);
	return page;
}
