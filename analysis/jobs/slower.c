/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * Iterations that take longer than before, and stay so. The last 3 to 64 of them are compared with the usual
 * duration: few show a large slowdown at once, many a small one. A checkpoint makes one iteration long, so what is much
 * longer than the others counts as little more than they do.
 */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "analysis/jobs/state.h"

static const unsigned spans[JOB_SPANS] = { 3, 4, 6, 8, 12, 16, 24, 32, 48, 64 };
static const double slower_least = 0.05;   /* less is not reported: healthy jobs vary by a few percent */
/*
 * Only iterations of as many windows are judged here: of shorter ones, and without a period, an evaluation, a
 * checkpoint or their beat with the sweeps looks like a slowdown. pace.c judges all.
 */
static const double windows_least = 3.5;
/*
 * Standard deviations of the mean above which it is no chance: in ten days, 4,096 HCAs have 10 million iterations, each
 * with eight tests that depend on each other.
 */
static const double deviations = 6;
static const double cut_deviations = 3;
static const double end_windows = 1.2;     /* the ends of two iterations together are known to about this */
static const double excess_part = 0.25, longer_share = 0.75;
enum { USUAL_FEWEST = 20, FAST_MOST = 4 };
/* Fewer iterations are enough if they are regular, to find what is much slower. */
enum { REGULAR_FEWEST = 8, REGULAR_KEPT = 3 };
static const double regular = 0.06, regular_slower_least = 0.15;
/* Of these, the newest are not learnt: a slowdown is found within as many. */
enum { NEWEST = 6 };
static const double usual_for_s = 6 * 3600; /* after this, a slower speed is the usual one */

static int float_compare(const void *a, const void *b)
{
	float x = *(const float *)a, y = *(const float *)b;

	return (x > y) - (x < y);
}

/* Median, and standard deviation from the quartiles. Sorts. */
static double middle(float *values, unsigned count, double *ret_deviation)
{
	qsort(values, count, sizeof(*values), float_compare);
	*ret_deviation = (double)(values[count * 3 / 4] - values[count / 4]) / 1.349;
	return count % 2 ? (double)values[count / 2] : (double)(values[count / 2 - 1] + values[count / 2]) / 2;
}

/* Mean without what is much longer than most. */
static double cut_mean(float *values, unsigned count, double *ret_deviation)
{
	double usual = middle(values, count, ret_deviation), most = usual + cut_deviations * *ret_deviation, sum = 0;

	for (unsigned i = 0; i < count; i++)
		sum += (double)values[i] > most + 0.02 * usual ? usual : (double)values[i];
	return sum / count;
}

/* The last @count iterations differ by little, and none has a pause. */
static bool is_regular(const struct job_speed *speed, unsigned count)
{
	float least = INFINITY, most = 0;

	for (unsigned i = speed->recent_count - count; i < speed->recent_count; i++) {
		least = fminf(least, speed->recent[i].seconds);
		most = fmaxf(most, speed->recent[i].seconds);
	}
	return (double)(most - least) <= regular * (double)least;
}

/* The usual duration is the median of blocks of the last hours, or the mean of the first iterations. */
static void usual_learn(struct job_watch *watch, double now_s)
{
	struct job_speed *speed = &watch->speed;
	float means[JOB_BLOCKS], deviations_of[JOB_BLOCKS], values[JOB_RECENT];
	unsigned count = 0;
	double unused;

	for (unsigned i = 0; i < speed->kept; i++)
		if (speed->blocks[i].end_s > now_s - usual_for_s) {
			means[count] = speed->blocks[i].mean;
			deviations_of[count++] = speed->blocks[i].deviation;
		}
	if (count) {
		speed->usual_s = middle(means, count, &unused);
		speed->deviation_s = middle(deviations_of, count, &unused);
		speed->learnt_from = count * JOB_BLOCK;
	} else if (speed->recent_count >= REGULAR_FEWEST) {
		unsigned most = speed->recent_count;
		double usual, deviation;
		bool few = most < USUAL_FEWEST;

		/* Their ends are known best if there are gaps. */
		if (few && !(watch->iterations.by_gaps && is_regular(speed, most)))
			return;
		if (few)
			most = most - NEWEST > REGULAR_FEWEST ? most - NEWEST : REGULAR_FEWEST;
		for (; count < most; count++)
			values[count] = speed->recent[count].seconds;
		usual = cut_mean(values, count, &deviation);
		speed->usual_s = usual;
		/* That few vary by more than they show. */
		speed->deviation_s = few ? fmax(deviation, regular / 3 * usual) : deviation;
		speed->learnt_from = count;
	}
}

static void block_end(struct job_speed *speed, double end_s)
{
	struct job_block block = { .end_s = end_s };
	double deviation;

	block.mean = (float)cut_mean(speed->block, speed->block_count, &deviation);
	block.deviation = (float)deviation;
	speed->block_count = speed->block_waits = 0;
	if (speed->kept < JOB_BLOCKS) {
		speed->blocks[speed->kept++] = block;
	} else {
		speed->blocks[speed->oldest] = block;
		speed->oldest = (speed->oldest + 1) % JOB_BLOCKS;
	}
}

/*
 * Mean of the last @count durations. One that is much longer than most, of three than any, has a pause in it, and
 * counts as most do. @slack_s: so much longer is none
 */
static double mean_of_last(const struct job_speed *speed, unsigned count, double slack_s)
{
	float values[JOB_RECENT];
	double sum = 0, usual;

	for (unsigned i = 0; i < count; i++)
		values[i] = speed->recent[speed->recent_count - count + i].seconds;
	qsort(values, count, sizeof(*values), float_compare);
	usual = (double)values[count == 3 ? 0 : (count - 1) / 2];
	for (unsigned i = 0; i < count; i++)
		sum += (double)values[i] > usual + slack_s + cut_deviations * speed->deviation_s + 0.02 * usual ?
		       usual : (double)values[i];
	return sum / count;
}

/* Most of the last @count took longer by a part of their excess: not only some, because of another job. */
static bool most_are_longer(const struct job_speed *speed, unsigned count, double excess)
{
	unsigned longer = 0;

	for (unsigned i = speed->recent_count - count; i < speed->recent_count; i++)
		longer += (double)speed->recent[i].seconds > speed->usual_s * (1 + excess_part * excess);
	return longer >= longer_share * count;
}

/* Since when: the sum of what each iteration took longer than half the slowdown is largest from there. */
static double change_point(const struct job_speed *speed, double slower)
{
	double sum = 0, best = -INFINITY, since = 0;

	for (unsigned i = speed->recent_count; i-- > 0;) {
		double longest = speed->usual_s * (1 + 2 * slower);

		sum += fmin(longest, (double)speed->recent[i].seconds) - speed->usual_s * (1 + slower / 2);
		if (sum > best) {
			best = sum;
			since = speed->recent[i].end_s - (double)speed->recent[i].seconds;
		}
	}
	return since;
}

void slowdown_begin(struct job_watch *watch, double slower, int64_t since_us, int64_t known_us,
		    const struct job_scale *found)
{
	struct job_state *state = &watch->state;

	watch->pace.found = found;
	state->phase = JOB_PHASE_SLOWER;
	state->since_us = since_us;
	state->known_us = known_us;
	state->slower = slower;
	state->before = state->now;
}

void slowdown_end(struct job_watch *watch, bool over)
{
	struct job_state *state = &watch->state;

	/* As before, until there are points enough. */
	if (over) {
		watch->speed_us = watch->busy_us;
		state->now = state->before;
	}
	state->phase = JOB_PHASE_RUNS;
	state->since_us = state->known_us = 0;
	state->slower = 1;
	state->suspect_count = 0;
	state->rails_fell = 0;
	watch->pace.found = NULL;
	speed_break(watch);
	pace_break(watch);
}

static void enter(struct job_watch *watch, double excess, double now_s)
{
	struct job_speed *speed = &watch->speed;
	struct job_state *state = &watch->state;

	slowdown_begin(watch, 1 + excess, (int64_t)(1e6 * change_point(speed, excess)), (int64_t)(1e6 * now_s), NULL);
	state->before.period_s = speed->usual_s;
	state->before.spread_s = speed->deviation_s;
	speed->fast = 0;
	speed->new_since_s = now_s;
	speed->block_count = speed->block_waits = 0;
}

static void leave(struct job_watch *watch)
{
	slowdown_end(watch, watch->speed.fast > 0);
}

static void slower_step(struct job_watch *watch, double end_s)
{
	struct job_speed *speed = &watch->speed;
	double slower = watch->state.slower, since_s = (double)watch->state.since_us / 1e6;
	unsigned count = 0;

	/* Those since then. */
	while (count < speed->recent_count && count < spans[6] &&
	       speed->recent[speed->recent_count - 1 - count].end_s > since_s + speed->usual_s / 2)
		count++;

	/* Half of the way back is back. */
	if ((double)speed->recent[speed->recent_count - 1].seconds <= speed->usual_s * (1 + (slower - 1) / 2)) {
		if (++speed->fast >= FAST_MOST) {
			leave(watch);
			return;
		}
	} else {
		speed->fast = 0;
	}
	if (count >= spans[0])
		watch->state.slower = mean_of_last(speed, count, end_windows * watch_window(watch)) / speed->usual_s;
	/* It was none. */
	if (count >= spans[4] && watch->state.slower < 1 + slower_least / 2) {
		leave(watch);
		return;
	}
	if (end_s - speed->new_since_s > usual_for_s)
		speed_reset(watch);
}

void speed_step(struct job_watch *watch, double end_s, double seconds)
{
	struct job_speed *speed = &watch->speed;
	double excess, first = 0; /* first: of the shortest span */

	if (speed->recent_count == JOB_RECENT) {
		memmove(speed->recent, speed->recent + 1, (JOB_RECENT - 1) * sizeof(*speed->recent));
		speed->recent_count--;
	}
	speed->recent[speed->recent_count++] = (struct job_duration){ end_s, (float)seconds };
	if (watch->state.phase == JOB_PHASE_SLOWER) {
		if (!watch->pace.found)
			slower_step(watch, end_s);
		return;
	}
	if (watch->state.phase != JOB_PHASE_RUNS || speed->usual_s <= 0 ||
	    !watch->iterations.by_period || speed->usual_s < windows_least * watch_window(watch)) {
		usual_learn(watch, end_s);
		return;
	}

	/* Without gaps, the duration depends on where in an iteration it begins, which changes slowly. */
	for (unsigned i = 0; i < JOB_SPANS && spans[i] <= speed->recent_count &&
	     (watch->iterations.by_gaps || speed->kept >= 2); i++) {
		double limit = deviations * (1 + 1 / sqrt(speed->learnt_from)) * speed->deviation_s / sqrt(spans[i]);

		excess = mean_of_last(speed, spans[i], 0) / speed->usual_s - 1;
		first = i ? first : excess;
		limit = fmax(limit, end_windows * watch_window(watch) / spans[i]) / speed->usual_s;
		limit = fmax(limit, speed->learnt_from < JOB_BLOCK ? regular_slower_least : slower_least);
		if (excess > limit && most_are_longer(speed, spans[i], excess)) {
			enter(watch, excess, end_s);
			return;
		}
	}
	/* A block is not learnt while a clear slowdown may have begun in it. */
	if (speed->block_count < JOB_BLOCK)
		speed->block[speed->block_count++] = (float)seconds;
	else
		speed->block_waits++;
	if (speed->block_count == JOB_BLOCK && (first < regular_slower_least || speed->block_waits >= NEWEST))
		block_end(speed, end_s);
	if (!speed->kept || !speed->block_count)
		usual_learn(watch, end_s);
}

void speed_break(struct job_watch *watch)
{
	watch->speed.recent_count = watch->speed.block_count = watch->speed.block_waits = 0;
}

bool speed_keep(struct job_watch *watch)
{
	struct job_speed *speed = &watch->speed;
	unsigned count = speed->recent_count < REGULAR_FEWEST ? speed->recent_count : REGULAR_FEWEST;

	if (!watch->iterations.by_gaps || count < REGULAR_KEPT)
		return false;
	memmove(speed->recent, speed->recent + speed->recent_count - count, count * sizeof(*speed->recent));
	speed->recent_count = count;
	speed->usual_s = 0;
	return is_regular(speed, count);
}

void speed_reset(struct job_watch *watch)
{
	if (watch->state.phase == JOB_PHASE_SLOWER && !watch->pace.found)
		leave(watch);
	memset(&watch->speed, 0, sizeof(watch->speed));
}
