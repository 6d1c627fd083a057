/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* draw.h - text at a place, never beyond it */
#ifndef IBWIRE_TUI_DRAW_DRAW_H
#define IBWIRE_TUI_DRAW_DRAW_H

#include "tui/model/format.h"
#include "tui/draw/theme.h"

/* What is laid over a cell's own look. */
enum {
	DRAW_DIM = 1 << 0,    /* the data is old */
	DRAW_CURSOR = 1 << 1, /* the cursor stands here */
};

struct brush {
	const struct theme *theme;
	unsigned flags; /* DRAW_* */
};

/* draw_cell - a text in exactly @columns columns, padded or cut. */
void draw_cell(const struct brush *brush, int y, int x, int columns, const char *text, enum align align,
	       enum role role);

/* draw_fitted - the same text as it is, already of the width that it has to have. */
void draw_fitted(const struct brush *brush, int y, int x, const char *fitted, enum role role);

/*
 * draw_wrapped - a text in so many lines at most, broken between words; the last of them is cut where it is too long
 * Return: lines used.
 */
int draw_wrapped(const struct brush *brush, int y, int x, int columns, int lines, const char *text, enum role role);

/* A part of a line; see layout_segments(). */
struct segment {
	char text[256];
	enum role role;
	int rank; /* 0 is the last to go */
};

/*
 * draw_segments - parts of a line with two blanks between them
 * Those that do not fit are left out, the least important first; one that alone
 * is too long for the line is cut.
 */
void draw_segments(const struct brush *brush, int y, int x, int columns, const struct segment *segments, size_t count);

#endif
