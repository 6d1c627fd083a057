/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
#include "fabric/plan/cells.h"

#include <string.h>

/* Limits of a quoted cell, in line breaks and bytes: beyond them the quote is taken as not closed. */
enum { QUOTED_LINES_MAX = 20, QUOTED_MAX = 4096 };

/* Carriage returns before line feeds, or as line breaks of their own. */
static const char *skip_break(const char *at)
{
	return *at == '\r' && at[1] == '\n' ? at + 2 : *at == '\r' || *at == '\n' ? at + 1 : at;
}

static bool ends_cell(const struct cells *cells, const char *at)
{
	at += strspn(at, cells->separator == '\t' ? " " : " \t");
	return !*at || *at == '\r' || *at == '\n' || *at == cells->separator;
}

/* Append a quoted cell. Return: what follows the closing quote; NULL: it is not closed. */
static const char *take_quoted(struct cells *cells, const char *at, size_t *ret_lines)
{
	const char *start = at;
	size_t lines = 0;

	for (at++; *at; at++) {
		if (*at == '"' && at[1] == '"') {
			at++;
		} else if (*at == '"') {
			if (!ends_cell(cells, at + 1))
				return NULL;
			*ret_lines += lines;
			return at + 1;
		} else if (*at == '\r' || *at == '\n') {
			const char *next = skip_break(at);

			if (++lines > QUOTED_LINES_MAX)
				return NULL;
			at = next - 1;
			text_append_bytes(&cells->chars, " ", 1);
			continue;
		}
		if (at - start > QUOTED_MAX)
			return NULL;
		text_append_bytes(&cells->chars, at, 1);
	}
	return NULL;
}

static bool is_blank(char c)
{
	return c == ' ' || c == '\t';
}

/*
 * A cell that is not UTF-8 is Latin-1, in which spreadsheets save CSV on some systems. 0x80 to 0x9f, where Windows-1252
 * differs, remain what they are: they are in no title and, as bytes that are no UTF-8, reported as such.
 */
static void widen_latin1(struct cells *cells, size_t start)
{
	size_t len = cells->chars.len, wide = 0;
	uint32_t point;
	char *chars;

	for (size_t at = start, one; at < len; at += one) {
		one = text_decode(cells->chars.chars + at, len - at, &point);
		if (!one)
			break;
		if (at + one == len)
			return;
	}
	for (size_t at = start; at < len; at++)
		wide += (unsigned char)cells->chars.chars[at] >= 0xa0;
	for (size_t i = 0; i < wide; i++)
		text_append_bytes(&cells->chars, "", 1);
	if (text_failed(&cells->chars))
		return;
	chars = cells->chars.chars;
	for (size_t at = len, to = cells->chars.len; at-- > start;) {
		unsigned char byte = (unsigned char)chars[at];

		if (byte >= 0xa0) {
			chars[--to] = (char)(0x80 | (byte & 0x3f));
			chars[--to] = (char)(0xc0 | byte >> 6);
		} else {
			chars[--to] = (char)byte;
		}
	}
}

/* No-break spaces, which spreadsheets copy from web pages, are blanks. */
static void replace_no_break(struct cells *cells, size_t start)
{
	char *chars = cells->chars.chars, *to = chars + start;

	for (const char *at = to; *at; at++) {
		if (!strncmp(at, "\xc2\xa0", 2)) {
			at++;
			*to++ = ' ';
		} else {
			*to++ = *at;
		}
	}
	*to = '\0';
	cells->chars.len = (size_t)(to - chars);
}

/* Remove blanks at the ends of a cell. */
static void end_cell(struct cells *cells, size_t start)
{
	char *chars;
	size_t skip = start;

	if (cells->chars.len > start)
		widen_latin1(cells, start);
	if (text_failed(&cells->chars))
		return;
	replace_no_break(cells, start);
	chars = cells->chars.chars;
	while (skip < cells->chars.len && is_blank(chars[skip]))
		skip++;
	if (skip > start)
		memmove(chars + start, chars + skip, cells->chars.len - skip + 1);
	cells->chars.len -= skip - start;
	while (cells->chars.len > start && is_blank(chars[cells->chars.len - 1]))
		cells->chars.len--;
	chars[cells->chars.len] = '\0';
}

/* Append a cell. Return: what follows it. */
static const char *take_cell(struct cells *cells, const char *at, size_t *lines)
{
	size_t start = cells->chars.len;
	const char *first = at, *end;

	while (is_blank(*first) && *first != cells->separator)
		first++;
	text_append(&cells->chars, "");
	if (*first == '"') {
		const char *next = take_quoted(cells, first, lines);

		if (next && !text_failed(&cells->chars)) {
			end_cell(cells, start);
			return next + strspn(next, cells->separator == '\t' ? " " : " \t");
		}
		cells->unclosed = true;
		cells->chars.len = start;
	}
	for (end = first; *end && *end != '\r' && *end != '\n' && *end != cells->separator;)
		end++;
	text_append_bytes(&cells->chars, first, (size_t)(end - first));
	if (!text_failed(&cells->chars))
		end_cell(cells, start);
	return end;
}

bool cells_next(struct cells *cells)
{
	size_t starts[CELLS_MAX], lines = 1;
	const char *at = cells->at;

	if (!*at)
		return false;
	text_clear(&cells->chars);
	cells->count = 0;
	cells->unclosed = false;
	cells->line = cells->next_line + 1;
	for (;; at++) {
		size_t start = cells->chars.len;

		at = take_cell(cells, at, &lines);
		if (cells->count < CELLS_MAX)
			starts[cells->count++] = start;
		/* A NUL between the cells. */
		text_append_bytes(&cells->chars, "", 1);
		if (*at != cells->separator || text_failed(&cells->chars))
			break;
	}
	if (text_failed(&cells->chars))
		return false;
	for (size_t i = 0; i < cells->count; i++)
		cells->cells[i] = cells->chars.chars + starts[i];
	cells->torn = !*at;
	cells->at = skip_break(at);
	cells->next_line += lines;
	return true;
}

void cells_done(struct cells *cells)
{
	text_done(&cells->chars);
}
