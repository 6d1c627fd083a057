/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * test_truth.h - the history of a model (test_model.h) in a database, and the readings and sums that it must give
 *
 * Readings are copied at some sweeps; sums are added up here over some ranges, since the store adds
 * up in a different way on each of its paths.
 */
#ifndef IBWIRE_STORAGE_TEST_TRUTH_H
#define IBWIRE_STORAGE_TEST_TRUTH_H

#include <stdbool.h>
#include <stdint.h>

#include "storage/read/sums.h"

/* Switches, their external ports, hosts; ports of the model; ids of ports in the database are below IDS. */
enum { SWITCHES = 6, RADIX = 12, HOSTS = 24, PORTS = SWITCHES * (RADIX + 1) + HOSTS * 2, IDS = PORTS + 1,
       RANGES = 16, MOMENTS = 4 };

#define NO_PORT UINT32_MAX

/* Readings of all ports as of a sweep. */
struct moment {
	int64_t sweep;
	bool there[PORTS];
	struct reading readings[PORTS];
};

struct range {
	int64_t after, until; /* sweeps in (after, until] */
	struct port_sum sums[PORTS];
};

extern struct truth {
	struct model *model;
	int64_t sweeps, samples;
	uint32_t port_of_id[IDS]; /* index into the model's ports; NO_PORT: none */
	struct moment moments[MOMENTS];
	struct range ranges[RANGES];
} truth;

/* truth_make - store @sweeps sweeps at path (test_folder.h), all of them in hot. truth_forget() frees the model. */
void truth_make(int64_t sweeps);
void truth_forget(void);

/* truth_delta - the delta of a port in a sweep (from 1). Return: has it one? */
bool truth_delta(uint32_t port, int64_t sweep, struct delta *ret);

/* truth_label_us - wall clock of a sweep. */
int64_t truth_label_us(int64_t sweep);

#endif
