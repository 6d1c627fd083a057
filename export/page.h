/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * page.h - a report as a value: a list of sections, rendered as text, JSON, CSV or HTML
 *
 * A builder adds sections; a renderer knows their kinds, and nothing of what they are about. A section is
 * in the renderings of its mask, so that data has all rows and a text those that stand out. The rows of a
 * table are written by a function for each rendering: a report on thousands of ports keeps none of them.
 *
 * Strings and contexts of sections are borrowed until page_destroy(); page_print(), page_keep() and
 * page_alloc() make some that live as long as the page. Memory that runs out is reported by
 * page_render(); all calls accept a NULL page.
 */
#ifndef IBWIRE_EXPORT_PAGE_H
#define IBWIRE_EXPORT_PAGE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>

#include "export/result.h"

struct error;
struct metric;
struct page;
struct series_step;
struct text;

/* How serious something is: a colour, and the sign and word of html_state_word(). */
enum page_state { PAGE_PLAIN, PAGE_GOOD, PAGE_INFO, PAGE_WARNING, PAGE_CRITICAL, PAGE_STATES };

/* Renderings. */
enum page_target { PAGE_TEXT = 1 << 0, PAGE_JSON = 1 << 1, PAGE_CSV = 1 << 2, PAGE_HTML = 1 << 3 };

/* --- figures --- */

/* page_format - format a value of a figure. Return: @ret, of PAGE_VALUE_SIZE bytes. */
#define PAGE_VALUE_SIZE 32
typedef const char *page_format(double value, char *ret, size_t size);

struct page_series {
	const char *name;
	const struct series_step *steps; /* their means are drawn */
	size_t count;
};

/* A moment in a plot of lines: a dashed vertical line with a letter, "A" for the first. */
struct page_mark {
	int64_t wall_us;
	const char *name, *text; /* shown below the plot */
};

/* Values over time, one line for each series. */
struct page_lines {
	const char *title; /* NULL: none in text, which has a single series then */
	const struct page_series *series;
	size_t series_count;
	int64_t from_us, until_us; /* wall clock at the left and the right edge */
	const struct page_mark *marks;
	size_t mark_count;
	const struct metric *metric; /* of all series */
	unsigned height;             /* lines of a plot in text; 0: by the number of series */
};

struct page_bar {
	const char *name;
	double value; /* from 0 up; NAN: unknown */
	enum page_state state;
};

/* One bar for each value with its name, in the order given. */
struct page_bars {
	const char *title;
	const struct page_bar *bars;
	size_t count;
	page_format *format;
	double mean;  /* NAN: none; otherwise a line */
};

/* What a cell of a matrix is about, as result_target() names it. */
struct page_place {
	uint64_t id;         /* 0: nothing */
	unsigned number;
	const char *problem; /* a mark with this tooltip; NULL: none */
};

/* Values of pairs, as colours or numbers. */
struct page_heat {
	const char *title;
	const char *const *row_names, *const *column_names;
	size_t rows, columns;
	const double *values; /* row by row; NAN: nothing there */
	double top;           /* end of the scale, so that two maps share one; 0: the highest value */
	page_format *format;  /* not of a matrix, whose values are percentages */
	const struct page_place *places; /* of a matrix: parallel to the values; NULL: none */
	const uint64_t *row_ids, *column_ids;  /* likewise: of the names; NULL: none */
};

/* --- sections --- */

enum page_kind {
	/* Sections between these and PAGE_CLOSE belong together in HTML; other renderings ignore them. */
	PAGE_CARD,    /* a box with the title */
	PAGE_PAIR,    /* parts of equal width side by side, if there is space */
	PAGE_ROW,     /* parts side by side, the last one as wide as possible */
	PAGE_PART,    /* of a pair */
	PAGE_FOLD,    /* only the title is shown until it is opened */
	PAGE_CLOSE,
	PAGE_VERDICT, /* the result of the page */
	PAGE_FIELDS,  /* names and values: lines in text, tiles in HTML */
	PAGE_TABLE,
	PAGE_RECORD,  /* a table of exactly one row: an object in JSON, one line per column */
	PAGE_NOTE,    /* a paragraph; lines in text */
	PAGE_SIGNS,   /* a list, each item with the sign of its state; PAGE_PLAIN: a bullet */
	PAGE_ITEMS,   /* findings or the like, each of several lines */
	PAGE_LINKS,   /* HTML only, as the next one */
	PAGE_FORM,
	PAGE_LINES, PAGE_BARS, PAGE_HEAT,
	PAGE_MATRIX,  /* percentages with numbers; small in HTML */
};

struct page_sign {
	enum page_state state;
	const char *text;
	/* Of a list of checks, NULL in others: the word of the result, what was checked, and what to do or NULL. */
	const char *word, *name, *action;
};

struct page_verdict {
	const char *subject;  /* text: before the sentence, "job 17 (train)" */
	const char *heading;  /* HTML: above it */
	const char *detail;   /* HTML: behind the heading, faint; NULL: none */
	const char *word;     /* HTML; NULL: that of the state */
	const char *sentence; /* without full stop */
	const char *note;     /* HTML: a line below it; NULL: none */
	enum page_state note_state;
	const struct page_sign *signs; /* further sentences */
	size_t sign_count;
	size_t text_most;     /* number of sentences in text, the others are counted; 0: all */
};

struct page_field {
	const char *name;
	const char *value;
	const char *note; /* HTML: below the value, smaller; text: behind it; NULL: none */
	enum page_state state; /* of the value on a screen */
	uint64_t id;      /* target, as of result_target() */
	unsigned number;
};

struct page_link {
	const char *href, *text;
};

/* A line with a field for a text and a button, which opens ACTION?NAME=TEXT. */
struct page_form {
	const char *action, *name, *label, *button;
};

/* A paragraph of an item. */
struct page_item_line {
	const char *chars;
	bool soft;        /* less important */
};

enum { PAGE_ITEM_LINES = 6 };

struct page_item {
	const char *anchor;    /* id in HTML; NULL: none */
	enum cell_style style; /* STYLE_DIM: it does not count */
	uint64_t id;           /* target, as of result_target() */
	unsigned number;
	const char *word;      /* "CRITICAL" */
	const char *name;
	const char *about;     /* behind the name */
	struct page_item_line lines[PAGE_ITEM_LINES]; /* NULL or "": none */
	/* HTML only; NULL: none. */
	const char *folded, *folded_title;
	struct page_link link;
	const char *command;   /* shown as code */
};

/*
 * page_fill - write the rows of a table with result_end_row(), also result_note() and result_none()
 * result_rendering() is the enum page_target that it is for, result_error() where a failure is reported.
 */
typedef void page_fill(struct result *result, const void *ctx);

/* Whether a blank line is before a section in text. */
enum page_space { SPACE_BY_KIND, SPACE_NONE, SPACE_LINE };

struct page_section {
	enum page_kind kind;
	enum page_space space;
	unsigned in;        /* mask of enum page_target; 0: all, as far as they have the kind */
	/* Member of the object in JSON, which has only sections with a key; "": the JSON is this section alone. */
	const char *key;
	const char *title;  /* NULL: none; in capitals in text */
	const char *about;  /* behind the title; NULL: none */
	enum page_state state; /* of a verdict or note */
	bool soft;          /* PAGE_NOTE: less important */
	bool new_sheet;     /* HTML: on paper it begins a new sheet */
	unsigned indent;    /* PAGE_NOTE: columns in text */
	union {
		struct {
			const struct column *columns;
			size_t count;
			page_fill *fill;
			const void *ctx;
		} table;
		struct page_verdict verdict;
		const char *note;
		struct { const struct page_field *list; size_t count; } fields;
		struct { const struct page_sign *list; size_t count; } signs;
		struct {
			const struct page_item *list;
			size_t count;
			const char *none;   /* in place of an empty list */
			const char *more;   /* after items that were left out, with one %zu; HTML only */
			size_t html_most;   /* bytes after which items are only counted; 0: no limit */
		} items;
		struct { const struct page_link *list; size_t count; } links;
		struct page_form form;
		struct page_lines lines;
		struct page_bars bars;
		struct page_heat heat;
	};
};

/*
 * page_create - begin a page
 * @title:  of the document in HTML; copied
 * Return: NULL: no memory.
 */
struct page *page_create(const char *title);
void page_destroy(struct page *page);

/*
 * page_link_names - in HTML, cells with result_target() and names of a matrix are links
 * @prefix:  before "0x0000000000000020" or "0x0000000000000020/7"; borrowed
 */
void page_link_names(struct page *page, const char *prefix);

/* page_plot - append the plot of a series in text; all of them have the same axis. Return: 0 or ERR_NOMEM. */
int page_plot(const struct page_lines *lines, size_t at, unsigned width, bool ascii, struct text *ret);

/* page_add - append a section; the struct is copied. page_close - end the innermost group. */
void page_add(struct page *page, const struct page_section *section);
void page_close(struct page *page);

/* page_add_note - a note in these renderings. @in: mask of enum page_target. @fmt: of page_print() */
void page_add_note(struct page *page, unsigned in, bool soft, const char *fmt, ...)
	__attribute__((format(printf, 4, 5)));

/*
 * page_alloc - zeroed memory that lives as long as the page. Return: NULL: no memory.
 * page_print - formatted text, the same. Return: "" without memory.
 * page_keep - a copy of a text that was built up, which is freed. Return: the same.
 */
void *page_alloc(struct page *page, size_t count, size_t size);
const char *page_print(struct page *page, const char *fmt, ...) __attribute__((format(printf, 2, 3)));
const char *page_keep(struct page *page, struct text *text);

struct page_options {
	enum page_target target;
	bool color, csv_raw, notes; /* as in struct result_options */
	bool ascii;                 /* plots in text without block characters */
	unsigned width;             /* of text in columns; 0: no limit for tables, titles and notes, 120 for the rest */
};

/*
 * page_options_of - options for the format of a command
 * page_render - write a page
 * The output is not flushed. A closed pipe is no failure.
 *
 * Return: 0; ERR_NOMEM; ERR_IO; or the result_error() of a page_fill function.
 */
struct page_options page_options_of(const struct result_options *options);
int page_render(const struct page *page, FILE *stream, const struct page_options *options, struct error *err);

/*
 * page_freeze - make the text of a page independent of what its sections borrow: copy it, and keep the rows
 * of its tables. Then page_section_at() and page_rows() are for a renderer elsewhere, such as that of curses.
 * Return: 0 or an error as above.
 */
int page_freeze(struct page *page, struct error *err);

/* page_section_at - the next section of text from *@at on, which is moved behind it. Return: NULL: no more. */
const struct page_section *page_section_at(const struct page *page, size_t *at);

/* page_rows - the kept rows of a table or record (borrowed from the page). */
const struct result *page_rows(const struct page *page, const struct page_section *section);

/* page_html - append the page as a document of HTML. Return: 0 or an error as above. */
int page_html(const struct page *page, struct text *ret, struct error *err);

#endif
