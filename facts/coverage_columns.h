/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* coverage_columns.h - the columns of directions of links in a burn-in, and of pairs of hosts, each described once */
#ifndef IBWIRE_FACTS_COVERAGE_COLUMNS_H
#define IBWIRE_FACTS_COVERAGE_COLUMNS_H

#include <stddef.h>
#include <stdint.h>

#include "export/result.h"

struct coverage;
struct fabric;
struct order;
struct round_pair;
struct shape;
struct text;

/* A direction: what a port sends. */
struct coverage_facts {
	const struct coverage *coverage;
	const struct shape *shape;
	uint32_t port; /* that sends */
};

/* Columns of a struct coverage_facts; the last one has no key. In a list of ports its row is LINK_ROW. */
extern const struct column coverage_columns[];

/* coverage_append_left - "not-loaded, errors" of a set of enum coverage_left. */
void coverage_append_left(unsigned left, struct text *text);

/* A pair of host ports in a round. */
struct pair_facts {
	const struct shape *shape;
	const struct order *order;
	const struct round_pair *pair;
	size_t round; /* from 1 */
	int64_t load_us; /* for which a round is to last */
};

/* Columns of a struct pair_facts; the last one has no key. */
extern const struct column pair_columns[];

/* pair_device - the device of an HCA port as its host calls it: "mlx5_0"; "": unknown. Return: @ret, @size bytes. */
const char *pair_device(const struct fabric *fabric, uint32_t port, char *ret, size_t size);

#endif
