/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* columns.h - the columns of a list: the usual ones of a command, or those of --columns */
#ifndef IBWIRE_CLI_COLUMNS_H
#define IBWIRE_CLI_COLUMNS_H

#include "export/columns.h"

struct command;
struct error;
struct options;

#define COLUMNS_HELP "show these columns in this order: KEY,KEY,... or help"
#define COLUMNS_SORT_HELP "sort by this column, largest first, texts by name"

/*
 * columns_create - the columns of a list
 * @chosen:  as typed after --columns; NULL: the usual ones
 * @sort:    as typed after --sort: a key or title of any column of the sources; NULL: not sorted
 * @ret:     for columns_done()
 *
 * Return: 0; 1 if `help` was printed; ERR_USAGE with the nearest key; ERR_NOMEM.
 */
int columns_create(const struct command *command, const struct options *options, const struct column_list *list,
		   const char *chosen, const char *sort, struct columns *ret, struct error *err);

/* columns_begin - as output_begin(), with these columns and in their order. */
struct result *columns_begin(const struct options *options, const struct columns *columns);

#endif
