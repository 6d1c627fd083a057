/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
#include "facts/event_state.h"

#include <stdio.h>

#include "base/err.h"
#include "base/map.h"
#include "collector/events.h"
#include "storage/reader.h"

/* The newest event of a kind; ids give the order, independent of the wall clock. */
struct newest {
	int64_t id; /* 0: none */
	struct event_state state;
};

static bool copy_event(void *ctx, const struct event_row *row)
{
	struct newest *newest = ctx;

	newest->id = row->id;
	newest->state = (struct event_state){ .on = true, .since_us = row->event.wall_us };
	snprintf(newest->state.text, sizeof(newest->state.text), "%s", row->event.text);
	return true;
}

static int find_newest(struct reader *reader, int64_t at_us, const char *kind, struct newest *ret, struct error *err)
{
	const struct event_query query = { .until_us = at_us, .kind = kind, .limit = 1 };

	*ret = (struct newest){ 0 };
	return reader_events(reader, &query, copy_event, ret, err);
}

int event_state_load(struct reader *reader, int64_t at_us, const char *kind, const char *end, struct event_state *ret,
		     struct error *err)
{
	struct newest started, begun, ended = { 0 };
	int code = find_newest(reader, at_us, EVENT_COLLECTOR_STARTED, &started, err);

	if (code == 0)
		code = find_newest(reader, at_us, kind, &begun, err);
	if (code == 0 && end)
		code = find_newest(reader, at_us, end, &ended, err);
	if (code == 0)
		*ret = begun.id > started.id && begun.id > ended.id ? begun.state : (struct event_state){ 0 };
	return code;
}

struct locking {
	struct map *locked; /* GUID to the number of its newest node-locked event, from 1; 0: unlocked since */
	int64_t first_id;   /* the start event precedes all others of its collector */
	bool lock;          /* kind of the events read: node-locked or node-unlocked */
	bool no_memory;
};

static bool mark_node(void *ctx, const struct event_row *row)
{
	struct locking *locking = ctx;
	uint32_t number = row->id > locking->first_id ? (uint32_t)(row->id - locking->first_id) : 0, locked = 0;

	map_get(locking->locked, row->event.node_guid, &locked);
	if (number > locked && (locking->lock || locked))
		locking->no_memory = map_put(locking->locked, row->event.node_guid, locking->lock ? number : 0) < 0;
	return !locking->no_memory;
}

int locked_load(struct reader *reader, int64_t at_us, struct map *locked, struct error *err)
{
	struct locking locking = { .locked = locked, .lock = true };
	struct event_query query = { .until_us = at_us, .kind = EVENT_NODE_LOCKED };
	struct newest started;
	int code = find_newest(reader, at_us, EVENT_COLLECTOR_STARTED, &started, err);

	query.since_us = started.state.since_us;
	locking.first_id = started.id;
	if (code == 0)
		code = reader_events(reader, &query, mark_node, &locking, err);
	query.kind = EVENT_NODE_UNLOCKED;
	locking.lock = false;
	if (code == 0 && !locking.no_memory)
		code = reader_events(reader, &query, mark_node, &locking, err);
	return code == 0 && locking.no_memory ? err_nomem(err) : code;
}
