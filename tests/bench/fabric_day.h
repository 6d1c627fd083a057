/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * fabric_day.h - a fabric of any size with a day of noisy traffic, for benchmarks and experiments
 *
 * Up to 31,744 port ends it is rail-optimised (1,024 port ends for each unit of 32 hosts with 8 HCAs),
 * above that a fat-tree of three tiers; below 1,024 one of two tiers. Traffic is that of
 * storage/test/test_day.h. The same settings result in the same history.
 */
#ifndef IBWIRE_TESTS_BENCH_FABRIC_DAY_H
#define IBWIRE_TESTS_BENCH_FABRIC_DAY_H

#include <stddef.h>
#include <stdint.h>

struct error;
struct fabric_day;
struct net_shape;
struct sweep;

struct fabric_day_settings {
	size_t ports;        /* port ends, approximately */
	int64_t interval_us; /* between sweeps */
	int64_t begin_us;    /* wall clock of the first sweep */
	uint64_t seed;
	const struct net_shape *shape; /* instead of ports; NULL: as above */
};

/* fabric_day_create - Return: 0; ERR_USAGE if there is no such fabric. */
int fabric_day_create(const struct fabric_day_settings *settings, struct fabric_day **ret, struct error *err);
void fabric_day_destroy(struct fabric_day *day);

/* fabric_day_step - the next sweep, valid until the next step. */
const struct sweep *fabric_day_step(struct fabric_day *day);

#endif
