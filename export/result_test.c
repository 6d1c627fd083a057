/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* Each format preserves its input, and none prints unsafe text. */
#include <inttypes.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include <jansson.h>

#include "base/err.h"
#include "base/text.h"
#include "base/unit_test.h"
#include "export/result.h"
#include "export/test_hostile.h"

enum { TEXT, NUMBER, COUNT, RATE, LIST, OBJECT, COLUMN_COUNT };

static const char *const members[] = { "symbol_errors", "rcv_errors" };

static const struct column columns[COLUMN_COUNT] = {
	[TEXT] = { .key = "text", .title = "TEXT", .kind = COLUMN_TEXT, .flags = COLUMN_FLEXIBLE },
	[NUMBER] = { .key = "number", .title = "NUMBER", .kind = COLUMN_INTEGER },
	[COUNT] = { .key = "count", .title = "COUNT", .kind = COLUMN_INTEGER, .priority = 3 },
	[RATE] = { .key = "bytes_per_s", .title = "RATE", .kind = COLUMN_RATE, .priority = 1 },
	[LIST] = { .key = "list", .title = "LIST", .kind = COLUMN_LIST,
		   .flags = COLUMN_FLEXIBLE | COLUMN_KEEP_TAIL, .priority = 2 },
	[OBJECT] = { .key = "errors", .title = "ERRORS", .kind = COLUMN_OBJECT, .flags = COLUMN_OMIT_ZERO,
		     .priority = 4, .members = members, .member_count = 2 },
};

struct output {
	FILE *stream;
	char *chars;
	size_t len;
	struct result *result;
};

static void begin(struct output *output, const struct result_options *options)
{
	memset(output, 0, sizeof(*output));
	output->stream = open_memstream(&output->chars, &output->len);
	assert_non_null(output->stream);
	assert_int_equal(result_create(output->stream, options, columns, COLUMN_COUNT, &output->result, NULL), 0);
}

static void finish(struct output *output)
{
	assert_int_equal(result_finish(output->result, NULL), 0);
	result_destroy(output->result);
	assert_int_equal(fclose(output->stream), 0);
}

/* A row of all kinds of values from a random sequence that the parser repeats. */
struct drawn {
	struct text text, item;
	int64_t number;
	uint64_t count;
	double rate;
	uint64_t members[2];
	bool known;
};

static void draw_row(struct drawn *row)
{
	hostile_text(&row->text);
	hostile_text(&row->item);
	/* A list's items are names: without NUL. */
	row->item.len = strlen(row->item.chars);
	row->number = (int64_t)(hostile_random(UINT32_MAX) << 32 | hostile_random(UINT32_MAX));
	row->count = hostile_random(4) ? hostile_random(UINT32_MAX) : UINT64_MAX - hostile_random(9);
	row->rate = hostile_random(3) ? (double)hostile_random(1000000000) * 3.1 : NAN;
	row->members[0] = hostile_random(2) * 17;
	row->members[1] = hostile_random(3);
	row->known = hostile_random(5) > 0;
}

static void put_row(struct result *result, const struct drawn *row)
{
	result_bytes(result, TEXT, row->text.chars, row->text.len);
	result_integer(result, NUMBER, row->number);
	result_unsigned(result, COUNT, row->count);
	result_real(result, RATE, row->rate);
	result_item(result, LIST, "%s", row->item.chars);
	if (row->known) {
		result_member(result, OBJECT, members[0], row->members[0]);
		result_member(result, OBJECT, members[1], row->members[1]);
	}
	assert_true(result_end_row(result));
}

/* Output of random rows from a seed. */
static void put_rows(struct output *output, const struct result_options *options, uint64_t seed, struct drawn *row,
		     size_t rows)
{
	hostile_seed = seed;
	begin(output, options);
	for (size_t i = 0; i < rows; i++) {
		draw_row(row);
		put_row(output->result, row);
	}
	finish(output);
}

static void assert_json_text(const json_t *json, const char *bytes, size_t len)
{
	char *safe = hostile_escaped(bytes, len);
	json_t *valid = memchr(bytes, 0, len) ? NULL : json_stringn(bytes, len);

	assert_true(json_is_string(json));
	if (valid)
		assert_memory_equal(json_string_value(json), bytes, len + 1);
	else
		assert_string_equal(json_string_value(json), safe);
	json_decref(valid);
	free(safe);
}

static void assert_json_row(json_t *object, const struct drawn *row)
{
	const json_t *errors = json_object_get(object, "errors"), *rate = json_object_get(object, "bytes_per_s");
	const json_t *count = json_object_get(object, "count");

	assert_json_text(json_object_get(object, "text"), row->text.chars, row->text.len);
	assert_json_text(json_array_get(json_object_get(object, "list"), 0), row->item.chars, row->item.len);
	assert_true(json_integer_value(json_object_get(object, "number")) == row->number);
	if (row->count > INT64_MAX)
		assert_true(strtoull(json_string_value(count), NULL, 10) == row->count);
	else
		assert_true((uint64_t)json_integer_value(count) == row->count);
	if (isnan(row->rate))
		assert_true(json_is_null(rate));
	else
		assert_true(fabs(json_number_value(rate) - row->rate) <= 1e-12 * row->rate);
	if (!row->known) {
		assert_true(json_is_null(errors));
		return;
	}
	assert_int_equal(json_object_size(errors), (row->members[0] != 0) + (row->members[1] != 0));
	assert_int_equal(json_integer_value(json_object_get(errors, members[0])), row->members[0]);
	assert_int_equal(json_integer_value(json_object_get(errors, members[1])), row->members[1]);
}

TEST(json_parses_back_to_the_same_cells)
{
	const struct result_options options = { .format = RESULT_JSON };
	struct drawn row = { 0 };
	struct output output;
	json_t *array;
	size_t rows = 2000;

	put_rows(&output, &options, 1, &row, rows);
	for (size_t j = 0; j < output.len; j++)
		assert_true(output.chars[j] == '\n' || (output.chars[j] >= 0x20 && output.chars[j] < 0x7f));
	array = json_loadb(output.chars, output.len, 0, NULL);
	assert_int_equal(json_array_size(array), rows);
	hostile_seed = 1;
	for (size_t i = 0; i < rows; i++) {
		draw_row(&row);
		assert_json_row(json_array_get(array, i), &row);
	}
	json_decref(array);
	free(output.chars);
	text_done(&row.text);
	text_done(&row.item);
}

/* Parse a field of RFC 4180. Return: the rest. */
static const char *read_field(const char *at, struct text *field)
{
	text_clear(field);
	text_append(field, "");
	if (*at != '"') {
		size_t len = strcspn(at, ",\r");

		text_append_bytes(field, at, len);
		return at + len;
	}
	for (at++; *at != '"' || at[1] == '"'; at++) {
		assert_true(*at);
		at += *at == '"';
		text_append_bytes(field, at, 1);
	}
	return at + 1;
}

static void assert_field(const char **at, struct text *field, const char *expected)
{
	*at = read_field(*at, field);
	assert_string_equal(field->chars, expected);
	assert_true(**at == ',' || !strncmp(*at, "\r\n", 2));
	*at += **at == ',' ? 1 : 2;
}

TEST(csv_parses_back_to_the_same_cells)
{
	const struct result_options options = { .format = RESULT_CSV, .csv_raw = true };
	struct drawn row = { 0 };
	struct output output;
	struct text field = { 0 };
	const char *at;
	size_t rows = 2000;

	put_rows(&output, &options, 2, &row, rows);
	hostile_assert_none(output.chars, output.len, "\r\n");
	at = output.chars;
	static const char header[] = "text,number,count,bytes_per_s,list,errors.symbol_errors,errors.rcv_errors\r\n";
	assert_memory_equal(at, header, sizeof(header) - 1);
	at += sizeof(header) - 1;
	hostile_seed = 2;
	for (size_t i = 0; i < rows; i++) {
		char number[32], *safe;

		draw_row(&row);
		safe = hostile_escaped(row.text.chars, row.text.len);
		assert_field(&at, &field, safe);
		free(safe);
		snprintf(number, sizeof(number), "%" PRId64, row.number);
		assert_field(&at, &field, number);
		snprintf(number, sizeof(number), "%" PRIu64, row.count);
		assert_field(&at, &field, number);
		at = read_field(at, &field) + 1;
		if (isnan(row.rate))
			assert_int_equal(field.len, 0);
		else
			assert_true(fabs(strtod(field.chars, NULL) - row.rate) <= 1e-12 * row.rate);
		safe = hostile_escaped(row.item.chars, row.item.len);
		assert_field(&at, &field, safe);
		free(safe);
		for (size_t j = 0; j < 2; j++) {
			snprintf(number, sizeof(number), "%" PRIu64, row.members[j]);
			assert_field(&at, &field, row.known ? number : "");
		}
	}
	assert_int_equal(*at, 0);
	free(output.chars);
	text_done(&field);
	text_done(&row.text);
	text_done(&row.item);
}

TEST(csv_text_is_no_formula)
{
	static const struct { const char *text, *field, *raw; } cases[] = {
		{ "=cmd|' /C calc'!A0", "'=cmd|' /C calc'!A0", "=cmd|' /C calc'!A0" },
		{ "+1", "'+1", "+1" }, { "-1+1", "'-1+1", "-1+1" }, { "-\n", "'-\\x0a", "-\\x0a" },
		{ "@SUM(1,2)", "\"'@SUM(1,2)\"", "\"@SUM(1,2)\"" }, { "\t=1", "\\x09=1", "\\x09=1" },
		{ "\r=1", "\\x0d=1", "\\x0d=1" }, { "node=1", "node=1", "node=1" },
	};

	for (size_t i = 0; i < 2 * sizeof(cases) / sizeof(*cases); i++) {
		const struct result_options options = { .format = RESULT_CSV, .csv_raw = i % 2 };
		const char *text = cases[i / 2].text, *field = i % 2 ? cases[i / 2].raw : cases[i / 2].field;
		char expected[128];
		struct output output;

		snprintf(expected, sizeof(expected), "%s,-5,,,%s,,\r\n", field, field);
		begin(&output, &options);
		result_text(output.result, TEXT, text);
		result_integer(output.result, NUMBER, -5);
		result_item(output.result, LIST, "%s", text);
		result_end_row(output.result);
		finish(&output);
		assert_string_equal(strstr(output.chars, "\r\n") + 2, expected);
		free(output.chars);
	}
}

/* Remove the colours of the table. */
static size_t strip_colours(char *chars, size_t len)
{
	size_t from = 0, to = 0;

	while (from < len) {
		if (chars[from] == '\033' && chars[from + 1] == '[') {
			from += 2;
			while (chars[from] == ';' || (chars[from] >= '0' && chars[from] <= '9'))
				from++;
			assert_int_equal(chars[from], 'm');
			from++;
			continue;
		}
		chars[to++] = chars[from++];
	}
	chars[to] = 0;
	return to;
}

TEST(tables_are_safe_and_fit_the_terminal)
{
	struct drawn row = { 0 };

	hostile_seed = 3;
	for (unsigned width = 0; width < 220; width++) {
		const struct result_options options = { .width = width, .color = width % 2, .notes = true };
		struct output output;
		char *line, *save = NULL;

		begin(&output, &options);
		for (int i = 0; i < 20; i++) {
			draw_row(&row);
			result_show(output.result, TEXT, NULL, (enum cell_style)hostile_random(STYLE_COUNT));
			put_row(output.result, &row);
		}
		finish(&output);
		output.len = strip_colours(output.chars, output.len);
		hostile_assert_none(output.chars, output.len, "\n");
		for (line = strtok_r(output.chars, "\n", &save); line; line = strtok_r(NULL, "\n", &save))
			assert_true(!width || text_columns(line) <= width || strstr(line, "terminal too narrow"));
		free(output.chars);
	}
	text_done(&row.text);
	text_done(&row.item);
}

TEST(a_narrow_table_keeps_the_number_of_a_port)
{
	static const struct column port_column = {
		.title = "PORT", .kind = COLUMN_TEXT, .flags = COLUMN_FLEXIBLE | COLUMN_KEEP_TAIL,
	};
	const struct result_options options = { .width = 16 };
	struct result *result;
	char *chars;
	size_t len;
	FILE *stream = open_memstream(&chars, &len);

	assert_int_equal(result_create(stream, &options, &port_column, 1, &result, NULL), 0);
	result_text(result, 0, "a-switch-with-a-long-name/31");
	result_end_row(result);
	assert_int_equal(result_finish(result, NULL), 0);
	result_destroy(result);
	fclose(stream);
	assert_non_null(strstr(chars, "\na-switch"));
	assert_non_null(strstr(chars, "name/31\n"));
	free(chars);
}

TEST(table_without_width_is_not_cut)
{
	const struct result_options options = { .format = RESULT_TABLE };
	struct drawn row = { 0 };
	struct output output;

	for (int i = 0; i < 50; i++) {
		char *safe;

		begin(&output, &options);
		draw_row(&row);
		put_row(output.result, &row);
		finish(&output);
		safe = hostile_escaped(row.text.chars, row.text.len);
		assert_non_null(strstr(output.chars, safe));
		free(safe);
		free(output.chars);
	}
	text_done(&row.text);
	text_done(&row.item);
}

TEST(unknown_value_is_not_zero)
{
	static const enum result_format formats[] = { RESULT_JSON, RESULT_CSV, RESULT_TABLE };
	static const char *const expected[] = {
		("[\n{\"text\": null, \"number\": null, \"count\": null, \"bytes_per_s\": null, \"list\": null, "
		 "\"errors\": null}\n]\n"),
		"text,number,count,bytes_per_s,list,errors.symbol_errors,errors.rcv_errors\r\n,,,,,,\r\n",
		"TEXT  NUMBER  COUNT  RATE  LIST  ERRORS\n-          -      -     -  -     -\n",
	};

	for (size_t i = 0; i < 3; i++) {
		const struct result_options options = { .format = formats[i] };
		struct output output;

		begin(&output, &options);
		result_text(output.result, TEXT, NULL);
		result_real(output.result, RATE, NAN);
		result_end_row(output.result);
		finish(&output);
		assert_string_equal(output.chars, expected[i]);
		free(output.chars);
	}
}

TEST(bytes_are_two_digits_each)
{
	static const struct column blob[] = { { .key = "blob", .title = "BLOB", .kind = COLUMN_ANY } };
	struct result *result;
	char bytes[256], expected[2 * sizeof(bytes) + 1], *chars = NULL;
	size_t len;
	FILE *stream = open_memstream(&chars, &len);

	for (size_t i = 0; i < sizeof(bytes); i++) {
		bytes[i] = (char)i;
		snprintf(expected + 2 * i, 3, "%02x", (unsigned)i);
	}
	assert_non_null(stream);
	assert_int_equal(result_create(stream, &(struct result_options){ .format = RESULT_CSV }, blob, 1, &result,
				       NULL), 0);
	result_hex(result, 0, bytes, sizeof(bytes));
	assert_true(result_end_row(result));
	result_hex(result, 0, bytes, 0);
	assert_true(result_end_row(result));
	assert_int_equal(result_finish(result, NULL), 0);
	result_destroy(result);
	fclose(stream);
	assert_memory_equal(chars, "blob\r\n", 6);
	assert_memory_equal(chars + 6, expected, 2 * sizeof(bytes));
	assert_string_equal(chars + 6 + 2 * sizeof(bytes), "\r\n\r\n");
	free(chars);
}

TEST(a_cell_does_not_leak_into_the_next_row)
{
	const struct result_options options = { .format = RESULT_JSON };
	struct output output;

	begin(&output, &options);
	result_text(output.result, TEXT, "first");
	result_member(output.result, OBJECT, members[0], 3);
	result_end_row(output.result);
	result_empty(output.result, OBJECT);
	result_end_row(output.result);
	finish(&output);
	assert_non_null(strstr(output.chars, "\"text\": \"first\""));
	assert_non_null(strstr(strstr(output.chars, ",\n"), "\"text\": null"));
	assert_non_null(strstr(strstr(output.chars, ",\n"), "\"errors\": {}"));
	free(output.chars);
}

TEST(no_rows_are_an_empty_array_and_a_header)
{
	static const enum result_format formats[] = { RESULT_JSON, RESULT_CSV, RESULT_TABLE };
	static const char *const expected[] = {
		"[]\n", "text,number,count,bytes_per_s,list,errors.symbol_errors,errors.rcv_errors\r\n",
		"TEXT  NUMBER  COUNT  RATE  LIST  ERRORS\n",
	};

	for (size_t i = 0; i < 3; i++) {
		const struct result_options options = { .format = formats[i] };
		struct output output;

		begin(&output, &options);
		finish(&output);
		assert_string_equal(output.chars, expected[i]);
		free(output.chars);
	}
}
