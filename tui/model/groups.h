/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * groups.h - a fabric's ports by what they are there for: where is the load, where is trouble
 *
 * Every direction of every link that is up is in exactly one row, by the port that sends:
 * "compute out" are HCAs' ports, "compute in" the switches' ports to them, "leaf up",
 * "spine down" and so on. A switch whose group of links has a finding has a row of its own.
 * Pure: no curses, no I/O. O(ports).
 */
#ifndef IBWIRE_TUI_MODEL_GROUPS_H
#define IBWIRE_TUI_MODEL_GROUPS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "fabric/fabric.h"
#include "tui/model/subject.h"

struct error;
struct finding_row;
struct snapshot_context;
struct port_table;

#define GROUP_BUCKETS 10
#define GROUP_NAME_SIZE (NODE_NAME_SIZE + 16)

/* With fewer of its ports read than this share, nothing can be said of a group. */
#define GROUP_COVERAGE 0.95

/* Rows of switches of their own: further ones are in the rows of all others. */
#define GROUP_OWN_MAX 16

enum group_state {
	GROUP_STATE_UNKNOWN, /* too few were read */
	GROUP_STATE_OK,
	GROUP_STATE_INFO,    /* nothing wrong, but worth a word: incast, a slow receiver */
	GROUP_STATE_WARNING,
	GROUP_STATE_CRITICAL,
};

struct port_group {
	char name[GROUP_NAME_SIZE];
	struct subject own;    /* of a switch's row: the switch's group; else NONE */
	char filter[48];       /* of the others: what lets its links through (tui/model/filter.h) */
	uint32_t ports;        /* whose link is up */
	uint32_t known;        /* of these, with a rate */
	uint32_t silent;
	uint32_t no_counters;  /* of ports: unsupported, or not asked by the settings */
	/* Percent of the link's data rate that the ports send, over known; NAN where none is. */
	double mean_percent, min_percent, max_percent;
	uint32_t first;        /* any of its ports */
	uint32_t hottest;      /* the port of max_percent, or FABRIC_NONE */
	double bytes_per_s;    /* sum over known, NAN where none is */
	double stall_percent;  /* mean over those with an estimate, NAN where none has */
	uint32_t stall_known;
	double errors;         /* sum; NAN where no error counter was read */
	bool errors_at_least;
	uint32_t buckets[GROUP_BUCKETS]; /* of known: 0 to 10 percent, ... 90 and more */
	const struct finding_row *worst; /* of its ports' findings that nobody acknowledged; borrowed of the context */
};

struct port_groups {
	struct port_group *list;
	size_t count;
};

/*
 * groups_make - all rows that have ports
 * @table, @context:  of one snapshot; an empty table has no rows
 * @ret:             what was in it is freed; groups_done() frees it
 * Return: 0 or ERR_NOMEM: then it is empty.
 */
int groups_make(const struct port_table *table, const struct snapshot_context *context, struct port_groups *ret,
		struct error *err);
void groups_done(struct port_groups *groups);

enum group_state group_state(const struct port_group *group);

/* group_state_word - "ok", "unknown", "WARN", "incast"; "CRIT routing" where @columns has room. Return: @ret. */
const char *group_state_word(const struct port_group *group, int columns, char *ret, size_t size);

/*
 * group_histogram - one character for each bucket, as high as it is full beside the fullest
 * "." for none; anything else is seen. In ASCII 1 to 9.
 * Return: @ret, at least CELL_SIZE bytes.
 */
const char *group_histogram(const struct port_group *group, bool unicode, char *ret);

#endif
