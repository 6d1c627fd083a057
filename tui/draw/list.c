/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
#include "tui/draw/list.h"

#include "tui/draw/key.h"
#include "tui/draw/terminal.h"
#include "tui/model/layout.h"

#define WHEEL_ROWS 3

void list_fit(struct list *list, size_t count, int height)
{
	list->count = count;
	list->height = height > 0 ? height : 0;
	if (list->cursor >= count)
		list->cursor = count ? count - 1 : 0;
	list->first = layout_scroll(list->first, list->cursor, count, list->height);
}

void list_place(struct list *list, size_t count, int y, int height)
{
	list->y = y;
	list_fit(list, count, height);
}

void list_move_to(struct list *list, size_t row)
{
	list->cursor = row;
	list_fit(list, list->count, list->height);
}

/* Scroll and move the cursor down by @rows, up if below 0. */
static void scroll_by(struct list *list, long rows)
{
	size_t up = rows < 0 ? (size_t)-rows : 0, down = rows > 0 ? (size_t)rows : 0;

	list->first = list->first > up ? list->first - up + down : down;
	list_move_to(list, list->cursor > up ? list->cursor - up + down : down);
}

bool list_key(struct list *list, int key)
{
	long page = list->height > 1 ? list->height - 1 : 1;

	switch (key_motion(key)) {
	case KEY_SPECIAL(KEY_UP):
		list_move_to(list, list->cursor ? list->cursor - 1 : 0);
		return true;
	case KEY_SPECIAL(KEY_DOWN):
		list_move_to(list, list->cursor + 1);
		return true;
	case KEY_SPECIAL(KEY_PPAGE):
		scroll_by(list, -page);
		return true;
	case KEY_SPECIAL(KEY_NPAGE):
		scroll_by(list, page);
		return true;
	case KEY_SPECIAL(KEY_HOME):
		list_move_to(list, 0);
		return true;
	case KEY_SPECIAL(KEY_END):
		list_move_to(list, list->count);
		return true;
	default:
		return false;
	}
}

bool list_mouse(struct list *list, const struct mouse *mouse)
{
	int line = mouse->y - list->y;

	if (mouse->wheel)
		scroll_by(list, mouse->wheel * WHEEL_ROWS);
	else if (line >= 0 && line < list->height && list->first + (size_t)line < list->count)
		list_move_to(list, list->first + (size_t)line);
	else
		return false;
	return true;
}
