/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * catalog.h - properties of the tables (private to storage/)
 *
 * For each table: the kind of its data, which of its rows belong to a range of sweeps, and which
 * columns identify nodes or persons. Information, export and anonymisation use this list, so a new
 * table needs one entry; admin_test.c compares the list with the schema.
 */
#ifndef IBWIRE_STORAGE_CATALOG_H
#define IBWIRE_STORAGE_CATALOG_H

#include <stddef.h>
#include <stdint.h>

#include "storage/admin.h"

/* Which rows belong to a part of the history. */
enum catalog_range {
	RANGE_NONE,    /* none: a new database contains them */
	RANGE_ALL,     /* all */
	RANGE_SWEEPS,  /* by key: from the first sweep to the last */
	RANGE_WINDOWS, /* by key: as chunk_window.id */
	RANGE_HOURS,   /* by key: as hour.id */
	RANGE_SNAPSHOTS, /* by key: as snapshot.id, of those taken in the requested time */
	RANGE_JOBS,    /* by key: as job.number, of those that ran at the requested time */
	RANGE_FINDINGS, /* by key: as finding.id, of those that were open in one of the sweeps */
	RANGE_LASTING, /* valid in one of the sweeps: [from_sweep, to_sweep) */
	RANGE_COUNT,
};

/* The first and the last sweep of an export, in SQL (temporary table part of export.c). */
#define CATALOG_FIRST "(SELECT first FROM part)"
#define CATALOG_LAST "(SELECT last FROM part)"

enum { CATALOG_COLUMNS_MAX = 12 };

/* A column that an export does not copy as it is. */
struct catalog_column {
	const char *name;
	const char *sql;    /* its value in an export; NULL: unchanged */
	const char *hidden; /* its value in an anonymised export; NULL: as above */
};

struct catalog_table {
	const char *name;
	enum data_kind kind;
	enum catalog_range range;
	const char *key; /* first column of the primary key; NULL: the table is small */
	int64_t scale;   /* the key is a sweep, window or hour multiplied by this */
	const char *also; /* condition for additional rows (row: t, database: source), or NULL */
	const char *from; /* source of the rows instead of the table, or NULL */
	struct catalog_column columns[CATALOG_COLUMNS_MAX]; /* ends with a name of NULL */
};

extern const struct catalog_table catalog_tables[];
extern const size_t catalog_table_count;

/* catalog_find - Return: the entry of a table, or NULL. */
const struct catalog_table *catalog_find(const char *name);

#endif
