/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * What members send from one quiet time to the next: a run. In a collective operation each sends its share. One that
 * sent less than the others when all are quiet again has not entered the last one, while the others have sent what
 * they could without it. At the end of a complete operation, as before a checkpoint, none misses anything.
 */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "analysis/jobs/state.h"

enum { RUNS_FEWEST = 2, ALIKE_FEWEST = 4, RAILS_MOST = 64 };

static const double least_bytes = 30e3;   /* less is missing by chance: what hosts send besides */
static const double noise_times = 4;      /* the usual deviation of shares */
static const double unlearnt_noise = 2e-7; /* of members that all have the same share, before runs are known */
static const double alike = 0.01, same = 2e-5;
static const double unsure_bytes_per_s = 500;
static const double small_share = 0.2;    /* of the usual run: only the beginning of one */
/* Sent by members and not received by them: to storage. */
static const double storage_share = 1e-5, storage_least = 2e6;

static int double_compare(const void *a, const void *b)
{
	double x = *(const double *)a, y = *(const double *)b;

	return (x > y) - (x < y);
}

/* Bytes of a member since the run began, without what it always sends. */
static double run_bytes(const struct job_watch *watch, const struct job_member_state *member)
{
	double seconds = fmax(0, (double)(member->read_us - watch->run.begin_us) / 1e6);

	return member->total - member->run_begin - (double)member->quiet_rate * seconds;
}

/* What members always send is known to about this. */
static double unsure(const struct job_watch *watch)
{
	return unsure_bytes_per_s * fmax(0, (double)(watch->run.quiet_us - watch->run.begin_us) / 1e6);
}

/*
 * Before runs are known: members that sent nearly the same since the beginning have the same share, such as all of a
 * ring, or those of a stage of a pipeline.
 */
static void compare_alike(struct job_watch *watch)
{
	double *scratch = watch->scratch, largest = 0;
	size_t count = 0;

	for (size_t i = 0; i < watch->count; i++) {
		watch->states[i].missing = 0;
		if (!watch->states[i].down)
			scratch[count++] = run_bytes(watch, &watch->states[i]);
	}
	qsort(scratch, count, sizeof(*scratch), double_compare);
	for (size_t i = 0; i < watch->count; i++) {
		double bytes = run_bytes(watch, &watch->states[i]);
		size_t at = 0, from, to, most = count;

		if (watch->states[i].down || !(bytes > 0))
			continue;
		while (at < most) {
			size_t middle = (at + most) / 2;

			if (scratch[middle] < bytes)
				at = middle + 1;
			else
				most = middle;
		}
		for (from = at; from > 0 && scratch[from - 1] > (1 - alike) * bytes; from--)
			;
		for (to = at; to < count && scratch[to] < (1 + alike) * bytes; to++)
			;
		/* Three of five are the same to what hosts send besides; else these are several shares. */
		if (to - from < ALIKE_FEWEST ||
		    scratch[to - 1 - (to - from) / 5] - scratch[from + (to - from) / 5] > same * bytes)
			continue;
		watch->states[i].missing = scratch[(from + to) / 2] - bytes;
		largest = fmax(largest, bytes);
	}
	watch->run.missing_least = least_bytes + unsure(watch) + unlearnt_noise * largest;
}

static void compare(struct job_watch *watch)
{
	double *scratch = watch->scratch, expected;
	size_t count = 0;

	watch->run.missing_least = INFINITY;
	if (!watch->run.begin_us || !watch->run.comparable || watch->run.resumed)
		return;
	if (watch->run.learnt < RUNS_FEWEST) {
		compare_alike(watch);
		return;
	}
	for (size_t i = 0; i < watch->count; i++)
		if (watch->states[i].run_share > 0 && !watch->states[i].down)
			scratch[count++] = run_bytes(watch, &watch->states[i]) / watch->states[i].run_share;
	if (!count)
		return;
	qsort(scratch, count, sizeof(*scratch), double_compare);
	expected = fmax(0, scratch[count / 2]);
	for (size_t i = 0; i < watch->count; i++) {
		struct job_member_state *member = &watch->states[i];

		member->missing = member->run_share > 0 && !member->down ?
				  member->run_share * expected - run_bytes(watch, member) : 0;
	}
	watch->run.missing_least = least_bytes + unsure(watch) +
				   noise_times * watch->run.noise * expected / (double)watch->count;
}

/* What is learnt of this run when the next one begins: a job that stalls now has sent only a part of it. */
static void note(struct job_watch *watch, double sent)
{
	watch->run.ended_sent = sent;
	watch->run.ended_skew_s = 0;
	for (size_t i = 0; i < watch->count; i++) {
		struct job_member_state *member = &watch->states[i];

		member->run_ended = fmax(0, run_bytes(watch, member));
		if (!member->down)
			watch->run.ended_skew_s = fmax(watch->run.ended_skew_s,
						       (double)(watch->busy_us - member->busy_us) / 1e6);
	}
	watch->run.ended = true;
}

static void learn(struct job_watch *watch)
{
	double *scratch = watch->scratch, weight = 1 / fmin(20, ++watch->run.learnt), total = 0;
	size_t count = 0;

	watch->run.usual += weight * (watch->run.ended_sent - watch->run.usual);
	watch->run.skew_s = fmax(watch->run.skew_s, watch->run.ended_skew_s);
	for (size_t i = 0; i < watch->count; i++)
		total += watch->states[i].run_ended;
	for (size_t i = 0; i < watch->count && total > 0; i++) {
		struct job_member_state *member = &watch->states[i];
		double share = member->run_ended / total;

		if (watch->run.learnt > 1 && member->run_share > 0)
			scratch[count++] = fabs(share / member->run_share - 1);
		member->run_share += weight * (share - member->run_share);
	}
	if (!count)
		return;
	qsort(scratch, count, sizeof(*scratch), double_compare);
	watch->run.noise += 1 / fmin(20, watch->run.learnt - 1) * (scratch[count / 2] - watch->run.noise);
}

void run_quiet(struct job_watch *watch, int64_t at_us, bool first)
{
	double sent = watch->run.sent - watch->run.begin_sent;
	double received = watch->run.received - watch->run.begin_received;

	if (watch->run.begin_us) {
		watch->run.comparable = fabs(sent - received) < storage_share * fmax(sent, received) + storage_least;
		if (first) {
			watch->run.small = sent < small_share * watch->run.usual;
			if (watch->run.comparable && !watch->run.small)
				note(watch, sent);
		}
		compare(watch);
	}
	for (size_t i = 0; i < watch->count; i++)
		watch->states[i].quiet_total = watch->states[i].total;
	watch->run.quiet_us = at_us;
	watch->run.quiet_sent = watch->run.sent;
	watch->run.quiet_received = watch->run.received;
}

void run_begin(struct job_watch *watch)
{
	bool stalled = watch->state.phase == JOB_PHASE_STALLED;

	/* Neither the run that stalled nor the rest of it has the usual shares. */
	if (watch->run.ended && !stalled && !watch->run.resumed)
		learn(watch);
	watch->run.ended = false;
	watch->run.resumed = stalled;
	/* What began with a small part goes on. */
	if (watch->run.begin_us && watch->run.small && watch->run.comparable)
		return;
	for (size_t i = 0; i < watch->count; i++)
		watch->states[i].run_begin = watch->states[i].quiet_total;
	watch->run.begin_us = watch->run.quiet_us;
	watch->run.begin_sent = watch->run.quiet_sent;
	watch->run.begin_received = watch->run.quiet_received;
}

double run_missing(const struct job_watch *watch, size_t *member)
{
	double values[RAILS_MOST];
	uint32_t host = watch->members[*member].host;
	size_t count = 0;

	for (; *member < watch->count && watch->members[*member].host == host; ++*member)
		if (!watch->states[*member].down && count < RAILS_MOST)
			values[count++] = watch->states[*member].missing;
	if (!count)
		return 0;
	qsort(values, count, sizeof(*values), double_compare);
	return values[(count - 1) / 2];
}
