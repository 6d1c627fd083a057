/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
#include "tests/screen/canvas.h"

#include <stdio.h>
#include <string.h>
#include <wchar.h>

#include "tui/draw/draw.h"

struct canvas canvas;

void canvas_erase(int rows, int columns)
{
	canvas.rows = rows < CANVAS_ROWS ? rows : CANVAS_ROWS;
	canvas.columns = columns < CANVAS_COLUMNS ? columns : CANVAS_COLUMNS;
	canvas.outside = canvas.over = 0;
	canvas.first[0] = '\0';
	for (int y = 0; y < canvas.rows; y++)
		for (int x = 0; x < canvas.columns; x++)
			strcpy(canvas.glyphs[y][x], " ");
}

static void note_fault(const char *what, int y, int x, const char *text)
{
	if (!canvas.first[0])
		snprintf(canvas.first, sizeof(canvas.first), "%s at row %d, column %d of %dx%d: \"%.60s\"", what, y, x,
			 canvas.columns, canvas.rows, text);
}

static void put(int y, int x, const char *glyph, const char *text, enum role role, unsigned flags)
{
	if (y < 0 || x < 0 || y >= canvas.rows || x >= canvas.columns) {
		canvas.outside++;
		note_fault("past an edge", y, x, text);
		return;
	}
	if (strcmp(glyph, " ") && strcmp(canvas.glyphs[y][x], " ") && strcmp(canvas.glyphs[y][x], glyph)) {
		canvas.over++;
		note_fault("over another text", y, x, text);
	}
	snprintf(canvas.glyphs[y][x], sizeof(canvas.glyphs[y][x]), "%s", glyph);
	canvas.roles[y][x] = role;
	canvas.flags[y][x] = flags;
}

/* Characters without a width are combined with the preceding one. */
static void join(int y, int x, const char *bytes)
{
	char *to;

	if (y < 0 || y >= canvas.rows || x <= 0 || x > canvas.columns)
		return;
	to = canvas.glyphs[y][x - 1];
	if (strlen(to) + strlen(bytes) < sizeof(canvas.glyphs[y][x - 1]))
		strcat(to, bytes);
}

void draw_fitted(const struct brush *brush, int y, int x, const char *fitted, enum role role)
{
	const char *at = fitted;
	mbstate_t shift = { 0 };

	while (*at) {
		wchar_t character;
		char glyph[12] = "";
		size_t len = mbrtowc(&character, at, strlen(at), &shift);
		int width;

		if (len == (size_t)-1 || len == (size_t)-2 || len == 0 || len >= sizeof(glyph)) {
			canvas.outside++;
			note_fault("bytes that are no character", y, x, fitted);
			return;
		}
		memcpy(glyph, at, len);
		at += len;
		width = wcwidth(character);
		if (width < 0) {
			canvas.outside++;
			note_fault("a control character", y, x, fitted);
			return;
		}
		if (!width) {
			join(y, x, glyph);
			continue;
		}
		put(y, x++, glyph, fitted, role, brush->flags);
		if (width == 2)
			put(y, x++, "", fitted, role, brush->flags);
	}
}

/* The other functions of paint.c, for tui/tui.c, which no test calls. */
struct paint *paint_create(void)
{
	return NULL;
}

void paint_destroy(struct paint *paint)
{
	(void)paint;
}

void paint_begin(struct paint *paint, int rows, int columns)
{
	(void)paint;
	(void)rows;
	(void)columns;
}

void paint_end(struct paint *paint)
{
	(void)paint;
}

const char *canvas_line(int row, char ret[CANVAS_LINE_SIZE])
{
	size_t len = 0, end = 0;

	for (int x = 0; x < canvas.columns; x++) {
		const char *glyph = canvas.glyphs[row][x];

		len += (size_t)snprintf(ret + len, CANVAS_LINE_SIZE - len, "%s", glyph);
		if (strcmp(glyph, " "))
			end = len;
	}
	ret[end] = '\0';
	return ret;
}

int canvas_find(const char *text)
{
	char line[CANVAS_LINE_SIZE];

	for (int y = 0; y < canvas.rows; y++)
		if (strstr(canvas_line(y, line), text))
			return y;
	return -1;
}
