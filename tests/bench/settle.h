/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * settle.h - let the threads of this process finish what they have to do
 *
 * A collector has a second between two sweeps, in which the store's thread compacts undisturbed. Who stores sweeps
 * as fast as they come gives it that time by waiting now and then.
 */
#ifndef IBWIRE_TESTS_BENCH_SETTLE_H
#define IBWIRE_TESTS_BENCH_SETTLE_H

#include <stdint.h>

/* Sweeps after which something becomes due: as many as the store puts into a window (docs/storage.md). */
#define SETTLE_SWEEPS(interval_us) ((interval_us) < 5000000 ? 120 : 60)

/*
 * settle - wait until no other thread of this process takes CPU time, 20 s at most
 * @ret_cpu_us:  what they took meanwhile, or NULL
 *
 * Return: for how long they were busy, in us; to 5 ms.
 */
int64_t settle(int64_t *ret_cpu_us);

#endif
