/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * firmware_read.h - firmware versions of nodes, from GeneralInfo of NVIDIA's vendor class
 *
 * Each node is queried once after it was found, a tenth of the nodes per sweep. It is queried again when it may
 * have another firmware: after it was unresponsive or not in the fabric, when its counters were reset or its
 * performance agent has other capabilities; otherwise once in FIRMWARE_READ_SWEEPS sweeps. Queries are sent once. A
 * node that rejects them, or does not respond to three of them, is queried once in FIRMWARE_READ_TURNS of those turns.
 */
#ifndef IBWIRE_COLLECTOR_FIRMWARE_READ_H
#define IBWIRE_COLLECTOR_FIRMWARE_READ_H

#include <stdbool.h>
#include <stdint.h>

struct engine;
struct error;
struct events;
struct fabric;
struct node_memory;
struct sink;
struct sweep_result;

/* Number of sweeps in which all nodes are queried again: an hour by default, and of a day in turns. */
#define FIRMWARE_READ_SWEEPS 360
#define FIRMWARE_READ_TURNS 24

/* A zeroed struct is the initial state. */
struct firmware_read {
	struct node_memory *memory; /* of the current run */
	const struct fabric *fabric;
	uint64_t sweep;             /* number of runs */
	uint64_t generation;        /* of the fabric in the last run */
	int64_t wall_us;
	struct events *events;
};

/*
 * firmware_read_run - query the nodes whose turn it is
 * @engine:       idle; used by this call alone
 * @all:          all nodes that were not queried yet, instead of a tenth of them
 * @skip_hcas:    HCAs are not polled
 * @result:       of this sweep: counters that were reset
 * @deadline_us:  CLOCK_BOOTTIME, after which the rest is queried in the next run; 0: none
 * @events:       of nodes with another firmware than before
 *
 * Return: 0, or a negative error of the device.
 */
int firmware_read_run(struct firmware_read *read, struct engine *engine, struct node_memory *memory, bool all,
		      bool skip_hcas, const struct sweep_result *result, int64_t deadline_us, int64_t wall_us,
		      struct events *events, struct error *err);

/* firmware_read_adopt - adopt what other processes have imported meanwhile */
void firmware_read_adopt(struct node_memory *memory, const struct sink *sink);

/* firmware_read_store - store what has changed; of a node that is left out, when it is stored */
void firmware_read_store(struct node_memory *memory, const struct sink *sink);

/* firmware_read_cost - average number of MADs per sweep. */
uint64_t firmware_read_cost(const struct fabric *fabric, bool skip_hcas);

#endif
