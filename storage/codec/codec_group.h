/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * codec_group.h - samples that have something in common, counter by counter, and what one counter says of another
 *
 * Inside the codec: what can be predicted need not be kept.
 */
#ifndef IBWIRE_STORAGE_CODEC_GROUP_H
#define IBWIRE_STORAGE_CODEC_GROUP_H

#include <stdint.h>

#include "fabric/counter.h"
#include "storage/codec/codec.h"

/* Numbers of a column: a line of the cache more than it can have, or all columns would fall on the same lines of it. */
#define CODEC_COLUMN_ROOM (CODEC_CHUNK_SWEEPS + 8)

/* Some of the samples, in their order, turned from rows into columns. */
struct codec_group {
	unsigned count;
	counter_set any_unknown;                /* of at least one */
	uint8_t at[CODEC_CHUNK_SWEEPS];         /* where each stands, rising */
	counter_set unknown[CODEC_COLUMN_ROOM]; /* of each */
	uint64_t value[COUNTER_TRAFFIC_COUNT][CODEC_COLUMN_ROOM]; /* 0 where it is unknown */
};

/* All that a chunk is made of: those samples that are there. */
struct codec_series {
	struct codec_group group;
	uint64_t elapsed_us[CODEC_COLUMN_ROOM]; /* INT64_MAX at most */
};

/*
 * codec_write_series - append a chunk to a buffer, as codec_write_chunk() does
 * @count:  places of the chunk, above all of series->group.at
 *
 * Return: 0, or ERR_NOMEM; then @out is as it was.
 */
int codec_write_series(struct bytes *out, const struct codec_series *series, unsigned count);

/* How a counter follows from others. */
struct codec_column {
	uint8_t counter;
	uint8_t words, answers; /* packets: shares of these counters; else CODEC_NONE */
	uint8_t sum, other;     /* unicast: what this counter has more than the other; else CODEC_NONE */
};

#define CODEC_NONE COUNTER_TRAFFIC_COUNT

/* In this order, so that what a prediction needs is there when it is needed. */
extern const struct codec_column codec_columns[COUNTER_TRAFFIC_COUNT];

/*
 * How many packets come with each word, in 2^-CODEC_SHARE_BITS: of the same direction, and of
 * the other one, whose packets are acknowledged. At most CODEC_SHARE_MAX.
 */
struct codec_shares {
	uint32_t of_words, of_answers;
};

#define CODEC_SHARE_BITS 28
#define CODEC_SHARE_MAX (UINT32_C(1) << CODEC_SHARE_BITS)

/* codec_group_add - put the sample at a place into the group: that it is there, and which counters it does not know. */
static inline void codec_group_add(struct codec_group *group, counter_set unknown, unsigned at)
{
	group->at[group->count] = (uint8_t)at;
	group->unknown[group->count++] = unknown;
	group->any_unknown |= unknown;
}

/* codec_series_add - put a sample behind the others; @at: its place. Where its counters are unknown they count as 0. */
static inline void codec_series_add(struct codec_series *series, const struct codec_sample *sample, unsigned at)
{
	struct codec_group *group = &series->group;
	counter_set unknown = sample->unknown & (COUNTER_BIT(COUNTER_COUNT) - 1);
	unsigned place = group->count;

	/* A time that runs backwards would be refused by the reader, with all samples beside it. */
	series->elapsed_us[place] = sample->elapsed_us > 0 ? (uint64_t)sample->elapsed_us : 0;
	codec_group_add(group, unknown, at);
	for (unsigned i = 0; i < COUNTER_TRAFFIC_COUNT; i++)
		group->value[i][place] = sample->value[i];
	if (!unknown)
		return;
	for (unsigned i = 0; i < COUNTER_TRAFFIC_COUNT; i++)
		if (unknown & COUNTER_BIT(i))
			group->value[i][place] = 0;
}

/* codec_group_give - put the values of all members back into their samples. */
void codec_group_give(const struct codec_group *group, struct codec_sample *samples);

/* codec_group_known - Return: how many members know a counter; @ret: which, in order. */
unsigned codec_group_known(const struct codec_group *group, unsigned counter, uint8_t *ret);

/* codec_group_predict - what a counter of members [@first, @end) should be, by the columns before it: @ret. */
void codec_group_predict(const struct codec_group *group, const struct codec_column *column,
			 struct codec_shares shares, unsigned first, unsigned end, uint64_t *ret);

/*
 * codec_group_left - what is left of a counter of each member after its prediction; sums wrap
 * @ret_shares:  that predict packets well, or none where packets have nothing to do with words, and of other counters
 * @room:        for a number of each member
 *
 * Return: @room, or the counter's own column, where nothing is predicted.
 */
const uint64_t *codec_group_left(const struct codec_group *group, const struct codec_column *column,
				 struct codec_shares *ret_shares, uint64_t *room);

/* codec_sum_column - Return: the sum of at most CODEC_CHUNK_SWEEPS numbers, which stops at UINT64_MAX. */
uint64_t codec_sum_column(const uint64_t *values, unsigned count);

#endif
