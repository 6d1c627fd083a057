/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
#include <stdbool.h>
#include <math.h>

#include "analysis/conserve.h"
#include "base/map.h"
#include "base/unit_test.h"

#define SECOND_US INT64_C(1000000)

/*
 * A simulated link: random rates up to that of the link, the number of words sent by any time, and
 * readings of both ends, each of some time between query and response.
 */
#define STEPS_MAX 20000

struct truth {
	uint64_t random;
	uint64_t link_bits_per_s;
	int64_t step_us;
	double words_by[STEPS_MAX + 1]; /* sent by the beginning of each step */
	double packet_words;
	double flight_us;
	double loss; /* share that never arrives; negative: arrives twice */
};

struct end {
	struct conserve_moment last;
	double true_us;  /* of the last reading */
	uint64_t words, packets; /* in that reading */
	bool was_read;
};

static uint64_t next(struct truth *truth, uint64_t below)
{
	truth->random = map_mix(truth->random + 0x9e3779b97f4a7c15ULL);
	return below ? truth->random % below : 0;
}

static double chance(struct truth *truth)
{
	return (double)next(truth, 1000001) / 1000000;
}

/* Bursts of all lengths, pauses, and stretches at full speed. */
static void make_traffic(struct truth *truth, double least, double most)
{
	double share = 0;
	unsigned left = 0;

	truth->words_by[0] = 0;
	for (int i = 0; i < STEPS_MAX; i++) {
		if (!left) {
			left = 1 + (unsigned)next(truth, 1u << next(truth, 10));
			share = least + (most - least) * chance(truth);
			if (least == 0 && next(truth, 3) == 0)
				share = next(truth, 2) ? most : 0;
		}
		left--;
		truth->words_by[i + 1] = truth->words_by[i] +
			share * (double)truth->link_bits_per_s / 32 * (double)truth->step_us / 1e6;
	}
}

static double words_by(const struct truth *truth, double us)
{
	double step = us / (double)truth->step_us;
	int whole = step > 0 ? (int)step : 0;

	if (step <= 0)
		return 0;
	assert_true(whole < STEPS_MAX);
	return truth->words_by[whole] + (step - whole) * (truth->words_by[whole + 1] - truth->words_by[whole]);
}

/* Read an end at a random time between both times of the reading. */
static bool read_end(struct truth *truth, struct end *end, bool sender, struct conserve_moment moment,
		     struct conserve_delta *ret)
{
	double true_us = (double)moment.early_us + chance(truth) * (double)(moment.late_us - moment.early_us), words;
	uint64_t packets;
	bool has_delta = end->was_read;

	if (true_us < end->true_us)
		true_us = end->true_us;
	words = words_by(truth, sender ? true_us : true_us - truth->flight_us);
	if (!sender)
		words *= 1 - truth->loss;
	packets = (uint64_t)(words / truth->packet_words);
	*ret = (struct conserve_delta){ end->last, moment, (uint64_t)words - end->words, packets - end->packets };
	*end = (struct end){ moment, true_us, (uint64_t)words, packets, true };
	return has_delta;
}

struct setting {
	int64_t interval_us, spread_us, copy_us;
	double least, most;
	unsigned silent_percent;
	int sweeps;
};

/* Sweep over the link. Return: the sweep in which the bound was violated, or 0. */
static int sweep_until_violated(struct truth *truth, const struct setting *setting, struct conserve_result *ret)
{
	struct conserve_delta deltas[2];
	struct conserve_run run;
	struct end ends[2] = { 0 };
	bool started = false;

	make_traffic(truth, setting->least, setting->most);
	for (int sweep = 0; sweep < setting->sweeps; sweep++) {
		int64_t start_us = 2 * SECOND_US + sweep * setting->interval_us;
		bool has[2] = { false, false };

		for (int end = 0; end < 2; end++) {
			struct conserve_moment moment = { start_us - setting->copy_us,
				start_us + (int64_t)next(truth, (uint64_t)setting->spread_us + 1) };

			if (ends[0].was_read && ends[1].was_read && next(truth, 100) < setting->silent_percent)
				continue;
			has[end] = read_end(truth, &ends[end], end == 0, moment, &deltas[end]);
		}
		if (!started) {
			conserve_run_start(&run, &ends[0].last, &ends[1].last, truth->link_bits_per_s);
			started = true;
			continue;
		}
		assert_true(!has[0] || conserve_run_add(&run, true, &deltas[0]));
		assert_true(!has[1] || conserve_run_add(&run, false, &deltas[1]));
		if (!has[0] || !has[1])
			continue;
		*ret = conserve_run_evaluate(&run);
		assert_true(ret->verdict != CONSERVE_UNDECIDED);
		if (ret->verdict == CONSERVE_VIOLATED)
			return sweep;
	}
	return 0;
}

static struct truth random_truth(uint64_t seed)
{
	static const uint64_t rates[] = { 2000000000, 40000000000, 200000000000, 800000000000 };
	struct truth truth = { .random = seed, .step_us = 10000 };

	truth.link_bits_per_s = rates[next(&truth, 4)];
	truth.packet_words = 6 + (double)next(&truth, 1025);
	truth.flight_us = chance(&truth) * 3;
	return truth;
}

static struct setting random_setting(struct truth *truth)
{
	static const int64_t spreads_us[] = { 0, 50, 3000, 100000, 900000 };
	struct setting setting = { .interval_us = 1 + (int64_t)next(truth, 2 * SECOND_US), .sweeps = 60 };

	setting.spread_us = spreads_us[next(truth, 5)];
	setting.copy_us = next(truth, 2) ? (int64_t)next(truth, SECOND_US) : 0;
	if (setting.interval_us <= setting.spread_us)
		setting.interval_us = setting.spread_us + 1;
	setting.most = next(truth, 3) ? 1 : 0.001;
	setting.silent_percent = next(truth, 2) ? 20 : 0;
	return setting;
}

static struct truth link_truth; /* too large for the stack */

TEST(a_link_without_loss_never_violates_the_bound)
{
	struct conserve_result result;

	for (int run = 0; run < 3000; run++) {
		struct setting setting;

		link_truth = random_truth((uint64_t)run);
		setting = random_setting(&link_truth);
		assert_int_equal(sweep_until_violated(&link_truth, &setting, &result), 0);
	}
}

/*
 * The bound is at most four deltas, so a lost share is detected after 4 / share sweeps of even
 * traffic, and a third more with traffic that varies by half.
 */
TEST(a_lost_share_is_detected_within_a_number_of_sweeps)
{
	static const double shares[] = { 0.5, 0.2, 0.1, 0.05, -0.1, -1 };
	struct conserve_result result;

	for (size_t i = 0; i < sizeof(shares) / sizeof(shares[0]); i++)
		for (int run = 0; run < 50; run++) {
			int limit = (int)(6 / fabs(shares[i])) + 8, found;
			struct setting setting = { .interval_us = SECOND_US, .spread_us = 200000,
						   .copy_us = 700000, .sweeps = limit };

			link_truth = random_truth((uint64_t)(1000 * i) + (uint64_t)run);
			link_truth.loss = shares[i];
			setting.most = 0.002 + chance(&link_truth) * 0.9;
			setting.least = setting.most / 2;
			found = sweep_until_violated(&link_truth, &setting, &result);
			assert_true(found > 0);
			assert_true(shares[i] > 0 ? result.missing_words > 0 : result.missing_words < 0);
		}
}

/* If both ends are read within a millisecond, a loss of 1 % on a busy link is detected at once. */
TEST(close_reading_times_find_a_percent_in_three_sweeps)
{
	struct setting setting = { .interval_us = SECOND_US, .spread_us = 1000, .least = 0.4, .most = 0.6,
				   .sweeps = 10 };
	struct conserve_result result;

	for (int run = 0; run < 50; run++) {
		int found;

		link_truth = random_truth((uint64_t)run);
		link_truth.loss = 0.01;
		found = sweep_until_violated(&link_truth, &setting, &result);
		assert_in_range(found, 1, 3);
		/* The reported loss never exceeds the loss. */
		assert_true(result.missing_words > 0);
		assert_true((double)result.missing_words <= 0.01 * words_by(&link_truth, 6 * SECOND_US) + 1);
	}
}

static struct conserve_delta one_delta(int64_t from_us, int64_t to_us, uint64_t words, uint64_t packets)
{
	return (struct conserve_delta){ { from_us, from_us }, { to_us, to_us }, words, packets };
}

/* A single pair of deltas. */
static struct conserve_result check(const struct conserve_delta *sent, const struct conserve_delta *received,
				    uint64_t link_bits_per_s)
{
	struct conserve_run run;

	conserve_run_start(&run, &sent->from, &received->from, link_bits_per_s);
	conserve_run_add(&run, true, sent);
	conserve_run_add(&run, false, received);
	return conserve_run_evaluate(&run);
}

TEST(a_single_pair_is_bounded_by_the_time_between_readings)
{
	/* 200 Gb/s are 6250 words a microsecond; read 100 us apart at both ends. */
	struct conserve_delta sent = one_delta(0, SECOND_US, 1000000000, 1000000), received;
	uint64_t slack = 6250 * 2 * 130;

	received = one_delta(-100, SECOND_US + 100, 1000000000 + slack / 2, 1000000);
	assert_int_equal(check(&sent, &received, 200000000000).verdict, CONSERVE_HOLDS);
	received = one_delta(-100, SECOND_US + 100, 1000000000 + 2 * slack, 1000000);
	assert_int_equal(check(&sent, &received, 200000000000).verdict, CONSERVE_VIOLATED);
	/* The receiver was read outside of the window of the sender: it must have counted more. */
	received = one_delta(-100, SECOND_US + 100, 1000000000 - slack / 2, 1000000);
	assert_true(check(&sent, &received, 200000000000).missing_words > 0);
	assert_int_equal(check(&sent, &received, 0).verdict, CONSERVE_UNDECIDED);
}

TEST(an_idle_link_is_compared_by_packets_at_any_rate)
{
	struct conserve_delta sent = one_delta(0, SECOND_US, 7200, 100);
	struct conserve_delta received = one_delta(500000, SECOND_US + 500000, 7200, 100);

	/* The windows differ by half a second: 100 packets before and 100 after may be others. */
	assert_int_equal(check(&sent, &received, 800000000000).verdict, CONSERVE_HOLDS);
	received.packets = 300;
	assert_int_equal(check(&sent, &received, 800000000000).verdict, CONSERVE_HOLDS);
	sent.packets = 1000;
	sent.words = 72000;
	assert_int_equal(check(&sent, &received, 800000000000).verdict, CONSERVE_HOLDS);
	/* Read at the same time: the same packets. */
	received = one_delta(0, SECOND_US, 7200, 100);
	sent = one_delta(0, SECOND_US, 7200, 2000000);
	assert_int_equal(check(&sent, &received, 2000000000).verdict, CONSERVE_VIOLATED);
}

TEST(a_run_with_a_missing_delta_is_undecided)
{
	struct conserve_delta first = one_delta(0, 10, 5, 5), second = one_delta(10, 20, 5, 5);
	struct conserve_delta third = one_delta(20, 30, 1000000, 1000000);
	struct conserve_run run;

	conserve_run_start(&run, &first.from, &first.from, 1000);
	assert_true(conserve_run_add(&run, true, &first) && conserve_run_add(&run, false, &first));
	assert_true(conserve_run_add(&run, true, &second));
	assert_true(conserve_run_add(&run, true, &third));
	assert_false(conserve_run_add(&run, false, &third));
	assert_int_equal(conserve_run_evaluate(&run).verdict, CONSERVE_UNDECIDED);
}

TEST(invalid_counters_give_a_clamped_result)
{
	struct conserve_delta sent = one_delta(0, 1, INT64_MAX, INT64_MAX), received = one_delta(0, 1, 0, 0);

	assert_true(check(&sent, &received, 1000).missing_packets > 0);
	assert_true(check(&received, &sent, 1000).missing_packets < 0);
	sent = one_delta(INT64_MIN / 4, INT64_MAX / 4, UINT64_MAX, UINT64_MAX);
	check(&sent, &received, UINT64_MAX);
}

TEST(marked_or_narrow_counters_are_not_compared)
{
	const counter_set all = COUNTER_TRAFFIC_SET;
	const struct conserve_moment from = { 900, 1000 }, to = { 1900, 2000 }, other = { 1800, 1999 };
	struct reading reading = { .present = all, .wide = all };
	struct delta delta = { .elapsed_us = 1000, .known = all }, marked;
	struct conserve_delta taken;

	delta.value[COUNTER_XMIT_DATA] = 5;
	delta.value[COUNTER_XMIT_PACKETS] = 6;
	delta.value[COUNTER_RCV_DATA] = 7;
	delta.value[COUNTER_RCV_PACKETS] = 8;
	assert_true(conserve_take(&delta, &reading, true, &from, &to, &taken));
	assert_true(taken.words == 5 && taken.packets == 6);
	assert_true(conserve_take(&delta, &reading, false, &from, &to, &taken));
	assert_true(taken.words == 7 && taken.packets == 8);
	assert_false(conserve_take(&delta, &reading, true, &from, &other, &taken));
	marked = delta;
	marked.reset = COUNTER_BIT(COUNTER_XMIT_PACKETS);
	assert_false(conserve_take(&marked, &reading, true, &from, &to, &taken));
	assert_true(conserve_take(&marked, &reading, false, &from, &to, &taken));
	marked = delta;
	marked.saturated = COUNTER_BIT(COUNTER_RCV_DATA);
	assert_false(conserve_take(&marked, &reading, false, &from, &to, &taken));
	marked = delta;
	marked.known = COUNTER_BIT(COUNTER_XMIT_DATA);
	assert_false(conserve_take(&marked, &reading, true, &from, &to, &taken));
	reading.wide = 0;
	assert_false(conserve_take(&delta, &reading, true, &from, &to, &taken));
}
