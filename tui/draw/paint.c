/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* paint.c - the only code that writes characters to the terminal; tests replace it by a canvas */
#include <curses.h>

#include "tui/draw/draw.h"

/*
 * Write the blank behind a cell with the attributes of the cell: invisible, and it saves the 22
 * bytes that switching attributes for each gap takes, half of the output if all numbers change.
 */
static void join_gap(int y, attr_t attributes)
{
	/* Behind the last column, the cursor is in the next line or still on the last character. */
	if (getcury(stdscr) == y && !(attributes & (A_REVERSE | A_UNDERLINE)) && inch() == ' ')
		addch(' ');
}

void draw_fitted(const struct brush *brush, int y, int x, const char *fitted, enum role role)
{
	const struct theme *theme = brush->theme;
	attr_t attributes = theme->attributes[role];
	short pair = theme->pairs[role];

	if (brush->flags & DRAW_DIM) {
		/* Old data has no colours, since they would suggest a present state. */
		attributes = (attributes & A_REVERSE) | theme->attributes[ROLE_FAINT];
		pair = theme->pairs[ROLE_FAINT];
	}
	if (brush->flags & DRAW_CURSOR)
		attributes |= A_REVERSE;
	attr_set(attributes, pair, NULL);
	mvaddstr(y, x, fitted);
	join_gap(y, attributes);
	attr_set(A_NORMAL, 0, NULL);
}
