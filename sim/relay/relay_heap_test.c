/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "sim/relay/relay_heap.h"

#define MANY 20000

static uint32_t next_random(uint32_t *state)
{
	*state = *state * 1664525 + 1013904223;
	return *state >> 8;
}

static void events_are_ordered_by_time(void **state)
{
	struct relay_heap heap = { 0 };
	int64_t last = INT64_MIN;
	uint32_t random = 1, i;

	(void)state;
	assert_true(relay_heap_next_ns(&heap) == INT64_MAX);
	for (i = 0; i < MANY; i++)
		assert_int_equal(relay_heap_push(&heap, next_random(&random) % 1000000, i), 0);
	/* Events are added and removed alternately. */
	for (i = 0; i < MANY; i++) {
		struct relay_event event = relay_heap_pop(&heap);

		assert_true(event.at_ns >= last);
		last = event.at_ns;
		assert_int_equal(relay_heap_push(&heap, last + next_random(&random) % 1000, i), 0);
	}
	for (i = 0; i < MANY; i++) {
		struct relay_event event = relay_heap_pop(&heap);

		assert_true(event.at_ns >= last);
		last = event.at_ns;
	}
	assert_true(relay_heap_next_ns(&heap) == INT64_MAX);
	relay_heap_done(&heap);
}

static void events_of_the_same_time_keep_their_order(void **state)
{
	struct relay_heap heap = { 0 };
	uint32_t i;

	(void)state;
	for (i = 0; i < MANY; i++)
		assert_int_equal(relay_heap_push(&heap, i % 7, i), 0);
	for (i = 0; i < MANY; i++) {
		struct relay_event event = relay_heap_pop(&heap), next;

		if (!heap.count)
			break;
		next = heap.events[0];
		assert_true(next.at_ns > event.at_ns || (next.at_ns == event.at_ns && next.what > event.what));
	}
	relay_heap_done(&heap);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(events_are_ordered_by_time),
		cmocka_unit_test(events_of_the_same_time_keep_their_order),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
