/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
#include "tui/model/layout.h"

#include <string.h>

#include "view/port_view.h"

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
	{ COLUMN_XMIT_BAR, 4, 0 },
	{ COLUMN_RCV_BAR, 4, 0 },
	{ COLUMN_LINK, AS_LINK, 9 },
	{ COLUMN_PORT, AS_PORT, 16 },
	{ COLUMN_PEER, AS_PEER, 13 },
	{ COLUMN_LOAD, 5, 0 },
	{ COLUMN_AGE, 3, 0 },
	{ COLUMN_PORT, AS_PORT, 17 },
	{ COLUMN_PEER, AS_PEER, 17 },
	/* Up to a terminal of about 120 columns: full words and numbers. */
	{ COLUMN_XMIT_PERCENT, 4, 0 },
	{ COLUMN_RCV_PERCENT, 4, 0 },
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
	{ COLUMN_WAIT, 6, 0 },
	{ COLUMN_WAIT_BACK, 6, 0 },
	{ COLUMN_ERRORS, 9, 0 },
	{ COLUMN_WHICH_ERRORS, 16, 0 },
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
	{ COLUMN_WHICH_ERRORS, 400, 0 },
};

static bool is_elastic(int column)
{
	return column == COLUMN_PORT || column == COLUMN_PEER || column == COLUMN_XMIT_BAR ||
	       column == COLUMN_RCV_BAR || column == COLUMN_WHICH_ERRORS || column == COLUMN_FINDING;
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

void layout_columns(int columns, const struct column_needs *needs, struct column_place *ret)
{
	/* A degraded link has a mark behind width and speed. */
	const int data_columns[] = {
		needs->port_columns, needs->peer_columns, needs->link_columns < 4 ? 5 : needs->link_columns + 1,
		needs->tags ? 1 : 0, needs->findings ? 4 : 0, needs->findings ? 22 : 0,
	};
	int left = columns, x = 0;

	memset(ret, 0, COLUMN_COUNT * sizeof(*ret));
	for (size_t i = 0; i < sizeof(steps) / sizeof(steps[0]); i++) {
		struct column_place *place = &ret[steps[i].column];
		int gap = !place->columns && left < columns ? 1 : 0;
		int more = wanted(&steps[i], data_columns) - place->columns;

		if (more <= 0 || is_hidden(needs, (enum column)steps[i].column))
			continue;
		if (more + gap > left) {
			if (!place->columns || !is_elastic(steps[i].column))
				continue;
			more = left;
		}
		place->columns += more;
		left -= more + gap;
	}
	/* Both bars are equally long, for comparison. */
	if (ret[COLUMN_XMIT_BAR].columns && ret[COLUMN_RCV_BAR].columns)
		ret[COLUMN_XMIT_BAR].columns = ret[COLUMN_RCV_BAR].columns =
			(ret[COLUMN_XMIT_BAR].columns + ret[COLUMN_RCV_BAR].columns) / 2;
	for (size_t i = 0; i < COLUMN_COUNT; i++) {
		ret[i].x = x;
		if (ret[i].columns)
			x += ret[i].columns + 1;
	}
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
