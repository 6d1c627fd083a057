/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* front.h - the front of one box, chosen among all: what the screen of ports shows, and how it is drawn */
#ifndef IBWIRE_TUI_SCREENS_FRONT_PANEL_H
#define IBWIRE_TUI_SCREENS_FRONT_PANEL_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "tui/model/boxes.h"
#include "tui/draw/list.h"
#include "tui/model/panel_layout.h"

struct app;
struct error;
struct subject;

/* What the cells' values and colours say. */
enum front_view { FRONT_LOAD, FRONT_ERRORS, FRONT_STATE, FRONT_VIEW_COUNT };

struct front {
	struct boxes boxes;
	struct list list;         /* the boxes' rows; its cursor is the shown one, where that passes the filter */
	uint64_t box_guid;        /* a node of the shown box; 0: not chosen yet */
	struct box_port *ports;   /* of the shown box */
	struct panel_slot *slots; /* parallel to them */
	size_t count;
	struct panel_box box;
	int label_columns;
	size_t cursor;            /* of ports */
	uint64_t node_guid;       /* of the port under it */
	uint8_t port;
	uint32_t *finding_of;     /* marks_find() */
	enum front_view view;
	bool typing;              /* a name to look for */
	struct panel_parts parts; /* of the last drawing, as is all below */
	struct panel_plan plan;
	int first;                /* line of the cells that is seen first */
};

void front_done(struct front *front);

/* front_load - what is shown now; the box and the port stay. Return: 0, or ERR_NOMEM: nothing is shown then. */
int front_load(struct front *front, const struct app *app, struct error *err);

/* front_choose - another box, by a node of it; unknown ones change nothing. @port: 0: the first one. */
int front_choose(struct front *front, uint64_t node_guid, uint8_t port, struct error *err);

/* front_choose_row - the box of a row of the list. */
int front_choose_row(struct front *front, size_t row, struct error *err);

/* front_move_to - the cursor stands on this port of the box. */
void front_move_to(struct front *front, size_t index);

/* front_port_at - the port whose cell is at a place of the screen, or front->count. */
size_t front_port_at(const struct front *front, int y, int x);

/* front_box - the shown one, or NULL. */
const struct box *front_box(const struct front *front);

/* front_draw - list, panel and facts. In front_draw.c. */
void front_draw(struct front *front, const struct app *app, const struct rect *body);

#endif
