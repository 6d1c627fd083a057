/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
#include "tui/model/context.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/array.h"
#include "base/err.h"
#include "fabric/shape.h"
#include "facts/event_text.h"

/* Rows read from the database. */
struct row_buffer {
	void *rows;
	size_t count, capacity;
	const struct fabric *fabric; /* for the names of events */
	bool failed; /* no memory */
};

/* Grow by one row of @size bytes. Return: the row, or NULL. */
static void *add_row(struct row_buffer *row_buffer, size_t size)
{
	void *rows = array_grow(row_buffer->rows, row_buffer->count, &row_buffer->capacity, size);

	if (!rows) {
		row_buffer->failed = true;
		return NULL;
	}
	row_buffer->rows = rows;
	return (char *)rows + size * row_buffer->count++;
}

static bool add_finding(void *ctx, const struct finding_row *row)
{
	struct finding_row *to = add_row(ctx, sizeof(*to));

	if (!to)
		return false;
	*to = *row;
	return true;
}

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
	struct recent_event *to = add_row(ctx, sizeof(*to));

	if (to)
		recent_event_copy(row, ((struct row_buffer *)ctx)->fabric, to);
	return to != NULL;
}

static void set_findings(struct snapshot_context *context, struct row_buffer *found)
{
	free(context->findings);
	context->findings = found->rows;
	context->finding_count = found->count;
	findings_arrange(context->findings, found->count);
}

static void set_events(struct snapshot_context *context, struct row_buffer *found)
{
	free(context->recent_events);
	context->recent_events = found->rows;
	context->recent_event_count = found->count;
	for (size_t i = 0; i < found->count / 2; i++) {
		struct recent_event swap = context->recent_events[i];

		context->recent_events[i] = context->recent_events[found->count - 1 - i];
		context->recent_events[found->count - 1 - i] = swap;
	}
}

static int read_rows(struct snapshot_context *context, struct reader *reader, int64_t at_us, int64_t now_us,
		     struct error *err)
{
	const struct finding_query findings = { .at_us = at_us, .now_us = at_us ? at_us : now_us };
	const struct event_query events = { .until_us = at_us, .limit = CONTEXT_EVENTS };
	struct row_buffer found = { 0 }, events_read = { .fabric = context->fabric };
	int code = reader_findings(reader, &findings, add_finding, &found, err);

	if (code == 0)
		code = reader_events(reader, &events, add_event, &events_read, err);
	if (code == 0 && (found.failed || events_read.failed))
		code = err_nomem(err);
	if (code < 0) {
		free(found.rows);
		free(events_read.rows);
		return code;
	}
	set_findings(context, &found);
	set_events(context, &events_read);
	return 0;
}

static void drop_shape(struct snapshot_context *context)
{
	shape_destroy(context->shape);
	fabric_destroy(context->fabric);
	context->shape = NULL;
	context->fabric = NULL;
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
	int code = 0;

	if (!snapshot || snapshot->fabric != context->fabric)
		drop_shape(context);
	if (!snapshot)
		return 0;
	if (!context->shape)
		code = make_shape(context, snapshot->fabric, settings, err);
	if (code < 0 || !reader)
		return code;
	return read_rows(context, reader, at_us, now_us, err);
}

void context_done(struct snapshot_context *context)
{
	drop_shape(context);
	free(context->findings);
	free(context->recent_events);
	memset(context, 0, sizeof(*context));
}

const struct finding_row *context_finding(const struct snapshot_context *context, uint64_t node_guid, uint8_t port)
{
	const struct fabric *fabric = context->shape ? context->shape->fabric : NULL;
	uint32_t index = port && fabric ? fabric_find_port(fabric, node_guid, port) : FABRIC_NONE;

	for (size_t i = 0; i < context->finding_count; i++) {
		const struct finding *finding = &context->findings[i].finding;

		if (index != FABRIC_NONE ? finding_concerns_port(context->shape, fabric, finding, index) :
					   !port && finding->node_guid == node_guid)
			return &context->findings[i];
	}
	return NULL;
}
