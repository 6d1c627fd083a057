/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* routes.h - stored forwarding tables (inside storage/ only) */
#ifndef IBWIRE_STORAGE_ROUTES_H
#define IBWIRE_STORAGE_ROUTES_H

#include <stdint.h>

#include <sqlite3.h>

struct error;
struct routes;

/*
 * routes_load - the forwarding tables as they were known at a sweep
 * @sweep:  0: as they are known now
 * @ret:    overwritten; routes_done() frees it; empty on error
 *
 * A damaged row is treated as a block that was not read.
 */
int routes_load(sqlite3 *db, int64_t sweep, struct routes *ret, struct error *err);

#endif
