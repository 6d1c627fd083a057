/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * throttle.h - when to ask less, because the fabric has better things to do
 *
 * A subnet manager that brings ports up needs the wire and the nodes' management
 * agents more than a monitor does, and an agent that drops datagrams has too many
 * of them. While either shows, half the rate is enough, and discovery waits. Pure:
 * no clock, no I/O.
 */
#ifndef IBWIRE_COLLECTOR_THROTTLE_H
#define IBWIRE_COLLECTOR_THROTTLE_H

#include <stdbool.h>
#include <stdint.h>

/* What one sweep saw. */
struct throttle_load {
	uint32_t links_seen;       /* ports with a link whose PortInfo was answered in this sweep */
	uint32_t links_not_active; /* of those, in state Init or Armed */
	uint64_t drops;            /* VL15Dropped and QP1Dropped, counted since the last sweep by all that were asked */
};

/* So many of the links, and so large a share, must be on their way up for it to be the SM's work. */
#define THROTTLE_LINKS 2
#define THROTTLE_LINKS_PERCENT 10

/* So many sweeps without a sign end it: in fewer not all links have been looked at (TOPOLOGY_PROBE_SWEEPS). */
#define THROTTLE_QUIET_SWEEPS 11

/*
 * Discovery and forwarding tables wait so long from its beginning, and no longer: one node that drops a datagram now
 * and then, or one link that stays in Init, can keep it on for days.
 */
#define THROTTLE_HOLD_US (60 * 1000000LL)

struct throttle {
	bool on;
	unsigned quiet_sweeps; /* in a row, while on */
};

enum throttle_change { THROTTLE_SAME, THROTTLE_BEGINS, THROTTLE_ENDS };

/* throttle_step - what this sweep's signs change. */
enum throttle_change throttle_step(struct throttle *throttle, const struct throttle_load *load);

/* throttle_half - half of a limit, at least 1; of no limit (0) none. */
unsigned throttle_half(unsigned limit);

#endif
