/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* reader_internal.h - the reader's inside, shared by its files */
#ifndef IBWIRE_STORAGE_READER_INTERNAL_H
#define IBWIRE_STORAGE_READER_INTERNAL_H

#include <stdbool.h>
#include <stdint.h>

#include <sqlite3.h>

#include "storage/reader.h"
#include "storage/read/topology.h"

struct error;

struct reader {
	char *path;
	sqlite3 *db;
	uint64_t device, inode; /* of the file that db is */
	uint64_t wal;           /* inode of the log that db has open */
	bool immutable;         /* opened as a file that nobody changes */
	int64_t version;        /* of the schema; a writer may raise it while the file is open */
	sqlite3_stmt *newest;
	struct topology topology; /* the one that was asked for last; most screens ask for the same again */
	struct fabric *fabric;    /* made of it, and shared with snapshots; NULL: not yet */
	const struct name_map *fabric_names; /* what else it was made of */
	uint32_t fabric_from_node;
	uint8_t fabric_from_port;
};

/* reader_forget - the topology that was asked for last, with what was made of it. */
void reader_forget(struct reader *reader);

/*
 * reader_begin - begin one short read transaction
 * Where the file has become another one (moved aside, made anew), that is opened.
 */
int reader_begin(struct reader *reader, struct error *err);
void reader_end(struct reader *reader);

/* A sweep with what only storage/ needs of it. */
struct stored_sweep {
	struct sweep_info info;
	int64_t topology;
	uint32_t from_node;
	uint8_t from_port;
};

/* reader_sweep - the sweep of an id. Return: 1, 0 where there is none, or an error. */
int reader_sweep(struct reader *reader, int64_t id, struct stored_sweep *ret, struct error *err);

/*
 * reader_find_sweep - the sweep that is meant by a time
 * @at_us:  wall clock: the last one whose label is not after it; 0: the newest
 * Return: 0; ERR_UNAVAILABLE where there is none; ERR_IO.
 */
int reader_find_sweep(struct reader *reader, int64_t at_us, struct stored_sweep *ret, struct error *err);

/*
 * reader_window_begin - the last sweep before a window that ends with @sweep
 * @at_us, @window_us:  (at - window, at]; window 0: that sweep alone. at 0: the sweep's own time
 */
int reader_window_begin(struct reader *reader, const struct stored_sweep *sweep, int64_t at_us, int64_t window_us,
			int64_t *ret_after, struct error *err);

/* reader_newest_id - as reader_newest(), inside a transaction. */
int reader_newest_id(struct reader *reader, int64_t *ret, struct error *err);

#endif
