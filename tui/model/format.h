/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * format.h - what stands in a cell: text of an exact width
 *
 * Pure functions. Widths are terminal columns, not bytes: names may hold wide
 * and combining characters. "Unicode" is false where the locale is not UTF-8;
 * then nothing but ASCII comes out.
 */
#ifndef IBWIRE_TUI_MODEL_FORMAT_H
#define IBWIRE_TUI_MODEL_FORMAT_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* Enough for a cell of 300 columns of 4-byte characters with combining ones among them. */
#define CELL_SIZE 2048

enum align {
	ALIGN_LEFT,
	ALIGN_RIGHT,
	ALIGN_MIDDLE, /* to the left, and what does not fit is cut out of the middle */
};

/*
 * format_fit - a text padded or cut to exactly @columns columns
 * @ret:  at least CELL_SIZE bytes; what would not fit in them is blank
 *
 * A text that is cut shows it by an ellipsis ("~" in ASCII).
 * Return: @ret
 */
const char *format_fit(const char *text, unsigned columns, enum align align, bool unicode, char *ret);

/*
 * format_line - how many bytes of a text stand in a line of so many columns, cut behind a word where one ends
 * Return: 0 of "", and where the first character is wider than that.
 */
size_t format_line(const char *text, size_t columns);

/*
 * format_bar - a bar of @columns columns for a share in percent
 * NAN gives blanks. In Unicode it is exact to an eighth of a column; anything
 * above 0 shows at least the thinnest mark.
 * Return: @ret, at least CELL_SIZE bytes
 */
const char *format_bar(double percent, unsigned columns, bool unicode, char *ret);

/* format_rate - "182.4 Gb/s", or where @columns is below 10 "182.4G" for a column headed b/s. "-" for NAN. */
const char *format_rate(double bytes_per_s, unsigned columns, char *ret, size_t size);

/* format_percent - "7.3%", "97%", "-" for NAN. */
const char *format_percent(double percent, char *ret, size_t size);

/* format_count - "4,096"; in less than 7 columns "97k", "1.2M". */
const char *format_count(uint64_t count, unsigned columns, char *ret, size_t size);

/* format_per_s - a count per second: "0", "3.2k", "1.9M". "-" for NAN. */
const char *format_per_s(double per_s, char *ret, size_t size);

/* format_time - local time, as strftime() writes it: "%H:%M:%S". Return: @ret. */
__attribute__((format(strftime, 2, 0)))
const char *format_time(int64_t wall_us, const char *how, char *ret, size_t size);

/* format_age - the age of a reading in at most 3 columns: "2s", "14m", "3h", "9d", "-" below 0. */
const char *format_age(int64_t age_us, char *ret, size_t size);

#endif
