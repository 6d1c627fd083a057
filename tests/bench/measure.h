/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* measure.h - times of a benchmark, and the lines that it prints */
#ifndef IBWIRE_TESTS_BENCH_MEASURE_H
#define IBWIRE_TESTS_BENCH_MEASURE_H

#include <stddef.h>
#include <stdint.h>

/* figure - print one measured value: a line to read, and "bench: {...}" for programs. */
void figure(const char *name, double value, const char *unit);

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
 * settle - wait until no other thread of this process uses CPU time, at most 20 s: the store compacts
 * @ret_cpu_us:  CPU time of the other threads meanwhile, or NULL
 *
 * Return: how long they were busy, in us; to 5 ms.
 */
int64_t settle(int64_t *ret_cpu_us);

/* Sweeps in a window (docs/storage.md), after which the store compacts. */
#define SETTLE_SWEEPS(interval_us) ((interval_us) < 5000000 ? 120 : 60)

#endif
