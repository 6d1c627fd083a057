/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * plain_rows.h - the reference for the store: one row per port and sweep, with the same SQLite settings
 *
 * One commit per sweep. Topology, errors, gaps and events are not stored.
 */
#ifndef IBWIRE_TESTS_BENCH_PLAIN_ROWS_H
#define IBWIRE_TESTS_BENCH_PLAIN_ROWS_H

#include <stdint.h>

struct error;
struct plain_rows;
struct sweep;

/* plain_open - open @path, or make it. Return: 0 or ERR_IO. */
int plain_open(const char *path, struct plain_rows **ret, struct error *err);
void plain_close(struct plain_rows *rows);

/* plain_store - store the samples of a sweep; ports by their index in the fabric. Return: 0 or ERR_IO. */
int plain_store(struct plain_rows *rows, const struct sweep *sweep, struct error *err);

/* plain_newest - the number of the newest sweep; they are numbered from 1. */
int64_t plain_newest(const struct plain_rows *rows);

/*
 * plain_read_port - all rows of one port in sweeps (@after, @until], by a look-up for each sweep
 * plain_sum_ports - words and packets of every port over them, by GROUP BY
 * @ret_rows:  number of rows
 */
int plain_read_port(struct plain_rows *rows, uint32_t port, int64_t after, int64_t until, int64_t *ret_rows,
		    struct error *err);
int plain_sum_ports(struct plain_rows *rows, int64_t after, int64_t until, int64_t *ret_rows, struct error *err);

#endif
