/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * event_state.h - states that follow from the events of the last collector: locked nodes, throttling, a
 * topology from a file, a removed device
 *
 * The newest event since the collector start decides. A collector starts at the full rate and
 * detects locked nodes within three sweeps.
 */
#ifndef IBWIRE_FACTS_EVENT_STATE_H
#define IBWIRE_FACTS_EVENT_STATE_H

#include <stdbool.h>
#include <stdint.h>

struct error;
struct map;
struct reader;

struct event_state {
	bool on;
	int64_t since_us; /* wall clock */
	char text[256];   /* of the event */
};

/*
 * locked_load - nodes that respond to PMA queries but not to SMPs
 * event_state_load - the state that an event of @kind begins: on if there is one
 * @at_us:   wall clock; 0: now
 * @end:     kind of the event that ends the state; NULL: only the next start of a collector does
 * @locked:  a zeroed map; locked GUIDs have a value above 0. map_done() frees it, after errors too.
 * @ret:     filled completely
 *
 * Return: 0; ERR_IO; ERR_NOMEM.
 */
int locked_load(struct reader *reader, int64_t at_us, struct map *locked, struct error *err);
int event_state_load(struct reader *reader, int64_t at_us, const char *kind, const char *end, struct event_state *ret,
		     struct error *err);

#endif
