/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* links.c - `ibwire links`: one row per link with both ends */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/clock.h"
#include "base/err.h"
#include "cli/lib/cells.h"
#include "cli/command.h"
#include "cli/lib/options.h"
#include "cli/lib/selection.h"
#include "cli/lib/view.h"
#include "fabric/fabric.h"
#include "storage/reader.h"

/* Columns of each end: A is the end whose node sorts first by name, B its peer. */
enum end_column {
	END_NODE_PORT, END_GUID, END_NODE, END_PORT, END_LID, END_STATE, END_PHYS_STATE, END_XMIT, END_RCV,
	END_XMIT_PERCENT, END_RCV_PERCENT, END_STALL, END_ERRORS, END_ERRORS_UNKNOWN, END_STATUS, END_AGE, END_COUNT,
};

/* Columns in table order; `ends` maps the columns of each end. */
enum {
	TIME, A_NODE_PORT, A_GUID, A_NODE, A_PORT, A_LID, B_NODE_PORT, B_GUID, B_NODE, B_PORT, B_LID, A_STATE, B_STATE,
	A_PHYS_STATE, B_PHYS_STATE, LINK, WIDTH, SPEED, RATE, STATUS, A_STATUS, B_STATUS, A_XMIT, A_XMIT_PERCENT, A_RCV,
	A_RCV_PERCENT, A_STALL, B_XMIT, B_XMIT_PERCENT, B_RCV, B_RCV_PERCENT, B_STALL, A_ERRORS, B_ERRORS,
	A_ERRORS_UNKNOWN, B_ERRORS_UNKNOWN, WINDOW, A_AGE, B_AGE, COLUMN_COUNT,
};

#define DATA_ONLY COLUMN_NO_TABLE

static const size_t ends[2][END_COUNT] = {
	{ A_NODE_PORT, A_GUID, A_NODE, A_PORT, A_LID, A_STATE, A_PHYS_STATE, A_XMIT, A_RCV, A_XMIT_PERCENT,
	  A_RCV_PERCENT, A_STALL, A_ERRORS, A_ERRORS_UNKNOWN, A_STATUS, A_AGE },
	{ B_NODE_PORT, B_GUID, B_NODE, B_PORT, B_LID, B_STATE, B_PHYS_STATE, B_XMIT, B_RCV, B_XMIT_PERCENT,
	  B_RCV_PERCENT, B_STALL, B_ERRORS, B_ERRORS_UNKNOWN, B_STATUS, B_AGE },
};

static const struct column link_columns[COLUMN_COUNT] = {
	[TIME] = { .key = "time", .kind = COLUMN_TIME, .flags = DATA_ONLY },
	[A_NODE_PORT] = { .title = "A", .kind = COLUMN_TEXT,
			 .flags = COLUMN_NO_DATA | COLUMN_FLEXIBLE | COLUMN_KEEP_TAIL },
	[A_GUID] = { .key = "node_guid", .kind = COLUMN_GUID, .flags = DATA_ONLY },
	[A_NODE] = { .key = "node", .kind = COLUMN_TEXT, .flags = DATA_ONLY },
	[A_PORT] = { .key = "port", .kind = COLUMN_INTEGER, .flags = DATA_ONLY },
	[A_LID] = { .key = "lid", .kind = COLUMN_INTEGER, .flags = DATA_ONLY },
	[B_NODE_PORT] = { .title = "B", .kind = COLUMN_TEXT,
			 .flags = COLUMN_NO_DATA | COLUMN_FLEXIBLE | COLUMN_KEEP_TAIL },
	[B_GUID] = { .key = "peer_guid", .kind = COLUMN_GUID, .flags = DATA_ONLY },
	[B_NODE] = { .key = "peer", .kind = COLUMN_TEXT, .flags = DATA_ONLY },
	[B_PORT] = { .key = "peer_port", .kind = COLUMN_INTEGER, .flags = DATA_ONLY },
	[B_LID] = { .key = "peer_lid", .kind = COLUMN_INTEGER, .flags = DATA_ONLY },
	[A_STATE] = { .key = "state", .title = HEADING_STATE, .kind = COLUMN_TEXT, .priority = 8 },
	[B_STATE] = { .key = "peer_state", .kind = COLUMN_TEXT, .flags = DATA_ONLY },
	[A_PHYS_STATE] = { .key = "phys_state", .kind = COLUMN_TEXT, .flags = DATA_ONLY },
	[B_PHYS_STATE] = { .key = "peer_phys_state", .kind = COLUMN_TEXT, .flags = DATA_ONLY },
	[LINK] = { .title = HEADING_LINK, .kind = COLUMN_TEXT, .flags = COLUMN_NO_DATA, .priority = 3 },
	[WIDTH] = { .key = "width", .kind = COLUMN_TEXT, .flags = DATA_ONLY },
	[SPEED] = { .key = "speed", .kind = COLUMN_TEXT, .flags = DATA_ONLY },
	[RATE] = { .key = "rate_gbps", .kind = COLUMN_GBPS, .flags = DATA_ONLY },
	[STATUS] = { .key = "status", .title = HEADING_STATUS, .kind = COLUMN_TEXT },
	[A_STATUS] = { .key = "node_status", .kind = COLUMN_TEXT, .flags = DATA_ONLY },
	[B_STATUS] = { .key = "peer_status", .kind = COLUMN_TEXT, .flags = DATA_ONLY },
	[A_XMIT] = { .key = "xmit_bytes_per_s", .title = "A " HEADING_TX, .kind = COLUMN_RATE },
	[A_XMIT_PERCENT] = { .key = "xmit_utilization_percent", .title = "A " HEADING_TX_PERCENT,
			     .kind = COLUMN_PERCENT, .priority = 6 },
	[A_RCV] = { .key = "rcv_bytes_per_s", .title = "A " HEADING_RX, .kind = COLUMN_RATE, .priority = 9 },
	[A_RCV_PERCENT] = { .key = "rcv_utilization_percent", .kind = COLUMN_PERCENT, .flags = DATA_ONLY },
	[A_STALL] = { .key = "stall_percent", .title = "A " HEADING_STALL, .kind = COLUMN_PERCENT, .priority = 10 },
	[B_XMIT] = { .key = "peer_xmit_bytes_per_s", .title = "B " HEADING_TX, .kind = COLUMN_RATE },
	[B_XMIT_PERCENT] = { .key = "peer_xmit_utilization_percent", .title = "B " HEADING_TX_PERCENT,
			     .kind = COLUMN_PERCENT, .priority = 6 },
	[B_RCV] = { .key = "peer_rcv_bytes_per_s", .title = "B " HEADING_RX, .kind = COLUMN_RATE, .priority = 9 },
	[B_RCV_PERCENT] = { .key = "peer_rcv_utilization_percent", .kind = COLUMN_PERCENT, .flags = DATA_ONLY },
	[B_STALL] = { .key = "peer_stall_percent", .title = "B " HEADING_STALL,
		      .kind = COLUMN_PERCENT, .priority = 10 },
	[A_ERRORS] = { .key = "errors", .title = "A " HEADING_ERRORS, .kind = COLUMN_OBJECT,
		       .flags = COLUMN_OMIT_ZERO | COLUMN_FLEXIBLE, .priority = 2 },
	[B_ERRORS] = { .key = "peer_errors", .title = "B " HEADING_ERRORS, .kind = COLUMN_OBJECT,
		       .flags = COLUMN_OMIT_ZERO | COLUMN_FLEXIBLE, .priority = 2 },
	[A_ERRORS_UNKNOWN] = { .key = "errors_unknown", .kind = COLUMN_LIST, .flags = DATA_ONLY },
	[B_ERRORS_UNKNOWN] = { .key = "peer_errors_unknown", .kind = COLUMN_LIST, .flags = DATA_ONLY },
	[WINDOW] = { .key = "window_s", .kind = COLUMN_SPAN_S, .flags = DATA_ONLY },
	[A_AGE] = { .key = "age_s", .title = HEADING_AGE, .kind = COLUMN_SPAN_S, .priority = 7 },
	[B_AGE] = { .key = "peer_age_s", .kind = COLUMN_SPAN_S, .flags = DATA_ONLY },
};

static void fill_end(struct result *result, const size_t *to, const struct view *view, const struct port_view *end)
{
	const struct port *port = &view->fabric->ports[end->port];
	const struct node *node = &view->fabric->nodes[port->node];
	uint16_t lid = fabric_port_lid(view->fabric, port);

	cells_port_name(result, to[END_NODE_PORT], view, end->port);
	result_unsigned(result, to[END_GUID], node->guid);
	result_text(result, to[END_NODE], node->name);
	result_integer(result, to[END_PORT], port->num);
	if (lid)
		result_integer(result, to[END_LID], lid);
	cells_state(result, to[END_STATE], port);
	result_text(result, to[END_PHYS_STATE], port_phys_state_name(port->phys_state));
	cells_rate(result, to[END_XMIT], end, end->xmit_bytes_per_s);
	cells_rate(result, to[END_RCV], end, end->rcv_bytes_per_s);
	result_real(result, to[END_XMIT_PERCENT], end->xmit_percent);
	result_real(result, to[END_RCV_PERCENT], end->rcv_percent);
	cells_stall(result, to[END_STALL], end);
	cells_errors(result, to[END_ERRORS], view, end);
	cells_errors_unknown(result, to[END_ERRORS_UNKNOWN], end);
	cells_status(result, to[END_STATUS], end->status);
	result_real(result, to[END_AGE], end->age_s);
}

static bool put_row(struct result *result, const struct view *view, const struct port_view pair[2])
{
	const struct port *port = &view->fabric->ports[pair[0].port];

	result_integer(result, TIME, view->snapshot->sweep.wall_us);
	fill_end(result, ends[0], view, &pair[0]);
	fill_end(result, ends[1], view, &pair[1]);
	cells_link(result, LINK, view, pair[0].port);
	cells_width_and_speed(result, WIDTH, SPEED, port);
	result_real(result, RATE, pair[0].rate_gbps);
	result_real(result, WINDOW, pair[0].window_s);
	cells_status(result, STATUS, port_status_worse(pair[0].status, pair[1].status));
	return result_end_row(result);
}

static bool has_errors(const struct port_view *end)
{
	return end->errors > 0 || end->errors_at_least;
}

/* The result and its counts. */
struct counts {
	const struct selection *selection;
	bool errors;
	size_t links, shown;
};

/* Add the link of one port, unless it was added from its other end. */
static bool put_link(struct result *result, const struct view *view, struct counts *counts, bool *done, uint32_t index)
{
	uint32_t peer = view->fabric->ports[index].peer;
	struct port_view pair[2];

	if (peer == FABRIC_NONE || done[peer] ||
	    (!selection_has_port(counts->selection, index) && !selection_has_port(counts->selection, peer)))
		return true;
	done[index] = true;
	counts->links++;
	port_view_init(view, index, &pair[0]);
	port_view_init(view, peer, &pair[1]);
	if (counts->errors && !has_errors(&pair[0]) && !has_errors(&pair[1]))
		return true;
	counts->shown++;
	return put_row(result, view, pair);
}

static int put_rows(struct result *result, const struct view *view, struct counts *counts, struct error *err)
{
	bool *done = calloc(view->fabric->port_count + 1, sizeof(*done)), more = true;

	if (!done)
		return err_nomem(err);
	for (size_t i = 0; more && i < view->fabric->node_count; i++) {
		const struct node *node = &view->fabric->nodes[view->nodes[i]];

		for (uint32_t j = node->first_port; more && j < node->first_port + node->ports; j++)
			more = put_link(result, view, counts, done, j);
	}
	free(done);
	return 0;
}

/* Explain an empty table. */
static void note(struct result *result, const struct options *options, const struct counts *counts)
{
	const char *further = options->since_us ? "" : "; use --since -1h for a longer window";

	if (!counts->links && !counts->selection->all)
		result_note(result, "no cable is connected; ibwire report NODE/PORT shows its last peer");
	else if (counts->errors && !counts->shown)
		result_note(result, "no link errors in this %s%s", options->since_us ? "window" : "one sweep",
			    further);
	else if (counts->errors && !options->since_us)
		result_note(result, "errors of one sweep only%s", further);
}

static int show(const struct options *options, const struct view *view, bool errors, struct error *err)
{
	struct result_options output = options_result(options);
	struct column columns[COLUMN_COUNT];
	const char *keys[COUNTER_COUNT];
	struct selection selection;
	struct counts counts = { &selection, errors, 0, 0 };
	struct result *result;
	int code = selection_init_hosts(&selection, view->fabric, options->argv, options->argc, err);

	if (code < 0)
		return code;
	memcpy(columns, link_columns, sizeof(columns));
	cells_counter_keys(keys);
	columns[A_ERRORS].members = columns[B_ERRORS].members = keys + COUNTER_TRAFFIC_COUNT;
	columns[A_ERRORS].member_count = columns[B_ERRORS].member_count = CELLS_ERROR_COUNT;
	code = result_create(stdout, &output, columns, COLUMN_COUNT, &result, err);
	if (code == 0) {
		code = put_rows(result, view, &counts, err);
		note(result, options, &counts);
		if (code == 0)
			code = result_finish(result, err);
		result_destroy(result);
	}
	selection_done(&selection);
	return code;
}

int links_run(const struct command *command, int argc, char **argv, struct error *err)
{
	bool errors = false;
	const struct option_spec specs[] = {
		{ "errors", 'e', OPTION_FLAG, NULL, "show only links with errors at either end in the window",
		  &errors, 0 },
		{ NULL, 0, OPTION_FLAG, NULL, NULL, NULL, 0 },
	};
	struct options options;
	struct view view;
	int code = options_parse(command, COMMON_SHOW | COMMON_AT | COMMON_WINDOW, specs, argc, argv, &options, err);

	if (code)
		return code < 0 ? code : 0;
	code = view_open(&options, false, &view, err);
	if (code < 0)
		return code;
	code = show(&options, &view, errors, err);
	view_done(&view);
	return code;
}
