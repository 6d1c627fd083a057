/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* uplinks.h - lists of the uplinks of switches, one row for each direction: which are in them, order, first columns */
#ifndef IBWIRE_PAGES_UPLINKS_H
#define IBWIRE_PAGES_UPLINKS_H

#include <stdbool.h>
#include <stdint.h>

#include "analysis/balance.h"

struct balance_report;
struct result;
struct shape_group;

/* The uplinks of a switch in one direction. */
struct uplinks {
	uint32_t group; /* index into the groups of the shape */
	enum balance_direction direction;
};

/* The first columns of a list; what uplinks_put() sets. */
enum { UPLINKS_NAME, UPLINKS_NODE_GUID, UPLINKS_NODE, UPLINKS_TIER, UPLINKS_DIRECTION, UPLINKS_COLUMNS };

#define UPLINKS_FIRST_COLUMNS \
	[UPLINKS_NAME] = { .title = "UPLINKS OF", .kind = COLUMN_TEXT, .flags = COLUMN_FLEXIBLE | COLUMN_KEEP_TAIL }, \
	[UPLINKS_NODE_GUID] = { .key = "node_guid", .kind = COLUMN_GUID }, \
	[UPLINKS_NODE] = { .key = "node", .kind = COLUMN_TEXT }, \
	[UPLINKS_TIER] = { .key = "tier", .kind = COLUMN_INTEGER }, \
	[UPLINKS_DIRECTION] = { .key = "direction", .kind = COLUMN_TEXT }

/* uplinks_are_listed - whether the group are uplinks, of which the selection of the report has a port. */
bool uplinks_are_listed(const struct balance_report *report, const struct shape_group *group);

/* uplinks_compare - for qsort(): larger ranks first; of the same rank, by group and direction. */
int uplinks_compare(const struct uplinks *left, double left_rank, const struct uplinks *right, double right_rank);

/* uplinks_put - set the first columns of a row. */
void uplinks_put(struct result *result, const struct balance_report *report, const struct uplinks *uplinks);

#endif
