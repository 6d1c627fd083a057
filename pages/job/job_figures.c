/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* job_figures.c - plots, bars and maps of the report of a job */
#include <math.h>
#include <stdio.h>

#include "analysis/metric.h"
#include "analysis/rate.h"
#include "base/when.h"
#include "pages/job/job_page.h"
#include "pages/job/job_work.h"

/* Hosts in the map of hosts and rails; marks in a plot; spines in a map of text. */
enum { HOSTS_MAP = 48, MARKS_MOST = 8, TEXT_SPINES = 10 };

/* --- rates --- */

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

void job_add_rates(const struct job_report *report, unsigned in, struct page *page)
{
	struct page_series *series = page_alloc(page, report->rail_count + 1, sizeof(*series));
	struct page_mark *marks = page_alloc(page, MARKS_MOST, sizeof(*marks));
	struct metric *metric = page_alloc(page, 1, sizeof(*metric));
	size_t known = 0;

	if (!series || !marks || !metric)
		return;
	metric_find("bytes", metric);
	for (size_t i = 0; i < report->rail_count; i++)
		if (report->rails[i].series.count)
			series[known++] = (struct page_series){ report->rails[i].name, report->rails[i].series.steps,
								report->rails[i].series.count };
	if (known && report->end_us > report->begin_us)
		page_add(page, &(struct page_section){ .kind = PAGE_LINES, .in = in, .lines = {
			.title = "Rate over time per rail, busier direction", .series = series, .series_count = known,
			.from_us = report->begin_us, .until_us = report->end_us, .marks = marks,
			.mark_count = find_marks(report, marks, MARKS_MOST), .metric = metric,
		} });
	else if (in & PAGE_HTML)
		page_add_note(page, PAGE_HTML, true,
			      "The rate over time is unknown: no sweeps are stored of the job.");
}

/* --- hosts --- */

static enum page_state host_state(const struct job_report *report, size_t host)
{
	const struct job_host *self = &report->hosts[host];

	return self->missing || self->used < self->count || report->slowest == host ? PAGE_WARNING : PAGE_PLAIN;
}

void job_add_host_bars(const struct job_report *report, unsigned in, struct page *page)
{
	struct page_bar *bars = page_alloc(page, report->host_count, sizeof(*bars));
	double sum = 0, known = 0;

	if (!bars)
		return;
	for (size_t i = 0; i < report->host_count; i++) {
		const struct job_host *host = &report->hosts[i];
		double bytes = job_bytes(&host->sum);

		bars[i] = (struct page_bar){ !isnan(bytes) && host->sum.at_least ?
					     page_print(page, "%s (at least)", host->name) : host->name,
					     bytes, host_state(report, i) };
		sum += job_is_exact(&host->sum) ? bytes : 0;
		known += job_is_exact(&host->sum);
	}
	page_add(page, &(struct page_section){ .kind = PAGE_BARS, .in = in, .bars = {
		.title = "Bytes per host, sent and received", .bars = bars, .count = report->host_count,
		.format = result_format_bytes, .mean = known > 1 ? sum / known : NAN,
	} });
}

/* Bytes of each host on each rail: an unused HCA is a cell of 0. */
void job_add_host_map(const struct job_report *report, unsigned in, struct page *page)
{
	size_t cells = report->host_count * report->rail_count;
	const char **names;
	double *values;

	if (report->rail_count < 2 || report->host_count > HOSTS_MAP)
		return;
	names = page_alloc(page, report->host_count + report->rail_count, sizeof(*names));
	values = page_alloc(page, cells, sizeof(*values));
	if (!names || !values)
		return;
	for (size_t i = 0; i < cells; i++)
		values[i] = NAN;
	for (size_t i = 0; i < report->host_count; i++)
		names[i] = report->hosts[i].name;
	for (size_t i = 0; i < report->rail_count; i++)
		names[report->host_count + i] = report->rails[i].name;
	for (size_t i = 0; i < report->port_count; i++) {
		const struct job_port *port = &report->ports[i];

		if (port->rail < report->rail_count && job_is_exact(&port->sum))
			job_add_known(&values[port->host * report->rail_count + port->rail], job_bytes(&port->sum));
	}
	page_add(page, &(struct page_section){ .kind = PAGE_HEAT, .in = in, .heat = {
		.title = "Bytes per host and rail", .row_names = names, .column_names = names + report->host_count,
		.rows = report->host_count, .columns = report->rail_count, .values = values,
		.format = result_format_bytes,
	} });
}

/* --- uplinks --- */

static void add_map(const struct job_report *report, unsigned in, struct page *page, int part, const char *const *names,
		    double top)
{
	static const char *const parts[2][JOB_PARTS] = {
		{ "Before: first half", "After: second half" }, { "Before: earlier", "After: latest" },
	};
	const struct job_map *map = &report->map;
	char from[WHEN_SIZE], until[WHEN_SIZE];

	when_format_local(report->part_from_us[part], from);
	when_format_local(report->part_until_us[part], until);
	page_add(page, &(struct page_section){ .kind = PAGE_HEAT, .in = in, .heat = {
		.title = page_print(page, "%s, %s to %s", parts[report->running][part], from, until),
		.row_names = names, .column_names = names + map->rows, .rows = map->rows, .columns = map->columns,
		.values = map->part[part], .top = top, .format = rate_format_bits,
	} });
}

/* Leaf by spine in both parts of the job, with one scale. */
void job_add_uplink_maps(const struct job_report *report, unsigned in, struct page *page)
{
	const struct job_map *map = &report->map;
	const char **names;
	double top = 0;

	if (!map->rows || !map->columns || !report->has_history)
		return;
	if (map->columns > TEXT_SPINES)
		in &= ~(unsigned)PAGE_TEXT;
	names = page_alloc(page, (size_t)map->rows + map->columns, sizeof(*names));
	if (!names || !in)
		return;
	for (uint32_t i = 0; i < map->rows; i++)
		names[i] = job_report_node_name(report, map->row_nodes[i]);
	for (uint32_t i = 0; i < map->columns; i++)
		names[map->rows + i] = job_report_node_name(report, map->column_nodes[i]);
	for (int part = 0; part < JOB_PARTS; part++)
		for (size_t i = 0; i < (size_t)map->rows * map->columns; i++)
			top = fmax(top, map->part[part][i]);
	page_add(page, &(struct page_section){ .kind = PAGE_PAIR, .in = in,
					       .title = "Load between leaves and spines, both directions" });
	for (int part = 0; part < JOB_PARTS; part++)
		add_map(report, in, page, part, names, top);
	page_add(page, &(struct page_section){ .kind = PAGE_CLOSE, .in = in });
}
