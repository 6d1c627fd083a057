/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
#include "facts/link.h"

#include <inttypes.h>
#include <stdio.h>

#include "base/text.h"
#include "fabric/fabric.h"
#include "fabric/shape.h"

bool link_is_degraded(const struct fabric *fabric, const struct shape *shape, uint32_t index)
{
	const uint32_t ends[2] = { index, fabric->ports[index].peer };

	if (ends[1] == FABRIC_NONE)
		return false;
	for (unsigned i = 0; i < 2; i++) {
		const struct port *port = &fabric->ports[ends[i]], *peer = &fabric->ports[ends[!i]];
		uint64_t rate = port_rate_bits_per_s(port);

		if (rate && (port_is_below_enabled(port, peer) || (shape && rate < shape->built_bits_per_s[ends[i]])))
			return true;
	}
	return false;
}

const char *link_text(const struct port *port, bool degraded, char ret[LINK_TEXT_SIZE])
{
	unsigned lanes = link_width_lanes(port->width);

	ret[0] = '\0';
	if (lanes && port->speed != LINK_SPEED_NONE)
		snprintf(ret, LINK_TEXT_SIZE, "%ux %s%s", lanes, link_speed_name((enum link_speed)port->speed),
			 degraded ? " " LINK_DEGRADED : "");
	return ret;
}

bool errors_append(struct text *text, const char *before, counter_set known, counter_set bounds,
		   counter_set saturated, const uint64_t *values)
{
	bool any = false;

	for (int counter = COUNTER_TRAFFIC_COUNT; counter < COUNTER_COUNT; counter++) {
		counter_set bit = COUNTER_BIT(counter);
		uint64_t value = values[counter - COUNTER_TRAFFIC_COUNT];

		if (!(known & bit) || (!value && !(saturated & bit)))
			continue;
		text_appendf(text, "%s%s %" PRIu64 "%s", any ? ", " : before, counter_info((enum counter)counter)->key,
			     value, saturated & bit ? "+ (saturated)" : bounds & bit ? "+" : "");
		any = true;
	}
	return any;
}
