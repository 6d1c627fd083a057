/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
#include <math.h>

#include "analysis/delta.h"
#include "analysis/rate.h"
#include "base/map.h"
#include "base/unit_test.h"
#include "fabric/fabric.h"
#include "fabric/speed.h"

static struct reading one(enum counter counter, uint64_t value, int64_t at_us, int wide)
{
	struct reading reading = { .at_us = at_us, .present = COUNTER_BIT(counter) };

	reading.value[counter] = value;
	if (wide)
		reading.wide = COUNTER_BIT(counter);
	return reading;
}

static struct delta between(enum counter counter, uint64_t before, uint64_t now, int wide)
{
	struct reading prev = one(counter, before, 1000, wide), cur = one(counter, now, 3000, wide);
	struct delta delta;

	delta_between(&prev, &cur, &delta);
	assert_int_equal(delta.elapsed_us, 2000);
	assert_int_equal(delta.known, COUNTER_BIT(counter));
	return delta;
}

TEST(growth_is_exact)
{
	struct delta delta = between(COUNTER_RCV_DATA, UINT64_C(1) << 63, UINT64_MAX - 1, 1);

	assert_true(delta.value[COUNTER_RCV_DATA] == (UINT64_C(1) << 63) - 2);
	assert_int_equal(delta.reset | delta.saturated, 0);
}

TEST(reset_is_not_a_negative_delta)
{
	struct delta delta = between(COUNTER_RCV_DATA, 1000000, 17, 1);

	assert_int_equal(delta.value[COUNTER_RCV_DATA], 17);
	assert_int_equal(delta.reset, COUNTER_BIT(COUNTER_RCV_DATA));
}

TEST(a_counter_at_its_maximum_is_saturated_at_every_width)
{
	static const struct {
		enum counter counter;
		uint64_t max;
	} cases[] = {
		{ COUNTER_LOCAL_LINK_INTEGRITY_ERRORS, 15 }, { COUNTER_LINK_DOWNED, 255 },
		{ COUNTER_SYMBOL_ERRORS, 65535 }, { COUNTER_XMIT_WAIT, UINT32_MAX },
	};

	for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		counter_set bit = COUNTER_BIT(cases[i].counter);
		struct delta delta = between(cases[i].counter, cases[i].max - 3, cases[i].max, 0);

		assert_int_equal(delta.saturated, bit);
		assert_int_equal(delta.value[cases[i].counter], 3);
		delta = between(cases[i].counter, cases[i].max, cases[i].max, 0);
		assert_int_equal(delta.saturated, bit);
		assert_int_equal(delta.value[cases[i].counter], 0);
		delta = between(cases[i].counter, cases[i].max - 3, cases[i].max - 1, 0);
		assert_int_equal(delta.saturated, 0);
		/* In a 64-bit field it is not the maximum. */
		delta = between(cases[i].counter, cases[i].max - 3, cases[i].max, 1);
		assert_int_equal(delta.saturated, 0);
	}
}

TEST(a_sum_is_cut_if_it_is_shorter_than_the_window_by_half_an_interval)
{
	const int64_t second_us = 1000000;
	struct delta sum = { .elapsed_us = 590 * second_us };

	assert_false(delta_is_cut(&sum, 594 * second_us, 10 * second_us));
	assert_true(delta_is_cut(&sum, 596 * second_us, 10 * second_us));
	/* Sweeps of no interval: ports of one sweep are some ms apart. */
	assert_false(delta_is_cut(&sum, 595 * second_us, 0));
	assert_true(delta_is_cut(&sum, 600 * second_us, 0));
	sum.elapsed_us = INT64_MAX;
	assert_false(delta_is_cut(&sum, INT64_MAX, INT64_MAX));
}

TEST(a_counter_that_was_not_read_twice_is_unknown)
{
	struct reading prev = one(COUNTER_RCV_DATA, 5, 0, 1), cur = one(COUNTER_XMIT_DATA, 9, 10, 1);
	struct delta delta;

	delta_between(&prev, &cur, &delta);
	assert_int_equal(delta.known, 0);
	/* Different widths cannot be compared. */
	cur = one(COUNTER_RCV_DATA, 9, 10, 0);
	delta_between(&prev, &cur, &delta);
	assert_int_equal(delta.known, 0);
}

/*
 * A simulated port: counters grow, stop at their maximum, are reset. First + sum = last for each
 * counter whose sum is not marked, and a marked sum is never above the true count.
 */
TEST(first_plus_sum_is_last_or_the_sum_is_marked)
{
	uint64_t random = 42;

	for (int run = 0; run < 2000; run++) {
		struct reading first = { 0 }, prev, cur;
		uint64_t truth[COUNTER_COUNT] = { 0 };
		struct delta sum = { 0 };
		int steps = 1 + run % 20;

		for (int counter = 0; counter < COUNTER_COUNT; counter++) {
			first.present |= COUNTER_BIT(counter);
			if (!counter_info((enum counter)counter)->narrow_bits || run % 2)
				first.wide |= COUNTER_BIT(counter);
			random = map_mix(random + 1);
			first.value[counter] = random % (reading_max(&first, (enum counter)counter) / 4 * 3 + 1);
		}
		prev = first;
		for (int step = 0; step < steps; step++) {
			struct delta delta;

			cur = prev;
			cur.at_us += 1000 + (int64_t)(random % 1000);
			for (int counter = 0; counter < COUNTER_COUNT; counter++) {
				uint64_t max = reading_max(&cur, (enum counter)counter), grows;

				random = map_mix(random + 1);
				grows = random % (max / 32 + 2);
				if (random >> 58 == 0)
					cur.value[counter] = 0;
				truth[counter] += grows;
				cur.value[counter] = max - cur.value[counter] < grows ? max
										      : cur.value[counter] + grows;
			}
			delta_between(&prev, &cur, &delta);
			delta_add(&sum, &delta);
			prev = cur;
		}
		assert_int_equal(sum.elapsed_us, cur.at_us - first.at_us);
		for (int counter = 0; counter < COUNTER_COUNT; counter++) {
			counter_set bit = COUNTER_BIT(counter);

			assert_true(sum.known & bit);
			assert_true(sum.value[counter] <= truth[counter]);
			if (!((sum.reset | sum.saturated) & bit))
				assert_true(first.value[counter] + sum.value[counter] == cur.value[counter]);
		}
	}
}

TEST(rates_use_true_time_and_bytes)
{
	struct delta delta = between(COUNTER_RCV_DATA, 0, 500, 1);
	uint64_t hdr_bits_per_s = link_rate_bits_per_s(LINK_WIDTH_4X, LINK_SPEED_HDR);
	char text[16];

	assert_true(fabs(rate_bytes_per_s(&delta, COUNTER_RCV_DATA).value - 1e6) < 1e-6);
	assert_true(isnan(rate_bytes_per_s(&delta, COUNTER_XMIT_DATA).value));
	assert_true(fabs(rate_utilization_percent(measure_of(25e9, true), hdr_bits_per_s).value - 100) < 1e-9);
	assert_true(isnan(rate_utilization_percent(measure_of(1, true), 0).value));
	assert_string_equal(rate_format_bits(22.8e9, text, sizeof(text)), "182.4 Gb/s");
	assert_string_equal(rate_format_bits(0, text, sizeof(text)), "0 b/s");
	assert_string_equal(rate_format_bits(124.9999e6, text, sizeof(text)), "1.0 Gb/s");
	assert_string_equal(rate_format_bits(NAN, text, sizeof(text)), "-");
	delta.elapsed_us = 0;
	assert_true(isnan(rate_bytes_per_s(&delta, COUNTER_RCV_DATA).value));
}

TEST(the_rate_of_a_marked_counter_is_a_lower_bound)
{
	struct delta delta = between(COUNTER_RCV_DATA, 500, 300, 1);
	struct measure rate = rate_bytes_per_s(&delta, COUNTER_RCV_DATA);
	char text[16];

	assert_true(measure_is_at_least(rate) && isnan(measure_exact(rate)));
	assert_string_equal(rate_format(rate, text, sizeof(text)), "4.8 Mb/s+");
	assert_true(measure_is_at_least(rate_utilization_percent(rate, 1000000000)));
	/* There is no more than 100 %, and at least 0 is unknown. */
	assert_true(measure_exact(rate_utilization_percent(rate, 1000000)) == 100);
	delta = between(COUNTER_RCV_DATA, 500, 0, 1);
	assert_true(isnan(rate_bytes_per_s(&delta, COUNTER_RCV_DATA).value));
}

/* Sums, means and maxima of random numbers: an exact result is true, a lower bound is not above the truth. */
TEST(what_is_computed_from_lower_bounds_is_never_too_high)
{
	for (int round = 0; round < 20000; round++) {
		struct measure sum = MEASURE_NONE, most = MEASURE_NONE, mean;
		double truth = 0, highest = 0;
		int parts = 1 + rand() % 5;

		for (int i = 0; i < parts; i++) {
			double value = rand() % 4 ? rand() % 1000 : 0;
			bool known = rand() % 8, exact = rand() % 3;
			double seen = exact ? value : value / (1 + rand() % 4);
			struct measure part = measure_of(known ? seen : NAN, exact);

			truth += value;
			highest = fmax(highest, value);
			sum = measure_add(sum, part);
			most = measure_max(most, part);
		}
		mean = measure_mean(sum);
		assert_int_equal(sum.parts, parts);
		assert_true(isnan(sum.value) || (measure_is_exact(sum) ? sum.value == truth : sum.value <= truth));
		assert_true(isnan(mean.value) || mean.value <= truth / parts + 1e-9);
		assert_true(isnan(most.value) ||
			    (measure_is_exact(most) ? most.value == highest : most.value <= highest));
	}
}

/* Random detail counters: known values are exact, and each exception is marked. */
TEST(detail_counters_change_like_counters)
{
	uint64_t random = 1;

	for (int round = 0; round < 20000; round++) {
		enum detail_attribute attribute = (enum detail_attribute)(round % DETAIL_ATTRIBUTE_COUNT);
		struct detail_reading prev = {
			.attribute = (uint8_t)attribute, .layout = FEC_LAYOUT_RS, .at_us = 1000,
		};
		struct detail_reading cur = prev;
		struct detail_delta delta;

		cur.at_us = 1000 + round;
		cur.layout = round % 7 ? FEC_LAYOUT_RS : FEC_LAYOUT_LANES;
		for (unsigned i = 0; i < detail_count(attribute); i++) {
			uint32_t max = detail_max(attribute, i);

			random = random * 6364136223846793005ULL + 1442695040888963407ULL;
			prev.value[i] = (uint32_t)(random >> 33) & max;
			cur.value[i] = (random >> 20) % 5 ? prev.value[i] | ((uint32_t)(random >> 40) & max) : 0;
			cur.value[i] = (random >> 24) % 11 ? cur.value[i] : max;
			prev.present |= (random >> 50) % 9 ? 1u << i : 0;
			cur.present |= (random >> 54) % 9 ? 1u << i : 0;
		}
		detail_delta_between(&prev, &cur, &delta);
		assert_int_equal(delta.elapsed_us, round);
		for (unsigned i = 0; i < detail_count(attribute); i++) {
			bool fec = attribute == DETAIL_EXTENDED_SPEEDS && i >= DETAIL_FEC_CORRECTED_BLOCKS;
			bool known = prev.present & cur.present & 1u << i && !(fec && prev.layout != cur.layout);

			assert_int_equal(!!(delta.known & 1u << i), known);
			if (!known)
				continue;
			assert_int_equal(!!(delta.reset & 1u << i), cur.value[i] < prev.value[i]);
			assert_int_equal(!!(delta.saturated & 1u << i), cur.value[i] == detail_max(attribute, i));
			if (!(delta.reset & 1u << i))
				assert_int_equal(prev.value[i] + delta.value[i], cur.value[i]);
			else
				assert_int_equal(delta.value[i], cur.value[i]);
		}
	}
}

static const struct port up = { .state = PORT_ACTIVE, .width = LINK_WIDTH_4X, .speed = LINK_SPEED_HDR };
static const struct port down = { .state = PORT_DOWN };

TEST(a_logical_port_is_the_sum_of_its_planes)
{
	struct plane_sum sum = { 0 };
	char text[160];

	for (int plane = 0; plane < 4; plane++)
		plane_sum_add(&sum, &up, measure_of(12.5e9 + plane, true), measure_of(1e9, true));
	assert_int_equal(sum.planes, 4);
	assert_int_equal(sum.bits_per_s, 4 * port_rate_bits_per_s(&up));
	assert_true(measure_exact(sum.xmit_bytes_per_s) == 50e9 + 6);
	assert_true(measure_exact(sum.rcv_bytes_per_s) == 4e9);
	assert_string_equal(plane_sum_text(&sum, text, sizeof(text)),
			    "4 planes, of 800.0 Gb/s together: sends 400.0 Gb/s (50.0 %), receives 32.0 Gb/s (4.0 %)");
}

TEST(a_plane_that_is_down_is_no_capacity)
{
	struct plane_sum sum = { 0 };
	char text[160];

	plane_sum_add(&sum, &up, measure_of(0, true), measure_of(0, true));
	/* Its unknown load is not missing. */
	plane_sum_add(&sum, &down, measure_of(NAN, true), measure_of(NAN, true));
	assert_string_equal(plane_sum_text(&sum, text, sizeof(text)),
			    "2 planes, 1 of them down, of 200.0 Gb/s together: sends 0 b/s (0.0 %), "
			    "receives 0 b/s (0.0 %)");
}

TEST(the_sum_is_a_lower_bound_if_a_plane_is_unknown)
{
	struct plane_sum sum = { 0 };
	char text[160];

	plane_sum_add(&sum, &up, measure_of(1e9, true), measure_of(NAN, true));
	assert_true(isnan(sum.rcv_bytes_per_s.value));
	plane_sum_add(&sum, &up, measure_of(1e9, true), measure_of(1e9, true));
	assert_string_equal(plane_sum_text(&sum, text, sizeof(text)),
			    "2 planes, of 400.0 Gb/s together: sends 16.0 Gb/s (4.0 %), "
			    "receives 8.0 Gb/s+ (2.0 %+)");
}
