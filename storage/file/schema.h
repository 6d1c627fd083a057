/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * schema.h - the database's tables, and whether a file is one of ours
 *
 * A file is looked at before SQLite touches it: its first 100 bytes tell what
 * it is and of which version. A new database is made complete under another
 * name and then renamed, so that there is never half of one.
 * Source: SQLite's file format, "The Database Header".
 */
#ifndef IBWIRE_STORAGE_SCHEMA_H
#define IBWIRE_STORAGE_SCHEMA_H

#include <limits.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include <sqlite3.h>

struct error;
struct fabric;
struct text;

#define SCHEMA_APPLICATION_ID 0x69627772 /* "ibwr" */
#define SCHEMA_VERSION 1

/* Every process waits this long for another one's short write before it says "locked". */
#define SCHEMA_BUSY_TIMEOUT_MS 10000

/* PATH-wal and PATH-shm: their inodes, 0 where there is none; and how large the log is. */
struct log_files {
	uint64_t wal, shm;
	int64_t wal_bytes;
};

/* Reason of a span, beside those of enum sample_status: the port is not in the fabric. */
#define SPAN_ABSENT 100

/*
 * Rowids of hot and chunk. Sweeps and windows take what is left of 63 bits: more
 * than a million years of sweeps a second; ports have ids below HISTORY_PORTS.
 */
#define HOT_BLOCKS INT64_C(65536)
#define HISTORY_PORTS INT64_C(2097152) /* HOT_BLOCKS * CODEC_BLOCK_PORTS */
#define HOT_ID(sweep, block) ((sweep) * HOT_BLOCKS + (block))
#define CHUNK_ID(window, port) ((window) * HISTORY_PORTS + (port))

/*
 * What the CHECKs of tables.c allow: ids of sweeps, windows and hours are 1 to SCHEMA_SWEEPS, times of the wall clock
 * end with the year 9999. Sums and differences of a few of them fit 64 bits.
 */
#define SCHEMA_SWEEPS INT64_C(1099511627776)
#define SCHEMA_TIME_MOST_US INT64_C(253402300799999999)

/* chunk_window.state, and the first two hour.state. */
enum { WINDOW_WRITING, WINDOW_COMPLETE, WINDOW_SUMS_ONLY };

/* Bits of error.marks and detail_value.marks. */
enum { MARK_RESET = 1, MARK_SATURATED = 2 };

/* detail_counter.id of a slow counter (fabric/detail.h). */
#define DETAIL_NUMBERS 32
#define DETAIL_ID(attribute, number) ((attribute) * DETAIL_NUMBERS + (number))

/*
 * schema_check - is this file a database that we can use?
 * @ret_there:  is there one; an empty file counts as none
 *
 * Reads the file and changes nothing. Return: 0; ERR_IO if the file cannot be read, is no ibwire
 * database, or has a newer schema version.
 */
int schema_check(const char *path, bool *ret_there, struct error *err);

/*
 * schema_path - where a database is, without symbolic links: its log and its lock are beside the file itself
 * @path: of a file that need not be there yet; where not even its folder is, @ret is the same path
 * @ret:  one that SQLite cannot take for a special name, with room for a suffix of 31 characters
 * Return: 0, or ERR_IO where it is too long.
 */
int schema_path(const char *path, char ret[PATH_MAX], struct error *err);

/* schema_fill - make the tables in an empty database, in one transaction. */
int schema_fill(sqlite3 *db, struct error *err);

/* schema_sync, schema_sync_folder - flush a file, or the folder of a file, so that its name survives a power cut. */
int schema_sync(const char *path, struct error *err);
int schema_sync_folder(const char *path, struct error *err);

/* schema_uri - append the URI of a file with its parameters, for SQLITE_OPEN_URI and ATTACH. */
int schema_uri(const char *path, const char *parameters, struct text *ret, struct error *err);

/* schema_create - make a new database at @path, where none is. */
int schema_create(const char *path, struct error *err);

/*
 * schema_make_views, schema_fill_names - create the views; write the names of counters and codes
 * Both depend on the program alone and are repeated by a migration. In a transaction of the caller.
 */
int schema_make_views(sqlite3 *db, struct error *err);
int schema_fill_names(sqlite3 *db, struct error *err);

/* schema_make_temporary_views - the same views for this connection alone, whatever views the file holds. */
int schema_make_temporary_views(sqlite3 *db, struct error *err);

/* schema_append_tables - the statements that make all tables and indexes, each ended by ";\n". */
void schema_append_tables(struct text *sql);

/* schema_next_statement - Return: the length of the statement at @at, without what ends it. */
size_t schema_next_statement(const char *at);

/*
 * schema_harden - settings of a connection to a file that anybody may have made
 * The file's views and triggers are off, its schema can run nothing but SQL's own
 * functions and cannot be written. To be called for each connection.
 */
void schema_harden(sqlite3 *db);

/*
 * schema_verify_tables - are the tables and indexes of this version there, with this program's text?
 * Each open does it. Return: 0, or ERR_IO where the database is damaged or was changed by another program.
 */
int schema_verify_tables(sqlite3 *db, struct error *err);

/*
 * schema_verify_keys - are the ends of each key in the range that tables.c declares?
 * Reads the two ends of each index, and counts nodes and ports. What works with the rows calls it before; loops still
 * end whatever a row says, since an index can be damaged. Return: 0, or ERR_IO where the database is damaged.
 */
int schema_verify_keys(sqlite3 *db, struct error *err);

/*
 * schema_check_fabric - does a database belong to this fabric?
 * @path, @advice:  for the error: the file, and what to do
 *
 * Return: 0 if the database has no nodes or at least one of these (except this host's own HCA);
 * ERR_UNAVAILABLE if all its nodes are others; ERR_IO.
 */
int schema_check_fabric(sqlite3 *db, const char *path, const struct fabric *fabric, const char *advice,
			struct error *err);

/*
 * schema_migrate - migrate a database to the current schema version, in one transaction
 * A current database gets the current views if it has others.
 * Return: 0 (also if the version is current), or a negative error with nothing changed.
 */
int schema_migrate(sqlite3 *db, struct error *err);

/*
 * schema_run_steps - run migration steps in one transaction, from the database's version on
 * @list:    the step at index i makes version i + 2 from version i + 1; NULL ends the list
 * @finish:  called after the last step, or NULL
 * Return: 0, or a negative error with nothing changed.
 */
typedef int schema_step_fn(sqlite3 *db, struct error *err);
int schema_run_steps(sqlite3 *db, schema_step_fn *const *list, schema_step_fn *finish, struct error *err);

/*
 * schema_open_writer, schema_open_reader - open a checked database
 * The writer migrates a database with an older schema version, the reader refuses it.
 * @ret_immutable:  it had to be opened as a file that nobody changes
 *                  (its -wal file is missing and cannot be made)
 */
int schema_open_writer(const char *path, sqlite3 **ret, struct error *err);

/*
 * schema_find_log - the log's files that have their names now
 * SQLite notices nothing where one of them is removed, and goes on with the file that has no name any more.
 */
void schema_find_log(const char *path, struct log_files *ret);

/*
 * schema_open_second - another connection of the process that has the database open for writing
 * What it commits is on the disk with the next commit of the writer's, or with a checkpoint.
 */
int schema_open_second(const char *path, sqlite3 **ret, struct error *err);
int schema_open_reader(const char *path, sqlite3 **ret, bool *ret_immutable, struct error *err);

/* A log (PATH-wal) of more bytes than this that a reader keeps from being emptied is reported. */
#define SCHEMA_LOG_BYTES_REPORTED INT64_C(64000000)

/*
 * schema_log_holders - which other processes keep the log from being emptied: readers of what it must keep
 * @ret:  as of lock_holders(); @size bytes
 * Return: how many. Opens nothing, so no lock of this process is lost.
 */
size_t schema_log_holders(sqlite3 *db, char *ret, size_t size);

#endif
