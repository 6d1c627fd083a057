/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* draw.h - text at a position, clipped */
#ifndef IBWIRE_TUI_DRAW_DRAW_H
#define IBWIRE_TUI_DRAW_DRAW_H

#include "tui/model/format.h"
#include "tui/draw/theme.h"
#include "tui/model/layout.h"

/* Modifiers of a role. */
enum {
	DRAW_DIM = 1 << 0,    /* the data is old */
	DRAW_CURSOR = 1 << 1, /* of the selected row: the cursor's colour instead of the role's */
	DRAW_CELL = 1 << 2,   /* a selected cell: the role's colour, reversed */
};

struct brush {
	const struct theme *theme;
	unsigned flags; /* DRAW_* */
};

/* draw_cell - draw a text in exactly @columns columns, padded or cut. */
void draw_cell(const struct brush *brush, int y, int x, int columns, const char *text, enum align align,
	       enum role role);

/* draw_line - draw a text in a line of an area, left-aligned. */
__attribute__((format(printf, 5, 6)))
void draw_line(const struct brush *brush, const struct rect *area, int line, enum role role, const char *fmt, ...);

/* draw_cells - draw a row of @count cells of these widths (0: omitted), one blank apart. */
void draw_cells(const struct brush *brush, int y, const struct rect *area, const int *widths,
		const struct table_cell *cells, size_t count);

/* draw_fitted - draw a text that already has the required width. */
void draw_fitted(const struct brush *brush, int y, int x, const char *fitted, enum role role);

/*
 * paint_create - the rows of the terminal as they were last drawn; draw_fitted() collects those of a frame in
 * theme->paint, and only rows that differ are written to curses
 * Return: NULL: no memory. paint_destroy takes NULL.
 */
struct paint *paint_create(void);
void paint_destroy(struct paint *paint);

/* paint_begin - begin a frame; after a change of the size, all of it is written. */
void paint_begin(struct paint *paint, int rows, int columns);

/* paint_end - write the rows of the frame that differ from the terminal to curses. */
void paint_end(struct paint *paint);

/*
 * draw_wrapped - draw a text in at most @lines lines, broken between words; the last one is cut
 * Return: lines used.
 */
int draw_wrapped(const struct brush *brush, int y, int x, int columns, int lines, const char *text, enum role role);

/* A line of parts; see layout_segments(). A zeroed struct is empty. */
#define SEGMENTS_MAX 16
struct segments {
	struct {
		char text[256];
		enum role role;
		int rank;
	} list[SEGMENTS_MAX];
	size_t count;
};

/* segment_add - append a part. @rank: 0 is the most important. */
__attribute__((format(printf, 4, 5)))
void segment_add(struct segments *segments, int rank, enum role role, const char *fmt, ...);

/*
 * draw_segments - draw parts of a line, two blanks apart
 * Parts that do not fit are omitted, the least important first; a single part that is too long is cut.
 */
void draw_segments(const struct brush *brush, int y, int x, int columns, const struct segments *segments);

#endif
