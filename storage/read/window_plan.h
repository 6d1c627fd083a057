/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * window_plan.h - the stored pieces that cover a range of sweeps (inside storage/ only)
 *
 *     PLAN_HOUR_SUMS     sums of the windows that began in one hour
 *     PLAN_WINDOW_SUMS   sums of one window of at most CODEC_CHUNK_SWEEPS sweeps
 *     PLAN_CHUNKS        samples of one window, or of some of its sweeps, packed port by port
 *     PLAN_HOT           samples of the sweeps after all complete windows, packed sweep by sweep
 *
 * Every total of a range is read along this plan, so all commands report the same.
 *
 * The samples of a window expire first, then its sums, then the sums of its hour. A sum whose parts
 * have expired cannot be divided at the edge of a range: it belongs as a whole to the range that
 * contains its last sweep. A sample follows the same rule: it belongs to the range that contains its
 * sweep, although the interval that it covers began earlier. So two adjacent ranges always add up to
 * the range that spans both.
 */
#ifndef IBWIRE_STORAGE_WINDOW_PLAN_H
#define IBWIRE_STORAGE_WINDOW_PLAN_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include <sqlite3.h>

#include "storage/history.h"
#include "storage/read/readings.h"

struct error;

enum plan_source { PLAN_HOT, PLAN_CHUNKS, PLAN_WINDOW_SUMS, PLAN_HOUR_SUMS };

/* A row of chunk_window or hour. */
struct plan_unit {
	int64_t id;
	int64_t from_sweep, to_sweep; /* the first sweep, and the first after it */
	int64_t from_us, to_us;       /* wall clock of the first and the last sweep */
	bool expired;                 /* the parts that it is the sum of are no longer stored */
};

struct plan_part {
	enum plan_source source;
	int64_t from_sweep, to_sweep; /* the sweeps to be read */
	struct plan_unit unit;        /* the window or hour; not set for PLAN_HOT */
};

struct window_plan {
	sqlite3 *db;
	sqlite3_stmt *find_window, *find_hour;
	struct plan_unit window, hour; /* the first of each kind that ends after sweep `at` */
	int64_t at, until;             /* the next sweep to cover, and the last one */
	int64_t longest_us;
};

/* longest_us of window_plan_begin(): no sums but those of expired pieces; sums of any length. */
#define PLAN_SAMPLES INT64_C(-1)
#define PLAN_ANY_SUM INT64_MAX

/* chunk_window.next_port while the sums of the window are being removed. */
#define WINDOW_SUMS_EXPIRING 1

/*
 * window_plan_begin - plan how to read the sweeps in (@after, @until]
 * @longest_us:  the longest sum to use, from its first to its last sweep; expired pieces are used at any length
 *
 * The caller holds a transaction open until window_plan_end(), which is required whatever this returns.
 * Return: 0 or a negative error.
 */
int window_plan_begin(struct window_plan *plan, sqlite3 *db, int64_t after, int64_t until, int64_t longest_us,
		      struct error *err);

/*
 * window_plan_next - the next piece, in order of sweeps
 * Return: 1; 0 at the end; ERR_IO, also where a window or hour is damaged.
 */
int window_plan_next(struct window_plan *plan, struct plan_part *ret, struct error *err);
void window_plan_end(struct window_plan *plan);

/*
 * window_moment_sweep - the last sweep labelled at or before a time at which a total can end; INT64_MAX: the newest
 *
 * These are the sweeps with samples, and the last ones of expired windows and hours. Rows of other sweeps stay while
 * last readings refer to them. One of those is returned where no total ends at or before the time. 0: there is none.
 */
int window_moment_sweep(sqlite3 *db, int64_t at_us, int64_t *ret, struct error *err);

/* window_sweep_before - the last of the sweeps up to @sweep that is labelled at or before a time; 0: none. */
int window_sweep_before(sqlite3 *db, int64_t sweep, int64_t at_us, int64_t *ret, struct error *err);

/*
 * window_find_sweeps - the sweeps whose labels are in a window of the wall clock
 * @since_us, @until_us:  (since, until]; until INT64_MAX: up to the newest sweep
 * @ret_after, @ret_until:  sweeps in (after, until]; equal where there is none
 *
 * Return: 0 or a negative error.
 */
int window_find_sweeps(sqlite3 *db, int64_t since_us, int64_t until_us, int64_t *ret_after, int64_t *ret_until,
		       struct error *err);

/* A row of chunk or hot: the samples of a range of sweeps and ports, each without its end. */
struct packed_row {
	int64_t from_sweep, to_sweep;
	uint32_t from_port, to_port;
	const void *data;
	size_t len;
};

/* Reads the packed samples of a plan's parts. */
struct packed_reader {
	sqlite3 *db;
	const uint32_t *ports; /* ids in rising order (borrowed); NULL: all ports */
	size_t port_count;
	uint32_t from_port, to_port; /* of all ports those in [from, to); others may be read too */
	sqlite3_stmt *chunks, *hot, *next_hot;
	struct history_damage damage; /* rows that could not be read */
	damage_fn *on_damage; /* called for each of them; or NULL */
	void *on_damage_ctx;
};

/* packed_begin - statements are compiled with their first use; packed_end() is required. */
void packed_begin(struct packed_reader *reader, sqlite3 *db, const uint32_t *ports, size_t port_count);

/*
 * packed_read - call @each for every row of a part of PLAN_CHUNKS or PLAN_HOT
 * @each:  returns 0, PACKED_DAMAGED where the row cannot be unpacked, or a negative error
 *
 * Damaged rows and pages are recorded in @reader and left out. With a list of ports, @each gets the
 * whole block of hot that contains one.
 * Return: 0 or a negative error.
 */
#define PACKED_DAMAGED 1
typedef int packed_fn(void *ctx, const struct packed_row *row, struct error *err);
int packed_read(struct packed_reader *reader, const struct plan_part *part, packed_fn *each, void *ctx,
		struct error *err);

/* packed_next_hot - the first sweep from @sweep on that has rows in hot; @absent: where there is none. */
int packed_next_hot(struct packed_reader *reader, int64_t sweep, int64_t absent, int64_t *ret, struct error *err);
void packed_end(struct packed_reader *reader);

/* ports_find - the place of an id in a rising list. Return: its index, or @count. */
size_t ports_find(const uint32_t *ports, size_t count, uint64_t port);

#endif
