/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* history.h - shared by the files of `ibwire history` */
#ifndef IBWIRE_CLI_HISTORY_H
#define IBWIRE_CLI_HISTORY_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "analysis/series.h"
#include "cli/lib/options.h"
#include "fabric/detail.h"
#include "facts/moment.h"
#include "pages/history.h"
#include "storage/history.h"

struct command;
struct error;

enum { HISTORY_METRICS_MOST = 8 };

/* The parsed command line. */
struct history {
	const struct command *command;
	struct options options;
	const char *counters;     /* --counter: comma-separated keys; NULL: the default */
	const char *by;           /* --by */
	bool levels;              /* --by sl */
	int64_t step_us;          /* --step; 0: by the window */
	int64_t top;              /* --top; 0: series over time */
	bool peers, each, ascii;
	const char *html;         /* --html: path; NULL: none */
	bool links;               /* --links */
	struct metric metrics[HISTORY_METRICS_MOST];
	size_t metric_count;
	bool is_detail;           /* --by is a detail counter; metrics[0] has its key and unit */
	enum detail_attribute detail; /* which */
	unsigned detail_number;
	int64_t since_us, until_us; /* the window, wall clock */
	struct moment moment;         /* the fabric at its end */
	struct history_range range;
	struct history_damage damage; /* damage found while reading */
};

struct subjects {
	struct history_subject *items;
	size_t count, capacity;
};

/*
 * history_series - values over time. history_top - ports with the highest values. history_levels - data by service
 * level over time. Return: 0 or an error.
 */
int history_series(struct history *history, const struct subjects *subjects, struct error *err);
int history_levels(struct history *history, const struct subjects *subjects, struct error *err);
int history_top(struct history *history, const struct subjects *subjects, struct error *err);

/* history_html - `--html`: a page of HTML with plots of rate, stall and errors, findings and events */
int history_html(struct history *history, const struct subjects *subjects, struct error *err);

/* history_nothing - error for a window without samples. Return: ERR_UNAVAILABLE. */
int history_nothing(const struct history *history, const struct history_subject *subject, struct error *err);

#endif
