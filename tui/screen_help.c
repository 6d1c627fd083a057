/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* screen_help.c - the keys of the screen that one came from, and what its words mean */
#include <stdlib.h>

#include "base/err.h"
#include "tui/app.h"
#include "tui/draw.h"

#define KEYS_COLUMNS 18

struct help {
	size_t first;
	int height;
};

static const struct key_help words[] = {
	{ "ok", "answers, and its link carries something" },
	{ "idle", "answers; below 0.01 % of the link's data rate both ways" },
	{ "new", "answered for the first time: rates come with its second reading" },
	{ "init", "the link is up but not Active: the subnet manager has not set it up" },
	{ "silent", "asked, and did not answer; its numbers are not known" },
	{ "locked", "answers, but not to us" },
	{ "unsupported", "the node has no such counters" },
	{ "mirrored", "not asked, by the settings: its switch port's numbers, the other way round" },
	{ "unplanned", "not asked, by the settings" },
	{ "unfinished", "the sweep's time was over before it answered; it is asked again in the next" },
	{ "down", "no link; unused: down, and not read for an hour or ever (d shows them)" },
	{ "-", "not known: never the same as 0" },
	{ "NAME/PORT", "a managed switch \"MF0;NAME:MODEL/U1\" is shown as NAME" },
	{ "12+", "at least 12: a counter was reset by someone else, or is full" },
	{ NULL, NULL },
};

/* The lines, one after the other: number @line, as a left and a right part. */
static bool help_line(const struct app *app, size_t line, struct key_help *ret, bool *ret_title)
{
	static const struct key_help blank = { "", "" };
	const struct screen *from = app->path[app->depth > 1 ? app->depth - 2 : 0].screen;
	const struct key_help *const parts[] = { from->help, common_help, words };
	static const char *const titles[] = { "KEYS HERE", "KEYS EVERYWHERE", "WORDS" };
	size_t part, at = 0, i;

	*ret_title = false;
	for (part = 0; part < sizeof(parts) / sizeof(parts[0]); part++) {
		if (part && at++ == line) {
			*ret = blank;
			return true;
		}
		if (at++ == line) {
			*ret = (struct key_help){ titles[part], "" };
			*ret_title = true;
			return true;
		}
		for (i = 0; parts[part] && parts[part][i].keys; i++)
			if (at++ == line) {
				*ret = parts[part][i];
				return true;
			}
	}
	if (at++ == line) {
		*ret = blank;
		return true;
	}
	if (at++ == line) {
		*ret = (struct key_help){ "COLUMNS", "(a wider terminal shows more of them)" };
		*ret_title = true;
		return true;
	}
	if (line - at >= COLUMN_COUNT)
		return false;
	*ret = (struct key_help){ column_info((enum column)(line - at))->title,
				  column_info((enum column)(line - at))->meaning };
	return true;
}

static size_t line_count(const struct app *app)
{
	struct key_help line;
	size_t count = 0;
	bool title;

	while (help_line(app, count, &line, &title))
		count++;
	return count;
}

static void *create(struct app *app, struct error *err)
{
	struct help *help = calloc(1, sizeof(*help));

	(void)app;
	if (!help)
		err_nomem(err);
	return help;
}

static void draw(void *state, struct app *app, const struct rect *body)
{
	const struct brush brush = { &app->theme, 0 };
	struct help *help = state;
	int keys = body->columns < 60 ? KEYS_COLUMNS - 4 : KEYS_COLUMNS, y;

	help->height = body->rows;
	help->first = layout_scroll(help->first, help->first, line_count(app), body->rows);
	for (y = 0; y < body->rows; y++) {
		struct key_help line = { "", "" };
		bool title = false;

		help_line(app, help->first + (size_t)y, &line, &title);
		draw_cell(&brush, body->y + y, body->x, keys, line.keys, ALIGN_LEFT, title ? ROLE_GOOD : ROLE_KEY);
		draw_cell(&brush, body->y + y, body->x + keys, body->columns - keys, line.text, ALIGN_LEFT, ROLE_TEXT);
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
		help->first = line_count(app);
		return true;
	default:
		return false;
	}
}

const struct screen screen_help = {
	.name = "help",
	.needs_nothing = true,
	.create = create,
	.destroy = free,
	.draw = draw,
	.draw_footer = draw_footer,
	.key = key,
};
