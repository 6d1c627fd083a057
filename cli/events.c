/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* events.c - `ibwire events`: list stored events, or follow them */
#include <inttypes.h>
#include <poll.h>
#include <stdbool.h>
#include <stdio.h>
#include <string.h>

#include "base/clock.h"
#include "base/err.h"
#include "base/nearest.h"
#include "base/stop.h"
#include "base/text.h"
#include "base/when.h"
#include "cli/command.h"
#include "cli/lib/columns.h"
#include "cli/lib/options.h"
#include "cli/lib/moment_options.h"
#include "cli/lib/pager.h"
#include "collector/events.h"
#include "fabric/fabric.h"
#include "fabric/name_map.h"
#include "fabric/names.h"
#include "storage/reader.h"
#include "facts/event_columns.h"
#include "facts/event_text.h"
#include "facts/selection.h"

static const struct column_source event_source = { .columns = event_columns };
static const struct column_list event_list = { .sources = &event_source, .source_count = 1 };

struct printer {
	struct columns shown;
	struct result *result;
	const struct moment *moment;
	const struct selection *selection;
	uint64_t rows, skipped; /* selected events, and how many of the oldest of them are left out */
	FILE *lines;            /* --follow: one line each instead of a row of a table; NULL: rows */
	int64_t last_id;        /* of the newest event that was read */
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

/* "2026-11-28 20:56:28 UTC  warning  link-down  leaf01/17: Active -> Down" */
static bool put_line(const struct printer *printer, const struct event_facts *facts)
{
	const struct event *event = &facts->row->event;
	char when[WHEN_SIZE], shown[NODE_NAME_SIZE], text[sizeof(event->text)], port[8] = "";

	names_display(facts->fabric, facts->node, shown);
	if (event->port)
		snprintf(port, sizeof(port), "/%u", event->port);
	fprintf(printer->lines, "%s  %-8s  %s  %s%s%s%s\n", when_format_local(event->wall_us, when),
		event_severity_name(event->severity), event->kind, event->node_guid ? shown : "",
		event->node_guid ? port : "", event->node_guid ? ": " : "",
		event_text(facts->fabric, event->text, text, sizeof(text)));
	return !ferror(printer->lines);
}

static bool put_row(void *ctx, const struct event_row *row)
{
	struct printer *printer = ctx;
	const struct event *event = &row->event;
	char names[2][NODE_NAME_SIZE];
	const struct event_facts facts = { .row = row, .fabric = printer->moment->fabric, .node = names[0],
					  .peer = names[1] };

	printer->last_id = row->id;
	if (!is_selected(printer, event) || printer->rows++ < printer->skipped)
		return true;
	event_name(printer, event->node_guid, row->node, names[0], sizeof(names[0]));
	event_name(printer, event->peer_guid, row->peer, names[1], sizeof(names[1]));
	if (printer->lines)
		return put_line(printer, &facts);
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
	EVENT_LINK_NOT_CONSERVED, EVENT_LAYOUT_UNSUPPORTED, EVENT_PORT_SELECT_ZERO, EVENT_WAIT_CONTRADICTED,
	EVENT_ROUTES_CHANGED, EVENT_PKEYS_CHANGED, EVENT_ADAPTIVE_ROUTING, EVENT_FIRMWARE_CHANGED, EVENT_SM_CHANGED,
	EVENT_SM_LOST, EVENT_SM_ANSWERS, EVENT_SM_OTHER, EVENT_SWEEP_LATE,
	EVENT_SWEEP_CUT, EVENT_FAST_LATE, EVENT_CLOCK_STEPPED, EVENT_THROTTLED, EVENT_UNTHROTTLED, EVENT_FABRIC_SILENT,
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

/* Put the stored events. */
static int put_events(struct printer *printer, struct event_query query, struct error *err)
{
	struct reader *reader = printer->moment->reader;
	int64_t limit = query.limit;
	int code = 0;

	/* The reader limits events of any subject. */
	if (!printer->selection->all && limit) {
		query.limit = 0;
		code = reader_events(reader, &query, count_row, printer, err);
		printer->skipped -= printer->skipped < (uint64_t)limit ? printer->skipped : (uint64_t)limit;
	}
	return code < 0 ? code : reader_events(reader, &query, put_row, printer, err);
}

/* A pipe or terminal whose other end was closed reports it without a write. */
static bool is_open(FILE *out)
{
	struct pollfd file = { .fd = fileno(out) };

	return !ferror(out) && (poll(&file, 1, 0) <= 0 || !(file.revents & (POLLERR | POLLHUP)));
}

/* Poll interval for new sweeps. */
#define POLL_US (500 * US_PER_MS)
/* Events that are shown first, as tail(1) does. */
enum { FOLLOW_FIRST = 10 };

/* Print new events, which are read once per sweep, until a signal or until the reader of the output ends. */
static int follow_events(const struct options *options, struct printer *printer, struct event_query query,
			 struct error *err)
{
	const struct clock *clock = clock_system();
	struct reader *reader = printer->moment->reader;
	struct result_options output = options_result(options);
	int64_t newest = 0, shown;
	int code = reader_newest(reader, &shown, err);

	pager_cancel();
	if (code < 0)
		return code;
	output.lines = true;
	if (options->format == RESULT_TABLE)
		printer->lines = options->out;
	else
		printer->result = result_create(options->out, &output, printer->shown.list, printer->shown.count);
	if (!query.limit && !query.since_us)
		query.limit = FOLLOW_FIRST;
	stop_install();
	code = put_events(printer, query, err);
	query.limit = 0;
	printer->skipped = 0;
	while (code == 0 && !stop_requested() && !fflush(options->out) && is_open(options->out)) {
		clock->sleep_until(clock->ctx, clock_boottime_us(clock) + POLL_US);
		code = reader_newest(reader, &newest, err);
		if (code < 0 || newest == shown)
			continue;
		shown = newest;
		query.after_id = printer->last_id;
		code = reader_events(reader, &query, put_row, printer, err);
	}
	if (printer->result && code == 0)
		code = result_finish(printer->result, err);
	result_destroy(printer->result);
	return code;
}

static int print_events(const struct options *options, struct printer *printer, struct event_query query,
			struct error *err)
{
	struct reader *reader = printer->moment->reader;
	struct db_status status;
	int code;

	printer->result = columns_begin(options, &printer->shown);
	code = put_events(printer, query, err);
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
	bool follow = false;
	const struct option_spec specs[] = {
		OPT_TEXT("columns", 'c', "LIST", &columns, COLUMNS_HELP),
		OPT_TEXT("sort", 's', "KEY", &sort, COLUMNS_SORT_HELP),
		OPT_TEXT("kind", 'k', "KIND", &query.kind, "show only events of this kind"),
		OPT_NUMBER("limit", 'n', "N", &limit, 1, "show only the newest N"),
		OPT_FLAG("follow", 'f', &follow,
			 "print new events as they come, after the newest 10 (or --limit, --since)"),
		{ 0 },
	};
	struct options options;
	struct selection selection;
	struct moment moment;
	struct printer printer = { .moment = &moment, .selection = &selection };
	int code = options_parse(command, COMMON_SHOW | COMMON_AT | COMMON_WINDOW, specs, argc, argv, &options, err);

	if (code == 0 && follow && (options.until_us || options.at_us || sort))
		code = options_usage_error(command, err, "--follow cannot be combined with --until, --at or --sort");
	if (code == 0 && follow && columns && strcmp(columns, "help") && options.format == RESULT_TABLE)
		code = options_usage_error(command, err, "--follow with --columns needs --format json or csv");
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
		code = follow ? follow_events(&options, &printer, query, err) :
				print_events(&options, &printer, query, err);
	selection_done(&selection);
	moment_done(&moment);
	columns_done(&printer.shown);
	return code;
}
