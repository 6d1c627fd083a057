/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* Trackers: the error history of ports, created by an error and removed when no rule uses them. */
#include <stdlib.h>

#include "analysis/health/state.h"
#include "base/array.h"

void health_tracker_init(struct health_tracker *tracker, uint32_t port)
{
	*tracker = (struct health_tracker){ .port = port, .error_us = HEALTH_LONG_AGO,
					    .edge_since_us = HEALTH_LONG_AGO,
					    .flap_since_us = HEALTH_LONG_AGO };
	for (int i = 0; i < FLAPS_MAX; i++)
		tracker->flaps[i] = HEALTH_LONG_AGO;
}

struct health_tracker *health_track(struct health *health, uint32_t port)
{
	struct health_tracker *grown;
	uint32_t at = health->ports[port].tracker;

	if (at != HEALTH_NONE)
		return &health->trackers[at];
	grown = array_grow(health->trackers, health->tracker_count, &health->tracker_capacity, sizeof(*grown));
	if (!grown) {
		health->failed = true;
		return NULL;
	}
	health->trackers = grown;
	at = (uint32_t)health->tracker_count++;
	health_tracker_init(&grown[at], port);
	health->ports[port].tracker = at;
	return &grown[at];
}

bool health_errors_count(const struct health *health, const struct health_tracker *tracker)
{
	return health->now_us - tracker->error_us <= SYMBOL_BUCKETS * (int64_t)SYMBOL_BUCKET_US;
}

static bool is_unused_tracker(const struct health *health, const struct health_tracker *tracker)
{
	return !health_errors_count(health, tracker) && health->now_us - tracker->flaps[0] >= FLAPS_LAST_US &&
	       !(tracker->stalled | tracker->stalled_critical | tracker->rail_off | tracker->unused |
		 tracker->hot[0] | tracker->hot[1]);
}

/* Shrink the array to twice its use. */
static void shrink_trackers(struct health *health)
{
	size_t capacity = 2 * health->tracker_count;
	void *less = NULL;

	if (2 * capacity > health->tracker_capacity)
		return;
	if (!capacity)
		free(health->trackers);
	else
		less = reallocarray(health->trackers, capacity, sizeof(*health->trackers));
	if (less || !capacity) {
		health->trackers = less;
		health->tracker_capacity = capacity;
	}
}

void health_prune_trackers(struct health *health)
{
	size_t i = 0;

	if (health->now_us - health->pruned_us < HOUR_US)
		return;
	health->pruned_us = health->now_us;
	while (i < health->tracker_count) {
		struct health_tracker *tracker = &health->trackers[i];

		if (!is_unused_tracker(health, tracker)) {
			i++;
			continue;
		}
		health->ports[tracker->port].tracker = HEALTH_NONE;
		*tracker = health->trackers[--health->tracker_count];
		if (i < health->tracker_count)
			health->ports[tracker->port].tracker = (uint32_t)i;
	}
	shrink_trackers(health);
}
