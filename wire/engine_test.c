/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* The engine on a network that delays, loses, duplicates and forges MADs. */
#include <stdbool.h>

#include "base/err.h"
#include "base/unit_test.h"
#include "wire/engine.h"
#include "wire/test_network.h"

TEST(each_request_is_answered_once_within_the_limits)
{
	for (unsigned seed = 1; seed <= 20; seed++) {
		struct engine_settings settings = { .window = 1 + seed * 6, .per_node = 1 + seed % 3,
						    .timeout_ms = 100, .retries = 1 };
		struct bed *bed = bed_create(seed, &settings);
		uint32_t total;

		bed->network.jitter_us = seed * 10;
		total = bed_poll(bed, 60);
		assert_int_equal(bed->tally.answered, total);
		assert_int_equal(bed->tally.wrong, 0);
		assert_true(bed->network.open_max <= settings.window);
		assert_true(bed->network.open_of_max <= settings.per_node);
		if (settings.window >= NETWORK_NODES * settings.per_node)
			assert_int_equal(bed->network.open_of_max, settings.per_node);
		assert_false(bed->network.out_of_order);
		assert_int_equal(engine_counts(bed->engine).sent, total);
		bed_destroy(bed);
	}
}

TEST(forged_and_duplicate_mads_are_ignored)
{
	struct engine_settings settings = { .window = 32, .per_node = 2, .timeout_ms = 50, .retries = 2 };

	for (unsigned seed = 1; seed <= 20; seed++) {
		struct bed *bed = bed_create(seed, &settings);
		uint32_t total;

		bed->network.duplicate_percent = 20;
		bed->network.noise_percent = 20;
		total = bed_poll(bed, 20);
		assert_int_equal(bed->tally.answered, total);
		assert_int_equal(bed->tally.wrong, 0);
		assert_true(engine_counts(bed->engine).ignored > 0);
		bed_destroy(bed);
	}
}

/* Lost silently, and with the timeout of the kernel. */
TEST(lost_requests_are_retried_and_unresponsive_nodes_time_out)
{
	for (unsigned variant = 0; variant < 2; variant++) {
		struct engine_settings settings = { .window = 16, .per_node = 1, .timeout_ms = 10, .retries = 6 };
		struct bed *bed = bed_create(7, &settings);
		uint32_t total;

		bed->network.kernel_times_out = variant;
		bed->network.loss_percent = 20;
		bed->network.dead[3] = bed->network.dead[NETWORK_NODES] = true;
		total = bed_poll(bed, 10);
		/* 0.2^7 of the other requests time out: none of 480 with this seed. */
		assert_int_equal(bed->tally.timed_out, 20);
		assert_int_equal(bed->tally.answered, total - 20);
		assert_int_equal(bed->tally.wrong, 0);
		assert_int_equal(engine_counts(bed->engine).sent,
				 total + engine_counts(bed->engine).retried + engine_counts(bed->engine).probes);
		assert_int_equal(engine_counts(bed->engine).timed_out, engine_counts(bed->engine).retried + 20);
		bed_destroy(bed);
	}
}

TEST(a_late_response_is_ignored)
{
	struct engine_settings settings = { .window = 4, .per_node = 1, .timeout_ms = 1, .retries = 0 };
	struct bed *bed = bed_create(1, &settings);
	uint32_t total;

	bed->network.latency_us = 1500; /* beyond the timeout */
	total = bed_poll(bed, 2);
	assert_int_equal(bed->tally.timed_out, total);
	assert_int_equal(bed->tally.answered, 0);
	assert_true(engine_counts(bed->engine).late > 0);
	bed_destroy(bed);
}

TEST(the_rate_limit_holds_over_time)
{
	static const unsigned rates[] = { 100, 1000, 20000 };

	for (size_t i = 0; i < sizeof(rates) / sizeof(rates[0]); i++) {
		struct engine_settings settings = { .window = 32, .per_node = 1, .max_mads_per_s = rates[i],
						    .timeout_ms = 100, .retries = 0 };
		struct bed *bed = bed_create(1, &settings);
		int64_t start_us, least_us;
		uint32_t total;

		start_us = bed->network.now_us;
		total = bed_poll(bed, 20);
		assert_int_equal(bed->tally.answered, total);
		least_us = (int64_t)total * 1000000 / rates[i];
		assert_true(bed->network.now_us - start_us > least_us * 9 / 10);
		assert_true(bed->network.now_us - start_us < least_us * 13 / 10);
		bed_destroy(bed);
	}
}

TEST(a_broken_device_cancels_everything)
{
	struct engine_settings settings = { .window = 32, .per_node = 1, .timeout_ms = 100, .retries = 1 };
	struct bed *bed = bed_create(1, &settings);
	struct error err = { 0 };
	uint32_t total;

	bed->network.broken = true;
	total = bed_submit(bed, 3);
	assert_int_equal(engine_run(bed->engine, 0, &err), ERR_UNAVAILABLE);
	for (uint32_t i = 0; i < total; i++)
		assert_int_equal(bed->tally.calls[i], 1);
	assert_int_equal(bed->tally.cancelled, total);
	/* The engine remains usable. */
	bed->network.broken = false;
	total = bed_poll(bed, 3);
	assert_int_equal(bed->tally.answered, total);
	bed_destroy(bed);
}

static void drop_on_first(void *ctx, const struct request *request, const struct response *response)
{
	struct tally *tally = ctx;

	tally_on_done(ctx, request, response);
	if (response->result == REQUEST_TIMED_OUT)
		engine_drop_node(tally->engine, request->node);
}

TEST(dropping_a_node_cancels_only_its_queue)
{
	struct engine_settings settings = { .window = 8, .per_node = 1, .timeout_ms = 10, .retries = 0 };
	struct bed *bed = bed_create(1, &settings);

	bed->network.dead[2] = true;
	bed_submit_to(bed, 4, 5, drop_on_first);
	assert_int_equal(engine_run(bed->engine, 0, NULL), 0);
	assert_int_equal(bed->tally.timed_out, 1);
	assert_int_equal(bed->tally.cancelled, 4);
	assert_int_equal(bed->tally.answered, 15);
	bed_destroy(bed);
}

static void count_response(void *ctx, const struct request *request, const struct response *response)
{
	unsigned *answered = ctx;

	answered[request->node] += response->result == REQUEST_ANSWERED;
}

/* A cut run of ten requests to each node. Return: number of nodes with some responses. */
static unsigned count_half_polled(bool finish_nodes)
{
	struct engine_settings settings = { .window = 4, .per_node = 1, .timeout_ms = 100, .retries = 1 };
	struct bed *bed = bed_create(5, &settings);
	unsigned answered[NETWORK_NODES] = { 0 }, half = 0, all = 0;

	engine_finish_nodes(bed->engine, finish_nodes);
	for (uint32_t node = 0; node < NETWORK_NODES; node++)
		for (uint32_t i = 0; i < 10; i++)
			engine_submit(bed->engine, &(struct request){
				.node = node, .to.lid = (uint16_t)(node + 1), .mgmt_class = CLASS_PERFORMANCE,
				.port_select = (uint8_t)i, .attribute = PMA_PORT_COUNTERS, .modifier = i,
				.done = count_response, .ctx = answered }, NULL);
	assert_int_equal(engine_run(bed->engine, bed->network.now_us + 1500, NULL), ENGINE_CUT);
	for (uint32_t node = 0; node < NETWORK_NODES; node++) {
		half += answered[node] > 0 && answered[node] < 10;
		all += answered[node];
	}
	assert_in_range(all, 100, 400);
	bed_destroy(bed);
	return half;
}

TEST(a_cut_run_leaves_few_nodes_half_polled)
{
	assert_true(count_half_polled(false) > NETWORK_NODES - 4);
	assert_true(count_half_polled(true) <= 4);
}
