/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
#include <math.h>
#include <string.h>

#include "analysis/series.h"
#include "base/err.h"
#include "base/map.h"
#include "base/unit_test.h"
#include "fabric/fabric.h"

static const int64_t second_us = 1000000, noon_us = 1795176000000000; /* 2026-11-20T12:00:00Z */
static const struct metric_port no_port;

static struct metric metric_of_key(const char *key)
{
	struct metric metric = { 0 };

	if (!metric_find(key, &metric))
		fail_msg("no metric is called %s", key);
	return metric;
}

static struct delta random_delta(uint64_t seed)
{
	struct delta delta = { .elapsed_us = 900000 + (int64_t)(map_mix(seed) % 200000), .known = ~UINT64_C(0) };

	for (int i = 0; i < COUNTER_COUNT; i++)
		delta.value[i] = map_mix(seed + 100 + (uint64_t)i) % 1000000;
	return delta;
}

/* The same pieces in steps of any length have the same total and the same weighted mean. */
TEST(steps_of_any_length_have_the_same_sums)
{
	static const int64_t steps_us[] = { 0, 2000000, 7000000, 60000000, 3600000000, 86400000000 };
	const int64_t until_us = noon_us + 600 * second_us;

	for (size_t s = 0; s < sizeof(steps_us) / sizeof(*steps_us); s++) {
		uint64_t total = 0, truth = 0;
		double area = 0, weight = 0, true_area = 0, true_weight = 0, low = INFINITY, high = 0;
		const struct metric metric = metric_of_key("rcv_bytes");
		struct series series;
		int64_t samples = 0;

		assert_int_equal(series_init(&series, &metric, 3, noon_us, until_us, steps_us[s], 3600000000, NULL), 0);
		for (uint64_t i = 1; i <= 600; i++) {
			struct delta delta = random_delta(i);
			double rate = (double)delta.value[COUNTER_RCV_DATA] * 4e6 / (double)delta.elapsed_us;

			assert_int_equal(series_begin(&series, noon_us + (int64_t)i * second_us,
						      noon_us + (int64_t)i * second_us, 1), 0);
			if (i % 100 < 90) { /* gaps */
				series_add(&series, 0, &no_port, &delta, 1);
				truth += 4 * delta.value[COUNTER_RCV_DATA];
				true_area += rate * (double)delta.elapsed_us;
				true_weight += (double)delta.elapsed_us;
				low = fmin(low, rate);
				high = fmax(high, rate);
			}
			series_end(&series);
		}
		for (size_t i = 0; i < series.count; i++) {
			const struct series_step *step = &series.steps[i];

			assert_true(step->from_us < step->until_us);
			assert_true(!i || step->from_us >= step[-1].from_us);
			samples += step->samples;
			if (!step->samples) {
				assert_true(isnan(step->mean) && isnan(step->low) && !step->has_total);
				continue;
			}
			assert_true(step->low <= step->mean * (1 + 1e-9) && step->mean <= step->high * (1 + 1e-9));
			assert_true(step->low >= low && step->high <= high);
			total += step->total;
			area += step->mean * step->weight_us;
			weight += step->weight_us;
		}
		assert_int_equal(samples, 540);
		assert_true(total == truth);
		assert_true(fabs(weight - true_weight) < 1);
		assert_true(fabs(area / weight - true_area / true_weight) < 1e-6 * true_area / true_weight);
		series_done(&series);
	}
}

TEST(a_step_without_readings_is_a_gap_and_a_zero_is_none)
{
	const struct metric metric = metric_of_key("symbol_errors");
	const struct delta quiet = { .elapsed_us = second_us, .known = ~UINT64_C(0) };
	const struct delta unknown = { .elapsed_us = second_us };
	struct series series;

	assert_int_equal(series_init(&series, &metric, 3, noon_us, noon_us + 3 * second_us, second_us, 0, NULL), 0);
	assert_int_equal(series.count, 3);
	series_begin(&series, noon_us + second_us, noon_us + second_us, 1);
	series_add(&series, 0, &no_port, &quiet, 1);
	series_end(&series);
	series_begin(&series, noon_us + 2 * second_us, noon_us + 2 * second_us, 1);
	series_add(&series, 0, &no_port, &unknown, 1);
	series_end(&series);
	assert_true(series.steps[0].mean == 0 && series.steps[0].has_total && series.steps[0].total == 0);
	assert_true(isnan(series.steps[1].mean) && !series.steps[1].has_total && !series.steps[1].samples);
	assert_true(isnan(series.steps[2].mean) && !series.steps[2].has_total);
	series_done(&series);
}

TEST(ports_of_a_piece_add_up)
{
	const struct metric bytes = metric_of_key("xmit_bytes"), share = metric_of_key("xmit_utilization");
	const struct port hdr = { .width = LINK_WIDTH_4X, .speed = LINK_SPEED_HDR, .state = PORT_ACTIVE };
	const struct port edr = { .width = LINK_WIDTH_4X, .speed = LINK_SPEED_EDR, .state = PORT_ACTIVE };
	const struct metric_port ports[] = { { .port = &hdr }, { .port = &edr } };
	struct delta delta = { .elapsed_us = second_us, .known = ~UINT64_C(0) };
	struct series series;

	/* 200 Gb/s carry 10 GB/s, 40 %; 100 Gb/s carry 5 GB/s, 40 %. */
	for (int both = 0; both < 2; both++) {
		assert_int_equal(series_init(&series, both ? &share : &bytes, 2, noon_us, noon_us + second_us,
					     second_us, 0, NULL), 0);
		series_begin(&series, noon_us + 1, noon_us + 1, 1);
		for (int i = 0; i < 2; i++) {
			delta.value[COUNTER_XMIT_DATA] = i ? 1250000000 : 2500000000;
			series_add(&series, (size_t)i, &ports[i], &delta, 1);
		}
		series_end(&series);
		assert_int_equal(series.steps[0].ports, 2);
		assert_true(fabs(series.steps[0].mean - (both ? 40 : 15e9)) < 1e-6);
		assert_int_equal(series.steps[0].has_total, !both);
		assert_true(both || series.steps[0].total == 15000000000);
		series_done(&series);
	}
}

TEST(marked_counters_are_lower_bounds)
{
	const struct metric metric = metric_of_key("errors");
	struct delta delta = { .elapsed_us = second_us, .known = COUNTER_BIT(COUNTER_LINK_DOWNED) };
	struct metric_value value;

	delta.value[COUNTER_LINK_DOWNED] = 3;
	metric_of(&metric, &no_port, &delta, &value);
	assert_true(value.has_total && value.total == 3 && !value.at_least);
	delta.reset = COUNTER_BIT(COUNTER_LINK_DOWNED);
	metric_of(&metric, &no_port, &delta, &value);
	assert_true(value.at_least);
	/* Saturated before: further counts are unknown. */
	delta.reset = 0;
	delta.saturated = COUNTER_BIT(COUNTER_LINK_DOWNED);
	delta.value[COUNTER_LINK_DOWNED] = 0;
	metric_of(&metric, &no_port, &delta, &value);
	assert_false(value.has_total || value.has_rate);
	/* Without elapsed time there is a total, and no rate. */
	delta.saturated = 0;
	delta.elapsed_us = 0;
	metric_of(&metric, &no_port, &delta, &value);
	assert_true(value.has_total && !value.has_rate);
}

/* The mean of a step of which a piece is "at least 0" is not that of its other pieces. */
TEST(a_lower_bound_of_a_mean_is_over_the_time_of_all_pieces)
{
	const struct metric metric = metric_of_key("errors");
	struct series series;

	for (int first = 0; first < 2; first++) {
		assert_int_equal(series_init(&series, &metric, 3, noon_us, noon_us + 60 * second_us, 60 * second_us, 0,
					     NULL), 0);
		for (int i = 0; i < 2; i++) {
			struct delta delta = { .elapsed_us = 20 * second_us, .known = COUNTER_BIT(COUNTER_RCV_ERRORS),
					       .reset = COUNTER_BIT(COUNTER_RCV_ERRORS) };
			int64_t at_us = noon_us + 20 * (i + 1) * second_us;

			delta.value[COUNTER_RCV_ERRORS] = i == first ? 100 : 0;
			assert_int_equal(series_begin(&series, at_us, at_us, 1), 0);
			series_add(&series, 0, &no_port, &delta, 1);
			series_end(&series);
		}
		assert_true(series.steps[0].at_least && fabs(series.steps[0].mean - 2.5) < 1e-9);
		assert_true(series.steps[0].low == 0 && series.steps[0].high == 5 && series.steps[0].total == 100);
		series_done(&series);
	}
}

/* A port that counts no more because its counter is full adds nothing to a sum, which is a lower bound then. */
TEST(a_saturated_port_makes_the_sum_a_lower_bound)
{
	const struct metric metric = metric_of_key("xmit_bytes");
	struct delta exact = random_delta(1), saturated = random_delta(2);
	struct series series;

	saturated.saturated = COUNTER_BIT(COUNTER_XMIT_DATA);
	saturated.value[COUNTER_XMIT_DATA] = 0;
	assert_int_equal(series_init(&series, &metric, 3, noon_us, noon_us + second_us, second_us, 0, NULL), 0);
	series_begin(&series, noon_us + 1, noon_us + 1, 1);
	series_add(&series, 0, &no_port, &exact, 1);
	assert_false(series.steps[0].at_least);
	series_add(&series, 1, &no_port, &saturated, 1);
	series_end(&series);
	assert_true(series.steps[0].at_least && series.steps[0].total == 4 * exact.value[COUNTER_XMIT_DATA]);
	assert_int_equal(series.steps[0].ports, 1);
	series_done(&series);
}

/* Two ports of which one is not read in the sweeps 2 and 3 of 5, or any more after 3. */
TEST(a_port_that_is_not_read_makes_the_sum_a_lower_bound)
{
	const struct metric metric = metric_of_key("xmit_bytes");

	for (int again = 0; again < 2; again++) {
		struct delta delta = random_delta(1);
		struct series series;

		assert_int_equal(series_init(&series, &metric, 3, noon_us, noon_us + 9 * second_us, 0, 0, NULL), 0);
		for (int i = 0; i < 5; i++) {
			series_begin(&series, noon_us + i * second_us, noon_us + i * second_us, 1);
			delta.elapsed_us = second_us;
			series_add(&series, 0, &no_port, &delta, 1);
			delta.elapsed_us = again && i == 4 ? 3 * second_us : second_us;
			if (again ? i < 2 || i == 4 : i < 4)
				series_add(&series, 1, &no_port, &delta, 1);
			series_end(&series);
		}
		if (!again)
			series_missed(&series, noon_us + 3 * second_us);
		for (int i = 0; i < 5; i++)
			assert_int_equal(series.steps[i].at_least, again ? i == 2 || i == 3 : i == 4);
		series_done(&series);
	}
}

/* Two ports of which one is not read in the window at all. */
TEST(a_port_that_is_never_read_makes_the_sum_a_lower_bound)
{
	const struct metric metric = metric_of_key("xmit_bytes");
	struct delta delta = random_delta(1);
	struct series series;

	delta.elapsed_us = second_us;
	assert_int_equal(series_init(&series, &metric, 3, noon_us, noon_us + 9 * second_us, 0, 0, NULL), 0);
	for (int i = 0; i < 3; i++) {
		series_begin(&series, noon_us + i * second_us, noon_us + i * second_us, 1);
		series_add(&series, 0, &no_port, &delta, 1);
		series_end(&series);
	}
	series_missed(&series, 0);
	for (int i = 0; i < 3; i++)
		assert_true(series.steps[i].at_least);
	series_done(&series);
}

/* It shows when it is read again, also if it adds nothing to the sum. */
TEST(a_saturated_port_that_was_not_read_makes_the_sum_a_lower_bound)
{
	const struct metric metric = metric_of_key("xmit_bytes");
	struct delta exact = random_delta(1), saturated = random_delta(2);
	struct series series;

	exact.elapsed_us = second_us;
	saturated.saturated = COUNTER_BIT(COUNTER_XMIT_DATA);
	saturated.value[COUNTER_XMIT_DATA] = 0;
	assert_int_equal(series_init(&series, &metric, 3, noon_us, noon_us + 9 * second_us, 0, 0, NULL), 0);
	for (int i = 0; i < 4; i++) {
		series_begin(&series, noon_us + i * second_us, noon_us + i * second_us, 1);
		series_add(&series, 0, &no_port, &exact, 1);
		series_add(&series, 1, &no_port, &exact, 1);
		saturated.elapsed_us = i == 3 ? 2 * second_us : second_us;
		if (i != 2)
			series_add(&series, 2, &no_port, &saturated, 1);
		series_end(&series);
	}
	for (int i = 0; i < 4; i++)
		assert_true(series.steps[i].at_least);
	series_done(&series);
}

/* A port whose counter was read with another width has no delta. */
TEST(a_port_without_a_known_delta_makes_the_sum_a_lower_bound)
{
	const struct metric metric = metric_of_key("xmit_bytes");
	struct delta exact = random_delta(1), unknown = { .elapsed_us = second_us };
	struct series series;

	assert_int_equal(series_init(&series, &metric, 3, noon_us, noon_us + second_us, second_us, 0, NULL), 0);
	series_begin(&series, noon_us + 1, noon_us + 1, 1);
	series_add(&series, 0, &no_port, &exact, 1);
	series_add(&series, 1, &no_port, &unknown, 1);
	series_end(&series);
	assert_true(series.steps[0].at_least && series.steps[0].ports == 1);
	series_done(&series);
}

/*
 * Two ports were read in the first 4 of 10 seconds of a stored sum, and then one of them after 8 more: the numbers are
 * of the 12 seconds of that port, which begin before the step.
 */
TEST(a_step_says_of_what_time_its_numbers_are)
{
	const struct metric metric = metric_of_key("xmit_bytes");
	struct delta delta = random_delta(1);
	struct series series;

	assert_int_equal(series_init(&series, &metric, 2, noon_us, noon_us + 20 * second_us, 10 * second_us, 0, NULL),
			 0);
	for (int again = 0; again < 2; again++) {
		series_begin(&series, noon_us + 11 * second_us, noon_us + 20 * second_us, 1);
		delta.elapsed_us = 4 * second_us;
		for (size_t i = 0; i < 2; i++)
			series_add(&series, i, &no_port, &delta, 4);
		series_end(&series);
		series_begin(&series, noon_us + 17 * second_us, noon_us + 17 * second_us, 1);
		delta.elapsed_us = 8 * second_us;
		series_add(&series, 1, &no_port, &delta, 1);
		series_end(&series);
		assert_int_equal(series.steps[1].window_us, (again + 1) * 12 * second_us);
		/* The clock is set back. */
		series_begin(&series, noon_us + second_us, noon_us + second_us, 1);
		series_add(&series, 1, &no_port, &delta, 1);
		series_end(&series);
		assert_int_equal(series.steps[0].window_us, (again + 1) * 8 * second_us);
	}
	series_done(&series);
}

TEST(metrics_are_found_by_their_names)
{
	struct metric metric = { .key = "as it was" };

	for (size_t i = 0; i < metric_count(); i++) {
		assert_true(metric_find(metric_at(i).key, &metric));
		assert_string_equal(metric.key, metric_at(i).key);
		assert_true(metric.counters && *metric.unit && *metric.meaning);
	}
	assert_string_equal(metric_of_key("stall").key, "stall_percent");
	assert_string_equal(metric_of_key("rcv_bytes_per_s").key, "rcv_bytes");
	assert_string_equal(metric_of_key("xmit_packets_per_s").key, "xmit_packets");
	metric.key = "as it was";
	assert_false(metric_find("", &metric));
	assert_false(metric_find("rcv", &metric));
	assert_false(metric_find("stall_per_s", &metric));
	assert_false(metric_find("stall_percent_per_s", &metric));
	assert_false(metric_find("rcv_bytes_per_sec", &metric));
	assert_string_equal(metric.key, "as it was");
}

TEST(steps_begin_where_the_local_clock_is_round)
{
	const struct metric metric = metric_of_key("rcv_bytes");
	struct series series;
	struct error err = { 0 };

	assert_int_equal(series_init(&series, &metric, 3, noon_us + 1, noon_us + 86400 * second_us, 3600 * second_us,
				     19800 * second_us, NULL), 0);
	/* 17:30 in a zone that is 5:30 ahead. */
	assert_true(series.steps[0].from_us == noon_us - 1800 * second_us);
	assert_int_equal(series.count, 25);
	series_done(&series);
	assert_int_equal(series_init(&series, &metric, 3, 0, noon_us, 1000, 0, &err), ERR_USAGE);
	assert_non_null(strstr(err.text, "give longer ones"));
}
