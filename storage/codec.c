/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * The bits of a block or chunk, after its first byte:
 *
 *     count   9 bits
 *     all there?  1 bit; if not, a bit for each sample
 *     (the rest only where some sample is there, and of those that are)
 *     unknown, elapsed_us: a column each
 *     two groups? 1 bit; if so, a bit for each sample: is it in the second?
 *     for each group and each counter, in the order of `columns`, over the
 *     samples of the group that know the counter (nothing where there are none):
 *         all 0?  1 bit; if not:
 *         ratio   of packets to words in 2^-32, a number (only of packets)
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
#define NONE COUNTER_TRAFFIC_COUNT

/* A sample is in one group, but for each group a column has a header. */
#define GROUPS 2
#define BYTES_MAX(count) \
	(64 + (size_t)(count) + 2 * COLUMN_BYTES_MAX(count) + \
	 COUNTER_TRAFFIC_COUNT * (COLUMN_BYTES_MAX(count) + GROUPS * (COLUMN_BYTES_MAX(0) + 8)))

/* In this order, so that what a prediction needs is there when it is needed. */
static const struct column {
	uint8_t counter;
	uint8_t words;          /* packets: predicted as a share of this counter */
	uint8_t sum, other;     /* unicast: predicted as what this counter has more than the other */
} columns[COUNTER_TRAFFIC_COUNT] = {
	{ COUNTER_XMIT_DATA, NONE, NONE, NONE },
	{ COUNTER_RCV_DATA, NONE, NONE, NONE },
	{ COUNTER_XMIT_PACKETS, COUNTER_XMIT_DATA, NONE, NONE },
	{ COUNTER_RCV_PACKETS, COUNTER_RCV_DATA, NONE, NONE },
	{ COUNTER_XMIT_WAIT, NONE, NONE, NONE },
	{ COUNTER_MULTICAST_XMIT_PACKETS, NONE, NONE, NONE },
	{ COUNTER_MULTICAST_RCV_PACKETS, NONE, NONE, NONE },
	{ COUNTER_UNICAST_XMIT_PACKETS, NONE, COUNTER_XMIT_PACKETS, COUNTER_MULTICAST_XMIT_PACKETS },
	{ COUNTER_UNICAST_RCV_PACKETS, NONE, COUNTER_RCV_PACKETS, COUNTER_MULTICAST_RCV_PACKETS },
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

/* words * ratio / 2^32, with what is above 64 bits lost. */
static uint64_t share_of(uint64_t words, uint32_t ratio)
{
	return (words >> 32) * ratio + ((words & UINT32_MAX) * ratio >> 32);
}

/* A counter, 0 where it is unknown. */
static uint64_t value_of(const struct codec_sample *sample, unsigned counter)
{
	return sample->unknown & COUNTER_BIT(counter) ? 0 : sample->value[counter];
}

static uint64_t predict(const struct column *column, const struct codec_sample *sample, uint32_t ratio)
{
	if (column->words != NONE)
		return share_of(value_of(sample, column->words), ratio);
	if (column->sum != NONE)
		return value_of(sample, column->sum) - value_of(sample, column->other);
	return 0;
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

/*
 * The ratio that predicts packets best of the two that are tried: that of the sums,
 * or none, which is best where packets have nothing to do with words.
 */
static uint32_t choose_ratio(const struct column *column, const struct codec_sample *samples,
			     const struct places *known)
{
	double words = 0, packets = 0;
	uint64_t worst = 0, largest = 0;
	uint32_t ratio;

	for (unsigned i = 0; i < known->count; i++) {
		words += (double)value_of(&samples[known->at[i]], column->words);
		packets += (double)samples[known->at[i]].value[column->counter];
	}
	if (packets >= words)
		return 0;
	ratio = (uint32_t)(packets / words * UINT32_MAX);
	for (unsigned i = 0; i < known->count; i++) {
		const struct codec_sample *sample = &samples[known->at[i]];
		uint64_t value = sample->value[column->counter];

		worst |= bits_fold(value - predict(column, sample, ratio)) >> 1;
		largest |= value;
	}
	return bits_needed(worst) < bits_needed(largest) ? ratio : 0;
}

static void write_counter(struct bit_writer *out, const struct column *column, const struct codec_sample *samples,
			  const struct places *group)
{
	struct places known;
	uint64_t left[CODEC_CHUNK_SWEEPS], any = 0;
	uint32_t ratio = 0;

	places_that_know(&known, group, samples, column->counter);
	if (!known.count)
		return;
	if (column->words != NONE)
		ratio = choose_ratio(column, samples, &known);
	for (unsigned i = 0; i < known.count; i++) {
		const struct codec_sample *sample = &samples[known.at[i]];

		left[i] = sample->value[column->counter] - predict(column, sample, ratio);
		any |= left[i];
	}
	bits_put(out, !any && !ratio, 1);
	if (!any && !ratio)
		return;
	if (column->words != NONE)
		bits_put_number(out, ratio);
	column_put(out, left, known.count);
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
		/* A bit for each sample, and the headers of four more columns. */
		unsigned cost = there->count + 4 * 40;

		below = bin_join(below, bins[i - 1]);
		cost += bin_cost(below) + bin_cost(above[i]);
		if (below.count && above[i].count && cost < best) {
			best = cost;
			at = i;
		}
	}
	return at;
}

static void write_groups(struct bit_writer *out, const struct codec_sample *samples, const struct places *there)
{
	unsigned split = choose_split(samples, there);
	bool second[CODEC_CHUNK_SWEEPS] = { false };

	bits_put(out, !!split, 1);
	for (unsigned i = 0; split && i < there->count; i++) {
		second[i] = bits_needed(traffic_of(&samples[there->at[i]])) >= split;
		bits_put(out, second[i], 1);
	}
	for (unsigned g = 0; g <= !!split; g++) {
		struct places group;

		places_of_group(&group, there, second, g);
		for (unsigned i = 0; i < COUNTER_TRAFFIC_COUNT; i++)
			write_counter(out, &columns[i], samples, &group);
	}
}

static int write_samples(struct bytes *out, uint8_t kind, const struct codec_sample *samples, unsigned count)
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
		column_put(&bits, numbers, there.count);
		for (unsigned i = 0; i < there.count; i++) {
			int64_t elapsed_us = samples[there.at[i]].elapsed_us;

			/* A time that runs backwards would be refused by the reader, with all samples beside it. */
			numbers[i] = elapsed_us > 0 ? (uint64_t)elapsed_us : 0;
		}
		column_put(&bits, numbers, there.count);
		write_groups(&bits, samples, &there);
	}
	bits_flush(&bits);
	out->len = (size_t)(bits.at - out->data);
	return 0;
}

int codec_write_block(struct bytes *out, const struct codec_sample *samples, unsigned count)
{
	return write_samples(out, BLOCK_1, samples, count);
}

int codec_write_chunk(struct bytes *out, const struct codec_sample *samples, unsigned count)
{
	return write_samples(out, CHUNK_1, samples, count);
}

static void read_counter(struct bit_reader *in, const struct column *column, struct codec_sample *samples,
			 const struct places *group)
{
	struct places known;
	uint64_t left[CODEC_CHUNK_SWEEPS], ratio = 0;

	places_that_know(&known, group, samples, column->counter);
	if (!known.count)
		return;
	if (bits_get(in, 1)) {
		memset(left, 0, known.count * sizeof(*left));
	} else {
		if (column->words != NONE)
			ratio = bits_get_number(in);
		if (ratio > UINT32_MAX)
			in->bad = true;
		column_get(in, left, known.count);
	}
	for (unsigned i = 0; i < known.count; i++) {
		struct codec_sample *sample = &samples[known.at[i]];

		sample->value[column->counter] = left[i] + predict(column, sample, (uint32_t)ratio);
	}
}

static void read_groups(struct bit_reader *in, struct codec_sample *samples, const struct places *there)
{
	bool second[CODEC_CHUNK_SWEEPS] = { false };
	bool split = bits_get(in, 1);

	for (unsigned i = 0; split && i < there->count; i++)
		second[i] = bits_get(in, 1);
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
