/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * sums.h - what ports counted over many sweeps (inside storage/ only)
 *
 * Whole hours and whole windows are taken from their sums, only the edges from
 * the samples. The sums are exact: they are those of the same deltas.
 */
#ifndef IBWIRE_STORAGE_SUMS_H
#define IBWIRE_STORAGE_SUMS_H

#include <stdint.h>

#include <sqlite3.h>

#include "analysis/delta.h"

struct codec_sample;
struct error;

/* Deltas of one port put behind each other. All zero: none yet. */
struct port_sum {
	uint64_t samples;  /* how many */
	counter_set ever;  /* counters that at least one of them knows */
	/*
	 * As delta_add() would have it: known are those that all of them know. The values of
	 * counters that are only in `ever` are what was counted where they were known.
	 */
	struct delta sum;
};

/* port_sum_add_value - @sum and @later, which stop at UINT64_MAX. */
static inline void port_sum_add_value(uint64_t *sum, uint64_t later)
{
	if (__builtin_add_overflow(*sum, later, sum))
		*sum = UINT64_MAX;
}

/* port_sum_add_delta - put a later delta behind an earlier sum. */
void port_sum_add_delta(struct port_sum *sum, const struct delta *later);

/* port_sum_add_sample - the same of a stored sample beside which no row of error stands: no mark, no error counter. */
void port_sum_add_sample(struct port_sum *sum, const struct codec_sample *sample);

/* Where sums came from: bits of sums_cover.from. */
enum { SUMS_RAW = 1, SUMS_WINDOWS = 2, SUMS_HOURS = 4 };

/* What a sum covers. */
struct sums_cover {
	int64_t after, until;  /* sweeps in (after, until]; other than asked for only where samples expired */
	unsigned from;
	/* Packed samples that could not be read, and are left out. */
	size_t damaged;
	char damage[96];
};

/*
 * sums_load - what ports counted in sweeps (@after, @until]
 * @port:     its id; 0: all ports
 * @by_port:  zeroed. Of all ports: index port id, @count entries; of one: one entry
 * @ret:      or NULL
 *
 * Where samples expired at an edge, the window or hour there counts whole if its
 * last sweep is in the range, and else not at all. The caller's transaction is to be open.
 */
int sums_load(sqlite3 *db, int64_t after, int64_t until, uint32_t port, struct port_sum *by_port, size_t count,
	      struct sums_cover *ret, struct error *err);

/*
 * sums_find_sweeps - the sweeps of a time, for sums_load()
 * @from_us, @until_us:  wall clock: (from, until]
 * @ret_after, @ret_until:  0, 0 where there are none
 */
int sums_find_sweeps(sqlite3 *db, int64_t from_us, int64_t until_us, int64_t *ret_after, int64_t *ret_until,
		     struct error *err);

/*
 * A writer of one of the two kinds of sums, by statements on one connection.
 * sums_writer_init - @table: "chunk" or "hour". sums_writer_done() is to be called whatever it returns.
 */
struct sums_writer {
	sqlite3_stmt *sum, *error;
};
int sums_writer_init(struct sums_writer *writer, sqlite3 *db, const char *table, struct error *err);
void sums_writer_done(struct sums_writer *writer);

/* sums_write_errors - only the part of it that stands in chunk_error or hour_error. */
int sums_write_errors(struct sums_writer *writer, int64_t id, uint32_t port, const struct port_sum *sum,
		      struct error *err);

/* sums_write - store the sum of one port; @id: the window's or the hour's. None of no samples. */
int sums_write(struct sums_writer *writer, int64_t id, uint32_t port, const struct port_sum *sum, struct error *err);

/* sums_read_windows - sums of ports [@from_port, @to_port) over windows [@from, @to); by_port[0] is of @from_port. */
int sums_read_windows(sqlite3 *db, int64_t from, int64_t to, uint32_t from_port, uint32_t to_port,
		      struct port_sum *by_port, struct error *err);

#endif
