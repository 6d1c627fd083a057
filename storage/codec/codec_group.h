/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * codec_group.h - samples in columns, the writer of chunks, and predictions of one counter from others
 *
 * Private to the codec and to the compaction, which collects samples in columns.
 */
#ifndef IBWIRE_STORAGE_CODEC_GROUP_H
#define IBWIRE_STORAGE_CODEC_GROUP_H

#include <stdint.h>

#include "fabric/counter.h"
#include "storage/codec/codec.h"

/* Numbers of a column: a cache line above the maximum, so that columns use different cache sets. */
#define CODEC_COLUMN_ROOM (CODEC_CHUNK_SWEEPS + 8)

/* Some samples of a chunk, in order, as columns. */
struct codec_group {
	unsigned count;
	counter_set any_unknown;                /* of at least one sample */
	uint8_t at[CODEC_CHUNK_SWEEPS];         /* place of each sample in the chunk, increasing */
	counter_set unknown[CODEC_COLUMN_ROOM]; /* of each sample */
	uint64_t value[COUNTER_TRAFFIC_COUNT][CODEC_COLUMN_ROOM]; /* 0 if unknown */
};

/* All samples of a chunk that are there. */
struct codec_series {
	struct codec_group group;
	uint64_t elapsed_us[CODEC_COLUMN_ROOM]; /* at most INT64_MAX */
};

/*
 * codec_write_series - append a chunk to a buffer
 * @count:  number of samples of the chunk, above all of series->group.at, at most CODEC_CHUNK_SWEEPS
 *
 * Return: 0, or ERR_NOMEM with @out unchanged.
 */
int codec_write_series(struct bytes *out, const struct codec_series *series, unsigned count);

/* Prediction of a counter from others. */
struct codec_column {
	uint8_t counter;
	uint8_t words, answers; /* packets: shares of these counters; else CODEC_NONE */
	uint8_t sum, other;     /* unicast packets: this counter minus the other one; else CODEC_NONE */
};

#define CODEC_NONE COUNTER_TRAFFIC_COUNT

/* In this order, so that each counter follows those that predict it. */
extern const struct codec_column codec_columns[COUNTER_TRAFFIC_COUNT];

/*
 * Packets per word in 2^-CODEC_SHARE_BITS, at most CODEC_SHARE_MAX: of the words of the same direction,
 * and of those of the other one, whose packets are acknowledged.
 */
struct codec_shares {
	uint32_t of_words, of_answers;
};

#define CODEC_SHARE_BITS 28
#define CODEC_SHARE_MAX (UINT32_C(1) << CODEC_SHARE_BITS)

/* codec_group_add - append a sample without its values; @at: its place in the chunk. */
static inline void codec_group_add(struct codec_group *group, counter_set unknown, unsigned at)
{
	group->at[group->count] = (uint8_t)at;
	group->unknown[group->count++] = unknown;
	group->any_unknown |= unknown;
}

/*
 * codec_series_add - append a sample; @at: its place in the chunk
 * Values of unknown counters and a negative time are stored as 0: the reader rejects the latter.
 */
static inline void codec_series_add(struct codec_series *series, const struct codec_sample *sample, unsigned at)
{
	struct codec_group *group = &series->group;
	counter_set unknown = sample->unknown & (COUNTER_BIT(COUNTER_COUNT) - 1);
	unsigned place = group->count;

	series->elapsed_us[place] = sample->elapsed_us > 0 ? (uint64_t)sample->elapsed_us : 0;
	codec_group_add(group, unknown, at);
	/* hot_block.c has the effect of the unrolled loops. */
#pragma GCC unroll 9
	for (unsigned i = 0; i < COUNTER_TRAFFIC_COUNT; i++)
		group->value[i][place] = sample->value[i];
	/* Rare, so not in the loop above. */
	for (unsigned i = 0; unknown && i < COUNTER_TRAFFIC_COUNT; i++)
		if (unknown & COUNTER_BIT(i))
			group->value[i][place] = 0;
}

/* codec_group_known - Return: number of samples that know a counter; @ret: their indices, in order. */
unsigned codec_group_known(const struct codec_group *group, unsigned counter, uint8_t *ret);

/* codec_group_predict - predicted values @ret of a counter in samples [@first, @end). */
void codec_group_predict(const struct codec_group *group, const struct codec_column *column,
			 struct codec_shares shares, unsigned first, unsigned end, uint64_t *ret);

/*
 * codec_group_left - values of a counter minus their prediction; differences wrap
 * @ret_shares:  shares that predict packets; 0 if they predict nothing, and for other counters
 * @room:        a number for each sample
 *
 * Return: @room, or the counter's own column if nothing is predicted.
 */
const uint64_t *codec_group_left(const struct codec_group *group, const struct codec_column *column,
				 struct codec_shares *ret_shares, uint64_t *room);

/* codec_sum_column - Return: sum of @count numbers, at most UINT64_MAX. */
uint64_t codec_sum_column(const uint64_t *values, unsigned count);

#endif
