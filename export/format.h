/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* format.h - between result.c and the three formats; for export/ only */
#ifndef IBWIRE_EXPORT_FORMAT_H
#define IBWIRE_EXPORT_FORMAT_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>

#include "base/text.h"
#include "base/when.h"
#include "export/result.h"

enum value_type { VALUE_NULL, VALUE_TEXT, VALUE_INTEGER, VALUE_UNSIGNED, VALUE_REAL, VALUE_BOOL, VALUE_MEMBERS };

struct member {
	const char *name;
	uint64_t value; /* not of COLUMN_LIST */
	double real;    /* with is_real, and then instead */
	bool is_real;
};

struct value {
	enum value_type type;
	enum cell_style style;
	bool has_shown;
	int64_t integer;
	uint64_t natural;
	double real;
	struct text chars;
	struct text shown;
	struct member *members;
	size_t member_count, member_capacity;
	/* The last time that stood here, as data has it: most rows of an answer share theirs. */
	int64_t when_us;
	char when[WHEN_SIZE]; /* "": there was none */
};

/*
 * One format. Each call returns false where memory ran out or writing failed;
 * result.c tells the two apart by the stream's error flag.
 */
struct format {
	bool (*begin)(struct result *result);
	bool (*row)(struct result *result);
	bool (*end)(struct result *result);
	void (*done)(struct result *result);
};

extern const struct format format_table, format_json, format_csv;

/* Rows until result_finish(): in memory, or all in an unlinked temporary file once they are more bytes than this. */
enum { SPOOL_MEMORY_MOST = 16777216 };

struct spool {
	struct text memory;
	int fd; /* of that file; -1: everything is in memory */
};

struct result {
	FILE *stream; /* where formats write: into the spool, or the target itself */
	FILE *target; /* the caller's */
	struct spool spool;
	struct result_options options;
	const struct column *columns;
	size_t column_count;
	struct value *values; /* the row in hand */
	const struct format *format;
	void *state;          /* the format's own */
	struct text notes;
	size_t rows;
	int failure;          /* errno of the first failed write, or ENOMEM */
	struct text scratch;
};

/* value_data_text - a value as text for data (GUID, time, number); not of members. A time is kept in the value. */
void value_data_text(const struct column *column, struct value *value, struct text *text);

/* value_table_text - a value as text for people, not escaped yet. */
void value_table_text(const struct column *column, struct value *value, struct text *text);

/* value_is_number - is it right-aligned in a table? */
bool value_is_number(const struct column *column, const struct value *value);

#endif
