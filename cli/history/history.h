/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* history.h - between the files of `ibwire history` */
#ifndef IBWIRE_CLI_HISTORY_H
#define IBWIRE_CLI_HISTORY_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "analysis/series.h"
#include "cli/lib/options.h"
#include "cli/lib/view.h"
#include "storage/history.h"

struct command;
struct error;

enum { HISTORY_METRICS_MOST = 8 };

/* What is asked, read from the command line. */
struct history {
	const struct command *command;
	struct options options;
	const char *counters;     /* --counter: keys with commas between them; NULL: the default */
	const char *by;           /* --by */
	int64_t step_us;          /* --step; 0: as it fits */
	int64_t top;              /* --top; 0: over time */
	bool peers, each, ascii;
	struct metric metrics[HISTORY_METRICS_MOST];
	size_t metric_count;
	int64_t since_us, until_us; /* the window, wall clock */
	struct view view;         /* the fabric as it was at its end */
	struct history_range range;
	struct history_damage damage; /* found while it was read */
};

/* What is shown as one: a port, or ports that are added up. */
struct subject {
	char *name;               /* as it is shown; harmless */
	struct history_port *ports;
	uint32_t *indices;        /* of the view's fabric, parallel; FABRIC_NONE */
	size_t port_count;
	bool single;              /* a port, and no sum */
};

struct subjects {
	struct subject *items;
	size_t count, capacity;
};

/*
 * subjects_init - resolve arguments: NODE/PORT, NODE, HOST, "hosts" and "all"; none: "all"
 * @history:  with its view; --each makes every port a subject of its own, --peers adds the other
 *            ends of ports' links
 *
 * Return: 0; ERR_USAGE where one fits nothing or several; ERR_NOMEM. subjects_done() frees it.
 */
int subjects_init(struct subjects *subjects, const struct history *history, struct error *err);
void subjects_done(struct subjects *subjects);

/* history_port_of - what a metric needs to know of a port of the view's fabric; FABRIC_NONE: nothing. */
struct metric_port history_port_of(const struct history *history, uint32_t index);

/* history_series - over time. history_top - the ports with the most of something. Return: 0 or an error. */
int history_series(struct history *history, const struct subjects *subjects, struct error *err);
int history_top(struct history *history, const struct subjects *subjects, struct error *err);

/* history_nothing - the error where a window holds nothing of what was asked. Return: ERR_UNAVAILABLE. */
int history_nothing(const struct history *history, const struct subject *subject, struct error *err);

#endif
