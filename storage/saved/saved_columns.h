/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * saved_columns.h - order of the columns of table snapshot_port (tables_snapshot.c)
 *
 * From SAVED_FAST on: the fast counters in the catalogue's order, then the slow ones of snapshots by attribute.
 */
#ifndef IBWIRE_STORAGE_SAVED_COLUMNS_H
#define IBWIRE_STORAGE_SAVED_COLUMNS_H

#include "fabric/counter.h"
#include "fabric/detail.h"

enum saved_column {
	SAVED_SNAPSHOT, SAVED_NODE, SAVED_NUMBER, SAVED_PEER_NODE, SAVED_PEER_NUMBER, SAVED_STATE, SAVED_PHYS_STATE,
	SAVED_WIDTH, SAVED_SPEED, SAVED_LID, SAVED_WHY, SAVED_AT, SAVED_SLOW_AT, SAVED_WIDE, SAVED_SATURATED,
	SAVED_FEC_LAYOUT, SAVED_FAST,
};

static inline int saved_column_count(void)
{
	int attribute, count = SAVED_FAST + COUNTER_COUNT;

	for (attribute = 0; attribute < DETAIL_SELDOM; attribute++)
		count += (int)detail_count((enum detail_attribute)attribute);
	return count;
}

#endif
