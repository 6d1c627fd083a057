/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
#include "collector/locked.h"

#include <stddef.h>

#include "collector/events.h"
#include "collector/node_memory.h"
#include "collector/sweep_result.h"
#include "fabric/fabric.h"

static void look_at(struct events *events, int64_t wall_us, const struct fabric *fabric, uint32_t node,
		    struct memory *memory, bool counters_answered)
{
	struct node_memory *remembered = memory_node(memory, node);
	enum smp_seen seen = remembered->smp_seen;

	remembered->smp_seen = SMP_NOT_ASKED;
	if (seen == SMP_ANSWERED) {
		if (remembered->locked)
			events_add(events, wall_us, EVENT_NODE_UNLOCKED, EVENT_INFO, fabric, node, 0,
				   "%s answers SMPs again", fabric->nodes[node].name);
		remembered->locked = false;
		remembered->smp_silent_sweeps = 0;
	} else if (seen == SMP_LEFT_OPEN && counters_answered && !remembered->planes_told && !remembered->locked &&
		   ++remembered->smp_silent_sweeps >= LOCKED_AFTER_SWEEPS) {
		remembered->locked = true;
		events_add(events, wall_us, EVENT_NODE_LOCKED, EVENT_WARNING, fabric, node, 0,
			   "%.100s answers for its counters, but no SMPs: its M_Key is probably %s",
			   fabric->nodes[node].name, memory->keys ? "another than the one known here"
								  : "not known here (--security-keys)");
	}
}

void locked_from_sweep(struct events *events, int64_t wall_us, const struct fabric *fabric,
		       const struct sweep_result *result, struct memory *memory)
{
	size_t i = 0;

	while (i < result->count) {
		uint32_t node = fabric->ports[result->samples[i].port].node;
		bool answered = false;

		for (; i < result->count && fabric->ports[result->samples[i].port].node == node; i++)
			answered |= result->samples[i].status == SAMPLE_OK ||
				    result->samples[i].status == SAMPLE_UNSUPPORTED;
		look_at(events, wall_us, fabric, node, memory, answered);
	}
}
