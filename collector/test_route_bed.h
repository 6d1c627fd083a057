/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * test_route_bed.h - switches in a row, each with a forwarding table, on a wire of virtual time
 *
 * The wire loses some MADs, some switches say nothing; what is read is given to a store that the test calls.
 */
#ifndef IBWIRE_COLLECTOR_TEST_ROUTE_BED_H
#define IBWIRE_COLLECTOR_TEST_ROUTE_BED_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/clock.h"
#include "collector/events.h"
#include "collector/node_memory.h"
#include "collector/route_read.h"
#include "fabric/routes.h"
#include "wire/mad.h"
#include "wire/transport.h"

struct engine;
struct fabric;

enum { SWITCHES = 30, LIDS = 512, BLOCKS = LIDS / ROUTES_BLOCK };

#define SWEEP_US (10 * US_PER_S)

struct bed {
	struct clock clock;
	struct transport transport;
	struct engine *engine;
	struct fabric *fabric;
	struct node_memory memory;
	struct route_read read;
	struct events events;
	struct routes stored;     /* what a sink would have */
	int64_t now_us;
	uint64_t random, generation, smps_per_sweep, blocks_per_sweep;
	double blocks_per_s;
	uint8_t tables[SWITCHES][LIDS];
	unsigned asked[SWITCHES]; /* MADs that reached it */
	bool silent[SWITCHES];
	bool refuses[SWITCHES];
	unsigned loss_percent;
	uint8_t flying[64][MAD_SIZE];
	size_t flying_count;
};

/* bed_init - random tables, all to be read every ten minutes, as many at once as may be; nothing is lost or silent. */
void bed_init(struct bed *bed, uint64_t seed);
void bed_done(struct bed *bed);

uint64_t bed_random(struct bed *bed);

/* bed_sweep - one sweep's reading, and SWEEP_US go by. Return: how many MADs reached switches */
unsigned bed_sweep(struct bed *bed);

/* bed_store - the store takes the listed blocks, after which it must have all that was read */
void bed_store(struct bed *bed);

/* bed_store_blocks - the same where a limit left blocks out of the list */
void bed_store_blocks(struct bed *bed);

/* bed_is_known - is what was read of this switch its table? */
bool bed_is_known(const struct bed *bed, unsigned at);
unsigned bed_known_tables(const struct bed *bed);

#endif
