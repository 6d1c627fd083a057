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
