/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * admin.h - looking after a database: what it holds, is it sound, copies of it
 *
 * All of it may run beside a collector, but admin_compact(), which refuses then.
 */
#ifndef IBWIRE_STORAGE_ADMIN_H
#define IBWIRE_STORAGE_ADMIN_H

#include <stdbool.h>
#include <stdint.h>

#include "fabric/fabric.h"

struct error;

/* Kinds of knowledge, which may each be kept for another time. */
enum data_kind {
	DATA_RAW, DATA_SUMS, DATA_HOURS, DATA_ERRORS, DATA_READINGS, DATA_DETAILS, DATA_SPANS, DATA_SWEEPS, DATA_EVENTS,
	DATA_FINDINGS, DATA_SNAPSHOTS, DATA_TOPOLOGY, DATA_OTHER, DATA_KIND_COUNT,
};

/* data_kind_key, data_kind_title - "raw", and words for people. */
const char *data_kind_key(enum data_kind kind);
const char *data_kind_title(enum data_kind kind);

struct data_info {
	bool there;                /* this version of the schema has such tables */
	bool estimated;            /* rows and bytes come from samples of a large table */
	int64_t rows;
	int64_t bytes;             /* of whole pages, about */
	int64_t since_us, until_us; /* wall clock of the oldest and the newest; 0: none, or it has no time */
};

struct admin_info {
	int schema_version;
	const char *sqlite_version;
	bool live;                 /* a collector holds the lock */
	int64_t collector_pid;     /* 0: not known */
	int64_t created_us;        /* wall clock; 0: not known */
	int64_t file_bytes, log_bytes; /* the file; the write-ahead log beside it */
	int64_t page_bytes, free_bytes; /* of a page; of pages without content */
	int64_t sweeps;
	int64_t port_samples;      /* of the sweeps that are kept */
	char asked_from[NODE_NAME_SIZE]; /* the node that the newest sweep asked from; "": not known */
	int64_t nodes, ports;      /* that were ever seen */
	bool estimated;            /* some of data[] are */
	struct data_info data[DATA_KIND_COUNT];
};

/*
 * admin_info - what is kept, since when, and how large it is
 * Large tables are counted by samples of them, so that it takes no longer for a large database.
 * Return: 0; errors as reader_open().
 */
int admin_info(const char *path, struct admin_info *ret, struct error *err);

/*
 * admin_check - look for damage
 * SQLite's own check of every page and index, references to rows that are not there,
 * samples that cannot be unpacked, and readings that are not the one before plus the deltas since.
 * Needs no write access, and changes nothing.
 * @found:  called for each fault, in words for people
 * @ret_faults: how many were found; not all of one kind are told
 *
 * Return: 0 also where there are faults; errors as reader_open(), where it cannot be looked at at all.
 */
struct admin_fault {
	const char *where; /* "file", or a table */
	const char *what;
};
typedef void admin_fault_fn(void *ctx, const struct admin_fault *fault);
int admin_check(const char *path, admin_fault_fn *found, void *ctx, uint64_t *ret_faults, struct error *err);

/*
 * admin_compact - bring the file to its smallest
 * @ret_before, @ret_after:  bytes of file and log
 *
 * Return: 0; ERR_UNAVAILABLE where a collector is live: rewriting the file would keep it
 * waiting; ERR_IO (no space: it needs about the file's size again for as long as it runs).
 * On an error, and where it is killed, the database is what it was.
 */
int admin_compact(const char *path, int64_t *ret_before, int64_t *ret_after, struct error *err);

/*
 * admin_backup - an exact copy, of one moment, while a collector writes
 * @new_file:  a file that must not be there
 * @ret_bytes: its size
 *
 * The collector is never kept waiting; its log grows by what it writes meanwhile.
 * Return: 0; ERR_IO; then nothing stays behind.
 */
int admin_backup(const char *path, const char *new_path, int64_t *ret_bytes, struct error *err);

/* What admin_export() takes, and what it then has. */
struct export_query {
	int64_t since_us, until_us; /* wall clock; 0: unbounded */
	bool anonymise;             /* names and GUIDs are replaced alike everywhere */
};

struct export_summary {
	int64_t sweeps;
	int64_t since_us, until_us; /* wall clock of the first and last sweep */
	int64_t bytes;
};

/*
 * admin_export - a part of the history as a database of its own
 * Samples are packed by runs of sweeps, which are kept whole: it may begin and end
 * up to one run (CODEC_CHUNK_SWEEPS) further out. Who was ever seen (GUIDs and port
 * numbers) is copied whole, and of older names the last good one of each node.
 * Absolute values at the first sweep are worked out, so that those after it follow.
 *
 * Return: 0; ERR_UNAVAILABLE if no sweep is stored in that time; ERR_IO, also if the database is
 * damaged. On errors no file is left.
 */
int admin_export(const char *path, const char *new_path, const struct export_query *query, struct export_summary *ret,
		 struct error *err);

#endif
