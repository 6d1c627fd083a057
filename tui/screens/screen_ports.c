/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* screen_ports.c - the front panel of a switch or host */
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

static void done(void *state)
{
	struct front_panel *panel = state;

	drop_ports(panel);
	boxes_done(&panel->boxes);
}

const struct box *front_panel_box(const struct front_panel *panel)
{
	size_t index = boxes_find(&panel->boxes, panel->box_guid);

	return index < panel->boxes.count ? &panel->boxes.all[index] : NULL;
}

static void move_to(struct front_panel *panel, size_t index)
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
	move_to(panel, i < panel->count ? i : 0);
}

/* Place the ports on the front. Return: false: out of memory. */
static bool place_ports(struct front_panel *panel, bool is_switch)
{
	const struct shape *shape = panel->boxes.shape;
	struct panel_port *places = calloc(panel->count + 1, sizeof(*places));

	panel->slots = calloc(panel->count + 1, sizeof(*panel->slots));
	panel->label_columns = 1;
	for (size_t i = 0; places && panel->slots && i < panel->count; i++) {
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
	if (places && panel->slots)
		panel_slots(places, panel->count, !is_switch, panel->slots, &panel->box);
	free(places);
	return places && panel->slots;
}

/* Load the ports of the shown box; none without memory. */
static void load_ports(struct front_panel *panel, struct app *app)
{
	const struct box *box = front_panel_box(panel);
	struct error err = { 0 };
	long count;

	drop_ports(panel);
	if (!box)
		return;
	count = boxes_ports(&panel->boxes, box, &panel->ports, &err);
	panel->count = count < 0 ? 0 : (size_t)count;
	if (count >= 0 && !place_ports(panel, app->table->snapshot->fabric->nodes[box->node].type == NODE_SWITCH)) {
		drop_ports(panel);
		err_nomem(&err);
	}
	if (err.code)
		app_message(app, "%s", err.text);
	else
		find_cursor(panel);
}

/* Move the cursor of the list to the shown box. Return: whether it is in the list. */
static bool find_row(struct front_panel *panel)
{
	size_t row = boxes_row(&panel->boxes, boxes_find(&panel->boxes, panel->box_guid));

	list_fit(&panel->list, panel->boxes.row_count, panel->list.height);
	if (row >= panel->boxes.row_count)
		return false;
	list_move_to(&panel->list, row);
	return true;
}

/* Load the shown snapshot; box and port stay. Nothing is shown without memory. */
static void load(struct front_panel *panel, struct app *app)
{
	const struct fabric *fabric = app->table->snapshot->fabric;
	struct error err = { 0 };

	drop_ports(panel);
	panel->boxes.finding_of = app->context->finding_of;
	panel->boxes.findings = app->context->findings;
	if (boxes_set(&panel->boxes, app->table, app->context->shape, &err) < 0) {
		boxes_done(&panel->boxes);
		app_message(app, "not enough memory for the front panels");
		return;
	}
	if (!panel->box_guid && panel->boxes.count)
		panel->box_guid = fabric->nodes[panel->boxes.all[0].node].guid;
	find_row(panel);
	load_ports(panel, app);
}

/* Select a box by one of its nodes; no effect if unknown. @port: 0: the first one. */
static void choose(struct front_panel *panel, struct app *app, uint64_t node_guid, uint8_t port)
{
	if (boxes_find(&panel->boxes, node_guid) == panel->boxes.count)
		return;
	panel->box_guid = panel->node_guid = node_guid;
	panel->port = port;
	panel->first = 0;
	find_row(panel);
	load_ports(panel, app);
}

static void choose_row(struct front_panel *panel, struct app *app, size_t row)
{
	const struct boxes *boxes = &panel->boxes;

	if (row >= boxes->row_count)
		row = boxes->row_count - 1;
	if (boxes->row_count)
		choose(panel, app, boxes->table->snapshot->fabric->nodes[boxes->all[boxes->rows[row]].node].guid, 0);
}

/* The port at a screen position, or panel->count. */
static size_t port_at(const struct front_panel *panel, int y, int x)
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

/* Rebuild for the shown snapshot, and select the requested port. */
static void prepare(struct front_panel *panel, struct app *app)
{
	if (panel->generation != app->generation)
		load(panel, app);
	panel->generation = app->generation;
	if (panel->wanted.kind != SUBJECT_NONE)
		choose(panel, app, panel->wanted.node_guid, panel->wanted.port);
	panel->wanted.kind = SUBJECT_NONE;
}

static void opened(void *state, struct app *app, const struct subject *subject)
{
	struct front_panel *panel = state;
	bool came_back = panel->left_at == app->depth && subject_equal(&panel->left, subject);

	panel->left_at = 0;
	if (came_back || subject->kind == SUBJECT_NONE || !subject->node_guid)
		return;
	panel->wanted = *subject;
	/* Also if the box is not in the shown fabric: the title says so. */
	panel->box_guid = subject->node_guid;
	filter_set(&panel->boxes.filter, "");
	panel->generation = 0;
}

static void draw(void *state, struct app *app, const struct rect *body)
{
	struct front_panel *panel = state;

	prepare(panel, app);
	front_panel_draw(panel, app, body);
}

static void draw_footer(void *state, struct app *app, const struct rect *footer)
{
	static const struct key_help keys[] = {
		{ "?", "help" },	     { "Arrows", "port" },  { "PgUp PgDn", "switch" }, { "/", "find" },
		{ "v", "load errors state" }, { "Enter", "detail" }, { "q", "quit" },	       { NULL, NULL },
	};
	const struct front_panel *panel = state;
	const struct filter *filter = &panel->boxes.filter;
	const struct brush brush = { app->theme, 0 };

	if (!panel->typing && !filter->typed[0]) {
		footer_draw_keys(app, footer, keys);
		return;
	}
	draw_line(&brush, footer, 0, panel->typing && !filter->trouble[0] ? ROLE_STRONG : ROLE_WARNING,
		  "/%s%s  %zu of %zu  %s", filter->typed, panel->typing ? "_" : "", panel->boxes.row_count,
		  panel->boxes.count, filter->trouble);
}

/* The filter changed: keep the shown box if it matches, else show the first match. */
static void apply_filter(struct front_panel *panel, struct app *app)
{
	panel->boxes.finding_of = app->context->finding_of;
	panel->boxes.findings = app->context->findings;
	boxes_arrange(&panel->boxes);
	if (!find_row(panel))
		choose_row(panel, app, 0);
}

static bool box_key(struct front_panel *panel, struct app *app, int key)
{
	const struct list *list = &panel->list;

	if (key == KEY_SPECIAL(KEY_PPAGE))
		choose_row(panel, app, list->cursor ? list->cursor - 1 : 0);
	else if (key == KEY_SPECIAL(KEY_NPAGE))
		choose_row(panel, app, list->cursor + 1);
	else
		return false;
	return true;
}

static bool typed_key(struct front_panel *panel, struct app *app, int key)
{
	if (filter_key(&panel->boxes.filter, &panel->typing, key)) {
		apply_filter(panel, app);
		return true;
	}
	key = key_motion(key);
	if (key == KEY_SPECIAL(KEY_UP) || key == KEY_SPECIAL(KEY_DOWN))
		key = key == KEY_SPECIAL(KEY_UP) ? KEY_SPECIAL(KEY_PPAGE) : KEY_SPECIAL(KEY_NPAGE);
	return box_key(panel, app, key) || (key != KEY_SPECIAL(KEY_F(1)) && key != KEY_SPECIAL(KEY_F(10)));
}

/* Move the cursor to the neighbour in a direction. */
static bool move_by(struct front_panel *panel, int dy, int dx)
{
	/* Positions are unknown before the first frame. */
	if (panel->count && panel->plan.bank_columns)
		move_to(panel, panel_move(&panel->plan, panel->slots, panel->count, panel->cursor, dy, dx));
	return true;
}

static bool move_key(struct front_panel *panel, int key)
{
	switch (key) {
	case KEY_SPECIAL(KEY_UP):
		return move_by(panel, -1, 0);
	case KEY_SPECIAL(KEY_DOWN):
		return move_by(panel, 1, 0);
	case KEY_SPECIAL(KEY_LEFT):
		return move_by(panel, 0, -1);
	case KEY_SPECIAL(KEY_RIGHT):
		return move_by(panel, 0, 1);
	case KEY_SPECIAL(KEY_HOME):
	case KEY_SPECIAL(KEY_END):
		move_to(panel, key == KEY_SPECIAL(KEY_HOME) ? 0 : panel->count);
		return true;
	default:
		return false;
	}
}

static bool key(void *state, struct app *app, int pressed)
{
	struct front_panel *panel = state;

	prepare(panel, app);
	if (panel->typing)
		return typed_key(panel, app, pressed);
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
		apply_filter(panel, app);
		return true;
	case 'v':
		panel->view = (panel->view + 1) % PANEL_VIEW_COUNT;
		return true;
	case '\r':
		/* Going back along the path restores the cursor. */
		panel->left_at = app->depth;
		panel->left = *app_subject(app);
		return false;
	default:
		return box_key(panel, app, key_motion(pressed)) || move_key(panel, key_motion(pressed));
	}
}

static void subject(void *state, const struct app *app, struct subject *ret)
{
	const struct front_panel *panel = state;

	if (panel->generation != app->generation || !panel->count)
		return;
	*ret = (struct subject){ .kind = SUBJECT_PORT, .node_guid = panel->node_guid, .port = panel->port };
}

static bool mouse(void *state, struct app *app, const struct mouse *mouse)
{
	struct front_panel *panel = state;
	size_t port;
	int line;

	prepare(panel, app);
	line = mouse->y - panel->parts.list.y - 1;
	port = port_at(panel, mouse->y, mouse->x);
	if (mouse->wheel) {
		box_key(panel, app, mouse->wheel < 0 ? KEY_SPECIAL(KEY_PPAGE) : KEY_SPECIAL(KEY_NPAGE));
	} else if (port < panel->count) {
		move_to(panel, port);
		panel->typing = false;
		return true;
	} else if (panel->parts.list.rows && mouse->x < panel->parts.list.x + panel->parts.list.columns && line >= 0 &&
		   panel->list.first + (size_t)line < panel->boxes.row_count) {
		choose_row(panel, app, panel->list.first + (size_t)line);
	}
	return false;
}

static const struct key_help help[] = {
	{ "Arrows", "select a port by its place on the front; Home End: first, last" },
	{ "PgUp PgDn", "previous, next switch or host: leaves, then upper tiers, then hosts" },
	{ "/ F3 F4", "find a switch or host by part of a name or regular expression; Esc: all" },
	{ "  state:down", "by a key of its ports: see FILTER KEYS below" },
	{ "v", "cell contents: load of the busier direction, errors, or state" },
	{ "Enter", "details of the port" },
	{ "! e < ", "marks: open finding, errors, width or speed below built" },
	{ "x ? - . L i", "in small cells: down, silent, idle, unused, locked, init" },
	{ "6.2", "cage 6, second port, as labelled on the switch; else the port number" },
	{ NULL, NULL },
};

static const char *const views[] = { "load", "errors", "state", NULL }; /* by enum panel_view */

static const struct setting settings[] = {
	{ "ports.view", SETTING_CHOICE, offsetof(struct front_panel, view), views },
	{ NULL, SETTING_FLAG, 0, NULL },
};

const struct screen screen_ports = {
	.name = "Ports",
	.size = sizeof(struct front_panel),
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
