/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* sorting.h - --sort of ports and links: keys of the output, counters, words of column titles */
#ifndef IBWIRE_CLI_SORTING_H
#define IBWIRE_CLI_SORTING_H

#include "cli/lib/cells.h"
#include "fabric/counter.h"

struct command;
struct error;

#define SORTING_HELP "load, util, stall, errors, age or another key or counter, largest first"

struct sorting {
	enum port_cell cell;  /* CELL_OWN: by name; CELL_COUNT: by a counter */
	enum counter counter;
};

/*
 * sorting_parse - find a sort key
 * @typed:  NULL: by name
 * Return: 0, or ERR_USAGE with the nearest key.
 */
int sorting_parse(const struct command *command, const char *typed, struct sorting *ret, struct error *err);

/* sorting_value - the value of a port; NAN: unknown. */
double sorting_value(const struct sorting *sorting, const struct view *view, const struct port_facts *port);

/* sorting_compare - largest value first, unknown ones last, equal ones by @x_rank; as strcmp. */
int sorting_compare(double x, double y, uint32_t x_rank, uint32_t y_rank);

#endif
