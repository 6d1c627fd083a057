/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
#include <math.h>
#include <stdio.h>
#include <string.h>

#include "analysis/job_detect.h"
#include "base/err.h"
#include "base/unit_test.h"

/*
 * A world of hosts, each in one job or none. The process of a job computes for a time and then sends for a time; what
 * its hosts have sent at a time is the integral of that.
 */
enum { HOSTS_MOST = 400, JOBS_MOST = 24, STEPS_MOST = 20000 };
#define STEP_S 0.1

struct job {
	double begin_s, end_s, period_s, sends_s, jitter, rate;
	double pause_every_s, pause_s; /* checkpoints */
	float sent[STEPS_MOST + 1];   /* share of a second of sending, since the beginning */
};

struct world {
	unsigned host_count, job_count;
	double interval_s;
	unsigned job_of[HOSTS_MOST];  /* JOBS_MOST: none */
	double storage[HOSTS_MOST], offset_s[HOSTS_MOST], factor[HOSTS_MOST], late_s[HOSTS_MOST];
	bool announced[HOSTS_MOST];
	struct job jobs[JOBS_MOST];
	double now_s;
	unsigned sweeps;
	struct job_detect *detect;
	uint64_t random;
};

static double random_of(struct world *world)
{
	world->random = world->random * 6364136223846793005u + 1442695040888963407u;
	return (double)(world->random >> 11) / 9007199254740992.0;
}

static void play(struct world *world, struct job *job)
{
	double left_s = job->begin_s, sent_s = 0, pause_s = job->begin_s + job->pause_every_s;
	bool sends = false;

	memset(job->sent, 0, sizeof(job->sent));
	for (unsigned i = 0; i < STEPS_MOST; i++) {
		double now_s = i * STEP_S, rest_s = STEP_S;

		while (rest_s > 0) {
			double part_s = fmin(rest_s, left_s);

			sent_s += sends && now_s < job->end_s ? part_s : 0;
			rest_s -= part_s;
			left_s -= part_s;
			if (left_s > 0)
				continue;
			sends = !sends;
			left_s = sends ? job->sends_s : (job->period_s - job->sends_s) *
							(1 + job->jitter * (2 * random_of(world) - 1));
			if (!sends && now_s > pause_s) {
				left_s += job->pause_s;
				pause_s += job->pause_every_s;
			}
		}
		job->sent[i + 1] = (float)sent_s;
	}
}

static double sent_at(const struct job *job, double at_s)
{
	double step = fmax(at_s, 0) / STEP_S;
	unsigned i = (unsigned)step;

	if (i >= STEPS_MOST)
		return (double)job->sent[STEPS_MOST];
	return (double)job->sent[i] + (step - i) * (double)(job->sent[i + 1] - job->sent[i]);
}

static struct world *create(double interval_s, uint64_t seed)
{
	struct world *world = calloc(1, sizeof(*world));

	assert_non_null(world);
	world->interval_s = interval_s;
	world->random = seed;
	world->detect = job_detect_create((int64_t)(interval_s * 1e6));
	assert_non_null(world->detect);
	return world;
}

static void destroy(struct world *world)
{
	job_detect_destroy(world->detect);
	free(world);
}

static void add_hosts(struct world *world, unsigned count, unsigned job)
{
	for (unsigned i = 0; i < count; i++) {
		unsigned host = world->host_count++;

		assert_true(host < HOSTS_MOST);
		world->job_of[host] = job;
		world->offset_s[host] = 0.2 * world->interval_s * host / HOSTS_MOST;
		world->factor[host] = 1;
	}
}

static struct job *add_job(struct world *world, unsigned hosts, struct job job)
{
	struct job *added = &world->jobs[world->job_count];

	assert_true(world->job_count < JOBS_MOST);
	*added = job;
	if (added->end_s <= 0)
		added->end_s = INFINITY;
	if (added->pause_every_s <= 0)
		added->pause_every_s = INFINITY;
	added->rate = added->rate > 0 ? added->rate : 20e9;
	play(world, added);
	add_hosts(world, hosts, world->job_count++);
	return added;
}

static double bytes_of(const struct world *world, unsigned host, double from_s, double to_s)
{
	const struct job *job = world->job_of[host] < JOBS_MOST ? &world->jobs[world->job_of[host]] : NULL;
	double late_s = job ? job->begin_s + world->late_s[host] : 0;

	from_s = fmax(from_s, late_s);
	if (!job || to_s <= from_s)
		return 0;
	return (sent_at(job, to_s) - sent_at(job, from_s)) * job->rate * world->factor[host];
}

/* One sweep. */
static void sweep(struct world *world)
{
	struct detect_reading readings[HOSTS_MOST];
	double before_s = world->now_s;

	world->now_s += world->interval_s;
	for (unsigned i = 0; i < world->host_count; i++) {
		double to_s = world->now_s - world->offset_s[i], from_s = before_s - world->offset_s[i];
		double storage = world->storage[i] * world->interval_s * (0.8 + 0.4 * random_of(world));
		double bytes = bytes_of(world, i, from_s, to_s);

		readings[i] = (struct detect_reading){ .host = i, .elapsed_us = (int64_t)(world->interval_s * 1e6),
			.xmit_bytes = bytes + 0.02 * storage, .rcv_bytes = bytes + storage,
			.announced = world->announced[i] };
	}
	world->sweeps++;
	assert_int_equal(job_detect_step(world->detect, (int64_t)(world->now_s * 1e6) + 1000000, readings,
					 world->host_count, NULL), 0);
}

static void run_until(struct world *world, double until_s)
{
	while (world->now_s + world->interval_s <= until_s + 1e-9)
		sweep(world);
}

/* Cluster of each host: its job, or one of its own. */
static void detected_of(struct world *world, unsigned ret[HOSTS_MOST])
{
	size_t count;
	const struct detected_job *jobs = job_detect_jobs(world->detect, &count);

	for (unsigned i = 0; i < HOSTS_MOST; i++)
		ret[i] = 1000 + i;
	for (size_t i = 0; i < count; i++)
		for (size_t j = 0; jobs[i].state == DETECTED_RUNNING && j < jobs[i].host_count; j++)
			ret[jobs[i].hosts[j]] = (unsigned)i;
}

static double pairs(double n)
{
	return n * (n - 1) / 2;
}

/* Hubert, Arabie: Comparing partitions. Journal of Classification 2 (1985). */
static double rand_index(const unsigned *a, const unsigned *b, unsigned count)
{
	double both = 0, of_a = 0, of_b = 0, expected;

	for (unsigned i = 0; i < count; i++)
		for (unsigned j = 0; j < i; j++) {
			both += a[i] == a[j] && b[i] == b[j];
			of_a += a[i] == a[j];
			of_b += b[i] == b[j];
		}
	expected = of_a * of_b / pairs(count);
	return (both - expected) / ((of_a + of_b) / 2 - expected);
}

static double index_now(struct world *world)
{
	unsigned truth[HOSTS_MOST], detected[HOSTS_MOST];

	detected_of(world, detected);
	for (unsigned i = 0; i < world->host_count; i++)
		truth[i] = world->job_of[i] < JOBS_MOST ? world->job_of[i] : 500 + i;
	return rand_index(truth, detected, world->host_count);
}

static unsigned running(struct world *world, const struct detected_job **ret)
{
	size_t count;
	const struct detected_job *jobs = job_detect_jobs(world->detect, &count);
	unsigned found = 0;

	for (size_t i = 0; i < count; i++)
		if (jobs[i].state == DETECTED_RUNNING) {
			found++;
			*ret = &jobs[i];
		}
	return found;
}

/*
 * Twenty jobs: two thirds begin at different times, the others at one; four have the same iteration time; all hosts
 * read from storage all the time; some hosts are idle.
 */
static struct world *twenty_jobs(double interval_s, uint64_t seed)
{
	struct world *world = create(interval_s, seed);

	for (unsigned i = 0; i < 20; i++) {
		double period_s = i % 5 == 0 ? 4 : exp(log(0.5) + random_of(world) * log(30 / 0.5));
		bool together = i >= 13;

		add_job(world, 2 + (unsigned)(random_of(world) * 26), (struct job){
			.begin_s = together ? 45 : 1 + 50 * random_of(world), .period_s = period_s,
			.sends_s = period_s * (0.15 + 0.5 * random_of(world)),
			.jitter = 0.01 + 0.04 * random_of(world), .rate = 5e9 + 30e9 * random_of(world),
			.pause_every_s = i % 3 ? 0 : 200 + 200 * random_of(world), .pause_s = 10 });
	}
	add_hosts(world, 20, JOBS_MOST);
	for (unsigned i = 0; i < world->host_count; i++)
		world->storage[i] = 200e6 * random_of(world);
	return world;
}

TEST(twenty_jobs_are_told_apart)
{
	static const double minutes[] = { 1, 2, 5, 10 };
	static const double intervals[] = { 1, 10 };

	for (int i = 0; i < 2; i++)
		for (uint64_t seed = 1; seed <= 3; seed++) {
			struct world *world = twenty_jobs(intervals[i], seed);

			printf("interval %2.0f s, %3u hosts, adjusted Rand index:", intervals[i], world->host_count);
			for (int j = 0; j < 4; j++) {
				run_until(world, 60 + 60 * minutes[j]);
				printf("  %2.0f min %.3f", minutes[j], index_now(world));
				if (minutes[j] >= 5)
					assert_true(index_now(world) >= 0.95);
			}
			printf("\n");
			destroy(world);
		}
}

static const struct detected_job *only(struct world *world)
{
	const struct detected_job *job = NULL;

	assert_int_equal(running(world, &job), 1);
	return job;
}

#define ITERATES(begin) { .begin_s = (begin), .period_s = 7, .sends_s = 3, .jitter = 0.04 }

TEST(a_job_has_its_begin_its_hosts_and_its_end)
{
	struct world *world = create(1, 4);
	const struct detected_job *job;

	add_hosts(world, 4, JOBS_MOST);
	add_job(world, 8, (struct job){ .begin_s = 101, .end_s = 801, .period_s = 5, .sends_s = 2, .jitter = 0.05 });
	run_until(world, 100);
	assert_int_equal(running(world, &job), 0);
	run_until(world, 200);
	job = only(world);
	assert_int_equal(job->host_count, 8);
	assert_int_equal(job->first_host, 4);
	assert_true(job->begin_known);
	/* It computes first; times of the test are one second later. */
	assert_true(fabs((double)job->begin_us / 1e6 - 1 - 101) <= 4);
	assert_true(job->confidence > 0.8);
	run_until(world, 860);
	assert_int_equal(only(world)->state, DETECTED_RUNNING);
	for (int i = 0; i < 200 && only(world)->state == DETECTED_RUNNING; i++) {
		size_t count;

		sweep(world);
		job = job_detect_jobs(world->detect, &count);
		if (count && job->state == DETECTED_ENDED)
			break;
	}
	assert_int_equal(job->state, DETECTED_ENDED);
	assert_true(job->changed);
	assert_int_equal(job->host_count, 8);
	assert_true(fabs((double)job->last_us / 1e6 - 1 - 801) <= 6);
	sweep(world);
	assert_int_equal(running(world, &job), 0);
	destroy(world);
}

TEST(hosts_that_join_late_change_no_id)
{
	struct world *world = create(1, 5);
	uint64_t id;

	add_job(world, 16, (struct job)ITERATES(20));
	world->late_s[14] = 100;
	world->late_s[15] = 150;
	run_until(world, 100);
	assert_int_equal(only(world)->host_count, 14);
	id = only(world)->id;
	run_until(world, 300);
	assert_int_equal(only(world)->host_count, 16);
	assert_int_equal(only(world)->id, id);
	assert_int_equal(only(world)->first_host, 0);
	destroy(world);
}

/* A host that hangs is of the job all the same: it may be the reason that the others wait. */
TEST(a_host_that_stops_remains_in_its_job)
{
	struct world *world = create(1, 6);

	add_job(world, 8, (struct job)ITERATES(20));
	run_until(world, 200);
	world->factor[3] = 0;
	run_until(world, 600);
	assert_int_equal(only(world)->host_count, 8);
	destroy(world);
}

TEST(a_pause_is_no_end)
{
	struct world *world = create(1, 7);
	uint64_t id;

	add_job(world, 8, (struct job){ .begin_s = 10, .period_s = 5, .sends_s = 2, .jitter = 0.05,
					.pause_every_s = 120, .pause_s = 90 });
	run_until(world, 120);
	id = only(world)->id;
	for (int i = 0; i < 1000; i++) {
		sweep(world);
		assert_int_equal(only(world)->id, id);
		assert_int_equal(only(world)->host_count, 8);
	}
	destroy(world);
}

/* Their traffic is not with each other: none sends what it receives. */
TEST(clients_of_a_storage_are_no_job)
{
	struct world *world = create(1, 8);
	const struct detected_job *job;

	add_hosts(world, 16, JOBS_MOST);
	run_until(world, 60);
	for (unsigned i = 0; i < 16; i++)
		world->storage[i] = 3e9;
	run_until(world, 300);
	assert_int_equal(running(world, &job), 0);
	destroy(world);
}

/* Jobs of one host each, with traffic of their own to others that are not read. */
TEST(hosts_that_are_alone_are_no_job)
{
	struct world *world = create(1, 9);
	const struct detected_job *job;

	for (unsigned i = 0; i < 12; i++)
		add_job(world, 1, (struct job){ .begin_s = 20 + 31 * i, .period_s = 3 + i * 0.7, .sends_s = 1,
						.jitter = 0.1, .rate = 5e9 + 1e9 * i });
	run_until(world, 900);
	assert_int_equal(running(world, &job), 0);
	destroy(world);
}

TEST(nothing_is_detected_on_hosts_of_announced_jobs)
{
	struct world *world = create(1, 10);
	const struct detected_job *job;
	size_t count;

	add_job(world, 8, (struct job)ITERATES(10));
	for (unsigned i = 0; i < 8; i++)
		world->announced[i] = true;
	run_until(world, 300);
	job_detect_jobs(world->detect, &count);
	assert_int_equal(count, 0);
	/* It ended, as it was announced; but goes on. */
	for (unsigned i = 0; i < 8; i++)
		world->announced[i] = false;
	run_until(world, 500);
	job = only(world);
	assert_int_equal(job->host_count, 8);
	/* Another one begins on its hosts. */
	for (unsigned i = 0; i < 4; i++)
		world->announced[i] = true;
	job_detect_drop(world->detect, job->id);
	assert_int_equal(running(world, &job), 0);
	run_until(world, 700);
	assert_int_equal(only(world)->host_count, 4);
	destroy(world);
}

TEST(a_job_that_was_ended_is_not_found_again)
{
	struct world *world = create(1, 11);
	const struct detected_job *job;

	add_job(world, 8, (struct job){ .begin_s = 10, .end_s = 600, .period_s = 5, .sends_s = 2, .jitter = 0.05 });
	run_until(world, 200);
	job_detect_dismiss(world->detect, only(world)->id);
	for (int i = 0; i < 800; i++) {
		sweep(world);
		assert_int_equal(running(world, &job), 0);
	}
	/* The next one is. */
	world->jobs[0] = (struct job){ .begin_s = 1050, .end_s = INFINITY, .period_s = 5, .sends_s = 2, .jitter = 0.05,
				       .rate = 1e10, .pause_every_s = INFINITY };
	play(world, &world->jobs[0]);
	run_until(world, 1200);
	only(world);
	destroy(world);
}

TEST(a_restart_goes_on_with_a_job)
{
	struct world *world = create(1, 12);
	struct detected_job copy;
	uint32_t hosts[16];

	add_job(world, 16, (struct job)ITERATES(10));
	run_until(world, 200);
	copy = *only(world);
	copy.hosts = memcpy(hosts, copy.hosts, sizeof(hosts));
	copy.number = 77;
	job_detect_destroy(world->detect);
	world->detect = job_detect_create(1000000);
	assert_int_equal(job_detect_restore(world->detect, &copy, NULL), 0);
	for (int i = 0; i < 300; i++) {
		sweep(world);
		assert_int_equal(only(world)->number, 77);
		assert_int_equal(only(world)->host_count, 16);
		assert_true(only(world)->begin_us == copy.begin_us);
	}
	destroy(world);
}
