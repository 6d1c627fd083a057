/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * event_state.h - states that follow from the events of the last collector: locked nodes, throttling, a
 * topology from a file, a removed device
 *
 * The newest event since the collector start decides. A collector starts at the full rate and
 * detects locked nodes within three sweeps.
 */
#ifndef IBWIRE_CLI_EVENT_STATE_H
#define IBWIRE_CLI_EVENT_STATE_H

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
 * throttled_load - is the collector throttled to half its rate?
 * topology_file_load - is the topology read from a file?
 * device_removed_load - was the device removed? A running collector waits for it.
 * @at_us:   wall clock; 0: now
 * @locked:  a zeroed map; locked GUIDs have a value above 0. map_done() frees it, after errors too.
 * @ret:     filled completely
 *
 * Return: 0; ERR_IO; ERR_NOMEM.
 */
int locked_load(struct reader *reader, int64_t at_us, struct map *locked, struct error *err);
int throttled_load(struct reader *reader, int64_t at_us, struct event_state *ret, struct error *err);
int topology_file_load(struct reader *reader, int64_t at_us, struct event_state *ret, struct error *err);
int device_removed_load(struct reader *reader, int64_t at_us, struct event_state *ret, struct error *err);

#endif
