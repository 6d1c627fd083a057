/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* Begin and duration of each iteration of a job, more exact than its sweeps. */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "analysis/jobs/state.h"

enum { GAPS_MOST = 300, MULTIPLES_MOST = 6, DIFFERS_MOST = 3, PERIODLESS_MOST = 12, UNIT_WINDOWS = 24 };

static const double gap_share = 0.01;      /* a window below this share of the rate of bursts is a gap */
static const double same_bytes = 0.03;     /* two iterations differ by less */
static const double near_bytes = 0.12;     /* the period and the mean rate give the bytes this exactly */
static const double unit_windows = 2;      /* without a period: the bytes of this many windows are compared */
static const double foreign_most = 0.35;   /* gaps at another place than those of iterations: these are no measure */
static const double units_most = 3;        /* in a window */
static const double long_gap = 0.6;        /* of the usual longest gap, which separates iterations */

static int double_compare(const void *a, const void *b)
{
	double x = *(const double *)a, y = *(const double *)b;

	return (x > y) - (x < y);
}

static double rate_of(const struct rhythm_point *point)
{
	return isnan(point->bytes) || point->elapsed_us <= 0 ? NAN : point->bytes / (double)point->elapsed_us * 1e6;
}

/* Bytes between gaps that are one iteration apart. Return: NAN: too few gaps, or these differ. */
static double bytes_between_gaps(const struct job_watch *watch, size_t count, double high, double about,
				 double *ret_gap_s)
{
	struct gap { double bytes, seconds; } gaps[GAPS_MOST];
	double found[GAPS_MOST], lengths[GAPS_MOST], total = 0, now = 0;
	size_t gap_count = 0, pairs = 0;

	for (size_t i = 0; i < count && gap_count < GAPS_MOST; i++) {
		double rate = rate_of(&watch->series[i]), seconds = (double)watch->series[i].elapsed_us / 1e6;

		if (isnan(rate)) {
			/* Bytes are missing: no iteration spans this. */
			total += 10 * about;
			now = 0;
			continue;
		}
		if (rate < gap_share * high) {
			now += seconds;
		} else {
			if (now > 0)
				gaps[gap_count++] = (struct gap){ total, now };
			now = 0;
		}
		total += rate * seconds;
	}
	for (size_t i = 0; i < gap_count; i++) {
		double best = NAN, longest = gaps[i].seconds;

		for (size_t k = i + 1; k < gap_count && gaps[k].bytes - gaps[i].bytes < (1 + near_bytes) * about; k++) {
			double bytes = gaps[k].bytes - gaps[i].bytes;

			if (bytes > (1 - near_bytes) * about && !(fabs(bytes - about) > fabs(best - about)))
				best = bytes;
			else if (bytes < (1 - near_bytes) * about)
				longest = fmax(longest, gaps[k].seconds);
		}
		if (!isnan(best)) {
			lengths[pairs] = longest;
			found[pairs++] = best;
		}
	}
	if (pairs < 4)
		return NAN;
	qsort(found, pairs, sizeof(*found), double_compare);
	qsort(lengths, pairs, sizeof(*lengths), double_compare);
	*ret_gap_s = lengths[pairs / 2];
	/* Half of them are the same. */
	if (found[pairs * 3 / 4] - found[pairs / 4] > same_bytes * found[pairs / 2])
		return NAN;
	return found[pairs / 2];
}

static void iterations_begin(struct job_watch *watch, double bytes, double high, bool by_period, double gap_s)
{
	struct job_iterations *it = &watch->iterations;

	it->tracked = true;
	it->by_period = by_period;
	it->by_gaps = gap_s > 0;
	it->foreign = 0;
	it->bytes = bytes;
	it->high = high;
	it->gap_s = gap_s;
	it->anchored = false;
	it->differs = 0;
	speed_reset(watch);
}

void iterations_learn(struct job_watch *watch, size_t count)
{
	struct job_iterations *it = &watch->iterations;
	const struct rhythm *rhythm = &watch->state.now;
	double rates[JOB_POINTS], sum = 0, bytes, exact, high, gap_s = 0, near = same_bytes;
	size_t known = 0, from = 0;

	if (rhythm->kind == RHYTHM_UNKNOWN || rhythm->kind == RHYTHM_IDLE)
		return;
	for (size_t i = 0; i < count; i++) {
		double rate = rate_of(&watch->series[i]);

		if (!isnan(rate))
			rates[known++] = rate;
	}
	qsort(rates, known, sizeof(*rates), double_compare);
	high = rates[known * 19 / 20];
	if (high < (double)watch->count * 50e3)
		return;

	if (rhythm->kind != RHYTHM_PERIODIC) {
		/* Windows without traffic are pauses, or belong to iterations that sweeps do not resolve. */
		while (from < known && rates[from] < 0.05 * high)
			from++;
		for (size_t i = from; i < known; i++)
			sum += rates[i];
		if (known - from < UNIT_WINDOWS)
			return;
		bytes = unit_windows * watch_window(watch) * sum / (double)(known - from);
		it->candidate = 0;
		if (!it->tracked || (it->by_period && ++it->differs >= PERIODLESS_MOST) ||
		    (!it->by_period && (bytes > 2 * it->bytes ||
					(bytes < 0.5 * it->bytes && ++it->differs >= DIFFERS_MOST))))
			iterations_begin(watch, bytes, high, false, 0);
		return;
	}
	bytes = rhythm->period_bytes;
	exact = it->tracked && it->by_gaps ? bytes_between_gaps(watch, count, high, it->bytes, &gap_s) : NAN;
	if (isnan(exact))
		exact = bytes_between_gaps(watch, count, high, bytes, &gap_s);
	if (!isnan(exact))
		bytes = exact;
	if (it->tracked && it->by_period && fabs(bytes - it->bytes) <= near * it->bytes) {
		it->differs = 0;
		it->high = high;
		if (it->by_gaps && gap_s > 0)
			it->gap_s = gap_s;
		return;
	}
	/* A period found once may be chance. */
	if (fabs(bytes - it->candidate) > near_bytes * bytes) {
		it->candidate = bytes;
		return;
	}
	if (!it->tracked || !it->by_period || ++it->differs >= DIFFERS_MOST)
		iterations_begin(watch, bytes, high, true, gap_s);
}

/*
 * Time at which @bytes of the middle window were sent. Traffic fills the part of the window next to a neighbour with
 * more traffic.
 */
static double time_in_window(const struct job_iterations *it, double bytes)
{
	const struct rhythm_point *point = &it->windows[1];
	double length = (double)point->elapsed_us / 1e6, to = (double)point->at_us / 1e6, rate = rate_of(point);
	double before = rate_of(&it->windows[0]), after = rate_of(&it->windows[2]), part, from = to - length;
	double most = fmax(isnan(before) ? 0 : before, isnan(after) ? 0 : after);

	/* A burst that spans two windows may fill neither. */
	if (most > 0.4 * it->high && most < it->high)
		most = it->high;
	if (!(rate > 0))
		return to;
	part = most > rate ? length * rate / most : length;
	if (most > rate && !(before > after))
		from = to - part;
	else if (most <= rate && rate < 0.7 * it->high) {
		/* A burst shorter than the window, anywhere in it. */
		part = length * rate / it->high;
		from = to - length / 2 - part / 2;
	}
	return from + part * fmin(1, bytes / point->bytes);
}

/*
 * Averages of what members sent in the iteration that ends now. Traffic of some other kind, or the beginning of an
 * iteration that does not end, is kept for suspects of a stall.
 */
static void members_end_iteration(struct job_watch *watch, int64_t at_us)
{
	double sent = 0, moment = 0, weight;
	bool whole;

	for (size_t i = 0; i < watch->count; i++) {
		sent += (double)watch->states[i].sent;
		moment += (double)watch->states[i].moment;
	}
	whole = fabs(sent / watch->iterations.bytes - 1) < near_bytes;
	weight = 1 / fmin(50, ++watch->iterations.learnt);
	for (size_t i = 0; i < watch->count; i++) {
		struct job_member_state *state = &watch->states[i];

		if (whole && state->sent > 0) {
			float late = (float)((double)(state->moment / state->sent) - moment / sent);

			state->late += (float)fmax(0.25, weight) * (late - state->late);
			if (watch->state.phase != JOB_PHASE_SLOWER)
				state->late_usual += (float)weight * (late - state->late_usual);
		}
		state->sent = state->moment = 0;
	}
	watch->iterations.flush_us = at_us;
}

static void iteration_end(struct job_watch *watch, double at_s, double bytes, unsigned multiple)
{
	struct job_iterations *it = &watch->iterations;
	double seconds = (at_s - it->anchor_s) / multiple;

	if (it->anchored && seconds > 0) {
		double usual = watch->speed.usual_s, first = seconds, end = it->anchor_s;

		/* Ends that sweeps do not show: if one iteration has a pause, the others do not. */
		if (multiple > 1 && usual > 0 && seconds > 1.3 * usual) {
			first = seconds * multiple - usual * (multiple - 1);
			seconds = usual;
		}
		for (unsigned i = 0; i < multiple; i++) {
			end += i ? seconds : first;
			speed_step(watch, end, i ? seconds : first);
		}
	}
	it->anchored = true;
	it->anchor_s = at_s;
	it->anchor_bytes = bytes;
	it->foreign *= 0.9;
}

static void by_gaps(struct job_watch *watch)
{
	struct job_iterations *it = &watch->iterations;
	double rate = rate_of(&it->windows[1]), iterations;
	unsigned multiple;

	if (rate < gap_share * it->high) {
		it->gap_now_s += (double)it->windows[1].elapsed_us / 1e6;
		return;
	}
	if (it->gap_now_s <= 0)
		return;
	iterations = (it->total - it->anchor_bytes) / it->bytes;
	multiple = (unsigned)fmin(1000, iterations + 0.5);
	if (it->anchored && multiple >= 1 && multiple <= MULTIPLES_MOST &&
	    fabs(iterations - multiple) <= same_bytes * sqrt(multiple)) {
		iteration_end(watch, time_in_window(it, 0), it->total, multiple);
	} else if (it->gap_now_s >= long_gap * it->gap_s && (!it->anchored || iterations > 0.2)) {
		/* Something else was sent, or this gap separates iterations better. */
		speed_break(watch);
		it->foreign += 0.1 * (1 - it->foreign);
		if (it->anchored && it->foreign > foreign_most) {
			iterations_begin(watch, it->bytes, it->high, true, 0);
			return;
		}
		it->anchored = false;
		iteration_end(watch, time_in_window(it, 0), it->total, 1);
	}
	it->gap_now_s = 0;
}

static void by_bytes(struct job_watch *watch, int64_t at_us)
{
	struct job_iterations *it = &watch->iterations;

	/* Another kind of traffic, of which the bytes of an iteration are not known yet. */
	if (it->windows[1].bytes > units_most * it->bytes) {
		it->anchored = false;
		return;
	}
	/* Best within a burst, where a few bytes more or less take little time. */
	if (!it->anchored && rate_of(&it->windows[1]) > 0.7 * it->high)
		iteration_end(watch, (double)(it->windows[1].at_us - it->windows[1].elapsed_us / 2) / 1e6,
			      it->total + it->windows[1].bytes / 2, 1);
	if (!it->anchored)
		return;
	while (it->total + it->windows[1].bytes >= it->anchor_bytes + it->bytes) {
		double rest = it->anchor_bytes + it->bytes - it->total;

		iteration_end(watch, time_in_window(it, rest), it->anchor_bytes + it->bytes, 1);
		members_end_iteration(watch, at_us);
	}
}

void iterations_step(struct job_watch *watch, const struct rhythm_point *point)
{
	struct job_iterations *it = &watch->iterations;

	if (it->tracked && it->by_gaps) {
		/* Once in each gap. */
		it->gap_newest_s = rate_of(point) < gap_share * it->high ?
				   it->gap_newest_s + (double)point->elapsed_us / 1e6 : 0;
		if (it->gap_newest_s >= long_gap * it->gap_s && !it->flushed)
			members_end_iteration(watch, point->at_us);
		it->flushed = it->gap_newest_s >= long_gap * it->gap_s;
	}
	it->windows[0] = it->windows[1];
	it->windows[1] = it->windows[2];
	it->windows[2] = *point;
	if (it->window_count < 3 && ++it->window_count < 3)
		return;
	if (isnan(it->windows[1].bytes)) {
		it->anchored = false;
		it->gap_now_s = 0;
		return;
	}
	if (it->tracked) {
		if (it->by_gaps)
			by_gaps(watch);
		else
			by_bytes(watch, point->at_us);
	}
	it->total += it->windows[1].bytes;
}
