/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
#include "wire/engine/liveness.h"

#include <stddef.h>

#include "base/clock.h"

/* Time without any response after which a probe is sent. */
#define LIVENESS_PROBE_US (5 * US_PER_MS)

/* Time without any response, in spite of several probes, that counts as a stall. */
#define LIVENESS_STALL_US (LIVENESS_PROBE_US * 6)

void liveness_start(struct liveness *liveness, int64_t now_us)
{
	if (liveness->response_us < now_us)
		liveness->response_us = now_us;
}

void liveness_store_probe(struct liveness *liveness, const struct request *request)
{
	if (request->path)
		return;
	if (liveness->probe_count && liveness->probes[liveness->probe_newest].node != request->node)
		liveness->probe_newest = (liveness->probe_newest + 1) % LIVENESS_PROBES;
	if (liveness->probe_newest >= liveness->probe_count)
		liveness->probe_count = liveness->probe_newest + 1;
	liveness->probes[liveness->probe_newest] = *request;
}

const struct request *liveness_next_probe(struct liveness *liveness, int64_t now_us)
{
	if (!liveness->probe_count || now_us - liveness->response_us < LIVENESS_PROBE_US ||
	    now_us - liveness->probed_us < LIVENESS_PROBE_US)
		return NULL;
	liveness->probed_us = now_us;
	liveness->probe_next = (liveness->probe_next + 1) % liveness->probe_count;
	return &liveness->probes[liveness->probe_next];
}

int64_t liveness_response(struct liveness *liveness, int64_t sent_us, int64_t now_us, bool waiting)
{
	int64_t from_us;

	/* Without probes a stall cannot be distinguished from a slow node. */
	if (liveness->probe_count && waiting && now_us - liveness->response_us >= LIVENESS_STALL_US) {
		liveness->stall_from_us = liveness->response_us;
		liveness->stall_to_us = now_us;
	}
	liveness->response_us = now_us;
	if (sent_us > liveness->answered_sent_us)
		liveness->answered_sent_us = sent_us;
	from_us = sent_us > liveness->stall_from_us ? sent_us : liveness->stall_from_us;
	if (liveness->stall_to_us > from_us)
		return now_us - sent_us - (liveness->stall_to_us - from_us);
	return now_us - sent_us;
}

bool liveness_node_unresponsive(const struct liveness *liveness, int64_t sent_us, int64_t now_us)
{
	if (!liveness->probe_count || liveness->answered_sent_us - sent_us >= LIVENESS_PROBE_US / 2)
		return true;
	return now_us - sent_us >= LIVENESS_MAX_US && now_us - liveness->response_us >= LIVENESS_MAX_US;
}
