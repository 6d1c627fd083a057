/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * fast_jobs.h - read the HCA ports of the running jobs between sweeps
 *
 * One Get of PortCountersExtended per port and round. The readings are for the traffic of the jobs only
 * (health_job_samples): they are not stored, and the deltas of the sweeps do not depend on them. In a sweep its
 * own readings take the place of a round.
 */
#ifndef IBWIRE_COLLECTOR_FAST_JOBS_H
#define IBWIRE_COLLECTOR_FAST_JOBS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "analysis/health.h"
#include "collector/sweep_result.h"

struct engine;
struct error;
struct events;
struct fabric;
struct node_memory;

/* A port, and its last reading in a round or sweep. */
struct fast_port {
	uint32_t port;        /* index into the fabric of `generation`; FABRIC_NONE: it is not there any more */
	uint32_t step_port;   /* into that of the last sweep, which samples name */
	uint64_t node_guid;
	uint8_t num;
	bool has_last;
	bool timed_out;       /* since the last sweep: one Get without retries, until it responds */
	struct reading last;  /* traffic counters only */
};

/* Zeroed except for interval_us. */
struct fast_jobs {
	int64_t interval_us;  /* 0: off */
	struct fast_port *ports; /* in order of step_port */
	size_t count;
	uint64_t generation;  /* of the fabric */
	int64_t next_us;      /* CLOCK_BOOTTIME of the next round */
	struct sweep_result result; /* of the last round */
	struct health_sample *samples; /* of the last round or sweep */
	struct delta *deltas;
	size_t sample_capacity;
	bool late, late_reported; /* since the last sweep a round was cut, or left out for lack of time; so before it */
	bool skipped;         /* while throttled: the last round was left out */
	uint64_t mads;        /* since the last sweep */
};

void fast_jobs_done(struct fast_jobs *fast);

/* fast_jobs_schedule - the first round after a sweep that began at @start_us */
void fast_jobs_schedule(struct fast_jobs *fast, int64_t start_us);

/*
 * fast_jobs_next_us - CLOCK_BOOTTIME of the next round
 * @sweep_us:  of the next sweep, which replaces a round that is less than half an interval before it
 * Return: INT64_MAX: none is due before the sweep.
 */
int64_t fast_jobs_next_us(const struct fast_jobs *fast, int64_t sweep_us);

/* fast_jobs_mads - the number of Gets per sweep for a number of ports that all respond */
uint64_t fast_jobs_mads(uint64_t ports, int64_t interval_us, int64_t sweep_interval_us);

/*
 * fast_jobs_round - read the ports once
 * @engine:       idle
 * @memory:       last readings are not changed
 * @generation:   of its fabric, which may be another one than that of the last sweep
 * @deadline_us:  CLOCK_BOOTTIME at which it is cut
 * @ret_moved:    number of LIDs that belong to another node: the topology is outdated
 * @ret_samples:  of all ports, fast->count of them, valid until the next call
 *
 * A port that is down, unresponsive, or has no PortCountersExtended is not polled. LIDs are verified as in a sweep
 * (lid_verify.h).
 * Return: 0; ENGINE_CUT; ERR_UNAVAILABLE if the local device failed; ERR_NOMEM.
 */
int fast_jobs_round(struct fast_jobs *fast, struct engine *engine, struct node_memory *memory, uint64_t generation,
		    int64_t deadline_us, uint32_t *ret_moved, const struct health_sample **ret_samples,
		    struct error *err);

/*
 * fast_jobs_sweep - the readings of a sweep, in place of a round
 * @result:      verified
 * @fabric, @generation:  those of the sweep
 * Return: samples as above, for health_input.job_samples; their number may decrease: ports that are not in the fabric
 * any more are removed. NULL: there is none.
 */
const struct health_sample *fast_jobs_sweep(struct fast_jobs *fast, const struct sweep_result *result,
					    const struct fabric *fabric, uint64_t generation);

/*
 * fast_jobs_select - set the ports, after a sweep
 * @ports:  of all running jobs, in any order, also several times; indices into @fabric
 * Readings of ports that stay are kept; other ports begin with their reading in @result. Return: 0 or ERR_NOMEM.
 */
int fast_jobs_select(struct fast_jobs *fast, const uint32_t *ports, size_t count, const struct sweep_result *result,
		     const struct fabric *fabric, uint64_t generation, struct error *err);

/* fast_jobs_report - with each sweep: an event if rounds were late since the last one, and were not before */
void fast_jobs_report(struct fast_jobs *fast, struct events *events, int64_t wall_us);

#endif
