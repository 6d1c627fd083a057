/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * sql_tables.h - the packed samples as tables of SQL
 *
 * sample     a row for each stored delta: exact values, with time, node and port
 * delta      the same without names, and without error counters
 * port_sum   a row for each port: its totals of a window, from stored sums where there are any
 *
 * sample and port_sum take the arguments (since, until). The tables are part of `ibwire sql`, and
 * of the loadable extension for other programs that use SQLite.
 */
#ifndef IBWIRE_STORAGE_SQL_TABLES_H
#define IBWIRE_STORAGE_SQL_TABLES_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include <sqlite3.h>

#include "base/text.h"

struct error;

/* sql_tables_register - make them available on a connection. Return: 0 or an error. */
int sql_tables_register(sqlite3 *db, struct error *err);

/*
 * sql_tables_connect - declare them at once: SQLite takes that for a CREATE TABLE, which an
 * authorizer that permits only reading denies. Return: 0 or an error.
 */
int sql_tables_connect(sqlite3 *db, struct error *err);

/* A kind of table: the client data of its module. */
struct sql_kind {
	const char *name;
	const char *columns, *hidden; /* as in CREATE TABLE, before and after those of the counters */
	int counters;                 /* columns of exact counter values, as 64 bits */
	size_t cursor_size;           /* of a struct that begins with sqlite3_vtab_cursor */
};

struct sql_table {
	sqlite3_vtab base;
	sqlite3 *db;
	const struct sql_kind *kind;
};

/* The methods that are the same for every kind. */
int sql_connect(sqlite3 *db, void *kind, int argc, const char *const *argv, sqlite3_vtab **ret, char **message);
int sql_disconnect(sqlite3_vtab *table);
int sql_open(sqlite3_vtab *table, sqlite3_vtab_cursor **ret);

/* sql_register - a kind of table on a connection; both are borrowed. Return: 0 or an error. */
int sql_register(sqlite3 *db, const struct sql_kind *kind, const sqlite3_module *module, struct error *err);

static inline const struct sql_table *sql_table_of(const sqlite3_vtab_cursor *cursor)
{
	return (const struct sql_table *)cursor->pVtab;
}

/* One call for each file with tables. Return: 0 or an error. */
int sample_table_register(sqlite3 *db, struct error *err);
int port_sum_table_register(sqlite3 *db, struct error *err);

/* sql_capped - a value for display, at most 2^63 - 1. */
static inline int64_t sql_capped(uint64_t value)
{
	return value > INT64_MAX ? INT64_MAX : (int64_t)value;
}

/* sql_bytes - words as bytes, at most 2^63 - 1. */
int64_t sql_bytes(uint64_t words);

/*
 * sql_parse_time - an argument since or until: microseconds since 1970 as an integer, or
 * text as when_parse() reads it; NULL: @absent
 * Return: whether it is a time. @err has the reason otherwise.
 */
bool sql_parse_time(sqlite3_value *value, int64_t absent, int64_t *ret_us, struct error *err);

/* Ports, and the names of their nodes over time. A zeroed struct is empty. */
struct port_names {
	struct named_port *ports; /* by id */
	size_t count;             /* highest id + 1 */
	struct node_name *names;  /* in order of node and sweep */
	size_t name_count, name_capacity;
	struct text chars;
};

/* port_names_load - read them. Return: 0 or an error; port_names_done() is required in either case. */
int port_names_load(struct port_names *names, sqlite3 *db, struct error *err);
void port_names_done(struct port_names *names);

/* port_names_has - is it the id of a port? */
bool port_names_has(const struct port_names *names, uint64_t port);

/* Columns that identify a port, in this order. */
enum sql_port { SQL_NODE, SQL_NODE_GUID, SQL_PORT };

/* port_names_put - one of them, as it was in a sweep; NULL where the port is not known. */
void port_names_put(const struct port_names *names, sqlite3_context *context, uint64_t port_id, int64_t sweep,
		    enum sql_port what);

/* sql_fail - set the error text of a table. Return: SQLite's code. */
int sql_fail(sqlite3_vtab *table, const struct error *err);

#endif
