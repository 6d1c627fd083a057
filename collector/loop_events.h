/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* loop_events.h - events of the loop: late or cut sweeps, steps of the wall clock, the SM */
#ifndef IBWIRE_COLLECTOR_LOOP_EVENTS_H
#define IBWIRE_COLLECTOR_LOOP_EVENTS_H

#include <stdbool.h>
#include <stdint.h>

#include "collector/sink.h"

struct events;
struct sweep_result;

/* A zeroed struct is the initial state. */
struct loop_events {
	struct sm_state last_sm; /* known: in the last sweep; the rest: its last response */
	bool late, cut;          /* already reported */
	int64_t wall_offset_us;  /* wall clock minus CLOCK_BOOTTIME at the last sweep, 0: none yet */
};

/* loop_events_sm - the master SM is unresponsive, responds again, or is another one */
void loop_events_sm(struct loop_events *state, struct events *events, int64_t wall_us,
		    const struct sweep_result *result);

/* loop_events_clock - the wall clock was set. @wall_us, @boottime_us: start of the sweep */
void loop_events_clock(struct loop_events *state, struct events *events, int64_t wall_us, int64_t boottime_us);

/*
 * loop_events_cut - a sweep was cut: reported for the first of consecutive ones
 * Return: whether it was cut for lack of time. A requested stop does not count.
 */
bool loop_events_cut(struct loop_events *state, struct events *events, int64_t wall_us,
		     const struct sweep_result *result, int64_t interval_us);

/*
 * loop_events_late - a sweep took longer than the interval: reported for the first of consecutive
 * ones
 * @took_us:  from its start to the earliest start of the next one
 */
void loop_events_late(struct loop_events *state, struct events *events, int64_t wall_us, int64_t took_us,
		      int64_t interval_us);

#endif
