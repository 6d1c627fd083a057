/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* health_print.c - findings as text, JSON and CSV */
#include <inttypes.h>
#include <stdio.h>
#include <string.h>
#include <time.h>

#include "base/clock.h"
#include "base/err.h"
#include "base/text.h"
#include "base/when.h"
#include "cli/health/health.h"
#include "cli/lib/cells.h"
#include "cli/lib/view.h"
#include "fabric/fabric.h"
#include "fabric/name_map.h"
#include "storage/reader.h"

enum {
	ID, TIME, KIND, SEVERITY, SUBJECT, NODE_GUID, NODE, PORT, PEER_GUID, PEER, PEER_PORT, SINCE, OPENED, LAST_SEEN,
	CLOSED, OK_SINCE, MEASURED, ORIGIN, EVIDENCE, CAUSE, TEXT, ADVICE, HOSTS, HOSTS_TOUCHED, PORTS, DRAINED,
	ACKNOWLEDGED, ACK_REASON, ACK_UNTIL, CHANGE, COLUMN_COUNT,
};

static const struct column finding_columns[COLUMN_COUNT] = {
	[ID] = { .key = "id", .kind = COLUMN_INTEGER },
	[TIME] = { .key = "time", .kind = COLUMN_TIME },
	[KIND] = { .key = "kind", .kind = COLUMN_TEXT },
	[SEVERITY] = { .key = "severity", .kind = COLUMN_TEXT },
	[SUBJECT] = { .key = "subject", .kind = COLUMN_TEXT },
	CELLS_NODE_COLUMNS(NODE_GUID),
	CELLS_PEER_COLUMNS(PEER_GUID),
	[SINCE] = { .key = "since", .kind = COLUMN_TIME },
	[OPENED] = { .key = "opened", .kind = COLUMN_TIME },
	[LAST_SEEN] = { .key = "last_seen", .kind = COLUMN_TIME },
	[CLOSED] = { .key = "closed", .kind = COLUMN_TIME },
	[OK_SINCE] = { .key = "ok_since", .kind = COLUMN_TIME },
	[MEASURED] = { .key = "measured", .kind = COLUMN_TIME },
	[ORIGIN] = { .key = "origin", .kind = COLUMN_INTEGER },
	[EVIDENCE] = { .key = "evidence", .kind = COLUMN_OBJECT },
	[CAUSE] = { .key = "cause", .kind = COLUMN_TEXT },
	[TEXT] = { .key = "text", .kind = COLUMN_TEXT },
	[ADVICE] = { .key = "advice", .kind = COLUMN_TEXT },
	[HOSTS] = { .key = "hosts", .kind = COLUMN_LIST },
	[HOSTS_TOUCHED] = { .key = "affected_hosts", .kind = COLUMN_INTEGER },
	[PORTS] = { .key = "ports", .kind = COLUMN_LIST },
	[DRAINED] = { .key = "drained", .kind = COLUMN_BOOL },
	[ACKNOWLEDGED] = { .key = "acknowledged_by", .kind = COLUMN_TEXT },
	[ACK_REASON] = { .key = "acknowledged_reason", .kind = COLUMN_TEXT },
	[ACK_UNTIL] = { .key = "acknowledged_until", .kind = COLUMN_TIME },
	[CHANGE] = { .key = "change", .kind = COLUMN_TEXT }, /* only with --watch */
};

/* @stored: the name stored with the finding. */
static void put_end(struct result *result, const struct view *view, uint64_t guid, uint8_t num, const char *stored,
		    size_t guid_column)
{
	uint32_t node;
	const char *name = stored;

	if (!guid)
		return;
	node = fabric_find_node(view->fabric, guid);
	if (node != FABRIC_NONE)
		name = view->fabric->nodes[node].name;
	else if (view->names && name_map_find(view->names, guid))
		name = name_map_find(view->names, guid);
	cells_identity(result, guid_column, guid, *name ? name : NULL, num);
}

void health_put_row(struct result *result, const struct view *view, int64_t time_us, const char *change,
		    const struct health_row *health)
{
	const struct finding_row *row = &health->row;
	const struct finding *finding = &row->finding;

	result_integer(result, ID, finding->id);
	result_integer(result, TIME, time_us);
	result_text(result, KIND, finding_kind_name(finding->kind));
	result_text(result, SEVERITY, finding_severity_name(finding->severity));
	result_text(result, SUBJECT, finding->subject);
	put_end(result, view, finding->node_guid, finding->port, row->node, NODE_GUID);
	put_end(result, view, finding->peer_guid, finding->peer_port, row->peer, PEER_GUID);
	result_integer(result, SINCE, finding->since_us);
	result_integer(result, OPENED, row->opened_us);
	result_integer(result, LAST_SEEN, finding->last_seen_us);
	cells_nonzero(result, CLOSED, finding->closed_us);
	cells_nonzero(result, OK_SINCE, finding->ok_since_us);
	result_integer(result, MEASURED, row->measured_us);
	cells_nonzero(result, ORIGIN, row->origin);
	result_empty(result, EVIDENCE);
	for (unsigned i = 0; i < finding->number_count; i++)
		result_number(result, EVIDENCE, finding->numbers[i].key, finding->numbers[i].value);
	result_text(result, CAUSE, finding->cause[0] ? finding->cause : NULL);
	result_text(result, TEXT, finding->text);
	result_text(result, ADVICE, finding->advice);
	result_empty(result, HOSTS);
	for (unsigned i = 0; i < finding->host_count; i++)
		result_item(result, HOSTS, "%s", finding->hosts[i]);
	result_integer(result, HOSTS_TOUCHED, finding->affected_hosts);
	result_empty(result, PORTS);
	for (unsigned i = 0; i < finding->port_count; i++) {
		uint32_t node = fabric_find_node(view->fabric, finding->ports[i].node_guid);

		if (node != FABRIC_NONE)
			result_item(result, PORTS, "%s/%u", view->names_shown.names[node], finding->ports[i].port);
		else
			result_item(result, PORTS, "0x%016" PRIx64 "/%u", finding->ports[i].node_guid,
				    finding->ports[i].port);
	}
	result_bool(result, DRAINED, health->place == HEALTH_DRAINED);
	if (row->acknowledged.at_us) {
		result_text(result, ACKNOWLEDGED, row->acknowledged.person);
		result_text(result, ACK_REASON, row->acknowledged.reason);
		cells_nonzero(result, ACK_UNTIL, row->acknowledged.until_us);
	}
	if (change)
		result_text(result, CHANGE, change);
	result_end_row(result);
}

struct result *health_result(const struct options *options, bool watch)
{
	struct result_options output = options_result(options);

	output.lines = watch;
	return result_create(options->out, &output, finding_columns, watch ? COLUMN_COUNT : CHANGE);
}

static int print_data(const struct view *view, const struct health_filter *filter, const struct health_rows *rows,
		      struct error *err)
{
	struct result *result = health_result(filter->options, false);

	for (size_t i = 0; i < rows->count; i++)
		health_put_row(result, view, view->snapshot->sweep.wall_us, NULL, &rows->list[i]);
	return output_end(result, 0, err);
}

/* --- text --- */

static const char *color_of(const struct result_options *output, const struct health_row *health)
{
	if (!output->color)
		return "";
	if (health->place != HEALTH_COUNTS || health->row.finding.closed_us)
		return "\033[2m";
	switch (health->row.finding.severity) {
	case FINDING_CRITICAL:
		return "\033[1;31m";
	case FINDING_WARNING:
		return "\033[33m";
	case FINDING_INFO:
		break;
	}
	return "";
}

enum { INDENT = 10, WIDTH_WITHOUT = 120, WIDTH_LEAST = 40 };

/* Wrap words to a width with an indent. @mark: before the first line; the others are indented by its width, too */
static void append_wrapped(const struct result_options *output, const char *mark, const char *chars, struct text *page)
{
	unsigned width = output->width > WIDTH_LEAST ? output->width : output->width ? WIDTH_LEAST : WIDTH_WITHOUT;
	unsigned indent = INDENT + (unsigned)text_columns(mark);

	text_appendf(page, "%*s%s", INDENT, "", mark);
	text_append_wrapped(page, chars, indent, indent, width);
}

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
	enum { HOSTS_SHOWN = 4 };

	if (!finding->affected_hosts)
		return;
	text_appendf(text, "affects %u host%s", finding->affected_hosts, finding->affected_hosts == 1 ? "" : "s");
	for (unsigned i = 0; i < finding->host_count && i < HOSTS_SHOWN; i++)
		text_appendf(text, "%s %s", i ? "," : ":", finding->hosts[i]);
	if (finding->affected_hosts > HOSTS_SHOWN)
		text_append(text, ", ...");
}

/* Start, duration, report, end and measured window. */
static void append_times(const struct view *view, const struct finding_row *row, struct text *text)
{
	const struct finding *finding = &row->finding;
	int64_t now_us = view->reference_us, from_us, until_us;
	char at[WHEN_SIZE], until[WHEN_SIZE], lasts[WHEN_SIZE];

	time_of(finding->since_us, now_us, at, sizeof(at));
	when_format_span((finding->closed_us ? finding->closed_us : now_us) - finding->since_us, lasts);
	text_appendf(text, "since %s (%s)", at, lasts);
	time_of(row->opened_us, now_us, until, sizeof(until));
	if (strcmp(at, until))
		text_appendf(text, ", reported %s", until);
	time_of(finding->closed_us, now_us, at, sizeof(at));
	if (finding->closed_us)
		text_appendf(text, ", over at %s", at);
	if (finding_window(finding, &from_us, &until_us)) {
		time_of(from_us, now_us, at, sizeof(at));
		time_of(until_us, now_us, until, sizeof(until));
		text_appendf(text, ", measured %s to %s", at, until);
	} else if (row->measured_us > now_us) {
		time_of(row->measured_us, now_us, at, sizeof(at));
		text_appendf(text, ", measured %s", at);
	}
	text_appendf(text, "   #%" PRId64, finding->id);
}

static void append_acknowledgement(const struct acknowledgement *ack, struct text *text)
{
	char until[WHEN_SIZE];

	text_appendf(text, "acknowledged by %s: %s", ack->person, ack->reason);
	if (ack->until_us)
		text_appendf(text, " (until %s)", when_format_local(ack->until_us, until));
}

void health_append_row(const struct view *view, const struct health_row *health, enum health_line line,
		       struct text *text)
{
	static const char *const words[] = { [FINDING_INFO] = "info", [FINDING_WARNING] = "WARNING",
					     [FINDING_CRITICAL] = "CRITICAL" };
	const struct finding *finding = &health->row.finding;
	bool clearing = finding->ok_since_us;
	char ok[WHEN_SIZE];

	switch (line) {
	case HEALTH_WORD:
		text_append(text, clearing ? "CLEARING" : words[finding->severity]);
		break;
	case HEALTH_CAUSE:
		text_append(text, finding_kind_name(finding->kind));
		if (finding->cause[0])
			text_appendf(text, ", cause: %s", finding->cause);
		if (clearing)
			text_appendf(text, " (ok for %s)",
				     when_format_span(view->reference_us - finding->ok_since_us, ok));
		break;
	case HEALTH_TIMES:
		append_times(view, &health->row, text);
		break;
	case HEALTH_HOSTS:
		append_hosts(finding, text);
		break;
	case HEALTH_ACTION:
		if (health->row.acknowledged.at_us)
			append_acknowledgement(&health->row.acknowledged, text);
		else if (health->place == HEALTH_DRAINED)
			text_append(text, "affects only hosts that are out of service");
		else if (finding->advice[0] && !finding->closed_us && !clearing)
			text_appendf(text, "> %s", finding->advice);
		break;
	}
}

/* Append a text that begins with a mark such as "> ", or with "" as @mark. */
static void append_text(const struct result_options *output, const char *mark, const struct text *text,
			struct text *page)
{
	if (text->len)
		append_wrapped(output, mark, text->chars + strlen(mark), page);
	page->failed |= text_failed(text);
}

static void append_line(const struct view *view, const struct result_options *output, const struct health_row *health,
			enum health_line line, struct text *page)
{
	struct text text = { 0 };

	health_append_row(view, health, line, &text);
	append_text(output, text.len && text.chars[0] == '>' ? "> " : "", &text, page);
	text_done(&text);
}

static void append_row(const struct view *view, const struct result_options *output, const struct health_row *health,
		       struct text *page)
{
	const struct finding *finding = &health->row.finding;
	struct text word = { 0 };

	health_append_row(view, health, HEALTH_WORD, &word);
	text_appendf(page, "%s%-9s%s %s  ", color_of(output, health), text_chars(&word),
		     output->color ? "\033[0m" : "", finding->subject);
	page->failed |= text_failed(&word);
	text_done(&word);
	health_append_row(view, health, HEALTH_CAUSE, page);
	text_append(page, "\n");
	append_wrapped(output, "", finding->text, page);
	append_line(view, output, health, HEALTH_TIMES, page);
	append_line(view, output, health, HEALTH_HOSTS, page);
	append_line(view, output, health, HEALTH_ACTION, page);
}

void health_append_echoes(const struct health_filter *filter, const struct health_rows *rows,
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

static void append_count(struct text *text, unsigned count, const char *one, const char *more)
{
	if (count)
		text_appendf(text, "%s%u %s", text->len ? ", " : "", count, count == 1 ? one : more);
}

/* The first line: a summary, and the number of hidden findings. */
void health_append_summary(const struct view *view, const struct health_filter *filter, const struct health_rows *rows,
			   struct text *ret)
{
	const struct sweep_info *sweep = &view->snapshot->sweep;
	unsigned severities[3] = { 0 }, known = 0, drained = 0, closed = 0, clearing = 0;
	unsigned silent = sweep->ports_polled > sweep->ports_answered ? sweep->ports_polled - sweep->ports_answered : 0;
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
		else if (row->place == HEALTH_CLEARING)
			clearing += filter->all || row->row.finding.severity > FINDING_INFO;
		else
			severities[row->row.finding.severity]++;
	}
	append_count(&text, severities[FINDING_CRITICAL], "critical", "critical");
	append_count(&text, severities[FINDING_WARNING], "warning", "warnings");
	/* A finding takes several sweeps to open: unresponsive ports are mentioned until then. */
	if (!text.len && !known && !drained && !closed && !clearing && silent)
		text_appendf(&text, "no open findings, but %u port%s did not respond", silent,
			     silent == 1 ? "" : "s");
	else if (!text.len)
		text_append(&text, closed ? "no findings open any more" : "no open findings");
	append_count(&text, clearing, "clearing", "clearing");
	append_count(&text, closed, "over", "over");
	append_count(&text, severities[FINDING_INFO], "info", "infos");
	append_count(&text, known, "acknowledged", "acknowledged");
	append_count(&text, drained, "on drained hosts", "on drained hosts");
	if (!filter->all && severities[FINDING_INFO] + known + drained)
		text_append(&text, " (--all shows them)");
	text_appendf(ret, "%s; sweep %s, %" PRIu32 " of %" PRIu32 " ports responded", text_chars(&text),
		     when_format_age(view->reference_us, sweep->wall_us, age), sweep->ports_answered,
		     sweep->ports_polled);
	ret->failed |= text_failed(&text);
	text_done(&text);
}

bool health_is_shown(const struct health_filter *filter, const struct health_row *row)
{
	/* With --all, echoes follow their origin. */
	return filter->all || (!row->row.origin && row->place <= HEALTH_CLEARING &&
			       row->row.finding.severity != FINDING_INFO);
}

int health_print(const struct view *view, const struct health_filter *filter, const struct health_rows *rows,
		 struct error *err)
{
	struct result_options output = options_result(filter->options);
	struct text page = { 0 }, echoes = { 0 };

	if (output.format != RESULT_TABLE)
		return print_data(view, filter, rows, err);
	health_append_summary(view, filter, rows, &page);
	text_append(&page, "\n");
	for (size_t i = 0; i < rows->count; i++) {
		const struct health_row *row = &rows->list[i];

		if (!health_is_shown(filter, row))
			continue;
		append_row(view, &output, row, &page);
		text_clear(&echoes);
		if (row->row.echoes)
			health_append_echoes(filter, rows, row, &echoes);
		append_text(&output, "+ ", &echoes, &page);
	}
	text_done(&echoes);
	return output_text(filter->options, &page, err);
}

static int explain_data(int first, int last, const struct options *options, struct error *err)
{
	static const struct column columns[] = {
		{ .key = "kind", .kind = COLUMN_TEXT },   { .key = "means", .kind = COLUMN_TEXT },
		{ .key = "limits", .kind = COLUMN_TEXT }, { .key = "reason", .kind = COLUMN_TEXT },
		{ .key = "advice", .kind = COLUMN_TEXT },
	};
	struct result *result = output_begin(options, false, columns, sizeof(columns) / sizeof(columns[0]));

	for (int kind = first; kind <= last; kind++) {
		const struct finding_kind_info *info = finding_kind_info((enum finding_kind)kind);

		result_text(result, 0, info->name);
		result_text(result, 1, info->means);
		result_text(result, 2, info->limits);
		result_text(result, 3, info->reason);
		result_text(result, 4, info->advice);
		result_end_row(result);
	}
	return output_end(result, 0, err);
}

int health_explain(const char *word, const struct options *options, struct error *err)
{
	const struct result_options output = options_result(options);
	int kind = word ? finding_kind_find(word) : -1;
	const struct finding_kind_info *info;
	struct text page = { 0 };

	if (word && kind < 0)
		return err_set(err, ERR_USAGE,
			       "unknown finding kind '%.64s': ibwire health --explain all lists them", word);
	if (output.format != RESULT_TABLE)
		return explain_data(word ? kind : 0, word ? kind : FINDING_KIND_COUNT - 1, options, err);
	for (int i = 0; !word && i < FINDING_KIND_COUNT; i++)
		text_appendf(&page, "%-20s %s\n", finding_kind_name((enum finding_kind)i),
			     finding_kind_info((enum finding_kind)i)->means);
	if (word) {
		info = finding_kind_info((enum finding_kind)kind);
		text_appendf(&page, "%s\n", info->name);
		append_wrapped(&output, "what:    ", info->means, &page);
		append_wrapped(&output, "limits:  ", info->limits, &page);
		append_wrapped(&output, "why:     ", info->reason, &page);
		append_wrapped(&output, "do:      ", info->advice, &page);
	}
	return output_text(options, &page, err);
}
