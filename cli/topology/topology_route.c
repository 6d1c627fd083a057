/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * topology_route.c - `ibwire topology route A B`: the hops of a static route with load and errors
 */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>

#include "base/err.h"
#include "cli/command.h"
#include "cli/lib/columns.h"
#include "cli/lib/options.h"
#include "cli/topology/topology.h"
#include "cli/lib/moment_options.h"
#include "fabric/fabric.h"
#include "fabric/routes.h"
#include "facts/port_columns.h"
#include "facts/select.h"
#include "storage/reader.h"

/* A hop of a route: the row of the port that sends to the next hop, with its peer, and this one. */
struct hop {
	const struct moment *moment;
	const struct route_trace *trace;
	unsigned number; /* 0: there is none */
	uint16_t lid;
};

static void fill_end(struct result *result, size_t at, const void *row)
{
	result_text(result, at, route_end_name(((const struct hop *)row)->trace->end));
}

static const struct node *end_node(const struct hop *hop)
{
	return &hop->moment->fabric->nodes[hop->trace->at];
}

static void fill_end_guid(struct result *result, size_t at, const void *row)
{
	result_unsigned(result, at, end_node(row)->guid);
}

static void fill_end_node(struct result *result, size_t at, const void *row)
{
	result_text(result, at, end_node(row)->name);
}

static void fill_time(struct result *result, size_t at, const void *row)
{
	result_integer(result, at, ((const struct hop *)row)->moment->snapshot->sweep.wall_us);
}

enum { HOP_ROW = LINK_ROW };

static const struct column hop_columns[] = {
	{ .key = "time", .title = "TIME", .kind = COLUMN_TIME, .fill = fill_time,
	  .help = "time of the sweep that the numbers are of" },
	{ .key = "hop", .title = "HOP", .kind = COLUMN_INTEGER, COLUMN_MEMBER(struct hop, number),
	  .help = "number of the hop, from 1; 0: the route has none" },
	{ .key = "lid", .title = "LID", .kind = COLUMN_INTEGER, .flags = COLUMN_NONZERO, COLUMN_MEMBER(struct hop, lid),
	  .help = "LID that the route leads to" },
	{ .key = "route", .title = "ROUTE", .kind = COLUMN_TEXT, .fill = fill_end,
	  .help = "end of the route: arrives, black-hole, down, loop, wrong-end, unknown" },
	{ .key = "route_node_guid", .title = "END GUID", .kind = COLUMN_GUID, .fill = fill_end_guid,
	  .help = "GUID of the node at which it ends" },
	{ .key = "route_node", .title = "END", .kind = COLUMN_TEXT, .fill = fill_end_node,
	  .help = "node at which it ends" },
	{ 0 },
};

static const struct column_source route_sources[] = {
	{ .columns = hop_columns, .row = HOP_ROW },
	{ .columns = port_columns, .row = PORT_ROW },
	{ .columns = port_columns, .row = PEER_ROW, .key_prefix = "peer_", .title_prefix = "PEER " },
};

/* Columns in table order. */
static const struct column_item route_items[] = {
	{ .key = "time", .row = HOP_ROW },
	{ .key = "hop", .row = HOP_ROW, .table = true },
	{ .key = "name", .table = true, .no_data = true, .title = "OUT OF" },
	{ .key = "node_guid" }, { .key = "node" }, { .key = "port" },
	{ .key = "name", .row = PEER_ROW, .table = true, .no_data = true, .title = "INTO" },
	{ .key = "node_guid", .row = PEER_ROW, .as = "peer_guid" }, { .key = "node", .row = PEER_ROW, .as = "peer" },
	{ .key = "port", .row = PEER_ROW },
	{ .key = "state", .table = true, .priority = 8 },
	{ .key = "link", .table = true, .no_data = true, .priority = 3 },
	{ .key = "width" }, { .key = "speed" }, { .key = "rate_gbps" },
	{ .key = "status", .table = true }, { .key = "status", .row = PEER_ROW },
	{ .key = "xmit_bytes_per_s", .table = true, .priority = 6 },
	{ .key = "xmit_utilization_percent", .table = true },
	{ .key = "rcv_bytes_per_s" },
	{ .key = "rcv_utilization_percent", .table = true, .priority = 4 },
	{ .key = "stall_percent", .table = true, .priority = 5 }, { .key = "stall_percent", .row = PEER_ROW },
	{ .key = "errors", .table = true, .priority = 1 },
	{ .key = "errors", .row = PEER_ROW, .table = true, .title = "ERRORS INTO", .priority = 2 },
	{ .key = "errors_unknown" }, { .key = "errors_unknown", .row = PEER_ROW },
	{ .key = "window_s" },
	{ .key = "age_s", .table = true, .priority = 7 },
	{ .key = "lid", .row = HOP_ROW }, { .key = "route", .row = HOP_ROW },
	{ .key = "route_node_guid", .row = HOP_ROW }, { .key = "route_node", .row = HOP_ROW },
};

/* One end of a route: a port, and the given LID or 0. */
struct end {
	uint32_t port;
	uint16_t lid;
};

/* --- end points --- */

/* The port of a node: port 0 of a switch, the linked port of an HCA. */
static int port_of_node(const struct moment *moment, uint32_t index, uint32_t *ret, struct error *err)
{
	const struct fabric *fabric = moment->fabric;
	const struct node *node = &fabric->nodes[index];
	const char *name = moment->names_shown.names[index];
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
static int check_end(const struct moment *moment, uint32_t index, struct error *err)
{
	const struct fabric *fabric = moment->fabric;
	const struct port *port = &fabric->ports[index];
	const char *name = moment->names_shown.names[port->node];

	if (fabric->nodes[port->node].type != NODE_SWITCH || port->num == 0)
		return 0;
	if (port->peer != FABRIC_NONE)
		return err_set(err, ERR_USAGE, "a route ends at a host or switch: use '%s', or '%s' connected "
			"to its port %u", name, moment->names_shown.names[fabric->ports[port->peer].node], port->num);
	return err_set(err, ERR_USAGE, "a route ends at a host or switch: use '%s'", name);
}

static int find_end(const struct moment *moment, const char *typed, struct end *ret, struct error *err)
{
	uint32_t node;
	int code = moment_find(moment, typed, &node, &ret->port, err);

	ret->lid = 0;
	if (code < 0)
		return code;
	if (ret->port == FABRIC_NONE)
		code = port_of_node(moment, node, &ret->port, err);
	/* Each LID of a port may have a route of its own. */
	if (code == 0 && select_is_lid(moment->fabric, ret->port, typed))
		ret->lid = (uint16_t)strtoul(typed, NULL, 0);
	return code ? code : check_end(moment, ret->port, err);
}

/* --- hops --- */

/* Without hops JSON and CSV still have one row with the result. */
static void put_hops(struct result *result, const struct moment *moment, const struct route_trace *trace, uint16_t lid,
		     bool data)
{
	const struct port_scope scope = moment_scope(moment);
	struct hop hop = { .moment = moment, .trace = trace, .lid = lid };

	for (unsigned i = 0; i < trace->hops; i++) {
		uint32_t peer_index = moment->fabric->ports[trace->ports[i]].peer;
		struct port_facts port, peer;
		const void *const rows[] = { [PORT_ROW] = &port, [PEER_ROW] = peer_index == FABRIC_NONE ? NULL : &peer,
					     [HOP_ROW] = &hop };

		hop.number = i + 1;
		port_facts_of(&scope, trace->ports[i], &port);
		if (peer_index != FABRIC_NONE)
			port_facts_of(&scope, peer_index, &peer);
		result_fill_rows(result, rows);
		result_end_row(result);
	}
	if (trace->hops || !data)
		return;
	result_fill_rows(result, (const void *const[]){ [PORT_ROW] = NULL, [PEER_ROW] = NULL, [HOP_ROW] = &hop });
	result_end_row(result);
}

/* --- result line --- */

static const char *black_hole_text(const struct moment *moment, const struct routes *routes,
				   const struct route_trace *trace, uint16_t lid, char *ret, size_t size)
{
	const struct fabric *fabric = moment->fabric;
	const struct node *node = &fabric->nodes[trace->at];
	const char *at = moment->names_shown.names[trace->at];
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
static const char *end_text(const struct moment *moment, const struct routes *routes, const struct route_trace *trace,
			    const struct end *to, uint16_t lid, char *ret, size_t size)
{
	const struct fabric *fabric = moment->fabric;
	const char *at = moment->names_shown.names[trace->at];
	const char *meant = moment->names_shown.names[fabric->ports[to->port].node];

	switch (trace->end) {
	case ROUTE_ARRIVES:
		snprintf(ret, size, "arrives at %s (LID %u) over %u link%s", meant, lid, trace->hops,
			 trace->hops == 1 ? "" : "s");
		break;
	case ROUTE_BLACK_HOLE:
		return black_hole_text(moment, routes, trace, lid, ret, size);
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

static int unknown_route(const struct moment *moment, const struct route_trace *trace, const struct end *to,
			 uint16_t lid, struct error *err)
{
	if (!lid)
		return err_set(err, ERR_UNAVAILABLE, "%s had no LID at this time and cannot be routed",
			       moment->names_shown.names[moment->fabric->ports[to->port].node]);
	if (trace->hops == ROUTE_HOPS_MAX)
		return err_set(err, ERR_UNAVAILABLE, "the route has more than %d links and is not followed further",
			       ROUTE_HOPS_MAX);
	return err_set(err, ERR_UNAVAILABLE, "the forwarding table of %s was not read before this time (ibwire "
		"collect --routes)", moment->names_shown.names[trace->at]);
}

static void describe_end(FILE *out, const struct moment *moment, const struct routes *routes,
			 const struct route_trace *trace, const struct end *to, uint16_t lid)
{
	const struct port *port = &moment->fabric->ports[to->port];
	char text[3 * NODE_NAME_SIZE];

	fprintf(out, "%s%s\n", trace->hops ? "\n" : "", end_text(moment, routes, trace, to, lid, text, sizeof(text)));
	if (port->lmc && !to->lid)
		fprintf(out, "The port has %u LIDs from %u on with separate routes: give a LID to follow its route.\n",
		       1u << (port->lmc & 7), lid);
	fprintf(out, "Static route by the latest forwarding tables; adaptive routing may use other ports.\n");
}

static int show(const struct command *command, const struct options *options, const struct moment *moment,
		const struct routes *routes, const struct end *from, const struct end *to, struct error *err)
{
	const struct column_list list = {
		.sources = route_sources, .source_count = sizeof(route_sources) / sizeof(*route_sources),
		.items = route_items, .count = sizeof(route_items) / sizeof(*route_items),
	};
	struct result_options output = options_result(options);
	uint16_t lid = to->lid ? to->lid : fabric_port_lid(moment->fabric, &moment->fabric->ports[to->port]);
	struct route_trace trace;
	struct columns shown;
	struct result *result;
	int code = columns_create(command, options, &list, NULL, NULL, &shown, err);

	if (code < 0)
		return code;
	routes_trace(routes, moment->fabric, from->port, to->port, lid, &trace);
	result = result_create(options->out, &output, shown.list, shown.count);
	put_hops(result, moment, &trace, lid, output.format != RESULT_TABLE);
	code = trace.hops || output.format != RESULT_TABLE ? result_finish(result, err) : 0;
	result_destroy(result);
	columns_done(&shown);
	if (code < 0)
		return code;
	if (trace.end == ROUTE_UNKNOWN)
		return unknown_route(moment, &trace, to, lid, err);
	if (output.format == RESULT_TABLE)
		describe_end(options->out, moment, routes, &trace, to, lid);
	return trace.end == ROUTE_ARRIVES ? 0 : 1;
}

int topology_route(const struct command *command, const struct options *options, struct error *err)
{
	struct routes routes = { 0 };
	struct end from, to;
	struct moment moment;
	int code;

	if (options->argc != 3)
		return options_usage_error(command, err, "route requires two end points: topology route A B");
	code = options_open_moment(options, false, &moment, err);
	if (code < 0)
		return code;
	code = find_end(&moment, options->argv[1], &from, err);
	if (code == 0)
		code = find_end(&moment, options->argv[2], &to, err);
	if (code == 0)
		code = reader_routes(moment.reader, moment.at_us, &routes, err);
	if (code == 0)
		code = show(command, options, &moment, &routes, &from, &to, err);
	routes_done(&routes);
	moment_done(&moment);
	return code;
}
