/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * codec.c - chunks written and read
 *
 * The first byte is kind and version; then follow, as bits:
 *
 *     count   9 bits
 *     all there?  1 bit; if not, 1 bit for each sample
 *     (the rest only if at least one sample is there, and for those that are)
 *     unknown, elapsed_us: a column each (codec_column.h)
 *     two groups? 1 bit; if so, which samples are in the second: 1 bit selects either one bit for
 *     each sample, or a column of the samples whose group differs from that of the previous one
 *     for each group and each counter, in the order of codec_columns, over the
 *     samples of the group that know the counter (nothing if there are none):
 *         all 0?  1 bit; if not:
 *         for packets two numbers: shares of the words of this direction and
 *         of the other one, in 2^-28
 *         a column of the values minus their prediction
 *     zeros up to a whole byte
 */
#include "storage/codec/codec.h"

#include <stdlib.h>
#include <string.h>

#include "base/err.h"
#include "storage/codec/codec_bits.h"
#include "storage/codec/codec_column.h"
#include "storage/codec/codec_group.h"

enum { CHUNK_1 = 0xc1 }; /* first byte: kind and version */

#define COUNT_WIDTH 9
#define COUNTER_ALL (COUNTER_BIT(COUNTER_COUNT) - 1)

/* Each group has a header in each column. */
#define GROUPS 2
#define BYTES_MAX(count) \
	(64 + (size_t)(count) + 3 * COLUMN_BYTES_MAX(count) + \
	 COUNTER_TRAFFIC_COUNT * (COLUMN_BYTES_MAX(count) + GROUPS * (COLUMN_BYTES_MAX(0) + 12)))

void bytes_done(struct bytes *bytes)
{
	free(bytes->data);
	*bytes = (struct bytes){ 0 };
}

int bytes_reserve(struct bytes *bytes, size_t more)
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

/* --- writing --- */

/* Is one of @count numbers, at least one, not 0? */
static bool any_of(const uint64_t *values, unsigned count)
{
	return values[0] || memcmp(values, values + 1, (count - 1) * sizeof(*values));
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

/* The traffic of each sample, by which groups are formed. */
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

/*
 * Where to separate samples with little traffic from those with much: at a number of bits that no
 * sample has, and only if that saves more than it costs.
 * Return: bits of the least traffic of the second group; 0: all samples are in one group.
 */
static unsigned choose_split(const uint64_t *traffic, unsigned count)
{
	struct bin bins[65] = { 0 }, above[66] = { 0 }, below = { 0 };
	unsigned best, at = 0, low = 0, high = 64;

	for (unsigned i = 0; i < count; i++) {
		unsigned bits = bits_needed(traffic[i]);

		bins[bits] = bin_join(bins[bits], (struct bin){ traffic[i], traffic[i], 1 });
	}
	while (!bins[low].count)
		low++;
	while (!bins[high].count)
		high--;
	for (unsigned i = high + 1; i-- > low;)
		above[i] = bin_join(above[i + 1], bins[i]);
	best = bin_cost(above[low]);
	for (unsigned i = low + 1; i <= high; i++) {
		/* One bit per sample, and the headers of four more columns, two with shares. */
		unsigned cost = count + 4 * 60;

		below = bin_join(below, bins[i - 1]);
		cost += bin_cost(below) + bin_cost(above[i]);
		if (!bins[i - 1].count && cost < best) {
			best = cost;
			at = i;
		}
	}
	return at;
}

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
	/* Long idle and busy intervals make few changes. */
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

/* Copy the samples whose @second is @wanted. */
static void select_group(const struct codec_group *all, const bool *second, bool wanted, struct codec_group *ret)
{
	ret->count = 0;
	ret->any_unknown = 0;
	for (unsigned i = 0; i < all->count; i++) {
		if (second[i] != wanted)
			continue;
		for (unsigned j = 0; j < COUNTER_TRAFFIC_COUNT; j++)
			ret->value[j][ret->count] = all->value[j][i];
		codec_group_add(ret, all->unknown[i], all->at[i]);
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
	select_group(all, second, false, &group);
	write_group(out, &group);
	select_group(all, second, true, &group);
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

/* --- reading --- */

static uint32_t get_share(struct bit_reader *in)
{
	uint64_t share = bits_get_number(in);

	if (share <= CODEC_SHARE_MAX)
		return (uint32_t)share;
	in->bad = true;
	return 0;
}

static void read_column(struct bit_reader *in, uint64_t *values, unsigned count)
{
	memset(values, 0, count * sizeof(*values));
	column_add(in, values, count);
}

/* Return: index of the first of @count increasing places that is not below @place. */
static unsigned first_from(const uint8_t *at, unsigned count, unsigned place)
{
	/* Places increase: the index is at most the place, and equal to it unless samples are missing. */
	unsigned first = place < count ? place : count;

	while (first && at[first - 1] >= place)
		first--;
	return first;
}

/* Add a column of the samples that know the counter to the prediction of samples [@first, @end). */
static void read_known(struct bit_reader *in, const uint8_t *known, unsigned count, bool any, unsigned first,
		       unsigned end, uint64_t *value)
{
	uint64_t left[CODEC_CHUNK_SWEEPS];
	unsigned next = first_from(known, count, first);

	memset(left, 0, count * sizeof(*left));
	if (any)
		column_add(in, left, count);
	for (unsigned i = first; i < end; i++)
		value[i] = next < count && known[next] == i ? value[i] + left[next++] : 0;
}

/* Samples [@first, @end) of a counter. */
static void read_counter(struct bit_reader *in, const struct codec_column *column, struct codec_group *group,
			 unsigned first, unsigned end)
{
	uint64_t *value = group->value[column->counter];
	struct codec_shares shares = { 0 };
	uint8_t known[CODEC_CHUNK_SWEEPS];
	unsigned count = group->count;
	bool some = group->any_unknown & COUNTER_BIT(column->counter), any;

	if (some)
		count = codec_group_known(group, column->counter, known);
	any = count && !bits_get(in, 1);
	if (any && column->words != CODEC_NONE) {
		shares.of_words = get_share(in);
		shares.of_answers = get_share(in);
	}
	codec_group_predict(group, column, shares, first, end, value);
	if (some)
		read_known(in, known, count, any, first, end, value);
	else if (any)
		column_add_part(in, value, count, first, end);
}

static void read_members(struct bit_reader *in, bool *second, unsigned count)
{
	uint64_t turns[CODEC_CHUNK_SWEEPS];

	if (!bits_get(in, 1)) {
		for (unsigned i = 0; i < count; i++)
			second[i] = bits_get(in, 1);
		return;
	}
	read_column(in, turns, count);
	second[0] = turns[0];
	for (unsigned i = 1; i < count; i++)
		second[i] = second[i - 1] != (bool)turns[i];
}

/* The part of a chunk before its counters. Arrays have an element for each sample that is there. */
struct head {
	unsigned count;
	uint8_t at[CODEC_CHUNK_SWEEPS];
	bool split;
	bool second[CODEC_CHUNK_SWEEPS];
	counter_set unknown[CODEC_CHUNK_SWEEPS];
	uint64_t elapsed_us[CODEC_CHUNK_SWEEPS];
};

static void read_columns(struct bit_reader *in, struct head *head)
{
	read_column(in, head->unknown, head->count);
	read_column(in, head->elapsed_us, head->count);
	for (unsigned i = 0; i < head->count; i++)
		if (head->unknown[i] & ~COUNTER_ALL || head->elapsed_us[i] > INT64_MAX)
			in->bad = true;
	head->split = bits_get(in, 1);
	if (head->split)
		read_members(in, head->second, head->count);
}

/* Return: 0 or ERR_IO. If head->count is 0, the other fields are undefined and nothing follows. */
static int read_head(struct bit_reader *in, unsigned count, struct head *head)
{
	bool all;

	/* The length is limited first: it is multiplied by 8. */
	if (count > CODEC_CHUNK_SWEEPS || in->len > BYTES_MAX(count) || bits_get(in, 8) != CHUNK_1 ||
	    bits_get(in, COUNT_WIDTH) != count)
		return ERR_IO;
	all = bits_get(in, 1);
	head->count = 0;
	for (unsigned i = 0; i < count; i++) {
		head->at[head->count] = (uint8_t)i;
		head->count += all || bits_get(in, 1);
	}
	if (head->count)
		read_columns(in, head);
	return in->bad ? ERR_IO : 0;
}

/* Samples by their places [from, to) in the chunk, and by their indices [first, end) in a group. */
struct part {
	unsigned from, to;
	unsigned first, end;
};

/* Read the first or the second group; values only of samples in the part. Return: 0 or ERR_IO. */
static int read_group(struct bit_reader *in, const struct head *head, bool second, struct codec_group *group,
		      struct part *part)
{
	group->count = 0;
	group->any_unknown = 0;
	for (unsigned i = 0; i < head->count; i++)
		if (!head->split || head->second[i] == second)
			codec_group_add(group, head->unknown[i], head->at[i]);
	part->first = first_from(group->at, group->count, part->from);
	part->end = first_from(group->at, group->count, part->to);
	for (unsigned i = 0; i < COUNTER_TRAFFIC_COUNT && !in->bad; i++)
		read_counter(in, &codec_columns[i], group, part->first, part->end);
	return in->bad ? ERR_IO : 0;
}

int codec_read_chunk(const uint8_t *data, size_t len, struct codec_sample *samples, unsigned count)
{
	struct bit_reader in = { .data = data, .len = len };
	struct part whole = { .from = 0, .to = count };
	struct codec_group group;
	struct head head;
	int result = read_head(&in, count, &head);

	if (result)
		return result;
	memset(samples, 0, count * sizeof(*samples));
	for (unsigned i = 0; i < head.count; i++) {
		struct codec_sample *sample = &samples[head.at[i]];

		sample->there = true;
		sample->unknown = head.unknown[i];
		sample->elapsed_us = (int64_t)head.elapsed_us[i];
	}
	for (int g = 0; head.count && g <= head.split; g++) {
		result = read_group(&in, &head, g, &group, &whole);
		if (result)
			return result;
		for (unsigned i = 0; i < group.count; i++)
			for (unsigned j = 0; j < COUNTER_TRAFFIC_COUNT; j++)
				samples[group.at[i]].value[j] = group.value[j][i];
	}
	return bits_at_end(&in) ? 0 : ERR_IO;
}

static void sum_head(const struct head *head, unsigned first, unsigned end, struct codec_sum *sum)
{
	for (unsigned i = first; i < end; i++) {
		sum->elapsed_us += head->elapsed_us[i];
		sum->unknown |= head->unknown[i];
		sum->never &= head->unknown[i];
	}
	sum->samples = end - first;
}

int codec_sum_chunk(const uint8_t *data, size_t len, unsigned count, unsigned from, unsigned to, struct codec_sum *ret)
{
	struct bit_reader in = { .data = data, .len = len };
	struct codec_sum sum = { .never = COUNTER_ALL };
	struct part part = { .from = from, .to = to };
	struct codec_group group;
	struct head head;
	int result = read_head(&in, count, &head);

	if (result)
		return result;
	sum_head(&head, first_from(head.at, head.count, from), first_from(head.at, head.count, to), &sum);
	for (int g = 0; head.count && g <= head.split; g++) {
		result = read_group(&in, &head, g, &group, &part);
		if (result)
			return result;
		for (int i = 0; i < COUNTER_TRAFFIC_COUNT; i++) {
			uint64_t here = codec_sum_column(&group.value[i][part.first], part.end - part.first);

			if (__builtin_add_overflow(sum.value[i], here, &sum.value[i]))
				sum.value[i] = UINT64_MAX;
		}
	}
	if (!bits_at_end(&in))
		return ERR_IO;
	*ret = sum;
	return 0;
}
