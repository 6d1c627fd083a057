/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
#include "analysis/link_fault.h"

#include <stdbool.h>

static bool has_part(const struct link_period *period, uint64_t part)
{
	for (size_t i = 0; i < period->part_count; i++)
		if (period->parts[i] == part)
			return true;
	return false;
}

static bool has_any(const struct link_period *period, const uint64_t *parts, size_t count)
{
	for (size_t i = 0; i < count; i++)
		if (has_part(period, parts[i]))
			return true;
	return false;
}

static double share_of(const struct link_period *period)
{
	return period->hours > 0 ? period->bad_hours / period->hours : 0;
}

int link_fault_judge(const struct link_period *period, double share)
{
	if (period->bad_hours >= LINK_FAULT_BAD_HOURS && share_of(period) >= share / 4)
		return 1;
	return share * period->hours >= LINK_FAULT_EXPECTED_HOURS && share_of(period) <= share / 20 ? -1 : 0;
}

struct link_fault link_fault_find(const struct link_period *periods, size_t count, const uint64_t *of, size_t of_count)
{
	struct link_fault ret = { .result = LINK_FAULT_NONE };
	const struct link_period *suspected;
	unsigned left = 0;
	double share;

	for (size_t i = 0; i < count; i++) {
		const struct link_period *period = &periods[i];

		if (period->bad_hours < LINK_FAULT_BAD_HOURS || share_of(period) < LINK_FAULT_BAD_SHARE ||
		    !has_any(period, of, of_count))
			continue;
		if (ret.result == LINK_FAULT_NONE || period->bad_hours > periods[ret.period].bad_hours)
			ret.period = i;
		ret.result = LINK_FAULT_CONTRADICTS;
	}
	if (ret.result == LINK_FAULT_NONE)
		return ret;
	suspected = &periods[ret.period];
	share = share_of(suspected);
	ret.suspects = (1U << suspected->part_count) - 1;
	for (size_t i = 0; i < count; i++) {
		int verdict = has_any(&periods[i], suspected->parts, suspected->part_count) ?
				      link_fault_judge(&periods[i], share) : 0;

		ret.decided += verdict != 0;
		for (size_t part = 0; verdict && part < suspected->part_count; part++)
			if (has_part(&periods[i], suspected->parts[part]) != (verdict > 0))
				ret.suspects &= ~(1U << part);
	}
	for (size_t part = 0; part < suspected->part_count; part++) {
		if (!(ret.suspects >> part & 1))
			continue;
		ret.part = part;
		left++;
	}
	if (left)
		ret.result = left == 1 ? LINK_FAULT_FOUND : LINK_FAULT_SEVERAL;
	return ret;
}
