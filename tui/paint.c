/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* paint.c - the one place that writes characters to the terminal; tests put a canvas of their own there */
#include <curses.h>

#include "tui/draw.h"

void draw_fitted(const struct brush *brush, int y, int x, const char *fitted, enum role role)
{
	const struct theme *theme = brush->theme;
	attr_t attributes = theme->attributes[role];
	short pair = theme->pairs[role];

	if (brush->flags & DRAW_DIM) {
		/* Old numbers are all alike: no colour of theirs says anything about now. */
		attributes = (attributes & A_REVERSE) | theme->attributes[ROLE_FAINT];
		pair = theme->pairs[ROLE_FAINT];
	}
	if (brush->flags & DRAW_CURSOR)
		attributes |= A_REVERSE;
	attr_set(attributes, pair, NULL);
	mvaddstr(y, x, fitted);
	attr_set(A_NORMAL, 0, NULL);
}
