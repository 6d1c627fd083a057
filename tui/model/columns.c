/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
#include "tui/model/columns.h"

#include <string.h>

/*
 * Let a column appear, or grow to a width, if there is room. @elastic: it may also grow by less.
 * @columns: of the table; @left: of these, not used yet
 */
static void grow(struct column_place *place, int width, bool elastic, int columns, int *left)
{
	int gap = !place->columns && *left < columns, more = width - place->columns;

	if (elastic && place->columns && more > *left)
		more = *left;
	if (more <= 0 || more + gap > *left)
		return;
	place->columns += more;
	*left -= more + gap;
}

void columns_set_positions(const struct column_set *set, struct column_place *places)
{
	int x = 0;

	for (size_t i = 0; i < set->count; i++) {
		struct column_place *place = &places[set->order ? set->order[i] : i];

		place->x = x;
		x += place->columns ? place->columns + 1 : 0;
	}
}

void columns_fit(const struct column_set *set, int columns, struct column_place *ret)
{
	int left = columns;

	memset(ret, 0, set->count * sizeof(*ret));
	for (size_t i = 0; i < set->step_count; i++) {
		const struct column_step *step = &set->steps[i];
		int width = step->columns;

		if (set->hidden >> step->column & 1 || (set->widest && !set->widest[step->column]))
			continue;
		if (width == COLUMN_WIDEST)
			width = set->widest[step->column];
		if (step->columns == COLUMN_WIDEST && step->at_most && width > step->at_most)
			width = step->at_most;
		grow(&ret[step->column], width, set->elastic >> step->column & 1, columns, &left);
	}
	columns_set_positions(set, ret);
}

static size_t position_of(const uint8_t *order, size_t column)
{
	size_t at = 0;

	while (order[at] != column)
		at++;
	return at;
}

size_t columns_neighbour(const uint8_t *order, const struct column_place *places, size_t count, size_t column,
			 int step)
{
	size_t at = position_of(order, column);

	for (size_t tries = 0; tries < count; tries++) {
		at = (at + count + (size_t)step) % count;
		if (places[order[at]].columns)
			break;
	}
	return order[at];
}

bool columns_move(uint8_t *order, const struct column_place *places, size_t count, size_t column, int step)
{
	size_t from = position_of(order, column);
	size_t to = position_of(order, columns_neighbour(order, places, count, column, step));

	if (to == from || (to > from) != (step > 0))
		return false;
	for (; from != to; from += (size_t)step)
		order[from] = order[from + (size_t)step];
	order[to] = (uint8_t)column;
	return true;
}
