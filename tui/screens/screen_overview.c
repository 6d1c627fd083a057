/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* screen_overview.c - problems, changes, and load by group */
#include <stdlib.h>
#include <string.h>

#include "base/clock.h"
#include "base/err.h"
#include "fabric/fabric.h"
#include "facts/health_rows.h"
#include "tui/draw/draw.h"
#include "tui/draw/key.h"
#include "tui/draw/list.h"
#include "tui/draw/terminal.h"
#include "tui/model/context.h"
#include "tui/model/job_list.h"
#include "tui/model/live.h"
#include "tui/model/trend.h"
#include "tui/screens/app.h"
#include "tui/screens/overview_view.h"

/* Below this height of the body there is no line for jobs. */
enum { JOBS_ROWS = 12 };

static void init(void *state, const struct app *app)
{
	(void)app;
	((struct overview_view *)state)->part = OVERVIEW_FINDINGS;
}

static void done(void *state)
{
	struct overview_view *view = state;

	free(view->problems);
	heat_done(&view->map);
	free(view->links.rows);
	free(view->hosts.rows);
	changes_done(&view->changes);
	groups_done(&view->groups);
}

/* Informational findings appear as changes and in the state of groups. */
static int find_problems(struct overview_view *view, const struct snapshot_context *context)
{
	const struct finding_row **problems = calloc(context->finding_count + 1, sizeof(*problems));

	view->problem_count = view->open_count = view->clearing_count = 0;
	free(view->problems);
	view->problems = problems;
	for (size_t i = 0; problems && i < context->finding_count; i++) {
		const struct finding_row *row = &context->findings[i];

		/* Consequences are on the page of their origin. */
		if (row->finding.severity < FINDING_WARNING || row->origin)
			continue;
		problems[view->problem_count++] = row;
		view->open_count += finding_counts(row);
		view->clearing_count += !row->acknowledged.at_us && row->finding.ok_since_us;
	}
	return problems ? 0 : ERR_NOMEM;
}

/* Restore the cursor to its finding or group. */
static void restore_cursor(struct overview_view *view)
{
	for (size_t i = 0; view->cursor_finding && i < view->problem_count; i++)
		if (view->problems[i]->finding.id == view->cursor_finding)
			view->list.cursor = i;
	for (size_t i = 0; view->cursor_group[0] && i < view->groups.count; i++)
		if (!strcmp(view->groups.list[i].name, view->cursor_group))
			view->list.cursor = view->problem_count + i;
}

static void save_cursor(void *state, struct app *app)
{
	struct overview_view *view = state;
	size_t cursor = view->list.cursor, group = cursor - view->problem_count;

	(void)app;
	view->cursor_finding = 0;
	view->cursor_group[0] = '\0';
	/* A cursor on the first row stays on the worst problem. */
	if (cursor && cursor < view->problem_count)
		view->cursor_finding = view->problems[cursor]->finding.id;
	else if (cursor >= view->problem_count && group < view->groups.count)
		memcpy(view->cursor_group, view->groups.list[group].name, sizeof(view->cursor_group));
}

/* Rebuild for the shown snapshot. Without memory a part is omitted until the next sweep. */
static void update(struct overview_view *view, const struct app *app)
{
	int64_t shown_us = app->live->shown->sweep.wall_us;

	if (view->generation == app->generation)
		return;
	view->generation = app->generation;
	if (find_problems(view, app->context) < 0 ||
	    changes_make(app->context, shown_us - OVERVIEW_CHANGES_US, app->live->at_us ? shown_us : INT64_MAX,
			 &view->changes, NULL) < 0 ||
	    groups_make(app->table, app->context, &view->groups, NULL) < 0)
		view->generation = 0;
	overview_find_top(view, app);
	job_list_load(app->jobs, app->live);
	view->job_count = job_list_line(app->jobs, app->live->at_us ? shown_us : app->now_us, view->jobs,
					sizeof(view->jobs));
	restore_cursor(view);
}

bool overview_update(void *state, struct app *app)
{
	update(state, app);
	return false;
}

/* First visible problem and group, from the cursor. */
static void follow_cursor(struct overview_view *view)
{
	size_t cursor = view->list.cursor, problems = view->problem_count;
	int visible = view->plan.problems_rows / view->plan.problem_lines;

	view->first_problem = layout_scroll(view->first_problem, cursor < problems ? cursor : view->first_problem,
					    problems, visible);
	view->first_group = layout_scroll(view->first_group,
					  cursor < problems ? view->first_group : cursor - problems,
					  view->groups.count, view->plan.groups_rows);
}

/* The last line has the running jobs. Return: the area above it. */
static struct rect draw_jobs(const struct overview_view *view, const struct brush *brush, const struct rect *body)
{
	struct rect rest = *body;

	if (!view->job_count || body->rows < JOBS_ROWS)
		return rest;
	rest.rows--;
	draw_line(brush, body, rest.rows, ROLE_STRONG, "%zu job%s: %s", view->job_count,
		  view->job_count == 1 ? "" : "s", view->jobs);
	return rest;
}

static void draw(void *state, struct app *app, const struct rect *area)
{
	struct overview_view *view = state;
	const struct brush brush = app_brush(app, false);
	struct overview_contents ask = { 0 };
	struct rect rest, *body = &rest;

	update(view, app);
	rest = draw_jobs(view, &brush, area);
	ask.rows = body->rows;
	ask.problems = view->problem_count;
	ask.changes = view->changes.count;
	ask.groups = view->groups.count;
	if (overview_is_large(area)) {
		ask.top = overview_top_rows(view, app);
		app->trend->wanted = true;
	}
	overview_plan(&ask, &view->plan);
	list_fit(&view->list, view->problem_count + view->groups.count,
		 view->plan.problems_rows / view->plan.problem_lines);
	follow_cursor(view);
	overview_draw_problems(view, app, &brush, body);
	overview_draw_changes(view, app, &brush, body);
	if (view->plan.plot_rows)
		overview_draw_plot(view, app, &brush, body);
	overview_draw_groups(view, app, &brush, body);
	if (view->plan.top_rows)
		overview_draw_top(view, app, &brush, body);
}

/* The selected group unless it is one of a single switch, or NULL: Enter shows its links. */
static const struct port_group *plain_group(const struct overview_view *view)
{
	size_t index = view->list.cursor - view->problem_count;

	if (view->list.cursor < view->problem_count || index >= view->groups.count)
		return NULL;
	return view->groups.list[index].filter[0] ? &view->groups.list[index] : NULL;
}

/* The list that keys go to, if it is not that of problems and groups; it is not shown on a small terminal. */
static size_t table(void *state, const struct app *app)
{
	struct overview_view *view = state;

	(void)app;
	if (!view->plan.top_rows || (view->part == OVERVIEW_HOSTS && !view->hosts_shown))
		view->part = OVERVIEW_FINDINGS;
	return view->part;
}

/* Up and Down continue in the next list: from the groups to the busiest links, then to the hosts. */
static bool step_out(struct overview_view *view, const struct list_screen *list, int motion)
{
	const struct list *rows = list ? &list->list : &view->list;

	if (motion == KEY_SPECIAL(KEY_UP) && list && !rows->cursor)
		view->part = view->part == OVERVIEW_HOSTS ? OVERVIEW_LINKS : OVERVIEW_FINDINGS;
	else if (motion != KEY_SPECIAL(KEY_DOWN) || !view->plan.top_rows || rows->cursor + 1 < rows->count)
		return false;
	else if (!list)
		view->part = OVERVIEW_LINKS;
	else if (view->part == OVERVIEW_LINKS && view->hosts_shown)
		view->part = OVERVIEW_HOSTS;
	else
		return false;
	return true;
}

static bool key(void *state, struct app *app, int pressed)
{
	struct overview_view *view = state;
	const struct list_screen *list = screen_list(app, &screen_overview);
	const struct port_group *group = plain_group(view);

	if (step_out(view, list, key_motion(pressed)))
		return true;
	if (list || !group || pressed != '\r')
		return false;
	screen_links_show(app, group->filter);
	return true;
}

static void subject(void *state, const struct app *app, struct subject *ret)
{
	struct overview_view *view = state;
	const struct port_group *group;
	const struct list_screen *list = screen_list(app, &screen_overview);
	size_t cursor = view->list.cursor;

	update(view, app);
	if (list) {
		if (list_screen_index(list, &cursor))
			*ret = list->table.view->subject(&list->table, cursor);
		return;
	}
	if (cursor < view->problem_count) {
		*ret = (struct subject){ .kind = SUBJECT_FINDING, .id = view->problems[cursor]->finding.id };
		return;
	}
	cursor -= view->problem_count;
	if (cursor >= view->groups.count)
		return;
	group = &view->groups.list[cursor];
	if (group->own.kind != SUBJECT_NONE)
		*ret = group->own;
	else if (group->worst)
		*ret = (struct subject){ .kind = SUBJECT_FINDING, .id = group->worst->finding.id };
	else if (group->hottest != FABRIC_NONE)
		*ret = subject_of_port(app, group->hottest);
}

static bool mouse(void *state, struct app *app, const struct mouse *mouse)
{
	struct overview_view *view = state;
	const struct overview_plan *plan = &view->plan;
	int y = mouse->y - app->body.y;

	if (mouse->wheel)
		return app_move_list(app, mouse, 0);
	if (plan->top_rows && y >= plan->top && mouse->x >= view->link_list.x) {
		view->part = OVERVIEW_LINKS;
		if (view->hosts_shown && mouse->x >= view->host_list.x)
			view->part = OVERVIEW_HOSTS;
		return list_screen_mouse(screen_list(app, &screen_overview), app, mouse);
	}
	view->part = OVERVIEW_FINDINGS;
	if (view->problem_count && y >= plan->problems && y < plan->problems + plan->problems_rows)
		list_move_to(&view->list,
			     view->first_problem + (size_t)((y - plan->problems) / plan->problem_lines));
	else if (plan->groups_rows && y >= plan->groups && y < plan->groups + plan->groups_rows)
		list_move_to(&view->list,
			     view->problem_count + view->first_group + (size_t)(y - plan->groups));
	else
		return false;
	save_cursor(view, app);
	return true;
}

static const struct key_help footer_keys[] = {
	{ "Enter", "detail" }, { "b", "begin" }, { "a", "acknowledge" }, { "t", "time" }, { "< >", "step" },
	{ "1-7", "screens" }, { "?", "help" }, { "q", "quit" }, { NULL, NULL },
};

static const struct key_help help[] = {
	{ "Up Down PgUp PgDn", "move through the problems, then the groups; Down: then the busiest links, hosts" },
	{ "Home End", "first, last; also k j g G" },
	{ "Enter", "details of a problem or a switch's uplinks; links of a group" },
	{ "b a", "go to its start; acknowledge it or revoke that" },
	{ "CRIT WARN ok ack", "severity; ok: clearing, no longer a problem; ack: acknowledged" },
	{ "CHANGES 1h", "events before the shown time, related ones combined" },
	{ "compute out in", "traffic sent by hosts, and sent to them" },
	{ "leaf up", "traffic from leaves to the tier above" },
	{ "spine down", "traffic from spines to the tier below" },
	{ "other", "all except the switches with a problem listed above" },
	{ "MEAN MIN MAX", "TX utilization of its ports" },
	{ "0 ... 100%", "number of ports with TX utilization 0 to 10 %, 10 to 20 %, ..." },
	{ "! + time axis", "a finding was opened, closed" },
	{ "TOP LINKS HOSTS", "by load in the shown sweep, with the last minute of sweeps" },
	{ "2 jobs: ...", "jobs that run at the shown time; details on Jobs (7)" },
	{ "unknown", "group: fewer than 95 % of its ports were read" },
	{ NULL, NULL },
};

const struct screen screen_overview = {
	.name = "Overview",
	.size = sizeof(struct overview_view),
	.init = init,
	.done = done,
	.tables = (const struct screen_table[]){ { &overview_links_view, offsetof(struct overview_view, link_list) },
						 { &overview_hosts_view, offsetof(struct overview_view, host_list) },
						 { NULL, 0 } },
	.table = table,
	.draw = draw,
	.key = key,
	.mouse = mouse,
	.list = list_at_start,
	.moved = save_cursor,
	.subject = subject,
	.footer_keys = footer_keys,
	.help = help,
};
