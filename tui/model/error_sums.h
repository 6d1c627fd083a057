/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * error_sums.h - errors of every port since the display was started
 *
 * Deltas of a single sweep are visible only briefly, so errors are summed from the start of the
 * display, or from its last reset.
 */
#ifndef IBWIRE_TUI_MODEL_ERROR_SUMS_H
#define IBWIRE_TUI_MODEL_ERROR_SUMS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/map.h"
#include "fabric/counter.h"

struct error;
struct snapshot;

/* Errors in sums: all except RcvSwitchRelayErrors, which multicast raises on a healthy fabric. */
#define ERRORS_COUNTED (COUNTER_ERROR_SET & ~COUNTER_BIT(COUNTER_RCV_SWITCH_RELAY_ERRORS))

/* Errors of one port. Ports without errors have no entry unless a counter is saturated. */
struct error_sum {
	uint64_t node_guid;
	uint64_t value[COUNTER_COUNT - COUNTER_TRAFFIC_COUNT]; /* from COUNTER_TRAFFIC_COUNT on */
	counter_set full;  /* saturated counters: value is a lower bound */
	uint64_t total;    /* of ERRORS_COUNTED */
	bool at_least;     /* one of them was reset or saturated */
	uint8_t port;
};

struct error_sums {
	struct error_sum *sums;
	size_t count, capacity;
	struct map by_port;
	int64_t since_wall_us; /* 0: empty */
};

/* error_sums_add - add the errors of a snapshot. Return: 0 or ERR_NOMEM. */
int error_sums_add(struct error_sums *sums, const struct snapshot *snapshot, struct error *err);
const struct error_sum *error_sums_find(const struct error_sums *sums, uint64_t node_guid, uint8_t port);
void error_sums_done(struct error_sums *sums);

#endif
