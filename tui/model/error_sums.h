/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* error_sums.h - errors of every port: since the display was started, or in a time window */
#ifndef IBWIRE_TUI_MODEL_ERROR_SUMS_H
#define IBWIRE_TUI_MODEL_ERROR_SUMS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/map.h"
#include "fabric/counter.h"

struct error;
struct reader;
struct snapshot;

#define ERROR_COUNTERS (COUNTER_COUNT - COUNTER_TRAFFIC_COUNT)

/* Errors of one port. Ports without errors have no entry unless a counter is saturated. */
struct error_sum {
	uint64_t node_guid;
	uint64_t value[ERROR_COUNTERS]; /* from COUNTER_TRAFFIC_COUNT on */
	counter_set full;  /* saturated counters: value is a lower bound; error_sums_add() only */
	uint64_t total;    /* of COUNTER_ERROR_SUM_SET */
	int64_t first_us, last_us; /* wall clock of the first and last sweep (or aggregate) with errors */
	bool at_least;     /* a counter of COUNTER_ERROR_SUM_SET was reset, is saturated or was not always read */
	uint8_t port;
};

struct error_sums {
	struct error_sum *sums;
	size_t count, capacity;
	struct map by_port;
	int64_t since_us, until_us; /* wall clock; 0: empty */
};

/* error_sums_add - add the errors of a snapshot. Return: 0 or ERR_NOMEM. */
int error_sums_add(struct error_sums *sums, const struct snapshot *snapshot, struct error *err);

/*
 * error_sums_read - errors in (@since_us, @until_us], wall clock, highest total first
 * @kept_us:  start of raw-sample retention (struct db_status); a window that spans it is cut to it
 * @ret:      its previous content is freed
 * Return: 0; ERR_IO, ERR_NOMEM: empty then.
 */
int error_sums_read(struct reader *reader, int64_t since_us, int64_t until_us, int64_t kept_us,
		    struct error_sums *ret, struct error *err);

/* error_sums_find - the errors of a port; NULL: none. Not after error_sums_read(), which sorts them. */
const struct error_sum *error_sums_find(const struct error_sums *sums, uint64_t node_guid, uint8_t port);
void error_sums_done(struct error_sums *sums);

/* error_sum_text - "12 SymbolErrors, 1 PortRcvErrors", highest first. Return: @ret. */
const char *error_sum_text(const struct error_sum *sum, char *ret, size_t size);

#endif
