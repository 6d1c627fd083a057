/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * csv.c - RFC 4180: CRLF between records, quotes where they are needed
 *
 * An object becomes one column per member, "errors.rcv_errors"; lists and lower bounds are joined with
 * ';'. Control characters are escaped as in a table, because CSV files are often shown on a terminal.
 *
 * A spreadsheet evaluates a cell that begins with = + - or @ as a formula, and a NodeDescription
 * may contain anything: such text gets a leading ', which marks it as text. Numbers are unchanged.
 * Source: OWASP, "CSV Injection". A tab or CR is escaped and never the first character.
 */
#include <inttypes.h>
#include <string.h>

#include "export/format.h"

/* Write the scratch text as a field. @is_text: it may contain text from the fabric or a user. */
static void write_field(struct result *result, bool is_text, bool *first)
{
	struct text *scratch = &result->scratch;
	struct text escaped = { 0 };
	const char *chars = text_chars(scratch);
	bool is_formula = is_text && !result->options.csv_raw && *chars && strchr("=+-@", *chars);

	if (!*first)
		fputc(',', result->stream);
	*first = false;
	if (is_formula || !text_is_plain(chars, scratch->len)) {
		text_append(&escaped, is_formula ? "'" : "");
		text_append_escaped(&escaped, chars, scratch->len);
		scratch->failed |= escaped.failed;
		text_clear(scratch);
		text_append_bytes(scratch, text_chars(&escaped), escaped.len);
		text_done(&escaped);
	}
	chars = text_chars(scratch);
	/* Quote spaces at the ends, which some readers trim otherwise. */
	if (!strpbrk(chars, ",\"\r\n") && chars[0] != ' ' && (!scratch->len || chars[scratch->len - 1] != ' ')) {
		fputs(chars, result->stream);
		return;
	}
	fputc('"', result->stream);
	for (size_t i = 0; i < scratch->len; i++) {
		if (chars[i] == '"')
			fputc('"', result->stream);
		fputc(chars[i], result->stream);
	}
	fputc('"', result->stream);
}

static bool end_record(struct result *result)
{
	fputs("\r\n", result->stream);
	return !result->scratch.failed;
}

static bool csv_begin(struct result *result)
{
	bool first = true;

	for (size_t i = 0; i < result->column_count; i++) {
		const struct column *column = &result->columns[i];

		if (!column_is_in_data(column))
			continue;
		for (size_t j = 0; column->member ? column->member(j) != NULL : j < 1; j++) {
			text_clear(&result->scratch);
			text_append(&result->scratch, column->key);
			if (column->member)
				text_appendf(&result->scratch, ".%s", column->member(j));
			write_field(result, true, &first);
		}
	}
	if (result->measured) {
		text_clear(&result->scratch);
		text_append(&result->scratch, RESULT_LOWER_BOUNDS);
		write_field(result, true, &first);
	}
	return end_record(result);
}

/* @from: the search begins there, and is moved behind the member; members usually have the order of the columns. */
static const struct member *find_member(const struct value *value, const char *name, size_t *from)
{
	size_t count = value->type == VALUE_MEMBERS ? value->member_count : 0;

	for (size_t i = 0; i < count; i++) {
		size_t at = (*from + i) % count;

		if (strcmp(value->members[at].name, name) != 0)
			continue;
		*from = at + 1;
		return &value->members[at];
	}
	return NULL;
}

static void write_members(struct result *result, const struct column *column, const struct value *value, bool *first)
{
	size_t from = 0;

	for (size_t i = 0; column->member && column->member(i); i++) {
		const struct member *member = find_member(value, column->member(i), &from);

		text_clear(&result->scratch);
		if (member)
			text_appendf(&result->scratch, "%" PRIu64, member->value);
		write_field(result, false, first);
	}
	if (column->member)
		return;
	text_clear(&result->scratch);
	for (size_t i = 0; value->type == VALUE_MEMBERS && i < value->member_count; i++) {
		text_appendf(&result->scratch, "%s%s", i ? ";" : "", value->members[i].name);
		if (column->kind != COLUMN_OBJECT)
			continue;
		if (value->members[i].is_real)
			text_appendf(&result->scratch, "=%.9g", value->members[i].real);
		else
			text_appendf(&result->scratch, "=%" PRIu64, value->members[i].value);
	}
	write_field(result, true, first);
}

/* "xmit_bytes_per_s=1.2e+09;load=1.2e+09": the cells of the row that are lower bounds. */
static void write_bounds(struct result *result, bool *first)
{
	const char *separator = "";

	text_clear(&result->scratch);
	for (size_t i = 0; i < result->column_count; i++) {
		if (!result->values[i].at_least || !column_is_in_data(&result->columns[i]))
			continue;
		text_appendf(&result->scratch, "%s%s=", separator, result->columns[i].key);
		value_data_text(&result->columns[i], &result->values[i], &result->scratch);
		separator = ";";
	}
	write_field(result, true, first);
}

static bool csv_row(struct result *result)
{
	bool first = true;

	for (size_t i = 0; i < result->column_count; i++) {
		const struct column *column = &result->columns[i];

		if (!column_is_in_data(column))
			continue;
		if (column->kind == COLUMN_OBJECT || column->kind == COLUMN_LIST) {
			write_members(result, column, &result->values[i], &first);
			continue;
		}
		text_clear(&result->scratch);
		if (!result->values[i].at_least)
			value_data_text(column, &result->values[i], &result->scratch);
		write_field(result, result->values[i].type == VALUE_TEXT, &first);
	}
	if (result->measured)
		write_bounds(result, &first);
	return end_record(result);
}

const struct format format_csv = { csv_begin, csv_row, NULL, NULL };
