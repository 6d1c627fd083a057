/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * hot_block.h - the samples of one sweep and 32 ports, packed quickly
 *
 * What stands in table hot stays there for minutes: it is written while a sweep
 * waits, and soon becomes chunks. So it is packed in whole bytes, 20 of them a
 * sample instead of 9, in a twentieth of the codec's time.
 */
#ifndef IBWIRE_STORAGE_HOT_BLOCK_H
#define IBWIRE_STORAGE_HOT_BLOCK_H

#include <stddef.h>
#include <stdint.h>

#include "storage/codec/codec.h"

struct codec_series;

/* Bytes of a block at most. */
#define HOT_BLOCK_MOST (5 + CODEC_BLOCK_PORTS * (5 + 8 + 8 * (1 + COUNTER_TRAFFIC_COUNT)))

/*
 * hot_write_block - append the samples of CODEC_BLOCK_PORTS ports to a buffer
 * What is unknown is kept as 0 whatever stands in it, and a time below 0 as 0.
 * Return: 0, or ERR_NOMEM; then @out is as it was.
 */
int hot_write_block(struct bytes *out, const struct codec_sample *samples);

/*
 * hot_read_block - CODEC_BLOCK_PORTS samples of @len bytes
 * @samples:  filled completely; after an error they mean nothing
 *
 * Return: 0, or ERR_IO where these are no bytes that were written: cut or longer, of another version, with a length
 * or a counter that cannot be, a time below 0, or a number of a counter that is not known. Nothing is read beyond @len.
 */
int hot_read_block(const uint8_t *data, size_t len, struct codec_sample *samples);

/*
 * hot_read_series - the same into columns, behind what they hold
 * @data:    behind its @len bytes HOT_PADDING more may be looked at, whatever they are
 * @series:  CODEC_BLOCK_PORTS of them, with room for another sample in each; after an error as before
 * @place:   of these samples
 */
#define HOT_PADDING (5 + 8 + 8 * (1 + COUNTER_TRAFFIC_COUNT) + 8)
int hot_read_series(const uint8_t *data, size_t len, struct codec_series *series, unsigned place);

#endif
