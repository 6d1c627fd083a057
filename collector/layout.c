/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
#include "collector/layout.h"

#include "collector/events.h"
#include "collector/node_memory.h"
#include "fabric/fabric.h"
#include "fabric/planes.h"

void planes_report(struct events *events, int64_t wall_us, const struct fabric *fabric, struct node_memory *memory)
{
	uint32_t i;

	for (i = 0; i < fabric->node_count; i++) {
		struct node_entry *entry = node_memory_node(memory, i);
		unsigned planes = node_planes(fabric, i);

		if (planes && planes != entry->planes_reported)
			events_add(events, wall_us, EVENT_LAYOUT_UNSUPPORTED, EVENT_WARNING, fabric, i, 0,
				   "%.100s: %u ports share one GUID, so they are planes of one port. What their own "
				   "counters count is unknown; the counters of the connected switch ports apply",
				   fabric->nodes[i].name, planes);
		entry->planes_reported = (uint8_t)planes;
	}
}
