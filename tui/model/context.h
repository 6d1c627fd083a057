/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * context.h - what is known of the time that is shown, beside its counters
 *
 * The shape of the fabric as it was then, the findings that were open, and what
 * had happened. Made anew with each snapshot, and when somebody acknowledges.
 */
#ifndef IBWIRE_TUI_MODEL_CONTEXT_H
#define IBWIRE_TUI_MODEL_CONTEXT_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "fabric/fabric.h"
#include "storage/findings.h"
#include "storage/reader.h"

struct error;
struct reader;
struct shape;
struct shape_settings;
struct snapshot;

/* So many events before the shown time are kept. */
#define CONTEXT_EVENTS 500

/* An event, with texts of its own. */
struct recent_event {
	int64_t id, wall_us;
	enum event_severity severity;
	char kind[32];
	uint64_t node_guid, peer_guid;
	uint8_t port;
	char node[NODE_NAME_SIZE]; /* as it was called then; "": the fabric */
	char text[256];
};

struct snapshot_context {
	struct shape *shape;          /* of the shown fabric; NULL: nothing is shown yet */
	struct fabric *fabric;        /* that one, shared: the shape of the same is not made again */
	struct finding_row *findings; /* that were open; worst first, those that are acknowledged behind all others */
	size_t finding_count, acknowledged_count;
	struct recent_event *recent_events; /* newest first */
	size_t recent_event_count;
};

/*
 * context_load - all of it for a snapshot
 * @at_us:     wall clock of the snapshot; 0: it is the newest
 * @now_us:    wall clock: ends of acknowledgements
 * @settings:  or NULL
 * Return: 0; ERR_IO, and then what was there before stays, but for the shape, which is of the
 * snapshot's fabric or NULL; ERR_NOMEM.
 */
int context_load(struct snapshot_context *context, struct reader *reader, const struct snapshot *snapshot,
		 int64_t at_us, int64_t now_us, const struct shape_settings *settings, struct error *err);
void context_done(struct snapshot_context *context);

/* recent_event_copy - a stored event as one with texts of its own. */
void recent_event_copy(const struct event_row *row, struct recent_event *ret);

/* context_finding - the worst that is open about a port (marks.h; 0: of the node or any of its ports), or NULL. */
const struct finding_row *context_finding(const struct snapshot_context *context, uint64_t node_guid, uint8_t port);

#endif
