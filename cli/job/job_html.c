/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
#include "config.h"

#include "cli/job/job_html.h"

#include <errno.h>
#include <inttypes.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "analysis/rate.h"
#include "base/err.h"
#include "base/text.h"
#include "base/when.h"
#include "cli/job/job_work.h"
#include "export/html.h"

/* Hosts in the first table and in the map of hosts and rails; the others are folded. */
enum { HOSTS_SHOWN = 16, HOSTS_MAP = 48, MARKS_MOST = 8, PORTS_MOST = 100 };

/* Below this coefficient of variation the lowest and the highest member are not named. */
#define EVEN 0.005

static const char *format_percent(double percent, char *ret, size_t size)
{
	snprintf(ret, size, isnan(percent) ? "unknown" : "%.1f %%", percent);
	return ret;
}

static const char *at_least(bool is)
{
	return is ? "\u2265 " : "";
}

/* --- verdict and key figures --- */

static enum page_state state_of(enum finding_severity severity)
{
	return severity == FINDING_CRITICAL ? PAGE_CRITICAL : severity == FINDING_WARNING ? PAGE_WARNING : PAGE_INFO;
}

static void append_title(const struct job_report *report, struct text *page)
{
	const struct job *job = &report->job;

	text_append(page, "<h1>");
	html_escapef(page, "Job %s", job->id);
	if (job->name[0])
		html_escapef(page, " \u00b7 %s", job->name);
	text_append(page, " <span class=\"soft\">");
	switch (job->ending) {
	case JOB_RUNNING:
		html_escapef(page, "\u00b7 running");
		break;
	case JOB_REPLACED:
		html_escapef(page, "\u00b7 never ended; closed when job %s began on its hosts", job->ended_by);
		break;
	case JOB_EXPIRED:
		html_escapef(page, "\u00b7 never ended; expired");
		break;
	default:
		if (job->exit_status >= 0)
			html_escapef(page, "\u00b7 exit status %d", job->exit_status);
		break;
	}
	text_append(page, "</span></h1>\n");
}

/* The page begins with its result. */
static void append_verdict(const struct job_report *report, struct text *page)
{
	const struct job_line *first = report->verdict_count ? &report->verdict[0] : NULL;
	enum page_state state = !first || first->verdict == JOB_VERDICT_UNKNOWN ? PAGE_INFO :
				first->verdict == JOB_VERDICT_CLEAN ? PAGE_GOOD : state_of(first->severity);

	text_appendf(page, "<section class=\"card verdict %s\">\n", html_state_class(state));
	append_title(report, page);
	html_element(page, "p", "word", "%s %s", html_state_sign(state),
		     first && first->verdict == JOB_VERDICT_UNKNOWN ? "unknown" : html_state_word(state));
	html_element(page, "p", "sentence", "%s", first ? first->text : "nothing is known of this job");
	if (report->verdict_count > 1)
		text_append(page, "<ul class=\"signs\">\n");
	for (size_t i = 1; i < report->verdict_count; i++)
		html_sign_item(page, state_of(report->verdict[i].severity), report->verdict[i].text);
	text_append(page, report->verdict_count > 1 ? "</ul>\n</section>\n" : "</section>\n");
}

static void append_tile(struct text *page, const char *name, const char *value, const char *note)
{
	text_append(page, "<div>");
	html_element(page, "dt", NULL, "%s", name);
	text_append(page, "<dd>");
	html_escape(page, value);
	if (note[0])
		html_element(page, "small", NULL, "%s", note);
	text_append(page, "</dd></div>\n");
}

static void append_traffic_tile(const struct job_report *report, struct text *page, bool sent)
{
	const struct job_sum *sum = &report->total;
	char bytes[PAGE_VALUE_SIZE], value[PAGE_VALUE_SIZE + 8], mean[PAGE_VALUE_SIZE], peak[PAGE_VALUE_SIZE];
	char note[2 * PAGE_VALUE_SIZE + 32];

	result_format_bytes((double)(sent ? sum->xmit_bytes : sum->rcv_bytes), bytes, sizeof(bytes));
	snprintf(value, sizeof(value), "%s%s", at_least(sum->at_least), bytes);
	rate_format_bits(sent ? sum->mean_xmit : sum->mean_rcv, mean, sizeof(mean));
	rate_format_bits(sent ? sum->peak_xmit : sum->peak_rcv, peak, sizeof(peak));
	snprintf(note, sizeof(note), "mean %s, peak %s", mean, strcmp(peak, "-") ? peak : "unknown");
	append_tile(page, sent ? "Sent" : "Received", sum->known ? value : "unknown", sum->known ? note : "");
}

static void append_evenness_tile(struct text *page, const char *name, const struct job_evenness *even,
				 const char *lowest, const char *highest)
{
	char value[PAGE_VALUE_SIZE];
	struct text note = { 0 };

	snprintf(value, sizeof(value), isnan(even->cv) ? "unknown" : "cv %.2f", even->cv);
	if (even->cv < EVEN)
		text_append(&note, "even");
	else if (lowest && highest)
		text_appendf(&note, "lowest %s (%.2f of the mean), highest %s (%.2f)", lowest, even->lowest_ratio,
			     highest, even->highest_ratio);
	append_tile(page, name, value, text_chars(&note));
	page->failed |= text_failed(&note);
	text_done(&note);
}

/* Adaptive routing of the leaves of the job and the switches above them. */
static void append_adaptive_tile(const struct job_report *report, struct text *page)
{
	uint32_t on = report->adaptive_on, off = report->adaptive_off, unknown = report->adaptive_unknown;
	uint32_t sum = on + off + unknown, most = on > off ? on : off;
	char note[160];

	most = unknown > most ? unknown : most;
	if (most < sum)
		snprintf(note, sizeof(note), "on %" PRIu32 ", off %" PRIu32 ", unknown %" PRIu32 " of %" PRIu32
			 " switches; %" PRIu32 " SHARP nodes", on, off, unknown, sum, report->aggregation_nodes);
	else
		snprintf(note, sizeof(note), "%" PRIu32 " switches; %" PRIu32 " SHARP nodes", sum,
			 report->aggregation_nodes);
	append_tile(page, "Adaptive routing",
		    most < sum ? "mixed" : sum && on == sum ? "on" : sum && off == sum ? "off" : "unknown", note);
}

static void append_tiles(const struct job_report *report, struct text *page)
{
	const struct job_evenness *rails = &report->over_rails, *hosts = &report->over_hosts;
	char value[WHEN_SIZE], note[256], begin[WHEN_SIZE], end[WHEN_SIZE], stall[PAGE_VALUE_SIZE];

	text_append(page, "<dl class=\"tiles\">\n");
	when_format_local(report->begin_us, begin);
	when_format_local(report->end_us, end);
	snprintf(note, sizeof(note), "%s to %s", begin, end);
	append_tile(page, "Duration", when_format_span(report->duration_us, value), note);
	snprintf(value, sizeof(value), "%zu", report->host_count);
	snprintf(note, sizeof(note), "%s%" PRIu32 " ports, %zu rail%s", report->all_hosts ? "all of the fabric: " : "",
		 report->total.ports, report->rail_count, report->rail_count == 1 ? "" : "s");
	append_tile(page, "Hosts", value, note);
	append_traffic_tile(report, page, true);
	append_traffic_tile(report, page, false);
	if (rails->count > 1)
		append_evenness_tile(page, "Evenness of rails", rails,
				     rails->lowest < report->rail_count ? report->rails[rails->lowest].name : NULL,
				     rails->highest < report->rail_count ? report->rails[rails->highest].name : NULL);
	if (hosts->count > 1)
		append_evenness_tile(page, "Evenness of hosts", hosts,
				     hosts->lowest < report->host_count ? report->hosts[hosts->lowest].name : NULL,
				     hosts->highest < report->host_count ? report->hosts[hosts->highest].name : NULL);
	snprintf(value, sizeof(value), "%s%" PRIu64, at_least(report->total.errors_at_least), report->total.errors);
	format_percent(report->total.stall_percent, stall, sizeof(stall));
	snprintf(note, sizeof(note), "XmitWait up to %s (estimate)", stall);
	append_tile(page, "Errors on its links", value, note);
	append_adaptive_tile(report, page);
	text_append(page, "</dl>\n");
}

/* --- rails --- */

/* Findings on links of the job that began while it ran. */
static size_t find_marks(const struct job_report *report, struct page_mark *ret, size_t most)
{
	size_t count = 0;

	for (size_t i = 0; i < report->finding_count && count < most; i++) {
		const struct job_finding *finding = &report->findings[i];

		if (finding->on_job && finding->severity != FINDING_INFO && finding->since_us > report->begin_us &&
		    finding->since_us < report->end_us)
			ret[count++] = (struct page_mark){ finding->since_us, finding->subject, finding->text };
	}
	return count;
}

static void append_rates(const struct job_report *report, struct text *page)
{
	struct page_series *series = calloc(report->rail_count + 1, sizeof(*series));
	struct page_mark marks[MARKS_MOST];
	struct metric metric;
	size_t known = 0;

	metric_find("bytes", &metric);
	page->failed |= !series;
	for (size_t i = 0; series && i < report->rail_count; i++)
		if (report->rails[i].series.count)
			series[known++] = (struct page_series){ report->rails[i].name, report->rails[i].series.steps,
								report->rails[i].series.count };
	if (known && report->end_us > report->begin_us)
		html_lines(page, &(struct page_lines){
			.title = "Rate over time per rail, busier direction", .series = series, .series_count = known,
			.from_us = report->begin_us, .until_us = report->end_us, .marks = marks,
			.mark_count = find_marks(report, marks, MARKS_MOST), .metric = &metric,
		});
	else
		html_element(page, "p", "soft", "The rate over time is unknown: no sweeps are stored of the job.");
	free(series);
}

static void put_bytes(struct text *page, const struct html_column *column, const struct job_sum *sum, uint64_t bytes)
{
	char value[PAGE_VALUE_SIZE];

	if (sum->known)
		html_cell(page, column, PAGE_PLAIN, "%s%s", at_least(sum->at_least),
			  result_format_bytes((double)bytes, value, sizeof(value)));
	else
		html_cell(page, column, PAGE_INFO, "unknown");
}

static void put_rate(struct text *page, const struct html_column *column, double bytes_per_s)
{
	char value[PAGE_VALUE_SIZE];

	html_cell(page, column, PAGE_PLAIN, "%s", rate_format_bits(bytes_per_s, value, sizeof(value)));
}

static void put_errors(struct text *page, const struct html_column *column, const struct job_sum *sum)
{
	html_cell(page, column, sum->errors ? PAGE_WARNING : PAGE_PLAIN, "%s%" PRIu64, at_least(sum->errors_at_least),
		  sum->errors);
}

static void append_rail_row(const struct job_report *report, struct text *page, const struct html_column *columns,
			    const struct job_rail *rail)
{
	uint32_t lowest = rail->hosts.lowest;
	const char *name = lowest < report->port_count ? report->hosts[report->ports[lowest].host].name : NULL;

	html_row(page);
	html_cell(page, columns++, PAGE_PLAIN, "%s", rail->name);
	html_cell(page, columns++, PAGE_PLAIN, "%" PRIu32, rail->sum.ports);
	put_bytes(page, columns++, &rail->sum, rail->sum.xmit_bytes);
	put_bytes(page, columns++, &rail->sum, rail->sum.rcv_bytes);
	put_rate(page, columns++, fmax(rail->sum.mean_xmit, rail->sum.mean_rcv));
	put_rate(page, columns++, fmax(rail->sum.peak_xmit, rail->sum.peak_rcv));
	html_cell(page, columns++, PAGE_PLAIN, isnan(rail->hosts.cv) ? "-" : "%.2f", rail->hosts.cv);
	if (rail->hosts.cv < EVEN)
		html_cell(page, columns++, PAGE_PLAIN, "even");
	else if (name)
		html_cell(page, columns++, PAGE_PLAIN, "%s (%.2f)", name, rail->hosts.lowest_ratio);
	else
		html_cell(page, columns++, PAGE_PLAIN, "-");
	put_errors(page, columns++, &rail->sum);
	html_row_end(page);
}

static void append_rails(const struct job_report *report, struct text *page)
{
	static const struct html_column columns[] = {
		{ "Rail", false }, { "Ports", true }, { "Sent", true }, { "Received", true }, { "Mean rate", true },
		{ "Peak rate", true }, { "cv of hosts", true }, { "Lowest host", false }, { "Errors", true },
	};

	html_card_begin(page, "Rails");
	text_append(page, "<div class=\"pair\">\n<div>");
	append_rates(report, page);
	text_append(page, "</div>\n<div>");
	html_table_begin(page, columns, sizeof(columns) / sizeof(*columns));
	for (size_t i = 0; i < report->rail_count; i++)
		append_rail_row(report, page, columns, &report->rails[i]);
	html_table_end(page);
	html_element(page, "p", "soft", "Rates are of the busier direction. cv: coefficient of variation of the bytes "
		     "of the hosts (0 is even). In parentheses: bytes relative to the mean.");
	text_append(page, "</div>\n</div>\n</section>\n");
}

/* --- hosts --- */

static enum page_state host_state(const struct job_report *report, size_t host)
{
	const struct job_host *self = &report->hosts[host];

	return self->missing || self->used < self->count || report->slowest == host ? PAGE_WARNING : PAGE_PLAIN;
}

static void append_host_row(const struct job_report *report, struct text *page, const struct html_column *columns,
			    size_t host)
{
	const struct job_host *self = &report->hosts[host];
	const struct job_sum *sum = &self->sum;
	char stall[PAGE_VALUE_SIZE];

	html_row(page);
	html_cell(page, columns++, report->slowest == host ? PAGE_WARNING : PAGE_PLAIN, "%s%s", self->name,
		  self->missing ? " (not in the fabric)" : report->slowest == host ? " (slowest)" : "");
	html_cell(page, columns++, self->used < self->count || self->missing ? PAGE_WARNING : PAGE_PLAIN,
		  "%" PRIu32 " of %" PRIu32, self->used, self->count);
	put_bytes(page, columns++, sum, sum->xmit_bytes);
	put_bytes(page, columns++, sum, sum->rcv_bytes);
	put_rate(page, columns++, fmax(sum->mean_xmit, sum->mean_rcv));
	put_rate(page, columns++, fmax(sum->peak_xmit, sum->peak_rcv));
	html_cell(page, columns++, PAGE_PLAIN, "%s", format_percent(sum->stall_percent, stall, sizeof(stall)));
	put_errors(page, columns++, sum);
	html_row_end(page);
}

static void append_host_table(const struct job_report *report, struct text *page, bool all)
{
	static const struct html_column columns[] = {
		{ "Host", false }, { "Ports used", true }, { "Sent", true }, { "Received", true },
		{ "Mean rate", true }, { "Peak rate", true }, { "XmitWait", true }, { "Errors", true },
	};
	size_t shown = 0;

	html_table_begin(page, columns, sizeof(columns) / sizeof(*columns));
	for (size_t i = 0; i < report->host_count && (all || shown < HOSTS_SHOWN); i++)
		if (all || job_host_stands_out(report, i)) {
			append_host_row(report, page, columns, i);
			shown++;
		}
	html_table_end(page);
}

static void append_host_bars(const struct job_report *report, struct text *page)
{
	struct page_bar *bars = calloc(report->host_count + 1, sizeof(*bars));
	double sum = 0, known = 0;

	page->failed |= !bars;
	if (!bars)
		return;
	for (size_t i = 0; i < report->host_count; i++) {
		const struct job_host *host = &report->hosts[i];
		double bytes = job_bytes(&host->sum);

		bars[i] = (struct page_bar){ host->name, bytes, host_state(report, i) };
		sum += isnan(bytes) ? 0 : bytes;
		known += !isnan(bytes);
	}
	html_bars(page, &(struct page_bars){
		.title = "Bytes per host, sent and received", .bars = bars, .count = report->host_count,
		.format = result_format_bytes, .mean = known > 1 ? sum / known : NAN,
	});
	free(bars);
}

/* Bytes of each host on each rail: an unused HCA is a cell of 0. */
static void append_host_map(const struct job_report *report, struct text *page)
{
	size_t cells = report->host_count * report->rail_count;
	const char **names;
	double *values;

	if (report->rail_count < 2 || report->host_count > HOSTS_MAP)
		return;
	names = calloc(report->host_count + report->rail_count, sizeof(*names));
	values = calloc(cells, sizeof(*values));
	if (!names || !values) {
		page->failed = true;
		goto out;
	}
	for (size_t i = 0; i < cells; i++)
		values[i] = NAN;
	for (size_t i = 0; i < report->host_count; i++)
		names[i] = report->hosts[i].name;
	for (size_t i = 0; i < report->rail_count; i++)
		names[report->host_count + i] = report->rails[i].name;
	for (size_t i = 0; i < report->port_count; i++) {
		const struct job_port *port = &report->ports[i];

		if (port->rail < report->rail_count)
			job_add_known(&values[port->host * report->rail_count + port->rail], job_bytes(&port->sum));
	}
	html_heat(page, &(struct page_heat){
		.title = "Bytes per host and rail", .row_names = names, .column_names = names + report->host_count,
		.rows = report->host_count, .columns = report->rail_count, .values = values,
		.format = result_format_bytes,
	});
out:
	free(values);
	free(names);
}

/* Ports that are unused, down, or have errors. */
static void append_odd_ports(const struct job_report *report, struct text *page)
{
	static const struct html_column columns[] = {
		{ "Port", false }, { "Problem", false }, { "Sent", true }, { "Received", true }, { "Errors", true },
	};
	size_t odd = 0;
	char name[512];

	for (size_t i = 0; i < report->port_count; i++)
		odd += report->ports[i].unused || report->ports[i].down || report->ports[i].sum.errors;
	if (!odd)
		return;
	html_element(page, "h3", NULL, "Ports with problems");
	html_table_begin(page, columns, sizeof(columns) / sizeof(*columns));
	for (size_t i = 0, shown = 0; i < report->port_count && shown < PORTS_MOST; i++) {
		const struct job_port *port = &report->ports[i];

		if (!port->unused && !port->down && !port->sum.errors)
			continue;
		shown++;
		html_row(page);
		job_report_port_name(report, port->port, name, sizeof(name));
		html_cell(page, &columns[0], PAGE_PLAIN, "%s", name);
		html_cell(page, &columns[1], PAGE_WARNING, "%s",
			  port->down ? "down" : port->unused ? "unused" : "errors");
		put_bytes(page, &columns[2], &port->sum, port->sum.xmit_bytes);
		put_bytes(page, &columns[3], &port->sum, port->sum.rcv_bytes);
		put_errors(page, &columns[4], &port->sum);
		html_row_end(page);
	}
	html_table_end(page);
	if (odd > PORTS_MOST)
		html_element(page, "p", "soft", "%zu more are not shown.", odd - PORTS_MOST);
}

static void append_hosts(const struct job_report *report, struct text *page)
{
	bool few = report->host_count <= HOSTS_SHOWN, odd = false;

	html_card_begin(page, "Hosts");
	text_append(page, "<div class=\"pair\">\n<div>");
	append_host_bars(report, page);
	if (few)
		append_host_map(report, page);
	text_append(page, "</div>\n<div>");
	for (size_t i = 0; i < report->host_count; i++)
		odd |= job_host_stands_out(report, i) > 0;
	if (!few)
		html_element(page, "h3", NULL, odd ? "Hosts that stand out" : "No host stands out");
	if (few || odd)
		append_host_table(report, page, few);
	append_odd_ports(report, page);
	if (!few) {
		append_host_map(report, page);
		text_append(page, "<details>");
		html_element(page, "summary", NULL, "all %zu hosts", report->host_count);
		append_host_table(report, page, true);
		text_append(page, "</details>\n");
	}
	text_append(page, "</div>\n</div>\n</section>\n");
}

/* --- the page --- */

static void append_accuracy(const struct job_report *report, struct text *page)
{
	static const char *const sources[] = {
		[JOB_SOURCE_NONE] = "Nothing is stored of the time of this job.",
		[JOB_SOURCE_SNAPSHOTS] = "Bytes and errors are the difference of two snapshots, at its begin and "
					 "at its end: exact.",
		[JOB_SOURCE_HISTORY] = "Bytes and errors are sums of the collector's sweeps: exact, except for a part "
				       "of a sweep at each end.",
	};
	const struct job *job = &report->job;
	char span[WHEN_SIZE];

	html_card_begin(page, "How it was measured");
	html_element(page, "p", NULL, "%s", sources[report->source]);
	if (report->note_count)
		text_append(page, "<ul>\n");
	for (size_t i = 0; i < report->note_count; i++)
		html_element(page, "li", NULL, "%s", report->notes[i]);
	if (report->note_count)
		text_append(page, "</ul>\n");
	text_append(page, "<p class=\"soft\">");
	if (report->interval_us)
		html_escapef(page, "Sweeps every %s. ", when_format_span(report->interval_us, span));
	if (report->peak_step_us)
		html_escapef(page, "Peak rates are means over %s. ", when_format_span(report->peak_step_us, span));
	html_escapef(page, "Hosts: %s. ", job->hosts && job->hosts[0] ? job->hosts : "all of the fabric");
	if (job->command && job->command[0])
		html_escapef(page, "Command: %s. ", job->command);
	html_escapef(page, "Written by ibwire %s.", PACKAGE_VERSION);
	text_append(page, "</p>\n</section>\n");
}

static void append_page(const struct job_report *report, struct text *page)
{
	struct text title = { 0 };
	bool uplinks_first;

	text_appendf(&title, "Job %s%s%s", report->job.id, report->job.name[0] ? " " : "", report->job.name);
	html_begin(page, text_chars(&title));
	append_verdict(report, page);
	if (report->source != JOB_SOURCE_NONE) {
		html_card_begin(page, NULL);
		append_tiles(report, page);
		html_card_end(page);
	}
	if (report->rail_count)
		append_rails(report, page);
	/* What the verdict is about comes first. */
	uplinks_first = report->verdict_count && report->verdict[0].verdict == JOB_VERDICT_ROUTING;
	if (uplinks_first)
		job_html_uplinks(report, page);
	if (report->host_count)
		append_hosts(report, page);
	if (!uplinks_first)
		job_html_uplinks(report, page);
	job_html_findings(report, page);
	job_html_nccl(report, page);
	append_accuracy(report, page);
	html_end(page);
	page->failed |= text_failed(&title);
	text_done(&title);
}

int job_report_html(const struct job_report *report, FILE *stream, struct error *err)
{
	struct text page = { 0 };
	int status = 0;

	append_page(report, &page);
	if (text_failed(&page))
		status = err_nomem(err);
	else if (fwrite(page.chars, 1, page.len, stream) != page.len || fflush(stream) != 0)
		status = err_set(err, ERR_IO, "writing the report: %s", strerror(errno));
	text_done(&page);
	return status;
}
