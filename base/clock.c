/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
#include "base/clock.h"

#include <stdio.h>
#include <string.h>
#include <time.h>

#include "base/stop.h"

static int64_t read_clock_us(clockid_t id)
{
	struct timespec now;

	clock_gettime(id, &now);
	return (int64_t)now.tv_sec * US_PER_S + now.tv_nsec / 1000;
}

static int64_t system_boottime_us(void *ctx)
{
	(void)ctx;
	return read_clock_us(CLOCK_BOOTTIME);
}

static int64_t system_wall_us(void *ctx)
{
	(void)ctx;
	return read_clock_us(CLOCK_REALTIME);
}

/*
 * Sleeps in slices: a signal between the check of the flag and the sleep is delayed by one slice at
 * most. A self-pipe is not possible: poll() under umad2sim does not wait for ordinary descriptors.
 */
static void system_sleep_until(void *ctx, int64_t until_us)
{
	const int64_t slice_us = 50 * US_PER_MS;

	while (!stop_requested()) {
		int64_t left_us = until_us - system_boottime_us(ctx);
		struct timespec pause;

		if (left_us <= 0)
			return;
		if (left_us > slice_us)
			left_us = slice_us;
		pause.tv_sec = 0;
		pause.tv_nsec = left_us * 1000;
		nanosleep(&pause, NULL);
	}
}

static void read_boot_id(char ret[BOOT_ID_SIZE])
{
	FILE *file = fopen("/proc/sys/kernel/random/boot_id", "re");

	ret[0] = '\0';
	if (!file)
		return;
	if (!fgets(ret, BOOT_ID_SIZE, file))
		ret[0] = '\0';
	fclose(file);
	ret[strcspn(ret, "\n")] = '\0';
}

/* Twice: without it, times of a job or sweep before and after cannot be compared, and a failure may pass. */
static void system_boot_id(void *ctx, char ret[BOOT_ID_SIZE])
{
	(void)ctx;
	read_boot_id(ret);
	if (!ret[0])
		read_boot_id(ret);
}

const struct clock *clock_system(void)
{
	static const struct clock clock = {
		.boottime_us = system_boottime_us,
		.wall_us = system_wall_us,
		.sleep_until = system_sleep_until,
		.boot_id = system_boot_id,
	};

	return &clock;
}
