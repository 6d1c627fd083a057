/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
#include "pages/history.h"

#include <stdlib.h>
#include <string.h>

#include "analysis/series.h"
#include "base/err.h"
#include "base/when.h"
#include "export/page.h"
#include "fabric/fabric.h"
#include "facts/moment.h"
#include "storage/reader.h"

/* Plots of more than SAMPLES_MOST samples have POINTS_FEW points, which are read from stored sums. */
enum { POINTS = 150, POINTS_FEW = 36, SAMPLES_MOST = 3000000 };

enum { SENT, RECEIVED, STALL, ERRORS, METRICS };
static const char *const keys[METRICS] = { "xmit_bytes", "rcv_bytes", "stall", "errors" };

/* The lines of one plot. */
static const struct figure {
	const char *title;
	int first, last; /* metrics */
} figures[] = {
	{ "Rate, TX and RX", SENT, RECEIVED },
	{ "XmitWait: share of the time (estimate)", STALL, STALL },
	{ "Errors", ERRORS, ERRORS },
};

struct metric_port history_metric_port(const struct moment *moment, uint32_t index)
{
	const struct port *port = &moment->fabric->ports[index];

	return (struct metric_port){
		.node = &moment->fabric->nodes[port->node], .port = port,
		.caps = moment->snapshot->caps ? &moment->snapshot->caps[port->node] : NULL,
	};
}

int history_subject_read(const struct moment *moment, const struct history_subject *subject,
			 struct history_series *query, struct error *err)
{
	struct history_port *ports = calloc(subject->port_count + 1, sizeof(*ports));
	struct metric_port *metric_ports = calloc(subject->port_count + 1, sizeof(*metric_ports));
	int code = ports && metric_ports ? 0 : err_nomem(err);

	for (size_t i = 0; code == 0 && i < subject->port_count; i++) {
		metric_ports[i] = history_metric_port(moment, subject->ports[i]);
		ports[i] = history_port_of(moment->fabric, subject->ports[i]);
	}
	query->ports = ports;
	query->metric_ports = metric_ports;
	query->port_count = subject->port_count;
	if (code == 0)
		code = reader_history_series(moment->reader, query, err);
	free(ports);
	free(metric_ports);
	return code;
}

int history_window_find(struct history_window *window, struct error *err)
{
	int code = reader_history_range(window->moment->reader, window->since_us, window->until_us, &window->range,
					err);

	if (code < 0)
		return code;
	window->since_us = window->range.since_us;
	return window->range.after < window->range.until && window->since_us < window->until_us;
}

/* @ret: of METRICS, for series_done() */
static int read_subject(struct history_window *window, const struct history_subject *subject, int64_t step_us,
			struct series *ret, struct error *err)
{
	struct series *all[METRICS];
	struct history_series query = {
		.range = &window->range, .longest_us = step_us / 2, .series = all, .series_count = METRICS,
		.damage = &window->damage,
	};
	int code = 0;

	for (int i = 0; code == 0 && i < METRICS; i++) {
		struct metric metric;

		metric_find(keys[i], &metric);
		all[i] = &ret[i];
		code = series_init(&ret[i], &metric, subject->port_count, window->since_us, window->until_us, step_us,
				   when_zone_us(window->until_us), err);
	}
	return code < 0 ? code : history_subject_read(window->moment, subject, &query, err);
}

static void add_figure(const struct history_window *window, const struct figure *figure,
		       const struct history_subject *subjects, size_t count, const struct series *series,
		       const struct page_mark *marks, size_t mark_count, unsigned in, struct page *page)
{
	static const char *const prefixes[METRICS] = { "TX ", "RX ", "", "" };
	struct page_series *lines = page_alloc(page, 2 * HISTORY_SUBJECTS_MOST, sizeof(*lines));
	struct metric *metric_copy = page_alloc(page, 1, sizeof(*metric_copy));
	size_t line_count = 0;

	if (!lines || !metric_copy)
		return;
	metric_find(keys[figure->first], metric_copy);
	for (size_t i = 0; i < count; i++)
		for (int metric = figure->first; metric <= figure->last; metric++) {
			const struct series *from = &series[i * METRICS + (size_t)metric];
			struct series_step *steps;

			if (series_is_unknown(from))
				continue;
			steps = page_alloc(page, from->count, sizeof(*steps));
			if (!steps)
				return;
			memcpy(steps, from->steps, from->count * sizeof(*steps));
			lines[line_count++] = (struct page_series){
				page_print(page, "%s%s", prefixes[metric], subjects[i].name), steps, from->count,
			};
		}
	if (!line_count)
		page_add_note(page, in, false, "%s: unknown", figure->title);
	else
		page_add(page, &(struct page_section){ .kind = PAGE_LINES, .in = in, .lines = {
			.title = figure->title, .series = lines, .series_count = line_count,
			.from_us = window->since_us, .until_us = window->until_us, .marks = marks,
			.mark_count = mark_count, .metric = metric_copy,
		} });
}

int history_add_plots(struct history_window *window, const struct history_subject *subjects, size_t count,
		      unsigned in, size_t rates, const struct page_mark *marks, size_t mark_count, struct page *page,
		      struct error *err)
{
	struct series series[HISTORY_SUBJECTS_MOST * METRICS] = { 0 };
	int64_t step_us, sweeps = window->range.until - window->range.after;
	size_t ports = 0;
	int code = 0;

	if (count > HISTORY_SUBJECTS_MOST)
		return err_set(err, ERR_USAGE, "history: --html takes at most %d series; select fewer ports",
			       HISTORY_SUBJECTS_MOST);
	for (size_t i = 0; i < count; i++)
		ports += subjects[i].port_count;
	step_us = history_step_us(&window->range, ports, window->until_us - window->since_us,
				  sweeps * (int64_t)ports > SAMPLES_MOST ? POINTS_FEW : POINTS);
	for (size_t i = 0; code == 0 && i < count; i++)
		code = read_subject(window, &subjects[i], step_us, &series[i * METRICS], err);
	page_add(page, &(struct page_section){ .kind = PAGE_PAIR });
	for (size_t i = 0; code == 0 && i < sizeof(figures) / sizeof(*figures); i++)
		add_figure(window, &figures[i], subjects, figures[i].first == SENT ? rates : count, series, marks,
			   mark_count, in, page);
	page_close(page);
	for (size_t i = 0; i < count * METRICS; i++)
		series_done(&series[i]);
	return code;
}
