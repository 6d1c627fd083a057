/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * sums.h - totals of ports over many sweeps (inside storage/ only)
 *
 * Whole hours and windows are read from their sums, the edges from the samples
 * (storage/read/window_plan.h). The sums are exact: they were made of the same deltas.
 */
#ifndef IBWIRE_STORAGE_SUMS_H
#define IBWIRE_STORAGE_SUMS_H

#include <stdint.h>

#include <sqlite3.h>

#include "analysis/delta.h"
#include "storage/read/window_plan.h"

struct error;

/* The sum of consecutive deltas of one port. All zero: of none. */
struct port_sum {
	uint64_t samples;  /* number of deltas */
	counter_set ever;  /* counters that are known in at least one of them */
	/*
	 * As delta_add() does it: `known` has the counters that are known in all of them. The value of a
	 * counter that is only in `ever` is the sum of the deltas that know it.
	 */
	struct delta sum;
};

/* The columns of chunk_sum and hour_sum, before those of the traffic counters: tables.c. */
enum {
	SUM_ROW_UNIT, SUM_ROW_PORT, SUM_ROW_SAMPLES, SUM_ROW_ELAPSED, SUM_ROW_UNKNOWN, SUM_ROW_RESET,
	SUM_ROW_SATURATED, SUM_ROW_TRAFFIC,
};

/* port_sum_add_delta - add the delta of a later sweep. */
void port_sum_add_delta(struct port_sum *sum, const struct delta *later);

struct sums_query {
	int64_t after, until;  /* sweeps in (after, until]; for sums_load() */
	const uint32_t *ports; /* ids in rising order, each once (borrowed); NULL: all ports */
	size_t port_count;
	uint32_t first;        /* of all ports: the id of the first sum; sums of ids before it are left out */
	counter_set counters;  /* whose values are needed, others may be 0; no counter: all of them */
};

/* Adds up the parts of a plan. */
struct sums_reader {
	sqlite3_stmt *statements[6];
	struct sums_query query;
	bool by_key;           /* few ports: one lookup each */
	bool by_range;         /* rows are selected by port */
	struct port_sum *by_port;
	size_t count;
	size_t next;           /* place of the next port, if its row follows */
	const struct plan_part *part;
	struct packed_reader packed; /* packed.damage: samples that are left out */
};

/*
 * sums_begin - get ready to add up parts
 * @query:    its ports and counters
 * @by_port:  zeroed, or sums of earlier sweeps: parallel to the query's ports; of all ports by id, from
 *            query->first on
 * @count:    elements of @by_port
 *
 * sums_end() is required whatever this returns; until then the caller holds a transaction open.
 * Return: 0 or a negative error.
 */
int sums_begin(struct sums_reader *reader, sqlite3 *db, const struct sums_query *query, struct port_sum *by_port,
	       size_t count, struct error *err);

/* sums_add - add what the ports counted in a part. Return: 0 or a negative error. */
int sums_add(struct sums_reader *reader, const struct plan_part *part, struct error *err);
void sums_end(struct sums_reader *reader);

/* Where the totals of sums_load() come from. */
struct sums_origin {
	unsigned sources; /* set of 1 << enum plan_source */
	struct history_damage damage; /* packed samples that could not be read, and are left out */
};

/*
 * sums_load - the totals of sweeps (query.after, query.until]
 * @by_port, @count:  as in sums_begin(), zeroed; no port has the id 0
 * @ret:              or NULL
 *
 * The caller holds a transaction open. Return: 0 or a negative error.
 */
int sums_load(sqlite3 *db, const struct sums_query *query, struct port_sum *by_port, size_t count,
	      struct sums_origin *ret, struct error *err);

#endif
