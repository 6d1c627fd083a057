/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * columns.h - the columns of a list, composed from tables that describe each column once
 *
 * A list adds only what belongs to it: which columns it shows in which order.
 */
#ifndef IBWIRE_EXPORT_COLUMNS_H
#define IBWIRE_EXPORT_COLUMNS_H

#include <stdbool.h>
#include <stddef.h>

#include "export/result.h"

struct error;
struct text;

/* A table of columns of one of the rows that result_fill_rows() gets. */
struct column_source {
	const struct column *columns; /* the last one has neither key nor title */
	unsigned row;             /* the same for all of its columns */
	const char *key_prefix;   /* of the keys and titles in this list: "peer_", "PEER "; or NULL */
	const char *title_prefix;
	bool append;              /* with COLUMN_APPEND: also the columns that the list does not name */
};

/* A column of a list. */
struct column_item {
	const char *key; /* in its source */
	unsigned row;    /* of its source */
	bool table;      /* in tables; without it only in data */
	bool no_data;    /* only in tables */
	bool below;      /* COLUMN_BELOW instead of COLUMN_FLEXIBLE */
	unsigned priority; /* as in struct column */
	const char *title; /* NULL: with the prefix of the source */
	const char *as;    /* key in this list; NULL: with the prefix of the source */
};

/* Of equal keys the first one counts: items precede sources. Without items: all columns of the sources. */
struct column_list {
	const struct column_source *sources;
	size_t source_count;
	const struct column_item *items;
	size_t count;
};

/* The columns of a result. A zeroed struct is empty. */
struct columns {
	struct column *list;
	size_t count;
	char *names; /* composed keys and titles */
	size_t sort; /* 1 + the column that rows are sorted by; 0: none */
};

/*
 * columns_compose - all columns that a list may have: its items, then the others of its sources
 * columns_usual - the same without those that are hidden everywhere
 * columns_drop - remove them, and those with one of these flags
 * @ret:  for columns_done(), also after an error
 * Return: 0 or ERR_NOMEM.
 */
int columns_compose(const struct column_list *list, struct columns *ret, struct error *err);
int columns_usual(const struct column_list *list, struct columns *ret, struct error *err);
void columns_drop(struct columns *columns, unsigned flags);
void columns_done(struct columns *columns);

/* columns_find_key - the first of @count columns with a key; @count: there is none. */
size_t columns_find_key(const struct column *list, size_t count, const char *key);

/*
 * column_is_called - is this the key, title or short title of a column, in any case?
 * columns_find - the first one. Return: NULL if there is none.
 */
bool column_is_called(const struct column *column, const char *typed);
const struct column *columns_find(const struct column_source *source, const char *typed);

/* A column in a table. */
struct column_fit {
	unsigned natural;   /* width of its widest cell */
	unsigned width;
	bool hidden, below; /* below: hidden in the row, shown under it */
};

/*
 * columns_fit_table - fit columns into a width
 * @fits:    by column: with natural width, and hidden if it is not in the table
 * @limit:   0: none
 * @hidden:  titles of those that were hidden are appended; NULL: not needed
 *
 * If they are too wide, columns with COLUMN_BELOW leave the row. Then columns are hidden by descending priority:
 * first those from SPARE on, so that flexible columns keep up to FLEXIBLE_GOOD; then those from USEFUL on, so that
 * names of up to FLEXIBLE_NAME are not cut; then flexible columns shrink to FLEXIBLE_LEAST before more columns are
 * hidden. Columns are COLUMNS_GAP apart. Those that are never hidden may exceed a very small width.
 */
enum { COLUMNS_GAP = 2 };
void columns_fit_table(const struct column *columns, struct column_fit *fits, size_t count, unsigned limit,
		 struct text *hidden);

#endif
