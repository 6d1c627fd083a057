/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* history_html.c - `ibwire history --html`: rate, stall and errors over time, findings, events */
#include <string.h>

#include "base/err.h"
#include "base/text.h"
#include "base/when.h"
#include "cli/health/health.h"
#include "cli/history/history.h"
#include "export/page.h"
#include "fabric/fabric.h"
#include "storage/reader.h"
#include "facts/event_text.h"

/*
 * Limits of the page: lines of a plot, its points and marks, bytes of findings, rows of events. Plots of more
 * than SAMPLES_MOST samples have POINTS_FEW points, which are read from stored sums.
 */
enum { SUBJECTS_MOST = 8, POINTS = 150, POINTS_FEW = 36, SAMPLES_MOST = 3000000, MARKS_MOST = 8 };
enum { FINDINGS_BYTES = 20000, EVENTS_MOST = 60 };

enum { SENT, RECEIVED, STALL, ERRORS, METRICS };
static const char *const keys[METRICS] = { "xmit_bytes", "rcv_bytes", "stall", "errors" };

/* The lines of one plot. */
struct figure {
	const char *title;
	int first, last; /* metrics */
};

static void add_figure(const struct history *history, const struct figure *figure, const struct subjects *subjects,
		       size_t subject_count, const struct series *series, const struct page_mark *marks,
		       size_t mark_count, unsigned in, struct page *page)
{
	static const char *const prefixes[METRICS] = { "TX ", "RX ", "", "" };
	struct page_series *lines = page_alloc(page, 2 * SUBJECTS_MOST, sizeof(*lines));
	struct metric *metric_copy = page_alloc(page, 1, sizeof(*metric_copy));
	size_t count = 0;

	if (!lines || !metric_copy)
		return;
	*metric_copy = history->metrics[figure->first];
	for (size_t i = 0; i < subject_count; i++)
		for (int metric = figure->first; metric <= figure->last; metric++) {
			const struct series *from = &series[i * METRICS + (size_t)metric];
			struct series_step *steps;

			if (series_is_unknown(from))
				continue;
			steps = page_alloc(page, from->count, sizeof(*steps));
			if (!steps)
				return;
			memcpy(steps, from->steps, from->count * sizeof(*steps));
			lines[count++] = (struct page_series){
				page_print(page, "%s%s", prefixes[metric], subjects->items[i].name), steps, from->count,
			};
		}
	if (!count)
		page_add_note(page, in, false, "%s: unknown", figure->title);
	else
		page_add(page, &(struct page_section){ .kind = PAGE_LINES, .in = in, .lines = {
			.title = figure->title, .series = lines, .series_count = count, .from_us = history->since_us,
			.until_us = history->until_us, .marks = marks, .mark_count = mark_count,
			.metric = metric_copy,
		} });
}

int history_add_plots(struct history *history, const struct subjects *subjects, unsigned in, size_t rates,
		      const struct page_mark *marks, size_t mark_count, struct page *page, struct error *err)
{
	static const struct figure figures[] = {
		{ "Rate, TX and RX", SENT, RECEIVED },
		{ "XmitWait: share of the time (estimate)", STALL, STALL },
		{ "Errors", ERRORS, ERRORS },
	};
	struct series series[SUBJECTS_MOST * METRICS] = { 0 };
	size_t ports = 0, count = subjects->count;
	int64_t step_us, sweeps = history->range.until - history->range.after;
	int code = 0;

	if (count > SUBJECTS_MOST)
		return err_set(err, ERR_USAGE, "history: --html takes at most %d series; select fewer ports",
			       SUBJECTS_MOST);
	for (int i = 0; i < METRICS; i++)
		metric_find(keys[i], &history->metrics[i]);
	history->metric_count = METRICS;
	for (size_t i = 0; i < count; i++)
		ports += subjects->items[i].port_count;
	step_us = history_step_us(&history->range, ports, history->until_us - history->since_us,
				  sweeps * (int64_t)ports > SAMPLES_MOST ? POINTS_FEW : POINTS);
	for (size_t i = 0; code == 0 && i < count; i++)
		code = history_read(history, &subjects->items[i], step_us, &series[i * METRICS], err);
	page_add(page, &(struct page_section){ .kind = PAGE_PAIR });
	for (size_t i = 0; code == 0 && i < sizeof(figures) / sizeof(*figures); i++)
		add_figure(history, &figures[i], subjects, figures[i].first == SENT ? rates : count, series, marks,
			   mark_count, in, page);
	page_close(page);
	for (size_t i = 0; i < count * METRICS; i++)
		series_done(&series[i]);
	return code;
}

/* --- events --- */

struct events {
	const struct history *history;
	const struct subjects *subjects;
	struct result *result;
	size_t count;
};

static bool is_of(const struct subjects *subjects, uint64_t guid, uint8_t num)
{
	for (size_t i = 0; guid && i < subjects->count; i++)
		for (size_t j = 0; j < subjects->items[i].port_count; j++)
			if (subjects->items[i].ports[j].node_guid == guid &&
			    (!num || subjects->items[i].ports[j].num == num))
				return true;
	return false;
}

static bool is_shown(const struct events *events, const struct event *event)
{
	return !events->history->options.argc || is_of(events->subjects, event->node_guid, event->port) ||
	       is_of(events->subjects, event->peer_guid, event->peer_port);
}

static bool count_event(void *ctx, const struct event_row *row)
{
	struct events *events = ctx;

	events->count += is_shown(events, &row->event);
	return true;
}

enum { EVENT_TIME, EVENT_SEVERITY, EVENT_TEXT, EVENT_COLUMNS };

static const struct column event_columns[EVENT_COLUMNS] = {
	[EVENT_TIME] = { .title = "Time", .kind = COLUMN_TIME },
	[EVENT_SEVERITY] = { .title = "Severity", .kind = COLUMN_TEXT },
	[EVENT_TEXT] = { .title = "Event", .kind = COLUMN_TEXT },
};

static bool put_event(void *ctx, const struct event_row *row)
{
	static const enum cell_style styles[] = { STYLE_PLAIN, STYLE_WARNING, STYLE_CRITICAL };
	struct events *events = ctx;
	char shown[sizeof(row->event.text)];

	if (!is_shown(events, &row->event) || events->count-- > EVENTS_MOST)
		return true;
	result_integer(events->result, EVENT_TIME, row->event.wall_us);
	result_text(events->result, EVENT_SEVERITY, event_severity_name(row->event.severity));
	result_show(events->result, EVENT_SEVERITY, NULL, styles[row->event.severity]);
	result_text(events->result, EVENT_TEXT, event_text(row->event.text, shown, sizeof(shown)));
	return result_end_row(events->result);
}

static int put_events(struct result *result, const void *ctx, enum page_target target, struct error *err)
{
	struct events events = *(const struct events *)ctx;
	const struct event_query query = { .since_us = events.history->since_us,
					   .until_us = events.history->until_us };
	int code = reader_events(events.history->view.reader, &query, count_event, &events, err);
	size_t all = events.count;

	(void)target;
	events.result = result;
	if (code == 0)
		code = reader_events(events.history->view.reader, &query, put_event, &events, err);
	result_none(result, "No events.");
	if (all > EVENTS_MOST)
		result_note(result, "and %zu older ones: ibwire events", all - EVENTS_MOST);
	return code;
}

/* --- the page --- */

static int add_plots(struct history *history, const struct subjects *subjects, const struct health_rows *rows,
		     struct page *page, struct error *err)
{
	struct page_mark *marks = page_alloc(page, MARKS_MOST, sizeof(*marks));
	size_t count = 0;
	int code;

	for (size_t i = 0; marks && i < rows->count && count < MARKS_MOST; i++) {
		const struct finding *finding = &rows->list[i].row.finding;

		if (finding->severity != FINDING_INFO && finding->since_us > history->since_us &&
		    finding->since_us < history->until_us)
			marks[count++] = (struct page_mark){ finding->since_us, finding->subject,
							     finding_kind_name(finding->kind) };
	}
	page_add(page, &(struct page_section){ .kind = PAGE_CARD });
	code = history_add_plots(history, subjects, PAGE_HTML, subjects->count, marks, count, page, err);
	page_close(page);
	return code;
}

static struct page *begin(const struct history *history, const struct subjects *subjects)
{
	static const struct page_link links[] = { { "./", "All findings" } };
	char since[WHEN_SIZE], until[WHEN_SIZE];
	struct text title = { 0 };
	struct page *page;

	text_append(&title, "History of");
	for (size_t i = 0; i < subjects->count; i++)
		text_appendf(&title, "%s %s", i ? "," : "", subjects->items[i].name);
	page = page_create(text_chars(&title));
	page_add(page, &(struct page_section){ .kind = PAGE_CARD, .title = page_keep(page, &title) });
	page_add_note(page, PAGE_HTML, false, "%s to %s", when_format_local(history->since_us, since),
		      when_format_local(history->until_us, until));
	if (history->links)
		page_add(page, &(struct page_section){ .kind = PAGE_LINKS, .links = { links, 1 } });
	page_close(page);
	return page;
}

int history_html(struct history *history, const struct subjects *subjects, struct error *err)
{
	const struct health_filter filter = { .options = &history->options, .names = history->options.argv,
					      .name_count = history->options.argc, .may_be_unknown = true,
					      .all = true };
	const struct health_layout layout = { .title = "Findings", .none = "No open findings.", .links = history->links,
					      .html_most = FINDINGS_BYTES };
	const struct finding_query query = { .since_us = history->since_us, .until_us = history->until_us };
	const struct events events = { .history = history, .subjects = subjects };
	struct health_rows rows = { 0 };
	struct page *page;
	int code;

	/* A new database: the plots begin with its first sweep. */
	if (history->range.oldest_us > history->since_us)
		history->since_us = history->range.oldest_us;
	page = begin(history, subjects);
	code = subjects->count > SUBJECTS_MOST ? 0 : health_load(&history->view, &filter, &query, &rows, err);
	if (code == 0)
		code = add_plots(history, subjects, &rows, page, err);
	health_add_findings(&history->view, &filter, &rows, &layout, page);
	page_add(page, &(struct page_section){ .kind = PAGE_TABLE, .title = "Events",
					       .table = { event_columns, EVENT_COLUMNS, put_events, &events } });
	if (code == 0)
		code = output_page(page, &history->options, history->html, err);
	else
		page_destroy(page);
	health_rows_done(&rows);
	return code;
}
