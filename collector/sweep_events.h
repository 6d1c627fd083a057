/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * sweep_events.h - events derived from the readings of consecutive sweeps
 *
 * Nodes that become unresponsive, locked or respond again, counters that were reset externally,
 * saturated counters, unsupported planes. What happens to many ports at once is one event. Also those of
 * the loop: late or cut sweeps, steps of the wall clock, the master SM.
 */
#ifndef IBWIRE_COLLECTOR_SWEEP_EVENTS_H
#define IBWIRE_COLLECTOR_SWEEP_EVENTS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "collector/sink.h"

struct events;
struct node_memory;
struct sweep_result;

/* This number of ports with cleared counters within this time is one event. */
#define CLEARED_TOGETHER 10
#define CLEARED_WINDOW_US (60 * 1000000LL)

/* Consecutive sweeps with a PMA response and without an SMP response that make a node locked. */
#define LOCKED_AFTER_SWEEPS 3

/* A zeroed struct is the initial state. */
struct sweep_events {
	/* Ports whose counters were cleared within CLEARED_WINDOW_US of the first one. */
	uint32_t window;         /* sequence number, from 1; also in port_entry */
	int64_t window_us;       /* CLOCK_BOOTTIME of its start, 0: no window */
	size_t cleared;
	unsigned reported;           /* events of this window: one per port, or one for all */
	bool full_waits;         /* the 32-bit PortXmitWait of an HCA became full */
	bool full_waits_reported;
	bool busy;               /* a discovery or the SM is active; set before each call */
	int outage;              /* of many nodes, as reported: enum outage of sweep_events.c */
};

/*
 * sweep_events_report - add the events of one sweep
 * @now_us, @wall_us:  CLOCK_BOOTTIME and the wall clock at its start
 * @memory:            contains what was reported
 */
void sweep_events_report(struct sweep_events *state, struct events *events, int64_t now_us, int64_t wall_us,
			 const struct sweep_result *result, struct node_memory *memory);

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
