/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* sample_plan.h - which samples a WHERE clause on the tables of samples requires; for storage/ only */
#ifndef IBWIRE_STORAGE_SAMPLE_PLAN_H
#define IBWIRE_STORAGE_SAMPLE_PLAN_H

#include <stdbool.h>
#include <stdint.h>

#include <sqlite3.h>

#include "fabric/counter.h"

struct error;
struct sql_table;

/* Columns of sample, in order. */
enum sample_column {
	SAMPLE_SWEEP, SAMPLE_TIME, SAMPLE_WALL, SAMPLE_NODE, SAMPLE_NODE_GUID, SAMPLE_PORT, SAMPLE_PORT_ID,
	SAMPLE_ELAPSED, SAMPLE_UNKNOWN, SAMPLE_RESET, SAMPLE_SATURATED, SAMPLE_XMIT_BYTES, SAMPLE_RCV_BYTES,
	SAMPLE_COUNTERS,
	SAMPLE_SINCE = SAMPLE_COUNTERS + COUNTER_COUNT, SAMPLE_UNTIL, /* hidden: arguments */
};

/* Another kind of table: sweep, port_id (as port), elapsed_us, unknown, and the traffic counters. */
#define SAMPLE_DELTA "delta"

/* And the sums of ports, with their columns. */
#define SAMPLE_PORT_SUM "port_sum"
enum sum_column {
	SUM_NODE, SUM_NODE_GUID, SUM_PORT, SUM_PORT_ID, SUM_SAMPLES, SUM_ELAPSED, SUM_UNKNOWN, SUM_RESET,
	SUM_SATURATED, SUM_XMIT_BYTES, SUM_RCV_BYTES, SUM_COUNTERS, SUM_SINCE = SUM_COUNTERS + COUNTER_COUNT, SUM_UNTIL,
};

/* sample_column_of - the column of sample that a column of a table is; -1: it bounds nothing. */
int sample_column_of(const struct sql_table *table, int column);

/* The samples to read. SQLite checks each row again, so they may be more than the WHERE clause selects. */
struct sample_bounds {
	bool nothing;
	int64_t after, until;     /* sweeps in (after, until] */
	int64_t from_us, to_us;   /* wall clock of the sweep, in [from, to] */
	bool by_time;             /* from_us or to_us is set */
	int64_t port_id;          /* 0: any */
	int num;                  /* -1: any */
	bool by_guid;
	uint64_t guid;
	const char *node;         /* name; NULL: any (borrowed from the arguments) */
};

/* sample_best_index - xBestIndex. The plan is a text of a column and an operator for each argument. */
#define SAMPLE_PLAN_COLUMN(column) ((char)('A' + (column)))
int sample_best_index(sqlite3_vtab *table, sqlite3_index_info *info);

/* sample_bounds_read - the plan's arguments. Return: 0, or ERR_USAGE where since or until is no time. */
int sample_bounds_read(const char *plan, int argc, sqlite3_value **argv, struct sample_bounds *ret,
		       struct error *err);

/*
 * sample_time_bound - the first (@upper: the last) time whose text can be on the far side of @text
 * Texts are as when_format_utc() writes them, and compare as text; @text is any text.
 * Return: microseconds since 1970; INT64_MIN (INT64_MAX) without a bound.
 */
int64_t sample_time_bound(const char *text, bool upper);

#endif
