/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * format.h - text of an exact width for a cell
 *
 * Pure functions. Widths are terminal columns, not bytes: names may contain wide and combining
 * characters. @unicode is false without a UTF-8 locale; the output is ASCII then.
 */
#ifndef IBWIRE_TUI_MODEL_FORMAT_H
#define IBWIRE_TUI_MODEL_FORMAT_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "analysis/measure.h"
#include "tui/model/role.h"

/* Enough for 300 columns of 4-byte characters, some of them combining. */
#define CELL_SIZE 2048

enum align {
	ALIGN_LEFT,
	ALIGN_RIGHT,
	ALIGN_NAME, /* left-aligned, cut by text_cut_name() */
};

/* A cell of a table. */
struct table_cell {
	const char *text;
	enum role role;
	enum align align;
};

/*
 * format_fit - pad or cut a text to exactly @columns columns
 * @ret:  at least CELL_SIZE bytes; what does not fit in them is blank
 *
 * A cut text ends in an ellipsis ("~" in ASCII).
 * Return: @ret
 */
const char *format_fit(const char *text, unsigned columns, enum align align, bool unicode, char *ret);

/*
 * format_line - number of bytes that fit in a line of @columns, broken after a word if possible
 * Return: 0 for "", and if the first character is too wide.
 */
size_t format_line(const char *text, size_t columns);

/*
 * format_bar - a bar of @columns columns for a percentage
 * Blank if unknown. Exact to 1/8 column in Unicode; a value above 0 has at least the thinnest bar. That of
 * a lower bound ends with "+" in the last column.
 * Return: @ret, at least CELL_SIZE bytes
 */
const char *format_bar(struct measure percent, unsigned columns, bool unicode, char *ret);

/*
 * format_rate - "182.4 Gb/s", or "182.4G" below 10 columns (for a column head b/s); "182.4 Gb/s+", "182G+" for a
 * lower bound; "-" if unknown
 */
const char *format_rate(struct measure bytes_per_s, unsigned columns, char *ret, size_t size);

/* format_percent - "7.3%", "97%", "97%+" for a lower bound below 100 %; "-" if unknown. */
const char *format_percent(struct measure percent, char *ret, size_t size);

/* format_count - "4,096"; below 7 columns "97k", "1.2M". */
const char *format_count(uint64_t count, unsigned columns, char *ret, size_t size);

/* format_errors - format_count(), with "+" for a lower bound; "-" if unknown. */
const char *format_errors(struct measure errors, unsigned columns, char *ret, size_t size);

/* format_time - local time in the format of strftime(). Return: @ret. */
__attribute__((format(strftime, 2, 0)))
const char *format_time(int64_t wall_us, const char *how, char *ret, size_t size);

/* format_age - age in at most 3 columns: "2s", "14m", "3h", "9d", "-" below 0. */
const char *format_age(int64_t age_us, char *ret, size_t size);

#endif
