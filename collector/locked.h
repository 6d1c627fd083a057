/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * locked.h - nodes that respond to PMA queries, but not to SMPs
 *
 * Their M_Key is not known, or a firewall drops SMPs. Their counters are valid, but changes of
 * their links are detected by a discovery at best. A lost SMP does not make a node locked: it is
 * queried again in the next sweeps, with retries. A locked node is queried now and then.
 */
#ifndef IBWIRE_COLLECTOR_LOCKED_H
#define IBWIRE_COLLECTOR_LOCKED_H

#include <stdint.h>

struct events;
struct fabric;
struct node_memory;
struct sweep_result;

/* Consecutive sweeps with a PMA response and without an SMP response that make a node locked. */
#define LOCKED_AFTER_SWEEPS 3

/*
 * locked_from_sweep - report nodes that this sweep found locked or unlocked
 * @result:  the nodes that responded to PMA queries
 * @memory:  node_entry.smp_result of each node is consumed
 */
void locked_from_sweep(struct events *events, int64_t wall_us, const struct fabric *fabric,
		       const struct sweep_result *result, struct node_memory *memory);

#endif
