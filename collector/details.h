/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * details.h - the slow questions that go with the sweeps
 *
 * Each sweep asks a part of the ports for the attributes of fabric/detail.h, in
 * turn, so that all have been asked after DETAILS_SWEEPS sweeps and every delta has
 * a reading to start from; a port whose error or discard counter has just moved is
 * asked at once why. With the turn of a node's first port its ClassPortInfo is asked again, for
 * firmware changes. Attributes that a node refuses are not asked again, those that it never
 * answers once in sixty turns. What cannot be asked in a sweep waits for the next turn: nothing here is
 * sent twice.
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

/* Over how many sweeps the slow questions to all ports are spread. */
#define DETAILS_SWEEPS 60

/* PortVLXmitWait moves all the time where there is traffic: once in so many sweeps a port is asked why. */
#define DETAILS_WAIT_SWEEPS 10

struct detail_entry {
	uint32_t port;
	bool has_delta;
	struct detail_reading reading;
	struct detail_delta delta;
};

struct details {
	bool all; /* the owner's: details_submit_turn() asks nobody, and details_all() is called instead */
	/* Of the sweep that is under way. */
	struct engine *engine;
	const struct fabric *fabric;
	struct node_memory *memory;
	struct error *err;
	int code;             /* the first failure of a callback */
	unsigned trigger_budget;  /* questions about counters that moved: so many more */
	uint32_t next_tick;   /* node that is asked next for its tick */
	uint64_t sweep;       /* counts calls; says whose turn it is */
	/* What was answered. */
	struct detail_entry *entries;
	size_t entry_count, entry_capacity;
	struct detail_sample *samples; /* parallel to entries, after details_finish() */
	size_t sample_count, sample_capacity;
};

void details_done(struct details *details);

/*
 * details_begin - a new sweep: forget the last one's answers
 * @details:  zeroed at first, but for `all`, and `sweep`, which may begin anywhere; must live until
 *            engine_run() has returned
 * @engine, @fabric, @memory:  as of the sweep; borrowed until details_finish()
 */
void details_begin(struct details *details, struct engine *engine, const struct fabric *fabric,
		   struct node_memory *memory, struct error *err);

/*
 * details_submit_turn - queue the questions of the ports whose turn it is
 * @skip_hcas:  only switches are asked
 * Return: 0 or ERR_NOMEM.
 */
int details_submit_turn(struct details *details, bool skip_hcas);

/*
 * details_all - queue every slow question to every port that the sweep has read
 * @result:  of the sweep, which is over; the caller runs the engine once more, and then finishes
 * These are repeated where they stay open: there is no next turn.
 * Return: 0 or ERR_NOMEM.
 */
int details_all(struct details *details, const struct sweep_result *result);

/*
 * details_moved - counters of a port have moved: ask what explains them
 * @moved:  the counters that did, of one reading to the next
 * May be called from the callbacks of a run.
 */
void details_moved(struct details *details, uint32_t port, counter_set moved);

/*
 * details_finish - the sweep is over: what the answers say since the last stored ones
 * @result:  of the sweep. Where it read no port of an agent that is left out: its answers may be another node's.
 * Return: 0 or ERR_NOMEM. Then details->samples is what the sink gets.
 */
int details_finish(struct details *details, const struct sweep_result *result);

/* details_commit - the sweep was stored: its readings are the last ones from now on. */
void details_commit(const struct details *details);

/* details_cost - MADs that one sweep of a fabric takes for its turn, on average, at most. */
uint64_t details_cost(const struct fabric *fabric, bool skip_hcas);

#endif
