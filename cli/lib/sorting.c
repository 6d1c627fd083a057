/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
#include "cli/lib/sorting.h"

#include <math.h>
#include <string.h>
#include <strings.h>

#include "base/err.h"
#include "base/nearest.h"
#include "cli/command.h"
#include "cli/lib/options.h"
#include "facts/port_columns.h"
#include "facts/port_facts.h"
#include "storage/reader.h"

/* Words beside the keys and titles of the columns; NULL: by name. */
static const struct { const char *word, *key; } words[] = {
	{ "node", NULL }, { "name", NULL }, { "stall", "stall_percent" }, { "xmitwait", "stall_percent" },
	/* The word of the table before the key: LOAD is the utilization. */
	{ "load", "util" }, { "rate", "load" },
};

enum { WORD_COUNT = sizeof(words) / sizeof(*words) };

static bool find(const struct column_list *list, const char *typed, struct sorting *ret)
{
	for (size_t i = 0; i < WORD_COUNT; i++)
		if (!strcasecmp(words[i].word, typed)) {
			if (!words[i].key)
				return true;
			typed = words[i].key;
		}
	for (size_t i = 0; i < list->source_count; i++) {
		const struct column *column = columns_find(&list->sources[i], typed);

		if (list->sources[i].key_prefix || !column || !column_has_number(column))
			continue;
		ret->column = column;
		ret->row = list->sources[i].row;
		return true;
	}
	ret->counter = counter_by_key(typed);
	return ret->counter != COUNTER_COUNT;
}

int sorting_parse(const struct command *command, const struct column_list *list, const char *typed,
		  struct sorting *ret, struct error *err)
{
	struct nearest nearest;

	*ret = (struct sorting){ .counter = COUNTER_COUNT };
	if (!typed || find(list, typed, ret))
		return 0;
	nearest_init(&nearest, typed);
	for (size_t i = 0; i < WORD_COUNT; i++)
		nearest_offer(&nearest, words[i].word);
	for (size_t i = 0; i < list->source_count; i++)
		for (const struct column *column = list->sources[i].columns;
		     !list->sources[i].key_prefix && column->key; column++)
			if (column_has_number(column))
				nearest_offer(&nearest, column->key);
	for (int i = 0; i < COUNTER_COUNT; i++)
		nearest_offer(&nearest, counter_info((enum counter)i)->key);
	return options_usage_error(command, err, "unknown sort key '%.64s'%s", typed, nearest.best ?
				   nearest_hint(&nearest) : ": use for example load, rate, stall, errors, age or node");
}

bool sorting_is_by_name(const struct sorting *sorting)
{
	return !sorting->column && sorting->counter == COUNTER_COUNT;
}

static double end_value(const struct sorting *sorting, const struct port_facts *port)
{
	const struct delta *sum;

	if (!port)
		return NAN;
	if (sorting->column)
		return column_number(sorting->column, port);
	sum = &port->scope->snapshot->rows[port->port].sum;
	return sum->known & COUNTER_BIT(sorting->counter) ? (double)sum->value[sorting->counter] : NAN;
}

double sorting_value(const struct sorting *sorting, const void *const *rows)
{
	if (sorting_is_by_name(sorting))
		return NAN;
	if (sorting->row != PORT_ROW)
		return column_number(sorting->column, rows[sorting->row]);
	/* fmax() ignores an unknown value. */
	return fmax(end_value(sorting, rows[PORT_ROW]), end_value(sorting, rows[PEER_ROW]));
}

int sorting_compare(double x, double y, uint32_t x_rank, uint32_t y_rank)
{
	if (isnan(x) != isnan(y))
		return isnan(x) ? 1 : -1;
	if (x < y || x > y)
		return x < y ? 1 : -1;
	return (x_rank > y_rank) - (x_rank < y_rank);
}
