/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * sweep_events.h - what the readings of sweep after sweep tell as events
 *
 * Nodes that fall silent or answer again, counters that somebody cleared, counters
 * that are full. What many ports do at once is told once.
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

/* So many ports cleared within so long are one event. */
#define CLEARED_TOGETHER 10
#define CLEARED_WINDOW_US (60 * 1000000LL)

/* A zeroed struct is the start. */
struct sweep_events {
	/* Ports cleared since the first of them, within CLEARED_WINDOW_US. */
	uint32_t window;         /* its number, from 1; in port_entry too */
	int64_t window_us;       /* CLOCK_BOOTTIME when it began, 0: none is open */
	int64_t window_wall_us;
	size_t cleared;
	unsigned reported;           /* events of this window: one of each port, or one of all */
	bool busy;               /* the fabric is, with a discovery or with itself; to be set before each call */
	int silence;             /* told of many nodes together: enum silence of sweep_events.c */
};

/*
 * sweep_events_report - the events of one sweep
 * @now_us, @wall_us:  CLOCK_BOOTTIME and the wall clock at its start
 * @memory:            follows @fabric; what was told already is kept there
 */
void sweep_events_report(struct sweep_events *state, struct events *events, int64_t now_us, int64_t wall_us,
			 const struct fabric *fabric, const struct sweep_result *result, struct node_memory *memory);

#endif
