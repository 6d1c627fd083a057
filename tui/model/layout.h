/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * layout.h - what stands where on a terminal of a given size
 *
 * Pure functions of a size, so that a test can try every size. Coordinates
 * count from 0 at the upper left.
 */
#ifndef IBWIRE_TUI_MODEL_LAYOUT_H
#define IBWIRE_TUI_MODEL_LAYOUT_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* Below this the screen says only that it is too small. */
#define LAYOUT_MIN_COLUMNS 40
#define LAYOUT_MIN_ROWS 10

struct rect {
	int y, x, rows, columns;
};

/* The parts that every screen has, top to bottom; a part of 0 rows is not there. */
struct frame {
	struct rect header; /* the fabric in a few lines */
	struct rect tabs;   /* the screens, and the way to this one */
	struct rect notice; /* one line when something has to be told */
	struct rect body;   /* the screen's own */
	struct rect footer; /* keys, or what is being typed */
};

/*
 * layout_frame - divide the terminal
 * @notice:  is there something to tell?
 * Return: false where the terminal is below the least size; @ret is all zero then.
 */
bool layout_frame(int rows, int columns, bool notice, struct frame *ret);

/* The columns of the table of links, in their order on the screen. */
enum column {
	COLUMN_TAG,
	COLUMN_FINDING,
	COLUMN_PORT,
	COLUMN_PEER,
	COLUMN_STATUS,
	COLUMN_STATE,
	COLUMN_LINK,
	COLUMN_LOAD,
	COLUMN_XMIT,
	COLUMN_XMIT_PERCENT,
	COLUMN_XMIT_BAR,
	COLUMN_RCV,
	COLUMN_RCV_PERCENT,
	COLUMN_RCV_BAR,
	COLUMN_XMIT_PACKETS,
	COLUMN_RCV_PACKETS,
	COLUMN_STALL,
	COLUMN_STALL_BACK,
	COLUMN_WAIT,
	COLUMN_WAIT_BACK,
	COLUMN_ERRORS,
	COLUMN_WHICH_ERRORS,
	COLUMN_AGE,
	COLUMN_LID,
	COLUMN_GUID,
	COLUMN_COUNT,
};

struct column_info {
	const char *title;   /* where there is room, with the unit where the cell has none */
	const char *narrow;  /* title where there is little */
	const char *meaning; /* one line for the help */
	bool right;          /* its cells are right-aligned */
};

/* column_info - constant. */
const struct column_info *column_info(enum column column);

/* column_by_title - Return: whether there is one of that title. */
bool column_by_title(const char *title, enum column *ret);

/* column_can_hide - can one do without it? */
bool column_can_hide(enum column column);

/* Where a column stands; columns is 0 where it is not shown. */
struct column_place {
	int x, columns;
};

/* What the rows need. */
struct column_needs {
	int port_columns, peer_columns, link_columns; /* of the longest texts in these columns */
	bool findings, tags; /* is there any? Else these columns take no room */
	uint32_t hidden;     /* 1 << column: not wanted */
};

/*
 * layout_columns - which columns a width has room for, and how wide
 * @columns:  of the table
 * @ret:      COLUMN_COUNT places, in order of x, one blank column between
 *            neighbours, all inside the table
 */
void layout_columns(int columns, const struct column_needs *needs, struct column_place *ret);

/*
 * layout_segments - which parts of a line are shown where not all fit
 * @widths, @ranks: of @count parts; the lower the rank the more important
 * @gap:           blank columns between parts
 * @ret_shown:     for each part whether it is shown; the most important ones
 *                 that fit, none cut
 */
void layout_segments(int columns, const int *widths, const int *ranks, size_t count, int gap, bool *ret_shown);

/*
 * layout_scroll - which row is the first to be seen
 * @first:  that was the first; @cursor: row that has to be seen; @rows: there
 *          are; @height: that fit
 * Return: the nearest to @first that shows the cursor and wastes no line.
 */
size_t layout_scroll(size_t first, size_t cursor, size_t rows, int height);

#endif
