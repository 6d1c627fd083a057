/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * test_extremes.h - samples at random that hold what no fabric counts
 *
 * Counters of 2^64 - 1 and around other edges, no time between readings or years, resets, full and
 * unknown counters, errors, gaps. They follow from port and sweep alone, so nobody has to keep them.
 */
#ifndef IBWIRE_STORAGE_TEST_EXTREMES_H
#define IBWIRE_STORAGE_TEST_EXTREMES_H

#include <stdint.h>

#include "analysis/delta.h"

#define EXTREME_INTERVAL_US INT64_C(30000000) /* between sweeps, about */

/* What a port has in a sweep. */
enum extreme { EXTREME_DELTA, EXTREME_READING, EXTREME_SILENT, EXTREME_UNSAMPLED };

/*
 * extreme_sample - what a port has in a sweep, always the same
 * @sweep:  from 1; in the first one every port has a reading and no delta
 * @ret:    filled completely on EXTREME_DELTA, and only then; what is not known counts 0 and has no mark
 */
enum extreme extreme_sample(uint32_t port, int64_t sweep, struct delta *ret);

#endif
