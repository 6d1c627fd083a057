/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
#include "wire/test_network.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "base/err.h"
#include "base/map.h"

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

	assert_true(network->count < NETWORK_FLYING_MAX);
	if (at_us >= network->stall_from_us && at_us < network->stall_to_us)
		at_us = network->stall_to_us + (at_us - network->stall_from_us) / 100;
	memcpy(flying->mad, mad, MAD_SIZE);
	flying->at_us = at_us;
	flying->event = event;
}

static int network_send(void *ctx, const struct mad_address *to, const uint8_t mad[MAD_SIZE], unsigned timeout_ms,
			struct error *err)
{
	struct network *network = ctx;
	uint16_t lid = to->lid;
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
	network->last_to = *to;
	memcpy(network->last_sent, mad, MAD_SIZE);
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

/* MADs that match no request. */
static void make_noise(struct network *network, const uint8_t mad[MAD_SIZE])
{
	uint8_t noise[MAD_SIZE];

	if (chance(network, network->duplicate_percent))
		fly(network, mad, network->now_us + 5, TRANSPORT_MAD);
	if (!chance(network, network->noise_percent))
		return;
	for (size_t i = 0; i < MAD_SIZE; i++)
		noise[i] = (uint8_t)next_random(network);
	fly(network, noise, network->now_us + 1, chance(network, 50) ? TRANSPORT_MAD : TRANSPORT_TIMEOUT);
	/* A request with a transaction id that is in use here. */
	memcpy(noise, mad, MAD_SIZE);
	noise[3] = METHOD_GET;
	fly(network, noise, network->now_us + 1, TRANSPORT_MAD);
	/* A response of another attribute with such an id. */
	memcpy(noise, mad, MAD_SIZE);
	noise[17] ^= 0x40;
	fly(network, noise, network->now_us + 1, TRANSPORT_MAD);
}

static int network_receive(void *ctx, uint8_t mad[MAD_SIZE], unsigned timeout_ms, struct error *err)
{
	struct network *network = ctx;
	int64_t until_us = network->now_us + timeout_ms * US_PER_MS;
	size_t best = network->count;
	enum transport_event event;
	uint16_t lid;

	(void)err;
	if (network->pause_us && network->now_us >= network->pause_at_us) {
		network->now_us += network->pause_us;
		network->pause_us = 0;
	}
	for (size_t i = 0; i < network->count; i++)
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
	if (lid <= NETWORK_NODES && network->open_of[lid] && mad[3] != 0) {
		/* Only the first copy ends a request; forged ones cannot undercount by much. */
		network->open_of[lid]--;
		network->open--;
	}
	if (event == TRANSPORT_MAD && mad[3] == METHOD_GET_RESPONSE && mad[1] == CLASS_PERFORMANCE &&
	    mad[17] == PMA_PORT_COUNTERS && network->count < NETWORK_FLYING_MAX - 8)
		make_noise(network, mad);
	return event;
}

/* 20 us latency, at one second of its clock. */
static void network_init(struct network *network, uint64_t seed)
{
	memset(network, 0, sizeof(*network));
	network->random = seed;
	network->latency_us = 20;
	network->now_us = 1000000;
	network->clock = (struct clock){ .boottime_us = now_us, .wall_us = now_us, .ctx = network };
	network->transport = (struct transport){ network_send, network_receive, network };
}

void tally_on_done(void *ctx, const struct request *request, const struct response *response)
{
	struct tally *tally = ctx;

	tally->calls[request->tag]++;
	if (response->result == REQUEST_ANSWERED) {
		tally->answered++;
		/* The response is to this request. */
		if (get_be16(response->mad + 200) != request->to.lid ||
		    get_be32(response->mad + 20) != request->modifier || response->at_us <= 0 ||
		    response->mad[PMA_DATA_OFFSET + 1] != request->port_select)
			tally->wrong++;
	} else if (response->result == REQUEST_TIMED_OUT) {
		tally->timed_out++;
	} else {
		tally->cancelled++;
	}
}

struct bed *bed_create(uint64_t seed, const struct engine_settings *settings)
{
	struct bed *bed = calloc(1, sizeof(*bed));

	assert_non_null(bed);
	network_init(&bed->network, seed);
	assert_int_equal(engine_create(&bed->network.transport, &bed->network.clock, settings, &bed->engine, NULL), 0);
	bed->tally.engine = bed->engine;
	return bed;
}

void bed_destroy(struct bed *bed)
{
	engine_destroy(bed->engine);
	free(bed);
}

uint32_t bed_submit_to(struct bed *bed, unsigned nodes, unsigned per_node, request_done *done)
{
	uint32_t tag = 0;

	for (unsigned node = 0; node < nodes; node++)
		for (unsigned i = 0; i < per_node; i++, tag++)
			assert_int_equal(engine_submit(bed->engine, &(struct request){
				.node = node, .to.lid = (uint16_t)(node + 1), .mgmt_class = CLASS_PERFORMANCE,
				.port_select = (uint8_t)i, .attribute = PMA_PORT_COUNTERS, .modifier = i, .tag = tag,
				.done = done, .ctx = &bed->tally }, NULL), 0);
	return tag;
}

uint32_t bed_submit(struct bed *bed, unsigned per_node)
{
	return bed_submit_to(bed, NETWORK_NODES, per_node, tally_on_done);
}

uint32_t bed_poll(struct bed *bed, unsigned per_node)
{
	uint32_t total;

	bed->tally = (struct tally){ .engine = bed->engine };
	total = bed_submit(bed, per_node);
	assert_int_equal(engine_run(bed->engine, 0, NULL), 0);
	for (uint32_t i = 0; i < total; i++)
		assert_int_equal(bed->tally.calls[i], 1);
	return total;
}
