/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
#include "tui/draw/text_page.h"

#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/array.h"
#include "tui/draw/draw.h"
#include "tui/draw/key.h"
#include "tui/draw/terminal.h"

void page_begin(struct text_page *page, int columns)
{
	text_clear(&page->chars);
	page->columns = columns;
	page->part_count = page->line_count = 0;
	page->failed = false;
}

void page_done(struct text_page *page)
{
	text_done(&page->chars);
	free(page->parts);
	free(page->lines);
	*page = (struct text_page){ 0 };
}

void page_line(struct text_page *page, const struct subject *subject)
{
	struct page_line *lines = array_grow(page->lines, page->line_count, &page->line_capacity, sizeof(*lines));

	if (!lines) {
		page->failed = true;
		return;
	}
	page->lines = lines;
	lines[page->line_count++] = (struct page_line){ .first = page->part_count,
							.subject = subject ? *subject : (struct subject){ 0 } };
}

static void add_part(struct text_page *page, const struct page_part *part, const char *text, size_t len)
{
	struct page_part *parts = array_grow(page->parts, page->part_count, &page->part_capacity, sizeof(*parts));

	if (!parts || !page->line_count) {
		page->failed = true;
		return;
	}
	page->parts = parts;
	parts[page->part_count] = *part;
	parts[page->part_count].text = page->chars.len;
	text_append_bytes(&page->chars, text, len);
	text_append_bytes(&page->chars, "", 1);
	if (text_failed(&page->chars)) {
		page->failed = true;
		return;
	}
	page->part_count++;
	page->lines[page->line_count - 1].count++;
}

int page_put(struct text_page *page, int x, int columns, enum align align, enum role role, const char *text)
{
	struct page_part part = { .x = x, .columns = columns, .align = align, .role = role };

	if (columns < 0)
		part.columns = (int)text_columns(text);
	if (part.columns > page->columns - x)
		part.columns = page->columns - x;
	if (part.columns <= 0)
		return x < page->columns ? x : page->columns;
	add_part(page, &part, text, strlen(text));
	return x + part.columns;
}

__attribute__((format(printf, 4, 0)))
static int put_args(struct text_page *page, int x, enum role role, const char *fmt, va_list args)
{
	char text[1024];

	vsnprintf(text, sizeof(text), fmt, args);
	return page_put(page, x, -1, ALIGN_LEFT, role, text);
}

int page_putf(struct text_page *page, int x, enum role role, const char *fmt, ...)
{
	va_list args;
	int end;

	va_start(args, fmt);
	end = put_args(page, x, role, fmt, args);
	va_end(args);
	return end;
}

void page_text(struct text_page *page, enum role role, const char *fmt, ...)
{
	va_list args;

	va_start(args, fmt);
	page_line(page, NULL);
	put_args(page, 0, role, fmt, args);
	va_end(args);
}

void page_heading(struct text_page *page, const char *fmt, ...)
{
	va_list args;

	if (page->line_count)
		page_line(page, NULL);
	page_line(page, NULL);
	va_start(args, fmt);
	put_args(page, 0, ROLE_HEAD, fmt, args);
	va_end(args);
}

void page_field(struct text_page *page, const struct subject *subject, const char *label, enum role label_role,
		int indent, enum role role, const char *text)
{
	size_t columns = page->columns - indent > 8 ? (size_t)(page->columns - indent) : 8, len;
	char line[CELL_SIZE];

	/* Also ends if a character is wider than the line. */
	while (text && (len = format_line(text, columns)) > 0) {
		snprintf(line, sizeof(line), "%.*s", (int)len, text);
		page_line(page, subject);
		if (label)
			page_put(page, 0, indent - 1, ALIGN_LEFT, label_role, label);
		page_put(page, indent, -1, ALIGN_LEFT, role, line);
		subject = NULL;
		label = NULL;
		text += len + strspn(text + len, " ");
	}
}

void page_wrap(struct text_page *page, const struct subject *subject, int indent, enum role role, const char *text)
{
	page_field(page, subject, NULL, ROLE_TEXT, indent, role, text);
}

static bool has_subject(const struct text_page *page, size_t line)
{
	return line < page->line_count && page->lines[line].subject.kind != SUBJECT_NONE;
}

static bool is_visible(const struct page_view *view, size_t line)
{
	return line >= view->first && line < view->first + (size_t)view->height;
}

/* The first visible line with a subject from a line on, in direction @step; or PAGE_NONE. */
static size_t find(const struct text_page *page, const struct page_view *view, size_t from, int step)
{
	for (size_t line = from; line != PAGE_NONE && is_visible(view, line) && line < page->line_count;
	     line += (size_t)step)
		if (has_subject(page, line))
			return line;
	return PAGE_NONE;
}

void page_fit(const struct text_page *page, struct page_view *view, int height)
{
	size_t room = height > 0 ? (size_t)height : 0, end;

	view->height = (int)room;
	if (page->line_count <= room)
		view->first = 0;
	else if (view->first > page->line_count - room)
		view->first = page->line_count - room;
	if (view->cursor != PAGE_NONE && has_subject(page, view->cursor) && is_visible(view, view->cursor))
		return;
	end = view->first + room < page->line_count ? view->first + room : page->line_count;
	if (view->cursor != PAGE_NONE && view->cursor >= end && end)
		view->cursor = find(page, view, end - 1, -1);
	else
		view->cursor = find(page, view, view->first, 1);
}

void page_scroll(const struct text_page *page, struct page_view *view, long lines)
{
	view->first = lines >= 0 || view->first > (size_t)-lines ? view->first + (size_t)lines : 0;
	page_fit(page, view, view->height);
}

/* The next line with a subject below (@step 1) or above (-1) the cursor, else PAGE_NONE. */
static size_t find_next(const struct text_page *page, const struct page_view *view, int step)
{
	if (view->cursor == PAGE_NONE)
		return step > 0 ? find(page, view, view->first, 1) : PAGE_NONE;
	return step < 0 && !view->cursor ? PAGE_NONE : find(page, view, view->cursor + (size_t)step, step);
}

static void move_cursor(const struct text_page *page, struct page_view *view, int step)
{
	size_t next = find_next(page, view, step);

	if (next == PAGE_NONE) {
		page_scroll(page, view, step);
		next = view->cursor == PAGE_NONE ? PAGE_NONE : find_next(page, view, step);
	}
	if (next != PAGE_NONE)
		view->cursor = next;
}

bool page_key(const struct text_page *page, struct page_view *view, int key)
{
	long rows = view->height > 1 ? view->height - 1 : 1;

	switch (key_motion(key)) {
	case KEY_SPECIAL(KEY_UP):
		move_cursor(page, view, -1);
		return true;
	case KEY_SPECIAL(KEY_DOWN):
		move_cursor(page, view, 1);
		return true;
	case KEY_SPECIAL(KEY_PPAGE):
		page_scroll(page, view, -rows);
		return true;
	case KEY_SPECIAL(KEY_NPAGE):
		page_scroll(page, view, rows);
		return true;
	case KEY_SPECIAL(KEY_HOME):
		view->first = 0;
		view->cursor = PAGE_NONE;
		page_fit(page, view, view->height);
		return true;
	case KEY_SPECIAL(KEY_END):
		view->cursor = page->line_count;
		page_scroll(page, view, (long)page->line_count);
		return true;
	default:
		return false;
	}
}

bool page_mouse(const struct text_page *page, struct page_view *view, int y, const struct mouse *mouse)
{
	size_t line = view->first + (size_t)(mouse->y - y);

	if (mouse->wheel)
		page_scroll(page, view, 3 * mouse->wheel);
	if (mouse->wheel || mouse->y < y || mouse->y >= y + view->height || line >= page->line_count ||
	    page->lines[line].subject.kind == SUBJECT_NONE)
		return false;
	view->cursor = line;
	return true;
}

void page_draw(const struct text_page *page, const struct page_view *view, const struct brush *brush,
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
