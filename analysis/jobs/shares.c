/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * Whether all members have sent their shares. In whole iterations, members of the same group send the same bytes: all
 * of a ring, or those of a stage of a pipeline. A sweep between two iterations shows that to within kilobytes: it is a
 * level one. In any other sweep, members are read at different times of their transfers and differ by much more.
 *
 * A pause that begins with a whole iteration, such as a checkpoint, is level. If a process stops, the others send what
 * they can without it, and members differ for as long as the pause lasts.
 */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "analysis/jobs/state.h"

enum { RAILS_MOST = 64, GROUPS_MOST = 64 };

/* Sweeps in which a reference must be confirmed by another level sweep: at first, and later. */
enum { TRIES_NEW = 4, TRIES_QUIET = 10, TRIES_PROVEN = 100 };
/* Level sweeps after which members that differ are evidence. Of three hosts, any two may be alike by chance. */
enum { LEVELS_FEWEST = 5, HOSTS_FEWEST = 4, HOSTS_COARSE = 8 };
static const double coarse_s = 5;         /* sweeps of as long show fewer of the gaps between iterations */

/* What hosts send besides, and what is known of it less exactly. */
static const double besides_bytes = 15e3, besides_bytes_per_s = 250;
static const double missing_ratio = 2;    /* of that: clearly more */
static const double most_members = 0.7;   /* the first rail carries other traffic, too */
static const double traffic_bytes = 1e6;  /* of a member, on average, between two level sweeps */
static const double read_share = 0.9;
/* Sent by members and not received by them: to storage. */
static const double storage_share = 1e-5, storage_bytes = 200e3;

static int double_compare(const void *a, const void *b)
{
	double x = *(const double *)a, y = *(const double *)b;

	return (x > y) - (x < y);
}

static int value_compare(const void *a, const void *b)
{
	const struct job_value *x = a, *y = b;

	if (x->group != y->group)
		return x->group < y->group ? -1 : 1;
	return (x->bytes > y->bytes) - (x->bytes < y->bytes);
}

/* The current sweep becomes the one that others are compared with. */
static void reference_take(struct job_watch *watch, int64_t at_us, unsigned tries)
{
	for (size_t i = 0; i < watch->count; i++) {
		struct job_member_state *member = &watch->states[i];

		member->level_total = member->read_sweep == watch->sweeps ? member->total : NAN;
		member->level_received = member->received;
	}
	watch->shares.level_us = at_us;
	watch->shares.level_sent = watch->shares.sent;
	watch->shares.level_received = watch->shares.received;
	watch->shares.tries = tries;
}

/* Bytes of members since the reference, by group. Return: number of those that were read in both sweeps. */
static size_t values_of(struct job_watch *watch, double seconds)
{
	size_t count = 0;

	for (size_t i = 0; i < watch->count; i++) {
		struct job_member_state *member = &watch->states[i];

		member->missing = NAN;
		if (member->down || member->read_sweep != watch->sweeps || isnan(member->level_total))
			continue;
		watch->values[count++] = (struct job_value){
			member->total - member->level_total - (double)member->quiet_rate * seconds,
			(uint32_t)i, watch->shares.grouped ? member->group : 0 };
	}
	qsort(watch->values, count, sizeof(*watch->values), value_compare);
	return count;
}

/* Whether other hosts of its group have sent as much as each value. Return: nearly all of them. */
static bool find_peers(struct job_watch *watch, size_t count, double tolerance)
{
	struct job_value *values = watch->values;
	size_t with_peers = 0;

	for (size_t i = 0; i < watch->count; i++)
		watch->states[i].alone = false;
	for (size_t from = 0, to; from < count; from = to) {
		bool several = false;

		for (to = from; to < count && values[to].group == values[from].group &&
		     values[to].bytes - values[from].bytes <= 2 * tolerance; to++)
			several = several || watch->members[values[to].member].host !=
						     watch->members[values[from].member].host;
		for (size_t i = from; i < to; i++)
			watch->states[values[i].member].alone = !several;
		with_peers += several ? to - from : 0;
	}
	return (double)with_peers >= most_members * (double)count;
}

/* A host that sent less than its group, by more than @least, has no peers on most of its rails. */
static bool is_alone(const struct job_watch *watch, double least)
{
	for (size_t i = 0, from = 0; i < watch->count; from = i) {
		double missing = shares_missing(watch, &i);
		size_t alone = 0;

		for (size_t k = from; k < i; k++)
			alone += watch->states[k].alone;
		if (missing > least && 2 * alone > i - from)
			return true;
	}
	return false;
}

/* Members that sent the same are a group. */
static bool make_groups(struct job_watch *watch, size_t count, double tolerance)
{
	struct job_value *values = watch->values;
	uint16_t group = 0;

	if (!find_peers(watch, count, tolerance) || is_alone(watch, -INFINITY))
		return false;
	for (size_t i = 0; i < watch->count; i++)
		watch->states[i].group = GROUPS_MOST;
	for (size_t i = 0; i < count && group < GROUPS_MOST; i++) {
		if (watch->states[values[i].member].alone)
			continue;
		watch->states[values[i].member].group = group;
		if (i + 1 < count && values[i + 1].bytes - values[i].bytes > 2 * tolerance)
			group++;
	}
	return true;
}

/* What members of each group miss of its median. Return: all hosts, and most of the members, have sent the same. */
static bool compare(struct job_watch *watch, size_t count, double tolerance)
{
	const struct job_value *values = watch->values;
	size_t same = 0, grouped = 0;

	for (size_t from = 0, to; from < count && values[from].group < GROUPS_MOST; from = to) {
		for (to = from; to < count && values[to].group == values[from].group; to++)
			;
		for (size_t i = from; i < to; i++) {
			double missing = values[(from + to) / 2].bytes - values[i].bytes;

			watch->states[values[i].member].missing = missing;
			same += fabs(missing) <= tolerance;
		}
		grouped = to;
	}
	if ((double)same < most_members * (double)grouped)
		return false;
	for (size_t i = 0; i < watch->count;)
		if (fabs(shares_missing(watch, &i)) > tolerance)
			return false;
	return true;
}

void shares_step(struct job_watch *watch, int64_t at_us, double read, bool to_storage)
{
	double seconds = (double)(at_us - watch->shares.level_us) / 1e6;
	double tolerance = besides_bytes + besides_bytes_per_s * seconds;
	double sent = watch->shares.sent - watch->shares.level_sent;
	double received = watch->shares.received - watch->shares.level_received;
	bool traffic = sent > traffic_bytes * (double)watch->count, level = false;
	bool storage = fabs(sent - received) > storage_share * fmax(sent, received) +
					       storage_bytes * (double)watch->count;
	size_t count;

	/* What members missed when they stalled remains what they miss. */
	if (watch->paused && watch->state.phase == JOB_PHASE_STALLED)
		return;
	watch->shares.missing_least = INFINITY;
	if (!watch->first_exchange_us || read < read_share)
		return;
	count = watch->shares.level_us ? values_of(watch, seconds) : 0;
	if (count && !storage) {
		if (watch->shares.grouped)
			level = compare(watch, count, tolerance);
		else
			level = watch->shares.grouped = traffic && make_groups(watch, count, tolerance);
		if (!level && watch->shares.proven && watch->shares.levels >= LEVELS_FEWEST &&
		    watch->hosts >= (watch_window(watch) < coarse_s ? HOSTS_FEWEST : HOSTS_COARSE)) {
			find_peers(watch, count, tolerance);
			if (is_alone(watch, missing_ratio * tolerance))
				watch->shares.missing_least = missing_ratio * tolerance;
		}
	}
	if (level && traffic && watch->shares.proven && watch->stalled_s > 0) {
		pause_learn(watch, watch->stalled_s);
		watch->stalled_s = 0;
	}
	if (level) {
		watch->shares.levels += traffic;
		watch->shares.proven = watch->shares.proven || traffic;
		reference_take(watch, at_us, watch->shares.proven ? TRIES_PROVEN : TRIES_QUIET);
		return;
	}
	/* It is of no use after a checkpoint that some of the members have written. */
	if (!(storage && (watch->paused || to_storage)) && watch->shares.tries > 0) {
		watch->shares.tries -= !watch->paused || !watch->shares.proven;
		return;
	}
	/* Groups that are not confirmed for long are wrong. */
	if (watch->shares.grouped && !watch->shares.proven && ++watch->shares.failed > 100) {
		watch->shares.grouped = false;
		watch->shares.levels = watch->shares.failed = 0;
	}
	watch->shares.proven = false;
	watch->stalled_s = 0;
	reference_take(watch, at_us, watch->paused ? TRIES_QUIET : TRIES_NEW);
}

double shares_missing(const struct job_watch *watch, size_t *member)
{
	double values[RAILS_MOST];
	uint32_t host = watch->members[*member].host;
	size_t count = 0;

	for (; *member < watch->count && watch->members[*member].host == host; ++*member)
		if (!isnan(watch->states[*member].missing) && count < RAILS_MOST)
			values[count++] = watch->states[*member].missing;
	if (!count)
		return 0;
	qsort(values, count, sizeof(*values), double_compare);
	return values[(count - 1) / 2];
}
