/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
#include "collector/throttle.h"

static bool is_sign(const struct throttle_signs *signs)
{
	if (signs->drops)
		return true;
	return signs->links_not_active >= THROTTLE_LINKS &&
	       (uint64_t)signs->links_not_active * 100 >= (uint64_t)signs->links_seen * THROTTLE_LINKS_PERCENT;
}

enum throttle_change throttle_step(struct throttle *throttle, const struct throttle_signs *signs)
{
	bool was_on = throttle->on;

	if (is_sign(signs)) {
		throttle->on = true;
		throttle->calm_sweeps = 0;
	} else if (throttle->on && ++throttle->calm_sweeps >= THROTTLE_CALM_SWEEPS) {
		throttle->on = false;
	}
	if (throttle->on == was_on)
		return THROTTLE_SAME;
	return throttle->on ? THROTTLE_BEGINS : THROTTLE_ENDS;
}

unsigned throttle_half(unsigned limit)
{
	return limit > 1 ? limit / 2 : limit;
}
