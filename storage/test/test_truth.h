/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * test_truth.h - samples of test_extremes.h in a database, and the readings and sums that it must give back
 *
 * What was written is not kept but drawn again from its port and sweep; readings and sums are kept at some moments
 * and over some ranges, added up by hand.
 */
#ifndef IBWIRE_STORAGE_TEST_TRUTH_H
#define IBWIRE_STORAGE_TEST_TRUTH_H

#include <stdbool.h>
#include <stdint.h>

#include "storage/read/sums.h"

/* External ports of eight switches, ids of ports in the database (below IDS), and how much is kept. */
enum { PORTS = 8 * 64, IDS = PORTS + 8 + 1, RANGES = 16, MOMENTS = 4 };

#define NO_PORT UINT32_MAX

/* Readings of all ports, as they were in some sweep. */
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
	int64_t sweeps, samples;
	uint32_t port_of_id[IDS]; /* NO_PORT where nothing is sampled */
	struct moment moments[MOMENTS];
	struct range ranges[RANGES];
} truth;

/* truth_make - store so many sweeps at path (test_folder.h). All of it is in hot. truth_forget() frees it. */
void truth_make(int64_t sweeps);
void truth_forget(void);

/* truth_label_us - wall clock of a sweep. */
int64_t truth_label_us(int64_t sweep);

#endif
