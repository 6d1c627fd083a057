/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * silence.h - is it a node that does not answer, or does nothing arrive at all?
 *
 * The wire may stand still, or this process may not have run: then nobody is to
 * blame, and nobody has become slow. While something is in flight and nothing was heard for
 * 5 ms, a question that was just answered is asked once more: its answer proves that the
 * wire moves, and that those who were asked before it and are open are silent. No I/O
 * here: the engine sends and receives.
 */
#ifndef IBWIRE_WIRE_SILENCE_H
#define IBWIRE_WIRE_SILENCE_H

#include <stdbool.h>
#include <stdint.h>

#include "wire/engine.h"

/* Of how many agents that answered last one question is kept, to be repeated. */
#define SILENCE_PROBES 8

/* So long a MAD is waited for where nobody is heard at all; a second and a third try wait as long again. */
#define SILENCE_MOST_US (250 * 1000)

/* A zeroed struct is the start. Times are CLOCK_BOOTTIME. */
struct silence {
	struct request probes[SILENCE_PROBES]; /* answered ones, of different nodes */
	unsigned probe_count, probe_next, probe_newest;
	int64_t probed_us;                  /* when one was sent last */
	int64_t heard_us;                   /* when an answer came last, or there was nothing to hear */
	int64_t alive_us;                   /* when the youngest MAD that was answered had been sent */
	int64_t stall_from_us, stall_to_us; /* when everything stood still last */
};

/* silence_begins - from now on there is something to hear: a run begins, or the first MAD after a pause is sent. */
void silence_begins(struct silence *silence, int64_t now_us);

/* silence_keep - a request was answered: it may be repeated. One with a path is not: the path may be gone then. */
void silence_keep(struct silence *silence, const struct request *request);

/* silence_probe - the question to repeat now. Return: NULL where it is not time, or nobody has answered yet. */
const struct request *silence_probe(struct silence *silence, int64_t now_us);

/*
 * silence_heard - an answer came
 * @sent_us:  when its question was sent
 * @waiting:  something was in flight all the time since the last answer
 * Return: how long its node took, us, without the time in which everything stood still.
 */
int64_t silence_heard(struct silence *silence, int64_t sent_us, int64_t now_us, bool waiting);

/*
 * silence_is_nodes - an open MAD is old: is its node to blame?
 * Yes where something that was sent well after it was answered, where nobody can be
 * asked whether the wire moves, and where nothing was heard for SILENCE_MOST_US.
 */
bool silence_is_nodes(const struct silence *silence, int64_t sent_us, int64_t now_us);

#endif
