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
#include "collector/layout.h"
#include "collector/locked.h"
#include "collector/memory.h"
#include "collector/sweep.h"
#include "fabric/diff.h"
#include "fabric/fabric.h"

/* So many ports cleared in one sweep are one event: somebody cleared the fabric. */
#define CLEARED_TOGETHER 10

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

/* A place for one more event; where there is no memory, one that is never read. */
static struct event *next_place(struct events *events)
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
	struct event *event = next_place(events);
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

/* "NAME/PORT", for texts. */
static const char *port_name(const struct fabric *fabric, uint32_t port, char *ret, size_t size)
{
	const struct port *which = &fabric->ports[port];

	snprintf(ret, size, "%.80s/%u", fabric->nodes[which->node].name, which->num);
	return ret;
}

/* Keys of a set of counters, as many as fit: "rcv_errors, xmit_discards". */
static void list_counters(counter_set set, char *ret, size_t size)
{
	size_t len = 0;
	int counter;

	ret[0] = '\0';
	for (counter = 0; counter < COUNTER_COUNT; counter++) {
		const char *key = counter_info((enum counter)counter)->key;

		if (!(set & COUNTER_BIT(counter)))
			continue;
		if (len + strlen(key) + 6 >= size) {
			snprintf(ret + len, size - len, ", ...");
			return;
		}
		len += (size_t)snprintf(ret + len, size - len, "%s%s", len ? ", " : "", key);
	}
}

static void tell_cleared(struct events *events, int64_t wall_us, const struct fabric *fabric,
			 const struct sweep_result *result, size_t cleared)
{
	char name[128], keys[128];
	size_t i;

	if (cleared >= CLEARED_TOGETHER) {
		events_add(events, wall_us, EVENT_COUNTERS_CLEARED, EVENT_INFO, NULL, FABRIC_NONE, 0,
			   "somebody cleared counters of %zu ports", cleared);
		return;
	}
	for (i = 0; i < result->count; i++) {
		const struct port_sample *sample = &result->samples[i];
		const struct port *port = &fabric->ports[sample->port];

		if (!sample->delta || !sample->delta->reset)
			continue;
		list_counters(sample->delta->reset, keys, sizeof(keys));
		events_add(events, wall_us, EVENT_COUNTERS_CLEARED, EVENT_INFO, fabric, port->node, port->num,
			   "somebody cleared counters of %s: %s",
			   port_name(fabric, sample->port, name, sizeof(name)), keys);
	}
}

/* A counter that sits at its maximum is told once, and again after it was cleared. */
static void tell_saturated(struct events *events, int64_t wall_us, const struct fabric *fabric,
			   const struct port_sample *sample, struct port_memory *port)
{
	const struct port *which = &fabric->ports[sample->port];
	counter_set now = 0, fresh;
	char name[128], keys[128];
	int counter;

	for (counter = 0; counter < COUNTER_COUNT; counter++)
		if (sample->reading->present & COUNTER_BIT(counter) &&
		    sample->reading->value[counter] == reading_max(sample->reading, (enum counter)counter))
			now |= COUNTER_BIT(counter);
	fresh = now & ~port->saturated;
	port->saturated = now;
	if (!fresh)
		return;
	list_counters(fresh, keys, sizeof(keys));
	events_add(events, wall_us, EVENT_COUNTER_SATURATED, EVENT_INFO, fabric, which->node, which->num,
		   "counters of %s are full and count no more until they are cleared: %s",
		   port_name(fabric, sample->port, name, sizeof(name)), keys);
}

/* Did the node at this sample answer anything? The samples of a node stand together. */
static void tell_silence(struct events *events, int64_t wall_us, const struct fabric *fabric,
			 const struct sweep_result *result, struct memory *memory)
{
	size_t i = 0;

	while (i < result->count) {
		uint32_t node = fabric->ports[result->samples[i].port].node;
		struct node_memory *remembered = memory_node(memory, node);
		size_t asked = 0, answered = 0;

		for (; i < result->count && fabric->ports[result->samples[i].port].node == node; i++) {
			enum sample_status status = result->samples[i].status;

			asked += status != SAMPLE_DOWN; /* in backoff too: the node was asked for all of them */
			answered += status == SAMPLE_OK || status == SAMPLE_UNSUPPORTED;
		}
		if (!asked || (answered && !remembered->silent_sweeps))
			continue;
		remembered->silent_sweeps = answered ? 0 : remembered->silent_sweeps + 1;
		if (remembered->silent_sweeps > 1)
			continue;
		if (remembered->silent_sweeps)
			events_add(events, wall_us, EVENT_NODE_SILENT,
				   fabric->nodes[node].type == NODE_SWITCH ? EVENT_CRITICAL : EVENT_WARNING, fabric,
				   node, 0, "%s does not answer", fabric->nodes[node].name);
		else
			events_add(events, wall_us, EVENT_NODE_ANSWERS, EVENT_INFO, fabric, node, 0,
				   "%s answers again", fabric->nodes[node].name);
	}
}

void events_from_sweep(struct events *events, int64_t wall_us, const struct fabric *fabric,
		       const struct sweep_result *result, struct memory *memory)
{
	size_t cleared = 0, i;

	tell_silence(events, wall_us, fabric, result, memory);
	layout_tell(events, wall_us, fabric, memory);
	locked_from_sweep(events, wall_us, fabric, result, memory);
	for (i = 0; i < result->count; i++) {
		const struct port_sample *sample = &result->samples[i];

		if (sample->reading)
			tell_saturated(events, wall_us, fabric, sample,
				       memory_port(memory, fabric, sample->port));
		cleared += sample->delta && sample->delta->reset;
	}
	if (cleared)
		tell_cleared(events, wall_us, fabric, result, cleared);
}

struct topology_events {
	struct events *events;
	int64_t wall_us;
	const struct fabric *before, *after;
};

static void tell_node_change(struct topology_events *topology, enum fabric_change change, uint32_t before_index,
			     uint32_t after_index)
{
	const struct node *before = before_index == FABRIC_NONE ? NULL : &topology->before->nodes[before_index];
	const struct node *after = after_index == FABRIC_NONE ? NULL : &topology->after->nodes[after_index];
	struct events *events = topology->events;

	if (change == CHANGE_NODE_ADDED)
		events_add(events, topology->wall_us, EVENT_NODE_ADDED, EVENT_INFO, topology->after, after_index, 0,
			   "%s is new in the fabric", after->name);
	else if (change == CHANGE_NODE_REMOVED)
		events_add(events, topology->wall_us, EVENT_NODE_REMOVED,
			   before->type == NODE_SWITCH ? EVENT_CRITICAL : EVENT_WARNING, topology->before, before_index,
			   0, "%s is gone from the fabric", before->name);
	else if (change == CHANGE_NODE_NAME)
		events_add(events, topology->wall_us, EVENT_NODE_RENAMED, EVENT_INFO, topology->after, after_index, 0,
			   "%.100s is now called %.100s", before->name, after->name);
	else
		events_add(events, topology->wall_us, EVENT_NODE_LID, EVENT_INFO, topology->after, after_index, 0,
			   "the LID of %.100s changed from %u to %u", after->name, before->lid, after->lid);
}

/* "LEAF/3 - SPINE/7", or the one end that is known. */
static void link_name(const struct fabric *fabric, uint32_t port, char *ret, size_t size)
{
	uint32_t peer = fabric->ports[port].peer;
	char near[100], far[100];

	port_name(fabric, port, near, sizeof(near));
	if (peer == FABRIC_NONE)
		snprintf(ret, size, "%s", near);
	else
		snprintf(ret, size, "%s - %s", near, port_name(fabric, peer, far, sizeof(far)));
}

static void tell_port_change(struct topology_events *topology, enum fabric_change change, uint32_t before_index,
			     uint32_t after_index)
{
	const struct port *before = &topology->before->ports[before_index];
	const struct port *after = &topology->after->ports[after_index];
	char name[210], was[100];
	const char *kind = EVENT_LINK_STATE;
	enum event_severity severity = EVENT_INFO;

	/* A link that is gone is best named by both ends that it had. */
	if (after->peer == FABRIC_NONE)
		link_name(topology->before, before_index, name, sizeof(name));
	else
		link_name(topology->after, after_index, name, sizeof(name));
	if (change == CHANGE_PORT_PEER) {
		snprintf(was, sizeof(was), "nothing");
		if (before->peer != FABRIC_NONE)
			port_name(topology->before, before->peer, was, sizeof(was));
		events_add(topology->events, topology->wall_us, EVENT_PEER_CHANGED, EVENT_WARNING, topology->after,
			   after->node, after->num, "%s: cabled elsewhere, before to %s", name, was);
		return;
	}
	if (change == CHANGE_PORT_RATE) {
		events_add(topology->events, topology->wall_us, EVENT_LINK_RATE, EVENT_WARNING, topology->after,
			   after->node, after->num, "%s: now %ux %s, before %ux %s", name,
			   link_width_lanes(after->width), link_speed_name((enum link_speed)after->speed),
			   link_width_lanes(before->width), link_speed_name((enum link_speed)before->speed));
		return;
	}
	if (after->state == PORT_ACTIVE) {
		kind = EVENT_LINK_UP;
	} else if (after->state < PORT_INIT) {
		kind = EVENT_LINK_DOWN;
		severity = EVENT_WARNING;
	}
	events_add(topology->events, topology->wall_us, kind, severity, topology->after, after->node, after->num,
		   "%s: now %s, before %s", name, port_state_name(after->state), port_state_name(before->state));
}

static void tell_change(void *ctx, enum fabric_change change, uint32_t before_index, uint32_t after_index)
{
	if (change <= CHANGE_NODE_LID)
		tell_node_change(ctx, change, before_index, after_index);
	else
		tell_port_change(ctx, change, before_index, after_index);
}

void events_from_topology(struct events *events, int64_t wall_us, const struct fabric *before,
			  const struct fabric *after)
{
	struct topology_events topology = { events, wall_us, before, after };

	fabric_diff(before, after, tell_change, &topology);
}
