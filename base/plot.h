/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * plot.h - values over time as lines of text
 *
 * The height of a bar is the mean over the time of its column; a dot above it is the maximum, if that
 * is at least a row higher. A column without data is blank; 0 is not. A "+" tops a bar with lower bounds.
 */
#ifndef IBWIRE_BASE_PLOT_H
#define IBWIRE_BASE_PLOT_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct text;

struct plot_point {
	int64_t from_us, until_us; /* wall clock; until > from */
	double mean, high;         /* from 0 up; mean NAN: a gap; high NAN: equal to the mean */
	bool at_least;             /* lower bounds */
};

struct plot {
	const struct plot_point *points; /* in order of time, not overlapping */
	size_t count;
	int64_t from_us, until_us; /* time at the left and the right edge */
	unsigned width, height;    /* of the text, in columns and lines; at least 3 lines */
	bool ascii;                /* otherwise Unicode block elements */
	/* Format a value for the axis on the left, at most @size bytes. Return: @ret. */
	const char *(*label)(const void *ctx, double value, char *ret, size_t size);
	const void *label_ctx;
	double top;                /* end of the axis; 0: chosen for the points */
	double reach;              /* minimum end of the axis, so that two plots share one; 0: none */
};

#define PLOT_LABEL_SIZE 32

/*
 * plot_draw - append the lines of a plot to @ret
 * Labels on the left are omitted if less than 10 columns would remain for bars. Nothing is drawn in
 * less than 1 column for bars or 3 lines. Times are local.
 *
 * Return: 0 or ERR_NOMEM (@ret is incomplete).
 */
int plot_draw(const struct plot *plot, struct text *ret);

/* plot_round_top - round up to the end of an axis, whose quarters have few digits; 1 for 0 and NAN. */
double plot_round_top(double high);

/*
 * plot_ticks_begin, plot_ticks_next - the ticks of a time axis, at round local times
 * @columns:  width of the axis in columns of text, for labels that do not overlap
 * @ret_us:   wall clock of the next tick
 *
 * Return of plot_ticks_next: false after the last tick.
 */
struct plot_ticks {
	int64_t from_us, until_us;
	int64_t every_us, local_us; /* distance; next tick in local time */
};
struct plot_ticks plot_ticks_begin(int64_t from_us, int64_t until_us, unsigned columns);
bool plot_ticks_next(struct plot_ticks *ticks, int64_t *ret_us);

/* plot_ticks_format - "14:00", with seconds if ticks are close, the date at midnight. Return: columns. */
unsigned plot_ticks_format(const struct plot_ticks *ticks, int64_t wall_us, char *ret, size_t size);

#endif
