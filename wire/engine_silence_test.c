/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* Who is silent: a node, the wire, or we ourselves? And a wire that loses MADs. */
#include <setjmp.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

#include "base/clock.h"
#include "wire/engine.h"
#include "wire/test_network.h"

/* An engine that has heard every node already. */
static struct bed *create(uint64_t seed, unsigned window)
{
	struct engine_settings settings = { .window = window, .per_node = 1, .timeout_ms = 1000, .retries = 2 };
	struct bed *bed = bed_create(seed, &settings);

	bed->network.latency_us = 150;
	bed->network.jitter_us = 50;
	bed_submit(bed, 4);
	assert_int_equal(engine_run(bed->engine, 0, NULL), 0);
	memset(&bed->tally, 0, sizeof(bed->tally));
	return bed;
}

/* Run so many questions per node. Return: how long it took, us. */
static int64_t run(struct bed *bed, unsigned per_node, uint32_t *ret_total)
{
	int64_t start_us = bed->network.now_us;

	*ret_total = bed_submit(bed, per_node);
	assert_int_equal(engine_run(bed->engine, 0, NULL), 0);
	return bed->network.now_us - start_us;
}

/* The wire stands still for a while, anywhere in a run: nobody is blamed, and nobody counts as slow afterwards. */
static void a_wire_that_stands_still_makes_nobody_silent(void **state)
{
	int64_t at_us;

	(void)state;
	for (at_us = 0; at_us < 9000; at_us += 250) {
		struct bed *bed = create((uint64_t)at_us + 1, at_us % 500 ? 32 : 8);
		int64_t took_us;
		uint32_t total;

		bed->network.stall_from_us = bed->network.now_us + at_us;
		bed->network.stall_to_us = bed->network.stall_from_us + 200 * US_PER_MS;
		took_us = run(bed, 10, &total);
		assert_int_equal(bed->tally.answered, total);
		assert_int_equal(engine_counts(bed->engine).timed_out, 0);
		assert_true(took_us < 230 * US_PER_MS);
		/* A node that dies now is noticed as fast as ever: 20 ms, and what finding out takes. */
		memset(&bed->tally, 0, sizeof(bed->tally));
		bed->network.stall_to_us = 0;
		bed->network.dead[7] = true;
		took_us = run(bed, 1, &total);
		assert_int_equal(bed->tally.timed_out, 1);
		assert_true(took_us < 22 * US_PER_MS);
		bed_destroy(bed);
	}
}

/* Longer than a try is waited for: the tries are as many as ever. */
static void a_wire_that_stands_still_for_long_makes_nobody_silent(void **state)
{
	struct bed *bed = create(1, 32);
	uint32_t total;

	(void)state;
	bed->network.stall_from_us = bed->network.now_us + 1000;
	bed->network.stall_to_us = bed->network.stall_from_us + 700 * US_PER_MS;
	run(bed, 10, &total);
	assert_int_equal(bed->tally.answered, total);
	bed_destroy(bed);
}

/* This process does not run for a while: the answers are all there when it does again. */
static void a_pause_of_our_own_makes_nobody_silent(void **state)
{
	int64_t at_us;

	(void)state;
	for (at_us = 0; at_us < 3000; at_us += 100) {
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

/* The dead are told apart from a silent wire by one question to somebody who lives, also when nobody else is asked. */
static void the_dead_are_found_out_by_asking_the_living(void **state)
{
	struct bed *bed = create(1, 32);
	uint32_t total, i;
	int64_t took_us;

	(void)state;
	for (i = 10; i < 20; i++)
		bed->network.dead[i] = true;
	took_us = run(bed, 1, &total);
	assert_int_equal(bed->tally.answered, total - 10);
	assert_int_equal(bed->tally.timed_out, 10);
	assert_true(took_us < 22 * US_PER_MS);
	assert_in_range(engine_counts(bed->engine).probes, 1, 5);
	bed_destroy(bed);
}

/* Nodes with many questions waiting die: of each one question takes its time, and the next is soon given up. */
static void a_node_that_has_just_left_a_question_open_is_not_waited_for_as_long(void **state)
{
	struct bed *bed = create(1, 32);
	int64_t took_us;
	uint32_t total;

	(void)state;
	bed->network.dead[7] = bed->network.dead[8] = true;
	took_us = run(bed, 3, &total);
	assert_int_equal(bed->tally.timed_out, 6);
	/* One with three tries, two with one. */
	assert_int_equal(engine_counts(bed->engine).timed_out, 2 * (3 + 1 + 1));
	assert_true(took_us < (21 + 7 + 7) * US_PER_MS);
	/* It is as patient as ever with those that return, and some time later with those that are still away. */
	memset(&bed->tally, 0, sizeof(bed->tally));
	bed->network.dead[7] = false;
	bed->network.now_us += US_PER_S;
	took_us = run(bed, 1, &total);
	assert_int_equal(bed->tally.timed_out, 1);
	assert_in_range(took_us, 20 * US_PER_MS, 22 * US_PER_MS);
	assert_int_equal(engine_counts(bed->engine).timed_out, 2 * (3 + 1 + 1) + 3);
	bed_destroy(bed);
}

/*
 * Answers suddenly take any time up to 18 ms, and some come twice: questions are asked again meanwhile, and whichever
 * answer comes first counts, once. Also where a node has several questions open at once.
 */
static void late_answers_count_once_while_their_question_is_open(void **state)
{
	uint64_t seed;

	(void)state;
	for (seed = 1; seed < 60; seed++) {
		struct engine_settings settings = { .window = 8 + seed % 50, .per_node = 1 + seed % 3,
						    .timeout_ms = 1000, .retries = 2 };
		struct bed *bed = bed_create(seed, &settings);
		uint32_t total, i;

		bed_submit(bed, 4);
		assert_int_equal(engine_run(bed->engine, 0, NULL), 0);
		memset(&bed->tally, 0, sizeof(bed->tally));
		bed->network.jitter_us = 18 * US_PER_MS;
		bed->network.duplicate_percent = seed % 2 * 20;
		bed->network.noise_percent = seed % 5;
		total = bed_submit(bed, 10);
		assert_int_equal(engine_run(bed->engine, 0, NULL), 0);
		assert_true(engine_counts(bed->engine).retried > 0);
		assert_int_equal(bed->tally.answered, total);
		assert_int_equal(bed->tally.wrong, 0);
		for (i = 0; i < total; i++)
			assert_int_equal(bed->tally.told[i], 1);
		bed_destroy(bed);
	}
}

/* We are cut off: that is seen within a second. */
static void where_everybody_is_dead_it_ends_all_the_same(void **state)
{
	struct bed *bed = create(1, 64);
	uint32_t total, i;

	(void)state;
	for (i = 0; i <= NETWORK_NODES; i++)
		bed->network.dead[i] = true;
	assert_true(run(bed, 1, &total) < 800 * US_PER_MS);
	assert_int_equal(bed->tally.timed_out, total);
	bed_destroy(bed);
}

/* Where MADs get lost a question is asked more often; a dead node on a good wire is not. */
static void a_wire_that_loses_mads_gets_more_tries(void **state)
{
	struct bed *bed = create(1, 64);
	uint64_t sent;
	uint32_t total;

	(void)state;
	bed->network.loss_percent = 36;
	run(bed, 40, &total);
	/* Three tries would lose 0.36^3 of them: 93 of 2,000. */
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

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(a_wire_that_stands_still_makes_nobody_silent),
		cmocka_unit_test(a_wire_that_stands_still_for_long_makes_nobody_silent),
		cmocka_unit_test(a_pause_of_our_own_makes_nobody_silent),
		cmocka_unit_test(the_dead_are_found_out_by_asking_the_living),
		cmocka_unit_test(a_node_that_has_just_left_a_question_open_is_not_waited_for_as_long),
		cmocka_unit_test(late_answers_count_once_while_their_question_is_open),
		cmocka_unit_test(a_wire_that_loses_mads_gets_more_tries),
		cmocka_unit_test(where_everybody_is_dead_it_ends_all_the_same),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
