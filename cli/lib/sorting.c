/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
#include "cli/lib/sorting.h"

#include <math.h>
#include <string.h>
#include <strings.h>

#include "base/err.h"
#include "cli/command.h"
#include "cli/lib/options.h"
#include "storage/reader.h"

/* Words of the column titles, in addition to the keys of --format json. */
static const struct { const char *word; enum port_cell cell; } words[] = {
	{ "node", CELL_OWN }, { "name", CELL_OWN },
	{ HEADING_TX, CELL_XMIT }, { HEADING_RX, CELL_RCV },
	{ HEADING_TX_PERCENT, CELL_XMIT_PERCENT }, { HEADING_RX_PERCENT, CELL_RCV_PERCENT },
	{ HEADING_STALL, CELL_STALL }, { "xmitwait", CELL_STALL }, { "stall", CELL_STALL },
	{ "tx pkts", CELL_XMIT_PACKETS }, { "rx pkts", CELL_RCV_PACKETS },
	{ HEADING_AGE, CELL_AGE }, { HEADING_LINK, CELL_RATE },
};

enum { WORD_COUNT = sizeof(words) / sizeof(*words) };

static bool find(const char *typed, struct sorting *ret)
{
	for (size_t i = 0; i < WORD_COUNT; i++) {
		ret->cell = words[i].cell;
		if (!strcasecmp(words[i].word, typed))
			return true;
	}
	for (ret->cell = CELL_OWN; ret->cell < CELL_COUNT; ret->cell++)
		if (cells_sort_key(ret->cell) && !strcasecmp(cells_sort_key(ret->cell), typed))
			return true;
	ret->counter = counter_by_key(typed);
	return ret->counter != COUNTER_COUNT;
}

int sorting_parse(const struct command *command, const char *typed, struct sorting *ret, struct error *err)
{
	struct nearest nearest;

	*ret = (struct sorting){ .cell = CELL_OWN };
	if (!typed || find(typed, ret))
		return 0;
	nearest_init(&nearest, typed);
	for (size_t i = 0; i < WORD_COUNT; i++)
		nearest_offer(&nearest, words[i].word);
	for (enum port_cell cell = CELL_OWN; cell < CELL_COUNT; cell++)
		if (cells_sort_key(cell))
			nearest_offer(&nearest, cells_sort_key(cell));
	for (int i = 0; i < COUNTER_COUNT; i++)
		nearest_offer(&nearest, counter_info((enum counter)i)->key);
	return options_usage_error(command, err, "unknown sort key '%.64s'%s", typed, nearest.best ?
				   nearest_hint(&nearest) : ": use for example load, util, stall, errors, age or node");
}

double sorting_value(const struct sorting *sorting, const struct view *view, const struct port_facts *port)
{
	const struct delta *sum = &view->snapshot->rows[port->port].sum;

	if (sorting->cell != CELL_COUNT)
		return sorting->cell == CELL_OWN ? NAN : cells_number(sorting->cell, port);
	return sum->known & COUNTER_BIT(sorting->counter) ? (double)sum->value[sorting->counter] : NAN;
}

int sorting_compare(double x, double y, uint32_t x_rank, uint32_t y_rank)
{
	if (isnan(x) != isnan(y))
		return isnan(x) ? 1 : -1;
	if (x < y || x > y)
		return x < y ? 1 : -1;
	return (x_rank > y_rank) - (x_rank < y_rank);
}
