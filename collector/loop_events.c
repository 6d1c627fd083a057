/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
#include "collector/loop_events.h"

#include <inttypes.h>
#include <stddef.h>

#include "base/clock.h"
#include "base/stop.h"
#include "base/when.h"
#include "collector/events.h"
#include "collector/sweep_result.h"
#include "fabric/fabric.h"

/*
 * A change of wall clock against CLOCK_BOOTTIME between two sweeps that is a step and not slewing.
 */
#define CLOCK_STEP_US US_PER_S

void loop_events_sm(struct loop_events *state, struct events *events, int64_t wall_us,
		    const struct sweep_result *result)
{
	const struct sm_state *now = &result->sm, *last = &state->last_sm;

	/* The sweep ended before the response: the state is unknown. */
	if (result->sm_pending)
		return;
	if (last->known && !now->known)
		events_add(events, wall_us, EVENT_SM_LOST, EVENT_WARNING, NULL, FABRIC_NONE, 0,
			   "the subnet manager at LID %u does not respond", now->lid ? now->lid : last->lid);
	else if (now->known && last->guid && now->guid != last->guid)
		events_add(events, wall_us, EVENT_SM_CHANGED, EVENT_INFO, NULL, FABRIC_NONE, 0,
			   "the master subnet manager is 0x%016" PRIx64 ", was 0x%016" PRIx64, now->guid, last->guid);
	else if (now->known && last->guid && !last->known)
		events_add(events, wall_us, EVENT_SM_ANSWERS, EVENT_INFO, NULL, FABRIC_NONE, 0,
			   "the subnet manager at LID %u responds again", now->lid);
	if (now->known)
		state->last_sm = *now;
	state->last_sm.known = now->known;
}

void loop_events_clock(struct loop_events *state, struct events *events, int64_t wall_us, int64_t boottime_us)
{
	int64_t offset_us = wall_us - boottime_us, step_us = offset_us - state->wall_offset_us;
	char by[WHEN_SIZE];

	if (state->wall_offset_us && (step_us >= CLOCK_STEP_US || step_us <= -CLOCK_STEP_US))
		events_add(events, wall_us, EVENT_CLOCK_STEPPED, EVENT_WARNING, NULL, FABRIC_NONE, 0,
			   "the wall clock was set %s by %s; rates and the order of sweeps are not affected",
			   step_us > 0 ? "forward" : "back",
			   when_format_span(step_us > 0 ? step_us : -step_us, by));
	state->wall_offset_us = offset_us;
}

bool loop_events_cut(struct loop_events *state, struct events *events, int64_t wall_us,
		     const struct sweep_result *result, int64_t interval_us)
{
	bool cut = result->cut && result->ports_unfinished && !stop_requested();
	char every[WHEN_SIZE];

	if (cut && !state->cut)
		events_add(events, wall_us, EVENT_SWEEP_CUT, EVENT_WARNING, NULL, FABRIC_NONE, 0,
			   "%u of %u ports were not read within the interval of %s, and come first in the next "
			   "sweep; increase the interval or the limits to read all",
			   result->ports_unfinished, result->ports_asked, when_format_span(interval_us, every));
	state->cut = cut;
	return cut;
}

void loop_events_late(struct loop_events *state, struct events *events, int64_t wall_us, int64_t took_us,
		      int64_t interval_us)
{
	bool late = took_us >= interval_us;
	char took[WHEN_SIZE], every[WHEN_SIZE];

	if (late && !state->late)
		events_add(events, wall_us, EVENT_SWEEP_LATE, EVENT_WARNING, NULL, FABRIC_NONE, 0,
			   "a sweep took %s, more than the interval of %s", when_format_span(took_us, took),
			   when_format_span(interval_us, every));
	state->late = late;
}
