/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * The truth is a job in continuous time: iterations of computing and a collective, in which one host can stop, and
 * windows that take their bytes from it.
 */
#include <math.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "analysis/job_watch.h"
#include "base/map.h"
#include "base/test_cases.h"
#include "base/unit_test.h"

enum { RAILS = 2, HOSTS_MOST = 32, MEMBERS_MOST = HOSTS_MOST * RAILS };
static const double line_rate = 20e9;

struct job {
	unsigned hosts;
	double period, duty, jitter;
	uint64_t seed;
	double window;            /* between sweeps, seconds */
	/* What happens, in seconds; 0: nothing. */
	double checkpoint_every, checkpoint;
	double hang_at;           /* the process of host @victim stops while it computes */
	unsigned victim;
	double ends_at;           /* of the job: traffic ends */
	double slow_at, slow_until, slow; /* iterations that begin after that compute longer by this factor */

	/* The current iteration. */
	double begin, end;
	double next_checkpoint;
	bool hung;
	double part_least, part;  /* of the collective that the others send without the victim */
	double stopped_at;        /* of the last traffic */
	double longest_compute;
	/* Of iterations without a checkpoint: before the slowdown, and since then. */
	double sum, squares, slow_sum;
	unsigned iterations, slow_iterations;
	double known_at;          /* the mean of those since then is above those before by 3 % and 4 deviations */

	double now;
	struct job_watch *watch;
	const struct job_state *state;
};

static double uniform(struct job *job)
{
	return (double)(map_mix(++job->seed) >> 11) / 9007199254740992.0;
}

static double normal(struct job *job)
{
	double sum = 0;

	for (int i = 0; i < 12; i++)
		sum += uniform(job);
	return sum - 6;
}

static void job_start(struct job *job)
{
	struct job_member members[MEMBERS_MOST];

	for (unsigned i = 0; i < job->hosts * RAILS; i++)
		members[i] = (struct job_member){ .node_guid = 100 + i, .port = 1, .host = i / RAILS,
						  .rail = (uint8_t)(i % RAILS) };
	job->next_checkpoint = job->checkpoint_every;
	job->watch = job_watch_create(members, job->hosts * RAILS, (int64_t)(job->window * 1e6));
	assert_non_null(job->watch);
}

/* The next iteration computes from its begin until it sends, until its end. */
static void next_iteration(struct job *job)
{
	double length, wire, compute, before = job->begin, mean, deviation;

	if (before > 0 && job->slow_at > 0 && before > job->slow_at) {
		job->slow_sum += job->end - before;
		job->slow_iterations++;
	} else if (before > 0) {
		job->sum += job->end - before;
		job->squares += (job->end - before) * (job->end - before);
		job->iterations++;
	}
	if (job->slow_iterations >= 3 && !(job->known_at > 0)) {
		mean = job->sum / job->iterations;
		deviation = sqrt(fmax(0, job->squares / job->iterations - mean * mean));
		if (job->slow_sum / job->slow_iterations > mean + 4 * deviation / sqrt(job->slow_iterations) &&
		    job->slow_sum / job->slow_iterations > 1.03 * mean)
			job->known_at = job->end;
	}
	job->begin = job->end;
	if (job->checkpoint_every > 0 && job->begin >= job->next_checkpoint) {
		job->begin += job->checkpoint * (0.9 + 0.2 * uniform(job));
		job->next_checkpoint += job->checkpoint_every;
	}
	length = job->period * (1 + job->jitter * normal(job));
	compute = length - job->period * job->duty;
	if (job->slow_at > 0 && job->begin > job->slow_at && !(job->slow_until > 0 && job->begin > job->slow_until))
		compute *= job->slow;
	wire = job->period * job->duty;
	job->end = job->begin + compute + wire;
	job->longest_compute = fmax(job->longest_compute, (job->end - job->begin) * (1 - job->duty));
}

/* Bytes of a host in [@from, @to]. */
static void add_bytes(struct job *job, double from, double to, double *bytes)
{
	for (;;) {
		double wire = job->end > 0 ? job->period * job->duty : 0, start = job->end - wire;
		double until = job->hung ? start + wire * job->part : job->end;
		double a = fmax(from, start), b = fmin(to, until);

		if (job->hang_at > 0 && !job->hung && job->end > job->hang_at && job->begin <= job->hang_at) {
			job->hung = true;
			job->part = fmax(0.02, job->part_least) + 0.2 * uniform(job);
			job->stopped_at = start + wire * job->part;
			continue;
		}
		if (job->ends_at > 0 && b > job->ends_at)
			b = job->ends_at;
		for (unsigned host = 0; b > a && host < job->hosts; host++)
			if (!job->hung || host != job->victim)
				bytes[host] += (b - a) * line_rate;
		if (job->hung || job->end >= to || (job->ends_at > 0 && job->end > job->ends_at))
			return;
		next_iteration(job);
	}
}

static void sweep(struct job *job)
{
	struct job_reading readings[MEMBERS_MOST];
	double bytes[HOSTS_MOST] = { 0 }, from = job->now;

	job->now += job->window * (1 + 0.02 * (uniform(job) - 0.5));
	add_bytes(job, from, job->now, bytes);
	for (unsigned i = 0; i < job->hosts * RAILS; i++)
		readings[i] = (struct job_reading){
			.member = i, .at_us = (int64_t)(1e6 * job->now),
			.elapsed_us = (int64_t)(1e6 * (job->now - from)),
			.xmit_bytes = bytes[i / RAILS] + 600, .rcv_bytes = bytes[i / RAILS] + 900,
			.wait_own = 0, .wait_to = 0,
		};
	job->state = job_watch_step(job->watch, (int64_t)(1e6 * job->now), readings, job->hosts * RAILS, NULL, false);
}

static struct job random_job(uint64_t seed)
{
	struct job job = { .seed = map_mix(seed), .window = 1 };

	job.hosts = 4 + (unsigned)(28 * uniform(&job));
	job.period = 2 + 18 * uniform(&job);
	job.duty = 0.2 + 0.4 * uniform(&job);
	job.jitter = 0.01 + 0.03 * uniform(&job);
	job.victim = (unsigned)(job.hosts * uniform(&job));
	return job;
}

static int compare(const void *a, const void *b)
{
	double x = *(const double *)a, y = *(const double *)b;

	return (x > y) - (x < y);
}

TEST(a_host_that_stops_is_found_within_seconds)
{
	enum { CASES_MOST = 100 };
	double delay[CASES_MOST];
	unsigned cases = test_cases(24), first = 0;

	for (unsigned i = 0; i < cases; i++) {
		struct job job = random_job(1000 + i);
		double found = NAN;

		job_start(&job);
		job.hang_at = 300 + 300 * uniform(&job);
		while (job.now < job.hang_at + 600 && isnan(found)) {
			sweep(&job);
			if (job.now < job.hang_at)
				assert_int_not_equal(job.state->phase, JOB_PHASE_STALLED);
			else if (job.state->phase == JOB_PHASE_STALLED)
				found = job.now;
		}
		assert_false(isnan(found));
		assert_float_equal((double)job.state->since_us / 1e6, job.stopped_at, 1.2 * job.window);
		assert_true(job.state->suspect_count > 0);
		first += job.state->suspects[0].host == job.victim;
		delay[i] = found - job.stopped_at - job.longest_compute;
		job_watch_destroy(job.watch);
	}
	qsort(delay, cases, sizeof(*delay), compare);
	printf("  %u hangs: found %.1f s (median), %.1f s (worst) after the longest pause; culprit first in %u\n",
	       cases, delay[cases / 2], delay[cases - 1], first);
	assert_true(delay[cases / 2] <= 3 && delay[cases - 1] <= 10);
	assert_true(first * 10 >= cases * 9);
}

/* When the job goes on, with the rest of its iteration, it does not stall again. */
TEST(a_stall_ends_when_the_job_continues)
{
	for (unsigned i = 0; i < test_cases(12); i++) {
		struct job job = random_job(6000 + i);
		double compute, repaired = 0;

		job.period = 4 + 8 * uniform(&job);
		job.jitter = 0.01;
		job.part_least = 0.3;
		job_start(&job);
		compute = job.period * (1 - job.duty);
		job.hang_at = 300 + 60 * uniform(&job);
		while (job.now < job.hang_at + 120) {
			sweep(&job);
			if (job.state->phase != JOB_PHASE_STALLED)
				continue;
			assert_int_equal(job.state->suspect_count, 1);
			assert_int_equal(job.state->suspects[0].host, job.victim);
			assert_true(compute < 3.5 || job.state->suspects[0].value >= 2 * job.window);
		}
		assert_int_equal(job.state->phase, JOB_PHASE_STALLED);
		repaired = job.now;
		job.end = job.now + job.period * job.duty * (1 - job.part);
		job.hang_at = 0;
		job.hung = false;
		while (job.now < repaired + 120) {
			sweep(&job);
			assert_true(job.now < repaired + 3 || job.state->phase == JOB_PHASE_RUNS);
		}
		job_watch_destroy(job.watch);
	}
}

TEST(checkpoints_are_no_stalls)
{
	for (unsigned i = 0; i < test_cases(2); i++) {
		struct job job = random_job(2000 + i);

		job.checkpoint_every = 400 + 400 * uniform(&job);
		job.checkpoint = 20 + 60 * uniform(&job);
		job_start(&job);
		while (job.now < 2 * 3600) {
			sweep(&job);
			assert_int_not_equal(job.state->phase, JOB_PHASE_STALLED);
		}
		job_watch_destroy(job.watch);
	}
}

TEST(a_job_that_ends_is_no_stall_at_once)
{
	for (unsigned i = 0; i < test_cases(6); i++) {
		struct job job = random_job(3000 + i);

		job.ends_at = 400;
		job_start(&job);
		while (job.now < 520) {
			sweep(&job);
			assert_int_not_equal(job.state->phase, JOB_PHASE_STALLED);
		}
		/* Without job end, it is one after minutes. */
		while (job.now < 1500)
			sweep(&job);
		assert_int_equal(job.state->phase, JOB_PHASE_STALLED);
		job_watch_destroy(job.watch);
	}
}

TEST(a_slower_host_is_found_within_seconds)
{
	enum { CASES_MOST = 100 };
	double delay[CASES_MOST];
	unsigned cases = 24, sound = 0, kept = 0, back = 0;

	for (unsigned i = 0; i < cases; i++) {
		struct job job = random_job(4000 + i);
		double found = NAN, since = 0;

		job_start(&job);
		job.slow_at = 600 + 300 * uniform(&job);
		job.slow_until = job.slow_at + 1200;
		job.slow = 1.1 + 0.4 * uniform(&job);
		while (job.now < job.slow_until && isnan(found)) {
			sweep(&job);
			if (job.state->phase == JOB_PHASE_SLOWER) {
				found = job.now;
				since = (double)job.state->since_us / 1e6;
			}
			if (job.now < job.slow_at && job.state->phase != JOB_PHASE_LEARNING)
				assert_int_equal(job.state->phase, JOB_PHASE_RUNS);
		}
		if (isnan(found)) {
			if (job.known_at > 0)
				printf("  not found: period %.1f s, duty %.2f, jitter %.3f, slower %.2f\n", job.period,
				       job.duty, job.jitter, job.slow);
			job_watch_destroy(job.watch);
			continue;
		}
		sound += fabs(since - job.slow_at) < 3 * job.period + 2;
		while (job.now < job.slow_until + 20 * job.period && job.state->phase == JOB_PHASE_SLOWER)
			sweep(&job);
		back += job.now > job.slow_until && job.state->phase == JOB_PHASE_RUNS;
		delay[kept++] = found - job.known_at;
		if (getenv("IBWIRE_TEST_VERBOSE"))
			printf("  period %.1f s, duty %.2f, jitter %.3f, slower %.2f: %.1f s\n", job.period, job.duty,
			       job.jitter, job.slow, delay[kept - 1]);
		job_watch_destroy(job.watch);
	}
	qsort(delay, kept, sizeof(*delay), compare);
	printf("  %u of %u slowdowns found: %.1f s (median), %.1f s (9 of 10), %.1f s (worst) after they could be "
	       "known; %u with the right beginning, %u over when they were\n", kept, cases, delay[kept / 2],
	       delay[kept * 9 / 10], delay[kept - 1], sound, back);
	assert_true(kept * 10 >= cases * 9 && delay[kept / 2] <= 3);
}

/* A slowdown of a quarter soon after the begin: 4 s of which 30 % are on the wire, then 5.1 s. */
TEST(a_slowdown_of_a_new_job_is_found_if_its_rhythm_is_regular)
{
	double worst = 0;

	for (unsigned i = 0; i < test_cases(30); i++) {
		struct job job = random_job(5000 + i);
		double found = NAN;

		job.hosts = 16;
		job.period = 4;
		job.duty = 0.3;
		job.jitter = 0.01 * uniform(&job);
		job.slow_at = 120 + 60 * uniform(&job);
		job.slow = 1.4;
		job_start(&job);
		while (job.now < job.slow_at + 120) {
			sweep(&job);
			if (job.state->phase == JOB_PHASE_SLOWER) {
				found = isnan(found) ? job.now : found;
				assert_float_equal(job.state->slower, 1.28, 0.1);
				assert_float_equal(job.state->before.period_s, 4, 0.1);
				assert_float_equal(job.state->now.period_s,
						   job.state->before.period_s * job.state->slower, 1e-6);
			} else {
				assert_true(job.now < job.slow_at || isnan(found));
			}
		}
		assert_float_equal((double)job.state->since_us / 1e6, job.slow_at, 6);
		worst = fmax(worst, found - job.slow_at);
		assert_true(found - job.slow_at <= 35);
		job_watch_destroy(job.watch);
	}
	printf("  found within %.1f s\n", worst);
}

TEST(names)
{
	assert_string_equal(job_phase_name(JOB_PHASE_STALLED), "stalled");
	assert_string_equal(job_evidence_name(JOB_EVIDENCE_NOT_RECEIVING), "not-receiving");
	assert_string_equal(rhythm_kind_name(RHYTHM_UNRESOLVABLE), "unresolvable");
}

TEST(cpu_of_a_sweep_of_4096_members)
{
	enum { JOBS = 16, SWEEPS = 160, TIMES = 64 / JOBS };
	struct job_watch *watches[JOBS];
	struct job_member members[64];
	struct job_reading readings[64];
	clock_t begin;
	double ms;

	for (unsigned i = 0; i < 64; i++)
		members[i] = (struct job_member){ .node_guid = i + 1, .port = 1, .host = i / 8, .rail = i % 8 };
	for (unsigned k = 0; k < JOBS; k++) {
		members[0].node_guid = k;
		watches[k] = job_watch_create(members, 64, 1000000);
	}
	begin = clock();
	for (unsigned s = 1; s <= 600 + SWEEPS; s++) {
		if (s == 600)
			begin = clock();
		for (unsigned k = 0; k < JOBS; k++) {
			bool on = (s + k) % (5 + k % 7) < 2;

			for (unsigned i = 0; i < 64; i++)
				readings[i] = (struct job_reading){ .member = i, .at_us = s * INT64_C(1000000),
					.elapsed_us = 1000000, .xmit_bytes = on ? 1e10 : 500,
					.rcv_bytes = on ? 1e10 : 500 };
			job_watch_step(watches[k], s * INT64_C(1000000), readings, 64, NULL, false);
		}
	}
	ms = 1e3 * (double)(clock() - begin) / CLOCKS_PER_SEC / SWEEPS * TIMES;
	printf("  64 jobs of 64 HCAs: %.2f ms per sweep (the limit, 2 %% of a core at 1 s, is 20 ms)\n", ms);
	for (unsigned k = 0; k < JOBS; k++)
		job_watch_destroy(watches[k]);
}
