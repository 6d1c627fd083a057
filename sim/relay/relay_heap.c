/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
#include "sim/relay/relay_heap.h"

#include <assert.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

#include "base/array.h"
#include "base/err.h"

static bool is_before(const struct relay_event *a, const struct relay_event *b)
{
	return a->at_ns != b->at_ns ? a->at_ns < b->at_ns : a->order < b->order;
}

int relay_heap_push(struct relay_heap *heap, int64_t at_ns, uint32_t what)
{
	struct relay_event event = { .at_ns = at_ns, .order = heap->next_order, .what = what };
	struct relay_event *events = array_grow(heap->events, heap->count, &heap->capacity, sizeof(*events));
	size_t i;

	if (!events)
		return ERR_NOMEM;
	heap->events = events;
	heap->next_order++;
	for (i = heap->count++; i && is_before(&event, &heap->events[(i - 1) / 2]); i = (i - 1) / 2)
		heap->events[i] = heap->events[(i - 1) / 2];
	heap->events[i] = event;
	return 0;
}

struct relay_event relay_heap_pop(struct relay_heap *heap)
{
	struct relay_event first, last;
	size_t i = 0, child;

	assert(heap->count);
	first = heap->events[0];
	last = heap->events[--heap->count];
	while ((child = 2 * i + 1) < heap->count) {
		if (child + 1 < heap->count && is_before(&heap->events[child + 1], &heap->events[child]))
			child++;
		if (!is_before(&heap->events[child], &last))
			break;
		heap->events[i] = heap->events[child];
		i = child;
	}
	heap->events[i] = last;
	return first;
}

void relay_heap_done(struct relay_heap *heap)
{
	free(heap->events);
	memset(heap, 0, sizeof(*heap));
}
