/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * push_state.h - what was acknowledged by a target, and the counters at that sweep
 *
 * The cursor is a small text file: the sweep at which the counters began at 0 (the origin) and the
 * newest sweep of which the target has acknowledged every sample. It is replaced by rename after
 * each acknowledged sweep, so that it is either the old or the new one.
 *
 * The value of a counter is the sum of its stored deltas since the origin. After a restart it is
 * summed up again from the database. To make that fast, the counters are also stored from time to
 * time in FILE.counters, with their sweep; the deltas after it are added. That file is a cache: if
 * it is missing or damaged, the sum starts at the origin. If the database has no samples of that
 * time any more, the counters begin at 0 again at the cursor, which receivers handle as a counter
 * reset: rate() and increase() remain exact.
 */
#ifndef IBWIRE_CLI_PUSH_STATE_H
#define IBWIRE_CLI_PUSH_STATE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/map.h"
#include "cli/metrics/metrics_page.h"

struct delta;
struct error;
struct fabric;
struct reader;

/* A stored sweep. */
struct push_sweep {
	int64_t id; /* 0: none */
	int64_t wall_us;
};

/* The counters of a port, also of one that left the fabric. */
struct push_port {
	uint64_t node_guid;
	uint8_t num;
	struct metrics_counters counters;
};

struct push_state {
	char path[4096];
	int lock_fd;
	struct push_sweep origin, acknowledged;
	struct push_sweep stored; /* of FILE.counters */
	struct map index; /* of ports */
	struct push_port *ports;
	size_t port_count, port_capacity;
	bool ahead; /* the counters include a sweep that is not acknowledged */
};

/*
 * push_state_open - lock and read a cursor
 * @path:  if the file does not exist, origin.id is 0
 * Return: 0; ERR_IO: it cannot be read or is damaged; ERR_UNAVAILABLE: another process uses it.
 */
int push_state_open(struct push_state *state, const char *path, struct error *err);
void push_state_close(struct push_state *state);

/* push_state_save - write the cursor. Return: 0 or ERR_IO. */
int push_state_save(const struct push_state *state, struct error *err);

/* push_state_begin - counters begin at 0 at this sweep; nothing of it is acknowledged. Return: 0 or ERR_IO. */
int push_state_begin(struct push_state *state, struct push_sweep origin, struct error *err);

/*
 * push_state_restore - the counters at the acknowledged sweep
 * @ret_complete:  false: the database lacks samples, and the counters began at 0 again
 * Return: 0; ERR_IO; ERR_NOMEM.
 */
int push_state_restore(struct push_state *state, struct reader *reader, bool *ret_complete, struct error *err);

/* push_state_store - write FILE.counters: those of the acknowledged sweep. Return: 0 or ERR_IO. */
int push_state_store(struct push_state *state, struct error *err);

/* push_state_port - the index in @ports, new if it is not there. Return: false: no memory. */
bool push_state_port(struct push_state *state, uint64_t node_guid, uint8_t num, uint32_t *ret);

/* push_counters_add - add a delta; counters that were not known begin at 0 before it. */
void push_counters_add(struct metrics_counters *counters, const struct delta *delta);

#endif
