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
 *     for each group and each counter, in the order of `columns`, over the
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

enum { BLOCK_1 = 0xb1, CHUNK_1 = 0xc1 }; /* first byte: kind and version */

#define COUNT_WIDTH 9
#define COUNTER_ALL (COUNTER_BIT(COUNTER_COUNT) - 1)
#define SHARE_BITS 28
#define SHARE_MAX (UINT32_C(1) << SHARE_BITS)
#define NONE COUNTER_TRAFFIC_COUNT

/* A sample is in one group, but for each group a column has a header. */
#define GROUPS 2
#define BYTES_MAX(count) \
	(64 + (size_t)(count) + 3 * COLUMN_BYTES_MAX(count) + \
	 COUNTER_TRAFFIC_COUNT * (COLUMN_BYTES_MAX(count) + GROUPS * (COLUMN_BYTES_MAX(0) + 12)))

/* In this order, so that what a prediction needs is there when it is needed. */
static const struct column {
	uint8_t counter;
	uint8_t words, answers; /* packets: predicted as shares of these counters */
	uint8_t sum, other;     /* unicast: predicted as what this counter has more than the other */
} columns[COUNTER_TRAFFIC_COUNT] = {
	{ COUNTER_XMIT_DATA, NONE, NONE, NONE, NONE },
	{ COUNTER_RCV_DATA, NONE, NONE, NONE, NONE },
	{ COUNTER_XMIT_PACKETS, COUNTER_XMIT_DATA, COUNTER_RCV_DATA, NONE, NONE },
	{ COUNTER_RCV_PACKETS, COUNTER_RCV_DATA, COUNTER_XMIT_DATA, NONE, NONE },
	{ COUNTER_XMIT_WAIT, NONE, NONE, NONE, NONE },
	{ COUNTER_MULTICAST_XMIT_PACKETS, NONE, NONE, NONE, NONE },
	{ COUNTER_MULTICAST_RCV_PACKETS, NONE, NONE, NONE, NONE },
	{ COUNTER_UNICAST_XMIT_PACKETS, NONE, NONE, COUNTER_XMIT_PACKETS, COUNTER_MULTICAST_XMIT_PACKETS },
	{ COUNTER_UNICAST_RCV_PACKETS, NONE, NONE, COUNTER_RCV_PACKETS, COUNTER_MULTICAST_RCV_PACKETS },
};

/*
 * How many packets come with each word, in 2^-28 (SHARE_BITS): of the same direction, and of the
 * other one, whose packets are acknowledged.
 */
struct shares {
	uint32_t of_words, of_answers;
};

/* Places of samples, in order. */
struct places {
	uint8_t at[CODEC_CHUNK_SWEEPS];
	unsigned count;
};

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

/* words * share, with what is above 64 bits lost. */
static uint64_t share_of(uint64_t words, uint32_t share)
{
	return (words >> SHARE_BITS) * share + (bits_low(words, SHARE_BITS) * share >> SHARE_BITS);
}

/*
 * How columns are written: column_put, or for blocks column_put_flat, and then all else that takes time is
 * left out too. A sweep must be stored at once, and what is a byte or two longer becomes chunks in minutes.
 */
typedef void put_fn(struct bit_writer *out, const uint64_t *values, unsigned count);

/* A counter, 0 where it is unknown. */
static uint64_t value_of(const struct codec_sample *sample, unsigned counter)
{
	return sample->unknown & COUNTER_BIT(counter) ? 0 : sample->value[counter];
}

/* What a counter should be, by those that come before it. */
static void predict(uint64_t *ret, const struct column *column, const struct codec_sample *samples,
		    const struct places *known, struct shares shares)
{
	if (column->words != NONE) {
		for (unsigned i = 0; i < known->count; i++) {
			const struct codec_sample *sample = &samples[known->at[i]];

			ret[i] = share_of(value_of(sample, column->words), shares.of_words) +
				share_of(value_of(sample, column->answers), shares.of_answers);
		}
	} else if (column->sum != NONE) {
		for (unsigned i = 0; i < known->count; i++) {
			const struct codec_sample *sample = &samples[known->at[i]];

			ret[i] = value_of(sample, column->sum) - value_of(sample, column->other);
		}
	} else {
		memset(ret, 0, known->count * sizeof(*ret));
	}
}

/* Those of @from that know a counter. */
static void places_that_know(struct places *ret, const struct places *from, const struct codec_sample *samples,
			     unsigned counter)
{
	ret->count = 0;
	for (unsigned i = 0; i < from->count; i++) {
		ret->at[ret->count] = from->at[i];
		ret->count += !(samples[from->at[i]].unknown & COUNTER_BIT(counter));
	}
}

/* The members of one of the groups. */
static void places_of_group(struct places *ret, const struct places *from, const bool *second, bool group)
{
	ret->count = 0;
	for (unsigned i = 0; i < from->count; i++) {
		ret->at[ret->count] = from->at[i];
		ret->count += second[i] == group;
	}
}

static uint32_t share_from(double share)
{
	return share <= 0 ? 0 : share >= 1 ? SHARE_MAX : (uint32_t)(share * SHARE_MAX + 0.5);
}

/*
 * The shares of both directions for which the squares of what is left are least. Where that makes
 * no sense (one of them is negative, or the directions tell the same), the same direction's alone.
 */
static struct shares fit_shares(const struct column *column, const struct codec_sample *samples,
				const struct places *known)
{
	double ww = 0, wa = 0, aa = 0, wp = 0, ap = 0, determinant;

	for (unsigned i = 0; i < known->count; i++) {
		const struct codec_sample *sample = &samples[known->at[i]];
		double words = (double)value_of(sample, column->words);
		double answers = (double)value_of(sample, column->answers);
		double packets = (double)value_of(sample, column->counter);

		ww += words * words;
		wa += words * answers;
		aa += answers * answers;
		wp += words * packets;
		ap += answers * packets;
	}
	determinant = ww * aa - wa * wa;
	if (determinant > 1e-9 * ww * aa && wp * aa > ap * wa && ap * ww > wp * wa)
		return (struct shares){ share_from((wp * aa - ap * wa) / determinant),
					share_from((ap * ww - wp * wa) / determinant) };
	return (struct shares){ ww > 0 ? share_from(wp / ww) : 0, 0 };
}

/* Shares that predict packets, or none where packets have nothing to do with words. */
static struct shares choose_shares(const struct column *column, const struct codec_sample *samples,
				   const struct places *known)
{
	struct shares ret = fit_shares(column, samples, known);
	uint64_t worst = 0, largest = 0, predicted[CODEC_CHUNK_SWEEPS];

	predict(predicted, column, samples, known, ret);
	for (unsigned i = 0; i < known->count; i++) {
		uint64_t value = samples[known->at[i]].value[column->counter];

		worst |= bits_fold(value - predicted[i]) >> 1;
		largest |= value;
	}
	return bits_needed(worst) < bits_needed(largest) ? ret : (struct shares){ 0 };
}

static void write_counter(struct bit_writer *out, const struct column *column, const struct codec_sample *samples,
			  const struct places *group, put_fn *put)
{
	struct places known;
	uint64_t left[CODEC_CHUNK_SWEEPS], any = 0;
	struct shares shares = { 0 };

	places_that_know(&known, group, samples, column->counter);
	if (!known.count)
		return;
	if (column->words != NONE)
		shares = choose_shares(column, samples, &known);
	predict(left, column, samples, &known, shares);
	for (unsigned i = 0; i < known.count; i++) {
		left[i] = samples[known.at[i]].value[column->counter] - left[i];
		any |= left[i];
	}
	any |= shares.of_words | shares.of_answers;
	bits_put(out, !any, 1);
	if (!any)
		return;
	if (column->words != NONE) {
		bits_put_number(out, shares.of_words);
		bits_put_number(out, shares.of_answers);
	}
	put(out, left, known.count);
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
	unsigned best, at = 0;

	for (unsigned i = 0; i < there->count; i++) {
		uint64_t traffic = traffic_of(&samples[there->at[i]]);
		struct bin *bin = &bins[bits_needed(traffic)];

		*bin = bin_join(*bin, (struct bin){ traffic, traffic, 1 });
	}
	for (unsigned i = 65; i-- > 0;)
		above[i] = bin_join(above[i + 1], bins[i]);
	best = bin_cost(above[0]);
	for (unsigned i = 1; i < 65; i++) {
		/* A bit for each sample, and the headers of four more columns with what predicts two of them. */
		unsigned cost = there->count + 4 * 60;

		below = bin_join(below, bins[i - 1]);
		cost += bin_cost(below) + bin_cost(above[i]);
		if (!bins[i - 1].count && below.count && above[i].count && cost < best) {
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
		struct places group;

		places_of_group(&group, there, second, g);
		for (unsigned i = 0; i < COUNTER_TRAFFIC_COUNT; i++)
			write_counter(out, &columns[i], samples, &group, put);
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

	if (share <= SHARE_MAX)
		return (uint32_t)share;
	in->bad = true;
	return 0;
}

static void read_counter(struct bit_reader *in, const struct column *column, struct codec_sample *samples,
			 const struct places *group)
{
	struct places known;
	uint64_t left[CODEC_CHUNK_SWEEPS], predicted[CODEC_CHUNK_SWEEPS];
	struct shares shares = { 0 };

	places_that_know(&known, group, samples, column->counter);
	if (!known.count)
		return;
	if (bits_get(in, 1)) {
		memset(left, 0, known.count * sizeof(*left));
	} else {
		if (column->words != NONE) {
			shares.of_words = get_share(in);
			shares.of_answers = get_share(in);
		}
		column_get(in, left, known.count);
	}
	predict(predicted, column, samples, &known, shares);
	for (unsigned i = 0; i < known.count; i++)
		samples[known.at[i]].value[column->counter] = left[i] + predicted[i];
}

static void read_members(struct bit_reader *in, bool *second, unsigned count)
{
	uint64_t turns[CODEC_CHUNK_SWEEPS];

	if (!bits_get(in, 1)) {
		for (unsigned i = 0; i < count; i++)
			second[i] = bits_get(in, 1);
		return;
	}
	column_get(in, turns, count);
	second[0] = turns[0];
	for (unsigned i = 1; i < count; i++)
		second[i] = second[i - 1] != (bool)turns[i];
}

static void read_groups(struct bit_reader *in, struct codec_sample *samples, const struct places *there)
{
	bool second[CODEC_CHUNK_SWEEPS] = { false };
	bool split = bits_get(in, 1);

	if (split)
		read_members(in, second, there->count);
	for (unsigned g = 0; g <= split; g++) {
		struct places group;

		places_of_group(&group, there, second, g);
		for (unsigned i = 0; i < COUNTER_TRAFFIC_COUNT && !in->bad; i++)
			read_counter(in, &columns[i], samples, &group);
	}
}

static void read_there(struct bit_reader *in, struct codec_sample *samples, const struct places *there)
{
	uint64_t numbers[CODEC_CHUNK_SWEEPS];

	column_get(in, numbers, there->count);
	for (unsigned i = 0; i < there->count; i++) {
		if (numbers[i] & ~COUNTER_ALL)
			in->bad = true;
		samples[there->at[i]].unknown = numbers[i];
	}
	column_get(in, numbers, there->count);
	for (unsigned i = 0; i < there->count; i++) {
		if (numbers[i] > INT64_MAX)
			in->bad = true;
		else
			samples[there->at[i]].elapsed_us = (int64_t)numbers[i];
	}
	read_groups(in, samples, there);
}

static int read_samples(uint8_t kind, const uint8_t *data, size_t len, struct codec_sample *samples, unsigned count)
{
	struct bit_reader in = { .data = data, .len = len };
	struct places there = { .count = 0 };
	bool all;

	memset(samples, 0, count * sizeof(*samples));
	/* What is longer than anything that was written is refused before its bits are counted. */
	if (len > BYTES_MAX(count) || bits_get(&in, 8) != kind || bits_get(&in, COUNT_WIDTH) != count)
		return ERR_IO;
	all = bits_get(&in, 1);
	for (unsigned i = 0; i < count; i++) {
		samples[i].there = all || bits_get(&in, 1);
		there.at[there.count] = (uint8_t)i;
		there.count += samples[i].there;
	}
	if (there.count)
		read_there(&in, samples, &there);
	return bits_at_end(&in) ? 0 : ERR_IO;
}

int codec_read_block(const uint8_t *data, size_t len, struct codec_sample *samples, unsigned count)
{
	return count <= CODEC_BLOCK_PORTS ? read_samples(BLOCK_1, data, len, samples, count) : ERR_IO;
}

int codec_read_chunk(const uint8_t *data, size_t len, struct codec_sample *samples, unsigned count)
{
	return count <= CODEC_CHUNK_SWEEPS ? read_samples(CHUNK_1, data, len, samples, count) : ERR_IO;
}
