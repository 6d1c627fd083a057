/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * sweep_events.h - events derived from the readings of consecutive sweeps
 *
 * Nodes that become unresponsive, locked or respond again, counters that were reset externally,
 * saturated counters, unsupported planes. What happens to many ports at once is one event.
 */
#ifndef IBWIRE_COLLECTOR_SWEEP_EVENTS_H
#define IBWIRE_COLLECTOR_SWEEP_EVENTS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "collector/sink.h"

struct events;
struct fabric;
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
	int64_t window_wall_us;
	size_t cleared;
	unsigned reported;           /* events of this window: one per port, or one for all */
	bool busy;               /* a discovery or the SM is active; set before each call */
	int silence;             /* of many nodes, as reported: enum silence of sweep_events.c */
};

/*
 * sweep_events_report - add the events of one sweep
 * @now_us, @wall_us:  CLOCK_BOOTTIME and the wall clock at its start
 * @memory:            indexed by @fabric; remembers what was reported
 */
void sweep_events_report(struct sweep_events *state, struct events *events, int64_t now_us, int64_t wall_us,
			 const struct fabric *fabric, const struct sweep_result *result, struct node_memory *memory);

#endif
