/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * codec.h - compression of traffic samples
 *
 * A chunk holds the samples of one port over many sweeps, column by column, as a stream of bits
 * (layout: codec.c). Most of a traffic sample is noise, so only the rest can be saved: numbers are
 * stored as distances from a common base, packets as the remainder after a share of the words,
 * unicast packets as the remainder after packets and multicast. Samples of idle and of busy
 * intervals are separated first, since they have no common base. A constant counter costs one bit.
 *
 * Every value is restored exactly: all arithmetic is that of uint64_t. codec_group.h has the writer of
 * chunks.
 *
 * A block (hot_block.c) holds the samples of one sweep and 32 ports. Rows of table hot are written while
 * a sweep is stored, and become chunks within minutes. So they are packed in whole bytes: 20 bytes per
 * sample instead of 9, in 1/20 of the time.
 */
#ifndef IBWIRE_STORAGE_CODEC_H
#define IBWIRE_STORAGE_CODEC_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "fabric/counter.h"

/* Traffic counters of one port in one sweep. Marks and error counters are stored in other tables. */
struct codec_sample {
	bool there;         /* false: no delta of this port in this sweep; the other fields are 0 */
	int64_t elapsed_us; /* any value >= 0 */
	counter_set unknown; /* complement of delta.known: any of COUNTER_COUNT bits */
	uint64_t value[COUNTER_TRAFFIC_COUNT]; /* any 64-bit values; 0 if unknown */
};

#define CODEC_BLOCK_PORTS 32   /* samples of one sweep in a block */
#define CODEC_CHUNK_SWEEPS 256 /* maximum number of samples of one port in a chunk */

/* A growing buffer: {0} is empty, len = 0 empties it, bytes_done() frees it. */
struct bytes {
	uint8_t *data;
	size_t len, capacity;
};

/* bytes_done - free a buffer; it is empty afterwards. */
void bytes_done(struct bytes *bytes);

/* bytes_reserve - allocate room for @more bytes. Return: 0, or ERR_NOMEM with the buffer unchanged. */
int bytes_reserve(struct bytes *bytes, size_t more);

/* bytes_append - Return: 0, or ERR_NOMEM with the buffer unchanged. */
int bytes_append(struct bytes *bytes, const void *data, size_t len);

/*
 * codec_read_chunk - unpack a chunk of exactly @len bytes
 * @samples:  filled completely; undefined after an error
 * @count:    number of samples that were written
 *
 * Return: 0, or ERR_IO if the bytes are not a chunk of @count samples: truncated or longer, of
 * another kind or version, or with an impossible width. Damage that results in other valid samples
 * is not detected. Reads nothing beyond @len and allocates nothing.
 */
int codec_read_chunk(const uint8_t *data, size_t len, struct codec_sample *samples, unsigned count);

/* Sum of samples of one port. */
struct codec_sum {
	unsigned samples;    /* number of samples that are there */
	uint64_t elapsed_us; /* wraps */
	counter_set unknown; /* in at least one sample */
	counter_set never;   /* unknown in all samples; all counters if there are none */
	uint64_t value[COUNTER_TRAFFIC_COUNT]; /* of known values; UINT64_MAX at most */
};

/*
 * codec_sum_chunk - sum of samples [@from, @to) of a chunk, in half the time of reading them
 * @ret:  filled completely; unchanged after an error
 *
 * Return: as codec_read_chunk(), also if only samples outside of the range are damaged.
 */
int codec_sum_chunk(const uint8_t *data, size_t len, unsigned count, unsigned from, unsigned to,
		    struct codec_sum *ret);

/* Maximum size of a block, bytes. */
#define HOT_BLOCK_MOST (5 + CODEC_BLOCK_PORTS * (5 + 8 + 8 * (1 + COUNTER_TRAFFIC_COUNT)))

/*
 * hot_write_block - append the samples of CODEC_BLOCK_PORTS ports to a buffer
 * Values of unknown counters and negative times are stored as 0.
 * Return: 0, or ERR_NOMEM with @out unchanged.
 */
int hot_write_block(struct bytes *out, const struct codec_sample *samples);

/*
 * hot_read_block - unpack a block of exactly @len bytes
 * @samples:  CODEC_BLOCK_PORTS, filled completely; undefined after an error
 *
 * Return: 0, or ERR_IO if the bytes are not a block: truncated or longer, of another version, with an
 * impossible length or counter, a negative time, or a value of an unknown counter. Reads nothing
 * beyond @len.
 */
int hot_read_block(const uint8_t *data, size_t len, struct codec_sample *samples);

#endif
