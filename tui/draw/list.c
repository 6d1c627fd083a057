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

void list_move_to(struct list *list, size_t row)
{
	list->cursor = row;
	list_fit(list, list->count, list->height);
}

static void page_down(struct list *list, size_t rows)
{
	list->first += rows;
	list_move_to(list, list->cursor + rows);
}

static void page_up(struct list *list, size_t rows)
{
	list->first -= list->first < rows ? list->first : rows;
	list_move_to(list, list->cursor > rows ? list->cursor - rows : 0);
}

bool list_key(struct list *list, int key)
{
	size_t page = list->height > 1 ? (size_t)list->height - 1 : 1;

	switch (key) {
	case 'k':
	case KEY_SPECIAL(KEY_UP):
		list_move_to(list, list->cursor ? list->cursor - 1 : 0);
		return true;
	case 'j':
	case KEY_SPECIAL(KEY_DOWN):
		list_move_to(list, list->cursor + 1);
		return true;
	case KEY_CTRL('b'):
	case KEY_SPECIAL(KEY_PPAGE):
		page_up(list, page);
		return true;
	case KEY_CTRL('f'):
	case KEY_SPECIAL(KEY_NPAGE):
		page_down(list, page);
		return true;
	case 'g':
	case KEY_SPECIAL(KEY_HOME):
		list_move_to(list, 0);
		return true;
	case 'G':
	case KEY_SPECIAL(KEY_END):
		list_move_to(list, list->count);
		return true;
	default:
		return false;
	}
}

bool list_mouse(struct list *list, const struct mouse *mouse, int y)
{
	int line = mouse->y - y;

	if (mouse->wheel > 0)
		page_down(list, WHEEL_ROWS);
	else if (mouse->wheel < 0)
		page_up(list, WHEEL_ROWS);
	else if (line >= 0 && line < list->height && list->first + (size_t)line < list->count)
		list_move_to(list, list->first + (size_t)line);
	else
		return false;
	return true;
}
