/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* heat_cell.h - text and layout of the cells of a heat map (facts/heat.h) */
#ifndef IBWIRE_TUI_MODEL_HEAT_CELL_H
#define IBWIRE_TUI_MODEL_HEAT_CELL_H

#include "facts/heat.h"
#include "tui/model/role.h"

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
