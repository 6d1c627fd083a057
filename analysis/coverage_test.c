/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
#include <math.h>
#include <stdbool.h>
#include <string.h>

#include "analysis/coverage.h"
#include "analysis/delta.h"
#include "base/test_cases.h"
#include "base/unit_test.h"
#include "fabric/fabric.h"
#include "fabric/test_net.h"

#define S INT64_C(1000000)
enum { STEP_S = 10, START_S = 1000000 };

/* A host on a switch. */
struct bed {
	struct fabric *fabric;
	struct coverage coverage;
	uint32_t port, peer; /* of the host, of the switch */
	int64_t now_s;
};

static struct bed *bed_create(int64_t load_s, int64_t clean_s, double ber)
{
	const struct coverage_limits limits = { 80, load_s * S, clean_s * S, ber };
	struct bed *bed = calloc(1, sizeof(*bed));
	uint32_t leaf, host;

	bed->fabric = net_new();
	leaf = net_switch(bed->fabric, "leaf");
	host = net_hca(bed->fabric, 0, "node1 mlx5_0");
	bed->port = net_link(bed->fabric, host, leaf);
	bed->peer = bed->fabric->ports[bed->port].peer;
	assert_int_equal(fabric_finish(bed->fabric, NULL, NULL), 0);
	assert_true(coverage_is_link(bed->fabric, bed->port));
	bed->now_s = START_S;
	assert_int_equal(coverage_init(&bed->coverage, bed->fabric, &limits, START_S * S, STEP_S * S, NULL), 0);
	return bed;
}

static void bed_destroy(struct bed *bed)
{
	coverage_done(&bed->coverage);
	fabric_destroy(bed->fabric);
	free(bed);
}

/* A delta of @elapsed_s with this traffic in percent of the rate. */
static struct delta delta_of(const struct bed *bed, uint32_t port, int64_t elapsed_s, double xmit, double rcv)
{
	double words = (double)port_rate_bits_per_s(&bed->fabric->ports[port]) / 32 / 100 * (double)elapsed_s;
	struct delta delta = { .elapsed_us = elapsed_s * S, .known = COVERAGE_COUNTERS };

	delta.value[COUNTER_XMIT_DATA] = (uint64_t)(xmit * words) + 1;
	delta.value[COUNTER_RCV_DATA] = (uint64_t)(rcv * words) + 1;
	return delta;
}

static void step(struct bed *bed)
{
	bed->now_s += STEP_S;
	coverage_begin_piece(&bed->coverage, bed->now_s * S, false);
}

/* Both ends are read @count times: the host sends at @xmit and receives at @rcv percent. */
static void run(struct bed *bed, unsigned count, double xmit, double rcv)
{
	for (unsigned i = 0; i < count; i++) {
		struct delta host = delta_of(bed, bed->port, STEP_S, xmit, rcv);
		struct delta leaf = delta_of(bed, bed->peer, STEP_S, rcv, xmit);

		step(bed);
		coverage_add(&bed->coverage, bed->port, &host);
		coverage_add(&bed->coverage, bed->peer, &leaf);
	}
	coverage_end(&bed->coverage, bed->now_s * S);
}

/* The host's port counts this once. */
static void count_errors(struct bed *bed, enum counter counter, uint64_t errors, bool reset)
{
	struct delta host = delta_of(bed, bed->port, STEP_S, 0, 0), leaf = delta_of(bed, bed->peer, STEP_S, 0, 0);

	step(bed);
	host.value[counter] = errors;
	host.reset = reset ? COUNTER_BIT(counter) : 0;
	coverage_add(&bed->coverage, bed->port, &host);
	coverage_add(&bed->coverage, bed->peer, &leaf);
	coverage_end(&bed->coverage, bed->now_s * S);
}

TEST(a_direction_is_covered_after_load_and_time_without_errors)
{
	struct bed *bed = bed_create(60, 120, 0);

	run(bed, 5, 90, 10);
	assert_int_equal(coverage_left(&bed->coverage, bed->port), COVERAGE_NOT_LOADED | COVERAGE_CLEAN_SHORT);
	run(bed, 1, 90, 10);
	assert_int_equal(coverage_left(&bed->coverage, bed->port), COVERAGE_CLEAN_SHORT);
	run(bed, 6, 0, 0);
	assert_int_equal(coverage_left(&bed->coverage, bed->port), 0);
	/* The other direction never had the load. */
	assert_int_equal(coverage_left(&bed->coverage, bed->peer), COVERAGE_NOT_LOADED);
	assert_true(fabs(bed->coverage.list[bed->port].peak_percent - 90) < 0.1);
	bed_destroy(bed);
}

/* Loaded and clean for long enough in both directions, then the host's port counts errors. */
static struct bed *bed_with_errors(enum counter counter, uint64_t errors, bool reset)
{
	struct bed *bed = bed_create(60, 120, 0);

	run(bed, 20, 90, 90);
	assert_int_equal(coverage_left(&bed->coverage, bed->peer), 0);
	count_errors(bed, counter, errors, reset);
	return bed;
}

TEST(errors_of_the_receiving_port_begin_the_clean_time_of_what_it_receives)
{
	struct bed *bed = bed_with_errors(COUNTER_SYMBOL_ERRORS, 7, false);

	/* The host receives what the switch sends. */
	assert_int_equal(coverage_left(&bed->coverage, bed->peer), COVERAGE_ERRORS);
	assert_int_equal(coverage_left(&bed->coverage, bed->port), 0);
	assert_int_equal(bed->coverage.list[bed->peer].errors, 7);
	assert_int_equal(bed->coverage.list[bed->peer].longest_clean_us, 200 * S);
	run(bed, 11, 0, 0);
	assert_int_equal(coverage_left(&bed->coverage, bed->peer), COVERAGE_ERRORS);
	run(bed, 1, 0, 0);
	assert_int_equal(coverage_left(&bed->coverage, bed->peer), 0);
	/* Congestion and packets damaged elsewhere are no errors of the link. */
	count_errors(bed, COUNTER_XMIT_DISCARDS, 7, false);
	count_errors(bed, COUNTER_RCV_REMOTE_PHYSICAL_ERRORS, 7, false);
	assert_int_equal(coverage_left(&bed->coverage, bed->peer), 0);
	bed_destroy(bed);
}

TEST(a_reset_is_no_proof_of_no_error)
{
	struct bed *bed = bed_with_errors(COUNTER_RCV_DATA, 0, true);

	assert_int_equal(coverage_left(&bed->coverage, bed->peer), COVERAGE_ERRORS_UNKNOWN);
	assert_true(bed->coverage.list[bed->peer].errors_at_least);
	run(bed, 12, 0, 0);
	assert_int_equal(coverage_left(&bed->coverage, bed->peer), 0);
	bed_destroy(bed);
}

TEST(a_link_that_went_down_begins_again)
{
	struct bed *bed = bed_create(60, 120, 0);

	run(bed, 20, 90, 90);
	count_errors(bed, COUNTER_LINK_DOWNED, 1, false);
	for (int i = 0; i < 2; i++)
		assert_int_equal(coverage_left(&bed->coverage, i ? bed->peer : bed->port),
				 COVERAGE_NOT_LOADED | COVERAGE_ERRORS);
	bed->fabric->ports[bed->port].state = PORT_INIT;
	assert_true(coverage_left(&bed->coverage, bed->peer) & COVERAGE_DOWN);
	bed_destroy(bed);
}

TEST(a_mean_of_an_hour_proves_load_but_not_its_absence)
{
	struct bed *bed = bed_create(3000, 3000, 0);

	for (int i = 0; i < 2; i++) {
		struct delta host = delta_of(bed, bed->port, 3600, i ? 85 : 50, 50);

		bed->now_s += 3600;
		coverage_begin_piece(&bed->coverage, bed->now_s * S, true);
		coverage_add(&bed->coverage, bed->port, &host);
		coverage_end(&bed->coverage, bed->now_s * S);
		assert_int_equal(coverage_left(&bed->coverage, bed->port) & ~(unsigned)COVERAGE_ERRORS_UNKNOWN,
				 i ? 0 : COVERAGE_LOAD_UNKNOWN);
		assert_true(measure_is_at_least(coverage_peak(&bed->coverage, bed->port)));
		/* The switch, which receives this, was never read. */
		assert_true(coverage_left(&bed->coverage, bed->port) & COVERAGE_ERRORS_UNKNOWN);
		assert_int_equal(coverage_left(&bed->coverage, bed->peer), COVERAGE_LOAD_UNKNOWN);
	}
	bed_destroy(bed);
}

/* Sums are read of stretches in which no port can have had the load. */
TEST(a_peak_in_a_sum_is_a_lower_bound_unless_there_is_load_elsewhere)
{
	struct bed *bed = bed_create(60, 120, 0);
	struct delta host = delta_of(bed, bed->port, 1200, 20, 0), leaf = delta_of(bed, bed->peer, 1200, 0, 20);

	bed->now_s += 1200;
	coverage_begin_piece(&bed->coverage, bed->now_s * S, false);
	coverage_add(&bed->coverage, bed->port, &host);
	coverage_add(&bed->coverage, bed->peer, &leaf);
	coverage_end(&bed->coverage, bed->now_s * S);
	assert_true(measure_is_at_least(coverage_peak(&bed->coverage, bed->port)));
	assert_true(fabs(coverage_peak(&bed->coverage, bed->port).value - 20) < 0.1);
	run(bed, 1, 70, 0);
	assert_true(measure_is_at_least(coverage_peak(&bed->coverage, bed->port)));
	run(bed, 1, 90, 0);
	assert_true(measure_is_exact(coverage_peak(&bed->coverage, bed->port)));
	assert_true(fabs(coverage_peak(&bed->coverage, bed->port).value - 90) < 0.1);
	/* Time in which neither end was read. */
	coverage_end(&bed->coverage, (bed->now_s + 100) * S);
	assert_true(measure_is_at_least(coverage_peak(&bed->coverage, bed->port)));
	bed_destroy(bed);
}

TEST(a_peak_over_missed_readings_is_a_lower_bound)
{
	struct bed *bed = bed_create(60, 120, 0);
	struct delta host = delta_of(bed, bed->port, 3 * STEP_S, 30, 0);

	run(bed, 1, 10, 0);
	assert_true(measure_is_exact(coverage_peak(&bed->coverage, bed->port)));
	for (int i = 0; i < 3; i++)
		step(bed);
	coverage_add(&bed->coverage, bed->port, &host);
	coverage_end(&bed->coverage, bed->now_s * S);
	assert_true(measure_is_at_least(coverage_peak(&bed->coverage, bed->port)));
	assert_true(fabs(coverage_peak(&bed->coverage, bed->port).value - 30) < 0.1);
	bed_destroy(bed);
}

TEST(a_port_that_is_no_longer_read_is_not_clean)
{
	struct bed *bed = bed_create(60, 120, 0);

	run(bed, 20, 90, 90);
	for (unsigned i = 0; i < 3; i++) {
		struct delta leaf = delta_of(bed, bed->peer, STEP_S, 0, 0);

		step(bed);
		coverage_add(&bed->coverage, bed->peer, &leaf);
		coverage_end(&bed->coverage, bed->now_s * S);
	}
	assert_int_equal(coverage_left(&bed->coverage, bed->peer), COVERAGE_ERRORS_UNKNOWN);
	assert_int_equal(coverage_left(&bed->coverage, bed->port), 0);
	bed_destroy(bed);
}

TEST(the_time_for_a_ber_depends_on_the_rate)
{
	/* 3 / (1e-15 * 400e9) s, and so on: an error is expected three times in it. */
	static const struct { double ber; uint64_t bits_per_s; int64_t minutes; } cases[] = {
		{ 1e-15, UINT64_C(800000000000), 62 }, { 1e-15, UINT64_C(400000000000), 125 },
		{ 1e-15, UINT64_C(200000000000), 250 }, { 1e-15, UINT64_C(100000000000), 500 },
		{ 1e-14, UINT64_C(100000000000), 50 }, { 1e-12, 0, 0 },
	};
	struct bed *bed = bed_create(60, 0, 1e-13);

	for (size_t i = 0; i < sizeof(cases) / sizeof(*cases); i++)
		assert_int_equal(coverage_ber_time_us(cases[i].ber, cases[i].bits_per_s) / (60 * S), cases[i].minutes);
	run(bed, 7, 90, 90);
	assert_true(port_rate_bits_per_s(&bed->fabric->ports[bed->port]) == UINT64_C(400000000000));
	assert_int_equal(coverage_left(&bed->coverage, bed->port), COVERAGE_CLEAN_SHORT);
	assert_true(coverage_ber_below(&bed->coverage, bed->port) > 1e-13);
	run(bed, 1, 90, 90);
	assert_int_equal(coverage_left(&bed->coverage, bed->port), 0);
	assert_true(coverage_ber_below(&bed->coverage, bed->port) < 1e-13);
	bed_destroy(bed);
}

/* --- against a history that is known second by second --- */

enum { STEPS = 200, MERGED_MOST = 6 };

struct truth {
	bool loaded[2][STEPS], errors[2][STEPS]; /* by direction: 0 from the host */
	bool read[2][STEPS];                     /* the ports: 0 the host */
};

static void draw(struct truth *truth, uint64_t *random, bool all_read)
{
	for (int i = 0; i < STEPS; i++)
		for (int side = 0; side < 2; side++) {
			truth->loaded[side][i] = net_random(random) % 3 > 0;
			truth->errors[side][i] = net_random(random) % 40 == 0;
			truth->read[side][i] = all_read || i % MERGED_MOST == 0 || net_random(random) % 3 > 0;
		}
}

/* The deltas of one port: each covers the time since its last reading. 85 and 10 %: a mixture is below 80 %. */
static void feed(struct bed *bed, const struct truth *truth, int side, int at, int *last)
{
	struct delta sum = { 0 };

	if (!truth->read[side][at])
		return;
	for (int i = *last + 1; i <= at; i++) {
		struct delta one = delta_of(bed, side ? bed->peer : bed->port, STEP_S, truth->loaded[side][i] ? 85 : 10,
					    truth->loaded[!side][i] ? 85 : 10);

		one.value[COUNTER_SYMBOL_ERRORS] = truth->errors[!side][i];
		if (i == *last + 1)
			sum = one;
		else
			delta_add(&sum, &one);
	}
	*last = at;
	coverage_add(&bed->coverage, side ? bed->peer : bed->port, &sum);
}

TEST(covered_time_is_never_more_than_the_truth_and_all_of_it_if_all_is_read)
{
	for (unsigned trial = 0; trial < test_cases(400); trial++) {
		struct bed *bed = bed_create(60, 120, 0);
		int last[2] = { -1, -1 };
		uint64_t random = trial + 1;
		bool all_read = trial % 2;
		struct truth truth;

		draw(&truth, &random, all_read);
		for (int i = 0; i < STEPS; i++) {
			step(bed);
			feed(bed, &truth, 0, i, &last[0]);
			feed(bed, &truth, 1, i, &last[1]);
		}
		coverage_end(&bed->coverage, bed->now_s * S);
		for (int way = 0; way < 2; way++) {
			const struct coverage_direction *found =
				&bed->coverage.list[way ? bed->peer : bed->port];
			struct measure peak = coverage_peak(&bed->coverage, way ? bed->peer : bed->port);
			int64_t loaded_us = 0, clean_us = 0;
			int receiver = !way;

			for (int i = 0; i < STEPS; i++)
				loaded_us += truth.loaded[way][i] ? STEP_S * S : 0;
			for (int i = last[receiver]; i >= 0 && !truth.errors[way][i]; i--)
				clean_us += STEP_S * S;
			assert_true(peak.value < (loaded_us ? 85.1 : 10.1));
			if (measure_is_exact(peak))
				assert_true(peak.value > (loaded_us ? 84.9 : 9.9));
			assert_true(measure_is_exact(peak) || !all_read);
			assert_true(found->loaded_us <= loaded_us && found->clean_us <= clean_us);
			assert_true(found->known_us <= STEPS * STEP_S * S && found->loaded_us <= found->known_us);
			if (all_read)
				assert_true(found->loaded_us == loaded_us && found->clean_us == clean_us);
		}
		bed_destroy(bed);
	}
}
