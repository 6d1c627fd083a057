/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
#include "tests/bench/commit_time.h"

#include <pthread.h>
#include <stdlib.h>
#include <string.h>

#include <sqlite3.h>

#include "tests/bench/figure.h"

/* SQLite tells nothing to whom a new connection belongs, so this is one for all. */
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
