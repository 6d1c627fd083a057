/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* The engine against a network that delays, loses, duplicates and invents MADs. */
#include <setjmp.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "base/clock.h"
#include "base/err.h"
#include "wire/engine.h"
#include "wire/test_network.h"

static void each_request_is_answered_once_within_the_limits(void **state)
{
	unsigned seed;

	(void)state;
	for (seed = 1; seed <= 20; seed++) {
		struct engine_settings settings = { .window = 1 + seed * 6, .per_node = 1 + seed % 3,
						    .timeout_ms = 100, .retries = 1 };
		struct network *network = malloc(sizeof(*network));
		struct tally *tally = calloc(1, sizeof(*tally));
		struct engine *engine;
		uint32_t total, i;

		network_init(network, seed);
		network->jitter_us = seed * 10;
		assert_int_equal(engine_create(&network->transport, &network->clock, &settings, &engine, NULL), 0);
		total = tally_submit_all(engine, tally, 60);
		assert_int_equal(engine_run(engine, 0, NULL), 0);
		for (i = 0; i < total; i++)
			assert_int_equal(tally->told[i], 1);
		assert_int_equal(tally->answered, total);
		assert_int_equal(tally->wrong, 0);
		assert_true(network->open_max <= settings.window);
		assert_true(network->open_of_max <= settings.per_node);
		if (settings.window >= NETWORK_NODES * settings.per_node)
			assert_int_equal(network->open_of_max, settings.per_node);
		assert_false(network->out_of_order);
		assert_int_equal(engine_counts(engine).sent, total);
		engine_destroy(engine);
		free(tally);
		free(network);
	}
}

static void noise_and_duplicates_answer_nothing(void **state)
{
	struct engine_settings settings = { .window = 32, .per_node = 2, .timeout_ms = 50, .retries = 2 };
	unsigned seed;

	(void)state;
	for (seed = 1; seed <= 20; seed++) {
		struct network *network = malloc(sizeof(*network));
		struct tally *tally = calloc(1, sizeof(*tally));
		struct engine *engine;
		uint32_t total, i;

		network_init(network, seed);
		network->duplicate_percent = 20;
		network->noise_percent = 20;
		assert_int_equal(engine_create(&network->transport, &network->clock, &settings, &engine, NULL), 0);
		total = tally_submit_all(engine, tally, 20);
		assert_int_equal(engine_run(engine, 0, NULL), 0);
		for (i = 0; i < total; i++)
			assert_int_equal(tally->told[i], 1);
		assert_int_equal(tally->answered, total);
		assert_int_equal(tally->wrong, 0);
		assert_true(engine_counts(engine).ignored > 0);
		engine_destroy(engine);
		free(tally);
		free(network);
	}
}

/* Lost without a word, and lost with the kernel's own timeout. */
static void lost_mads_are_asked_again_and_the_dead_time_out(void **state)
{
	unsigned variant;

	(void)state;
	for (variant = 0; variant < 2; variant++) {
		struct engine_settings settings = { .window = 16, .per_node = 1, .timeout_ms = 10, .retries = 6 };
		struct network *network = malloc(sizeof(*network));
		struct tally *tally = calloc(1, sizeof(*tally));
		struct engine *engine;
		uint32_t total, i;

		network_init(network, 7);
		network->kernel_times_out = variant;
		network->loss_percent = 20;
		network->dead[3] = network->dead[NETWORK_NODES] = true;
		assert_int_equal(engine_create(&network->transport, &network->clock, &settings, &engine, NULL), 0);
		total = tally_submit_all(engine, tally, 10);
		assert_int_equal(engine_run(engine, 0, NULL), 0);
		for (i = 0; i < total; i++)
			assert_int_equal(tally->told[i], 1);
		/* 0.2^7 of a living node's questions stay open: none of 480 with this seed. */
		assert_int_equal(tally->timed_out, 20);
		assert_int_equal(tally->answered, total - 20);
		assert_int_equal(tally->wrong, 0);
		assert_int_equal(engine_counts(engine).sent,
				 total + engine_counts(engine).retried + engine_counts(engine).probes);
		assert_int_equal(engine_counts(engine).timed_out, engine_counts(engine).retried + 20);
		engine_destroy(engine);
		free(tally);
		free(network);
	}
}

static void a_late_answer_is_ignored(void **state)
{
	struct engine_settings settings = { .window = 4, .per_node = 1, .timeout_ms = 1, .retries = 0 };
	struct network *network = malloc(sizeof(*network));
	struct tally *tally = calloc(1, sizeof(*tally));
	struct engine *engine;
	uint32_t total;

	(void)state;
	network_init(network, 1);
	network->latency_us = 1500; /* beyond the timeout */
	assert_int_equal(engine_create(&network->transport, &network->clock, &settings, &engine, NULL), 0);
	total = tally_submit_all(engine, tally, 2);
	assert_int_equal(engine_run(engine, 0, NULL), 0);
	assert_int_equal(tally->timed_out, total);
	assert_int_equal(tally->answered, 0);
	assert_true(engine_counts(engine).late > 0);
	engine_destroy(engine);
	free(tally);
	free(network);
}

static void the_rate_limit_holds_over_time(void **state)
{
	static const unsigned rates[] = { 100, 1000, 20000 };
	size_t i;

	(void)state;
	for (i = 0; i < sizeof(rates) / sizeof(rates[0]); i++) {
		struct engine_settings settings = { .window = 32, .per_node = 1, .max_mads_per_s = rates[i],
						    .timeout_ms = 100, .retries = 0 };
		struct network *network = malloc(sizeof(*network));
		struct tally *tally = calloc(1, sizeof(*tally));
		struct engine *engine;
		int64_t start_us, least_us;
		uint32_t total;

		network_init(network, 1);
		start_us = network->now_us;
		assert_int_equal(engine_create(&network->transport, &network->clock, &settings, &engine, NULL), 0);
		total = tally_submit_all(engine, tally, 20);
		assert_int_equal(engine_run(engine, 0, NULL), 0);
		assert_int_equal(tally->answered, total);
		least_us = (int64_t)total * 1000000 / rates[i];
		assert_true(network->now_us - start_us > least_us * 9 / 10);
		assert_true(network->now_us - start_us < least_us * 13 / 10);
		engine_destroy(engine);
		free(tally);
		free(network);
	}
}

static void a_broken_device_cancels_everything(void **state)
{
	struct engine_settings settings = { .window = 32, .per_node = 1, .timeout_ms = 100, .retries = 1 };
	struct network *network = malloc(sizeof(*network));
	struct tally *tally = calloc(1, sizeof(*tally));
	struct error err = { 0 };
	struct engine *engine;
	uint32_t total, i;

	(void)state;
	network_init(network, 1);
	network->broken = true;
	assert_int_equal(engine_create(&network->transport, &network->clock, &settings, &engine, NULL), 0);
	total = tally_submit_all(engine, tally, 3);
	assert_int_equal(engine_run(engine, 0, &err), ERR_UNAVAILABLE);
	for (i = 0; i < total; i++)
		assert_int_equal(tally->told[i], 1);
	assert_int_equal(tally->cancelled, total);
	/* And it is usable again afterwards. */
	network->broken = false;
	memset(tally, 0, sizeof(*tally));
	total = tally_submit_all(engine, tally, 3);
	assert_int_equal(engine_run(engine, 0, NULL), 0);
	assert_int_equal(tally->answered, total);
	engine_destroy(engine);
	free(tally);
	free(network);
}

static void drop_on_first(void *ctx, const struct request *request, enum request_result result,
			  const uint8_t mad[MAD_SIZE], int64_t at_us)
{
	struct tally *tally = ctx;

	tally_on_done(ctx, request, result, mad, at_us);
	if (result == REQUEST_TIMED_OUT)
		engine_drop_node(tally->engine, request->node);
}

static void dropping_a_node_cancels_only_its_queue(void **state)
{
	struct engine_settings settings = { .window = 8, .per_node = 1, .timeout_ms = 10, .retries = 0 };
	struct network *network = malloc(sizeof(*network));
	struct tally *tally = calloc(1, sizeof(*tally));
	unsigned node, i;
	uint32_t tag = 0;

	(void)state;
	network_init(network, 1);
	network->dead[2] = true;
	assert_int_equal(engine_create(&network->transport, &network->clock, &settings, &tally->engine, NULL), 0);
	for (node = 0; node < 4; node++)
		for (i = 0; i < 5; i++, tag++)
			engine_submit(tally->engine, &(struct request){
				.node = node, .to.lid = (uint16_t)(node + 1), .mgmt_class = CLASS_PERFORMANCE,
				.port_select = (uint8_t)i, .attribute = PMA_PORT_COUNTERS, .modifier = i, .tag = tag,
				.done = drop_on_first, .ctx = tally }, NULL);
	assert_int_equal(engine_run(tally->engine, 0, NULL), 0);
	assert_int_equal(tally->timed_out, 1);
	assert_int_equal(tally->cancelled, 4);
	assert_int_equal(tally->answered, 15);
	engine_destroy(tally->engine);
	free(tally);
	free(network);
}

static void note_answer(void *ctx, const struct request *request, enum request_result result,
			const uint8_t mad[MAD_SIZE], int64_t at_us)
{
	unsigned *answered = ctx;

	(void)mad;
	(void)at_us;
	answered[request->node] += result == REQUEST_ANSWERED;
}

/* Ten questions to each node, cut in the middle. Return: how many nodes were begun with and not finished. */
static unsigned count_half_asked(bool finish_nodes)
{
	struct engine_settings settings = { .window = 4, .per_node = 1, .timeout_ms = 100, .retries = 1 };
	struct network *network = malloc(sizeof(*network));
	unsigned answered[NETWORK_NODES] = { 0 }, half = 0, all = 0;
	struct engine *engine;
	uint32_t node, i;

	network_init(network, 5);
	assert_int_equal(engine_create(&network->transport, &network->clock, &settings, &engine, NULL), 0);
	engine_finish_nodes(engine, finish_nodes);
	for (node = 0; node < NETWORK_NODES; node++)
		for (i = 0; i < 10; i++)
			engine_submit(engine, &(struct request){
				.node = node, .to.lid = (uint16_t)(node + 1), .mgmt_class = CLASS_PERFORMANCE,
				.port_select = (uint8_t)i, .attribute = PMA_PORT_COUNTERS, .modifier = i,
				.done = note_answer, .ctx = answered }, NULL);
	assert_int_equal(engine_run(engine, network->now_us + 1500, NULL), ENGINE_CUT);
	for (node = 0; node < NETWORK_NODES; node++) {
		half += answered[node] > 0 && answered[node] < 10;
		all += answered[node];
	}
	assert_in_range(all, 100, 400);
	engine_destroy(engine);
	free(network);
	return half;
}

static void a_cut_leaves_few_nodes_half_asked(void **state)
{
	(void)state;
	assert_true(count_half_asked(false) > NETWORK_NODES - 4);
	assert_true(count_half_asked(true) <= 4);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(each_request_is_answered_once_within_the_limits),
		cmocka_unit_test(noise_and_duplicates_answer_nothing),
		cmocka_unit_test(lost_mads_are_asked_again_and_the_dead_time_out),
		cmocka_unit_test(a_late_answer_is_ignored),
		cmocka_unit_test(the_rate_limit_holds_over_time),
		cmocka_unit_test(a_broken_device_cancels_everything),
		cmocka_unit_test(dropping_a_node_cancels_only_its_queue),
		cmocka_unit_test(a_cut_leaves_few_nodes_half_asked),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
