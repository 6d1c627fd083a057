/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * record_db.c - store a scenario in a database
 *
 * record_db SCENARIO PATH [END [LENGTH]]
 * record_db SCENARIO
 * record_db compact PATH RAW_S SUMS_S
 *
 * The last sweep begins at END (seconds since 1970; default: now). Only the first LENGTH seconds of the scenario are
 * stored (0, the default: all). A job of all hosts runs in the last minute.
 * The errors of each port are printed (record_scenario); without PATH what it sends and receives (record_truth).
 * "compact" packs all samples of a database into sums, and removes samples and sums that are older than these seconds.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/clock.h"
#include "base/err.h"
#include "storage/pack/compactor.h"
#include "storage/writer.h"
#include "tests/screen/record.h"

static int compact(const char *path, const char *raw_s, const char *sums_s, struct error *err)
{
	const struct writer_retention retention = { .raw_us = atoll(raw_s) * US_PER_S,
						    .sums_us = atoll(sums_s) * US_PER_S };
	struct compactor *compactor;
	int code = compactor_start(path, &retention, &compactor, err);

	if (code == 0)
		compactor_stop(compactor, INT64_MAX / 2);
	return code;
}

static int record(int argc, char **argv, struct error *err)
{
	const int64_t job_us = 60 * US_PER_S;
	int64_t end_us = argc > 3 ? atoll(argv[3]) * US_PER_S : clock_wall_us(clock_system());
	int64_t length_us = argc > 4 ? atoll(argv[4]) * US_PER_S : 0;

	if (argc == 5 && !strcmp(argv[1], "compact"))
		return compact(argv[2], argv[3], argv[4], err);
	if (argc == 2)
		return record_truth(argv[1], stdout, err);
	return record_scenario(argv[1], argv[2], length_us, end_us, job_us, stdout, err);
}

int main(int argc, char **argv)
{
	struct error err = { 0 };

	if (argc < 2) {
		fprintf(stderr, "usage: record_db SCENARIO [PATH [END [LENGTH]]]\n");
		return 64;
	}
	if (record(argc, argv, &err) < 0) {
		fprintf(stderr, "record_db: %s\n", err.text);
		return -err.code;
	}
	return 0;
}
