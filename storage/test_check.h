/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* test_check.h - what the store gives back, held against a model's truth (cmocka assertions) */
#ifndef IBWIRE_STORAGE_TEST_CHECK_H
#define IBWIRE_STORAGE_TEST_CHECK_H

#include <stddef.h>
#include <stdint.h>

struct model;
struct reader;
struct writer;

/* A folder of its own for one test; check_remove_folder() removes it and what is in it. */
void check_make_folder(char ret[64]);
void check_remove_folder(const char *folder);

/* Open, or fail the test with what the error says. */
struct writer *check_open_writer(const char *path);
struct reader *check_open_reader(const char *path);

/* check_store - store a sweep, or fail the test. */
struct sweep;
void check_store(struct writer *writer, const struct sweep *sweep);

/* check_sweep - sweep @id (from 1) read back alone: topology, status, deltas, readings. */
void check_sweep(struct reader *reader, const struct model *model, int64_t id);

/* check_window - the same, summed over a window that ends at @at_us. */
void check_window(struct reader *reader, const struct model *model, int64_t at_us, int64_t window_us);

/* check_restore - the writer gives back what the last sweep left. */
void check_restore(struct writer *writer, const struct model *model);

/* check_integrity - SQLite finds nothing wrong with the file. */
void check_integrity(const char *path);

#endif
