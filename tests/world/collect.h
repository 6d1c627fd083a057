/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * collect.h - run the collector on a virtual fabric, in virtual time
 *
 * collector_run() itself, with the settings of `ibwire collect`. The virtual fabric implements its
 * transport, clock and discoverer: every node responds to the Gets that the collector sends.
 */
#ifndef IBWIRE_TESTS_WORLD_COLLECT_H
#define IBWIRE_TESTS_WORLD_COLLECT_H

#include <stdint.h>

struct collector_report;
struct error;
struct sink;
struct virtual;

/* The n-th sweep begins this part of the interval before n intervals have passed, and ends before that. */
#define WORLD_LEAD_PART 50

/*
 * world_collect - poll a virtual fabric from its beginning
 * @interval_us: between sweeps
 * @length_us:   of the run; less than two intervals is one sweep
 * @wall_us:     wall clock at the beginning
 * @ret:         or NULL
 *
 * Return: as collector_run(); ERR_NOMEM.
 */
int world_collect(struct virtual *world, int64_t interval_us, int64_t length_us, int64_t wall_us,
		  const struct sink *sink, struct collector_report *ret, struct error *err);

#endif
