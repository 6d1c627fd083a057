/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
#include "tui/model/event_list.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/array.h"
#include "base/err.h"
#include "fabric/names.h"
#include "facts/event_text.h"

void event_list_done(struct event_list *list)
{
	free(list->events);
	memset(list, 0, sizeof(*list));
}

int event_list_add(struct event_list *list, const struct recent_event *event, struct error *err)
{
	struct recent_event *moved = array_grow(list->events, list->count, &list->capacity, sizeof(*moved));

	if (!moved)
		return err_nomem(err);
	list->events = moved;
	list->events[list->count++] = *event;
	return 0;
}

/* Index of the first event older than all new ones; count if the two lists do not overlap. */
static size_t first_older(const struct event_list *list, int64_t oldest)
{
	for (size_t i = 0; i < list->count; i++)
		if (list->events[i].id == oldest)
			return i + 1;
	return list->count;
}

int event_list_merge(struct event_list *list, const struct recent_event *events, size_t count, size_t most,
		    struct error *err)
{
	size_t older = count ? first_older(list, events[count - 1].id) : list->count;
	size_t kept = list->count - older, capacity = count + kept + 1;
	struct recent_event *room;

	/* The previous list does not continue the new one. */
	if (count < most || !kept)
		list->complete = count < most;
	if (count < most)
		kept = 0;
	room = calloc(capacity, sizeof(*room));
	if (!room)
		return err_nomem(err);
	if (count)
		memcpy(room, events, count * sizeof(*room));
	if (kept)
		memcpy(room + count, list->events + older, kept * sizeof(*room));
	free(list->events);
	list->events = room;
	list->count = count + kept;
	list->capacity = capacity;
	return 0;
}

static bool is_of_finding(const struct recent_event *event)
{
	return strncmp(event->kind, "finding-", strlen("finding-")) == 0;
}

/*
 * A finding that opens repeats an event of its kind at its place, such as node-silent: only the event is listed, unless
 * findings are selected.
 */
static bool is_repeated(const struct event_list *list, size_t index)
{
	const int64_t apart_us = 120 * INT64_C(1000000);
	const struct recent_event *opened = &list->events[index];
	size_t len = strcspn(opened->text, " ");

	if (strcmp(opened->kind, "finding-opened") || list->filter.findings || list->filter.kind[0])
		return false;
	for (size_t i = index + 1; i < list->count && opened->wall_us - list->events[i].wall_us <= apart_us; i++) {
		const struct recent_event *event = &list->events[i];

		if (event->node_guid == opened->node_guid && event->severity >= list->filter.least &&
		    strlen(event->kind) == len && !strncmp(event->kind, opened->text, len))
			return true;
	}
	return false;
}

bool event_list_has(const struct event_list *list, size_t index)
{
	const struct event_filter *filter = &list->filter;
	const struct recent_event *event = &list->events[index];

	return event->severity >= filter->least && (!filter->findings || is_of_finding(event)) &&
	       (!filter->kind[0] || !strcmp(filter->kind, event->kind)) && !is_repeated(list, index);
}

const char *event_where(const struct recent_event *event, char *ret, size_t size)
{
	ret[0] = '\0';
	if (!event->node_guid)
		return ret;
	if (event->port)
		snprintf(ret, size, "%s/%u", event->node, event->port);
	else
		snprintf(ret, size, "%s", event->node);
	return ret;
}
