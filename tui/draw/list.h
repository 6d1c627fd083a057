/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * list.h - cursor and scroll position of a list of rows
 *
 * The content of the rows is up to the caller.
 */
#ifndef IBWIRE_TUI_DRAW_LIST_H
#define IBWIRE_TUI_DRAW_LIST_H

#include <stdbool.h>
#include <stddef.h>

struct mouse;

struct list {
	size_t cursor, first; /* rows */
	size_t count;
	int height;           /* visible rows */
	int y;                /* terminal line of the first visible row */
};

/*
 * list_fit - set the number of rows and the height; the cursor stays valid and visible
 * list_place - also the terminal line of the first visible row.
 */
void list_fit(struct list *list, size_t count, int height);
void list_place(struct list *list, size_t count, int y, int height);

/* list_move_to - move the cursor to a row, at most the last one. */
void list_move_to(struct list *list, size_t row);

/*
 * list_key - handle arrows, PgUp, PgDn, Home, End, and the keys of less and vi (j k g G ^B ^F)
 * Return: whether the key was one of these.
 */
bool list_key(struct list *list, int key);

/*
 * list_mouse - scroll by three rows with the wheel, or select the clicked row
 * Return: false if no row was clicked.
 */
bool list_mouse(struct list *list, const struct mouse *mouse);

#endif
