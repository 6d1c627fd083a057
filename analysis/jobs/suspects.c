/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* Which hosts of a job most probably cause a stall. */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "analysis/jobs/state.h"

enum { RAILS_MOST = 64 };

/* A host stopped before the others if its last traffic is older than that of the job by this many windows. */
static const double earlier_windows = 1.5;
static const double waits_share = 0.3;        /* a switch port waits if it is stalled for this share of a window */
static const double waits_more = 0.03;        /* in a slowdown: share of the time, more than before */
static const double absent_more = 0.3;        /* share of collectives that begin without it, more than before */
static const double late_ratio = 2, late_least = 0.01; /* than members change on average; of the period */
static const double minority = 1.0 / 3;       /* of the hosts stopped first, at most */

static bool is_before(const struct job_suspect *a, const struct job_suspect *b)
{
	if (a->evidence != b->evidence)
		return a->evidence < b->evidence;
	return a->absent != b->absent ? a->absent > b->absent : a->value > b->value;
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

/* Evidence of all members of a host. */
struct host_evidence {
	bool down;
	int64_t stopped_us;
	double before;            /* seconds by which it stopped sending before the others: median of its members */
	double wait_to;           /* most of its members */
	double missing;           /* bytes */
	double received;          /* bytes since the last level sweep */
};

static int double_compare(const void *a, const void *b)
{
	double x = *(const double *)a, y = *(const double *)b;

	return (x > y) - (x < y);
}

/* @member: a member of the host; set to the next one of another host */
static struct host_evidence host_evidence(const struct job_watch *watch, size_t *member)
{
	struct host_evidence ret = { 0 };
	double before[RAILS_MOST];
	size_t from = *member, count = 0;

	ret.missing = shares_missing(watch, member);
	for (size_t i = from; i < *member; i++) {
		const struct job_member_state *state = &watch->states[i];

		ret.received += state->received - state->level_received;
		if (state->busy_us > ret.stopped_us)
			ret.stopped_us = state->busy_us;
		if (state->down) {
			ret.down = true;
			continue;
		}
		ret.wait_to = fmax(ret.wait_to, (double)state->wait_to_most);
		if (count < RAILS_MOST)
			before[count++] = state->sent_us ? (double)(watch->busy_us - state->sent_us) / 1e6 : 0;
	}
	if (count) {
		qsort(before, count, sizeof(*before), double_compare);
		ret.before = before[count / 2];
	}
	return ret;
}

enum pause_kind suspects_of_stall(struct job_watch *watch)
{
	struct job_state *state = &watch->state;
	double window = watch_window(watch), most_missing = 0, most_received = 1;
	double limit = earlier_windows * window;
	bool few_early;
	size_t early = 0, down = 0, waits = 0, incomplete = 0, hosts = 0;

	state->suspect_count = 0;
	for (size_t i = 0; i < watch->count; hosts++) {
		const struct host_evidence host = host_evidence(watch, &i);

		early += !host.down && host.before > limit;
		most_missing = fmax(most_missing, host.missing);
		most_received = fmax(most_received, host.received);
	}
	few_early = early && (double)early <= minority * (double)hosts;
	for (size_t i = 0; i < watch->count;) {
		struct job_suspect suspect = { .host = watch->members[i].host, .evidence = JOB_EVIDENCE_NONE };
		const struct host_evidence host = host_evidence(watch, &i);

		suspect.stopped_us = host.stopped_us;
		if (host.down) {
			suspect.evidence = JOB_EVIDENCE_UNREADABLE;
			down++;
		} else if (host.wait_to > waits_share) {
			suspect.evidence = JOB_EVIDENCE_NOT_RECEIVING;
			suspect.value = host.wait_to;
			waits++;
		} else if ((few_early && host.before > limit) || host.missing > watch->shares.missing_least) {
			suspect.evidence = JOB_EVIDENCE_STOPPED_FIRST;
			/*
			 * Bytes rank hosts that stopped in the same window. In a ring, the host before the one that
			 * stopped cannot send, either, but has received from the one before it.
			 */
			suspect.value = few_early && host.before > limit ? window * round(host.before / window) : 0;
			if (host.missing > 0)
				suspect.value += window * (0.4 * host.missing / most_missing +
							   0.001 * (1 - host.received / most_received));
			incomplete += host.missing > watch->shares.missing_least;
		} else {
			continue;
		}
		suspect_add(state, suspect);
	}
	return down || waits ? PAUSE_BROKEN : incomplete ? PAUSE_UNEVEN : PAUSE_WHOLE;
}

void suspects_of_slowdown(struct job_watch *watch)
{
	struct job_state *state = &watch->state;
	double changes = 0, mean, least = late_least * watch->speed.usual_s;
	size_t waiting = 0;

	state->suspect_count = 0;
	state->rails_fell = 0;
	for (size_t i = 0; i < watch->count; i++) {
		const struct job_member_state *member = &watch->states[i];

		changes += fabs((double)(member->late - member->late_usual));
		waiting += (double)(member->wait_own_now - member->wait_own_usual) > waits_more;
	}
	mean = watch->count ? changes / (double)watch->count : 0;
	for (size_t i = 0; i < watch->count; i++) {
		const struct job_member_state *member = &watch->states[i];
		struct job_suspect suspect = { .host = watch->members[i].host, .evidence = JOB_EVIDENCE_NONE };
		double late = (double)(member->late - member->late_usual);
		double wait_to = (double)(member->wait_to_now - member->wait_to_usual);
		double wait_own = (double)(member->wait_own_now - member->wait_own_usual);

		if (wait_own > waits_more)
			state->rails_fell |= UINT64_C(1) << watch->members[i].rail % RAILS_MOST;
		if (member->down) {
			suspect.evidence = JOB_EVIDENCE_UNREADABLE;
			suspect.stopped_us = member->busy_us;
		} else if (wait_to > waits_more) {
			suspect.evidence = JOB_EVIDENCE_NOT_RECEIVING;
			suspect.value = wait_to;
		} else if ((double)(member->absent - member->absent_usual) > absent_more) {
			suspect.evidence = JOB_EVIDENCE_LATE;
			suspect.absent = (double)(member->absent - member->absent_usual);
			suspect.value = fmax(0, late);
		} else if (late > late_ratio * mean && late > least) {
			suspect.evidence = JOB_EVIDENCE_LATE;
			suspect.value = late;
		} else if (wait_own > waits_more && (double)waiting <= minority * (double)watch->count) {
			/* A ring goes on with the next host: that receives slowly, or its own link waits. */
			suspect.evidence = JOB_EVIDENCE_NOT_RECEIVING;
			suspect.value = wait_own / 2;
			if (!has_suspect(state, suspect))
				suspect_add(state, suspect);
			suspect.host = (suspect.host + 1) % watch->hosts;
			suspect.value = wait_own;
		} else {
			continue;
		}
		if (!has_suspect(state, suspect))
			suspect_add(state, suspect);
	}
}
