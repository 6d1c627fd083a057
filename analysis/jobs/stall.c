/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* A pause that is longer than the job allows. */
#include <math.h>
#include <string.h>

#include "analysis/jobs/state.h"

/*
 * A job is learnt when its members have sent to each other in this many sweeps and for this time: initialisation of the
 * libraries also sends, and is followed by minutes of loading.
 */
enum { LEARN_SWEEPS = 30, KNOWN_SWEEPS = 120 };
static const int64_t learn_us = 60000000;

/*
 * A pause that several others reach nearly is regular. Readings prove each to within two windows less than it was, so
 * that long a pause may be proven for the first time.
 */
enum { REGULAR_COUNT = 4 };
static const double regular_near = 0.8, regular_ratio = 1.05, regular_windows = 1.6;
/* Pauses seen only a few times vary more, such as checkpoints. */
static const double least_s = 1.6;
static const double rare_ratio = 1.5;
enum { RARE_FEWEST = 3 };
static const double rare_least_s = 2;
/* A first checkpoint or evaluation may take this long. */
static const double unseen_s = 180;

void pause_learn(struct job_watch *watch, double seconds)
{
	struct job_pauses *pauses = &watch->pauses;
	unsigned at = pauses->kept;

	if (watch->pause_kind == PAUSE_UNEVEN)
		watch->uneven_s = fmax(watch->uneven_s, seconds);
	if (at == JOB_LONGEST && (double)pauses->longest[at - 1].seconds >= seconds)
		return;
	if (at < JOB_LONGEST)
		pauses->kept++;
	else
		at--;
	for (; at > 0 && (double)pauses->longest[at - 1].seconds < seconds; at--)
		pauses->longest[at] = pauses->longest[at - 1];
	pauses->longest[at] = (struct job_pause){ (float)seconds, watch->exchange_sweeps < KNOWN_SWEEPS };
}

void pause_end(struct job_watch *watch, double seconds)
{
	/* A stall was none if the job continues its iteration: not if its processes were started again. */
	if (watch->state.phase == JOB_PHASE_STALLED && watch->pause_kind == PAUSE_BROKEN)
		return;
	if (watch->state.phase == JOB_PHASE_STALLED && watch->shares.proven)
		watch->stalled_s = seconds;
	else
		pause_learn(watch, seconds);
}

double pause_allowed(const struct job_watch *watch, enum pause_kind kind)
{
	const struct job_pauses *pauses = &watch->pauses;
	double window = watch_window(watch), regular = 0, least = fmax(regular_windows * window, least_s);
	double allowed, longest;
	unsigned rare = 0;

	if (watch->exchange_sweeps < LEARN_SWEEPS || watch->exchange_us - watch->first_exchange_us < learn_us)
		return NAN;
	for (unsigned i = 0; i + REGULAR_COUNT < pauses->kept && regular <= 0; i++)
		if ((double)pauses->longest[i + REGULAR_COUNT].seconds >=
		    regular_near * (double)pauses->longest[i].seconds)
			regular = (double)pauses->longest[i].seconds;
	if (regular <= 0 && pauses->kept && watch->exchange_sweeps < KNOWN_SWEEPS)
		regular = rare_ratio * (double)pauses->longest[0].seconds;
	allowed = regular_ratio * regular + least;
	if (kind == PAUSE_BROKEN)
		return allowed;
	/*
	 * A pause of the job as a whole may be longer. Once it had several that were longer than the regular ones, of
	 * which checkpoints are the most usual, the next is not much longer than the longest of these. Pauses of
	 * initialisation and loading tell nothing about checkpoints.
	 */
	for (unsigned i = 0; i < pauses->kept; i++)
		rare += !pauses->longest[i].early && (double)pauses->longest[i].seconds > allowed + rare_least_s;
	longest = pauses->kept ? (double)pauses->longest[0].seconds : 0;
	longest = fmax(fmax(allowed, rare_ratio * longest + 2 * window), rare >= RARE_FEWEST ? 0 : unseen_s);
	if (kind == PAUSE_WHOLE)
		return longest;
	return fmin(longest, regular_ratio * fmax(regular, watch->uneven_s) + least);
}

static void enter_stall(struct job_watch *watch, int64_t at_us)
{
	watch->state.phase = JOB_PHASE_STALLED;
	watch->state.since_us = watch->busy_us;
	watch->state.known_us = at_us;
}

void stall_step(struct job_watch *watch, int64_t at_us)
{
	struct job_state *state = &watch->state;

	if (watch->paused && !watch->was_suspended) {
		watch->pause_kind = suspects_of_stall(watch);
		state->allowed_s = pause_allowed(watch, watch->pause_kind);
		if (!isnan(state->allowed_s) && (double)watch->quiet_us / 1e6 > state->allowed_s &&
		    state->phase != JOB_PHASE_STALLED) {
			enter_stall(watch, at_us);
		}
		return;
	}
	state->allowed_s = pause_allowed(watch, PAUSE_WHOLE);
	if (state->phase == JOB_PHASE_STALLED || state->phase == JOB_PHASE_LEARNING) {
		/* What came before training is no measure of its speed, except for a rhythm that goes on. */
		if (state->phase == JOB_PHASE_LEARNING && !isnan(state->allowed_s) && !speed_keep(watch)) {
			watch->iterations.tracked = false;
			speed_reset(watch);
		}
		state->phase = isnan(state->allowed_s) ? JOB_PHASE_LEARNING : JOB_PHASE_RUNS;
		state->since_us = state->known_us = 0;
		state->suspect_count = 0;
	}
}
