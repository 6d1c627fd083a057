/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
#include "analysis/delta.h"

#include <string.h>

void delta_between(const struct reading *prev, const struct reading *cur, struct delta *ret)
{
	/* Read at both ends, and from fields of one width. */
	counter_set both = prev->present & cur->present & ~(prev->wide ^ cur->wide);
	int counter;

	memset(ret, 0, sizeof(*ret));
	ret->elapsed_us = cur->at_us - prev->at_us;
	for (counter = 0; counter < COUNTER_COUNT; counter++) {
		counter_set bit = COUNTER_BIT(counter);
		uint64_t before = prev->value[counter], now = cur->value[counter];

		if (!(both & bit))
			continue;
		ret->known |= bit;
		if (now < before) {
			ret->reset |= bit;
			ret->value[counter] = now;
		} else {
			ret->value[counter] = now - before;
		}
		if (now == reading_max(cur, (enum counter)counter))
			ret->saturated |= bit;
	}
}

void delta_add(struct delta *sum, const struct delta *later)
{
	int counter;

	if (!sum->elapsed_us && !sum->known) {
		*sum = *later;
		return;
	}
	sum->elapsed_us += later->elapsed_us;
	sum->known &= later->known;
	sum->reset |= later->reset;
	sum->saturated |= later->saturated;
	for (counter = 0; counter < COUNTER_COUNT; counter++)
		if (__builtin_add_overflow(sum->value[counter], later->value[counter], &sum->value[counter]))
			sum->value[counter] = UINT64_MAX;
}

void detail_delta_between(const struct detail_reading *prev, const struct detail_reading *cur,
			  struct detail_delta *ret)
{
	enum detail_attribute attribute = (enum detail_attribute)cur->attribute;
	uint32_t both = prev->present & cur->present;
	unsigned number;

	if (attribute == DETAIL_EXTENDED_SPEEDS && prev->layout != cur->layout)
		both &= (1u << DETAIL_FEC_CORRECTED_BLOCKS) - 1;
	memset(ret, 0, sizeof(*ret));
	ret->elapsed_us = cur->at_us - prev->at_us;
	for (number = 0; number < detail_count(attribute); number++) {
		uint32_t bit = UINT32_C(1) << number;
		uint32_t before = prev->value[number], now = cur->value[number];

		if (!(both & bit))
			continue;
		ret->known |= bit;
		if (now < before)
			ret->reset |= bit;
		ret->value[number] = now < before ? now : now - before;
		if (now == detail_max(attribute, number))
			ret->saturated |= bit;
	}
}
