/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * details.h - detail queries, spread over the sweeps
 *
 * Each sweep queries the attributes of fabric/detail.h of a part of the ports, so that all ports
 * are queried within DETAILS_SWEEPS sweeps and every delta has a previous reading. A port whose
 * error or discard counter has increased is queried at once. Of the seldom attributes (from DETAIL_SELDOM
 * on) one is queried in each turn of a port, in place of the explanation of errors or of discards. With
 * the first port of a node its ClassPortInfo is read again, for firmware changes. Attributes that a node
 * rejects are not queried again, those that it never answers once in sixty turns. Queries are sent once:
 * a lost one waits for the next turn.
 */
#ifndef IBWIRE_COLLECTOR_DETAILS_H
#define IBWIRE_COLLECTOR_DETAILS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "collector/sink.h"

struct engine;
struct error;
struct fabric;
struct node_memory;
struct sweep_result;

/* Number of sweeps in which all ports are queried once. */
#define DETAILS_SWEEPS 60

/* PortVLXmitWait increases with any traffic: it is read once in this number of sweeps. */
#define DETAILS_WAIT_SWEEPS 10

struct detail_entry {
	uint32_t port;
	bool has_delta;
	struct detail_reading reading;
	struct detail_delta delta;
};

struct details {
	bool all; /* set by the owner: details_all() is called instead of details_submit_turn() */
	/* Of the current sweep. */
	struct engine *engine;
	const struct fabric *fabric;
	struct node_memory *memory;
	struct error *err;
	int code;             /* first error of a callback */
	unsigned trigger_budget;  /* remaining queries about counters that increased */
	uint32_t next_tick;   /* next node to query for its tick */
	uint64_t sweep;       /* number of calls; determines the turn */
	/* Responses. */
	struct detail_entry *entries;
	size_t entry_count, entry_capacity;
	struct detail_sample *samples; /* parallel to entries, after details_finish() */
	size_t sample_count, sample_capacity;
};

void details_done(struct details *details);

/*
 * details_begin - start a sweep, and discard the responses of the last one
 * @details:  initially zeroed, except for `all` and `sweep`, which may have any value
 * @engine, @memory:  of the sweep; borrowed until details_finish()
 */
void details_begin(struct details *details, struct engine *engine, struct node_memory *memory, struct error *err);

/* details_submit_turn - queue the queries of the ports whose turn it is. Return: 0 or ERR_NOMEM. */
int details_submit_turn(struct details *details, bool skip_hcas);

/*
 * details_all - queue all detail queries to every port that the finished sweep has read, with retries
 * The caller runs the engine again, and then calls details_finish(). Return: 0 or ERR_NOMEM.
 */
int details_all(struct details *details, const struct sweep_result *result);

/* details_moved - counters of a port have increased: query what explains them; also from callbacks */
void details_moved(struct details *details, uint32_t port, counter_set moved);

/*
 * details_finish - compute the deltas of the responses
 * @result:  of the sweep. Responses of an agent without a reading are discarded: they may be
 *           another node's.
 * Return: 0 or ERR_NOMEM. Then details->samples is the input of the sink.
 */
int details_finish(struct details *details, const struct sweep_result *result);

/* details_commit - the sweep was stored: its readings become the last ones. */
void details_commit(const struct details *details);

/* details_cost - average number of MADs per sweep, at most. */
uint64_t details_cost(const struct fabric *fabric, bool skip_hcas);

#endif
