/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * relay_heap.h - scheduled events: a binary heap by time
 *
 * Events of the same time are returned in the order in which they were added, so MADs do not overtake
 * each other. A zeroed struct is an empty heap.
 */
#ifndef IBWIRE_SIM_RELAY_HEAP_H
#define IBWIRE_SIM_RELAY_HEAP_H

#include <stddef.h>
#include <stdint.h>

struct relay_event {
	int64_t at_ns;
	uint64_t order; /* set by the heap */
	uint32_t what;
};

struct relay_heap {
	struct relay_event *events;
	size_t count, capacity;
	uint64_t next_order;
};

/* relay_heap_push - add an event. Return: 0 or ERR_NOMEM (heap unchanged). */
int relay_heap_push(struct relay_heap *heap, int64_t at_ns, uint32_t what);

/* relay_heap_next_ns - time of the first event; INT64_MAX if the heap is empty. */
static inline int64_t relay_heap_next_ns(const struct relay_heap *heap)
{
	return heap->count ? heap->events[0].at_ns : INT64_MAX;
}

/* relay_heap_pop - remove the first event; the heap must not be empty. */
struct relay_event relay_heap_pop(struct relay_heap *heap);

void relay_heap_done(struct relay_heap *heap);

#endif
