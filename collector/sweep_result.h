/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * sweep_result.h - what one sweep has read, and what that says since the last one
 */
#ifndef IBWIRE_COLLECTOR_SWEEP_RESULT_H
#define IBWIRE_COLLECTOR_SWEEP_RESULT_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "collector/sink.h"

struct error;
struct fabric;
struct node_memory;

/* What one sweep has read. samples, readings and deltas are parallel arrays. */
struct sweep_result {
	struct port_sample *samples; /* one per pollable port of the fabric, in order of port */
	struct reading *readings;
	struct delta *deltas;
	size_t count, capacity;
	uint32_t ports_asked, ports_answered;
	uint32_t ports_unfinished; /* not asked or not answered when the deadline came */
	uint32_t bad_responses; /* answers with an error status, or to another question */
	bool cut;             /* it ended at its deadline, or because the program shall stop */
	int64_t spread_us;      /* between the first reading and the last */
	int64_t node_spread_us; /* the same within one switch, the largest */
	struct sm_state sm;
	bool sm_pending;         /* it ended before SMInfo was answered or given up */
	unsigned sm_masters;  /* SMs that say that they are master (sm_monitor.h); 0: not known */
};

void sweep_result_done(struct sweep_result *result);

/* sweep_result_reserve - room for so many samples. Return: 0 or ERR_NOMEM (then it is empty). */
int sweep_result_reserve(struct sweep_result *result, size_t count, struct error *err);

/* sweep_result_clear - before a sweep: nothing was read. */
void sweep_result_clear(struct sweep_result *result);

/* sweep_result_finish - all answers are in: what has changed since the last stored reading of each port? */
void sweep_result_finish(struct sweep_result *result, const struct fabric *fabric, struct node_memory *memory);

/*
 * sweep_result_drops - management datagrams that the nodes say they dropped since their last readings
 * @ret_port:  the port that counted the most of them, by index into the fabric; FABRIC_NONE where there are none
 *
 * Of the readings that count: to be asked when it is known whose they are (lid_verify.h).
 */
uint64_t sweep_result_drops(const struct sweep_result *result, uint32_t *ret_port);

/* sweep_result_fill - what a sink is given of it; its samples are borrowed from the result. */
void sweep_result_fill(const struct sweep_result *result, struct sweep *sweep);

/* sweep_commit - the sweep was stored: its readings are the last ones from now on. */
void sweep_commit(const struct sweep_result *result, const struct fabric *fabric, struct node_memory *memory);

#endif
