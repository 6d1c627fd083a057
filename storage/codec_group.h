/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * codec_group.h - samples that have something in common, counter by counter, and what one counter says of another
 *
 * Inside the codec: what can be predicted need not be kept.
 */
#ifndef IBWIRE_STORAGE_CODEC_GROUP_H
#define IBWIRE_STORAGE_CODEC_GROUP_H

#include <stdbool.h>
#include <stdint.h>

#include "fabric/counter.h"
#include "storage/codec.h"

/* Some of the samples, in their order, turned from rows into columns. */
struct codec_group {
	unsigned count;
	uint8_t at[CODEC_CHUNK_SWEEPS];          /* where each stands */
	counter_set unknown[CODEC_CHUNK_SWEEPS]; /* of each */
	counter_set any_unknown;                 /* of at least one */
	uint64_t value[COUNTER_TRAFFIC_COUNT][CODEC_CHUNK_SWEEPS]; /* 0 where it is unknown */
};

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

/* codec_group_fill - the values of all members. */
void codec_group_fill(struct codec_group *group, const struct codec_sample *samples);

/* codec_group_give - put the values of all members back into their samples. */
void codec_group_give(const struct codec_group *group, struct codec_sample *samples);

/* codec_group_known - Return: how many members know a counter; @ret: which, in order. */
unsigned codec_group_known(const struct codec_group *group, unsigned counter, uint8_t *ret);

/* codec_group_predict - what a counter of each member should be, by the columns before it: @ret. */
void codec_group_predict(const struct codec_group *group, const struct codec_column *column,
			 struct codec_shares shares, uint64_t *ret);

/* codec_group_shares - shares that predict packets well, or none where packets have nothing to do with words. */
struct codec_shares codec_group_shares(const struct codec_group *group, const struct codec_column *column);

#endif
