/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * figure.h - what a benchmark in C prints: a line for a person, and one for a program (as tests/bench/sweep.py)
 */
#ifndef IBWIRE_TESTS_BENCH_FIGURE_H
#define IBWIRE_TESTS_BENCH_FIGURE_H

#include <stddef.h>
#include <stdint.h>

/*
 * figure - print one measured value
 * @must:        what it must be at most, in the same unit; or 0: nothing is asked
 * @peer:        what was measured beside it, or NULL
 * @peer_value:  of the peer, in the same unit
 */
void figure(const char *name, double value, const char *unit, double must, const char *peer, double peer_value);

/* Times in us, that are put in order when one of them is asked for. */
struct times {
	int64_t *us;
	size_t count, capacity;
};

/* times_add - keep one more. Aborts where memory runs out. */
void times_add(struct times *times, int64_t us);

/* times_at_ms - that which @percent of them are not above, in ms; 0 where there are none. */
double times_at_ms(struct times *times, double percent);

/* times_done - free them. */
void times_done(struct times *times);

/* now_us - the clock that all of this is measured by; file_bytes - how long a file is, 0 where there is none. */
int64_t now_us(void);
int64_t cpu_us(void); /* of this thread: what a busy machine does not change much */
int64_t file_bytes(const char *path);

#endif
