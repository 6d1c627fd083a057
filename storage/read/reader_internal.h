/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* reader_internal.h - shared by the files of the reader */
#ifndef IBWIRE_STORAGE_READER_INTERNAL_H
#define IBWIRE_STORAGE_READER_INTERNAL_H

#include <stdbool.h>
#include <stdint.h>

#include <sqlite3.h>

#include "storage/file/schema.h"
#include "storage/reader.h"
#include "storage/read/topology.h"

struct error;

struct reader {
	char *path;
	sqlite3 *db;
	struct db_files files;  /* that db has open */
	bool immutable;         /* opened as a file that no process changes */
	bool has_views;         /* db has the views of this program */
	int64_t version;        /* of the schema; a writer may migrate it while the file is open */
	sqlite3_stmt *newest, *events, *range; /* all but newest: NULL before their first use */
	struct topology topology; /* loaded last: most screens need the same again. Snapshots share its fabric */
	const struct name_map *names; /* that it was loaded with */
	uint32_t from_node;
	uint8_t from_port;
	int64_t firmware; /* firmware_state() of its nodes' firmware */
	const atomic_bool *stop; /* of reader_set_stop() */
};

/* Steps of SQLite's virtual machine between two checks whether to go on: some 0.1 ms. */
enum { READER_STEPS_A_CHECK = 10000 };

/* reader_is_stopped - is its stop set? */
bool reader_is_stopped(const struct reader *reader);

/*
 * reader_begin - begin a short read transaction
 * If the file was replaced, the new one is opened.
 */
int reader_begin(struct reader *reader, struct error *err);
void reader_end(struct reader *reader);

/* A sweep with the columns that only storage/ uses. */
struct stored_sweep {
	struct sweep_info info;
	int64_t topology;
	uint32_t from_node;
	uint8_t from_port;
};

/* reader_sweep - the sweep of an id. Return: 1, 0 where there is none, or an error. */
int reader_sweep(struct reader *reader, int64_t id, struct stored_sweep *ret, struct error *err);

/*
 * reader_find_sweep - the last sweep that is labelled at or before a time
 * @at_us:  wall clock; 0: the newest sweep
 * Return: 0; ERR_UNAVAILABLE where there is none; ERR_IO.
 */
int reader_find_sweep(struct reader *reader, int64_t at_us, struct stored_sweep *ret, struct error *err);

/* reader_begin_at - reader_begin() and reader_find_sweep(). On error no transaction is open. */
int reader_begin_at(struct reader *reader, int64_t at_us, struct stored_sweep *ret, struct error *err);

/*
 * reader_window_begin - the last sweep before a window that ends with @sweep
 * @at_us, @window_us:  (at - window, at]; window 0: that sweep alone. at 0: the sweep's own time
 */
int reader_window_begin(struct reader *reader, const struct stored_sweep *sweep, int64_t at_us, int64_t window_us,
			int64_t *ret_after, struct error *err);

/* reader_newest_id - as reader_newest(), inside a transaction. */
int reader_newest_id(struct reader *reader, int64_t *ret, struct error *err);

#endif
