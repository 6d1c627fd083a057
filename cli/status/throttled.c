/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
#include "cli/status/throttled.h"

#include <stdio.h>

#include "collector/events.h"
#include "storage/reader.h"

/* The newest event of a kind; ids give the order, independent of the wall clock. */
struct newest {
	int64_t id; /* 0: there is none */
	struct throttled what;
};

static bool see(void *ctx, const struct event_row *row)
{
	struct newest *newest = ctx;

	newest->id = row->id;
	newest->what = (struct throttled){ .on = true, .since_us = row->event.wall_us };
	snprintf(newest->what.text, sizeof(newest->what.text), "%s", row->event.text);
	return true;
}

static int find(struct reader *reader, int64_t at_us, const char *kind, struct newest *ret, struct error *err)
{
	const struct event_query query = { .until_us = at_us, .kind = kind, .limit = 1 };

	*ret = (struct newest){ 0 };
	return reader_events(reader, &query, see, ret, err);
}

int throttled_load(struct reader *reader, int64_t at_us, struct throttled *ret, struct error *err)
{
	struct newest started, begun, ended;
	int code = find(reader, at_us, EVENT_COLLECTOR_STARTED, &started, err);

	if (code == 0)
		code = find(reader, at_us, EVENT_THROTTLED, &begun, err);
	if (code == 0)
		code = find(reader, at_us, EVENT_UNTHROTTLED, &ended, err);
	if (code < 0)
		return code;
	*ret = begun.id > started.id && begun.id > ended.id ? begun.what : (struct throttled){ 0 };
	return 0;
}
