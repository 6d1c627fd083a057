/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
#include "tui/model/context.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/array.h"
#include "base/err.h"
#include "fabric/shape.h"
#include "facts/event_text.h"

/* Events read from the database. */
struct events {
	struct recent_event *list;
	size_t count, capacity;
	const struct fabric *fabric; /* for the names */
	bool failed; /* no memory */
};

void recent_event_copy(const struct event_row *row, const struct fabric *fabric, struct recent_event *to)
{
	*to = (struct recent_event){
		.id = row->id, .wall_us = row->event.wall_us, .severity = row->event.severity,
		.node_guid = row->event.node_guid, .peer_guid = row->event.peer_guid, .port = row->event.port,
	};
	snprintf(to->kind, sizeof(to->kind), "%s", row->event.kind);
	if (row->node && strlen(row->node) < sizeof(to->node))
		names_display(fabric, row->node, to->node);
	event_text(fabric, row->event.text, to->text, sizeof(to->text));
}

static bool add_event(void *ctx, const struct event_row *row)
{
	struct events *events = ctx;
	struct recent_event *to = array_add(&events->list, &events->count, &events->capacity, sizeof(*to));

	events->failed = !to;
	if (to)
		recent_event_copy(row, events->fabric, to);
	return to;
}

static int read_rows(struct snapshot_context *context, struct reader *reader, int64_t at_us, int64_t now_us,
		     struct error *err)
{
	const struct finding_query findings = { .at_us = at_us, .now_us = at_us ? at_us : now_us };
	const struct event_query query = { .until_us = at_us, .limit = CONTEXT_EVENTS };
	struct events events = { .fabric = context->fabric };
	int code = reader_events(reader, &query, add_event, &events, err);

	if (code == 0 && events.failed)
		code = err_nomem(err);
	if (code == 0)
		code = open_findings_load(reader, &findings, &context->findings, &context->finding_count, err);
	if (code < 0) {
		free(events.list);
		return code;
	}
	free(context->recent_events);
	context->recent_events = events.list;
	context->recent_event_count = events.count;
	for (size_t i = 0; i < events.count / 2; i++) {
		struct recent_event swap = events.list[i];

		events.list[i] = events.list[events.count - 1 - i];
		events.list[events.count - 1 - i] = swap;
	}
	return 0;
}

static void drop_shape(struct snapshot_context *context)
{
	shape_destroy(context->shape);
	fabric_destroy(context->fabric);
	free(context->finding_of);
	context->shape = NULL;
	context->fabric = NULL;
	context->finding_of = NULL;
}

static int make_shape(struct snapshot_context *context, struct fabric *fabric, const struct shape_settings *settings,
		      struct error *err)
{
	int code = shape_create(fabric, settings, &context->shape, err);

	if (code == 0)
		context->fabric = fabric_share(fabric);
	return code;
}

int context_load(struct snapshot_context *context, struct reader *reader, const struct snapshot *snapshot,
		 int64_t at_us, int64_t now_us, const struct shape_settings *settings, struct error *err)
{
	int code = 0, marked;

	if (!snapshot || snapshot->fabric != context->fabric)
		drop_shape(context);
	if (!snapshot)
		return 0;
	if (!context->shape)
		code = make_shape(context, snapshot->fabric, settings, err);
	if (code < 0)
		return code;
	if (reader)
		code = read_rows(context, reader, at_us, now_us, err);
	marked = open_findings_mark(context->shape, snapshot->fabric, context->findings, context->finding_count,
				    &context->finding_of, code < 0 ? NULL : err);
	return code < 0 ? code : marked;
}

void context_done(struct snapshot_context *context)
{
	drop_shape(context);
	free(context->findings);
	free(context->recent_events);
	memset(context, 0, sizeof(*context));
}

const struct finding_row *context_finding_at(const struct snapshot_context *context, uint32_t port)
{
	uint32_t finding = context->finding_of ? context->finding_of[port] : 0;

	return finding ? &context->findings[finding - 1] : NULL;
}

enum port_mark context_mark_at(const struct snapshot_context *context, uint32_t port)
{
	const struct finding_row *row = context_finding_at(context, port);

	return row ? port_mark_of(row) : MARK_NONE;
}

const struct finding_row *context_finding(const struct snapshot_context *context, uint64_t node_guid, uint8_t port)
{
	const struct fabric *fabric = context->shape ? context->shape->fabric : NULL;
	uint32_t index = port && fabric ? fabric_find_port(fabric, node_guid, port) : FABRIC_NONE;

	if (index != FABRIC_NONE)
		return context_finding_at(context, index);
	for (size_t i = 0; !port && i < context->finding_count; i++)
		if (context->findings[i].finding.node_guid == node_guid)
			return &context->findings[i];
	return NULL;
}
