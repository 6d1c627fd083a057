/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* ports.c - `ibwire ports`: one row per port */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "analysis/rate.h"
#include "base/clock.h"
#include "base/err.h"
#include "cli/lib/cells.h"
#include "cli/command.h"
#include "cli/lib/options.h"
#include "cli/lib/order.h"
#include "cli/ports/port_details.h"
#include "cli/lib/selection.h"
#include "cli/lib/view.h"
#include "fabric/fabric.h"
#include "fabric/planes.h"
#include "fabric/shape.h"
#include "storage/reader.h"

enum {
	TIME, NODE_PORT, NODE_GUID, NODE, PORT, LID, STATE, LINK, STATUS, XMIT_RATE, RCV_RATE, XMIT_PERCENT,
	RCV_PERCENT, STALL, XMIT_PACKETS, RCV_PACKETS, ERRORS, PEER_NODE_PORT, PEER_GUID, PEER, PEER_PORT, TIER, ROLE,
	RAIL, CAGE, PHYS_STATE, WIDTH, SPEED, RATE, XMIT_WAIT, WINDOW, ERRORS_UNKNOWN, AGE, COUNTERS,
	SYMBOL_BER, SYMBOL_BER_BELOW, BER_AT_LEAST, PLANES, PLANES_RATE, PLANES_XMIT_RATE, PLANES_RCV_RATE,
	COLUMN_COUNT,
};

#define DATA_ONLY COLUMN_NO_TABLE

/* Maximum number of multi-plane ports listed below a table. */
#define PLANES_LISTED 4

/* Columns in table order. */
static const struct column port_columns[COLUMN_COUNT] = {
	[TIME] = { .key = "time", .kind = COLUMN_TIME, .flags = DATA_ONLY },
	[NODE_PORT] = { .title = "PORT", .kind = COLUMN_TEXT,
			 .flags = COLUMN_NO_DATA | COLUMN_FLEXIBLE | COLUMN_KEEP_TAIL },
	[NODE_GUID] = { .key = "node_guid", .kind = COLUMN_GUID, .flags = DATA_ONLY },
	[NODE] = { .key = "node", .kind = COLUMN_TEXT, .flags = DATA_ONLY },
	[PORT] = { .key = "port", .kind = COLUMN_INTEGER, .flags = DATA_ONLY },
	[LID] = { .key = "lid", .title = HEADING_LID, .kind = COLUMN_INTEGER, .priority = 9 },
	[STATE] = { .key = "state", .title = HEADING_STATE, .kind = COLUMN_TEXT, .priority = 7 },
	[LINK] = { .title = HEADING_LINK, .kind = COLUMN_TEXT, .flags = COLUMN_NO_DATA, .priority = 3 },
	[STATUS] = { .key = "status", .title = HEADING_STATUS, .kind = COLUMN_TEXT },
	[XMIT_RATE] = { .key = "xmit_bytes_per_s", .title = HEADING_TX, .kind = COLUMN_RATE },
	[RCV_RATE] = { .key = "rcv_bytes_per_s", .title = HEADING_RX, .kind = COLUMN_RATE },
	[XMIT_PERCENT] = { .key = "xmit_utilization_percent", .title = HEADING_TX_PERCENT,
			   .kind = COLUMN_PERCENT, .priority = 5 },
	[RCV_PERCENT] = { .key = "rcv_utilization_percent", .title = HEADING_RX_PERCENT,
			  .kind = COLUMN_PERCENT, .priority = 5 },
	[STALL] = { .key = "stall_percent", .title = HEADING_STALL, .kind = COLUMN_PERCENT, .priority = 8 },
	[XMIT_PACKETS] = { .key = "xmit_packets_per_s", .title = "TX PKTS", .kind = COLUMN_PER_S, .priority = 10 },
	[RCV_PACKETS] = { .key = "rcv_packets_per_s", .title = "RX PKTS", .kind = COLUMN_PER_S, .priority = 10 },
	[ERRORS] = { .key = "errors", .title = HEADING_ERRORS, .kind = COLUMN_OBJECT,
		     .flags = COLUMN_OMIT_ZERO | COLUMN_FLEXIBLE, .priority = 1 },
	[PEER_NODE_PORT] = { .title = HEADING_PEER, .kind = COLUMN_TEXT,
			 .flags = COLUMN_NO_DATA | COLUMN_FLEXIBLE | COLUMN_KEEP_TAIL, .priority = 2 },
	[PEER_GUID] = { .key = "peer_guid", .kind = COLUMN_GUID, .flags = DATA_ONLY },
	[PEER] = { .key = "peer", .kind = COLUMN_TEXT, .flags = DATA_ONLY },
	[PEER_PORT] = { .key = "peer_port", .kind = COLUMN_INTEGER, .flags = DATA_ONLY },
	[TIER] = { .key = "tier", .kind = COLUMN_INTEGER, .flags = DATA_ONLY },
	[ROLE] = { .key = "role", .kind = COLUMN_TEXT, .flags = DATA_ONLY },
	[RAIL] = { .key = "rail", .kind = COLUMN_TEXT, .flags = DATA_ONLY },
	[CAGE] = { .key = "cage", .kind = COLUMN_TEXT, .flags = DATA_ONLY },
	[PHYS_STATE] = { .key = "phys_state", .kind = COLUMN_TEXT, .flags = DATA_ONLY },
	[WIDTH] = { .key = "width", .kind = COLUMN_TEXT, .flags = DATA_ONLY },
	[SPEED] = { .key = "speed", .kind = COLUMN_TEXT, .flags = DATA_ONLY },
	[RATE] = { .key = "rate_gbps", .kind = COLUMN_GBPS, .flags = DATA_ONLY },
	[XMIT_WAIT] = { .key = "xmit_wait_ticks_per_s", .kind = COLUMN_PER_S, .flags = DATA_ONLY },
	[WINDOW] = { .key = "window_s", .kind = COLUMN_SPAN_S, .flags = DATA_ONLY },
	[ERRORS_UNKNOWN] = { .key = "errors_unknown", .kind = COLUMN_LIST, .flags = DATA_ONLY },
	[AGE] = { .key = "age_s", .title = HEADING_AGE, .kind = COLUMN_SPAN_S, .priority = 6 },
	[COUNTERS] = { .key = "counters", .kind = COLUMN_OBJECT, .flags = DATA_ONLY },
	[SYMBOL_BER] = { .key = "symbol_ber", .kind = COLUMN_REAL, .flags = DATA_ONLY },
	[SYMBOL_BER_BELOW] = { .key = "symbol_ber_below", .kind = COLUMN_REAL, .flags = DATA_ONLY },
	[BER_AT_LEAST] = { .key = "ber_at_least", .kind = COLUMN_LIST, .flags = DATA_ONLY },
	[PLANES] = { .key = "planes", .kind = COLUMN_INTEGER, .flags = DATA_ONLY },
	[PLANES_RATE] = { .key = "planes_rate_gbps", .kind = COLUMN_GBPS, .flags = DATA_ONLY },
	[PLANES_XMIT_RATE] = { .key = "planes_xmit_bytes_per_s", .kind = COLUMN_RATE, .flags = DATA_ONLY },
	[PLANES_RCV_RATE] = { .key = "planes_rcv_bytes_per_s", .kind = COLUMN_RATE, .flags = DATA_ONLY },
};

struct ports_options {
	bool all, errors, counters, details;
	const char *sort;
	int64_t top; /* 0: unlimited */
};

static void fill_identity(struct result *result, const struct view *view, const struct port *port, uint32_t index)
{
	const struct node *node = &view->fabric->nodes[port->node];
	uint16_t lid = fabric_port_lid(view->fabric, port);

	result_integer(result, TIME, view->snapshot->sweep.wall_us);
	result_unsigned(result, NODE_GUID, node->guid);
	result_text(result, NODE, node->name);
	result_integer(result, PORT, port->num);
	if (lid)
		result_integer(result, LID, lid);
	cells_port_name(result, NODE_PORT, view, index);
	if (port->peer == FABRIC_NONE)
		return;
	node = &view->fabric->nodes[view->fabric->ports[port->peer].node];
	result_unsigned(result, PEER_GUID, node->guid);
	result_text(result, PEER, node->name);
	result_integer(result, PEER_PORT, view->fabric->ports[port->peer].num);
	cells_port_name(result, PEER_NODE_PORT, view, port->peer);
}

static void fill_link(struct result *result, const struct view *view, const struct port *port, uint32_t index)
{
	cells_state(result, STATE, port);
	result_text(result, PHYS_STATE, port_phys_state_name(port->phys_state));
	cells_link(result, LINK, view, index);
	cells_width_and_speed(result, WIDTH, SPEED, port);
}

/* Tier, rail and front panel position. */
static void fill_place(struct result *result, const struct shape *shape, uint32_t index)
{
	const struct shape_port *place = &shape->ports[index];
	char role[SHAPE_ROLE_SIZE], cage[16];

	if (shape_port_tier(shape, index))
		result_integer(result, TIER, shape_port_tier(shape, index));
	result_text(result, ROLE, shape_port_role(shape, index, role));
	if (place->rail != SHAPE_NONE)
		result_text(result, RAIL, shape->rails[place->rail].name);
	if (place->cage && place->split)
		snprintf(cage, sizeof(cage), "%u.%u", place->cage, place->split);
	else
		snprintf(cage, sizeof(cage), "%u", place->cage);
	if (place->cage)
		result_text(result, CAGE, cage);
}

static void fill_counters(struct result *result, const struct port_row *row)
{
	result_empty(result, COUNTERS);
	for (int counter = 0; row->has_reading && counter < COUNTER_COUNT; counter++)
		if (row->reading.present & COUNTER_BIT(counter))
			result_member(result, COUNTERS, counter_info((enum counter)counter)->key,
				      row->reading.value[counter]);
}

/* The logical port of a plane, with all its planes. */
static struct plane_sum sum_planes(const struct view *view, uint32_t port)
{
	struct plane_sum sum = { 0 };

	for (port = port_first_plane(view->fabric, port); port != FABRIC_NONE;
	     port = port_next_plane(view->fabric, port)) {
		struct port_view plane;

		port_view_init(view, port, &plane);
		plane_sum_add(&sum, &view->fabric->ports[port], plane.xmit_bytes_per_s, plane.rcv_bytes_per_s);
	}
	return sum;
}

static void fill_planes(struct result *result, const struct view *view, uint32_t port)
{
	struct plane_sum sum;

	if (!port_is_plane(view->fabric, port))
		return;
	sum = sum_planes(view, port);
	result_integer(result, PLANES, sum.planes);
	result_real(result, PLANES_RATE, (double)sum.bits_per_s / 1e9);
	result_real(result, PLANES_XMIT_RATE, sum.xmit_bytes_per_s);
	result_real(result, PLANES_RCV_RATE, sum.rcv_bytes_per_s);
}

/* @details: NULL without --details */
static bool put_row(struct result *result, const struct view *view, const struct port_details *details,
		    const struct port_view *row)
{
	const struct port *port = &view->fabric->ports[row->port];

	fill_identity(result, view, port, row->port);
	fill_link(result, view, port, row->port);
	if (view->shape)
		fill_place(result, view->shape, row->port);
	cells_status(result, STATUS, row->status);
	cells_rate(result, XMIT_RATE, row, row->xmit_bytes_per_s);
	cells_rate(result, RCV_RATE, row, row->rcv_bytes_per_s);
	result_real(result, XMIT_PERCENT, row->xmit_percent);
	result_real(result, RCV_PERCENT, row->rcv_percent);
	cells_stall(result, STALL, row);
	result_real(result, XMIT_WAIT, row->wait_ticks_per_s);
	result_real(result, XMIT_PACKETS, row->xmit_packets_per_s);
	result_real(result, RCV_PACKETS, row->rcv_packets_per_s);
	result_real(result, RATE, row->rate_gbps);
	result_real(result, WINDOW, row->window_s);
	result_real(result, AGE, row->age_s);
	cells_errors(result, ERRORS, view, row);
	cells_errors_unknown(result, ERRORS_UNKNOWN, row);
	fill_counters(result, &view->snapshot->rows[row->port]);
	cells_ber(result, SYMBOL_BER, SYMBOL_BER_BELOW, &row->ber[VIEW_BER_SYMBOL]);
	cells_ber_at_least(result, BER_AT_LEAST, row);
	fill_planes(result, view, row->port);
	if (details)
		port_details_fill(result, COLUMN_COUNT, view, details, row);
	return result_end_row(result);
}

/* The table of --counters: one row per counter of a port. */
enum { LONG_PORT, LONG_COUNTER, LONG_VALUE, LONG_UNIT, LONG_MEANING, LONG_COUNT };

static const struct column long_columns[LONG_COUNT] = {
	[LONG_PORT] = { .title = "PORT", .kind = COLUMN_TEXT, .flags = COLUMN_FLEXIBLE | COLUMN_KEEP_TAIL },
	[LONG_COUNTER] = { .title = "COUNTER", .kind = COLUMN_TEXT },
	[LONG_VALUE] = { .title = "VALUE", .kind = COLUMN_INTEGER },
	[LONG_UNIT] = { .title = "UNIT", .kind = COLUMN_TEXT, .priority = 2 },
	[LONG_MEANING] = { .title = "MEANING", .kind = COLUMN_TEXT, .flags = COLUMN_FLEXIBLE, .priority = 1 },
};

static bool put_long_rows(struct result *result, const struct view *view, const struct port_view *port)
{
	const struct port_row *row = &view->snapshot->rows[port->port];
	bool more = true;

	for (int counter = 0; more && row->has_reading && counter < COUNTER_COUNT; counter++) {
		const struct counter_info *info = counter_info((enum counter)counter);

		if (!(row->reading.present & COUNTER_BIT(counter)))
			continue;
		cells_port_name(result, LONG_PORT, view, port->port);
		result_text(result, LONG_COUNTER, info->key);
		result_unsigned(result, LONG_VALUE, row->reading.value[counter]);
		if (row->reading.value[counter] == reading_max(&row->reading, (enum counter)counter))
			result_show(result, LONG_VALUE, "saturated", STYLE_WARNING);
		result_text(result, LONG_UNIT, info->unit);
		result_text(result, LONG_MEANING, info->meaning);
		more = result_end_row(result);
	}
	return more;
}

/* The selected ports with their numbers. */
struct rows {
	struct port_view *views;
	size_t count;
	size_t hidden; /* omitted from tables because they were never up */
	struct port_details details; /* with --details */
};

/* Tables omit ports that were never up, mostly empty cages; JSON and CSV have every port. */
static bool is_wanted(const struct view *view, const struct selection *selection, const struct ports_options *own,
		      uint32_t index, size_t *hidden)
{
	if (!selection_has_port(selection, index) || !port_is_pollable(view->fabric, &view->fabric->ports[index]))
		return false;
	if (own->all || selection_names_port(selection, index) || port_view_was_seen(view, index))
		return true;
	(*hidden)++;
	return false;
}

static void add_row(const struct view *view, const struct ports_options *own, uint32_t index, struct rows *rows)
{
	struct port_view *row = &rows->views[rows->count];

	port_view_init(view, index, row);
	if (own->details)
		port_details_ber(view, &rows->details, row);
	/* Uncorrectable FEC blocks are losses too. */
	if (!own->errors || row->errors > 0 || row->errors_at_least || row->ber[VIEW_BER_EFFECTIVE].rate > 0)
		rows->count++;
}

static int collect_rows(const struct view *view, const struct selection *selection, const struct ports_options *own,
			struct rows *rows, struct error *err)
{
	int code;

	rows->views = calloc(view->fabric->port_count + 1, sizeof(*rows->views));
	if (!rows->views)
		return err_nomem(err);
	code = own->details ? port_details_load(view, selection, &rows->details, err) : 0;
	if (code < 0)
		return code;
	for (size_t i = 0; i < view->fabric->node_count; i++) {
		const struct node *node = &view->fabric->nodes[view->nodes[i]];

		for (uint32_t j = node->first_port; j < node->first_port + node->ports; j++)
			if (is_wanted(view, selection, own, j, &rows->hidden))
				add_row(view, own, j, rows);
	}
	return 0;
}

/* Columns of JSON, CSV and the plain table, with their object members. */
struct columns {
	struct column list[COLUMN_COUNT + PORT_DETAILS_COLUMNS];
	const char *keys[COUNTER_COUNT];
	struct port_details_names names;
};

static void describe_columns(struct columns *columns)
{
	memcpy(columns->list, port_columns, sizeof(port_columns));
	cells_counter_keys(columns->keys);
	columns->list[ERRORS].members = columns->keys + COUNTER_TRAFFIC_COUNT;
	columns->list[ERRORS].member_count = CELLS_ERROR_COUNT;
	columns->list[COUNTERS].members = columns->keys;
	columns->list[COUNTERS].member_count = COUNTER_COUNT;
	port_details_columns(&columns->names, &columns->list[COLUMN_COUNT]);
}

/* Point to the other end of a single port's link. */
static void note_peer(struct result *result, const struct view *view, const struct rows *rows)
{
	uint32_t peer = rows->count == 1 ? view->fabric->ports[rows->views[0].port].peer : FABRIC_NONE;
	char name[PORT_NAME_SIZE];

	if (peer == FABRIC_NONE)
		return;
	order_port_name(&view->names_shown, view->fabric, peer, name);
	result_note(result, "peer: %s", name);
}

/* The default window is one sweep: point to longer windows. */
static void note_errors(struct result *result, const struct options *options, const struct ports_options *own,
			const struct rows *rows)
{
	if (!own->errors)
		return;
	if (!rows->count)
		result_note(result, options->since_us || own->details ? "no port errors in this window" :
			    "no port errors in this sweep; use --since -1h for a longer window");
	else if (!options->since_us && !own->details)
		result_note(result, "errors of one sweep only; use --since -1h for a longer window");
}

static int print_details(const struct view *view, const struct options *options, const struct ports_options *own,
			 const struct rows *rows, struct error *err)
{
	struct result_options output = options_result(options);
	struct result *result;
	size_t zeros = 0;
	bool more = true;
	int code = result_create(stdout, &output, port_details_table, PORT_DETAILS_TABLE_COLUMNS, &result, err);

	if (code < 0)
		return code;
	for (size_t i = 0; more && i < rows->count && (!own->top || i < (size_t)own->top); i++)
		more = port_details_put_rows(result, view, &rows->details, &rows->views[i], &zeros);
	if (zeros)
		result_note(result, "%zu counters with value 0 hidden; --format json has them", zeros);
	note_peer(result, view, rows);
	note_errors(result, options, own, rows);
	if (rows->hidden)
		result_note(result, "%zu ports that were never up hidden; --all shows them", rows->hidden);
	code = result_finish(result, err);
	result_destroy(result);
	return code;
}

/* Below the table: sums of the planes among the rows. */
static void note_planes(struct result *result, const struct view *view, const struct rows *rows)
{
	char text[160];
	size_t listed = 0;

	for (size_t i = 0; i < rows->count; i++) {
		uint32_t port = rows->views[i].port;
		const struct node *node = &view->fabric->nodes[view->fabric->ports[port].node];
		struct plane_sum sum;

		if (port_first_plane(view->fabric, port) != port || !port_is_plane(view->fabric, port) ||
		    ++listed > PLANES_LISTED)
			continue;
		sum = sum_planes(view, port);
		result_note(result, "%s/%u: %s", node->name, view->fabric->ports[port].num,
			    plane_sum_text(&sum, text, sizeof(text)));
	}
	if (listed > PLANES_LISTED)
		result_note(result, "%zu more multi-plane ports; --format json has their sums",
			    listed - PLANES_LISTED);
}

static int print_rows(const struct view *view, const struct options *options, const struct ports_options *own,
		      const struct rows *rows, struct error *err)
{
	struct result_options output = options_result(options);
	bool is_long = own->counters && output.format == RESULT_TABLE, more = true;
	size_t count = is_long ? LONG_COUNT : COLUMN_COUNT + (own->details ? PORT_DETAILS_COLUMNS : 0);
	struct columns columns;
	struct result *result;
	int code;

	describe_columns(&columns);
	code = result_create(stdout, &output, is_long ? long_columns : columns.list, count, &result, err);
	if (code < 0)
		return code;
	for (size_t i = 0; more && i < rows->count && (!own->top || i < (size_t)own->top); i++)
		more = is_long ? put_long_rows(result, view, &rows->views[i]) :
				 put_row(result, view, own->details ? &rows->details : NULL, &rows->views[i]);
	note_planes(result, view, rows);
	note_errors(result, options, own, rows);
	if (rows->hidden)
		result_note(result, "%zu ports that were never up hidden; --all shows them", rows->hidden);
	code = result_finish(result, err);
	result_destroy(result);
	return code;
}

static int show(const struct command *command, const struct options *options, const struct ports_options *own,
		const struct view *view, struct error *err)
{
	struct selection selection;
	struct rows rows = { 0 };
	int code = selection_init_hosts(&selection, view->fabric, options->argv, options->argc, err);

	if (code < 0)
		return code;
	code = collect_rows(view, &selection, own, &rows, err);
	selection_done(&selection);
	if (code == 0 && own->sort)
		code = order_ports(command, view, own->sort, rows.views, rows.count, err);
	if (code == 0 && own->details && options->format == RESULT_TABLE)
		code = print_details(view, options, own, &rows, err);
	else if (code == 0)
		code = print_rows(view, options, own, &rows, err);
	port_details_done(&rows.details);
	free(rows.views);
	return code;
}

static int check(const struct command *command, const struct ports_options *own, struct error *err)
{
	int code = order_check(command, own->sort, err);

	if (code < 0)
		return code;
	if (own->counters && own->details)
		return options_usage_error(command, err, "--counters and --details are mutually exclusive");
	if (own->sort && !own->details && (!strcmp(own->sort, view_ber_key(VIEW_BER_EFFECTIVE)) ||
					   !strcmp(own->sort, view_ber_key(VIEW_BER_RAW))))
		return options_usage_error(command, err, "--sort %s requires --details", own->sort);
	return 0;
}

int ports_run(const struct command *command, int argc, char **argv, struct error *err)
{
	struct ports_options own = { 0 };
	const struct option_spec specs[] = {
		{ "all", 'a', OPTION_FLAG, NULL, "include ports that were never up (JSON and CSV always do)",
		  &own.all, 0 },
		{ "errors", 'e', OPTION_FLAG, NULL, "show only ports with errors in the window", &own.errors, 0 },
		{ "counters", 0, OPTION_FLAG, NULL, "absolute counters, one per line (JSON and CSV always have "
			"them)",
		  &own.counters, 0 },
		{ "details", 0, OPTION_FLAG, NULL, "bit error rates, FEC, errors and detail counters, one per "
			"line",
		  &own.details, 0 },
		{ "sort", 's', OPTION_TEXT, "KEY", "sort by a key of --format json or a counter, largest first",
		  &own.sort, 0 },
		{ "top", 'n', OPTION_NUMBER, "N", "show only the first N", &own.top, 1 },
		{ NULL, 0, OPTION_FLAG, NULL, NULL, NULL, 0 },
	};
	struct options options;
	struct view view;
	int code = options_parse(command, COMMON_SHOW | COMMON_AT | COMMON_WINDOW, specs, argc, argv, &options, err);

	if (code)
		return code < 0 ? code : 0;
	code = check(command, &own, err);
	if (code < 0)
		return code;
	own.all |= options.format != RESULT_TABLE;
	options.window_sweeps = own.details ? PORT_DETAILS_SWEEPS : 0;
	code = view_open(&options, own.counters || own.details || options.format != RESULT_TABLE, &view, err);
	if (code < 0)
		return code;
	/* Tables have no topology columns. */
	if (options.format != RESULT_TABLE)
		code = view_find_shape(&view, err);
	if (code == 0)
		code = show(command, &options, &own, &view, err);
	view_done(&view);
	return code;
}
