/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* links.c - `ibwire links`: one row per link with both ends */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/err.h"
#include "cli/command.h"
#include "cli/lib/columns.h"
#include "cli/lib/options.h"
#include "cli/lib/sorting.h"
#include "cli/lib/moment_options.h"
#include "fabric/fabric.h"
#include "facts/link.h"
#include "facts/port_columns.h"
#include "facts/port_facts.h"
#include "facts/selection.h"
#include "storage/reader.h"

/* A is the end whose node sorts first by name, B its peer. */
static const struct column_item link_items[] = {
	{ .key = "time" },
	{ .key = "name", .table = true, .no_data = true, .title = "A" },
	{ .key = "node_guid" }, { .key = "node" }, { .key = "port" }, { .key = "lid" },
	{ .key = "name", .row = PEER_ROW, .table = true, .no_data = true, .title = "B" },
	{ .key = "node_guid", .row = PEER_ROW, .as = "peer_guid" }, { .key = "node", .row = PEER_ROW, .as = "peer" },
	{ .key = "port", .row = PEER_ROW },
	{ .key = "lid", .row = PEER_ROW },
	{ .key = "state", .table = true, .title = HEADING_STATE, .priority = 9 }, { .key = "state", .row = PEER_ROW },
	{ .key = "phys_state" }, { .key = "phys_state", .row = PEER_ROW },
	{ .key = "link", .table = true, .no_data = true, .title = HEADING_LINK, .priority = 5 },
	{ .key = "width" }, { .key = "speed" }, { .key = "rate_gbps" },
	{ .key = "status", .row = LINK_ROW, .table = true },
	{ .key = "finding", .row = LINK_ROW, .table = true, .priority = 4 },
	{ .key = "status", .as = "node_status" }, { .key = "status", .row = PEER_ROW },
	{ .key = "xmit_bytes_per_s", .table = true, .priority = 8 },
	{ .key = "xmit_utilization_percent", .table = true, .priority = 1 },
	{ .key = "rcv_bytes_per_s", .table = true, .priority = 11 },
	{ .key = "rcv_utilization_percent" },
	{ .key = "stall_percent", .table = true, .priority = 7 },
	{ .key = "xmit_bytes_per_s", .row = PEER_ROW, .table = true, .priority = 8 },
	{ .key = "xmit_utilization_percent", .row = PEER_ROW, .table = true, .priority = 1 },
	{ .key = "rcv_bytes_per_s", .row = PEER_ROW, .table = true, .priority = 11 },
	{ .key = "rcv_utilization_percent", .row = PEER_ROW },
	{ .key = "stall_percent", .row = PEER_ROW, .table = true, .priority = 7 },
	{ .key = "errors", .table = true, .priority = 2 },
	{ .key = "errors", .row = PEER_ROW, .table = true, .priority = 2 },
	{ .key = "errors_unknown" }, { .key = "errors_unknown", .row = PEER_ROW },
	{ .key = "window_s" },
	{ .key = "age_s", .table = true, .title = HEADING_AGE, .priority = 10 }, { .key = "age_s", .row = PEER_ROW },
	{ .key = "port_guid" }, { .key = "port_guid", .row = PEER_ROW },
};

struct links_options {
	struct column_item items[sizeof(link_items) / sizeof(link_items[0])]; /* with the priorities of these options */
	bool errors, down, degraded;
	const char *state, *sort, *columns;
	struct sorting sorting;
	struct columns shown;
	int64_t top; /* 0: unlimited */
};

/* A link with the number that it is sorted by: that of the end with the larger one. */
struct link_row {
	struct port_facts a, b;
	bool has_b; /* false: down, and its last peer is unknown or connected elsewhere */
	double value;
};

struct links {
	const struct moment *moment;
	struct port_scope scope;
	const struct selection *selection;
	const struct selection *state; /* the links of --state, --down and --degraded; NULL: all */
	const struct links_options *own;
	bool *done; /* by port: its link was seen from this end */
	struct link_row *rows;
	size_t selected, count; /* links in the selection, and of these the rows */
	size_t unknown;         /* ports without a row whose errors are unknown */
};

/* The rows of result_fill_rows(). */
struct link_cells {
	struct link_facts link;
	const void *rows[LINK_ROW + 1];
};

static void set_cells(const struct link_row *row, struct link_cells *ret)
{
	const struct port_facts *b = row->has_b ? &row->b : NULL;

	link_facts_of(&row->a, b, row->a.scope->shape, &ret->link);
	ret->rows[PORT_ROW] = &row->a;
	ret->rows[PEER_ROW] = b;
	ret->rows[LINK_ROW] = &ret->link;
}

/*
 * The other end of a link. A link that is down has none in the topology: that of the last connection, unless it is
 * connected elsewhere now.
 * Return: 1; 0: no link, or it is not listed; or an error. @ret: FABRIC_NONE: unknown
 */
static int find_peer(const struct links *links, uint32_t index, uint32_t *ret, struct error *err)
{
	const struct fabric *fabric = links->moment->fabric;
	const struct port *port = &fabric->ports[index];
	struct past_peer past;
	int code;

	*ret = port->peer;
	if (*ret != FABRIC_NONE)
		return 1;
	if (!links->state || !port->num || !moment_port_was_seen(links->moment, index))
		return 0;
	code = reader_last_peer(links->moment->reader, fabric->nodes[port->node].guid, port->num, links->moment->at_us,
				&past, err);
	if (code <= 0)
		return code;
	*ret = fabric_find_port(fabric, past.guid, past.port);
	if (*ret != FABRIC_NONE && fabric->ports[*ret].peer != FABRIC_NONE)
		*ret = FABRIC_NONE;
	return 1;
}

static bool is_selected(const struct selection *selection, uint32_t index, uint32_t peer)
{
	return selection_has_link(selection, index) || (peer != FABRIC_NONE && selection_has_link(selection, peer));
}

/* Add the link of one port, unless it was added from its other end. */
static int add_link(struct links *links, uint32_t index, struct error *err)
{
	struct link_row *row = &links->rows[links->count];
	struct link_cells cells;
	uint32_t peer;
	int code = links->done[index] ? 0 : find_peer(links, index, &peer, err);

	if (code <= 0)
		return code;
	links->done[index] = true;
	if (peer != FABRIC_NONE)
		links->done[peer] = true;
	if (!is_selected(links->selection, index, peer))
		return 0;
	links->selected++;
	if (links->state && !is_selected(links->state, index, peer))
		return 0;
	row->has_b = peer != FABRIC_NONE;
	port_facts_of(&links->scope, index, &row->a);
	if (row->has_b)
		port_facts_of(&links->scope, peer, &row->b);
	if (links->own->errors && !facts_has_errors(row->a.errors) &&
	    !(row->has_b && facts_has_errors(row->b.errors))) {
		links->unknown += (size_t)isnan(row->a.errors.value) + (row->has_b && isnan(row->b.errors.value));
		return 0;
	}
	set_cells(row, &cells);
	row->value = sorting_value(&links->own->sorting, cells.rows);
	links->count++;
	return 0;
}

static int compare_links(const void *a, const void *b, void *ctx)
{
	const struct links *links = ctx;
	const struct link_row *left = a, *right = b;
	const uint32_t *rank = links->moment->names_shown.port_rank;

	return sorting_compare(left->value, right->value, rank[left->a.port], rank[right->a.port]);
}

/* Collect the links in order of name, and sort them. */
static int collect(struct links *links, struct error *err)
{
	const struct fabric *fabric = links->moment->fabric;
	int code = 0;

	links->done = calloc(fabric->port_count + 1, sizeof(*links->done));
	links->rows = calloc(fabric->port_count + 1, sizeof(*links->rows));
	if (!links->done || !links->rows)
		return err_nomem(err);
	for (size_t i = 0; code == 0 && i < fabric->node_count; i++) {
		const struct node *node = &fabric->nodes[links->moment->nodes[i]];

		for (uint32_t j = node->first_port; code == 0 && j < node->first_port + node->ports; j++)
			code = add_link(links, j, err);
	}
	if (code == 0 && !sorting_is_by_name(&links->own->sorting) && links->count)
		qsort_r(links->rows, links->count, sizeof(*links->rows), compare_links, links);
	return code;
}

/* The window of --errors, and why a table is empty. */
static void note(const struct links *links, struct result *result)
{
	char window[MOMENT_WINDOW_SIZE], unknown[UNKNOWN_ERRORS_SIZE];
	const char *reset = links->moment->since_reset ? MOMENT_SINCE_RESET : "";

	facts_unknown_errors(links->unknown, unknown);
	if (!links->selected)
		result_none(result, links->selection->all ? "the fabric has no link" :
			    "no cable is connected, or no link matches; ibwire links --down lists links that are "
			    "down, with their last peer");
	if (links->state && links->selected && !links->count)
		result_none(result, "none of %zu link%s is %s%s", links->selected, links->selected == 1 ? "" : "s",
			    links->own->state, links->own->errors ? " and has errors" : "");
	if (!links->own->errors)
		return;
	moment_format_window(links->moment, window);
	if (links->count)
		result_note(result, "window: %s%s%s", window, reset, unknown);
	else if (links->selected && !links->state)
		result_none(result, "no errors of %zu link%s in %s%s%s", links->selected,
			    links->selected == 1 ? "" : "s", window, reset, unknown);
}

static int print(const struct options *options, const struct links *links, struct error *err)
{
	const struct columns *shown = &links->own->shown;
	struct result *result = output_begin(options, false, shown->list, shown->count);
	bool assumed = false;

	for (size_t i = 0; i < links->count && (!links->own->top || i < (size_t)links->own->top); i++) {
		const struct link_row *row = &links->rows[i];
		struct link_cells cells;

		set_cells(row, &cells);
		result_fill_rows(result, cells.rows);
		result_end_row(result);
		assumed |= port_wait_is_assumed(&row->a) || (row->has_b && port_wait_is_assumed(&row->b));
	}
	note(links, result);
	if (assumed)
		result_note(result, PORT_WAIT_ASSUMED_NOTE);
	return output_end(result, 0, err);
}

static int show(const struct options *options, const struct links_options *own, const struct moment *moment,
		struct error *err)
{
	struct selection selection, state;
	char typed[64], *const states[] = { typed };
	struct links links = { .moment = moment, .scope = moment_scope(moment), .selection = &selection, .own = own };
	int code = moment_select(moment, options->argv, options->argc, &selection, err);

	if (code < 0)
		return code;
	if (own->state) {
		snprintf(typed, sizeof(typed), "state:%s", own->state);
		code = moment_select(moment, (char **)states, 1, &state, err);
		links.state = code < 0 ? NULL : &state;
	}
	if (code == 0)
		code = collect(&links, err);
	if (code == 0)
		code = print(options, &links, err);
	free(links.done);
	free(links.rows);
	if (links.state)
		selection_done(&state);
	selection_done(&selection);
	return code;
}

static int check(const struct command *command, const struct options *options, struct links_options *own,
		 struct error *err)
{
	const struct column_source sources[] = {
		{ .columns = link_columns, .row = LINK_ROW },
		{ .columns = port_columns, .row = PORT_ROW, .title_prefix = "A ",
		  .append = true },
		{ .columns = port_columns, .row = PEER_ROW, .key_prefix = "peer_",
		  .title_prefix = "B ", .append = true },
	};
	const struct column_list list = { .sources = sources, .source_count = sizeof(sources) / sizeof(*sources),
					  .items = own->items, .count = sizeof(link_items) / sizeof(*link_items) };
	int code;

	memcpy(own->items, link_items, sizeof(own->items));
	/* On a narrow terminal the column that is the reason for the list stays. */
	for (size_t i = 0; own->degraded && i < list.count; i++)
		if (!strcmp(own->items[i].key, "link"))
			own->items[i].priority = 0;
	code = sorting_parse(command, &list, own->sort, &own->sorting, err);

	if (code == 0 && own->down + own->degraded + !!own->state > 1)
		return options_usage_error(command, err, "--down, --degraded and --state are mutually exclusive");
	if (own->down || own->degraded)
		own->state = own->down ? port_status_name(STATUS_DOWN) : LINK_DEGRADED;
	/* It is one value of a key, not an expression. */
	if (own->state && (!*own->state || own->state[strspn(own->state, "abcdefghijklmnopqrstuvwxyz-")]))
		return options_usage_error(command, err, "--state must be a status such as down, silent or "
					   LINK_DEGRADED ", not '%.64s'", own->state);
	return code < 0 ? code : columns_create(command, options, &list, own->columns, NULL, &own->shown, err);
}

int links_run(const struct command *command, int argc, char **argv, struct error *err)
{
	struct links_options own = { 0 };
	const struct option_spec specs[] = {
		OPT_FLAG("errors", 'e', &own.errors,
			 "show only links with errors at either end (since their last reset, at most 24 h)"),
		OPT_FLAG("down", 0, &own.down, "show only links that are down, with their last peer"),
		OPT_FLAG("degraded", 0, &own.degraded,
			 "show only links below what both ends support or comparable links run at"),
		OPT_TEXT("state", 0, "STATE", &own.state,
			 "show only links with this status at either end: down, degraded, silent, ..."),
		OPT_TEXT("columns", 'c', "LIST", &own.columns, COLUMNS_HELP),
		OPT_TEXT("sort", 's', "KEY", &own.sort, "sort by " SORTING_HELP),
		OPT_NUMBER("top", 'n', "N", &own.top, 1, "show only the first N"),
		{ 0 },
	};
	struct options options;
	struct moment moment;
	int code = options_parse(command, COMMON_SHOW | COMMON_AT | COMMON_WINDOW, specs, argc, argv, &options, err);

	if (code)
		return code < 0 ? code : 0;
	code = check(command, &options, &own, err);
	if (code)
		return code < 0 ? code : 0;
	code = own.errors ? options_open_errors(&options, own.columns, &moment, err) :
			    options_open_moment(&options, own.columns, &moment, err);
	if (code < 0) {
		columns_done(&own.shown);
		return code;
	}
	/* Links that are slower than built, and the findings of uplinks. */
	code = moment_find_findings(&moment, err);
	if (code == 0)
		code = show(&options, &own, &moment, err);
	moment_done(&moment);
	columns_done(&own.shown);
	return code;
}
