/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* ports.c - `ibwire ports`: one row per port */
#include <stdio.h>
#include <stdlib.h>

#include "analysis/rate.h"
#include "base/clock.h"
#include "base/err.h"
#include "cli/lib/cells.h"
#include "cli/command.h"
#include "cli/lib/options.h"
#include "cli/ports/port_details.h"
#include "cli/lib/sorting.h"
#include "cli/lib/view.h"
#include "fabric/fabric.h"
#include "fabric/planes.h"
#include "facts/selection.h"
#include "storage/reader.h"

/* Maximum number of multi-plane ports listed below a table. */
#define PLANES_LISTED 4

/* Columns in table order. */
static const struct cell_column port_columns[] = {
	{ .cell = CELL_TIME },
	{ .cell = CELL_NAME, .title = "PORT" },
	{ .cell = CELL_GUID }, { .cell = CELL_NODE }, { .cell = CELL_PORT },
	{ .cell = CELL_LID, .title = HEADING_LID, .priority = 9 },
	{ .cell = CELL_STATE, .title = HEADING_STATE, .priority = 7 },
	{ .cell = CELL_LINK, .title = HEADING_LINK, .priority = 3 },
	{ .cell = CELL_STATUS, .title = HEADING_STATUS },
	{ .cell = CELL_XMIT, .title = HEADING_TX },
	{ .cell = CELL_RCV, .title = HEADING_RX },
	{ .cell = CELL_XMIT_PERCENT, .title = HEADING_TX_PERCENT, .priority = 5 },
	{ .cell = CELL_RCV_PERCENT, .title = HEADING_RX_PERCENT, .priority = 5 },
	{ .cell = CELL_STALL, .title = HEADING_STALL, .priority = 8 },
	{ .cell = CELL_XMIT_PACKETS, .title = "TX PKTS", .priority = 10 },
	{ .cell = CELL_RCV_PACKETS, .title = "RX PKTS", .priority = 10 },
	{ .cell = CELL_ERRORS, .title = HEADING_ERRORS, .priority = 1 },
	{ .cell = CELL_NAME, .peer = true, .title = HEADING_PEER, .priority = 2 },
	{ .cell = CELL_GUID, .peer = true }, { .cell = CELL_NODE, .peer = true }, { .cell = CELL_PORT, .peer = true },
	{ .cell = CELL_TIER }, { .cell = CELL_ROLE }, { .cell = CELL_RAIL }, { .cell = CELL_CAGE },
	{ .cell = CELL_PHYS_STATE }, { .cell = CELL_WIDTH }, { .cell = CELL_SPEED }, { .cell = CELL_RATE },
	{ .cell = CELL_XMIT_WAIT }, { .cell = CELL_WINDOW }, { .cell = CELL_ERRORS_UNKNOWN },
	{ .cell = CELL_AGE, .title = HEADING_AGE, .priority = 6 },
	{ .cell = CELL_COUNTERS }, { .cell = CELL_SYMBOL_BER }, { .cell = CELL_SYMBOL_BER_BELOW },
	{ .cell = CELL_BER_AT_LEAST },
	{ .cell = CELL_PLANES }, { .cell = CELL_PLANES_RATE }, { .cell = CELL_PLANES_XMIT },
	{ .cell = CELL_PLANES_RCV },
};

enum { COLUMN_COUNT = sizeof(port_columns) / sizeof(*port_columns) };

struct ports_options {
	bool all, errors, counters, details;
	const char *sort;
	struct sorting sorting;
	int64_t top; /* 0: unlimited */
};

/* The table of --counters: one row per counter of a port. */
enum { LONG_PORT, LONG_COUNTER, LONG_VALUE, LONG_UNIT, LONG_MEANING, LONG_COUNT };

static const struct column long_columns[LONG_COUNT] = {
	[LONG_PORT] = { .title = "PORT", .kind = COLUMN_TEXT, .flags = COLUMN_FLEXIBLE | COLUMN_KEEP_TAIL },
	[LONG_COUNTER] = { .title = "COUNTER", .kind = COLUMN_TEXT },
	[LONG_VALUE] = { .title = "VALUE", .kind = COLUMN_INTEGER },
	[LONG_UNIT] = { .title = "UNIT", .kind = COLUMN_TEXT, .priority = 2 },
	[LONG_MEANING] = { .title = "MEANING", .kind = COLUMN_TEXT, .flags = COLUMN_FLEXIBLE, .priority = 1 },
};

static void put_long_rows(struct result *result, const struct view *view, const struct port_facts *port)
{
	const struct port_row *row = &view->snapshot->rows[port->port];

	for (int counter = 0; row->reading && counter < COUNTER_COUNT; counter++) {
		const struct counter_info *info = counter_info((enum counter)counter);

		if (!(row->reading->present & COUNTER_BIT(counter)))
			continue;
		cells_port_name(result, LONG_PORT, view, port->port);
		result_text(result, LONG_COUNTER, info->key);
		result_unsigned(result, LONG_VALUE, row->reading->value[counter]);
		if (row->reading->value[counter] == reading_max(row->reading, (enum counter)counter))
			result_show(result, LONG_VALUE, "saturated", STYLE_WARNING);
		result_text(result, LONG_UNIT, info->unit);
		result_text(result, LONG_MEANING, info->meaning);
		result_end_row(result);
	}
}

/* The selected ports with their numbers. */
struct rows {
	struct port_facts *views;
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
	if (own->all || selection_names_port(selection, index) || view_port_was_seen(view, index))
		return true;
	(*hidden)++;
	return false;
}

static void add_row(const struct view *view, const struct ports_options *own, uint32_t index, struct rows *rows)
{
	struct port_facts *row = &rows->views[rows->count];

	view_port_facts(view, index, row);
	if (own->details)
		port_details_ber(view, &rows->details, row);
	/* Uncorrectable FEC blocks are losses too. */
	if (!own->errors || row->errors > 0 || row->errors_at_least || row->ber[PORT_BER_EFFECTIVE].rate > 0)
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

/* Below a table: what is not in it, and the window of --errors. */
static void note_rows(struct result *result, const struct view *view, const struct ports_options *own,
		      const struct rows *rows)
{
	char window[VIEW_WINDOW_SIZE];

	if (own->errors) {
		view_format_window(view, window);
		if (rows->count)
			result_note(result, "window: %s%s", window, view->since_reset ? VIEW_SINCE_RESET : "");
		result_none(result, "no port errors in %s", window);
	} else if (rows->hidden) {
		result_note(result, "%zu ports that were never up hidden; --all shows them", rows->hidden);
		result_none(result, "%zu ports, none of which was ever up; --all shows them", rows->hidden);
	} else {
		result_none(result, "the selection has no port with counters");
	}
}

static int print_details(const struct view *view, const struct options *options, const struct ports_options *own,
			 const struct rows *rows, struct error *err)
{
	struct result_options output = options_result(options);
	struct result *result = result_create(options->out, &output, port_details_table, PORT_DETAILS_TABLE_COLUMNS);
	size_t zeros = 0;

	for (size_t i = 0; i < rows->count && (!own->top || i < (size_t)own->top); i++)
		port_details_put_rows(result, view, &rows->details, &rows->views[i], &zeros);
	if (zeros)
		result_note(result, "%zu counters with value 0 hidden; --format json has them", zeros);
	note_peer(result, view, rows);
	note_rows(result, view, own, rows);
	return output_end(result, 0, err);
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
		sum = cells_sum_planes(view, port);
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
	bool is_long = own->counters && output.format == RESULT_TABLE;
	size_t count = is_long ? LONG_COUNT : COLUMN_COUNT + (own->details ? PORT_DETAILS_COLUMNS : 0);
	struct port_details_names names;
	struct cells cells;
	struct result *result;

	cells_init(&cells, port_columns, COLUMN_COUNT);
	port_details_columns(&names, &cells.columns[COLUMN_COUNT]);
	result = result_create(options->out, &output, is_long ? long_columns : cells.columns, count);
	for (size_t i = 0; i < rows->count && (!own->top || i < (size_t)own->top); i++) {
		if (is_long) {
			put_long_rows(result, view, &rows->views[i]);
			continue;
		}
		cells_fill(&cells, result, view, &rows->views[i]);
		if (own->details)
			port_details_fill(result, COLUMN_COUNT, view, &rows->details, &rows->views[i]);
		result_end_row(result);
	}
	note_planes(result, view, rows);
	note_rows(result, view, own, rows);
	return output_end(result, 0, err);
}

struct ordering {
	const struct view *view;
	const struct sorting *sorting;
};

static int compare_ports(const void *a, const void *b, void *ctx)
{
	const struct ordering *by = ctx;
	const struct port_facts *left = a, *right = b;
	const uint32_t *rank = by->view->names_shown.port_rank;

	return sorting_compare(sorting_value(by->sorting, by->view, left), sorting_value(by->sorting, by->view, right),
			       rank[left->port], rank[right->port]);
}

static int show(const struct options *options, const struct ports_options *own, const struct view *view,
		struct error *err)
{
	struct selection selection;
	struct rows rows = { 0 };
	int code = view_select(view, options->argv, options->argc, &selection, err);

	if (code < 0)
		return code;
	code = collect_rows(view, &selection, own, &rows, err);
	selection_done(&selection);
	/* Rows are in order of name. */
	if (code == 0 && own->sorting.cell != CELL_OWN && rows.count)
		qsort_r(rows.views, rows.count, sizeof(*rows.views), compare_ports,
			&(struct ordering){ view, &own->sorting });
	if (code == 0 && own->details && options->format == RESULT_TABLE)
		code = print_details(view, options, own, &rows, err);
	else if (code == 0)
		code = print_rows(view, options, own, &rows, err);
	port_details_done(&rows.details);
	free(rows.views);
	return code;
}

static int check(const struct command *command, struct ports_options *own, struct error *err)
{
	int code = sorting_parse(command, own->sort, &own->sorting, err);

	if (code < 0)
		return code;
	if (own->counters && own->details)
		return options_usage_error(command, err, "--counters and --details are mutually exclusive");
	if (!own->details && (own->sorting.cell == CELL_EFFECTIVE_BER || own->sorting.cell == CELL_RAW_BER))
		return options_usage_error(command, err, "--sort %s requires --details", own->sort);
	return 0;
}

int ports_run(const struct command *command, int argc, char **argv, struct error *err)
{
	struct ports_options own = { 0 };
	const struct option_spec specs[] = {
		OPT_FLAG("all", 'a', &own.all, "include ports that were never up (JSON and CSV always do)"),
		OPT_FLAG("errors", 'e', &own.errors,
			 "show only ports with errors (since their last reset, at most 24 h)"),
		OPT_FLAG("counters", 0, &own.counters,
			 "absolute counters, one per line (JSON and CSV always have them)"),
		OPT_FLAG("details", 0, &own.details,
			 "bit error rates, FEC, errors and detail counters, one per line"),
		OPT_TEXT("sort", 's', "KEY", &own.sort, "sort by " SORTING_HELP),
		OPT_NUMBER("top", 'n', "N", &own.top, 1, "show only the first N"),
		{ 0 },
	};
	struct options options;
	struct view view;
	bool absolute;
	int code = options_parse(command, COMMON_SHOW | COMMON_AT | COMMON_WINDOW, specs, argc, argv, &options, err);

	if (code)
		return code < 0 ? code : 0;
	code = check(command, &own, err);
	if (code < 0)
		return code;
	own.all |= options.format != RESULT_TABLE;
	absolute = own.counters || own.details || options.format != RESULT_TABLE;
	options.window_sweeps = own.details ? PORT_DETAILS_SWEEPS : 0;
	code = own.errors ? view_open_errors(&options, absolute, &view, err) :
			    view_open(&options, absolute, &view, err);
	if (code < 0)
		return code;
	code = view_find_shape(&view, err);
	if (code == 0)
		code = show(&options, &own, &view, err);
	view_done(&view);
	return code;
}
