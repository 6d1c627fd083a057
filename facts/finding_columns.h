/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* finding_columns.h - the columns of findings, each described once */
#ifndef IBWIRE_FACTS_FINDING_COLUMNS_H
#define IBWIRE_FACTS_FINDING_COLUMNS_H

#include <stdbool.h>
#include <stdint.h>

#include "export/result.h"

struct fabric;
struct finding;
struct finding_row;
struct name_map;
struct order;
struct text;

/* A row of a table of findings. */
struct finding_facts {
	const struct finding_row *row;
	const struct fabric *fabric; /* names of nodes; those that are not in it have their mapped or stored name */
	const struct order *order;   /* of the fabric */
	const struct name_map *names; /* or NULL */
	int64_t time_us;             /* of the sweep */
	bool drained;                /* all affected hosts are out of service */
	const char *change;          /* what changed since the last row of this finding; NULL: unknown */
};

/*
 * finding_format_increase - "last error 12m30s ago"; "" if it has no count, or its count is of a later time
 * @shown_us:  the time that is shown, wall clock
 * Return: @ret.
 */
#define FINDING_INCREASE_SIZE 64
const char *finding_format_increase(const struct finding *finding, int64_t shown_us, char ret[FINDING_INCREASE_SIZE]);

/* finding_format_peak_time - "100 % at 11:28:58"; "" unless the peak exceeds the current value */
#define FINDING_PEAK_SIZE 96
const char *finding_format_peak_time(const struct finding_row *row, int64_t shown_us, char ret[FINDING_PEAK_SIZE]);

/* finding_append_hosts - "16 hosts: node[0017-0032]"; nothing if it affects none */
void finding_append_hosts(const struct finding *finding, struct text *text);

/* Columns of a struct finding_facts; the last one has no key, the one before it is "change". */
extern const struct column finding_columns[];

#endif
