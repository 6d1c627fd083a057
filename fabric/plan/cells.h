/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* cells.h - rows of separated cells, as spreadsheets export them; private to fabric/plan */
#ifndef IBWIRE_FABRIC_PLAN_CELLS_H
#define IBWIRE_FABRIC_PLAN_CELLS_H

#include <stdbool.h>
#include <stddef.h>

#include "base/text.h"

/* More columns than any list has; those behind are ignored. */
enum { CELLS_MAX = 256 };

/* A zeroed struct with @at and @separator is before the first row. */
struct cells {
	const char *at;      /* the rest of the file, which ends with a NUL */
	char separator;      /* ',', ';', '\t' or '|' */
	size_t line;         /* number of the first line of the row */
	size_t next_line;    /* number of lines before @at */
	/* The row: without quotes, line breaks (a blank instead) and blanks at the ends. */
	const char *cells[CELLS_MAX];
	size_t count;        /* at least 1 */
	bool torn;           /* the file ends in the row, without a line break */
	bool unclosed;       /* a quote was not closed: it is part of the cell, and the row ends with the line */
	struct text chars;   /* private */
};

/*
 * cells_next - read the next row
 * A quoted cell may contain separators, doubled quotes, and up to 20 line breaks.
 * Return: false at the end of the file, or if there is no memory: text_failed(&cells->chars).
 */
bool cells_next(struct cells *cells);

/* cells_get - a cell, "" if the row is shorter. */
static inline const char *cells_get(const struct cells *cells, size_t at)
{
	return at < cells->count ? cells->cells[at] : "";
}

void cells_done(struct cells *cells);

#endif
