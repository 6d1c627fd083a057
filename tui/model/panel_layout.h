/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * panel_layout.h - positions of ports on a front panel for a given terminal size
 *
 * Pure functions. Each port has a slot: a switch has two rows, odd numbers above and even ones
 * below; a host has one row of HCAs. Two ports of a cage are adjacent, in the row given by the cage
 * number. Slots that do not fit in a line continue in another bank below.
 */
#ifndef IBWIRE_TUI_MODEL_PANEL_LAYOUT_H
#define IBWIRE_TUI_MODEL_PANEL_LAYOUT_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "tui/model/layout.h"

/* The parts of the screen; a part of 0 rows is omitted. */
struct panel_parts {
	struct rect list;   /* of the boxes */
	struct rect title;  /* one line */
	struct rect cells;
	struct rect legend; /* one line */
	struct rect facts;  /* of the selected port */
};

/* panel_parts - divide the body. */
void panel_parts(const struct rect *body, struct panel_parts *ret);

struct panel_port {
	uint8_t num;
	uint16_t cage, split; /* as in struct shape_port */
};

struct panel_slot {
	int row, column;
};

/* Size of the front panel in slots. */
struct panel_box {
	int rows, columns;
	int per_cage; /* adjacent slots */
};

/*
 * panel_slots - slot of each port
 * @ports:      of @count, in order of number
 * @one_row:    all in one row, in order
 * @ret_slots:  parallel to @ports, all different
 */
void panel_slots(const struct panel_port *ports, size_t count, bool one_row, struct panel_slot *ret_slots,
		 struct panel_box *ret_box);

struct panel_plan {
	struct panel_box box;
	int cell_rows;      /* 1: number and mark; 2: also a value; 3: also the peer */
	int cell_columns;   /* including a blank between neighbours, except in the smallest cell */
	int bank_columns;   /* slots per line */
	int gap;            /* blank lines between banks */
	int lines;          /* of all banks; may exceed the visible lines */
};

/*
 * panel_plan - most detailed layout that shows all slots, else the smallest one, which scrolls
 * @rows, @columns: available
 * @label_columns:  of the longest label
 */
void panel_plan(int rows, int columns, const struct panel_box *box, int label_columns, struct panel_plan *ret);

/* panel_cell - position of a slot's cell relative to the first bank. */
struct rect panel_cell(const struct panel_plan *plan, const struct panel_slot *slot);

/* panel_scroll - first visible line that shows a slot. */
int panel_scroll(const struct panel_plan *plan, const struct panel_slot *slot, int first, int rows);

/*
 * panel_move - nearest slot in a direction
 * @dy, @dx:  one is -1 or 1, the other 0
 * Return: an index into @slots; @from if there is none.
 */
size_t panel_move(const struct panel_plan *plan, const struct panel_slot *slots, size_t count, size_t from, int dy,
		  int dx);

#endif
