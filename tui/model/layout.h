/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * layout.h - positions on a terminal of a given size
 *
 * Pure functions, testable for all sizes. Coordinates start at 0 in the upper left corner.
 */
#ifndef IBWIRE_TUI_MODEL_LAYOUT_H
#define IBWIRE_TUI_MODEL_LAYOUT_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "tui/model/columns.h"

/* Smaller terminals get only a message. */
#define LAYOUT_MIN_COLUMNS 40
#define LAYOUT_MIN_ROWS 10

struct rect {
	int y, x, rows, columns;
};

/* The parts of every screen, from top to bottom; a part of 0 rows is omitted. */
struct frame {
	struct rect header; /* status and summary */
	struct rect tabs;   /* tabs and path */
	struct rect notice; /* one line, if there is a notice */
	struct rect body;   /* content of the screen */
	struct rect footer; /* keys or input */
};

/*
 * layout_frame - divide the terminal
 * @notice:  whether there is a notice
 * Return: false if the terminal is too small; @ret is zeroed then.
 */
bool layout_frame(int rows, int columns, bool notice, struct frame *ret);

/*
 * layout_segments - select the parts of a line that fit
 * @widths, @ranks: of @count parts; lower ranks are more important
 * @gap:           blank columns between parts
 * @ret_shown:     for each part whether it is shown, uncut
 */
void layout_segments(int columns, const int *widths, const int *ranks, size_t count, int gap, bool *ret_shown);

/*
 * layout_scroll - first visible row
 * @first:  the previous one; @cursor: must be visible; @rows: total; @height: visible
 * Return: the row nearest to @first that shows the cursor and leaves no line empty.
 */
size_t layout_scroll(size_t first, size_t cursor, size_t rows, int height);

/*
 * The Overview screen: problems come first and shrink last; below them changes, the plot of a large
 * terminal, groups, and the map beside the busiest links and hosts.
 */

struct overview_contents {
	int rows;
	size_t problems; /* including acknowledged ones */
	size_t changes, groups;
	size_t top;      /* rows of the busiest links and hosts; 0: neither they nor the plot are shown */
};

/* overview_is_large - whether a body has room for the plot, the map and the busiest links. */
bool overview_is_large(const struct rect *body);

/* Rows from the top of the body. A part of 0 rows is omitted. */
struct overview_plan {
	int problems, problems_rows;      /* problem_lines for each, or 1 if there are none */
	int problem_lines;                /* 2: with evidence; 3 to 5: with action, hosts, more evidence */
	int changes, changes_rows;
	int plot, plot_rows;              /* with its head and its time axis */
	int groups_head, groups_head_rows;
	int groups, groups_rows;
	int top, top_rows;                /* with their head */
};

/* overview_plan - divide a body of at least 6 rows. */
void overview_plan(const struct overview_contents *contents, struct overview_plan *ret);

/* The columns of the groups, in their order on the screen. */
enum group_column {
	GROUP_COLUMN_NAME,
	GROUP_COLUMN_PORTS,
	GROUP_COLUMN_RATE,
	GROUP_COLUMN_MEAN,
	GROUP_COLUMN_MIN,
	GROUP_COLUMN_MAX,
	GROUP_COLUMN_HISTOGRAM,
	GROUP_COLUMN_STALL,
	GROUP_COLUMN_ERRORS,
	GROUP_COLUMN_SILENT,
	GROUP_COLUMN_STATE,
	GROUP_COLUMN_HOTTEST,
	GROUP_COLUMN_COUNT,
};

/* group_column_title, and whether its cells are right-aligned */
const char *group_column_title(enum group_column column, bool *ret_right);

/*
 * overview_columns - columns of the groups table
 * @name_columns:  of the longest name
 * @ret:           GROUP_COLUMN_COUNT places, in order of x, one blank apart
 */
void overview_columns(int columns, int name_columns, struct column_place *ret);

/* Parts of a problem's first line; columns is 0 if not shown. */
struct problem_places {
	int severity_columns; /* from x 1, behind the mark of the cursor */
	int subject, subject_columns;
	int since, since_columns;
	int cause, cause_columns;
};
#define OVERVIEW_PROBLEM_COLUMNS 150 /* on a wider terminal its parts would be too far from each other */
void overview_problem_places(int columns, struct problem_places *ret);

#endif
