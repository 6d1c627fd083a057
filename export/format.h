/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* format.h - interface of result.c and the three formats; private to export/ */
#ifndef IBWIRE_EXPORT_FORMAT_H
#define IBWIRE_EXPORT_FORMAT_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>

#include "base/err.h"
#include "base/text.h"
#include "export/result.h"

enum value_type { VALUE_NULL, VALUE_TEXT, VALUE_INTEGER, VALUE_UNSIGNED, VALUE_REAL, VALUE_BOOL, VALUE_MEMBERS };

struct member {
	const char *name; /* owned if the column is a list */
	uint64_t value; /* not for COLUMN_LIST */
	double real;    /* used instead of value if is_real */
	bool is_real;
};

struct value {
	enum value_type type;
	enum cell_style style;
	bool has_shown;
	bool at_least; /* a lower bound */
	unsigned target_number;
	uint64_t target; /* result_target(); 0: none */
	int64_t integer;
	uint64_t natural;
	double real;
	double rank;     /* column_number() of the row; NAN: none */
	struct text chars;
	struct text shown;
	struct member *members;
	size_t member_count, member_capacity;
};

/*
 * One format. Each call returns false if memory ran out or writing failed; result.c distinguishes
 * them by the error flag of the stream.
 */
struct format {
	bool (*begin)(struct result *result);
	bool (*row)(struct result *result);
	bool (*end)(struct result *result);  /* or NULL */
	void (*done)(struct result *result); /* or NULL */
};

extern const struct format format_table, format_json, format_csv, format_keep;

/*
 * Rows are kept until result_finish(): in memory, or in an unlinked temporary file above this size.
 */
enum { SPOOL_MEMORY_MOST = 16777216 };

struct spool {
	struct text memory;
	int fd; /* the temporary file; -1: in memory */
	size_t size, most; /* of what was written, and its limit; 0: none */
};

struct result {
	FILE *stream; /* output of the format: the spool, or the target */
	FILE *target; /* the caller's */
	struct spool spool;
	struct result_options options;
	FILE *sorted;         /* where sorted rows are written */
	const struct column *columns;
	size_t column_count;
	bool measured; /* rows end with RESULT_LOWER_BOUNDS */
	struct value *values; /* the current row */
	const struct format *format;
	void *state;          /* state of the format */
	struct error error;   /* of the caller */
	struct text notes, none;
	size_t rows;
	int failure;          /* errno of the first failed write, or ENOMEM */
	struct text scratch;
};

/* value_data_text - a value as JSON or CSV text (GUID, time, number), not for members. */
void value_data_text(const struct column *column, const struct value *value, struct text *text);

/*
 * scalar_append_text - arbitrary bytes as a JSON string of printable ASCII
 * Text that is not valid UTF-8 or contains a NUL goes through text_append_escaped() first.
 */
void scalar_append_text(struct text *text, const char *bytes, size_t len);

/* Numbers in JSON: digits; a string of digits above INT64_MAX; 15 digits, always a real, or null (1.0, 1e-12). */
void scalar_append_integer(struct text *text, int64_t number);
void scalar_append_unsigned(struct text *text, uint64_t number);
void scalar_append_real(struct text *text, double number);

/* value_table_text - a value as table text, not escaped. */
void value_table_text(const struct column *column, const struct value *value, struct text *text);

/*
 * value_narrow_text - replace the text of a number by the shorter form of its kind: "182.4G", "97k", "14m"
 * @text:  as of value_table_text(); unchanged if the kind has no shorter form
 */
void value_narrow_text(const struct column *column, const struct value *value, unsigned columns, struct text *text);

/* value_number - the number of a value, NAN if it has none. */
double value_number(const struct value *value);

/* value_done - free what the value owns. */
void value_done(const struct column *column, struct value *value);

/* result_write_row - write the current values as a row, and keep them. */
void result_write_row(struct result *result);

static inline bool column_is_in_table(const struct column *column)
{
	return column->title && !(column->flags & COLUMN_NO_TABLE);
}

static inline bool column_is_in_html(const struct column *column)
{
	return column->title && !(column->flags & COLUMN_NO_HTML) &&
	       (!(column->flags & COLUMN_NO_TABLE) || (column->flags & COLUMN_HTML));
}

static inline bool column_is_in_data(const struct column *column)
{
	return column->key && !(column->flags & COLUMN_NO_DATA);
}

/* keep_sort - sort kept rows as with the option `sort`. Return: false without memory. */
bool keep_sort(struct result *kept, size_t column);

/* result_has_line - has a column of a kept record a line? See COLUMN_IF_SHOWN. */
bool result_has_line(const struct result *kept, size_t row, size_t column);

/* value_is_number - is it right-aligned in a table? */
bool value_is_number(const struct column *column, const struct value *value);

#endif
