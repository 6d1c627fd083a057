/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
#include "tests/bench/figure.h"

#include <stdio.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <time.h>

#include "base/clock.h"

void figure(const char *name, double value, const char *unit, double must, const char *peer, double peer_value)
{
	printf("  %-34s %10.3f %-6s", name, value, unit);
	if (must > 0)
		printf(" (at most %g%s)", must, value <= must ? "" : ": MISSED");
	if (peer)
		printf("  %s %.3f, ratio %.3f", peer, peer_value, peer_value > 0 ? value / peer_value : 0);
	printf("\nbench: {\"name\": \"%s\", \"value\": %.4f, \"unit\": \"%s\"", name, value, unit);
	if (peer)
		printf(", \"peer\": \"%s\", \"peer_value\": %.4f, \"ratio\": %.4f", peer, peer_value,
		       peer_value > 0 ? value / peer_value : 0);
	printf("}\n");
	fflush(stdout);
}

void times_add(struct times *times, int64_t us)
{
	if (times->count == times->capacity) {
		times->capacity = times->capacity ? 2 * times->capacity : 1024;
		times->us = reallocarray(times->us, times->capacity, sizeof(*times->us));
		if (!times->us)
			abort();
	}
	times->us[times->count++] = us;
}

static int compare(const void *a, const void *b)
{
	int64_t left = *(const int64_t *)a, right = *(const int64_t *)b;

	return (left > right) - (left < right);
}

double times_at_ms(struct times *times, double percent)
{
	if (!times->count)
		return 0;
	qsort(times->us, times->count, sizeof(*times->us), compare);
	return (double)times->us[(size_t)((double)(times->count - 1) * percent / 100)] / 1000;
}

void times_done(struct times *times)
{
	free(times->us);
	*times = (struct times){ 0 };
}

int64_t now_us(void)
{
	return clock_boottime_us(clock_system());
}

int64_t cpu_us(void)
{
	struct timespec thread;

	clock_gettime(CLOCK_THREAD_CPUTIME_ID, &thread);
	return thread.tv_sec * INT64_C(1000000) + thread.tv_nsec / 1000;
}

int64_t file_bytes(const char *path)
{
	struct stat st;

	return stat(path, &st) < 0 ? 0 : st.st_size;
}
