/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* Which hosts of a job most probably cause a stall. */
#include <math.h>
#include <string.h>

#include "analysis/jobs/state.h"

/* A host stopped before the others if its last traffic is older than that of the job by this many windows. */
static const double earlier_windows = 1.5;
static const double waits_share = 0.3;        /* a switch port waits if it is stalled for this share of a window */
static const double waits_more = 0.03;        /* in a slowdown: share of the time, more than before */
static const double late_ratio = 2, late_least = 0.01; /* than members change on average; of the period */
static const double minority = 1.0 / 3;       /* of the hosts stopped first, at most */

static bool is_before(const struct job_suspect *a, const struct job_suspect *b)
{
	return a->evidence != b->evidence ? a->evidence < b->evidence : a->value > b->value;
}

static void suspect_add(struct job_state *state, struct job_suspect suspect)
{
	unsigned at = state->suspect_count;

	if (at == JOB_SUSPECTS_MOST) {
		if (!is_before(&suspect, &state->suspects[at - 1]))
			return;
		at--;
	} else {
		state->suspect_count++;
	}
	for (; at > 0 && is_before(&suspect, &state->suspects[at - 1]); at--)
		state->suspects[at] = state->suspects[at - 1];
	state->suspects[at] = suspect;
}

/* Members of a host are adjacent in most lists, but need not be: a suspect is found by its host. */
static bool has_suspect(struct job_state *state, struct job_suspect suspect)
{
	for (unsigned i = 0; i < state->suspect_count; i++)
		if (state->suspects[i].host == suspect.host) {
			if (is_before(&suspect, &state->suspects[i])) {
				memmove(&state->suspects[i], &state->suspects[i + 1],
					(state->suspect_count - i - 1) * sizeof(*state->suspects));
				state->suspect_count--;
				return false;
			}
			return true;
		}
	return false;
}

bool suspects_of_stall(struct job_watch *watch)
{
	struct job_state *state = &watch->state;
	double window = watch_window(watch);
	size_t early = 0, down = 0, waits = 0, incomplete = 0;

	state->suspect_count = 0;
	for (size_t i = 0; i < watch->count; i++) {
		const struct job_member_state *member = &watch->states[i];
		struct job_suspect suspect = { .host = watch->members[i].host, .evidence = JOB_EVIDENCE_NONE,
					       .stopped_us = member->busy_us };
		double before = (double)(watch->busy_us - member->busy_us) / 1e6;

		if (member->down) {
			suspect.evidence = JOB_EVIDENCE_UNREADABLE;
			down++;
		} else if ((double)member->wait_to_most > waits_share) {
			suspect.evidence = JOB_EVIDENCE_NOT_RECEIVING;
			suspect.value = (double)member->wait_to_most;
			waits++;
		} else if (watch->run.comparable && watch->run.learnt > 1 && member->busy_us &&
			   before > watch->run.skew_s + earlier_windows * window) {
			suspect.evidence = JOB_EVIDENCE_STOPPED_FIRST;
			suspect.value = before;
			early++;
		} else {
			continue;
		}
		if (!has_suspect(state, suspect))
			suspect_add(state, suspect);
	}
	for (size_t i = 0; i < watch->count;) {
		struct job_suspect suspect = { .host = watch->members[i].host, .evidence = JOB_EVIDENCE_STOPPED_FIRST,
					       .stopped_us = watch->states[i].busy_us };
		double missing = run_missing(watch, &i);

		if (missing <= watch->run.missing_least)
			continue;
		/* Bytes rank hosts that stopped in the same window. */
		suspect.value = fmin(0.1, missing * 1e-12);
		incomplete++;
		if (!has_suspect(state, suspect))
			suspect_add(state, suspect);
	}
	return (early && (double)early <= minority * (double)watch->count) || down || waits || incomplete;
}

void suspects_of_slowdown(struct job_watch *watch)
{
	struct job_state *state = &watch->state;
	double spread = 0, rail_late[64] = { 0 }, rail_count[64] = { 0 }, mean = 0;

	state->suspect_count = 0;
	state->rails_fell = 0;
	for (size_t i = 0; i < watch->count; i++) {
		double change = (double)(watch->states[i].late - watch->states[i].late_usual);

		spread += fabs(change);
		rail_late[watch->members[i].rail % 64] += change;
		rail_count[watch->members[i].rail % 64]++;
	}
	mean = watch->count ? spread / (double)watch->count : 0;
	for (size_t i = 0; i < watch->count; i++) {
		const struct job_member_state *member = &watch->states[i];
		struct job_suspect suspect = { .host = watch->members[i].host, .evidence = JOB_EVIDENCE_NONE };
		double late = (double)(member->late - member->late_usual);

		if (member->down) {
			suspect.evidence = JOB_EVIDENCE_UNREADABLE;
			suspect.stopped_us = member->busy_us;
		} else if ((double)(member->wait_to_now - member->wait_to_usual) > waits_more) {
			suspect.evidence = JOB_EVIDENCE_NOT_RECEIVING;
			suspect.value = (double)member->wait_to_now;
		} else if (late > late_ratio * mean && late > late_least * watch->speed.usual_s) {
			suspect.evidence = JOB_EVIDENCE_LATE;
			suspect.value = late;
		} else {
			continue;
		}
		if (!has_suspect(state, suspect))
			suspect_add(state, suspect);
	}
	for (unsigned rail = 0; rail < 64; rail++)
		if (rail_count[rail] > 0 &&
		    rail_late[rail] / rail_count[rail] > fmax(mean, late_least * watch->speed.usual_s))
			state->rails_fell |= UINT64_C(1) << rail;
}
