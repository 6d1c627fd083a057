/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
#include "tui/draw/draw.h"

#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#include "base/text.h"

#define SEGMENT_GAP 2

void draw_cell(const struct brush *brush, int y, int x, int columns, const char *text, enum align align,
	       enum role role)
{
	char fitted[CELL_SIZE];

	if (columns <= 0)
		return;
	draw_fitted(brush, y, x, format_fit(text, (unsigned)columns, align, brush->theme->unicode, fitted), role);
}

void draw_line(const struct brush *brush, const struct rect *area, int line, enum role role, const char *fmt, ...)
{
	char text[CELL_SIZE];
	va_list args;

	va_start(args, fmt);
	vsnprintf(text, sizeof(text), fmt, args);
	va_end(args);
	draw_cell(brush, area->y + line, area->x, area->columns, text, ALIGN_LEFT, role);
}

void draw_cells(const struct brush *brush, int y, const struct rect *area, const int *widths,
		const struct table_cell *cells, size_t count)
{
	enum role blank = cells[0].role == ROLE_HEAD ? ROLE_HEAD : ROLE_TEXT;
	int x = 0;

	draw_cell(brush, y, area->x, area->columns, "", ALIGN_LEFT, blank);
	for (size_t i = 0; i < count; i++) {
		int left = area->columns - x;

		draw_cell(brush, y, area->x + x, widths[i] < left ? widths[i] : left, cells[i].text, cells[i].align,
			  cells[i].role);
		x += widths[i] ? widths[i] + 1 : 0;
	}
}

int draw_wrapped(const struct brush *brush, int y, int x, int columns, int lines, const char *text, enum role role)
{
	int line;

	for (line = 0; line < lines && *text; line++) {
		size_t bytes = line < lines - 1 ? format_line(text, (size_t)columns) : strlen(text);
		char part[CELL_SIZE];

		snprintf(part, sizeof(part), "%.*s", (int)bytes, text);
		draw_cell(brush, y + line, x, columns, part, ALIGN_LEFT, role);
		text += bytes;
		text += strspn(text, " ");
	}
	return line;
}

void segment_add(struct segments *segments, int rank, enum role role, const char *fmt, ...)
{
	va_list args;

	if (segments->count == SEGMENTS_MAX)
		return;
	va_start(args, fmt);
	vsnprintf(segments->list[segments->count].text, sizeof(segments->list[0].text), fmt, args);
	va_end(args);
	segments->list[segments->count].rank = rank;
	segments->list[segments->count++].role = role;
}

void draw_segments(const struct brush *brush, int y, int x, int columns, const struct segments *segments)
{
	int widths[SEGMENTS_MAX], ranks[SEGMENTS_MAX], used = 0;
	bool shown[SEGMENTS_MAX];

	for (size_t i = 0; i < segments->count; i++) {
		widths[i] = (int)text_columns(segments->list[i].text);
		ranks[i] = segments->list[i].rank;
		if (widths[i] > columns && !ranks[i])
			widths[i] = columns;
	}
	layout_segments(columns, widths, ranks, segments->count, SEGMENT_GAP, shown);
	for (size_t i = 0; i < segments->count; i++) {
		if (!shown[i])
			continue;
		if (used) {
			draw_cell(brush, y, x + used, SEGMENT_GAP, "", ALIGN_LEFT, ROLE_TEXT);
			used += SEGMENT_GAP;
		}
		draw_cell(brush, y, x + used, widths[i], segments->list[i].text, ALIGN_LEFT, segments->list[i].role);
		used += widths[i];
	}
	draw_cell(brush, y, x + used, columns - used, "", ALIGN_LEFT, ROLE_TEXT);
}
