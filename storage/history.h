/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * history.h - what ports counted in a window, piece by piece
 *
 * The database stores the samples of each sweep, sums of windows of sweeps (chunk sums) and sums of
 * about an hour. The caller limits the length of a piece: it gets single sweeps where pieces must be
 * short, and sums elsewhere or where samples have expired. Every sample of the window is in exactly
 * one piece (storage/read/window_plan.h has the rule for the edges).
 */
#ifndef IBWIRE_STORAGE_HISTORY_H
#define IBWIRE_STORAGE_HISTORY_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "analysis/delta.h"
#include "fabric/fabric.h"

struct balance_load;
struct error;
struct metric_port;
struct reader;
struct snapshot;
struct series;

enum history_source { HISTORY_RAW, HISTORY_CHUNK_SUMS, HISTORY_HOUR_SUMS, HISTORY_SOURCE_COUNT };

/* history_source_name - "raw", "chunk sums", "hour sums". */
const char *history_source_name(enum history_source source);

/* The identity of a port, which never changes. */
struct history_port {
	uint64_t node_guid;
	uint8_t num;
};

static inline struct history_port history_port_of(const struct fabric *fabric, uint32_t index)
{
	const struct port *port = &fabric->ports[index];

	return (struct history_port){ fabric->nodes[port->node].guid, port->num };
}

/* The sweeps of a window. */
struct history_range {
	int64_t after, until;         /* sweeps in (after, until]; equal: none */
	int64_t first_us, last_us;    /* wall clock of the first and the last of them; 0: unknown */
	int64_t before_us;            /* of the sweep before them, where their deltas begin; 0: unknown */
	int64_t oldest_us, newest_us; /* wall clock of the oldest and the newest stored sweep, in any form */
	int64_t since_us;             /* where the window begins, at the oldest stored sweep if that is later */
	int64_t chunk_us, hour_us;    /* length of the last chunk sum and the last hour sum in it; 0: it has none */
	int64_t chunk_sweeps;         /* sweeps of that chunk sum */
};

/*
 * history_began_before - do deltas that cover @elapsed_us begin before a range?
 * The first delta of a port that was not read before the range does; the sum is then that of a longer time.
 * The tolerance is that of reading times in a balance window.
 */
bool history_began_before(const struct history_range *range, int64_t elapsed_us);

/*
 * history_covered_us - the time that the sums of ports cover which were read in all of a range
 * @longest_us: of any port: without the sweep before the range, or if the clock was changed
 */
int64_t history_covered_us(const struct history_range *range, int64_t longest_us);

/*
 * reader_history_range - the sweeps that are labelled in a window
 * @since_us, @until_us:  wall clock, (since, until]; until 0: up to the newest
 *
 * Retention may remove some of them before they are read.
 * Return: 0, also without a sweep; ERR_IO.
 */
int reader_history_range(struct reader *reader, int64_t since_us, int64_t until_us, struct history_range *ret,
			 struct error *err);

/*
 * reader_history_round - move both ends of a range to ends of stored sums
 * Each end moves by at most half a chunk sum (a minute at an interval of one second). The totals of all ports
 * then take a fifth of the time, since only samples that are newer than any sum are unpacked.
 * @range:  of reader_history_range(); first_us and last_us are updated
 * @least:  of a range with fewer sweeps only those ends are moved at which no samples are stored any more
 */
int reader_history_round(struct reader *reader, struct history_range *range, int64_t least, struct error *err);

/* A piece of the window: one sweep (HISTORY_RAW), or a stored sum of several. */
struct history_piece {
	enum history_source source;
	int64_t from_sweep, to_sweep; /* the first, and the first after it */
	int64_t from_us, to_us;       /* wall clock of the first and the last sweep */
};

/* Packed samples that cannot be unpacked, and are left out. */
struct history_damage {
	size_t count;
	char first[96]; /* sweeps and ports of the first of them */
};

struct history_query {
	int64_t after, until;      /* sweeps, as in struct history_range */
	int64_t longest_us;        /* of a sum, from its first to its last sweep; 0: single sweeps */
	const struct history_port *ports; /* NULL: every port that was ever stored */
	size_t port_count;         /* a port that is listed twice is reported for its first place */
	counter_set counters;      /* counters that are needed; others may be reported as unknown */
	size_t at_a_time;          /* ports that reader_history_totals() reads at a time; 0: 16,384 (4 MB) */
	struct history_damage *damage; /* counts on; or NULL */
};

/*
 * Both callbacks return whether to continue.
 * @piece:  begins a piece, also one without any sample of the ports
 * @delta:  of one port in that piece. @port: index into query->ports (meaningless without them);
 *          @who: its identity; @samples: number of sweeps that are summed up
 *
 * Pieces are in order of sweeps.
 */
struct history_consumer {
	bool (*piece)(void *ctx, const struct history_piece *piece);
	bool (*delta)(void *ctx, size_t port, const struct history_port *who, const struct delta *delta,
		      int64_t samples);
	void *ctx;
};

/* reader_history - the pieces of a window. Return: 0, also if nothing is stored; ERR_IO. */
int reader_history(struct reader *reader, const struct history_query *query, const struct history_consumer *consumer,
		   struct error *err);

/* The total of a window. */
struct history_sum {
	struct delta sum;
	int64_t samples; /* number of sweeps; 0: nothing is stored */
	counter_set ever; /* counters known in at least one sweep, whose known values are summed; sum.known: in all */
};

/*
 * reader_history_sums - the total of each port in a window
 * @query:  with ports; longest_us is not used
 * @ret:    parallel to query->ports
 *
 * Return: 0 or ERR_IO.
 */
int reader_history_sums(struct reader *reader, const struct history_query *query, struct history_sum *ret,
			struct error *err);

/*
 * reader_history_totals - the same without an array of all totals, also without ports in the query
 * @each:  called for each port that was ever stored, before an error for some of them; @port, @who: as in
 *         struct history_consumer
 */
typedef void history_total_fn(void *ctx, size_t port, const struct history_port *who, const struct history_sum *total);
int reader_history_totals(struct reader *reader, const struct history_query *query, history_total_fn *each, void *ctx,
			  struct error *err);

/* An error counter that increased in one sweep. */
struct history_error {
	struct history_port who;
	int64_t wall_us;  /* of the sweep */
	enum counter counter;
	uint64_t value;   /* increase */
	bool at_least;    /* a lower bound (delta_lower_bounds()) */
};

/*
 * reader_history_errors - call @each for the errors of a window, in order of sweeps, until it returns false
 * @since_us, @until_us:  wall clock, (since, until]
 *
 * Only sweeps whose samples are stored; the cost is proportional to the number of errors.
 * Return: 0 or ERR_IO.
 */
typedef bool history_error_fn(void *ctx, const struct history_error *error);
int reader_history_errors(struct reader *reader, int64_t since_us, int64_t until_us, history_error_fn *each, void *ctx,
			  struct error *err);

struct load_query {
	int64_t since_us, until_us;      /* wall clock, (since, until] */
	bool round;                      /* move the window to ends of stored sums: reader_history_round() */
	const struct snapshot *snapshot; /* of a time near it: the fabric, and the capabilities of its agents */
	const uint32_t *ports;           /* indices into its fabric; NULL: all ports with counters and a peer */
	size_t port_count;               /* of @ports */
	struct history_damage *damage;   /* counts on; or NULL */
};

/*
 * reader_history_loads - the loads of ports in a window (analysis/balance.h)
 * @loads:  by port of the fabric: those of the ports are set
 *
 * Return: 1; 0 without a sweep in the window; ERR_IO, ERR_NOMEM.
 */
int reader_history_loads(struct reader *reader, const struct load_query *query, struct balance_load *loads,
			 struct error *err);

/*
 * history_step_us - the length of steps of a plot or of data that can be read without a noticeable wait
 * @range:    of the window; @span_us: its length
 * @ports:    number of ports that are read
 * @points:   wanted; up to twice as many where each sweep can be a point
 *
 * Return: a round length (series_round_span()); 0: each sweep is a step.
 */
int64_t history_step_us(const struct history_range *range, size_t ports, int64_t span_us, unsigned points);

/* Series to fill, and where their data came from. */
struct history_series {
	const struct history_range *range;
	int64_t longest_us;               /* as in struct history_query: half of the shortest step */
	const struct history_port *ports; /* that are added up, each once */
	const struct metric_port *metric_ports; /* parallel to ports */
	size_t port_count;
	struct series **series;           /* initialised by series_init() (analysis/series.h) */
	size_t series_count;
	struct history_damage *damage;    /* counts on; or NULL */
	size_t pieces[HISTORY_SOURCE_COUNT]; /* set: number of pieces by source */
	bool any;                         /* set: a piece has samples of the ports */
};

/*
 * reader_history_series - read a window once into several series of the same ports
 * Return: 0, also if nothing is stored; ERR_IO; ERR_NOMEM.
 */
int reader_history_series(struct reader *reader, struct history_series *query, struct error *err);

#endif
