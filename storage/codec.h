/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * codec.h - samples of ports as they are stored: densely
 */
#ifndef IBWIRE_STORAGE_CODEC_H
#define IBWIRE_STORAGE_CODEC_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "fabric/counter.h"

/* What one sweep counted at one port, as it is stored densely; marks and error counters stand elsewhere. */
struct codec_sample {
	bool there;          /* false: no delta of this port in this sweep; the rest is then 0 */
	int64_t elapsed_us;  /* any value >= 0 */
	counter_set unknown; /* as delta.unknown: any of COUNTER_COUNT bits */
	uint64_t value[COUNTER_TRAFFIC_COUNT]; /* any 64-bit values; 0 where unknown */
};

#define CODEC_BLOCK_PORTS 32   /* samples of one sweep in a block */
#define CODEC_CHUNK_SWEEPS 256 /* samples of one port in a chunk, at most */

/* A growing buffer that is reused; bytes_done() frees it. */
struct bytes {
	uint8_t *data;
	size_t len, capacity;
};
void bytes_done(struct bytes *bytes);

/* Append to @out. Return: 0 or ERR_NOMEM. @count is not above the limits above. */
int codec_write_block(struct bytes *out, const struct codec_sample *samples, unsigned count);
int codec_write_chunk(struct bytes *out, const struct codec_sample *samples, unsigned count);

/*
 * Fill @samples[0..count). @count is what was written and is checked. Return: 0,
 * or ERR_IO where the bytes are not what was written; nothing is read beyond @len.
 */
int codec_read_block(const uint8_t *data, size_t len, struct codec_sample *samples, unsigned count);
int codec_read_chunk(const uint8_t *data, size_t len, struct codec_sample *samples, unsigned count);

#endif
