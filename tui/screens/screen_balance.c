/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* screen_balance.c - load balance: heat map, worst groups, rails of hosts */
#include <stdio.h>
#include <stdlib.h>

#include "base/clock.h"
#include "base/err.h"
#include "fabric/shape.h"
#include "tui/draw/draw.h"
#include "tui/draw/terminal.h"
#include "tui/model/context.h"
#include "tui/model/live.h"
#include "tui/screens/balance_view.h"
#include "tui/tui.h"

/* By enum balance_part. */
static const struct balance_part_info *const parts[] = { &balance_map, &balance_groups, &balance_hosts };

const char *view_window(const struct balance_view *view, char *ret, size_t size)
{
	char from[16];

	snprintf(ret, size, "measuring: window of %lld s, began %s%s",
		 (long long)((view->loads.until_us - view->loads.since_us) / US_PER_S),
		 format_time(view->loads.since_us, "%H:%M:%S", from, sizeof(from)),
		 view->loads.damage.count ? ", damaged" : "");
	return ret;
}

static void init(void *state, const struct app *app)
{
	struct balance_view *view = state;

	balance_settings_default(&view->limits);
	if (app->options->balance)
		view->limits = *app->options->balance;
	view->tier = 1;
}

static void done(void *state)
{
	struct balance_view *view = state;

	loads_done(&view->loads);
	heat_done(&view->heat);
	free(view->order);
	free(view->results);
	free(view->host_rows);
}

/* Without a tree there are no tiers. */
static bool has_map(const struct app *app)
{
	return app->context->shape && app->context->shape->tier_count >= 2;
}

/* Whether loads are available and the parts are built from them, for the shown fabric. */
static bool is_made(const struct balance_view *view, const struct app *app)
{
	return view->loads.known && view->generation == view->loads.generation && view->seen == app->generation &&
	       app->context->shape;
}

static void make(struct balance_view *view, struct app *app)
{
	struct error trouble = { 0 };
	int code = 0;

	view->generation = 0;
	heat_done(&view->heat);
	view->result_count = view->host_count = 0;
	for (size_t i = 0; view->loads.known && code == 0 && i < sizeof(parts) / sizeof(parts[0]); i++)
		if (parts[i] != &balance_map || has_map(app))
			code = parts[i]->make(view, app, &trouble);
	if (code < 0)
		app_message(app, "%s", trouble.text);
	else if (view->loads.known)
		view->generation = view->loads.generation;
}

/* Nothing is read for an invisible screen. */
static bool poll(void *state, struct app *app)
{
	struct balance_view *view = state;
	const struct loads_source source = {
		.live = app->live, .context = app->context, .limits = &view->limits, .shape = app->options->shape,
		.now_us = clock_boottime_us(app->options->clock),
	};
	bool news;

	if (app_screen(app) != &screen_balance || !app->live->shown)
		return false;
	if (view->seen != app->generation)
		loads_changed(&view->loads, &source);
	view->seen = app->generation;
	news = loads_poll(&view->loads, &source);
	if (news || view->generation != view->loads.generation)
		make(view, app);
	return news;
}

/* Whether a line explains the missing map. */
static bool lacks_map(const struct balance_view *view, const struct app *app)
{
	return view->part == PART_MAP && !has_map(app);
}

static enum balance_part part_of(const struct balance_view *view, const struct app *app)
{
	return lacks_map(view, app) ? PART_GROUPS : view->part;
}

static void draw(void *state, struct app *app, const struct rect *body)
{
	struct balance_view *view = state;
	const struct brush brush = app_brush(app, false);
	struct rect rest = *body;

	if (!is_made(view, app)) {
		draw_line(&brush, body, 1, ROLE_TEXT, "%s",
			  view->loads.problem[0] ? view->loads.problem : "reading link loads ...");
		return;
	}
	if (lacks_map(view, app)) {
		draw_line(&brush, body, 0, ROLE_FAINT, "no map of tiers: %.200s", app->context->shape->reason);
		rest.y++;
		rest.rows--;
	}
	parts[part_of(view, app)]->draw(view, app, &rest);
}

/* The visible list, if any. */
static size_t table(void *state, const struct app *app)
{
	static const size_t tables[] = { [PART_GROUPS] = 0, [PART_HOSTS] = 1, [PART_MAP] = 2 };

	return tables[is_made(state, app) ? part_of(state, app) : PART_MAP];
}

static void draw_footer(void *state, struct app *app, const struct rect *footer)
{
	static const struct key_help map[] = {
		{ "?", "help" }, { "v", "measured/predicted/difference" }, { "d", "direction" }, { "g", "groups" },
		{ "H", "hosts" }, { "s", "hottest first" }, { "+ -", "tiers" }, { "Enter", "detail" }, { NULL, NULL },
	}, groups[] = {
		{ "?", "help" }, { "Enter", "detail" }, { "i", "all groups" }, { "g", "map" }, { "H", "hosts" },
		{ "/", "filter" }, { "s", "sort" }, { "b", "begin" }, { NULL, NULL },
	}, hosts[] = {
		{ "?", "help" }, { "Enter", "detail" }, { "i", "include idle" }, { "H", "map" }, { "g", "groups" },
		{ "/", "filter" }, { "s", "sort" }, { "p", "panel" }, { NULL, NULL },
	}, *const keys[] = { [PART_MAP] = map, [PART_GROUPS] = groups, [PART_HOSTS] = hosts };
	struct list_screen *list = screen_list(app, &screen_balance);
	enum balance_part part = part_of(state, app);

	if (list)
		list_screen_draw_footer(list, app, footer, keys[part]);
	else
		footer_draw_keys(app, footer, keys[part]);
}

static bool key(void *state, struct app *app, int pressed)
{
	struct balance_view *view = state;
	enum balance_part part = part_of(view, app);

	if (pressed == 'g' || pressed == 'H') {
		enum balance_part wanted = pressed == 'g' ? PART_GROUPS : PART_HOSTS;

		if (pressed == 'g' && part == PART_GROUPS && !has_map(app))
			app_message(app, "no map of tiers: %.200s",
				    app->context->shape ? app->context->shape->reason : "");
		view->part = part == wanted ? PART_MAP : wanted;
		return true;
	}
	if (!is_made(view, app))
		return false;
	if (pressed == 'i' && part != PART_MAP) {
		view->all = !view->all;
		make(view, app);
		return true;
	}
	return parts[part]->key && parts[part]->key(view, app, pressed);
}

static struct list *list(void *state, const struct app *app)
{
	struct balance_view *view = state;

	return is_made(view, app) && part_of(view, app) == PART_MAP ? &view->rows : NULL;
}

static void moved(void *state, struct app *app)
{
	balance_map.moved(state, app);
}

static bool mouse(void *state, struct app *app, const struct mouse *event)
{
	struct list_screen *list = screen_list(app, &screen_balance);

	if (list)
		return list_screen_mouse(list, app, event);
	if (!app_move_list(app, event, 0))
		return false;
	if (!event->wheel) {
		map_press_column(state, event->x - app->body.x);
		moved(state, app);
	}
	return true;
}

static void subject(void *state, const struct app *app, struct subject *ret)
{
	const struct list_screen *list = screen_list(app, &screen_balance);
	size_t index;

	if (list && list_screen_index(list, &index))
		*ret = list->table.view->subject(&list->table, index);
	else if (!list && is_made(state, app))
		balance_map.subject(state, app, ret);
}

static const struct key_help help[] = {
	{ "Up Down Left Right", "move the cursor; the selected cell is described below the map" },
	{ "v", "measured load, load predicted from the routes for the same traffic, their difference" },
	{ "d", "direction: up from the lower switches, or down to them" },
	{ "+ -", "next tiers up or down: leaf and spine, spine and core" },
	{ "s", "sort rows by load or by name" },
	{ "g", "uplink groups, worst first, with measured, predicted and fair share of each member; g: the map" },
	{ "H", "hosts with several HCAs, by rail imbalance; H: the map; Enter: the rail described below the list" },
	{ "i", "include balanced and idle groups, and idle hosts" },
	{ "TESTS", "those that hold: uneven forwarding tables (?: unknown), uneven load, harm" },
	{ "AR", "adaptive routing, from the settings or the switch; ~: inferred from the load; ?: unknown" },
	{ "CAUSE", "missing-member, degraded-member: link down or slow; routing: tables; flows: colliding flows;" },
	{ "", "not-following: only this switch is imbalanced; (echo): caused by another group" },
	{ "ok", "not more uneven than the number of flows is by chance, with even tables" },
	{ "MAX UTIL% IMBALANCE%", "of the busiest link: utilization, and excess over the mean" },
	{ "LAST SWEEPS", "utilization in the last sweeps: of the busiest link of a group, mean of a host's ports" },
	{ "x o ! ?", "links: down, missing, degraded or partly missing, not read" },
	{ "", "measured over at least 60 s and 3 sweeps before the shown time; 'flows' comes from findings" },
	{ NULL, NULL },
};

static const char *const part_names[] = { "map", "groups", "hosts", NULL };                /* by enum balance_part */
static const char *const value_names[] = { "measured", "predicted", "difference", NULL }; /* by enum heat_value */

static const struct setting settings[] = {
	{ "balance.part", SETTING_CHOICE, offsetof(struct balance_view, part), part_names },
	{ "balance.value", SETTING_CHOICE, offsetof(struct balance_view, value), value_names },
	{ "balance.inward", SETTING_FLAG, offsetof(struct balance_view, inward), NULL },
	{ "balance.hottest-first", SETTING_FLAG, offsetof(struct balance_view, hottest_first), NULL },
	{ "balance.all", SETTING_FLAG, offsetof(struct balance_view, all), NULL },
	{ NULL, SETTING_FLAG, 0, NULL },
};

const struct screen screen_balance = {
	.name = "Balance",
	.size = sizeof(struct balance_view),
	.init = init,
	.done = done,
	.poll = poll,
	.tables = (const struct screen_table[]){ { &groups_view, offsetof(struct balance_view, groups) },
						 { &hosts_view, offsetof(struct balance_view, hosts) }, { NULL, 0 } },
	.table = table,
	.draw = draw,
	.draw_footer = draw_footer,
	.key = key,
	.mouse = mouse,
	.list = list,
	.moved = moved,
	.subject = subject,
	.help = help,
	.settings = settings,
};
