/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * json.c - an array of objects, one object per line
 *
 * The output is ASCII: every other character, and DEL, is written as \uXXXX. Text that is not
 * valid UTF-8 or contains a NUL is escaped as in a table first. A number above INT64_MAX is
 * written as a string of its decimal digits, because JSON readers lose its precision or refuse it.
 *
 * A row is written as text. Building a tree and dumping it takes several times as long.
 */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "export/format.h"

/* The keys of all columns as they are written, with quotes and colon: the same in each row. */
struct json {
	struct text keys;
	size_t *ends; /* by column, in keys */
};

/* An unknown number is null; integers have no fraction. */
static void append_number(struct text *text, const struct member *member)
{
	if (!member->is_real)
		scalar_append_unsigned(text, member->value);
	else if (!isfinite(member->real))
		text_append(text, "null");
	else if (fabs(member->real) < 1e15 && floor(member->real) == member->real)
		scalar_append_integer(text, (int64_t)member->real);
	else
		scalar_append_real(text, member->real);
}

static void append_key(struct text *text, const char *key)
{
	scalar_append_text(text, key, strlen(key));
	text_append_bytes(text, ": ", 2);
}

static void append_members(const struct result *result, struct text *text, size_t at)
{
	const struct column *column = &result->columns[at];
	const struct value *value = &result->values[at];
	bool list = column->kind == COLUMN_LIST, record = result->options.record, any = false;

	text_append_bytes(text, list ? "[" : "{", 1);
	for (size_t i = 0; i < value->member_count; i++) {
		const struct member *member = &value->members[i];

		if (!list && (column->flags & COLUMN_OMIT_ZERO) && !member->value)
			continue;
		if (any)
			text_append_bytes(text, ", ", record ? 1 : 2);
		if (record)
			text_append(text, "\n    ");
		any = true;
		if (list) {
			scalar_append_text(text, member->name, strlen(member->name));
			continue;
		}
		append_key(text, member->name);
		append_number(text, member);
	}
	if (any && record)
		text_append(text, "\n  ");
	text_append_bytes(text, list ? "]" : "}", 1);
}

static void append_scalar(const struct result *result, struct text *text, size_t at)
{
	const struct column *column = &result->columns[at];
	const struct value *value = &result->values[at];

	switch (value->type) {
	case VALUE_NULL:
		text_append(text, "null");
		return;
	case VALUE_TEXT:
		scalar_append_text(text, text_chars(&value->chars), value->chars.len);
		return;
	case VALUE_MEMBERS:
		append_members(result, text, at);
		return;
	case VALUE_REAL:
		scalar_append_real(text, value->real);
		return;
	case VALUE_BOOL:
		text_append(text, value->integer ? "true" : "false");
		return;
	case VALUE_INTEGER:
		if (column->kind == COLUMN_TIME)
			break;
		scalar_append_integer(text, value->integer);
		return;
	case VALUE_UNSIGNED:
		if (column->kind == COLUMN_GUID)
			break;
		scalar_append_unsigned(text, value->natural);
		return;
	}
	/* Times and GUIDs need no escapes. */
	text_append_bytes(text, "\"", 1);
	value_data_text(column, value, text);
	text_append_bytes(text, "\"", 1);
}

static void append_value(const struct result *result, struct text *text, size_t at)
{
	if (result->values[at].at_least)
		text_append(text, "null");
	else
		append_scalar(result, text, at);
}

/* The last key of a row: the cells of it that are lower bounds. */
static void append_bounds(const struct result *result, struct text *text)
{
	bool record = result->options.record, any = false;

	text_append(text, record ? ",\n  \"" RESULT_LOWER_BOUNDS "\": {" : ", \"" RESULT_LOWER_BOUNDS "\": {");
	for (size_t i = 0; i < result->column_count; i++) {
		if (!result->values[i].at_least || !column_is_in_data(&result->columns[i]))
			continue;
		text_append(text, record ? (any ? ",\n    " : "\n    ") : any ? ", " : "");
		append_key(text, result->columns[i].key);
		append_scalar(result, text, i);
		any = true;
	}
	text_append(text, any && record ? "\n  }" : "}");
}

static bool json_begin(struct result *result)
{
	struct json *json = calloc(1, sizeof(*json));

	result->state = json;
	if (!json)
		return false;
	json->ends = calloc(result->column_count + 1, sizeof(*json->ends));
	for (size_t i = 0; json->ends && i < result->column_count; i++) {
		if (column_is_in_data(&result->columns[i]))
			append_key(&json->keys, result->columns[i].key);
		json->ends[i] = json->keys.len;
	}
	if (!json->ends || text_failed(&json->keys))
		return false;
	if (!result->options.record && !result->options.lines)
		fputc('[', result->stream);
	return true;
}

static bool json_row(struct result *result)
{
	bool record = result->options.record, any = false;
	const struct json *json = result->state;
	struct text *row = &result->scratch;

	text_clear(row);
	if (!record && !result->options.lines)
		text_append(row, result->rows ? ",\n" : "\n");
	text_append_bytes(row, "{", 1);
	for (size_t i = 0; i < result->column_count; i++) {
		size_t start;

		if (!column_is_in_data(&result->columns[i]))
			continue;
		if (any)
			text_append_bytes(row, ", ", record ? 1 : 2);
		if (record)
			text_append_bytes(row, "\n  ", 3);
		any = true;
		start = i ? json->ends[i - 1] : 0;
		text_append_bytes(row, text_chars(&json->keys) + start, json->ends[i] - start);
		append_value(result, row, i);
	}
	if (result->measured)
		append_bounds(result, row);
	text_append(row, record && any ? "\n}" : "}");
	if (result->options.lines)
		text_append_bytes(row, "\n", 1);
	return !text_failed(row) && fwrite(text_chars(row), 1, row->len, result->stream) == row->len;
}

static bool json_end(struct result *result)
{
	if (!result->options.lines)
		fputs(result->options.record ? "\n" : result->rows ? "\n]\n" : "]\n", result->stream);
	return true;
}

static void json_done(struct result *result)
{
	struct json *json = result->state;

	if (!json)
		return;
	text_done(&json->keys);
	free(json->ends);
	free(json);
}

const struct format format_json = { json_begin, json_row, json_end, json_done };
