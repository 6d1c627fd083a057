/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
#include "tui/model/layout.h"

#include <string.h>

bool layout_frame(int rows, int columns, bool notice, struct frame *ret)
{
	int header = rows >= 30 ? 3 : rows >= 14 ? 2 : 1, tabs = rows >= 12;
	int y = 0;

	memset(ret, 0, sizeof(*ret));
	if (rows < LAYOUT_MIN_ROWS || columns < LAYOUT_MIN_COLUMNS)
		return false;
	ret->header = (struct rect){ y, 0, header, columns };
	y += header;
	ret->tabs = (struct rect){ y, 0, tabs, columns };
	y += tabs;
	ret->notice = (struct rect){ y, 0, notice ? 1 : 0, columns };
	y += ret->notice.rows;
	ret->body = (struct rect){ y, 0, rows - y - 1, columns };
	ret->footer = (struct rect){ rows - 1, 0, 1, columns };
	return true;
}

void layout_segments(int columns, const int *widths, const int *ranks, size_t count, int gap, bool *ret_shown)
{
	int left = columns, last = 0;

	for (size_t i = 0; i < count; i++) {
		ret_shown[i] = false;
		if (ranks[i] > last)
			last = ranks[i];
	}
	for (int rank = 0; rank <= last; rank++)
		for (size_t i = 0; i < count; i++) {
			int need = widths[i] + (left < columns ? gap : 0);

			if (ranks[i] != rank || !widths[i] || need > left)
				continue;
			ret_shown[i] = true;
			left -= need;
		}
}

size_t layout_scroll(size_t first, size_t cursor, size_t rows, int height)
{
	size_t lines = height > 0 ? (size_t)height : 1;

	if (rows <= lines)
		return 0;
	if (first > rows - lines)
		first = rows - lines;
	if (cursor < first)
		first = cursor;
	if (cursor >= first + lines)
		first = cursor - lines + 1;
	return first;
}

enum part { PART_PROBLEMS, PART_CHANGES, PART_GROUPS, PART_ACTIONS };

/* Steps in order: a part grows to this number of items; actions, if all problems are listed and there is no plot. */
static const struct { enum part part; size_t at_most; } plan_steps[] = {
	{ PART_PROBLEMS, 1 }, { PART_CHANGES, 1 }, { PART_GROUPS, 2 }, { PART_PROBLEMS, 3 },
	{ PART_ACTIONS, 0 }, { PART_GROUPS, 5 }, { PART_CHANGES, 3 }, { PART_PROBLEMS, 6 }, { PART_GROUPS, 9 },
	{ PART_PROBLEMS, 12 }, { PART_CHANGES, 8 },
	{ PART_GROUPS, SIZE_MAX }, { PART_PROBLEMS, SIZE_MAX }, { PART_CHANGES, SIZE_MAX },
};

/* Lines of a problem: name and evidence; two of evidence and the action; the hosts. */
enum { LINES_LEAST = 2, LINES_ACTION = 4, LINES_MOST = 5 };
enum { LARGE_ROWS = 24, LARGE_COLUMNS = 80, PLOT_LEAST = 6, TOP_LEAST = 6 };

bool overview_is_large(const struct rect *body)
{
	return body->rows >= LARGE_ROWS && body->columns >= LARGE_COLUMNS;
}

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

void overview_plan(const struct overview_contents *contents, struct overview_plan *ret)
{
	size_t have[] = { contents->problems, contents->changes, contents->groups }, count[3] = { 0 };
	/* The head, and the line for no problems. */
	int left = contents->rows - 1 - (contents->problems ? 0 : 1), lines = LINES_LEAST, y = 1;

	*ret = (struct overview_plan){ 0 };
	if (contents->top) {
		ret->plot_rows = PLOT_LEAST;
		ret->top_rows = TOP_LEAST;
		left -= PLOT_LEAST + TOP_LEAST;
	}
	/* "none" also needs a line. */
	if (!have[PART_CHANGES])
		have[PART_CHANGES] = 1;
	for (size_t i = 0; i < sizeof(plan_steps) / sizeof(plan_steps[0]); i++) {
		enum part part = plan_steps[i].part;
		int more = (LINES_ACTION - lines) * (int)contents->problems;

		if (part == PART_ACTIONS) {
			if (contents->top || !contents->problems || more > left ||
			    count[PART_PROBLEMS] < contents->problems)
				continue;
			left -= more;
			lines = LINES_ACTION;
			continue;
		}
		grow(part, plan_steps[i].at_most < have[part] ? plan_steps[i].at_most : have[part], &count[part],
		     &left);
	}
	/* More lines per problem only if nothing else has to shrink. */
	while (lines < LINES_MOST && count[PART_PROBLEMS] == contents->problems && contents->problems &&
	       (size_t)left >= contents->problems) {
		lines++;
		left -= (int)contents->problems;
	}
	/* With a plot, the evidence comes before older changes, of which a single line lists the newest. */
	while (contents->top && lines < LINES_MOST - 1 && contents->problems &&
	       count[PART_PROBLEMS] == contents->problems && count[PART_CHANGES] > contents->problems) {
		lines++;
		count[PART_CHANGES] -= contents->problems;
	}
	/* The rest is for the busiest links, then for the plot. */
	while (contents->top && left-- > 0)
		(*((size_t)ret->top_rows <= contents->top ? &ret->top_rows : &ret->plot_rows))++;
	ret->problem_lines = lines;
	ret->problems = y;
	ret->problems_rows = contents->problems ? (int)count[PART_PROBLEMS] * lines : 1;
	y += ret->problems_rows;
	ret->changes = y;
	ret->changes_rows = (int)count[PART_CHANGES];
	y += ret->changes_rows;
	ret->plot = y;
	y += ret->plot_rows;
	ret->groups_head = y;
	ret->groups_head_rows = count[PART_GROUPS] ? 1 : 0;
	y += ret->groups_head_rows;
	ret->groups = y;
	ret->groups_rows = (int)count[PART_GROUPS];
	ret->top = y + ret->groups_rows;
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
static const struct column_step group_steps[] = {
	{ GROUP_COLUMN_NAME, COLUMN_WIDEST, 14 }, { GROUP_COLUMN_MEAN, 4, 0 }, { GROUP_COLUMN_MAX, 4, 0 },
	{ GROUP_COLUMN_STATE, 7, 0 }, { GROUP_COLUMN_PORTS, 5, 0 }, { GROUP_COLUMN_HISTOGRAM, 10, 0 },
	{ GROUP_COLUMN_STALL, 9, 0 }, { GROUP_COLUMN_MIN, 4, 0 }, { GROUP_COLUMN_ERRORS, 6, 0 },
	{ GROUP_COLUMN_SILENT, 6, 0 }, { GROUP_COLUMN_NAME, COLUMN_WIDEST, 20 }, { GROUP_COLUMN_STATE, 12, 0 },
	{ GROUP_COLUMN_PORTS, 6, 0 }, { GROUP_COLUMN_RATE, 10, 0 }, { GROUP_COLUMN_HOTTEST, 17, 0 },
	{ GROUP_COLUMN_STATE, 22, 0 }, { GROUP_COLUMN_HOTTEST, 40, 0 }, { GROUP_COLUMN_NAME, COLUMN_WIDEST, 40 },
};

void overview_columns(int columns, int name_columns, struct column_place *ret)
{
	int widest[GROUP_COLUMN_COUNT];
	const struct column_set set = { .count = GROUP_COLUMN_COUNT, .steps = group_steps, .widest = widest,
					.step_count = sizeof(group_steps) / sizeof(group_steps[0]) };

	for (int i = 0; i < GROUP_COLUMN_COUNT; i++)
		widest[i] = COLUMN_WIDEST;
	widest[GROUP_COLUMN_NAME] = name_columns > 5 ? name_columns : INT16_MAX;
	/* The mark of the cursor has the first column. */
	columns_fit(&set, columns - 1, ret);
	for (int i = 0; i < GROUP_COLUMN_COUNT; i++)
		ret[i].x++;
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
