/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * loop_events.h - what the loop tells of itself and of its surroundings: sweeps that
 * are late or cut, a wall clock that was set, the subnet manager
 */
#ifndef IBWIRE_COLLECTOR_LOOP_EVENTS_H
#define IBWIRE_COLLECTOR_LOOP_EVENTS_H

#include <stdbool.h>
#include <stdint.h>

#include "collector/sink.h"

struct events;
struct sweep_result;

/* A zeroed struct is the start. */
struct loop_events {
	struct sm_state last_sm; /* known: as of the last sweep; the rest as it answered last */
	bool late, cut;          /* told already */
	int64_t wall_offset_us;  /* wall clock minus CLOCK_BOOTTIME at the last sweep, 0: none yet */
};

/* loop_events_sm - it is lost, or another one. @result: of the sweep that asked it */
void loop_events_sm(struct loop_events *state, struct events *events, int64_t wall_us,
		    const struct sweep_result *result);

/* loop_events_clock - somebody set the wall clock. @wall_us, @boottime_us: of one moment, the sweep's start */
void loop_events_clock(struct loop_events *state, struct events *events, int64_t wall_us, int64_t boottime_us);

/*
 * loop_events_cut - a sweep that was cut says what is missing: once, until one comes to its end
 * Return: was it cut? Not where that was because the program shall stop.
 */
bool loop_events_cut(struct loop_events *state, struct events *events, int64_t wall_us,
		     const struct sweep_result *result, int64_t interval_us);

/*
 * loop_events_late - a sweep took longer than the interval: told once, until one is in time
 * @took_us:  from its start to the moment at which the next could begin
 */
void loop_events_late(struct loop_events *state, struct events *events, int64_t wall_us, int64_t took_us,
		      int64_t interval_us);

#endif
