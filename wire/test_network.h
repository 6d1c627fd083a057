/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * test_network.h - a network in virtual time, for tests of the engine
 *
 * It delays, loses, duplicates and invents MADs, and watches the engine's limits
 * from the other side. The tally is the owner of the requests: it counts what it
 * is told of each.
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
	bool kernel_times_out;  /* lost MADs come back as timeouts, as the kernel does */
	bool dead[NETWORK_NODES + 1];   /* by LID */
	bool broken;            /* sends fail */
	int64_t latency_us, jitter_us;
	int64_t stall_from_us, stall_to_us; /* nothing arrives between; what should have comes then, in its order */
	int64_t pause_at_us, pause_us;      /* the process does not run for so long */
	uint64_t sent;
	struct mad_address last_to;
	uint8_t last_sent[MAD_SIZE];
	/* What the network saw of the limits. */
	unsigned open, open_max, open_of[NETWORK_NODES + 1], open_of_max;
	uint32_t last_modifier[NETWORK_NODES + 1];
	bool out_of_order;
};

/* What the owner of the requests was told. */
struct tally {
	struct engine *engine; /* for callbacks of a test's own */
	unsigned told[8192];
	unsigned answered, timed_out, cancelled, wrong;
};

/* tally_on_done - the callback of requests whose ctx is a tally: counts by result and tag. */
void tally_on_done(void *ctx, const struct request *request, const struct response *response);

/* A network, an engine on it, and the owner of its requests. */
struct bed {
	struct network network;
	struct tally tally;
	struct engine *engine;
};

/* bed_create - all three, ready; the network may be changed before the first request. bed_destroy() ends it. */
struct bed *bed_create(uint64_t seed, const struct engine_settings *settings);
void bed_destroy(struct bed *bed);

/* bed_submit - so many questions for each node. Return: how many in all; their tags are 0 and up. */
uint32_t bed_submit(struct bed *bed, unsigned per_node);

/* bed_submit_to - the same for the first @nodes nodes, and told by @done, whose ctx is the tally. */
uint32_t bed_submit_to(struct bed *bed, unsigned nodes, unsigned per_node, request_done *done);

#endif
