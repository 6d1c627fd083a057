/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * columns.h - the columns of a list: the usual ones of a command, or those of --columns
 *
 * Tables in facts/ describe each column once. A command adds only what belongs to its list: which of
 * them it shows in which order.
 */
#ifndef IBWIRE_CLI_COLUMNS_H
#define IBWIRE_CLI_COLUMNS_H

#include <stdbool.h>
#include <stddef.h>

#include "export/result.h"

struct command;
struct error;
struct options;

/* A table of columns of one of the rows that result_fill_rows() gets. */
struct column_source {
	const struct column *columns; /* the last one has neither key nor title */
	unsigned row;             /* the same for all of its columns */
	const char *key_prefix;   /* of the keys and titles in this list: "peer_", "PEER "; or NULL */
	const char *title_prefix;
	bool append;              /* with COLUMN_APPEND: also the columns that the list does not name */
};

/* A column of a list. */
struct column_item {
	const char *key; /* in its source */
	unsigned row;    /* of its source */
	bool table;      /* in tables; without it only in data */
	bool no_data;    /* only in tables */
	bool below;      /* COLUMN_BELOW instead of COLUMN_FLEXIBLE */
	unsigned priority; /* as in struct column */
	const char *title; /* NULL: with the prefix of the source */
	const char *as;    /* key in this list; NULL: with the prefix of the source */
};

/* Of equal keys the first one counts: items precede sources. Without items: all columns of the sources. */
struct column_list {
	const struct column_source *sources;
	size_t source_count;
	const struct column_item *items;
	size_t count;
};

#define COLUMNS_HELP "show these columns in this order: KEY,KEY,... or help"

/* The columns of a result. A zeroed struct is empty. */
struct columns {
	struct column *list;
	size_t count;
	char *names; /* composed keys and titles */
};

/*
 * columns_create - the columns of a list
 * @command:  NULL: of a page, without an option --columns
 * @chosen:  as typed after --columns; NULL: the usual ones
 * @ret:     for columns_done()
 *
 * Return: 0; 1 if `help` was printed; ERR_USAGE with the nearest key; ERR_NOMEM.
 */
int columns_create(const struct command *command, const struct options *options, const struct column_list *list,
		   const char *chosen, struct columns *ret, struct error *err);
void columns_done(struct columns *columns);

/*
 * columns_find - a column by its key, title or short title, in any case
 * Return: NULL if there is none.
 */
const struct column *columns_find(const struct column_source *source, const char *typed);

#endif
