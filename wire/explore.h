/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * explore.h - one discovery of our own, on the request engine
 *
 * Breadth first along directed routes: who are you, and what behind each of a
 * switch's ports that has a link. All that does not depend on each other is in
 * flight at once, within the engine's limits. A question that stays without an answer is
 * repeated at short notice, and the last time, with more patience, when all others are done:
 * so the dead delay nobody, and who is only slow is found.
 */
#ifndef IBWIRE_WIRE_EXPLORE_H
#define IBWIRE_WIRE_EXPLORE_H

#include <stdint.h>

#include "fabric/record.h"

struct clock;
struct error;
struct fabric;
struct keys;
struct text;
struct transport;

struct explore_settings {
	unsigned max_smps;   /* in flight over all */
	unsigned per_node;   /* in flight to one node's agent */
	unsigned timeout_ms; /* how long an answer may take at most */
	unsigned retries;
	const struct keys *keys; /* borrowed, or NULL: the M_Key of each node */
	uint64_t own_guid;       /* of the local port */
};

/* What explore_run() returns where it is done, and answers to what it has given up may still come. */
#define EXPLORE_OPEN 1

/*
 * explore_run - discover the fabric behind a transport's port
 * @ret:          a finished fabric, without a name map
 * @ret_trailer:  all but took_us
 * @notes:        lines are appended for a person: what does not fit together
 *
 * A node with the GUID 0 has no identity and is left out: its peer then has a link
 * and no peer. Return: 0; EXPLORE_OPEN; ERR_UNAVAILABLE where not even this host's own node answers,
 * or the device fails; ERR_NOMEM.
 */
int explore_run(const struct transport *transport, const struct clock *clock, const struct explore_settings *settings,
		struct fabric **ret, struct record_trailer *ret_trailer, struct text *notes, struct error *err);

#endif
