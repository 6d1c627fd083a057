/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * canvas.h - a terminal in memory, instead of tui/draw/paint.c
 *
 * Screens write into a grid of characters. Writes past an edge or over other text are counted.
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
	unsigned outside, over; /* characters written past an edge, and over others */
	char first[160];        /* position and text of the first of these */
};

/* The canvas of draw_fitted(). */
extern struct canvas canvas;

/* canvas_erase - clear the canvas and its counts, and set its size. */
void canvas_erase(int rows, int columns);

/* canvas_line - a line without trailing spaces. Return: @ret. */
#define CANVAS_LINE_SIZE (CANVAS_COLUMNS * 12 + 1)
const char *canvas_line(int row, char ret[CANVAS_LINE_SIZE]);

/* canvas_find - the first row that contains a text, or -1. */
int canvas_find(const char *text);

#endif
