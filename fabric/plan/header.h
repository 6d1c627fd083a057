/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* header.h - the columns of a list of links, from its header; private to fabric/plan */
#ifndef IBWIRE_FABRIC_PLAN_HEADER_H
#define IBWIRE_FABRIC_PLAN_HEADER_H

#include <stdbool.h>
#include <stddef.h>

#include "fabric/plan/cells.h"

/* No such column. */
#define HEADER_NONE (-1)

enum { HEADER_CABLES = 8 };

struct header {
	struct header_end {
		int device, port;
		int hca;             /* device of a host, beside its port */
		int rack, unit, location;
	} ends[2];
	int speed, width, type, state;
	int cables[HEADER_CABLES];   /* length, part number ...; those without a title between them, too */
	size_t cable_count;
	size_t columns;              /* of the header */
	bool is_ndt;                 /* "StartDevice" ... of UFM */
};

/*
 * header_find - are these cells the header of a list of links?
 * The titles must name a column of devices for each end. All words of a title must be known, so a row of data is none.
 */
bool header_find(const struct cells *cells, struct header *ret);

#endif
