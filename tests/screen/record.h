/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* record.h - run a collector on a scenario (docs/scenarios.md) and store its sweeps in a database */
#ifndef IBWIRE_TESTS_SCREEN_RECORD_H
#define IBWIRE_TESTS_SCREEN_RECORD_H

#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>

struct error;

/*
 * record_scenario - run and store a scenario
 * @file:       of the scenario
 * @path:       of the database, created if it does not exist
 * @length_us:  of the recording; 0: the whole scenario
 * @end_us:     wall clock at the beginning of the last sweep; two runs with the same end store the same values
 * @job_us:     a job of all hosts begins so long before the end; 0: no job
 * @errors:     CSV: time_s since the beginning, GUID, port number, counter, errors since the beginning, after each
 *              sweep, which has a line with 0 for GUID and port; or NULL. A counter that is cleared, full or not
 *              read does not change them. Snapshots are stored with the sweeps of 150, 80 and 20 s before the end; the
 *              first two are those of the job 16 of all hosts.
 * Return: 0 or a negative error.
 */
int record_scenario(const char *file, const char *path, int64_t length_us, int64_t end_us, int64_t job_us,
		    FILE *errors, struct error *err);

/*
 * record_job - store the begin or the end of a job of all hosts
 * @wall_us, @boot_us: of the newest sweep; the job begins or ends a second later
 * Return: 0 or a negative error.
 */
int record_job(const char *path, const char *id, int64_t wall_us, int64_t boot_us, bool ends, struct error *err);

/*
 * record_truth - print what each port of a scenario sends and receives, without a collector
 * CSV: time_s since the beginning, GUID, port number, bits sent and received since the beginning. A counter that is
 * cleared, full or not read does not change them.
 * Return: 0 or a negative error.
 */
int record_truth(const char *file, FILE *out, struct error *err);

#endif
