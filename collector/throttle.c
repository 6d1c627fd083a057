/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
#include "collector/throttle.h"

static bool is_busy(const struct throttle_load *load)
{
	if (load->drops)
		return true;
	return load->links_not_active >= THROTTLE_LINKS &&
	       (uint64_t)load->links_not_active * 100 >= (uint64_t)load->links_seen * THROTTLE_LINKS_PERCENT;
}

enum throttle_change throttle_step(struct throttle *throttle, const struct throttle_load *load)
{
	bool was_on = throttle->on;

	if (is_busy(load)) {
		throttle->on = true;
		throttle->quiet_sweeps = 0;
	} else if (throttle->on && ++throttle->quiet_sweeps >= THROTTLE_QUIET_SWEEPS) {
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
