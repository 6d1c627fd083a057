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

static const struct balance_result *result_at(const struct balance_view *view, size_t row)
{
	return row < view->result_count ? &view->loads.balance.results[view->results[row]] : NULL;
}

static const struct shape_group *group_of(const struct app *app, const struct balance_result *result)
{
	return &app->context->shape->groups[result->group];
}

static uint64_t key_of(const struct app *app, const struct balance_result *result)
{
	const struct fabric *fabric = app->live->shown->fabric;
	const struct shape_group *group = group_of(app, result);

	return map_mix(map_mix(fabric->nodes[group->node].guid) ^
		       (group->peer == FABRIC_NONE ? 0 : fabric->nodes[group->peer].guid)) + result->direction;
}

/* "leaf01 uplinks out", "spine01 to leaf01". */
static void write_name(const struct app *app, const struct balance_result *result, char *ret, size_t size)
{
	const struct shape_group *group = group_of(app, result);
	bool out = result->direction == BALANCE_XMIT;
	char *const *names = app->table->order.names;

	if (group->kind == GROUP_UP)
		snprintf(ret, size, "%s uplinks %s", names[group->node], out ? "out" : "in");
	else
		snprintf(ret, size, "%s %s %s", names[group->node], out ? "to" : "from", names[group->peer]);
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

static void count_hidden(struct balance_view *view, const struct balance_result *result)
{
	if (result->state == BALANCE_ACTIVE)
		view->fine++;
	else if (result->state == BALANCE_IDLE)
		view->idle++;
	else
		view->unknown++;
}

static int make(struct balance_view *view, const struct app *app, struct error *err)
{
	struct balance *balance = &view->loads.balance;

	free(view->results);
	view->results = calloc(balance->count + 1, sizeof(*view->results));
	view->result_count = view->causes = view->uneven = view->chance = view->fine = view->idle = view->unknown = 0;
	view->most_members = 0;
	view->name_columns = 0;
	if (!view->results)
		return err_nomem(err);
	for (size_t i = 0; i < balance->count; i++) {
		const struct balance_result *result = &balance->results[i];
		bool reported = balance_is_reported(result);

		if (!balance_is_of_interest(app->context->shape, result))
			continue;
		if (reported && result->cause != BALANCE_NONE && !balance_is_second(result))
			view->causes++;
		else if (balance_is_chance(app->context->shape, balance, result))
			view->chance++;
		else if (reported)
			view->uneven++;
		else
			count_hidden(view, result);
		if (!reported && !view->all)
			continue;
		view->results[view->result_count++] = (uint32_t)i;
		widen_name(view, app, result);
		if (group_of(app, result)->count > view->most_members)
			view->most_members = group_of(app, result)->count;
	}
	qsort_r(view->results, view->result_count, sizeof(*view->results), balance_compare, balance);
	/* A cursor on the first row stays on the worst group. */
	for (size_t i = 0; view->groups.cursor && i < view->result_count; i++)
		if (key_of(app, result_at(view, i)) == view->group_key) {
			view->groups.cursor = i;
			break;
		}
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

	text_appendf(&text, "%s%s%s  adaptive routing %s: ", balance_test_letters(result), *cause ? "  " : "", cause,
		     balance_adaptive_name(result->adaptive));
	balance_append_reason(app->context->shape, result, &text);
	snprintf(ret, size, "%s", text_chars(&text));
	text_done(&text);
	return ret;
}

static void write_sparks(const struct app *app, const struct balance_result *result, bool predicted, char *ret,
			 size_t size)
{
	struct text text = { 0 };

	if (!predicted || result->predicted_known)
		bars_append_members(&text, result, group_of(app, result)->count, predicted, !app->theme->unicode);
	snprintf(ret, size, "%s", text_chars(&text));
	text_done(&text);
}

static void write_percent(double part, char *ret, size_t size)
{
	if (isnan(part))
		snprintf(ret, size, "-");
	else
		snprintf(ret, size, "%.0f", 100 * part);
}

/* Columns of a group; columns is 0 if not shown. */
enum { NAME, TESTS, ADAPTIVE, CAUSE, MEASURED, PREDICTED, FULL, OVER, SPARK, GROUP_COLUMNS };

/* On a screen of fewer than WIDE columns FULL and OVER are narrow. */
enum { WIDE = 110, NARROW_COLUMNS = 5 };

static const struct {
	const char *title, *narrow;
	int columns;
	int least; /* minimum columns of the screen */
} group_columns[GROUP_COLUMNS] = {
	[NAME] = { "GROUP", "GROUP", 0, 0 },
	[TESTS] = { "TEST", "TEST", 4, 0 },
	[ADAPTIVE] = { "AR", "AR", 3, 64 },
	[CAUSE] = { "CAUSE", "CAUSE", 15, 50 },
	[MEASURED] = { "MEASURED", "MEASURED", BARS_MEMBERS + 1, 72 },
	[PREDICTED] = { "PREDICTED", "PREDICTED", BARS_MEMBERS + 1, 100 },
	[FULL] = { "MAX UTIL%", "UTIL%", 9, 0 },
	[OVER] = { "IMBALANCE%", "IMB.%", 10, 60 },
	[SPARK] = { "LAST SWEEPS", "LAST", 0, 0 },
};

/* SPARK has what the names leave. @name_columns: of the longest one */
static void column_widths(int columns, int name_columns, int ret[GROUP_COLUMNS])
{
	int left = columns;

	for (int i = NAME + 1; i < SPARK; i++) {
		ret[i] = columns >= group_columns[i].least ? group_columns[i].columns : 0;
		if (ret[i] && i >= FULL && columns < WIDE)
			ret[i] = NARROW_COLUMNS;
		left -= ret[i] ? ret[i] + 1 : 0;
	}
	ret[NAME] = left < 0 ? 0 : left > NAME_MOST ? NAME_MOST : left;
	ret[SPARK] = left - name_columns - 1 < TREND_LOADS ? left - name_columns - 1 : TREND_LOADS;
	if (ret[SPARK] < SPARK_LEAST)
		ret[SPARK] = 0;
	else if (ret[NAME] > left - ret[SPARK] - 1)
		ret[NAME] = left - ret[SPARK] - 1;
}

static enum role role_of(const struct balance_result *result)
{
	if (result->cause != BALANCE_NONE && !balance_is_second(result))
		return result->harmful ? ROLE_CRITICAL : ROLE_WARNING;
	return result->load_uneven && result->harmful ? ROLE_WARNING : result->load_uneven ? ROLE_TEXT : ROLE_FAINT;
}

static void draw_group(const struct balance_view *view, const struct app *app, const struct rect *body,
		       const int *widths, int y, size_t row)
{
	const struct balance_result *result = result_at(view, row);
	const struct brush brush = app_brush(app, row == view->groups.cursor);
	const char *adaptive = result->adaptive == ADAPTIVE_UNKNOWN ? "?" : balance_adaptive_name(result->adaptive);
	const char *cause = cause_of(view, app, result);
	enum role role = strcmp(cause, "ok") ? role_of(result) : ROLE_FAINT;
	char name[256], measured[256], predicted[256], full[16], over[16];
	struct text spark = { 0 };

	if (widths[SPARK] && result->hottest < group_of(app, result)->count)
		trend_spark(app->trend, &result->members[result->hottest].port, 1, widths[SPARK], app->theme->unicode,
			    &spark);
	write_name(app, result, name, sizeof(name));
	write_sparks(app, result, false, measured, sizeof(measured));
	write_sparks(app, result, true, predicted, sizeof(predicted));
	write_percent(result->max_utilization, full, sizeof(full));
	write_percent(result->excess, over, sizeof(over));
	draw_cells(&brush, y, body, widths, (const struct table_cell[]){
		[NAME] = { name, role, ALIGN_MIDDLE },
		[TESTS] = { balance_test_letters(result), role, ALIGN_LEFT },
		[ADAPTIVE] = { adaptive, role, ALIGN_LEFT },
		[CAUSE] = { cause, role, ALIGN_LEFT },
		[MEASURED] = { measured, role, ALIGN_LEFT },
		[PREDICTED] = { predicted, role, ALIGN_LEFT },
		[FULL] = { full, role_of_load(100 * result->max_utilization), ALIGN_RIGHT },
		[OVER] = { over, role, ALIGN_RIGHT },
		[SPARK] = { text_chars(&spark), role_of_load(100 * result->max_utilization), ALIGN_LEFT },
	}, GROUP_COLUMNS);
	text_done(&spark);
}

static void draw_groups(const struct balance_view *view, const struct app *app, const struct rect *area)
{
	const struct brush brush = app_brush(app, false);
	struct table_cell heads[GROUP_COLUMNS];
	int widths[GROUP_COLUMNS];

	column_widths(area->columns, view->name_columns, widths);
	app->trend->wanted |= widths[SPARK] > 0;
	for (int i = 0; i < GROUP_COLUMNS; i++)
		heads[i] = (struct table_cell){
			area->columns < WIDE ? group_columns[i].narrow : group_columns[i].title, ROLE_HEAD,
			i == FULL || i == OVER ? ALIGN_RIGHT : ALIGN_LEFT,
		};
	draw_cells(&brush, area->y, area, widths, heads, GROUP_COLUMNS);
	for (int i = 0; i < area->rows - 1 && view->groups.first + (size_t)i < view->result_count; i++)
		draw_group(view, app, area, widths, area->y + 1 + i, view->groups.first + (size_t)i);
}

/* "######      56%", or only the number without room for a bar. */
static void write_share(const struct app *app, int bar, double share, double most, char *ret, size_t size)
{
	struct text text = { 0 };

	if (!isnan(share)) {
		bars_append(&text, share, most, (unsigned)bar, !app->theme->unicode);
		text_appendf(&text, "%4.0f%%", 100 * share);
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
	write_share(app, bar, member->measured, most, measured, sizeof(measured));
	write_share(app, bar, member->predicted, most, predicted, sizeof(predicted));
	write_share(app, bar, member->capacity, most, fair, sizeof(fair));
	write_percent(member->utilization, full, sizeof(full));
	write_percent(member->stall, wait, sizeof(wait));
	draw_cells(&brush, y, area, widths, (const struct table_cell[]){
		[MEMBER_PORT] = { num, role, ALIGN_RIGHT },
		[MEMBER_PEER] = { peer, role, ALIGN_MIDDLE },
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
	const struct balance_result *result = result_at(view, view->groups.cursor);
	const struct brush brush = app_brush(app, false);
	struct rect members = *area;
	char words[512];
	int used;

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
	struct segments line = { 0 };
	char window[64];

	segment_add(&line, 0, view->causes ? ROLE_WARNING : ROLE_STRONG,
		    "%zu %s with a cause, %zu imbalanced without a cause, %zu ok within chance", view->causes,
		    view->causes == 1 ? "group" : "groups", view->uneven, view->chance);
	segment_add(&line, 2, ROLE_TEXT, "%zu balanced, %zu idle, %zu unknown%s", view->fine, view->idle,
		    view->unknown, view->all ? "" : " (i shows them)");
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

static void draw(struct balance_view *view, const struct app *app, const struct rect *body)
{
	struct rect list = { body->y + 1, body->x, body->rows - 1, body->columns }, members = list;
	const struct brush brush = app_brush(app, false);

	draw_title(view, app, body);
	list.rows = list_rows(view, list.rows);
	members.y = list.y + list.rows;
	members.rows = body->rows - 1 - list.rows;
	list_place(&view->groups, view->result_count, list.y + 1, list.rows - 1);
	draw_groups(view, app, &list);
	draw_chosen(view, app, &members);
	if (!view->result_count)
		draw_line(&brush, body, 2, ROLE_TEXT, app->context->shape->group_count ? "all groups are balanced" :
			  "this fabric has no equivalent uplinks");
}

/* Remember the selected group. */
static void save_cursor(struct balance_view *view, const struct app *app)
{
	if (view->groups.cursor < view->result_count)
		view->group_key = key_of(app, result_at(view, view->groups.cursor));
}

static void subject(const struct balance_view *view, const struct app *app, struct subject *ret)
{
	const struct balance_result *result = result_at(view, view->groups.cursor);

	if (result)
		*ret = subject_of_group(app, group_of(app, result));
}

const struct balance_part_info balance_groups = {
	.make = make,
	.draw = draw,
	.moved = save_cursor,
	.subject = subject,
};
