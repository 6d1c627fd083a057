/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* screen_help.c - keys and notation of the previous screen */
#include "base/text.h"
#include "facts/select.h"
#include "tui/draw/draw.h"
#include "tui/draw/key.h"
#include "tui/draw/terminal.h"
#include "tui/draw/text_page.h"
#include "tui/screens/app.h"
#include "tui/screens/list_screen.h"

/* Columns of the keys, on terminals of fewer than WIDE columns, and on others. */
enum { KEYS_NARROW = 14, KEYS_WIDE = 18, WIDE = 60 };

struct help {
	struct text_page page;
	struct page_view view;
};

static const struct key_help words[] = {
	{ "ok", "responds, and its link carries traffic" },
	{ "idle", "responds; utilization below 0.01 % in both directions" },
	{ "100 %", "the most that is shown; a link that got slower may have carried more before" },
	{ "new", "first response: rates follow with the second reading" },
	{ "init", "link is up but not Active: not configured by the subnet manager" },
	{ "silent", "polled but did not respond; counters unknown" },
	{ "locked", "responds, but refuses our M_Key" },
	{ "unsupported", "the node does not support the counters" },
	{ "mirrored", "not polled or without counters: values of its switch port, directions swapped" },
	{ "unplanned", "excluded from polling by the settings" },
	{ "unfinished", "the sweep ended before a response; polled again in the next sweep" },
	{ "down", "no link; unused: down, not read for an hour or ever (d shows them)" },
	{ "-", "unknown, not 0" },
	{ "NAME/PORT", "a managed switch \"MF0;NAME:MODEL/U1\" is shown as NAME" },
	{ "12+", "at least 12: a counter was reset externally or is saturated" },
	{ NULL, NULL },
};

static const struct key_help mouse_help[] = {
	{ "click", "select a row or tab; on a column head: sort by it" },
	{ "double-click", "like Enter" },
	{ "wheel", "three rows up or down" },
	{ "Shift", "held down: select text in the terminal; F2 disables the mouse" },
	{ NULL, NULL },
};

static void done(void *state)
{
	struct help *help = state;

	page_done(&help->page);
}

static void add_title(struct text_page *page, const char *title, const char *text, int indent)
{
	if (page->line_count)
		page_line(page, NULL);
	page_line(page, NULL);
	page_put(page, 0, -1, ALIGN_LEFT, ROLE_GOOD, title);
	page_put(page, indent, -1, ALIGN_LEFT, ROLE_TEXT, text);
}

/* Keys and text; keys that are too long for their column have a line of their own. */
static void add(struct text_page *page, const char *keys, const char *text, int indent)
{
	if ((int)text_columns(keys) >= indent) {
		page_line(page, NULL);
		page_put(page, 0, -1, ALIGN_LEFT, ROLE_KEY, keys);
		keys = "";
	}
	page_field(page, NULL, keys, ROLE_KEY, indent, ROLE_TEXT, text);
}

/* An entry without a text is the title of those that follow it. */
static void add_part(struct text_page *page, const char *title, const struct key_help *part, int indent)
{
	if (part && part->text)
		add_title(page, title, "", indent);
	for (; part && part->keys; part++)
		if (part->text)
			add(page, part->keys, part->text, indent);
		else
			add_title(page, part->keys, "", indent);
}

static void add_filter_keys(struct text_page *page, int columns, int indent)
{
	add_title(page, "FILTER KEYS", columns < WIDE ? "" : "also in arguments of commands, see ibwire(1)", indent);
	for (unsigned i = 0; i < SELECT_KEY_COUNT; i++)
		add(page, select_keys[i].example, select_keys[i].help, indent);
	add(page, "tier:1/1-4", "those of the ports 1 to 4; name:\"a b\": a value with blanks", indent);
	add(page, "rail:mlx5_1*", "a name is the full one, else a pattern or the beginning; case is ignored", indent);
}

/* Built for each frame: it is cheap, and the previous screen may be another one. */
static void make(struct text_page *page, const struct app *app, int columns)
{
	const struct screen *from = app->path[app->depth > 1 ? app->depth - 2 : 0].screen;
	int indent = columns < WIDE ? KEYS_NARROW : KEYS_WIDE;
	const struct list_screen *list;

	page_begin(page, columns);
	add_part(page, "KEYS OF THIS SCREEN", from->help, indent);
	list = screen_list(app, from);
	if (list)
		add_part(page, "LIST", list_screen_help, indent);
	add_part(page, "", common_help, indent);
	add_part(page, "MOUSE", mouse_help, indent);
	if (from == &screen_links || from == &screen_ports)
		add_filter_keys(page, columns, indent);
	add_part(page, "STATUS AND NOTATION", words, indent);
	for (size_t i = 0; list && i < list->table.column_count; i++) {
		if (!i)
			add_title(page, "COLUMNS",
				  columns < WIDE ? "" : "a wider terminal shows more; F2 hides columns", indent);
		if (table_title(&list->table, i))
			add(page, table_title(&list->table, i), table_help(&list->table, i), indent);
	}
}

static void draw(void *state, struct app *app, const struct rect *body)
{
	const struct brush brush = { app->theme, 0 };
	struct help *help = state;

	make(&help->page, app, body->columns);
	page_fit(&help->page, &help->view, body->rows);
	page_draw(&help->page, &help->view, &brush, body);
}

static bool key(void *state, struct app *app, int pressed)
{
	struct help *help = state;

	switch (pressed) {
	case KEY_ESCAPE:
	case 'q':
	case '?':
	case 'h':
	case KEY_SPECIAL(KEY_F(1)):
		help->view.first = 0;
		app_back(app);
		return true;
	default:
		return page_key(&help->page, &help->view, pressed);
	}
}

static bool mouse(void *state, struct app *app, const struct mouse *event)
{
	struct help *help = state;

	return page_mouse(&help->page, &help->view, app->body.y, event);
}

static const struct key_help footer_keys[] = { { "Esc", "back" }, { "Up Down PgUp PgDn", "scroll" }, { NULL, NULL } };

const struct screen screen_help = {
	.name = "help",
	.needs_nothing = true,
	.size = sizeof(struct help),
	.done = done,
	.draw = draw,
	.footer_keys = footer_keys,
	.key = key,
	.mouse = mouse,
};
