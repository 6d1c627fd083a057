/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* test_history.h - a history to be copied, checked and damaged, and whether two are the same (cmocka assertions) */
#ifndef IBWIRE_STORAGE_TEST_HISTORY_H
#define IBWIRE_STORAGE_TEST_HISTORY_H

#include <stddef.h>
#include <stdint.h>

struct model;

/*
 * test_history_store - so many sweeps at path (test_folder.h), by collectors that come and go
 * Samples of every other seed are packed by windows as far as the writer's thread comes; of the rest they stay hot.
 * Return: the model that was stored (caller owns).
 */
struct model *test_history_store(uint64_t seed, size_t sweeps);

/* check_sound - `ibwire db check` finds no fault in it. */
void check_sound(const char *of);

/* check_same_content - all rows of each table of one database are in the other, and the other way round. */
void check_same_content(const char *a, const char *b);

#endif
