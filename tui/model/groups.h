/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * groups.h - ports by role: load and problems of each group
 *
 * Every direction of every link that is up is in exactly one row, by the sending port: "compute
 * out" are HCA ports, "compute in" the switch ports to them, "leaf up", "spine down" and so on. A
 * switch with a finding on its group of links has a row of its own. Pure: no curses, no I/O.
 * O(ports).
 */
#ifndef IBWIRE_TUI_MODEL_GROUPS_H
#define IBWIRE_TUI_MODEL_GROUPS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "analysis/measure.h"
#include "fabric/fabric.h"
#include "tui/model/subject.h"

struct error;
struct finding_row;
struct snapshot_context;
struct port_table;

#define GROUP_BUCKETS 10
#define GROUP_NAME_SIZE (NODE_NAME_SIZE + 16)

/* Minimum share of ports read for a statement on a group. */
#define GROUP_COVERAGE 0.95

/* Maximum number of rows of single switches. */
#define GROUP_OWN_MAX 16

enum group_state {
	GROUP_STATE_UNKNOWN, /* too few ports were read */
	GROUP_STATE_OK,
	GROUP_STATE_INFO,    /* an informational finding: incast, slow receiver */
	GROUP_STATE_WARNING,
	GROUP_STATE_CRITICAL,
};

struct port_group {
	char name[GROUP_NAME_SIZE];
	struct subject own;    /* for a switch's row: its group; else SUBJECT_NONE */
	char filter[48];       /* for other rows: filter for their links (filter.h) */
	uint32_t ports;        /* with link up */
	uint32_t known;        /* of these, with a known rate */
	uint32_t silent;
	uint32_t no_counters;  /* of ports: unsupported or excluded by the settings */
	/* TX utilization in percent of the link data rate, over the ports with counters. */
	struct measure mean_percent, min_percent, max_percent;
	uint32_t first;        /* any of its ports */
	uint32_t hottest;      /* the port of max_percent, or FABRIC_NONE */
	struct measure bytes_per_s;   /* sum over the ports with counters */
	struct measure stall_percent; /* mean over the ports that count it */
	struct measure errors; /* sum; MEASURE_NONE if no error counter was read */
	uint32_t buckets[GROUP_BUCKETS]; /* of known: 0 to 10 percent, ... 90 and more */
	const struct finding_row *worst; /* worst unacknowledged finding of its ports; borrowed from the context */
};

struct port_groups {
	struct port_group *list;
	size_t count;
};

/*
 * groups_make - all rows that have ports
 * @table, @context:  of one snapshot; an empty table has no rows
 * @ret:              its previous content is freed; groups_done() frees it
 * Return: 0 or ERR_NOMEM: empty then.
 */
int groups_make(const struct port_table *table, const struct snapshot_context *context, struct port_groups *ret,
		struct error *err);
void groups_done(struct port_groups *groups);

enum group_state group_state(const struct port_group *group);

/*
 * group_state_word - "ok", "unknown", "WARN", "incast"; "CRIT routing" if @columns suffice.
 * Return: @ret.
 */
const char *group_state_word(const struct port_group *group, int columns, char *ret, size_t size);

/*
 * group_histogram - one character per bucket, its height relative to the fullest bucket
 * "." for an empty bucket. 1 to 9 in ASCII.
 * Return: @ret, at least CELL_SIZE bytes.
 */
const char *group_histogram(const struct port_group *group, bool unicode, char *ret);

#endif
