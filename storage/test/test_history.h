/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* test_history.h - a stored history of a model, and comparison of databases (cmocka assertions) */
#ifndef IBWIRE_STORAGE_TEST_HISTORY_H
#define IBWIRE_STORAGE_TEST_HISTORY_H

#include <stddef.h>
#include <stdint.h>

struct model;

/*
 * test_history_store - store @sweeps sweeps at path (test_folder.h), with a new writer after each 50
 * With an odd seed, the compactor packs samples in windows of 7 sweeps; with an even one they stay hot.
 * Return: the model that was stored (caller owns).
 */
struct model *test_history_store(uint64_t seed, size_t sweeps);

/* check_sound - `ibwire db check` finds no fault. */
void check_sound(const char *of);

/* check_same_content - the tables of two databases have the same rows. */
void check_same_content(const char *a, const char *b);

#endif
