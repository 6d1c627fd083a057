/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* tables.h - the SQL of tables and views; tables.c has schema_append_tables() */
#ifndef IBWIRE_STORAGE_TABLES_H
#define IBWIRE_STORAGE_TABLES_H

#include <stddef.h>

#include "fabric/counter.h"
#include "fabric/names.h"

struct text;

/* Views without "CREATE VIEW ": traffic, between whose parts are columns of counters; and the others, then NULL. */
extern const char tables_traffic_begin[], tables_traffic_end[];
extern const char *const tables_views[];
extern const char tables_drop_views[]; /* of all versions */

/* tables_append_columns - the columns of a set of counters, in the order of fabric/counter.h. */
void tables_append_columns(struct text *sql, counter_set set);

/* names_is_generic() in SQL, of a row @v of node_version; a GUID is the name of an empty description. */
#define TABLES_IS_GENERIC(v) \
	"(" v ".name GLOB '*Mellanox Technologies'" \
	" OR substr(" v ".name, 1, instr(" v ".name || ' ', ' ') - 1)" \
	" IN ('localhost', 'localhost.localdomain', '(none)')" \
	" OR " TABLES_IS_DEVICE(v, "HCA-") " OR " TABLES_IS_DEVICE(v, "mlx[!-~]_") \
	" OR " TABLES_IS_DEVICE(v, "hfi[!-~]_") \
	" OR " v ".name GLOB '0x*' AND trim(CAST(" v ".description AS TEXT)) = '')"
#define TABLES_IS_DEVICE(v, what) \
	v ".name GLOB '" what "[0-9]*' AND " v ".name NOT GLOB '" what "*[^0-9]*'"

/* Names of nodes in SQL, a row per version. A generic name is replaced by the last specific one. */
#define TABLES_NODE_NAMES \
	"SELECT v.node AS node, v.from_sweep AS from_sweep, v.to_sweep AS to_sweep,\n" \
	"	CASE WHEN " TABLES_IS_GENERIC("v") " THEN coalesce((SELECT w.name || '" NAMES_WAS "'\n" \
	"	FROM node_version w WHERE w.node = v.node AND w.from_sweep < v.from_sweep\n" \
	"	AND NOT " TABLES_IS_GENERIC("w") "\n" \
	"	ORDER BY w.from_sweep DESC LIMIT 1), v.name) ELSE v.name END AS name\n" \
	"FROM node_version v"

/* The name of a node at a sweep, or its last one before. It uses the aliases n, v and w. */
#define TABLES_NAME_AT(guid, sweep) \
	"(SELECT v.name FROM node n JOIN (" TABLES_NODE_NAMES ") v ON v.node = n.id WHERE n.guid = " guid \
	" AND v.from_sweep <= " sweep " ORDER BY v.from_sweep DESC LIMIT 1)"

/*
 * tables_append_untyped, tables_append_typed - the statements of schema_append_tables(), the former without the
 * constraints of types
 * @version:  5 to SCHEMA_VERSION: those of that version
 *
 * With " STRICT" (after WITHOUT ROWID: ", STRICT") at the end of each table, the untyped ones of version 5 are those
 * of version 4.
 */
void tables_append_untyped(struct text *sql, int version);
void tables_append_typed(struct text *sql, int version);

/* tables_statement_length - length of the statement at @at, without its ";\n" */
size_t tables_statement_length(const char *at);

/* tables_append_snapshot - the tables of snapshots (tables_snapshot.c). */
void tables_append_snapshot(struct text *sql);

/* The tables of imports (tables_cable.c), which version 7 added. */
extern const char tables_cable[];

/* The table of rhythms of jobs (tables_rhythm.c), which version 7 added. */
extern const char tables_rhythm[];

/* Other tables that version 7 added (tables_node.c). */
extern const char tables_firmware[], tables_wait_contradicted[], tables_pkey[];

/* Jobs that were found in the traffic (tables_detected.c), which version 7 added. */
extern const char tables_job_detected[];

/* The table of jobs, that of versions 2 to 5, and those of findings since version 3, without constraints of types. */
extern const char tables_job[], tables_job_5[], tables_finding[];

#endif
