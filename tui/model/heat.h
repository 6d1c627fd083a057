/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * heat.h - the links between two neighbouring tiers as a matrix: a row for each switch below, a column for each above
 *
 * Switches that no chain of such links joins are in different blocks: each pod
 * of a fabric of three tiers, each of its planes. A row has cells for the columns
 * of its own block only, so that the matrix has no empty quarters.
 * Pure: no curses, no database.
 */
#ifndef IBWIRE_TUI_MODEL_HEAT_H
#define IBWIRE_TUI_MODEL_HEAT_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "tui/model/role.h"

struct balance;
struct balance_input;
struct error;

enum heat_sign {
	HEAT_NO_LINK, /* none was built */
	HEAT_MISSING, /* none is there, and the switches around have some */
	HEAT_DOWN,    /* none of them is up */
	HEAT_UNKNOWN, /* up, and not read */
	HEAT_LOAD,
};

/* What is shown: what was measured, what the tables would do with the same traffic, the one without the other. */
enum heat_value { HEAT_MEASURED, HEAT_PREDICTED, HEAT_DIFFERENCE, HEAT_VALUES };

/* All links between two switches. Loads are 0..1 of a link's own rate, of one direction; NAN: not known. */
struct heat_cell {
	float value[HEAT_VALUES]; /* of that link of them where it is the largest; the difference: farthest from 0 */
	float rate;               /* bytes per us, all of them together */
	uint32_t port;            /* index of the hottest link's port at the row's switch; SHAPE_NONE: there is none */
	uint16_t links, working;
	uint16_t missing;         /* so many fewer than the pairs around have */
	uint8_t sign;             /* enum heat_sign */
	bool degraded;            /* a link is narrower or slower than it was built for */
};

struct heat_block {
	uint32_t first, count; /* columns */
};

struct heat {
	unsigned tier;          /* of the rows */
	bool inward;            /* loads are those into the rows' switches, from above */
	size_t row_count, column_count, block_count;
	uint32_t *rows;         /* nodes, block by block, by rank */
	uint32_t *row_block;    /* parallel to them */
	size_t *row_cells;      /* where a row's cells begin */
	uint32_t *columns;      /* nodes, block by block, by rank */
	struct heat_block *blocks;
	struct heat_cell *cells;
	bool predicted;         /* is anything predicted? */
};

/*
 * heat_create - the matrix of a pair of tiers
 * @balance:  of the same loads
 * @rank:     by node: the order of rows and columns
 * @tier:     of the rows, from 1
 * Return: 0, also where there are no such tiers: then it has no rows. ERR_NOMEM.
 */
int heat_create(const struct balance_input *input, const struct balance *balance, const uint32_t *rank, unsigned tier,
		bool inward, struct heat *ret, struct error *err);
void heat_done(struct heat *heat);

/* heat_cell - of a row and a column of its block; NULL where there is none. */
const struct heat_cell *heat_cell(const struct heat *heat, size_t row, size_t column);

/* heat_columns - how many columns a row has. heat_column - the node of one of them. */
size_t heat_columns(const struct heat *heat, size_t row);
uint32_t heat_column(const struct heat *heat, size_t row, size_t column);

/* heat_order - rows as they are (by block and rank), or the hottest first. @ret: row_count of them. */
void heat_order(const struct heat *heat, enum heat_value value, bool hottest_first, uint32_t *ret);

/* heat_worst - the column of a row where it is the hottest; what is down, missing or slow is before all. */
size_t heat_worst(const struct heat *heat, enum heat_value value, size_t row);

/*
 * heat_write - what stands in a cell of @columns columns, 1 to 5
 * One column: a shade, or a digit of tenths in ASCII. From three on: the number too.
 * @ret:  at least 16 bytes
 * Return: how it looks.
 */
enum role heat_write(const struct heat_cell *cell, enum heat_value value, int columns, bool unicode, char *ret);

/* heat_number_columns - how many of them the number ends in; a blank may be behind it. */
int heat_number_columns(int columns);

/* heat_legend - what the signs mean, for cells of this many columns. Return: @ret. */
const char *heat_legend(enum heat_value value, int columns, bool unicode, char *ret, size_t size);

/* Where things stand in an area; all in columns and lines of it. */
struct heat_layout {
	int label;    /* columns of rows' names, one blank behind them */
	int cell;     /* of a cell, 1 to 5 */
	int shown;    /* cells beside each other that there is room for */
	int heads;    /* lines of columns' names: one, or several of a character each */
	int rows;     /* lines for rows */
	int members;  /* lines below for the links of the cursor's row, a blank one before them; 0: none */
	int words;    /* lines below that say the cell in words */
	bool legend;  /* one line below that */
};

/*
 * heat_layout - for an area of at least 5 lines and 30 columns
 * @label:    columns of the longest name of a row
 * @suffix:   of the longest name of a column, without what all of them begin with
 * @rows:     of the matrix; @columns: of its widest block
 */
void heat_layout(int area_rows, int area_columns, int label, int suffix, size_t rows, size_t columns,
		 struct heat_layout *ret);

/* heat_prefix - how many bytes all these names begin with alike, no digits at its end. */
size_t heat_prefix(const char *const *names, size_t count);

#endif
