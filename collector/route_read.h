/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * route_read.h - the switches' forwarding tables, read after the counters of each sweep
 *
 * An SM can change a table within a tenth of a second without any other sign. So all tables are
 * read after a topology change, again a minute later (the SM may still have been at work), after
 * any table was found changed, and periodically; a single one on request (before a fault is
 * attributed to routing). A block of 64 LIDs takes one SMP. A sweep reads a limited number of them
 * in a limited time, and the rest follows in the next sweeps.
 *
 * The period is a minute, as far as that takes no more than 3 % of the rate limit, 600 SMPs per
 * second by default. 48 switches with tables of 17 blocks are read in 60 s (14 SMPs per second),
 * 1,280 with 280 blocks in 10 min. This is the delay with which a black hole or a skew is detected.
 *
 * A block that times out keeps its last content, and is retried with increasing delay.
 */
#ifndef IBWIRE_COLLECTOR_ROUTE_READ_H
#define IBWIRE_COLLECTOR_ROUTE_READ_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/map.h"
#include "collector/sink.h"
#include "fabric/routes.h"

struct engine;
struct error;
struct events;
struct fabric;
struct node_memory;

/* Delay of the second read after a topology change, and shortest time between two full reads. */
#define ROUTE_READ_AGAIN_US (60 * 1000000LL)

/* Changes of more tables than this in one sweep are one event. */
#define ROUTE_READ_EVENTS 20

/* Share of the rate limit for periodic reads, and the rate to use if there is no limit. */
#define ROUTE_READ_PERCENT 3
#define ROUTE_READ_RATE 20000

/* Read state of one switch. */
struct route_switch {
	uint64_t guid;
	bool todo[ROUTES_BLOCKS];  /* blocks to be read */
	bool dirty[ROUTES_BLOCKS]; /* blocks that differ from the last stored sweep */
	uint64_t not_before; /* sweep before which it is not queried, after timeouts */
	int64_t read_us;     /* CLOCK_BOOTTIME of the last requested block; 0: never */
	uint32_t changed;    /* entries that changed in this sweep */
	uint8_t failed;      /* consecutive sweeps with timeouts */
	bool timed_out;      /* in the current sweep */
	bool requested;         /* all blocks, from the next sweep on */
	bool urgent;         /* before others */
	bool complete;       /* was read completely: differences are changes */
};

struct route_read {
	int64_t interval_us;   /* set by the owner: period of each table, at least; 0: tables are never read */
	const struct sink *sink; /* set by the owner, or NULL: tables of switches that it leaves out are stored later */
	struct routes routes;  /* as last read */
	struct route_switch *switches;
	size_t count, capacity;
	struct map by_guid;
	uint64_t sweep;        /* number of runs */
	uint64_t generation;   /* of the topology of the last full read */
	int64_t marked_us;     /* CLOCK_BOOTTIME of the last request of all tables; 0: never */
	int64_t changed_us;    /* CLOCK_BOOTTIME of the last change of the topology or a table; 0: read since */
	int64_t scheduled_us;       /* CLOCK_BOOTTIME up to which periodic reads are scheduled; 0: not started */
	double credit;         /* blocks that are due periodically */
	uint32_t next_due, next_queried; /* next nodes */
	struct route_block *blocks; /* dirty blocks, after route_read_run() */
	size_t block_count, block_capacity;
	/* Of the current run. */
	struct engine *engine;
	const struct fabric *fabric;
	struct node_memory *memory;
	struct error *err;
	int code;
	int64_t now_us;
};

/* Limits of a run. */
struct route_read_limits {
	uint64_t smps;       /* maximum, but always one table */
	double blocks_per_s;   /* SMPs per second for periodic reads; 0: no limit */
	int64_t deadline_us; /* CLOCK_BOOTTIME at which the run is cut; 0: never */
	size_t blocks;       /* maximum number of dirty blocks to list for storing; 0: no limit */
};

void route_read_done(struct route_read *read);

/* route_read_restore - start with the stored tables. @routes: moved, empty afterwards */
void route_read_restore(struct route_read *read, struct routes *routes);

/* route_read_request - read this table first in the next sweep. Return: 0; ERR_NOMEM. */
int route_read_request(struct route_read *read, uint64_t node_guid, struct error *err);

/*
 * route_read_run - read the tables that are due
 * @engine:  idle; used by this call alone
 * @memory:  LinearFDBTop, unresponsive and locked switches; all tables are read again after a change of
 *           its fabric
 * @now_us:  CLOCK_BOOTTIME
 * @wall_us, @events:  EVENT_ROUTES_CHANGED of changed tables
 *
 * Afterwards read->blocks lists changed blocks that are not stored yet.
 * Return: 0, also if it was cut; ERR_UNAVAILABLE if the local device failed; ERR_NOMEM.
 */
int route_read_run(struct route_read *read, struct engine *engine, struct node_memory *memory,
		   const struct route_read_limits *limits, int64_t now_us, int64_t wall_us, struct events *events,
		   struct error *err);

/* route_read_skip - a sweep without a run: no table changed in it. */
void route_read_skip(struct route_read *read);

/* route_read_commit - read->blocks were stored. */
void route_read_commit(struct route_read *read);

/* route_read_blocks_per_s - share of a rate limit for periodic reads. @max_mads_per_s: 0: none */
double route_read_blocks_per_s(unsigned max_mads_per_s);

/*
 * route_read_cost - average number of SMPs per sweep for periodic reads
 * @routes_interval_us, @blocks_per_s:  as in struct route_read and its limits
 * @interval_us:                        between sweeps
 */
uint64_t route_read_cost(const struct fabric *fabric, int64_t routes_interval_us, double blocks_per_s,
			 int64_t interval_us);

#endif
