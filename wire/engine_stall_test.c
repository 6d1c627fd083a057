/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* Unresponsive nodes, stalls of the fabric or of this process, and lost MADs. */
#include <stdbool.h>

#include "base/clock.h"
#include "base/unit_test.h"
#include "wire/engine.h"
#include "wire/test_network.h"

/* An engine with a response time of each node. */
static struct bed *create(uint64_t seed, unsigned window)
{
	struct engine_settings settings = { .window = window, .per_node = 1, .timeout_ms = 1000, .retries = 2 };
	struct bed *bed = bed_create(seed, &settings);

	bed->network.latency_us = 150;
	bed->network.jitter_us = 50;
	bed_poll(bed, 4);
	return bed;
}

/* Run a number of requests per node. Return: duration, us. */
static int64_t run(struct bed *bed, unsigned per_node, uint32_t *ret_total)
{
	int64_t start_us = bed->network.now_us;

	*ret_total = bed_poll(bed, per_node);
	return bed->network.now_us - start_us;
}

/* At any time in a run: no request times out, and no node counts as slow afterwards. */
TEST(a_stall_makes_no_node_unresponsive)
{
	for (int64_t at_us = 0; at_us < 9000; at_us += 250) {
		struct bed *bed = create((uint64_t)at_us + 1, at_us % 500 ? 32 : 8);
		int64_t took_us;
		uint32_t total;

		bed->network.stall_from_us = bed->network.now_us + at_us;
		bed->network.stall_to_us = bed->network.stall_from_us + 200 * US_PER_MS;
		took_us = run(bed, 10, &total);
		assert_int_equal(bed->tally.answered, total);
		assert_int_equal(engine_counts(bed->engine).timed_out, 0);
		assert_true(took_us < 230 * US_PER_MS);
		/* A node that fails now is detected after 20 ms and a probe. */
		bed->network.stall_to_us = 0;
		bed->network.dead[7] = true;
		took_us = run(bed, 1, &total);
		assert_int_equal(bed->tally.timed_out, 1);
		assert_true(took_us < 22 * US_PER_MS);
		bed_destroy(bed);
	}
}

/* Longer than the timeout without any response: retries follow. */
TEST(a_long_stall_makes_no_node_unresponsive)
{
	struct bed *bed = create(1, 32);
	uint32_t total;

	bed->network.stall_from_us = bed->network.now_us + 1000;
	bed->network.stall_to_us = bed->network.stall_from_us + 700 * US_PER_MS;
	run(bed, 10, &total);
	assert_int_equal(bed->tally.answered, total);
	bed_destroy(bed);
}

/* This process is not scheduled for a while, and finds all responses afterwards. */
TEST(a_pause_of_this_process_makes_no_node_unresponsive)
{
	for (int64_t at_us = 0; at_us < 3000; at_us += 100) {
		struct bed *bed = create((uint64_t)at_us + 1, 32);
		uint32_t total;

		bed->network.pause_at_us = bed->network.now_us + at_us;
		bed->network.pause_us = 500 * US_PER_MS;
		run(bed, 10, &total);
		assert_int_equal(bed->tally.answered, total);
		assert_int_equal(engine_counts(bed->engine).timed_out, 0);
		bed_destroy(bed);
	}
}

/* A probe to a responsive node shows that the fabric is not stalled. */
TEST(probes_distinguish_unresponsive_nodes_from_a_stall)
{
	struct bed *bed = create(1, 32);
	uint32_t total;
	int64_t took_us;

	for (uint32_t i = 10; i < 20; i++)
		bed->network.dead[i] = true;
	took_us = run(bed, 1, &total);
	assert_int_equal(bed->tally.answered, total - 10);
	assert_int_equal(bed->tally.timed_out, 10);
	assert_true(took_us < 22 * US_PER_MS);
	assert_in_range(engine_counts(bed->engine).probes, 1, 5);
	bed_destroy(bed);
}

/* The first request to a failed node has the full timeout, the next ones a quarter of it. */
TEST(requests_after_a_timeout_have_a_shorter_one)
{
	struct bed *bed = create(1, 32);
	int64_t took_us;
	uint32_t total;

	bed->network.dead[7] = bed->network.dead[8] = true;
	took_us = run(bed, 3, &total);
	assert_int_equal(bed->tally.timed_out, 6);
	/* One request with three tries, two with one. */
	assert_int_equal(engine_counts(bed->engine).timed_out, 2 * (3 + 1 + 1));
	assert_true(took_us < (21 + 7 + 7) * US_PER_MS);
	/* After a second, or a response, the timeout is the full one again. */
	bed->network.dead[7] = false;
	bed->network.now_us += US_PER_S;
	took_us = run(bed, 1, &total);
	assert_int_equal(bed->tally.timed_out, 1);
	assert_in_range(took_us, 20 * US_PER_MS, 22 * US_PER_MS);
	assert_int_equal(engine_counts(bed->engine).timed_out, 2 * (3 + 1 + 1) + 3);
	bed_destroy(bed);
}

/* Responses take up to 18 ms, and some arrive twice: requests are retried, and the first response counts. */
TEST(late_responses_count_once)
{
	for (uint64_t seed = 1; seed < 60; seed++) {
		struct engine_settings settings = { .window = 8 + seed % 50, .per_node = 1 + seed % 3,
						    .timeout_ms = 1000, .retries = 2 };
		struct bed *bed = bed_create(seed, &settings);
		uint32_t total;

		bed_poll(bed, 4);
		bed->network.jitter_us = 18 * US_PER_MS;
		bed->network.duplicate_percent = seed % 2 * 20;
		bed->network.noise_percent = seed % 5;
		total = bed_poll(bed, 10);
		assert_true(engine_counts(bed->engine).retried > 0);
		assert_int_equal(bed->tally.answered, total);
		assert_int_equal(bed->tally.wrong, 0);
		bed_destroy(bed);
	}
}

/* An isolated host is detected within a second. */
TEST(a_run_without_any_response_ends)
{
	struct bed *bed = create(1, 64);
	uint32_t total;

	for (uint32_t i = 0; i <= NETWORK_NODES; i++)
		bed->network.dead[i] = true;
	assert_true(run(bed, 1, &total) < 800 * US_PER_MS);
	assert_int_equal(bed->tally.timed_out, total);
	bed_destroy(bed);
}

/* More retries on a lossy fabric, but not for an unresponsive node of another one. */
TEST(a_lossy_fabric_gets_more_retries)
{
	struct bed *bed = create(1, 64);
	uint64_t sent;
	uint32_t total;

	bed->network.loss_percent = 36;
	run(bed, 40, &total);
	/* Three tries would lose 0.36^3 of 2,000: 93. */
	assert_true(bed->tally.timed_out < 10);
	assert_int_equal(bed->tally.answered + bed->tally.timed_out, total);
	bed_destroy(bed);
	bed = create(1, 64);
	bed->network.dead[7] = true;
	sent = engine_counts(bed->engine).sent;
	run(bed, 1, &total);
	assert_int_equal(engine_counts(bed->engine).sent - sent, total + 2 + engine_counts(bed->engine).probes);
	bed_destroy(bed);
}
