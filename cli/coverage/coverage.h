/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* coverage.h - `ibwire coverage`, private to its folder */
#ifndef IBWIRE_CLI_COVERAGE_H
#define IBWIRE_CLI_COVERAGE_H

#include <stdbool.h>
#include <stdint.h>

#include "cli/lib/options.h"
#include "fabric/host_set.h"

struct command;
struct coverage_report;
struct error;

struct coverage_pairs {
	struct options *options;
	bool hostfile;
	int64_t round;          /* 0: all */
	const char *rail;       /* NULL: all */
	struct host_set hosts;  /* empty: all compute hosts */
};

/*
 * coverage_show_pairs - print the rounds of host pairs that load what is left
 * @report:  after coverage_read(); @report->all: all directions, whatever the history has
 * Return: 0; 1: some directions cannot be loaded by host pairs; ERR_USAGE; ERR_UNAVAILABLE: no tables; ERR_IO;
 * ERR_NOMEM.
 */
int coverage_show_pairs(const struct command *command, const struct coverage_report *report,
			const struct coverage_pairs *pairs, struct error *err);

#endif
