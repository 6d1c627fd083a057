/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* balance_print.c - tables of uneven groups: details with a cause, one line without */
#include <math.h>
#include <stdio.h>
#include <string.h>

#include "analysis/balance.h"
#include "base/err.h"
#include "base/text.h"
#include "base/when.h"
#include "cli/balance/balance.h"
#include "export/result.h"
#include "fabric/fabric.h"
#include "fabric/shape.h"
#include "storage/reader.h"
#include "facts/bars.h"
#include "facts/group.h"

/*
 * Limits without --all or a name: detailed groups and members of each; one-line groups and members.
 */
enum { GROUPS_SHOWN = 4, MEMBERS_SHOWN = 8, MEMBERS_MOST = 256, LINES_SHOWN = 20, BAR_COLUMNS = 10 };

enum { PORT, TO, MEASURED, PREDICTED, FAIR, LIDS, FULL, STALL, DISCARDS, MEMBER_COLUMNS };

static const struct column member_columns[MEMBER_COLUMNS] = {
	[PORT] = { .title = "PORT", .kind = COLUMN_INTEGER },
	[TO] = { .title = "PEER", .kind = COLUMN_TEXT, .flags = COLUMN_FLEXIBLE | COLUMN_KEEP_TAIL },
	[MEASURED] = { .title = "MEASURED", .kind = COLUMN_TEXT },
	[PREDICTED] = { .title = "PREDICTED", .kind = COLUMN_TEXT },
	[FAIR] = { .title = "FAIR%", .kind = COLUMN_PERCENT },
	[LIDS] = { .title = "LIDS", .kind = COLUMN_INTEGER, .priority = 2 },
	[FULL] = { .title = "MAX UTIL%", .kind = COLUMN_PERCENT },
	[STALL] = { .title = "XmitWait%", .kind = COLUMN_PERCENT },
	[DISCARDS] = { .title = "DISCARDS", .kind = COLUMN_INTEGER, .priority = 1 },
};

enum { GROUP, TESTS, ADAPTIVE, CAUSE, SHARES, TABLES, HOTTEST, EXCESS, SINCE, GROUP_COLUMNS };

static const struct column group_columns[GROUP_COLUMNS] = {
	[GROUP] = { .title = "GROUP", .kind = COLUMN_TEXT, .flags = COLUMN_FLEXIBLE | COLUMN_KEEP_TAIL },
	[TESTS] = { .title = "TEST", .kind = COLUMN_TEXT },
	[ADAPTIVE] = { .title = "AR", .kind = COLUMN_TEXT, .priority = 3 },
	[CAUSE] = { .title = "CAUSE", .kind = COLUMN_TEXT },
	[SHARES] = { .title = "MEASURED", .kind = COLUMN_TEXT },
	[TABLES] = { .title = "PREDICTED", .kind = COLUMN_TEXT, .priority = 2 },
	[HOTTEST] = { .title = "MAX UTIL%", .kind = COLUMN_PERCENT },
	[EXCESS] = { .title = "IMBALANCE%", .kind = COLUMN_PERCENT },
	[SINCE] = { .title = "FOR", .kind = COLUMN_TEXT, .priority = 1 },
};

static void append_node(const struct balance_report *report, uint32_t node, struct text *text)
{
	const char *name = report->view.names_shown.names[node];

	text_append_escaped(text, name, strlen(name));
}

/* "leaf01 uplinks out", "spine01 to leaf01". */
static void append_group(const struct balance_report *report, const struct balance_result *result, struct text *text)
{
	const struct shape_group *group = balance_group_of(report, result);
	bool out = result->direction == BALANCE_XMIT;

	append_node(report, group->node, text);
	if (group->kind == GROUP_UP) {
		text_append(text, out ? " uplinks out" : " uplinks in");
		return;
	}
	text_append(text, out ? " to " : " from ");
	append_node(report, group->peer, text);
}

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

/* Up to three lines: group and cause, load, tests and start. */
static int print_heading(const struct balance_report *report, const struct balance_result *result,
			 const struct balance_began *began, bool color, struct error *err)
{
	bool bad = result->cause != BALANCE_NONE && result->harmful;
	struct text text = { 0 };
	char from[WHEN_SIZE], span[2 * WHEN_SIZE];

	text_append(&text, color && result->cause != BALANCE_NONE ? bad ? "\033[1;31m" : "\033[33m" : "");
	append_group(report, result, &text);
	if (result->cause != BALANCE_NONE)
		text_appendf(&text, ": %s", balance_cause_name(result->cause));
	text_append(&text, color && result->cause != BALANCE_NONE ? "\033[0m" : "");
	text_append(&text, result->cause != BALANCE_NONE ? "\n  " : ": ");
	balance_append_reason(report->shape, result, &text);
	text_append(&text, "\n  ");
	if (!isnan(result->max_utilization))
		text_appendf(&text, "maximum utilization %d %%, mean %d %%; ", percent(result->max_utilization),
			     percent(result->mean_utilization));
	text_appendf(&text, "tests %s; ", balance_test_letters(result));
	balance_append_adaptive(result, &text);
	if (began->wall_us)
		text_appendf(&text, "\n  uneven for %s (since %s%s)", span_of(report, began, true, span),
			     began->earlier ? "before " : "", when_format_local(began->wall_us, from));
	text_append(&text, "\n");
	return output_text(&report->options, &text, err);
}

/* "######      56%" */
static void put_share(struct result *result, size_t column, double share, double most, bool ascii,
		      enum cell_style style)
{
	struct text text = { 0 };

	if (isnan(share))
		return;
	bars_append(&text, share, most, BAR_COLUMNS, ascii);
	text_appendf(&text, "%4d%%", percent(share));
	result_text(result, column, result_chars(result, &text));
	result_show(result, column, NULL, style);
	text_done(&text);
}

static void put_member(const struct balance_report *report, struct result *table, const struct balance_result *result,
		       uint32_t index, double most)
{
	const struct balance_member *member = &result->members[index];
	const struct fabric *fabric = report->view.fabric;
	const struct port *port = &fabric->ports[member->port];
	bool ascii = balance_is_ascii(report);
	struct text peer = { 0 };
	bool by_chance = result->cause == BALANCE_NONE && result->excess < result->chance_excess;
	bool at_fault = index == result->hottest && result->load_uneven && !by_chance;
	enum cell_style style = at_fault ? result->harmful ? STYLE_CRITICAL : STYLE_WARNING : STYLE_PLAIN;

	result_integer(table, PORT, port->num);
	if (port->peer != FABRIC_NONE) {
		append_node(report, fabric->ports[port->peer].node, &peer);
		text_appendf(&peer, "/%u", fabric->ports[port->peer].num);
		result_text(table, TO, result_chars(table, &peer));
		text_done(&peer);
	}
	if (!member->works) {
		result_text(table, MEASURED, port_state_name(port->state));
		result_show(table, MEASURED, NULL, STYLE_CRITICAL);
		result_end_row(table);
		return;
	}
	put_share(table, MEASURED, member->measured, most, ascii, style);
	put_share(table, PREDICTED, member->predicted, most, ascii, STYLE_PLAIN);
	result_real(table, FAIR, 100 * member->capacity);
	if (result->tables_known)
		result_integer(table, LIDS, member->lids);
	result_real(table, FULL, 100 * member->utilization);
	result_real(table, STALL, 100 * member->stall);
	if (!isnan(member->xmit_discards))
		result_integer(table, DISCARDS, (int64_t)member->xmit_discards);
	result_end_row(table);
}

static int print_members(const struct balance_report *report, const struct balance_result *result,
			 const struct result_options *output, struct error *err)
{
	uint32_t all = balance_group_of(report, result)->count;
	uint32_t count = all < MEMBERS_MOST ? all : MEMBERS_MOST;
	uint32_t shown = report->all || !report->selection.all || count < MEMBERS_SHOWN ? count : MEMBERS_SHOWN;
	double most = balance_largest_share(result, count);
	uint32_t order[MEMBERS_MOST];
	struct result *table = result_create(report->options.out, output, member_columns, MEMBER_COLUMNS);

	balance_order_members(result, count, order);
	for (uint32_t i = 0; i < shown; i++)
		put_member(report, table, result, order[i], most);
	if (shown < count)
		result_note(table, "and %u more (use --all or give the switch)", count - shown);
	return output_end(table, 0, err);
}

static void put_sparks(struct result *table, size_t column, const struct balance_report *report,
		       const struct balance_result *result, bool predicted)
{
	struct text text = { 0 };

	if (predicted && !result->predicted_known)
		return;
	bars_append_members(&text, result, balance_group_of(report, result)->count, predicted,
			    balance_is_ascii(report));
	result_text(table, column, result_chars(table, &text));
	text_done(&text);
}

static void put_group(const struct balance_report *report, struct result *table, size_t index)
{
	const struct balance_result *result = &report->balance.results[index];
	char span[2 * WHEN_SIZE];
	struct text name = { 0 };
	const char *cause;

	append_group(report, result, &name);
	result_text(table, GROUP, result_chars(table, &name));
	text_done(&name);
	result_text(table, TESTS, balance_test_letters(result));
	result_text(table, ADAPTIVE, balance_adaptive_cell(result));
	cause = group_cause(report->shape, &report->balance, result, report->began[index].cause);
	if (*cause)
		result_text(table, CAUSE, cause);
	put_sparks(table, SHARES, report, result, false);
	put_sparks(table, TABLES, report, result, true);
	result_real(table, HOTTEST, 100 * result->max_utilization);
	result_real(table, EXCESS, 100 * result->excess);
	if (report->began[index].wall_us)
		result_text(table, SINCE, span_of(report, &report->began[index], false, span));
	result_end_row(table);
}

/* The window and the number of hidden groups, to explain an empty page. */
static void print_summary(const struct balance_report *report, size_t causes, size_t uneven, size_t chance)
{
	FILE *out = report->options.out;
	char from[WHEN_SIZE], until[WHEN_SIZE];

	fprintf(out, "%s to %s\n", when_format_local(report->since_us, from),
		when_format_local(report->until_us, until));
	fprintf(out, "%zu %s with a cause, %zu uneven without one", causes, causes == 1 ? "group" : "groups", uneven);
	if (chance)
		fprintf(out, ", %zu ok within chance", chance);
	if (!report->all && report->selection.all)
		fprintf(out, ", %zu even, %zu idle, %zu unknown%s", report->fine, report->idle, report->unknown,
			report->fine + report->idle + report->unknown ? " (hidden; --all shows them)" : "");
	fprintf(out, "\n");
	if (!report->shape->group_count)
		fprintf(out, "this fabric has no equivalent links: %s\n", report->shape->reason);
	if (!report->routes_known)
		fprintf(out, "no forwarding tables at this time: no predictions and no routing causes\n");
}

int balance_print(const struct balance_report *report, struct error *err)
{
	struct result_options output = options_result(&report->options);
	size_t causes = 0, uneven = 0, chance = 0, lines = 0, i;
	FILE *out = report->options.out;
	bool at_length = !report->selection.all;
	struct result *table;
	int code = 0;

	for (i = 0; i < report->shown_count; i++) {
		const struct balance_result *result = &report->balance.results[report->shown[i]];

		causes += result->cause != BALANCE_NONE && !balance_is_second(result);
		chance += balance_is_chance(report->shape, &report->balance, result);
		uneven += result->cause == BALANCE_NONE && balance_is_reported(result) &&
			  !balance_is_chance(report->shape, &report->balance, result);
	}
	print_summary(report, causes, uneven, chance);
	for (i = 0; code == 0 && i < report->shown_count; i++) {
		const struct balance_result *result = &report->balance.results[report->shown[i]];

		if (!at_length && (result->cause == BALANCE_NONE || balance_is_second(result) ||
				   (i >= GROUPS_SHOWN && !report->all)))
			break;
		/* main() reports it. */
		if (ferror(out))
			return 0;
		fprintf(out, "\n");
		code = print_heading(report, result, &report->began[report->shown[i]], output.color, err);
		if (code == 0)
			code = print_members(report, result, &output, err);
	}
	if (code < 0 || i == report->shown_count)
		return code;
	fprintf(out, "\n");
	table = result_create(out, &output, group_columns, GROUP_COLUMNS);
	for (; i < report->shown_count && (report->all || lines < LINES_SHOWN); i++, lines++)
		put_group(report, table, report->shown[i]);
	if (i < report->shown_count)
		result_note(table, "and %zu more (--all)", report->shown_count - i);
	return output_end(table, 0, err);
}
