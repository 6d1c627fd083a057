/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * fabric_day.h - a fabric of any size that has a noisy day, sweep by sweep, as a collector would store it
 *
 * For benchmarks and for databases to try things on. Up to 31,744 port ends it is
 * rail-optimised (1,024 port ends for each unit of 32 hosts with 8 HCAs), above that a fat-tree
 * of three tiers; below 1,024 one of two tiers. Traffic is that of storage/test/test_day.h.
 * With faults, on 4,096 port ends and in an hour: 20 links go down for half a minute to five and
 * return, 5 nodes fall silent, 3 ports are cleared by somebody, a node is renamed, 2
 * sweeps are late; one port in 500 has errors now and then. On more port ends there are as many more.
 *
 * The same arguments give the same history, in any process.
 */
#ifndef IBWIRE_TESTS_BENCH_FABRIC_DAY_H
#define IBWIRE_TESTS_BENCH_FABRIC_DAY_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct error;
struct fabric_day;
struct sweep;

struct fabric_day_settings {
	size_t ports;        /* wanted port ends; there are about so many */
	int64_t interval_us; /* between sweeps */
	int64_t begin_us;    /* wall clock of the first sweep */
	uint64_t seed;
	bool faults;
};

/* fabric_day_create - Return: 0, ERR_USAGE where there is no such fabric, or ERR_NOMEM. */
int fabric_day_create(const struct fabric_day_settings *settings, struct fabric_day **ret, struct error *err);
void fabric_day_destroy(struct fabric_day *day);

/* fabric_day_step - the next sweep, borrowed until the next step. Return: 0 or ERR_NOMEM. */
int fabric_day_step(struct fabric_day *day, const struct sweep **ret, struct error *err);

#endif
