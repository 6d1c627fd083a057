/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
#include "tui/screens/front_panel.h"

#include <stdlib.h>
#include <string.h>

#include "base/err.h"
#include "fabric/fabric.h"
#include "fabric/shape.h"
#include "tui/screens/app.h"
#include "tui/model/port_marks.h"

/* Longer labels are cut. */
#define LABEL_COLUMNS_MAX 12

static void drop_ports(struct front *front)
{
	free(front->ports);
	free(front->slots);
	front->ports = NULL;
	front->slots = NULL;
	front->count = 0;
}

void front_done(struct front *front)
{
	drop_ports(front);
	free(front->finding_of);
	boxes_done(&front->boxes);
}

const struct box *front_box(const struct front *front)
{
	size_t index = boxes_find(&front->boxes, front->box_guid);

	return index < front->boxes.count ? &front->boxes.all[index] : NULL;
}

void front_move_to(struct front *front, size_t index)
{
	const struct fabric *fabric;
	const struct port *port;

	front->cursor = index < front->count ? index : front->count ? front->count - 1 : 0;
	if (!front->count)
		return;
	fabric = front->boxes.table->snapshot->fabric;
	port = &fabric->ports[front->ports[front->cursor].port];
	front->node_guid = fabric->nodes[port->node].guid;
	front->port = port->num;
}

/* The cursor goes back to its port, or to the first one. */
static void find_cursor(struct front *front)
{
	const struct fabric *fabric = front->boxes.table->snapshot->fabric;
	size_t i;

	for (i = 0; i < front->count; i++) {
		const struct port *port = &fabric->ports[front->ports[i].port];

		if (fabric->nodes[port->node].guid == front->node_guid && (port->num == front->port || !front->port))
			break;
	}
	front_move_to(front, i < front->count ? i : 0);
}

static int place_ports(struct front *front, bool is_switch, struct error *err)
{
	const struct shape *shape = front->boxes.shape;
	struct panel_port *places = calloc(front->count + 1, sizeof(*places));
	size_t i;

	front->slots = calloc(front->count + 1, sizeof(*front->slots));
	if (!places || !front->slots) {
		free(places);
		return err_nomem(err);
	}
	front->label_columns = 1;
	for (i = 0; i < front->count; i++) {
		uint32_t port = front->ports[i].port;
		int columns = (int)strlen(front->ports[i].label);

		places[i].num = front->boxes.table->snapshot->fabric->ports[port].num;
		if (shape) {
			places[i].cage = shape->ports[port].cage;
			places[i].split = shape->ports[port].split;
		}
		if (columns > front->label_columns)
			front->label_columns = columns < LABEL_COLUMNS_MAX ? columns : LABEL_COLUMNS_MAX;
	}
	panel_slots(places, front->count, !is_switch, front->slots, &front->box);
	free(places);
	return 0;
}

static int load_ports(struct front *front, struct error *err)
{
	const struct box *box = front_box(front);
	long count;
	int code;

	drop_ports(front);
	if (!box)
		return 0;
	count = boxes_ports(&front->boxes, box, &front->ports, err);
	if (count < 0)
		return (int)count;
	front->count = (size_t)count;
	code = place_ports(front, front->boxes.table->snapshot->fabric->nodes[box->node].type == NODE_SWITCH, err);
	if (code < 0)
		drop_ports(front);
	else
		find_cursor(front);
	return code;
}

/* The list's cursor goes to the shown box, where it is in the list. */
static void find_row(struct front *front)
{
	size_t box = boxes_find(&front->boxes, front->box_guid), row = boxes_row(&front->boxes, box);

	list_fit(&front->list, front->boxes.row_count, front->list.height);
	if (row < front->boxes.row_count)
		list_move_to(&front->list, row);
}

int front_load(struct front *front, const struct app *app, struct error *err)
{
	int code = boxes_set(&front->boxes, &app->table, app->moment.shape, err);

	drop_ports(front);
	free(front->finding_of);
	front->finding_of = NULL;
	if (code < 0 || !app->table.snapshot)
		return code;
	front->finding_of = calloc(app->table.snapshot->fabric->port_count + 1, sizeof(*front->finding_of));
	if (!front->finding_of) {
		boxes_done(&front->boxes);
		return err_nomem(err);
	}
	marks_find(&app->moment, app->table.snapshot->fabric, front->finding_of);
	if (!front->box_guid && front->boxes.count)
		front->box_guid = app->table.snapshot->fabric->nodes[front->boxes.all[0].node].guid;
	find_row(front);
	return load_ports(front, err);
}

int front_choose(struct front *front, uint64_t node_guid, uint8_t port, struct error *err)
{
	if (boxes_find(&front->boxes, node_guid) == front->boxes.count)
		return 0;
	front->box_guid = front->node_guid = node_guid;
	front->port = port;
	front->first = 0;
	find_row(front);
	return load_ports(front, err);
}

int front_choose_row(struct front *front, size_t row, struct error *err)
{
	const struct fabric *fabric;

	if (!front->boxes.row_count)
		return 0;
	if (row >= front->boxes.row_count)
		row = front->boxes.row_count - 1;
	fabric = front->boxes.table->snapshot->fabric;
	return front_choose(front, fabric->nodes[front->boxes.all[front->boxes.rows[row]].node].guid, 0, err);
}

size_t front_port_at(const struct front *front, int y, int x)
{
	const struct rect *area = &front->parts.cells;
	size_t i;

	if (y < area->y || y >= area->y + area->rows || x < area->x || x >= area->x + area->columns)
		return front->count;
	for (i = 0; i < front->count; i++) {
		struct rect cell = panel_cell(&front->plan, &front->slots[i]);
		int top = area->y + cell.y - front->first, left = area->x + cell.x;

		if (y >= top && y < top + cell.rows && x >= left && x < left + cell.columns)
			break;
	}
	return i;
}
