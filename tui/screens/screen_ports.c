/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* screen_ports.c - the front panel of a switch or host */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/err.h"
#include "fabric/fabric.h"
#include "fabric/shape.h"
#include "tui/draw/draw.h"
#include "tui/draw/key.h"
#include "tui/draw/prompt.h"
#include "tui/draw/terminal.h"
#include "tui/model/context.h"
#include "tui/model/port_marks.h"
#include "tui/model/port_table.h"
#include "tui/screens/app.h"
#include "tui/screens/front_panel.h"

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

static void front_panel_done(struct front_panel *panel)
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

static void front_panel_move_to(struct front_panel *panel, size_t index)
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

	panel->slots = calloc(panel->count + 1, sizeof(*panel->slots));
	if (!places || !panel->slots) {
		free(places);
		return err_nomem(err);
	}
	panel->label_columns = 1;
	for (size_t i = 0; i < panel->count; i++) {
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

/* Load the shown snapshot; box and port stay. Return: 0, or ERR_NOMEM: empty then. */
static int front_panel_load(struct front_panel *panel, const struct app *app, struct error *err)
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

/* Select a box by one of its nodes; no effect if unknown. @port: 0: the first one. */
static int front_panel_choose(struct front_panel *panel, uint64_t node_guid, uint8_t port, struct error *err)
{
	if (boxes_find(&panel->boxes, node_guid) == panel->boxes.count)
		return 0;
	panel->box_guid = panel->node_guid = node_guid;
	panel->port = port;
	panel->first = 0;
	find_row(panel);
	return load_ports(panel, err);
}

static int front_panel_choose_row(struct front_panel *panel, size_t row, struct error *err)
{
	const struct fabric *fabric;

	if (!panel->boxes.row_count)
		return 0;
	if (row >= panel->boxes.row_count)
		row = panel->boxes.row_count - 1;
	fabric = panel->boxes.table->snapshot->fabric;
	return front_panel_choose(panel, fabric->nodes[panel->boxes.all[panel->boxes.rows[row]].node].guid, 0, err);
}

/* The port at a screen position, or panel->count. */
static size_t front_panel_port_at(const struct front_panel *panel, int y, int x)
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

struct ports_screen {
	struct front_panel panel;
	uint64_t generation;   /* of app that the panel was built from; 0: none */
	struct subject wanted; /* to select after building */
	/*
	 * Position in the path from which another page was opened, and the subject there; 0: none.
	 */
	size_t left_at;
	struct subject left;
};

static void done(void *state)
{
	struct ports_screen *self = state;

	front_panel_done(&self->panel);
}

/* Going back along the path restores the cursor. */
static void save_position(struct ports_screen *self, const struct app *app)
{
	self->left_at = app->depth;
	self->left = *app_subject(app);
}

/* Rebuild for the shown snapshot, and select the requested port. */
static void prepare(struct ports_screen *self, struct app *app)
{
	struct error err = { 0 };
	int code = 0;

	if (self->generation != app->generation)
		code = front_panel_load(&self->panel, app, &err);
	self->generation = app->generation;
	if (code == 0 && self->wanted.kind != SUBJECT_NONE)
		code = front_panel_choose(&self->panel, self->wanted.node_guid, self->wanted.port, &err);
	self->wanted.kind = SUBJECT_NONE;
	if (code < 0)
		app_message(app, "%s", err.text);
}

static void opened(void *state, struct app *app, const struct subject *subject)
{
	struct ports_screen *self = state;
	bool came_back = self->left_at == app->depth && subject_equal(&self->left, subject);

	self->left_at = 0;
	if (came_back || subject->kind == SUBJECT_NONE || !subject->node_guid)
		return;
	self->wanted = *subject;
	/* Also if the box is not in the shown fabric: the title says so. */
	self->panel.box_guid = subject->node_guid;
	filter_set(&self->panel.boxes.filter, "");
	self->generation = 0;
}

static void draw(void *state, struct app *app, const struct rect *body)
{
	struct ports_screen *self = state;

	prepare(self, app);
	front_panel_draw(&self->panel, app, body);
}

static void draw_footer(void *state, struct app *app, const struct rect *footer)
{
	static const struct key_help keys[] = {
		{ "F1", "help" },	     { "Arrows", "port" },  { "PgUp PgDn", "switch" }, { "/", "find" },
		{ "v", "load errors state" }, { "Enter", "detail" }, { "q", "quit" },	       { NULL, NULL },
	};
	const struct ports_screen *self = state;
	const struct filter *filter = &self->panel.boxes.filter;
	const struct brush brush = { app->theme, 0 };
	char text[FILTER_SIZE + 200];

	if (!self->panel.typing && !filter->typed[0]) {
		footer_draw_keys(app, footer, keys);
		return;
	}
	snprintf(text, sizeof(text), "/%s%s  %zu of %zu  %s", filter->typed, self->panel.typing ? "_" : "",
		 self->panel.boxes.row_count, self->panel.boxes.count, filter->trouble);
	draw_cell(&brush, footer->y, footer->x, footer->columns, text, ALIGN_LEFT,
		  self->panel.typing && !filter->trouble[0] ? ROLE_STRONG : ROLE_WARNING);
}

static void show_error(struct app *app, int code, const struct error *err)
{
	if (code < 0)
		app_message(app, "%s", err->text);
}

static void choose_row(struct ports_screen *self, struct app *app, size_t row)
{
	struct error err = { 0 };

	show_error(app, front_panel_choose_row(&self->panel, row, &err), &err);
}

/* The filter changed: keep the shown box if it matches, else show the first match. */
static void apply_filter(struct ports_screen *self, struct app *app)
{
	struct front_panel *panel = &self->panel;
	size_t row;

	boxes_arrange(&panel->boxes);
	list_fit(&panel->list, panel->boxes.row_count, panel->list.height);
	row = boxes_row(&panel->boxes, boxes_find(&panel->boxes, panel->box_guid));
	if (row < panel->boxes.row_count)
		list_move_to(&panel->list, row);
	else
		choose_row(self, app, 0);
}

static bool box_key(struct ports_screen *self, struct app *app, int key)
{
	const struct list *list = &self->panel.list;

	if (key == KEY_SPECIAL(KEY_PPAGE) || key == KEY_CTRL('b'))
		choose_row(self, app, list->cursor ? list->cursor - 1 : 0);
	else if (key == KEY_SPECIAL(KEY_NPAGE) || key == KEY_CTRL('f'))
		choose_row(self, app, list->cursor + 1);
	else
		return false;
	return true;
}

static bool typed_key(struct ports_screen *self, struct app *app, int key)
{
	struct front_panel *panel = &self->panel;

	if (filter_key(&panel->boxes.filter, &panel->typing, key)) {
		apply_filter(self, app);
		return true;
	}
	if (key == KEY_SPECIAL(KEY_UP) || key == KEY_SPECIAL(KEY_DOWN))
		key = key == KEY_SPECIAL(KEY_UP) ? KEY_SPECIAL(KEY_PPAGE) : KEY_SPECIAL(KEY_NPAGE);
	return box_key(self, app, key) || (key != KEY_SPECIAL(KEY_F(1)) && key != KEY_SPECIAL(KEY_F(10)));
}

static bool move_key(struct front_panel *panel, int key)
{
	static const struct { int key, dy, dx; } steps[] = {
		{ KEY_SPECIAL(KEY_UP), -1, 0 }, { KEY_SPECIAL(KEY_DOWN), 1, 0 }, { KEY_SPECIAL(KEY_LEFT), 0, -1 },
		{ KEY_SPECIAL(KEY_RIGHT), 0, 1 }, { 'k', -1, 0 }, { 'j', 1, 0 },
	};

	if (key == KEY_SPECIAL(KEY_HOME) || key == 'g' || key == KEY_SPECIAL(KEY_END) || key == 'G') {
		front_panel_move_to(panel, key == KEY_SPECIAL(KEY_HOME) || key == 'g' ? 0 : panel->count);
		return true;
	}
	for (size_t i = 0; i < sizeof(steps) / sizeof(steps[0]); i++) {
		if (steps[i].key != key)
			continue;
		/* Positions are unknown before the first frame. */
		if (panel->count && panel->plan.bank_columns)
			front_panel_move_to(panel, panel_move(&panel->plan, panel->slots, panel->count, panel->cursor,
							steps[i].dy, steps[i].dx));
		return true;
	}
	return false;
}

static bool key(void *state, struct app *app, int pressed)
{
	struct ports_screen *self = state;
	struct front_panel *panel = &self->panel;

	prepare(self, app);
	if (panel->typing)
		return typed_key(self, app, pressed);
	switch (pressed) {
	case '/':
	case '\\':
	case KEY_SPECIAL(KEY_F(3)):
	case KEY_SPECIAL(KEY_F(4)):
		panel->typing = true;
		return true;
	case KEY_ESCAPE:
		if (!panel->boxes.filter.typed[0])
			return false;
		filter_set(&panel->boxes.filter, "");
		apply_filter(self, app);
		return true;
	case 'v':
		panel->view = (panel->view + 1) % PANEL_VIEW_COUNT;
		return true;
	case '\r':
		save_position(self, app);
		return false;
	default:
		return box_key(self, app, pressed) || move_key(panel, pressed);
	}
}

static void subject(void *state, const struct app *app, struct subject *ret)
{
	const struct ports_screen *self = state;
	const struct front_panel *panel = &self->panel;

	if (self->generation != app->generation || !panel->count)
		return;
	*ret = (struct subject){ .kind = SUBJECT_PORT, .node_guid = panel->node_guid, .port = panel->port };
}

static bool mouse(void *state, struct app *app, const struct mouse *mouse)
{
	struct ports_screen *self = state;
	struct front_panel *panel = &self->panel;
	size_t port;
	int line;

	prepare(self, app);
	line = mouse->y - panel->parts.list.y - 1;
	port = front_panel_port_at(panel, mouse->y, mouse->x);
	if (mouse->wheel) {
		box_key(self, app, mouse->wheel < 0 ? KEY_SPECIAL(KEY_PPAGE) : KEY_SPECIAL(KEY_NPAGE));
	} else if (port < panel->count) {
		front_panel_move_to(panel, port);
		panel->typing = false;
		return true;
	} else if (panel->parts.list.rows && mouse->x < panel->parts.list.x + panel->parts.list.columns && line >= 0 &&
		   panel->list.first + (size_t)line < panel->boxes.row_count) {
		choose_row(self, app, panel->list.first + (size_t)line);
	}
	return false;
}

static const struct key_help help[] = {
	{ "Arrows", "select a port by its place on the front; Home End: first, last" },
	{ "PgUp PgDn", "previous, next switch or host: leaves, then upper tiers, then hosts" },
	{ "/ F3 F4", "find a switch or host by part of a name or regular expression; Esc: all" },
	{ "v", "cell contents: load of the busier direction, errors, or state" },
	{ "Enter", "details of the port" },
	{ "! e < ", "marks: open finding, errors, width or speed below built" },
	{ "x ? - . L i", "in small cells: down, silent, idle, unused, locked, init" },
	{ "6.2", "cage 6, second port, as labelled on the switch; else the port number" },
	{ NULL, NULL },
};

static const char *const views[] = { "load", "errors", "state", NULL }; /* by enum panel_view */

static const struct setting settings[] = {
	{ "view", SETTING_CHOICE, offsetof(struct ports_screen, panel.view), views },
	{ NULL, SETTING_FLAG, 0, NULL },
};

const struct screen screen_ports = {
	.name = "Ports",
	.size = sizeof(struct ports_screen),
	.done = done,
	.opened = opened,
	.draw = draw,
	.draw_footer = draw_footer,
	.key = key,
	.mouse = mouse,
	.subject = subject,
	.help = help,
	.settings = settings,
};
