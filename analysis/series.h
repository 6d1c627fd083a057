/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * series.h - one metric of a port, or of several together, over time in steps
 *
 * Input are pieces of time in any order (sweeps, or sums of several) with the deltas of ports. A
 * step has the minimum and the maximum of its pieces, their time-weighted mean, and the total. A
 * delta belongs to the step in which it was read; it is not distributed over time.
 */
#ifndef IBWIRE_ANALYSIS_SERIES_H
#define IBWIRE_ANALYSIS_SERIES_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "analysis/metric.h"
#include "base/plot.h"

struct error;

struct series_step {
	int64_t from_us, until_us; /* wall clock: (from, until] */
	/* Units per second of a count, percent of a share. NAN: unknown, a gap. */
	double low, mean, high;
	uint64_t total;     /* of a count; stops at UINT64_MAX */
	bool has_total;
	bool at_least;      /* a lower bound: a counter was reset or saturated, or a port of a sum was not read */
	int64_t samples;    /* number of readings */
	size_t ports;       /* minimum number of known ports of its pieces; 0: a gap */
	double weight_us;   /* time of the mean */
	int64_t window_us;  /* time of the total, of the port with the longest; it may begin before from_us */
	unsigned tags;      /* tags of its pieces, combined */
};

struct series {
	struct metric metric;
	int64_t step_us;    /* 0: each piece is a step */
	struct series_step *steps;
	size_t count, capacity;
	/* By port: the time in which it was read in a step; the steps are numbered as they are reached. */
	struct series_port {
		unsigned step;
		int64_t read_us;
	} *ports;
	unsigned step;
	int64_t step_window_us; /* of the current step before it was reached: the clock was set back */
	/* The current piece. */
	struct {
		int64_t from_us, to_us;
		double part, whole, elapsed_us;
		size_t ports;
		bool unknown;     /* of a port the metric is not known */
		double bound_us;  /* longest time of a port of which a count is "at least 0" */
		int64_t since_us; /* the earliest time at which one of its deltas begins that is not 0 */
	} piece;
	int64_t before_from_us, before_to_us; /* the piece before; 0: none */
	size_t ports_most;  /* in a piece */
	struct series_step *at; /* step of the current piece */
};

/* Maximum number of steps. */
#define SERIES_STEPS_MOST 100000

/*
 * series_init - create steps over (@since_us, @until_us]
 * @ports:    number of ports that are added up
 * @step_us:  0: a step for each piece; else steps start at multiples of it
 * @zone_us:  when_zone_us(): multiples are in that local time
 *
 * Return: 0; ERR_USAGE: more than SERIES_STEPS_MOST; ERR_NOMEM. series_done() frees it.
 */
int series_init(struct series *series, const struct metric *metric, size_t ports, int64_t since_us, int64_t until_us,
		int64_t step_us, int64_t zone_us, struct error *err);
void series_done(struct series *series);

/*
 * series_begin - start a piece: a sweep (@from_us and @to_us are its time) or several (of the first
 * and the last); @tags: bits of the caller
 * series_add - add the delta of a port; @place: of the port among them
 * series_end - end the piece
 *
 * Return: 0 or ERR_NOMEM.
 */
int series_begin(struct series *series, int64_t from_us, int64_t to_us, unsigned tags);
void series_add(struct series *series, size_t place, const struct metric_port *port, const struct delta *delta,
		int64_t samples);
void series_end(struct series *series);

/*
 * series_missed - a port of a sum was not read after @since_us (0: in no piece): its steps, which have the others, are
 * lower bounds
 * series_end() does so if the delta of a port begins before the piece before.
 */
void series_missed(struct series *series, int64_t since_us);

/* series_high - maximum of all steps in displayed units; 0: all unknown. */
double series_high(const struct series *series);

/*
 * series_plot - append the lines of plot_draw() for a series
 * @plot:  times and geometry; reach: series_high() of an adjacent plot
 * Return: 0 or ERR_NOMEM.
 */
int series_plot(const struct series *series, struct plot plot, struct text *ret);

/* series_round_span - smallest round span (1 s, 2 s, 5 s ... 28 days) of at least @span_us. */
int64_t series_round_span(int64_t span_us);

/*
 * series_is_unknown - all steps are unknown
 * series_is_reset - and the counter was read in one: it was reset each time, or is saturated, and counted nothing since
 */
bool series_is_unknown(const struct series *series);
bool series_is_reset(const struct series *series);

#endif
