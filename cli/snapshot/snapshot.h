/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* snapshot.h - the inside of `ibwire snapshot`: two snapshots side by side, and the rows that come of them */
#ifndef IBWIRE_CLI_SNAPSHOT_H
#define IBWIRE_CLI_SNAPSHOT_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "analysis/difference.h"
#include "cli/lib/polling.h"
#include "cli/lib/options.h"
#include "storage/saved.h"

struct command;
struct error;
struct fabric;
struct reader;

/* By what the rows of a difference are. */
enum diff_by { DIFF_BY_PORT, DIFF_BY_LINK, DIFF_BY_SWITCH, DIFF_BY_HOST, DIFF_BY_COUNT };

struct snapshot_options {
	struct options common;
	struct polling polling;
	const char *note;
	bool fast, all;
	const char *by;
	int64_t window, max_mads_per_s;
};

/* snapshot_take - one sweep of everything into the database. @name: as typed. */
int snapshot_take(const struct snapshot_options *options, const char *name, struct error *err);

/* A port that is in at least one of two snapshots. */
struct diff_port {
	uint32_t before, after; /* index into that fabric's ports, or FABRIC_NONE */
	bool recabled;          /* it is there in both, and the port at the other end is another one */
	struct difference difference;
};

struct diff {
	const struct saved *before, *after;
	struct diff_port *ports; /* those of `after` in its order, then those that are in `before` alone */
	size_t port_count;
	uint32_t *of_before;     /* by index into before's ports: into ports */
};

/*
 * diff_init - what was counted between two snapshots
 * @reader:  for what a collector saw in between
 * @before, @after:  borrowed until diff_done()
 * Return: 0; ERR_IO; ERR_NOMEM.
 */
int diff_init(struct diff *diff, struct reader *reader, const struct saved *before, const struct saved *after,
	      struct error *err);
void diff_done(struct diff *diff);

/* diff_fabric - the fabric that a port is shown by, and @ret_index in it: the later one that has it. */
const struct fabric *diff_fabric(const struct diff *diff, const struct diff_port *port, uint32_t *ret_index);

/* One end of a row: a port, or several added up. */
struct diff_side {
	const struct diff_port *port;   /* NULL: a sum */
	const struct counted *counters; /* COUNTED_COUNT, the port's or the row's; NULL: there is no such side */
};

struct diff_row {
	/* Of a port or link: its ends; of a sum sides[0] alone. */
	struct diff_side sides[2];
	struct counted *sum;  /* of a host or switch, and its name */
	char *name;
	uint64_t node_guid;   /* of a switch */
	uint32_t ports, ports_unknown;
	bool came, went;      /* the link is in one of the fabrics alone */
	uint64_t errors;      /* to sort by */
	uint64_t traffic;
	bool known;           /* anything is */
};

struct diff_rows {
	struct diff_row *rows;
	size_t count, capacity;
};

/* diff_rows_init - in the order in which they are shown: most errors first, then most traffic, then by name. */
int diff_rows_init(struct diff_rows *rows, const struct diff *diff, enum diff_by by, struct error *err);
void diff_rows_done(struct diff_rows *rows);

/* diff_print - on stdout. @all: in a table also what did not move */
int diff_print(const struct options *options, const struct diff *diff, const struct diff_rows *rows, enum diff_by by,
	       bool all, struct error *err);

#endif
