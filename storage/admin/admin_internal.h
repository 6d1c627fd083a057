/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* admin_internal.h - shared by the implementation of admin.h (private to storage/) */
#ifndef IBWIRE_STORAGE_ADMIN_INTERNAL_H
#define IBWIRE_STORAGE_ADMIN_INTERNAL_H

#include <stdbool.h>
#include <stdint.h>

#include <sqlite3.h>

struct error;

/* admin_open - open a database for reading; errors as reader_open(). */
int admin_open(const char *path, sqlite3 **ret, bool *ret_immutable, struct error *err);

/* admin_file_bytes - size of the file @path@suffix; 0: none. */
int64_t admin_file_bytes(const char *path, const char *suffix);

/* admin_watch_stop - statements of @db fail once a stop is requested (base/stop.h). */
void admin_watch_stop(sqlite3 *db);

/* admin_stopped - Return: @result; if it is an error after a stop request, the error for that. */
int admin_stopped(int result, struct error *err);

/* A file that is created as PATH.part and renamed when it is complete, unless PATH exists by then. */
struct new_file {
	const char *path;
	char part[4096];
};

/* new_file_begin - check that PATH does not exist, and remove PATH.part. Return: 0 or ERR_IO. */
int new_file_begin(struct new_file *new_file, const char *path, struct error *err);

/* new_file_finish - flush and rename the complete file. Return: 0, or ERR_IO with the file removed. */
int new_file_finish(struct new_file *new_file, struct error *err);

/* new_file_abandon - remove the incomplete file. */
void new_file_abandon(struct new_file *new_file);

#endif
