/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* admin_internal.h - shared by the implementation of admin.h (private to storage/) */
#ifndef IBWIRE_STORAGE_ADMIN_INTERNAL_H
#define IBWIRE_STORAGE_ADMIN_INTERNAL_H

#include <stdbool.h>
#include <stdint.h>

#include <sqlite3.h>

struct error;

/* Rows of port_version that are valid in a sweep in which their node has no version (SQL condition). */
#define ADMIN_PORT_WITHOUT_NODE \
	"NOT EXISTS (SELECT 1 FROM node_version n WHERE n.node = (SELECT node FROM port WHERE id = port_version.port)" \
	" AND n.from_sweep <= port_version.from_sweep AND coalesce(n.to_sweep > port_version.from_sweep, 1))" \
	" OR EXISTS (SELECT 1 FROM node_version n WHERE n.node = (SELECT node FROM port WHERE id = port_version.port)" \
	" AND n.to_sweep > port_version.from_sweep AND coalesce(n.to_sweep < port_version.to_sweep, 1)" \
	" AND NOT EXISTS (SELECT 1 FROM node_version x WHERE x.node = n.node AND x.from_sweep = n.to_sweep))"

/*
 * admin_open - open a database for reading; errors as reader_open()
 * @any_version:  accept an older schema version
 */
int admin_open(const char *path, bool any_version, sqlite3 **ret, bool *ret_immutable, struct error *err);

/* admin_file_bytes - sizes of a database and its write-ahead log; 0: there is none. Return: 0 or an error. */
int admin_file_bytes(const char *path, int64_t *ret_file, int64_t *ret_log, struct error *err);

/* admin_watch_stop - statements of @db fail once a stop is requested (base/stop.h). */
void admin_watch_stop(sqlite3 *db);

/* admin_stopped - Return: @result; if it is an error after a stop request, the error for that. */
int admin_stopped(int result, struct error *err);

/*
 * admin_create - create a file as PATH.part and rename it when it is complete
 * @path:  must not exist
 * @make:  writes the empty file @part
 * Return: 0, or a negative error with no file left.
 */
typedef int admin_make_fn(void *ctx, const char *part, struct error *err);
int admin_create(const char *path, admin_make_fn *make, void *ctx, struct error *err);

#endif
