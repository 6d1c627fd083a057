/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* measure.h - times of a benchmark, and the lines that it prints */
#ifndef IBWIRE_TESTS_BENCH_MEASURE_H
#define IBWIRE_TESTS_BENCH_MEASURE_H

#include <stddef.h>
#include <stdint.h>

/*
 * figure - print one measured value: a line to read, and "bench: {...}"
 * @must:        its limit, in the same unit; 0: none
 * @peer:        name of the reference, or NULL
 * @peer_value:  of the reference, in the same unit
 */
void figure(const char *name, double value, const char *unit, double must, const char *peer, double peer_value);

/* Times in us; sorted when one of them is read. */
struct times {
	int64_t *us;
	size_t count, capacity;
};

/* times_add - add a time; aborts if out of memory. */
void times_add(struct times *times, int64_t us);

/* times_at_ms - the percentile @percent in ms; 0 if there are none. */
double times_at_ms(struct times *times, double percent);

void times_done(struct times *times);

/* now_us - boot time; cpu_us - CPU time of this thread; file_bytes - size of a file, 0 if there is none. */
int64_t now_us(void);
int64_t cpu_us(void);
int64_t file_bytes(const char *path);

/*
 * settle - wait until no other thread of this process uses CPU time, at most 20 s
 * A collector has a second between two sweeps, in which the store's thread compacts undisturbed. A benchmark
 * that stores sweeps without pauses waits instead.
 * @ret_cpu_us:  CPU time of the other threads meanwhile, or NULL
 *
 * Return: how long they were busy, in us; to 5 ms.
 */
int64_t settle(int64_t *ret_cpu_us);

/* Sweeps in a window (docs/storage.md), after which the store compacts. */
#define SETTLE_SWEEPS(interval_us) ((interval_us) < 5000000 ? 120 : 60)

/* commit_time_begin - trace the connections of this process that are opened from now on. */
void commit_time_begin(void);

/* commit_time_us - duration of the last COMMIT of the thread that called commit_time_begin(); 0: none since. */
int64_t commit_time_us(void);

#endif
