/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
#include "pages/plan.h"

#include <ctype.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/text.h"
#include "export/page.h"
#include "fabric/fabric.h"
#include "fabric/names.h"
#include "fabric/plan.h"
#include "fabric/plan_diff.h"
#include "fabric/shape.h"
#include "facts/cells.h"

/* The report with what its rows look up. */
struct work {
	struct plan_report report;
	uint32_t *link;     /* by port: its planned link, or FABRIC_NONE */
	const char **place; /* by node: its rack and height in the plan, or NULL */
	const char **racks; /* by difference: the rack of its work, or "" */
	uint32_t *order;    /* differences by rack */
};

/* The differences of one rack, or all. */
struct sheet {
	const struct work *work;
	size_t first, count; /* in the order of racks */
};

enum {
	DONE, CHANGE, AT, NODE_GUID, NODE, PORT, PLANNED, PRESENT, ACTION, PLACE, WHERE, FILE_NAME, LINE, LINKS, CABLES,
	MOVES, COLUMN_COUNT,
};

static const struct column columns[COLUMN_COUNT] = {
	[DONE] = { .title = "", .kind = COLUMN_TEXT, .flags = COLUMN_NO_TABLE | COLUMN_HTML },
	[CHANGE] = { .key = "change", .title = "CHANGE", .kind = COLUMN_TEXT },
	[AT] = { .title = "NODE OR PORT", .kind = COLUMN_TEXT, .flags = COLUMN_FLEXIBLE | COLUMN_KEEP_TAIL },
	CELLS_NODE_COLUMNS(NODE_GUID),
	[PLANNED] = { .key = "planned_peer", .title = "PLANNED PEER", .kind = COLUMN_TEXT,
		      .flags = COLUMN_FLEXIBLE | COLUMN_KEEP_TAIL, .priority = 2 },
	[PRESENT] = { .key = "present_peer", .title = "PRESENT PEER", .kind = COLUMN_TEXT,
		      .flags = COLUMN_FLEXIBLE | COLUMN_KEEP_TAIL, .priority = 2 },
	[ACTION] = { .key = "action", .title = "ACTION", .kind = COLUMN_TEXT, .flags = COLUMN_BELOW },
	[PLACE] = { .key = "place", .title = "PLACE", .kind = COLUMN_TEXT, .flags = COLUMN_FLEXIBLE, .priority = 3 },
	[WHERE] = { .title = "PLAN", .kind = COLUMN_TEXT, .flags = COLUMN_FLEXIBLE | COLUMN_KEEP_TAIL, .priority = 4 },
	[FILE_NAME] = { .key = "file", .kind = COLUMN_TEXT },
	[LINE] = { .key = "line", .kind = COLUMN_INTEGER },
	[LINKS] = { .key = "planned_links", .kind = COLUMN_LIST },
	[CABLES] = { .key = "present_links", .kind = COLUMN_LIST },
	[MOVES] = { .key = "moves", .kind = COLUMN_LIST },
};

/* --- names --- */

static const char *port_name(const struct work *work, uint32_t port, char ret[PLAN_END_SIZE])
{
	return shape_port_name(work->report.shape, port, ret, PLAN_END_SIZE);
}

static const char *end_name(const struct work *work, uint32_t link, unsigned end, char ret[PLAN_END_SIZE])
{
	const struct plan_report *report = &work->report;

	return plan_end_name(report->plan, report->places, report->shape, link, end, ret, PLAN_END_SIZE);
}

/* --- a row --- */

static void fill_lists(const struct work *work, struct result *result, const struct plan_difference *one)
{
	const struct plan_diff *diff = work->report.diff;
	char a[PLAN_END_SIZE], b[PLAN_END_SIZE];

	for (int i = LINKS; i <= MOVES; i++)
		result_empty(result, (size_t)i);
	for (uint32_t i = one->first_link; i < one->first_link + one->link_count; i++)
		result_item(result, LINKS, "%s - %s", end_name(work, diff->links[i], 0, a),
			    end_name(work, diff->links[i], 1, b));
	for (uint32_t i = one->first_port; i < one->first_port + one->port_count; i += 2)
		result_item(result, CABLES, "%s - %s", port_name(work, diff->ports[i], a),
			    port_name(work, diff->ports[i + 1], b));
	for (uint32_t i = one->first_move; i < one->first_move + one->move_count; i++)
		result_item(result, MOVES, one->change == PLAN_WRONG_PORT ? "%s -> %s" : "%s <-> %s",
			    port_name(work, diff->moves[i].from, a), port_name(work, diff->moves[i].to, b));
}

/* The port of the list, and what is and should be at its other end. */
static void fill_port(const struct work *work, struct result *result, uint32_t port)
{
	const struct fabric *fabric = work->report.shape->fabric;
	const struct plan_ports *places = work->report.places;
	uint32_t link = work->link[port];
	char name[PLAN_END_SIZE];

	cells_port(result, NODE_GUID, fabric, port);
	result_text(result, AT, port_name(work, port, name));
	result_target(result, AT, fabric->nodes[fabric->ports[port].node].guid, fabric->ports[port].num);
	if (link != FABRIC_NONE)
		result_text(result, PLANNED, end_name(work, link, places->links[link].port[0] == port, name));
	else
		result_show(result, PLANNED, "none", STYLE_DIM);
	if (fabric_is_linked(fabric, port))
		result_text(result, PRESENT, port_name(work, fabric->ports[port].peer, name));
	else
		result_show(result, PRESENT, "none", STYLE_DIM);
}

/* A whole node: it has several planned and present peers. */
static void fill_node(const struct work *work, struct result *result, const struct plan_difference *one)
{
	const struct plan_report *report = &work->report;
	const struct shape *shape = report->shape;
	const char *device = plan_difference_device(report->plan, report->places, shape, report->diff, one);

	if (*device)
		result_text(result, AT, device);
	if (one->node != FABRIC_NONE) {
		result_target(result, AT, shape->fabric->nodes[one->node].guid, 0);
		result_text(result, NODE, shape->fabric->nodes[one->node].name);
		result_unsigned(result, NODE_GUID, shape->fabric->nodes[one->node].guid);
	} else if (*device) {
		result_text(result, NODE, device);
	}
	result_show(result, PLANNED, "", STYLE_PLAIN);
	result_show(result, PRESENT, "", STYLE_PLAIN);
	if (one->other != FABRIC_NONE)
		result_showf(result, PRESENT, STYLE_PLAIN, "%s", shape_unit_name(shape, one->other));
}

/* The node at which the work of a difference is done, or FABRIC_NONE. */
static uint32_t node_of(const struct work *work, const struct plan_difference *one)
{
	const struct plan_report *report = &work->report;
	uint32_t peer, port = plan_difference_port(report->places, report->shape, report->diff, one, &peer);

	return one->node != FABRIC_NONE ? one->node :
	       port != FABRIC_NONE ? report->shape->fabric->ports[port].node : FABRIC_NONE;
}

static void put_row(const struct work *work, struct result *result, const struct plan_difference *one)
{
	const struct plan_report *report = &work->report;
	uint32_t peer, port = plan_difference_port(report->places, report->shape, report->diff, one, &peer);
	uint32_t node = node_of(work, one);
	struct text text = { 0 };

	result_text(result, DONE, "\u2610");
	result_text(result, CHANGE, plan_change_name(one->change));
	if (one->change >= PLAN_MOVED && one->change <= PLAN_ABSENT)
		fill_node(work, result, one);
	else if (port != FABRIC_NONE)
		fill_port(work, result, port);
	plan_difference_text(&text, report->plan, report->places, report->shape, report->diff, one);
	result_text(result, ACTION, result_chars(result, &text));
	text_done(&text);
	if (node != FABRIC_NONE && work->place[node])
		result_text(result, PLACE, work->place[node]);
	else
		result_show(result, PLACE, "", STYLE_PLAIN);
	result_show(result, WHERE, "", STYLE_PLAIN);
	if (one->link_count) {
		const struct plan_link *link = &report->plan->links[report->diff->links[one->first_link]];
		const char *name = report->plan->files[link->file].name;

		result_text(result, FILE_NAME, name);
		if (link->line) {
			result_integer(result, LINE, link->line);
			result_showf(result, WHERE, STYLE_PLAIN, "%s:%u", name, link->line);
		} else {
			result_show(result, WHERE, name, STYLE_PLAIN);
		}
	}
	fill_lists(work, result, one);
	result_end_row(result);
}

static void put_all(struct result *result, const void *ctx)
{
	const struct work *work = ctx;

	for (size_t i = 0; i < work->report.diff->count; i++)
		put_row(work, result, &work->report.diff->list[i]);
}

static void put_sheet(struct result *result, const void *ctx)
{
	const struct sheet *sheet = ctx;

	for (size_t i = sheet->first; i < sheet->first + sheet->count; i++)
		put_row(sheet->work, result, &sheet->work->report.diff->list[sheet->work->order[i]]);
}

/* --- the summary and the problems --- */

enum { PLANNED_LINKS, AS_PLANNED, NOT_JUDGED, UNPLANNED, DIFFERENCES, BY_CHANGE, SUMMARY_COUNT };

static const char *change_key(size_t at)
{
	static const char *const keys[PLAN_CHANGE_COUNT] = {
		[PLAN_WRONG_PORT] = "wrong_port",
	};

	return at >= PLAN_CHANGE_COUNT ? NULL : keys[at] ? keys[at] : plan_change_name((enum plan_change)at);
}

static const struct column summary_columns[SUMMARY_COUNT] = {
	[PLANNED_LINKS] = { .key = "links", .kind = COLUMN_INTEGER },
	[AS_PLANNED] = { .key = "as_planned", .kind = COLUMN_INTEGER },
	[NOT_JUDGED] = { .key = "not_judged", .kind = COLUMN_INTEGER },
	[UNPLANNED] = { .key = "unplanned", .kind = COLUMN_INTEGER },
	[DIFFERENCES] = { .key = "differences", .kind = COLUMN_INTEGER },
	[BY_CHANGE] = { .key = "by_change", .kind = COLUMN_OBJECT, .member = change_key },
};

static void put_summary(struct result *result, const void *ctx)
{
	const struct plan_diff *diff = ((const struct work *)ctx)->report.diff;

	result_unsigned(result, PLANNED_LINKS, diff->planned + diff->not_judged);
	result_unsigned(result, AS_PLANNED, diff->as_planned);
	result_unsigned(result, NOT_JUDGED, diff->not_judged);
	result_unsigned(result, UNPLANNED, diff->unplanned);
	result_unsigned(result, DIFFERENCES, diff->count);
	for (size_t i = 0; i < PLAN_CHANGE_COUNT; i++)
		result_member(result, BY_CHANGE, change_key(i), diff->by_change[i]);
	result_end_row(result);
}

enum { PROBLEM_FILE, PROBLEM_LINE, PROBLEM_TEXT, PROBLEM_COUNT };

static const struct column problem_columns[PROBLEM_COUNT] = {
	[PROBLEM_FILE] = { .key = "file", .title = "FILE", .kind = COLUMN_TEXT },
	[PROBLEM_LINE] = { .key = "line", .title = "LINE", .kind = COLUMN_INTEGER },
	[PROBLEM_TEXT] = { .key = "text", .title = "PROBLEM", .kind = COLUMN_TEXT },
};

static void put_problem(struct result *result, const struct plan *plan, const struct plan_problem *problem)
{
	result_text(result, PROBLEM_FILE, plan->files[problem->file].name);
	if (problem->line)
		result_integer(result, PROBLEM_LINE, problem->line);
	result_text(result, PROBLEM_TEXT, problem->text);
	result_end_row(result);
}

static void put_problems(struct result *result, const void *ctx)
{
	const struct plan_report *report = &((const struct work *)ctx)->report;

	for (size_t i = 0; i < report->places->problem_count; i++)
		put_problem(result, report->plan, &report->places->problems[i]);
}

/* --- racks --- */

/* A place without its height: "Rack A #1" of "Rack A #1 U41". */
static const char *rack_of(struct page *page, const char *place)
{
	const char *space = place ? strrchr(place, ' ') : NULL;

	if (!place)
		return "";
	if (!space || toupper((unsigned char)space[1]) != 'U' || !isdigit((unsigned char)space[2]))
		return place;
	return page_print(page, "%.*s", (int)(space - place), place);
}

static int compare_racks(const void *a, const void *b, void *ctx)
{
	const struct work *work = ctx;
	uint32_t left = *(const uint32_t *)a, right = *(const uint32_t *)b;
	int by_name;

	/* What has no rack is last. */
	if (!*work->racks[left] != !*work->racks[right])
		return *work->racks[left] ? -1 : 1;
	by_name = names_compare(work->racks[left], work->racks[right]);
	return by_name ? by_name : left < right ? -1 : left > right;
}

static struct work *prepare(struct page *page, const struct plan_report *report)
{
	const struct fabric *fabric = report->shape->fabric;
	struct work *work = page_alloc(page, 1, sizeof(*work));

	if (!work)
		return NULL;
	work->report = *report;
	work->link = page_alloc(page, fabric->port_count + 1, sizeof(*work->link));
	work->place = page_alloc(page, fabric->node_count + 1, sizeof(*work->place));
	work->racks = page_alloc(page, report->diff->count + 1, sizeof(*work->racks));
	work->order = page_alloc(page, report->diff->count + 1, sizeof(*work->order));
	if (!work->link || !work->place || !work->racks || !work->order)
		return NULL;
	for (size_t i = 0; i < fabric->port_count; i++)
		work->link[i] = FABRIC_NONE;
	for (uint32_t i = 0; i < report->plan->link_count; i++)
		for (unsigned end = 0; end < 2; end++) {
			uint32_t port = report->places->links[i].port[end], node = report->places->links[i].node[end];
			const char *place = report->plan->links[i].ends[end].place;

			if (port != FABRIC_NONE && work->link[port] == FABRIC_NONE)
				work->link[port] = i;
			if (node != FABRIC_NONE && *place && !work->place[node])
				work->place[node] = place;
		}
	for (uint32_t i = 0; i < report->diff->count; i++) {
		uint32_t node = node_of(work, &report->diff->list[i]);

		work->racks[i] = rack_of(page, node == FABRIC_NONE ? NULL : work->place[node]);
		work->order[i] = i;
	}
	qsort_r(work->order, report->diff->count, sizeof(*work->order), compare_racks, work);
	return work;
}

static void add_sheets(struct page *page, const struct work *work)
{
	size_t count = work->report.diff->count, end;

	for (size_t i = 0; i < count; i = end) {
		const char *rack = work->racks[work->order[i]];
		struct sheet *sheet = page_alloc(page, 1, sizeof(*sheet));

		for (end = i + 1; end < count && !strcmp(work->racks[work->order[end]], rack); end++)
			;
		if (!sheet)
			return;
		*sheet = (struct sheet){ work, i, end - i };
		page_add(page, &(struct page_section){ .kind = PAGE_TABLE, .in = PAGE_HTML, .new_sheet = i > 0,
			.title = *rack ? rack : i ? "Without a place in the plan" : "Differences",
			.about = page_print(page, "%zu difference%s", end - i, text_plural(end - i)),
			.table = { columns, COLUMN_COUNT, put_sheet, sheet } });
	}
}

/* What the list of differences is without, and the order in which both kinds of work are done. */
static void add_notes(struct page *page, const struct plan_diff *diff)
{
	const size_t *counts = diff->by_change;
	size_t nodes = counts[PLAN_MOVED] + counts[PLAN_EXCHANGED] + counts[PLAN_REPLACED];
	size_t cables = counts[PLAN_SWAPPED] + counts[PLAN_CYCLE] + counts[PLAN_WRONG_PORT];

	if (nodes && cables)
		page_add(page, &(struct page_section){ .kind = PAGE_NOTE, .in = PAGE_TEXT | PAGE_HTML,
			.space = SPACE_LINE,
			.note = "move cables first, then hosts and switches: the actions name ports as they are now" });
	if (diff->unplanned)
		page_add(page, &(struct page_section){ .kind = PAGE_NOTE, .in = PAGE_TEXT | PAGE_HTML,
			.space = SPACE_LINE,
			.note = page_print(page, "%zu link%s of the fabric not covered by the plan", diff->unplanned,
					   text_plural(diff->unplanned)) });
}

struct page *plan_page(const struct plan_report *report)
{
	struct page *page = page_create("Cabling plan");
	const struct plan_diff *diff = report->diff;
	struct work *work = prepare(page, report);
	size_t problems = report->places->problem_count;

	if (!work)
		return page;
	page_add(page, &(struct page_section){ .kind = PAGE_VERDICT, .in = PAGE_TEXT | PAGE_HTML,
		.state = diff->count > diff->by_change[PLAN_EXTRA] ? PAGE_WARNING :
			 diff->count || diff->not_judged ? PAGE_INFO : PAGE_GOOD,
		.verdict = { .heading = "Cabling plan",
			     .word = diff->count ? "differs" : diff->not_judged ? "not all judged" : "as planned",
			     .sentence = page_print(page, "%zu link%s as planned, %zu difference%s, %zu not judged",
						    diff->as_planned, text_plural(diff->as_planned), diff->count,
						    text_plural(diff->count), diff->not_judged) } });
	page_add(page, &(struct page_section){ .kind = PAGE_RECORD, .in = PAGE_JSON, .key = "summary",
		.table = { summary_columns, SUMMARY_COUNT, put_summary, work } });
	page_add(page, &(struct page_section){ .kind = PAGE_TABLE,
		.in = diff->count ? PAGE_TEXT | PAGE_JSON | PAGE_CSV : PAGE_JSON | PAGE_CSV,
		.key = "differences", .table = { columns, COLUMN_COUNT, put_all, work } });
	page_add(page, &(struct page_section){ .kind = PAGE_TABLE, .in = PAGE_JSON, .key = "problems",
		.table = { problem_columns, PROBLEM_COUNT, put_problems, work } });
	add_notes(page, diff);
	add_sheets(page, work);
	if (problems)
		page_add(page, &(struct page_section){
			.kind = PAGE_TABLE, .in = PAGE_HTML, .new_sheet = diff->count > 0,
			.title = "Not judged", .about = page_print(page, "%zu line%s", problems, text_plural(problems)),
			.table = { problem_columns, PROBLEM_COUNT, put_problems, work } });
	return page;
}
