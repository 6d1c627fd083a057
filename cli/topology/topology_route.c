/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * topology_route.c - `ibwire topology route A B`: the hops of a static route with load and errors
 */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/err.h"
#include "cli/command.h"
#include "cli/lib/columns.h"
#include "cli/lib/options.h"
#include "cli/topology/topology.h"
#include "cli/lib/moment_options.h"
#include "fabric/fabric.h"
#include "fabric/routes.h"
#include "facts/cells.h"
#include "facts/port_columns.h"
#include "facts/select.h"
#include "storage/reader.h"

/* One end of a route: a port, and the given LID or 0. */
struct end {
	uint32_t port;
	uint16_t lid;
};

/* The ends that a subject selects: one, or the linked ports of a host, in order of device. */
enum { ENDS_MOST = 64 };
struct ends {
	struct end list[ENDS_MOST];
	size_t count;
};

struct route {
	struct end from, to;
	uint16_t lid; /* that it leads to */
	struct route_trace trace;
};

struct route_list {
	struct route *list;
	size_t count;
};

/* A hop of a route: the row of the port that sends to the next hop, with its peer, and this one. */
struct hop {
	const struct moment *moment;
	const struct route *route;
	unsigned number; /* 0: there is none */
	uint16_t lid;
};

static void fill_end(struct result *result, size_t at, const void *row)
{
	result_text(result, at, route_end_name(((const struct hop *)row)->route->trace.end));
}

static const struct node *end_node(const struct hop *hop)
{
	return &hop->moment->fabric->nodes[hop->route->trace.at];
}

static void fill_end_guid(struct result *result, size_t at, const void *row)
{
	result_unsigned(result, at, end_node(row)->guid);
}

static void fill_end_node(struct result *result, size_t at, const void *row)
{
	result_text(result, at, end_node(row)->name);
}

static void fill_from(struct result *result, size_t at, const void *row)
{
	const struct hop *hop = row;

	cells_port_name(result, at, &hop->moment->names_shown, hop->moment->fabric, hop->route->from.port);
}

static void fill_to(struct result *result, size_t at, const void *row)
{
	const struct hop *hop = row;

	cells_port_name(result, at, &hop->moment->names_shown, hop->moment->fabric, hop->route->to.port);
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
	{ .key = "from", .title = "FROM", .kind = COLUMN_TEXT, .fill = fill_from,
	  .help = "port at which the route begins" },
	{ .key = "to", .title = "TO", .kind = COLUMN_TEXT, .fill = fill_to, .help = "port that it should reach" },
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
	{ .key = "from", .row = HOP_ROW }, { .key = "to", .row = HOP_ROW },
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

/* Many nodes may have the name of one host. */
static int add_host_ends(const struct moment *moment, const struct shape_host *host, struct ends *ret,
			 struct error *err)
{
	const struct fabric *fabric = moment->fabric;

	for (uint32_t i = host->first; i < host->first + host->count; i++) {
		const struct node *node = &fabric->nodes[moment->shape->host_nodes[i]];

		for (uint32_t port = node->first_port; port < node->first_port + node->ports; port++) {
			if (fabric->ports[port].peer == FABRIC_NONE)
				continue;
			if (ret->count == ENDS_MOST)
				return err_set(err, ERR_USAGE, "%s has more than %d linked ports: give one, such as "
					       "'%s'", host->name, ENDS_MOST,
					       moment->names_shown.names[moment->shape->host_nodes[i]]);
			ret->list[ret->count++] = (struct end){ .port = port };
		}
	}
	return 0;
}

static int find_ends(const struct moment *moment, const char *typed, struct ends *ret, struct error *err)
{
	struct error of_one = { 0 };
	int code = find_end(moment, typed, &ret->list[0], &of_one);
	uint32_t host = code == ERR_USAGE ? shape_find_host(moment->shape, typed) : SHAPE_NONE;

	ret->count = code == 0;
	if (host != SHAPE_NONE)
		code = add_host_ends(moment, &moment->shape->hosts[host], ret, err);
	return ret->count ? code : err_set(err, of_one.code, "%s", of_one.text);
}

static bool share_rail(const struct moment *moment, const struct end *from, const struct end *to)
{
	uint32_t rail = moment->shape->ports[from->port].rail;

	return rail != SHAPE_NONE && rail == moment->shape->ports[to->port].rail;
}

/* Between hosts the routes of each rail; of several ends to one that shares no rail, all. */
static int pair_ends(const struct moment *moment, const struct ends *from, const struct ends *to, char **typed,
		     struct route_list *ret, struct error *err)
{
	size_t most = from->count * to->count;

	ret->list = calloc(most, sizeof(*ret->list));
	if (!ret->list)
		return err_nomem(err);
	for (int all = most == 1; all < 2 && !ret->count && (!all || from->count == 1 || to->count == 1); all++)
		for (size_t i = 0; i < most; i++) {
			const struct end *a = &from->list[i / to->count], *b = &to->list[i % to->count];

			if (all || share_rail(moment, a, b))
				ret->list[ret->count++] = (struct route){ .from = *a, .to = *b };
		}
	if (ret->count)
		return 0;
	return err_set(err, ERR_USAGE, "%s and %s have no rail in common: give an HCA of each, such as '%s'", typed[0],
		       typed[1], moment->names_shown.names[moment->fabric->ports[from->list[0].port].node]);
}

/* --- hops --- */

/* Without hops JSON and CSV still have one row with the result. */
static void put_hops(struct result *result, const struct moment *moment, const struct route *route, bool data)
{
	const struct route_trace *trace = &route->trace;
	const struct port_scope scope = moment_scope(moment);
	struct hop hop = { .moment = moment, .route = route, .lid = route->lid };

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
static const char *end_text(const struct moment *moment, const struct routes *routes, const struct route *route,
			    char *ret, size_t size)
{
	const struct fabric *fabric = moment->fabric;
	const struct route_trace *trace = &route->trace;
	const char *at = moment->names_shown.names[trace->at];
	const char *meant = moment->names_shown.names[fabric->ports[route->to.port].node];
	uint16_t lid = route->lid;

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

static int unknown_route(const struct moment *moment, const struct route *route, struct error *err)
{
	if (!route->lid)
		return err_set(err, ERR_UNAVAILABLE, "%s had no LID at this time and cannot be routed",
			       moment->names_shown.names[moment->fabric->ports[route->to.port].node]);
	if (route->trace.hops == ROUTE_HOPS_MAX)
		return err_set(err, ERR_UNAVAILABLE, "the route has more than %d links and is not followed further",
			       ROUTE_HOPS_MAX);
	return err_set(err, ERR_UNAVAILABLE, "the forwarding table of %s was not read before this time (ibwire "
		"collect --routes)", moment->names_shown.names[route->trace.at]);
}

static void describe_end(FILE *out, const struct moment *moment, const struct routes *routes,
			 const struct route *route)
{
	const struct port *port = &moment->fabric->ports[route->to.port];
	char text[3 * NODE_NAME_SIZE];

	fprintf(out, "%s%s\n", route->trace.hops ? "\n" : "", end_text(moment, routes, route, text, sizeof(text)));
	if (port->lmc && !route->to.lid)
		fprintf(out, "The port has %u LIDs from %u on with separate routes: give a LID to follow its route.\n",
		       1u << (port->lmc & 7), route->lid);
}

/* --- output --- */

static int show_data(const struct options *options, const struct columns *shown, const struct moment *moment,
		     const struct route_list *routes, struct error *err)
{
	struct result_options output = options_result(options);
	struct result *result = result_create(options->out, &output, shown->list, shown->count);
	int code;

	for (size_t i = 0; i < routes->count; i++)
		put_hops(result, moment, &routes->list[i], true);
	code = result_finish(result, err);
	result_destroy(result);
	return code;
}

/* A table and a sentence for each route, up to one that is unknown. */
static int show_tables(const struct options *options, const struct columns *shown, const struct moment *moment,
		       const struct routes *tables, const struct route_list *routes, struct error *err)
{
	struct result_options output = options_result(options);
	int code = 0;

	for (size_t i = 0; code == 0 && i < routes->count; i++) {
		const struct route *route = &routes->list[i];
		struct result *result = result_create(options->out, &output, shown->list, shown->count);

		if (routes->count > 1)
			fprintf(options->out, "%s%s to %s\n", i ? "\n" : "",
				moment->names_shown.names[moment->fabric->ports[route->from.port].node],
				moment->names_shown.names[moment->fabric->ports[route->to.port].node]);
		put_hops(result, moment, route, false);
		code = route->trace.hops ? result_finish(result, err) : 0;
		result_destroy(result);
		if (code == 0 && route->trace.end == ROUTE_UNKNOWN)
			return 0;
		describe_end(options->out, moment, tables, route);
	}
	if (code == 0)
		fprintf(options->out, "%s by the latest forwarding tables.\nAdaptive routing may use other ports.\n",
			routes->count > 1 ? "\nStatic routes" : "Static route");
	return code;
}

static int show(const struct command *command, const struct options *options, const struct moment *moment,
		const struct routes *tables, const struct route_list *routes, struct error *err)
{
	const struct column_list list = {
		.sources = route_sources, .source_count = sizeof(route_sources) / sizeof(*route_sources),
		.items = route_items, .count = sizeof(route_items) / sizeof(*route_items),
	};
	struct columns shown;
	int code = columns_create(command, options, &list, NULL, NULL, &shown, err);
	bool arrive = true;

	if (code < 0)
		return code;
	if (options_result(options).format == RESULT_TABLE)
		code = show_tables(options, &shown, moment, tables, routes, err);
	else
		code = show_data(options, &shown, moment, routes, err);
	columns_done(&shown);
	for (size_t i = 0; code == 0 && i < routes->count; i++) {
		arrive &= routes->list[i].trace.end == ROUTE_ARRIVES;
		if (routes->list[i].trace.end == ROUTE_UNKNOWN)
			code = unknown_route(moment, &routes->list[i], err);
	}
	return code ? code : !arrive;
}

/* The ends that were typed, and the routes between them. */
static int find_routes(const struct moment *moment, char **typed, const struct routes *tables, struct route_list *ret,
		       struct error *err)
{
	struct ends from, to;
	int code = find_ends(moment, typed[0], &from, err);

	if (code == 0)
		code = find_ends(moment, typed[1], &to, err);
	if (code == 0)
		code = pair_ends(moment, &from, &to, typed, ret, err);
	for (size_t i = 0; code == 0 && i < ret->count; i++) {
		struct route *route = &ret->list[i];

		route->lid = route->to.lid ? route->to.lid :
			     fabric_port_lid(moment->fabric, &moment->fabric->ports[route->to.port]);
		routes_trace(tables, moment->fabric, route->from.port, route->to.port, route->lid, &route->trace);
	}
	return code;
}

int topology_route(const struct command *command, const struct options *options, struct error *err)
{
	struct route_list routes = { 0 };
	struct routes tables = { 0 };
	struct moment moment;
	int code;

	if (options->argc != 3)
		return options_usage_error(command, err, "route requires two end points: topology route A B");
	code = options_open_moment(options, false, &moment, err);
	if (code < 0)
		return code;
	code = moment_find_shape(&moment, err);
	if (code == 0)
		code = reader_routes(moment.reader, moment.at_us, &tables, err);
	if (code == 0)
		code = find_routes(&moment, options->argv + 1, &tables, &routes, err);
	if (code == 0)
		code = show(command, options, &moment, &tables, &routes, err);
	free(routes.list);
	routes_done(&tables);
	moment_done(&moment);
	return code;
}
