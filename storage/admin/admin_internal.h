/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* admin_internal.h - what the files behind admin.h share (inside storage/ only) */
#ifndef IBWIRE_STORAGE_ADMIN_INTERNAL_H
#define IBWIRE_STORAGE_ADMIN_INTERNAL_H

#include <stdbool.h>
#include <stdint.h>

#include <sqlite3.h>

struct error;

/* admin_open - open a database for reading; errors as reader_open(). */
int admin_open(const char *path, sqlite3 **ret, bool *ret_immutable, struct error *err);

/* admin_file_bytes - size of @path with @suffix behind it; 0 where there is none. */
int64_t admin_file_bytes(const char *path, const char *suffix);

/* admin_watch_stop - statements on @db end early once somebody asked the program to end (base/stop.h). */
void admin_watch_stop(sqlite3 *db);

/* admin_stopped - Return: @result, or in its place the error that says that the work was stopped. */
int admin_stopped(int result, struct error *err);

/*
 * A file that comes into being whole or not at all: it is made as PATH.part, and
 * gets its name when it is complete, unless there is one of that name by then.
 */
struct new_file {
	const char *path;
	char part[4096];
};

/* new_file_begin - see that the name is free, and remove what a killed one left. Return: 0 or ERR_IO. */
int new_file_begin(struct new_file *new_file, const char *path, struct error *err);

/* new_file_finish - give the complete file its name, safe against a power cut. Return: 0 or ERR_IO; then it is gone. */
int new_file_finish(struct new_file *new_file, struct error *err);

/* new_file_abandon - remove what was made. */
void new_file_abandon(struct new_file *new_file);

#endif
