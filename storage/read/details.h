/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * details.h - stored slow counters (inside storage/ only)
 *
 * Each row of detail is a complete reading and, except for the first, the changes
 * since the previous one; counters that are 0 in both have no row in detail_value.
 */
#ifndef IBWIRE_STORAGE_DETAILS_H
#define IBWIRE_STORAGE_DETAILS_H

#include <stdbool.h>
#include <stdint.h>

#include <sqlite3.h>

#include "analysis/delta.h"
#include "fabric/detail.h"

struct error;

struct stored_detail {
	int64_t sweep;
	uint32_t port;    /* id */
	int64_t wall_us;  /* of the reading */
	int64_t boot;     /* of reading.at_us: a row of table boot */
	struct detail_reading reading;
	bool has_delta;
	struct detail_delta delta;
};

/* Iterates over rows of detail. */
struct detail_scan {
	sqlite3_stmt *rows, *values;
};

/*
 * detail_scan_begin - iterate over the rows of a FROM clause, in its order
 * @from:  "detail d JOIN sweep s ON s.id = d.sweep ..."; bind its parameters to scan->rows
 *
 * detail_scan_end() is required whatever this returns.
 */
int detail_scan_begin(struct detail_scan *scan, sqlite3 *db, const char *from, struct error *err);

/*
 * detail_scan_next - the next row
 * Unknown attributes are skipped.
 * Return: 1 with a row in @ret, 0 at the end, or a negative error.
 */
int detail_scan_next(struct detail_scan *scan, struct stored_detail *ret, struct error *err);
void detail_scan_end(struct detail_scan *scan);

/* detail_all - the set of all counters of an attribute. */
static inline uint32_t detail_all(enum detail_attribute attribute)
{
	return (UINT32_C(1) << detail_count(attribute)) - 1;
}

#endif
