/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * event_list.h - events newest first, older ones added behind them, and which of them pass a filter
 *
 * What a newer context brings is put before what was loaded earlier, as long as
 * the two meet: a list never has a hole. No curses, no database here.
 */
#ifndef IBWIRE_TUI_EVENT_LIST_H
#define IBWIRE_TUI_EVENT_LIST_H

#include <regex.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "tui/model/context.h"
#include "tui/model/filter.h"

struct error;

/* So many are kept in all. */
#define EVENT_LIST_MOST 20000

struct event_filter {
	char pattern[FILTER_SIZE]; /* "": none */
	regex_t regex;
	bool has_regex;
	char kind[32];             /* "": any */
	enum event_severity least;
	bool findings;             /* only of findings */
};

struct event_list {
	struct recent_event *events; /* newest first */
	size_t count, capacity;
	bool complete;            /* no older ones are stored, or no more are kept */
	uint32_t *rows;           /* those that pass the filter */
	size_t row_count, row_capacity;
	struct event_filter filter;
};

void event_list_done(struct event_list *list);

/*
 * event_list_merge - the newest before the shown time
 * @events:  newest first, @count of them; @most: as many as were asked for: fewer are all
 * Return: 0 or ERR_NOMEM: then the list is as it was.
 */
int event_list_merge(struct event_list *list, const struct recent_event *events, size_t count, size_t most,
		    struct error *err);

/* event_list_add - one that is older than all of them; event_list_filter() has to follow. Return: 0 or ERR_NOMEM. */
int event_list_add(struct event_list *list, const struct recent_event *event, struct error *err);

/* event_list_filter - make rows anew. Return: 0 or ERR_NOMEM. */
int event_list_filter(struct event_list *list, struct error *err);

/*
 * event_list_pattern - another pattern: an extended regular expression, in small or large letters; "": none
 * Return: 0; ERR_USAGE with what is wrong with it: the old one stays.
 */
int event_list_pattern(struct event_list *list, const char *pattern, struct error *err);

/* event_list_find - the row of an event, or of the next older one; row_count where there is none. */
size_t event_list_find(const struct event_list *list, int64_t id);

/* event_list_at - the event of a row, or NULL. */
const struct recent_event *event_list_at(const struct event_list *list, size_t row);

/* event_where - "leaf01/12", "leaf01", "" for the fabric. event_text - with names as they are shown. Return: @ret. */
const char *event_where(const struct recent_event *event, char *ret, size_t size);
const char *event_text(const struct recent_event *event, char *ret, size_t size);
/* event_text_shown - the same, of the text of any event */
const char *event_text_shown(const char *from, char *ret, size_t size);

#endif
