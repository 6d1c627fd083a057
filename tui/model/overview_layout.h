/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * overview_layout.h - layout of the Overview screen
 *
 * Pure functions of sizes. Problems come first and shrink last; below them changes, then groups.
 */
#ifndef IBWIRE_TUI_MODEL_OVERVIEW_LAYOUT_H
#define IBWIRE_TUI_MODEL_OVERVIEW_LAYOUT_H

#include <stdbool.h>
#include <stddef.h>

struct overview_contents {
	int rows;
	size_t problems; /* including acknowledged ones */
	size_t changes, groups;
};

/* Rows from the top of the body. A part of 0 rows is omitted. */
struct overview_plan {
	int problems, problems_rows;      /* problem_lines for each, or 1 if there are none */
	int problem_lines;                /* 2: with evidence; 3 to 5: with action, hosts, more evidence */
	int changes, changes_rows;
	int groups_head, groups_head_rows;
	int groups, groups_rows;
};

/* overview_plan - divide a body of at least 6 rows. */
void overview_plan(const struct overview_contents *ask, struct overview_plan *ret);

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
struct column_place;
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
