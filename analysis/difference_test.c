/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* Differences of distant readings, compared with the true counts in between. */
#include <inttypes.h>
#include <string.h>

#include "analysis/difference.h"
#include "base/unit_test.h"

enum { ROUNDS = 20000 };

static uint64_t state;

static uint64_t draw(uint64_t below)
{
	state ^= state << 13;
	state ^= state >> 7;
	state ^= state << 17;
	return below ? state % below : state;
}

/* Values of a counter at two times, and the true count in between, perhaps with a reset. */
struct story {
	uint64_t before, after, counted;
	bool reset, full;
};

static struct story draw_story(uint64_t max)
{
	struct story story = { .before = draw(4) ? draw(max < 1000 ? max + 1 : 1000) : max - draw(3) };
	uint64_t value = story.before;
	unsigned steps = (unsigned)draw(5);

	for (unsigned i = 0; i < steps; i++) {
		uint64_t by = draw(3) ? draw(300) : draw(max);

		if (!draw(8)) {
			/* A reset: the counts before it are lost. */
			story.reset |= value > 0;
			value = 0;
		}
		by = by > UINT64_MAX - story.counted ? UINT64_MAX - story.counted : by;
		story.counted += by;
		value = by > max - value ? max : value + by;
	}
	story.after = value;
	story.full = value == max;
	return story;
}

static void read_fast(struct full_reading *reading, int counter, uint64_t value, bool wide)
{
	reading->reading.present |= COUNTER_BIT(counter);
	reading->reading.value[counter] = value;
	if (wide)
		reading->reading.wide |= COUNTER_BIT(counter);
}

/* Exact, or marked as a lower bound; never above the true count. */
TEST(a_difference_is_exact_or_a_lower_bound)
{
	size_t exact = 0, bounds = 0;

	state = 77;
	for (int round = 0; round < ROUNDS; round++) {
		struct full_reading before = { .reading.at_us = 5 }, after = { .reading.at_us = 25 };
		bool wide = draw(2);
		int counter = (int)draw(COUNTER_COUNT);
		unsigned bits = wide ? 64 : counter_info((enum counter)counter)->narrow_bits;
		struct difference difference;
		struct counted *counted = &difference.counters[counter];
		struct story story;

		if (!bits)
			continue;
		story = draw_story(bits == 64 ? UINT64_MAX : (UINT64_C(1) << bits) - 1);
		read_fast(&before, counter, story.before, wide);
		read_fast(&after, counter, story.after, wide);
		difference_between(&before, &after, 3, &difference);
		/* The collector would have recorded the reset. */
		if (story.reset)
			difference_note_resets(&difference, COUNTER_BIT(counter));
		assert_true(counted->known);
		assert_int_equal(difference.elapsed_us, 23);
		assert_true(counted->value <= story.counted);
		assert_int_equal(counted->reset, story.reset);
		assert_int_equal(counted->saturated, story.full);
		if (!counted->reset && !counted->saturated)
			assert_true(counted->value == story.counted);
		exact += !counted->reset && !counted->saturated;
		bounds += counted->reset || counted->saturated;
	}
	assert_true(exact > ROUNDS / 3);
	assert_true(bounds > ROUNDS / 10);
}

/*
 * All counters of a port, cleared together at a random time: what counts past its last reading does not decrease.
 * If a counter of data or packets shows the reset, no change is taken for exact that is not; if another one does, no
 * change of errors and PortXmitWait.
 */
TEST(a_reset_that_one_counter_shows_marks_all)
{
	size_t shown = 0, hidden = 0;

	state = 78;
	for (int round = 0; round < ROUNDS; round++) {
		struct full_reading before = { .reading.at_us = 5 }, after = { .reading.at_us = 25 };
		struct difference difference;
		uint64_t counted[COUNTER_COUNT];
		bool cleared = draw(2), any = false, data = false;

		for (int i = 0; i < COUNTER_COUNT; i++) {
			uint64_t was = draw(3) ? draw(30) : 0, until = draw(3) ? draw(100) : 0, since = draw(200);

			counted[i] = until + since;
			read_fast(&before, i, was, true);
			read_fast(&after, i, cleared ? since : was + until + since, true);
			any |= cleared && since < was;
			data |= cleared && since < was && i < COUNTER_TRAFFIC_COUNT && i != COUNTER_XMIT_WAIT;
		}
		difference_between(&before, &after, 0, &difference);
		for (int i = 0; i < COUNTER_COUNT; i++) {
			const struct counted *one = &difference.counters[i];

			assert_int_equal(one->reset, i < COUNTER_TRAFFIC_COUNT && i != COUNTER_XMIT_WAIT ? data : any);
			if (one->reset ? one->value > counted[i] : !cleared && one->value != counted[i])
				fail_msg("%s: %" PRIu64 " of %" PRIu64, counted_key((size_t)i), one->value, counted[i]);
			hidden += any && after.reading.value[i] >= before.reading.value[i];
		}
		shown += any;
	}
	assert_true(shown > ROUNDS / 3);
	assert_true(hidden > ROUNDS);
}

TEST(a_reset_that_the_collector_saw_marks_errors_and_xmit_wait_too)
{
	struct full_reading before = { .reading.at_us = 5 }, after = { .reading.at_us = 25 };
	struct difference difference;

	for (int i = 0; i < COUNTER_COUNT; i++) {
		read_fast(&before, i, 0, true);
		read_fast(&after, i, 3, true);
	}
	difference_between(&before, &after, 0, &difference);
	difference_note_resets(&difference, COUNTER_BIT(COUNTER_RCV_DATA));
	for (int i = 0; i < COUNTER_COUNT; i++)
		assert_int_equal(difference.counters[i].reset,
				 i == COUNTER_RCV_DATA || i == COUNTER_XMIT_WAIT || i >= COUNTER_TRAFFIC_COUNT);
}

TEST(a_counter_that_was_not_read_twice_is_unknown)
{
	struct full_reading before = { 0 }, after = { 0 };
	struct difference difference;

	read_fast(&before, COUNTER_XMIT_DATA, 10, true);
	read_fast(&after, COUNTER_XMIT_DATA, 20, false); /* another width */
	read_fast(&before, COUNTER_RCV_DATA, 10, true);
	read_fast(&after, COUNTER_XMIT_WAIT, 20, true);
	before.details[DETAIL_EXTENDED_SPEEDS] = (struct detail_reading){
		.attribute = DETAIL_EXTENDED_SPEEDS, .layout = FEC_LAYOUT_LANES, .present = 0xff,
	};
	after.details[DETAIL_EXTENDED_SPEEDS] = before.details[DETAIL_EXTENDED_SPEEDS];
	after.details[DETAIL_EXTENDED_SPEEDS].layout = FEC_LAYOUT_RS;
	after.details[DETAIL_EXTENDED_SPEEDS].value[DETAIL_UNKNOWN_BLOCKS] = 3;
	difference_between(&before, &after, 0, &difference);
	for (size_t i = 0; i < COUNTED_COUNT; i++)
		assert_int_equal(difference.counters[i].known,
				 i == COUNTED_DETAIL(DETAIL_EXTENDED_SPEEDS, DETAIL_SYNC_HEADER_ERRORS) ||
				 i == COUNTED_DETAIL(DETAIL_EXTENDED_SPEEDS, DETAIL_UNKNOWN_BLOCKS));
	assert_int_equal(difference.counters[COUNTED_DETAIL(DETAIL_EXTENDED_SPEEDS, DETAIL_UNKNOWN_BLOCKS)].value, 3);
	/* A reset of an unknown counter is not recorded. */
	difference_note_resets(&difference, COUNTER_BIT(COUNTER_RCV_DATA));
	assert_false(difference.counters[COUNTER_RCV_DATA].reset);
}

TEST(after_a_reset_of_any_counter_errors_are_lower_bounds)
{
	struct full_reading before = { .reading.at_us = 5 }, after = { .reading.at_us = 25 };
	struct difference difference;

	read_fast(&before, COUNTER_RCV_ERRORS, 10, true);
	read_fast(&after, COUNTER_RCV_ERRORS, 30, true);
	before.reading.present = after.reading.present |= COUNTER_BIT(COUNTER_XMIT_DATA);
	difference_between(&before, &after, 0, &difference);
	assert_false(difference.counters[COUNTER_RCV_ERRORS].reset);
	difference_note_resets(&difference, COUNTER_BIT(COUNTER_RCV_DATA));
	assert_true(difference.counters[COUNTER_RCV_ERRORS].reset);
	assert_false(difference.counters[COUNTER_XMIT_DATA].reset);
}

TEST(a_port_that_was_not_read_at_both_times_has_no_numbers)
{
	struct full_reading ok = { .status = SAMPLE_OK }, silent = { .status = SAMPLE_SILENT };
	struct full_reading down = { .status = SAMPLE_DOWN };
	const struct full_reading *all[] = { &ok, &silent, &down, NULL };
	struct difference difference;

	read_fast(&ok, COUNTER_XMIT_DATA, 10, true);
	for (size_t a = 0; a < 4; a++)
		for (size_t b = 0; b < 4; b++) {
			struct difference_sum sum = { 0 };
			bool both = all[a] == &ok && all[b] == &ok;
			bool is_down = (!all[a] || all[a] == &down) && (!all[b] || all[b] == &down);

			difference_between(all[a], all[b], 0, &difference);
			assert_int_equal(difference.was_there, all[a] != NULL);
			assert_int_equal(difference.is_there, all[b] != NULL);
			for (size_t i = 0; i < COUNTED_COUNT; i++)
				assert_int_equal(difference.counters[i].known, both && i == COUNTER_XMIT_DATA);
			assert_int_equal(difference_is_down(&difference), is_down);
			difference_add(&sum, &difference);
			assert_int_equal(sum.ports, !is_down);
			assert_int_equal(sum.ports_unknown, !is_down && !both);
		}
}

TEST(a_sum_is_a_bound_where_one_port_is_missing)
{
	struct difference known = { .was_there = true, .is_there = true }, missing = known, reset;
	struct difference_sum sum = { 0 };
	struct counted counted;

	missing.status_after = SAMPLE_SILENT;
	known.counters[COUNTER_XMIT_DATA] = (struct counted){ .value = 7, .known = true };
	reset = known;
	reset.counters[COUNTER_XMIT_DATA].reset = true;
	assert_false(difference_sum_counter(&sum, COUNTER_XMIT_DATA).known);
	difference_add(&sum, &known);
	difference_add(&sum, &known);
	counted = difference_sum_counter(&sum, COUNTER_XMIT_DATA);
	assert_true(counted.known && counted.value == 14 && !counted.saturated);
	assert_false(difference_sum_counter(&sum, COUNTER_RCV_DATA).known);
	difference_add(&sum, &missing);
	counted = difference_sum_counter(&sum, COUNTER_XMIT_DATA);
	assert_true(counted.known && counted.value == 14 && counted.saturated);
	assert_int_equal(sum.ports_unknown, 1);
	memset(&sum, 0, sizeof(sum));
	difference_add(&sum, &reset);
	assert_true(difference_sum_counter(&sum, COUNTER_XMIT_DATA).saturated);
	/* Overflow. */
	memset(&sum, 0, sizeof(sum));
	known.counters[COUNTER_XMIT_DATA].value = UINT64_MAX - 3;
	difference_add(&sum, &known);
	difference_add(&sum, &known);
	counted = difference_sum_counter(&sum, COUNTER_XMIT_DATA);
	assert_true(counted.value == UINT64_MAX && counted.saturated);
}

TEST(every_counter_has_one_key_and_bytes_are_exact)
{
	struct counted words = { .value = UINT64_MAX / 4, .known = true };
	uint64_t bytes = 1;
	size_t keys = 0;

	for (size_t i = 0; i < COUNTED_COUNT; i++) {
		for (size_t j = 0; counted_key(i) && j < i; j++)
			assert_true(!counted_key(j) || strcmp(counted_key(i), counted_key(j)));
		keys += counted_key(i) != NULL;
	}
	assert_int_equal(keys, COUNTER_COUNT + detail_count(DETAIL_RCV_ERRORS) + detail_count(DETAIL_XMIT_DISCARDS) +
			       detail_count(DETAIL_VL_XMIT_WAIT) + detail_count(DETAIL_EXTENDED_SPEEDS));
	assert_true(counted_bytes(&words, &bytes) && bytes == UINT64_MAX - 3);
	words.value++;
	assert_false(counted_bytes(&words, &bytes));
	words = (struct counted){ .value = 1 };
	assert_false(counted_bytes(&words, &bytes));
}
