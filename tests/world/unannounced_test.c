/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * unannounced_test.c - job_detect on jobs of the simulated training world, which share no assumption with it
 *
 * Prints the adjusted Rand index. IBWIRE_LONG=1: 50 worlds; IBWIRE_STALLS_PRINT=1 prints each; IBWIRE_TRAINING_SEED=N
 * begins with world N + 1.
 */
#include <math.h>
#include <stdlib.h>

#include "analysis/job_detect.h"
#include "base/unit_test.h"
#include "tests/world/training_model.h"

enum { HOSTS = 320, RAILS = 4 };

/* All jobs run from the 60th second on, at the latest; then five minutes. */
static const double END_S = 360;

struct host_state { int64_t at_us; double xmit_bytes, rcv_bytes; };

static int64_t us(double s)
{
	return (int64_t)(s * 1e6);
}

static double pairs(double n)
{
	return n * (n - 1) / 2;
}

/* Adjusted Rand index of two partitions of hosts. */
static double rand_index(const unsigned *a, const unsigned *b, unsigned count)
{
	unsigned (*table)[2 * HOSTS] = calloc((size_t)2 * HOSTS, sizeof(*table));
	double both = 0, in_a = 0, in_b = 0, expected;

	assert_non_null(table);
	for (unsigned i = 0; i < count; i++)
		table[a[i]][b[i]]++;
	for (unsigned x = 0; x < 2 * HOSTS; x++) {
		double sum_a = 0, sum_b = 0;

		for (unsigned y = 0; y < 2 * HOSTS; y++) {
			both += pairs(table[x][y]);
			sum_a += table[x][y];
			sum_b += table[y][x];
		}
		in_a += pairs(sum_a);
		in_b += pairs(sum_b);
	}
	free(table);
	expected = in_a * in_b / pairs(count);
	return (both - expected) / ((in_a + in_b) / 2 - expected);
}

/* What is read of the hosts in a sweep, host after host; 0.5 % of the readings are missing. */
static size_t sweep(struct training *world, struct host_state *hosts, uint64_t seed, double at_s,
		    struct detect_reading *ret)
{
	size_t count = 0;

	for (uint32_t host = 0; host < HOSTS; host++) {
		uint64_t bits = model_mix(seed ^ (uint64_t)(at_s * 1000) << 12, host);
		int64_t read_us = us(at_s) + host * 120 + (int64_t)(bits % 10000);
		struct host_state now = { .at_us = read_us };

		if ((bits >> 32) % 200 == 0)
			continue;
		for (uint32_t rail = 0; rail < RAILS; rail++) {
			struct training_counters counters;

			training_counters(world, host * RAILS + rail, read_us, &counters);
			now.xmit_bytes += counters.xmit_bytes;
			now.rcv_bytes += counters.rcv_bytes;
		}
		if (hosts[host].at_us)
			ret[count++] = (struct detect_reading){
				.host = host, .elapsed_us = read_us - hosts[host].at_us,
				.xmit_bytes = now.xmit_bytes - hosts[host].xmit_bytes,
				.rcv_bytes = now.rcv_bytes - hosts[host].rcv_bytes };
		hosts[host] = now;
	}
	return count;
}

/* The index of what was found; hosts without a job are jobs of one host. */
static double compare(const struct training *world, struct job_detect *detect, double at_s)
{
	unsigned truth[HOSTS], found[HOSTS], single = HOSTS;
	struct detected_job *jobs;
	size_t count;

	jobs = job_detect_jobs(detect, &count);
	for (uint32_t host = 0; host < HOSTS; host++) {
		truth[host] = training_job_at(world, host, us(at_s));
		if (truth[host] == TRAINING_NO_JOB)
			truth[host] = single++;
		found[host] = UINT32_MAX;
	}
	single = HOSTS;
	for (size_t i = 0; i < count && i < HOSTS; i++)
		for (size_t k = 0; k < jobs[i].host_count && jobs[i].state == DETECTED_RUNNING; k++)
			found[jobs[i].hosts[k]] = (unsigned)i;
	for (uint32_t host = 0; host < HOSTS; host++)
		if (found[host] == UINT32_MAX)
			found[host] = single++;
	return rand_index(truth, found, HOSTS);
}

static double run(uint64_t seed, double interval_s)
{
	struct training *world = training_unannounced(seed);
	struct job_detect *detect = job_detect_create(us(interval_s));
	struct detect_reading readings[HOSTS];
	struct host_state hosts[HOSTS] = { 0 };
	double ret;

	assert_non_null(world);
	assert_non_null(detect);
	for (double at = 0.3; at < END_S; at += interval_s) {
		size_t count;

		assert_true(training_advance(world, us(at + 0.5)));
		count = sweep(world, hosts, seed, at, readings);
		assert_int_equal(job_detect_step(detect, us(at), readings, count, NULL), 0);
	}
	ret = compare(world, detect, END_S);
	job_detect_destroy(detect);
	training_destroy(world);
	return ret;
}

/* @low_most: worlds whose index may be below 0.95 */
static void measure(double interval_s, double mean_least, unsigned low_most)
{
	const char *first = getenv("IBWIRE_TRAINING_SEED");
	uint64_t before = first ? strtoull(first, NULL, 0) : 0;
	unsigned worlds = getenv("IBWIRE_LONG") ? 50 : 5, good = 0;
	double sum = 0, least = 1;

	for (uint64_t seed = before + 1; seed <= before + worlds; seed++) {
		double index = run(seed, interval_s);

		sum += index;
		least = fmin(least, index);
		good += index >= 0.95;
		if (getenv("IBWIRE_STALLS_PRINT"))
			print_message("    world %u: %.3f\n", (unsigned)seed, index);
	}
	print_message("# note: 20 jobs on %d hosts, sweeps of %.0f s, five minutes: adjusted Rand index %.3f (mean of "
		      "%u worlds), %.3f (least), at least 0.95 in %u\n", HOSTS, interval_s, sum / worlds, worlds, least,
		      good);
	assert_true(sum / worlds >= mean_least);
	assert_true(worlds - good <= low_most);
}

TEST(unannounced_jobs_at_sweeps_of_1_s)
{
	measure(1, 0.98, getenv("IBWIRE_LONG") ? 1 : 0);
}

TEST(unannounced_jobs_at_sweeps_of_10_s)
{
	measure(10, 0.96, getenv("IBWIRE_LONG") ? 3 : 0);
}
