/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
#include "analysis/job_minute.h"

#include <math.h>

struct job_minute job_minute_of(int64_t job, const struct job_state *state, int64_t wall_us, int64_t boot_us)
{
	bool slower = state->phase == JOB_PHASE_SLOWER, lasts = slower || state->phase == JOB_PHASE_STALLED;

	return (struct job_minute){
		.job = job, .wall_us = wall_us, .rhythm = state->now, .phase = state->phase,
		.since_us = lasts ? wall_us - (boot_us - state->since_us) : 0,
		.slower = slower ? state->slower : NAN,
		.before_s = slower ? state->before.period_s : NAN,
	};
}
