/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* paint.c - the only code that writes characters to the terminal; tests replace it by a canvas */
#include <curses.h>
#include <stdlib.h>
#include <string.h>
#include <wchar.h>

#include "base/text.h"
#include "tui/draw/draw.h"

/* Longer texts are left to curses. */
enum { CELLS_MOST = 512 };

/* A text as cells of curses: mvaddstr() takes several times as long for each character. */
struct cells {
	cchar_t list[CELLS_MOST + 1];
	size_t count;
};

/* Return: false if the text has other characters than those of one column. */
static bool make_cells(struct cells *cells, const char *fitted, attr_t attributes, short pair)
{
	wchar_t wide[CELLS_MOST];
	size_t count = mbstowcs(wide, fitted, CELLS_MOST);

	if (count >= CELLS_MOST)
		return false;
	for (size_t i = 0; i < count; i++) {
		const wchar_t character[] = { wide[i], L'\0' };

		/* Bars and blanks repeat a character. */
		if (i && wide[i] == wide[i - 1])
			cells->list[i] = cells->list[i - 1];
		else if (wcwidth(wide[i]) != 1 || setcchar(&cells->list[i], character, attributes, pair, NULL) != OK)
			return false;
	}
	cells->count = count;
	return true;
}

/*
 * Write the blank behind a text with the attributes of the text: invisible, and it saves the 22
 * bytes that switching attributes for each gap takes, half of the output if all numbers change.
 */
static void join_gap(struct cells *cells, int y, int x, attr_t attributes, short pair)
{
	int end = x + (int)cells->count;
	bool visible = attributes & (A_REVERSE | A_UNDERLINE) || pair == THEME_CURSOR_PAIR;

	if (!visible && end < getmaxx(stdscr) && mvinch(y, end) == ' ')
		setcchar(&cells->list[cells->count++], L" ", attributes, pair, NULL);
}

static void write_text(int y, int x, const char *fitted, attr_t attributes, short pair)
{
	struct cells cells;

	if (make_cells(&cells, fitted, attributes, pair)) {
		join_gap(&cells, y, x, attributes, pair);
		mvadd_wchnstr(y, x, cells.list, (int)cells.count);
		return;
	}
	attr_set(attributes, pair, NULL);
	mvaddstr(y, x, fitted);
	attr_set(A_NORMAL, 0, NULL);
}

/* A text of a row; its bytes and a NUL follow. */
struct row_text {
	attr_t attributes;
	int pair, x;
	size_t len;
};

struct paint {
	struct paint_row {
		struct text frame, drawn; /* texts of the current frame, and those on the terminal */
	} *rows;
	int count, columns;
};

struct paint *paint_create(void)
{
	return calloc(1, sizeof(struct paint));
}

static void forget(struct paint *paint)
{
	for (int y = 0; y < paint->count; y++) {
		text_done(&paint->rows[y].frame);
		text_done(&paint->rows[y].drawn);
	}
	free(paint->rows);
	*paint = (struct paint){ 0 };
}

void paint_destroy(struct paint *paint)
{
	if (paint)
		forget(paint);
	free(paint);
}

void paint_begin(struct paint *paint, int rows, int columns)
{
	if (paint->count != rows || paint->columns != columns) {
		forget(paint);
		erase();
		paint->rows = calloc((size_t)rows, sizeof(*paint->rows));
		paint->count = paint->rows ? rows : 0;
		paint->columns = columns;
	}
	for (int y = 0; y < paint->count; y++)
		text_clear(&paint->rows[y].frame);
}

static void write_row(int y, const struct text *row)
{
	struct row_text text;

	move(y, 0);
	clrtoeol();
	for (size_t at = 0; at < row->len; at += sizeof(text) + text.len + 1) {
		memcpy(&text, row->chars + at, sizeof(text));
		write_text(y, text.x, row->chars + at + sizeof(text), text.attributes, (short)text.pair);
	}
}

void paint_end(struct paint *paint)
{
	for (int y = 0; y < paint->count; y++) {
		struct paint_row *row = &paint->rows[y];
		struct text drawn = row->drawn;

		if (row->frame.len == drawn.len && !memcmp(text_chars(&row->frame), text_chars(&drawn), drawn.len))
			continue;
		write_row(y, &row->frame);
		row->drawn = row->frame;
		row->frame = drawn;
	}
}

/* In a reversed row the blocks of a bar look like blanks: '#' replaces them. */
static void write_bars_in_reverse(char *chars)
{
	char *to = chars;

	for (const char *at = chars; *at;) {
		/* U+2588 to U+258F */
		bool block = !strncmp(at, "\xe2\x96", 2) && ((unsigned char)at[2] & 0xf8) == 0x88;

		*to++ = block ? '#' : *at;
		at += block ? 3 : 1;
	}
	*to = '\0';
}

void draw_fitted(const struct brush *brush, int y, int x, const char *fitted, enum role role)
{
	char reversed[CELL_SIZE];
	const struct theme *theme = brush->theme;
	struct row_text text;
	struct text *row;

	memset(&text, 0, sizeof(text)); /* padding is compared, too */
	text.x = x;
	if (brush->flags & DRAW_CURSOR)
		role = ROLE_CURSOR;
	if (role == ROLE_CURSOR && theme->attributes[role] & A_REVERSE && strlen(fitted) < sizeof(reversed)) {
		write_bars_in_reverse(strcpy(reversed, fitted));
		fitted = reversed;
	}
	text.len = strlen(fitted);
	text.attributes = theme->attributes[role];
	text.pair = theme->pairs[role];
	if (brush->flags & DRAW_DIM && role != ROLE_CURSOR) {
		/* Old data has no colours, since they would suggest a present state. */
		text.attributes = (text.attributes & A_REVERSE) | theme->attributes[ROLE_FAINT];
		text.pair = theme->pairs[ROLE_FAINT];
	}
	if (brush->flags & DRAW_CELL)
		text.attributes |= A_REVERSE;
	if (!theme->paint || y < 0 || y >= theme->paint->count) {
		write_text(y, x, fitted, text.attributes, (short)text.pair);
		return;
	}
	row = &theme->paint->rows[y].frame;
	if (!text_reserve(row, sizeof(text) + text.len + 1))
		return;
	text_append_bytes(row, (const char *)&text, sizeof(text));
	text_append_bytes(row, fitted, text.len + 1);
}
