/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* collect_fast.h - what `collect --fast-jobs` reads, for its estimate */
#ifndef IBWIRE_CLI_COLLECT_FAST_H
#define IBWIRE_CLI_COLLECT_FAST_H

#include <stdint.h>

struct error;
struct fabric;
struct options;
struct shape_settings;

/* The ports of the running jobs, as collector/findings_step.c selects them. */
struct fast_assumption {
	uint64_t jobs, ports; /* jobs 0: none runs, or there is no database: all hosts are assumed to run one */
	char text[64];        /* "2 running jobs", "no job runs: all hosts" */
};

/* collect_fast_assume - Return: 0; ERR_IO; ERR_NOMEM. */
int collect_fast_assume(const struct options *options, const struct fabric *fabric,
			const struct shape_settings *settings, struct fast_assumption *ret, struct error *err);

#endif
