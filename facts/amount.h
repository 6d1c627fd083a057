/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* amount.h - what is shown of the load of a rail, plane, switch or host, and its columns, each described once */
#ifndef IBWIRE_FACTS_AMOUNT_H
#define IBWIRE_FACTS_AMOUNT_H

#include <stdint.h>

#include "analysis/balance.h"
#include "export/result.h"

struct amount_facts {
	struct balance_amount amount; /* the first member: balance_compare_excess() takes these, too */
	int64_t since_us, until_us;   /* the window, wall clock */
	const char *name, *class, *bar; /* NULL: it has none */
	uint64_t node_guid;           /* of a switch; else 0 */
	uint32_t tier;                /* likewise */
};

/* Columns of a struct amount_facts; the last one has no key. */
enum { AMOUNT_COLUMN_COUNT = 17 };
extern const struct column amount_columns[AMOUNT_COLUMN_COUNT + 1];

#endif
