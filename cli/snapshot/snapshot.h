/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* snapshot.h - shared by the files of `ibwire snapshot` */
#ifndef IBWIRE_CLI_SNAPSHOT_H
#define IBWIRE_CLI_SNAPSHOT_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "cli/lib/options.h"
#include "cli/lib/polling.h"
#include "facts/snapshot_diff.h"

struct command;
struct error;

struct snapshot_options {
	struct options common;
	struct polling polling;
	const char *note;
	bool fast, all;
	const char *by, *columns, *sort;
	int64_t window, max_mads_per_s;
};

/* The defaults of struct snapshot_options. */
#define SNAPSHOT_DEFAULTS { \
	.polling = { .max_smps = POLLING_MAX_SMPS, .discovery = "libibnetdisc", .retries = -1, \
		     .deadline_us = POLLING_DISCOVERY_DEADLINE_US }, \
	.window = POLLING_WINDOW, .max_mads_per_s = POLLING_MADS_PER_S, \
}

/*
 * snapshot_take - store one sweep of all counters, and print a summary
 * snapshot_store - the same without output, for a process that handles its signals
 * @name:  as typed
 */
int snapshot_take(struct snapshot_options *options, const char *name, struct error *err);
int snapshot_store(struct snapshot_options *options, const char *name, struct error *err);

/* diff_print - print on stdout. @all: tables include unchanged rows */
int diff_print(const struct options *options, const struct diff *diff, const struct diff_rows *rows, enum diff_by by,
	       bool all, struct error *err);

#endif
