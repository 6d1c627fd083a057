/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * event_list.h - list of events, newest first, with a filter
 *
 * Newer events are put before those loaded earlier if the two overlap: the list never has a gap.
 */
#ifndef IBWIRE_TUI_MODEL_EVENT_LIST_H
#define IBWIRE_TUI_MODEL_EVENT_LIST_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "tui/model/context.h"

struct error;

/* Maximum number of events. */
#define EVENT_LIST_MOST 20000

struct event_filter {
	char kind[32];             /* "": any */
	enum event_severity least;
	bool findings;             /* only events of findings */
};

struct event_list {
	struct recent_event *events; /* newest first */
	size_t count, capacity;
	bool complete;            /* no older events are stored, or the maximum is reached */
	struct event_filter filter;
};

void event_list_done(struct event_list *list);

/*
 * event_list_merge - add the newest events before the shown time
 * @events:  newest first, @count of them; @most: number requested: fewer are all
 * Return: 0 or ERR_NOMEM: the list is unchanged then.
 */
int event_list_merge(struct event_list *list, const struct recent_event *events, size_t count, size_t most,
		    struct error *err);

/* event_list_add - append an older event. Return: 0 or ERR_NOMEM. */
int event_list_add(struct event_list *list, const struct recent_event *event, struct error *err);

/*
 * event_list_has - whether an event passes the filter
 * A finding that repeats an event of its kind at its place, such as node-silent, does not, unless findings are
 * selected.
 */
bool event_list_has(const struct event_list *list, size_t index);

/* event_where - "leaf01/12", "leaf01", "" for the fabric. Return: @ret. */
const char *event_where(const struct recent_event *event, char *ret, size_t size);

#endif
