/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* feeder.h - the part of a collector between a virtual fabric's readings and analysis/health */
#ifndef IBWIRE_TESTS_SCENARIOS_FEEDER_H
#define IBWIRE_TESTS_SCENARIOS_FEEDER_H

#include "analysis/health.h"
#include "fabric/counter.h"
#include "fabric/routes.h"
#include "tests/world/virtual.h"

struct error;
struct shape;

struct feeder {
	struct virtual *world;     /* borrowed */
	struct virtual_sweep sweep; /* the last one: its samples are parallel to those that health is given */
	struct shape *shape;       /* of the fabric that was last seen */
	struct routes routes;      /* as they were last read */
	int64_t read_us, changed_us;
	bool read_once;
	uint64_t *wanted, *read_guids, *changed_guids;
	size_t wanted_count, read_count;
	uint32_t *changed_entries;
	size_t changed_count;
	unsigned masters;          /* as they were asked last */
	int64_t masters_us;        /* when; 0: never */
	struct reading *last;      /* by port of the fabric as built */
	bool *has_last;
	struct delta *deltas;      /* by port of the fabric that was last seen */
	struct health_sample *samples;
	struct pma_caps *caps;     /* by node of it */
};

int feeder_init(struct feeder *feeder, struct virtual *world, struct error *err);
void feeder_done(struct feeder *feeder);

/* feeder_want - the tables of these switches are to be read before the next sweep ends. */
void feeder_want(struct feeder *feeder, const uint64_t *guids, size_t count);

/*
 * feeder_step - the next sweep, as health wants it
 * @ret:  valid until the next step
 * Return: 0 or ERR_NOMEM.
 */
int feeder_step(struct feeder *feeder, int64_t interval_us, struct health_input *ret, struct error *err);

#endif
