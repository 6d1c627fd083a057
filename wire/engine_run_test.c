/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* Runs that are cut, limits that change, and the content of requests. */
#include <stdbool.h>
#include <string.h>

#include "base/clock.h"
#include "base/unit_test.h"
#include "wire/engine.h"
#include "wire/test_network.h"

/* Slow nodes, one of them unresponsive, and a low rate. */
TEST(a_run_is_cut_at_its_deadline)
{
	struct engine_settings settings = { .window = 16, .per_node = 1, .timeout_ms = 1000, .retries = 2 };

	for (unsigned variant = 0; variant < 3; variant++) {
		struct bed *bed;
		int64_t deadline_us;
		uint32_t total, cut;

		settings.max_mads_per_s = variant == 2 ? 1000 : 0;
		bed = bed_create(3 + variant, &settings);
		bed->network.latency_us = 3000;
		bed->network.dead[1] = variant > 0;
		total = bed_submit(bed, 20);
		deadline_us = bed->network.now_us + 30 * US_PER_MS;
		assert_int_equal(engine_run(bed->engine, deadline_us, NULL), ENGINE_CUT);
		assert_in_range(bed->network.now_us, deadline_us, deadline_us + 2 * US_PER_MS);
		for (uint32_t i = 0; i < total; i++)
			assert_int_equal(bed->tally.calls[i], 1);
		assert_true(bed->tally.answered > 0 && bed->tally.cancelled > 0);
		assert_int_equal(bed->tally.answered + bed->tally.cancelled + bed->tally.timed_out, total);
		/* Responses to requests in flight count as late; no callback runs twice. */
		cut = bed->tally.cancelled;
		while (engine_listen(bed->engine, 5) && bed->network.now_us < deadline_us + 500 * US_PER_MS)
			;
		assert_true(engine_counts(bed->engine).late > 0);
		assert_int_equal(bed->tally.cancelled, cut);
		/* The next run has the whole window. */
		memset(&bed->tally, 0, sizeof(bed->tally));
		bed->network.dead[1] = false;
		bed->network.open_max = bed->network.open = 0;
		memset(bed->network.open_of, 0, sizeof(bed->network.open_of));
		engine_set_rate(bed->engine, 0, 16);
		total = bed_submit(bed, 2);
		assert_int_equal(engine_run(bed->engine, bed->network.now_us + 10 * US_PER_S, NULL), 0);
		assert_int_equal(bed->tally.answered, total);
		assert_int_equal(bed->network.open_max, 16);
		bed_destroy(bed);
	}
}

TEST(a_deadline_that_is_past_sends_nothing)
{
	struct engine_settings settings = { .window = 16, .per_node = 1, .timeout_ms = 100, .retries = 2 };
	struct bed *bed = bed_create(1, &settings);
	uint32_t total;

	total = bed_submit(bed, 3);
	assert_int_equal(engine_run(bed->engine, bed->network.now_us, NULL), ENGINE_CUT);
	assert_int_equal(bed->tally.cancelled, total);
	assert_int_equal(bed->network.sent, 0);
	assert_false(engine_listen(bed->engine, 1));
	bed_destroy(bed);
}

/* Number of calls until stop_after() returns true. */
static unsigned calls_until_stop;

static bool stop_after(void)
{
	return calls_until_stop == 0 || --calls_until_stop == 0;
}

TEST(a_stop_cuts_a_run_without_deadline)
{
	struct engine_settings settings = { .window = 8, .per_node = 1, .timeout_ms = 1000, .retries = 5 };
	struct bed *bed = bed_create(1, &settings);
	uint32_t total;
	int64_t start_us;

	for (uint32_t i = 0; i <= NETWORK_NODES; i++)
		bed->network.dead[i] = i % 2;
	total = bed_submit(bed, 5);
	start_us = bed->network.now_us;
	calls_until_stop = 40;
	engine_stop_when(bed->engine, stop_after);
	assert_int_equal(engine_run(bed->engine, 0, NULL), ENGINE_CUT);
	assert_true(bed->network.now_us - start_us <= 50 * US_PER_MS);
	for (uint32_t i = 0; i < total; i++)
		assert_int_equal(bed->tally.calls[i], 1);
	assert_true(bed->tally.cancelled > total / 2);
	engine_stop_when(bed->engine, NULL);
	memset(bed->network.dead, 0, sizeof(bed->network.dead));
	total = bed_poll(bed, 5);
	assert_int_equal(bed->tally.answered, total);
	bed_destroy(bed);
}

/* Sixty requests to one node, submitted after two to each other node. */
TEST(a_long_queue_does_not_wait_for_short_ones)
{
	struct engine_settings settings = { .window = 8, .per_node = 1, .timeout_ms = 1000, .retries = 2 };
	struct bed *bed = bed_create(1, &settings);
	uint32_t total = bed_submit_to(bed, NETWORK_NODES - 1, 2, tally_on_done);
	int64_t start_us = bed->network.now_us;

	bed->network.latency_us = 100;
	for (uint32_t i = 0; i < 60; i++, total++)
		assert_int_equal(engine_submit(bed->engine, &(struct request){
			.node = NETWORK_NODES - 1, .to.lid = NETWORK_NODES, .mgmt_class = CLASS_PERFORMANCE,
			.port_select = (uint8_t)i, .attribute = PMA_PORT_COUNTERS, .modifier = i, .tag = total,
			.done = tally_on_done, .ctx = &bed->tally }, NULL), 0);
	assert_int_equal(engine_run(bed->engine, 0, NULL), 0);
	assert_int_equal(bed->tally.answered, total);
	assert_int_equal(bed->tally.wrong, 0);
	/* 60 times 100 us, and a microsecond for each other request. */
	assert_in_range(bed->network.now_us - start_us, 6000, 6800);
	bed_destroy(bed);
}

static void on_done_count_sent(void *ctx, const struct request *request, const struct response *response)
{
	struct tally *tally = ctx;
	struct bed *bed = (struct bed *)((char *)tally - offsetof(struct bed, tally));

	tally_on_done(ctx, request, response);
	/* The next request was sent; the response has its time of arrival. */
	assert_int_equal(bed->network.sent, request->tag < 9 ? request->tag + 2 : 10);
	assert_true(response->at_us < bed->network.now_us || request->tag == 9);
}

TEST(the_next_request_is_sent_before_the_callback)
{
	struct engine_settings settings = { .window = 8, .per_node = 1, .timeout_ms = 1000, .retries = 2 };
	struct bed *bed = bed_create(1, &settings);

	bed->network.latency_us = 100;
	assert_int_equal(bed_submit_to(bed, 1, 10, on_done_count_sent), 10);
	assert_int_equal(engine_run(bed->engine, 0, NULL), 0);
	assert_int_equal(bed->tally.answered, 10);
	bed_destroy(bed);
}

/* Change the limits after 100 responses. */
static void on_done_slow_down(void *ctx, const struct request *request, const struct response *response)
{
	struct tally *tally = ctx;

	tally_on_done(ctx, request, response);
	if (tally->answered == 100)
		engine_set_rate(tally->engine, 500, 4);
}

TEST(limits_change_in_mid_run)
{
	struct engine_settings settings = { .window = 64, .per_node = 4, .timeout_ms = 100, .retries = 0 };
	struct bed *bed = bed_create(1, &settings);
	uint32_t tag;
	int64_t start_us, fast_us;

	start_us = bed->network.now_us;
	tag = bed_submit_to(bed, NETWORK_NODES, 10, on_done_slow_down);
	assert_int_equal(engine_run(bed->engine, 0, NULL), 0);
	assert_int_equal(bed->tally.answered, tag);
	/* At most 164 were sent before; 336 or more at 500 per second. */
	assert_in_range(bed->network.now_us - start_us, 600 * US_PER_MS, 850 * US_PER_MS);
	/* Between runs, without a limit. */
	engine_set_rate(bed->engine, 0, 1000);
	bed->network.open_max = bed->network.open = 0;
	memset(bed->network.open_of, 0, sizeof(bed->network.open_of));
	memset(bed->network.last_modifier, 0, sizeof(bed->network.last_modifier));
	fast_us = bed->network.now_us;
	bed_poll(bed, 10);
	assert_true(bed->network.now_us - fast_us < 50 * US_PER_MS);
	assert_int_equal(bed->network.open_max, ENGINE_WINDOW_MAX);
	bed_destroy(bed);
}

static void send_one(struct bed *bed, const struct request *request)
{
	struct request counted = *request;

	counted.done = tally_on_done;
	counted.ctx = &bed->tally;
	assert_int_equal(engine_submit(bed->engine, &counted, NULL), 0);
	assert_int_equal(engine_run(bed->engine, 0, NULL), 0);
}

TEST(addresses_and_keys_reach_the_wire)
{
	const struct mad_address far = { .lid = 7, .sl = 3, .qp = 0x123456, .qkey = 0x80020000 };
	struct engine_settings settings = { .window = 1, .per_node = 1, .timeout_ms = 100 };
	struct bed *bed = bed_create(1, &settings);

	send_one(bed, &(struct request){ .node = 1, .to = far, .mgmt_class = CLASS_PERFORMANCE,
						  .port_select = 9, .attribute = PMA_PORT_COUNTERS,
						  .mkey = 0x0102030405060708 });
	assert_int_equal(bed->network.last_to.lid, 7);
	assert_int_equal(bed->network.last_to.sl, 3);
	assert_int_equal(bed->network.last_to.qp, 0x123456);
	assert_int_equal(bed->network.last_to.qkey, 0x80020000);
	assert_int_equal(bed->network.last_sent[65], 9);
	/* The PM_Key of a performance MAD has the place of the M_Key of an SMP. */
	for (int i = 24; i < 32; i++)
		assert_int_equal(bed->network.last_sent[i], i - 23);
	send_one(bed, &(struct request){ .node = 1, .to.lid = 7, .mgmt_class = CLASS_SUBN_LID,
						  .attribute = SMP_NODE_INFO, .mkey = 0x0102030405060708 });
	for (int i = 24; i < 32; i++)
		assert_int_equal(bed->network.last_sent[i], i - 23);
	assert_int_equal(bed->network.last_to.qp, 0);
	bed_destroy(bed);
}
