/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * plot.h - numbers over time as lines of text
 *
 * A pure function: the same points give the same lines. Bars are as high as the
 * mean of a column's time; a dot above one is the largest value in it, where that
 * is a row higher or more. A column without data is blank, one that is 0 is not.
 */
#ifndef IBWIRE_BASE_PLOT_H
#define IBWIRE_BASE_PLOT_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct text;

/* What is known of one stretch of time. NAN mean: nothing, it is a gap. */
struct plot_point {
	int64_t from_us, until_us; /* wall clock; until is behind from */
	double mean, high;         /* from 0 up; high NAN: as the mean */
};

struct plot {
	const struct plot_point *points; /* in order of time, not overlapping */
	size_t count;
	int64_t from_us, until_us; /* what the plot shows, from its left to its right edge */
	unsigned width, height;    /* of the whole text in columns and lines; 3 lines at least */
	bool ascii;                /* else Unicode's block elements */
	/* A value as the axis on the left shows it, at most @size bytes. Return: @ret. */
	const char *(*label)(const void *ctx, double value, char *ret, size_t size);
	const void *label_ctx;
	double top;                /* where the axis ends; 0: as the points need it */
	double reach;              /* what it goes up to at least, so that two plots have one axis; 0: nothing */
};

#define PLOT_LABEL_SIZE 32

/*
 * plot_draw - append the lines of a plot to @ret
 * No line is wider than asked. In less room than 10 columns for bars the labels on
 * the left go; in less than 1, or in less than 3 lines, there is no plot.
 * Times below are local.
 *
 * Return: 0 or ERR_NOMEM (then @ret is marked as failed or shorter).
 */
int plot_draw(const struct plot *plot, struct text *ret);

#endif
