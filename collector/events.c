/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
#include "collector/events.h"

#include <inttypes.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/array.h"
#include "base/text.h"
#include "fabric/diff.h"
#include "fabric/fabric.h"

void events_clear(struct events *events)
{
	events->count = 0;
	events->lost = 0;
}

void events_done(struct events *events)
{
	free(events->list);
	*events = (struct events){ 0 };
}

/* Room for one more event; if memory is exhausted, one that is never read. */
static struct event *next_port(struct events *events)
{
	struct event *list = array_grow(events->list, events->count, &events->capacity, sizeof(*list));

	if (!list) {
		events->lost++;
		return &events->spare;
	}
	events->list = list;
	return &events->list[events->count++];
}

struct event *events_add(struct events *events, int64_t wall_us, const char *kind, enum event_severity severity,
			 const struct fabric *fabric, uint32_t node, uint8_t port, const char *fmt, ...)
{
	struct event *event = next_port(events);
	va_list args;

	*event = (struct event){ .wall_us = wall_us, .kind = kind, .severity = severity };
	if (fabric && node != FABRIC_NONE) {
		uint32_t index = fabric_node_port(fabric, node, port);
		uint32_t peer = index == FABRIC_NONE || !port ? FABRIC_NONE : fabric->ports[index].peer;

		event->node_guid = fabric->nodes[node].guid;
		event->port = port;
		if (peer != FABRIC_NONE) {
			event->peer_guid = fabric->nodes[fabric->ports[peer].node].guid;
			event->peer_port = fabric->ports[peer].num;
		}
	}
	va_start(args, fmt);
	vsnprintf(event->text, sizeof(event->text), fmt, args);
	va_end(args);
	return event;
}

const char *events_port_name(const struct fabric *fabric, uint32_t port, char *ret, size_t size)
{
	const struct port *which = &fabric->ports[port];

	snprintf(ret, size, "%.80s/%u", fabric->names.shown[which->node], which->num);
	return ret;
}

struct topology_events {
	struct events *events;
	int64_t wall_us;
	const struct fabric *before, *after;
};

static void report_node_change(struct topology_events *topology, enum fabric_change change, uint32_t before_index,
			       uint32_t after_index)
{
	const struct node *before = before_index == FABRIC_NONE ? NULL : &topology->before->nodes[before_index];
	const struct node *after = after_index == FABRIC_NONE ? NULL : &topology->after->nodes[after_index];
	const char *was = before ? topology->before->names.shown[before_index] : "";
	const char *name = after ? topology->after->names.shown[after_index] : "";
	struct events *events = topology->events;

	if (change == CHANGE_NODE_ADDED)
		events_add(events, topology->wall_us, EVENT_NODE_ADDED, EVENT_INFO, topology->after, after_index, 0,
			   "%s was added to the fabric", name);
	else if (change == CHANGE_NODE_REMOVED)
		events_add(events, topology->wall_us, EVENT_NODE_REMOVED,
			   before->type == NODE_SWITCH ? EVENT_CRITICAL : EVENT_WARNING, topology->before, before_index,
			   0, "%s was removed from the fabric", was);
	else if (change == CHANGE_NODE_NAME)
		events_add(events, topology->wall_us, EVENT_NODE_RENAMED, EVENT_INFO, topology->after, after_index, 0,
			   "%.100s was renamed to %.100s", was, name);
	else
		events_add(events, topology->wall_us, EVENT_NODE_LID, EVENT_INFO, topology->after, after_index, 0,
			   "the LID of %.100s changed from %u to %u", name, before->lid, after->lid);
}

/* "LEAF/3 - SPINE/7", or the one end that is known. */
static void link_name(const struct fabric *fabric, uint32_t port, char *ret, size_t size)
{
	uint32_t peer = fabric->ports[port].peer;
	char near[100], far[100];

	events_port_name(fabric, port, near, sizeof(near));
	if (peer == FABRIC_NONE)
		snprintf(ret, size, "%s", near);
	else
		snprintf(ret, size, "%s - %s", near, events_port_name(fabric, peer, far, sizeof(far)));
}

static void report_port_change(struct topology_events *topology, enum fabric_change change, uint32_t before_index,
			       uint32_t after_index)
{
	const struct port *before = &topology->before->ports[before_index];
	const struct port *after = &topology->after->ports[after_index];
	/* A link that is down is named by the two ends that it had, and is an event of both. */
	bool gone = after->peer == FABRIC_NONE;
	const struct fabric *fabric = gone ? topology->before : topology->after;
	uint32_t node = gone ? before->node : after->node;
	char name[210], was[100];
	const char *kind = EVENT_LINK_STATE;
	enum event_severity severity = EVENT_INFO;

	link_name(fabric, gone ? before_index : after_index, name, sizeof(name));
	if (change == CHANGE_PORT_PEER) {
		snprintf(was, sizeof(was), "nothing");
		if (before->peer != FABRIC_NONE)
			events_port_name(topology->before, before->peer, was, sizeof(was));
		events_add(topology->events, topology->wall_us, EVENT_PEER_CHANGED, EVENT_WARNING, fabric,
			   node, after->num, "%s: peer changed, was %s", name, was);
		return;
	}
	if (change == CHANGE_PORT_LID) {
		events_add(topology->events, topology->wall_us, EVENT_NODE_LID, EVENT_INFO, fabric,
			   node, after->num, "the LID of %s changed from %u to %u",
			   events_port_name(topology->after, after_index, name, sizeof(name)), before->lid, after->lid);
		return;
	}
	if (change == CHANGE_PORT_RATE) {
		events_add(topology->events, topology->wall_us, EVENT_LINK_RATE, EVENT_WARNING, fabric,
			   node, after->num, "%s: %ux %s -> %ux %s", name,
			   link_width_lanes(before->width), link_speed_name((enum link_speed)before->speed),
			   link_width_lanes(after->width), link_speed_name((enum link_speed)after->speed));
		return;
	}
	if (after->state == PORT_ACTIVE) {
		kind = EVENT_LINK_UP;
	} else if (after->state < PORT_INIT) {
		kind = EVENT_LINK_DOWN;
		severity = EVENT_WARNING;
	}
	events_add(topology->events, topology->wall_us, kind, severity, fabric, node, after->num,
		   "%s: %s -> %s", name, port_state_name(before->state), port_state_name(after->state));
}

static void report_change(void *ctx, enum fabric_change change, uint32_t before_index, uint32_t after_index)
{
	if (change <= CHANGE_NODE_LID)
		report_node_change(ctx, change, before_index, after_index);
	else
		report_port_change(ctx, change, before_index, after_index);
}

void events_from_topology(struct events *events, int64_t wall_us, const struct fabric *before,
			  const struct fabric *after)
{
	struct topology_events topology = { events, wall_us, before, after };

	fabric_diff(before, after, report_change, &topology);
}

/* Time credit that one event consumes. */
#define COST_US (3600 * 1000000LL / EVENT_LIMIT_PER_HOUR)
#define CREDIT_MAX_US (EVENT_LIMIT_BURST * COST_US)

/* NULL if there are more kinds than expected: they are not limited. */
static struct event_limit_kind *find_kind(struct event_limit *limit, const struct event *event, int64_t now_us)
{
	struct event_limit_kind *kind;

	for (size_t i = 0; i < limit->count; i++)
		if (limit->kinds[i].severity == event->severity && !strcmp(limit->kinds[i].kind, event->kind))
			return &limit->kinds[i];
	if (limit->count == EVENT_LIMIT_KINDS)
		return NULL;
	kind = &limit->kinds[limit->count++];
	*kind = (struct event_limit_kind){ .kind = event->kind, .severity = event->severity,
					   .credit_us = CREDIT_MAX_US, .at_us = now_us };
	return kind;
}

static bool may_pass(struct event_limit *limit, const struct event *event, int64_t now_us)
{
	struct event_limit_kind *kind = find_kind(limit, event, now_us);

	if (!kind)
		return true;
	/* The credit is capped, also after a long suspend. */
	kind->credit_us = now_us - kind->at_us > CREDIT_MAX_US ? CREDIT_MAX_US : kind->credit_us + now_us - kind->at_us;
	if (kind->credit_us > CREDIT_MAX_US)
		kind->credit_us = CREDIT_MAX_US;
	kind->at_us = now_us;
	if (kind->credit_us < COST_US) {
		kind->left_out++;
		return false;
	}
	kind->credit_us -= COST_US;
	return true;
}

static void report_left_out(struct event_limit *limit, struct events *events, int64_t now_us, int64_t wall_us)
{
	for (size_t i = 0; i < limit->count; i++) {
		struct event_limit_kind *kind = &limit->kinds[i];

		if (!kind->left_out || (kind->reported_us && now_us - kind->reported_us < EVENT_LIMIT_REPORT_US))
			continue;
		events_add(events, wall_us, EVENT_EVENTS_LEFT_OUT, EVENT_WARNING, NULL, FABRIC_NONE, 0,
			   "%" PRIu64 " more event%s of kind %s %s suppressed: too many", kind->left_out,
			   text_plural(kind->left_out), kind->kind, kind->left_out == 1 ? "was" : "were");
		kind->left_out = 0;
		kind->reported_us = now_us;
	}
}

void event_limit_apply(struct event_limit *limit, struct events *events, int64_t now_us, int64_t wall_us)
{
	size_t i = limit->passed < events->count ? limit->passed : events->count, passed;

	for (passed = i; i < events->count; i++)
		if (may_pass(limit, &events->list[i], now_us))
			events->list[passed++] = events->list[i];
	events->count = passed;
	report_left_out(limit, events, now_us, wall_us);
	limit->passed = events->count;
}
