/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * table.h - a list on the screen: columns, order, filter, tags
 *
 * A screen describes its list by a constant struct table_view: the columns, how many rows there are,
 * and the structs that the cells of a row are read from. Order, filter, search, tags, the widths of
 * the columns and their order are the same for all lists. The visible part and the keys are in
 * tui/screens/list_screen.h.
 *
 * Work proportional to the rows is done when rows, order or filter change (table_arrange()), never
 * while drawing.
 */
#ifndef IBWIRE_TUI_MODEL_TABLE_H
#define IBWIRE_TUI_MODEL_TABLE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/map.h"
#include "base/text.h"
#include "export/result.h"
#include "tui/model/filter.h"
#include "tui/model/format.h"
#include "tui/model/layout.h"
#include "tui/model/role.h"
#include "tui/model/subject.h"

struct app;
struct error;
struct table;

/* Maximum number of columns, with TAG. */
#define TABLE_COLUMNS 40

/* Structs that the cells of a row may be read from. */
enum { TABLE_STRUCTS = 3 };

/* Identity of a row. It stays on the row when rows are added, removed or moved. */
struct table_id {
	uint64_t high, low;
};

/* Where a row is sorted. NAN: unknown, after all others in both orders. */
struct table_key {
	double number;
	uint64_t rest; /* if numbers are equal */
	uint64_t tie;  /* if both are equal; ascending in both orders */
};

/* An array of structs in a larger struct: offsets of the pointer and of its size_t count, and size of an element. */
struct table_array {
	size_t rows, count, size;
};

#define TABLE_ARRAY(type, rows, count) \
	{ offsetof(type, rows), offsetof(type, count), sizeof(*((type *)NULL)->rows) }

struct table_view {
	const char *name;             /* of its settings: "jobs" */
	const char *hidden_setting, *order_setting; /* NULL: NAME.hidden and NAME.order */
	const char *noun, *plural;    /* of a row: "job", "jobs" */
	const char *none;             /* the text of a list without rows */
	const char *none_listed;      /* if there are rows, but is_listed() is false for all of them */
	/*
	 * Those without a title are not shown. A column with a key that does not say how it is read is the one of this
	 * key in sources[column->row], which ends with a zeroed column; its own titles and help take precedence.
	 */
	const struct column *columns;
	size_t column_count;
	/* Columns of them that have COLUMN_APPEND are appended, of each table once. */
	const struct column *sources[TABLE_STRUCTS];
	const struct column_step *steps; /* NULL: by priority, as wide as the widest cells */
	size_t step_count;
	/* Sets of columns, 1 << index. */
	uint64_t fixed;               /* cannot be hidden */
	uint64_t descending;          /* sorted in descending order at first, besides right-aligned ones */
	size_t sort;                  /* column that rows are sorted by at first */
	bool sort_descending;
	bool tags;                    /* rows can be tagged */
	bool at_shown_time;           /* cells are values of the shown time, and dimmed if it is old */

	/* Load rows if necessary, while the list is visible. Return: whether they changed. NULL: never. */
	bool (*update)(void *state, struct app *app);
	/* Where the rows are an array in the state of the screen: TABLE_ARRAY(). Otherwise count and row: */
	struct table_array array;
	size_t (*count)(const struct table *table);
	/* The structs of row @index in the order of the screen's data, borrowed until the next call. */
	void (*row)(const struct table *table, size_t index, const void *ret[TABLE_STRUCTS]);
	struct table_id (*id)(const struct table *table, size_t index);
	/* Enter, a, b, r, p on a row. NULL: rows are no subjects. */
	struct subject (*subject)(const struct table *table, size_t index);

	/* NULL where the column tables suffice: */
	/* The text of a cell in its width. Return: false: as result_cell(). */
	bool (*text)(const struct table *table, size_t index, size_t column, int columns, struct text *ret);
	enum role (*role)(const struct table *table, size_t index, size_t column, enum role usual);
	/* Set the tie, and the key of some columns. Return: false: the key is the number or text of the cell. */
	bool (*key)(const struct table *table, size_t index, size_t column, struct table_key *ret);
	/* Columns of the widest cell; 0: the column is not shown now. */
	int (*widest)(const struct table *table, size_t column);
	/* Change widths. */
	void (*adjust)(struct column_place *places);
	/*
	 * Whether a row is listed at all, and whether it matches the filter; begin_filter() is called before all rows.
	 * If it returns false, all rows match.
	 */
	bool (*is_listed)(const struct table *table, size_t index);
	bool (*begin_filter)(const struct table *table, struct filter *filter);
	bool (*matches)(const struct table *table, size_t index, const struct filter *filter);
};

struct table {
	const struct table_view *view;
	void *state;             /* of the screen, and the argument of the functions of the view */
	const struct app *app;
	size_t count;            /* rows without filter */
	uint32_t *rows;          /* indices of the rows on the screen, in order */
	size_t row_count, capacity;
	uint32_t *ordered;       /* indices of all rows in order, so that a filter need not sort */
	size_t ordered_count, ordered_by;
	bool ordered_descending; /* how they were sorted */
	size_t sort;             /* column; the last one is TAG */
	bool descending, tagged_only;
	uint64_t hidden;         /* 1 << column */
	uint8_t order[TABLE_COLUMNS]; /* columns from the left */
	struct column columns[TABLE_COLUMNS]; /* of the view, TAG if rows can be tagged, and appended ones */
	size_t column_count;     /* all of these */
	int widest[TABLE_COLUMNS];
	struct filter filter;
	struct map tags;         /* by identity: 1, or 0 after untagging */
	size_t tag_count;
	struct result *cells;    /* one row; NULL: not enough memory */
	size_t filled;           /* 1 + index of this row; 0: none */
	uint64_t filled_columns; /* of these columns, 1 << column */
	struct text text;        /* of a cell */
	bool failed;             /* not enough memory for the rows */
};

/* table_init - @state, @app: borrowed. table_done - free it. */
void table_init(struct table *table, const struct table_view *view, void *state, const struct app *app);
void table_done(struct table *table);

/*
 * table_arrange - apply order, filter and tags after a change
 * @changed:  the rows or their order changed: they are sorted, and widths are measured; otherwise rows
 *            are sorted only by another column or in the other direction
 */
void table_arrange(struct table *table, bool changed);

/* table_row - the element of view->array; table_count - number of rows before is_listed. */
const void *table_row(const struct table *table, size_t index);
size_t table_count(const struct table *table);

/* table_sort_by - choose the column that rows are sorted by; call table_arrange() afterwards. */
void table_sort_by(struct table *table, size_t column);

/* table_usual_order - the columns from the left before any was moved. @ret: table->column_count of them. */
void table_usual_order(const struct table *table, uint8_t *ret);

/*
 * table_title, table_help - of a column
 * table_is_right - whether its cells are right-aligned
 * table_can_hide - whether it may be hidden
 * table_find_column - Return: whether a column has this title.
 */
const char *table_title(const struct table *table, size_t column);
const char *table_help(const struct table *table, size_t column);
bool table_is_right(const struct table *table, size_t column);
bool table_can_hide(const struct table *table, size_t column);
bool table_find_column(const struct table *table, const char *title, size_t *ret);

/* table_head - the title of a column in a width, with a mark if rows are sorted by it. Return: @ret. */
#define TABLE_HEAD_SIZE 64
const char *table_head(const struct table *table, size_t column, int columns, bool unicode, char *ret);

/* table_places - positions of the columns for a width, at most TABLE_COLUMNS. */
void table_places(const struct table *table, int columns, struct column_place *ret);

/*
 * table_begin_row - read a row whose cells are drawn next; faster than one by one
 * @columns:  1 << column, at least those that are drawn
 */
void table_begin_row(struct table *table, size_t row, uint64_t columns);

/*
 * table_cell - the text of a cell, borrowed until the next call
 * @row:      of the screen, below table->row_count
 * @columns:  of the cell
 */
const char *table_cell(struct table *table, size_t row, size_t column, int columns, enum role *ret_role);

/*
 * table_match - find a text of the filter in the text of a cell; not what a regular expression matches
 * @ret_len:  bytes of the match
 * Return: its first byte, or NULL.
 */
const char *table_match(const struct table *table, const char *text, size_t *ret_len);

/*
 * table_id - identity of a row of the screen
 * table_find - the row with an identity, or row_count. O(rows).
 */
struct table_id table_id(const struct table *table, size_t row);
size_t table_find(const struct table *table, struct table_id id);

/* table_tag - tag or untag a row of the screen. Return: 0 or ERR_NOMEM. table_untag_all. */
int table_tag(struct table *table, size_t row, struct error *err);
bool table_is_tagged(const struct table *table, struct table_id id);
void table_untag_all(struct table *table);

#endif
