/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * series.h - one metric of one port, or of several together, in steps of time
 *
 * It is given pieces of time in any order (sweeps, or sums of some) and in each what
 * ports counted in it. A step shows the smallest and the largest of its pieces, their mean
 * over time, and the total. Nothing is spread over time that was read at once: what a
 * port counted belongs to the step in which it was read.
 */
#ifndef IBWIRE_ANALYSIS_SERIES_H
#define IBWIRE_ANALYSIS_SERIES_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "analysis/metric.h"

struct error;
struct text;

struct series_step {
	int64_t from_us, until_us; /* wall clock: (from, until] */
	/* Units per second of a count, percent of a share. NAN: nothing is known of it, a gap. */
	double low, mean, high;
	uint64_t total;     /* of a count; stops at UINT64_MAX */
	bool has_total;
	bool at_least;      /* a counter was reset, or is full: it was this much or more */
	int64_t samples;    /* readings of ports in it */
	size_t ports;       /* the fewest ports that a piece in it knows; 0: a gap */
	double weight_us;   /* the time that the mean is over */
	unsigned tags;      /* those of its pieces, or-ed */
};

struct series {
	struct metric metric;
	int64_t step_us;    /* 0: each piece is a step of its own */
	struct series_step *steps;
	size_t count, capacity;
	/* The piece in hand. */
	struct {
		int64_t from_us, to_us;
		double part, whole, elapsed_us;
		size_t ports;
	} piece;
	struct series_step *at; /* that it belongs to */
};

/* More steps than that nobody looks at. */
#define SERIES_STEPS_MOST 100000

/*
 * series_init - steps over (@since_us, @until_us]
 * @step_us:  0: a step for each piece; else the first step begins at a multiple of it
 * @zone_us:  when_zone_us(): multiples are counted in that local time
 *
 * Return: 0; ERR_USAGE where that would be more than SERIES_STEPS_MOST; ERR_NOMEM. series_done() frees it.
 */
int series_init(struct series *series, const struct metric *metric, int64_t since_us, int64_t until_us,
		int64_t step_us, int64_t zone_us, struct error *err);
void series_done(struct series *series);

/*
 * series_begin - a piece begins: a sweep (@from_us and @to_us are its time) or some (of the first and the last)
 *                @tags: bits of the caller's own
 * series_add - what a port counted in it
 * series_end - the piece is complete
 *
 * Return: 0 or ERR_NOMEM.
 */
int series_begin(struct series *series, int64_t from_us, int64_t to_us, unsigned tags);
void series_add(struct series *series, const struct metric_port *port, const struct delta *delta, int64_t samples);
void series_end(struct series *series);

/* What a plot of a series is drawn with. */
struct series_plot {
	int64_t from_us, until_us; /* wall clock: its left and its right edge */
	unsigned width, height;    /* columns and lines of the whole text */
	bool ascii;
	/* In what is shown (bits, per hour, percent): */
	double top;                /* where its axis ends; 0: as needed */
	double reach;              /* what it goes up to at least; 0: nothing. series_high() of a plot beside it */
};

/* series_high - the highest value of all steps, in what is shown; 0 where nothing is known. */
double series_high(const struct series *series);

/* series_plot - append the lines of plot_draw() (base/plot.h) for a series. Return: 0 or ERR_NOMEM. */
int series_plot(const struct series *series, const struct series_plot *plot, struct text *ret);

/* series_round_span - the least round span (1 s, 2 s, 5 s ... 28 days) that is at least as long as @span_us. */
int64_t series_round_span(int64_t span_us);

/* series_is_unknown - is nothing known in any step: was the counter read nowhere? */
bool series_is_unknown(const struct series *series);

#endif
