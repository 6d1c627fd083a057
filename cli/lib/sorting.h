/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* sorting.h - --sort of ports and links: keys and titles of columns, counters */
#ifndef IBWIRE_CLI_SORTING_H
#define IBWIRE_CLI_SORTING_H

#include <stdint.h>

#include "cli/lib/columns.h"
#include "fabric/counter.h"

struct command;
struct error;

#define SORTING_HELP "load, rate, stall, errors, age or another key or counter, largest first"

struct sorting {
	const struct column *column; /* NULL: by a counter, or by name */
	unsigned row;                /* of the column's source */
	enum counter counter;        /* COUNTER_COUNT: none */
};

/*
 * sorting_parse - find a sort key
 * @list:   PORT_ROW is a source of it, and its columns precede those of its peer
 * @typed:  NULL: by name
 * Return: 0, or ERR_USAGE with the nearest key.
 */
int sorting_parse(const struct command *command, const struct column_list *list, const char *typed,
		  struct sorting *ret, struct error *err);

/* sorting_is_by_name - are the rows in the order of their names? */
bool sorting_is_by_name(const struct sorting *sorting);

/*
 * sorting_value - the value of a row; NAN: unknown
 * @rows:  as for result_fill_rows(); with PEER_ROW: of the end with the larger value
 */
double sorting_value(const struct sorting *sorting, const void *const *rows);

/* sorting_compare - largest value first, unknown ones last, equal ones by @x_rank; as strcmp. */
int sorting_compare(double x, double y, uint32_t x_rank, uint32_t y_rank);

#endif
