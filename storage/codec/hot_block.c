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
#include "storage/codec/hot_block.h"

#include <endian.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

#include "base/err.h"
#include "storage/codec/codec_group.h"

#define HOT_VERSION 1
#define NUMBERS (1 + COUNTER_TRAFFIC_COUNT)
#define LENGTHS ((NUMBERS + 1) / 2)
#define HAS_UNKNOWN 9
#define COUNTER_ALL (COUNTER_BIT(COUNTER_COUNT) - 1)
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

/* What the reader would refuse, with all samples beside it, is kept as what it can be. */
static struct codec_sample put_right(const struct codec_sample *sample)
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
		const struct codec_sample *sample = &samples[i];
		struct codec_sample right;

		if (!sample->there)
			continue;
		if (sample->unknown || sample->elapsed_us < 0) {
			right = put_right(sample);
			sample = &right;
		}
		at = put_sample(at, sample, before_us);
		before_us = sample->elapsed_us;
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

/* What of a sample is no counter. */
struct head {
	counter_set unknown;
	int64_t elapsed_us;
};

/* Is a counter 0 where it is not known, as it was written? */
static bool is_unknown_empty(counter_set unknown, const uint64_t *value, size_t stride)
{
	for (size_t i = 0; i < COUNTER_TRAFFIC_COUNT; i++)
		if (unknown & COUNTER_BIT(i) && value[i * stride])
			return false;
	return true;
}

/*
 * @head:  of the sample before it, and then of this one
 * @value:  the counters' places, @stride numbers apart
 *
 * Return: the byte behind it, at most SAMPLE_MOST further, or NULL where it is no sample that was written: a length, a
 * time or a set that cannot be, or a number of a counter that is not known.
 */
static inline __attribute__((always_inline)) const uint8_t *get_sample(const uint8_t *at, struct head *head,
								       uint64_t *value, size_t stride)
{
	uint64_t lengths = get(at) & masks[LENGTHS], packets[2], multicast[2];
	unsigned bytes = lengths & 15;

	/* A length above 8 has another bit beside that of 8. */
	if (bytes > HAS_UNKNOWN || lengths & EIGHTS & (lengths << 1 | lengths << 2 | lengths << 3))
		return NULL;
	at += LENGTHS;
	head->unknown = 0;
	if (bytes == HAS_UNKNOWN) {
		head->unknown = get(at);
		at += 8;
		bytes = 8;
	}
	head->elapsed_us = (int64_t)((uint64_t)head->elapsed_us + unfold(get(at) & masks[bytes]));
	if (head->elapsed_us < 0 || head->unknown & ~COUNTER_ALL)
		return NULL;
	at += bytes;
	for (size_t i = 0; i < COUNTER_TRAFFIC_COUNT; i++) {
		lengths >>= 4;
		value[i * stride] = get(at) & masks[lengths & 15];
		at += lengths & 15;
	}
	/* The others had to be there first. */
	packets[0] = value[COUNTER_XMIT_PACKETS * stride];
	packets[1] = value[COUNTER_RCV_PACKETS * stride];
	multicast[0] = value[COUNTER_MULTICAST_XMIT_PACKETS * stride];
	multicast[1] = value[COUNTER_MULTICAST_RCV_PACKETS * stride];
	value[COUNTER_UNICAST_XMIT_PACKETS * stride] =
		unfold(value[COUNTER_UNICAST_XMIT_PACKETS * stride]) + packets[0] - multicast[0];
	value[COUNTER_UNICAST_RCV_PACKETS * stride] =
		unfold(value[COUNTER_UNICAST_RCV_PACKETS * stride]) + packets[1] - multicast[1];
	return head->unknown && !is_unknown_empty(head->unknown, value, stride) ? NULL : at;
}

/* Which ports have a sample. Return: the byte behind it, or NULL where this is no block. */
static const uint8_t *get_there(const uint8_t *data, size_t len, uint32_t *ret)
{
	if (!data || len < 5 || len > HOT_BLOCK_MOST || *data != HOT_VERSION)
		return NULL;
	*ret = (uint32_t)get(data + 1);
	return data + 5;
}

int hot_read_block(const uint8_t *data, size_t len, struct codec_sample *samples)
{
	/* A copy with room behind it costs less than to look for the end at each number. */
	uint8_t copy[HOT_BLOCK_MOST + HOT_PADDING];
	const uint8_t *at, *end = copy + len;
	struct head head = { 0 };
	uint32_t there;

	if (!data || len > HOT_BLOCK_MOST)
		return ERR_IO;
	memcpy(copy, data, len);
	memset(copy + len, 0, HOT_PADDING);
	at = get_there(copy, len, &there);
	for (unsigned i = 0; at && i < CODEC_BLOCK_PORTS; i++) {
		samples[i] = (struct codec_sample){ .there = there >> i & 1 };
		if (!samples[i].there)
			continue;
		at = get_sample(at, &head, samples[i].value, 1);
		if (!at || at > end)
			return ERR_IO;
		samples[i].unknown = head.unknown;
		samples[i].elapsed_us = head.elapsed_us;
	}
	return at == end ? 0 : ERR_IO;
}

/* Take back the first @ports of @there. */
static void take_back(struct codec_series *series, uint32_t there, unsigned ports)
{
	for (unsigned i = 0; i < ports; i++) {
		struct codec_group *group = &series[i].group;

		if (!(there >> i & 1))
			continue;
		group->count--;
		group->any_unknown = 0;
		for (unsigned j = 0; j < group->count; j++)
			group->any_unknown |= group->unknown[j];
	}
}

int hot_read_series(const uint8_t *data, size_t len, struct codec_series *series, unsigned place)
{
	const uint8_t *end = data + len, *at;
	struct head head = { 0 };
	uint32_t there;

	at = get_there(data, len, &there);
	if (!at)
		return ERR_IO;
	for (unsigned i = 0; i < CODEC_BLOCK_PORTS; i++) {
		struct codec_group *group = &series[i].group;

		if (!(there >> i & 1))
			continue;
		at = get_sample(at, &head, &group->value[0][group->count], CODEC_COLUMN_ROOM);
		if (!at || at > end) {
			take_back(series, there, i);
			return ERR_IO;
		}
		series[i].elapsed_us[group->count] = (uint64_t)head.elapsed_us;
		codec_group_add(group, head.unknown, place);
	}
	if (at == end)
		return 0;
	take_back(series, there, CODEC_BLOCK_PORTS);
	return ERR_IO;
}
