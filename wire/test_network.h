/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * test_network.h - a network in virtual time, for tests of the engine
 *
 * It delays, loses, duplicates and forges MADs, and records whether the engine keeps its limits. The
 * tally counts the callbacks of requests.
 */
#ifndef IBWIRE_WIRE_TEST_NETWORK_H
#define IBWIRE_WIRE_TEST_NETWORK_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/clock.h"
#include "wire/engine.h"
#include "wire/transport.h"

#define NETWORK_NODES 50 /* LIDs 1 to this */
#define NETWORK_FLYING_MAX 4096

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
	struct flying flying[NETWORK_FLYING_MAX];
	size_t count;
	unsigned loss_percent, duplicate_percent, noise_percent;
	bool kernel_times_out;  /* lost MADs are returned as timeouts, as by the kernel */
	bool dead[NETWORK_NODES + 1];   /* by LID */
	bool broken;            /* sends fail */
	int64_t latency_us, jitter_us;
	int64_t stall_from_us, stall_to_us; /* nothing arrives between; delayed MADs arrive then, in order */
	int64_t pause_at_us, pause_us;      /* duration for which this process does not run */
	uint64_t sent;
	struct mad_address last_to;
	uint8_t last_sent[MAD_SIZE];
	/* Requests in flight. */
	unsigned open, open_max, open_of[NETWORK_NODES + 1], open_of_max;
	uint32_t last_modifier[NETWORK_NODES + 1];
	bool out_of_order;
};

/* Callbacks of requests. */
struct tally {
	struct engine *engine; /* for callbacks of a test's own */
	unsigned calls[8192]; /* by tag */
	unsigned answered, timed_out, cancelled, wrong;
};

/* tally_on_done - the callback of requests whose ctx is a tally: counts by result and tag. */
void tally_on_done(void *ctx, const struct request *request, const struct response *response);

/* A network, an engine on it, and a tally. */
struct bed {
	struct network network;
	struct tally tally;
	struct engine *engine;
};

/* bed_create - the network may be changed afterwards */
struct bed *bed_create(uint64_t seed, const struct engine_settings *settings);
void bed_destroy(struct bed *bed);

/* bed_submit - requests to each node, with tags from 0 on. Return: their number. */
uint32_t bed_submit(struct bed *bed, unsigned per_node);

/* bed_submit_to - the same for the first nodes; ctx of @done is the tally */
uint32_t bed_submit_to(struct bed *bed, unsigned nodes, unsigned per_node, request_done *done);

/*
 * bed_poll - submit requests to each node and run them; each has one callback (cmocka assertions)
 * Return: their number. The tally is that of this run.
 */
uint32_t bed_poll(struct bed *bed, unsigned per_node);

#endif
