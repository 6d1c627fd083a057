/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* test_saved.h - snapshots at path (test_folder.h), and their comparison with a sweep (cmocka assertions) */
#ifndef IBWIRE_STORAGE_TEST_SAVED_H
#define IBWIRE_STORAGE_TEST_SAVED_H

#include <stddef.h>
#include <stdint.h>

#include "storage/saved.h"

struct sweep;

/* All snapshots, in the order of the list. */
struct saved_names {
	int64_t ids[64];
	char names[64][SAVED_NAME_SIZE];
	size_t count;
};

/* Open, write, list, read one by its name, or fail the test. */
struct saved_writer *test_saved_open(void);
void test_saved_save(struct saved_writer *writer, const char *name, const struct sweep *sweep);
void test_saved_list(struct saved_names *ret);
struct saved *test_saved_load(const char *name);

/* test_saved_check - compare a snapshot with a sweep: nodes, states, peers, readings, slow counters. */
void test_saved_check(const char *name, const struct sweep *sweep);

#endif
