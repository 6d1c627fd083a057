/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
#include "collector/event_limit.h"

#include <inttypes.h>
#include <stdbool.h>
#include <string.h>

#include "collector/events.h"
#include "fabric/fabric.h"

/* Time credit that one event consumes. */
#define COST_US (3600 * 1000000LL / EVENT_LIMIT_PER_HOUR)
#define CREDIT_MAX_US (EVENT_LIMIT_BURST * COST_US)

/* NULL if there are more kinds than expected: they are not limited. */
static struct event_limit_kind *find_kind(struct event_limit *limit, const struct event *event, int64_t now_us)
{
	struct event_limit_kind *kind;
	size_t i;

	for (i = 0; i < limit->count; i++)
		if (limit->kinds[i].severity == event->severity && !strcmp(limit->kinds[i].kind, event->kind))
			return &limit->kinds[i];
	if (limit->count == EVENT_LIMIT_KINDS)
		return NULL;
	kind = &limit->kinds[limit->count++];
	*kind = (struct event_limit_kind){ .kind = event->kind, .severity = event->severity,
					   .credit_us = CREDIT_MAX_US, .at_us = now_us };
	return kind;
}

static bool may_pass(struct event_limit *limit, const struct event *event, int64_t now_us)
{
	struct event_limit_kind *kind = find_kind(limit, event, now_us);

	if (!kind)
		return true;
	/* The credit is capped, also after a long suspend. */
	kind->credit_us = now_us - kind->at_us > CREDIT_MAX_US ? CREDIT_MAX_US : kind->credit_us + now_us - kind->at_us;
	if (kind->credit_us > CREDIT_MAX_US)
		kind->credit_us = CREDIT_MAX_US;
	kind->at_us = now_us;
	if (kind->credit_us < COST_US) {
		kind->left_out++;
		return false;
	}
	kind->credit_us -= COST_US;
	return true;
}

static void report_left_out(struct event_limit *limit, struct events *events, int64_t now_us, int64_t wall_us)
{
	size_t i;

	for (i = 0; i < limit->count; i++) {
		struct event_limit_kind *kind = &limit->kinds[i];

		if (!kind->left_out || (kind->reported_us && now_us - kind->reported_us < EVENT_LIMIT_REPORT_US))
			continue;
		events_add(events, wall_us, EVENT_EVENTS_LEFT_OUT, EVENT_WARNING, NULL, FABRIC_NONE, 0,
			   "%" PRIu64 " more events of kind %s were suppressed: too many",
			   kind->left_out, kind->kind);
		kind->left_out = 0;
		kind->reported_us = now_us;
	}
}

void event_limit_apply(struct event_limit *limit, struct events *events, int64_t now_us, int64_t wall_us)
{
	size_t i = limit->passed < events->count ? limit->passed : events->count, passed;

	for (passed = i; i < events->count; i++)
		if (may_pass(limit, &events->list[i], now_us))
			events->list[passed++] = events->list[i];
	events->count = passed;
	report_left_out(limit, events, now_us, wall_us);
	limit->passed = events->count;
}
