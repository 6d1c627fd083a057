/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* sweep_result.h - readings of one sweep, and their deltas */
#ifndef IBWIRE_COLLECTOR_SWEEP_RESULT_H
#define IBWIRE_COLLECTOR_SWEEP_RESULT_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "collector/sink.h"

struct error;
struct fabric;
struct node_memory;

/* samples, readings and deltas are parallel arrays. */
struct sweep_result {
	struct port_sample *samples; /* one per pollable port of the fabric, in order of port */
	struct reading *readings;
	struct delta *deltas;
	size_t count, capacity;
	uint32_t ports_polled, ports_answered;
	uint32_t ports_unfinished; /* not read before the deadline */
	uint32_t bad_responses; /* responses with an error status, or to another request */
	uint32_t no_port_selects; /* responses with PortSelect 0 instead of the port, which were accepted */
	bool cut;             /* ended at its deadline or because a stop was requested */
	int64_t spread_us;      /* between the first and the last reading */
	int64_t node_spread_us; /* the same within one switch, maximum */
	struct sm_state sm;
	bool sm_pending;         /* ended before SMInfo was answered or timed out */
	unsigned sm_masters;  /* number of SMs in state master (sm_monitor.h); 0: unknown */
};

void sweep_result_done(struct sweep_result *result);

/* sweep_result_reserve - allocate @count samples. Return: 0 or ERR_NOMEM (then it is empty). */
int sweep_result_reserve(struct sweep_result *result, size_t count, struct error *err);

/* sweep_result_clear - reset before a sweep. */
void sweep_result_clear(struct sweep_result *result);

/* sweep_result_finish - compute deltas and spreads when all responses have been received. */
void sweep_result_finish(struct sweep_result *result, const struct fabric *fabric, struct node_memory *memory);

/*
 * sweep_result_drops - management datagrams dropped since the last readings
 * @ret_port:  index of the port with the most; FABRIC_NONE: none
 *
 * To be called after lid_verify, which discards readings of other nodes.
 */
uint64_t sweep_result_drops(const struct sweep_result *result, uint32_t *ret_port);

/* sweep_result_fill - set the fields of a sweep; its samples are borrowed from the result. */
void sweep_result_fill(const struct sweep_result *result, struct sweep *sweep);

/* sweep_commit - the sweep was stored: its readings become the last ones. */
void sweep_commit(const struct sweep_result *result, struct node_memory *memory);

#endif
