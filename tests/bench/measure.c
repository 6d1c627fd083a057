/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
#include "tests/bench/measure.h"

#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <time.h>

#include <sqlite3.h>

#include "base/array.h"
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
	times->us = array_grow(times->us, times->count, &times->capacity, sizeof(*times->us));
	if (!times->us)
		abort();
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

/* --- the other threads of the process --- */

#define STEP_US 5000
#define QUIET_STEPS 6 /* a wait for a lock may be that long */
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
	const struct timespec step = { .tv_nsec = STEP_US * 1000 };
	int64_t began = others_cpu_us(), last = began, busy_us = 0, waited_us = 0;
	int quiet = 0;

	while (quiet < QUIET_STEPS && waited_us < LONGEST_US) {
		int64_t now;

		nanosleep(&step, NULL);
		waited_us += STEP_US;
		now = others_cpu_us();
		quiet = now - last > 200 ? 0 : quiet + 1;
		busy_us = quiet ? busy_us : waited_us;
		last = now;
	}
	if (ret_cpu_us)
		*ret_cpu_us = last - began;
	return busy_us;
}

/* --- the last COMMIT of this thread --- */

/* One for all connections: SQLite does not report the owner of a new one. */
static struct {
	pthread_t thread;
	sqlite3_stmt *running; /* the COMMIT */
	int64_t began_us, took_us;
} watch;

static int traced(unsigned what, void *ctx, void *statement, void *detail)
{
	(void)ctx;
	if (!pthread_equal(pthread_self(), watch.thread))
		return 0;
	if (what == SQLITE_TRACE_STMT && !strncmp(detail, "COMMIT", 6)) {
		watch.running = statement;
		watch.began_us = now_us();
	} else if (what == SQLITE_TRACE_PROFILE && statement == watch.running) {
		watch.took_us = now_us() - watch.began_us;
		watch.running = NULL;
	}
	return 0;
}

static int opened(sqlite3 *db, const char **ret_message, const struct sqlite3_api_routines *api)
{
	(void)ret_message;
	(void)api;
	return sqlite3_trace_v2(db, SQLITE_TRACE_STMT | SQLITE_TRACE_PROFILE, traced, NULL);
}

void commit_time_begin(void)
{
	watch.thread = pthread_self();
	/* Declared without parameters, and called with those of an extension's entry. */
	if (sqlite3_auto_extension((void (*)(void))opened) != SQLITE_OK)
		abort();
}

int64_t commit_time_us(void)
{
	int64_t took_us = watch.took_us;

	watch.took_us = 0;
	return took_us;
}
