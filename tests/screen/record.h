/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* record.h - run a collector on a scenario (docs/scenarios.md) and store its sweeps in a database */
#ifndef IBWIRE_TESTS_SCREEN_RECORD_H
#define IBWIRE_TESTS_SCREEN_RECORD_H

#include <stdint.h>

struct error;

/*
 * record_scenario - run and store a scenario
 * @file:       of the scenario
 * @path:       of the database, created if it does not exist
 * @length_us:  of the recording; 0: the whole scenario
 * @end_us:     wall clock at the beginning of the last sweep; two runs with the same end store the same values
 * Return: 0 or a negative error.
 */
int record_scenario(const char *file, const char *path, int64_t length_us, int64_t end_us, struct error *err);

#endif
