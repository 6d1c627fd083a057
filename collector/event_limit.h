/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * event_limit.h - how many events of a kind are told
 *
 * A fabric that is sick for days says the same things again and again: nodes that
 * answer every other question, links that flap. What happens once, however much of it at
 * once, is told; what goes on and on is told a part of, and how much was left out.
 * The samples say the rest. Pure: no clock, no I/O.
 */
#ifndef IBWIRE_COLLECTOR_EVENT_LIMIT_H
#define IBWIRE_COLLECTOR_EVENT_LIMIT_H

#include <stddef.h>
#include <stdint.h>

#include "collector/sink.h"

struct events;

/* So many of one kind and severity may be told at once, and so many an hour in the long run. */
#define EVENT_LIMIT_BURST 1000
#define EVENT_LIMIT_PER_HOUR 1000

/* How often it is told that some were left out. */
#define EVENT_LIMIT_REPORT_US (60 * 1000000LL)

/* Kinds that are told apart; there are fewer. */
#define EVENT_LIMIT_KINDS 128

struct event_limit_kind {
	const char *kind;
	enum event_severity severity;
	int64_t credit_us;  /* time that it may spend on events */
	int64_t at_us;      /* CLOCK_BOOTTIME until which credit was given */
	uint64_t left_out;  /* not told of yet */
	int64_t reported_us;    /* when that was told, 0: never */
};

/* A zeroed struct is the start. */
struct event_limit {
	struct event_limit_kind kinds[EVENT_LIMIT_KINDS];
	size_t count;
	size_t passed; /* of the list: looked at already; 0 when the list is cleared */
};

/*
 * event_limit_apply - take what is too much out of a list
 * @events:  what stood there at the last call, and was not cleared since, stays
 * @now_us:  CLOCK_BOOTTIME
 * @wall_us: of the events that say how many were left out
 */
void event_limit_apply(struct event_limit *limit, struct events *events, int64_t now_us, int64_t wall_us);

#endif
