/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* health_html.c - findings as HTML, in the words of `ibwire health` */
#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "base/clock.h"
#include "base/text.h"
#include "base/when.h"
#include "cli/health/health.h"
#include "cli/lib/view.h"
#include "export/html.h"

/* Time span of the history of a finding, before and after its start. */
enum { BEFORE_S = 30 * 60, AFTER_S = 90 * 60 };

static enum page_state state_of(const struct health_row *health)
{
	static const enum page_state states[] = { PAGE_INFO, PAGE_WARNING, PAGE_CRITICAL };

	return health->place != HEALTH_COUNTS || health->row.finding.closed_us ? PAGE_INFO :
		states[health->row.finding.severity];
}

/* "2026-11-20T13:00:00Z" */
static void format_second(int64_t wall_us, char ret[WHEN_SIZE])
{
	when_format_utc(wall_us, ret);
	strcpy(ret + strlen("2026-11-20T13:00:00"), "Z");
}

/* Append the history of a finding, as a link and as a command with the same arguments. */
static void append_history(const struct view *view, const struct finding *finding, bool links, struct text *page)
{
	int64_t until_us = finding->since_us + AFTER_S * US_PER_S;
	char since[WHEN_SIZE], until[WHEN_SIZE] = "", subject[32] = "";

	format_second(finding->since_us - BEFORE_S * US_PER_S, since);
	if (until_us < view->reference_us)
		format_second(until_us, until);
	if (finding->node_guid && finding->port)
		snprintf(subject, sizeof(subject), "0x%016" PRIx64 "/%u", finding->node_guid, finding->port);
	else if (finding->node_guid)
		snprintf(subject, sizeof(subject), "0x%016" PRIx64, finding->node_guid);
	text_append(page, "<p class=\"soft\">");
	if (links) {
		text_appendf(page, "<a href=\"history?since=%s", since);
		if (*until)
			text_appendf(page, "&amp;until=%s", until);
		if (*subject)
			text_appendf(page, "&amp;subject=%s", subject);
		text_append(page, finding->port ? "&amp;peers\">History</a> " : "\">History</a> ");
	}
	text_appendf(page, "<code>ibwire history %s%s%s --since %s%s%s</code></p>\n", subject, *subject ? " " : "",
		     finding->port ? "--peers" : "-c xmit_bytes,rcv_bytes,stall,errors", since,
		     *until ? " --until " : "", until);
}

static void append_evidence(const struct finding *finding, struct text *page)
{
	if (!finding->number_count)
		return;
	text_append(page, "<details><summary>Evidence</summary><p>");
	for (unsigned i = 0; i < finding->number_count; i++)
		html_escapef(page, "%s%s %.15g", i ? ", " : "", finding->numbers[i].key, finding->numbers[i].value);
	text_append(page, "</p></details>\n");
}

static void append_line(const struct view *view, const struct health_row *health, enum health_line line,
			const char *tag, const char *class, struct text *page)
{
	struct text text = { 0 };

	health_append_row(view, health, line, &text);
	if (text.len)
		html_element(page, tag, class, "%s", text.chars);
	page->failed |= text_failed(&text);
	text_done(&text);
}

static void append_finding(const struct view *view, const struct health_row *health, bool links, struct text *page)
{
	const struct finding *finding = &health->row.finding;
	enum page_state state = state_of(health);

	text_appendf(page, "<li id=\"finding-%" PRId64 "\"><p><strong class=\"%s\">%s ", finding->id,
		     html_state_class(state), html_state_sign(state));
	append_line(view, health, HEALTH_WORD, "span", NULL, page);
	text_append(page, "</strong> ");
	html_element(page, "strong", NULL, "%s", finding->subject);
	append_line(view, health, HEALTH_CAUSE, "span", NULL, page);
	text_append(page, "</p>\n");
	html_element(page, "p", NULL, "%s", finding->text);
	append_line(view, health, HEALTH_TIMES, "p", "soft", page);
	append_line(view, health, HEALTH_HOSTS, "p", NULL, page);
	append_line(view, health, HEALTH_ACTION, "p", NULL, page);
	append_evidence(finding, page);
	append_history(view, finding, links, page);
}

void health_html(const struct view *view, const struct health_filter *filter, const struct health_rows *rows,
		 bool links, size_t most_bytes, struct text *page)
{
	size_t end = page->len + most_bytes;
	struct text echoes = { 0 };
	unsigned shown = 0, more = 0;

	for (size_t i = 0; i < rows->count; i++) {
		const struct health_row *row = &rows->list[i];

		if (!health_is_shown(filter, row))
			continue;
		if (shown && page->len > end) {
			more++;
			continue;
		}
		text_append(page, shown++ ? "" : "<ul class=\"signs findings\">\n");
		append_finding(view, row, links, page);
		if (row->row.echoes) {
			health_append_echoes(filter, rows, row, &echoes);
			html_element(page, "p", NULL, "%s", text_chars(&echoes));
			text_clear(&echoes);
		}
		text_append(page, "</li>\n");
	}
	text_append(page, shown ? "</ul>\n" : "<p>No open findings.</p>\n");
	if (more)
		html_element(page, "p", NULL, "and %u more: ibwire health", more);
	page->failed |= text_failed(&echoes);
	text_done(&echoes);
}
