/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* event_columns.h - the columns of events, each described once */
#ifndef IBWIRE_FACTS_EVENT_COLUMNS_H
#define IBWIRE_FACTS_EVENT_COLUMNS_H

#include "export/result.h"

struct event;
struct event_query;
struct event_row;
struct fabric;
struct moment;

/* A row of a table of events. */
struct event_facts {
	const struct event_row *row;
	const struct fabric *fabric; /* whose displayed names are used, or NULL */
	const char *node, *peer; /* names of its nodes: from the name map, else as stored, or the GUID */
};

/* Columns of a struct event_facts; the last one has no key. */
extern const struct column event_columns[];

/*
 * events_put - write the newest events of a query as rows, oldest first
 * @is_listed:  of which events, with its argument; NULL: of all
 * @most:       rows
 * A failure is that of the result. Return: number of listed events that are older than the rows.
 */
size_t events_put(struct result *result, const struct moment *moment, const struct event_query *query,
		  bool (*is_listed)(const void *ctx, const struct event *event), const void *ctx, size_t most);

#endif
