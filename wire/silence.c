/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
#include "wire/silence.h"

#include <stddef.h>

#include "base/clock.h"

/* After so long without an answer from anybody a question is repeated: so the dead are found out in time. */
#define SILENCE_US (5 * US_PER_MS)

/* Nothing heard for so long, though that was tried with several: everything stood still. */
#define STALL_US (SILENCE_US * 6)

void silence_begins(struct silence *silence, int64_t now_us)
{
	if (silence->heard_us < now_us)
		silence->heard_us = now_us;
}

void silence_keep(struct silence *silence, const struct request *request)
{
	if (request->path)
		return;
	if (silence->probe_count && silence->probes[silence->probe_newest].node != request->node)
		silence->probe_newest = (silence->probe_newest + 1) % SILENCE_PROBES;
	if (silence->probe_newest >= silence->probe_count)
		silence->probe_count = silence->probe_newest + 1;
	silence->probes[silence->probe_newest] = *request;
}

const struct request *silence_probe(struct silence *silence, int64_t now_us)
{
	if (!silence->probe_count || now_us - silence->heard_us < SILENCE_US ||
	    now_us - silence->probed_us < SILENCE_US)
		return NULL;
	silence->probed_us = now_us;
	silence->probe_next = (silence->probe_next + 1) % silence->probe_count;
	return &silence->probes[silence->probe_next];
}

int64_t silence_heard(struct silence *silence, int64_t sent_us, int64_t now_us, bool waiting)
{
	int64_t from_us;

	/* Where there is nothing to repeat it was not tried: who is silent alone is slow. */
	if (silence->probe_count && waiting && now_us - silence->heard_us >= STALL_US) {
		silence->stall_from_us = silence->heard_us;
		silence->stall_to_us = now_us;
	}
	silence->heard_us = now_us;
	if (sent_us > silence->alive_us)
		silence->alive_us = sent_us;
	from_us = sent_us > silence->stall_from_us ? sent_us : silence->stall_from_us;
	if (silence->stall_to_us > from_us)
		return now_us - sent_us - (silence->stall_to_us - from_us);
	return now_us - sent_us;
}

bool silence_is_nodes(const struct silence *silence, int64_t sent_us, int64_t now_us)
{
	if (!silence->probe_count || silence->alive_us - sent_us >= SILENCE_US / 2)
		return true;
	return now_us - sent_us >= SILENCE_MOST_US && now_us - silence->heard_us >= SILENCE_MOST_US;
}
