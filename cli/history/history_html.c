/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* history_html.c - `ibwire history --html`: rate, stall and errors over time, findings, events */

#include "base/clock.h"
#include "base/err.h"
#include "base/text.h"
#include "base/when.h"
#include "cli/health/health.h"
#include "cli/history/history.h"
#include "cli/lib/moment_options.h"
#include "export/columns.h"
#include "export/page.h"
#include "fabric/fabric.h"
#include "facts/event_columns.h"
#include "storage/reader.h"

/* Limits of the page: marks in plots, bytes of findings, rows of events. */
enum { MARKS_MOST = 8, FINDINGS_BYTES = 20000, EVENTS_MOST = 60 };

/* --- events --- */

struct events {
	const struct history *history;
	const struct subjects *subjects;
};

static bool is_of(const struct events *events, uint64_t guid, uint8_t num)
{
	const struct fabric *fabric = events->history->moment.fabric;
	const struct subjects *subjects = events->subjects;

	for (size_t i = 0; guid && i < subjects->count; i++)
		for (size_t j = 0; j < subjects->items[i].port_count; j++) {
			const struct port *port = &fabric->ports[subjects->items[i].ports[j]];

			if (fabric->nodes[port->node].guid == guid && (!num || port->num == num))
				return true;
		}
	return false;
}

static bool is_shown(const void *ctx, const struct event *event)
{
	const struct events *events = ctx;

	return !events->history->options.argc || is_of(events, event->node_guid, event->port) ||
	       is_of(events, event->peer_guid, event->peer_port);
}

static const struct column_source event_sources[] = { { .columns = event_columns } };
static const struct column_item event_items[] = {
	{ .key = "time", .table = true }, { .key = "severity", .table = true }, { .key = "text", .table = true },
};
static const struct column_list event_list = { event_sources, 1, event_items,
					       sizeof(event_items) / sizeof(*event_items) };

static void put_events(struct result *result, const void *ctx)
{
	const struct events *events = ctx;
	const struct event_query query = { .since_us = events->history->since_us,
					   .until_us = events->history->until_us };
	size_t older = events_put(result, &events->history->moment, &query, is_shown, events, EVENTS_MOST);

	result_none(result, "No events.");
	if (older)
		result_note(result, "and %zu older ones: ibwire events", older);
}

/* --- the page --- */

static int add_plots(const struct history *history, const struct subjects *subjects, const struct health_rows *rows,
		     struct page *page, struct error *err)
{
	struct history_window window = { .moment = &history->moment, .since_us = history->since_us,
					 .until_us = history->until_us, .range = history->range };
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
	code = history_add_plots(&window, subjects->items, subjects->count, PAGE_HTML, subjects->count, marks, count,
				 page, err);
	page_close(page);
	options_warn_damage(window.damage.count, window.damage.first);
	return code;
}

/* The same subjects over other windows that end at the same time. */
static void add_links(const struct history *history, struct page *page)
{
	static const struct { const char *text; int64_t us; } windows[] = {
		{ "10 min", 600 * US_PER_S }, { "1 h", 3600 * US_PER_S }, { "6 h", 6 * 3600 * US_PER_S },
		{ "1 day", 86400 * US_PER_S }, { "7 days", 7 * 86400 * US_PER_S },
	};
	enum { WINDOWS = sizeof(windows) / sizeof(*windows) };
	struct page_link *links = page_alloc(page, WINDOWS + 1, sizeof(*links));
	struct text subjects = { 0 };
	char since[WHEN_SIZE], until[WHEN_SIZE];
	const char *query;

	if (!links)
		return;
	for (int i = 0; i < history->options.argc; i++) {
		text_append(&subjects, "&subject=");
		text_append_url(&subjects, history->options.argv[i]);
	}
	query = page_keep(page, &subjects);
	when_format_utc(history->until_us, until);
	links[0] = (struct page_link){ "./", "Fabric" };
	for (size_t i = 0; i < WINDOWS; i++) {
		when_format_utc(history->until_us - windows[i].us, since);
		links[i + 1] = (struct page_link){ page_print(page, "history?since=%s&until=%s%s", since, until, query),
						   windows[i].text };
	}
	page_add(page, &(struct page_section){ .kind = PAGE_LINKS, .links = { links, WINDOWS + 1 } });
}

static struct page *begin(const struct history *history, const struct subjects *subjects)
{
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
		add_links(history, page);
	page_close(page);
	return page;
}

int history_html(struct history *history, const struct subjects *subjects, struct error *err)
{
	const struct health_filter filter = { .names = history->options.argv,
					      .name_count = history->options.argc, .may_be_unknown = true,
					      .all = true };
	const struct health_layout layout = { .title = "Findings", .none = "No open findings.", .links = history->links,
					      .html_most = FINDINGS_BYTES };
	const struct finding_query query = { .since_us = history->since_us, .until_us = history->until_us };
	const struct events events = { .history = history, .subjects = subjects };
	struct health_rows rows = { 0 };
	struct columns shown = { 0 };
	struct page *page;
	int code;

	page = begin(history, subjects);
	code = subjects->count > HISTORY_SUBJECTS_MOST ? 0 : health_load(&history->moment, &filter, &query, &rows, err);
	if (code == 0)
		code = add_plots(history, subjects, &rows, page, err);
	health_add_findings(history->moment.reference_us, &filter, &rows, &layout, page);
	if (code == 0)
		code = columns_usual(&event_list, &shown, err);
	page_add(page, &(struct page_section){ .kind = PAGE_TABLE, .title = "Events",
					       .table = { shown.list, shown.count, put_events, &events } });
	if (code == 0)
		code = output_page(page, &history->options, history->html, err);
	else
		page_destroy(page);
	columns_done(&shown);
	health_rows_done(&rows);
	return code;
}
