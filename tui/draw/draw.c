/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
#include "tui/draw/draw.h"

#include <stdio.h>
#include <string.h>

#include "base/text.h"
#include "tui/model/layout.h"

#define SEGMENTS_MAX 16
#define SEGMENT_GAP 2

void draw_cell(const struct brush *brush, int y, int x, int columns, const char *text, enum align align,
	       enum role role)
{
	char fitted[CELL_SIZE];

	if (columns <= 0)
		return;
	draw_fitted(brush, y, x, format_fit(text, (unsigned)columns, align, brush->theme->unicode, fitted), role);
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

void draw_segments(const struct brush *brush, int y, int x, int columns, const struct segment *segments, size_t count)
{
	int widths[SEGMENTS_MAX] = { 0 }, ranks[SEGMENTS_MAX] = { 0 }, used = 0;
	bool shown[SEGMENTS_MAX];
	size_t i;

	if (count > SEGMENTS_MAX)
		count = SEGMENTS_MAX;
	for (i = 0; i < count; i++) {
		widths[i] = (int)text_columns(segments[i].text);
		ranks[i] = segments[i].rank;
		if (widths[i] > columns && !ranks[i])
			widths[i] = columns;
	}
	layout_segments(columns, widths, ranks, count, SEGMENT_GAP, shown);
	for (i = 0; i < count; i++) {
		if (!shown[i])
			continue;
		if (used) {
			draw_cell(brush, y, x + used, SEGMENT_GAP, "", ALIGN_LEFT, ROLE_TEXT);
			used += SEGMENT_GAP;
		}
		draw_cell(brush, y, x + used, widths[i], segments[i].text, ALIGN_LEFT, segments[i].role);
		used += widths[i];
	}
	draw_cell(brush, y, x + used, columns - used, "", ALIGN_LEFT, ROLE_TEXT);
}
