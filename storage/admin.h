/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * admin.h - administration of a database: information, check, compaction, backup, export
 *
 * All functions can be called while a collector runs, except admin_compact().
 */
#ifndef IBWIRE_STORAGE_ADMIN_H
#define IBWIRE_STORAGE_ADMIN_H

#include <stdbool.h>
#include <stdint.h>

#include "fabric/fabric.h"

struct error;

/* Kinds of data; each may have its own retention. */
enum data_kind {
	DATA_RAW, DATA_SUMS, DATA_HOURS, DATA_ERRORS, DATA_READINGS, DATA_DETAILS, DATA_GAPS, DATA_SWEEPS, DATA_EVENTS,
	DATA_FINDINGS, DATA_SNAPSHOTS, DATA_RHYTHMS, DATA_TOPOLOGY, DATA_CABLES, DATA_OTHER, DATA_KIND_COUNT,
};

/* data_kind_key, data_kind_title - "raw", "samples". */
const char *data_kind_key(enum data_kind kind);
const char *data_kind_title(enum data_kind kind);

struct data_info {
	bool there;                /* the schema has such tables */
	bool estimated;            /* rows and bytes are estimated from parts of a large table */
	int64_t rows;
	int64_t bytes;             /* of whole pages, approximate */
	int64_t since_us, until_us; /* wall clock of the oldest and the newest; 0: none */
};

struct admin_info {
	int schema_version;
	const char *sqlite_version;
	bool live;                 /* a collector holds the lock */
	int64_t collector_pid;     /* 0: unknown */
	int64_t created_us;        /* wall clock; 0: unknown */
	int64_t file_bytes, log_bytes; /* the file; its write-ahead log */
	int64_t page_bytes, free_bytes; /* of a page; of pages without content */
	int64_t sweeps;
	int64_t port_samples;      /* of the sweeps with samples */
	char collector_node[NODE_NAME_SIZE]; /* the collector's node in the newest sweep; "": unknown */
	int64_t nodes, ports;      /* including departed ones */
	bool estimated;            /* some of data[] are */
	struct data_info data[DATA_KIND_COUNT];
};

/*
 * admin_info - content of a database, since when, and how large
 * Large tables are estimated, so the time does not depend on the size of the database.
 * Return: 0; errors as reader_open().
 */
int admin_info(const char *path, struct admin_info *ret, struct error *err);

/*
 * admin_check - search for damage
 * SQLite's integrity check, missing references, samples that cannot be unpacked, and readings that are
 * not the previous one plus the deltas since then. Needs read access only.
 * @found:  called for the first faults of each kind
 * @ret_faults: number of all faults
 *
 * Return: 0, also if there are faults; errors as reader_open() if nothing can be checked.
 */
struct admin_fault {
	const char *where; /* "file", or a table */
	const char *what;
};
typedef void admin_fault_fn(void *ctx, const struct admin_fault *fault);
int admin_check(const char *path, admin_fault_fn *found, void *ctx, uint64_t *ret_faults, struct error *err);

/*
 * admin_recover - copy the readable rows of a damaged database to a new one
 * @new_path:  a file that must not exist; admin_check() can show what is still wrong in it
 * @found:     called for each table with its rows, and a text that says where some are missing
 *
 * Return: 0; ERR_UNAVAILABLE if there is no database; ERR_IO with nothing left behind, also if its header is damaged.
 */
struct admin_recovered {
	const char *table;
	int64_t rows;        /* in the new database */
	int64_t removed;     /* readable, but invalid, or of no use without rows that are lost */
	const char *missing; /* "between sweep 120, port 64 and sweep 133, port 32"; "" none */
};
typedef void admin_recovered_fn(void *ctx, const struct admin_recovered *table);
int admin_recover(const char *path, const char *new_path, admin_recovered_fn *found, void *ctx, struct error *err);

/*
 * admin_compact - rewrite the file with its minimum size
 * @ret_before, @ret_after:  bytes of file and log
 *
 * Needs as much free space as the file has. If it fails or is killed, the database does not change.
 * Return: 0; ERR_UNAVAILABLE if a collector is running, which it would delay; ERR_IO.
 */
int admin_compact(const char *path, int64_t *ret_before, int64_t *ret_after, struct error *err);

/*
 * admin_backup - an exact copy of one state, while a collector writes
 * @new_path:  a file that must not exist
 * @ret_bytes: its size
 *
 * The collector is not delayed; its log grows until the copy is complete.
 * Return: 0, or ERR_IO with nothing left behind.
 */
int admin_backup(const char *path, const char *new_path, int64_t *ret_bytes, struct error *err);

struct export_query {
	int64_t since_us, until_us; /* wall clock; 0: unbounded */
	bool anonymise;             /* replace names and GUIDs consistently */
};

struct export_summary {
	int64_t sweeps;
	int64_t since_us, until_us; /* wall clock of the first and last sweep */
	int64_t bytes;
};

/*
 * admin_export - a part of the history as a separate database
 * Windows are copied completely, so the part may start and end up to CODEC_CHUNK_SWEEPS sweeps
 * further out. All nodes and ports that were ever seen (GUIDs and port numbers) are copied, and the
 * last specific older name of each node. Absolute values at the first sweep are added, so that
 * later ones can be computed.
 *
 * Return: 0; ERR_UNAVAILABLE if no sweep is stored in that time; ERR_IO, also if the database is
 * damaged. On errors no file is left.
 */
int admin_export(const char *path, const char *new_path, const struct export_query *query, struct export_summary *ret,
		 struct error *err);

#endif
