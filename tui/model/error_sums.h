/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * errors.h - errors of every port summed up while the screen is open
 *
 * The deltas of one sweep flash by; what an operator wants to know is whether a
 * port had any errors lately, so they are summed from when the screen was
 * opened (or from when its user began anew).
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

/*
 * Errors that count in sums: all but RcvSwitchRelayErrors, which multicast on a
 * healthy fabric raises.
 */
#define ERRORS_COUNTED (COUNTER_ERROR_SET & ~COUNTER_BIT(COUNTER_RCV_SWITCH_RELAY_ERRORS))

/*
 * Errors of one port since the sums began. A port that had none is not kept, so
 * this stays small; one with a full counter is, for nobody knows what it had.
 */
struct error_sum {
	uint64_t node_guid;
	uint64_t value[COUNTER_COUNT - COUNTER_TRAFFIC_COUNT]; /* from COUNTER_TRAFFIC_COUNT on */
	counter_set full;  /* those that stand at their maximum: value is at least so much */
	uint64_t total;    /* of ERRORS_COUNTED */
	bool at_least;     /* one of them was reset or stood at its maximum meanwhile */
	uint8_t port;
};

struct error_sums {
	struct error_sum *sums;
	size_t count, capacity;
	struct map by_port;
	int64_t since_wall_us; /* 0: nothing was added yet */
};

/* error_sums_add - the errors of a snapshot's window come on top. Return: 0 or ERR_NOMEM. */
int error_sums_add(struct error_sums *sums, const struct snapshot *snapshot, struct error *err);
const struct error_sum *error_sums_find(const struct error_sums *sums, uint64_t node_guid, uint8_t port);
void error_sums_done(struct error_sums *sums);

#endif
