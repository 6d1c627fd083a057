/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
#include "cli/lib/locked.h"

#include <stdbool.h>

#include "base/err.h"
#include "base/map.h"
#include "collector/events.h"
#include "storage/reader.h"

struct loading {
	struct map *locked; /* GUID to the sequence number of its newest node-locked event, from 1; 0: unlocked since */
	int64_t first_id;   /* events read, for sequence numbers */
	int64_t started_us; /* start time of the newest collector */
	bool no_memory;
};

static bool see_start(void *ctx, const struct event_row *row)
{
	struct loading *loading = ctx;

	loading->started_us = row->event.wall_us;
	loading->first_id = row->id;
	return true;
}

/* The start event precedes all other events of its collector. */
static uint32_t place(const struct loading *loading, const struct event_row *row)
{
	return row->id > loading->first_id ? (uint32_t)(row->id - loading->first_id) : 0;
}

static bool see_locked(void *ctx, const struct event_row *row)
{
	struct loading *loading = ctx;

	if (place(loading, row) && map_put(loading->locked, row->event.node_guid, place(loading, row)) < 0)
		loading->no_memory = true;
	return !loading->no_memory;
}

static bool see_unlocked(void *ctx, const struct event_row *row)
{
	struct loading *loading = ctx;
	uint32_t locked;

	if (map_get(loading->locked, row->event.node_guid, &locked) && place(loading, row) > locked &&
	    map_put(loading->locked, row->event.node_guid, 0) < 0)
		loading->no_memory = true;
	return !loading->no_memory;
}

int locked_load(struct reader *reader, int64_t at_us, struct map *ret, struct error *err)
{
	struct loading loading = { .locked = ret };
	struct event_query query = { .until_us = at_us, .kind = EVENT_COLLECTOR_STARTED, .limit = 1 };
	int code = reader_events(reader, &query, see_start, &loading, err);

	query.limit = 0;
	query.since_us = loading.started_us;
	query.kind = EVENT_NODE_LOCKED;
	if (code == 0)
		code = reader_events(reader, &query, see_locked, &loading, err);
	query.kind = EVENT_NODE_UNLOCKED;
	if (code == 0)
		code = reader_events(reader, &query, see_unlocked, &loading, err);
	if (code == 0 && loading.no_memory)
		return err_nomem(err);
	return code;
}
