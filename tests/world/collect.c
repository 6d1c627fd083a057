/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
#include "tests/world/collect.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/clock.h"
#include "base/err.h"
#include "base/log.h"
#include "collector/collector.h"
#include "collector/topology_monitor.h"
#include "fabric/fabric.h"
#include "tests/world/agents.h"
#include "tests/world/virtual_state.h"
#include "wire/transport.h"

/* CLOCK_BOOTTIME at the beginning: the collector's machine has run for an hour. */
#define BOOT_BEGIN_US (3600 * US_PER_S)

/* Time to send a MAD; time until its response arrives. */
#define SEND_US 2
#define RESPONSE_US 40

/* One response in 200,000 is lost. */
#define LOST_ONE_IN 200000

/* Duration of a discovery; the first one ends when the first sweep begins. */
#define DISCOVERY_US (100 * US_PER_MS)

/*
 * Delay of the collector's start. Its periodic discoveries then do not coincide with the round times at
 * which the links of scenario files go down for seconds.
 */
#define START_US (7 * US_PER_S)

/* Responses on their way: the engine's window, retries included. */
#define RESPONSES_MAX 1024

struct response {
	int64_t at_us;
	uint8_t mad[MAD_SIZE];
};

struct run {
	struct virtual *world;
	int64_t now_us, wall_us, interval_us; /* now_us: since the beginning */
	int64_t discovery_end_us;
	bool discovered;
	int code; /* the first failure of the world itself */
	size_t first, count;
	struct response responses[RESPONSES_MAX];
	uint32_t port_of_lid[UINT16_MAX + 1];
};

static int64_t boottime_us(void *ctx)
{
	return BOOT_BEGIN_US + ((struct run *)ctx)->now_us;
}

static int64_t wall_us(void *ctx)
{
	return ((struct run *)ctx)->wall_us + ((struct run *)ctx)->now_us;
}

static void boot_id(void *ctx, char ret[BOOT_ID_SIZE])
{
	(void)ctx;
	snprintf(ret, BOOT_ID_SIZE, "00000000-0000-0000-0000-000000000001");
}

/* Advance the fabric to the clock; not with each MAD, because the cost is that of all ports. */
static void catch_up(struct run *run)
{
	if (run->code == 0)
		run->code = virtual_advance(run->world, run->now_us, NULL);
}

static void sleep_until(void *ctx, int64_t until_us)
{
	struct run *run = ctx;

	if (until_us - BOOT_BEGIN_US > run->now_us)
		run->now_us = until_us - BOOT_BEGIN_US;
	catch_up(run);
}

static int transport_send(void *ctx, const struct mad_address *to, const uint8_t mad[MAD_SIZE], unsigned timeout_ms,
			  struct error *err)
{
	struct run *run = ctx;
	struct response *response = &run->responses[(run->first + run->count) % RESPONSES_MAX];

	(void)timeout_ms;
	if (!mad_is_allowed(mad))
		return err_set(err, ERR_INTERNAL, "a MAD that is not allowed");
	run->now_us += SEND_US;
	memcpy(response->mad, mad, MAD_SIZE);
	if (run->count == RESPONSES_MAX ||
	    !agents_respond(run->world, run->port_of_lid, to, response->mad, run->now_us) ||
	    virtual_random(run->world) * LOST_ONE_IN < 1)
		return 0;
	response->at_us = run->now_us + RESPONSE_US;
	run->count++;
	return 0;
}

static int transport_receive(void *ctx, uint8_t mad[MAD_SIZE], unsigned timeout_ms, struct error *err)
{
	struct run *run = ctx;
	const struct response *response = &run->responses[run->first];
	int64_t until_us = run->now_us + timeout_ms * US_PER_MS;

	if (run->code < 0)
		return err_set(err, ERR_UNAVAILABLE, "the virtual fabric is out of memory");
	if (!run->count || response->at_us > until_us) {
		run->now_us = until_us;
		return TRANSPORT_NOTHING;
	}
	if (response->at_us > run->now_us)
		run->now_us = response->at_us;
	memcpy(mad, response->mad, MAD_SIZE);
	run->first = (run->first + 1) % RESPONSES_MAX;
	run->count--;
	return TRANSPORT_MAD;
}

static int discovery_start(void *ctx, struct error *err)
{
	struct run *run = ctx;

	(void)err;
	run->discovery_end_us = run->discovered ? run->now_us + DISCOVERY_US
						: run->interval_us - run->interval_us / WORLD_LEAD_PART;
	return 0;
}

static int discovery_step(void *ctx, unsigned timeout_ms, struct fabric **ret, struct record_trailer *trailer,
			  struct error *err)
{
	struct run *run = ctx;
	int code;

	run->now_us += timeout_ms * US_PER_MS;
	if (!run->discovered)
		run->now_us = run->discovery_end_us;
	if (run->now_us < run->discovery_end_us)
		return 0;
	catch_up(run);
	code = run->code < 0 ? err_nomem(err) : virtual_discover(run->world, ret, err);
	if (code < 0)
		return code;
	*trailer = (struct record_trailer){ .smps = (*ret)->port_count, .hops = 5, .took_us = DISCOVERY_US };
	run->discovered = true;
	return 1;
}

static void discovery_cancel(void *ctx)
{
	(void)ctx;
}

static uint16_t sm_lid(void *ctx)
{
	const struct virtual *world = ((struct run *)ctx)->world;

	return fabric_port_lid(world->built, &world->built->ports[world->sm_port]);
}

static void list_lids(struct run *run)
{
	const struct fabric *built = run->world->built;
	uint32_t i;

	memset(run->port_of_lid, 0xff, sizeof(run->port_of_lid));
	for (i = 0; i < built->port_count; i++)
		if (built->ports[i].lid)
			run->port_of_lid[built->ports[i].lid] = i;
}

int world_collect(struct virtual *world, int64_t interval_us, int64_t length_us, int64_t wall_begin_us,
		  const struct sink *sink, struct collector_report *ret, struct error *err)
{
	/* The defaults of `ibwire collect` (cli/collect.c, cli/asking.h). */
	const struct collector_settings settings = {
		.interval_us = interval_us,
		.count = length_us < 2 * interval_us ? 1 : (uint64_t)(length_us / interval_us),
		.discovery_interval_us = 600 * US_PER_S, .routes_interval_us = 60 * US_PER_S, .routes_window = 8,
		.engine = { .window = 32, .per_node = 1, .max_mads_per_s = 20000, .timeout_ms = 1000, .retries = 2 },
	};
	struct run *run = calloc(1, sizeof(*run));
	const struct clock clock = { boottime_us, wall_us, sleep_until, boot_id, run };
	const struct transport transport = { transport_send, transport_receive, run };
	const struct discoverer discoverer = { discovery_start, discovery_step, discovery_cancel, run };
	const struct collector_wire wire = { .transport = &transport, .discoverer = &discoverer, .sm_lid = sm_lid,
					     .ctx = run };
	struct collector_report report;
	int code;

	if (!run)
		return err_nomem(err);
	run->world = world;
	run->wall_us = wall_begin_us;
	run->interval_us = interval_us;
	run->now_us = interval_us > START_US ? START_US : 0;
	list_lids(run);
	/* Progress messages of the collector do not belong into the output of a test. */
	log_init("world", LOG_LEVEL_ERROR);
	code = collector_run(&settings, &wire, &clock, sink, ret ? ret : &report, err);
	if (code == 0 && run->code < 0)
		code = err_nomem(err);
	free(run);
	return code;
}
