/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* history.h - shared by the files of `ibwire history` */
#ifndef IBWIRE_CLI_HISTORY_H
#define IBWIRE_CLI_HISTORY_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "analysis/series.h"
#include "cli/lib/options.h"
#include "facts/moment.h"
#include "storage/history.h"

struct command;
struct error;
struct page;
struct page_mark;

enum { HISTORY_METRICS_MOST = 8 };

/* The parsed command line. */
struct history {
	const struct command *command;
	struct options options;
	const char *counters;     /* --counter: comma-separated keys; NULL: the default */
	const char *by;           /* --by */
	int64_t step_us;          /* --step; 0: by the window */
	int64_t top;              /* --top; 0: series over time */
	bool peers, each, ascii;
	const char *html;         /* --html: path; NULL: none */
	bool links;               /* --links */
	struct metric metrics[HISTORY_METRICS_MOST];
	size_t metric_count;
	int64_t since_us, until_us; /* the window, wall clock */
	struct moment view;         /* the fabric at its end */
	struct history_range range;
	struct history_damage damage; /* damage found while reading */
};

/* One series: a port, or the sum of several. */
struct subject {
	char *name;               /* displayed name, sanitised */
	struct history_port *ports;
	uint32_t *indices;        /* parallel: index in the view's fabric, or FABRIC_NONE */
	size_t port_count;
	bool single;              /* a single port, not a sum */
};

struct subjects {
	struct subject *items;
	size_t count, capacity;
};

/* history_port_of - the metric input of a port of the view's fabric; FABRIC_NONE: empty. */
struct metric_port history_port_of(const struct history *history, uint32_t index);

/*
 * history_series - values over time. history_top - ports with the highest values. Return: 0 or an
 * error.
 */
int history_series(struct history *history, const struct subjects *subjects, struct error *err);
int history_top(struct history *history, const struct subjects *subjects, struct error *err);

/*
 * history_read - the series of a subject, without output
 * @step_us:  as in series_init()
 * @ret:      one for each metric; series_done() frees them
 */
int history_read(struct history *history, const struct subject *subject, int64_t step_us, struct series *ret,
		 struct error *err);

/*
 * history_html - `--html`: a page of HTML with plots of rate, stall and errors, findings and events
 * history_add_plots - add a pair of sections with only the plots. Sets the metrics of @history
 * @in:     mask of enum page_target
 * @rates:  number of subjects whose rates are drawn, from the first
 * @marks:  times that are marked in all plots; borrowed until the page is rendered
 */
int history_html(struct history *history, const struct subjects *subjects, struct error *err);
int history_add_plots(struct history *history, const struct subjects *subjects, unsigned in, size_t rates,
		      const struct page_mark *marks, size_t mark_count, struct page *page, struct error *err);

/* history_nothing - error for a window without samples. Return: ERR_UNAVAILABLE. */
int history_nothing(const struct history *history, const struct subject *subject, struct error *err);

#endif
