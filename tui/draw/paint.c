/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* paint.c - the only code that writes characters to the terminal; tests replace it by a canvas */
#include <curses.h>

#include "tui/draw/draw.h"

/*
 * The blank behind a cell in its look, which nobody sees: else each gap between two cells of one colour takes 22 bytes
 * to leave it and to come back, half of all that is written where every number changes.
 */
static void join_gap(int y, attr_t attributes)
{
	/* Behind the last column the cursor stands in the next line, or still on what was written. */
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
