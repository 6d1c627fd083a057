/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* codec.c - chunks read; their layout is in codec_layout.h */
#include "storage/codec/codec.h"

#include <string.h>

#include "base/err.h"
#include "storage/codec/codec_bits.h"
#include "storage/codec/codec_column.h"
#include "storage/codec/codec_group.h"
#include "storage/codec/codec_layout.h"

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

/* Of a list of places in rising order, the first that is @place or behind it. */
static unsigned first_from(const uint8_t *at, unsigned count, unsigned place)
{
	unsigned low = 0, high = count;

	while (low < high) {
		unsigned middle = (low + high) / 2;

		if (at[middle] < place)
			low = middle + 1;
		else
			high = middle;
	}
	return low;
}

/* A column of those that know the counter, beside what was predicted for members [@first, @end). */
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

/* Members [@first, @end) only. */
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

/* What stands before the counters: who is there, and what each has. */
struct head {
	struct places there;
	bool split;
	bool second[CODEC_CHUNK_SWEEPS];          /* by the order in `there`, as are the next two */
	counter_set unknown[CODEC_CHUNK_SWEEPS];
	uint64_t elapsed_us[CODEC_CHUNK_SWEEPS];
};

static void read_places(struct bit_reader *in, struct places *there, unsigned count)
{
	bool all = bits_get(in, 1);

	there->count = 0;
	for (unsigned i = 0; i < count; i++) {
		there->at[there->count] = (uint8_t)i;
		there->count += all || bits_get(in, 1);
	}
}

static void read_columns(struct bit_reader *in, struct head *head)
{
	unsigned count = head->there.count;

	read_column(in, head->unknown, count);
	read_column(in, head->elapsed_us, count);
	for (unsigned i = 0; i < count; i++)
		if (head->unknown[i] & ~COUNTER_ALL || head->elapsed_us[i] > INT64_MAX)
			in->bad = true;
	head->split = bits_get(in, 1);
	if (head->split)
		read_members(in, head->second, count);
}

/* Return: 0, or ERR_IO where it cannot be. Where nobody is there only `there` is filled, and nothing follows. */
static int read_head(struct bit_reader *in, unsigned count, struct head *head)
{
	/* What is longer than anything that was written is refused before its bits are counted. */
	if (in->len > BYTES_MAX(count) || bits_get(in, 8) != CHUNK_1 || bits_get(in, COUNT_WIDTH) != count)
		return ERR_IO;
	read_places(in, &head->there, count);
	if (head->there.count)
		read_columns(in, head);
	return in->bad ? ERR_IO : 0;
}

/* Some of the samples, by their places in the chunk, and which members of a group they are: [first, end). */
struct part {
	unsigned from, to;
	unsigned first, end;
};

/* The first or the second group, with all counters of those that are in the part. Return: 0 or ERR_IO. */
static int read_group(struct bit_reader *in, const struct head *head, bool second, struct codec_group *group,
		      struct part *part)
{
	group->count = 0;
	group->any_unknown = 0;
	for (unsigned i = 0; i < head->there.count; i++)
		if (!head->split || head->second[i] == second)
			codec_group_add(group, head->unknown[i], head->there.at[i]);
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
	int result = count <= CODEC_CHUNK_SWEEPS ? read_head(&in, count, &head) : ERR_IO;

	if (result)
		return result;
	memset(samples, 0, count * sizeof(*samples));
	for (unsigned i = 0; i < head.there.count; i++) {
		struct codec_sample *sample = &samples[head.there.at[i]];

		sample->there = true;
		sample->unknown = head.unknown[i];
		sample->elapsed_us = (int64_t)head.elapsed_us[i];
	}
	for (int g = 0; head.there.count && g <= head.split; g++) {
		result = read_group(&in, &head, g, &group, &whole);
		if (result)
			return result;
		codec_group_give(&group, samples);
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
	int result = count <= CODEC_CHUNK_SWEEPS ? read_head(&in, count, &head) : ERR_IO;

	if (result)
		return result;
	sum_head(&head, first_from(head.there.at, head.there.count, from),
		 first_from(head.there.at, head.there.count, to), &sum);
	for (int g = 0; head.there.count && g <= head.split; g++) {
		result = read_group(&in, &head, g, &group, &part);
		if (result)
			return result;
		for (int i = 0; i < COUNTER_TRAFFIC_COUNT; i++) {
			uint64_t here = codec_sum_column(&group.value[i][part.first],
							 part.end - part.first);

			if (__builtin_add_overflow(sum.value[i], here, &sum.value[i]))
				sum.value[i] = UINT64_MAX;
		}
	}
	if (!bits_at_end(&in))
		return ERR_IO;
	*ret = sum;
	return 0;
}
