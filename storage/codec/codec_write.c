/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* codec_write.c - chunks written; their layout is in codec_layout.h */
#include <stdlib.h>
#include <string.h>

#include "base/err.h"
#include "storage/codec/codec_bits.h"
#include "storage/codec/codec_column.h"
#include "storage/codec/codec_group.h"
#include "storage/codec/codec_layout.h"

void bytes_done(struct bytes *bytes)
{
	free(bytes->data);
	*bytes = (struct bytes){ 0 };
}

static int bytes_reserve(struct bytes *bytes, size_t more)
{
	size_t capacity = bytes->capacity ? bytes->capacity : 4096;
	uint8_t *data;

	if (more <= bytes->capacity - bytes->len)
		return 0;
	while (capacity - bytes->len < more)
		capacity *= 2;
	data = realloc(bytes->data, capacity);
	if (!data)
		return ERR_NOMEM;
	bytes->data = data;
	bytes->capacity = capacity;
	return 0;
}

int bytes_append(struct bytes *bytes, const void *data, size_t len)
{
	int result = bytes_reserve(bytes, len);

	if (result)
		return result;
	memcpy(bytes->data + bytes->len, data, len);
	bytes->len += len;
	return 0;
}

/* Is there a number that is not 0? In most columns the first is. */
static bool any_of(const uint64_t *values, unsigned count)
{
	for (unsigned i = 0; i < count; i++)
		if (values[i])
			return true;
	return false;
}

static void write_counter(struct bit_writer *out, const struct codec_column *column, const struct codec_group *group)
{
	uint64_t room[CODEC_CHUNK_SWEEPS], known_left[CODEC_CHUNK_SWEEPS];
	struct codec_shares shares;
	const uint64_t *left = codec_group_left(group, column, &shares, room);
	unsigned count = group->count;
	bool any;

	if (group->any_unknown & COUNTER_BIT(column->counter)) {
		uint8_t known[CODEC_CHUNK_SWEEPS];

		count = codec_group_known(group, column->counter, known);
		for (unsigned i = 0; i < count; i++)
			known_left[i] = left[known[i]];
		left = known_left;
	}
	if (!count)
		return;
	any = shares.of_words || shares.of_answers || any_of(left, count);
	bits_put(out, !any, 1);
	if (!any)
		return;
	if (column->words != CODEC_NONE) {
		bits_put_number(out, shares.of_words);
		bits_put_number(out, shares.of_answers);
	}
	column_put(out, left, count);
}

/* The traffic of each sample: what groups are made by. */
static void add_traffic(const struct codec_group *group, uint64_t *ret)
{
	const uint64_t *xmit = group->value[COUNTER_XMIT_DATA], *rcv = group->value[COUNTER_RCV_DATA];

	for (unsigned i = 0; i < group->count; i++)
		ret[i] = xmit[i] + rcv[i] < xmit[i] ? UINT64_MAX : xmit[i] + rcv[i];
}

/* Numbers with the same number of bits. */
struct bin {
	uint64_t low, high;
	unsigned count;
};

static struct bin bin_join(struct bin a, struct bin b)
{
	if (!a.count)
		return b;
	if (b.count)
		a = (struct bin){ a.low < b.low ? a.low : b.low, a.high > b.high ? a.high : b.high, a.count + b.count };
	return a;
}

static unsigned bin_cost(struct bin bin)
{
	return 2 * bin.count * bits_needed(bin.high - bin.low); /* words of both directions */
}

/* choose_split() where there are gaps: @lowest and @highest are the least and the most bits. */
static unsigned choose_gap(const uint64_t *traffic, unsigned count, unsigned lowest, unsigned highest)
{
	struct bin bins[65] = { 0 }, above[66] = { 0 }, below = { 0 };
	unsigned best, at = 0;

	for (unsigned i = 0; i < count; i++) {
		unsigned bits = bits_needed(traffic[i]);

		bins[bits] = bin_join(bins[bits], (struct bin){ traffic[i], traffic[i], 1 });
	}
	for (unsigned i = highest + 1; i-- > lowest;)
		above[i] = bin_join(above[i + 1], bins[i]);
	best = bin_cost(above[lowest]);
	for (unsigned i = lowest + 1; i <= highest; i++) {
		/* A bit for each sample, and the headers of four more columns with what predicts two of them. */
		unsigned cost = count + 4 * 60;

		below = bin_join(below, bins[i - 1]);
		cost += bin_cost(below) + bin_cost(above[i]);
		/* A gap between the two: what is spread evenly is not parted. */
		if (!bins[i - 1].count && cost < best) {
			best = cost;
			at = i;
		}
	}
	return at;
}

/*
 * Where to part samples into those with little traffic and those with much: at a
 * number of bits, and only where that saves more than it costs.
 * Return: bits of the least traffic of the second group; 0: all are in one.
 */
static unsigned choose_split(const uint64_t *traffic, unsigned count)
{
	uint64_t lengths = 0; /* bit i: a number of i + 1 bits, or of none, which is as good as one */
	unsigned lowest, highest;

	for (unsigned i = 0; i < count; i++)
		lengths |= UINT64_C(1) << (63 - __builtin_clzll(traffic[i] | 1));
	lowest = (unsigned)__builtin_ctzll(lengths);
	/* Nearly always: they begin and end somewhere, and every length in between is there. */
	if (!((lengths >> lowest) & ((lengths >> lowest) + 1)))
		return 0;
	highest = bits_needed(lengths);
	for (unsigned i = 0; !lowest && i < count; i++)
		if (!traffic[i])
			return choose_gap(traffic, count, 0, highest);
	return choose_gap(traffic, count, lowest + 1, highest);
}

/* Which samples are in the second group. */
static void write_members(struct bit_writer *out, const bool *second, unsigned count)
{
	uint64_t turns[CODEC_CHUNK_SWEEPS];
	unsigned turn_count = 0;
	bool before = false;

	for (unsigned i = 0; i < count; i++) {
		turns[i] = second[i] != before;
		turn_count += second[i] != before;
		before = second[i];
	}
	/* A port is idle for a while and busy for a while; its neighbours are as they like. */
	if (turn_count * 10 + 32 < count) {
		bits_put(out, 1, 1);
		column_put(out, turns, count);
		return;
	}
	bits_put(out, 0, 1);
	for (unsigned i = 0; i < count; i++)
		bits_put(out, second[i], 1);
}

static void write_group(struct bit_writer *out, const struct codec_group *group)
{
	for (unsigned i = 0; i < COUNTER_TRAFFIC_COUNT; i++)
		write_counter(out, &codec_columns[i], group);
}

/* Those members that are, or are not, in the second group. */
static void part_group(const struct codec_group *all, const bool *second, bool wanted, struct codec_group *ret)
{
	uint8_t from[CODEC_CHUNK_SWEEPS];

	unsigned count = 0;

	for (unsigned i = 0; i < all->count; i++) {
		from[count] = (uint8_t)i;
		count += second[i] == wanted;
	}
	ret->count = 0;
	ret->any_unknown = 0;
	for (unsigned i = 0; i < count; i++)
		codec_group_add(ret, all->unknown[from[i]], all->at[from[i]]);
	for (unsigned j = 0; j < COUNTER_TRAFFIC_COUNT; j++) {
#pragma GCC unroll 4
		for (unsigned i = 0; i < count; i++)
			ret->value[j][i] = all->value[j][from[i]];
	}
}

static void write_groups(struct bit_writer *out, const struct codec_group *all)
{
	uint64_t traffic[CODEC_CHUNK_SWEEPS];
	bool second[CODEC_CHUNK_SWEEPS];
	struct codec_group group;
	unsigned split;

	add_traffic(all, traffic);
	split = choose_split(traffic, all->count);
	bits_put(out, !!split, 1);
	if (!split) {
		write_group(out, all);
		return;
	}
	for (unsigned i = 0; i < all->count; i++)
		second[i] = traffic[i] >> (split - 1) != 0;
	write_members(out, second, all->count);
	part_group(all, second, false, &group);
	write_group(out, &group);
	part_group(all, second, true, &group);
	write_group(out, &group);
}

static void write_places(struct bit_writer *out, const struct codec_group *group, unsigned count)
{
	bits_put(out, group->count == count, 1);
	if (group->count == count)
		return;
	for (unsigned i = 0, next = 0; i < count; i++) {
		bool there = next < group->count && group->at[next] == i;

		bits_put(out, there, 1);
		next += there;
	}
}

int codec_write_series(struct bytes *out, const struct codec_series *series, unsigned count)
{
	const struct codec_group *group = &series->group;
	struct bit_writer bits;
	int result = bytes_reserve(out, BYTES_MAX(count));

	if (result)
		return result;
	bits = (struct bit_writer){ .at = out->data + out->len };
	bits_put(&bits, CHUNK_1, 8);
	bits_put(&bits, count, COUNT_WIDTH);
	write_places(&bits, group, count);
	if (group->count) {
		column_put(&bits, group->unknown, group->count);
		column_put(&bits, series->elapsed_us, group->count);
		write_groups(&bits, group);
	}
	bits_flush(&bits);
	out->len = (size_t)(bits.at - out->data);
	return 0;
}

int codec_write_chunk(struct bytes *out, const struct codec_sample *samples, unsigned count)
{
	struct codec_series series;

	series.group.count = 0;
	series.group.any_unknown = 0;
	for (unsigned i = 0; i < count; i++)
		if (samples[i].there)
			codec_series_add(&series, &samples[i], i);
	return codec_write_series(out, &series, count);
}
