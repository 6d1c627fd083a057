/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * locked.h - nodes that answer for their counters, but no SMPs
 *
 * That is what a node with another M_Key does, or one behind a firewall for
 * SMPs: it is not dead, and its counters are right; but no change of its links is
 * seen until a discovery, and no discovery may see it. One SMP that was lost
 * makes nobody locked: a node that left one open is asked again in the next
 * sweeps, with retries, and a locked one now and then.
 */
#ifndef IBWIRE_COLLECTOR_LOCKED_H
#define IBWIRE_COLLECTOR_LOCKED_H

#include <stdint.h>

struct events;
struct fabric;
struct node_memory;
struct sweep_result;

/* A node is locked when it left all SMPs open in so many sweeps in which it was asked, and answered for counters. */
#define LOCKED_AFTER_SWEEPS 3

/*
 * locked_from_sweep - which nodes are locked since this sweep, or no longer, as events
 * @result:  says who answered for counters
 * @memory:  what the sweep's SMPs have seen (node_memory.smp_result) is used up
 */
void locked_from_sweep(struct events *events, int64_t wall_us, const struct fabric *fabric,
		       const struct sweep_result *result, struct node_memory *memory);

#endif
