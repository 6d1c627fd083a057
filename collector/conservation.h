/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * conservation.h - does each link deliver what it is given, told as an event
 *
 * Follows both directions of every link from sweep to sweep with the running sums
 * of analysis/conserve.h. Where the ends disagree in three sweeps in a row, and for 30 s, an
 * event says so, once for as long as it goes on (until an hour has passed without it), and
 * for ten directions at most; a new sum is begun then.
 *
 * A direction is not judged, and its sum begun anew, where an end has 32-bit counters
 * only, was cleared or is full, was down, is cabled elsewhere, or has another rate: not
 * before a minute has passed, in which discovery finds a cable that was moved. An end
 * that is silent delays it: its next delta is longer. The links inside a switch (to an
 * aggregation node) are left out.
 */
#ifndef IBWIRE_COLLECTOR_CONSERVATION_H
#define IBWIRE_COLLECTOR_CONSERVATION_H

#include <stddef.h>
#include <stdint.h>

#include "base/map.h"

struct conservation_port;
struct events;
struct fabric;
struct sweep_result;

/* Keyed by node GUID and port number of the sending end. A zeroed struct is empty. */
struct conservation {
	struct conservation_port *ports;
	size_t count, capacity;
	size_t reported; /* of the ports: for how many it goes on */
	struct map by_port;
	/* While a sweep is looked at: by index of port, the sample + 1 and the port above + 1; 0: none. */
	uint32_t *sample_of, *memory_of;
	size_t index_capacity;
};

void conservation_done(struct conservation *conservation);

/*
 * conservation_step - look at one sweep
 * @wall_us:   of the events
 * @start_us:  CLOCK_BOOTTIME at the sweep's start: no counter was read before
 * @result:    of this sweep on @fabric, with readings that are believed
 *
 * Where there is no memory the sweep is left out, and the sums begin anew.
 */
void conservation_step(struct conservation *conservation, struct events *events, int64_t wall_us, int64_t start_us,
		       const struct fabric *fabric, const struct sweep_result *result);

#endif
