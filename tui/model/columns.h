/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * columns.h - positions of the columns of a table
 *
 * Pure functions. Columns are numbered from 0; sets of columns are bit masks, 1 << column.
 */
#ifndef IBWIRE_TUI_MODEL_COLUMNS_H
#define IBWIRE_TUI_MODEL_COLUMNS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* Position of a column; columns is 0 if it is not shown. */
struct column_place {
	int x, columns;
};

/*
 * Steps are applied in order: if there is room, a column appears or grows to a width.
 */
struct column_step {
	uint8_t column;
	int16_t columns; /* or COLUMN_WIDEST: as wide as its widest cell */
	int16_t at_most; /* of COLUMN_WIDEST; 0: no limit */
};
#define COLUMN_WIDEST (-1)

/* A table. */
struct column_set {
	size_t count;
	const struct column_step *steps;
	size_t step_count;
	const int *widest;    /* columns of the widest cell, 0: the column is not shown now; NULL: no step needs it */
	uint64_t hidden;
	uint64_t elastic;     /* may also grow by less than a step */
	const uint8_t *order; /* all columns from the left; NULL: by number */
};

/*
 * columns_fit - select columns and their widths
 * @columns:  of the table
 * @ret:      set->count places, one blank column apart, all inside the table
 */
void columns_fit(const struct column_set *set, int columns, struct column_place *ret);

/* columns_set_positions - set x of places whose widths have changed. */
void columns_set_positions(const struct column_set *set, struct column_place *places);

/*
 * columns_neighbour - the next shown column to the right (@step 1) or left (-1), around the ends
 * columns_move - move a column past that one, but not around the ends
 * @order, @places:  of @count columns
 * Return: columns_neighbour(): @column itself if no other is shown; columns_move(): whether it was moved.
 */
size_t columns_neighbour(const uint8_t *order, const struct column_place *places, size_t count, size_t column,
			 int step);
bool columns_move(uint8_t *order, const struct column_place *places, size_t count, size_t column, int step);

#endif
