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
#include "export/scalar.h"

struct json {
	struct text row;
	struct text keys;  /* keys of all columns as written, with separator, quotes and colon */
	size_t *key_at;    /* start of each key; it ends at the next start */
	size_t *cell;      /* column of the value for this key; SIZE_MAX: key not written */
	struct text names; /* member names as written, with quotes and colon */
	size_t **name_at;  /* by column and place in its list: start of each key; it ends at the next start */
};

/* Of columns with equal keys (SQL) the last value is written at the first position. */
static void find_cells(const struct result *result, struct json *json)
{
	size_t i, first;

	for (i = 0; i < result->column_count; i++) {
		json->cell[i] = SIZE_MAX;
		if (result->columns[i].flags & COLUMN_NO_DATA)
			continue;
		for (first = 0; first < i; first++)
			if (json->cell[first] != SIZE_MAX &&
			    !strcmp(result->columns[first].key, result->columns[i].key))
				break;
		json->cell[first] = i;
	}
}

/* Member names are equal in each row and are escaped once. */
static bool write_names(const struct column *column, struct text *names, size_t **ret_at)
{
	size_t *at, i;

	if (column->kind != COLUMN_OBJECT || !column->members)
		return true;
	*ret_at = at = calloc(column->member_count + 1, sizeof(*at));
	if (!at)
		return false;
	for (i = 0; i < column->member_count; i++) {
		at[i] = names->len;
		scalar_append_text(names, column->members[i], strlen(column->members[i]));
		text_append(names, ": ");
	}
	at[i] = names->len;
	return !text_failed(names);
}

static bool json_begin(struct result *result)
{
	struct json *json = calloc(1, sizeof(*json));
	size_t i, room = result->column_count + 1;

	result->state = json;
	if (!json)
		return false;
	json->key_at = calloc(room, sizeof(*json->key_at));
	json->cell = calloc(room, sizeof(*json->cell));
	json->name_at = calloc(room, sizeof(*json->name_at));
	if (!json->key_at || !json->cell || !json->name_at)
		return false;
	find_cells(result, json);
	for (i = 0; i < result->column_count; i++) {
		if (!write_names(&result->columns[i], &json->names, &json->name_at[i]))
			return false;
		json->key_at[i] = json->keys.len;
		if (json->cell[i] == SIZE_MAX)
			continue;
		if (json->keys.len)
			text_append(&json->keys, result->options.record ? "," : ", ");
		if (result->options.record)
			text_append(&json->keys, "\n  ");
		scalar_append_text(&json->keys, result->columns[i].key, strlen(result->columns[i].key));
		text_append(&json->keys, ": ");
	}
	json->key_at[i] = json->keys.len;
	if (!result->options.record && !result->options.lines)
		fputc('[', result->stream);
	return !text_failed(&json->keys);
}

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

/*
 * Append the name of a member. @from: position behind the previous member in the column's list, as
 * most callers add members in list order. A name that is not found there by address is escaped.
 */
static void append_name(const struct result *result, size_t at, size_t *from, const struct member *member,
			struct text *text)
{
	const struct json *json = result->state;
	const struct column *column = &result->columns[at];
	size_t place = *from;

	while (place < column->member_count && column->members[place] != member->name)
		place++;
	if (place < column->member_count) {
		const size_t *begin = &json->name_at[at][place];

		text_append_bytes(text, text_chars(&json->names) + begin[0], begin[1] - begin[0]);
		*from = place + 1;
		return;
	}
	scalar_append_text(text, member->name, strlen(member->name));
	text_append_bytes(text, ": ", 2);
}

static void append_members(const struct result *result, struct text *text, size_t at)
{
	const struct column *column = &result->columns[at];
	const struct value *value = &result->values[at];
	bool list = column->kind == COLUMN_LIST, record = result->options.record, any = false;
	size_t i, from = 0;

	text_append_bytes(text, list ? "[" : "{", 1);
	for (i = 0; i < value->member_count; i++) {
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
		append_name(result, at, &from, member, text);
		append_number(text, member);
	}
	if (any && record)
		text_append(text, "\n  ");
	text_append_bytes(text, list ? "]" : "}", 1);
}

static void append_value(struct result *result, struct text *text, size_t at)
{
	const struct column *column = &result->columns[at];
	struct value *value = &result->values[at];

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

static bool json_row(struct result *result)
{
	struct json *json = result->state;
	bool record = result->options.record;
	struct text *row = &json->row;
	size_t i;

	text_clear(row);
	if (!record && !result->options.lines)
		text_append(row, result->rows ? ",\n" : "\n");
	text_append_bytes(row, "{", 1);
	for (i = 0; i < result->column_count; i++) {
		size_t cell = json->cell[i], at = json->key_at[i];

		if (cell == SIZE_MAX)
			continue;
		text_append_bytes(row, text_chars(&json->keys) + at, json->key_at[i + 1] - at);
		append_value(result, row, cell);
	}
	text_append(row, record && json->keys.len ? "\n}" : "}");
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
	size_t i;

	if (!json)
		return;
	for (i = 0; json->name_at && i < result->column_count; i++)
		free(json->name_at[i]);
	free(json->name_at);
	text_done(&json->names);
	text_done(&json->row);
	text_done(&json->keys);
	free(json->key_at);
	free(json->cell);
	free(json);
}

const struct format format_json = { json_begin, json_row, json_end, json_done };
