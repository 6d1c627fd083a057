/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * list_screen.h - a list on the screen: drawing, cursor, keys and mouse of a table
 *
 * A screen with a list sets `table` of its struct screen, and its state begins with a struct
 * list_screen: then all of this is done by app.c. A screen that has several lists, or something
 * beside a list, calls these functions.
 */
#ifndef IBWIRE_TUI_SCREENS_LIST_SCREEN_H
#define IBWIRE_TUI_SCREENS_LIST_SCREEN_H

#include <stdbool.h>
#include <stddef.h>

#include "tui/draw/list.h"
#include "tui/model/table.h"
#include "tui/screens/app.h"

struct list_screen {
	struct list list;
	struct table table;
	enum { LIST_ROWS, LIST_FILTER, LIST_SORT } mode; /* what keys go to */
	bool no_cursor;            /* the cursor is not drawn: keys go to another list */
	size_t menu;               /* column selected in the sort menu */
	int x, columns;            /* of the list in the last frame */
	struct column_place places[TABLE_COLUMNS]; /* of its columns there */
	/* The cursor stays on its row when rows move: after it leaves the first row, or with the key f. */
	bool follows;
	struct table_id cursor_id; /* of the row at the cursor */
};

/* list_screen_update - load the rows, and arrange them; only while they are visible. Return: whether they changed. */
bool list_screen_update(struct list_screen *self, struct app *app);

/* list_screen_changed - arrange the rows after a change of what is listed. @rows: the rows themselves changed. */
void list_screen_changed(struct list_screen *self, bool rows);

/* list_screen_draw - draw heads and rows, or the menu of columns. */
void list_screen_draw(struct list_screen *self, struct app *app, const struct rect *area);

/* list_screen_draw_footer - the filter, or these keys; and the number of rows. */
void list_screen_draw_footer(struct list_screen *self, struct app *app, const struct rect *footer,
			     const struct key_help *keys);

/*
 * list_screen_has_focus - whether all keys go to the list, because a filter is typed or a menu is open
 * list_screen_key - Return: whether the key was handled.
 * list_screen_mouse - Return: whether a row was selected.
 */
bool list_screen_has_focus(const struct list_screen *self);
bool list_screen_key(struct list_screen *self, struct app *app, int key);
bool list_screen_mouse(struct list_screen *self, struct app *app, const struct mouse *mouse);

/* list_screen_moved - remember the row at the cursor, which was moved by a key or the mouse. */
void list_screen_moved(struct list_screen *self);

/* list_screen_go - move the cursor to a row with this identity, now or when it is there. */
void list_screen_go(struct list_screen *self, struct table_id id);

/* list_screen_filter - set the filter. */
void list_screen_filter(struct list_screen *self, const char *typed);

/* list_screen_index - the row at the cursor, in the order of the screen's data. Return: false: there is none. */
bool list_screen_index(const struct list_screen *self, size_t *ret);

/* list_screen_tagged - the first tagged row of the screen, in the order of its data. Return: as above. */
bool list_screen_tagged(const struct list_screen *self, size_t *ret);

/* list_screen_help - the keys of each list. */
extern const struct key_help list_screen_help[];

#endif
