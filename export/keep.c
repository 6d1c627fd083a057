/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * keep.c - rows in memory
 *
 * A finished row is exchanged with an unused one, so that result_clear() and the next rows reuse its
 * memory.
 */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/array.h"
#include "base/err.h"
#include "base/text.h"
#include "export/format.h"
#include "fabric/names.h"

struct keep {
	struct value **rows; /* of column_count values each */
	size_t allocated, capacity;
};

static bool keep_begin(struct result *result)
{
	result->state = calloc(1, sizeof(struct keep));
	return result->state;
}

static bool keep_row(struct result *result)
{
	struct keep *keep = result->state;
	struct value *unused;

	if (result->rows == keep->allocated) {
		struct value **rows = array_grow(keep->rows, keep->allocated, &keep->capacity, sizeof(*rows));

		if (!rows)
			return false;
		keep->rows = rows;
		rows[keep->allocated] = calloc(result->column_count + 1, sizeof(**rows));
		if (!rows[keep->allocated])
			return false;
		keep->allocated++;
	}
	unused = keep->rows[result->rows];
	keep->rows[result->rows] = result->values;
	result->values = unused;
	return true;
}

static void keep_done(struct result *result)
{
	struct keep *keep = result->state;

	if (!keep)
		return;
	for (size_t row = 0; row < keep->allocated; row++) {
		for (size_t i = 0; i < result->column_count; i++)
			value_done(&result->columns[i], &keep->rows[row][i]);
		free(keep->rows[row]);
	}
	free(keep->rows);
	free(keep);
}

const struct format format_keep = { keep_begin, keep_row, NULL, keep_done };

static const struct value *value_at(const struct result *kept, size_t row, size_t column)
{
	const struct keep *keep = kept->state;

	return &keep->rows[row][column];
}

size_t result_rows(const struct result *kept)
{
	return kept ? kept->rows : 0;
}

void result_clear(struct result *kept)
{
	if (!kept)
		return;
	kept->rows = 0;
	text_clear(&kept->notes);
	text_clear(&kept->none);
}

double result_number_of(const struct result *kept, size_t row, size_t column)
{
	return value_number(value_at(kept, row, column));
}

bool result_has_line(const struct result *kept, size_t row, size_t column)
{
	return !(kept->columns[column].flags & COLUMN_IF_SHOWN) || value_at(kept, row, column)->has_shown;
}

void result_cell(const struct result *kept, size_t row, size_t column, unsigned columns, struct text *text,
		 enum cell_style *ret_style)
{
	const struct value *value = value_at(kept, row, column);

	text_clear(text);
	value_table_text(&kept->columns[column], value, text);
	if (columns && text_columns(text_chars(text)) > columns)
		value_narrow_text(&kept->columns[column], value, columns, text);
	if (ret_style)
		*ret_style = value->style;
}

uint64_t result_target_of(const struct result *kept, size_t row, size_t column, unsigned *ret_number)
{
	const struct value *value = value_at(kept, row, column);

	*ret_number = value->target_number;
	return value->target;
}

bool result_is_hidden(const struct result *kept, size_t column)
{
	return !column_is_in_table(&kept->columns[column]) ||
	       (kept->options.record && kept->rows && !result_has_line(kept, 0, column));
}

const char *result_notes(const struct result *kept)
{
	return text_chars(&kept->notes);
}

const char *result_none_text(const struct result *kept)
{
	return text_chars(&kept->none);
}

/* A row, and the value that it is sorted by. */
struct sorted {
	struct value *row;
	const char *chars; /* NULL: by the number; NAN: unknown */
	double number;
	size_t at;
};

static int compare_sorted(const void *a, const void *b)
{
	const struct sorted *x = a, *y = b;
	bool no_x = !x->chars && isnan(x->number), no_y = !y->chars && isnan(y->number);
	int order = 0;

	if (no_x != no_y)
		return no_x ? 1 : -1;
	if (x->chars && y->chars)
		order = names_compare(x->chars, y->chars);
	else if (x->number < y->number || x->number > y->number)
		order = x->number < y->number ? 1 : -1;
	return order ? order : x->at < y->at ? -1 : x->at > y->at;
}

bool keep_sort(struct result *kept, size_t column)
{
	struct keep *keep = kept->state;
	struct sorted *sorted = calloc(kept->rows + 1, sizeof(*sorted));
	bool has_number = column_has_number(&kept->columns[column]);

	if (!sorted)
		return false;
	for (size_t i = 0; i < kept->rows; i++) {
		const struct value *value = &keep->rows[i][column];

		sorted[i] = (struct sorted){
			.row = keep->rows[i], .at = i, .number = has_number ? value->rank : value_number(value),
			.chars = !has_number && value->type == VALUE_TEXT ? text_chars(&value->chars) : NULL,
		};
	}
	qsort(sorted, kept->rows, sizeof(*sorted), compare_sorted);
	for (size_t i = 0; i < kept->rows; i++)
		keep->rows[i] = sorted[i].row;
	free(sorted);
	return true;
}

int result_render(const struct result *kept, FILE *stream, const struct result_options *options,
		  const struct column *columns, struct error *err)
{
	const struct keep *keep = kept ? kept->state : NULL;
	struct result *result = kept ? result_create(stream, options, columns ? columns : kept->columns,
						     kept->column_count) : NULL;
	struct value *own;
	int code;

	if (!result)
		return err_nomem(err);
	if (options->format == RESULT_TABLE && options->notes)
		text_append_bytes(&result->notes, text_chars(&kept->notes), kept->notes.len);
	text_append_bytes(&result->none, text_chars(&kept->none), kept->none.len);
	/* The formats read the current row; the kept rows take its place for a moment. */
	own = result->values;
	for (size_t row = 0; row < kept->rows && !result->failure; row++) {
		result->values = keep->rows[row];
		result_write_row(result);
	}
	result->values = own;
	code = kept->failure || text_failed(&result->notes) || text_failed(&result->none) ? err_nomem(err) :
											    result_finish(result, err);
	result_destroy(result);
	return code;
}
