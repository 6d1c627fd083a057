/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* The JSON writer produces the same bytes as jansson. */
#include <inttypes.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include <jansson.h>

#include "base/text.h"
#include "base/unit_test.h"
#include "export/result.h"
#include "export/format.h"
#include "export/test_hostile.h"

enum { VALUES = 60000, ROWS = 2000, FLAGS = JSON_ENSURE_ASCII | JSON_ENCODE_ANY | JSON_REAL_PRECISION(15) };

static uint64_t random_bits(void)
{
	uint64_t high = hostile_random(UINT32_MAX);

	return high << 33 ^ hostile_random(UINT32_MAX) << 11 ^ hostile_random(1 << 11);
}

/* All magnitudes, short decimal fractions, whole numbers, and the edges of a form. */
static double draw_real(void)
{
	static const double edges[] = { 0.0, -0.0, 1.0, -1.0, 0.1, 1e-4, 9.9999e-5, 1e-5, 1e-12, 1e14, 1e15, 1e16, 1e22,
					1e100, 1e-100, 5e-324, 1.7976931348623157e308, 123456789012345.0,
					999999999999999.5, 0.1 + 0.2 };
	uint64_t bits = random_bits();
	double number;

	switch (hostile_random(4)) {
	case 0:
		return edges[hostile_random(sizeof(edges) / sizeof(edges[0]))];
	case 1:
		return (double)hostile_random(100000) / 100.0;
	case 2:
		return (double)(int64_t)bits;
	}
	memcpy(&number, &bits, sizeof(number));
	return isfinite(number) ? number : 0.5;
}

/* jansson does not escape DEL. */
static char *dumped(json_t *json, size_t flags)
{
	char *chars = json_dumps(json, flags), *at;
	struct text text = { 0 };

	assert_non_null(chars);
	for (at = chars; *at; at++)
		if (*at == 0x7f)
			text_append(&text, "\\u007f");
		else
			text_append_bytes(&text, at, 1);
	free(chars);
	return text.chars;
}

static void assert_as_dumped(const struct text *text, json_t *json)
{
	char *expected = dumped(json, FLAGS);

	assert_string_equal(text_chars(text), expected);
	free(expected);
	json_decref(json);
}

static json_t *tree_text(const char *bytes, size_t len)
{
	json_t *json = memchr(bytes, 0, len) ? NULL : json_stringn(bytes, len);
	char *safe;

	if (json)
		return json;
	safe = hostile_escaped(bytes, len);
	json = json_string(safe);
	free(safe);
	return json;
}

static json_t *tree_unsigned(uint64_t number)
{
	char digits[24];

	if (number <= INT64_MAX)
		return json_integer((json_int_t)number);
	snprintf(digits, sizeof(digits), "%" PRIu64, number);
	return json_string(digits);
}

TEST(strings_match_jansson)
{
	struct text drawn = { 0 }, text = { 0 };

	hostile_seed = 1;
	for (int i = 0; i < VALUES; i++) {
		/* Every byte at every position of texts up to LONG, then random text. */
		enum { LONG = 19, LENGTHS = LONG * (LONG + 1) / 2 };
		char plain[LONG];
		const char *bytes = plain;
		size_t len = 1, place = (size_t)i / 256;

		for (; place >= len; len++)
			place -= len;
		memset(plain, 'a', sizeof(plain));
		if (len <= LONG)
			plain[place] = (char)(i % 256);
		if (i >= 256 * LENGTHS) {
			hostile_text(&drawn);
			bytes = drawn.chars;
			len = drawn.len;
		}
		text_clear(&text);
		scalar_append_text(&text, bytes, len);
		assert_false(text_failed(&text));
		assert_as_dumped(&text, tree_text(bytes, len));
	}
	text_done(&drawn);
	text_done(&text);
}

TEST(integers_match_jansson)
{
	static const int64_t edges[] = { 0, 1, -1, INT64_MAX, INT64_MIN, INT64_MIN + 1, 10, -10 };
	struct text text = { 0 };
	size_t edge_count = sizeof(edges) / sizeof(edges[0]);

	hostile_seed = 2;
	for (size_t i = 0; i < VALUES; i++) {
		uint64_t number = i < edge_count ? (uint64_t)edges[i] : random_bits() >> hostile_random(64);

		text_clear(&text);
		scalar_append_integer(&text, (int64_t)number);
		assert_as_dumped(&text, json_integer((int64_t)number));
		text_clear(&text);
		scalar_append_unsigned(&text, number);
		assert_as_dumped(&text, tree_unsigned(number));
	}
	text_done(&text);
}

TEST(reals_match_jansson)
{
	struct text text = { 0 };

	hostile_seed = 3;
	for (int i = 0; i < VALUES; i++) {
		double number = i % 2 ? draw_real() : (double)(random_bits() >> hostile_random(64)) / 1e6;
		char digits[32];
		json_t *back;

		text_clear(&text);
		scalar_append_real(&text, number);
		snprintf(digits, sizeof(digits), "%.15g", number);
		back = json_loads(text.chars, JSON_DECODE_ANY, NULL);
		/* The largest doubles are beyond all doubles with 15 digits. */
		if (isfinite(strtod(digits, NULL))) {
			assert_true(json_is_real(back));
			assert_true(json_real_value(back) == strtod(digits, NULL));
		}
		json_decref(back);
		/* jansson 2.14.1 and later format reals differently. */
		if (JANSSON_VERSION_HEX < 0x020e01)
			assert_as_dumped(&text, json_real(number));
		/* In CSV. */
		text_clear(&text);
		value_data_text(&(struct column){ 0 }, &(struct value){ .type = VALUE_REAL, .real = number }, &text);
		assert_string_equal(text_chars(&text), digits);
	}
	text_clear(&text);
	scalar_append_real(&text, NAN);
	assert_string_equal(text.chars, "null");
	text_done(&text);
}

/* --- rows --- */

static const char *const names[] = { "link_downed", "a \"name\"", "caf\xc3\xa9" };

static const char *name_of(size_t at)
{
	return at < 3 ? names[at] : NULL;
}

static const struct column columns[] = {
	{ .key = "text", .title = "TEXT", .kind = COLUMN_TEXT },
	{ .title = "SHOWN", .kind = COLUMN_TEXT, .flags = COLUMN_NO_DATA },
	{ .key = "any", .title = "ANY", .kind = COLUMN_ANY },
	{ .key = "time", .title = "TIME", .kind = COLUMN_TIME },
	{ .key = "guid", .title = "GUID", .kind = COLUMN_GUID },
	{ .key = "hex", .title = "HEX", .kind = COLUMN_HEX },
	{ .key = "list", .title = "LIST", .kind = COLUMN_LIST },
	{ .key = "object", .title = "OBJECT", .kind = COLUMN_OBJECT, .flags = COLUMN_OMIT_ZERO, .member = name_of },
	{ .key = "evidence", .title = "EVIDENCE", .kind = COLUMN_OBJECT, .flags = COLUMN_NO_TABLE },
	{ .key = "count(*) \"all\"\x7f\n", .title = "COUNT", .kind = COLUMN_INTEGER },
};

enum { COLUMN_COUNT = sizeof(columns) / sizeof(columns[0]) };

/* A name of the list, by its address or as a copy. */
static const char *draw_name(size_t place)
{
	static char copies[3][40];

	snprintf(copies[place], sizeof(copies[place]), "%s", names[place]);
	return hostile_random(4) ? names[place] : copies[place];
}

static json_t *draw_members(struct result *result, size_t column)
{
	size_t turn = hostile_random(2) ? 0 : hostile_random(3);
	bool list = columns[column].kind == COLUMN_LIST, omit = columns[column].flags & COLUMN_OMIT_ZERO;
	json_t *json = list ? json_array() : json_object();

	result_empty(result, column);
	for (size_t i = 0; i < 3; i++) {
		uint64_t number = hostile_random(3) ? random_bits() : 0;
		double real = hostile_random(9) ? (double)hostile_random(9) / 4 : NAN;
		bool is_whole = real == floor(real);
		const char *name = draw_name((i + turn) % 3);

		if (hostile_random(3) == 0)
			continue;
		if (list) {
			result_item(result, column, "%s", name);
			json_array_append_new(json, json_string(name));
		} else if (omit || hostile_random(2)) {
			result_member(result, column, name, number);
			if (number || !omit)
				json_object_set_new(json, name, tree_unsigned(number));
		} else {
			result_number(result, column, name, real);
			json_object_set_new(json, name, isnan(real) ? json_null() :
					    is_whole ? json_integer((json_int_t)real) : json_real(real));
		}
	}
	return json;
}

static json_t *draw_cell(struct result *result, size_t column)
{
	enum column_kind kind = columns[column].kind;
	struct text text = { 0 };
	char digits[24];
	json_t *json;
	int64_t number = (int64_t)random_bits();
	double real;

	if (!hostile_random(6))
		return json_null();
	if (kind == COLUMN_LIST || kind == COLUMN_OBJECT)
		return draw_members(result, column);
	switch (kind == COLUMN_ANY ? hostile_random(4) : 9) {
	case 0:
		real = draw_real();
		result_real(result, column, real);
		return json_real(real);
	case 1:
		result_bool(result, column, number & 1);
		return json_boolean(number & 1);
	case 2:
		result_integer(result, column, number);
		return json_integer(number);
	}
	if (kind == COLUMN_TIME) {
		static const struct { int64_t us; const char *text; } times[] = {
			{ 0, "1970-01-01T00:00:00.000000Z" },
			{ INT64_C(1577836800000000), "2020-01-01T00:00:00.000000Z" },
			{ INT64_C(1577836800000001), "2020-01-01T00:00:00.000001Z" },
		};
		size_t drawn = hostile_random(3);

		result_integer(result, column, times[drawn].us);
		return json_string(times[drawn].text);
	}
	if (kind == COLUMN_GUID) {
		result_unsigned(result, column, (uint64_t)number);
		snprintf(digits, sizeof(digits), "0x%016" PRIx64, (uint64_t)number);
		return json_string(digits);
	}
	if (kind == COLUMN_HEX || kind == COLUMN_INTEGER) {
		result_unsigned(result, column, (uint64_t)number);
		return tree_unsigned((uint64_t)number);
	}
	hostile_text(&text);
	result_bytes(result, column, text.chars, text.len);
	json = tree_text(text.chars, text.len);
	text_done(&text);
	return json;
}

/* @expected: the row as jansson dumps it. */
static void draw_row(struct result *result, bool record, struct text *expected)
{
	json_t *object = json_object();
	char *chars;

	for (size_t i = 0; i < COLUMN_COUNT; i++) {
		json_t *cell = draw_cell(result, i);

		if (columns[i].flags & COLUMN_NO_DATA)
			json_decref(cell);
		else
			json_object_set_new(object, columns[i].key, cell);
	}
	assert_true(result_end_row(result));
	chars = dumped(object, FLAGS | (record ? JSON_INDENT(2) : 0));
	text_append(expected, chars);
	free(chars);
	json_decref(object);
}

static void write_rows(const struct result_options *options, size_t rows)
{
	struct text expected = { 0 };
	struct result *result;
	char *chars;
	size_t len;
	FILE *stream = open_memstream(&chars, &len);

	assert_non_null(stream);
	result = result_create(stream, options, columns, COLUMN_COUNT);
	assert_non_null(result);
	for (size_t i = 0; i < rows; i++) {
		if (!options->record && !options->lines)
			text_append(&expected, i ? ",\n" : "[\n");
		draw_row(result, options->record, &expected);
		if (options->lines)
			text_append(&expected, "\n");
	}
	if (!options->lines)
		text_append(&expected, options->record ? "\n" : "\n]\n");
	assert_int_equal(result_finish(result, NULL), 0);
	result_destroy(result);
	assert_int_equal(fclose(stream), 0);
	assert_string_equal(chars, text_chars(&expected));
	text_done(&expected);
	free(chars);
}

TEST(rows_match_jansson)
{
	struct result_options options = { .format = RESULT_JSON };

	hostile_seed = 4;
	write_rows(&options, ROWS);
	options.lines = true;
	write_rows(&options, ROWS);
	options.lines = false;
	options.record = true;
	for (size_t i = 0; i < ROWS; i++)
		write_rows(&options, 1);
}
