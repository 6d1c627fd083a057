/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * codec.h - traffic samples as few bytes
 *
 * What is stored of traffic is mostly noise, so what can be saved is what is not:
 * numbers are kept as distances from a common base in as many bits as most of
 * them need (those that need more are patched afterwards), packets as what is
 * left of them after a share of the words, unicast as what is left of packets
 * and multicast. Samples of an idle port and of a busy one are told apart first,
 * for they have no base in common. A counter that stands still costs a bit.
 *
 * A chunk is one port over many sweeps: a stream of bits, laid out in codec_layout.h, behind
 * a byte that says kind and version. What is read is what was written, whatever the numbers: all
 * arithmetic is that of uint64_t. (What a sweep stores in a hurry is packed by hot_block.h.)
 */
#ifndef IBWIRE_STORAGE_CODEC_H
#define IBWIRE_STORAGE_CODEC_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "fabric/counter.h"

/* What one sweep counted at one port, as it is stored densely; marks and error counters stand elsewhere. */
struct codec_sample {
	bool there;         /* false: no delta of this port in this sweep; the rest is then 0 */
	int64_t elapsed_us; /* any value >= 0 */
	counter_set unknown; /* as delta.unknown: any of COUNTER_COUNT bits */
	uint64_t value[COUNTER_TRAFFIC_COUNT]; /* any 64-bit values; 0 where unknown */
};

#define CODEC_BLOCK_PORTS 32   /* samples of one sweep in a block (hot_block.h) */
#define CODEC_CHUNK_SWEEPS 256 /* samples of one port in a chunk, at most */

/* A growing buffer that is reused: {0} is an empty one, len = 0 empties it, bytes_done() frees it. */
struct bytes {
	uint8_t *data;
	size_t len, capacity;
};

/* bytes_done - free a buffer; it is empty afterwards. */
void bytes_done(struct bytes *bytes);

/* bytes_append - Return: 0, or ERR_NOMEM; then the buffer is as it was. */
int bytes_append(struct bytes *bytes, const void *data, size_t len);

/*
 * codec_write_chunk - append samples to a buffer
 * @samples:  @count of them, at most CODEC_CHUNK_SWEEPS; what is not there, or is unknown, is
 *            kept as 0 whatever stands in it
 *
 * Return: 0, or ERR_NOMEM; then @out is as it was.
 */
int codec_write_chunk(struct bytes *out, const struct codec_sample *samples, unsigned count);

/*
 * codec_read_chunk - samples of @len bytes, which are one chunk and nothing else
 * @samples:  filled completely; after an error they mean nothing
 * @count:    as many as were written
 *
 * Return: 0, or ERR_IO where these bytes are not what was written: cut or longer,
 * of another count, kind or version, or with a width that cannot be. Damage that
 * makes other samples of the same shape is not noticed. Nothing is read beyond
 * @len, nothing is allocated.
 */
int codec_read_chunk(const uint8_t *data, size_t len, struct codec_sample *samples, unsigned count);

/* What some samples of a port come to. */
struct codec_sum {
	unsigned samples;    /* how many are there */
	uint64_t elapsed_us; /* wraps */
	counter_set unknown; /* to at least one of them */
	counter_set never;   /* unknown to all; everything where there are none */
	uint64_t value[COUNTER_TRAFFIC_COUNT]; /* of those that know it; stops at UINT64_MAX */
};

/*
 * codec_sum_chunk - add up samples [@from, @to) of a chunk of @count, in half the time of reading them
 * @ret:  filled completely; untouched after an error
 *
 * Return: as codec_read_chunk() for the same bytes, also where the damage is outside of the samples that are wanted.
 */
int codec_sum_chunk(const uint8_t *data, size_t len, unsigned count, unsigned from, unsigned to,
		    struct codec_sum *ret);

#endif
