/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * job_print.c - a report as text, JSON or CSV
 *
 * The text begins with the verdict. Below it are the facts about the job, then tables of its rails, hosts,
 * uplinks, findings and changes. Of large jobs these list what stands out.
 */
#include <errno.h>
#include <math.h>
#include <stdio.h>
#include <string.h>

#include "analysis/nccl.h"
#include "analysis/rate.h"
#include "base/err.h"
#include "base/text.h"
#include "base/when.h"
#include "cli/job/job_tables.h"
#include "cli/job/job_work.h"
#include "facts/cells.h"
#include "cli/lib/options.h"
#include "fabric/fabric.h"

enum { LINES_MOST = 8 };

/* --- the head of the text --- */

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

static const char *shown_id(const struct job_report *report, char ret[4 * JOB_ID_SIZE + 4 * JOB_NAME_SIZE])
{
	char id[4 * JOB_ID_SIZE], name[4 * JOB_NAME_SIZE];

	job_shown(report->job.id, id, sizeof(id));
	job_shown(report->job.name, name, sizeof(name));
	snprintf(ret, 4 * JOB_ID_SIZE + 4 * JOB_NAME_SIZE, *name ? "%s (%s)" : "%s", id, name);
	return ret;
}

static void append_verdict(const struct job_output *output, struct text *text)
{
	static const char *const colors[] = { "\033[1;32m", "\033[1;33m", "\033[1;31m" };
	const struct job_report *report = output->report;
	size_t most = output->print.all ? report->verdict_count : LINES_MOST;
	char id[4 * JOB_ID_SIZE + 4 * JOB_NAME_SIZE], head[sizeof(id) + 16];

	snprintf(head, sizeof(head), "job %s: ", shown_id(report, id));
	for (size_t i = 0; i < report->verdict_count && i < most; i++) {
		const struct job_line *line = &report->verdict[i];

		if (output->print.color)
			text_append(text, colors[line->severity]);
		text_append(text, i ? "  - " : head);
		text_append_wrapped(text, line->text, i ? 4 : (unsigned)text_columns(head), 4, output->print.width);
		if (output->print.color)
			text_append(text, "\033[0m");
	}
	if (report->verdict_count > most)
		text_appendf(text, "  - and %zu more: --all\n", report->verdict_count - most);
}

static void append_field(const struct job_output *output, struct text *text, const char *name, const char *value)
{
	enum { FIELD = 10 };

	text_appendf(text, "%-*s", FIELD, name);
	text_append_wrapped(text, value, FIELD, FIELD, output->print.width);
}

static void append_time(const struct job_report *report, struct text *line)
{
	char from[WHEN_SIZE], until[WHEN_SIZE], span[WHEN_SIZE], by[4 * JOB_ID_SIZE];

	text_appendf(line, "%s to %s, %s", when_format_local(report->begin_us, from),
		     when_format_local(report->end_us, until), when_format_span(report->duration_us, span));
	if (report->running)
		text_append(line, ", still running");
	else if (report->job.ending == JOB_REPLACED)
		text_appendf(line, ", never ended; closed when job %s began on its hosts",
			     job_shown(report->job.ended_by, by, sizeof(by)));
	else if (report->job.ending == JOB_EXPIRED)
		text_append(line, ", never ended; closed because it was too old");
	else if (report->job.exit_status >= 0)
		text_appendf(line, ", exit status %d", report->job.exit_status);
}

static void append_hosts(const struct job_report *report, struct text *line)
{
	size_t missing = 0;

	for (size_t i = 0; i < report->host_count; i++)
		missing += report->hosts[i].missing;
	text_appendf(line, "%zu", report->host_count - missing);
	if (report->all_hosts)
		text_append(line, " (all compute hosts)");
	else
		text_appendf(line, " (%.160s%s)", report->job.hosts, strlen(report->job.hosts) > 160 ? "..." : "");
	text_appendf(line, ", %zu HCA ports on %u %s", report->port_count, report->leaf_count,
		     report->leaf_count == 1 ? "leaf" : "leaves");
	if (report->other_count)
		text_appendf(line, "; %zu other job%s behind the same leaves: %s%s", report->other_count,
			     report->other_count == 1 ? "" : "s", report->others[0],
			     report->other_count > 1 ? " ..." : "");
}

static void append_moved(const struct job_report *report, struct text *line)
{
	const struct job_sum *total = &report->total;
	char mean[32], peak[32], step[WHEN_SIZE];

	text_append(line, total->at_least ? "at least " : "");
	result_append_bytes(line, job_bytes(total));
	text_append(line, ", sent ");
	result_append_bytes(line, (double)total->xmit_bytes);
	text_append(line, ", received ");
	result_append_bytes(line, (double)total->rcv_bytes);
	text_appendf(line, "; in total mean %s, peak %s",
		     rate_format_bits(fmax(total->mean_xmit, total->mean_rcv), mean, sizeof(mean)),
		     rate_format_bits(fmax(total->peak_xmit, total->peak_rcv), peak, sizeof(peak)));
	if (report->peak_step_us >= 60 * INT64_C(1000000))
		text_appendf(line, " (over %s)", when_format_span(report->peak_step_us, step));
	text_append(line, report->source == JOB_SOURCE_SNAPSHOTS ? "; by snapshots" : "; by sweeps");
}

static void append_parts(const struct job_report *report, struct text *line)
{
	double early = report->total.part[JOB_EARLY], late = report->total.part[JOB_LATE];
	char span[WHEN_SIZE] = "", rates[JOB_PARTS][32];

	if (report->running)
		when_format_span(report->part_until_us[JOB_LATE] - report->part_from_us[JOB_LATE], span);
	text_appendf(line, "%s %s, %s%s %s", report->running ? "before" : "first half",
		     rate_format_bits(early, rates[0], sizeof(rates[0])), report->running ? "last " : "second half",
		     span, rate_format_bits(late, rates[1], sizeof(rates[1])));
	if (early > 0)
		text_appendf(line, " (%+.0f %%)", 100 * (late / early - 1));
	text_append(line, ", sent + received");
}

static void append_members(struct text *line, const char *of, const struct job_evenness *even, const char *lowest,
			   const char *highest)
{
	text_appendf(line, "%s%s cv %.2f", line->len ? ", " : "", of, even->cv);
	if (even->highest_ratio - even->lowest_ratio < 0.01)
		text_append(line, " (all within 1 % of the mean)");
	else
		text_appendf(line, " (%s %.0f %%, %s %.0f %% of the mean)", lowest, 100 * even->lowest_ratio, highest,
			     100 * even->highest_ratio);
}

static void append_evenness(const struct job_report *report, struct text *line)
{
	const struct job_evenness *rails = &report->over_rails, *hosts = &report->over_hosts;

	if (!isnan(rails->cv))
		append_members(line, "rails", rails, report->rails[rails->lowest].name,
			       report->rails[rails->highest].name);
	if (!isnan(hosts->cv))
		append_members(line, "hosts", hosts, report->hosts[hosts->lowest].name,
			       report->hosts[hosts->highest].name);
}

static void append_routing(const struct job_report *report, struct text *line)
{
	text_appendf(line, "switches: %u with adaptive routing, %u without, %u unknown; tables %s; ",
		     report->adaptive_on, report->adaptive_off, report->adaptive_unknown,
		     report->routes_known ? "known" : "unknown");
	if (report->aggregation_nodes)
		text_appendf(line, "SHARP: %u aggregation nodes", report->aggregation_nodes);
	else
		text_append(line, "no SHARP nodes");
}

static void append_line(const struct job_output *output, struct text *text, const char *name,
			void (*append)(const struct job_report *report, struct text *line))
{
	struct text line = { 0 };

	append(output->report, &line);
	if (line.len)
		append_field(output, text, name, text_chars(&line));
	text->failed |= line.failed;
	text_done(&line);
}

static void append_head(const struct job_output *output, struct text *text)
{
	const struct job_report *report = output->report;
	char command[160];

	append_verdict(output, text);
	text_append(text, "\n");
	append_line(output, text, "time", append_time);
	if (*report->job.command)
		append_field(output, text, "command", job_shown(report->job.command, command, sizeof(command)));
	if (report->fabric)
		append_line(output, text, "hosts", append_hosts);
	if (report->total.known) {
		append_line(output, text, "moved", append_moved);
		append_line(output, text, "evenness", append_evenness);
	}
	if (!isnan(report->total.part[JOB_LATE]) && report->total.known && report->has_history)
		append_line(output, text, "trend", append_parts);
	if (report->fabric && report->port_count)
		append_line(output, text, "routing", append_routing);
	for (size_t i = 0; i < report->note_count; i++)
		append_field(output, text, "note", report->notes[i]);
	/* Its warnings are part of the verdict. */
	for (size_t i = 0; report->nccl && i < report->nccl_verdict->count; i++)
		if (report->nccl_verdict->lines[i].severity < NCCL_WARN)
			append_field(output, text, "nccl", report->nccl_verdict->lines[i].text);
}

/* --- in data --- */

enum { ID, NAME, HOSTS, COMMAND, BEGIN, END, DURATION, RUNNING, ENDING, ENDED_BY, STATUS, NUMBER, VERDICT, VERDICT_TEXT,
       SOURCE, INTERVAL, STEP, XMIT, RCV, AT_LEAST, ERRORS, MEAN_XMIT, MEAN_RCV, PEAK_XMIT, PEAK_RCV, EARLY, LATE,
       LATE_FROM, HOSTS_CV, RAILS_CV, SLOWEST, PORTS, PORTS_KNOWN, PORTS_UNUSED, LEAVES, OTHERS, ROUTES_KNOWN,
       AR_ON, AR_OFF, AR_UNKNOWN, AGGREGATION, CLOCK_STEP, NOTES, JOB_COLUMNS };

static const struct column job_columns[JOB_COLUMNS] = {
	[ID] = { .key = "id", .kind = COLUMN_TEXT }, [NAME] = { .key = "name", .kind = COLUMN_TEXT },
	[HOSTS] = { .key = "hosts", .kind = COLUMN_TEXT }, [COMMAND] = { .key = "command", .kind = COLUMN_TEXT },
	[BEGIN] = { .key = "begin", .kind = COLUMN_TIME }, [END] = { .key = "end", .kind = COLUMN_TIME },
	[DURATION] = { .key = "duration_us", .kind = COLUMN_SPAN_US },
	[RUNNING] = { .key = "running", .kind = COLUMN_BOOL }, [ENDING] = { .key = "ending", .kind = COLUMN_TEXT },
	[ENDED_BY] = { .key = "ended_by", .kind = COLUMN_TEXT },
	[STATUS] = { .key = "exit_status", .kind = COLUMN_INTEGER },
	[NUMBER] = { .key = "number", .kind = COLUMN_INTEGER },
	[VERDICT] = { .key = "verdict", .kind = COLUMN_TEXT },
	[VERDICT_TEXT] = { .key = "verdict_text", .kind = COLUMN_TEXT },
	[SOURCE] = { .key = "source", .kind = COLUMN_TEXT },
	[INTERVAL] = { .key = "sweep_interval_us", .kind = COLUMN_SPAN_US },
	[STEP] = { .key = "peak_step_us", .kind = COLUMN_SPAN_US },
	[XMIT] = { .key = "xmit_bytes", .kind = COLUMN_BYTES }, [RCV] = { .key = "rcv_bytes", .kind = COLUMN_BYTES },
	[AT_LEAST] = { .key = "at_least", .kind = COLUMN_BOOL }, [ERRORS] = { .key = "errors", .kind = COLUMN_INTEGER },
	[MEAN_XMIT] = { .key = "mean_xmit_bytes_per_s", .kind = COLUMN_REAL },
	[MEAN_RCV] = { .key = "mean_rcv_bytes_per_s", .kind = COLUMN_REAL },
	[PEAK_XMIT] = { .key = "peak_xmit_bytes_per_s", .kind = COLUMN_REAL },
	[PEAK_RCV] = { .key = "peak_rcv_bytes_per_s", .kind = COLUMN_REAL },
	[EARLY] = { .key = "early_bytes_per_s", .kind = COLUMN_REAL },
	[LATE] = { .key = "late_bytes_per_s", .kind = COLUMN_REAL },
	[LATE_FROM] = { .key = "late_from", .kind = COLUMN_TIME },
	[HOSTS_CV] = { .key = "hosts_cv", .kind = COLUMN_REAL },
	[RAILS_CV] = { .key = "rails_cv", .kind = COLUMN_REAL },
	[SLOWEST] = { .key = "slowest_host", .kind = COLUMN_TEXT },
	[PORTS] = { .key = "ports", .kind = COLUMN_INTEGER },
	[PORTS_KNOWN] = { .key = "ports_known", .kind = COLUMN_INTEGER },
	[PORTS_UNUSED] = { .key = "ports_unused", .kind = COLUMN_INTEGER },
	[LEAVES] = { .key = "leaves", .kind = COLUMN_INTEGER }, [OTHERS] = { .key = "other_jobs", .kind = COLUMN_LIST },
	[ROUTES_KNOWN] = { .key = "routes_known", .kind = COLUMN_BOOL },
	[AR_ON] = { .key = "adaptive_routing_on", .kind = COLUMN_INTEGER },
	[AR_OFF] = { .key = "adaptive_routing_off", .kind = COLUMN_INTEGER },
	[AR_UNKNOWN] = { .key = "adaptive_routing_unknown", .kind = COLUMN_INTEGER },
	[AGGREGATION] = { .key = "aggregation_nodes", .kind = COLUMN_INTEGER },
	[CLOCK_STEP] = { .key = "clock_step_us", .kind = COLUMN_SPAN_US },
	[NOTES] = { .key = "notes", .kind = COLUMN_LIST },
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
	result_integer(result, BEGIN, report->begin_us);
	cells_nonzero(result, END, report->running ? 0 : report->end_us);
	result_integer(result, DURATION, report->duration_us);
	result_bool(result, RUNNING, report->running);
	result_text(result, ENDING, job_ending_name(job->ending));
	put_text(result, ENDED_BY, job->ended_by);
	if (job->exit_status >= 0)
		result_integer(result, STATUS, job->exit_status);
	result_integer(result, NUMBER, job->number);
	result_integer(result, CLOCK_STEP, report->clock_step_us);
	result_empty(result, NOTES);
	for (size_t i = 0; i < report->note_count; i++)
		result_item(result, NOTES, "%s", report->notes[i]);
}

static void put_totals(const struct job_report *report, struct result *result)
{
	static const char *const sources[] = { "none", "snapshots", "history" };
	const struct job_sum *total = &report->total;

	result_text(result, VERDICT, job_verdict_name(report->verdict[0].verdict));
	result_text(result, VERDICT_TEXT, report->verdict[0].text);
	result_text(result, SOURCE, sources[report->source]);
	if (report->has_history) {
		result_integer(result, INTERVAL, report->interval_us);
		result_integer(result, STEP, report->peak_step_us);
	}
	cells_nonzero(result, LATE_FROM, report->part_from_us[JOB_LATE]);
	if (!total->known)
		return;
	result_unsigned(result, XMIT, total->xmit_bytes);
	result_unsigned(result, RCV, total->rcv_bytes);
	result_bool(result, AT_LEAST, total->at_least);
	result_unsigned(result, ERRORS, total->errors);
	result_real(result, MEAN_XMIT, total->mean_xmit);
	result_real(result, MEAN_RCV, total->mean_rcv);
	result_real(result, PEAK_XMIT, total->peak_xmit);
	result_real(result, PEAK_RCV, total->peak_rcv);
	result_real(result, EARLY, total->part[JOB_EARLY]);
	result_real(result, LATE, total->part[JOB_LATE]);
	result_real(result, HOSTS_CV, report->over_hosts.cv);
	result_real(result, RAILS_CV, report->over_rails.cv);
	if (report->slowest != UINT32_MAX)
		result_text(result, SLOWEST, report->hosts[report->slowest].name);
}

static int put_about(struct job_output *output, struct error *err)
{
	const struct job_report *report = output->report;
	struct result *result = job_section(output, "job", true, job_columns, JOB_COLUMNS);

	put_job(report, result);
	put_totals(report, result);
	if (report->fabric) {
		result_integer(result, PORTS, (int64_t)report->port_count);
		result_integer(result, PORTS_KNOWN, report->total.known);
		result_integer(result, PORTS_UNUSED, report->ports_unused);
		result_integer(result, LEAVES, report->leaf_count);
		result_bool(result, ROUTES_KNOWN, report->routes_known);
		result_integer(result, AR_ON, report->adaptive_on);
		result_integer(result, AR_OFF, report->adaptive_off);
		result_integer(result, AR_UNKNOWN, report->adaptive_unknown);
		result_integer(result, AGGREGATION, report->aggregation_nodes);
	}
	result_empty(result, OTHERS);
	for (size_t i = 0; i < report->other_count; i++)
		result_item(result, OTHERS, "%s", report->others[i]);
	result_end_row(result);
	return output_end(result, 0, err);
}

static int put_verdict(struct job_output *output, struct error *err)
{
	enum { KIND, SEVERITY, TEXT, COLUMNS };
	static const struct column columns[COLUMNS] = {
		[KIND] = { .key = "verdict", .kind = COLUMN_TEXT },
		[SEVERITY] = { .key = "severity", .kind = COLUMN_TEXT },
		[TEXT] = { .key = "text", .kind = COLUMN_TEXT },
	};
	struct result *result = job_section(output, "verdict", false, columns, COLUMNS);

	for (size_t i = 0; i < output->report->verdict_count; i++) {
		const struct job_line *line = &output->report->verdict[i];

		result_text(result, KIND, job_verdict_name(line->verdict));
		result_text(result, SEVERITY, finding_severity_name(line->severity));
		result_text(result, TEXT, line->text);
		result_end_row(result);
	}
	return output_end(result, 0, err);
}

/* --- a whole report --- */

typedef int put_function(struct job_output *output, struct error *err);

static int put_sections(struct job_output *output, put_function *const *sections, struct error *err)
{
	int code = 0;

	for (; code == 0 && *sections && !ferror(output->stream); sections++)
		code = (*sections)(output, err);
	return code;
}

static int put_text_report(struct job_output *output, struct error *err)
{
	static put_function *const sections[] = { job_put_rails, job_put_hosts, job_put_groups, job_put_uplinks,
						  job_put_findings, job_put_events, NULL };
	struct text text = { 0 };
	int code = 0;

	append_head(output, &text);
	if (text_failed(&text))
		code = err_nomem(err);
	else
		fputs(text_chars(&text), output->stream);
	text_done(&text);
	return code == 0 && output->report->total.known ? put_sections(output, sections, err) : code;
}

static int put_json(struct job_output *output, struct error *err)
{
	static put_function *const sections[] = { put_about, put_verdict, job_put_rails, job_put_hosts, job_put_ports,
						  job_put_groups, job_put_uplinks, job_put_findings, job_put_events,
						  job_put_series, job_put_map, job_put_nccl, NULL };
	int code = put_sections(output, sections, err);

	if (code == 0)
		fputs("}\n", output->stream);
	return code;
}

int job_report_print(const struct job_report *report, const struct job_print *print, FILE *stream, struct error *err)
{
	struct job_output output = { .report = report, .print = *print, .stream = stream };
	int code;

	if (!output.print.width)
		output.print.width = JOB_WIDTH;
	if (print->format == RESULT_JSON)
		code = put_json(&output, err);
	else if (print->format == RESULT_CSV)
		code = job_put_ports(&output, err);
	else
		code = put_text_report(&output, err);
	/* A closed pipe (`| head`) is no error. The caller reports an error of an earlier write. */
	if (code == 0 && fflush(stream) != 0 && errno != EPIPE)
		code = err_set(err, ERR_IO, "cannot write the report: %s", strerror(errno));
	return code;
}
