/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* files.h - the files in tests/scenarios */
#ifndef IBWIRE_TESTS_SCENARIOS_FILES_H
#define IBWIRE_TESTS_SCENARIOS_FILES_H

#include <stdbool.h>
#include <stddef.h>

#define SCENARIO_FILES_MAX 200

/* scenario_file - Return: the path of the file @name, from malloc(). */
char *scenario_file(const char *name);

/*
 * scenario_files - the names of all files, sorted, each from malloc()
 * Ends the program if there are fewer than 35 or more than SCENARIO_FILES_MAX.
 * Return: the number of them.
 */
size_t scenario_files(char *ret[SCENARIO_FILES_MAX]);

/* scenario_file_is_run - whether a slow test runs the file at @index: each, and one of @part with IBWIRE_TEST_SHORT. */
bool scenario_file_is_run(size_t index, size_t part);

#endif
