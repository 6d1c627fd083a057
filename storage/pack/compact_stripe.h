/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * compact_stripe.h - the samples of adjacent ports over one window, transposed from sweeps to ports
 *
 * Only for the compaction. Rows of hot are read sweep by sweep, for so many ports at once that lookups
 * cost little, and stay packed. They are unpacked 32 ports at a time, which fits into the processor's
 * cache.
 */
#ifndef IBWIRE_STORAGE_COMPACT_STRIPE_H
#define IBWIRE_STORAGE_COMPACT_STRIPE_H

#include <stddef.h>
#include <stdint.h>

#include "storage/codec/codec_group.h"
#include "storage/read/sums.h"

struct compaction;
struct error;

/* Ports of a stripe: 2.5 MB of packed samples over 120 sweeps. A multiple of COMPACT_PORTS. */
#define STRIPE_PORTS 1024
#define STRIPE_BLOCKS (STRIPE_PORTS / CODEC_BLOCK_PORTS)

/* A row of error. */
struct stripe_error {
	uint32_t port;
	uint16_t place; /* of its sweep in the window */
	uint8_t marks;
	int64_t counter;
	uint64_t value;
};

struct stripe {
	uint32_t from_port; /* a multiple of CODEC_BLOCK_PORTS */
	bool loaded;
	struct bytes packed; /* rows of hot */
	struct {
		uint32_t at, len; /* in `packed`; none: 0, 0 */
	} rows[STRIPE_BLOCKS][CODEC_CHUNK_SWEEPS];
	struct stripe_error *errors; /* in order of port and sweep */
	size_t error_count, error_capacity;
	size_t next_error; /* all before it are of ports that were added up */
	struct codec_series series[CODEC_BLOCK_PORTS]; /* the block that was unpacked last */
};

/* stripe_free - NULL is allowed. */
void stripe_free(struct stripe *stripe);

/*
 * stripe_read - read the rows of the window for ports from @from_port on, in one read transaction
 * Sets compaction->last to the newest absolute reading of each port. Return: 0 or an error.
 */
int stripe_read(struct compaction *compaction, uint32_t from_port, struct error *err);

/* stripe_unpack - unpack the block of ports that begins with @port into the series of the stripe. */
void stripe_unpack(struct compaction *compaction, uint32_t port);

/* stripe_add_up - add up the next port of the block that was unpacked last; updates compaction->last. */
void stripe_add_up(struct compaction *compaction, uint32_t port, struct port_sum *ret);

#endif
