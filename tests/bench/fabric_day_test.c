/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * Of generated days: the same arguments give the same history; what is said of each port adds up;
 * there is as much idleness, noise and fault in it as the head of the generator says.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "collector/events.h"
#include "collector/sink.h"
#include "fabric/fabric.h"
#include "storage/test/test_day.h"
#include "tests/bench/fabric_day.h"

#define SECOND_US INT64_C(1000000)

static struct fabric_day *create(size_t ports, uint64_t seed, bool faults, int64_t interval_us)
{
	struct fabric_day_settings settings = { .ports = ports, .seed = seed, .faults = faults,
						.interval_us = interval_us, .begin_us = 1795046400 * SECOND_US };
	struct fabric_day *day = NULL;

	assert_int_equal(fabric_day_create(&settings, &day, NULL), 0);
	return day;
}

static const struct sweep *next(struct fabric_day *day)
{
	const struct sweep *sweep;

	assert_int_equal(fabric_day_step(day, &sweep, NULL), 0);
	return sweep;
}

/* Everything that a sweep says of traffic, as one number. */
static uint64_t digest(const struct sweep *sweep)
{
	uint64_t sum = (uint64_t)sweep->wall_us ^ sweep->event_count << 40;

	for (size_t i = 0; i < sweep->sample_count; i++) {
		const struct port_sample *sample = &sweep->samples[i];

		sum = sum * 31 + sample->status;
		for (int j = 0; sample->reading && j < COUNTER_COUNT; j++)
			sum = sum * 1000003 + sample->reading->value[j];
	}
	return sum;
}

static void one_seed_gives_one_history(void **state)
{
	struct fabric_day *a = create(256, 7, true, SECOND_US), *b = create(256, 7, true, SECOND_US);
	struct fabric_day *other = create(256, 8, true, SECOND_US);
	bool differs = false;

	(void)state;
	for (int i = 0; i < 100; i++) {
		uint64_t sum = digest(next(a));

		assert_int_equal(sum, digest(next(b)));
		differs = differs || sum != digest(next(other));
	}
	assert_true(differs);
	fabric_day_destroy(a);
	fabric_day_destroy(b);
	fabric_day_destroy(other);
}

/* Whatever was silent, down or cleared between two readings. */
static void deltas_lead_from_one_reading_to_the_next(void **state)
{
	struct fabric_day *day = create(2048, 3, true, 10 * SECOND_US);
	size_t ports = next(day)->fabric->port_count, deltas = 0, resets = 0, silent = 0, down = 0;
	struct reading *last = calloc(ports, sizeof(*last));

	(void)state;
	assert_non_null(last);
	for (int i = 0; i < 700; i++) {
		const struct sweep *sweep = next(day);

		for (size_t j = 0; j < sweep->sample_count; j++) {
			const struct port_sample *sample = &sweep->samples[j];
			struct delta delta;

			silent += sample->status == SAMPLE_SILENT;
			down += sample->status == SAMPLE_DOWN;
			assert_int_equal(sample->status == SAMPLE_OK, sample->reading != NULL);
			if (!sample->reading)
				continue;
			if (sample->delta && last[sample->port].present) {
				delta_between(&last[sample->port], sample->reading, &delta);
				assert_int_equal(delta.elapsed_us, sample->delta->elapsed_us);
				assert_memory_equal(delta.value, sample->delta->value, sizeof(delta.value));
				resets += sample->delta->reset != 0;
				deltas++;
			}
			last[sample->port] = *sample->reading;
		}
	}
	print_message("# note: %zu deltas, %zu of counters that were cleared; %zu samples silent, %zu down\n", deltas,
		      resets, silent, down);
	assert_true(resets && silent && down && deltas > 1000000);
	free(last);
	fabric_day_destroy(day);
}

static void links_go_down_and_return_with_their_events(void **state)
{
	struct fabric_day *day = create(4096, 5, true, 60 * SECOND_US);
	size_t down = 0, up = 0, renamed = 0;
	uint64_t generation = 0;

	(void)state;
	for (int i = 0; i < 600; i++) {
		const struct sweep *sweep = next(day);

		for (size_t j = 0; j < sweep->event_count; j++) {
			down += !strcmp(sweep->events[j].kind, EVENT_LINK_DOWN);
			up += !strcmp(sweep->events[j].kind, EVENT_LINK_UP);
			renamed += !strcmp(sweep->events[j].kind, EVENT_NODE_RENAMED);
		}
		assert_true(sweep->generation >= generation);
		generation = sweep->generation;
	}
	/* In ten hours, by chance: 200 and 10 are expected. */
	assert_in_range(down, 120, 300);
	assert_in_range(up, 120, 300);
	assert_in_range(renamed, 2, 30);
	fabric_day_destroy(day);
}

static void there_are_about_as_many_port_ends_as_were_asked_for(void **state)
{
	static const size_t wanted[] = { 64, 200, 512, 1024, 4096, 8192, 31744, 65536 };

	(void)state;
	for (size_t i = 0; i < sizeof(wanted) / sizeof(*wanted); i++) {
		struct fabric_day *day = create(wanted[i], 1, false, SECOND_US);
		const struct fabric *fabric = next(day)->fabric;
		size_t ends = 2 * fabric_count_links(fabric);

		assert_in_range(ends, wanted[i] * 9 / 10, wanted[i] * 11 / 10);
		fabric_day_destroy(day);
	}
}

static void a_day_is_as_idle_and_as_bursty_as_it_says(void **state)
{
	size_t idle = 0, waiting = 0, count = 0;

	(void)state;
	for (uint64_t seed = 0; seed < 200; seed++) {
		struct day_port port;

		day_begin(&port, seed);
		for (int i = 0; i < 3000; i++) {
			struct delta delta;

			day_next(&port, SECOND_US, &delta);
			assert_true(delta.elapsed_us > 0);
			assert_int_equal(delta.value[COUNTER_RCV_PACKETS], delta.value[COUNTER_UNICAST_RCV_PACKETS] +
					 delta.value[COUNTER_MULTICAST_RCV_PACKETS]);
			idle += delta.value[COUNTER_XMIT_DATA] < 10000;
			waiting += delta.value[COUNTER_XMIT_WAIT] != 0;
			count++;
		}
	}
	assert_in_range(idle * 100 / count, 27, 33);
	assert_in_range(waiting * 100 / count, 11, 15); /* in bursts, and one busy second in 20 */
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(one_seed_gives_one_history),
		cmocka_unit_test(deltas_lead_from_one_reading_to_the_next),
		cmocka_unit_test(links_go_down_and_return_with_their_events),
		cmocka_unit_test(there_are_about_as_many_port_ends_as_were_asked_for),
		cmocka_unit_test(a_day_is_as_idle_and_as_bursty_as_it_says),
	};

	return cmocka_run_group_tests_name("fabric day", tests, NULL, NULL);
}
