/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
#include "tui/model/layout.h"

#include <string.h>

#include "facts/port_facts.h"

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

const struct column_info *column_info(enum column column)
{
	static const struct column_info infos[COLUMN_COUNT] = {
		[COLUMN_TAG] = { "TAG", "", "tagged with T or Insert", false },
		[COLUMN_FINDING] = { "FINDING", "FIND", "worst open finding of the link", false },
		[COLUMN_PORT] = { "PORT", "PORT", "end nearer to the hosts (x: the other end): node/port", false },
		[COLUMN_PEER] = { HEADING_PEER, HEADING_PEER, "port at the other end of the cable", false },
		[COLUMN_STATUS] = { HEADING_STATUS, HEADING_STATUS, "status of the worse end: ok, idle, silent, ...",
				    false },
		[COLUMN_STATE] = { HEADING_STATE, HEADING_STATE,
				   "logical and physical state of PORT (PortInfo)", false },
		[COLUMN_LINK] = { HEADING_LINK, HEADING_LINK,
				  "width and speed; !: below enabled or built value", false },
		[COLUMN_LOAD] = { "LOAD", "LOAD", "utilization of the busier direction", true },
		[COLUMN_XMIT] = { HEADING_TX, "TXb/s", "bits per second from PORT to PEER", true },
		[COLUMN_XMIT_PERCENT] = { HEADING_TX_PERCENT, HEADING_TX_PERCENT,
					  "the same in % of the link's data rate", true },
		[COLUMN_XMIT_BAR] = { "TX LOAD", "TX", "the same as a bar", false },
		[COLUMN_RCV] = { HEADING_RX, "RXb/s", "bits per second from PEER to PORT", true },
		[COLUMN_RCV_PERCENT] = { HEADING_RX_PERCENT, HEADING_RX_PERCENT,
					  "the same in % of the link's data rate", true },
		[COLUMN_RCV_BAR] = { "RX LOAD", "RX", "the same as a bar", false },
		[COLUMN_SPARK] = { "LAST SWEEPS", "LAST", "LOAD in the last sweeps, the newest at the right", false },
		[COLUMN_XMIT_PACKETS] = { "TXpkt/s", "TXpkt/s", "packets per second sent by PORT", true },
		[COLUMN_RCV_PACKETS] = { "RXpkt/s", "RXpkt/s", "packets per second received by PORT", true },
		[COLUMN_STALL] = { "TXWait%", "TXWt%",
				   "time waiting for credits, estimated from XmitWait", true },
		[COLUMN_STALL_BACK] = { "RXWait%", "RXWt%", "the same for PEER", true },
		[COLUMN_WAIT] = { "TXWAIT/s", "TXw/s", "XmitWait ticks per second of PORT", true },
		[COLUMN_WAIT_BACK] = { "RXWAIT/s", "RXw/s", "the same for PEER", true },
		[COLUMN_ERRORS] = { HEADING_ERRORS, "ERR", "errors of PORT / PEER since the time in the header", true },
		[COLUMN_WHICH_ERRORS] = { "WHICH ERRORS", "WHICH", "error counters that increased", false },
		[COLUMN_AGE] = { HEADING_AGE, HEADING_AGE, "age of the link's newest reading", true },
		[COLUMN_LID] = { HEADING_LID, HEADING_LID, "LID at which PORT is polled", true },
		[COLUMN_GUID] = { "NODE GUID", "GUID", "node GUID of PORT", false },
	};

	return &infos[column];
}

bool column_by_title(const char *title, enum column *ret)
{
	for (int column = 0; column < COLUMN_COUNT; column++)
		if (!strcmp(column_info((enum column)column)->title, title)) {
			*ret = (enum column)column;
			return true;
		}
	return false;
}

bool column_can_hide(enum column column)
{
	/* Not the identity of a row, and marks that appear only if needed. */
	return column != COLUMN_PORT && column != COLUMN_TAG && column != COLUMN_FINDING;
}

/* Widths that come from the data. */
enum { AS_PORT = -1, AS_PEER = -2, AS_LINK = -3, AS_TAG = -4, AS_FINDING = -5, AS_KIND = -6 };

/*
 * Steps are applied in order if there is room: a column appears or grows to a width. Names and bars
 * may also grow by less.
 */
struct layout_step {
	int8_t column;
	int16_t columns; /* or one of AS_* */
	int16_t at_most; /* of AS_*; 0: no limit */
};

static const struct layout_step steps[] = {
	/* Minimum for every width. */
	{ COLUMN_PORT, 12, 0 },
	{ COLUMN_STATUS, 6, 0 },
	{ COLUMN_XMIT, 6, 0 },
	{ COLUMN_RCV, 6, 0 },
	{ COLUMN_ERRORS, 4, 0 },
	{ COLUMN_FINDING, AS_FINDING, 0 },
	{ COLUMN_TAG, AS_TAG, 0 },
	{ COLUMN_PEER, 10, 0 },
	{ COLUMN_XMIT_PERCENT, 4, 0 },
	{ COLUMN_RCV_PERCENT, 4, 0 },
	{ COLUMN_LINK, AS_LINK, 14 },
	{ COLUMN_PORT, AS_PORT, 16 },
	{ COLUMN_PEER, AS_PEER, 13 },
	{ COLUMN_LOAD, 5, 0 },
	{ COLUMN_AGE, 3, 0 },
	{ COLUMN_PORT, AS_PORT, 17 },
	{ COLUMN_PEER, AS_PEER, 17 },
	/* Up to a terminal of about 120 columns: full words and numbers. */
	{ COLUMN_XMIT_BAR, 4, 0 },
	{ COLUMN_RCV_BAR, 4, 0 },
	{ COLUMN_XMIT, 10, 0 },
	{ COLUMN_RCV, 10, 0 },
	{ COLUMN_PORT, AS_PORT, 24 },
	{ COLUMN_PEER, AS_PEER, 24 },
	{ COLUMN_STATUS, 11, 0 },
	{ COLUMN_XMIT_BAR, 9, 0 },
	{ COLUMN_RCV_BAR, 9, 0 },
	{ COLUMN_ERRORS, 7, 0 },
	/* Wider: additional columns. */
	{ COLUMN_STALL, 7, 0 },
	{ COLUMN_STALL_BACK, 7, 0 },
	{ COLUMN_FINDING, AS_KIND, 0 },
	{ COLUMN_SPARK, 20, 0 },
	{ COLUMN_ERRORS, 9, 0 },
	{ COLUMN_WHICH_ERRORS, 16, 0 },
	{ COLUMN_WAIT, 6, 0 },
	{ COLUMN_WAIT_BACK, 6, 0 },
	{ COLUMN_PORT, AS_PORT, 32 },
	{ COLUMN_PEER, AS_PEER, 32 },
	{ COLUMN_XMIT_PACKETS, 7, 0 },
	{ COLUMN_RCV_PACKETS, 7, 0 },
	{ COLUMN_LID, 5, 0 },
	{ COLUMN_STATE, 15, 0 },
	{ COLUMN_WHICH_ERRORS, 24, 0 },
	{ COLUMN_GUID, 18, 0 },
	{ COLUMN_XMIT_BAR, 16, 0 },
	{ COLUMN_RCV_BAR, 16, 0 },
	{ COLUMN_PORT, AS_PORT, 0 },
	{ COLUMN_PEER, AS_PEER, 0 },
	{ COLUMN_SPARK, 60, 0 },
	{ COLUMN_WHICH_ERRORS, 400, 0 },
};

static bool is_elastic(int column)
{
	return column == COLUMN_PORT || column == COLUMN_PEER || column == COLUMN_XMIT_BAR ||
	       column == COLUMN_RCV_BAR || column == COLUMN_SPARK || column == COLUMN_WHICH_ERRORS ||
	       column == COLUMN_FINDING;
}

static int wanted(const struct layout_step *step, const int *data_columns)
{
	int columns = step->columns >= 0 ? step->columns : data_columns[-step->columns - 1];

	return step->at_most && columns > step->at_most ? step->at_most : columns;
}

static bool is_hidden(const struct column_needs *needs, enum column column)
{
	return needs->hidden & 1u << column && column_can_hide(column);
}

/*
 * Let a column appear, or grow to a width, if there is room. @elastic: it may also grow by less.
 * @columns: of the table; @left: of these, not used yet
 */
static void grow_column(struct column_place *place, int width, bool elastic, int columns, int *left)
{
	int gap = !place->columns && *left < columns, more = width - place->columns;

	if (elastic && place->columns && more > *left)
		more = *left;
	if (more <= 0 || more + gap > *left)
		return;
	place->columns += more;
	*left -= more + gap;
}

/* @order: or NULL */
static void set_positions(struct column_place *places, const uint8_t *order, size_t count, int x)
{
	for (size_t i = 0; i < count; i++) {
		struct column_place *place = &places[order ? order[i] : i];

		place->x = x;
		x += place->columns ? place->columns + 1 : 0;
	}
}

void layout_columns(int columns, const struct column_needs *needs, struct column_place *ret)
{
	const int data_columns[] = {
		needs->port_columns, needs->peer_columns, needs->link_columns < 5 ? 5 : needs->link_columns,
		needs->tags ? 1 : 0, needs->findings ? 4 : 0, needs->findings ? 22 : 0,
	};
	int left = columns;

	memset(ret, 0, COLUMN_COUNT * sizeof(*ret));
	for (size_t i = 0; i < sizeof(steps) / sizeof(steps[0]); i++)
		if (!is_hidden(needs, (enum column)steps[i].column))
			grow_column(&ret[steps[i].column], wanted(&steps[i], data_columns),
				    is_elastic(steps[i].column), columns, &left);
	/* Both bars are equally long, for comparison. */
	if (ret[COLUMN_XMIT_BAR].columns && ret[COLUMN_RCV_BAR].columns)
		ret[COLUMN_XMIT_BAR].columns = ret[COLUMN_RCV_BAR].columns =
			(ret[COLUMN_XMIT_BAR].columns + ret[COLUMN_RCV_BAR].columns) / 2;
	set_positions(ret, needs->order, COLUMN_COUNT, 0);
}

static int position_of(const uint8_t *order, enum column column)
{
	int at = 0;

	while (order[at] != column)
		at++;
	return at;
}

enum column layout_neighbour(const uint8_t *order, const struct column_place *places, enum column column, int step)
{
	int at = position_of(order, column);

	for (int tries = 0; tries < COLUMN_COUNT; tries++) {
		at = (at + step + COLUMN_COUNT) % COLUMN_COUNT;
		if (places[order[at]].columns)
			break;
	}
	return (enum column)order[at];
}

bool layout_move(uint8_t *order, const struct column_place *places, enum column column, int step)
{
	int from = position_of(order, column);
	int to = position_of(order, layout_neighbour(order, places, column, step));

	if (to == from || (to > from) != (step > 0))
		return false;
	for (; from != to; from += step)
		order[from] = order[from + step];
	order[to] = (uint8_t)column;
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

enum part { PART_PROBLEMS, PART_CHANGES, PART_GROUPS };

/* Steps in order: a part grows to this number of items. */
static const struct { enum part part; size_t at_most; } plan_steps[] = {
	{ PART_PROBLEMS, 1 }, { PART_CHANGES, 1 }, { PART_GROUPS, 2 }, { PART_PROBLEMS, 3 }, { PART_GROUPS, 5 },
	{ PART_CHANGES, 3 }, { PART_PROBLEMS, 6 }, { PART_GROUPS, 9 }, { PART_PROBLEMS, 12 }, { PART_CHANGES, 8 },
	{ PART_GROUPS, SIZE_MAX }, { PART_PROBLEMS, SIZE_MAX }, { PART_CHANGES, SIZE_MAX },
};

enum { LINES_LEAST = 2, LINES_MOST = 5, LARGE_ROWS = 24, LARGE_COLUMNS = 100, PLOT_LEAST = 6, TOP_LEAST = 6 };

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
static const struct { enum group_column column; int columns; } column_steps[] = {
	{ GROUP_COLUMN_NAME, 14 }, { GROUP_COLUMN_MEAN, 4 }, { GROUP_COLUMN_MAX, 4 }, { GROUP_COLUMN_STATE, 7 },
	{ GROUP_COLUMN_PORTS, 5 }, { GROUP_COLUMN_HISTOGRAM, 10 }, { GROUP_COLUMN_STALL, 9 }, { GROUP_COLUMN_MIN, 4 },
	{ GROUP_COLUMN_ERRORS, 6 }, { GROUP_COLUMN_SILENT, 6 }, { GROUP_COLUMN_NAME, 20 }, { GROUP_COLUMN_STATE, 12 },
	{ GROUP_COLUMN_PORTS, 6 }, { GROUP_COLUMN_RATE, 10 }, { GROUP_COLUMN_HOTTEST, 17 },
	{ GROUP_COLUMN_STATE, 22 }, { GROUP_COLUMN_HOTTEST, 40 }, { GROUP_COLUMN_NAME, 40 },
};

void overview_columns(int columns, int name_columns, struct column_place *ret)
{
	/* The mark of the cursor has the first column. */
	int left = columns - 1;

	memset(ret, 0, GROUP_COLUMN_COUNT * sizeof(*ret));
	for (size_t i = 0; i < sizeof(column_steps) / sizeof(column_steps[0]); i++) {
		int width = column_steps[i].columns;

		if (column_steps[i].column == GROUP_COLUMN_NAME && width > name_columns && name_columns > 5)
			width = name_columns;
		grow_column(&ret[column_steps[i].column], width, false, columns - 1, &left);
	}
	set_positions(ret, NULL, GROUP_COLUMN_COUNT, 1);
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
