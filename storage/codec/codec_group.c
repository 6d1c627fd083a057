/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
#include "storage/codec/codec_group.h"

#include <string.h>

#include "storage/codec/codec_bits.h"

const struct codec_column codec_columns[COUNTER_TRAFFIC_COUNT] = {
	{ COUNTER_XMIT_DATA, CODEC_NONE, CODEC_NONE, CODEC_NONE, CODEC_NONE },
	{ COUNTER_RCV_DATA, CODEC_NONE, CODEC_NONE, CODEC_NONE, CODEC_NONE },
	{ COUNTER_XMIT_PACKETS, COUNTER_XMIT_DATA, COUNTER_RCV_DATA, CODEC_NONE, CODEC_NONE },
	{ COUNTER_RCV_PACKETS, COUNTER_RCV_DATA, COUNTER_XMIT_DATA, CODEC_NONE, CODEC_NONE },
	{ COUNTER_XMIT_WAIT, CODEC_NONE, CODEC_NONE, CODEC_NONE, CODEC_NONE },
	{ COUNTER_MULTICAST_XMIT_PACKETS, CODEC_NONE, CODEC_NONE, CODEC_NONE, CODEC_NONE },
	{ COUNTER_MULTICAST_RCV_PACKETS, CODEC_NONE, CODEC_NONE, CODEC_NONE, CODEC_NONE },
	{ COUNTER_UNICAST_XMIT_PACKETS, CODEC_NONE, CODEC_NONE, COUNTER_XMIT_PACKETS, COUNTER_MULTICAST_XMIT_PACKETS },
	{ COUNTER_UNICAST_RCV_PACKETS, CODEC_NONE, CODEC_NONE, COUNTER_RCV_PACKETS, COUNTER_MULTICAST_RCV_PACKETS },
};

unsigned codec_group_known(const struct codec_group *group, unsigned counter, uint8_t *ret)
{
	unsigned count = 0;

	for (unsigned i = 0; i < group->count; i++) {
		ret[count] = (uint8_t)i;
		count += !(group->unknown[i] & COUNTER_BIT(counter));
	}
	return count;
}

/* words * share; bits above 64 are lost. */
static uint64_t share_of(uint64_t words, uint32_t share)
{
	if (!(words >> (64 - CODEC_SHARE_BITS)))
		return words * share >> CODEC_SHARE_BITS; /* the same, faster */
	return (words >> CODEC_SHARE_BITS) * share + (bits_low(words, CODEC_SHARE_BITS) * share >> CODEC_SHARE_BITS);
}

void codec_group_predict(const struct codec_group *group, const struct codec_column *column,
			 struct codec_shares shares, unsigned first, unsigned end, uint64_t *ret)
{
	if (column->words != CODEC_NONE && (shares.of_words || shares.of_answers)) {
		const uint64_t *words = group->value[column->words], *answers = group->value[column->answers];

		for (unsigned i = first; i < end; i++)
			ret[i] = share_of(words[i], shares.of_words) + share_of(answers[i], shares.of_answers);
	} else if (column->sum != CODEC_NONE) {
		const uint64_t *sum = group->value[column->sum], *other = group->value[column->other];

		for (unsigned i = first; i < end; i++)
			ret[i] = sum[i] - other[i];
	} else {
		memset(ret + first, 0, (end - first) * sizeof(*ret));
	}
}

static uint32_t share_from(double share)
{
	return share <= 0 ? 0 : share >= 1 ? CODEC_SHARE_MAX : (uint32_t)(share * CODEC_SHARE_MAX + 0.5);
}

/*
 * The shares of both directions by least squares. If the result makes no sense (a negative share,
 * or proportional directions), the share of the same direction alone.
 */
static struct codec_shares fit_shares(const struct codec_group *group, const struct codec_column *column)
{
	const uint64_t *value = group->value[column->counter], *word = group->value[column->words];
	const uint64_t *answer = group->value[column->answers];
	double ww = 0, wa = 0, aa = 0, wp = 0, ap = 0, determinant;

	/* Every other sample is sufficient, unless there are few. */
	for (unsigned i = 0; i < group->count; i += group->count < 32 ? 1 : 2) {
		/* Signed numbers convert faster; 2^63 words per sweep need no good prediction. */
		double words = (double)(int64_t)word[i], answers = (double)(int64_t)answer[i];
		double packets = (double)(int64_t)value[i];

		ww += words * words;
		wa += words * answers;
		aa += answers * answers;
		wp += words * packets;
		ap += answers * packets;
	}
	determinant = ww * aa - wa * wa;
	if (determinant > 1e-9 * ww * aa && wp * aa > ap * wa && ap * ww > wp * wa)
		return (struct codec_shares){ share_from((wp * aa - ap * wa) / determinant),
					      share_from((ap * ww - wp * wa) / determinant) };
	return (struct codec_shares){ ww > 0 ? share_from(wp / ww) : 0, 0 };
}

/* Subtract the prediction @ret from a column. Return: are the differences smaller than the values? */
static bool subtract_prediction(const struct codec_group *group, const uint64_t *value, uint64_t *ret)
{
	uint64_t worst = 0, largest = 0;

	for (unsigned i = 0; i < group->count; i++) {
		ret[i] = value[i] - ret[i];
		worst |= bits_fold(ret[i]);
		largest |= value[i];
	}
	return bits_needed(worst >> 1) < bits_needed(largest);
}

const uint64_t *codec_group_left(const struct codec_group *group, const struct codec_column *column,
				 struct codec_shares *ret_shares, uint64_t *room)
{
	const uint64_t *value = group->value[column->counter];
	struct codec_shares shares = { 0 };

	*ret_shares = shares;
	if (column->sum != CODEC_NONE) {
		const uint64_t *sum = group->value[column->sum], *other = group->value[column->other];

		for (unsigned i = 0; i < group->count; i++)
			room[i] = value[i] - (sum[i] - other[i]);
		return room;
	}
	if (column->words != CODEC_NONE)
		shares = fit_shares(group, column);
	if (!(shares.of_words | shares.of_answers))
		return value;
	codec_group_predict(group, column, shares, 0, group->count, room);
	if (!subtract_prediction(group, value, room))
		return value;
	*ret_shares = shares;
	return room;
}

/* Two numbers that are added at once. */
typedef uint64_t pair __attribute__((vector_size(16)));

uint64_t codec_sum_column(const uint64_t *values, unsigned count)
{
	pair sums = { 0 }, bits = { 0 }, here;
	uint64_t sum = count % 2 ? values[count - 1] : 0;

#pragma GCC unroll 4
	for (unsigned i = 0; i + 2 <= count; i += 2) {
		memcpy(&here, &values[i], sizeof(here));
		sums += here;
		bits |= here;
	}
	/* CODEC_CHUNK_SWEEPS numbers of 56 bits fit into 64. */
	if (!((sum | bits[0] | bits[1]) >> 56))
		return sum + sums[0] + sums[1];
	sum = 0;
	for (unsigned i = 0; i < count; i++)
		if (__builtin_add_overflow(sum, values[i], &sum))
			return UINT64_MAX;
	return sum;
}
