/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * topology_route.c - `ibwire topology route A B`: the hops of a static route with load and errors
 */
#include <stdio.h>
#include <stdlib.h>

#include "base/err.h"
#include "cli/lib/cells.h"
#include "cli/command.h"
#include "cli/lib/options.h"
#include "cli/topology/topology.h"
#include "cli/lib/view.h"
#include "fabric/fabric.h"
#include "fabric/routes.h"
#include "facts/selection.h"
#include "storage/reader.h"

enum { TIME, HOP };

/* Columns in table order: of the port that sends to the next hop, and of its peer. */
static const struct cell_column route_columns[] = {
	[TIME] = { .cell = CELL_TIME },
	[HOP] = { .own = { .key = "hop", .title = "HOP", .kind = COLUMN_INTEGER } },
	{ .cell = CELL_NAME, .title = "OUT OF" },
	{ .cell = CELL_GUID }, { .cell = CELL_NODE }, { .cell = CELL_PORT },
	{ .cell = CELL_NAME, .peer = true, .title = "INTO" },
	{ .cell = CELL_GUID, .peer = true }, { .cell = CELL_NODE, .peer = true }, { .cell = CELL_PORT, .peer = true },
	{ .cell = CELL_STATE, .title = HEADING_STATE, .priority = 8 },
	{ .cell = CELL_LINK, .title = HEADING_LINK, .priority = 3 },
	{ .cell = CELL_WIDTH }, { .cell = CELL_SPEED }, { .cell = CELL_RATE },
	{ .cell = CELL_STATUS, .title = HEADING_STATUS }, { .cell = CELL_STATUS, .peer = true },
	{ .cell = CELL_XMIT, .title = HEADING_TX, .priority = 6 },
	{ .cell = CELL_XMIT_PERCENT, .title = HEADING_TX_PERCENT },
	{ .cell = CELL_RCV },
	{ .cell = CELL_RCV_PERCENT, .title = HEADING_RX_PERCENT, .priority = 4 },
	{ .cell = CELL_STALL, .title = HEADING_STALL, .priority = 5 }, { .cell = CELL_STALL, .peer = true },
	{ .cell = CELL_ERRORS, .title = HEADING_ERRORS, .priority = 1 },
	{ .cell = CELL_ERRORS, .peer = true, .title = "ERRORS INTO", .priority = 2 },
	{ .cell = CELL_ERRORS_UNKNOWN }, { .cell = CELL_ERRORS_UNKNOWN, .peer = true },
	{ .cell = CELL_WINDOW },
	{ .cell = CELL_AGE, .title = HEADING_AGE, .priority = 7 },
	{ .own = { .key = "lid", .kind = COLUMN_INTEGER } },
	{ .own = { .key = "route", .kind = COLUMN_TEXT } },
	{ .own = { .key = "route_node_guid", .kind = COLUMN_GUID } },
	{ .own = { .key = "route_node", .kind = COLUMN_TEXT } },
};

enum {
	COLUMN_COUNT = sizeof(route_columns) / sizeof(*route_columns),
	LID = COLUMN_COUNT - 4, ROUTE, ROUTE_GUID, ROUTE_NODE,
};

/* One end of a route: a port, and the given LID or 0. */
struct end {
	uint32_t port;
	uint16_t lid;
};

/* --- end points --- */

/* The port of a node: port 0 of a switch, the linked port of an HCA. */
static int port_of_node(const struct view *view, uint32_t index, uint32_t *ret, struct error *err)
{
	const struct fabric *fabric = view->fabric;
	const struct node *node = &fabric->nodes[index];
	const char *name = view->names_shown.names[index];
	uint32_t found = FABRIC_NONE, up = 0;

	for (uint32_t i = node->first_port; i < node->first_port + node->ports; i++) {
		const struct port *port = &fabric->ports[i];

		if (node->type == NODE_SWITCH && port->num > 0)
			continue;
		if (node->type == NODE_SWITCH || port->peer != FABRIC_NONE) {
			found = up ? found : i;
			up++;
		}
	}
	if (!up)
		return err_set(err, ERR_USAGE, "%s has no linked port", name);
	if (up > 1)
		return err_set(err, ERR_USAGE, "%s has %u linked ports: give one, such as '%s/%u'", name, up, name,
			       fabric->ports[found].num);
	*ret = found;
	return 0;
}

/* A switch port is not an end point; its peer or the switch is. */
static int check_end(const struct view *view, uint32_t index, struct error *err)
{
	const struct fabric *fabric = view->fabric;
	const struct port *port = &fabric->ports[index];
	const char *name = view->names_shown.names[port->node];

	if (fabric->nodes[port->node].type != NODE_SWITCH || port->num == 0)
		return 0;
	if (port->peer != FABRIC_NONE)
		return err_set(err, ERR_USAGE, "a route ends at a host or switch: use '%s', or '%s' connected "
			"to its port %u", name, view->names_shown.names[fabric->ports[port->peer].node], port->num);
	return err_set(err, ERR_USAGE, "a route ends at a host or switch: use '%s'", name);
}

static int find_end(const struct view *view, const char *typed, struct end *ret, struct error *err)
{
	uint32_t node;
	int code = view_find(view, typed, &node, &ret->port, err);

	ret->lid = 0;
	if (code < 0)
		return code;
	if (ret->port == FABRIC_NONE)
		code = port_of_node(view, node, &ret->port, err);
	/* Each LID of a port may have a route of its own. */
	if (code == 0 && selection_is_lid(view->fabric, ret->port, typed))
		ret->lid = (uint16_t)strtoul(typed, NULL, 0);
	return code ? code : check_end(view, ret->port, err);
}

/* --- hops --- */

static void fill_route(struct result *result, const struct view *view, const struct route_trace *trace, uint16_t lid)
{
	const struct node *node = &view->fabric->nodes[trace->at];

	cells_nonzero(result, LID, lid);
	result_text(result, ROUTE, route_end_name(trace->end));
	result_unsigned(result, ROUTE_GUID, node->guid);
	result_text(result, ROUTE_NODE, node->name);
}

/* Without hops JSON and CSV still have one row with the result. */
static void put_hops(struct result *result, const struct cells *cells, const struct view *view,
		     const struct route_trace *trace, uint16_t lid, bool data)
{
	for (unsigned hop = 0; hop < trace->hops; hop++) {
		struct port_facts port;

		view_port_facts(view, trace->ports[hop], &port);
		cells_fill(cells, result, view, &port);
		fill_route(result, view, trace, lid);
		result_integer(result, HOP, hop + 1);
		result_end_row(result);
	}
	if (trace->hops || !data)
		return;
	result_integer(result, TIME, view->snapshot->sweep.wall_us);
	fill_route(result, view, trace, lid);
	result_integer(result, HOP, 0);
	result_end_row(result);
}

/* --- result line --- */

static const char *black_hole_text(const struct view *view, const struct routes *routes,
				   const struct route_trace *trace, uint16_t lid, char *ret, size_t size)
{
	const struct fabric *fabric = view->fabric;
	const struct node *node = &fabric->nodes[trace->at];
	const char *at = view->names_shown.names[trace->at];
	uint8_t out = routes_out_port(routes_find(routes, node->guid), lid);

	if (node->type != NODE_SWITCH)
		snprintf(ret, size, "black hole: %s has no link", at);
	else if (out == ROUTES_NO_PORT)
		snprintf(ret, size, "black hole: %s has no LFT entry for LID %u", at, lid);
	else
		snprintf(ret, size, "black hole: %s sends LID %u out of port %u, which has no link", at, lid, out);
	return ret;
}

/* One sentence. @ret: @size bytes */
static const char *end_text(const struct view *view, const struct routes *routes, const struct route_trace *trace,
			    const struct end *to, uint16_t lid, char *ret, size_t size)
{
	const struct fabric *fabric = view->fabric;
	const char *at = view->names_shown.names[trace->at];
	const char *meant = view->names_shown.names[fabric->ports[to->port].node];

	switch (trace->end) {
	case ROUTE_ARRIVES:
		snprintf(ret, size, "arrives at %s (LID %u) over %u link%s", meant, lid, trace->hops,
			 trace->hops == 1 ? "" : "s");
		break;
	case ROUTE_BLACK_HOLE:
		return black_hole_text(view, routes, trace, lid, ret, size);
	case ROUTE_DOWN:
		snprintf(ret, size, "link down: %s routes LID %u through port %u, whose link is not up", at, lid,
			 routes_out_port(routes_find(routes, fabric->nodes[trace->at].guid), lid));
		if (fabric->nodes[trace->at].type != NODE_SWITCH)
			snprintf(ret, size, "link down: the link of %s is not up", at);
		break;
	case ROUTE_LOOP:
		snprintf(ret, size, "loop: the route to LID %u returns to %s and never reaches %s", lid, at, meant);
		break;
	case ROUTE_WRONG_END:
		snprintf(ret, size, "wrong end: LID %u leads to %s instead of %s", lid, at, meant);
		break;
	default:
		snprintf(ret, size, "unknown: %s", at);
		break;
	}
	return ret;
}

static int unknown_route(const struct view *view, const struct route_trace *trace, const struct end *to, uint16_t lid,
			 struct error *err)
{
	if (!lid)
		return err_set(err, ERR_UNAVAILABLE, "%s had no LID at this time and cannot be routed",
			       view->names_shown.names[view->fabric->ports[to->port].node]);
	if (trace->hops == ROUTE_HOPS_MAX)
		return err_set(err, ERR_UNAVAILABLE, "the route has more than %d links and is not followed further",
			       ROUTE_HOPS_MAX);
	return err_set(err, ERR_UNAVAILABLE, "the forwarding table of %s was not read before this time (ibwire "
		"collect --routes)", view->names_shown.names[trace->at]);
}

static void describe_end(FILE *out, const struct view *view, const struct routes *routes,
			 const struct route_trace *trace, const struct end *to, uint16_t lid)
{
	const struct port *port = &view->fabric->ports[to->port];
	char text[3 * NODE_NAME_SIZE];

	fprintf(out, "%s%s\n", trace->hops ? "\n" : "", end_text(view, routes, trace, to, lid, text, sizeof(text)));
	if (port->lmc && !to->lid)
		fprintf(out, "The port has %u LIDs from %u on with separate routes: give a LID to follow its route.\n",
		       1u << (port->lmc & 7), lid);
	fprintf(out, "Static route by the latest forwarding tables; adaptive routing may use other ports.\n");
}

static int show(const struct options *options, const struct view *view, const struct routes *routes,
		const struct end *from, const struct end *to, struct error *err)
{
	struct result_options output = options_result(options);
	uint16_t lid = to->lid ? to->lid : fabric_port_lid(view->fabric, &view->fabric->ports[to->port]);
	struct route_trace trace;
	struct cells cells;
	struct result *result;
	int code;

	routes_trace(routes, view->fabric, from->port, to->port, lid, &trace);
	cells_init(&cells, route_columns, COLUMN_COUNT);
	result = result_create(options->out, &output, cells.columns, COLUMN_COUNT);
	put_hops(result, &cells, view, &trace, lid, output.format != RESULT_TABLE);
	code = trace.hops || output.format != RESULT_TABLE ? result_finish(result, err) : 0;
	result_destroy(result);
	if (code < 0)
		return code;
	if (trace.end == ROUTE_UNKNOWN)
		return unknown_route(view, &trace, to, lid, err);
	if (output.format == RESULT_TABLE)
		describe_end(options->out, view, routes, &trace, to, lid);
	return trace.end == ROUTE_ARRIVES ? 0 : 1;
}

int topology_route(const struct command *command, const struct options *options, struct error *err)
{
	struct routes routes = { 0 };
	struct end from, to;
	struct view view;
	int code;

	if (options->argc != 3)
		return options_usage_error(command, err, "route requires two end points: topology route A B");
	code = view_open(options, false, &view, err);
	if (code < 0)
		return code;
	code = find_end(&view, options->argv[1], &from, err);
	if (code == 0)
		code = find_end(&view, options->argv[2], &to, err);
	if (code == 0)
		code = reader_routes(view.reader, view.at_us, &routes, err);
	if (code == 0)
		code = show(options, &view, &routes, &from, &to, err);
	routes_done(&routes);
	view_done(&view);
	return code;
}
