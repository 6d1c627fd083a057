/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* balance_groups.c - the groups of the Balance screen, worst first, with the members of one */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "analysis/balance.h"
#include "base/err.h"
#include "base/map.h"
#include "base/text.h"
#include "fabric/shape.h"
#include "facts/group.h"
#include "tui/draw/draw.h"
#include "tui/model/context.h"
#include "tui/model/live.h"
#include "tui/model/port_table.h"
#include "tui/model/trend.h"
#include "tui/screens/balance_view.h"
#include "facts/bars.h"

/* Maximum columns of a bar, members sorted, and columns of a name. */
enum { BAR_MOST = 20, MEMBERS_MOST = 256, NAME_MOST = 48, SPARK_LEAST = 10 };

/* Maximum number of lines for the reason of the selected group. */
enum { WHY_ROWS = 3 };

static const struct balance_result *result_at(const struct balance_view *view, size_t index)
{
	return &view->loads.balance.results[view->results[index]];
}

static const struct shape_group *group_of(const struct app *app, const struct balance_result *result)
{
	return &app->context->shape->groups[result->group];
}

static void write_name(const struct app *app, const struct balance_result *result, char *ret, size_t size)
{
	struct text text = { 0 };

	group_append_name(app->context->shape, &app->table->order, result, &text);
	snprintf(ret, size, "%s", text_chars(&text));
	text_done(&text);
}

static void widen_name(struct balance_view *view, const struct app *app, const struct balance_result *result)
{
	char name[256];
	int columns;

	write_name(app, result, name, sizeof(name));
	columns = (int)text_columns(name);
	if (columns > view->name_columns)
		view->name_columns = columns < NAME_MOST ? columns : NAME_MOST;
}

static int make(struct balance_view *view, const struct app *app, struct error *err)
{
	struct balance *balance = &view->loads.balance;

	free(view->results);
	view->results = calloc(balance->count + 1, sizeof(*view->results));
	view->counts = (struct group_counts){ 0 };
	view->result_count = 0;
	view->most_members = 0;
	view->name_columns = 0;
	if (!view->results)
		return err_nomem(err);
	for (size_t i = 0; i < balance->count; i++) {
		const struct balance_result *result = &balance->results[i];

		if (!balance_is_of_interest(app->context->shape, result) ||
		    (!group_count(app->context->shape, balance, result, &view->counts) && !view->all))
			continue;
		view->results[view->result_count++] = (uint32_t)i;
		widen_name(view, app, result);
		if (group_of(app, result)->count > view->most_members)
			view->most_members = group_of(app, result)->count;
	}
	qsort_r(view->results, view->result_count, sizeof(*view->results), balance_compare, balance);
	list_screen_changed(&view->groups, true);
	return 0;
}

static const char *cause_of(const struct balance_view *view, const struct app *app,
			    const struct balance_result *result)
{
	const struct shape *shape = app->context->shape;
	const char *found = NULL;

	for (size_t i = 0; i < app->context->finding_count && !found; i++) {
		const struct finding *finding = &app->context->findings[i].finding;

		if (group_has_finding(shape, result, finding))
			found = finding->cause;
	}
	return group_cause(shape, &view->loads.balance, result, found);
}

const char *view_group_text(const struct balance_view *view, const struct app *app,
			    const struct balance_result *result, char *ret, size_t size)
{
	const char *cause = cause_of(view, app, result);
	struct text text = { 0 };

	if (*cause)
		text_appendf(&text, "%s%s; ", cause, result->harmful ? ", harmful" : "");
	balance_append_adaptive(result, &text);
	text_append(&text, ": ");
	balance_append_reason(app->context->shape, result, &text);
	snprintf(ret, size, "%s", text_chars(&text));
	text_done(&text);
	return ret;
}

/* --- the list --- */

static void fill_name(struct result *result, size_t at, const void *row)
{
	const struct group_cells *cells = row;
	char name[256];

	write_name(cells->app, cells->result, name, sizeof(name));
	result_text(result, at, name);
}

static void fill_tests(struct result *result, size_t at, const void *row)
{
	result_text(result, at, balance_tests(((const struct group_cells *)row)->result));
}

static void fill_adaptive(struct result *result, size_t at, const void *row)
{
	result_text(result, at, balance_adaptive_cell(((const struct group_cells *)row)->result));
}

static void fill_cause(struct result *result, size_t at, const void *row)
{
	const struct group_cells *cells = row;

	result_show(result, at, cause_of(cells->view, cells->app, cells->result), STYLE_PLAIN);
}

/* Its `which`: predicted instead of measured load. */
static void fill_bars(struct result *result, size_t at, const void *row)
{
	int which = result_column(result, at)->which;
	const struct group_cells *cells = row;
	struct text text = { 0 };

	if (!which || cells->result->predicted_known)
		bars_append_members(&text, cells->result, group_of(cells->app, cells->result)->count, which,
				    !cells->app->theme->unicode);
	result_show(result, at, text_chars(&text), STYLE_PLAIN);
	text_done(&text);
}

static struct measure measure_full(const void *row)
{
	return measure_scale(balance_max(((const struct group_cells *)row)->result), 100);
}

static struct measure measure_over(const void *row)
{
	return measure_scale(balance_excess(((const struct group_cells *)row)->result), 100);
}

static void fill_percent(struct result *result, size_t at, const void *row)
{
	struct measure percent = column_measure(result_column(result, at), row);

	result_measure(result, at, percent);
	if (!isnan(percent.value))
		result_showf(result, at, STYLE_PLAIN, "%.0f%s", percent.value, measure_mark(percent));
}

enum { NAME, TESTS, ADAPTIVE, CAUSE, MEASURED, PREDICTED, FULL, OVER, SPARK, GROUP_COLUMNS };

static const struct column group_columns[GROUP_COLUMNS] = {
	[NAME] = { .title = "GROUP", .fill = fill_name, .flags = COLUMN_FLEXIBLE | COLUMN_KEEP_TAIL,
		   .help = "equivalent links, and their direction" },
	[TESTS] = { .title = "TESTS", .fill = fill_tests,
		    .help = "what is uneven: tables, load; harm: a link is overloaded" },
	[ADAPTIVE] = { .title = "AR", .fill = fill_adaptive,
		       .help = "adaptive routing: on, off; ~: inferred from the load; ?: unknown" },
	[CAUSE] = { .title = "CAUSE", .fill = fill_cause, .help = "cause of the imbalance; the worst group first" },
	[MEASURED] = { .title = "MEASURED", .fill = fill_bars, .help = "measured share of each member" },
	[PREDICTED] = { .title = "PREDICTED", .fill = fill_bars, .which = true,
			.help = "share of each member predicted from the routes" },
	[FULL] = { .title = "MAX UTIL%", .narrow = "UTIL%", .kind = COLUMN_PERCENT, .measure = measure_full,
		   .fill = fill_percent, .help = "utilization of the busiest link" },
	[OVER] = { .title = "IMBALANCE%", .narrow = "IMB.%", .kind = COLUMN_PERCENT, .measure = measure_over,
		   .fill = fill_percent, .help = "load of the busiest link above the mean" },
	[SPARK] = { .title = "LAST SWEEPS", .narrow = "LAST", .measure = measure_full, .flags = COLUMN_FLEXIBLE,
		    .help = "utilization of the busiest link in the last sweeps" },
};

static const struct column_step group_steps[] = {
	{ NAME, 14, 0 }, { CAUSE, 15, 0 }, { FULL, 5, 0 }, { OVER, 5, 0 }, { NAME, COLUMN_WIDEST, 23 },
	{ ADAPTIVE, 4, 0 }, { MEASURED, BARS_MEMBERS + 1, 0 }, { NAME, COLUMN_WIDEST, NAME_MOST },
	{ PREDICTED, BARS_MEMBERS + 1, 0 }, { FULL, 9, 0 }, { OVER, 10, 0 }, { SPARK, SPARK_LEAST, 0 },
	{ TESTS, 18, 0 }, { SPARK, TREND_LOADS, 0 },
};

static size_t count_groups(const struct table *table)
{
	return ((const struct balance_view *)table->state)->result_count;
}

static void read_group(const struct table *table, size_t index, const void *ret[TABLE_STRUCTS])
{
	struct balance_view *view = table->state;

	view->group_cells = (struct group_cells){ view, table->app, result_at(view, index) };
	ret[0] = &view->group_cells;
}

static struct table_id group_id(const struct table *table, size_t index)
{
	const struct balance_result *result = result_at(table->state, index);
	const struct fabric *fabric = table->app->live->shown->fabric;
	const struct shape_group *group = group_of(table->app, result);
	uint64_t peer = group->peer == FABRIC_NONE ? 0 : fabric->nodes[group->peer].guid;

	return (struct table_id){ fabric->nodes[group->node].guid, map_mix(peer) + result->direction };
}

static struct subject subject_of(const struct table *table, size_t index)
{
	return subject_of_group(table->app, group_of(table->app, result_at(table->state, index)));
}

/* The results are sorted, the worst first. */
static bool group_key(const struct table *table, size_t index, size_t column, struct table_key *ret)
{
	(void)table;
	ret->number = -(double)index;
	ret->tie = index;
	return column == CAUSE;
}

static int group_widest(const struct table *table, size_t column)
{
	int columns = ((const struct balance_view *)table->state)->name_columns;

	return column != NAME ? COLUMN_WIDEST : columns > 1 ? columns : 1;
}

static bool group_cell(const struct table *table, size_t index, size_t column, int columns, struct text *ret)
{
	const struct balance_result *result = result_at(table->state, index);

	if (column != SPARK)
		return false;
	table->app->trend->wanted = true;
	if (result->hottest < group_of(table->app, result)->count && columns)
		trend_spark(table->app->trend, &result->members[result->hottest].port, 1, columns,
			    table->app->theme->unicode, ret);
	return true;
}

static enum role role_of(const struct balance_result *result)
{
	if (result->cause != BALANCE_NONE && !balance_is_second(result))
		return result->harmful ? ROLE_CRITICAL : ROLE_WARNING;
	return result->load_uneven && result->harmful ? ROLE_WARNING : result->load_uneven ? ROLE_TEXT : ROLE_FAINT;
}

static enum role group_role(const struct table *table, size_t index, size_t column, enum role usual)
{
	const struct balance_view *view = table->state;
	const struct balance_result *result = result_at(view, index);

	(void)usual;
	if (column == FULL || column == SPARK)
		return role_of_load(100 * result->max_utilization);
	return strcmp(cause_of(view, table->app, result), "ok") ? role_of(result) : ROLE_FAINT;
}

const struct table_view groups_view = {
	.name = "groups", .noun = "group", .plural = "groups", .none = "", /* draw() has the reason */
	.columns = group_columns, .column_count = GROUP_COLUMNS, .steps = group_steps,
	.step_count = sizeof(group_steps) / sizeof(group_steps[0]), .fixed = 1 << NAME,
	.descending = 1 << CAUSE | 1 << SPARK, .sort = CAUSE, .sort_descending = true, .at_shown_time = true,
	.count = count_groups, .row = read_group, .id = group_id, .subject = subject_of, .text = group_cell,
	.role = group_role, .key = group_key, .widest = group_widest,
};

/* Columns of a percentage in the list of members. */
enum { NARROW_COLUMNS = 5 };

static void write_percent(double part, char *ret, size_t size)
{
	if (isnan(part))
		snprintf(ret, size, "-");
	else
		snprintf(ret, size, "%.0f", 100 * part);
}

/* "######      56%", or only the number without room for a bar. */
static void write_share(const struct app *app, int bar, struct measure share, double most, char *ret, size_t size)
{
	struct text text = { 0 };

	if (!isnan(share.value)) {
		bars_append(&text, share.value, most, (unsigned)bar, !app->theme->unicode);
		text_appendf(&text, "%4.0f%%%s", 100 * share.value, measure_mark(share));
	}
	snprintf(ret, size, "%s", text_chars(&text));
	text_done(&text);
}

/* Columns of the members of a group. */
enum {
	MEMBER_PORT, MEMBER_PEER, MEMBER_MEASURED, MEMBER_PREDICTED, MEMBER_FAIR, MEMBER_FULL, MEMBER_WAIT,
	MEMBER_COLUMNS,
};

static void draw_member(const struct app *app, const struct balance_result *result, const struct rect *area, int y,
			const int *widths, uint32_t index, double most)
{
	const struct balance_member *member = &result->members[index];
	const struct fabric *fabric = app->live->shown->fabric;
	const struct port *port = &fabric->ports[member->port];
	const struct brush brush = app_brush(app, false);
	bool by_chance = result->cause == BALANCE_NONE && result->excess < result->chance_excess;
	bool at_fault = index == result->hottest && result->load_uneven && !by_chance;
	enum role role = at_fault ? result->harmful ? ROLE_CRITICAL : ROLE_WARNING : ROLE_TEXT;
	int bar = widths[MEMBER_FAIR] - NARROW_COLUMNS;
	char num[8], peer[NODE_NAME_SIZE + 16] = "", measured[128], predicted[128], fair[128], full[16], wait[16];

	snprintf(num, sizeof(num), "%u", port->num);
	if (port->peer != FABRIC_NONE)
		snprintf(peer, sizeof(peer), "%s/%u", app->table->order.names[fabric->ports[port->peer].node],
			 fabric->ports[port->peer].num);
	write_share(app, bar, balance_share(result, member), most, measured, sizeof(measured));
	write_share(app, bar, measure_of(member->predicted, true), most, predicted, sizeof(predicted));
	write_share(app, bar, measure_of(member->capacity, true), most, fair, sizeof(fair));
	write_percent(member->utilization, full, sizeof(full));
	write_percent(member->stall, wait, sizeof(wait));
	if (member->stall_at_least && !isnan(member->stall))
		snprintf(wait + strlen(wait), sizeof(wait) - strlen(wait), "+");
	draw_cells(&brush, y, area, widths, (const struct table_cell[]){
		[MEMBER_PORT] = { num, role, ALIGN_RIGHT },
		[MEMBER_PEER] = { peer, role, ALIGN_NAME },
		[MEMBER_MEASURED] = { measured, role, ALIGN_LEFT },
		[MEMBER_PREDICTED] = { predicted, ROLE_TEXT, ALIGN_LEFT },
		[MEMBER_FAIR] = { fair, ROLE_FAINT, ALIGN_LEFT },
		[MEMBER_FULL] = { full, role_of_load(100 * member->utilization), ALIGN_RIGHT },
		[MEMBER_WAIT] = { wait, ROLE_TEXT, ALIGN_RIGHT },
	}, member->works ? MEMBER_COLUMNS : MEMBER_MEASURED);
	if (!member->works)
		draw_cell(&brush, y, area->x + 5 + widths[MEMBER_PEER] + 1, area->columns - 6 - widths[MEMBER_PEER],
			  port_state_name(port->state), ALIGN_LEFT, ROLE_CRITICAL);
}

void groups_draw_members(const struct app *app, const struct rect *area, const struct balance_result *result)
{
	uint32_t count = group_of(app, result)->count < MEMBERS_MOST ? group_of(app, result)->count : MEMBERS_MOST;
	double most = balance_largest_share(result, count);
	const struct brush brush = app_brush(app, false);
	int peer = area->columns / 4 > 24 ? 23 : area->columns / 4 - 1, bar = (area->columns - peer - 39) / 3;
	int share = NARROW_COLUMNS + (bar < 0 ? 0 : bar > BAR_MOST ? BAR_MOST : bar);
	const int widths[] = { 4, peer, share, share, share, 5, area->columns >= peer + 3 * share + 24 ? 9 : 0 };
	uint32_t order[MEMBERS_MOST];

	draw_cells(&brush, area->y, area, widths, (const struct table_cell[]){
		{ "PORT", ROLE_HEAD, ALIGN_LEFT }, { "PEER", ROLE_HEAD, ALIGN_LEFT },
		{ "MEASURED", ROLE_HEAD, ALIGN_LEFT }, { share > 8 ? "PREDICTED" : "PRED.", ROLE_HEAD, ALIGN_LEFT },
		{ "FAIR", ROLE_HEAD, ALIGN_LEFT }, { "UTIL%", ROLE_HEAD, ALIGN_RIGHT },
		{ "XmitWait%", ROLE_HEAD, ALIGN_RIGHT },
	}, MEMBER_COLUMNS);
	balance_order_members(result, count, order);
	for (int line = 1; line <= (int)count && line < area->rows; line++)
		draw_member(app, result, area, area->y + line, widths, order[line - 1], most);
}

/* The selected group: reason, and members with measured, predicted and fair share. */
static void draw_chosen(const struct balance_view *view, const struct app *app, const struct rect *area)
{
	const struct balance_result *result = NULL;
	const struct brush brush = app_brush(app, false);
	struct rect members = *area;
	size_t index;
	char words[512];
	int used;

	if (list_screen_index(&view->groups, &index))
		result = result_at(view, index);
	if (!result || area->rows < 3)
		return;
	used = draw_wrapped(&brush, area->y, area->x, area->columns, area->rows > 8 ? WHY_ROWS : 1,
			    view_group_text(view, app, result, words, sizeof(words)), ROLE_STRONG);
	members.y += used;
	members.rows -= used;
	groups_draw_members(app, &members, result);
}

static void draw_title(const struct balance_view *view, const struct app *app, const struct rect *body)
{
	const struct brush brush = app_brush(app, false);
	const struct group_counts *counts = &view->counts;
	struct segments line = { 0 };
	struct text reported = { 0 }, others = { 0 };
	char window[64];

	group_append_counts(counts, &reported);
	group_append_others(counts, &others);
	segment_add(&line, 0, counts->causes ? ROLE_WARNING : ROLE_STRONG, "%s", text_chars(&reported));
	segment_add(&line, 2, ROLE_TEXT, "%s%s", text_chars(&others), view->all ? "" : " (i shows them)");
	text_done(&reported);
	text_done(&others);
	segment_add(&line, 1, ROLE_TEXT, "%s", view_window(view, window, sizeof(window)));
	if (!view->loads.routes_known)
		segment_add(&line, 3, ROLE_TEXT, "no forwarding tables read: no prediction");
	draw_segments(&brush, body->y, body->x, body->columns, &line);
}

/*
 * Lines of the list, with its heads: two fifths, or more if the largest group leaves room.
 * Independent of the selected group, so that the list does not move with the cursor.
 */
static int list_rows(const struct balance_view *view, int rows)
{
	int list = rows * 2 / 5, most = view->most_members < MEMBERS_MOST ? (int)view->most_members : MEMBERS_MOST;

	if (rows < 10)
		return rows;
	if (list < rows - WHY_ROWS - 1 - most)
		list = rows - WHY_ROWS - 1 - most;
	return (size_t)list > view->result_count + 2 ? (int)view->result_count + 2 : list;
}

/* Why the list is empty. */
static const char *no_groups(const struct balance_view *view, const struct app *app)
{
	const struct group_counts *counts = &view->counts;

	if (!app->context->shape->group_count)
		return "this fabric has no equivalent uplinks";
	if (counts->unknown)
		return counts->fine + counts->idle ? "no group is imbalanced, as far as their load is known" :
		       "the load of all groups is unknown";
	if (!counts->idle)
		return "all groups are balanced";
	return counts->fine ? "all groups are balanced or idle" : "all groups are idle";
}

static void draw(struct balance_view *view, struct app *app, const struct rect *body)
{
	struct rect list = { body->y + 1, body->x, body->rows - 1, body->columns }, members = list;
	const struct brush brush = app_brush(app, false);

	draw_title(view, app, body);
	list.rows = list_rows(view, list.rows);
	members.y = list.y + list.rows;
	members.rows = body->rows - 1 - list.rows;
	list_screen_draw(&view->groups, app, &list);
	draw_chosen(view, app, &members);
	if (!view->result_count)
		draw_line(&brush, body, 2, ROLE_TEXT, "%s", no_groups(view, app));
}

const struct balance_part_info balance_groups = {
	.make = make,
	.draw = draw,
};
