/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * route_read.h - the switches' forwarding tables, read beside the sweeps
 *
 * An SM may change a table within a tenth of a second, and no sign of it need be seen anywhere. So all tables
 * are read when the topology has changed, once more a minute later (the SM may have been at work still), one after
 * the other at a steady beat, and single ones as soon as somebody wants to know (before a fault is laid to
 * routing). A table that is found changed tells that the SM was at work: then, too, all are read. It costs a block of
 * 64 LIDs an SMP: what a sweep reads is limited in number and in time, comes behind the counters, and the rest waits
 * for the next sweep.
 *
 * The beat is once a minute, as far as that takes no more than 3 % of the rate limit: 600 SMPs per second by
 * default, where the counters of such a fabric take thousands. 48 switches with tables of 17 blocks are read in 60 s
 * (14 SMPs per second), 1,280 with 280 blocks in 10 min. So this is how late a black hole or a skew is seen.
 *
 * A block that is not answered stays as it was known, and is asked again later, less and less often.
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

/* How long after a change of the topology the tables are read again; no more often than this for further changes. */
#define ROUTE_READ_AGAIN_US (60 * 1000000LL)

/* More tables than this that changed in one sweep are one event. */
#define ROUTE_READ_EVENTS 20

/* Part of the rate limit that the beat may take; of this many MADs per second where there is no limit. */
#define ROUTE_READ_PERCENT 3
#define ROUTE_READ_RATE 20000

enum { ROUTE_READ_WORDS = ROUTES_BLOCKS / 64 };

/* What is to be read of one switch, and what was. */
struct route_switch {
	uint64_t guid;
	uint64_t todo[ROUTE_READ_WORDS];  /* blocks to be read: bits */
	uint64_t dirty[ROUTE_READ_WORDS]; /* blocks that are others than in the sweep that was stored last: bits */
	uint64_t not_before; /* number of the sweep until which it is left alone, for it left blocks open */
	int64_t read_us;     /* CLOCK_BOOTTIME when the last block came that was to be read; 0: never */
	uint32_t changed;    /* entries that were others in this sweep than before */
	uint8_t failed;      /* sweeps in a row that left blocks open */
	bool timed_out;      /* in the sweep in hand */
	bool requested;         /* all of its blocks, from the next sweep on */
	bool urgent;         /* before others */
	bool complete;       /* was read whole once: what is different now has changed */
};

struct route_read {
	int64_t interval_us;   /* the owner's: each table is read once in so long, or slower; 0: none is ever read */
	struct routes routes;  /* as they were read last */
	struct route_switch *switches;
	size_t count, capacity;
	struct map by_guid;
	uint64_t sweep;        /* counts runs */
	uint64_t generation;   /* of the topology that tables were last read for */
	int64_t marked_us;     /* when all were wanted last; 0: never */
	int64_t changed_us;    /* when the topology or a table changed last; 0: all was read a minute after that */
	int64_t scheduled_us;       /* until when the beat was kept; 0: not begun */
	double credit;         /* blocks that are due by the beat */
	uint32_t next_due, next_queried; /* nodes at which to go on */
	struct route_block *blocks; /* of dirty, after route_read_run() */
	size_t block_count, block_capacity;
	/* Of the run in hand. */
	struct engine *engine;
	const struct fabric *fabric;
	struct node_memory *memory;
	struct error *err;
	int code;
	int64_t now_us;
};

/* What a run may cost. */
struct route_read_limits {
	uint64_t smps;       /* so many at most, but always one table */
	double blocks_per_s;   /* SMPs per second that the beat may take; 0: as many as it wants */
	int64_t deadline_us; /* CLOCK_BOOTTIME at which it is cut; 0: never */
	size_t blocks;       /* so many at most are listed to be stored, the others after later runs; 0: all */
};

void route_read_done(struct route_read *read);

/* route_read_restore - go on from tables that were stored. @routes: taken over, empty afterwards */
void route_read_restore(struct route_read *read, struct routes *routes);

/*
 * route_read_request - read this switch's table with the next sweep, before all others
 * Return: 0; ERR_NOMEM.
 */
int route_read_request(struct route_read *read, uint64_t node_guid, struct error *err);

/*
 * route_read_run - read what is due
 * @engine:      idle; used by this call alone
 * @memory:      follows @fabric; knows LinearFDBTop of switches that answered SwitchInfo, and who is silent or locked
 * @generation:  of @fabric: where it rose, tables are read again
 * @now_us:      CLOCK_BOOTTIME
 * @wall_us, @events:  EVENT_ROUTES_CHANGED of what is different from what was known
 *
 * Afterwards read->blocks are the blocks that changed and were not kept yet, or the first of them.
 * Return: 0, also where it was cut short; ERR_UNAVAILABLE where the local device failed; ERR_NOMEM.
 */
int route_read_run(struct route_read *read, struct engine *engine, const struct fabric *fabric,
		   struct node_memory *memory, uint64_t generation, const struct route_read_limits *limits,
		   int64_t now_us, int64_t wall_us, struct events *events, struct error *err);

/* route_read_skip - a sweep without a run: no table is other than in the sweep before. */
void route_read_skip(struct route_read *read);

/* route_read_commit - what read->blocks says is stored. */
void route_read_commit(struct route_read *read);

/* route_read_blocks_per_s - what the beat may take of a rate limit. @max_mads_per_s: 0: none */
double route_read_blocks_per_s(unsigned max_mads_per_s);

/*
 * route_read_cost - SMPs that one sweep takes for the beat, on average
 * @routes_interval_us, @blocks_per_s:  as in struct route_read and its limits
 * @interval_us:                      from sweep to sweep
 */
uint64_t route_read_cost(const struct fabric *fabric, int64_t routes_interval_us, double blocks_per_s,
			 int64_t interval_us);

#endif
