/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * pkey_read.h - the P_Key tables of HCA and router ports, and of switch ports that enforce partitions
 *
 * Tables are read after the forwarding tables of a sweep. A block of 32 P_Keys takes one SMP; most tables have one.
 * The table of a switch port is read with that of its HCA if PortInfo has partition enforcement on.
 *
 * A port is read when it is new, and once in 8 minutes, so that a change is found within the 10 minutes between two
 * discoveries. After a change all tables are read at once, and again a minute later, when the subnet manager is done:
 * only then are they settled, and are findings evaluated.
 *
 * All this takes 0.8 % of the MADs that the sweeps send: with fewer MADs the period is longer. The reads after a change
 * are on credit, which the following sweeps pay. The first read of a port is not counted.
 *
 * A port that times out keeps its last table, and is retried with increasing delay.
 */
#ifndef IBWIRE_COLLECTOR_PKEY_READ_H
#define IBWIRE_COLLECTOR_PKEY_READ_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "collector/sink.h"
#include "fabric/pkeys.h"

struct engine;
struct error;
struct events;
struct fabric;
struct node_memory;

/* Period of each table, and delay of the second read after a change. */
#define PKEY_READ_PERIOD_US (8 * 60 * 1000000LL)
#define PKEY_READ_AGAIN_US (60 * 1000000LL)

/* Share of the MADs of a sweep. */
#define PKEY_READ_SHARE 0.008

/* A round of all tables begins only while at most this number of rounds is on credit. */
#define PKEY_READ_ROUNDS 1.5

/* Changes of more ports than this in one sweep are one event. */
#define PKEY_READ_EVENTS 20

/* Read state of a port, parallel to the tables. */
struct pkey_port {
	uint64_t generation; /* of the last topology that it was a target of; 0: none */
	uint64_t not_before; /* run before which it is not queried, after timeouts */
	int64_t read_us;     /* CLOCK_BOOTTIME of the run that read it; 0: not yet */
	uint8_t failed;      /* consecutive runs that could not read it */
	bool dirty;          /* differs from the last stored sweep */
};

/* A port whose table is read. */
struct pkey_target {
	uint32_t port, slot;  /* index into fabric->ports; of its table */
	uint32_t switch_port; /* index into fabric->ports of the enforcing switch port at its other end; FABRIC_NONE */
	uint32_t switch_slot;
	uint16_t blocks, switch_blocks; /* capacity; 0: unknown */
};

/* A table that is being read. */
struct pkey_query {
	uint32_t target;
	bool of_switch, is_failed, is_cancelled;
	uint16_t outstanding, queried; /* blocks */
	uint16_t read;                 /* blocks that are in keys */
	uint16_t *keys;
};

struct pkey_read {
	bool off;             /* set by the owner: no table is read */
	const struct sink *sink; /* set by the owner, or NULL: tables of nodes that it leaves out are stored later */
	struct pkeys pkeys;   /* as last read */
	struct pkey_port *ports;
	size_t port_capacity;
	struct pkey_target *targets;
	size_t target_count, tables; /* tables: those of the targets */
	struct pkey_change *changes; /* to store, after pkey_read_run() */
	size_t change_count, change_capacity;
	struct pkey_query *queries;
	size_t query_count, query_capacity;
	uint64_t run;
	uint64_t generation;  /* of the topology of the targets */
	uint64_t revision;    /* incremented with each change of a table or of the targets */
	double credit;        /* SMPs */
	double due;           /* tables of the periodic reads */
	size_t next;          /* of these */
	int64_t scheduled_us; /* CLOCK_BOOTTIME of the last run; 0: none */
	int64_t changed_us;   /* CLOCK_BOOTTIME of the run that found the last change; 0: none */
	int64_t wanted_us;    /* all tables are to be read since; 0: they are */
	bool is_burst;        /* that goes on, whatever the credit is */
	bool is_settled;      /* all tables were read since the last change, or a minute after it */
	/* Of the current run. */
	struct engine *engine;
	struct node_memory *memory;
	struct error *err;
	int code;
	int64_t now_us, wall_us;
	struct events *events;
	uint32_t changed;     /* ports */
	uint64_t smps;        /* queued */
};

/* Limits of a run. */
struct pkey_read_limits {
	uint64_t mads;       /* that the sweep has sent, of which these reads may take their share */
	uint64_t smps;       /* maximum, but always one table */
	int64_t deadline_us; /* CLOCK_BOOTTIME at which the run is cut; 0: never */
};

/*
 * pkey_read_cost - average number of SMPs per sweep for periodic reads
 * @mads:  that a sweep sends
 * Tables with more than 32 P_Keys, and those of switch ports that enforce partitions, are limited by the share as well.
 */
uint64_t pkey_read_cost(const struct fabric *fabric, uint64_t mads, int64_t interval_us);

void pkey_read_done(struct pkey_read *read);

/* pkey_read_restore - start with the stored tables. @pkeys: moved, empty afterwards */
void pkey_read_restore(struct pkey_read *read, struct pkeys *pkeys);

/*
 * pkey_read_run - read the tables that are due
 * @engine:  idle; used by this call alone
 * @memory:  unresponsive and locked nodes
 * @now_us:  CLOCK_BOOTTIME
 * @wall_us, @events:  EVENT_PKEYS_CHANGED of changed tables
 *
 * Afterwards read->changes lists tables that are not stored yet.
 * Return: 0, also if it was cut; ERR_UNAVAILABLE if the local device failed; ERR_NOMEM.
 */
int pkey_read_run(struct pkey_read *read, struct engine *engine, struct node_memory *memory,
		  const struct pkey_read_limits *limits, int64_t now_us, int64_t wall_us, struct events *events,
		  struct error *err);

/* pkey_read_commit - read->changes were stored. */
void pkey_read_commit(struct pkey_read *read);

#endif
