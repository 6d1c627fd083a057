/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * sql_tables.h - what is stored packed, as tables of SQL on a connection
 *
 * sample     a row for each delta that is stored: exact values, with time, node and port
 * port_sum   a row for each port: what it counted in a window, from sums where they are
 *
 * Both take (since, until) as arguments too. In `ibwire sql`, and as a loadable
 * extension for any other program that speaks SQLite.
 */
#ifndef IBWIRE_STORAGE_SQL_TABLES_H
#define IBWIRE_STORAGE_SQL_TABLES_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include <sqlite3.h>

struct error;

/* sql_tables_register - sample, port_sum, and the table delta (storage/sql/delta_table.h). Return: 0 or an error. */
int sql_tables_register(sqlite3 *db, struct error *err);

/*
 * sql_tables_connect - have them declared now: SQLite takes that for a CREATE TABLE, which an
 * authorizer that only lets read refuses. Return: 0 or an error.
 */
int sql_tables_connect(sqlite3 *db, struct error *err);

/* One for each, in a file of its own. Return: SQLite's code. */
int sample_table_register(sqlite3 *db);
int port_sum_table_register(sqlite3 *db);

/* The counters' columns, exact: same 64 bits as counted. Text for a declaration: ", xmit_data INTEGER, ...". */
struct text;
void sql_declare_counters(struct text *sql);

/* The same as what a person reads: never negative. */
static inline int64_t sql_capped(uint64_t value)
{
	return value > INT64_MAX ? INT64_MAX : (int64_t)value;
}

/* sql_bytes - words as bytes, at most 2^63 - 1. */
int64_t sql_bytes(uint64_t words);

/*
 * sql_parse_time - an argument since or until: microseconds since 1970 as an integer, or
 * text as when_parse() reads it; NULL: @absent
 * Return: whether it is a time. @err says what is wrong.
 */
bool sql_parse_time(sqlite3_value *value, int64_t absent, int64_t *ret_us, struct error *err);

/* What a row says of a port, in this order of columns. */
enum sql_port { SQL_NODE, SQL_NODE_GUID, SQL_PORT };

/* sql_put_port - one of them, as it was in a sweep; NULL where the port is not known. */
struct port_names;
void sql_put_port(sqlite3_context *context, const struct port_names *names, uint64_t port_id, int64_t sweep,
		  enum sql_port what);

/* sql_fail - leave an error's text for SQLite. Return: SQLite's code for it. */
int sql_fail(sqlite3_vtab *table, const struct error *err);

/*
 * sql_declare - make a table of this connection: what xConnect does
 * @size:  of the struct that begins with a sqlite3_vtab
 */
int sql_declare(sqlite3 *db, const char *declaration, size_t size, sqlite3_vtab **ret);

/* sql_disconnect - xDisconnect of what sql_declare() made. */
int sql_disconnect(sqlite3_vtab *table);

/* sql_open - a cursor, zeroed: what xOpen does. @size: of the struct that begins with a sqlite3_vtab_cursor. */
int sql_open(size_t size, sqlite3_vtab_cursor **ret);

#endif
