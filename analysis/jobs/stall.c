/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* A pause that is longer than the job allows. */
#include <math.h>
#include <string.h>

#include "analysis/jobs/state.h"

/*
 * A job is learnt when it has communicated in this many sweeps and for this time: initialisation of the libraries
 * also sends, and is followed by minutes of loading.
 */
enum { LEARN_SWEEPS = 30 };
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
/* No pause beyond the regular ones was seen yet: a first checkpoint or evaluation may take this long. */
static const double unseen_s = 180, unseen_ratio = 10;

void pause_learn(struct job_pauses *pauses, double seconds, int64_t end_us)
{
	unsigned at = pauses->kept;

	pauses->count++;
	if (at == JOB_LONGEST && (double)pauses->longest[at - 1].seconds >= seconds)
		return;
	if (at < JOB_LONGEST)
		pauses->kept++;
	else
		at--;
	for (; at > 0 && (double)pauses->longest[at - 1].seconds < seconds; at--)
		pauses->longest[at] = pauses->longest[at - 1];
	pauses->longest[at] = (struct job_pause){ (float)seconds, end_us };
}

double pause_allowed(const struct job_watch *watch, bool uneven)
{
	const struct job_pauses *pauses = &watch->pauses;
	double window = watch_window(watch), regular = 0, allowed, longest;

	if (watch->busy_sweeps < LEARN_SWEEPS || watch->busy_us - watch->first_busy_us < learn_us)
		return NAN;
	for (unsigned i = 0; i + REGULAR_COUNT < pauses->kept && regular <= 0; i++)
		if ((double)pauses->longest[i + REGULAR_COUNT].seconds >= regular_near * (double)pauses->longest[i].seconds)
			regular = (double)pauses->longest[i].seconds;
	allowed = regular_ratio * regular + fmax(regular_windows * window, least_s);
	if (uneven)
		return allowed;
	longest = pauses->kept ? (double)pauses->longest[0].seconds : 0;
	if (longest > allowed)
		return fmax(allowed, rare_ratio * longest + 2 * window);
	return fmax(unseen_s, unseen_ratio * allowed);
}

void stall_step(struct job_watch *watch, int64_t at_us)
{
	struct job_state *state = &watch->state;
	bool uneven = false;

	if (watch->paused && !watch->was_suspended) {
		uneven = suspects_of_stall(watch);
		state->allowed_s = pause_allowed(watch, uneven);
		if (!isnan(state->allowed_s) && (double)watch->quiet_us / 1e6 > state->allowed_s &&
		    state->phase != JOB_PHASE_STALLED) {
			state->phase = JOB_PHASE_STALLED;
			state->since_us = watch->busy_us;
			state->known_us = at_us;
		}
		return;
	}
	state->allowed_s = pause_allowed(watch, false);
	if (state->phase == JOB_PHASE_STALLED || state->phase == JOB_PHASE_LEARNING) {
		state->phase = isnan(state->allowed_s) ? JOB_PHASE_LEARNING : JOB_PHASE_RUNS;
		state->since_us = state->known_us = 0;
		state->suspect_count = 0;
	}
}
