/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
#include "tui/screens/list_screen.h"

#include <stdio.h>
#include <string.h>

#include "base/err.h"
#include "base/text.h"
#include "tui/draw/draw.h"
#include "tui/draw/key.h"
#include "tui/draw/prompt.h"
#include "tui/draw/terminal.h"

/* Columns of the menu. */
enum { MENU_COLUMNS = 74 };

const struct key_help list_screen_help[] = {
	{ "Up Down j k", "move; the cursor follows its row, except on the first one" },
	{ "PgUp PgDn", "page up or down; Home End g G: first and last row" },
	{ "/ F3 F4", "incremental filter on all columns; space: and; a|b: or; !a: not; POSIX regular expression" },
	{ "Esc", "clear the filter" },
	{ "Left Right", "sort by the next column; or click on its head" },
	{ "F6 s", "select the sort column" },
	{ "I", "reverse the order" },
	{ "Shift-Left ( )", "move the sort column to the left or right; also Shift-Right" },
	{ "f F", "toggle following: the cursor stays on its row, or on its line" },
	{ "T Ins", "tag or untag the row; U untags all" },
	{ "*", "only tagged rows" },
	{ NULL, NULL },
};

/* --- rows --- */

static bool cursor_is_on_row(const struct list_screen *self)
{
	return self->list.cursor < self->table.row_count;
}

static void save_cursor(struct list_screen *self)
{
	if (cursor_is_on_row(self))
		self->cursor_id = table_id(&self->table, self->list.cursor);
}

/* The rows changed: the cursor follows its row, on the same line of the screen if possible. */
static void restore_cursor(struct list_screen *self)
{
	struct list *list = &self->list;
	size_t line = list->cursor - list->first, row = self->table.row_count;

	if (self->follows)
		row = table_find(&self->table, self->cursor_id);
	/* Without its row the cursor stays near its position. */
	if (row < self->table.row_count) {
		list->cursor = row;
		list->first = row > line ? row - line : 0;
	}
	list_fit(list, self->table.row_count, list->height);
	if (!self->follows)
		save_cursor(self);
}

void list_screen_changed(struct list_screen *self, bool rows)
{
	table_arrange(&self->table, rows);
	restore_cursor(self);
}

bool list_screen_update(struct list_screen *self, struct app *app)
{
	const struct table_view *view = self->table.view;

	if (!view->update || !view->update(self->table.state, app))
		return false;
	list_screen_changed(self, true);
	if (self->table.failed)
		app_message(app, "not enough memory for all %s", view->plural);
	return true;
}

void list_screen_moved(struct list_screen *self)
{
	self->follows = self->list.cursor > 0;
	save_cursor(self);
}

void list_screen_go(struct list_screen *self, struct table_id id)
{
	self->follows = true;
	self->cursor_id = id;
	restore_cursor(self);
}

void list_screen_filter(struct list_screen *self, const char *typed)
{
	filter_set(&self->table.filter, typed);
	self->mode = LIST_ROWS;
	list_screen_changed(self, false);
}

bool list_screen_index(const struct list_screen *self, size_t *ret)
{
	if (!cursor_is_on_row(self))
		return false;
	*ret = self->table.rows[self->list.cursor];
	return true;
}

bool list_screen_tagged(const struct list_screen *self, size_t *ret)
{
	for (size_t row = 0; self->table.tag_count && row < self->table.row_count; row++)
		if (table_is_tagged(&self->table, table_id(&self->table, row))) {
			*ret = self->table.rows[row];
			return true;
		}
	return false;
}

/* --- drawing --- */

static void draw_heads(const struct list_screen *self, const struct app *app, const struct rect *area,
		       const struct column_place *places)
{
	const struct table *table = &self->table;
	const struct brush brush = { app->theme, 0 };
	char text[TABLE_HEAD_SIZE];

	draw_cell(&brush, area->y, area->x, area->columns, "", ALIGN_LEFT, ROLE_HEAD);
	for (size_t i = 0; i < table->column_count; i++) {
		if (!places[i].columns)
			continue;
		table_head(table, i, places[i].columns, app->theme->unicode, text);
		draw_cell(&brush, area->y, area->x + places[i].x, places[i].columns, text,
			  table_is_right(table, i) ? ALIGN_RIGHT : ALIGN_LEFT,
			  table->sort == i ? ROLE_SORTED : ROLE_HEAD);
	}
}

/* Draw a text cell; what the filter found in it is emphasised. Numbers are not, which would cost as much again. */
static void draw_matched(const struct table *table, const struct brush *brush, int y, int x, const char *fitted,
			 enum role role)
{
	size_t len = 0;
	const char *found = table->filter.select.term_count ? table_match(table, fitted, &len) : NULL;
	char part[CELL_SIZE];

	draw_fitted(brush, y, x, fitted, role);
	if (!found)
		return;
	memcpy(part, fitted, (size_t)(found - fitted));
	part[found - fitted] = '\0';
	x += (int)text_columns(part);
	memcpy(part, found, len);
	part[len] = '\0';
	draw_fitted(brush, y, x, part, ROLE_MATCH);
}

static void draw_row(struct list_screen *self, const struct app *app, const struct rect *area, int y, size_t row,
		     const struct column_place *places)
{
	struct table *table = &self->table;
	bool here = row == self->list.cursor && !self->no_cursor;
	struct brush brush = { app->theme, here ? DRAW_CURSOR : 0 };
	char fitted[CELL_SIZE];
	uint64_t shown = 0;

	for (size_t i = 0; i < table->column_count; i++)
		shown |= (uint64_t)(places[i].columns > 0) << i;
	table_begin_row(table, row, shown);
	if (table->view->at_shown_time)
		brush = app_brush(app, here);
	draw_cell(&brush, y, area->x, area->columns, "", ALIGN_LEFT, ROLE_TEXT);
	for (size_t i = 0; i < table->column_count; i++) {
		enum align align = table_is_right(table, i) ? ALIGN_RIGHT : ALIGN_LEFT;
		enum role role;
		const char *text;

		if (!places[i].columns)
			continue;
		if (table->columns[i].flags & COLUMN_KEEP_TAIL)
			align = ALIGN_NAME;
		text = table_cell(table, row, i, places[i].columns, &role);
		format_fit(text, (unsigned)places[i].columns, align, app->theme->unicode, fitted);
		/* The cursor is one bar of one colour over all cells. */
		if (here || table_is_right(table, i))
			draw_fitted(&brush, y, area->x + places[i].x, fitted, here ? ROLE_TEXT : role);
		else
			draw_matched(table, &brush, y, area->x + places[i].x, fitted, role);
	}
}

static void draw_none(const struct list_screen *self, const struct app *app, const struct rect *area)
{
	const struct brush brush = { app->theme, 0 };
	const struct table *table = &self->table;

	if (table->tagged_only)
		draw_line(&brush, area, 1, ROLE_TEXT, "No tagged %s. * shows all, T tags.", table->view->plural);
	else if (table->count)
		draw_line(&brush, area, 1, ROLE_TEXT, "No %s matches \"%s\". Esc shows all.", table->view->noun,
			  table->filter.typed);
	else
		draw_line(&brush, area, 1, ROLE_TEXT, "%s",
			  table->view->none_listed && table_count(table) ?
			  table->view->none_listed : table->view->none);
}

static void draw_menu(const struct list_screen *self, const struct app *app, const struct rect *area)
{
	const struct brush plain = { app->theme, 0 }, cursor = { app->theme, DRAW_CURSOR };
	int columns = area->columns < MENU_COLUMNS ? area->columns : MENU_COLUMNS, rows = area->rows - 1, y = 1;
	const struct table *table = &self->table;
	size_t first = layout_scroll(0, self->menu, table->column_count, rows);

	draw_cell(&plain, area->y, area->x, columns, " SORT BY", ALIGN_LEFT, ROLE_HEAD);
	for (size_t i = first; y <= rows && i < table->column_count; i++) {
		char text[256];

		if (!table_title(table, i))
			continue;
		snprintf(text, sizeof(text), " %-12s  %s", table_title(table, i),
			 table_help(table, i) ? table_help(table, i) : "");
		draw_cell(i == self->menu ? &cursor : &plain, area->y + y++, area->x, columns, text, ALIGN_LEFT,
			  i == table->sort ? ROLE_STRONG : ROLE_TEXT);
	}
}

void list_screen_draw(struct list_screen *self, struct app *app, const struct rect *area)
{
	struct column_place *places = self->places;
	const struct list *list = &self->list;

	list_screen_update(self, app);
	self->x = area->x;
	self->columns = area->columns;
	list_place(&self->list, self->table.row_count, area->y + 1, area->rows - 1);
	table_places(&self->table, area->columns, places);
	draw_heads(self, app, area, places);
	for (int y = 0; y < list->height && list->first + (size_t)y < self->table.row_count; y++)
		draw_row(self, app, area, area->y + 1 + y, list->first + (size_t)y, places);
	if (!self->table.row_count && area->rows > 1)
		draw_none(self, app, area);
	if (self->mode == LIST_SORT)
		draw_menu(self, app, area);
}

/* "12 of 2,064 links" with the modes in effect. Return: columns used. */
static int draw_count(const struct list_screen *self, const struct app *app, const struct rect *footer)
{
	const struct brush brush = { app->theme, 0 };
	const struct table *table = &self->table;
	char shown[32], all[32], order[32] = "", text[200];
	const char *rows = table->count == 1 ? table->view->noun : table->view->plural;

	/* The sort column may be hidden on a narrow terminal. */
	if (!self->places[table->sort].columns)
		snprintf(order, sizeof(order), "by %.20s  ", table_title(table, table->sort));
	format_count(table->row_count, 24, shown, sizeof(shown));
	format_count(table->count, 24, all, sizeof(all));
	snprintf(text, sizeof(text), "%s%s%s%s of %s %s", self->follows ? "following  " : "",
		 table->tagged_only ? "tagged only  " : "", order, shown, all, rows);
	if ((int)strlen(text) > footer->columns / 2)
		snprintf(text, sizeof(text), "%s%s of %s %s", order, shown, all, rows);
	draw_cell(&brush, footer->y, footer->x, footer->columns, text, ALIGN_RIGHT, ROLE_FAINT);
	return (int)strlen(text);
}

void list_screen_draw_footer(struct list_screen *self, struct app *app, const struct rect *footer,
			     const struct key_help *keys)
{
	static const struct key_help menu_keys[] = {
		{ "Up Down", "choose" }, { "Enter", "sort" }, { "Esc", "cancel" }, { NULL, NULL },
	};
	const struct filter *filter = &self->table.filter;
	bool typing = self->mode == LIST_FILTER;
	const struct brush brush = { app->theme, 0 };
	struct rect left = *footer;

	left.columns -= draw_count(self, app, footer) + 2;
	if (self->mode == LIST_SORT)
		footer_draw_keys(app, &left, menu_keys);
	else if (typing || filter->typed[0])
		draw_line(&brush, &left, 0, typing && !filter->trouble[0] ? ROLE_STRONG : ROLE_WARNING, "/%s%s%s%s",
			  filter->typed, typing ? "_" : "", filter->trouble[0] ? "  " : "", filter->trouble);
	else
		footer_draw_keys(app, &left, keys);
}

/* --- keys --- */

bool list_screen_has_focus(const struct list_screen *self)
{
	return self->mode != LIST_ROWS;
}

static void sort_by(struct list_screen *self, size_t column)
{
	table_sort_by(&self->table, column);
	list_screen_changed(self, false);
}

static bool typed_key(struct list_screen *self, struct app *app, int key)
{
	bool typing = true;

	if (!filter_key(&self->table.filter, &typing, key))
		/* The cursor keys, help and quit work; all others are ignored. */
		return app_move_list(app, NULL, key) || (key != KEY_SPECIAL(KEY_F(1)) && key != KEY_SPECIAL(KEY_F(10)));
	self->mode = typing ? LIST_FILTER : LIST_ROWS;
	list_screen_changed(self, false);
	return true;
}

static bool menu_key(struct list_screen *self, int key)
{
	size_t count = self->table.column_count;
	int step = 0;

	switch (key_motion(key)) {
	case KEY_SPECIAL(KEY_UP):
		step = -1;
		break;
	case KEY_SPECIAL(KEY_DOWN):
		step = 1;
		break;
	case '\r':
	case ' ':
		self->mode = LIST_ROWS;
		sort_by(self, self->menu);
		break;
	case KEY_ESCAPE:
	case 'q':
	case 's':
	case KEY_SPECIAL(KEY_F(6)):
		self->mode = LIST_ROWS;
		break;
	default:
		break;
	}
	do
		self->menu = (self->menu + count + (size_t)step) % count;
	while (!table_title(&self->table, self->menu));
	return true;
}

/* Sort by the next visible column to the left or right. */
static void sort_by_neighbour(struct list_screen *self, int step)
{
	const struct table *table = &self->table;
	struct column_place places[TABLE_COLUMNS];

	table_places(table, self->columns, places);
	sort_by(self, columns_neighbour(table->order, places, table->column_count, table->sort, step));
}

/* Move the sort column past its neighbour. */
static void move_column(struct list_screen *self, struct app *app, int step)
{
	struct table *table = &self->table;
	struct column_place places[TABLE_COLUMNS];

	table_places(table, self->columns, places);
	if (!places[table->sort].columns)
		app_message(app, "%s is not shown: Left or Right selects a shown column",
			    table_title(table, table->sort));
	else
		columns_move(table->order, places, table->column_count, table->sort, step);
}

static void tag(struct list_screen *self, struct app *app)
{
	struct error err = { 0 };

	if (!cursor_is_on_row(self))
		return;
	if (table_tag(&self->table, self->list.cursor, &err) < 0)
		app_message(app, "%s", err.text);
	list_move_to(&self->list, self->list.cursor + 1);
	list_screen_moved(self);
}

/* Keys that change which rows are shown, or their order. Return: whether the key was one of these. */
static bool arrange_key(struct list_screen *self, int key)
{
	struct table *table = &self->table;

	switch (key) {
	case KEY_ESCAPE:
		if (!table->filter.typed[0] && !table->tagged_only)
			return false;
		filter_set(&table->filter, "");
		table->tagged_only = false;
		break;
	case 'I':
		table->descending = !table->descending;
		break;
	case '*':
		table->tagged_only = table->view->tags && !table->tagged_only;
		break;
	case 'U':
		table_untag_all(table);
		break;
	default:
		return false;
	}
	list_screen_changed(self, false);
	return true;
}

bool list_screen_key(struct list_screen *self, struct app *app, int key)
{
	if (self->mode == LIST_FILTER)
		return typed_key(self, app, key);
	if (self->mode == LIST_SORT)
		return menu_key(self, key);
	switch (key) {
	case 'f':
	case 'F':
		self->follows = !self->follows;
		save_cursor(self);
		return true;
	case '/':
	case '\\':
	case KEY_SPECIAL(KEY_F(3)):
	case KEY_SPECIAL(KEY_F(4)):
		self->mode = LIST_FILTER;
		return true;
	case KEY_SPECIAL(KEY_LEFT):
		sort_by_neighbour(self, -1);
		return true;
	case KEY_SPECIAL(KEY_RIGHT):
		sort_by_neighbour(self, 1);
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
		self->menu = self->table.sort;
		self->mode = LIST_SORT;
		return true;
	case 'T':
	case KEY_SPECIAL(KEY_IC):
		if (self->table.view->tags)
			tag(self, app);
		return true;
	default:
		return arrange_key(self, key);
	}
}

/* A click on a column head: sort by it, or reverse. */
static void press_head(struct list_screen *self, int x)
{
	struct table *table = &self->table;
	struct column_place places[TABLE_COLUMNS];

	table_places(table, self->columns, places);
	for (size_t i = 0; i < table->column_count; i++) {
		/* The blank behind a column belongs to it. */
		if (!places[i].columns || x < places[i].x || x > places[i].x + places[i].columns)
			continue;
		if (table->sort == i)
			table->descending = !table->descending;
		sort_by(self, i);
		return;
	}
}

bool list_screen_mouse(struct list_screen *self, struct app *app, const struct mouse *mouse)
{
	self->mode = LIST_ROWS;
	if (app_move_list(app, mouse, 0))
		return true;
	if (!mouse->wheel && mouse->y == self->list.y - 1)
		press_head(self, mouse->x - self->x);
	return false;
}
