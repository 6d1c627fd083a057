/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
#include "tui/screens/front_panel.h"

#include <stdlib.h>
#include <string.h>

#include "base/err.h"
#include "fabric/fabric.h"
#include "fabric/shape.h"
#include "tui/model/context.h"
#include "tui/model/port_marks.h"
#include "tui/model/port_table.h"
#include "tui/screens/app.h"

/* Longer labels are cut. */
#define LABEL_COLUMNS_MAX 12

static void drop_ports(struct front_panel *panel)
{
	free(panel->ports);
	free(panel->slots);
	panel->ports = NULL;
	panel->slots = NULL;
	panel->count = 0;
}

void front_panel_done(struct front_panel *panel)
{
	drop_ports(panel);
	free(panel->finding_of);
	boxes_done(&panel->boxes);
}

const struct box *front_panel_box(const struct front_panel *panel)
{
	size_t index = boxes_find(&panel->boxes, panel->box_guid);

	return index < panel->boxes.count ? &panel->boxes.all[index] : NULL;
}

void front_panel_move_to(struct front_panel *panel, size_t index)
{
	const struct fabric *fabric;
	const struct port *port;

	panel->cursor = index < panel->count ? index : panel->count ? panel->count - 1 : 0;
	if (!panel->count)
		return;
	fabric = panel->boxes.table->snapshot->fabric;
	port = &fabric->ports[panel->ports[panel->cursor].port];
	panel->node_guid = fabric->nodes[port->node].guid;
	panel->port = port->num;
}

/* Restore the cursor to its port, or to the first one. */
static void find_cursor(struct front_panel *panel)
{
	const struct fabric *fabric = panel->boxes.table->snapshot->fabric;
	size_t i;

	for (i = 0; i < panel->count; i++) {
		const struct port *port = &fabric->ports[panel->ports[i].port];

		if (fabric->nodes[port->node].guid == panel->node_guid && (port->num == panel->port || !panel->port))
			break;
	}
	front_panel_move_to(panel, i < panel->count ? i : 0);
}

static int place_ports(struct front_panel *panel, bool is_switch, struct error *err)
{
	const struct shape *shape = panel->boxes.shape;
	struct panel_port *places = calloc(panel->count + 1, sizeof(*places));
	size_t i;

	panel->slots = calloc(panel->count + 1, sizeof(*panel->slots));
	if (!places || !panel->slots) {
		free(places);
		return err_nomem(err);
	}
	panel->label_columns = 1;
	for (i = 0; i < panel->count; i++) {
		uint32_t port = panel->ports[i].port;
		int columns = (int)strlen(panel->ports[i].label);

		places[i].num = panel->boxes.table->snapshot->fabric->ports[port].num;
		if (shape) {
			places[i].cage = shape->ports[port].cage;
			places[i].split = shape->ports[port].split;
		}
		if (columns > panel->label_columns)
			panel->label_columns = columns < LABEL_COLUMNS_MAX ? columns : LABEL_COLUMNS_MAX;
	}
	panel_slots(places, panel->count, !is_switch, panel->slots, &panel->box);
	free(places);
	return 0;
}

static int load_ports(struct front_panel *panel, struct error *err)
{
	const struct box *box = front_panel_box(panel);
	long count;
	int code;

	drop_ports(panel);
	if (!box)
		return 0;
	count = boxes_ports(&panel->boxes, box, &panel->ports, err);
	if (count < 0)
		return (int)count;
	panel->count = (size_t)count;
	code = place_ports(panel, panel->boxes.table->snapshot->fabric->nodes[box->node].type == NODE_SWITCH, err);
	if (code < 0)
		drop_ports(panel);
	else
		find_cursor(panel);
	return code;
}

/* Move the cursor of the list to the shown box, if it is in the list. */
static void find_row(struct front_panel *panel)
{
	size_t box = boxes_find(&panel->boxes, panel->box_guid), row = boxes_row(&panel->boxes, box);

	list_fit(&panel->list, panel->boxes.row_count, panel->list.height);
	if (row < panel->boxes.row_count)
		list_move_to(&panel->list, row);
}

int front_panel_load(struct front_panel *panel, const struct app *app, struct error *err)
{
	int code = boxes_set(&panel->boxes, app->table, app->context->shape, err);

	drop_ports(panel);
	free(panel->finding_of);
	panel->finding_of = NULL;
	if (code < 0 || !app->table->snapshot)
		return code;
	panel->finding_of = calloc(app->table->snapshot->fabric->port_count + 1, sizeof(*panel->finding_of));
	if (!panel->finding_of) {
		boxes_done(&panel->boxes);
		return err_nomem(err);
	}
	port_marks_find(app->context, app->table->snapshot->fabric, panel->finding_of);
	if (!panel->box_guid && panel->boxes.count)
		panel->box_guid = app->table->snapshot->fabric->nodes[panel->boxes.all[0].node].guid;
	find_row(panel);
	return load_ports(panel, err);
}

int front_panel_choose(struct front_panel *panel, uint64_t node_guid, uint8_t port, struct error *err)
{
	if (boxes_find(&panel->boxes, node_guid) == panel->boxes.count)
		return 0;
	panel->box_guid = panel->node_guid = node_guid;
	panel->port = port;
	panel->first = 0;
	find_row(panel);
	return load_ports(panel, err);
}

int front_panel_choose_row(struct front_panel *panel, size_t row, struct error *err)
{
	const struct fabric *fabric;

	if (!panel->boxes.row_count)
		return 0;
	if (row >= panel->boxes.row_count)
		row = panel->boxes.row_count - 1;
	fabric = panel->boxes.table->snapshot->fabric;
	return front_panel_choose(panel, fabric->nodes[panel->boxes.all[panel->boxes.rows[row]].node].guid, 0, err);
}

size_t front_panel_port_at(const struct front_panel *panel, int y, int x)
{
	const struct rect *area = &panel->parts.cells;
	size_t i;

	if (y < area->y || y >= area->y + area->rows || x < area->x || x >= area->x + area->columns)
		return panel->count;
	for (i = 0; i < panel->count; i++) {
		struct rect cell = panel_cell(&panel->plan, &panel->slots[i]);
		int top = area->y + cell.y - panel->first, left = area->x + cell.x;

		if (y >= top && y < top + cell.rows && x >= left && x < left + cell.columns)
			break;
	}
	return i;
}
