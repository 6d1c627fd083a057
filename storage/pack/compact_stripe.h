/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * compact_stripe.h - the samples of some neighbouring ports over one window, turned from sweeps to ports
 *
 * Inside the compaction. Rows of hot are asked for sweep by sweep, for so many ports at once that
 * the asking costs little, and kept packed; then they are unpacked 32 ports at a time, which the
 * processor's cache holds.
 */
#ifndef IBWIRE_STORAGE_COMPACT_STRIPE_H
#define IBWIRE_STORAGE_COMPACT_STRIPE_H

#include <stddef.h>
#include <stdint.h>

#include "storage/codec/codec_group.h"
#include "storage/read/sums.h"

struct compaction;
struct error;

/* Ports of a stripe, 2.5 MB while they are packed, of 120 sweeps. A multiple of COMPACT_PORTS. */
#define STRIPE_PORTS 1024
#define STRIPE_BLOCKS (STRIPE_PORTS / CODEC_BLOCK_PORTS)

/* A row of error. */
struct stripe_error {
	uint32_t next; /* of the same port, later; 0: none. Index + 1, as are those of the stripe */
	uint16_t place;
	uint8_t counter, marks;
	uint64_t value;
};

struct stripe {
	uint32_t from_port; /* a multiple of CODEC_BLOCK_PORTS */
	bool there;
	struct bytes packed; /* rows of hot */
	struct {
		uint32_t at, len; /* in `packed`; none: 0, 0 */
	} rows[STRIPE_BLOCKS][CODEC_CHUNK_SWEEPS];
	struct stripe_error *errors;
	size_t error_count, error_capacity;
	uint32_t first_error[STRIPE_PORTS], last_error[STRIPE_PORTS];
	struct codec_series series[CODEC_BLOCK_PORTS]; /* of the block that was unpacked last */
};

/* stripe_free - NULL is allowed. */
void stripe_free(struct stripe *stripe);

/*
 * stripe_read - rows of the window of ports from @from_port on, in one read transaction
 * Absolute readings of the window go to compaction->last, the newest of each port. Return: 0 or an error.
 */
int stripe_read(struct compaction *compaction, uint32_t from_port, struct error *err);

/* stripe_unpack - ports from @port on, a multiple of CODEC_BLOCK_PORTS that the stripe has, into its series. */
void stripe_unpack(struct compaction *compaction, uint32_t port);

/* stripe_add_up - what a port of the block unpacked last counted; its last reading goes to compaction->last. */
void stripe_add_up(struct compaction *compaction, uint32_t port, struct port_sum *ret);

#endif
