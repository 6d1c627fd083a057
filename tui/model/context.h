/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * context.h - data of the shown time other than counters
 *
 * The shape of the fabric, the open findings and the recent events. Loaded with each snapshot and
 * after an acknowledgement.
 */
#ifndef IBWIRE_TUI_MODEL_CONTEXT_H
#define IBWIRE_TUI_MODEL_CONTEXT_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "fabric/fabric.h"
#include "facts/port_marks.h"
#include "storage/findings.h"
#include "storage/reader.h"

struct error;
struct reader;
struct shape;
struct shape_settings;
struct snapshot;

/* Events loaded before the shown time. */
#define CONTEXT_EVENTS 500

/* An event with copies of its strings. */
struct recent_event {
	int64_t id, wall_us;
	enum event_severity severity;
	char kind[32];
	uint64_t node_guid, peer_guid;
	uint8_t port;
	char node[NODE_NAME_SIZE]; /* name at the time of the event; "": the fabric */
	char text[256];
};

struct snapshot_context {
	struct shape *shape;          /* of the shown fabric; NULL: no snapshot yet */
	struct fabric *fabric;        /* of the shape, shared; the shape of the same fabric is not rebuilt */
	struct finding_row *findings; /* open ones; worst first, acknowledged ones last */
	size_t finding_count;
	uint32_t *finding_of;         /* open_findings_mark(), of the shown fabric; NULL: no memory */
	struct recent_event *recent_events; /* newest first */
	size_t recent_event_count;
};

/*
 * context_load - load the context of a snapshot
 * @at_us:     wall clock of the snapshot; 0: the newest
 * @now_us:    wall clock, for the end of acknowledgements
 * @settings:  or NULL
 * Return: 0; ERR_IO: the previous data stays except for the shape, which is of the
 * snapshot's fabric or NULL; ERR_NOMEM.
 */
int context_load(struct snapshot_context *context, struct reader *reader, const struct snapshot *snapshot,
		 int64_t at_us, int64_t now_us, const struct shape_settings *settings, struct error *err);
void context_done(struct snapshot_context *context);

/* recent_event_copy - copy a stored event with its strings, and names as @fabric displays them; it may be NULL. */
void recent_event_copy(const struct event_row *row, const struct fabric *fabric, struct recent_event *ret);

/*
 * context_finding_at - the worst open finding at a port of the fabric, or NULL
 * context_mark_at - its mark
 * context_finding - the finding, by GUID and number. Port 0: the node or any port.
 */
const struct finding_row *context_finding_at(const struct snapshot_context *context, uint32_t port);
enum port_mark context_mark_at(const struct snapshot_context *context, uint32_t port);
const struct finding_row *context_finding(const struct snapshot_context *context, uint64_t node_guid, uint8_t port);

#endif
