/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * The truth is a list of iterations with their lengths in continuous time, from which windows take their bytes: what
 * rhythm_of() computes from windows is compared with the mean length of those iterations.
 */
#include <math.h>
#include <string.h>

#include "analysis/rhythm.h"
#include "base/map.h"
#include "base/test_cases.h"
#include "base/unit_test.h"

enum { BURSTS_MOST = 20000 };

/* Traffic: pieces of constant rate by time, in seconds. */
struct trace {
	struct burst { double from, to, rate; } bursts[BURSTS_MOST];
	size_t count;
	uint64_t seed;
};

static double uniform(struct trace *trace)
{
	return (double)(map_mix(++trace->seed) >> 11) / 9007199254740992.0;
}

static double normal(struct trace *trace)
{
	double sum = 0;

	for (int i = 0; i < 12; i++)
		sum += uniform(trace);
	return sum - 6;
}

static void burst(struct trace *trace, double from, double to, double rate)
{
	if (trace->count < BURSTS_MOST && to > from)
		trace->bursts[trace->count++] = (struct burst){ from, to, rate };
}

static double bytes_between(const struct trace *trace, double from, double to)
{
	double bytes = 0;

	for (size_t i = 0; i < trace->count && trace->bursts[i].from < to; i++)
		if (trace->bursts[i].to > from)
			bytes += trace->bursts[i].rate *
				 (fmin(to, trace->bursts[i].to) - fmax(from, trace->bursts[i].from));
	return bytes;
}

/* Iterations as a job has them. Shares are of an iteration. */
struct shape {
	double period, jitter;   /* jitter: standard deviation as a share of the period */
	double duty;             /* share of the time on the wire */
	unsigned layers;         /* bursts, of which all follow within the first 60 % */
	double background;       /* rate between bursts, as a share of that of bursts */
	double pause_at, pause;  /* a checkpoint: at a second of the series, and its length; 0: none */
};

/* Return: mean length of the iterations without the checkpoint. */
static double run_shape(struct trace *trace, const struct shape *shape, double seconds)
{
	double at = uniform(trace) * shape->period, total = 0;
	bool paused = false;
	unsigned count = 0;

	trace->count = 0;
	while (at < seconds) {
		double length = shape->period * fmax(0.3, 1 + shape->jitter * normal(trace));
		double wire = length * shape->duty, rate = 20e9;
		unsigned layers = shape->layers ? shape->layers : 1;

		if (shape->pause > 0 && !paused && at >= shape->pause_at) {
			at += shape->pause;
			paused = true;
		}
		if (layers == 1) {
			burst(trace, at + length - wire, at + length, rate * (1 - shape->background));
		} else {
			double step = 0.6 * length / layers;

			for (unsigned i = 0; i < layers; i++)
				burst(trace, at + i * step, at + i * step + wire / layers,
				      rate * (1 - shape->background));
		}
		at += length;
		total += length;
		count++;
	}
	return total / count;
}

/* Windows of about @interval with the jitter of reading times; some are missing. Return: number of points. */
static size_t sample(struct trace *trace, const struct shape *shape, double interval, size_t most, double missing,
		     struct rhythm_point *points)
{
	double last = 0, next;
	size_t count = 0;

	for (size_t i = 1; i <= most; i++) {
		if (uniform(trace) < missing)
			continue;
		next = (double)i * interval + 0.02 * interval * (uniform(trace) - 0.5);
		points[count].at_us = (int64_t)(1e6 * next);
		points[count].elapsed_us = (int64_t)(1e6 * (next - last));
		points[count++].bytes = bytes_between(trace, last, next) + (next - last) * shape->background * 20e9;
		last = next;
	}
	return count;
}

static struct trace trace;
static struct rhythm_point points[RHYTHM_POINTS_MOST];

static struct rhythm rhythm_of_shape(const struct shape *shape, double interval, size_t count, double *ret_period)
{
	struct rhythm ret;

	trace.seed = map_mix(trace.seed + 77);
	*ret_period = run_shape(&trace, shape, (double)(count + 2) * interval);
	count = sample(&trace, shape, interval, count, 0.02, points);
	rhythm_of(points, count, &ret);
	return ret;
}

/* Share of cases in which the period is found within 2 %. */
static void check_shapes(const char *what, const struct shape *shapes, size_t kinds, double least)
{
	unsigned right = 0, cases = 0;
	double worst = 0;

	for (size_t k = 0; k < kinds; k++) {
		unsigned of_kind = 0;

		for (unsigned i = 0; i < test_cases(20); i++) {
			double truth;
			struct rhythm got = rhythm_of_shape(&shapes[k], 1, 400, &truth);
			double off = fabs(got.period_s / truth - 1);
			bool good = got.kind == RHYTHM_PERIODIC && off <= 0.02;

			cases++;
			of_kind += good;
			if (good)
				worst = fmax(worst, off);
			else if (getenv("IBWIRE_TEST_VERBOSE"))
				printf("  %s: shape %zu, truth %.3f s, %s %.3f s\n", what, k, truth,
				       rhythm_kind_name(got.kind), got.period_s);
		}
		right += of_kind;
		printf("  %s, period %.1f s, duty %.2f, layers %u: %u of %u\n", what, shapes[k].period, shapes[k].duty,
		       shapes[k].layers, of_kind, test_cases(20));
	}
	printf("  %s: %u of %u within 2 %%, worst of them %.2f %%\n", what, right, cases, 100 * worst);
	assert_true(right >= least * cases);
}

TEST(period_of_plain_iterations)
{
	static const struct shape shapes[] = {
		{ .period = 4, .jitter = 0.01, .duty = 0.3 }, { .period = 4.2, .jitter = 0.01, .duty = 0.31 },
		{ .period = 4.5, .jitter = 0.02, .duty = 0.5 }, { .period = 5.3, .jitter = 0.02, .duty = 0.15 },
		{ .period = 7.7, .jitter = 0.03, .duty = 0.6 }, { .period = 12.4, .jitter = 0.02, .duty = 0.4 },
		{ .period = 33, .jitter = 0.02, .duty = 0.25 }, { .period = 71, .jitter = 0.01, .duty = 0.2 },
	};

	check_shapes("plain", shapes, sizeof(shapes) / sizeof(*shapes), 0.99);
}

TEST(layers_within_an_iteration_are_not_the_iteration)
{
	static const struct shape shapes[] = {
		{ .period = 12, .jitter = 0.01, .duty = 0.3, .layers = 3 },
		{ .period = 20, .jitter = 0.02, .duty = 0.2, .layers = 4 },
		{ .period = 31, .jitter = 0.01, .duty = 0.3, .layers = 6 },
		{ .period = 9, .jitter = 0.02, .duty = 0.3, .layers = 12 },
	};

	check_shapes("layers", shapes, sizeof(shapes) / sizeof(*shapes), 0.95);
}

TEST(a_checkpoint_within_the_series_does_not_hide_the_period)
{
	static const struct shape shapes[] = {
		{ .period = 6, .jitter = 0.02, .duty = 0.3, .pause_at = 150, .pause = 60 },
		{ .period = 14, .jitter = 0.02, .duty = 0.4, .pause_at = 80, .pause = 45 },
		{ .period = 4.4, .jitter = 0.02, .duty = 0.7, .pause_at = 300, .pause = 30 },
	};

	check_shapes("checkpoint", shapes, sizeof(shapes) / sizeof(*shapes), 0.95);
}

/* Periods of 5 s, in 2 s of which bytes are sent, and four pauses. */
static double bytes_with_pauses(unsigned pause)
{
	static const unsigned begins[] = { 35, 110, 190, 310 };
	struct rhythm got;

	for (unsigned i = 0; i < 400; i++) {
		bool quiet = false;

		for (size_t k = 0; k < 4; k++)
			quiet = quiet || (i >= begins[k] && i < begins[k] + pause);
		points[i] = (struct rhythm_point){ .at_us = INT64_C(1000000) * (i + 1), .elapsed_us = 1000000,
						   .bytes = !quiet && i % 5 < 2 ? 1e12 : 1e3 };
	}
	rhythm_of(points, 400, &got);
	assert_int_equal(got.kind, RHYTHM_PERIODIC);
	assert_float_equal(got.period_s, 5, 0.1);
	return got.period_bytes;
}

TEST(pauses_do_not_change_the_bytes_of_a_period)
{
	assert_float_equal(bytes_with_pauses(0) / 2e12, 1, 0.02);
	assert_float_equal(bytes_with_pauses(20) / 2e12, 1, 0.02);
	assert_float_equal(bytes_with_pauses(30) / 2e12, 1, 0.02);
	/* Pauses for most of the time: less, but not nothing. */
	assert_true(bytes_with_pauses(60) > 0.3 * 2e12);
}

TEST(traffic_between_the_bursts_does_not_hide_the_period)
{
	static const struct shape shapes[] = {
		{ .period = 6, .jitter = 0.02, .duty = 0.4, .background = 0.3 },
		{ .period = 15, .jitter = 0.02, .duty = 0.3, .background = 0.6 },
	};

	check_shapes("background", shapes, sizeof(shapes) / sizeof(*shapes), 0.95);
}

TEST(periods_below_two_windows_are_unresolvable)
{
	unsigned wrong = 0, cases = 0;

	for (double period = 0.35; period < 1.9; period += 0.073)
		for (unsigned i = 0; i < 8; i++) {
			const struct shape shape = { .period = period, .jitter = 0.01, .duty = 0.2 + 0.08 * i };
			double truth;
			struct rhythm got = rhythm_of_shape(&shape, 1, 400, &truth);

			cases++;
			if (got.kind == RHYTHM_PERIODIC || got.kind == RHYTHM_IRREGULAR) {
				wrong++;
				if (getenv("IBWIRE_TEST_VERBOSE"))
					printf("  period %.3f s, duty %.2f: %s %.2f s\n", truth, shape.duty,
					       rhythm_kind_name(got.kind), got.period_s);
			}
		}
	printf("  %u of %u periods below two windows have a wrong period\n", wrong, cases);
	assert_true(wrong * 100 <= cases * 2);
}

TEST(an_iteration_of_4_s_is_not_resolvable_at_10_s)
{
	const struct shape shape = { .period = 4.2, .jitter = 0.02, .duty = 0.31 };
	double truth;
	struct rhythm got = rhythm_of_shape(&shape, 10, 300, &truth);

	assert_int_not_equal(got.kind, RHYTHM_PERIODIC);
	assert_true(isnan(got.period_s));
	assert_float_equal(got.shortest_s, 20, 0.5);
	assert_float_equal(got.bytes_per_s, 0.31 * 20e9, 0.02 * 20e9);
}

TEST(kinds_without_a_period)
{
	struct rhythm got;

	for (size_t i = 0; i < 200; i++)
		points[i] = (struct rhythm_point){ (int64_t)(i + 1) * 1000000, 1000000, 0 };
	rhythm_of(points, 200, &got);
	assert_int_equal(got.kind, RHYTHM_IDLE);
	rhythm_of(points, 10, &got);
	assert_int_equal(got.kind, RHYTHM_UNKNOWN);
	assert_float_equal(got.bytes_per_s, 0, 0);
	rhythm_of(NULL, 0, &got);
	assert_int_equal(got.kind, RHYTHM_UNKNOWN);
	assert_true(isnan(got.bytes_per_s));

	for (size_t i = 0; i < 200; i++)
		points[i].bytes = 1e9 * (1 + 0.01 * normal(&trace));
	rhythm_of(points, 200, &got);
	assert_int_equal(got.kind, RHYTHM_STEADY);
	assert_float_equal(got.wire_share, 1, 0.001);

	for (size_t i = 0; i < 200; i++)
		points[i].bytes = NAN;
	rhythm_of(points, 200, &got);
	assert_int_equal(got.kind, RHYTHM_UNKNOWN);

	/* Phases of random length. */
	for (unsigned repeat = 0; repeat < 20; repeat++) {
		bool on = false;

		for (size_t i = 0, left = 0; i < 400; i++) {
			if (!left) {
				left = 5 + (size_t)(30 * uniform(&trace));
				on = !on;
			}
			left--;
			points[i] = (struct rhythm_point){ (int64_t)(i + 1) * 1000000, 1000000, on ? 1e9 : 0 };
		}
		rhythm_of(points, 400, &got);
		assert_int_not_equal(got.kind, RHYTHM_UNRESOLVABLE);
		assert_int_not_equal(got.kind, RHYTHM_STEADY);
	}
}

TEST(spread_and_share_are_those_of_the_iterations)
{
	for (double jitter = 0.01; jitter <= 0.05; jitter += 0.02) {
		double spread = 0, share = 0;

		for (unsigned i = 0; i < 20; i++) {
			const struct shape shape = { .period = 8, .jitter = jitter, .duty = 0.4 };
			double truth;
			struct rhythm got = rhythm_of_shape(&shape, 1, 600, &truth);

			assert_int_equal(got.kind, RHYTHM_PERIODIC);
			assert_in_range(got.periods, 70, 76);
			spread += got.spread_s / 20;
			share += got.wire_share / 20;
		}
		printf("  spread %.3f s for %.3f s, share %.3f for 0.4\n", spread, 8 * jitter, share);
		assert_float_equal(share, 0.4, 0.04);
		assert_true(spread > 4 * jitter && spread < 16 * jitter + 0.05);
	}
}
