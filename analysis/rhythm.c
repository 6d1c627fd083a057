/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * The period is the first high peak of the autocorrelation of the rates on a regular grid. Autocorrelation compares
 * each iteration with its neighbours only, so iterations that vary do not blur it, as they would a spectrum.
 */
#include <math.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

#include "analysis/rhythm.h"

enum {
	GRID_MOST = RHYTHM_POINTS_MOST,
	KNOWN_FEWEST = 24,        /* windows, of which at least half must be known */
	FINE = 8,                 /* steps of a lag in windows between which the autocorrelation is interpolated */
	TAPS = 5,                 /* on each side, of that interpolation */
	PAUSES_MOST = 3,          /* that are left out; a period must be seen four times, so these are not of it */
};

static const double idle_bytes_per_s = 50e3;
static const double steady_variation = 0.05;  /* standard deviation as a share of the mean */
static const double pause_ratio = 2.5;        /* pauses that are left out are longer than all others by this factor */
static const double peak_least = 0.3;         /* a period explains this share of the variance */
static const double peak_share = 0.85;        /* the first peak that has this share of the highest is the period */
static const double dip_least = 0.15;         /* a peak is above the lowest value before it by this */

struct grid {
	size_t count;
	double step_us;
	double rate[GRID_MOST];   /* bytes per second */
	bool known[GRID_MOST];
	float x[GRID_MOST];       /* deviation from the mean; 0 if unknown */
	float mask[GRID_MOST];    /* 1 or 0 */
	double mean, variance;    /* of the known ones */
	float acf[GRID_MOST / 2 + 1];
	size_t lags;              /* acf[0..lags] */
};

static int double_compare(const void *a, const void *b)
{
	double x = *(const double *)a, y = *(const double *)b;

	return (x > y) - (x < y);
}

/* Quantile of sorted values. */
static double quantile(const double *sorted, size_t count, double share)
{
	return sorted[(size_t)(share * (double)(count - 1) + 0.5)];
}

static bool is_usable(const struct rhythm_point *point)
{
	return !isnan(point->bytes) && point->elapsed_us > 0;
}

/* Distribute the bytes of the windows over cells of equal length. */
static void grid_fill(struct grid *grid, const struct rhythm_point *points, size_t count)
{
	double covered[GRID_MOST], start = (double)(points[0].at_us - points[0].elapsed_us);
	double cells = ((double)points[count - 1].at_us - start) / grid->step_us + 0.5;

	grid->count = cells < 1 ? 1 : cells > GRID_MOST ? GRID_MOST : (size_t)cells;
	memset(covered, 0, sizeof(covered));
	memset(grid->rate, 0, sizeof(grid->rate));
	/* Of a series that is longer than the grid because windows are missing, the end counts. */
	start = (double)points[count - 1].at_us - (double)grid->count * grid->step_us;

	for (size_t i = 0; i < count; i++) {
		double from, to;

		/* What was read late has no shape. */
		if (!is_usable(&points[i]) || (double)points[i].elapsed_us > 1.75 * grid->step_us)
			continue;
		to = ((double)points[i].at_us - start) / grid->step_us;
		from = to - (double)points[i].elapsed_us / grid->step_us;
		for (size_t cell = from > 0 ? (size_t)from : 0; cell < grid->count && (double)cell < to; cell++) {
			double part = fmin(to, (double)cell + 1) - fmax(from, (double)cell);

			if (part <= 0)
				continue;
			covered[cell] += part;
			grid->rate[cell] += points[i].bytes / (double)points[i].elapsed_us * 1e6 * part;
		}
	}
	for (size_t i = 0; i < grid->count; i++) {
		grid->known[i] = covered[i] >= 0.5;
		if (grid->known[i])
			grid->rate[i] /= covered[i];
	}
}

/* Sorted rates of known cells. */
static size_t grid_sort(const struct grid *grid, double *ret)
{
	size_t count = 0;

	for (size_t i = 0; i < grid->count; i++)
		if (grid->known[i])
			ret[count++] = grid->rate[i];
	qsort(ret, count, sizeof(*ret), double_compare);
	return count;
}

/*
 * Leave out up to three pauses (@low), or phases at a high rate, which are much longer than all others: checkpoints,
 * evaluation. Their neighbours remain.
 */
static void grid_mask(struct grid *grid, double threshold, bool low)
{
	struct run { size_t from, count; } longest[PAUSES_MOST + 1];
	size_t from = 0, kept = 0, masked = 0;

	for (size_t i = 0; i <= grid->count; i++) {
		struct run run = { from, i - from };
		size_t at;

		if (i < grid->count && (!grid->known[i] || (grid->rate[i] < threshold) == low))
			continue;
		from = i + 1;
		for (at = kept; at > 0 && longest[at - 1].count < run.count; at--)
			if (at <= PAUSES_MOST)
				longest[at] = longest[at - 1];
		if (at <= PAUSES_MOST)
			longest[at] = run;
		if (kept <= PAUSES_MOST)
			kept++;
	}
	if (kept < PAUSES_MOST + 1)
		return;
	for (size_t i = 1; i < kept; i++)
		if ((double)longest[i - 1].count > pause_ratio * (double)longest[i].count + 2)
			masked = i;
	for (size_t i = 0; i < masked; i++)
		for (size_t k = 0; k < longest[i].count; k++)
			grid->known[longest[i].from + k] = false;
}

static void grid_center(struct grid *grid)
{
	double sum = 0, squares = 0, count = 0;

	for (size_t i = 0; i < grid->count; i++)
		if (grid->known[i]) {
			sum += grid->rate[i];
			count++;
		}
	grid->mean = count > 0 ? sum / count : 0;
	for (size_t i = 0; i < grid->count; i++) {
		double x = grid->known[i] ? grid->rate[i] - grid->mean : 0;

		/* In units of the mean, so that squares fit a float. */
		grid->x[i] = grid->mean > 0 ? (float)(x / grid->mean) : 0;
		grid->mask[i] = grid->known[i] ? 1 : 0;
		squares += (double)grid->x[i] * (double)grid->x[i];
	}
	grid->variance = count > 0 ? squares / count : 0;
}

static void grid_correlate(struct grid *grid)
{
	grid->lags = grid->count / 2;
	for (size_t lag = 0; lag <= grid->lags; lag++) {
		/* Several sums, so that the compiler may use vectors. */
		float product[8] = { 0 }, pairs[8] = { 0 };
		const float *a = grid->x, *b = grid->x + lag, *m = grid->mask, *n = grid->mask + lag;
		size_t count = grid->count - lag, i = 0;
		double sum = 0, known = 0;

		for (; i + 8 <= count; i += 8)
			for (size_t k = 0; k < 8; k++) {
				product[k] += a[i + k] * b[i + k];
				pairs[k] += m[i + k] * n[i + k];
			}
		for (; i < count; i++) {
			product[0] += a[i] * b[i];
			pairs[0] += m[i] * n[i];
		}
		for (size_t k = 0; k < 8; k++) {
			sum += (double)product[k];
			known += (double)pairs[k];
		}
		grid->acf[lag] = known >= 8 ? (float)(sum / known / grid->variance) : 0;
	}
}

/* Autocorrelation at a lag between two windows: interpolation by a windowed sinc. */
static double acf_at(const struct grid *grid, double lag)
{
	long center = lround(lag);
	double sum = 0, weights = 0;

	if (fabs(lag - (double)center) < 1e-9)
		return (double)grid->acf[center];
	for (long i = center - TAPS; i <= center + TAPS; i++) {
		size_t place = (size_t)labs(i);
		double distance = lag - (double)i, weight;

		if (place > grid->lags || fabs(distance) >= TAPS)
			continue;
		weight = sin(M_PI * distance) / (M_PI * distance) * cos(M_PI_2 * distance / TAPS);
		sum += weight * (double)grid->acf[place];
		weights += weight;
	}
	return sum / weights;
}

/* The highest value in [@from, @to]; its lag by a parabola. */
static double acf_peak(const struct grid *grid, double from, double to, double *ret_height)
{
	double best = from, height = -INFINITY, before, after, bend, shift;
	const double step = 1.0 / FINE;

	for (double lag = from; lag <= to; lag += step) {
		double value = acf_at(grid, lag);

		if (value > height) {
			height = value;
			best = lag;
		}
	}
	*ret_height = height;
	if (best - step < 1 || best + step > (double)grid->lags)
		return best;
	before = acf_at(grid, best - step);
	after = acf_at(grid, best + step);
	bend = before - 2 * height + after;
	shift = bend < 0 ? 0.5 * (before - after) / bend : 0;
	return best + fmax(-1, fmin(1, shift)) * step;
}

/* Lag of the first peak that is nearly as high as the highest, in windows; 0: there is none. */
static double find_peak(const struct grid *grid, double *ret_height)
{
	struct peak { double lag, height; } peaks[64];
	double highest = 0, low = 1, noise = 4 / sqrt((double)grid->count);
	double last = 1, value, next;
	size_t count = 0;
	/* Four periods in the series. */
	size_t most = grid->count / 4 < grid->lags - 1 ? grid->count / 4 : grid->lags - 1;

	value = acf_at(grid, 1.5);
	for (size_t i = 2 * FINE - 2; i <= most * FINE; i++, last = value, value = next) {
		next = acf_at(grid, (double)(i + 1) / FINE);
		low = fmin(low, value);
		if (value < last || value <= next || value - low < dip_least || value < peak_least || value < noise)
			continue;
		if (count == sizeof(peaks) / sizeof(*peaks))
			break;
		peaks[count++] = (struct peak){ (double)i / FINE, value };
		highest = fmax(highest, value);
	}
	for (size_t i = 0; i < count; i++)
		if (peaks[i].height >= peak_share * highest) {
			double lag = peaks[i].lag;

			return acf_peak(grid, lag - 1.0 / FINE, lag + 1.0 / FINE, ret_height);
		}
	return 0;
}

/*
 * Longer lags give a more exact period as long as their peaks are high. Each loses height to the variation of single
 * periods: a peak of curvature b that is blurred by k of them loses b * k * variance / 2.
 */
static double refine(const struct grid *grid, double period, double first, double *ret_spread)
{
	double bend, height = first, at = period, variance = 0;
	const double step = 0.5;

	bend = acf_at(grid, period - step) - 2 * first + acf_at(grid, period + step);
	bend = -bend / (step * step);
	for (unsigned k = 2; (double)k * period * 1.1 < (double)grid->lags; k++) {
		double middle = (double)k * period, reach = fmin(0.25 * period, 1 + 0.05 * middle), lag;

		lag = acf_peak(grid, middle - reach, middle + reach, &height);
		if (height < 0.6 * first || height < peak_least / 2)
			break;
		at = lag / k;
		period = at;
		if (bend > 0)
			variance = fmax(0, 2 * (first - height) / bend / (k - 1));
	}
	*ret_spread = sqrt(variance);
	return at;
}

/*
 * A period below two windows looks like a longer one, with a small amplitude because each window averages over more
 * than half of it. So the amplitude of the apparent period tells whether it can be true: traffic in short bursts has
 * twice its mean as amplitude at most, of which a window leaves sinc(1 - f) of the frequency that looks like f.
 */
static bool could_be_shorter(const struct grid *grid, double period)
{
	double f = 1 / period, most = 2 * sin(M_PI * (1 - f)) / (M_PI * (1 - f));
	size_t length = (size_t)(3 * period + 0.5);
	double power = 0, weight = 0;

	for (size_t from = 0; from + length <= grid->count; from += length) {
		double re = 0, im = 0, known = 0;

		for (size_t i = from; i < from + length; i++) {
			re += (double)grid->x[i] * cos(2 * M_PI * f * (double)i);
			im += (double)grid->x[i] * sin(2 * M_PI * f * (double)i);
			known += (double)grid->mask[i];
		}
		if (known < (double)length * 0.8)
			continue;
		power += (re * re + im * im) * 4 / known;
		weight += known;
	}
	return weight > 0 && sqrt(power / weight) <= most;
}

/*
 * Share of cells with traffic. A cell at the edge of a burst counts by its part of the next cell; if that is unknown,
 * of the usual high rate.
 */
static double share_on_wire(const struct grid *grid, double high)
{
	double on = 0, known = 0;
	size_t bursts = 0;

	for (size_t i = 1; i + 1 < grid->count; i++) {
		double rate = grid->rate[i], left = grid->rate[i - 1], right = grid->rate[i + 1], level;

		if (!grid->known[i - 1] || !grid->known[i] || !grid->known[i + 1])
			continue;
		known++;
		if (rate < 0.02 * high)
			continue;
		level = fmax(left, right);
		bursts += left < 0.02 * high;
		if (fmin(left, right) >= 0.02 * high && fmin(left, right) > 0.3 * rate)
			on += 1;
		else
			on += fmin(1, rate / (level < 0.5 * high ? high : level));
	}
	/* Bursts shorter than a window have an unknown length. */
	if (known == 0 || (bursts && on / (double)bursts < 1))
		return NAN;
	return on / known;
}

/*
 * Bytes sent in a period: the median, which checkpoints and other pauses in some of them do not change. Where most are
 * in a pause, the mean.
 */
static double bytes_in(const struct grid *grid, double period)
{
	double sums[GRID_MOST], mean = grid->mean * period * grid->step_us / 1e6;
	size_t whole = (size_t)period, count = 0;

	for (size_t i = 0; i + whole < grid->count; i++) {
		double sum = 0;
		bool known = true;

		for (size_t k = i; k <= i + whole && known; k++) {
			known = grid->mask[k] > 0;
			sum += grid->rate[k] * (k < i + whole ? 1 : period - (double)whole);
		}
		if (known)
			sums[count++] = sum * grid->step_us / 1e6;
	}
	if (!count)
		return mean;
	qsort(sums, count, sizeof(*sums), double_compare);
	return fmax(mean, sums[count / 2]);
}

void rhythm_of(const struct rhythm_point *points, size_t count, struct rhythm *ret)
{
	struct grid grid;
	double sorted[GRID_MOST], period, height, spread, high, threshold;
	double bytes = 0, elapsed_us = 0;
	size_t known = 0;

	*ret = (struct rhythm){ .kind = RHYTHM_UNKNOWN, .period_s = NAN, .spread_s = NAN, .wire_share = NAN,
				.bytes_per_s = NAN, .shortest_s = NAN, .period_bytes = NAN };
	if (count > GRID_MOST) {
		points += count - GRID_MOST;
		count = GRID_MOST;
	}
	for (size_t i = 0; i < count; i++)
		if (is_usable(&points[i])) {
			bytes += points[i].bytes;
			elapsed_us += (double)points[i].elapsed_us;
			sorted[known++] = (double)points[i].elapsed_us;
		}
	if (known == 0)
		return;
	qsort(sorted, known, sizeof(*sorted), double_compare);
	grid.step_us = sorted[known / 2];
	ret->bytes_per_s = bytes / elapsed_us * 1e6;
	ret->shortest_s = 2 * grid.step_us / 1e6;
	if (known < KNOWN_FEWEST)
		return;

	grid_fill(&grid, points, count);
	known = grid_sort(&grid, sorted);
	if (known < KNOWN_FEWEST || known < grid.count / 2)
		return;
	if (ret->bytes_per_s < idle_bytes_per_s) {
		ret->kind = RHYTHM_IDLE;
		ret->wire_share = 0;
		return;
	}
	high = quantile(sorted, known, 0.95);
	ret->wire_share = share_on_wire(&grid, high);
	threshold = 0.5 * (quantile(sorted, known, 0.1) + high);
	grid_mask(&grid, threshold, true);
	grid_mask(&grid, threshold, false);
	grid_center(&grid);
	if (grid.mean <= 0 || sqrt(grid.variance) < steady_variation) {
		ret->kind = RHYTHM_STEADY;
		return;
	}
	grid_correlate(&grid);
	period = find_peak(&grid, &height);
	if (period > 0) {
		period = refine(&grid, period, height, &spread);
		if (could_be_shorter(&grid, period)) {
			ret->kind = RHYTHM_UNRESOLVABLE;
			ret->wire_share = NAN;
			return;
		}
		ret->kind = RHYTHM_PERIODIC;
		ret->period_s = period * grid.step_us / 1e6;
		ret->spread_s = spread * grid.step_us / 1e6;
		ret->periods = (unsigned)((double)grid.count / period);
		ret->period_bytes = bytes_in(&grid, period);
		return;
	}
	/* Phases that last several windows make neighbours alike. */
	ret->kind = grid.acf[1] >= 0.4F ? RHYTHM_IRREGULAR : RHYTHM_UNRESOLVABLE;
	if (ret->kind == RHYTHM_UNRESOLVABLE)
		ret->wire_share = NAN;
}

const char *rhythm_kind_name(enum rhythm_kind kind)
{
	static const char *const names[RHYTHM_KINDS] = {
		[RHYTHM_UNKNOWN] = "unknown", [RHYTHM_IDLE] = "idle", [RHYTHM_STEADY] = "steady",
		[RHYTHM_PERIODIC] = "periodic", [RHYTHM_IRREGULAR] = "irregular",
		[RHYTHM_UNRESOLVABLE] = "unresolvable",
	};

	return names[kind];
}
