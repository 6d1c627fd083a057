/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* events.c - `ibwire events`: list stored events */
#include <inttypes.h>
#include <stdbool.h>
#include <stdio.h>
#include <string.h>

#include "base/clock.h"
#include "base/err.h"
#include "base/text.h"
#include "cli/command.h"
#include "cli/lib/columns.h"
#include "cli/lib/options.h"
#include "cli/lib/moment_options.h"
#include "collector/events.h"
#include "fabric/fabric.h"
#include "fabric/name_map.h"
#include "storage/reader.h"
#include "facts/event_columns.h"
#include "facts/selection.h"

static const struct column_source event_source = { .columns = event_columns };
static const struct column_list event_list = { .sources = &event_source, .source_count = 1 };

struct printer {
	struct columns shown;
	struct result *result;
	const struct moment *moment;
	const struct selection *selection;
	uint64_t rows, skipped; /* selected events, and how many of the oldest of them are left out */
};

/* The name of an event's node: from the name map, the stored name, or the GUID. */
static void event_name(const struct printer *printer, uint64_t guid, const char *stored, char *ret, size_t size)
{
	const struct name_map *names = printer->moment->names;
	const char *mapped = names ? name_map_find(names, guid) : NULL;

	if (mapped)
		text_sanitise(mapped, strlen(mapped), ret, size);
	else if (stored)
		snprintf(ret, size, "%s", stored);
	else
		snprintf(ret, size, "0x%016" PRIx64, guid);
}

/* Is this end selected? @num: 0 for a node */
static bool end_is_selected(const struct printer *printer, uint64_t guid, uint8_t num)
{
	uint32_t node = guid ? fabric_find_node(printer->moment->fabric, guid) : FABRIC_NONE, port;

	if (node == FABRIC_NONE || !printer->selection->nodes[node])
		return false;
	port = num ? fabric_node_port(printer->moment->fabric, node, num) : FABRIC_NONE;
	return port == FABRIC_NONE || printer->selection->ports[port];
}

static bool is_selected(const struct printer *printer, const struct event *event)
{
	return printer->selection->all || end_is_selected(printer, event->node_guid, event->port) ||
	       end_is_selected(printer, event->peer_guid, event->peer_port);
}

static bool count_row(void *ctx, const struct event_row *row)
{
	struct printer *printer = ctx;

	printer->skipped += is_selected(printer, &row->event);
	return true;
}

static bool put_row(void *ctx, const struct event_row *row)
{
	struct printer *printer = ctx;
	const struct event *event = &row->event;
	char names[2][NODE_NAME_SIZE];
	const struct event_facts facts = { .row = row, .fabric = printer->moment->fabric, .node = names[0],
					  .peer = names[1] };

	if (!is_selected(printer, event) || printer->rows++ < printer->skipped)
		return true;
	event_name(printer, event->node_guid, row->node, names[0], sizeof(names[0]));
	event_name(printer, event->peer_guid, row->peer, names[1], sizeof(names[1]));
	result_fill(printer->result, &facts);
	return result_end_row(printer->result);
}

/* All event kinds of this version; the last two are written by storage/. */
static const char *const kinds[] = {
	EVENT_COLLECTOR_STARTED, EVENT_DEVICE_REMOVED, EVENT_DEVICE_RETURNED, EVENT_TOPOLOGY_FILE,
	EVENT_DISCOVERY_FAILED, EVENT_DISCOVERY_SHRUNK, EVENT_DISCOVERY_DIFFERS, EVENT_NODE_ADDED,
	EVENT_NODE_REMOVED, EVENT_NODE_RENAMED, EVENT_NODE_LID, EVENT_LINK_UP, EVENT_LINK_DOWN, EVENT_LINK_STATE,
	EVENT_LINK_RATE, EVENT_PEER_CHANGED, EVENT_NODE_SILENT, EVENT_NODE_ANSWERS, EVENT_NODE_LOCKED,
	EVENT_NODE_UNLOCKED, EVENT_COUNTERS_CLEARED, EVENT_COUNTER_SATURATED, EVENT_COUNTERS_CONTRADICT,
	EVENT_LINK_NOT_CONSERVED, EVENT_LAYOUT_UNSUPPORTED, EVENT_PORT_SELECT_ZERO,
	EVENT_ROUTES_CHANGED, EVENT_ADAPTIVE_ROUTING, EVENT_SM_CHANGED, EVENT_SM_LOST, EVENT_SM_ANSWERS,
	EVENT_SM_OTHER, EVENT_SWEEP_LATE,
	EVENT_SWEEP_CUT, EVENT_CLOCK_STEPPED, EVENT_THROTTLED, EVENT_UNTHROTTLED, EVENT_FABRIC_SILENT,
	EVENT_FABRIC_ANSWERS, EVENT_HCAS_SILENT, EVENT_HCAS_ANSWER, EVENT_FINDING_OPENED,
	EVENT_FINDING_CHANGED, EVENT_FINDING_CLOSED, EVENT_STORE_FAILED, EVENT_EVENTS_LEFT_OUT, "history-trimmed",
	"history-failed",
};

static bool stop_at_first(void *ctx, const struct event_row *row)
{
	bool *found = ctx;

	(void)row;
	*found = true;
	return false;
}

/* An unknown kind is an error: an empty list would hide a typing mistake. */
static int check_kind(const struct command *command, const char *kind, struct reader *reader, struct error *err)
{
	const struct event_query any = { .kind = kind, .limit = 1 };
	struct nearest nearest;
	bool found = false;
	int code;

	nearest_init(&nearest, kind);
	for (size_t i = 0; i < sizeof(kinds) / sizeof(kinds[0]); i++) {
		if (!strcmp(kinds[i], kind))
			return 0;
		nearest_offer(&nearest, kinds[i]);
	}
	code = reader_events(reader, &any, stop_at_first, &found, err);
	if (code < 0 || found)
		return code;
	return options_usage_error(command, err, "unknown event kind '%s'%s%s", kind, nearest_hint(&nearest),
				   nearest.best ? "" : ": see ibwire-events(1)");
}

static int print_events(const struct options *options, struct printer *printer, struct event_query query,
			struct error *err)
{
	struct reader *reader = printer->moment->reader;
	int64_t limit = query.limit;
	struct db_status status;
	int code = 0;

	printer->result = columns_begin(options, &printer->shown);
	/* The reader limits events of any subject. */
	if (!printer->selection->all && limit) {
		query.limit = 0;
		code = reader_events(reader, &query, count_row, printer, err);
		printer->skipped -= printer->skipped < (uint64_t)limit ? printer->skipped : (uint64_t)limit;
	}
	if (code == 0)
		code = reader_events(reader, &query, put_row, printer, err);
	/* Distinguish an empty list from an empty database. */
	if (code == 0 && !printer->rows && query.until_us)
		code = reader_status_at(reader, query.until_us, &status, err);
	result_none(printer->result, "no %s%sevents%s%s", query.kind ? query.kind : "", query.kind ? " " : "",
		    printer->selection->all ? "" : " of these subjects",
		    query.since_us || query.until_us ? " in the window" : " are stored");
	return output_end(printer->result, code, err);
}

/* The subjects are those at the end of the window; without any the database may have no sweep. */
static int open_moment(const struct options *options, struct moment *moment, struct selection *selection,
		       struct error *err)
{
	int code = options->argc ? options_open_moment(options, false, moment, err) :
				   options_open_reader(options, moment, err);

	if (code < 0)
		return code;
	code = moment_select(moment, options->argv, options->argc, selection, err);
	if (code < 0)
		moment_done(moment);
	return code;
}

int events_run(const struct command *command, int argc, char **argv, struct error *err)
{
	struct event_query query = { 0 };
	const char *columns = NULL, *sort = NULL;
	int64_t limit = 0;
	const struct option_spec specs[] = {
		OPT_TEXT("columns", 'c', "LIST", &columns, COLUMNS_HELP),
		OPT_TEXT("sort", 's', "KEY", &sort, COLUMNS_SORT_HELP),
		OPT_TEXT("kind", 'k', "KIND", &query.kind, "show only events of this kind"),
		OPT_NUMBER("limit", 'n', "N", &limit, 1, "show only the newest N"),
		{ 0 },
	};
	struct options options;
	struct selection selection;
	struct moment moment;
	struct printer printer = { .moment = &moment, .selection = &selection };
	int code = options_parse(command, COMMON_SHOW | COMMON_AT | COMMON_WINDOW, specs, argc, argv, &options, err);

	if (code == 0)
		code = columns_create(command, &options, &event_list, columns, sort, &printer.shown, err);
	if (code)
		return code < 0 ? code : 0;
	query.since_us = options.since_us;
	query.until_us = options.until_us ? options.until_us : options.at_us;
	query.limit = limit > INT32_MAX ? 0 : (int)limit;
	code = open_moment(&options, &moment, &selection, err);
	if (code < 0) {
		columns_done(&printer.shown);
		return code;
	}
	if (query.kind)
		code = check_kind(command, query.kind, moment.reader, err);
	if (code == 0)
		code = print_events(&options, &printer, query, err);
	selection_done(&selection);
	moment_done(&moment);
	columns_done(&printer.shown);
	return code;
}
