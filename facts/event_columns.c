/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
#include "facts/event_columns.h"

#include <math.h>

#include "facts/cells.h"
#include "facts/event_text.h"
#include "facts/moment.h"
#include "storage/reader.h"

static const struct event_facts *facts_of(const void *row)
{
	return row;
}

static const struct event *event_of(const void *row)
{
	return &((const struct event_facts *)row)->row->event;
}

static void fill_severity(struct result *result, size_t at, const void *row)
{
	static const enum cell_style styles[] = {
		[EVENT_INFO] = STYLE_PLAIN, [EVENT_WARNING] = STYLE_WARNING, [EVENT_CRITICAL] = STYLE_CRITICAL,
	};
	enum event_severity severity = event_of(row)->severity;

	result_text(result, at, event_severity_name(severity));
	result_show(result, at, NULL, styles[severity]);
}

static void fill_subject(struct result *result, size_t at, const void *row)
{
	const struct event *event = event_of(row);

	if (event->node_guid)
		cells_displayed_name(result, at, facts_of(row)->fabric, facts_of(row)->node,
				     event->port ? event->port : -1);
}

/* Columns of the two ends have their number in `which`. */
static void fill_guid(struct result *result, size_t at, const void *row)
{
	uint64_t guid = result_column(result, at)->which ? event_of(row)->peer_guid : event_of(row)->node_guid;

	if (guid)
		result_unsigned(result, at, guid);
}

static void fill_node(struct result *result, size_t at, const void *row)
{
	int which = result_column(result, at)->which;
	const struct event_facts *facts = row;

	if (which ? event_of(row)->peer_guid : event_of(row)->node_guid)
		result_text(result, at, which ? facts->peer : facts->node);
}

static double number_port(const void *row)
{
	const struct event *event = event_of(row);

	return event->node_guid && event->port ? event->port : NAN;
}

static double number_peer_port(const void *row)
{
	const struct event *event = event_of(row);

	return event->peer_guid && event->peer_port ? event->peer_port : NAN;
}

static void fill_text(struct result *result, size_t at, const void *row)
{
	const struct event *event = event_of(row);
	char text[sizeof(event->text)];

	result_text(result, at, event->text);
	result_show(result, at, event_text(facts_of(row)->fabric, event->text, text, sizeof(text)), STYLE_PLAIN);
}

#define ROW(member) COLUMN_MEMBER_AT(struct event_facts, row, struct event_row, member)

const struct column event_columns[] = {
	{ .key = "id", .title = "ID", .kind = COLUMN_INTEGER, .flags = COLUMN_NO_TABLE, ROW(id),
	  .help = "number of the event" },
	{ .key = "time", .title = "TIME", .kind = COLUMN_TIME, ROW(event.wall_us), .help = "time of the event" },
	{ .key = "severity", .title = "SEVERITY", .kind = COLUMN_TEXT, ROW(event.severity),
	  .fill = fill_severity, .help = "info, warning or critical" },
	{ .key = "kind", .title = "KIND", .kind = COLUMN_TEXT, .priority = 2, ROW(event.kind),
	  .help = "kind of the event, as --kind accepts it" },
	{ .key = "subject", .title = "SUBJECT", .kind = COLUMN_TEXT,
	  .flags = COLUMN_FLEXIBLE | COLUMN_KEEP_TAIL | COLUMN_NO_DATA, .priority = 1, .fill = fill_subject,
	  .help = "displayed name of the node, and port number" },
	{ .key = "node_guid", .title = "NODE GUID", .kind = COLUMN_GUID, .flags = COLUMN_NO_TABLE,
	  .fill = fill_guid, .help = "node GUID" },
	{ .key = "node", .title = "NODE", .kind = COLUMN_TEXT, .flags = COLUMN_NO_TABLE, .fill = fill_node,
	  .help = "full name of the node" },
	{ .key = "port", .title = "NUM", .kind = COLUMN_INTEGER, .flags = COLUMN_NO_TABLE, .number = number_port,
	  .help = "port number" },
	{ .key = "peer_guid", .title = "PEER GUID", .kind = COLUMN_GUID, .flags = COLUMN_NO_TABLE,
	  .fill = fill_guid, .which = 1, .help = "node GUID of the other end" },
	{ .key = "peer", .title = "PEER", .kind = COLUMN_TEXT, .flags = COLUMN_NO_TABLE, .fill = fill_node,
	  .which = 1, .help = "full name of the node at the other end" },
	{ .key = "peer_port", .title = "PEER NUM", .kind = COLUMN_INTEGER, .flags = COLUMN_NO_TABLE,
	  .number = number_peer_port, .help = "port number at the other end" },
	{ .key = "text", .title = "EVENT", .kind = COLUMN_TEXT, .flags = COLUMN_FLEXIBLE, .fill = fill_text,
	  .help = "what happened" },
	{ 0 },
};

struct event_list {
	struct result *result;
	const struct moment *moment;
	bool (*is_listed)(const void *ctx, const struct event *event);
	const void *ctx;
	size_t count, most; /* listed events that are not yet rows */
};

static bool count_event(void *ctx, const struct event_row *row)
{
	struct event_list *list = ctx;

	list->count += !list->is_listed || list->is_listed(list->ctx, &row->event);
	return true;
}

static bool put_event(void *ctx, const struct event_row *row)
{
	struct event_list *list = ctx;
	const struct event_facts facts = { .row = row, .fabric = list->moment->fabric, .node = row->node,
					  .peer = row->peer };

	if ((list->is_listed && !list->is_listed(list->ctx, &row->event)) || list->count-- > list->most)
		return true;
	result_fill(list->result, &facts);
	return result_end_row(list->result);
}

size_t events_put(struct result *result, const struct moment *moment, const struct event_query *query,
		  bool (*is_listed)(const void *ctx, const struct event *event), const void *ctx, size_t most)
{
	struct event_list list = { result, moment, is_listed, ctx, 0, most };
	size_t older = 0;

	if (reader_events(moment->reader, query, count_event, &list, result_error(result)) == 0) {
		older = list.count > most ? list.count - most : 0;
		reader_events(moment->reader, query, put_event, &list, result_error(result));
	}
	return older;
}
