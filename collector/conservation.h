/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * conservation.h - report links whose two ends count different packets
 *
 * Tracks both directions of every link with the running sums of analysis/conserve.h. A disagreement
 * of the ends in three consecutive sweeps over at least 30 s is an event, once until it has not
 * occurred for an hour, and for ten directions at most; then a new sum begins.
 *
 * A sum begins again after an end was cleared, saturated, down, recabled or changed its rate, and
 * is not evaluated for a minute, in which discovery detects moved cables. Ends with 32-bit counters
 * and the internal links of a switch (to an aggregation node) are not evaluated. An unresponsive
 * end delays the evaluation: its next delta is longer.
 */
#ifndef IBWIRE_COLLECTOR_CONSERVATION_H
#define IBWIRE_COLLECTOR_CONSERVATION_H

#include <stddef.h>
#include <stdint.h>

struct conservation_port;
struct events;
struct node_memory;
struct sweep_result;

/* A zeroed struct is empty. */
struct conservation {
	struct conservation_port *ports; /* of the sending end, by node_memory_port_index() */
	size_t count;
	size_t reported; /* number of ports with a current disagreement */
};

void conservation_done(struct conservation *conservation);

/*
 * conservation_step - evaluate one sweep
 * @wall_us:   of the events
 * @start_us:  CLOCK_BOOTTIME at its start: no counter was read before
 * @memory:    of the fabric of this sweep
 * @result:    of this sweep, after lid_verify
 *
 * If memory is exhausted, the sweep is skipped and the sums begin again.
 */
void conservation_step(struct conservation *conservation, struct events *events, int64_t wall_us, int64_t start_us,
		       const struct node_memory *memory, const struct sweep_result *result);

#endif
