/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * catalog.h - what is kept in which table (inside storage/ only)
 *
 * One list says of each table what kind of knowledge it holds, which of its rows
 * belong to a run of sweeps, and which columns tell who somebody is. What counts,
 * exports or disguises a database goes by it, so a new table is one entry;
 * admin_test.c holds the list against the schema.
 */
#ifndef IBWIRE_STORAGE_CATALOG_H
#define IBWIRE_STORAGE_CATALOG_H

#include <stddef.h>
#include <stdint.h>

#include "storage/admin.h"

/* Which rows belong to a part of the history. */
enum catalog_range {
	RANGE_NONE,    /* none: a new database makes them itself */
	RANGE_ALL,     /* all */
	RANGE_SWEEPS,  /* by key: from the first sweep to the last */
	RANGE_WINDOWS, /* by key: as chunk_window.id */
	RANGE_HOURS,   /* by key: as hour.id */
	RANGE_SNAPSHOTS, /* by key: as snapshot.id, of those taken in the time that is asked for, ?7 to ?8 */
	RANGE_FINDINGS, /* by key: as finding.id, of those that were open in one of the sweeps */
	RANGE_LASTING, /* what lasted in one of the sweeps: from_sweep up to, but not in, to_sweep */
	RANGE_COUNT,
};

/* The first and the last of a range are these parameters in SQL; of sweeps it is ?1 and ?2. */
#define RANGE_FIRST(range) ((range) == RANGE_WINDOWS ? 3 : (range) == RANGE_HOURS ? 5 : 1)

enum { CATALOG_COLUMNS_MAX = 5 };

/* A column that an export does not copy as it is. */
struct catalog_column {
	const char *name;
	const char *sql;    /* what a part of the history has there instead; NULL: as it is */
	const char *hidden; /* what an anonymised one has there; NULL: as above */
};

struct catalog_table {
	const char *name;
	enum data_kind kind;
	enum catalog_range range;
	const char *key; /* a column that begins the primary key; NULL: the table is small */
	int64_t scale;   /* the key holds sweep, window or hour times this */
	const char *also; /* a condition for rows that are taken too, or NULL (the row is t, the database source) */
	const char *from; /* the rows are these instead of the table's, or NULL */
	struct catalog_column columns[CATALOG_COLUMNS_MAX]; /* a name of NULL ends them */
};

extern const struct catalog_table catalog_tables[];
extern const size_t catalog_table_count;

/* catalog_find - Return: the entry of a table, or NULL. */
const struct catalog_table *catalog_find(const char *name);

#endif
