/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* page_draw.c - what is seen of a page */
#include "tui/draw/draw.h"
#include "tui/draw/text_page.h"

void page_draw(const struct page *page, const struct page_view *view, const struct brush *brush,
	       const struct rect *body)
{
	for (int y = 0; y < body->rows && view->first + (size_t)y < page->line_count; y++) {
		const struct page_line *line = &page->lines[view->first + (size_t)y];
		struct brush own = *brush;

		if (view->cursor == view->first + (size_t)y) {
			own.flags |= DRAW_CURSOR;
			draw_cell(&own, body->y + y, body->x, body->columns, "", ALIGN_LEFT, ROLE_TEXT);
		}
		for (size_t i = line->first; i < line->first + line->count; i++) {
			const struct page_part *part = &page->parts[i];
			int columns = part->columns < body->columns - part->x ? part->columns : body->columns - part->x;

			draw_cell(&own, body->y + y, body->x + part->x, columns, page->chars.chars + part->text,
				  part->align, part->role);
		}
	}
}
