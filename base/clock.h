/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * clock.h - time as a table of functions
 *
 * Elapsed time comes from CLOCK_BOOTTIME, which includes suspends, as the fabric's counters do, and
 * never steps. The wall clock is only a label. Both are signed microseconds. The table is passed in,
 * so that tests can run hours of virtual time in seconds.
 */
#ifndef IBWIRE_BASE_CLOCK_H
#define IBWIRE_BASE_CLOCK_H

#include <stdint.h>

#define US_PER_MS 1000LL
#define US_PER_S 1000000LL

/* Length of a boot id with its final NUL: a UUID as text. */
#define BOOT_ID_SIZE 37

struct clock {
	/* Microseconds of CLOCK_BOOTTIME. */
	int64_t (*boottime_us)(void *ctx);
	/* Microseconds since 1970-01-01 UTC. */
	int64_t (*wall_us)(void *ctx);
	/* Sleep until @until_us of boottime or until a stop is requested (base/stop.h). */
	void (*sleep_until)(void *ctx, int64_t until_us);
	/* Identifies the boot that boottime counts from, as text. */
	void (*boot_id)(void *ctx, char ret[BOOT_ID_SIZE]);
	void *ctx;
};

/* clock_system - the machine's own clock. Return: a constant table. */
const struct clock *clock_system(void);

static inline int64_t clock_boottime_us(const struct clock *clock)
{
	return clock->boottime_us(clock->ctx);
}

static inline int64_t clock_wall_us(const struct clock *clock)
{
	return clock->wall_us(clock->ctx);
}

#endif
