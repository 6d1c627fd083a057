/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * list.h - rows with a cursor, moved by the same keys everywhere
 *
 * What the rows are is its owner's; this knows how many there are, how many are
 * seen at once, and where the cursor stands. No curses here.
 */
#ifndef IBWIRE_TUI_DRAW_LIST_H
#define IBWIRE_TUI_DRAW_LIST_H

#include <stdbool.h>
#include <stddef.h>

struct mouse;

struct list {
	size_t cursor, first; /* rows */
	size_t count;
	int height;           /* rows that there is room for */
};

/* list_fit - there are so many rows and so much room now: the cursor stays inside and is seen. */
void list_fit(struct list *list, size_t count, int height);

/* list_move_to - the cursor stands on this row, or on the last one. */
void list_move_to(struct list *list, size_t row);

/*
 * list_key - arrows, PgUp, PgDn, Home, End, and what less and vi have for them (j k g G ^B ^F)
 * Return: whether the key was one of these.
 */
bool list_key(struct list *list, int key);

/*
 * list_mouse - three rows up or down with the wheel, to the row that was pressed
 * @y:  line of the terminal where the first row stands that is seen
 * Return: false where no row was pressed: nothing happened.
 */
bool list_mouse(struct list *list, const struct mouse *mouse, int y);

#endif
