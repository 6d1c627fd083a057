/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* training_test.c - the simulated training jobs do what training.h says */
#include <math.h>
#include <stdlib.h>

#include "base/test_cases.h"
#include "base/unit_test.h"
#include "tests/world/training.h"

static const struct training_shape SHAPE = {.hosts = 64, .rails = 4, .hosts_per_leaf = 16, .uplinks = 8,
					    .link_bytes_per_s = 25e9};

static int64_t seconds(double s)
{
	return (int64_t)(s * 1e6);
}

static struct training *make(uint64_t seed, struct training_job *job)
{
	struct training_shape shape = SHAPE;
	uint32_t hosts[64];
	struct training *world;

	shape.seed = seed;
	world = training_create(&shape);
	assert_non_null(world);
	for (uint32_t i = 0; i < 64; i++)
		hosts[i] = i;
	training_draw(seed, &shape, hosts, 16 + (uint32_t)(seed % 3) * 24, 0, seconds(3600), job);
	job->start_s = job->load_s = job->compile_s = 5;
	job->checkpoint_every_s = 100;
	job->checkpoint_s = 10;
	job->checkpoint_bytes = fmin(job->checkpoint_bytes, 50e9);
	assert_int_equal(training_add(world, job), 0);
	return world;
}

/* Bytes and waits never decrease, waits are no longer than time, and what all send is received. */
TEST(counters_are_monotonous_and_balanced)
{
	for (uint64_t seed = 0; seed < test_cases(40); seed++) {
		struct training_job job;
		struct training *world = make(seed, &job);
		struct training_counters was[256] = { 0 };
		double sent = 0, received = 0;

		for (double at = 0; at < 200; at += 0.37) {
			assert_true(training_advance(world, seconds(at)));
			for (uint32_t member = 0; member < 256; member++) {
				struct training_counters now;

				training_counters(world, member, seconds(at), &now);
				assert_true(now.xmit_bytes >= was[member].xmit_bytes - 64);
				assert_true(now.rcv_bytes >= was[member].rcv_bytes - 64);
				assert_true(now.wait_own_s >= was[member].wait_own_s - 1e-6);
				assert_true(now.wait_to_s >= was[member].wait_to_s - 1e-6);
				assert_true(now.wait_own_s - was[member].wait_own_s <= 0.37 * 1.02 || at == 0);
				assert_true(at == 0 ||
					    now.xmit_bytes - was[member].xmit_bytes <= 0.37 * 25e9 + 64e6);
				was[member] = now;
			}
		}
		for (uint32_t member = 0; member < 256; member++) {
			sent += was[member].xmit_bytes;
			received += was[member].rcv_bytes;
		}
		/* But for loading, checkpoints and SHARP. */
		received -= job.load_bytes * job.host_count * 4;
		assert_true(fabs(sent - received) < 0.02 * sent + job.checkpoint_bytes * job.checkpoint_hosts * 8 +
			    job.step_bytes * job.host_count * 4);
		training_destroy(world);
	}
}

/* A job that is killed sends nothing from then on, nor when its history is dropped, minutes later. */
TEST(a_killed_job_sends_no_more)
{
	for (uint64_t seed = 0; seed < test_cases(8); seed++) {
		struct training_shape shape = SHAPE;
		struct training_job job;
		const uint32_t hosts[8] = {0, 1, 2, 3, 4, 5, 6, 7};
		struct training *world;
		double killed = 200.7 + (double)seed, was = INFINITY;

		shape.seed = seed;
		world = training_create(&shape);
		assert_non_null(world);
		training_draw(seed, &shape, hosts, 8, 0, seconds(7200), &job);
		job.end_us = seconds(killed);
		assert_int_equal(training_add(world, &job), 0);
		for (double at = killed + 1; at < 1500; at += 50) {
			struct training_counters now;

			assert_true(training_advance(world, seconds(at)));
			training_counters(world, 0, seconds(at), &now);
			assert_true(now.xmit_bytes - was < 20e6);
			was = now.xmit_bytes;
		}
		training_destroy(world);
	}
}

/* After a stop nothing is sent but background; before, the period is that of the parameters. */
TEST(a_stop_ends_all_traffic)
{
	for (uint64_t seed = 0; seed < test_cases(40); seed++) {
		struct training_job job;
		struct training *world = make(seed, &job);
		struct training_fault fault = {.kind = TRAINING_PROCESS_STOPS, .host = 3, .rail = 1,
					       .at_us = seconds(300.1 + (double)seed / 3)};
		struct training_truth truth;

		if (seed % 3 == 1)
			fault.kind = TRAINING_HCA_STOPS;
		if (seed % 3 == 2)
			fault.kind = TRAINING_LEAF_STOPS;
		training_break(world, &fault);
		assert_true(training_advance(world, seconds(800)));
		training_truth(world, 0, &truth);
		assert_true(truth.last_us > 0);
		assert_true(truth.last_us >= fault.at_us - seconds(job.checkpoint_s * 2 + truth.period_s * 2));
		assert_true(truth.last_us <= fault.at_us + seconds(job.checkpoint_s * 2 + truth.period_s * 2));
		for (uint32_t host = 0; host < job.host_count; host++) {
			assert_true(training_read(world, truth.last_us + seconds(0.1), seconds(790), host) < 60e6);
			assert_true(training_read(world, seconds(220), truth.last_us, host) > job.step_bytes);
		}
		training_destroy(world);
	}
}

/* The truth of slowdowns is what the fault must cause. */
TEST(a_slow_host_makes_iterations_longer)
{
	for (uint64_t seed = 0; seed < test_cases(40); seed++) {
		struct training_job job;
		struct training *world = make(seed, &job);
		struct training_fault fault = {.kind = TRAINING_SLOW_HOST, .host = 3, .factor = 1.3,
					       .at_us = seconds(600)};
		struct training_truth truth;

		training_break(world, &fault);
		assert_true(training_advance(world, seconds(1000)));
		training_truth(world, 0, &truth);
		assert_true(truth.slower > 1.02 && truth.slower < 1.32);
		training_destroy(world);
	}
}

/* Hosts of one job send alike; the truth of the unannounced jobs names them all. */
TEST(unannounced_jobs_are_known)
{
	struct training *world = training_unannounced(1);
	unsigned in_jobs = 0;
	bool seen[20] = { 0 };

	assert_non_null(world);
	assert_true(training_advance(world, seconds(360)));
	for (uint32_t host = 0; host < 320; host++) {
		uint32_t job = training_job_at(world, host, seconds(300));
		double bytes = training_read(world, seconds(60), seconds(360), host);

		if (job == TRAINING_NO_JOB) {
			assert_true(bytes < 60e6);
			continue;
		}
		assert_true(bytes > 100e6);
		seen[job] = true;
		in_jobs++;
	}
	for (unsigned i = 0; i < 20; i++)
		assert_true(seen[i]);
	print_message("# note: %u of 320 hosts are in jobs\n", in_jobs);
	training_destroy(world);
}
