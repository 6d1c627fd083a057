/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * panel.h - the front of a box: where each of its ports stands on a screen of a given size
 *
 * Pure functions. A port has a slot in the box: two rows in a switch, odd numbers
 * above and even ones below, or one row of a host's HCAs. Where a cage holds
 * two ports its number decides the row, and its ports stand side by side. Slots
 * that do not fit beside each other go on in a further bank below.
 */
#ifndef IBWIRE_TUI_MODEL_PANEL_LAYOUT_H
#define IBWIRE_TUI_MODEL_PANEL_LAYOUT_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "tui/model/layout.h"

/* The parts of the screen; a part of 0 rows is not there. */
struct panel_parts {
	struct rect list;   /* of the boxes */
	struct rect title;  /* one line */
	struct rect cells;
	struct rect legend; /* one line */
	struct rect facts;  /* of the port under the cursor */
};

/* panel_parts - divide the body. */
void panel_parts(const struct rect *body, struct panel_parts *ret);

struct panel_port {
	uint8_t num;
	uint16_t cage, split; /* as struct shape_port has them */
};

struct panel_slot {
	int row, column;
};

/* How big the box is in slots. */
struct panel_box {
	int rows, columns;
	int per_cage; /* slots that stay together */
};

/*
 * panel_slots - where each port is in the box
 * @ports:      of @count, in order of number
 * @one_row:    beside each other, in their order
 * @ret_slots:  parallel to them; no two are equal
 */
void panel_slots(const struct panel_port *ports, size_t count, bool one_row, struct panel_slot *ret_slots,
		 struct panel_box *ret_box);

struct panel_plan {
	struct panel_box box;
	int cell_rows;      /* 1: number and a sign; 2: a value below; 3: the peer below that */
	int cell_columns;   /* a blank between neighbours among them, but in the least one */
	int bank_columns;   /* slots beside each other */
	int gap;            /* blank lines between banks */
	int lines;          /* of all banks: may be more than there is room for */
};

/*
 * panel_plan - the richest way to show all of a box at once; where there is none the barest, which is scrolled
 * @rows, @columns: of the room
 * @label_columns:  of the longest label
 */
void panel_plan(int rows, int columns, const struct panel_box *box, int label_columns, struct panel_plan *ret);

/* panel_cell - where a slot's cell is, counted from the upper left of all banks. */
struct rect panel_cell(const struct panel_plan *plan, const struct panel_slot *slot);

/* panel_scroll - the first line to be seen, so that a slot is. */
int panel_scroll(const struct panel_plan *plan, const struct panel_slot *slot, int first, int rows);

/*
 * panel_move - the slot that lies nearest in a direction on the screen
 * @dy, @dx:  one of them -1 or 1, the other 0
 * Return: an index into @slots; @from where there is none.
 */
size_t panel_move(const struct panel_plan *plan, const struct panel_slot *slots, size_t count, size_t from, int dy,
		  int dx);

#endif
