/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* screen_help.c - keys and notation of the previous screen */
#include <stdio.h>
#include <string.h>

#include "base/text.h"
#include "tui/draw/draw.h"
#include "tui/draw/key.h"
#include "tui/draw/terminal.h"
#include "tui/screens/app.h"

#define KEYS_COLUMNS 18

#define LINES_MOST 400

struct line {
	const char *keys, *text;
	size_t bytes; /* of the text that stand here */
	bool title;
};

struct help {
	size_t first;
	int height, keys; /* lines that there is room for; columns of keys */
	struct line lines[LINES_MOST];
	size_t count;
};

static const struct key_help words[] = {
	{ "ok", "responds, and its link carries traffic" },
	{ "idle", "responds; utilization below 0.01 % in both directions" },
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

static void add_line(struct help *help, const char *keys, const char *text, size_t bytes, bool title)
{
	if (help->count < LINES_MOST)
		help->lines[help->count++] = (struct line){ keys, text, bytes, title };
}

/* A text in lines of so many columns, broken at blanks; the keys stand before its first. */
static void add(struct help *help, const char *keys, const char *text, int columns)
{
	size_t room = columns > 0 ? (size_t)columns : 1;

	/* Keys too long for their column have a line of their own. */
	if ((int)text_columns(keys) >= help->keys) {
		add_line(help, keys, "", 0, false);
		keys = "";
	}
	do {
		size_t bytes = format_line(text, room);

		if (!bytes)
			break;
		add_line(help, keys, text, bytes, false);
		keys = "";
		text += bytes;
		text += strspn(text, " ");
	} while (*text);
}

static void add_title(struct help *help, const char *title, const char *text)
{
	if (help->count)
		add_line(help, "", "", 0, false);
	add_line(help, title, text, strlen(text), true);
}

/* An entry without a text is the title of those that follow it. */
static void add_part(struct help *help, const char *title, const struct key_help *part, int columns)
{
	if (part && part->text)
		add_title(help, title, "");
	for (; part && part->keys; part++)
		if (part->text)
			add(help, part->keys, part->text, columns);
		else
			add_title(help, part->keys, "");
}

/* All lines for a width. It is cheap, and the screen that one came from may be another. */
static void make(struct help *help, const struct app *app, int columns)
{
	const struct screen *from = app->path[app->depth > 1 ? app->depth - 2 : 0].screen;
	int rest;

	help->count = 0;
	help->keys = columns < 60 ? KEYS_COLUMNS - 4 : KEYS_COLUMNS;
	rest = columns - help->keys;
	add_part(help, "KEYS OF THIS SCREEN", from->help, rest);
	add_part(help, "", common_help, rest);
	add_part(help, "MOUSE", mouse_help, rest);
	add_part(help, "STATUS AND NOTATION", words, rest);
	if (from != &screen_links)
		return;
	add_title(help, "COLUMNS", columns < 60 ? "" : "a wider terminal shows more; F2 hides columns");
	for (int column = 0; column < COLUMN_COUNT; column++)
		add(help, column_info((enum column)column)->title, column_info((enum column)column)->meaning, rest);
}

static void draw(void *state, struct app *app, const struct rect *body)
{
	const struct brush brush = { app->theme, 0 };
	struct help *help = state;

	make(help, app, body->columns);
	help->height = body->rows;
	help->first = layout_scroll(help->first, help->first, help->count, body->rows);
	for (int y = 0; y < body->rows && help->first + (size_t)y < help->count; y++) {
		const struct line *line = &help->lines[help->first + (size_t)y];
		bool alone = !line->bytes;
		char text[CELL_SIZE];

		draw_cell(&brush, body->y + y, body->x, alone ? body->columns : help->keys, line->keys, ALIGN_LEFT,
			  line->title ? ROLE_GOOD : ROLE_KEY);
		if (alone)
			continue;
		snprintf(text, sizeof(text), "%.*s", (int)line->bytes, line->text);
		draw_cell(&brush, body->y + y, body->x + help->keys, body->columns - help->keys, text, ALIGN_LEFT,
			  ROLE_TEXT);
	}
}

static void draw_footer(void *state, struct app *app, const struct rect *footer)
{
	static const struct key_help keys[] = { { "Esc", "back" }, { "Up Down PgUp PgDn", "scroll" }, { NULL, NULL } };

	(void)state;
	footer_draw_keys(app, footer, keys);
}

static bool key(void *state, struct app *app, int pressed)
{
	struct help *help = state;
	size_t page = help->height > 1 ? (size_t)help->height - 1 : 1;

	switch (pressed) {
	case KEY_ESCAPE:
	case 'q':
	case '?':
	case 'h':
	case KEY_SPECIAL(KEY_F(1)):
		help->first = 0;
		app_back(app);
		return true;
	case 'k':
	case KEY_SPECIAL(KEY_UP):
		help->first -= help->first > 0;
		return true;
	case 'j':
	case KEY_SPECIAL(KEY_DOWN):
		help->first++;
		return true;
	case KEY_SPECIAL(KEY_PPAGE):
		help->first -= help->first < page ? help->first : page;
		return true;
	case KEY_SPECIAL(KEY_NPAGE):
		help->first += page;
		return true;
	case 'g':
	case KEY_SPECIAL(KEY_HOME):
		help->first = 0;
		return true;
	case 'G':
	case KEY_SPECIAL(KEY_END):
		help->first = help->count;
		return true;
	default:
		return false;
	}
}

static bool mouse(void *state, struct app *app, const struct mouse *event)
{
	struct help *help = state;
	size_t step = 3;

	(void)app;
	if (event->wheel < 0)
		help->first -= help->first < step ? help->first : step;
	else if (event->wheel > 0)
		help->first += step;
	return false;
}

const struct screen screen_help = {
	.name = "help",
	.needs_nothing = true,
	.size = sizeof(struct help),
	.draw = draw,
	.draw_footer = draw_footer,
	.key = key,
	.mouse = mouse,
};
