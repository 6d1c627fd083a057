/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* value.c - a value as text, for JSON and CSV and for tables; strings and numbers in JSON syntax */
#include <inttypes.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "analysis/rate.h"
#include "base/when.h"
#include "export/format.h"

/* True for nearly all names and descriptions; may be false for some that need no escapes. */
static bool is_same_in_json(const char *bytes, size_t len)
{
	const uint64_t ones = UINT64_MAX / 255;
	uint64_t found = 0;

	/* Eight bytes at once: the highest bit of each, and those of bytes below 0x20, DEL, '"' and '\\'. */
	for (size_t i = 0; i < len; i += 8) {
		uint64_t word = ones * 'x';

		if (len < 8)
			memcpy(&word, bytes, len);
		else
			memcpy(&word, bytes + (i + 8 <= len ? i : len - 8), 8);
		found |= word | (word - ones * 0x20) | (word + ones) | ((word ^ ones * '"') - ones) |
			 ((word ^ ones * '\\') - ones);
	}
	return !(found & ones * 0x80);
}

static void append_point(struct text *text, uint32_t point)
{
	static const char shorts[] = "\"\"\\\\\bb\ff\nn\rr\tt";
	const char *letter = point && point < 0x80 ? strchr(shorts, (int)point) : NULL;

	/* Pairs of a character and the letter of its escape. */
	if (letter && (letter - shorts) % 2 == 0)
		text_appendf(text, "\\%c", letter[1]);
	else if (point >= 0x20 && point < 0x7f)
		text_append_bytes(text, &(char){ (char)point }, 1);
	else if (point < 0x10000)
		text_appendf(text, point == 0x7f ? "\\u%04x" : "\\u%04X", point);
	else
		text_appendf(text, "\\u%04X\\u%04X", 0xd800 + ((point - 0x10000) >> 10),
			     0xdc00 + ((point - 0x10000) & 0x3ff));
}

/* Return: true if all of it is valid UTF-8 without NUL; otherwise a part of it was appended. */
static bool append_escaped(struct text *text, const char *bytes, size_t len)
{
	uint32_t point = 0;
	size_t count;

	for (; len; bytes += count, len -= count) {
		count = text_decode(bytes, len, &point);
		if (!count || !point)
			return false;
		append_point(text, point);
	}
	return true;
}

void scalar_append_text(struct text *text, const char *bytes, size_t len)
{
	char *room = text_reserve(text, len + 2);
	struct text valid = { 0 };
	size_t start = text->len + 1;

	if (!room)
		return;
	room[0] = '"';
	if (is_same_in_json(bytes, len)) {
		memcpy(room + 1, bytes, len);
		room[len + 1] = '"';
		text_extend(text, len + 2);
		return;
	}
	text_extend(text, 1);
	if (!append_escaped(text, bytes, len)) {
		text->len = start;
		text_append_escaped(&valid, bytes, len);
		append_escaped(text, text_chars(&valid), valid.len);
		text->failed |= valid.failed;
		text_done(&valid);
	}
	text_append_bytes(text, "\"", 1);
}

void scalar_append_integer(struct text *text, int64_t number)
{
	if (number < 0)
		text_append_bytes(text, "-", 1);
	text_append_number(text, number < 0 ? 0 - (uint64_t)number : (uint64_t)number, 10);
}

void scalar_append_unsigned(struct text *text, uint64_t number)
{
	bool quoted = number > INT64_MAX;

	if (quoted)
		text_append_bytes(text, "\"", 1);
	text_append_number(text, number, 10);
	if (quoted)
		text_append_bytes(text, "\"", 1);
}

/*
 * A number of millionths with at most 15 digits, as "%.15g" prints it, in a tenth of the time: whole numbers and times.
 * @point: whole numbers end in ".0"
 * Return: is it one?
 */
static bool append_millionths(struct text *text, double number, bool point)
{
	uint64_t millionths = number >= 0 && number < 1e9 ? (uint64_t)(number * 1e6 + 0.5) : 0;
	unsigned fraction = (unsigned)(millionths % 1000000);
	char digits[] = ".000000";
	size_t len = sizeof(digits) - 1;

	/* "%.15g" prints numbers below 1e-4 with an exponent. */
	if (signbit(number) || (double)millionths / 1e6 != number || (millionths && millionths < 100))
		return false;
	for (size_t i = len - 1; i; i--, fraction /= 10)
		digits[i] = (char)('0' + fraction % 10);
	while (len > 2 && digits[len - 1] == '0')
		len--;
	if (!point && len == 2 && digits[1] == '0')
		len = 0;
	text_append_number(text, millionths / 1000000, 10);
	text_append_bytes(text, digits, len);
	return true;
}

void scalar_append_real(struct text *text, double number)
{
	char digits[32], *exponent;
	size_t skip;

	if (!isfinite(number)) {
		text_append(text, "null");
		return;
	}
	if (append_millionths(text, number, true))
		return;
	snprintf(digits, sizeof(digits), "%.15g", number);
	exponent = strchr(digits, 'e');
	if (exponent) {
		/* The exponent of 1e+22 and 1e-05 is shortened to 1e22 and 1e-5. */
		exponent += exponent[1] == '-' ? 2 : 1;
		skip = strspn(exponent, "+0");
		memmove(exponent, exponent + skip, strlen(exponent + skip) + 1);
	} else if (!strchr(digits, '.')) {
		strcat(digits, ".0");
	}
	text_append(text, digits);
}

double value_number(const struct value *value)
{
	switch (value->type) {
	case VALUE_INTEGER:
	case VALUE_BOOL:
		return (double)value->integer;
	case VALUE_UNSIGNED:
		return (double)value->natural;
	case VALUE_REAL:
		return value->real;
	default:
		return NAN;
	}
}

static void append_guid(struct text *text, uint64_t guid)
{
	char digits[18] = "0x";

	for (size_t i = sizeof(digits); i-- > 2; guid >>= 4)
		digits[i] = "0123456789abcdef"[guid & 15];
	text_append_bytes(text, digits, sizeof(digits));
}

void value_data_text(const struct column *column, const struct value *value, struct text *text)
{
	char when[WHEN_SIZE];

	switch (value->type) {
	case VALUE_TEXT:
		text_append_bytes(text, text_chars(&value->chars), value->chars.len);
		break;
	case VALUE_INTEGER:
		if (column->kind == COLUMN_TIME)
			text_append(text, when_format_utc(value->integer, when));
		else
			scalar_append_integer(text, value->integer);
		break;
	case VALUE_UNSIGNED:
		if (column->kind == COLUMN_GUID)
			append_guid(text, value->natural);
		else
			text_append_number(text, value->natural, 10);
		break;
	case VALUE_REAL:
		if (!append_millionths(text, value->real, false))
			text_appendf(text, "%.15g", value->real);
		break;
	case VALUE_BOOL:
		text_append(text, value->integer ? "true" : "false");
		break;
	case VALUE_NULL:
	case VALUE_MEMBERS:
		break;
	}
}

/* "1.5 GB" with decimal prefixes; "12.3k" if @unit is empty. */
static void append_scaled(struct text *text, double number, const char *unit, const char *gap)
{
	static const char *const prefixes[] = { "", "k", "M", "G", "T", "P", "E" };
	size_t prefix = 0;

	for (; fabs(number) >= 999.95 && prefix < 6; prefix++)
		number /= 1000.0;
	if (prefix == 0 && (number == floor(number) || fabs(number) >= 100))
		text_appendf(text, "%.0f%s%s", number, gap, unit);
	else
		text_appendf(text, "%.1f%s%s%s", number, gap, prefixes[prefix], unit);
}

void result_append_bytes(struct text *text, double bytes)
{
	append_scaled(text, bytes, "B", " ");
}

const char *result_format_bytes(double bytes, char *ret, size_t size)
{
	/* In place, so that no allocation can fail: a sum of 64-bit counters has at most 20 characters. */
	struct text text = { .chars = ret, .capacity = size };

	ret[0] = '\0';
	result_append_bytes(&text, bytes);
	return ret;
}

static void append_members(const struct column *column, const struct value *value, struct text *text)
{
	const char *comma = "";

	for (size_t i = 0; i < value->member_count; i++) {
		const struct member *member = &value->members[i];

		if (column->kind == COLUMN_LIST)
			text_appendf(text, "%s%s", comma, member->name);
		else if (member->value || !(column->flags & COLUMN_OMIT_ZERO))
			text_appendf(text, "%s%s %" PRIu64, comma, member->name, member->value);
		else
			continue;
		comma = ", ";
	}
}

/* Append a number in the table format of its kind. Return: false if the kind has none. */
static bool append_number(const struct column *column, const struct value *value, struct text *text)
{
	double number = value_number(value);
	char buffer[WHEN_SIZE];

	switch (column->kind) {
	case COLUMN_PERCENT:
		text_appendf(text, "%.1f", number);
		return true;
	case COLUMN_BYTES:
		result_append_bytes(text, number);
		return true;
	case COLUMN_RATE:
		text_append(text, rate_format_bits(number, buffer, sizeof(buffer)));
		return true;
	case COLUMN_PER_S:
		append_scaled(text, number, "/s", "");
		return true;
	case COLUMN_GBPS:
		text_appendf(text, "%.4g Gb/s", number);
		return true;
	case COLUMN_HEX:
		text_appendf(text, "0x%" PRIx64, value->type == VALUE_UNSIGNED ? value->natural :
										  (uint64_t)value->integer);
		return true;
	case COLUMN_TIME:
		text_append(text, when_format_local((int64_t)number, buffer));
		return true;
	case COLUMN_SPAN_S:
		text_append(text, when_format_span((int64_t)(number * 1e6), buffer));
		return true;
	case COLUMN_SPAN_US:
		text_append(text, when_format_span((int64_t)number, buffer));
		return true;
	case COLUMN_BOOL:
		text_append(text, value->integer ? "yes" : "no");
		return true;
	default:
		return false;
	}
}

void value_table_text(const struct column *column, const struct value *value, struct text *text)
{
	if (value->has_shown)
		text_append_bytes(text, text_chars(&value->shown), value->shown.len);
	else if (value->type == VALUE_NULL)
		text_append(text, column->kind == COLUMN_ANY ? "" : "-");
	else if (value->type == VALUE_MEMBERS)
		append_members(column, value, text);
	else if (value->type == VALUE_TEXT || !append_number(column, value, text))
		value_data_text(column, value, text);
	if (value->at_least && value->type != VALUE_NULL)
		text_append(text, "+");
}

/* "97k", "1.2M": three digits at most. */
static void append_short(struct text *text, double number)
{
	static const char prefixes[] = "kMGTPE";
	size_t prefix = 0;

	for (number /= 1000; fabs(number) >= 999.5 && prefix + 1 < strlen(prefixes); prefix++)
		number /= 1000;
	text_appendf(text, fabs(number) < 9.95 ? "%.1f%c" : "%.0f%c", number, prefixes[prefix]);
}

void value_narrow_text(const struct column *column, const struct value *value, unsigned columns, struct text *text)
{
	double number = value_number(value);
	char buffer[WHEN_SIZE], *point;

	if (value->has_shown || isnan(number))
		return;
	switch (column->kind) {
	case COLUMN_RATE:
		/* "182.4 Gb/s" without " b/s": the title has the unit. */
		rate_format_bits(number, buffer, sizeof(buffer));
		point = strchr(buffer, '.');
		/* "182.4G+" is "182G+" if the mark would not fit. */
		if (value->at_least && point && strcspn(buffer, " ") + 2 > columns)
			memmove(point, point + 2, strlen(point + 2) + 1);
		text_clear(text);
		text_appendf(text, "%.*s", (int)strcspn(buffer, " "), buffer);
		if (strchr(buffer, ' ') && strchr(buffer, ' ')[1] != 'b')
			text_appendf(text, "%c", strchr(buffer, ' ')[1]);
		break;
	case COLUMN_PERCENT:
		text_clear(text);
		text_appendf(text, "%.0f", number);
		break;
	case COLUMN_INTEGER:
	case COLUMN_BYTES:
	case COLUMN_PER_S:
		if (fabs(number) < 1000)
			return;
		text_clear(text);
		append_short(text, number);
		break;
	default:
		return;
	}
	if (value->at_least)
		text_append(text, "+");
}

bool column_is_right(const struct column *column)
{
	return value_is_number(column, NULL);
}

void value_done(const struct column *column, struct value *value)
{
	for (size_t i = 0; column->kind == COLUMN_LIST && i < value->member_count; i++)
		free((char *)value->members[i].name);
	text_done(&value->chars);
	text_done(&value->shown);
	free(value->members);
}

bool value_is_number(const struct column *column, const struct value *value)
{
	switch (column->kind) {
	case COLUMN_TEXT:
	case COLUMN_GUID:
	case COLUMN_TIME:
	case COLUMN_BOOL:
	case COLUMN_LIST:
	case COLUMN_OBJECT:
		return false;
	case COLUMN_ANY:
		return value && (value->type == VALUE_INTEGER || value->type == VALUE_REAL);
	default:
		return true;
	}
}
