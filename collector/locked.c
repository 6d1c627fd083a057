/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
#include "collector/locked.h"

#include <stddef.h>

#include "collector/events.h"
#include "collector/node_memory.h"
#include "collector/sweep_result.h"
#include "fabric/fabric.h"

static void update(struct events *events, int64_t wall_us, const struct fabric *fabric, uint32_t node,
		   struct node_memory *memory, bool counters_answered)
{
	struct node_entry *entry = node_memory_node(memory, node);
	enum smp_result seen = entry->smp_result;

	entry->smp_result = SMP_NOT_SENT;
	if (seen == SMP_RESPONDED) {
		if (entry->locked)
			events_add(events, wall_us, EVENT_NODE_UNLOCKED, EVENT_INFO, fabric, node, 0,
				   "%s responds to SMPs again", fabric->nodes[node].name);
		entry->locked = false;
		entry->smp_timeout_sweeps = 0;
	} else if (seen == SMP_NO_RESPONSE && counters_answered && !entry->planes_reported && !entry->locked &&
		   ++entry->smp_timeout_sweeps >= LOCKED_AFTER_SWEEPS) {
		entry->locked = true;
		events_add(events, wall_us, EVENT_NODE_LOCKED, EVENT_WARNING, fabric, node, 0,
			   "%.100s responds to PMA queries, but not to SMPs: its M_Key is probably %s",
			   fabric->nodes[node].name, memory->keys ? "not the configured one"
								  : "not configured (--security-keys)");
	}
}

void locked_from_sweep(struct events *events, int64_t wall_us, const struct fabric *fabric,
		       const struct sweep_result *result, struct node_memory *memory)
{
	size_t i = 0;

	while (i < result->count) {
		uint32_t node = fabric->ports[result->samples[i].port].node;
		bool responded = false;

		for (; i < result->count && fabric->ports[result->samples[i].port].node == node; i++)
			responded |= result->samples[i].status == SAMPLE_OK ||
				    result->samples[i].status == SAMPLE_UNSUPPORTED;
		update(events, wall_us, fabric, node, memory, responded);
	}
}
