/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * event_limit.h - limit the number of events per kind
 *
 * A faulty fabric repeats the same events for days: nodes that respond to every second query, links
 * that flap. A burst is reported completely; of a continuous stream a part is reported, and the
 * number of suppressed events. Pure: no clock, no I/O.
 */
#ifndef IBWIRE_COLLECTOR_EVENT_LIMIT_H
#define IBWIRE_COLLECTOR_EVENT_LIMIT_H

#include <stddef.h>
#include <stdint.h>

#include "collector/sink.h"

struct events;

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
 * @events:  those of the last call remain, unless the list was cleared
 * @now_us:  CLOCK_BOOTTIME
 * @wall_us: of the events that report suppressed ones
 */
void event_limit_apply(struct event_limit *limit, struct events *events, int64_t now_us, int64_t wall_us);

#endif
