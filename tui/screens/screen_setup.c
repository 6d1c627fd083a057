/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* screen_setup.c - display settings */
#include "tui/draw/draw.h"
#include "tui/draw/key.h"
#include "tui/draw/list.h"
#include "tui/draw/terminal.h"
#include "tui/screens/app.h"
#include "tui/screens/setup.h"

/* The rows: these, and a column of Links each. */
enum { ROW_COLORS, ROW_CHARACTERS, ROW_REFRESH, ROW_MOUSE, ROW_COLUMNS };

#define NAME_COLUMNS 14
#define VALUE_COLUMNS 14

struct setup_screen {
	struct list list;
	size_t first;                      /* first visible line; two lines are not rows */
	enum column columns[COLUMN_COUNT]; /* that can be hidden */
	size_t column_count;
};

static void init(void *state, const struct app *app)
{
	struct setup_screen *self = state;

	(void)app;
	for (int column = 0; column < COLUMN_COUNT; column++)
		if (column_can_hide((enum column)column))
			self->columns[self->column_count++] = (enum column)column;
}

/* A row's three texts: what it is, how it is, what that means. */
static void row_texts(const struct setup_screen *self, const struct app *app, size_t row, const char *ret[3])
{
	const struct setup *setup = app->setup;
	enum column column;

	switch (row) {
	case ROW_COLORS:
		ret[0] = "colours";
		ret[1] = setup_colors_name(setup->colors);
		ret[2] = "maximum; NO_COLOR and --color take precedence";
		break;
	case ROW_CHARACTERS:
		ret[0] = "characters";
		ret[1] = setup->ascii ? "ASCII" : "all";
		ret[2] = "ASCII: for terminals without line-drawing characters";
		break;
	case ROW_REFRESH:
		ret[0] = "refresh";
		ret[1] = setup_refresh_name(app);
		ret[2] = "display update interval; polling is not affected";
		break;
	case ROW_MOUSE:
		ret[0] = "mouse";
		ret[1] = setup->mouse ? "on" : "off";
		ret[2] = "on: hold Shift to select text";
		break;
	default:
		column = self->columns[row - ROW_COLUMNS];
		ret[0] = column_info(column)->title;
		ret[1] = setup->hidden & 1u << column ? "hidden" : "shown";
		ret[2] = column_info(column)->meaning;
		break;
	}
}

/* Settings, a blank line, a title, the columns: the line of a row. */
static size_t line_of(size_t row)
{
	return row < ROW_COLUMNS ? row : row + 2;
}

static void draw_row(const struct setup_screen *self, const struct app *app, const struct rect *body, int y,
		     size_t row)
{
	const struct brush brush = { app->theme, row == self->list.cursor ? DRAW_CURSOR : 0 };
	const char *texts[3];
	int x = body->x, rest = body->columns - NAME_COLUMNS - VALUE_COLUMNS;

	row_texts(self, app, row, texts);
	draw_cell(&brush, y, x, NAME_COLUMNS, texts[0], ALIGN_LEFT, ROLE_TEXT);
	draw_cell(&brush, y, x + NAME_COLUMNS, VALUE_COLUMNS, texts[1], ALIGN_LEFT, ROLE_STRONG);
	draw_cell(&brush, y, x + NAME_COLUMNS + VALUE_COLUMNS, rest, texts[2], ALIGN_LEFT, ROLE_FAINT);
}

static void draw(void *state, struct app *app, const struct rect *body)
{
	const struct brush brush = { app->theme, 0 };
	struct setup_screen *self = state;
	size_t count = ROW_COLUMNS + self->column_count, line;

	list_fit(&self->list, count, body->rows);
	self->first = layout_scroll(self->first, line_of(self->list.cursor), line_of(count), body->rows);
	for (int y = 0; y < body->rows; y++) {
		line = self->first + (size_t)y;
		if (line == ROW_COLUMNS + 1)
			draw_cell(&brush, body->y + y, body->x, body->columns, "COLUMNS OF LINKS", ALIGN_LEFT,
				  ROLE_GOOD);
		else if (line < ROW_COLUMNS)
			draw_row(self, app, body, body->y + y, line);
		else if (line > ROW_COLUMNS + 1 && line < line_of(count))
			draw_row(self, app, body, body->y + y, line - 2);
	}
}

static void draw_footer(void *state, struct app *app, const struct rect *footer)
{
	static const struct key_help keys[] = {
		{ "Esc", "back" }, { "Left Right", "change" }, { "Up Down", "choose" }, { NULL, NULL },
	};

	(void)state;
	footer_draw_keys(app, footer, keys);
}

static void change(const struct setup_screen *self, struct app *app, int direction)
{
	struct setup *setup = app->setup;

	switch (self->list.cursor) {
	case ROW_COLORS:
		setup->colors = (enum theme_colors)((setup->colors + THEME_COLORS + direction) % THEME_COLORS);
		break;
	case ROW_CHARACTERS:
		setup->ascii = !setup->ascii;
		break;
	case ROW_REFRESH:
		setup_refresh(app, direction);
		break;
	case ROW_MOUSE:
		setup->mouse = !setup->mouse;
		break;
	default:
		setup->hidden ^= 1u << self->columns[self->list.cursor - ROW_COLUMNS];
		break;
	}
	setup->stale = true;
}

static bool key(void *state, struct app *app, int pressed)
{
	struct setup_screen *self = state;

	switch (pressed) {
	case KEY_ESCAPE:
	case 'q':
	case 'S':
	case KEY_SPECIAL(KEY_F(2)):
		app_back(app);
		return true;
	case KEY_SPECIAL(KEY_LEFT):
		change(self, app, -1);
		return true;
	case ' ':
	case '\r':
	case '\n':
	case KEY_SPECIAL(KEY_ENTER):
	case KEY_SPECIAL(KEY_RIGHT):
		change(self, app, 1);
		return true;
	default:
		return list_key(&self->list, pressed);
	}
}

static bool mouse(void *state, struct app *app, const struct mouse *event)
{
	struct setup_screen *self = state;
	size_t line = self->first + (size_t)(event->y - app->body.y), row = line < ROW_COLUMNS ? line : line - 2;

	if (event->wheel)
		list_mouse(&self->list, event, app->body.y);
	if (event->wheel || event->y >= app->body.y + app->body.rows || line == ROW_COLUMNS ||
	    line == ROW_COLUMNS + 1 || row >= ROW_COLUMNS + self->column_count)
		return false;
	/* A click on the selected row changes its value. */
	if (row == self->list.cursor)
		change(self, app, 1);
	list_move_to(&self->list, row);
	return false;
}

static const struct key_help help[] = {
	{ "Up Down", "choose" },
	{ "Left Right", "change; also Enter, Space or double-click" },
	{ "Esc q F2", "back; changes are saved on exit" },
	{ NULL, NULL },
};

const struct screen screen_setup = {
	.name = "setup",
	.size = sizeof(struct setup_screen),
	.init = init,
	.draw = draw,
	.draw_footer = draw_footer,
	.key = key,
	.mouse = mouse,
	.help = help,
	.needs_nothing = true,
};
