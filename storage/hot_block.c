/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * hot_block.c - the layout, numbers with their lowest byte first:
 *
 *     1 byte     HOT_VERSION
 *     4 bytes    bit i: port i has a sample; of each that has one, in order:
 *       5 bytes    how many bytes (0 to 8) each of NUMBERS numbers takes, the first in the low
 *                  half of the first byte; 9 in the place of the elapsed time: a set `unknown`
 *                  of 8 bytes stands first, and the elapsed time takes 8
 *       the numbers: the elapsed time less that of the port before, the counters; of unicast
 *                  packets what is left of all packets less multicast. Differences wrap, and
 *                  have their sign in the lowest bit.
 */
#include "storage/hot_block.h"

#include <endian.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

#include "base/err.h"

#define HOT_VERSION 1
#define NUMBERS (1 + COUNTER_TRAFFIC_COUNT)
#define LENGTHS ((NUMBERS + 1) / 2)
#define HAS_UNKNOWN 9
#define SAMPLE_MOST (LENGTHS + 8 + 8 * NUMBERS)
_Static_assert(HOT_BLOCK_MOST == 5 + CODEC_BLOCK_PORTS * SAMPLE_MOST, "the longest block");
_Static_assert(HOT_PADDING >= SAMPLE_MOST + 8, "a sample may begin where they end");

static uint64_t fold(uint64_t difference)
{
	return difference << 1 ^ (difference >> 63 ? UINT64_MAX : 0);
}

static uint64_t unfold(uint64_t folded)
{
	return folded >> 1 ^ (folded & 1 ? UINT64_MAX : 0);
}

/* What unicast packets are in a quiet fabric: all but multicast. */
static uint64_t expected(const uint64_t *value, enum counter unicast)
{
	return unicast == COUNTER_UNICAST_XMIT_PACKETS
		? value[COUNTER_XMIT_PACKETS] - value[COUNTER_MULTICAST_XMIT_PACKETS]
		: value[COUNTER_RCV_PACKETS] - value[COUNTER_MULTICAST_RCV_PACKETS];
}

static unsigned put(uint8_t *at, uint64_t value)
{
	unsigned bytes = value ? (unsigned)(71 - __builtin_clzll(value)) / 8 : 0;

	/* Eight at once: there is room for the longest, and what is too much is written over. */
	value = htole64(value);
	memcpy(at, &value, sizeof(value));
	return bytes;
}

static uint8_t *put_sample(uint8_t *at, const struct codec_sample *sample, int64_t before_us)
{
	uint8_t *lengths = at;
	unsigned bytes[LENGTHS * 2] = { 0 };

	at += LENGTHS;
	if (sample->unknown) {
		put(at, sample->unknown);
		put(at + 8, fold((uint64_t)sample->elapsed_us - (uint64_t)before_us));
		at += 16;
		bytes[0] = HAS_UNKNOWN;
	} else {
		bytes[0] = put(at, fold((uint64_t)sample->elapsed_us - (uint64_t)before_us));
		at += bytes[0];
	}
	for (int i = 0; i < COUNTER_TRAFFIC_COUNT; i++) {
		uint64_t value = sample->value[i];

		if (i == COUNTER_UNICAST_XMIT_PACKETS || i == COUNTER_UNICAST_RCV_PACKETS)
			value = fold(value - expected(sample->value, (enum counter)i));
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

	if (out->capacity - out->len < HOT_BLOCK_MOST + 8) {
		size_t capacity = 2 * out->capacity + HOT_BLOCK_MOST + 8;
		uint8_t *bigger = realloc(out->data, capacity);

		if (!bigger)
			return ERR_NOMEM;
		out->data = bigger;
		out->capacity = capacity;
	}
	at = out->data + out->len;
	for (unsigned i = 0; i < CODEC_BLOCK_PORTS; i++)
		there |= (uint32_t)samples[i].there << i;
	*at++ = HOT_VERSION;
	for (int i = 0; i < 4; i++)
		*at++ = (uint8_t)(there >> 8 * i);
	for (unsigned i = 0; i < CODEC_BLOCK_PORTS; i++) {
		if (!samples[i].there)
			continue;
		at = put_sample(at, &samples[i], before_us);
		before_us = samples[i].elapsed_us;
	}
	out->len = (size_t)(at - out->data);
	return 0;
}

/* Which bits of eight bytes are those of a number of so many bytes. */
static const uint64_t masks[] = {
	0, 0xff, 0xffff, 0xffffff, 0xffffffff, 0xffffffffff, 0xffffffffffff, 0xffffffffffffff, UINT64_MAX,
};

/* Of each length but the first, 4 bits each: the bit that says 8 or more. */
#define EIGHTS UINT64_C(0x8888888880)

/* Eight bytes. The caller's buffer goes on behind its end, so that they can be looked at. */
static uint64_t get(const uint8_t *at)
{
	uint64_t value;

	memcpy(&value, at, sizeof(value));
	return le64toh(value);
}

/* Return: the byte behind it, or NULL where a length cannot be. At most SAMPLE_MOST bytes further. */
static inline const uint8_t *get_sample(const uint8_t *at, struct codec_sample *sample, int64_t before_us)
{
	uint64_t lengths = get(at) & masks[LENGTHS];
	uint64_t *value = sample->value;
	unsigned bytes = lengths & 15;

	/* A length above 8 has another bit beside that of 8. */
	if (bytes > HAS_UNKNOWN || lengths & EIGHTS & (lengths << 1 | lengths << 2 | lengths << 3))
		return NULL;
	at += LENGTHS;
	sample->there = true;
	sample->unknown = 0;
	if (bytes == HAS_UNKNOWN) {
		sample->unknown = get(at);
		at += 8;
		bytes = 8;
	}
	sample->elapsed_us = (int64_t)((uint64_t)before_us + unfold(get(at) & masks[bytes]));
	at += bytes;
	for (int i = 0; i < COUNTER_TRAFFIC_COUNT; i++) {
		lengths >>= 4;
		value[i] = get(at) & masks[lengths & 15];
		at += lengths & 15;
	}
	/* The others had to be there first. */
	value[COUNTER_UNICAST_XMIT_PACKETS] =
		unfold(value[COUNTER_UNICAST_XMIT_PACKETS]) + expected(value, COUNTER_UNICAST_XMIT_PACKETS);
	value[COUNTER_UNICAST_RCV_PACKETS] =
		unfold(value[COUNTER_UNICAST_RCV_PACKETS]) + expected(value, COUNTER_UNICAST_RCV_PACKETS);
	return at;
}

int hot_read_padded(const uint8_t *data, size_t len, struct codec_sample *samples)
{
	const uint8_t *at = data, *end = data + len;
	int64_t before_us = 0;
	uint32_t there;

	if (!data || len < 5 || len > HOT_BLOCK_MOST || *at++ != HOT_VERSION)
		return ERR_IO;
	there = (uint32_t)get(at);
	at += 4;
	for (unsigned i = 0; i < CODEC_BLOCK_PORTS; i++) {
		if (!(there >> i & 1)) {
			samples[i] = (struct codec_sample){ 0 };
			continue;
		}
		at = get_sample(at, &samples[i], before_us);
		if (!at || at > end)
			return ERR_IO;
		before_us = samples[i].elapsed_us;
	}
	return at == end ? 0 : ERR_IO;
}

int hot_read_block(const uint8_t *data, size_t len, struct codec_sample *samples)
{
	/* A copy with room behind it costs less than to look for the end at each number. */
	uint8_t copy[HOT_BLOCK_MOST + HOT_PADDING];

	if (!data || len > HOT_BLOCK_MOST)
		return ERR_IO;
	memcpy(copy, data, len);
	memset(copy + len, 0, HOT_PADDING);
	return hot_read_padded(copy, len, samples);
}
