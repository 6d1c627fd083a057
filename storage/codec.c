/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * The bits of a block or chunk, after its first byte:
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
#include "storage/codec.h"

#include <stdlib.h>
#include <string.h>

#include "base/err.h"
#include "storage/codec_bits.h"
#include "storage/codec_column.h"
#include "storage/codec_group.h"

enum { BLOCK_1 = 0xb1, CHUNK_1 = 0xc1 }; /* first byte: kind and version */

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

/*
 * How columns are written: column_put, or for blocks column_put_flat, and then all else that takes time is
 * left out too. A sweep must be stored at once, and what is a byte or two longer becomes chunks in minutes.
 */
typedef void put_fn(struct bit_writer *out, const uint64_t *values, unsigned count);

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

static void write_counter(struct bit_writer *out, const struct codec_column *column, const struct codec_group *group,
			  put_fn *put)
{
	uint64_t left[CODEC_CHUNK_SWEEPS], any = 0;
	const uint64_t *value = group->value[column->counter];
	struct codec_shares shares = { 0 };
	uint8_t known[CODEC_CHUNK_SWEEPS];
	unsigned count = group->count;

	if (column->words != CODEC_NONE)
		shares = codec_group_shares(group, column);
	codec_group_predict(group, column, shares, left);
	for (unsigned i = 0; i < group->count; i++)
		left[i] = value[i] - left[i];
	if (group->any_unknown & COUNTER_BIT(column->counter)) {
		count = codec_group_known(group, column->counter, known);
		for (unsigned i = 0; i < count; i++)
			left[i] = left[known[i]];
	}
	if (!count)
		return;
	for (unsigned i = 0; i < count; i++)
		any |= left[i];
	any |= shares.of_words | shares.of_answers;
	bits_put(out, !any, 1);
	if (!any)
		return;
	if (column->words != CODEC_NONE) {
		bits_put_number(out, shares.of_words);
		bits_put_number(out, shares.of_answers);
	}
	put(out, left, count);
}

/* A counter, 0 where it is unknown. */
static uint64_t value_of(const struct codec_sample *sample, unsigned counter)
{
	return sample->unknown & COUNTER_BIT(counter) ? 0 : sample->value[counter];
}

/* The traffic of one sample: what groups are made by. */
static uint64_t traffic_of(const struct codec_sample *sample)
{
	uint64_t xmit = value_of(sample, COUNTER_XMIT_DATA), rcv = value_of(sample, COUNTER_RCV_DATA);

	return xmit + rcv < xmit ? UINT64_MAX : xmit + rcv;
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
 * Where to part samples into those with little traffic and those with much: at a
 * number of bits, and only where that saves more than it costs.
 * Return: bits of the least traffic of the second group; 0: all are in one.
 */
static unsigned choose_split(const struct codec_sample *samples, const struct places *there)
{
	struct bin bins[65] = { 0 }, above[66] = { 0 }, below = { 0 };
	unsigned best, at = 0, lowest = 64, highest = 0;

	for (unsigned i = 0; i < there->count; i++) {
		uint64_t traffic = traffic_of(&samples[there->at[i]]);
		unsigned bits = bits_needed(traffic);

		bins[bits] = bin_join(bins[bits], (struct bin){ traffic, traffic, 1 });
		lowest = bits < lowest ? bits : lowest;
		highest = bits > highest ? bits : highest;
	}
	for (unsigned i = highest + 1; i-- > lowest;)
		above[i] = bin_join(above[i + 1], bins[i]);
	best = bin_cost(above[lowest]);
	for (unsigned i = lowest + 1; i <= highest; i++) {
		/* A bit for each sample, and the headers of four more columns with what predicts two of them. */
		unsigned cost = there->count + 4 * 60;

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

/* Which samples are in the second group. */
static void write_members(struct bit_writer *out, const bool *second, unsigned count)
{
	uint64_t turns[CODEC_CHUNK_SWEEPS] = { second[0] };
	unsigned turn_count = second[0];

	for (unsigned i = 1; i < count; i++) {
		turns[i] = second[i] != second[i - 1];
		turn_count += second[i] != second[i - 1];
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

static void write_groups(struct bit_writer *out, const struct codec_sample *samples, const struct places *there,
			 put_fn *put)
{
	unsigned split = put == column_put ? choose_split(samples, there) : 0;
	bool second[CODEC_CHUNK_SWEEPS] = { false };

	for (unsigned i = 0; split && i < there->count; i++)
		second[i] = bits_needed(traffic_of(&samples[there->at[i]])) >= split;
	bits_put(out, !!split, 1);
	if (split)
		write_members(out, second, there->count);
	for (unsigned g = 0; g <= !!split; g++) {
		struct codec_group group;

		group.count = 0;
		group.any_unknown = 0;
		for (unsigned i = 0; i < there->count; i++)
			if (second[i] == g)
				codec_group_add(&group, samples[there->at[i]].unknown, there->at[i]);
		codec_group_fill(&group, samples);
		for (unsigned i = 0; i < COUNTER_TRAFFIC_COUNT; i++)
			write_counter(out, &codec_columns[i], &group, put);
	}
}

static int write_samples(struct bytes *out, uint8_t kind, const struct codec_sample *samples, unsigned count,
			 put_fn *put)
{
	struct places there = { .count = 0 };
	uint64_t numbers[CODEC_CHUNK_SWEEPS];
	struct bit_writer bits;
	int result = bytes_reserve(out, BYTES_MAX(count));

	if (result)
		return result;
	bits = (struct bit_writer){ .at = out->data + out->len };
	bits_put(&bits, kind, 8);
	bits_put(&bits, count, COUNT_WIDTH);
	for (unsigned i = 0; i < count; i++) {
		there.at[there.count] = (uint8_t)i;
		there.count += samples[i].there;
	}
	bits_put(&bits, there.count == count, 1);
	for (unsigned i = 0; there.count < count && i < count; i++)
		bits_put(&bits, samples[i].there, 1);
	if (there.count) {
		for (unsigned i = 0; i < there.count; i++)
			numbers[i] = samples[there.at[i]].unknown & COUNTER_ALL;
		put(&bits, numbers, there.count);
		for (unsigned i = 0; i < there.count; i++) {
			int64_t elapsed_us = samples[there.at[i]].elapsed_us;

			/* A time that runs backwards would be refused by the reader, with all samples beside it. */
			numbers[i] = elapsed_us > 0 ? (uint64_t)elapsed_us : 0;
		}
		put(&bits, numbers, there.count);
		write_groups(&bits, samples, &there, put);
	}
	bits_flush(&bits);
	out->len = (size_t)(bits.at - out->data);
	return 0;
}

int codec_write_block(struct bytes *out, const struct codec_sample *samples, unsigned count)
{
	return write_samples(out, BLOCK_1, samples, count, column_put_flat);
}

int codec_write_chunk(struct bytes *out, const struct codec_sample *samples, unsigned count)
{
	return write_samples(out, CHUNK_1, samples, count, column_put);
}

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

/* A column of those that know the counter, beside what was predicted for all. */
static void read_known(struct bit_reader *in, const struct codec_group *group, const uint8_t *known, unsigned count,
		       bool any, uint64_t *value)
{
	uint64_t left[CODEC_CHUNK_SWEEPS];

	memset(left, 0, count * sizeof(*left));
	if (any)
		column_add(in, left, count);
	for (unsigned i = 0, next = 0; i < group->count; i++)
		value[i] = next < count && known[next] == i ? value[i] + left[next++] : 0;
}

static void read_counter(struct bit_reader *in, const struct codec_column *column, struct codec_group *group)
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
	codec_group_predict(group, column, shares, value);
	if (some)
		read_known(in, group, known, count, any, value);
	else if (any)
		column_add(in, value, count);
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
static int read_head(struct bit_reader *in, uint8_t kind, unsigned count, struct head *head)
{
	/* What is longer than anything that was written is refused before its bits are counted. */
	if (in->len > BYTES_MAX(count) || bits_get(in, 8) != kind || bits_get(in, COUNT_WIDTH) != count)
		return ERR_IO;
	read_places(in, &head->there, count);
	if (head->there.count)
		read_columns(in, head);
	return in->bad ? ERR_IO : 0;
}

/* The first or the second group, with all its counters. Return: 0 or ERR_IO. */
static int read_group(struct bit_reader *in, const struct head *head, bool second, struct codec_group *group)
{
	group->count = 0;
	group->any_unknown = 0;
	for (unsigned i = 0; i < head->there.count; i++)
		if (!head->split || head->second[i] == second)
			codec_group_add(group, head->unknown[i], head->there.at[i]);
	for (unsigned i = 0; i < COUNTER_TRAFFIC_COUNT && !in->bad; i++)
		read_counter(in, &codec_columns[i], group);
	return in->bad ? ERR_IO : 0;
}

static int read_samples(uint8_t kind, const uint8_t *data, size_t len, struct codec_sample *samples, unsigned count)
{
	struct bit_reader in = { .data = data, .len = len };
	struct codec_group group;
	struct head head;
	int result = read_head(&in, kind, count, &head);

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
		result = read_group(&in, &head, g, &group);
		if (result)
			return result;
		codec_group_give(&group, samples);
	}
	return bits_at_end(&in) ? 0 : ERR_IO;
}

/* Numbers put together, at most UINT64_MAX. */
static uint64_t sum_of(const uint64_t *values, unsigned count)
{
	uint64_t sum = 0, any = 0;

	for (unsigned i = 0; i < count; i++) {
		sum += values[i];
		any |= values[i];
	}
	/* CODEC_CHUNK_SWEEPS numbers of 56 bits fit into 64. */
	if (!(any >> 56))
		return sum;
	sum = 0;
	for (unsigned i = 0; i < count; i++)
		if (__builtin_add_overflow(sum, values[i], &sum))
			return UINT64_MAX;
	return sum;
}

/* Of a list of places in rising order, the first that is @place or behind it. */
static unsigned first_from(const uint8_t *at, unsigned count, unsigned place)
{
	unsigned i = 0;

	while (i < count && at[i] < place)
		i++;
	return i;
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
	struct codec_group group;
	struct head head;
	int result = count <= CODEC_CHUNK_SWEEPS ? read_head(&in, CHUNK_1, count, &head) : ERR_IO;

	if (result)
		return result;
	sum_head(&head, first_from(head.there.at, head.there.count, from),
		 first_from(head.there.at, head.there.count, to), &sum);
	for (int g = 0; head.there.count && g <= head.split; g++) {
		unsigned first, end;

		result = read_group(&in, &head, g, &group);
		if (result)
			return result;
		first = first_from(group.at, group.count, from);
		end = first_from(group.at, group.count, to);
		for (int i = 0; i < COUNTER_TRAFFIC_COUNT; i++) {
			uint64_t here = sum_of(&group.value[i][first], end - first);

			if (__builtin_add_overflow(sum.value[i], here, &sum.value[i]))
				sum.value[i] = UINT64_MAX;
		}
	}
	if (!bits_at_end(&in))
		return ERR_IO;
	*ret = sum;
	return 0;
}

int codec_read_block(const uint8_t *data, size_t len, struct codec_sample *samples, unsigned count)
{
	return count <= CODEC_BLOCK_PORTS ? read_samples(BLOCK_1, data, len, samples, count) : ERR_IO;
}

int codec_read_chunk(const uint8_t *data, size_t len, struct codec_sample *samples, unsigned count)
{
	return count <= CODEC_CHUNK_SWEEPS ? read_samples(CHUNK_1, data, len, samples, count) : ERR_IO;
}
