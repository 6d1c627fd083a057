/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * commit_time.h - how long the COMMIT of a transaction takes, told by SQLite itself
 */
#ifndef IBWIRE_TESTS_BENCH_COMMIT_TIME_H
#define IBWIRE_TESTS_BENCH_COMMIT_TIME_H

#include <stdint.h>

/* commit_time_begin - watch every connection that is opened from here on, in this process. */
void commit_time_begin(void);

/* commit_time_us - of the last COMMIT that the thread which began made; 0: there was none since the last call. */
int64_t commit_time_us(void);

#endif
