/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* health_page.c - findings as sections of a page: `ibwire health`, and the pages of HTML that list findings */
#include "pages/health.h"

#include <inttypes.h>
#include <stdbool.h>
#include <stdio.h>
#include <string.h>
#include <time.h>

#include "analysis/rate.h"
#include "base/clock.h"
#include "base/err.h"
#include "base/text.h"
#include "base/when.h"
#include "export/page.h"
#include "fabric/cut_off.h"
#include "fabric/fabric.h"
#include "fabric/shape.h"
#include "fabric/variant.h"
#include "facts/cells.h"
#include "facts/finding_columns.h"
#include "facts/health_rows.h"
#include "facts/moment.h"
#include "storage/reader.h"

/* Time span of the history of a finding, before and after its start. */
enum { BEFORE_S = 30 * 60, AFTER_S = 90 * 60 };

/* --- lines of a finding --- */

/* "02:58:04" today, else with the date. */
static void time_of(int64_t wall_us, int64_t now_us, char *ret, size_t size)
{
	time_t then = (time_t)(wall_us / US_PER_S), now = (time_t)(now_us / US_PER_S);
	struct tm at, today;

	localtime_r(&then, &at);
	localtime_r(&now, &today);
	strftime(ret, size, at.tm_year == today.tm_year && at.tm_yday == today.tm_yday ? "%H:%M:%S" : "%F %H:%M:%S",
		 &at);
}

static void append_hosts(const struct finding *finding, struct text *text)
{
	text_append(text, finding->affected_hosts ? "affects " : "");
	finding_append_hosts(finding, text);
}

/* Start, duration and last increase. */
static void append_since(int64_t now_us, const struct finding *finding, const char *since, struct text *text)
{
	char at[WHEN_SIZE], lasts[WHEN_SIZE], last[FINDING_INCREASE_SIZE];

	time_of(finding->since_us, now_us, at, sizeof(at));
	when_format_span((finding->closed_us ? finding->closed_us : now_us) - finding->since_us, lasts);
	text_appendf(text, "%s %s (%s)", since, at, lasts);
	if (!finding->closed_us && *finding_format_increase(finding, now_us, last))
		text_appendf(text, ", %s", last);
}

/* ", measured 17:28:55 to 17:29:01" */
static bool append_window(int64_t now_us, const struct finding *finding, struct text *text)
{
	char from[WHEN_SIZE], until[WHEN_SIZE];
	int64_t from_us, until_us;

	if (!finding_window(finding, &from_us, &until_us))
		return false;
	time_of(from_us, now_us, from, sizeof(from));
	time_of(until_us, now_us, until, sizeof(until));
	text_appendf(text, ", measured %s to %s", from, until);
	return true;
}

/* The same with report, end and measured window. */
static void append_times(int64_t now_us, const struct finding_row *row, struct text *text)
{
	const struct finding *finding = &row->finding;
	char at[WHEN_SIZE], until[WHEN_SIZE], peak[FINDING_PEAK_SIZE];

	append_since(now_us, finding, "since", text);
	time_of(finding->since_us, now_us, at, sizeof(at));
	time_of(row->opened_us, now_us, until, sizeof(until));
	if (strcmp(at, until))
		text_appendf(text, ", reported %s", until);
	if (*finding_format_peak_time(row, now_us, peak))
		text_appendf(text, ", peaked at %s", peak);
	time_of(finding->closed_us, now_us, at, sizeof(at));
	if (finding->closed_us)
		text_appendf(text, ", over at %s", at);
	if (!append_window(now_us, finding, text) && row->measured_us > now_us) {
		time_of(row->measured_us, now_us, at, sizeof(at));
		text_appendf(text, ", measured %s", at);
	}
	text_appendf(text, " #%" PRId64, finding->id);
}

static void append_acknowledgement(const struct acknowledgement *ack, struct text *text)
{
	char until[WHEN_SIZE];

	text_appendf(text, "acknowledged by %s: %s", ack->person, ack->reason);
	if (ack->until_us)
		text_appendf(text, " (until %s)", when_format_local(ack->until_us, until));
}

/* "symbol-errors, cause: cable" */
static void append_cause(int64_t now_us, const struct finding *finding, struct text *text)
{
	char ok[WHEN_SIZE];

	text_append(text, finding_kind_name(finding->kind));
	if (finding->cause[0])
		text_appendf(text, ", cause: %s", finding->cause);
	if (finding->ok_since_us)
		text_appendf(text, " (ok for %s)", when_format_span(now_us - finding->ok_since_us, ok));
}

void health_append_cost(const struct shape *shape, const struct finding *finding, struct text *text)
{
	uint32_t port;

	if (finding->kind != FINDING_LINK_DEGRADED || finding->closed_us)
		return;
	port = fabric_find_port(shape->fabric, finding->node_guid, finding->port);
	if (port != FABRIC_NONE && link_is_usable(shape->fabric, port))
		text->failed |= link_append_cost(shape, port, text, NULL) < 0;
}

/* "> replace the cable", or why the finding does not count. */
static void append_action(const struct health_row *health, const struct shape *shape, struct text *text)
{
	struct text cost = { 0 };

	const struct finding *finding = &health->row.finding;

	if (health->row.acknowledged.at_us)
		append_acknowledgement(&health->row.acknowledged, text);
	else if (health->place == HEALTH_DRAINED)
		text_append(text, "affects only hosts that are out of service");
	else if (finding->advice[0] && !finding->closed_us && !finding->ok_since_us)
		text_appendf(text, "> %s", finding->advice);
	else
		return;
	if (health->place == HEALTH_COUNTS && shape)
		health_append_cost(shape, finding, &cost);
	if (cost.len)
		text_appendf(text, "; %s", text_chars(&cost));
	text->failed |= text_failed(&cost);
	text_done(&cost);
}

/* "+ 10 related: sm-lost, node-silent 8, black-hole leaf03" */
static void append_echoes(const struct health_filter *filter, const struct health_rows *rows,
			  const struct health_row *origin, struct text *text)
{
	const struct finding *last[FINDING_KIND_COUNT] = { 0 };
	unsigned kinds[FINDING_KIND_COUNT] = { 0 };
	const char *comma = "";

	text_appendf(text, "+ %u related: ", origin->row.echoes);
	for (size_t i = 0; i < rows->count; i++) {
		const struct finding_row *row = &rows->list[i].row;

		kinds[row->finding.kind] += row->origin == origin->row.finding.id;
		if (row->origin == origin->row.finding.id)
			last[row->finding.kind] = &row->finding;
	}
	for (int i = 0; i < FINDING_KIND_COUNT; i++) {
		if (!kinds[i])
			continue;
		text_appendf(text, "%s%s", comma, finding_kind_name((enum finding_kind)i));
		if (kinds[i] > 1)
			text_appendf(text, " %u", kinds[i]);
		else if (last[i]->node_guid)
			text_appendf(text, " %s", last[i]->subject);
		comma = ", ";
	}
	text_append(text, filter->all ? "" : " (--all lists them)");
}

/* The history of a finding, as a link and as a command with the same arguments. */
static void add_history(int64_t now_us, const struct finding *finding, bool links, struct page_item *item,
			struct page *page)
{
	int64_t until_us = finding->since_us + AFTER_S * US_PER_S;
	char since[WHEN_SIZE], until[WHEN_SIZE] = "", subject[32] = "";

	when_format_utc_s(finding->since_us - BEFORE_S * US_PER_S, since);
	if (until_us < now_us)
		when_format_utc_s(until_us, until);
	if (finding->node_guid && finding->port)
		snprintf(subject, sizeof(subject), "0x%016" PRIx64 "/%u", finding->node_guid, finding->port);
	else if (finding->node_guid)
		snprintf(subject, sizeof(subject), "0x%016" PRIx64, finding->node_guid);
	item->command = page_print(page, "ibwire history %s%s%s --since %s%s%s", subject, *subject ? " " : "",
				   finding->port ? "--peers" : "-c xmit_bytes,rcv_bytes,stall,errors", since,
				   *until ? " --until " : "", until);
	if (!links)
		return;
	item->link.text = "History";
	item->link.href = page_print(page, "history?since=%s%s%s%s%s%s", since, *until ? "&until=" : "", until,
				     *subject ? "&subject=" : "", subject, finding->port ? "&peers" : "");
}

/* The value of a number, whose key ends with its unit. */
static void append_number(struct text *text, const struct finding_number *number)
{
	static const struct { const char *end, *unit; double us; } units[] = {
		{ "_bytes_per_s", NULL, 0 }, { "_percent", " %", 0 }, { "_gbps", " Gb/s", 0 }, { "_us", NULL, 1 },
		{ "_ms", NULL, 1e3 }, { "_s", NULL, 1e6 }, { "_h", NULL, 3.6e9 },
	};
	/* Of wall clock times in microseconds: 1 January 2000. */
	const double times_from = 946684800e6;
	size_t len = strlen(number->key), end;
	const char *unit = "";
	char shown[64];

	for (size_t i = 0; i < sizeof(units) / sizeof(*units); i++) {
		end = strlen(units[i].end);
		if (len <= end || strcmp(number->key + len - end, units[i].end))
			continue;
		len -= end;
		unit = units[i].unit;
		if (!unit && !units[i].us)
			rate_format_bits(number->value, shown, sizeof(shown));
		else if (!unit && units[i].us == 1 && number->value > times_from)
			when_format_local((int64_t)number->value, shown);
		else if (!unit)
			when_format_span((int64_t)(number->value * units[i].us), shown);
		break;
	}
	if (unit)
		snprintf(shown, sizeof(shown), "%.6g%s", number->value, unit);
	for (size_t i = 0; i < len; i++)
		text_append_bytes(text, number->key[i] == '_' ? " " : &number->key[i], 1);
	text_appendf(text, " %s", shown);
}

static const char *evidence_of(const struct finding *finding, struct page *page)
{
	struct text text = { 0 };

	for (unsigned i = 0; i < finding->number_count; i++) {
		text_append(&text, i ? ", " : "");
		append_number(&text, &finding->numbers[i]);
	}
	return page_keep(page, &text);
}

static enum cell_style style_of(const struct health_row *health)
{
	static const enum cell_style styles[] = { STYLE_PLAIN, STYLE_WARNING, STYLE_CRITICAL };

	return health->place != HEALTH_COUNTS || finding_phase(&health->row.finding) || health->row.finding.closed_us ?
		STYLE_DIM :
		styles[health->row.finding.severity];
}

static void fill_item(int64_t now_us, const struct health_filter *filter, const struct health_rows *rows,
		      const struct health_row *health, const struct health_layout *layout, struct page_item *item,
		      struct page *page)
{
	static const char *const words[] = { [FINDING_INFO] = "info", [FINDING_WARNING] = "WARNING",
					     [FINDING_CRITICAL] = "CRITICAL" };
	const struct finding *finding = &health->row.finding;
	struct text cause = { 0 }, times = { 0 }, hosts = { 0 }, action = { 0 }, echoes = { 0 };

	append_cause(now_us, finding, &cause);
	if (layout->brief) {
		append_since(now_us, finding, ", since", &cause);
		/* Other numbers of the page are of other windows. */
		if (finding_is_of_window(finding->kind))
			append_window(now_us, finding, &cause);
	} else {
		append_times(now_us, &health->row, &times);
	}
	if (!layout->brief)
		append_hosts(finding, &hosts);
	if (!layout->brief || health->place == HEALTH_ACKNOWLEDGED)
		append_action(health, layout->shape, &action);
	if (health->row.echoes && !layout->brief)
		append_echoes(filter, rows, health, &echoes);
	*item = (struct page_item){
		.id = (uint64_t)finding->id, .number = TARGET_FINDING,
		.anchor = page_print(page, "finding-%" PRId64, finding->id),
		.style = style_of(health),
		.word = finding->ok_since_us ? "CLEARING" : words[finding->severity],
		.name = finding->subject,
		.about = page_keep(page, &cause),
		.lines = {
			{ finding->text, false }, { page_keep(page, &times), true }, { page_keep(page, &hosts), false },
			{ page_keep(page, &action), false }, { page_keep(page, &echoes), false },
		},
	};
	if (finding->number_count) {
		item->folded_title = "Evidence";
		item->folded = evidence_of(finding, page);
	}
	add_history(now_us, finding, layout->links, item, page);
}

/* Is this finding listed, or only counted? */
static bool is_shown(const struct health_filter *filter, const struct health_row *row)
{
	/* With --all, echoes follow their origin. */
	return filter->all || (!row->row.origin && row->place <= HEALTH_CLEARING &&
			       row->row.finding.severity != FINDING_INFO);
}

void health_add_findings(int64_t now_us, const struct health_filter *filter,
			 const struct health_rows *rows, const struct health_layout *layout, struct page *page)
{
	struct page_item *items = page_alloc(page, rows->count, sizeof(*items));
	size_t count = 0;

	for (size_t i = 0; items && i < rows->count; i++)
		if (is_shown(filter, &rows->list[i]))
			fill_item(now_us, filter, rows, &rows->list[i], layout, &items[count++], page);
	page_add(page, &(struct page_section){
		.kind = PAGE_ITEMS, .in = layout->in, .title = layout->title,
		.items = { .list = items, .count = count, .none = layout->none, .more = "ibwire health",
			   .html_most = layout->html_most },
	});
}

/* --- the summary --- */

static void append_count(struct text *text, unsigned count, const char *one, const char *more)
{
	if (count)
		text_appendf(text, "%s%u %s", text->len ? ", " : "", count, count == 1 ? one : more);
}

void health_append_summary(const struct moment *moment, const struct health_filter *filter,
			   const struct health_rows *rows, struct text *ret)
{
	const struct sweep_info *sweep = &moment->snapshot->sweep;
	unsigned severities[3] = { 0 }, known = 0, drained = 0, closed = 0, clearing = 0, explained = 0;
	unsigned unread = sweep->ports_polled > sweep->ports_answered ? sweep->ports_polled - sweep->ports_answered : 0;
	struct text text = { 0 };
	char age[WHEN_AGE_SIZE];

	for (size_t i = 0; i < rows->count; i++) {
		const struct health_row *row = &rows->list[i];

		if (row->row.finding.closed_us)
			closed++;
		else if (row->place == HEALTH_ACKNOWLEDGED)
			known++;
		else if (row->place == HEALTH_DRAINED)
			drained++;
		else if (row->row.origin)
			explained++;
		else if (row->place == HEALTH_CLEARING)
			clearing += filter->all || row->row.finding.severity > FINDING_INFO;
		else
			severities[row->row.finding.severity]++;
	}
	append_count(&text, severities[FINDING_CRITICAL], "critical", "critical");
	append_count(&text, severities[FINDING_WARNING], "warning", "warnings");
	/* A finding takes several sweeps to open: until then ports are mentioned that did not respond or refused. */
	if (!text.len && !known && !drained && !closed && !clearing && unread)
		text_appendf(&text, "no open findings, but %u port%s not read", unread,
			     unread == 1 ? " was" : "s were");
	else if (!text.len)
		text_append(&text, closed ? "no findings open any more" : "no open findings");
	append_count(&text, clearing, "clearing", "clearing");
	append_count(&text, closed, "over", "over");
	append_count(&text, explained, "explained by another", "explained by others");
	append_count(&text, severities[FINDING_INFO], "info", "infos");
	append_count(&text, known, "acknowledged", "acknowledged");
	append_count(&text, drained, "on drained hosts", "on drained hosts");
	if (!filter->all && !filter->is_page && severities[FINDING_INFO] + known + drained + explained)
		text_append(&text, " (--all shows them)");
	text_appendf(ret, "%s; sweep %s, %" PRIu32 " of %" PRIu32 " port%s responded", text_chars(&text),
		     when_format_age(moment->reference_us, sweep->wall_us, age), sweep->ports_answered,
		     sweep->ports_polled, text_plural(sweep->ports_polled));
	ret->failed |= text_failed(&text);
	text_done(&text);
}
