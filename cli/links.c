/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* links.c - `ibwire links`: one row per link with both ends */
#include <stdlib.h>

#include "base/err.h"
#include "cli/lib/cells.h"
#include "cli/command.h"
#include "cli/lib/options.h"
#include "cli/lib/selection.h"
#include "cli/lib/view.h"
#include "fabric/fabric.h"
#include "storage/reader.h"

/* Columns in table order. A is the end whose node sorts first by name, B its peer. */
static const struct cell_column link_columns[] = {
	{ .cell = CELL_TIME },
	{ .cell = CELL_NAME, .title = "A" },
	{ .cell = CELL_GUID }, { .cell = CELL_NODE }, { .cell = CELL_PORT }, { .cell = CELL_LID },
	{ .cell = CELL_NAME, .peer = true, .title = "B" },
	{ .cell = CELL_GUID, .peer = true }, { .cell = CELL_NODE, .peer = true }, { .cell = CELL_PORT, .peer = true },
	{ .cell = CELL_LID, .peer = true },
	{ .cell = CELL_STATE, .title = HEADING_STATE, .priority = 8 }, { .cell = CELL_STATE, .peer = true },
	{ .cell = CELL_PHYS_STATE }, { .cell = CELL_PHYS_STATE, .peer = true },
	{ .cell = CELL_LINK, .title = HEADING_LINK, .priority = 3 },
	{ .cell = CELL_WIDTH }, { .cell = CELL_SPEED }, { .cell = CELL_RATE },
	{ .cell = CELL_LINK_STATUS, .title = HEADING_STATUS },
	{ .cell = CELL_STATUS, .key = "node_status" }, { .cell = CELL_STATUS, .peer = true },
	{ .cell = CELL_XMIT, .title = "A " HEADING_TX },
	{ .cell = CELL_XMIT_PERCENT, .title = "A " HEADING_TX_PERCENT, .priority = 6 },
	{ .cell = CELL_RCV, .title = "A " HEADING_RX, .priority = 9 },
	{ .cell = CELL_RCV_PERCENT },
	{ .cell = CELL_STALL, .title = "A " HEADING_STALL, .priority = 10 },
	{ .cell = CELL_XMIT, .peer = true, .title = "B " HEADING_TX },
	{ .cell = CELL_XMIT_PERCENT, .peer = true, .title = "B " HEADING_TX_PERCENT, .priority = 6 },
	{ .cell = CELL_RCV, .peer = true, .title = "B " HEADING_RX, .priority = 9 },
	{ .cell = CELL_RCV_PERCENT, .peer = true },
	{ .cell = CELL_STALL, .peer = true, .title = "B " HEADING_STALL, .priority = 10 },
	{ .cell = CELL_ERRORS, .title = "A " HEADING_ERRORS, .priority = 2 },
	{ .cell = CELL_ERRORS, .peer = true, .title = "B " HEADING_ERRORS, .priority = 2 },
	{ .cell = CELL_ERRORS_UNKNOWN }, { .cell = CELL_ERRORS_UNKNOWN, .peer = true },
	{ .cell = CELL_WINDOW },
	{ .cell = CELL_AGE, .title = HEADING_AGE, .priority = 7 }, { .cell = CELL_AGE, .peer = true },
};

enum { COLUMN_COUNT = sizeof(link_columns) / sizeof(*link_columns) };

static bool has_errors(const struct port_view *end)
{
	return end->errors > 0 || end->errors_at_least;
}

struct printer {
	const struct view *view;
	const struct selection *selection;
	bool errors_only;
	bool *done; /* by port: its link was seen from this end */
	struct cells cells;
	struct result *result;
	size_t links, shown;
};

/* Add the link of one port, unless it was added from its other end. */
static void put_link(struct printer *printer, uint32_t index)
{
	const struct view *view = printer->view;
	uint32_t peer = view->fabric->ports[index].peer;
	struct port_view a, b;

	if (peer == FABRIC_NONE || printer->done[peer] ||
	    (!selection_has_port(printer->selection, index) && !selection_has_port(printer->selection, peer)))
		return;
	printer->done[index] = true;
	printer->links++;
	port_view_init(view, index, &a);
	port_view_init(view, peer, &b);
	if (printer->errors_only && !has_errors(&a) && !has_errors(&b))
		return;
	printer->shown++;
	cells_fill(&printer->cells, printer->result, view, &a);
	result_end_row(printer->result);
}

static void put_links(struct printer *printer)
{
	const struct fabric *fabric = printer->view->fabric;

	for (size_t i = 0; i < fabric->node_count; i++) {
		const struct node *node = &fabric->nodes[printer->view->nodes[i]];

		for (uint32_t j = node->first_port; j < node->first_port + node->ports; j++)
			put_link(printer, j);
	}
}

/* Explain an empty table. */
static void note(const struct printer *printer, const struct options *options)
{
	struct result *result = printer->result;
	const char *further = options->since_us ? "" : "; use --since -1h for a longer window";

	if (!printer->links && !printer->selection->all)
		result_note(result, "no cable is connected; ibwire report NODE/PORT shows its last peer");
	else if (printer->errors_only && !printer->shown)
		result_note(result, "no link errors in this %s%s", options->since_us ? "window" : "one sweep",
			    further);
	else if (printer->errors_only && !options->since_us)
		result_note(result, "errors of one sweep only%s", further);
}

static int show(const struct options *options, const struct view *view, bool errors_only, struct error *err)
{
	struct selection selection;
	struct printer printer = { .view = view, .selection = &selection, .errors_only = errors_only };
	int code = selection_init(&selection, view->fabric, options->argv, options->argc, err);

	if (code < 0)
		return code;
	printer.done = calloc(view->fabric->port_count + 1, sizeof(*printer.done));
	cells_init(&printer.cells, link_columns, COLUMN_COUNT);
	code = printer.done ? output_begin(options, false, printer.cells.columns, COLUMN_COUNT, &printer.result, err) :
			      err_nomem(err);
	if (code == 0) {
		put_links(&printer);
		note(&printer, options);
		code = output_end(printer.result, 0, err);
	}
	free(printer.done);
	selection_done(&selection);
	return code;
}

int links_run(const struct command *command, int argc, char **argv, struct error *err)
{
	bool errors = false;
	const struct option_spec specs[] = {
		OPT_FLAG("errors", 'e', &errors, "show only links with errors at either end in the window"),
		{ 0 },
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
