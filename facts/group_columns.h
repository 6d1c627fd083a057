/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* group_columns.h - the columns of groups of equivalent links and of their members, each described once */
#ifndef IBWIRE_FACTS_GROUP_COLUMNS_H
#define IBWIRE_FACTS_GROUP_COLUMNS_H

#include <stdbool.h>
#include <stdint.h>

#include "export/result.h"

struct balance_result;
struct fabric;
struct shape_group;

/* A row of a table of groups: a member with its group in one direction. */
struct group_facts {
	const struct fabric *fabric;
	const struct shape_group *group;
	const struct balance_result *result;
	uint32_t nth;                /* the member */
	int64_t since_us, until_us;  /* the window */
	int64_t uneven_since_us;     /* begin of an imbalance; 0: none, or unknown */
	bool uneven_earlier;         /* it began earlier, at an unknown time */
};

/* Columns of a struct group_facts; the last one has no key. */
extern const struct column group_columns[];

#endif
