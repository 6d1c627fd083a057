/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * queries.h - times of queries of a stored day, compared with plain rows
 */
#ifndef IBWIRE_TESTS_BENCH_QUERIES_H
#define IBWIRE_TESTS_BENCH_QUERIES_H

#include <stdint.h>

struct error;

/* A query of one port or of all ports. */
struct query {
	const char *name;
	uint64_t node_guid; /* 0: all ports */
	uint8_t num;
	uint32_t peer_port; /* the same port in plain rows */
	double seconds;     /* before the last sweep */
	unsigned points;    /* at least; 0: every sweep of one port, the sum of all ports */
	double must_cold_ms, must_warm_ms; /* limits; 0: none */
};

/*
 * query_measure - measure, and print figures NAME_cold, NAME_warm, NAME_warm_cpu and NAME_sql_warm
 * @path:   the database, without a writer
 * @plain:  plain rows of at least the same time, or NULL
 *
 * Cold: both files are dropped from the page cache and opened again.
 * Return: 0 or a negative error, also if there is no sample.
 */
int query_measure(const struct query *query, const char *path, const char *plain, struct error *err);

#endif
