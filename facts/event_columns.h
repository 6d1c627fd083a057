/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* event_columns.h - the columns of events, each described once */
#ifndef IBWIRE_FACTS_EVENT_COLUMNS_H
#define IBWIRE_FACTS_EVENT_COLUMNS_H

#include "export/result.h"

struct event_row;
struct fabric;

/* A row of a table of events. */
struct event_facts {
	const struct event_row *row;
	const struct fabric *fabric; /* whose displayed names are used, or NULL */
	const char *node, *peer; /* names of its nodes: from the name map, else as stored, or the GUID */
};

/* Columns of a struct event_facts; the last one has no key. */
extern const struct column event_columns[];

#endif
