/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
#include "tui/model/context.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/array.h"
#include "base/err.h"
#include "fabric/shape.h"

/* Rows read from the database. */
struct row_buffer {
	void *rows;
	size_t count, capacity;
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

void recent_event_copy(const struct event_row *row, struct recent_event *to)
{
	*to = (struct recent_event){
		.id = row->id, .wall_us = row->event.wall_us, .severity = row->event.severity,
		.node_guid = row->event.node_guid, .peer_guid = row->event.peer_guid, .port = row->event.port,
	};
	snprintf(to->kind, sizeof(to->kind), "%s", row->event.kind);
	snprintf(to->node, sizeof(to->node), "%s", row->node ? row->node : "");
	snprintf(to->text, sizeof(to->text), "%s", row->event.text);
}

static bool add_event(void *ctx, const struct event_row *row)
{
	struct recent_event *to = add_row(ctx, sizeof(*to));

	if (to)
		recent_event_copy(row, to);
	return to != NULL;
}

/* Unacknowledged findings first, then by severity. */
static int compare_rows(const void *a, const void *b)
{
	const struct finding_row *x = a, *y = b;
	bool known_x = x->acknowledged.at_us, known_y = y->acknowledged.at_us;

	return known_x != known_y ? (int)known_x - (int)known_y : finding_compare(&x->finding, &y->finding);
}

/* Point into the row itself, which was copied. */
static void relocate(struct finding_row *row)
{
	struct finding *finding = &row->finding;

	finding->cause = row->cause;
	finding->advice = row->advice;
	for (unsigned i = 0; i < finding->number_count; i++)
		finding->numbers[i].key = row->keys[i];
}

static int compare_ranks(const void *a, const void *b)
{
	const struct finding_row *x = a, *y = b;

	return x->rank < y->rank ? -1 : x->rank > y->rank;
}

/* Origins first, each followed by its echoes. Without memory, nothing is folded. */
static void fold(struct snapshot_context *context)
{
	struct finding_row **rows = calloc(context->finding_count + 1, sizeof(*rows));

	for (size_t i = 0; rows && i < context->finding_count; i++)
		rows[i] = &context->findings[i];
	if (rows && context->finding_count) {
		findings_fold(rows, context->finding_count, context->fabric);
		qsort(context->findings, context->finding_count, sizeof(*context->findings), compare_ranks);
	}
	free(rows);
}

static void set_findings(struct snapshot_context *context, struct row_buffer *found)
{
	free(context->findings);
	context->findings = found->rows;
	context->finding_count = found->count;
	if (found->count)
		qsort(context->findings, found->count, sizeof(*context->findings), compare_rows);
	fold(context);
	for (size_t i = 0; i < found->count; i++)
		relocate(&context->findings[i]);
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
	struct row_buffer found = { 0 }, events_read = { 0 };
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

const char *port_mark_name(enum port_mark mark)
{
	static const char *const names[] = { "", "ack", "ok", "info", "WARN", "CRIT" };

	return names[mark];
}

enum port_mark port_mark_of(const struct finding_row *row)
{
	if (row->acknowledged.at_us)
		return MARK_ACKNOWLEDGED;
	if (row->finding.ok_since_us)
		return MARK_CLEARING;
	if (row->finding.severity == FINDING_CRITICAL)
		return MARK_CRITICAL;
	return row->finding.severity == FINDING_WARNING ? MARK_WARNING : MARK_INFO;
}

/* Whether a finding of a node concerns one of its ports. */
static bool is_about(const struct shape *shape, const struct fabric *fabric, const struct finding *finding,
		     uint32_t port)
{
	uint32_t peer = fabric->ports[port].peer;

	switch (finding->kind) {
	case FINDING_NODE_SILENT:
	case FINDING_LOCKED:
		return true;
	case FINDING_UPLINK_IMBALANCE:
	case FINDING_UPLINKS_MISSING:
		if (finding->peer_guid)
			return peer != FABRIC_NONE &&
			       fabric->nodes[fabric->ports[peer].node].guid == finding->peer_guid;
		return shape && shape->ports[port].way == WAY_UP;
	default:
		return fabric->nodes[fabric->ports[port].node].type != NODE_SWITCH;
	}
}

bool finding_concerns_port(const struct snapshot_context *context, const struct fabric *fabric,
			   const struct finding *finding, uint32_t index)
{
	const struct port *port = &fabric->ports[index];
	uint64_t guid = fabric->nodes[port->node].guid, end;
	uint8_t num;

	if (finding->node_guid == guid && !finding->port)
		return is_about(context->shape, fabric, finding, index);
	for (unsigned at = 0; finding_end(finding, fabric, at, &end, &num); at++)
		if (end == guid && num == port->num && (num || !at))
			return true;
	return false;
}

static void mark_port(uint32_t port, uint32_t index, uint32_t *finding_of)
{
	/* The first finding is the worst. */
	if (port != FABRIC_NONE && !finding_of[port])
		finding_of[port] = index + 1;
}

static void mark_finding(const struct snapshot_context *context, const struct fabric *fabric, uint32_t index,
			 uint32_t *finding_of)
{
	const struct finding *finding = &context->findings[index].finding;
	uint32_t node = fabric_find_node(fabric, finding->node_guid);
	uint64_t guid;
	uint8_t num;

	if (finding->port)
		mark_port(fabric_find_port(fabric, finding->node_guid, finding->port), index, finding_of);
	for (uint32_t i = 0; !finding->port && node != FABRIC_NONE && i < fabric->nodes[node].ports; i++)
		if (is_about(context->shape, fabric, finding, fabric->nodes[node].first_port + i))
			mark_port(fabric->nodes[node].first_port + i, index, finding_of);
	if (finding->peer_port)
		mark_port(fabric_find_port(fabric, finding->peer_guid, finding->peer_port), index, finding_of);
	for (unsigned at = FINDING_END_PORTS; finding_end(finding, fabric, at, &guid, &num); at++)
		mark_port(fabric_find_port(fabric, guid, num), index, finding_of);
}

void port_marks_find(const struct snapshot_context *context, const struct fabric *fabric, uint32_t *ret)
{
	for (size_t i = 0; i < context->finding_count; i++)
		mark_finding(context, fabric, (uint32_t)i, ret);
}

const struct finding_row *context_finding(const struct snapshot_context *context, uint64_t node_guid, uint8_t port)
{
	const struct fabric *fabric = context->shape ? context->shape->fabric : NULL;
	uint32_t index = port && fabric ? fabric_find_port(fabric, node_guid, port) : FABRIC_NONE;

	for (size_t i = 0; i < context->finding_count; i++) {
		const struct finding *finding = &context->findings[i].finding;

		if (index != FABRIC_NONE ? finding_concerns_port(context, fabric, finding, index) :
					   !port && finding->node_guid == node_guid)
			return &context->findings[i];
	}
	return NULL;
}
