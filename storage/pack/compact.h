/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * compact.h - packs the samples of sweeps into chunks, and adds them up (inside storage/ only)
 *
 * On its own connection, in steps. Each step reads and packs without a lock, then writes one short
 * transaction that includes the progress: after a crash it continues from there. Until a window is
 * complete its samples are read from hot. Only the compaction writes chunks and sums and removes rows
 * of hot; the collector's sink adds rows to hot meanwhile.
 */
#ifndef IBWIRE_STORAGE_COMPACT_H
#define IBWIRE_STORAGE_COMPACT_H

#include <stdint.h>

#include <sqlite3.h>

#include "storage/codec/codec_group.h"
#include "storage/read/readings.h"
#include "storage/read/sums.h"

struct error;
struct writer_retention;

/* Ports of one step: of 120 sweeps, 10 ms of one core and 2 ms to write 0.9 MB. */
#define COMPACT_PORTS 512

struct stripe;

enum compact_statement {
	READ_HOT, READ_ERRORS, READ_ABSOLUTES, WRITE_CHUNK, WRITE_ABSOLUTE,
	WRITE_WINDOW_SUM, WRITE_WINDOW_ERROR, WRITE_HOUR_SUM, WRITE_HOUR_ERROR,
	COMPACT_STATEMENTS,
};

struct compaction {
	sqlite3 *db; /* borrowed */
	unsigned window_sweeps; /* 0: by the interval */
	sqlite3_stmt *statements[COMPACT_STATEMENTS];
	/* The current window; id 0: none. */
	int64_t window, from_sweep, to_sweep;
	int64_t sum_unit; /* id of the window or hour that port_sums belong to */
	uint32_t next_port, port_count;
	struct stored_reading *last; /* by port: before the first sweep of the window; once written, in its last one */
	int64_t last_sweep; /* of `last` once the window is complete; -1: only some ports are updated */
	int64_t *offsets_us; /* by sweep of the window: wall clock less start_us */
	/* The ports of one step. */
	struct stripe *stripe; /* these ports and those of later steps */
	struct port_sum port_sums[COMPACT_PORTS];
	struct bytes packed; /* their chunks */
	size_t chunk_at[COMPACT_PORTS + 1]; /* begin of each, and end of the last one; empty: none */
	uint64_t damaged; /* blocks of hot that cannot be unpacked: their samples are lost */
};

/* compact_init - prepare. @db is borrowed. compact_done() is required whatever this returns. */
int compact_init(struct compaction *compaction, sqlite3 *db, unsigned window_sweeps, struct error *err);
void compact_done(struct compaction *compaction);

/*
 * compact_step - do the next step
 * Return: 1; 0 if nothing is left to do; or an error: then nothing of the step was stored, and it can be
 * repeated.
 */
int compact_step(struct compaction *compaction, struct error *err);

/* compact_begin, compact_end - a write transaction, rolled back if @result is an error. Return: @result or an error. */
int compact_begin(struct compaction *compaction, struct error *err);
int compact_end(struct compaction *compaction, int result, struct error *err);

/*
 * compact_write_sums - write port_sums, of ports from next_port on, as the sums of sum_unit
 * @sum, @error:  WRITE_WINDOW_SUM and WRITE_WINDOW_ERROR, or those of an hour
 */
int compact_write_sums(struct compaction *compaction, enum compact_statement sum, enum compact_statement error,
		       struct error *err);

/* compact_update_window - how far a window is: its next_port and state. Return: 0 or an error. */
int compact_update_window(struct compaction *compaction, int64_t id, int64_t next_port, int state, struct error *err);

/* compact_hot - the step that removes rows of hot whose window is complete. Return: as compact_step(). */
int compact_hot(struct compaction *compaction, struct error *err);

/* compact_hours - the step that adds up the windows of an hour. Return: as compact_step(). */
int compact_hours(struct compaction *compaction, struct error *err);

/*
 * retain_step - remove some rows that exceed the retention or the maximum size, or return free pages
 * By whole windows and hours, the oldest first (retain.c). The current time is that of the newest
 * sweep; while the clock jumps by days, the earliest of the last 60.
 * Return: as compact_step().
 */
int retain_step(struct compaction *compaction, const struct writer_retention *retention, struct error *err);

/*
 * A stripe: the samples of adjacent ports over one window, transposed from sweeps to ports
 * (compact_stripe.c). Rows of hot are read sweep by sweep, for so many ports at once that lookups
 * cost little, and stay packed. They are unpacked 32 ports at a time, which fits into the
 * processor's cache. The number of ports, 2.5 MB of packed samples over 120 sweeps, is a multiple
 * of COMPACT_PORTS.
 */
#define STRIPE_PORTS 1024
#define STRIPE_BLOCKS (STRIPE_PORTS / CODEC_BLOCK_PORTS)

/* A row of error. */
struct stripe_error {
	uint32_t port;
	uint16_t place; /* of its sweep in the window */
	uint8_t marks;
	int64_t counter;
	uint64_t value;
};

struct stripe {
	uint32_t from_port; /* a multiple of CODEC_BLOCK_PORTS */
	bool loaded;
	struct bytes packed; /* rows of hot */
	struct {
		uint32_t at, len; /* in `packed`; none: 0, 0 */
	} rows[STRIPE_BLOCKS][CODEC_CHUNK_SWEEPS];
	struct stripe_error *errors; /* in order of port and sweep */
	size_t error_count, error_capacity;
	size_t next_error; /* all before it are of ports that were added up */
	struct codec_series series[CODEC_BLOCK_PORTS]; /* the block that was unpacked last */
};

/* stripe_free - NULL is allowed. */
void stripe_free(struct stripe *stripe);

/*
 * stripe_read - read the rows of the window for ports from @from_port on, in one read transaction
 * Sets compaction->last to the newest absolute reading of each port. Return: 0 or an error.
 */
int stripe_read(struct compaction *compaction, uint32_t from_port, struct error *err);

/* stripe_unpack - unpack the block of ports that begins with @port into the series of the stripe. */
void stripe_unpack(struct compaction *compaction, uint32_t port);

/* stripe_add_up - add up the next port of the block that was unpacked last; updates compaction->last. */
void stripe_add_up(struct compaction *compaction, uint32_t port, struct port_sum *ret);

#endif
