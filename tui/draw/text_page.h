/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * text_page.h - scrollable text whose lines can have a subject
 *
 * A page is built for a width: lines of parts, each with a position, a width and a role. The cursor
 * stops only at lines with a subject; elsewhere the page scrolls.
 */
#ifndef IBWIRE_TUI_DRAW_TEXT_PAGE_H
#define IBWIRE_TUI_DRAW_TEXT_PAGE_H

#include <stdbool.h>
#include <stddef.h>

#include "base/text.h"
#include "tui/model/format.h"
#include "tui/model/layout.h"
#include "tui/model/subject.h"

struct brush;
struct mouse;

struct page_part {
	size_t text;  /* offset in the page's characters */
	int x, columns;
	enum align align;
	enum role role;
};

struct page_line {
	size_t first, count;    /* of its parts */
	struct subject subject; /* SUBJECT_NONE: the cursor skips the line */
};

/* A zeroed struct is an empty page. */
struct text_page {
	int columns;
	struct text chars;
	struct page_part *parts;
	struct page_line *lines;
	size_t part_count, part_capacity, line_count, line_capacity;
	bool failed; /* out of memory: lines are missing */
};

/* page_begin - clear the page and set its width. page_done - free it. */
void page_begin(struct text_page *page, int columns);
void page_done(struct text_page *page);

/* page_line - append a line; @subject: or NULL. */
void page_line(struct text_page *page, const struct subject *subject);

/*
 * page_put - add a part to the last line, cut at the width of the page
 * @columns:  below 0: the width of the text
 * Return: the column behind it.
 */
int page_put(struct text_page *page, int x, int columns, enum align align, enum role role, const char *text);
__attribute__((format(printf, 4, 5))) int page_putf(struct text_page *page, int x, enum role role, const char *fmt,
						    ...);

/* page_text - append a line with a text. */
__attribute__((format(printf, 3, 4)))
void page_text(struct text_page *page, enum role role, const char *fmt, ...);

/* page_heading - append a blank line, except at the top, and a heading. */
__attribute__((format(printf, 2, 3))) void page_heading(struct text_page *page, const char *fmt, ...);

/* page_wrap - append a text, wrapped between words; @indent: blank columns. */
void page_wrap(struct text_page *page, const struct subject *subject, int indent, enum role role, const char *text);

/* page_field - page_wrap() with a label before the first line; no effect if @text is NULL or "". */
void page_field(struct text_page *page, const struct subject *subject, const char *label, enum role label_role,
		int indent, enum role role, const char *text);

/* The visible part of a page. */
struct page_view {
	size_t first;
	size_t cursor; /* a visible line with a subject, or PAGE_NONE */
	int height;
};

#define PAGE_NONE ((size_t)-1)

/* page_fit - set the height; the cursor moves to a visible line with a subject, if any. */
void page_fit(const struct text_page *page, struct page_view *view, int height);

/*
 * page_key - handle arrows, PgUp, PgDn, Home, End, and the keys of less and vi
 * An arrow moves to the next line with a subject if that is visible, else it scrolls.
 * Return: whether the key was one of these.
 */
bool page_key(const struct text_page *page, struct page_view *view, int key);

/* page_scroll - scroll down by @lines, up if below 0. */
void page_scroll(const struct text_page *page, struct page_view *view, long lines);

/* page_mouse - scroll with the wheel, or select. @y: of the first visible line. Return: whether a line was selected. */
bool page_mouse(const struct text_page *page, struct page_view *view, int y, const struct mouse *mouse);

/* page_draw - draw the visible part. */
void page_draw(const struct text_page *page, const struct page_view *view, const struct brush *brush,
	       const struct rect *body);

#endif
