/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * link_verify.h - has the cabling changed where a sweep saw a sign of it?
 *
 * A link that went down since the last sweep, or a node that fell silent, may be
 * back as it was: that costs two SMPs to find out, where a discovery asks the
 * whole fabric. So PortInfo of the switch's port is asked at once, and NodeInfo of
 * the node behind it, along a path that ends with this very cable.
 */
#ifndef IBWIRE_COLLECTOR_LINK_VERIFY_H
#define IBWIRE_COLLECTOR_LINK_VERIFY_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "fabric/path.h"

struct engine;
struct error;
struct fabric;
struct node_memory;
struct sweep_result;

/* More links than this with a sign of a change at once are a change: a discovery sees them all. */
#define LINK_VERIFY_MAX 32

struct link_verify {
	const struct fabric *fabric;
	struct node_memory *memory;
	bool changed;                     /* something is not as it was, not answered, or cannot be asked */
	size_t count;
	uint32_t ports[LINK_VERIFY_MAX];    /* to look at: of switches, indices */
	struct path paths[LINK_VERIFY_MAX]; /* to what is behind them */
};

/*
 * link_verify_select - which links does a sweep bring signs of?
 * @look:    filled anew; `changed` where there are too many, a switch is silent, or no switch is at either end
 * @memory:  follows @fabric, and is not moved on to this sweep yet
 * @result:  of the sweep that has just been made of @fabric
 */
void link_verify_select(struct link_verify *verify, const struct fabric *fabric, struct node_memory *memory,
			const struct sweep_result *result);

/*
 * link_verify_run - look at what was found, unless that is a change already
 * @engine:       idle. Each SMP is sent once, so that a dead node costs 20 ms and not more
 * @deadline_us:  CLOCK_BOOTTIME at which there is no more time for it: what is not answered then counts as changed
 * Return: 0; ERR_UNAVAILABLE where the local device failed; ERR_NOMEM.
 */
int link_verify_run(struct link_verify *verify, struct engine *engine, int64_t deadline_us, struct error *err);

#endif
