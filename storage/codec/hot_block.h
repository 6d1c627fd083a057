/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * hot_block.h - fast packing of the samples of one sweep and 32 ports
 *
 * Rows of table hot are written while a sweep is stored, and become chunks within minutes. So they
 * are packed in whole bytes: 20 bytes per sample instead of 9, in 1/20 of the codec's time.
 */
#ifndef IBWIRE_STORAGE_HOT_BLOCK_H
#define IBWIRE_STORAGE_HOT_BLOCK_H

#include <stddef.h>
#include <stdint.h>

#include "storage/codec/codec.h"

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
