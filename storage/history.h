/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * history.h - what ports counted over a window, piece by piece, from whatever is the quickest to read
 *
 * The store keeps samples of each sweep, sums of some sweeps (chunk sums) and sums of
 * about an hour. A reader says how long a piece may be; it gets single sweeps
 * where pieces must be short or nothing else covers the time, sums elsewhere, and
 * is told which. Every sample of the window is in exactly one piece.
 */
#ifndef IBWIRE_STORAGE_HISTORY_H
#define IBWIRE_STORAGE_HISTORY_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "analysis/delta.h"

struct balance_load;
struct error;
struct metric_port;
struct reader;
struct snapshot;
struct series;

enum history_source { HISTORY_RAW, HISTORY_CHUNK_SUMS, HISTORY_HOUR_SUMS, HISTORY_SOURCE_COUNT };

/* history_source_name - "raw", "chunk sums", "hour sums". */
const char *history_source_name(enum history_source source);

/* A port as it is known for ever. */
struct history_port {
	uint64_t node_guid;
	uint8_t num;
};

/* The sweeps of a window: those labelled later than its beginning, up to its end. */
struct history_range {
	int64_t after, until;   /* sweeps in (after, until]; equal: there is none */
	int64_t first_us, last_us; /* wall clock of the first and the last of them; 0 where that is not known */
	int64_t oldest_us, newest_us; /* wall clock of the oldest and newest sweep of all that are kept, in any form */
	/* How long the last chunk sum and the last hour sum in it are, from first to last sweep; 0: it has none. */
	int64_t chunk_us, hour_us;
	int64_t chunk_sweeps; /* sweeps in that chunk sum */
};

/*
 * reader_history_range - which sweeps a window holds
 * @since_us, @until_us:  wall clock: (since, until]; until 0: up to the newest
 *
 * Return: 0, also where there is none; ERR_IO. What is found, a retention may
 * remove before it is read: then it is not there any more, which is no error.
 */
int reader_history_range(struct reader *reader, int64_t since_us, int64_t until_us, struct history_range *ret,
			 struct error *err);

/*
 * reader_history_round - move both ends of a range to where stored sums begin and end
 * By half a window of sums at most (a minute where sweeps are a second apart). Sums of all
 * ports then need no sample but those that are newer than any sum: a fifth of the time.
 * @range:  of reader_history_range(); first_us and last_us say what it is then
 */
int reader_history_round(struct reader *reader, struct history_range *range, struct error *err);

/* A piece of the window: one sweep (HISTORY_RAW), or a stored sum of several. */
struct history_piece {
	enum history_source source;
	int64_t from_sweep, to_sweep; /* the first, and the first behind it */
	int64_t from_us, to_us;       /* wall clock of the first and the last sweep in it */
};

/* Packed samples that could not be read, and are left out. */
struct history_damage {
	size_t count;
	char first[96]; /* which the first of them are */
};

struct history_query {
	int64_t after, until;     /* sweeps, as in struct history_range */
	int64_t longest_us;       /* of a sum, from its first to its last sweep; 0: single sweeps */
	const struct history_port *ports; /* NULL: every port that was ever known */
	size_t port_count;        /* each is given once, for the first place that it has */
	counter_set counters;     /* what deltas are wanted of; others may come as not known */
	struct history_damage *damage; /* counts on; or NULL */
};

/*
 * Who is told. Both return whether to go on.
 * @piece:  begins a piece (also one that has nothing of the ports)
 * @delta:  of one port in it: @port indexes query->ports, or is meaningless without them, and
 *          @who says which it is; @samples: how many sweeps it is the sum of
 *
 * Pieces come in order of their sweeps.
 */
struct history_consumer {
	bool (*piece)(void *ctx, const struct history_piece *piece);
	bool (*delta)(void *ctx, size_t port, const struct history_port *who, const struct delta *delta,
		      int64_t samples);
	void *ctx;
};

/*
 * reader_history - give the pieces of a window
 * Return: 0, also where nothing is stored, or a port was never known; ERR_IO.
 */
int reader_history(struct reader *reader, const struct history_query *query, const struct history_consumer *consumer,
		   struct error *err);

/* All pieces of a window together. */
struct history_sum {
	struct delta sum;
	int64_t samples; /* how many sweeps it is the sum of */
};

/*
 * reader_history_sums - what each port counted in the whole window
 * @query:  with ports; longest_us is not used
 * @ret:    by place in query->ports; set to nothing where nothing is stored of a port
 * Return: 0 or ERR_IO.
 */
int reader_history_sums(struct reader *reader, const struct history_query *query, struct history_sum *ret,
			struct error *err);

/* An error counter that moved in one sweep. */
struct history_error {
	struct history_port who;
	int64_t wall_us;  /* of the sweep */
	enum counter counter;
	uint64_t value;   /* what was counted */
	bool at_least;    /* it was reset, or is full: so much or more */
};

/*
 * reader_history_errors - call @each for errors in (@since_us, @until_us], wall clock, in order of time, until it
 * returns false
 * Only of sweeps whose samples are kept (struct db_status says since when); their cost is that of the errors alone.
 * Return: 0 or ERR_IO.
 */
typedef bool history_error_fn(void *ctx, const struct history_error *error);
int reader_history_errors(struct reader *reader, int64_t since_us, int64_t until_us, history_error_fn *each, void *ctx,
			  struct error *err);

/* Whose loads are wanted, and of when. */
struct load_query {
	int64_t since_us, until_us;      /* wall clock: (since, until] */
	bool round;                      /* the window may begin and end where stored sums do: reader_history_round() */
	const struct snapshot *snapshot; /* of a time near it: its fabric, and what its agents can do */
	const uint32_t *ports;           /* indices into its fabric; NULL: all that have counters and a peer */
	size_t port_count;               /* of those; not used where ports is NULL */
	struct history_damage *damage;   /* counts on; or NULL */
};

/*
 * reader_history_loads - what ports carried in a window (analysis/balance.h)
 * @loads:  by port of the fabric: those of the ports are set
 * Return: 1; 0 where no sweep was in the window; ERR_IO, ERR_NOMEM.
 */
int reader_history_loads(struct reader *reader, const struct load_query *query, struct balance_load *loads,
			 struct error *err);
/*
 * history_step_us - how long the steps of a plot or of data may be so that nobody waits for them
 * @range:    of the window; @span_us: its length
 * @ports:    that are read
 * @points:   wanted; twice as many where each sweep can be a point of its own
 * Return: round (series_round_span()); 0: each sweep is a step.
 */
int64_t history_step_us(const struct history_range *range, size_t ports, int64_t span_us, unsigned points);

/* What is to be read into series, and how that went. */
struct history_series {
	const struct history_range *range;
	int64_t longest_us;               /* as in struct history_query: half of the shortest step */
	const struct history_port *ports; /* what is added up; each is given once */
	const struct metric_port *metric_ports; /* parallel to them */
	size_t port_count;
	struct series **series;           /* series_init() has been called for each (analysis/series.h) */
	size_t series_count;
	struct history_damage *damage;    /* counts on; or NULL */
	/* How many pieces came from where, and whether there was anything of the ports in them. */
	size_t pieces[HISTORY_SOURCE_COUNT];
	bool any;
};

/*
 * reader_history_series - read a window once into several series of the same ports
 * Return: 0, also where nothing is stored; ERR_IO; ERR_NOMEM.
 */
int reader_history_series(struct reader *reader, struct history_series *query, struct error *err);

#endif
