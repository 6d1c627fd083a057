/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* record.h - a scenario (docs/scenarios.md) played into a database, as a collector would have stored it */
#ifndef IBWIRE_TESTS_SCREEN_RECORD_H
#define IBWIRE_TESTS_SCREEN_RECORD_H

#include <stdint.h>

struct error;

/*
 * record_scenario - play it from its beginning to its end
 * @file:    of the scenario
 * @path:    of the database, new or not
 * @end_us:  wall clock at the beginning of the last sweep. With the same end two runs store the same numbers
 * Return: 0 or a negative error.
 */
int record_scenario(const char *file, const char *path, int64_t end_us, struct error *err);

#endif
