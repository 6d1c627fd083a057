/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* ports.c - `ibwire ports`: one row per port */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "analysis/rate.h"
#include "base/clock.h"
#include "base/err.h"
#include "base/text.h"
#include "cli/command.h"
#include "cli/lib/columns.h"
#include "cli/lib/options.h"
#include "cli/ports/port_details.h"
#include "cli/ports/port_pkeys.h"
#include "cli/lib/sorting.h"
#include "cli/lib/moment_options.h"
#include "fabric/fabric.h"
#include "fabric/planes.h"
#include "facts/cells.h"
#include "facts/port_columns.h"
#include "facts/selection.h"
#include "storage/reader.h"

/* Maximum number of multi-plane ports listed below a table. */
#define PLANES_LISTED 4

/* The rows of result_fill_rows(); the last one with --details. */
enum { DETAILS_ROW = LINK_ROW };

/* Columns in table order. */
static const struct column_item port_items[] = {
	{ .key = "time" },
	{ .key = "name", .table = true, .no_data = true },
	{ .key = "node_guid" }, { .key = "node" }, { .key = "port" },
	{ .key = "lid", .table = true, .priority = 9 },
	{ .key = "state", .table = true, .priority = 7 },
	{ .key = "link", .table = true, .no_data = true, .priority = 3 },
	{ .key = "status", .table = true },
	{ .key = "finding", .table = true, .priority = 4 },
	{ .key = "xmit_bytes_per_s", .table = true },
	{ .key = "rcv_bytes_per_s", .table = true },
	{ .key = "xmit_utilization_percent", .table = true, .priority = 5 },
	{ .key = "rcv_utilization_percent", .table = true, .priority = 5 },
	{ .key = "stall_percent", .table = true, .priority = 8 },
	{ .key = "xmit_packets_per_s", .table = true, .priority = 10 },
	{ .key = "rcv_packets_per_s", .table = true, .priority = 10 },
	{ .key = "errors", .table = true, .priority = 1 },
	{ .key = "name", .row = PEER_ROW, .table = true, .no_data = true, .title = HEADING_PEER, .priority = 2 },
	{ .key = "node_guid", .row = PEER_ROW, .as = "peer_guid" }, { .key = "node", .row = PEER_ROW, .as = "peer" },
	{ .key = "port", .row = PEER_ROW },
	{ .key = "tier" }, { .key = "role" }, { .key = "rail" }, { .key = "cage" },
	{ .key = "phys_state" }, { .key = "width" }, { .key = "speed" }, { .key = "rate_gbps" },
	{ .key = "xmit_wait_ticks_per_s" }, { .key = "xmit_wait_rule" }, { .key = "window_s" },
	{ .key = "errors_unknown" },
	{ .key = "age_s", .table = true, .priority = 6 },
	{ .key = "counters" }, { .key = "symbol_ber" }, { .key = "symbol_ber_below" }, { .key = "ber_at_least" },
	{ .key = "planes" }, { .key = "planes_rate_gbps" }, { .key = "planes_xmit_bytes_per_s" },
	{ .key = "planes_rcv_bytes_per_s" },
	{ .key = "port_guid" }, { .key = "port_guid", .row = PEER_ROW },
	/* With --details: */
	{ .key = "effective_ber" }, { .key = "effective_ber_below" }, { .key = "raw_ber" },
	{ .key = "raw_ber_below" },
	{ .key = "fec_layout", .row = DETAILS_ROW }, { .key = "details", .row = DETAILS_ROW },
	{ .key = "details_counted", .row = DETAILS_ROW },
	{ .key = "details_unknown", .row = DETAILS_ROW }, { .key = "details_at_least", .row = DETAILS_ROW },
	{ .key = "details_window_us", .row = DETAILS_ROW },
	{ .key = "details_age_us", .row = DETAILS_ROW },
};

enum { ITEM_COUNT = sizeof(port_items) / sizeof(*port_items), DETAIL_ITEMS = 11 };

struct ports_options {
	bool all, errors, counters, details, pkeys;
	const char *sort, *columns;
	struct sorting sorting;
	struct columns shown;
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

static void put_long_rows(struct result *result, const struct moment *moment, const struct port_facts *port)
{
	const struct port_row *row = &moment->snapshot->rows[port->port];

	for (int counter = 0; row->reading && counter < COUNTER_COUNT; counter++) {
		const struct counter_info *info = counter_info((enum counter)counter);

		if (!(row->reading->present & COUNTER_BIT(counter)))
			continue;
		cells_port_name(result, LONG_PORT, &moment->names_shown, moment->fabric, port->port);
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
	struct port_scope scope;
	struct port_facts *views;
	size_t count;
	size_t hidden; /* omitted from tables because they were never up */
	struct port_details details; /* with --details */
};

/* Tables omit ports that were never up, mostly empty cages; JSON and CSV have every port. */
static bool is_wanted(const struct moment *moment, const struct selection *selection, const struct ports_options *own,
		      uint32_t index, size_t *hidden)
{
	if (!selection_has_port(selection, index) || !port_is_pollable(moment->fabric, &moment->fabric->ports[index]))
		return false;
	if (own->pkeys)
		return port_pkeys_has(moment, index);
	if (own->all || selection_names_port(selection, index) || moment_port_was_seen(moment, index))
		return true;
	(*hidden)++;
	return false;
}

static void add_row(const struct moment *moment, const struct ports_options *own, uint32_t index, struct rows *rows)
{
	struct port_facts *row = &rows->views[rows->count];

	port_facts_of(&rows->scope, index, row);
	if (own->details)
		port_details_ber(moment, &rows->details, row);
	/* Uncorrectable FEC blocks are losses too. */
	if (!own->errors || facts_has_errors(row->errors) || row->ber[PORT_BER_EFFECTIVE].rate > 0)
		rows->count++;
}

static int collect_rows(const struct moment *moment, const struct selection *selection, const struct ports_options *own,
			struct rows *rows, struct error *err)
{
	int code;

	rows->scope = moment_scope(moment);
	rows->views = calloc(moment->fabric->port_count + 1, sizeof(*rows->views));
	if (!rows->views)
		return err_nomem(err);
	code = own->details ? port_details_load(moment, selection, &rows->details, err) : 0;
	if (code < 0)
		return code;
	for (size_t i = 0; i < moment->fabric->node_count; i++) {
		const struct node *node = &moment->fabric->nodes[moment->nodes[i]];

		for (uint32_t j = node->first_port; j < node->first_port + node->ports; j++)
			if (is_wanted(moment, selection, own, j, &rows->hidden))
				add_row(moment, own, j, rows);
	}
	return 0;
}

/* Point to the other end of a single port's link. */
static void note_peer(struct result *result, const struct moment *moment, const struct rows *rows)
{
	uint32_t peer = rows->count == 1 ? moment->fabric->ports[rows->views[0].port].peer : FABRIC_NONE;
	char name[PORT_NAME_SIZE];

	if (peer == FABRIC_NONE)
		return;
	order_port_name(&moment->names_shown, moment->fabric, peer, name);
	result_note(result, "peer: %s", name);
}

/* Below a table: what is not in it, and the window of --errors. */
static void note_rows(struct result *result, const struct moment *moment, const struct ports_options *own,
		      const struct rows *rows)
{
	char window[MOMENT_WINDOW_SIZE];

	if (own->errors) {
		moment_format_window(moment, window);
		if (rows->count)
			result_note(result, "window: %s%s", window, moment->since_reset ? MOMENT_SINCE_RESET : "");
		result_none(result, "no port errors in %s", window);
	} else if (rows->hidden) {
		bool one = rows->hidden == 1;

		result_note(result, one ? "%zu port that was never up hidden; --all shows it" :
			    "%zu ports that were never up hidden; --all shows them", rows->hidden);
		result_none(result, one ? "%zu port, which was never up; --all shows it" :
			    "%zu ports, none of which was ever up; --all shows them", rows->hidden);
	} else {
		result_none(result, "the selection has no port with counters");
	}
}

static int print_details(const struct moment *moment, const struct options *options, const struct ports_options *own,
			 const struct rows *rows, struct error *err)
{
	struct result_options output = options_result(options);
	struct result *result = result_create(options->out, &output, port_details_table, PORT_DETAILS_TABLE_COLUMNS);
	size_t zeros = 0;

	for (size_t i = 0; i < rows->count && (!own->top || i < (size_t)own->top); i++)
		port_details_put_rows(result, moment, &rows->details, &rows->views[i], &zeros);
	if (zeros)
		result_note(result, "%zu counter%s with value 0 hidden; --format json has them", zeros,
			    text_plural(zeros));
	note_peer(result, moment, rows);
	note_rows(result, moment, own, rows);
	return output_end(result, 0, err);
}

/* Below the table: sums of the planes among the rows. */
static void note_planes(struct result *result, const struct moment *moment, const struct rows *rows)
{
	char text[160];
	size_t listed = 0;

	for (size_t i = 0; i < rows->count; i++) {
		uint32_t port = rows->views[i].port;
		const struct node *node = &moment->fabric->nodes[moment->fabric->ports[port].node];
		struct plane_sum sum;

		if (port_first_plane(moment->fabric, port) != port || !port_is_plane(moment->fabric, port) ||
		    ++listed > PLANES_LISTED)
			continue;
		sum = port_facts_planes(&rows->scope, port);
		result_note(result, "%s/%u: %s", node->name, moment->fabric->ports[port].num,
			    plane_sum_text(&sum, text, sizeof(text)));
	}
	if (listed > PLANES_LISTED)
		result_note(result, "%zu more multi-plane ports; --format json has their sums",
			    listed - PLANES_LISTED);
}

/* The usual columns of the other end are its identity. */
static void put_row(struct result *result, const struct rows *rows, const struct ports_options *own,
		    const struct port_facts *port)
{
	uint32_t index = rows->scope.snapshot->fabric->ports[port->port].peer;
	struct port_facts peer = { .scope = &rows->scope, .port = index };
	const struct port_details_row details = { &rows->details, port };
	const void *const cells[] = { [PORT_ROW] = port, [PEER_ROW] = index == FABRIC_NONE ? NULL : &peer,
				      [DETAILS_ROW] = &details };

	if (own->columns && index != FABRIC_NONE)
		port_facts_of(&rows->scope, index, &peer);
	result_fill_rows(result, cells);
	result_end_row(result);
}

static int print_rows(const struct moment *moment, const struct options *options, const struct ports_options *own,
		      const struct rows *rows, struct error *err)
{
	struct result_options output = options_result(options);
	bool is_long = own->counters && output.format == RESULT_TABLE, assumed = false;
	struct result *result = result_create(options->out, &output, is_long ? long_columns : own->shown.list,
					      is_long ? LONG_COUNT : own->shown.count);

	for (size_t i = 0; i < rows->count && (!own->top || i < (size_t)own->top); i++) {
		if (is_long)
			put_long_rows(result, moment, &rows->views[i]);
		else
			put_row(result, rows, own, &rows->views[i]);
		assumed |= !is_long && port_wait_is_assumed(&rows->views[i]);
	}
	note_planes(result, moment, rows);
	if (assumed)
		result_note(result, PORT_WAIT_ASSUMED_NOTE);
	note_rows(result, moment, own, rows);
	return output_end(result, 0, err);
}

struct ordering {
	const struct moment *moment;
	const struct sorting *sorting;
};

static double value_of(const struct ordering *by, const struct port_facts *port)
{
	return sorting_value(by->sorting, (const void *const[]){ [PORT_ROW] = port, [PEER_ROW] = NULL });
}

static int compare_ports(const void *a, const void *b, void *ctx)
{
	const struct ordering *by = ctx;
	const struct port_facts *left = a, *right = b;
	const uint32_t *rank = by->moment->names_shown.port_rank;

	return sorting_compare(value_of(by, left), value_of(by, right), rank[left->port], rank[right->port]);
}

static int show(const struct options *options, const struct ports_options *own, const struct moment *moment,
		struct error *err)
{
	struct selection selection;
	struct rows rows = { 0 };
	int code = moment_select(moment, options->argv, options->argc, &selection, err);

	if (code < 0)
		return code;
	code = collect_rows(moment, &selection, own, &rows, err);
	selection_done(&selection);
	/* Rows are in order of name. */
	if (code == 0 && !sorting_is_by_name(&own->sorting) && rows.count)
		qsort_r(rows.views, rows.count, sizeof(*rows.views), compare_ports,
			&(struct ordering){ moment, &own->sorting });
	if (code == 0 && own->details && !own->columns && options->format == RESULT_TABLE)
		code = print_details(moment, options, own, &rows, err);
	else if (code == 0 && own->pkeys)
		code = port_pkeys_print(moment, options, rows.views, own->top && rows.count > (size_t)own->top ?
					(size_t)own->top : rows.count, err);
	else if (code == 0)
		code = print_rows(moment, options, own, &rows, err);
	port_details_done(&rows.details);
	free(rows.views);
	return code;
}

static int check(const struct command *command, const struct options *options, struct ports_options *own,
		 struct error *err)
{
	const struct column_source sources[] = {
		{ .columns = port_columns, .row = PORT_ROW, .append = true },
		{ .columns = port_columns, .row = PEER_ROW, .key_prefix = "peer_",
		  .title_prefix = HEADING_PEER " " },
		{ .columns = port_details_columns, .row = DETAILS_ROW },
	};
	const struct column_list list = {
		.sources = sources, .source_count = own->details ? 3 : 2,
		.items = port_items, .count = own->details ? ITEM_COUNT : ITEM_COUNT - DETAIL_ITEMS,
	};
	int code = sorting_parse(command, &list, own->sort, &own->sorting, err);

	if (code < 0)
		return code;
	if (own->counters && own->details)
		return options_usage_error(command, err, "--counters and --details are mutually exclusive");
	if (own->pkeys && (own->counters || own->details || own->errors || own->columns || own->sort))
		return options_usage_error(command, err, "--pkeys does not take --errors, --counters, --details, "
					   "--columns or --sort");
	if (own->counters && own->columns)
		return options_usage_error(command, err, "--counters and --columns are mutually exclusive");
	if (!own->details && own->sorting.column &&
	    (!strcmp(own->sorting.column->key, port_ber_key(PORT_BER_EFFECTIVE)) ||
	     !strcmp(own->sorting.column->key, port_ber_key(PORT_BER_RAW))))
		return options_usage_error(command, err, "--sort %s requires --details", own->sort);
	return columns_create(command, options, &list, own->columns, NULL, &own->shown, err);
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
		OPT_FLAG("pkeys", 0, &own.pkeys,
			 "P_Keys of HCA and router ports, and of switch ports that enforce them"),
		OPT_TEXT("columns", 'c', "LIST", &own.columns, COLUMNS_HELP),
		OPT_TEXT("sort", 's', "KEY", &own.sort, "sort by " SORTING_HELP),
		OPT_NUMBER("top", 'n', "N", &own.top, 1, "show only the first N"),
		{ 0 },
	};
	struct options options;
	struct moment moment;
	bool absolute;
	int code = options_parse(command, COMMON_SHOW | COMMON_AT | COMMON_WINDOW, specs, argc, argv, &options, err);

	if (code)
		return code < 0 ? code : 0;
	code = check(command, &options, &own, err);
	if (code)
		return code < 0 ? code : 0;
	own.all |= options.format != RESULT_TABLE;
	absolute = own.counters || own.details || own.columns || options.format != RESULT_TABLE;
	options.window_sweeps = own.details ? PORT_DETAILS_SWEEPS : 0;
	code = own.errors ? options_open_errors(&options, absolute, &moment, err) :
			    options_open_moment(&options, absolute, &moment, err);
	if (code < 0) {
		columns_done(&own.shown);
		return code;
	}
	code = moment_find_findings(&moment, err);
	if (code == 0 && own.pkeys)
		code = moment_load_pkeys(&moment, err);
	if (code == 0)
		code = show(&options, &own, &moment, err);
	moment_done(&moment);
	columns_done(&own.shown);
	return code;
}
