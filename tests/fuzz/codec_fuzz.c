/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
#include "tests/fuzz/codec_fuzz.h"

#include <stdlib.h>
#include <string.h>

#include "storage/codec/codec.h"
#include "storage/codec/codec_group.h"

/* All encodings of samples. */
enum packing { CHUNK, HOT };

static int read_any(enum packing packing, const uint8_t *data, size_t len, struct codec_sample *samples, unsigned count)
{
	return packing == HOT ? hot_read_block(data, len, samples) : codec_read_chunk(data, len, samples, count);
}

static int write_any(enum packing packing, struct bytes *out, const struct codec_sample *samples, unsigned count)
{
	static struct codec_series series;

	if (packing == HOT)
		return hot_write_block(out, samples);
	series.group.count = 0;
	series.group.any_unknown = 0;
	for (unsigned i = 0; i < count; i++)
		if (samples[i].there)
			codec_series_add(&series, &samples[i], i);
	return codec_write_series(out, &series, count);
}

/* Encoded samples are decoded unchanged. */
static void write_and_read(enum packing packing, const struct codec_sample *samples, unsigned count)
{
	static struct codec_sample back[CODEC_CHUNK_SWEEPS];
	static struct bytes bytes;
	uint8_t *copy;

	bytes.len = 0;
	if (write_any(packing, &bytes, samples, count))
		return;
	/* In a copy of exact size the sanitizer detects reads beyond the end. */
	copy = malloc(bytes.len);
	if (!copy)
		return;
	memcpy(copy, bytes.data, bytes.len);
	if (read_any(packing, copy, bytes.len, back, count))
		abort();
	for (unsigned i = 0; i < count; i++)
		if (back[i].there != samples[i].there || back[i].elapsed_us != samples[i].elapsed_us ||
		    back[i].unknown != samples[i].unknown ||
		    memcmp(back[i].value, samples[i].value, sizeof(back[i].value)))
			abort();
	free(copy);
}

/* Samples made of the bytes; the first bytes determine the width and shift of the numbers. */
static void bytes_as_samples(const uint8_t *data, size_t len)
{
	static struct codec_sample samples[CODEC_CHUNK_SWEEPS];
	unsigned width = data[0] % 8 + 1, shift = data[1] % 64, count = data[2] + 1, at = 3;
	enum packing packing = data[0] >> 5 && !(data[0] & 8) ? CHUNK : HOT;

	if (packing == HOT)
		count = CODEC_BLOCK_PORTS;
	memset(samples, 0, sizeof(samples));
	for (unsigned i = 0; i < count * (COUNTER_TRAFFIC_COUNT + 2) && at + width <= len; i++) {
		struct codec_sample *sample = &samples[i / (COUNTER_TRAFFIC_COUNT + 2)];
		unsigned field = i % (COUNTER_TRAFFIC_COUNT + 2);
		uint64_t number = 0;

		for (unsigned j = 0; j < width; j++)
			number = number << 8 | data[at++];
		if (field == 0) {
			sample->there = true;
			sample->elapsed_us = (int64_t)(number << shift & INT64_MAX);
		} else if (field == 1) {
			sample->unknown = data[0] & 16 ? number & (COUNTER_BIT(COUNTER_COUNT) - 1) : 0;
		} else if (!(sample->unknown & COUNTER_BIT(field - 2))) {
			sample->value[field - 2] = number << shift;
		}
	}
	write_and_read(packing, samples, count);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t len)
{
	static struct codec_sample samples[CODEC_CHUNK_SWEEPS];
	unsigned count;

	if (len < 3)
		return 0;
	/* The encoding begins with its kind and 9 bits of count. */
	count = data[1] | (data[2] & 1u) << 8;
	for (enum packing packing = CHUNK; packing <= HOT; packing++)
		if (!read_any(packing, data, len, samples, count))
			write_and_read(packing, samples, packing == HOT ? CODEC_BLOCK_PORTS : count);
	bytes_as_samples(data, len);
	return 0;
}
