/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
#include "tests/world/collect.h"

#include <stdlib.h>
#include <string.h>

#include "base/clock.h"
#include "base/err.h"
#include "base/log.h"
#include "base/text.h"
#include "fabric/fabric.h"
#include "tests/world/agents.h"
#include "tests/world/virtual.h"
#include "wire/explore.h"

/* CLOCK_BOOTTIME at the beginning: the collector's machine has run for an hour. */
#define BOOT_BEGIN_US (3600 * US_PER_S)

/* Time to send a MAD; time until its response arrives. */
#define SEND_US 2
#define RESPONSE_US 40

/* One response in 200,000 is lost. */
#define LOST_ONE_IN 200000

/* Duration of a discovery. */
#define DISCOVERY_US (100 * US_PER_MS)

/*
 * Delay of the collector's start. Its periodic discoveries then do not coincide with the round times at
 * which the links of scenario files go down for seconds.
 */
#define START_US (7 * US_PER_S)

static int64_t boottime_us(void *ctx)
{
	return ((struct world_run *)ctx)->boot_us + ((struct world_run *)ctx)->now_us;
}

static int64_t wall_us(void *ctx)
{
	return ((struct world_run *)ctx)->wall_us + ((struct world_run *)ctx)->now_us;
}

static void boot_id(void *ctx, char ret[BOOT_ID_SIZE])
{
	memcpy(ret, ((struct world_run *)ctx)->boot_id, BOOT_ID_SIZE);
}

static void sleep_until(void *ctx, int64_t until_us)
{
	struct world_run *run = ctx;
	bool sleeps = until_us - run->boot_us > run->now_us;

	if (sleeps)
		run->now_us = until_us - run->boot_us;
	/* Not with each MAD, because the cost is that of all ports. */
	virtual_advance(run->world, run->now_us);
	if (sleeps && run->on_sleep)
		run->on_sleep(run);
}

static bool is_lost(struct world_run *run, const uint8_t mad[MAD_SIZE])
{
	run->smps_by_lid += mad[1] == CLASS_SUBN_LID;
	run->smps_by_path += mad[1] == CLASS_SUBN_DIRECTED;
	return (run->lid_smps_lost && mad[1] == CLASS_SUBN_LID) || run->count == WORLD_RESPONSES_MAX;
}

/* Insert a response into the ring, which is sorted by time. */
static void add_response(struct world_run *run, const uint8_t mad[MAD_SIZE], int64_t at_us)
{
	size_t at = run->count++;

	for (; at > 0; at--) {
		const struct world_response *before = &run->responses[(run->first + at - 1) % WORLD_RESPONSES_MAX];

		if (before->at_us <= at_us)
			break;
		run->responses[(run->first + at) % WORLD_RESPONSES_MAX] = *before;
	}
	run->responses[(run->first + at) % WORLD_RESPONSES_MAX].at_us = at_us;
	memcpy(run->responses[(run->first + at) % WORLD_RESPONSES_MAX].mad, mad, MAD_SIZE);
}

static int transport_send(void *ctx, const struct mad_address *to, const uint8_t mad[MAD_SIZE], unsigned timeout_ms,
			  struct error *err)
{
	struct world_run *run = ctx;
	const struct agent *agent = NULL;
	uint8_t response[MAD_SIZE];
	int64_t jitter_us = 0;
	bool lost;

	(void)timeout_ms;
	if (!mad_is_allowed(mad))
		return err_set(err, ERR_INTERNAL, "a MAD that is not allowed");
	run->now_us += SEND_US;
	if (run->on_send)
		run->on_send(run, mad);
	lost = is_lost(run, mad);
	memcpy(response, mad, MAD_SIZE);
	if (lost || !agents_respond(run->world, run->port_of_lid, to, response, run->now_us, &agent) ||
	    virtual_random(run->world) < run->loss)
		return 0;
	if (run->jitter_us)
		jitter_us = (int64_t)(virtual_random(run->world) * (double)run->jitter_us);
	add_response(run, response, run->now_us + RESPONSE_US + agent->latency_us + jitter_us);
	return 0;
}

static int transport_receive(void *ctx, uint8_t mad[MAD_SIZE], unsigned timeout_ms, struct error *err)
{
	struct world_run *run = ctx;
	const struct world_response *response = &run->responses[run->first];
	int64_t until_us = run->now_us + timeout_ms * US_PER_MS;

	if (run->removed)
		return err_set(err, ERR_UNAVAILABLE, "the device was removed");
	if (!run->count || response->at_us > until_us) {
		run->now_us = until_us;
		return TRANSPORT_NOTHING;
	}
	if (response->at_us > run->now_us)
		run->now_us = response->at_us;
	memcpy(mad, response->mad, MAD_SIZE);
	run->first = (run->first + 1) % WORLD_RESPONSES_MAX;
	run->count--;
	return TRANSPORT_MAD;
}

/* What the agents' SMPs do not contain is as in a discovery of the whole fabric (virtual_discover). */
static void complete_part(const struct fabric *built, struct fabric *part)
{
	for (size_t i = 0; i < part->node_count; i++) {
		uint32_t is = fabric_find_node(built, part->nodes[i].guid);

		/* There is no such node: a test has changed its response. */
		if (is == FABRIC_NONE)
			continue;
		part->nodes[i].enhanced_port0 = built->nodes[is].enhanced_port0;
		part->nodes[i].revision = built->nodes[is].revision;
	}
	for (size_t i = 0; i < part->port_count; i++) {
		struct port *port = &part->ports[i], found = *port;
		uint32_t is = fabric_find_port(built, part->nodes[port->node].guid, port->num);

		if (is == FABRIC_NONE)
			continue;
		*port = built->ports[is];
		port->node = found.node;
		port->peer = found.peer;
		port->state = found.state;
		port->lid = found.lid;
		/* As fabric_add_port() does. */
		if (port->state < PORT_INIT)
			port->speed = port->width = 0;
	}
}

/* Explore ports with the explorer itself, in no time of the collector. A hidden node does not respond to it. */
static void explore_ports(struct world_run *run, const struct fabric *last, const struct explore_port *ports,
			  size_t count)
{
	struct world_run *own = virtual_alloc(1, sizeof(*own));
	struct agent *agents = run->world->agents;
	const struct explore_settings settings = { .max_smps = 8, .per_node = 2, .timeout_ms = 1000, .retries = 3,
						   .keys = run->wire.keys, .last = last, .ports = ports,
						   .port_count = count };
	struct text notes = { 0 };
	size_t nodes = run->world->built->node_count;
	bool *dead = virtual_alloc(nodes, sizeof(*dead));

	world_run_init(own, run->world);
	own->boot_us = run->boot_us;
	own->now_us = run->now_us;
	own->loss = run->loss;
	if (run->on_explore)
		run->on_explore(run, own);
	for (size_t i = 0; i < nodes; i++) {
		dead[i] = agents[i].dead;
		agents[i].dead |= agents[i].hidden;
	}
	run->part_trailer = (struct record_trailer){ 0 };
	if (run->parts_fail)
		err_set(&run->part_error, ERR_UNAVAILABLE, "ports cannot be explored");
	else if (explore_run(&own->transport, &own->clock, &settings, &run->part, &run->part_trailer, &notes,
			     &run->part_error) < 0)
		run->part = NULL;
	if (run->part)
		complete_part(run->world->built, run->part);
	for (size_t i = 0; i < nodes; i++)
		agents[i].dead = dead[i];
	run->parts++;
	run->part_smps += run->part_trailer.smps;
	run->discovery_end_us = run->now_us + run->discovery_us;
	text_done(&notes);
	free(dead);
	free(own);
}

static int discovery_start(void *ctx, const struct fabric *last, const struct explore_port *ports, size_t count,
			   struct error *err)
{
	struct world_run *run = ctx;

	(void)err;
	run->exploring = count > 0 || run->explorer;
	run->discoveries += !count;
	if (run->exploring) {
		explore_ports(run, last, ports, count);
		return 0;
	}
	if (run->discoveries > 1 || !run->discovery_end_us)
		run->discovery_end_us = run->now_us + run->discovery_us;
	return 0;
}

static int discovery_step(void *ctx, unsigned timeout_ms, struct fabric **ret, struct record_trailer *trailer,
			  struct error *err)
{
	struct world_run *run = ctx;

	run->now_us += timeout_ms * US_PER_MS;
	/* Nothing else happens during the first one. */
	if (run->discoveries == 1 && !run->exploring && run->now_us < run->discovery_end_us)
		run->now_us = run->discovery_end_us;
	if (run->now_us < run->discovery_end_us) {
		if (run->on_sleep)
			run->on_sleep(run);
		return 0;
	}
	if (run->discovery_fails)
		return err_set(err, ERR_UNAVAILABLE, "discovery crashed");
	if (run->exploring) {
		*ret = run->part;
		*trailer = run->part_trailer;
		run->part = NULL;
		return *ret ? 1 : err_set(err, ERR_UNAVAILABLE, "%s", run->part_error.text);
	}
	virtual_advance(run->world, run->now_us);
	*ret = virtual_discover(run->world);
	if (run->difference)
		err_set(err, 0, "%s", run->difference);
	*trailer = (struct record_trailer){ .smps = (*ret)->port_count, .hops = 5, .took_us = run->discovery_us };
	for (size_t i = 0; i < run->world->built->node_count; i++) {
		struct agent *agent = &run->world->agents[i];

		trailer->lost += agent->ports_lost + agent->desc_lost;
		agent->ports_lost = agent->desc_lost = false;
	}
	return 1;
}

static void discovery_cancel(void *ctx)
{
	struct world_run *run = ctx;

	fabric_destroy(run->part);
	run->part = NULL;
}

static uint16_t master_lid(struct world_run *run)
{
	return fabric_port_lid(run->world->built, &run->world->built->ports[run->world->sm_port]);
}

static uint16_t sm_lid(void *ctx)
{
	return ((struct world_run *)ctx)->sm_lid(ctx);
}

static bool device_removed(void *ctx)
{
	return ((struct world_run *)ctx)->removed;
}

void world_run_lids(struct world_run *run)
{
	const struct fabric *built = run->world->built;

	memset(run->port_of_lid, 0xff, sizeof(run->port_of_lid));
	for (uint32_t i = 0; i < built->port_count; i++)
		if (built->ports[i].lid)
			run->port_of_lid[built->ports[i].lid] = i;
}

void world_run_init(struct world_run *run, struct virtual *world)
{
	*run = (struct world_run){
		.world = world, .boot_us = BOOT_BEGIN_US, .loss = 1.0 / LOST_ONE_IN, .discovery_us = DISCOVERY_US,
		.boot_id = "00000000-0000-0000-0000-000000000001", .sm_lid = master_lid,
		/* The defaults of `ibwire collect` (cli/collect.c). */
		.settings = {
			.discovery_interval_us = 600 * US_PER_S, .routes_interval_us = 60 * US_PER_S,
			.routes_window = 8,
			.engine = { .window = 32, .per_node = 1, .max_mads_per_s = 20000, .timeout_ms = 1000,
				    .retries = 2 },
		},
		.clock = { boottime_us, wall_us, sleep_until, boot_id, run },
		.transport = { transport_send, transport_receive, run },
		.discoverer = { discovery_start, discovery_step, discovery_cancel, run, NULL },
		.wire = { .transport = &run->transport, .discoverer = &run->discoverer, .sm_lid = sm_lid,
			  .device_removed = device_removed, .ctx = run, .device = "mlx5_0 port 1" },
	};
	world_run_lids(run);
}

int world_collect(struct virtual *world, int64_t interval_us, int64_t length_us, int64_t wall_begin_us,
		  const struct sink *sink, struct collector_report *ret, struct error *err)
{
	struct world_run *run = virtual_alloc(1, sizeof(*run));
	struct collector_report report;
	uint64_t sweeps = length_us < 2 * interval_us ? 1 : (uint64_t)(length_us / interval_us);
	uint64_t first = world->restart_us ? (uint64_t)(world->restart_us / interval_us) : sweeps;
	int code;

	world_run_init(run, world);
	run->wall_us = wall_begin_us;
	run->now_us = interval_us > START_US ? START_US : 0;
	/* The first discovery ends when the first sweep begins. */
	run->discovery_end_us = interval_us - interval_us / WORLD_LEAD_PART;
	run->settings.interval_us = interval_us;
	run->settings.health = world->health;
	run->settings.detect_jobs = world->detect_jobs;
	for (size_t i = 0; i < world->event_count; i++)
		run->settings.adaptive_routing |= world->events[i].what == CHANGE_ADAPTIVE;
	run->settings.count = first;
	/* Progress messages of the collector do not belong into the output of a test. */
	log_init("world", LOG_LEVEL_ERROR);
	code = collector_run(&run->settings, &run->wire, &run->clock, sink, ret ? ret : &report, err);
	run->settings.count = sweeps - first;
	if (code == 0 && first < sweeps)
		code = collector_run(&run->settings, &run->wire, &run->clock, sink, ret ? ret : &report, err);
	free(run);
	return code;
}

static int restore_nothing(void *ctx, struct restored *ret, struct error *err)
{
	(void)ctx;
	(void)ret;
	(void)err;
	return 0;
}

static int ignore_events(void *ctx, const struct event *events, size_t count, struct error *err)
{
	(void)ctx;
	(void)events;
	(void)count;
	(void)err;
	return 0;
}

static int ignore_caps(void *ctx, const struct restored_caps *caps, size_t count, struct error *err)
{
	(void)ctx;
	(void)caps;
	(void)count;
	(void)err;
	return 0;
}

struct sink world_sink(int (*store)(void *ctx, const struct sweep *sweep, struct error *err), void *ctx)
{
	return (struct sink){ .store = store, .restore = restore_nothing, .store_events = ignore_events,
			      .store_caps = ignore_caps, .ctx = ctx };
}
