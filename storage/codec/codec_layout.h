/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * codec_layout.h - what codec.c reads and codec_write.c writes (inside the codec only)
 *
 * The bits of a chunk, after its first byte:
 *
 *     count   9 bits
 *     all there?  1 bit; if not, a bit for each sample
 *     (the rest only where some sample is there, and of those that are)
 *     unknown, elapsed_us: a column each
 *     two groups? 1 bit; if so, which sample is in the second: 1 bit says how, and
 *     then it is a bit for each sample, or a column of which differ from the one before
 *     for each group and each counter, in the order of codec_columns, over the
 *     samples of the group that know the counter (nothing where there are none):
 *         all 0?  1 bit; if not:
 *         of packets only, two numbers: shares of the words of this direction and
 *         of the other, in 2^-28
 *         a column of what is left of the counter after its prediction
 *     zeros up to a whole byte
 */
#ifndef IBWIRE_STORAGE_CODEC_LAYOUT_H
#define IBWIRE_STORAGE_CODEC_LAYOUT_H

#include <stddef.h>

#include "storage/codec/codec.h"
#include "storage/codec/codec_column.h"

enum { CHUNK_1 = 0xc1 }; /* first byte: kind and version */

#define COUNT_WIDTH 9
#define COUNTER_ALL (COUNTER_BIT(COUNTER_COUNT) - 1)

/* A sample is in one group, but for each group a column has a header. */
#define GROUPS 2
#define BYTES_MAX(count) \
	(64 + (size_t)(count) + 3 * COLUMN_BYTES_MAX(count) + \
	 COUNTER_TRAFFIC_COUNT * (COLUMN_BYTES_MAX(count) + GROUPS * (COLUMN_BYTES_MAX(0) + 12)))

/* Places of samples, in order. */
struct places {
	uint8_t at[CODEC_CHUNK_SWEEPS];
	unsigned count;
};

#endif
