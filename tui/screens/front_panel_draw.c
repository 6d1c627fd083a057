/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
#include <limits.h>
#include <math.h>
#include <stdio.h>
#include <string.h>

#include "base/text.h"
#include "fabric/fabric.h"
#include "fabric/host.h"
#include "fabric/names.h"
#include "fabric/shape.h"
#include "tui/draw/draw.h"
#include "tui/model/context.h"
#include "tui/model/port_table.h"
#include "tui/screens/app.h"
#include "tui/screens/front_panel.h"
#include "tui/screens/links_view.h"
#include "facts/event_text.h"
#include "facts/link.h"
#include "facts/order.h"

/* What the cell of a port shows. */
struct face {
	const struct port_facts *facts;
	enum port_status status;
	enum port_mark mark;
	bool degraded, errors;
	struct measure percent; /* of the busier direction */
};

static struct face face_of(const struct app *app, uint32_t port)
{
	const struct port_facts *facts = &app->table->ports[port];

	return (struct face){
		.facts = facts, .mark = context_mark_at(app->context, port), .status = facts->status,
		.degraded = link_is_degraded(app->context->shape, port),
		.errors = facts_has_errors(facts->errors),
		.percent = facts->util,
	};
}

/* The most important mark, for cells with room for one. */
static const char *sign_of(const struct face *face, enum panel_view view, bool unicode, char ret[8])
{
	static const char *const signs[STATUS_COUNT] = {
		[STATUS_IDLE] = "-",       [STATUS_NEW] = "n",    [STATUS_MIRRORED] = "m",    [STATUS_UNPLANNED] = "u",
		[STATUS_UNFINISHED] = "u", [STATUS_INIT] = "i",   [STATUS_UNSUPPORTED] = "u", [STATUS_LOCKED] = "L",
		[STATUS_SILENT] = "?",     [STATUS_DOWN] = "x",
	};
	int eighths = isnan(face->percent.value) ? 0 : (int)(face->percent.value / 12.5);

	if (face->facts->unused)
		return ".";
	if (view == PANEL_ERRORS) {
		snprintf(ret, 8, "%s", isnan(face->facts->errors.value) ? "-" : "0");
		if (face->errors)
			snprintf(ret, 8, "%c", face->facts->errors.value > 9 ? '*' :
				 '0' + (int)face->facts->errors.value);
		return ret;
	}
	if (face->status != STATUS_OK && face->status != STATUS_IDLE)
		return signs[face->status];
	if (face->mark >= MARK_WARNING)
		return "!";
	if (face->errors)
		return "e";
	if (face->degraded)
		return "<";
	if (face->status == STATUS_IDLE)
		return signs[STATUS_IDLE];
	if (view == PANEL_STATE || measure_is_at_least(face->percent))
		return "+";
	if (eighths > 7)
		eighths = 7;
	snprintf(ret, 8, unicode ? "\xe2\x96%c" : "%c", unicode ? (char)(0x81 + eighths) : '1' + eighths);
	return ret;
}

static enum role value_role(const struct face *face, enum panel_view view)
{
	if (face->facts->unused)
		return ROLE_FAINT;
	if (view == PANEL_ERRORS)
		return face->errors ? ROLE_WARNING : ROLE_FAINT;
	if (face->status != STATUS_OK)
		return status_role(face->status);
	if (view == PANEL_LOAD)
		return role_of_load(face->percent.value);
	return face->degraded ? ROLE_WARNING : ROLE_TEXT;
}

static void write_value(const struct face *face, enum panel_view view, char *ret, size_t size)
{
	if (view == PANEL_ERRORS) {
		format_errors(face->facts->errors, 5, ret, size);
	} else if (face->facts->unused) {
		snprintf(ret, size, "unused");
	} else if (face->status != STATUS_OK) {
		snprintf(ret, size, "%s", port_status_name(face->status));
	} else if (view == PANEL_STATE) {
		snprintf(ret, size, "%s", face->degraded ? "degraded" : "ok");
	} else {
		format_percent(face->percent, ret, size);
	}
}

static enum role label_role(const struct face *face)
{
	if (face->mark >= MARK_WARNING)
		return mark_role(face->mark);
	return face->facts->unused ? ROLE_FAINT : ROLE_STRONG;
}

/* Marks in the first line of a cell, so that colour is not the only indication. */
static void draw_label(const struct brush *brush, const struct face *face, const char *label, int y, int x, int columns)
{
	char signs[8];
	int room;

	snprintf(signs, sizeof(signs), "%s%s%s", face->mark >= MARK_WARNING ? "!" : "", face->errors ? "e" : "",
		 face->degraded ? "<" : "");
	room = (int)strlen(signs);
	draw_cell(brush, y, x, columns - room, label, ALIGN_LEFT, label_role(face));
	draw_cell(brush, y, x + columns - room, room, signs, ALIGN_RIGHT, ROLE_WARNING);
}

static void draw_value(const struct front_panel *panel, const struct brush *brush, const struct face *face, int y,
		       int x, int columns)
{
	enum role role = value_role(face, panel->view);
	int bar = panel->view == PANEL_LOAD && face->status == STATUS_OK && columns >= 11 ? columns - 6 : 0;
	char value[32], text[CELL_SIZE];

	write_value(face, panel->view, value, sizeof(value));
	draw_cell(brush, y, x, columns - bar, value, ALIGN_LEFT, role);
	if (bar)
		draw_fitted(brush, y, x + columns - bar,
			    format_bar(face->percent, (unsigned)bar, brush->theme->unicode, text), role);
}

/* The peer that a port had until its link went down: of its finding, else of its events. "": unknown. */
static void write_former_peer(const struct app *app, uint32_t index, char *ret)
{
	const struct snapshot_context *context = app->context;
	const struct fabric *fabric = app->table->snapshot->fabric;
	const struct port *port = &fabric->ports[index];
	uint64_t guid = fabric->nodes[port->node].guid;
	char name[NODE_NAME_SIZE], own[PORT_NAME_SIZE];

	snprintf(own, sizeof(own), "%s/%u", fabric->nodes[port->node].name, port->num);
	for (size_t i = 0; i < context->finding_count; i++) {
		const struct finding_row *row = &context->findings[i];
		const struct finding *finding = &row->finding;
		bool here = finding->node_guid == guid && finding->port == port->num;

		if (finding->kind != FINDING_LINK_DOWN ||
		    (!here && (finding->peer_guid != guid || finding->peer_port != port->num)))
			continue;
		names_display(fabric, here ? row->peer : row->node, name);
		snprintf(ret, PORT_NAME_SIZE, "%.200s/%u (was)", name, here ? finding->peer_port : finding->port);
		return;
	}
	for (size_t i = 0; i < context->recent_event_count; i++) {
		const char *text = context->recent_events[i].text, *far = strstr(text, " - ");
		const char *end = far ? strrchr(far, ':') : NULL;
		bool here;

		/* "leaf01/12 - spine09/3: Active -> Down" */
		if (strcmp(context->recent_events[i].kind, "link-down") || !end)
			continue;
		here = strlen(own) == (size_t)(far - text) && !strncmp(text, own, strlen(own));
		far += strlen(" - ");
		if (!here && (strlen(own) != (size_t)(end - far) || strncmp(far, own, strlen(own))))
			continue;
		snprintf(name, sizeof(name), "%.*s", (int)(here ? end - far : far - text - 3), here ? far : text);
		snprintf(ret, PORT_NAME_SIZE, "%.250s (was)", event_text(fabric, name, own, sizeof(own)));
		return;
	}
}

/* The peer of a port; only the host name if the full name is too long. */
static void write_peer(const struct app *app, uint32_t port, int columns, char *ret)
{
	const struct fabric *fabric = app->table->snapshot->fabric;
	uint32_t peer = fabric->ports[port].peer;
	char host[NODE_NAME_SIZE];

	ret[0] = '\0';
	if (peer == FABRIC_NONE) {
		if (app->table->ports[port].status == STATUS_DOWN && !app->table->ports[port].unused)
			write_former_peer(app, port, ret);
		return;
	}
	order_port_name(&app->table->order, fabric, peer, ret);
	if ((int)text_columns(ret) > columns && host_name(&fabric->nodes[fabric->ports[peer].node], host))
		snprintf(ret, PORT_NAME_SIZE, "%s", host);
}

static void draw_port(const struct front_panel *panel, const struct app *app, size_t index)
{
	const struct rect *area = &panel->parts.cells;
	const struct box_port *port = &panel->ports[index];
	const struct rect place = panel_cell(&panel->plan, &panel->slots[index]);
	const struct face face = face_of(app, port->port);
	const struct brush brush = app_brush(app, index == panel->cursor);
	int y = area->y + place.y - panel->first, x = area->x + place.x, columns = place.columns - 1;
	char text[PORT_NAME_SIZE], sign[8];

	if (y < area->y || y + place.rows > area->y + area->rows)
		return;
	if (place.rows == 1) {
		draw_cell(&brush, y, x, panel->label_columns, port->label, ALIGN_RIGHT, label_role(&face));
		draw_cell(&brush, y, x + panel->label_columns, 1,
			  sign_of(&face, panel->view, app->theme->unicode, sign), ALIGN_LEFT,
			  value_role(&face, panel->view));
		return;
	}
	draw_label(&brush, &face, port->label, y, x, columns);
	draw_value(panel, &brush, &face, y + 1, x, columns);
	if (place.rows < 3)
		return;
	write_peer(app, port->port, columns, text);
	draw_cell(&brush, y + 2, x, columns, text, ALIGN_NAME, ROLE_FAINT);
}

/* The worst mark of all ports of a box. */
static enum port_mark box_mark(const struct app *app, const struct box *box)
{
	const struct shape_host *host = box->host == SHAPE_NONE ? NULL : &app->context->shape->hosts[box->host];
	enum port_mark worst = MARK_NONE;

	for (uint32_t i = 0; i < (host ? host->count : 1); i++) {
		uint32_t index = host ? app->context->shape->host_nodes[host->first + i] : box->node;
		const struct node *node = &app->table->snapshot->fabric->nodes[index];

		for (uint32_t port = node->first_port; port < node->first_port + node->ports; port++)
			if (context_mark_at(app->context, port) > worst)
				worst = context_mark_at(app->context, port);
	}
	return worst;
}

static void draw_list(struct front_panel *panel, const struct app *app)
{
	const struct brush plain = { app->theme, 0 };
	const struct rect *area = &panel->parts.list;
	const struct boxes *boxes = &panel->boxes;
	const struct box *shown = front_panel_box(panel);

	draw_line(&plain, area, 0, ROLE_HEAD, "SWITCHES, HOSTS");
	list_fit(&panel->list, boxes->row_count, area->rows - 1);
	for (int y = 0; y < area->rows - 1 && panel->list.first + (size_t)y < boxes->row_count; y++) {
		const struct box *box = &boxes->all[boxes->rows[panel->list.first + (size_t)y]];
		const struct brush brush = app_brush(app, box == shown);
		enum port_mark mark = box_mark(app, box);

		draw_cell(&brush, area->y + 1 + y, area->x, area->columns - 5, boxes_name(boxes, box), ALIGN_NAME,
			  ROLE_TEXT);
		draw_cell(&brush, area->y + 1 + y, area->x + area->columns - 5, 5, port_mark_name(mark), ALIGN_RIGHT,
			  mark_role(mark));
	}
	if (!boxes->row_count)
		draw_line(&plain, area, 1, ROLE_FAINT, "no match");
}

static void write_kind(const struct app *app, const struct box *box, char *ret, size_t size)
{
	const struct node *node = &app->table->snapshot->fabric->nodes[box->node];
	const struct shape *shape = app->context->shape;
	char tier[SHAPE_TIER_SIZE];

	if (node->type == NODE_SWITCH)
		snprintf(ret, size, "%s", shape_tier_name(shape ? shape->nodes[box->node].tier : 0, tier));
	else
		snprintf(ret, size, "%s%s", shape ? node_class_name(shape->nodes[box->node].class) : "node",
			 box->host == SHAPE_NONE ? "" : " host");
}

static void write_counts(const struct front_panel *panel, const struct app *app, char *ret, size_t size)
{
	size_t up = 0, down = 0, degraded = 0, silent = 0, errors = 0, len;

	for (size_t i = 0; i < panel->count; i++) {
		const struct face face = face_of(app, panel->ports[i].port);

		up += face.status != STATUS_DOWN;
		down += face.status == STATUS_DOWN && !face.facts->unused;
		degraded += face.degraded;
		silent += face.status == STATUS_SILENT;
		errors += face.errors;
	}
	len = (size_t)snprintf(ret, size, "%zu port%s: %zu up", panel->count, panel->count == 1 ? "" : "s", up);
	if (down)
		len += (size_t)snprintf(ret + len, size - len, ", %zu down", down);
	if (degraded)
		len += (size_t)snprintf(ret + len, size - len, ", %zu degraded", degraded);
	if (silent)
		len += (size_t)snprintf(ret + len, size - len, ", %zu silent", silent);
	if (errors)
		snprintf(ret + len, size - len, ", errors at %zu", errors);
}

static void draw_title(const struct front_panel *panel, const struct app *app)
{
	static const char *const views[] = { "load", "errors", "state" };
	const struct brush brush = app_brush(app, false);
	const struct rect *area = &panel->parts.title;
	const struct box *box = front_panel_box(panel);
	struct segments line = { 0 };
	char text[256];

	if (!box) {
		draw_line(&brush, area, 0, ROLE_WARNING, "not in the fabric at this time; PgUp PgDn: another node");
		return;
	}
	segment_add(&line, 0, ROLE_STRONG, "%.200s", boxes_name(&panel->boxes, box));
	write_kind(app, box, text, sizeof(text));
	segment_add(&line, 3, ROLE_FAINT, "%s", text);
	write_counts(panel, app, text, sizeof(text));
	segment_add(&line, 1, ROLE_TEXT, "%s", text);
	segment_add(&line, 2, ROLE_TEXT, "v: %s", views[panel->view]);
	segment_add(&line, 4, ROLE_FAINT, "%zu of %zu", panel->list.cursor + 1, panel->boxes.row_count);
	draw_segments(&brush, area->y, area->x, area->columns, &line);
}

static void draw_legend(const struct front_panel *panel, const struct app *app)
{
	static const struct { const char *text; int rank; } signs[] = {
		{ "! finding", 0 }, { "e errors", 1 }, { "< degraded", 2 }, { "x down", 3 }, { "? silent", 4 },
		{ "- idle", 5 }, { ". unused", 6 }, { "L locked", 8 }, { "i init", 9 },
	};
	const struct brush brush = { app->theme, 0 };
	const struct rect *area = &panel->parts.legend;
	/* Larger cells have words instead of the other signs. */
	size_t count = panel->plan.cell_rows > 1 ? 3 : sizeof(signs) / sizeof(signs[0]);
	struct segments line = { 0 };

	if (!area->rows)
		return;
	for (size_t i = 0; i < count; i++)
		segment_add(&line, signs[i].rank, ROLE_FAINT, "%s", signs[i].text);
	if (panel->plan.cell_rows == 1 && panel->view == PANEL_LOAD)
		segment_add(&line, 7, ROLE_FAINT, "%s load, + not exact",
			    app->theme->unicode ? "\xe2\x96\x81\xe2\x96\x84\xe2\x96\x88" : "1..8");
	draw_segments(&brush, area->y, area->x, area->columns, &line);
}

static void add_numbers(const struct app *app, const struct face *face, uint32_t port, struct segments *line)
{
	const struct port_facts *facts = face->facts;
	uint32_t peer = app->table->snapshot->fabric->ports[port].peer;
	enum role role = face->status == STATUS_OK ? role_of_load(face->percent.value) : ROLE_FAINT;
	char rate[32], percent[16], own[32], other[32] = "";

	segment_add(line, 1, role, "TX %s %s", format_rate(facts->xmit_bytes_per_s, 12, rate, sizeof(rate)),
		    format_percent(facts->xmit_percent, percent, sizeof(percent)));
	segment_add(line, 2, role, "RX %s %s", format_rate(facts->rcv_bytes_per_s, 12, rate, sizeof(rate)),
		    format_percent(facts->rcv_percent, percent, sizeof(percent)));
	format_errors(facts->errors, 8, own, sizeof(own));
	if (peer != FABRIC_NONE && !isnan(app->table->ports[peer].errors.value))
		format_errors(app->table->ports[peer].errors, 8, other, sizeof(other));
	segment_add(line, 3, face->errors ? ROLE_WARNING : ROLE_TEXT, "errors %s%s%s", own,
		    other[0] ? "/" : "", other);
	segment_add(line, 5, ROLE_FAINT, "XmitWait%% %s",
		    format_percent(facts->stall_percent, percent, sizeof(percent)));
}

static void draw_finding(const struct front_panel *panel, const struct app *app, const struct finding_row *row)
{
	const struct brush brush = app_brush(app, false);
	const struct rect *area = &panel->parts.facts;
	enum port_mark mark = port_mark_of(row);

	draw_line(&brush, area, area->rows - 1, mark_role(mark), "%s %s: %s", port_mark_name(mark),
		  finding_kind_name(row->finding.kind), row->finding.text);
}

static void draw_facts(const struct front_panel *panel, const struct app *app)
{
	const struct brush brush = app_brush(app, false);
	const struct rect *area = &panel->parts.facts;
	struct segments line = { 0 };
	char name[256] = "", peer[PORT_NAME_SIZE], link[LINK_TEXT_SIZE];
	struct face face;
	const struct finding_row *finding;
	uint32_t port;

	if (!panel->count)
		return;
	port = panel->ports[panel->cursor].port;
	face = face_of(app, port);
	write_peer(app, port, INT_MAX, peer);
	if (app->context->shape)
		shape_port_name(app->context->shape, port, name, sizeof(name) - 90);
	segment_add(&line, 0, ROLE_STRONG, "%s%s%.80s", name, peer[0] ? " - " : "", peer);
	segment_add(&line, 3, face.degraded ? ROLE_WARNING : ROLE_TEXT, "%s",
		    link_text(&app->table->snapshot->fabric->ports[port], face.degraded, link));
	segment_add(&line, 1, status_role(face.status), "%s",
		    face.facts->unused ? "unused" : port_status_name(face.status));
	if (area->rows == 1)
		add_numbers(app, &face, port, &line);
	draw_segments(&brush, area->y, area->x, area->columns, &line);
	if (area->rows == 1)
		return;
	finding = context_finding_at(app->context, port);
	/* If only one line is left, problems take precedence over values. */
	if (area->rows > 2 || !finding) {
		line.count = 0;
		add_numbers(app, &face, port, &line);
		draw_segments(&brush, area->y + 1, area->x, area->columns, &line);
	}
	if (finding)
		draw_finding(panel, app, finding);
}

void front_panel_draw(struct front_panel *panel, const struct app *app, const struct rect *body)
{
	panel_parts(body, &panel->parts);
	panel_plan(panel->parts.cells.rows, panel->parts.cells.columns, &panel->box, panel->label_columns,
		   &panel->plan);
	if (panel->parts.list.rows)
		draw_list(panel, app);
	draw_title(panel, app);
	if (panel->count)
		panel->first = panel_scroll(&panel->plan, &panel->slots[panel->cursor], panel->first,
					    panel->parts.cells.rows);
	for (size_t i = 0; i < panel->count; i++)
		draw_port(panel, app, i);
	draw_legend(panel, app);
	draw_facts(panel, app);
}
