/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* balance_page.c - uneven groups: details with a cause, one line without */
#include "pages/balance.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

#include "analysis/balance.h"
#include "base/err.h"
#include "base/text.h"
#include "base/when.h"
#include "export/page.h"
#include "fabric/fabric.h"
#include "fabric/shape.h"
#include "facts/bars.h"
#include "facts/cells.h"

/*
 * Limits without --all or a name: detailed groups and members of each; one-line groups and members.
 */
enum { GROUPS_SHOWN = 4, MEMBERS_SHOWN = 8, MEMBERS_MOST = 256, LINES_SHOWN = 20, BAR_COLUMNS = 10, INDENT = 2 };

enum { PORT, TO, MEASURED, PREDICTED, FAIR, LIDS, FULL, STALL, DISCARDS, MEMBER_COLUMNS };

static const struct column member_columns[MEMBER_COLUMNS] = {
	[PORT] = { .title = "PORT", .kind = COLUMN_INTEGER },
	[TO] = { .title = "PEER", .kind = COLUMN_TEXT, .flags = COLUMN_FLEXIBLE | COLUMN_KEEP_TAIL },
	[MEASURED] = { .title = "MEASURED", .kind = COLUMN_TEXT },
	[PREDICTED] = { .title = "PREDICTED", .kind = COLUMN_TEXT },
	[FAIR] = { .title = "FAIR%", .kind = COLUMN_PERCENT },
	[LIDS] = { .title = "LIDS", .kind = COLUMN_INTEGER, .priority = 2 },
	[FULL] = { .title = "MAX UTIL%", .kind = COLUMN_PERCENT },
	[STALL] = { .title = "XmitWait%", .kind = COLUMN_PERCENT, .measured = true },
	[DISCARDS] = { .title = "DISCARDS", .kind = COLUMN_INTEGER, .measured = true, .priority = 1 },
};

enum { GROUP, TESTS, ADAPTIVE, CAUSE, SHARES, TABLES, HOTTEST, EXCESS, SINCE, GROUP_COLUMNS };

static const struct column group_columns[GROUP_COLUMNS] = {
	[GROUP] = { .title = "GROUP", .kind = COLUMN_TEXT, .flags = COLUMN_FLEXIBLE | COLUMN_KEEP_TAIL },
	[TESTS] = { .title = "TESTS", .kind = COLUMN_TEXT, .priority = 4 },
	[ADAPTIVE] = { .title = "AR", .kind = COLUMN_TEXT, .priority = 3 },
	[CAUSE] = { .title = "CAUSE", .kind = COLUMN_TEXT },
	[SHARES] = { .title = "MEASURED", .kind = COLUMN_TEXT },
	[TABLES] = { .title = "PREDICTED", .kind = COLUMN_TEXT, .priority = 2 },
	[HOTTEST] = { .title = "MAX UTIL%", .kind = COLUMN_PERCENT, .measured = true },
	[EXCESS] = { .title = "IMBALANCE%", .kind = COLUMN_PERCENT },
	[SINCE] = { .title = "FOR", .kind = COLUMN_TEXT, .priority = 1 },
};

static const char *span_of(const struct balance_report *report, const struct balance_began *began, bool words,
			   char ret[2 * WHEN_SIZE])
{
	char span[WHEN_SIZE];

	if (!began->wall_us)
		return "-";
	when_format_span(report->until_us - began->wall_us, span);
	snprintf(ret, 2 * (size_t)WHEN_SIZE, "%s%s", !began->earlier ? "" : words ? "longer than " : "> ", span);
	return ret;
}

static int percent(double part)
{
	return (int)lround(100 * part);
}

static void add_line(struct page *page, unsigned indent, struct text *text)
{
	page_add(page, &(struct page_section){ .kind = PAGE_NOTE, .indent = indent, .note = page_keep(page, text) });
}

bool balance_is_selected(const struct balance_report *report, const struct shape_group *group)
{
	for (uint32_t i = 0; i < group->count; i++)
		if (selection_has_port(&report->selection, report->shape->members[group->first + i]))
			return true;
	return false;
}

static const char *even_word(bool uneven)
{
	return uneven ? "uneven" : "even";
}

/* Group and cause, load, tests and start. */
static void add_heading(const struct balance_report *report, uint32_t index, struct page *page)
{
	const struct balance_result *result = &report->balance.results[index];
	const struct balance_began *began = &report->began[index];
	bool has_cause = result->cause != BALANCE_NONE;
	char from[WHEN_SIZE], span[2 * WHEN_SIZE];
	struct text text = { 0 }, reason = { 0 };

	group_append_name(report->shape, &report->moment.names_shown, result, &text);
	balance_append_reason(report->shape, result, &reason);
	text_appendf(&text, ": %s", has_cause ? balance_cause_name(result->cause) : text_chars(&reason));
	page_add(page, &(struct page_section){ .kind = PAGE_NOTE, .space = SPACE_LINE, .note = page_keep(page, &text),
		.state = !has_cause ? PAGE_PLAIN : result->harmful ? PAGE_CRITICAL : PAGE_WARNING });
	if (has_cause)
		add_line(page, INDENT, &reason);
	text_done(&reason);
	if (!isnan(result->max_utilization))
		text_appendf(&text, "maximum utilization %s%d %%, mean %d %%; ",
			     result->known_share < 1 ? "at least " : "", percent(result->max_utilization),
			     percent(balance_mean(result).value));
	text_appendf(&text, "tables %s; ", !result->tables_known ? "unknown" : even_word(result->tables_uneven));
	if (result->state == BALANCE_ACTIVE)
		text_appendf(&text, "load %s, %s; ", even_word(result->load_uneven),
			     result->harmful ? "a link is overloaded while another has room" : "no link is overloaded");
	balance_append_adaptive(result, &text);
	add_line(page, INDENT, &text);
	if (!began->wall_us)
		return;
	text_appendf(&text, "uneven for %s (since %s%s)", span_of(report, began, true, span),
		     began->earlier ? "before " : "", when_format_local(began->wall_us, from));
	add_line(page, INDENT, &text);
}

/* "######      56%" */
static void put_share(struct result *result, size_t column, struct measure share, double most, bool ascii,
		      enum cell_style style)
{
	struct text text = { 0 };

	if (isnan(share.value))
		return;
	bars_append(&text, share.value, most, BAR_COLUMNS, ascii);
	text_appendf(&text, "%4d%%%s", percent(share.value), measure_mark(share));
	result_text(result, column, result_chars(result, &text));
	result_show(result, column, NULL, style);
	text_done(&text);
}

static void put_member(const struct balance_report *report, struct result *table, const struct balance_result *result,
		       uint32_t index, double most)
{
	const struct balance_member *member = &result->members[index];
	const struct fabric *fabric = report->moment.fabric;
	const struct port *port = &fabric->ports[member->port];
	bool by_chance = result->cause == BALANCE_NONE && result->excess < result->chance_excess;
	bool at_fault = index == result->hottest && result->load_uneven && !by_chance;
	enum cell_style style = at_fault ? result->harmful ? STYLE_CRITICAL : STYLE_WARNING : STYLE_PLAIN;

	result_integer(table, PORT, port->num);
	if (port->peer != FABRIC_NONE)
		cells_port_name(table, TO, &report->moment.names_shown, fabric, port->peer);
	if (!member->works) {
		result_text(table, MEASURED, port_state_name(port->state));
		result_show(table, MEASURED, NULL, STYLE_CRITICAL);
		result_end_row(table);
		return;
	}
	put_share(table, MEASURED, balance_share(result, member), most, report->ascii, style);
	put_share(table, PREDICTED, measure_of(member->predicted, true), most, report->ascii, STYLE_PLAIN);
	result_real(table, FAIR, 100 * member->capacity);
	if (result->tables_known)
		result_integer(table, LIDS, member->lids);
	result_real(table, FULL, 100 * member->utilization);
	result_measure(table, STALL, measure_of(100 * member->stall, !member->stall_at_least));
	result_measure(table, DISCARDS, measure_of(member->xmit_discards, !member->discards_at_least));
	result_end_row(table);
}

/* The members of one group, or the lines of groups from @first on. */
struct listing {
	const struct balance_report *report;
	uint32_t result;
	size_t first;
};

static void put_members(struct result *table, const void *ctx)
{
	const struct listing *of = ctx;
	const struct balance_report *report = of->report;
	const struct balance_result *result = &report->balance.results[of->result];
	uint32_t all = balance_group_of(report, result)->count;
	uint32_t count = all < MEMBERS_MOST ? all : MEMBERS_MOST;
	uint32_t shown = report->all || !report->selection.all || count < MEMBERS_SHOWN ? count : MEMBERS_SHOWN;
	double most = balance_largest_share(result, count);
	uint32_t order[MEMBERS_MOST];

	balance_order_members(result, count, order);
	for (uint32_t i = 0; i < shown; i++)
		put_member(report, table, result, order[i], most);
	if (shown < count)
		result_note(table, "and %u more (use --all or give the switch)", count - shown);
}

static void put_sparks(struct result *table, size_t column, const struct balance_report *report,
		       const struct balance_result *result, bool predicted)
{
	struct text text = { 0 };

	if (predicted && !result->predicted_known)
		return;
	bars_append_members(&text, result, balance_group_of(report, result)->count, predicted, report->ascii);
	result_text(table, column, result_chars(table, &text));
	text_done(&text);
}

static void put_group(const struct balance_report *report, struct result *table, size_t index)
{
	const struct balance_result *result = &report->balance.results[index];
	char span[2 * WHEN_SIZE];
	struct text name = { 0 };
	const char *cause;

	group_append_name(report->shape, &report->moment.names_shown, result, &name);
	result_text(table, GROUP, result_chars(table, &name));
	text_done(&name);
	result_text(table, TESTS, balance_tests(result));
	result_text(table, ADAPTIVE, balance_adaptive_cell(result));
	cause = group_cause(report->shape, &report->balance, result, report->began[index].cause);
	if (*cause)
		result_text(table, CAUSE, cause);
	put_sparks(table, SHARES, report, result, false);
	put_sparks(table, TABLES, report, result, true);
	result_measure(table, HOTTEST, measure_scale(balance_max(result), 100));
	result_measure(table, EXCESS, measure_scale(balance_excess(result), 100));
	if (report->began[index].wall_us)
		result_text(table, SINCE, span_of(report, &report->began[index], false, span));
	result_end_row(table);
}

static void put_groups(struct result *table, const void *ctx)
{
	const struct listing *of = ctx;
	const struct balance_report *report = of->report;
	size_t i = of->first, end = report->shown_count;

	if (!report->all && end - i > LINES_SHOWN)
		end = i + LINES_SHOWN;
	for (; i < end; i++)
		put_group(report, table, report->shown[i]);
	if (end < report->shown_count)
		result_note(table, "and %zu more (--all)", report->shown_count - end);
}

/* The window and the number of hidden groups, to explain an empty page. */
static void add_summary(const struct balance_report *report, struct page *page)
{
	const struct group_counts *counts = &report->counts;
	struct text text = { 0 };
	char from[WHEN_SIZE], until[WHEN_SIZE];

	page_add_note(page, 0, false, "%s to %s", when_format_local(report->since_us, from),
		      when_format_local(report->until_us, until));
	if (!report->selection.all && !report->shown_count) {
		page_add_note(page, 0, false, "none of the selected ports is in a group of equivalent links");
		return;
	}
	group_append_counts(counts, &text);
	if (counts->fine + counts->idle + counts->unknown) {
		text_append(&text, !report->all && report->selection.all ? "; --all also lists " : "; ");
		group_append_others(counts, &text);
	}
	add_line(page, 0, &text);
	if (!report->shape->group_count)
		page_add_note(page, 0, false, "this fabric has no equivalent links: %s", report->shape->reason);
	if (!report->routes_known)
		page_add_note(page, 0, false,
			      "no forwarding tables at this time: no predictions and no routing causes");
}

struct page *balance_page(const struct balance_report *report)
{
	struct page *page = page_create("Load of equivalent links");
	struct listing *listings = page_alloc(page, report->shown_count + 1, sizeof(*listings));
	size_t i;

	add_summary(report, page);
	for (i = 0; listings && i < report->shown_count; i++) {
		uint32_t index = report->shown[i];
		const struct balance_result *result = &report->balance.results[index];

		if (report->selection.all && (result->cause == BALANCE_NONE || balance_is_second(result) ||
					      (i >= GROUPS_SHOWN && !report->all)))
			break;
		listings[i] = (struct listing){ .report = report, .result = index };
		add_heading(report, index, page);
		page_add(page, &(struct page_section){ .kind = PAGE_TABLE, .space = SPACE_NONE,
			.table = { member_columns, MEMBER_COLUMNS, put_members, &listings[i] } });
	}
	if (!listings || i == report->shown_count)
		return page;
	listings[i] = (struct listing){ .report = report, .first = i };
	page_add(page, &(struct page_section){ .kind = PAGE_TABLE,
		.table = { group_columns, GROUP_COLUMNS, put_groups, &listings[i] } });
	return page;
}
