/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * throttle.h - when to poll at half the rate
 *
 * While a subnet manager activates ports, or agents drop management datagrams, the rate is halved
 * and discovery is deferred. Pure: no clock, no I/O.
 */
#ifndef IBWIRE_COLLECTOR_THROTTLE_H
#define IBWIRE_COLLECTOR_THROTTLE_H

#include <stdbool.h>
#include <stdint.h>

/* Load on the fabric, as seen by one sweep. */
struct throttle_load {
	uint32_t links_seen;       /* ports with a link that answered PortInfo in this sweep */
	uint32_t links_not_active; /* of those, in state Init or Armed */
	uint64_t drops;            /* VL15Dropped and QP1Dropped since the last sweep, on all polled nodes */
};

/* The SM is activating links if both this number and this share of them are not active. */
#define THROTTLE_LINKS 2
#define THROTTLE_LINKS_PERCENT 10

/*
 * Sweeps without load that end the throttling. It takes TOPOLOGY_PROBE_SWEEPS sweeps to check all
 * links.
 */
#define THROTTLE_QUIET_SWEEPS 11

/*
 * Discovery and forwarding tables are deferred for this long at most: a node that drops datagrams
 * now and then, or a link that stays in Init, can keep throttling on for days.
 */
#define THROTTLE_HOLD_US (60 * 1000000LL)

struct throttle {
	bool on;
	unsigned quiet_sweeps; /* consecutive, while on */
};

enum throttle_change { THROTTLE_SAME, THROTTLE_BEGINS, THROTTLE_ENDS };

/* throttle_step - update with the load of one sweep. */
enum throttle_change throttle_step(struct throttle *throttle, const struct throttle_load *load);

/* throttle_half - half of a limit, at least 1; 0 (no limit) remains 0. */
unsigned throttle_half(unsigned limit);

#endif
