/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* report.h - the subject of a report (shared by the files of the command) */
#ifndef IBWIRE_CLI_REPORT_H
#define IBWIRE_CLI_REPORT_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "cli/health/health.h"
#include "cli/lib/columns.h"
#include "facts/moment.h"
#include "storage/reader.h"
#include "storage/history.h"

struct error;
struct options;

enum { WINDOW_COUNT = 3 };

/* Tables of columns from facts/. */
enum { REPORT_ENDS, REPORT_FINDINGS, REPORT_EVENTS, REPORT_TABLES };

struct report {
	struct moment view;          /* the fabric at the end of the window, or the last one with the removed node */
	const struct options *options;
	uint32_t node;             /* the selected node, or the node of the selected port */
	uint32_t *ports;           /* subject ports: a port and its peer, or all ports of a node */
	size_t port_count;
	struct past_peer *past;    /* parallel: the last peer of unconnected ports; guid 0: none */
	bool of_node, opened;
	int64_t departed_us;           /* wall clock: when the node was removed; 0: present */
	int64_t until_us, window_us[WINDOW_COUNT];
	struct history_sum *sums[WINDOW_COUNT]; /* by ports */
	struct history_damage damage;
	struct health_rows rows;   /* findings that were open in the longest window */
	const struct finding_row **findings; /* those of the subject */
	size_t finding_count;
	struct columns columns[REPORT_TABLES];
};

/*
 * report_open - resolve a name in the fabric at the end of the window, or the last one that had it
 * @options:  without a window
 * @typed:    a node or a port
 *
 * Return: 0; ERR_USAGE for an unknown or ambiguous name; ERR_UNAVAILABLE, ERR_IO, ERR_NOMEM.
 * Call report_close() in any case.
 */
int report_open(struct report *report, const struct options *options, const char *typed, struct error *err);
void report_close(struct report *report);

#endif
