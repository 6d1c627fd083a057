/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * schema.h - the database file and its schema
 *
 * The header of a file (100 bytes) is checked before SQLite opens it. A new database is completed under
 * another name and then renamed.
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
#define SCHEMA_VERSION 7

/* How long a process waits for the write lock before it fails with "locked". */
#define SCHEMA_BUSY_TIMEOUT_MS 10000

/* The files that have the names of a database and its log. */
struct db_files {
	uint64_t device, inode; /* of the database */
	uint64_t wal, shm;      /* inodes of PATH-wal and PATH-shm; 0: none */
	int64_t wal_bytes;      /* size of the log */
};

/* Reason of a gap (table span), in addition to enum sample_status: the port is not in the fabric. */
#define GAP_ABSENT 100

/*
 * Rowids of hot and chunk. Port ids are below HISTORY_PORTS; sweeps and windows have the rest of 63
 * bits: more than a million years at one sweep per second.
 */
#define HOT_BLOCKS INT64_C(65536)
#define HISTORY_PORTS INT64_C(2097152) /* HOT_BLOCKS * CODEC_BLOCK_PORTS */
/* An id of a sweep or window that is out of range yields a rowid that does not exist. */
#define ROWID(row, columns, column) ((int64_t)((uint64_t)(row) * (uint64_t)(columns) + (uint64_t)(column)))
#define HOT_ID(sweep, block) ROWID(sweep, HOT_BLOCKS, block)
#define CHUNK_ID(window, port) ROWID(window, HISTORY_PORTS, port)

/*
 * Limits of the CHECKs of tables.c: ids of sweeps, windows and hours are 1 to SCHEMA_SWEEPS, wall
 * clocks end with the year 9999. Sums and differences of a few of them fit 64 bits.
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
 * schema_check - check the header of a file without changing it
 * @ret_there:  does it exist? An empty file counts as none.
 *
 * Return: 0; ERR_IO if the file cannot be read, is not an ibwire database, or has a newer schema version.
 */
int schema_check(const char *path, bool *ret_there, struct error *err);

/*
 * schema_path - resolve symbolic links: log and lock are beside the file itself
 * @path: of a file that need not exist; if its folder does not exist either, @ret is the same path
 * @ret:  not a special name of SQLite, with room for a suffix of 31 characters
 * Return: 0, or ERR_IO if it is too long.
 */
int schema_path(const char *path, char ret[PATH_MAX], struct error *err);

/* schema_fill - create the tables in an empty database, in one transaction. */
int schema_fill(sqlite3 *db, struct error *err);

/* schema_sync, schema_sync_folder - flush a file; the folder of a file, which has its name. */
int schema_sync(const char *path, struct error *err);
int schema_sync_folder(const char *path, struct error *err);

/* schema_uri - append the URI of a file with its parameters, for SQLITE_OPEN_URI and ATTACH. */
int schema_uri(const char *path, const char *parameters, struct text *ret, struct error *err);

/* schema_create - create a database at @path, where none exists. */
int schema_create(const char *path, struct error *err);

/* schema_make_temporary_views - create the views for this connection only. */
int schema_make_temporary_views(sqlite3 *db, struct error *err);

/* schema_append_tables - append the statements that create all tables and indexes, each with ";\n". */
void schema_append_tables(struct text *sql);

/*
 * schema_harden - settings of a connection to an untrusted file
 * Disables the file's views and triggers; its schema can call built-in functions only and cannot be
 * written. To be called for each connection.
 */
void schema_harden(sqlite3 *db);

/*
 * schema_rewrite_begin, schema_rewrite_end - let a connection change the text of tables, or read STRICT tables
 * SQLite before 3.37 reads these in this mode only. Until the end, the text of the schema is not trustworthy.
 */
int schema_rewrite_begin(sqlite3 *db, struct error *err);
int schema_rewrite_end(sqlite3 *db, struct error *err);

/*
 * schema_verify_tables - compare the text of all tables and indexes with this program's
 * Called whenever a database is opened. Return: 0, or ERR_IO if it is damaged or was changed.
 */
int schema_verify_tables(sqlite3 *db, struct error *err);

/*
 * schema_verify_keys - check that both ends of each key are in the range of tables.c
 * Reads both ends of each index, and counts nodes and ports. To be called before rows are used.
 * Loops must end for any row nevertheless, since an index can be damaged.
 * Return: 0, or ERR_IO if the database is damaged.
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
 * schema_require_version - check that a database has the current schema version
 * A collector may migrate it while it is open.
 * Return: 0, or ERR_IO with the text for a reader.
 */
int schema_require_version(sqlite3 *db, const char *path, int64_t *ret_version, struct error *err);

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
 * The writer migrates a database with an older schema version, the reader rejects it.
 * @ret_immutable:  opened as a file that never changes, since its log cannot be created
 * Return: 0 or ERR_IO.
 */
int schema_open_writer(const char *path, sqlite3 **ret, struct error *err);

/*
 * schema_find_files - the files that have the names of a database and its log
 * If one of them is removed, SQLite does not detect it and continues with the unlinked file.
 * Return: false with errno if it is not known whether one exists.
 */
bool schema_find_files(const char *path, struct db_files *ret);

/* schema_open_second - another connection of the process that has the database open for writing. */
int schema_open_second(const char *path, sqlite3 **ret, struct error *err);
int schema_open_reader(const char *path, sqlite3 **ret, bool *ret_immutable, struct error *err);

/*
 * schema_open_damaged - open a database of this version to read what can be read of it, in one transaction
 * Its header is checked, and neither its tables nor its keys.
 * Return: 0, ERR_UNAVAILABLE if there is none, or ERR_IO.
 */
int schema_open_damaged(const char *path, sqlite3 **ret, struct error *err);

/* Size from which a log (PATH-wal) is reported if a reader keeps it from being checkpointed. */
#define SCHEMA_LOG_BYTES_REPORTED INT64_C(64000000)

/*
 * schema_log_holders - other processes whose read transactions keep the log from being checkpointed
 * @ret:  as of lock_holders(); @size bytes
 * Return: their number. Opens nothing, so no lock of this process is lost.
 */
size_t schema_log_holders(sqlite3 *db, char *ret, size_t size);

#endif
