/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* events.h - the list of events that is stored with a sweep */
#ifndef IBWIRE_COLLECTOR_EVENTS_H
#define IBWIRE_COLLECTOR_EVENTS_H

#include <stddef.h>
#include <stdint.h>

#include "collector/sink.h"

struct fabric;

/* Kinds of events. They are stored in the database: add, never change. */
#define EVENT_COLLECTOR_STARTED "collector-started"
#define EVENT_DEVICE_REMOVED "device-removed"
#define EVENT_DEVICE_RETURNED "device-returned"
#define EVENT_TOPOLOGY_FILE "topology-file"
#define EVENT_DISCOVERY_FAILED "discovery-failed"
#define EVENT_DISCOVERY_SHRUNK "discovery-shrunk"
#define EVENT_DISCOVERY_DIFFERS "discovery-differs"
#define EVENT_NODE_ADDED "node-added"
#define EVENT_NODE_REMOVED "node-removed"
#define EVENT_NODE_RENAMED "node-renamed"
#define EVENT_NODE_LID "node-lid-changed"
#define EVENT_LINK_UP "link-up"
#define EVENT_LINK_DOWN "link-down"
#define EVENT_LINK_STATE "link-state"
#define EVENT_LINK_RATE "link-rate"
#define EVENT_PEER_CHANGED "peer-changed"
#define EVENT_NODE_SILENT "node-silent"
#define EVENT_NODE_ANSWERS "node-answers"
#define EVENT_NODE_LOCKED "node-locked"
#define EVENT_NODE_UNLOCKED "node-unlocked"
#define EVENT_COUNTERS_CLEARED "counters-cleared"
#define EVENT_COUNTER_SATURATED "counter-saturated"
#define EVENT_COUNTERS_CONTRADICT "counters-contradict"
#define EVENT_LINK_NOT_CONSERVED "link-not-conserved"
#define EVENT_LAYOUT_UNSUPPORTED "layout-unsupported"
#define EVENT_PORT_SELECT_ZERO "port-select-zero"
#define EVENT_WAIT_CONTRADICTED "xmit-wait-contradicted"
#define EVENT_ROUTES_CHANGED "routes-changed"
#define EVENT_PKEYS_CHANGED "pkeys-changed"
#define EVENT_ADAPTIVE_ROUTING "adaptive-routing"
#define EVENT_FIRMWARE_CHANGED "firmware-changed" /* also of storage/saved/saved_firmware.c */
#define EVENT_SM_CHANGED "sm-changed"
#define EVENT_SM_LOST "sm-lost"
#define EVENT_SM_ANSWERS "sm-answers"
#define EVENT_SM_OTHER "sm-other"
#define EVENT_SWEEP_LATE "sweep-late"
#define EVENT_SWEEP_CUT "sweep-cut"
#define EVENT_FAST_LATE "fast-jobs-late"
#define EVENT_CLOCK_STEPPED "clock-stepped"
#define EVENT_THROTTLED "collector-throttled"
#define EVENT_UNTHROTTLED "collector-unthrottled"
#define EVENT_FABRIC_SILENT "fabric-silent"
#define EVENT_FABRIC_ANSWERS "fabric-answers"
#define EVENT_HCAS_SILENT "hcas-silent"
#define EVENT_HCAS_ANSWER "hcas-answer"
#define EVENT_FINDING_OPENED "finding-opened"
#define EVENT_FINDING_CHANGED "finding-changed"
#define EVENT_FINDING_CLOSED "finding-closed"
#define EVENT_STORE_FAILED "store-failed"
#define EVENT_EVENTS_LEFT_OUT "events-left-out"

/* How the text of EVENT_TOPOLOGY_FILE begins; `ibwire status` shows the rest as the topology. */
#define TOPOLOGY_FILE_PREFIX "topology "

/*
 * A growing list; a zeroed struct is empty. If memory is exhausted, events are written to `spare`
 * and counted in `lost`; owners that drop events count them there, too.
 */
struct events {
	struct event *list;
	size_t count, capacity;
	size_t lost;
	struct event spare;
};

void events_clear(struct events *events);
void events_done(struct events *events);

/*
 * events_add - append an event of a node, a port, or neither
 * @fabric, @node:  location, FABRIC_NONE: none
 * @port:           port number, 0: the node itself
 *
 * Return: the event, to set further fields; never NULL.
 */
struct event *events_add(struct events *events, int64_t wall_us, const char *kind, enum event_severity severity,
			 const struct fabric *fabric, uint32_t node, uint8_t port, const char *fmt, ...)
	__attribute__((format(printf, 8, 9)));

/*
 * events_port_name - "NAME/PORT"
 * @ret:  @size bytes
 * Return: @ret
 */
const char *events_port_name(const struct fabric *fabric, uint32_t port, char *ret, size_t size);

/* events_from_topology - add each difference of two fabrics as an event. */
void events_from_topology(struct events *events, int64_t wall_us, const struct fabric *before,
			  const struct fabric *after);

/*
 * A faulty fabric repeats the same events for days: nodes that respond to every second query, links
 * that flap. A burst is reported completely; of a continuous stream a part is reported, and the
 * number of suppressed events.
 */

/* Events of one kind and severity: at once, and per hour. */
#define EVENT_LIMIT_BURST 1000
#define EVENT_LIMIT_PER_HOUR 1000

/* Interval between reports of suppressed events. */
#define EVENT_LIMIT_REPORT_US (60 * 1000000LL)

/* Maximum number of kinds; there are fewer. */
#define EVENT_LIMIT_KINDS 128

struct event_limit_kind {
	const char *kind;
	enum event_severity severity;
	int64_t credit_us;  /* time credit, consumed by events */
	int64_t at_us;      /* CLOCK_BOOTTIME of the last credit */
	uint64_t left_out;  /* suppressed and not reported yet */
	int64_t reported_us;    /* time of the last report, 0: never */
};

/* A zeroed struct is the initial state. */
struct event_limit {
	struct event_limit_kind kinds[EVENT_LIMIT_KINDS];
	size_t count;
	size_t passed; /* events of the list that were already checked; 0 when the list is cleared */
};

/*
 * event_limit_apply - remove the events that exceed the limit
 * @events:  events of the previous call remain, unless the list was cleared
 * @now_us:  CLOCK_BOOTTIME
 * @wall_us: wall clock of the events that report suppressed events
 */
void event_limit_apply(struct event_limit *limit, struct events *events, int64_t now_us, int64_t wall_us);

#endif
