/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * How fast a job communicates, whether or not sweeps show its iterations: bytes per second over blocks of several
 * lengths. What happens in a healthy job, such as checkpoints, evaluation and pauses of a process, only takes time
 * away. So the best of the last blocks is compared with what it usually is: a slowdown lowers the best, too.
 */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "analysis/jobs/state.h"

enum {
	SHORTEST = 8,             /* windows of a block of the first scale; each other scale has twice as many */
	STEPS = 4,                /* blocks begin in each window that is a multiple of a fourth of their length */
	OF_GAPS = 1,              /* the scale that tells how long gaps usually are */
	GAPS_FEWEST = 4,          /* blocks after which the usual gap is known */
};

static const unsigned learnt_fewest[JOB_SCALES] = { 16, 9, 6, 6 }; /* bests */
static const double slower_least = 0.05;   /* less is not reported: healthy jobs vary by a few percent */
static const double short_slower_least = 0.07; /* in the shortest blocks */
static const double coarse_s = 5, coarse_slower_least = 0.1; /* sweeps of as long show less */
static const double lowest_ratio = 1.5;    /* what was no slowdown may come back larger by that */
static const double deviations = 5;
static const double spread_most = 0.04;    /* of blocks: a block is longer than what varies */
static const double share_least = 0.05;    /* less than that is no slower communication, but something else */
static const double low_share = 0.1;       /* of the usual rate: a window is in a gap */
/* Of the usual longest gap in a block, plus windows: a gap that is longer is a checkpoint, evaluation, or loading. */
static const double gap_ratio = 2.2, gap_windows = 1.5;
static const double back_for_s = 60;       /* as fast as before for as long: the slowdown is over */
static const double short_gap = 0.7;        /* of the length of a block: a longer gap does not show in it */
static const double learnt_for_s = 3600, learnt_for_blocks = 12;
static const double usual_for_s = 6 * 3600; /* after this, a slower speed is the usual one */

static int float_compare(const void *a, const void *b)
{
	float x = *(const float *)a, y = *(const float *)b;

	return (x > y) - (x < y);
}

static unsigned length_of(const struct job_pace *pace, const struct job_scale *scale)
{
	return SHORTEST << (scale - pace->scales);
}

/* The point @age windows ago; 0: the newest. */
static const struct rhythm_point *point_at(const struct job_watch *watch, unsigned age)
{
	return &watch->points[(watch->next + 2 * JOB_POINTS - 1 - age) % JOB_POINTS];
}

static double gap_most(const struct job_watch *watch)
{
	return gap_ratio * (double)watch->pace.scales[OF_GAPS].gap_s + gap_windows * watch_window(watch);
}

/*
 * Rate of the newest block, with weights that fall to 0 at both ends: where in an iteration it begins does not matter.
 * Return: false: bytes are missing.
 */
static bool block_of(const struct job_watch *watch, const struct job_scale *scale, unsigned length,
		     struct job_rate *ret)
{
	double bytes = 0, seconds = 0, all_bytes = 0, all_seconds = 0, low, gap = 0;

	*ret = (struct job_rate){ .end_s = (double)point_at(watch, 0)->at_us / 1e6 };
	for (unsigned i = 0; i < length; i++) {
		const struct rhythm_point *point = point_at(watch, i);
		double weight = sin(M_PI * (i + 0.5) / length), elapsed = (double)point->elapsed_us / 1e6;

		if (isnan(point->bytes))
			return false;
		weight *= weight;
		bytes += weight * point->bytes;
		seconds += weight * elapsed;
		all_bytes += point->bytes;
		all_seconds += elapsed;
	}
	if (!(seconds > 0))
		return false;
	ret->rate = (float)(bytes / seconds);
	low = low_share * (scale->usual > 0 ? (double)scale->usual : all_bytes / all_seconds);
	/* The whole gap, where the block begins in one. */
	for (unsigned i = 0; i < watch->point_count && (i < length || gap > 0); i++) {
		const struct rhythm_point *point = point_at(watch, i);
		double elapsed = (double)point->elapsed_us / 1e6;

		gap = point->bytes < low * elapsed ? gap + elapsed : 0;
		ret->gap_s = fmaxf(ret->gap_s, (float)gap);
	}
	return true;
}

/* Sorts. Return: the median; @ret_deviation: standard deviation from the quartiles */
static float middle(float *values, unsigned count, float *ret_deviation)
{
	qsort(values, count, sizeof(*values), float_compare);
	*ret_deviation = (values[count * 3 / 4] - values[count / 4]) / 1.349F;
	return values[count / 2];
}

/* What is usual of the bests that are learnt, without those that have a long gap. */
static void usual_learn(const struct job_watch *watch, struct job_scale *scale, unsigned length, double now_s)
{
	float best[JOB_BESTS], rate[JOB_BESTS], deviation, unused;
	double since_s = now_s - fmax(learnt_for_s, learnt_for_blocks * length * watch_window(watch));
	unsigned count = 0;

	for (unsigned i = 0; i < scale->kept; i++)
		if (scale->bests[i].end_s > since_s && (double)scale->bests[i].gap_s <= gap_most(watch)) {
			best[count] = scale->bests[i].best;
			rate[count++] = scale->bests[i].rate;
		}
	scale->learnt = count;
	if (count < GAPS_FEWEST)
		return;
	scale->middle = middle(rate, count, &deviation);
	scale->usual = middle(best, count, &unused);
	/* Of those below: some are better, when other jobs leave the uplinks to this one. */
	scale->deviation = (scale->usual - best[count / 4]) / 0.6745F;
	scale->lowest = best[0];
	scale->spread = deviation / scale->usual;
}

static void best_learn(struct job_watch *watch, struct job_scale *scale, unsigned length, float best)
{
	struct job_best *place = &scale->bests[scale->oldest];
	const struct job_rate *last = &scale->blocks[JOB_BLOCKS_BEST - 1];
	float gaps[JOB_BESTS], unused;

	*place = (struct job_best){ .end_s = last->end_s, .best = best, .rate = last->rate, .own_gap_s = last->gap_s };
	for (unsigned i = 0; i < JOB_BLOCKS_BEST; i++)
		place->gap_s = fmaxf(place->gap_s, scale->blocks[i].gap_s);
	scale->oldest = (scale->oldest + 1) % JOB_BESTS;
	if (scale->kept < JOB_BESTS)
		scale->kept++;
	for (unsigned i = 0; i < scale->kept; i++)
		gaps[i] = scale->bests[i].own_gap_s;
	scale->gap_s = middle(gaps, scale->kept, &unused);
	usual_learn(watch, scale, length, last->end_s);
}

/* Below that it is slower. */
static double limit_of(const struct job_watch *watch, const struct job_scale *scale)
{
	double few = 1 + 2 / sqrt(scale->learnt), usual = (double)scale->usual;
	double least = watch_window(watch) < coarse_s ? slower_least : coarse_slower_least;

	/* Few windows vary more. */
	if (scale == watch->pace.scales)
		least = fmax(least, short_slower_least);

	return usual - fmax(least * usual, few * fmax(lowest_ratio * (usual - (double)scale->lowest),
						      deviations * (double)scale->deviation));
}

/* Since when: what is missing at half of the slowdown is most from there. Long gaps do not count. */
static int64_t change_point(const struct job_watch *watch, const struct job_scale *scale, unsigned length,
			    double middle_rate)
{
	double sum = 0, most = -INFINITY, gap = 0, gap_sum = 0, low = low_share * (double)scale->usual;
	unsigned left = length + (JOB_BLOCKS_BEST + 2) * length / STEPS;
	int64_t since_us = point_at(watch, 0)->at_us;

	for (unsigned age = 0; age < watch->point_count && left; age++, left--) {
		const struct rhythm_point *point = point_at(watch, age);
		double elapsed = (double)point->elapsed_us / 1e6, missing = middle_rate * elapsed - point->bytes;

		if (isnan(point->bytes) || point->at_us <= watch->pace.from_us)
			break;
		if (point->bytes < low * elapsed) {
			gap += elapsed;
			gap_sum += missing;
			left += gap > gap_most(watch);
			continue;
		}
		if (gap > 0 && gap <= gap_most(watch)) {
			sum += gap_sum;
			if (sum > most) {
				most = sum;
				since_us = point->at_us;
			}
		}
		gap = gap_sum = 0;
		sum += missing;
		if (sum > most) {
			most = sum;
			since_us = point->at_us - point->elapsed_us;
		}
	}
	return since_us;
}

static void blocks_forget(struct job_pace *pace)
{
	for (unsigned i = 0; i < JOB_SCALES; i++)
		pace->scales[i].count = 0;
}

static float best_of(const struct job_scale *scale, float *ret_worst)
{
	float best = 0;

	*ret_worst = INFINITY;
	for (unsigned i = 0; i < JOB_BLOCKS_BEST; i++) {
		best = fmaxf(best, scale->blocks[i].rate);
		*ret_worst = fminf(*ret_worst, scale->blocks[i].rate);
	}
	return best;
}

/* By which factor it is slower since then: the mean of the blocks that began after that, or the newest. */
static double slower_by(const struct job_watch *watch, const struct job_scale *scale, unsigned length, int64_t since_us)
{
	double from_s = (double)since_us / 1e6 + length * watch_window(watch), sum = 0;
	unsigned count = 0;

	for (unsigned i = JOB_BLOCKS_BEST; i-- > 0 && (!count || scale->blocks[i].end_s >= from_s); count++)
		sum += (double)scale->blocks[i].rate;
	return (double)scale->middle * count / sum;
}

/* The scale that found the slowdown follows it. */
static void slower_step(struct job_watch *watch, const struct job_scale *scale, unsigned length)
{
	struct job_pace *pace = &watch->pace;
	float worst, best = best_of(scale, &worst);
	double now_s = scale->blocks[JOB_BLOCKS_BEST - 1].end_s;
	bool usual = now_s - (double)watch->state.known_us / 1e6 > usual_for_s;

	watch->state.slower = slower_by(watch, scale, length, watch->state.since_us);
	pace->back = fmin(pace->back, (double)(best + scale->usual) / 2);
	if (!((double)worst > pace->back))
		pace->back_s = 0;
	else if (!(pace->back_s > 0))
		pace->back_s = scale->blocks[0].end_s;
	if (!usual && !(pace->back_s > 0 && now_s - pace->back_s >= back_for_s))
		return;
	if (usual)
		memset(pace->scales, 0, sizeof(pace->scales));
	slowdown_end(watch, !usual);
}

/* Whether its blocks are alike, and long enough to tell a checkpoint from a usual gap. */
static bool is_of_use(const struct job_watch *watch, const struct job_scale *scale, unsigned length)
{
	return scale->learnt >= learnt_fewest[scale - watch->pace.scales] && (double)scale->spread < spread_most &&
	       gap_most(watch) < short_gap * length * watch_window(watch);
}

static void block_end(struct job_watch *watch, struct job_scale *scale, unsigned length, struct job_rate block)
{
	struct job_pace *pace = &watch->pace;
	double limit;
	float best, worst;

	if (scale->count == JOB_BLOCKS_BEST)
		memmove(scale->blocks, scale->blocks + 1, (JOB_BLOCKS_BEST - 1) * sizeof(*scale->blocks));
	else
		scale->count++;
	scale->blocks[scale->count - 1] = block;
	if (scale->count < JOB_BLOCKS_BEST)
		return;
	if (watch->state.phase == JOB_PHASE_SLOWER) {
		if (scale == pace->found)
			slower_step(watch, scale, length);
		return;
	}
	best = best_of(scale, &worst);
	limit = limit_of(watch, scale);
	if (is_of_use(watch, scale, length) && (double)best < limit &&
	    (double)best > share_least * (double)scale->usual) {
		int64_t since_us = change_point(watch, scale, length, (double)(best + scale->usual) / 2);

		pace->back = (double)(best + scale->usual) / 2;
		pace->back_s = 0;
		slowdown_begin(watch, slower_by(watch, scale, length, since_us), since_us, point_at(watch, 0)->at_us,
			       scale);
		return;
	}
	if (++scale->waits >= STEPS) {
		scale->waits = 0;
		best_learn(watch, scale, length, best);
	}
}

void pace_step(struct job_watch *watch)
{
	struct job_pace *pace = &watch->pace;

	if (watch->state.phase == JOB_PHASE_LEARNING || watch->state.phase == JOB_PHASE_STALLED) {
		pace_break(watch);
		return;
	}
	if (isnan(point_at(watch, 0)->bytes))
		return;
	for (unsigned i = 0; i < JOB_SCALES; i++) {
		struct job_scale *scale = &pace->scales[i];
		unsigned length = length_of(pace, scale);
		struct job_rate block;

		if (watch->sweeps % (length / STEPS) || watch->point_count < length ||
		    point_at(watch, length - 1)->at_us <= pace->from_us)
			continue;
		/* A checkpoint or something else begins, or bytes are not known. */
		if (!block_of(watch, scale, length, &block) ||
		    (pace->scales[OF_GAPS].kept >= GAPS_FEWEST && (double)block.gap_s > gap_most(watch)))
			scale->count = 0;
		else
			block_end(watch, scale, length, block);
	}
}

void pace_break(struct job_watch *watch)
{
	watch->pace.from_us = point_at(watch, 0)->at_us;
	blocks_forget(&watch->pace);
}
