/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* history.h - plots of rate, stall and errors over a window, as sections of a page */
#ifndef IBWIRE_PAGES_HISTORY_H
#define IBWIRE_PAGES_HISTORY_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "analysis/metric.h"
#include "storage/history.h"

struct error;
struct moment;
struct page;
struct page_mark;

/* One series: a port, or the sum of several. */
struct history_subject {
	char *name;               /* displayed name, sanitised */
	uint32_t *ports;          /* indices in the moment's fabric */
	size_t port_count;
	bool single;              /* a single port, not a sum */
};

struct history_window {
	const struct moment *moment; /* the fabric at its end */
	int64_t since_us, until_us;  /* wall clock */
	struct history_range range;
	struct history_damage damage; /* found while reading */
};

/*
 * history_metric_port - the metric input of a port
 * history_subject_read - reader_history_series() of the ports of a subject
 * @query:  without ports
 */
struct metric_port history_metric_port(const struct moment *moment, uint32_t index);
int history_subject_read(const struct moment *moment, const struct history_subject *subject,
			 struct history_series *query, struct error *err);

/*
 * history_window_find - set the range. In a new database the window begins with its first sweep.
 * Return: 1; 0: there is nothing to plot; or an error.
 */
int history_window_find(struct history_window *window, struct error *err);

/*
 * history_add_plots - add a pair of sections with plots of rate, stall and errors
 * @in:     mask of enum page_target
 * @rates:  number of subjects whose rates are drawn, from the first
 * @marks:  times that are marked in all plots; borrowed until the page is rendered
 *
 * Return: 0; ERR_USAGE for too many subjects; or an error of the reader.
 */
enum { HISTORY_SUBJECTS_MOST = 8 };
int history_add_plots(struct history_window *window, const struct history_subject *subjects, size_t count,
		      unsigned in, size_t rates, const struct page_mark *marks, size_t mark_count, struct page *page,
		      struct error *err);

#endif
