/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
#include "tests/bench/settle.h"

#include <stddef.h>
#include <time.h>

#define LOOK_US 5000
#define QUIET_LOOKS 6 /* a wait for a lock may be that long */
#define LONGEST_US 20000000

static int64_t others_cpu_us(void)
{
	struct timespec process, thread;

	clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &process);
	clock_gettime(CLOCK_THREAD_CPUTIME_ID, &thread);
	return (process.tv_sec - thread.tv_sec) * INT64_C(1000000) + (process.tv_nsec - thread.tv_nsec) / 1000;
}

int64_t settle(int64_t *ret_cpu_us)
{
	const struct timespec look = { .tv_nsec = LOOK_US * 1000 };
	int64_t began = others_cpu_us(), last = began, busy_us = 0, waited_us = 0;
	int quiet = 0;

	while (quiet < QUIET_LOOKS && waited_us < LONGEST_US) {
		int64_t now;

		nanosleep(&look, NULL);
		waited_us += LOOK_US;
		now = others_cpu_us();
		quiet = now - last > 200 ? 0 : quiet + 1;
		busy_us = quiet ? busy_us : waited_us;
		last = now;
	}
	if (ret_cpu_us)
		*ret_cpu_us = last - began;
	return busy_us;
}
