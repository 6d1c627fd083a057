/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* screen_links.c - table of all links */
#include <stdio.h>
#include <string.h>

#include "base/err.h"
#include "fabric/fabric.h"
#include "storage/reader.h"
#include "tui/draw/draw.h"
#include "tui/draw/key.h"
#include "tui/draw/list.h"
#include "tui/draw/prompt.h"
#include "tui/draw/terminal.h"
#include "tui/model/links.h"
#include "tui/model/port_table.h"
#include "tui/screens/app.h"
#include "tui/screens/links_draw.h"
#include "tui/screens/setup.h"

enum mode { MODE_TABLE, MODE_FILTER, MODE_SORT };

struct links_screen {
	struct list list;
	enum mode mode;
	struct links links;
	uint64_t generation; /* of app that the links were built from; 0: none */
	/*
	 * The cursor stays on its link when rows move: after it leaves the first row, or with the
	 * key f.
	 */
	bool follows;
	uint64_t node_guid; /* selected link: the port at its lower end */
	uint8_t port;
	enum link_column menu;   /* selected in the sort menu */
};

static void init(void *state, const struct app *app)
{
	struct links_screen *self = state;

	(void)app;
	links_init(&self->links);
}

static void done(void *state)
{
	struct links_screen *self = state;

	links_done(&self->links);
}

/* Remember the selected link. */
static void save_cursor(struct links_screen *self)
{
	const struct links *links = &self->links;
	const struct fabric *fabric;
	const struct port *port;

	if (self->list.cursor >= links->row_count)
		return;
	fabric = links->table->snapshot->fabric;
	port = &fabric->ports[links_row(links, self->list.cursor)->ends[0]];
	self->node_guid = fabric->nodes[port->node].guid;
	self->port = port->num;
}

/* The rows changed: the cursor follows its link, on the same line of the screen if possible. */
static void restore_cursor(struct links_screen *self)
{
	struct list *list = &self->list;
	size_t line = list->cursor - list->first, row = self->links.row_count;

	if (self->follows)
		row = links_find(&self->links, self->node_guid, self->port);
	/* A link without a row: the cursor stays near its position. */
	if (row < self->links.row_count) {
		list->cursor = row;
		list->first = row > line ? row - line : 0;
	}
	list_fit(list, self->links.row_count, list->height);
	if (!self->follows)
		save_cursor(self);
}

/* Rebuild the links of the shown snapshot if necessary: proportional to the fabric, only while visible. */
static void prepare(struct links_screen *self, struct app *app)
{
	struct error err = { 0 };

	if (self->generation == app->generation)
		return;
	self->generation = app->generation;
	if (links_set(&self->links, app->table, app->context, &err) < 0)
		app_message(app, "%s", err.text);
	restore_cursor(self);
}

static void draw(void *state, struct app *app, const struct rect *body)
{
	struct links_screen *self = state;

	prepare(self, app);
	list_place(&self->list, self->links.row_count, body->y + 1, body->rows - 1);
	links_draw(app, &self->links, &self->list, body);
	if (self->mode == MODE_SORT)
		links_draw_menu(app, &self->links, self->menu, body);
}

/* "12 of 2,064 links" with the modes in effect. Return: columns used. */
static int draw_count(const struct links_screen *self, const struct app *app, const struct rect *footer)
{
	const struct brush brush = { app->theme, 0 };
	const struct links *links = &self->links;
	struct column_place places[LINK_COLUMN_COUNT];
	char shown[32], all[32], order[32] = "", text[200];

	/* The sort column may be hidden on a narrow terminal. */
	links_places(app, links, footer->columns, places);
	if (!places[links->sort].columns)
		snprintf(order, sizeof(order), "by %s  ", column_info(links->sort)->title);
	format_count(links->row_count, 24, shown, sizeof(shown));
	format_count(links->count - (links->show_unused ? 0 : links->unused_count), 24, all, sizeof(all));
	snprintf(text, sizeof(text), "%s%s%s%s of %s links", self->follows ? "following  " : "",
		 links->tagged_only ? "tagged only  " : "", order, shown, all);
	if ((int)strlen(text) > footer->columns / 2)
		snprintf(text, sizeof(text), "%s%s of %s links", order, shown, all);
	draw_cell(&brush, footer->y, footer->x, footer->columns, text, ALIGN_RIGHT, ROLE_FAINT);
	return (int)strlen(text);
}

static void draw_footer(void *state, struct app *app, const struct rect *footer)
{
	static const struct key_help keys[] = {
		{ "?", "help" },   { "/", "filter" }, { "s", "sort" },	  { "p", "panel" },  { "x", "swap" },
		{ "q", "quit" },    { "f", "follow" }, { "T", "tag" },	  { "d", "unused" }, { "Space", "pause" },
		{ "I", "reverse" }, { "( )", "move column" }, { NULL, NULL },
	};
	static const struct key_help menu_keys[] = {
		{ "Up Down", "choose" }, { "Enter", "sort" }, { "Esc", "cancel" }, { NULL, NULL },
	};
	struct links_screen *self = state;
	const struct filter *filter = &self->links.filter;
	bool typing = self->mode == MODE_FILTER;
	const struct brush brush = { app->theme, 0 };
	struct rect left = *footer;

	prepare(self, app);
	left.columns -= draw_count(self, app, footer) + 2;
	if (self->mode == MODE_SORT)
		footer_draw_keys(app, &left, menu_keys);
	else if (typing || filter->typed[0])
		draw_line(&brush, &left, 0, typing && !filter->trouble[0] ? ROLE_STRONG : ROLE_WARNING, "/%s%s%s%s",
			  filter->typed, typing ? "_" : "", filter->trouble[0] ? "  " : "", filter->trouble);
	else
		footer_draw_keys(app, &left, keys);
}

static void rearrange(struct links_screen *self)
{
	links_arrange(&self->links);
	restore_cursor(self);
}

void screen_links_show(struct app *app, const char *typed)
{
	struct links_screen *self = screen_state(app, &screen_links);

	filter_set(&self->links.filter, typed);
	self->mode = MODE_TABLE;
	self->generation = 0;
	app_show(app, &screen_links);
}

static void sort_by(struct links_screen *self, enum link_column column)
{
	if (self->links.sort != column)
		self->links.descending = links_descending_first(column);
	self->links.sort = column;
	rearrange(self);
}

/* Sort by the next visible column to the left or right. */
static void sort_by_neighbour(struct links_screen *self, const struct app *app, int step)
{
	struct column_place places[LINK_COLUMN_COUNT];

	links_places(app, &self->links, app->body.columns, places);
	sort_by(self, (enum link_column)columns_neighbour(app->setup->order, places, LINK_COLUMN_COUNT,
							  self->links.sort, step));
}

/* Move the sort column past its neighbour. */
static void move_column(const struct links_screen *self, struct app *app, int step)
{
	struct column_place places[LINK_COLUMN_COUNT];

	links_places(app, &self->links, app->body.columns, places);
	if (!places[self->links.sort].columns)
		app_message(app, "%s is not shown: Left or Right selects a shown column",
			    column_info(self->links.sort)->title);
	else
		columns_move(app->setup->order, places, LINK_COLUMN_COUNT, self->links.sort, step);
}

static void moved(void *state, struct app *app)
{
	struct links_screen *self = state;

	(void)app;
	self->follows = self->list.cursor > 0;
	save_cursor(self);
}

static bool typed_key(struct links_screen *self, struct app *app, int key)
{
	bool typing = true;

	if (!filter_key(&self->links.filter, &typing, key))
		/* The cursor keys, help and quit work; all others are ignored. */
		return app_move_list(app, NULL, key) || (key != KEY_SPECIAL(KEY_F(1)) && key != KEY_SPECIAL(KEY_F(10)));
	self->mode = typing ? MODE_FILTER : MODE_TABLE;
	rearrange(self);
	return true;
}

static bool menu_key(struct links_screen *self, int key)
{
	switch (key_motion(key)) {
	case KEY_SPECIAL(KEY_UP):
		self->menu = self->menu ? self->menu - 1 : LINK_COLUMN_COUNT - 1;
		break;
	case KEY_SPECIAL(KEY_DOWN):
		self->menu = (self->menu + 1) % LINK_COLUMN_COUNT;
		break;
	case '\r':
	case ' ':
		self->mode = MODE_TABLE;
		sort_by(self, self->menu);
		break;
	case KEY_ESCAPE:
	case 'q':
	case 's':
	case KEY_SPECIAL(KEY_F(6)):
		self->mode = MODE_TABLE;
		break;
	default:
		break;
	}
	return true;
}

static void tag(struct links_screen *self, struct app *app)
{
	struct error err = { 0 };

	if (self->list.cursor >= self->links.row_count)
		return;
	if (links_tag(&self->links, links_row(&self->links, self->list.cursor), &err) < 0)
		app_message(app, "%s", err.text);
	list_move_to(&self->list, self->list.cursor + 1);
	moved(self, app);
}

/*
 * Keys that change which links are shown, or their order. Return: whether the key was one of these.
 */
static bool arrange_key(struct links_screen *self, int key)
{
	struct links *links = &self->links;

	switch (key) {
	case KEY_ESCAPE:
		if (!links->filter.typed[0] && !links->tagged_only)
			return false;
		filter_set(&links->filter, "");
		links->tagged_only = false;
		break;
	case 'I':
		links->descending = !links->descending;
		break;
	case 'd':
		links->show_unused = !links->show_unused;
		break;
	case 'x':
		links->swapped = !links->swapped;
		break;
	case '*':
		links->tagged_only = !links->tagged_only;
		break;
	case 'U':
		links_untag_all(links);
		break;
	default:
		return false;
	}
	rearrange(self);
	return true;
}

static bool key(void *state, struct app *app, int pressed)
{
	struct links_screen *self = state;

	prepare(self, app);
	if (self->mode == MODE_FILTER)
		return typed_key(self, app, pressed);
	if (self->mode == MODE_SORT)
		return menu_key(self, pressed);
	switch (pressed) {
	case 'f':
	case 'F':
		self->follows = !self->follows;
		save_cursor(self);
		return true;
	case '/':
	case '\\':
	case KEY_SPECIAL(KEY_F(3)):
	case KEY_SPECIAL(KEY_F(4)):
		self->mode = MODE_FILTER;
		return true;
	case KEY_SPECIAL(KEY_LEFT):
		sort_by_neighbour(self, app, -1);
		return true;
	case KEY_SPECIAL(KEY_RIGHT):
		sort_by_neighbour(self, app, 1);
		return true;
	case '(':
	case KEY_SPECIAL(KEY_SLEFT):
		move_column(self, app, -1);
		return true;
	case ')':
	case KEY_SPECIAL(KEY_SRIGHT):
		move_column(self, app, 1);
		return true;
	case 's':
	case KEY_SPECIAL(KEY_F(6)):
		self->menu = self->links.sort;
		self->mode = MODE_SORT;
		return true;
	case 'T':
	case KEY_SPECIAL(KEY_IC):
		tag(self, app);
		return true;
	default:
		return arrange_key(self, pressed);
	}
}

/* A click on a column head: sort by it, or reverse. */
static void press_head(struct links_screen *self, const struct app *app, int x)
{
	struct column_place places[LINK_COLUMN_COUNT];

	links_places(app, &self->links, app->body.columns, places);
	for (int column = 0; column < LINK_COLUMN_COUNT; column++) {
		/* The blank behind a column belongs to it. */
		if (!places[column].columns || x < places[column].x || x > places[column].x + places[column].columns)
			continue;
		if (self->links.sort == (enum link_column)column)
			self->links.descending = !self->links.descending;
		sort_by(self, (enum link_column)column);
		return;
	}
}

static bool mouse(void *state, struct app *app, const struct mouse *mouse)
{
	struct links_screen *self = state;

	prepare(self, app);
	self->mode = MODE_TABLE;
	if (app_move_list(app, mouse, 0))
		return true;
	if (mouse->y == app->body.y)
		press_head(self, app, mouse->x - app->body.x);
	return false;
}

static const struct key_help help[] = {
	{ "Up Down j k", "move; the cursor follows its link, except on the first row" },
	{ "PgUp PgDn", "page up or down; Home End g G: first and last row" },
	{ "/ F3 F4", "incremental filter on port, peer, status, link or GUID" },
	{ "  leaf01 4xHDR", "space: and; leaf01|leaf02: or; !leaf01: not" },
	{ "  ^leaf(01|02)/", "POSIX extended regular expression; ^ and $ match the ends of a name" },
	{ "  tier:2", "a key of either end: see FILTER KEYS below" },
	{ "Esc", "clear the filters" },
	{ "Left Right", "sort by the next column; or click on its head" },
	{ "Shift-Left ( )", "move the sort column to the left or right; also Shift-Right" },
	{ "s F6", "select the sort column" },
	{ "I", "reverse the order" },
	{ "x", "swap the ends: the end farther from the hosts first" },
	{ "f F", "toggle following: the cursor stays on its link, or on its row" },
	{ "T Ins", "tag or untag the link; U untags all" },
	{ "*", "only tagged links" },
	{ "d", "show or hide ports that are down and unused" },
	{ "p", "front panel of the switch or host in PORT" },
	{ NULL, NULL },
};

static void subject(void *state, const struct app *app, struct subject *ret)
{
	const struct links_screen *self = state;
	const struct links *links = &self->links;

	if (self->generation == app->generation && self->list.cursor < links->row_count)
		*ret = subject_of_port(app, links_end(links, links_row(links, self->list.cursor), 0));
}

static const struct setting settings[] = {
	{ "links.sort", SETTING_COLUMN, offsetof(struct links_screen, links.sort), NULL },
	{ "links.descending", SETTING_FLAG, offsetof(struct links_screen, links.descending), NULL },
	{ "links.swapped", SETTING_FLAG, offsetof(struct links_screen, links.swapped), NULL },
	{ "links.unused", SETTING_FLAG, offsetof(struct links_screen, links.show_unused), NULL },
	{ NULL, SETTING_FLAG, 0, NULL },
};

const struct screen screen_links = {
	.name = "Links",
	.subject = subject,
	.size = sizeof(struct links_screen),
	.init = init,
	.done = done,
	.draw = draw,
	.draw_footer = draw_footer,
	.key = key,
	.mouse = mouse,
	.list = list_at_start,
	.moved = moved,
	.help = help,
	.settings = settings,
};
