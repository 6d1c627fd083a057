/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* history_html.c - `ibwire history --html`: rate, stall and errors over time, findings, events */
#include "base/err.h"
#include "base/text.h"
#include "base/when.h"
#include "cli/health/health.h"
#include "cli/history/history.h"
#include "export/html.h"
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
	size_t subjects;
};

static void append_figure(const struct history *history, const struct figure *figure, const struct subjects *subjects,
			  const struct series *series, const struct page_mark *marks, size_t mark_count,
			  struct text *page)
{
	static const char *const prefixes[METRICS] = { "TX ", "RX ", "", "" };
	struct page_series lines[2 * SUBJECTS_MOST];
	struct text names[2 * SUBJECTS_MOST] = { 0 };
	size_t count = 0;

	for (size_t i = 0; i < figure->subjects; i++)
		for (int metric = figure->first; metric <= figure->last; metric++) {
			const struct series *from = &series[i * METRICS + (size_t)metric];

			if (series_is_unknown(from))
				continue;
			text_appendf(&names[count], "%s%s", prefixes[metric], subjects->items[i].name);
			page->failed |= text_failed(&names[count]);
			lines[count] = (struct page_series){ text_chars(&names[count]), from->steps, from->count };
			count++;
		}
	if (!count)
		html_element(page, "p", NULL, "%s: unknown", figure->title);
	else
		html_lines(page, &(struct page_lines){
			.title = figure->title, .series = lines, .series_count = count, .from_us = history->since_us,
			.until_us = history->until_us, .marks = marks, .mark_count = mark_count,
			.metric = &history->metrics[figure->first],
		});
	while (count--)
		text_done(&names[count]);
}

int history_html_plots(struct history *history, const struct subjects *subjects, size_t rates,
		       const struct page_mark *marks, size_t mark_count, struct text *page, struct error *err)
{
	const struct figure figures[] = {
		{ "Rate, TX and RX", SENT, RECEIVED, rates },
		{ "XmitWait: share of the time (estimate)", STALL, STALL, subjects->count },
		{ "Errors", ERRORS, ERRORS, subjects->count },
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
	text_append(page, "<div class=\"pair\">\n");
	for (size_t i = 0; code == 0 && i < sizeof(figures) / sizeof(*figures); i++)
		append_figure(history, &figures[i], subjects, series, marks, mark_count, page);
	text_append(page, "</div>\n");
	for (size_t i = 0; i < count * METRICS; i++)
		series_done(&series[i]);
	return code;
}

/* --- events --- */

struct events {
	const struct history *history;
	const struct subjects *subjects;
	struct text *page;
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

static const struct html_column event_columns[] = { { "Time", false }, { "Severity", false }, { "Event", false } };

static bool append_event(void *ctx, const struct event_row *row)
{
	static const enum page_state states[] = { PAGE_PLAIN, PAGE_WARNING, PAGE_CRITICAL };
	struct events *events = ctx;
	char time[WHEN_SIZE], shown[sizeof(row->event.text)];

	if (!is_shown(events, &row->event) || events->count-- > EVENTS_MOST)
		return true;
	html_row(events->page);
	html_cell(events->page, &event_columns[0], PAGE_PLAIN, "%s", when_format_local(row->event.wall_us, time));
	html_cell(events->page, &event_columns[1], states[row->event.severity], "%s",
		  event_severity_name(row->event.severity));
	html_cell(events->page, &event_columns[2], PAGE_PLAIN, "%s", event_text(row->event.text, shown, sizeof(shown)));
	html_row_end(events->page);
	return true;
}

static int append_events(struct history *history, const struct subjects *subjects, struct text *page,
			 struct error *err)
{
	struct events events = { .history = history, .subjects = subjects, .page = page };
	const struct event_query query = { .since_us = history->since_us, .until_us = history->until_us };
	int code = reader_events(history->view.reader, &query, count_event, &events, err);
	size_t all = events.count;

	html_card_begin(page, "Events");
	if (all)
		html_table_begin(page, event_columns, sizeof(event_columns) / sizeof(*event_columns));
	if (code == 0 && all)
		code = reader_events(history->view.reader, &query, append_event, &events, err);
	if (all)
		html_table_end(page);
	else
		html_element(page, "p", NULL, "No events.");
	if (all > EVENTS_MOST)
		html_element(page, "p", "soft", "and %zu older ones: ibwire events", all - EVENTS_MOST);
	html_card_end(page);
	return code;
}

/* --- the page --- */

static int append_plots(struct history *history, const struct subjects *subjects, const struct health_rows *rows,
			struct text *page, struct error *err)
{
	struct page_mark marks[MARKS_MOST];
	size_t count = 0;
	int code;

	for (size_t i = 0; i < rows->count && count < MARKS_MOST; i++) {
		const struct finding *finding = &rows->list[i].row.finding;

		if (finding->severity != FINDING_INFO && finding->since_us > history->since_us &&
		    finding->since_us < history->until_us)
			marks[count++] = (struct page_mark){ finding->since_us, finding->subject,
							     finding_kind_name(finding->kind) };
	}
	html_card_begin(page, NULL);
	code = history_html_plots(history, subjects, subjects->count, marks, count, page, err);
	html_card_end(page);
	return code;
}

static void append_title(const struct history *history, const struct subjects *subjects, struct text *page)
{
	char since[WHEN_SIZE], until[WHEN_SIZE];
	struct text title = { 0 };

	text_append(&title, "History of");
	for (size_t i = 0; i < subjects->count; i++)
		text_appendf(&title, "%s %s", i ? "," : "", subjects->items[i].name);
	html_begin(page, text_chars(&title));
	html_card_begin(page, NULL);
	html_element(page, "h1", NULL, "%s", text_chars(&title));
	html_element(page, "p", NULL, "%s to %s", when_format_local(history->since_us, since),
		     when_format_local(history->until_us, until));
	if (history->links)
		text_append(page, "<p><a href=\"./\">All findings</a></p>\n");
	page->failed |= text_failed(&title);
	text_done(&title);
}

int history_html(struct history *history, const struct subjects *subjects, struct error *err)
{
	const struct health_filter filter = { .options = &history->options, .names = history->options.argv,
					      .name_count = history->options.argc, .may_be_unknown = true,
					      .all = true };
	const struct finding_query query = { .since_us = history->since_us, .until_us = history->until_us };
	struct health_rows rows = { 0 };
	struct text page = { 0 };
	int code;

	/* A new database: the plots begin with its first sweep. */
	if (history->range.oldest_us > history->since_us)
		history->since_us = history->range.oldest_us;
	code = subjects->count > SUBJECTS_MOST ? 0 : health_load(&history->view, &filter, &query, &rows, err);

	append_title(history, subjects, &page);
	if (code == 0) {
		html_card_end(&page);
		code = append_plots(history, subjects, &rows, &page, err);
	}
	if (code == 0) {
		html_card_begin(&page, "Findings");
		health_html(&history->view, &filter, &rows, history->links, FINDINGS_BYTES, &page);
		html_card_end(&page);
		code = append_events(history, subjects, &page, err);
	}
	html_end(&page);
	health_rows_done(&rows);
	if (code == 0)
		return output_file(&history->options, &page, history->html, err);
	text_done(&page);
	return code;
}
