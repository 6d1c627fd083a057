/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * json.c - an array of objects, one object a line
 *
 * Everything outside ASCII, and DEL, leaves as \uXXXX: no terminal can take it
 * for anything else. Text that is no valid UTF-8, or holds a NUL, is escaped as
 * in a table first. A number above INT64_MAX leaves as a string of its decimal
 * digits: JSON readers make a lossy real of it, or (jansson) refuse the file.
 */
#include <inttypes.h>
#include <jansson.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "export/escape.h"
#include "export/format.h"

static json_t *json_chars(struct result *result, const char *bytes, size_t len)
{
	json_t *json = memchr(bytes, '\0', len) ? NULL : json_stringn(bytes, len);

	if (json)
		return json;
	text_clear(&result->scratch);
	escape_append(&result->scratch, bytes, len);
	return json_stringn(text_chars(&result->scratch), result->scratch.len);
}

static json_t *json_unsigned(uint64_t number)
{
	char digits[24];

	if (number <= INT64_MAX)
		return json_integer((json_int_t)number);
	snprintf(digits, sizeof(digits), "%" PRIu64, number);
	return json_string(digits);
}

/* A number that is not known is null, and a whole one looks like one. */
static json_t *json_number(const struct member *member)
{
	if (!member->is_real)
		return json_unsigned(member->value);
	if (!isfinite(member->real))
		return json_null();
	if (fabs(member->real) < 1e15 && floor(member->real) == member->real)
		return json_integer((json_int_t)member->real);
	return json_real(member->real);
}

static json_t *json_members(struct result *result, const struct column *column, const struct value *value)
{
	bool list = column->kind == COLUMN_LIST;
	json_t *json = list ? json_array() : json_object();
	size_t i;

	for (i = 0; json && i < value->member_count; i++) {
		const struct member *member = &value->members[i];
		int failed;

		if (!list && (column->flags & COLUMN_OMIT_ZERO) && !member->value)
			continue;
		failed = list ? json_array_append_new(json, json_chars(result, member->name, strlen(member->name))) :
				json_object_set_new(json, member->name, json_number(member));
		if (failed) {
			json_decref(json);
			return NULL;
		}
	}
	return json;
}

static json_t *json_value(struct result *result, const struct column *column, const struct value *value)
{
	switch (value->type) {
	case VALUE_NULL:
		return json_null();
	case VALUE_TEXT:
		return json_chars(result, text_chars(&value->chars), value->chars.len);
	case VALUE_MEMBERS:
		return json_members(result, column, value);
	case VALUE_REAL:
		return json_real(value->real);
	case VALUE_BOOL:
		return json_boolean(value->integer != 0);
	case VALUE_INTEGER:
		if (column->kind != COLUMN_TIME)
			return json_integer(value->integer);
		break;
	case VALUE_UNSIGNED:
		if (column->kind != COLUMN_GUID)
			return json_unsigned(value->natural);
		break;
	}
	text_clear(&result->scratch);
	value_data_text(column, value, &result->scratch);
	return json_string(text_chars(&result->scratch));
}

/* DEL is the one control character that jansson leaves; it stands in strings only. */
static int write_chunk(const char *bytes, size_t len, void *ctx)
{
	FILE *stream = ctx;

	while (len > 0) {
		const char *del = memchr(bytes, 0x7f, len);
		size_t plain = del ? (size_t)(del - bytes) : len;

		if (fwrite(bytes, 1, plain, stream) != plain)
			return -1;
		bytes += plain;
		len -= plain;
		if (del) {
			if (fputs("\\u007f", stream) < 0)
				return -1;
			bytes++;
			len--;
		}
	}
	return 0;
}

static bool json_begin(struct result *result)
{
	if (!result->options.record && !result->options.lines)
		fputc('[', result->stream);
	return true;
}

static bool json_row(struct result *result)
{
	json_t *object = json_object();
	bool ok = object;
	size_t i;

	for (i = 0; ok && i < result->column_count; i++) {
		const struct column *column = &result->columns[i];

		if (!(column->flags & COLUMN_NO_DATA))
			ok = !json_object_set_new(object, column->key,
						  json_value(result, column, &result->values[i]));
	}
	if (ok && !result->options.record && !result->options.lines)
		fputs(result->rows ? ",\n" : "\n", result->stream);
	if (ok)
		ok = !json_dump_callback(object, write_chunk, result->stream,
					 JSON_ENSURE_ASCII | JSON_REAL_PRECISION(15) |
						 (result->options.record ? JSON_INDENT(2) : 0));
	json_decref(object);
	if (ok && result->options.lines)
		fputc('\n', result->stream);
	return ok && !result->scratch.failed;
}

static bool json_end(struct result *result)
{
	if (!result->options.lines)
		fputs(result->options.record ? "\n" : result->rows ? "\n]\n" : "]\n", result->stream);
	return true;
}

static void json_done(struct result *result)
{
	(void)result;
}

const struct format format_json = { json_begin, json_row, json_end, json_done };
