/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* test_check.h - comparison of stored data with a model (cmocka assertions) */
#ifndef IBWIRE_STORAGE_TEST_CHECK_H
#define IBWIRE_STORAGE_TEST_CHECK_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

#include "analysis/delta.h"
#include "storage/file/lock.h"

struct error;
struct model;
struct reader;
struct restored;
struct saved_writer;
struct writer;

/* Open, or fail the test with the text of the error. */
struct writer *check_open_writer(const char *path);
struct writer *check_open_writer_with(const char *path, unsigned window_sweeps);
struct reader *check_open_reader(const char *path);
struct saved_writer *check_open_saved(const char *path);

/* check_store - store a sweep, or fail the test. */
struct sweep;
void check_store(struct writer *writer, const struct sweep *sweep);

/* check_store_steps - store the next @count sweeps of a model. */
void check_store_steps(struct writer *writer, struct model *model, size_t count);

/* check_collect - the same with a writer of its own, with windows of @window_sweeps. */
void check_collect(const char *path, struct model *model, size_t count, unsigned window_sweeps);

/* check_sweep - compare sweep @id (from 1): topology, status, deltas, readings. */
void check_sweep(struct reader *reader, const struct model *model, int64_t id);

/* check_sweeps - compare sweeps @first to @last of a database, of each @step the first one. */
void check_sweeps(const char *path, const struct model *model, int64_t first, int64_t last, int64_t step);

/* check_window - the same for sums over a window that ends at @at_us. */
void check_window(struct reader *reader, const struct model *model, int64_t at_us, int64_t window_us);

/* check_range - the newest sweep at or before a time (0: none), and the last one before a window that ends there. */
int64_t check_range(const struct model *model, int64_t at_us, int64_t window_us, int64_t *ret_after);

/* check_details - compare slow counters over a window: of all ports, of one node, of one port. */
void check_details(struct reader *reader, const struct model *model, int64_t at_us, int64_t window_us);

/* check_details_are_exact - first reading + sum of deltas = last reading of each slow counter, in SQL. */
void check_details_are_exact(const char *path);

/* check_integer - the integer result of a statement, directly from SQLite. */
int64_t check_integer(const char *path, const char *sql);

/* Removes the tables that version 7 added: a current database becomes one of version 6. */
#define DROP_TABLES_OF_VERSION_7 \
	"DROP TABLE firmware; DROP TABLE snapshot_firmware; DROP TABLE wait_contradicted; DROP TABLE cable_reading;" \
	" DROP TABLE node_reading; DROP TABLE cable; DROP TABLE import; DROP TABLE pkey_version;" \
	" DROP TABLE job_rhythm; DROP TABLE job_detected;"

/* check_change - run statements directly in SQLite, without CHECK constraints. */
void check_change(const char *path, const char *sql);

/* check_restored_details - the part of check_restore() for slow counters. */
void check_restored_details(const struct model *model, const struct restored *restored);

/* check_restore - compare restore() with the model after its last sweep. */
void check_restore(struct writer *writer, const struct model *model);

/* check_find_port - the index of a port of the model, or fail the test. */
size_t check_find_port(const struct model *model, uint64_t node_guid, int64_t num);

/* The total of a port over some sweeps. */
struct check_sum {
	int64_t samples;
	struct delta delta;
	counter_set ever; /* known in at least one of them */
};

/* check_sum_add - add a delta, which is the sum of @samples. */
void check_sum_add(struct check_sum *sum, const struct delta *delta, int64_t samples);

/* check_truth - the total of a port of the model over sweeps (@after, @until]. */
struct check_sum check_truth(const struct model *model, size_t port, int64_t after, int64_t until);

/* check_first_kept - the first sweep with samples. */
int64_t check_first_kept(const char *path);

/* check_run_sql - run a statement by reader_sql() and discard its rows. Return: its result. */
int check_run_sql(struct reader *reader, const char *sql);

/* check_open_second - a connection beside the writer's, or fail the test. */
struct sqlite3 *check_open_second(const char *path);

/* check_any_header - a header function for reader_sql() that accepts all columns. */
bool check_any_header(void *ctx, const char *const *names, int count);

/* check_error_line - the error is one line and contains @words. */
void check_error_line(const struct error *err, const char *words);

/*
 * check_lock_in_child - a child process holds a read lock on a file from byte @start to its end
 * Return: the child; check_end_child() kills it.
 */
pid_t check_lock_in_child(const char *name, off_t start);
void check_end_child(pid_t child);

/* check_integrity - run SQLite's integrity check. */
void check_integrity(const char *path);

#endif
