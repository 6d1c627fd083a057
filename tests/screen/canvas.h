/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * canvas.h - a terminal in memory, in the place of tui/draw/paint.c
 *
 * What the screens write lands in a grid of characters, and what no screen may do
 * is counted: write past an edge, or over what it has written before.
 */
#ifndef IBWIRE_TESTS_SCREEN_CANVAS_H
#define IBWIRE_TESTS_SCREEN_CANVAS_H

#include "tui/draw/theme.h"

#define CANVAS_ROWS 120
#define CANVAS_COLUMNS 320

struct canvas {
	int rows, columns;
	char glyphs[CANVAS_ROWS][CANVAS_COLUMNS][12]; /* "": the right half of a wide one */
	enum role roles[CANVAS_ROWS][CANVAS_COLUMNS];
	unsigned flags[CANVAS_ROWS][CANVAS_COLUMNS]; /* DRAW_* */
	unsigned outside, over; /* characters that were written past an edge, and over others */
	char first[160];        /* the first of these: where, and what */
};

/* The one that draw_fitted() writes to. */
extern struct canvas canvas;

/* canvas_erase - an empty terminal of this size, nothing done wrong yet. */
void canvas_erase(int rows, int columns);

/* canvas_line - a line without what is blank at its end. Return: @ret. */
#define CANVAS_LINE_SIZE (CANVAS_COLUMNS * 12 + 1)
const char *canvas_line(int row, char ret[CANVAS_LINE_SIZE]);

/* canvas_find - the first row that holds this text, or -1. */
int canvas_find(const char *text);

#endif
