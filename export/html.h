/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * html.h - elements of a page of HTML in one file: text, tables, and plots as inline SVG; private to export/
 *
 * The page is well-formed XML, loads nothing and runs no script (its Content-Security-Policy forbids
 * both). It is dark or light as the browser prefers, and printable. Every plot is HTML_PLOT_WIDTH wide.
 * Colour is never the only sign: lines have dashes and names, bars and cells have sizes and numbers.
 *
 * All strings are escaped, also those that come from the fabric or a command line, and may hold any
 * bytes; only tags and classes are written as they are. Memory that runs out is reported by
 * text_failed() of the page.
 */
#ifndef IBWIRE_EXPORT_HTML_H
#define IBWIRE_EXPORT_HTML_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "export/page.h"

struct text;

enum { HTML_PLOT_WIDTH = 720 };

/* html_state_word - "clean", "warning" ...: "" for PAGE_PLAIN. html_state_sign - a character. */
const char *html_state_word(enum page_state state);
const char *html_state_sign(enum page_state state);
const char *html_state_class(enum page_state state);

/*
 * html_begin, html_end - everything before and after the content of the page
 * html_card_begin, html_card_end - a section with a border. @title: NULL: none
 */
void html_begin(struct text *page, const char *title);
void html_end(struct text *page);
void html_card_begin(struct text *page, const char *title);
void html_card_end(struct text *page);

/* html_escape - append a string as text; NULL is nothing. html_escapef - the same with a format. */
void html_escape(struct text *page, const char *chars);
void html_escapef(struct text *page, const char *fmt, ...) __attribute__((format(printf, 2, 3)));

/*
 * html_element - append an element that contains only text
 * @class:  NULL: none
 */
void html_element(struct text *page, const char *tag, const char *class, const char *fmt, ...)
	__attribute__((format(printf, 4, 5)));

/* html_sign_item - append an item of a list (ul of class "signs") with the sign of a state. */
void html_sign_item(struct text *page, enum page_state state, const char *chars);

/* html_link_begin - begin a link to an element @id of a fabric: PREFIX0xID, or PREFIX0xID/NUMBER; ends with "</a>" */
void html_link_begin(struct text *page, const char *prefix, uint64_t id, unsigned number);

/*
 * A table: html_table_begin(), for each row html_row() and html_row_end() around cells, html_table_end(). A cell:
 * html_cell_begin(), its content, "</td>".
 */
struct html_column {
	const char *title;
	bool is_number; /* aligned to the right */
};
void html_table_begin(struct text *page, const struct html_column *columns, size_t count);
void html_row(struct text *page);
void html_row_end(struct text *page);
void html_cell_begin(struct text *page, const struct html_column *column, enum page_state state);
void html_table_end(struct text *page);

/* html_lines - values over time as a figure, with one line for each series. */
void html_lines(struct text *page, const struct page_lines *lines);

/*
 * html_bars - one horizontal bar for each value with its name, in the order given
 * More than HTML_BARS_NAMED are drawn as a profile of vertical bars from the lowest to the highest value,
 * and only the ends are named.
 */
enum { HTML_BARS_NAMED = 40 };
void html_bars(struct text *page, const struct page_bars *bars);

/*
 * html_matrix - percentages as a table of numbers on the colours of a heat map
 * About 25 bytes for a cell without a link, so that a page can have many. @heat: values in percent; top and format are
 * not used. @prefix: of html_link_begin(); NULL: no links
 */
void html_matrix(struct text *page, const struct page_heat *heat, const char *prefix);

/* html_heat - a table of cells whose colour and filled height are their values, with numbers if they fit. */
void html_heat(struct text *page, const struct page_heat *heat);

#endif
