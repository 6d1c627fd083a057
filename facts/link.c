/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
#include "facts/link.h"

#include <inttypes.h>
#include <stdio.h>

#include "base/text.h"
#include "fabric/fabric.h"
#include "fabric/shape.h"

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
