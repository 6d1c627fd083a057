/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* snapshot_diff.h - differences of two snapshots, by port and as rows */
#ifndef IBWIRE_FACTS_SNAPSHOT_DIFF_H
#define IBWIRE_FACTS_SNAPSHOT_DIFF_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "analysis/difference.h"
#include "storage/saved.h"

struct error;
struct fabric;
struct reader;

/* What a row of a difference stands for. */
enum diff_by { DIFF_BY_PORT, DIFF_BY_LINK, DIFF_BY_SWITCH, DIFF_BY_HOST, DIFF_BY_COUNT };

/* A port that is in at least one of two snapshots. */
struct diff_port {
	uint32_t before, after; /* port index in each fabric, or FABRIC_NONE */
	bool recabled;          /* in both, with different peers */
	struct difference difference;
};

struct diff {
	const struct saved *before, *after;
	struct diff_port *ports; /* ports of `after` in its order, then those only in `before` */
	size_t port_count;
	uint32_t *of_before;     /* from port indices of `before` to ports */
};

/*
 * diff_init - compute the difference of two snapshots
 * @reader:  for counter resets recorded by a collector
 * @before, @after:  borrowed until diff_done()
 * Return: 0; ERR_IO; ERR_NOMEM.
 */
int diff_init(struct diff *diff, struct reader *reader, const struct saved *before, const struct saved *after,
	      struct error *err);
void diff_done(struct diff *diff);

/* diff_fabric - the later fabric that has a port, and its @ret_index there. */
const struct fabric *diff_fabric(const struct diff *diff, const struct diff_port *port, uint32_t *ret_index);

/* One end of a row: a port, or several added up. */
struct diff_side {
	const struct diff_port *port;   /* NULL: a sum */
	const struct counted *counters; /* COUNTED_COUNT values of the port or row; NULL: no such side */
};

struct diff_row {
	/* The ends of a port or link; a sum has sides[0] only. */
	struct diff_side sides[2];
	struct counted *sum;  /* name of a host or switch */
	char *name;
	uint64_t node_guid;   /* GUID of a switch */
	uint32_t ports, ports_unknown;
	bool added, removed;  /* the link is in one of the fabrics only */
	uint64_t errors;      /* sort keys, of which `place` is the last */
	uint64_t traffic;
	size_t place;
	bool known;           /* is anything known? */
};

struct diff_rows {
	struct diff_row *rows;
	size_t count, capacity;
};

/* diff_rows_init - rows in output order: most errors first, then most traffic, then by name. */
int diff_rows_init(struct diff_rows *rows, const struct diff *diff, enum diff_by by, struct error *err);
void diff_rows_done(struct diff_rows *rows);

#endif
