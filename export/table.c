/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* table.c - tables: all cells are kept as text until the end, when their widths are known */
#include <langinfo.h>
#include <limits.h>
#include <stdlib.h>
#include <string.h>

#include "base/array.h"
#include "export/columns.h"
#include "export/format.h"

enum { GAP = COLUMNS_GAP, INDENT_BELOW = 4 };

struct table_cell {
	size_t chars; /* offset in the pool; NUL-terminated */
	unsigned columns;
	uint8_t style;
	bool right;
};

struct table {
	struct text pool;
	struct table_cell *cells;
	size_t cell_count, cell_capacity;
	struct column_fit *columns;
};

/* Sequences of ECMA-48 (SGR); the eight basic colours. */
static const char *const style_on[STYLE_COUNT] = {
	[STYLE_PLAIN] = "",          [STYLE_DIM] = "\033[2m",    [STYLE_WARNING] = "\033[33m",
	[STYLE_CRITICAL] = "\033[1;31m", [STYLE_STRONG] = "\033[1m",
};

static const char *style_off(enum cell_style style)
{
	return style == STYLE_PLAIN ? "" : "\033[0m";
}

/* @chars: NULL for a column that is not in tables */
static bool add_cell(struct table *table, const struct text *chars, enum cell_style style, bool right)
{
	struct table_cell *cells = array_grow(table->cells, table->cell_count, &table->cell_capacity, sizeof(*cells));
	struct table_cell *cell;

	if (!cells)
		return false;
	table->cells = cells;
	cell = &cells[table->cell_count++];
	*cell = (struct table_cell){ .chars = table->pool.len, .style = (uint8_t)style, .right = right };
	if (!chars)
		return true;
	text_append_escaped(&table->pool, text_chars(chars), chars->len);
	cell->columns = (unsigned)text_columns(text_chars(&table->pool) + cell->chars);
	text_append_bytes(&table->pool, "", 1);
	return !text_failed(&table->pool);
}

/* Add a row of cells: titles, or the current values. */
static bool add_row(struct result *result, bool titles)
{
	struct text *chars = &result->scratch;
	bool ok = true;

	for (size_t i = 0; ok && i < result->column_count; i++) {
		const struct column *column = &result->columns[i];
		const struct value *value = &result->values[i];
		bool shown = column_is_in_table(column) &&
			     (titles || value->has_shown || !(column->flags & COLUMN_IF_SHOWN));

		text_clear(chars);
		if (shown && titles)
			text_append(chars, column->title);
		else if (shown)
			value_table_text(column, value, chars);
		ok = add_cell(result->state, shown ? chars : NULL, titles ? STYLE_STRONG : value->style,
			      value_is_number(column, value));
	}
	return ok && !chars->failed;
}

static bool table_begin(struct result *result)
{
	struct table *table = calloc(1, sizeof(*table));

	if (!table)
		return false;
	result->state = table;
	table->columns = calloc(result->column_count ? result->column_count : 1, sizeof(*table->columns));
	return table->columns;
}

/* The titles are added before the first row, when the types of SQL columns are known. */
static bool table_row(struct result *result)
{
	return (result->rows || add_row(result, true)) && add_row(result, false);
}

static const char *cell_chars(const struct table *table, const struct table_cell *cell)
{
	return text_chars(&table->pool) + cell->chars;
}

static void measure(struct result *result, struct table *table)
{
	struct text hidden = { 0 };

	for (size_t i = 0; i < result->column_count; i++)
		table->columns[i].hidden = !column_is_in_table(&result->columns[i]);
	for (size_t first = 0; first < table->cell_count; first += result->column_count)
		for (size_t i = 0; i < result->column_count; i++)
			if (table->cells[first + i].columns > table->columns[i].natural)
				table->columns[i].natural = table->cells[first + i].columns;
	columns_fit_table(result->columns, table->columns, result->column_count, result->options.width, &hidden);
	if (hidden.len && result->options.notes)
		text_appendf(&result->notes, "hidden columns (terminal too narrow): %s\n", text_chars(&hidden));
	result->notes.failed |= text_failed(&hidden);
	text_done(&hidden);
}

static void pad(FILE *stream, unsigned columns)
{
	/* Not a format: this is called for each cell. */
	for (; columns; columns--)
		putc_unlocked(' ', stream);
}

/* Write text of @columns columns in at most @width, with an ellipsis if it is cut. Return: columns written. */
static unsigned write_cut(FILE *stream, const char *chars, unsigned columns, unsigned width, bool is_name)
{
	struct text_cut cut;

	if (columns <= width) {
		fputs(chars, stream);
		return columns;
	}
	if (width == 0)
		return 0;
	cut = is_name ? text_cut_name(chars, width) :
			(struct text_cut){ text_prefix_bytes(chars, width - 1), strlen(chars) };
	fwrite(chars, 1, cut.head, stream);
	fputs(strcmp(nl_langinfo(CODESET), "UTF-8") ? "~" : "\xe2\x80\xa6", stream);
	fputs(chars + cut.tail, stream);
	/* Less than @width if a wide character did not fit. */
	return columns - (unsigned)(text_columns(chars + cut.head) - text_columns(chars + cut.tail)) + 1;
}

static void write_cell(struct result *result, size_t column, const struct table_cell *cell, unsigned width, bool last)
{
	const char *chars = cell_chars(result->state, cell);
	enum cell_style style = result->options.color ? (enum cell_style)cell->style : STYLE_PLAIN;
	unsigned written = cell->columns < width ? cell->columns : width;

	if (cell->right)
		pad(result->stream, width - written);
	fputs(style_on[style], result->stream);
	written = write_cut(result->stream, chars, cell->columns, width,
			    result->columns[column].flags & COLUMN_KEEP_TAIL);
	fputs(style_off(style), result->stream);
	if (!cell->right && !last && written < width)
		pad(result->stream, width - written);
}

static void write_line(struct result *result, const struct table_cell *cells)
{
	struct table *table = result->state;
	unsigned used = 0, limit = result->options.width;
	size_t last = 0;

	for (size_t i = 0; i < result->column_count; i++)
		if (!table->columns[i].hidden)
			last = i;
	for (size_t i = 0; i < result->column_count; i++) {
		unsigned width = table->columns[i].width, gap = used ? GAP : 0;

		if (table->columns[i].hidden)
			continue;
		/* The columns that are never hidden may exceed a very small terminal. */
		if (limit && used + gap >= limit)
			break;
		if (limit && used + gap + width > limit)
			width = limit - used - gap;
		pad(result->stream, gap);
		write_cell(result, i, &cells[i], width, i == last);
		used += gap + width;
	}
	fputc('\n', result->stream);
}

/* The cells of a row that are shown under it. */
static void write_below(struct result *result, const struct table_cell *cells)
{
	struct table *table = result->state;
	struct text text = { 0 };

	for (size_t i = 0; i < result->column_count; i++) {
		if (!table->columns[i].below || !cells[i].columns)
			continue;
		text_appendf(&text, "%*s", INDENT_BELOW, "");
		text_append_wrapped(&text, cell_chars(table, &cells[i]), INDENT_BELOW, INDENT_BELOW,
				    result->options.width);
	}
	fputs(text_chars(&text), result->stream);
	result->notes.failed |= text.failed;
	text_done(&text);
}

static bool has_line(const struct result *result, const struct table_cell *cells, size_t column)
{
	return column_is_in_table(&result->columns[column]) &&
	       (!(result->columns[column].flags & COLUMN_IF_SHOWN) || cells[column].columns);
}

/* A single row: one line per column. */
static void write_record(struct result *result, struct table *table)
{
	const struct table_cell *cells = &table->cells[result->column_count];
	struct text text = { 0 };
	unsigned widest = 0;

	for (size_t i = 0; i < result->column_count; i++)
		if (has_line(result, cells, i) && table->cells[i].columns > widest)
			widest = table->cells[i].columns;
	for (size_t i = 0; i < result->column_count; i++) {
		const struct table_cell *title = &table->cells[i], *cell = &cells[i];
		enum cell_style style = result->options.color ? (enum cell_style)cell->style : STYLE_PLAIN;

		if (!has_line(result, cells, i))
			continue;
		fputs(cell_chars(table, title), result->stream);
		pad(result->stream, widest - title->columns + GAP);
		text_append_wrapped(&text, cell_chars(table, cell), widest + GAP, widest + GAP,
				    result->options.width ? result->options.width : UINT_MAX);
		fputs(style_on[style], result->stream);
		fwrite(text_chars(&text), 1, text.len ? text.len - 1 : 0, result->stream);
		fputs(style_off(style), result->stream);
		fputc('\n', result->stream);
		result->notes.failed |= text_failed(&text);
		text_clear(&text);
	}
	text_done(&text);
}

static void write_lines(struct result *result, const struct text *lines, enum cell_style style)
{
	struct text text = { 0 };

	text_append_lines(&text, text_chars(lines), result->options.width);
	fputs(text.len ? style_on[style] : "", result->stream);
	fputs(text_chars(&text), result->stream);
	fputs(text.len ? style_off(style) : "", result->stream);
	result->notes.failed |= text_failed(&text);
	text_done(&text);
}

static bool table_end(struct result *result)
{
	struct table *table = result->state;
	bool none = !result->rows && result->none.len;

	if (!result->rows && !none && !add_row(result, true))
		return false;
	measure(result, table);
	if (none)
		write_lines(result, &result->none, STYLE_PLAIN);
	else if (result->options.record && result->rows == 1)
		write_record(result, table);
	else
		for (size_t i = 0; i < table->cell_count && !ferror(result->stream); i += result->column_count) {
			write_line(result, &table->cells[i]);
			if (i)
				write_below(result, &table->cells[i]);
		}
	write_lines(result, &result->notes, result->options.color ? STYLE_DIM : STYLE_PLAIN);
	return !result->notes.failed;
}

static void table_done(struct result *result)
{
	struct table *table = result->state;

	if (!table)
		return;
	text_done(&table->pool);
	free(table->cells);
	free(table->columns);
	free(table);
}

const struct format format_table = { table_begin, table_row, table_end, table_done };
