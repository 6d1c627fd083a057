/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * hot_block.c - the layout; the lowest byte of a number comes first:
 *
 *     1 byte     HOT_VERSION
 *     4 bytes    bit i: port i has a sample; for each port that has one, in order:
 *       5 bytes    lengths of NUMBERS numbers in bytes (0 to 8), 4 bits each, the first one in the
 *                  low half of the first byte; if the first one is 9, the set `unknown` comes first
 *                  with 8 bytes, and the elapsed time has 8
 *       the numbers: the elapsed time minus that of the previous port, the counters; of unicast
 *                  packets the remainder after packets minus multicast. Differences wrap and are
 *                  folded (bits_fold()).
 */
#include "storage/codec/codec.h"

#include <endian.h>
#include <string.h>

#include "base/err.h"
#include "storage/codec/codec_bits.h"

#define HOT_VERSION 1
#define NUMBERS (1 + COUNTER_TRAFFIC_COUNT)
#define LENGTHS ((NUMBERS + 1) / 2)
#define HAS_UNKNOWN 9
#define COUNTER_ALL (COUNTER_BIT(COUNTER_COUNT) - 1)
#define SAMPLE_MOST (LENGTHS + 8 + 8 * NUMBERS)
_Static_assert(HOT_BLOCK_MOST == 5 + CODEC_BLOCK_PORTS * SAMPLE_MOST, "the longest block");

/* Prediction of a unicast counter: all packets except multicast. */
static uint64_t expected(const uint64_t *value, enum counter unicast)
{
	return unicast == COUNTER_UNICAST_XMIT_PACKETS
		? value[COUNTER_XMIT_PACKETS] - value[COUNTER_MULTICAST_XMIT_PACKETS]
		: value[COUNTER_RCV_PACKETS] - value[COUNTER_MULTICAST_RCV_PACKETS];
}

static unsigned put(uint8_t *at, uint64_t value)
{
	unsigned bytes = value ? (unsigned)(71 - __builtin_clzll(value)) / 8 : 0;

	/* Always 8 bytes, for which there is room; the next number overwrites the rest. */
	value = htole64(value);
	memcpy(at, &value, sizeof(value));
	return bytes;
}

/* The sample without what the reader would reject, with all other samples of the block. */
static struct codec_sample sanitised(const struct codec_sample *sample)
{
	struct codec_sample ret = *sample;

	ret.unknown &= COUNTER_ALL;
	if (ret.elapsed_us < 0)
		ret.elapsed_us = 0;
	for (int i = 0; i < COUNTER_TRAFFIC_COUNT; i++)
		if (ret.unknown & COUNTER_BIT(i))
			ret.value[i] = 0;
	return ret;
}

static uint8_t *put_sample(uint8_t *at, const struct codec_sample *sample, int64_t before_us)
{
	uint64_t elapsed = bits_fold((uint64_t)sample->elapsed_us - (uint64_t)before_us);
	unsigned bytes[LENGTHS * 2] = { 0 };
	uint8_t *lengths = at;

	at += LENGTHS;
	if (sample->unknown) {
		put(at, sample->unknown);
		put(at + 8, elapsed);
		at += 16;
		bytes[0] = HAS_UNKNOWN;
	} else {
		bytes[0] = put(at, elapsed);
		at += bytes[0];
	}
	for (int i = 0; i < COUNTER_TRAFFIC_COUNT; i++) {
		uint64_t value = sample->value[i];

		if (i == COUNTER_UNICAST_XMIT_PACKETS || i == COUNTER_UNICAST_RCV_PACKETS)
			value = bits_fold(value - expected(sample->value, (enum counter)i));
		bytes[i + 1] = put(at, value);
		at += bytes[i + 1];
	}
	for (int i = 0; i < LENGTHS; i++)
		lengths[i] = (uint8_t)(bytes[2 * i] | bytes[2 * i + 1] << 4);
	return at;
}

int hot_write_block(struct bytes *out, const struct codec_sample *samples)
{
	uint32_t there = 0;
	int64_t before_us = 0;
	uint8_t *at;

	if (bytes_reserve(out, HOT_BLOCK_MOST + 8) < 0)
		return ERR_NOMEM;
	at = out->data + out->len;
	for (unsigned i = 0; i < CODEC_BLOCK_PORTS; i++)
		there |= (uint32_t)samples[i].there << i;
	*at++ = HOT_VERSION;
	for (int i = 0; i < 4; i++)
		*at++ = (uint8_t)(there >> 8 * i);
	for (unsigned i = 0; i < CODEC_BLOCK_PORTS; i++) {
		const struct codec_sample *sample = &samples[i];
		struct codec_sample clean;

		if (!sample->there)
			continue;
		if (sample->unknown || sample->elapsed_us < 0) {
			clean = sanitised(sample);
			sample = &clean;
		}
		at = put_sample(at, sample, before_us);
		before_us = sample->elapsed_us;
	}
	out->len = (size_t)(at - out->data);
	return 0;
}

/* Mask of the bits of a number by its length in bytes. */
static const uint64_t masks[] = {
	0, 0xff, 0xffff, 0xffffff, 0xffffffff, 0xffffffffff, 0xffffffffffff, 0xffffffffffffff, UINT64_MAX,
};

/* The bit of value 8 in each length except the first. */
#define EIGHTS UINT64_C(0x8888888880)

/* Eight bytes, of which the number may have fewer: the buffer is padded. */
static uint64_t get(const uint8_t *at)
{
	uint64_t value;

	memcpy(&value, at, sizeof(value));
	return le64toh(value);
}

/*
 * @before_us:  elapsed time of the previous sample
 *
 * Return: the first byte after the sample, at most SAMPLE_MOST further, or NULL if it is invalid.
 */
static const uint8_t *get_sample(const uint8_t *at, int64_t before_us, struct codec_sample *ret)
{
	uint64_t lengths = get(at) & masks[LENGTHS];
	unsigned bytes = lengths & 15;

	/* A length above 8 has another bit in addition to that of 8. */
	if (bytes > HAS_UNKNOWN || lengths & EIGHTS & (lengths << 1 | lengths << 2 | lengths << 3))
		return NULL;
	at += LENGTHS;
	ret->unknown = 0;
	if (bytes == HAS_UNKNOWN) {
		ret->unknown = get(at);
		at += 8;
		bytes = 8;
	}
	ret->elapsed_us = (int64_t)((uint64_t)before_us + bits_unfold(get(at) & masks[bytes]));
	if (ret->elapsed_us < 0 || ret->unknown & ~COUNTER_ALL)
		return NULL;
	at += bytes;
	/* Without this and the unrolled loop of codec_series_add() a compaction takes 6 % more instructions. */
#pragma GCC unroll 9
	for (int i = 0; i < COUNTER_TRAFFIC_COUNT; i++) {
		lengths >>= 4;
		ret->value[i] = get(at) & masks[lengths & 15];
		at += lengths & 15;
	}
	for (int i = COUNTER_UNICAST_XMIT_PACKETS; i <= COUNTER_UNICAST_RCV_PACKETS; i++)
		ret->value[i] = bits_unfold(ret->value[i]) + expected(ret->value, (enum counter)i);
	for (int i = 0; ret->unknown && i < COUNTER_TRAFFIC_COUNT; i++)
		if (ret->unknown & COUNTER_BIT(i) && ret->value[i])
			return NULL;
	return at;
}

int hot_read_block(const uint8_t *data, size_t len, struct codec_sample *samples)
{
	/* A padded copy is faster than a check of the end for each number. */
	uint8_t copy[HOT_BLOCK_MOST + SAMPLE_MOST + 8];
	const uint8_t *at = copy + 5, *end;
	int64_t before_us = 0;
	uint32_t there;

	if (!data || len < 5 || len > HOT_BLOCK_MOST || *data != HOT_VERSION)
		return ERR_IO;
	memcpy(copy, data, len);
	end = copy + len;
	memset(copy + len, 0, SAMPLE_MOST + 8);
	there = (uint32_t)get(copy + 1);
	for (unsigned i = 0; i < CODEC_BLOCK_PORTS; i++) {
		samples[i].there = there >> i & 1;
		if (!samples[i].there) {
			samples[i] = (struct codec_sample){ 0 };
			continue;
		}
		at = get_sample(at, before_us, &samples[i]);
		if (!at || at > end)
			return ERR_IO;
		before_us = samples[i].elapsed_us;
	}
	return at == end ? 0 : ERR_IO;
}
