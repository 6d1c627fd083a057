/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * page.h - lines of text that are longer than the screen, some of which stand for something
 *
 * A page is made for a width and then only looked at: lines of parts, each of which has
 * a place, a width and a look. The cursor stands only on lines that have a
 * subject; between them the page is scrolled. No curses here but in page_draw().
 */
#ifndef IBWIRE_TUI_DRAW_TEXT_PAGE_H
#define IBWIRE_TUI_DRAW_TEXT_PAGE_H

#include <stdbool.h>
#include <stddef.h>

#include "base/text.h"
#include "tui/model/format.h"
#include "tui/model/layout.h"
#include "tui/model/subject.h"
#include "tui/draw/theme.h"

struct brush;

struct page_part {
	size_t text;  /* offset in the page's characters */
	int x, columns;
	enum align align;
	enum role role;
};

struct page_line {
	size_t first, count;    /* of its parts */
	struct subject subject; /* kind NONE: the cursor passes it by */
};

/* A zeroed struct is an empty page. */
struct text_page {
	int columns;
	struct text chars;
	struct page_part *parts;
	struct page_line *lines;
	size_t part_count, part_capacity, line_count, line_capacity;
	bool failed; /* no memory: lines are missing */
};

/* page_begin - empty again, for a width. page_done - memory given back. */
void page_begin(struct text_page *page, int columns);
void page_done(struct text_page *page);

/* page_line - a new line; @subject: what it is about, or NULL. */
void page_line(struct text_page *page, const struct subject *subject);

/*
 * page_put - a part of the newest line
 * @columns:  below 0: as many as the text has
 * What lies beyond the page's width is cut. Return: where it ends.
 */
int page_put(struct text_page *page, int x, int columns, enum align align, enum role role, const char *text);
__attribute__((format(printf, 4, 5))) int page_putf(struct text_page *page, int x, enum role role, const char *fmt,
						    ...);

/* page_heading - a blank line, but for the first of the page, and a line as heads of columns look. */
__attribute__((format(printf, 2, 3))) void page_heading(struct text_page *page, const char *fmt, ...);

/* page_wrap - a text in as many lines as it needs, cut between words; @indent: columns left blank. */
void page_wrap(struct text_page *page, const struct subject *subject, int indent, enum role role, const char *text);

/* page_field - the same with a faint label before the first line; nothing where @text is NULL or "". */
void page_field(struct text_page *page, const struct subject *subject, const char *label, int indent, enum role role,
		const char *text);

/* page_lines - each line of @text (between '\n') as a line of the page, from column @x of it. */
void page_lines(struct text_page *page, int x, enum role role, const char *text);

/* Which part of a page is seen. */
struct page_view {
	size_t first;
	size_t cursor; /* a line with a subject that is seen, or PAGE_NONE */
	int height;
};

#define PAGE_NONE ((size_t)-1)

/* page_fit - there is so much room now: no line is wasted, and the cursor is on a seen line with a subject, if any. */
void page_fit(const struct text_page *page, struct page_view *view, int height);

/*
 * page_key - arrows, PgUp, PgDn, Home, End and what less and vi have for them
 * An arrow goes to the next line with a subject where that is seen, else it scrolls.
 * Return: whether the key was one of these.
 */
bool page_key(const struct text_page *page, struct page_view *view, int key);

/* page_scroll - so many lines down, below 0 up. */
void page_scroll(const struct text_page *page, struct page_view *view, long lines);

/* page_draw - what is seen of it. */
void page_draw(const struct text_page *page, const struct page_view *view, const struct brush *brush,
	       const struct rect *body);

#endif
