/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * The engine against a network in virtual time that delays, loses, duplicates
 * and invents MADs, and that watches the limits from the other side.
 */
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
#include "base/map.h"
#include "wire/engine.h"
#include "wire/transport.h"

#define NODES 50
#define FLYING_MAX 4096

struct flying {
	int64_t at_us;
	uint8_t mad[MAD_SIZE];
	enum transport_event event;
};

struct network {
	struct clock clock;
	struct transport transport;
	int64_t now_us;
	uint64_t random;
	struct flying flying[FLYING_MAX];
	size_t count;
	unsigned loss_percent, duplicate_percent, noise_percent;
	bool kernel_times_out;  /* lost MADs come back as timeouts, as the kernel does */
	bool dead[NODES + 1];   /* by LID */
	bool broken;            /* sends fail */
	int64_t latency_us, jitter_us;
	uint64_t sent;
	/* What the network saw of the limits. */
	unsigned open, open_max, open_of[NODES + 1], open_of_max;
	uint32_t last_modifier[NODES + 1];
	bool out_of_order;
};

static uint64_t next_random(struct network *network)
{
	return network->random = map_mix(network->random + 0x9e3779b97f4a7c15ULL);
}

static bool chance(struct network *network, unsigned percent)
{
	return next_random(network) % 100 < percent;
}

static int64_t now_us(void *ctx)
{
	return ((struct network *)ctx)->now_us;
}

static void fly(struct network *network, const uint8_t mad[MAD_SIZE], int64_t at_us, enum transport_event event)
{
	struct flying *flying = &network->flying[network->count++];

	assert_true(network->count < FLYING_MAX);
	memcpy(flying->mad, mad, MAD_SIZE);
	flying->at_us = at_us;
	flying->event = event;
}

static int network_send(void *ctx, uint16_t lid, const uint8_t mad[MAD_SIZE], unsigned timeout_ms, struct error *err)
{
	struct network *network = ctx;
	struct mad_header header = mad_read_header(mad);
	int64_t travel_us = network->latency_us + (int64_t)(next_random(network) % (uint64_t)(network->jitter_us + 1));
	uint8_t answer[MAD_SIZE];

	if (network->broken)
		return err_set(err, ERR_UNAVAILABLE, "broken");
	network->sent++;
	network->now_us++;
	if (++network->open > network->open_max)
		network->open_max = network->open;
	if (++network->open_of[lid] > network->open_of_max)
		network->open_of_max = network->open_of[lid];
	if (header.modifier < network->last_modifier[lid])
		network->out_of_order = true;
	network->last_modifier[lid] = header.modifier;
	memcpy(answer, mad, MAD_SIZE);
	put_be16(answer + 200, lid);
	if (network->dead[lid] || chance(network, network->loss_percent)) {
		if (network->kernel_times_out)
			fly(network, answer, network->now_us + timeout_ms * US_PER_MS, TRANSPORT_TIMEOUT);
		else
			network->open--, network->open_of[lid]--;
		return 0;
	}
	answer[3] = METHOD_GET_RESPONSE;
	fly(network, answer, network->now_us + travel_us, TRANSPORT_MAD);
	return 0;
}

/* What may come although nobody waits for it: it must do no harm. */
static void make_noise(struct network *network, const uint8_t mad[MAD_SIZE])
{
	uint8_t noise[MAD_SIZE];
	size_t i;

	if (chance(network, network->duplicate_percent))
		fly(network, mad, network->now_us + 5, TRANSPORT_MAD);
	if (!chance(network, network->noise_percent))
		return;
	for (i = 0; i < MAD_SIZE; i++)
		noise[i] = (uint8_t)next_random(network);
	fly(network, noise, network->now_us + 1, chance(network, 50) ? TRANSPORT_MAD : TRANSPORT_TIMEOUT);
	/* A request from somebody else with a transaction id that is open here. */
	memcpy(noise, mad, MAD_SIZE);
	noise[3] = METHOD_GET;
	fly(network, noise, network->now_us + 1, TRANSPORT_MAD);
	/* An answer of another attribute under such an id. */
	memcpy(noise, mad, MAD_SIZE);
	noise[17] ^= 0x40;
	fly(network, noise, network->now_us + 1, TRANSPORT_MAD);
}

static int network_receive(void *ctx, uint8_t mad[MAD_SIZE], unsigned timeout_ms, struct error *err)
{
	struct network *network = ctx;
	int64_t until_us = network->now_us + timeout_ms * US_PER_MS;
	size_t best = network->count, i;
	enum transport_event event;
	uint16_t lid;

	(void)err;
	for (i = 0; i < network->count; i++)
		if (best == network->count || network->flying[i].at_us < network->flying[best].at_us)
			best = i;
	if (best == network->count || network->flying[best].at_us > until_us) {
		network->now_us = until_us;
		return TRANSPORT_NOTHING;
	}
	if (network->flying[best].at_us > network->now_us)
		network->now_us = network->flying[best].at_us;
	memcpy(mad, network->flying[best].mad, MAD_SIZE);
	event = network->flying[best].event;
	network->flying[best] = network->flying[--network->count];
	lid = get_be16(mad + 200);
	if (lid <= NODES && network->open_of[lid] && mad[3] != 0) {
		/* Only the first copy closes a question; noise that looks like one cannot undercount by much. */
		network->open_of[lid]--;
		network->open--;
	}
	if (event == TRANSPORT_MAD && mad[3] == METHOD_GET_RESPONSE && mad[1] == CLASS_PERFORMANCE &&
	    mad[17] == PMA_PORT_COUNTERS && network->count < FLYING_MAX - 8)
		make_noise(network, mad);
	return event;
}

static void network_init(struct network *network, uint64_t seed)
{
	memset(network, 0, sizeof(*network));
	network->random = seed;
	network->latency_us = 20;
	network->now_us = 1000000;
	network->clock = (struct clock){ .boottime_us = now_us, .wall_us = now_us, .ctx = network };
	network->transport = (struct transport){ network_send, network_receive, network };
}

/* What the owner of the requests was told. */
struct tally {
	struct engine *engine;
	unsigned told[8192];
	unsigned answered, timed_out, cancelled, wrong;
};

static void on_done(void *ctx, const struct request *request, enum request_result result,
		    const uint8_t mad[MAD_SIZE], int64_t at_us)
{
	struct tally *tally = ctx;

	tally->told[request->tag]++;
	if (result == REQUEST_ANSWERED) {
		tally->answered++;
		/* The answer must be to this very question, from the node that was asked. */
		if (get_be16(mad + 200) != request->lid || get_be32(mad + 20) != request->modifier || at_us <= 0 ||
		    mad[PMA_DATA_OFFSET + 1] != request->port_select)
			tally->wrong++;
	} else if (result == REQUEST_TIMED_OUT) {
		tally->timed_out++;
	} else {
		tally->cancelled++;
	}
}

static uint32_t submit_all(struct engine *engine, struct tally *tally, unsigned per_node)
{
	uint32_t tag = 0;
	unsigned node, i;

	for (node = 0; node < NODES; node++)
		for (i = 0; i < per_node; i++, tag++)
			assert_int_equal(engine_submit(engine, &(struct request){
				.node = node, .lid = (uint16_t)(node + 1), .mgmt_class = CLASS_PERFORMANCE,
				.port_select = (uint8_t)i, .attribute = PMA_PORT_COUNTERS, .modifier = i, .tag = tag,
				.done = on_done, .ctx = tally }, NULL), 0);
	return tag;
}

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
		total = submit_all(engine, tally, 60);
		assert_int_equal(engine_run(engine, NULL), 0);
		for (i = 0; i < total; i++)
			assert_int_equal(tally->told[i], 1);
		assert_int_equal(tally->answered, total);
		assert_int_equal(tally->wrong, 0);
		assert_true(network->open_max <= settings.window);
		assert_true(network->open_of_max <= settings.per_node);
		if (settings.window >= NODES * settings.per_node)
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
		total = submit_all(engine, tally, 20);
		assert_int_equal(engine_run(engine, NULL), 0);
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
		network->dead[3] = network->dead[NODES] = true;
		assert_int_equal(engine_create(&network->transport, &network->clock, &settings, &engine, NULL), 0);
		total = submit_all(engine, tally, 10);
		assert_int_equal(engine_run(engine, NULL), 0);
		for (i = 0; i < total; i++)
			assert_int_equal(tally->told[i], 1);
		/* 0.2^7 of a living node's questions stay open: none of 480 with this seed. */
		assert_int_equal(tally->timed_out, 20);
		assert_int_equal(tally->answered, total - 20);
		assert_int_equal(tally->wrong, 0);
		assert_int_equal(engine_counts(engine).sent, total + engine_counts(engine).retried);
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
	total = submit_all(engine, tally, 2);
	assert_int_equal(engine_run(engine, NULL), 0);
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
		total = submit_all(engine, tally, 20);
		assert_int_equal(engine_run(engine, NULL), 0);
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
	total = submit_all(engine, tally, 3);
	assert_int_equal(engine_run(engine, &err), ERR_UNAVAILABLE);
	for (i = 0; i < total; i++)
		assert_int_equal(tally->told[i], 1);
	assert_int_equal(tally->cancelled, total);
	/* And it is usable again afterwards. */
	network->broken = false;
	memset(tally, 0, sizeof(*tally));
	total = submit_all(engine, tally, 3);
	assert_int_equal(engine_run(engine, NULL), 0);
	assert_int_equal(tally->answered, total);
	engine_destroy(engine);
	free(tally);
	free(network);
}

static void drop_on_first(void *ctx, const struct request *request, enum request_result result,
			  const uint8_t mad[MAD_SIZE], int64_t at_us)
{
	struct tally *tally = ctx;

	on_done(ctx, request, result, mad, at_us);
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
				.node = node, .lid = (uint16_t)(node + 1), .mgmt_class = CLASS_PERFORMANCE,
				.port_select = (uint8_t)i, .attribute = PMA_PORT_COUNTERS, .modifier = i, .tag = tag,
				.done = drop_on_first, .ctx = tally }, NULL);
	assert_int_equal(engine_run(tally->engine, NULL), 0);
	assert_int_equal(tally->timed_out, 1);
	assert_int_equal(tally->cancelled, 4);
	assert_int_equal(tally->answered, 15);
	engine_destroy(tally->engine);
	free(tally);
	free(network);
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
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
