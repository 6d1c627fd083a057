/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* report.h - what a report is about (inside the command) */
#ifndef IBWIRE_CLI_REPORT_H
#define IBWIRE_CLI_REPORT_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "cli/view.h"
#include "storage/history.h"
#include "storage/reader.h"

struct error;
struct options;

enum { WINDOW_COUNT = 3 };

struct report {
	struct view view;          /* at the end of the window, or the last in which a node that is gone was there */
	const struct options *options;
	uint32_t node;             /* that was named, or whose port was */
	uint32_t *ports;           /* that it is about: a port and its peer, or all ports of a node */
	size_t port_count;
	struct past_peer *past;    /* parallel to them: the last other end of those without one; guid 0: none */
	bool of_node, opened;
	int64_t gone_us;           /* wall clock: since when the node is not in the fabric; 0: it is */
	int64_t until_us, window_us[WINDOW_COUNT];
	struct history_sum *sums[WINDOW_COUNT]; /* by ports */
	struct history_damage damage;
	bool first_part;
};

/*
 * report_open - find what is typed, in the fabric as it is at the window's end or as it was when that was in it last
 * @options:  without a window, which would be one of counters
 * @typed:    a node or a port
 *
 * Return: 0; ERR_USAGE where it fits nobody, or several; ERR_UNAVAILABLE, ERR_IO, ERR_NOMEM.
 * report_close() in any case.
 */
int report_open(struct report *report, const struct options *options, const char *typed, struct error *err);
void report_close(struct report *report);

#endif
