/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * heat.h - heat map of the links between two adjacent tiers: a row per lower switch, a column
 * per upper switch
 *
 * Switches not connected by such links are in separate blocks: pods of a three-tier fabric, or
 * planes. A row has cells only for the columns of its block. Pure: no curses, no database.
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
	HEAT_MISSING, /* no link, but neighbouring switches have one */
	HEAT_DOWN,    /* all links are down */
	HEAT_UNKNOWN, /* up, but not read */
	HEAT_LOAD,
};

/* Displayed value: measured load, load predicted from the routes, their difference. */
enum heat_value { HEAT_MEASURED, HEAT_PREDICTED, HEAT_DIFFERENCE, HEAT_VALUES };

/* All links between two switches. Load is 0..1 of the link rate in one direction; NAN: unknown. */
struct heat_cell {
	float value[HEAT_VALUES]; /* of the link with the largest value; for the difference, the largest magnitude */
	float rate;               /* bytes per us, all links */
	uint32_t port;            /* index of the busiest link's port at the lower switch; SHAPE_NONE: none */
	uint16_t links, working;
	uint16_t missing;         /* fewer links than neighbouring pairs have, by this number */
	uint8_t sign;             /* enum heat_sign */
	bool degraded;            /* a link is narrower or slower than built */
};

struct heat_block {
	uint32_t first, count; /* columns */
};

struct heat {
	unsigned tier;          /* of the rows */
	bool inward;            /* loads down into the lower switches */
	size_t row_count, column_count, block_count;
	uint32_t *rows;         /* nodes, block by block, by rank */
	uint32_t *row_block;    /* parallel to them */
	size_t *row_cells;      /* first cell of each row */
	uint32_t *columns;      /* nodes, block by block, by rank */
	struct heat_block *blocks;
	struct heat_cell *cells;
	bool predicted;         /* whether any prediction is available */
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

/* heat_worst - column of the hottest cell of a row; down, missing or degraded links come first. */
size_t heat_worst(const struct heat *heat, enum heat_value value, size_t row);

/*
 * heat_write - text of a cell of @columns columns, 1 to 5
 * One column: a shade, or a digit of tenths in ASCII. From three columns on also the number.
 * @ret:  at least 16 bytes
 * Return: its role.
 */
enum role heat_write(const struct heat_cell *cell, enum heat_value value, int columns, bool unicode, char *ret);

/* heat_number_columns - columns of the number, without a trailing blank. */
int heat_number_columns(int columns);

/* heat_legend - legend for cells of this width. Return: @ret. */
const char *heat_legend(enum heat_value value, int columns, bool unicode, char *ret, size_t size);

/* Positions in an area, in columns and lines. */
struct heat_layout {
	int label;    /* columns of row names; followed by a blank */
	int cell;     /* columns of a cell, 1 to 5 */
	int shown;    /* visible cells per row */
	int heads;    /* lines of column names: one, or one per character */
	int rows;     /* lines for rows */
	int members;  /* lines for the links of the selected row, after a blank line; 0: none */
	int words;    /* lines that describe the selected cell */
	bool legend;  /* one line below that */
};

/*
 * heat_layout - layout for an area of at least 5 lines and 30 columns
 * @label:    columns of the longest row name
 * @suffix:   of the longest column name, without the common prefix
 * @rows:     of the matrix; @columns: of its widest block
 */
void heat_layout(int area_rows, int area_columns, int label, int suffix, size_t rows, size_t columns,
		 struct heat_layout *ret);

/* heat_prefix - length in bytes of the common prefix of the names, without trailing digits. */
size_t heat_prefix(const char *const *names, size_t count);

#endif
