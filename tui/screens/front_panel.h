/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* front_panel.h - state of the Ports screen (screen_ports.c), and its drawing */
#ifndef IBWIRE_TUI_SCREENS_FRONT_PANEL_H
#define IBWIRE_TUI_SCREENS_FRONT_PANEL_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "tui/model/boxes.h"
#include "tui/draw/list.h"
#include "tui/model/panel_layout.h"
#include "tui/model/subject.h"

struct app;

/* Contents of the cells. */
enum panel_view { PANEL_LOAD, PANEL_ERRORS, PANEL_STATE, PANEL_VIEW_COUNT };

struct front_panel {
	struct boxes boxes;
	struct list list;         /* rows of the boxes; the cursor is on the shown one if it matches the filter */
	uint64_t box_guid;        /* a node of the shown box; 0: none selected yet */
	struct box_port *ports;   /* of the shown box */
	struct panel_slot *slots; /* parallel to them */
	size_t count;
	struct panel_box box;
	int label_columns;
	size_t cursor;            /* index into ports */
	uint64_t node_guid;       /* of the selected port */
	uint8_t port;
	enum panel_view view;
	bool typing;              /* the filter is being edited */
	struct panel_parts parts; /* of the last frame, as the next two */
	struct panel_plan plan;
	int first;                /* first visible line of the cells */
	uint64_t generation;      /* of app that the panel was built from; 0: none */
	struct subject wanted;    /* to select after building */
	size_t left_at;           /* position in the path when another page was opened; 0: none */
	struct subject left;      /* the subject there */
};

/* front_panel_box - the shown box, or NULL. */
const struct box *front_panel_box(const struct front_panel *panel);

/* front_panel_draw - list, panel and facts. */
void front_panel_draw(struct front_panel *panel, const struct app *app, const struct rect *body);

#endif
