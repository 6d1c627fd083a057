/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
#include "analysis/delta.h"

#include <string.h>

void delta_between(const struct reading *prev, const struct reading *cur, struct delta *ret)
{
	/* Read at both ends, from fields of equal width. */
	counter_set both = prev->present & cur->present & ~(prev->wide ^ cur->wide);

	memset(ret, 0, sizeof(*ret));
	ret->elapsed_us = cur->at_us - prev->at_us;
	for (int counter = 0; counter < COUNTER_COUNT; counter++) {
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
	if (!sum->elapsed_us && !sum->known) {
		*sum = *later;
		return;
	}
	sum->elapsed_us = delta_us_add(sum->elapsed_us, later->elapsed_us);
	sum->known &= later->known;
	sum->reset |= later->reset;
	sum->saturated |= later->saturated;
	for (int counter = 0; counter < COUNTER_COUNT; counter++)
		if (__builtin_add_overflow(sum->value[counter], later->value[counter], &sum->value[counter]))
			sum->value[counter] = UINT64_MAX;
}

static void mirror(const struct delta *from, enum counter theirs, enum counter ours, struct delta *to)
{
	if (from->known & COUNTER_BIT(theirs))
		to->known |= COUNTER_BIT(ours);
	if (from->reset & COUNTER_BIT(theirs))
		to->reset |= COUNTER_BIT(ours);
	if (from->saturated & COUNTER_BIT(theirs))
		to->saturated |= COUNTER_BIT(ours);
	to->value[ours] = from->value[theirs];
}

bool delta_is_cut(const struct delta *sum, int64_t window_us, int64_t interval_us)
{
	const int64_t retries_us = 2000000;
	int64_t apart_us = interval_us ? interval_us / 2 : window_us / 100 > retries_us ? window_us / 100 : retries_us;

	return delta_us_add(sum->elapsed_us, apart_us) < window_us;
}

void delta_mirror(const struct delta *peer, struct delta *ret)
{
	static const enum counter pairs[][2] = {
		{ COUNTER_XMIT_DATA, COUNTER_RCV_DATA },
		{ COUNTER_XMIT_PACKETS, COUNTER_RCV_PACKETS },
		{ COUNTER_UNICAST_XMIT_PACKETS, COUNTER_UNICAST_RCV_PACKETS },
		{ COUNTER_MULTICAST_XMIT_PACKETS, COUNTER_MULTICAST_RCV_PACKETS },
	};

	memset(ret, 0, sizeof(*ret));
	ret->elapsed_us = peer->elapsed_us;
	for (size_t i = 0; i < sizeof(pairs) / sizeof(pairs[0]); i++) {
		mirror(peer, pairs[i][0], pairs[i][1], ret);
		mirror(peer, pairs[i][1], pairs[i][0], ret);
	}
}

void detail_delta_between(const struct detail_reading *prev, const struct detail_reading *cur,
			  struct detail_delta *ret)
{
	enum detail_attribute attribute = (enum detail_attribute)cur->attribute;
	uint32_t both = prev->present & cur->present;

	if (attribute == DETAIL_EXTENDED_SPEEDS && prev->layout != cur->layout)
		both &= (1u << DETAIL_FEC_CORRECTED_BLOCKS) - 1;
	memset(ret, 0, sizeof(*ret));
	ret->elapsed_us = cur->at_us - prev->at_us;
	for (unsigned number = 0; number < detail_count(attribute); number++) {
		uint32_t bit = UINT32_C(1) << number;
		uint64_t before = prev->value[number], now = cur->value[number];

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

void detail_delta_add(struct detail_delta *sum, const struct detail_delta *later)
{
	if (!sum->elapsed_us && !sum->known) {
		*sum = *later;
		return;
	}
	sum->elapsed_us = delta_us_add(sum->elapsed_us, later->elapsed_us);
	sum->known &= later->known;
	sum->reset |= later->reset;
	sum->saturated |= later->saturated;
	for (int i = 0; i < DETAIL_MAX; i++) {
		if (!__builtin_add_overflow(sum->value[i], later->value[i], &sum->value[i]))
			continue;
		sum->value[i] = UINT64_MAX;
		sum->saturated |= UINT32_C(1) << i;
	}
}
