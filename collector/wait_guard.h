/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * wait_guard.h - HCAs whose counters contradict the assumed length of a tick of PortXmitWait
 *
 * A port sends, or waits, or does neither. If its data and its PortXmitWait together take more than the time, a tick
 * is shorter than assumed (STALL_ASSUMED, analysis/rate.h). Then the stall of that device is unknown from this sweep
 * on, also after a restart of the collector, and an event says so.
 *
 * It is a property of the device and not of its model: the firmware of devices of one model may differ, and is not
 * known here. Others of the same model show it when they wait.
 */
#ifndef IBWIRE_COLLECTOR_WAIT_GUARD_H
#define IBWIRE_COLLECTOR_WAIT_GUARD_H

#include <stddef.h>
#include <stdint.h>

struct events;
struct node_memory;
struct sweep_result;
struct wait_guard_port;

/* A zeroed struct is empty. */
struct wait_guard {
	struct wait_guard_port *ports; /* by node_memory_port_index() */
	size_t count;
};

void wait_guard_done(struct wait_guard *guard);

/*
 * wait_guard_step - evaluate one sweep
 * @wall_us:  of the events
 * @memory:   of the fabric of this sweep; sets pma_caps.wait_contradicted of nodes
 * @result:   of this sweep, after lid_verify
 *
 * A lower bound is sufficient, since the number of ticks can only be larger. If memory is exhausted, the sweep is
 * skipped and the sums begin again.
 */
void wait_guard_step(struct wait_guard *guard, struct events *events, int64_t wall_us, struct node_memory *memory,
		     const struct sweep_result *result);

#endif
