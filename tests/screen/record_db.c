/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * record_db.c - store a scenario in a database
 *
 * record_db SCENARIO PATH [END [LENGTH]]
 * record_db SCENARIO
 *
 * The last sweep begins at END (seconds since 1970; default: now). Only the first LENGTH seconds of the scenario are
 * stored (0, the default: all). A job of all hosts runs in the last minute.
 * The errors of each port are printed (record_scenario); without PATH what it sends and receives (record_truth).
 */
#include <stdio.h>
#include <stdlib.h>

#include "base/clock.h"
#include "base/err.h"
#include "tests/screen/record.h"

int main(int argc, char **argv)
{
	struct error err = { 0 };
	const int64_t job_us = 60 * US_PER_S;
	int64_t end_us = argc > 3 ? atoll(argv[3]) * US_PER_S : clock_wall_us(clock_system());
	int64_t length_us = argc > 4 ? atoll(argv[4]) * US_PER_S : 0;

	if (argc < 2) {
		fprintf(stderr, "usage: record_db SCENARIO [PATH [END [LENGTH]]]\n");
		return 64;
	}
	if (argc == 2 ? record_truth(argv[1], stdout, &err) < 0 :
	    record_scenario(argv[1], argv[2], length_us, end_us, job_us, stdout, &err) < 0) {
		fprintf(stderr, "record_db: %s\n", err.text);
		return -err.code;
	}
	return 0;
}
