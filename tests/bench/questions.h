/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * questions.h - how long questions to a stored day take, beside plain rows
 */
#ifndef IBWIRE_TESTS_BENCH_QUESTIONS_H
#define IBWIRE_TESTS_BENCH_QUESTIONS_H

#include <stdint.h>

struct error;

/* What is asked: of one port or of all, over the last so many seconds, in so many points at least. */
struct question {
	const char *name;
	uint64_t node_guid; /* 0: all ports */
	uint8_t num;
	uint32_t peer_port; /* the same port in plain rows */
	double seconds;
	unsigned points;    /* 0: every sweep of one port, the sum of all */
	double must_cold_ms, must_warm_ms; /* 0: not asked for */
};

/*
 * question_ask - measure, and print figures NAME_cold, NAME_warm, NAME_warm_cpu and NAME_sql_warm
 * @path:   the database; nobody may write to it
 * @plain:  plain rows of at least the same time, or NULL
 *
 * Cold: both files are dropped from the page cache before, and opened anew.
 * Return: 0 or a negative error; also where no sample came.
 */
int question_ask(const struct question *question, const char *path, const char *plain, struct error *err);

#endif
