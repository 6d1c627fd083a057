/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
#include "analysis/difference.h"

#include <string.h>

#include "analysis/delta.h"

const char *counted_key(size_t place)
{
	size_t attribute, number;

	if (place < COUNTER_COUNT)
		return counter_info((enum counter)place)->key;
	attribute = (place - COUNTER_COUNT) / DETAIL_MAX;
	number = (place - COUNTER_COUNT) % DETAIL_MAX;
	if (attribute >= DETAIL_SELDOM || number >= detail_count((enum detail_attribute)attribute))
		return NULL;
	return detail_info((enum detail_attribute)attribute, (unsigned)number)->key;
}

/* Tools clear data counters and packet counters together, and often errors and PortXmitWait alone. */
#define DATA_SET (COUNTER_TRAFFIC_SET & ~COUNTER_BIT(COUNTER_XMIT_WAIT))

static void fill_counters(const struct full_reading *before, const struct full_reading *after, struct difference *ret)
{
	struct delta delta;

	delta_between(&before->reading, &after->reading, &delta);
	for (int i = 0; i < COUNTER_COUNT; i++)
		ret->counters[i] = (struct counted){
			.value = delta.value[i], .known = delta.known & COUNTER_BIT(i),
			.saturated = delta.saturated & COUNTER_BIT(i),
		};
	/* In hours or days a counter that was cleared may have passed its last reading again. */
	difference_note_resets(ret, delta.reset & DATA_SET ? COUNTER_TRAFFIC_SET : delta.reset);
}

static void fill_details(const struct full_reading *before, const struct full_reading *after, int attribute,
		      struct difference *ret)
{
	const struct detail_reading *prev = &before->details[attribute], *cur = &after->details[attribute];
	struct detail_delta delta;

	if (!prev->present || !cur->present)
		return;
	detail_delta_between(prev, cur, &delta);
	for (unsigned i = 0; i < detail_count((enum detail_attribute)attribute); i++)
		ret->counters[COUNTED_DETAIL((unsigned)attribute, i)] = (struct counted){
			.value = delta.value[i], .known = delta.known >> i & 1,
			.reset = delta.reset >> i & 1, .saturated = delta.saturated >> i & 1,
		};
}

void difference_between(const struct full_reading *before, const struct full_reading *after, int64_t offset_us,
			struct difference *ret)
{
	memset(ret, 0, sizeof(*ret));
	ret->was_there = before != NULL;
	ret->is_there = after != NULL;
	ret->status_before = before ? before->status : SAMPLE_OK;
	ret->status_after = after ? after->status : SAMPLE_OK;
	if (!before || !after || before->status != SAMPLE_OK || after->status != SAMPLE_OK)
		return;
	ret->elapsed_us = after->reading.at_us + offset_us - before->reading.at_us;
	fill_counters(before, after, ret);
	for (int attribute = 0; attribute < DETAIL_SELDOM; attribute++)
		fill_details(before, after, attribute, ret);
}

void difference_note_resets(struct difference *difference, counter_set reset)
{
	reset = delta_resets(reset);
	for (int i = 0; i < COUNTER_COUNT; i++)
		difference->counters[i].reset |= difference->counters[i].known && reset & COUNTER_BIT(i);
}

bool difference_is_down(const struct difference *difference)
{
	return (!difference->was_there || difference->status_before == SAMPLE_DOWN) &&
	       (!difference->is_there || difference->status_after == SAMPLE_DOWN);
}

void difference_add(struct difference_sum *sum, const struct difference *difference)
{
	if (difference_is_down(difference))
		return;
	sum->ports++;
	sum->ports_unknown += !difference->was_there || !difference->is_there ||
			      difference->status_before != SAMPLE_OK || difference->status_after != SAMPLE_OK;
	for (size_t i = 0; i < COUNTED_COUNT; i++) {
		const struct counted *counted = &difference->counters[i];

		if (!counted->known)
			continue;
		sum->counters[i].ports++;
		sum->counters[i].at_least |= counted->reset || counted->saturated;
		if (!__builtin_add_overflow(sum->counters[i].value, counted->value, &sum->counters[i].value))
			continue;
		sum->counters[i].value = UINT64_MAX;
		sum->counters[i].at_least = true;
	}
}

struct counted difference_sum_counter(const struct difference_sum *sum, size_t place)
{
	return (struct counted){
		.value = sum->counters[place].value,
		.known = sum->counters[place].ports > 0,
		.saturated = sum->counters[place].at_least || sum->counters[place].ports < sum->ports,
	};
}

uint64_t counted_errors(const struct counted counters[COUNTED_COUNT])
{
	const struct counted *uncorrected =
		&counters[COUNTED_DETAIL(DETAIL_EXTENDED_SPEEDS, DETAIL_FEC_UNCORRECTED_BLOCKS)];
	uint64_t sum = uncorrected->known ? uncorrected->value : 0;

	for (int i = COUNTER_TRAFFIC_COUNT; i < COUNTER_COUNT; i++)
		if (COUNTER_ERROR_SUM_SET & COUNTER_BIT(i) && counters[i].known &&
		    __builtin_add_overflow(sum, counters[i].value, &sum))
			return UINT64_MAX;
	return sum;
}

bool counted_bytes(const struct counted *words, uint64_t *ret)
{
	return words->known && !__builtin_mul_overflow(words->value, (uint64_t)COUNTER_WORD_BYTES, ret);
}
