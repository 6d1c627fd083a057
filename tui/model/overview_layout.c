/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
#include "tui/model/overview_layout.h"

#include <string.h>

#include "tui/model/layout.h"

enum part { PART_PROBLEMS, PART_CHANGES, PART_GROUPS };

/* Steps in order: a part grows to this number of items. */
static const struct { enum part part; size_t at_most; } plan_steps[] = {
	{ PART_PROBLEMS, 1 }, { PART_CHANGES, 1 }, { PART_GROUPS, 2 }, { PART_PROBLEMS, 3 }, { PART_GROUPS, 5 },
	{ PART_CHANGES, 3 }, { PART_PROBLEMS, 6 }, { PART_GROUPS, 9 }, { PART_PROBLEMS, 12 }, { PART_CHANGES, 8 },
	{ PART_GROUPS, SIZE_MAX }, { PART_PROBLEMS, SIZE_MAX }, { PART_CHANGES, SIZE_MAX },
};

enum { LINES_LEAST = 2, LINES_MOST = 5 };

/* Rows of @count items of a part; the first group also needs the head. */
static int rows_of(enum part part, size_t count)
{
	switch (part) {
	case PART_PROBLEMS:
		return (int)count * LINES_LEAST;
	case PART_GROUPS:
		return count ? (int)count + 1 : 0;
	default:
		return (int)count;
	}
}

static void grow(enum part part, size_t wanted, size_t *count, int *left)
{
	while (*count < wanted) {
		int more = rows_of(part, *count + 1) - rows_of(part, *count);

		if (more > *left)
			return;
		*left -= more;
		(*count)++;
	}
}

void overview_plan(const struct overview_contents *ask, struct overview_plan *ret)
{
	size_t have[] = { ask->problems, ask->changes, ask->groups }, count[3] = { 0 };
	/* The head, and the line for no problems. */
	int left = ask->rows - 1 - (ask->problems ? 0 : 1), lines = LINES_LEAST, y = 1;

	*ret = (struct overview_plan){ 0 };
	/* "none" also needs a line. */
	if (!have[PART_CHANGES])
		have[PART_CHANGES] = 1;
	for (size_t i = 0; i < sizeof(plan_steps) / sizeof(plan_steps[0]); i++) {
		enum part part = plan_steps[i].part;

		grow(part, plan_steps[i].at_most < have[part] ? plan_steps[i].at_most : have[part], &count[part],
		     &left);
	}
	/* More lines per problem only if nothing else has to shrink. */
	while (lines < LINES_MOST && count[PART_PROBLEMS] == ask->problems && ask->problems &&
	       (size_t)left >= ask->problems) {
		lines++;
		left -= (int)ask->problems;
	}
	ret->problem_lines = lines;
	ret->problems = y;
	ret->problems_rows = ask->problems ? (int)count[PART_PROBLEMS] * lines : 1;
	y += ret->problems_rows;
	ret->changes = y;
	ret->changes_rows = (int)count[PART_CHANGES];
	y += ret->changes_rows;
	ret->groups_head = y;
	ret->groups_head_rows = count[PART_GROUPS] ? 1 : 0;
	y += ret->groups_head_rows;
	ret->groups = y;
	ret->groups_rows = (int)count[PART_GROUPS];
}

static const struct { const char *title; bool right; } group_titles[GROUP_COLUMN_COUNT] = {
	[GROUP_COLUMN_NAME] = { "GROUPS", false },
	[GROUP_COLUMN_PORTS] = { "PORTS", true },
	[GROUP_COLUMN_RATE] = { "TX", true },
	[GROUP_COLUMN_MEAN] = { "MEAN", true },
	[GROUP_COLUMN_MIN] = { "MIN", true },
	[GROUP_COLUMN_MAX] = { "MAX", true },
	[GROUP_COLUMN_HISTOGRAM] = { "0 ... 100%", false },
	[GROUP_COLUMN_STALL] = { "XmitWait%", true },
	[GROUP_COLUMN_ERRORS] = { "ERRORS", true },
	[GROUP_COLUMN_SILENT] = { "SILENT", true },
	[GROUP_COLUMN_STATE] = { "STATE", false },
	[GROUP_COLUMN_HOTTEST] = { "TOP TX", false },
};

const char *group_column_title(enum group_column column, bool *ret_right)
{
	*ret_right = group_titles[column].right;
	return group_titles[column].title;
}

/* Steps are applied in order if there is room: a column appears or grows. */
static const struct { enum group_column column; int columns; } column_steps[] = {
	{ GROUP_COLUMN_NAME, 14 }, { GROUP_COLUMN_MEAN, 4 }, { GROUP_COLUMN_MAX, 4 }, { GROUP_COLUMN_STATE, 7 },
	{ GROUP_COLUMN_PORTS, 5 }, { GROUP_COLUMN_HISTOGRAM, 10 }, { GROUP_COLUMN_STALL, 9 }, { GROUP_COLUMN_MIN, 4 },
	{ GROUP_COLUMN_ERRORS, 6 }, { GROUP_COLUMN_SILENT, 6 }, { GROUP_COLUMN_NAME, 20 }, { GROUP_COLUMN_STATE, 12 },
	{ GROUP_COLUMN_PORTS, 6 }, { GROUP_COLUMN_RATE, 10 }, { GROUP_COLUMN_HOTTEST, 17 },
	{ GROUP_COLUMN_STATE, 22 }, { GROUP_COLUMN_HOTTEST, 40 }, { GROUP_COLUMN_NAME, 40 },
};

void overview_columns(int columns, int name_columns, struct column_place *ret)
{
	int left = columns, x = 0;

	memset(ret, 0, GROUP_COLUMN_COUNT * sizeof(*ret));
	/* The mark of the cursor. */
	left--;
	x++;
	for (size_t i = 0; i < sizeof(column_steps) / sizeof(column_steps[0]); i++) {
		struct column_place *place = &ret[column_steps[i].column];
		int gap = !place->columns && left < columns - 1 ? 1 : 0, wanted = column_steps[i].columns, more;

		if (column_steps[i].column == GROUP_COLUMN_NAME && wanted > name_columns && name_columns > 5)
			wanted = name_columns;
		more = wanted - place->columns;
		if (more <= 0 || more + gap > left)
			continue;
		place->columns += more;
		left -= more + gap;
	}
	for (size_t i = 0; i < GROUP_COLUMN_COUNT; i++) {
		ret[i].x = x;
		if (ret[i].columns)
			x += ret[i].columns + 1;
	}
}

void overview_problem_places(int columns, struct problem_places *ret)
{
	enum { MARK = 1, SEVERITY = 4, SINCE = 6, CAUSE_FROM = 60, CAUSE = 15, CAUSE_WIDE = 20 };
	int end = columns < OVERVIEW_PROBLEM_COLUMNS ? columns : OVERVIEW_PROBLEM_COLUMNS;

	*ret = (struct problem_places){ .severity_columns = SEVERITY, .subject = MARK + SEVERITY + 1 };
	if (columns >= CAUSE_FROM) {
		ret->cause_columns = columns >= 100 ? CAUSE_WIDE : CAUSE;
		ret->cause = end - ret->cause_columns;
		end = ret->cause - 1;
	}
	ret->since_columns = SINCE;
	ret->since = end - SINCE;
	ret->subject_columns = ret->since - 1 - ret->subject;
}
