/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* links.c - `ibwire links`: one row per link with both ends */
#include <stdlib.h>

#include "base/err.h"
#include "cli/command.h"
#include "cli/lib/columns.h"
#include "cli/lib/options.h"
#include "cli/lib/sorting.h"
#include "cli/lib/moment_options.h"
#include "fabric/fabric.h"
#include "facts/port_columns.h"
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
};

static bool has_errors(const struct port_facts *end)
{
	return end->errors > 0 || end->errors_at_least;
}

struct links_options {
	bool errors;
	const char *sort, *columns;
	struct sorting sorting;
	struct columns shown;
	int64_t top; /* 0: unlimited */
};

/* A link with the number that it is sorted by: that of the end with the larger one. */
struct link_row {
	struct port_facts a, b;
	double value;
};

struct links {
	const struct moment *moment;
	struct port_scope scope;
	const struct selection *selection;
	const struct links_options *own;
	bool *done; /* by port: its link was seen from this end */
	struct link_row *rows;
	size_t selected, count; /* links in the selection, and of these the rows */
};

/* The rows of result_fill_rows(). */
struct link_cells {
	struct link_facts link;
	const void *rows[LINK_ROW + 1];
};

static void set_cells(const struct link_row *row, struct link_cells *ret)
{
	link_facts_of(&row->a, &row->b, &ret->link);
	ret->rows[PORT_ROW] = &row->a;
	ret->rows[PEER_ROW] = &row->b;
	ret->rows[LINK_ROW] = &ret->link;
}

/* Add the link of one port, unless it was added from its other end. */
static void add_link(struct links *links, uint32_t index)
{
	const struct moment *moment = links->moment;
	uint32_t peer = moment->fabric->ports[index].peer;
	struct link_row *row = &links->rows[links->count];
	struct link_cells cells;

	if (peer == FABRIC_NONE || links->done[peer] ||
	    !selection_has_link(links->selection, index))
		return;
	links->done[index] = true;
	links->selected++;
	port_facts_of(&links->scope, index, &row->a);
	port_facts_of(&links->scope, peer, &row->b);
	if (links->own->errors && !has_errors(&row->a) && !has_errors(&row->b))
		return;
	set_cells(row, &cells);
	row->value = sorting_value(&links->own->sorting, cells.rows);
	links->count++;
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

	links->done = calloc(fabric->port_count + 1, sizeof(*links->done));
	links->rows = calloc(fabric->port_count + 1, sizeof(*links->rows));
	if (!links->done || !links->rows)
		return err_nomem(err);
	for (size_t i = 0; i < fabric->node_count; i++) {
		const struct node *node = &fabric->nodes[links->moment->nodes[i]];

		for (uint32_t j = node->first_port; j < node->first_port + node->ports; j++)
			add_link(links, j);
	}
	if (!sorting_is_by_name(&links->own->sorting) && links->count)
		qsort_r(links->rows, links->count, sizeof(*links->rows), compare_links, links);
	return 0;
}

/* The window of --errors, and why a table is empty. */
static void note(const struct links *links, struct result *result)
{
	char window[MOMENT_WINDOW_SIZE];

	if (!links->selected)
		result_none(result, links->selection->all ? "the fabric has no link" :
			    "no cable is connected, or no link matches; ibwire report NODE/PORT shows the last "
			    "peer of a port");
	if (!links->own->errors)
		return;
	moment_format_window(links->moment, window);
	if (links->count)
		result_note(result, "window: %s%s", window, links->moment->since_reset ? MOMENT_SINCE_RESET : "");
	else if (links->selected)
		result_none(result, "no errors of %zu link%s in %s", links->selected,
			    links->selected == 1 ? "" : "s", window);
}

static int print(const struct options *options, const struct links *links, struct error *err)
{
	const struct columns *shown = &links->own->shown;
	struct result *result = output_begin(options, false, shown->list, shown->count);

	for (size_t i = 0; i < links->count && (!links->own->top || i < (size_t)links->own->top); i++) {
		struct link_cells cells;

		set_cells(&links->rows[i], &cells);
		result_fill_rows(result, cells.rows);
		result_end_row(result);
	}
	note(links, result);
	return output_end(result, 0, err);
}

static int show(const struct options *options, const struct links_options *own, const struct moment *moment,
		struct error *err)
{
	struct selection selection;
	struct links links = { .moment = moment, .scope = moment_scope(moment), .selection = &selection, .own = own };
	int code = moment_select(moment, options->argv, options->argc, &selection, err);

	if (code < 0)
		return code;
	code = collect(&links, err);
	if (code == 0)
		code = print(options, &links, err);
	free(links.done);
	free(links.rows);
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
					  .items = link_items, .count = sizeof(link_items) / sizeof(*link_items) };
	int code = sorting_parse(command, &list, own->sort, &own->sorting, err);

	return code < 0 ? code : columns_create(command, options, &list, own->columns, NULL, &own->shown, err);
}

int links_run(const struct command *command, int argc, char **argv, struct error *err)
{
	struct links_options own = { 0 };
	const struct option_spec specs[] = {
		OPT_FLAG("errors", 'e', &own.errors,
			 "show only links with errors at either end (since their last reset, at most 24 h)"),
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
	/* The table marks links that are slower than built. */
	if (options.format == RESULT_TABLE || own.columns)
		code = moment_find_shape(&moment, err);
	if (code == 0)
		code = show(&options, &own, &moment, err);
	moment_done(&moment);
	columns_done(&own.shown);
	return code;
}
