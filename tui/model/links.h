/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * links.h - all links of a snapshot
 *
 * Each link has one row with both its ends. The end nearer to the hosts is the first one: an HCA
 * before its leaf, a leaf before its spine; at equal distance by name. A port without a cable has a
 * row of its own.
 *
 * Work proportional to the fabric is done when values, order or filter change, never while drawing.
 */
#ifndef IBWIRE_TUI_MODEL_LINKS_H
#define IBWIRE_TUI_MODEL_LINKS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "facts/port_columns.h"
#include "tui/model/filter.h"
#include "tui/model/context.h"

struct error;
struct snapshot_context;
struct port_table;

/* One link. */
struct link_row {
	uint32_t ends[2];      /* ports; ends[1] is FABRIC_NONE without a cable */
	struct link_facts facts; /* of the direction from ends[0] to ends[1] first */
	uint32_t finding;      /* 1 + index into the context's findings; 0: none */
	enum port_mark mark;
};

/* A zeroed struct is empty. */
struct links {
	const struct port_table *table;   /* borrowed, with what it shows; NULL: empty */
	const struct snapshot_context *context; /* borrowed */
	struct link_row *all;
	size_t count, unused_count;
	int end_columns[2];          /* longest name of the lower and the upper ends */
	bool has_marks;              /* whether any link has a finding */
	bool swapped;                /* the upper end is displayed first */
	bool show_unused;
	struct select_marks marks;   /* of the filter, by port */
};

void links_done(struct links *links);

/*
 * links_set - build the links of a table and a context
 * @table:  with or without a snapshot; @context: of the same snapshot
 * Return: 0, or ERR_NOMEM: it is empty then.
 */
int links_set(struct links *links, const struct port_table *table, const struct snapshot_context *context,
	      struct error *err);

/*
 * links_side - index of the end, and of the direction from it, that is displayed at place 0 or 1
 * links_end - the port at that place, or FABRIC_NONE
 */
unsigned links_side(const struct links *links, const struct link_row *link, unsigned place);
uint32_t links_end(const struct links *links, const struct link_row *link, unsigned place);

/*
 * In links_filter.c:
 * links_begin_filter - evaluate the keys of a filter for all links. Return: 0 or ERR_NOMEM.
 * links_passes - whether a link matches the filter
 * @tagged:  whether the user tagged the link
 */
int links_begin_filter(struct links *links, struct filter *filter, struct error *err);
bool links_passes(const struct links *links, const struct link_row *link, const struct filter *filter, bool tagged);

#endif
