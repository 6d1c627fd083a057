/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* links.c - `ibwire links`: one row per link with both ends */
#include <math.h>
#include <stdlib.h>

#include "base/err.h"
#include "cli/lib/cells.h"
#include "cli/command.h"
#include "cli/lib/options.h"
#include "cli/lib/sorting.h"
#include "cli/lib/view.h"
#include "fabric/fabric.h"
#include "facts/selection.h"
#include "storage/reader.h"

/* Columns in table order. A is the end whose node sorts first by name, B its peer. */
static const struct cell_column link_columns[] = {
	{ .cell = CELL_TIME },
	{ .cell = CELL_NAME, .title = "A" },
	{ .cell = CELL_GUID }, { .cell = CELL_NODE }, { .cell = CELL_PORT }, { .cell = CELL_LID },
	{ .cell = CELL_NAME, .peer = true, .title = "B" },
	{ .cell = CELL_GUID, .peer = true }, { .cell = CELL_NODE, .peer = true }, { .cell = CELL_PORT, .peer = true },
	{ .cell = CELL_LID, .peer = true },
	{ .cell = CELL_STATE, .title = HEADING_STATE, .priority = 9 }, { .cell = CELL_STATE, .peer = true },
	{ .cell = CELL_PHYS_STATE }, { .cell = CELL_PHYS_STATE, .peer = true },
	{ .cell = CELL_LINK, .title = HEADING_LINK, .priority = 5 },
	{ .cell = CELL_WIDTH }, { .cell = CELL_SPEED }, { .cell = CELL_RATE },
	{ .cell = CELL_LINK_STATUS, .title = HEADING_STATUS },
	{ .cell = CELL_STATUS, .key = "node_status" }, { .cell = CELL_STATUS, .peer = true },
	{ .cell = CELL_XMIT, .title = "A " HEADING_TX, .priority = 8 },
	{ .cell = CELL_XMIT_PERCENT, .title = "A " HEADING_TX_PERCENT, .priority = 1 },
	{ .cell = CELL_RCV, .title = "A " HEADING_RX, .priority = 11 },
	{ .cell = CELL_RCV_PERCENT },
	{ .cell = CELL_STALL, .title = "A " HEADING_STALL, .priority = 7 },
	{ .cell = CELL_XMIT, .peer = true, .title = "B " HEADING_TX, .priority = 8 },
	{ .cell = CELL_XMIT_PERCENT, .peer = true, .title = "B " HEADING_TX_PERCENT, .priority = 1 },
	{ .cell = CELL_RCV, .peer = true, .title = "B " HEADING_RX, .priority = 11 },
	{ .cell = CELL_RCV_PERCENT, .peer = true },
	{ .cell = CELL_STALL, .peer = true, .title = "B " HEADING_STALL, .priority = 7 },
	{ .cell = CELL_ERRORS, .title = "A " HEADING_ERRORS, .priority = 2 },
	{ .cell = CELL_ERRORS, .peer = true, .title = "B " HEADING_ERRORS, .priority = 2 },
	{ .cell = CELL_ERRORS_UNKNOWN }, { .cell = CELL_ERRORS_UNKNOWN, .peer = true },
	{ .cell = CELL_WINDOW },
	{ .cell = CELL_AGE, .title = HEADING_AGE, .priority = 10 }, { .cell = CELL_AGE, .peer = true },
};

enum { COLUMN_COUNT = sizeof(link_columns) / sizeof(*link_columns) };

static bool has_errors(const struct port_facts *end)
{
	return end->errors > 0 || end->errors_at_least;
}

struct links_options {
	bool errors;
	const char *sort;
	struct sorting sorting;
	int64_t top; /* 0: unlimited */
};

/* A link with the number that it is sorted by: that of the end with the larger one. */
struct link_row {
	struct port_facts a;
	double value;
};

struct links {
	const struct view *view;
	const struct selection *selection;
	const struct links_options *own;
	bool *done; /* by port: its link was seen from this end */
	struct link_row *rows;
	size_t selected, count; /* links in the selection, and of these the rows */
};

/* Add the link of one port, unless it was added from its other end. */
static void add_link(struct links *links, uint32_t index)
{
	const struct view *view = links->view;
	uint32_t peer = view->fabric->ports[index].peer;
	struct link_row *row = &links->rows[links->count];
	struct port_facts b;

	if (peer == FABRIC_NONE || links->done[peer] ||
	    (!selection_has_port(links->selection, index) && !selection_has_port(links->selection, peer)))
		return;
	links->done[index] = true;
	links->selected++;
	view_port_facts(view, index, &row->a);
	view_port_facts(view, peer, &b);
	if (links->own->errors && !has_errors(&row->a) && !has_errors(&b))
		return;
	row->value = fmax(sorting_value(&links->own->sorting, view, &row->a),
			  sorting_value(&links->own->sorting, view, &b));
	links->count++;
}

static int compare_links(const void *a, const void *b, void *ctx)
{
	const struct links *links = ctx;
	const struct link_row *left = a, *right = b;
	const uint32_t *rank = links->view->names_shown.port_rank;

	return sorting_compare(left->value, right->value, rank[left->a.port], rank[right->a.port]);
}

/* Collect the links in order of name, and sort them. */
static int collect(struct links *links, struct error *err)
{
	const struct fabric *fabric = links->view->fabric;

	links->done = calloc(fabric->port_count + 1, sizeof(*links->done));
	links->rows = calloc(fabric->port_count + 1, sizeof(*links->rows));
	if (!links->done || !links->rows)
		return err_nomem(err);
	for (size_t i = 0; i < fabric->node_count; i++) {
		const struct node *node = &fabric->nodes[links->view->nodes[i]];

		for (uint32_t j = node->first_port; j < node->first_port + node->ports; j++)
			add_link(links, j);
	}
	if (links->own->sorting.cell != CELL_OWN && links->count)
		qsort_r(links->rows, links->count, sizeof(*links->rows), compare_links, links);
	return 0;
}

/* The window of --errors, and why a table is empty. */
static void note(const struct links *links, struct result *result)
{
	char window[VIEW_WINDOW_SIZE];

	if (!links->selected)
		result_none(result, links->selection->all ? "the fabric has no link" :
			    "no cable is connected; ibwire report NODE/PORT shows its last peer");
	if (!links->own->errors)
		return;
	view_format_window(links->view, window);
	if (links->count)
		result_note(result, "window: %s%s", window, links->view->since_reset ? VIEW_SINCE_RESET : "");
	else if (links->selected)
		result_none(result, "no errors of %zu link%s in %s", links->selected,
			    links->selected == 1 ? "" : "s", window);
}

static int print(const struct options *options, const struct links *links, struct error *err)
{
	struct cells cells;
	struct result *result;

	cells_init(&cells, link_columns, COLUMN_COUNT);
	result = output_begin(options, false, cells.columns, COLUMN_COUNT);
	for (size_t i = 0; i < links->count && (!links->own->top || i < (size_t)links->own->top); i++) {
		cells_fill(&cells, result, links->view, &links->rows[i].a);
		result_end_row(result);
	}
	note(links, result);
	return output_end(result, 0, err);
}

static int show(const struct options *options, const struct links_options *own, const struct view *view,
		struct error *err)
{
	struct selection selection;
	struct links links = { .view = view, .selection = &selection, .own = own };
	int code = view_select(view, options->argv, options->argc, &selection, err);

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

int links_run(const struct command *command, int argc, char **argv, struct error *err)
{
	struct links_options own = { 0 };
	const struct option_spec specs[] = {
		OPT_FLAG("errors", 'e', &own.errors,
			 "show only links with errors at either end (since their last reset, at most 24 h)"),
		OPT_TEXT("sort", 's', "KEY", &own.sort, "sort by " SORTING_HELP),
		OPT_NUMBER("top", 'n', "N", &own.top, 1, "show only the first N"),
		{ 0 },
	};
	struct options options;
	struct view view;
	int code = options_parse(command, COMMON_SHOW | COMMON_AT | COMMON_WINDOW, specs, argc, argv, &options, err);

	if (code)
		return code < 0 ? code : 0;
	code = sorting_parse(command, own.sort, &own.sorting, err);
	if (code == 0)
		code = own.errors ? view_open_errors(&options, false, &view, err) :
				    view_open(&options, false, &view, err);
	if (code < 0)
		return code;
	/* The table marks links that are slower than built. */
	if (options.format == RESULT_TABLE)
		code = view_find_shape(&view, err);
	if (code == 0)
		code = show(&options, &own, &view, err);
	view_done(&view);
	return code;
}
