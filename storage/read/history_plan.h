/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* history_plan.h - which stored pieces cover a run of sweeps; for storage/ only */
#ifndef IBWIRE_STORAGE_HISTORY_PLAN_H
#define IBWIRE_STORAGE_HISTORY_PLAN_H

#include <stddef.h>
#include <stdint.h>

#include <sqlite3.h>

#include "storage/history.h"

struct error;

/* A run of sweeps whose samples are read one by one, or a stored sum: of one window or one hour. */
struct plan_part {
	enum history_source source;
	int64_t id; /* of the window or the hour */
	int64_t from_sweep, to_sweep;
	int64_t from_us, to_us; /* 0 where source is HISTORY_RAW */
};

struct history_plan {
	struct plan_part *parts; /* in order; each sweep is in one of them, or nothing is stored of it */
	size_t count, capacity;
};

/*
 * history_plan_make - cover the sweeps in (@after, @until]
 * @longest_us:  as in struct history_query; where samples, or sums of windows, are no
 *               longer kept, what is there is taken however long it is
 *
 * Inside the caller's transaction. @ret: history_plan_done() frees it, whatever this returns.
 */
int history_plan_make(sqlite3 *db, int64_t after, int64_t until, int64_t longest_us, struct history_plan *ret,
		      struct error *err);
void history_plan_done(struct history_plan *plan);

#endif
