/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* result_test.c - formats keep their input and print no unsafe text; failed writes are reported */
#include <inttypes.h>
#include <math.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/err.h"
#include "base/text.h"
#include "base/unit_test.h"
#include "export/result.h"
#include "export/test_hostile.h"

enum { TEXT, NUMBER, COUNT, RATE, LIST, OBJECT, COLUMN_COUNT };

static const char *const members[] = { "symbol_errors", "rcv_errors" };

static const char *member(size_t at)
{
	return at < 2 ? members[at] : NULL;
}

static const struct column columns[COLUMN_COUNT] = {
	[TEXT] = { .key = "text", .title = "TEXT", .kind = COLUMN_TEXT, .flags = COLUMN_FLEXIBLE },
	[NUMBER] = { .key = "number", .title = "NUMBER", .kind = COLUMN_INTEGER },
	[COUNT] = { .key = "count", .title = "COUNT", .kind = COLUMN_INTEGER, .priority = 3 },
	[RATE] = { .key = "bytes_per_s", .title = "RATE", .kind = COLUMN_RATE, .priority = 1 },
	[LIST] = { .key = "list", .title = "LIST", .kind = COLUMN_LIST,
		   .flags = COLUMN_FLEXIBLE | COLUMN_KEEP_TAIL, .priority = 2 },
	[OBJECT] = { .key = "errors", .title = "ERRORS", .kind = COLUMN_OBJECT, .flags = COLUMN_OMIT_ZERO,
		     .priority = 4, .member = member },
};

struct output {
	FILE *stream;
	char *chars;
	size_t len;
	struct result *result;
};

static void begin_with(struct output *output, const struct result_options *options, const struct column *some,
		       size_t count)
{
	memset(output, 0, sizeof(*output));
	output->stream = open_memstream(&output->chars, &output->len);
	assert_non_null(output->stream);
	output->result = result_create(output->stream, options, some, count);
	assert_non_null(output->result);
}

static void begin(struct output *output, const struct result_options *options)
{
	begin_with(output, options, columns, COLUMN_COUNT);
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

/* --- rows in memory --- */

struct sample_row {
	const char *text;
	double bytes_per_s;
	uint64_t errors;
};

static void fill_text(struct result *result, size_t at, const void *row)
{
	const struct sample_row *sample = row;

	result_text(result, at, sample->text);
	result_show(result, at, NULL, STYLE_WARNING);
}

static void fill_errors(struct result *result, size_t at, const void *row)
{
	const struct sample_row *sample = row;

	result_empty(result, at);
	result_member(result, at, result_column(result, at)->member(0), sample->errors);
}

static const struct column sample_columns[] = {
	{ .key = "text", .title = "TEXT", .kind = COLUMN_TEXT, .fill = fill_text },
	{ .key = "bytes_per_s", .title = "RATE", .kind = COLUMN_RATE,
	  COLUMN_MEMBER(struct sample_row, bytes_per_s) },
	{ .key = "errors", .title = "ERRORS", .kind = COLUMN_OBJECT, .member = member,
	  .fill = fill_errors },
	{ .key = "count", .title = "COUNT", .kind = COLUMN_INTEGER },
};

enum { SAMPLE_COLUMNS = sizeof(sample_columns) / sizeof(*sample_columns), SAMPLE_COUNT = SAMPLE_COLUMNS - 1 };

static const struct sample_row sample_rows[] = {
	{ "leaf01/1", 22.8e9, 0 }, { "leaf01/2", NAN, 17 }, { NULL, 0, UINT64_MAX },
};

static void put_samples(struct result *result)
{
	for (size_t i = 0; i < sizeof(sample_rows) / sizeof(*sample_rows); i++) {
		result_fill(result, &sample_rows[i]);
		result_integer(result, SAMPLE_COUNT, 123456 * (int64_t)i);
		if (i == 2)
			result_at_least(result, SAMPLE_COUNT);
		result_end_row(result);
	}
	result_note(result, "a note");
	result_none(result, "no rows");
}

TEST(kept_rows_are_written_as_if_they_had_not_been_kept)
{
	struct result *kept = result_create(NULL, &(struct result_options){ .format = RESULT_KEEP }, sample_columns,
					    SAMPLE_COLUMNS);

	/* The second and third time, after a result_clear(), the rows are in memory that was used before. */
	for (int format = RESULT_TABLE; format <= RESULT_CSV; format++) {
		const struct result_options options = { .format = (enum result_format)format, .notes = true,
							.color = true };
		struct output direct, rendered;

		begin_with(&direct, &options, sample_columns, SAMPLE_COLUMNS);
		put_samples(direct.result);
		finish(&direct);
		put_samples(kept);
		assert_int_equal(result_rows(kept), 3);
		rendered.stream = open_memstream(&rendered.chars, &rendered.len);
		assert_int_equal(result_render(kept, rendered.stream, &options, NULL, NULL), 0);
		fclose(rendered.stream);
		assert_string_equal(rendered.chars, direct.chars);
		result_clear(kept);
		assert_int_equal(result_rows(kept), 0);
		free(direct.chars);
		free(rendered.chars);
	}
	result_destroy(kept);
}

TEST(a_cell_has_its_style_and_a_shorter_form)
{
	struct result *kept = result_create(NULL, &(struct result_options){ .format = RESULT_KEEP }, sample_columns,
					    SAMPLE_COLUMNS);
	struct text text = { 0 };
	enum cell_style style;

	put_samples(kept);
	result_cell(kept, 0, 0, 0, &text, &style);
	assert_string_equal(text_chars(&text), "leaf01/1");
	assert_int_equal(style, STYLE_WARNING);
	result_cell(kept, 0, 1, 12, &text, &style);
	assert_string_equal(text_chars(&text), "182.4 Gb/s");
	result_cell(kept, 0, 1, 6, &text, NULL);
	assert_string_equal(text_chars(&text), "182.4G");
	result_cell(kept, 1, 1, 6, &text, NULL);
	assert_string_equal(text_chars(&text), "-");
	result_cell(kept, 2, SAMPLE_COUNT, 0, &text, NULL);
	assert_string_equal(text_chars(&text), "246912+");
	result_cell(kept, 2, SAMPLE_COUNT, 5, &text, NULL);
	assert_string_equal(text_chars(&text), "247k+");
	assert_true(isnan(result_number_of(kept, 1, 1)));
	assert_true(result_number_of(kept, 1, SAMPLE_COUNT) == 123456);
	text_done(&text);
	result_destroy(kept);
}

static double number_of(const void *row)
{
	const struct sample_row *sample = row;

	return sample->text ? 7 : NAN;
}

TEST(a_column_chooses_one_of_several_rows)
{
	static const struct column of_rows[] = {
		{ .key = "own", .kind = COLUMN_INTEGER, .number = number_of },
		{ .key = "other", .kind = COLUMN_REAL, .number = number_of, .row = 1 },
		{ .key = "rate", .kind = COLUMN_REAL, COLUMN_MEMBER(struct sample_row, bytes_per_s), .row = 1 },
		{ .key = "none", .kind = COLUMN_REAL, .number = number_of, .row = 2 },
	};
	const void *const rows[] = { &sample_rows[0], &sample_rows[2], NULL };
	struct output output;

	begin_with(&output, &(struct result_options){ .format = RESULT_CSV }, of_rows, 4);
	result_fill_rows(output.result, rows);
	result_end_row(output.result);
	finish(&output);
	assert_string_equal(output.chars, "own,other,rate,none\r\n7,,0,\r\n");
	free(output.chars);
	assert_true(column_number(&of_rows[0], rows[0]) == 7 && isnan(column_number(&of_rows[1], rows[1])));
	assert_false(column_has_number(&sample_columns[0]));
}

struct typed_row {
	const char *pointer;
	char chars[8];
	uint8_t small;
	uint16_t lid;
	uint64_t large;
	int64_t time_us;
	int negative;
	bool flag;
	struct measure bound;
};

struct typed_facts {
	double own;
	const struct typed_row *row;
};

#define TYPED(member) .key = #member, COLUMN_MEMBER_AT(struct typed_facts, row, struct typed_row, member)

TEST(a_member_is_shown_by_its_type)
{
	static const struct column typed[] = {
		{ .key = "own", .kind = COLUMN_REAL, COLUMN_MEMBER(struct typed_facts, own) },
		{ TYPED(pointer), .kind = COLUMN_TEXT }, { TYPED(chars), .kind = COLUMN_TEXT },
		{ TYPED(small), .kind = COLUMN_INTEGER }, { TYPED(lid), .kind = COLUMN_HEX },
		{ TYPED(large), .kind = COLUMN_GUID }, { TYPED(time_us), .kind = COLUMN_TIME },
		{ TYPED(negative), .kind = COLUMN_INTEGER }, { TYPED(flag), .kind = COLUMN_BOOL },
		{ TYPED(bound), .kind = COLUMN_REAL },
		{ TYPED(time_us), .kind = COLUMN_TIME, .flags = COLUMN_NONZERO },
		{ TYPED(chars), .kind = COLUMN_TEXT, .flags = COLUMN_NONZERO },
	};
	enum { TYPED_COUNT = sizeof(typed) / sizeof(*typed) };
	static const struct typed_row row = {
		.small = 255, .lid = 0xfffe, .large = UINT64_MAX, .negative = -1, .flag = true,
		.bound = { .value = 3, .parts = 2, .exact = 1 },
	};
	static const struct typed_facts facts = { .own = 0.5, .row = &row };
	struct output output;

	begin_with(&output, &(struct result_options){ .format = RESULT_CSV }, typed, TYPED_COUNT);
	result_fill(output.result, &facts);
	result_end_row(output.result);
	finish(&output);
	assert_string_equal(strchr(output.chars, '\n') + 1,
			    "0.5,,,255,65534,0xffffffffffffffff,1970-01-01T00:00:00.000000Z,-1,true,,,,bound=3\r\n");
	free(output.chars);
	assert_true(column_number(&typed[5], &facts) == (double)UINT64_MAX && column_number(&typed[7], &facts) == -1);
	assert_true(column_number(&typed[9], &facts) == 3 && isnan(column_number(&typed[10], &facts)));
	assert_false(column_has_number(&typed[2]) || column_has_number(&typed[8]));
}

TEST(a_lower_bound_is_no_number_in_data)
{
	struct output output;

	begin_with(&output, &(struct result_options){ .format = RESULT_JSON, .record = true }, &sample_columns[1], 1);
	result_real(output.result, 0, 5);
	result_at_least(output.result, 0);
	result_end_row(output.result);
	finish(&output);
	assert_string_equal(output.chars, "{\n  \"bytes_per_s\": null\n}\n");
	free(output.chars);
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
		bool note = false;

		begin(&output, &options);
		for (int i = 0; i < 20; i++) {
			draw_row(&row);
			result_show(output.result, TEXT, NULL, (enum cell_style)hostile_random(STYLE_COUNT));
			put_row(output.result, &row);
		}
		finish(&output);
		if (!width) {
			char *safe = hostile_escaped(row.text.chars, row.text.len);

			/* Nothing is cut. */
			assert_non_null(strstr(output.chars, safe));
			free(safe);
		}
		output.len = strip_colours(output.chars, output.len);
		hostile_assert_none(output.chars, output.len, "\n");
		/* Only a single word of a note may exceed the width. */
		for (line = strtok_r(output.chars, "\n", &save); line; line = strtok_r(NULL, "\n", &save)) {
			note |= !strncmp(line, "hidden", 6);
			assert_true(!width || text_columns(line) <= width ||
				    (note && !strchr(line + strspn(line, " "), ' ')));
		}
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
	struct output output;

	begin_with(&output, &options, &port_column, 1);
	result_text(output.result, 0, "a-switch-with-a-long-name/31");
	result_end_row(output.result);
	finish(&output);
	assert_non_null(strstr(output.chars, "-a-long-name/31\n"));
	free(output.chars);
}

TEST(a_text_is_cut_before_a_name)
{
	static const struct column some[] = {
		{ .title = "FINDING", .kind = COLUMN_TEXT, .flags = COLUMN_FLEXIBLE },
		{ .title = "PORT", .kind = COLUMN_TEXT, .flags = COLUMN_FLEXIBLE | COLUMN_KEEP_TAIL },
	};
	const struct result_options options = { .width = 46 };
	struct output output;

	begin_with(&output, &options, some, sizeof(some) / sizeof(*some));
	result_text(output.result, 0, "the link has one lane instead of four since yesterday");
	result_text(output.result, 1, "a-switch-with-a-long-name/31");
	result_end_row(output.result);
	finish(&output);
	assert_non_null(strstr(output.chars, "  a-switch-with-a-long-name/31\n"));
	free(output.chars);
}

TEST(text_that_does_not_fit_is_wrapped_under_its_row)
{
	static const struct column some[] = {
		{ .title = "LINK", .kind = COLUMN_TEXT, .flags = COLUMN_FLEXIBLE },
		{ .title = "TEXT", .kind = COLUMN_TEXT, .flags = COLUMN_BELOW },
		{ .title = "NOTE", .kind = COLUMN_TEXT },
	};
	static const char *const expected[] = {
		"LINK                 NOTE\nleaf01/2 - node0001  new\n    8 errors in more than\n    one hour\n",
		"LINK                 TEXT                            NOTE\n"
		"leaf01/2 - node0001  8 errors in more than one hour  new\n",
	};

	for (unsigned i = 0; i < 2; i++) {
		const struct result_options options = { .width = i ? 60 : 25, .notes = true };
		struct output output;

		begin_with(&output, &options, some, sizeof(some) / sizeof(*some));
		result_text(output.result, 0, "leaf01/2 - node0001");
		result_text(output.result, 1, "8 errors in more than one hour");
		result_text(output.result, 2, "new");
		result_end_row(output.result);
		finish(&output);
		assert_string_equal(output.chars, expected[i]);
		free(output.chars);
	}
}

TEST(less_important_columns_are_hidden_before_names_are_cut)
{
	static const struct column some[] = {
		{ .title = "PORT", .kind = COLUMN_TEXT, .flags = COLUMN_FLEXIBLE | COLUMN_KEEP_TAIL },
		{ .title = "PEER", .kind = COLUMN_TEXT, .flags = COLUMN_FLEXIBLE | COLUMN_KEEP_TAIL, .priority = 2 },
		{ .title = "TX%", .kind = COLUMN_TEXT, .priority = 5 },
		{ .title = "AGE", .kind = COLUMN_TEXT, .priority = 6 },
	};
	const struct result_options options = { .width = 42, .notes = true };
	struct output output;

	begin_with(&output, &options, some, sizeof(some) / sizeof(*some));
	for (size_t i = 0; i < sizeof(some) / sizeof(*some); i++)
		result_text(output.result, i, i < 2 ? "node0001 mlx5_0/1" : "100.0");
	result_end_row(output.result);
	finish(&output);
	assert_string_equal(output.chars, "PORT               PEER\nnode0001 mlx5_0/1  node0001 mlx5_0/1\n"
			    "hidden columns (terminal too narrow): AGE,\n    TX%\n");
	free(output.chars);
}

TEST(reason_for_no_rows_replaces_an_empty_table_only)
{
	static const struct { enum result_format format; bool row; const char *expected; } cases[] = {
		{ RESULT_TABLE, false, "none of 3\n" }, { RESULT_TABLE, true, "PORT\nleaf01/1\n" },
		{ RESULT_JSON, false, "[]\n" }, { RESULT_CSV, false, "port\r\n" },
	};
	static const struct column column = { .key = "port", .title = "PORT", .kind = COLUMN_TEXT };

	for (size_t i = 0; i < sizeof(cases) / sizeof(*cases); i++) {
		const struct result_options options = { .format = cases[i].format };
		struct output output;

		begin_with(&output, &options, &column, 1);
		if (cases[i].row) {
			result_text(output.result, 0, "leaf01/1");
			result_end_row(output.result);
		}
		result_none(output.result, "none of %d", 3);
		finish(&output);
		assert_string_equal(output.chars, cases[i].expected);
		free(output.chars);
	}
}

TEST(an_unknown_value_is_not_zero_and_no_rows_are_a_header)
{
	static const char header[] = "text,number,count,bytes_per_s,list,errors.symbol_errors,errors.rcv_errors\r\n";
	static const struct { enum result_format format; bool row; const char *head, *rest; } cases[] = {
		{ RESULT_JSON, true, "[\n{\"text\": null, \"number\": null, \"count\": null, \"bytes_per_s\": null, ",
		  "\"list\": null, \"errors\": null}\n]\n" },
		{ RESULT_CSV, true, header, ",,,,,,\r\n" },
		{ RESULT_TABLE, true, "TEXT  NUMBER  COUNT  RATE  LIST  ERRORS\n",
		  "-          -      -     -  -     -\n" },
		{ RESULT_JSON, false, "[]\n", "" }, { RESULT_CSV, false, header, "" },
		{ RESULT_TABLE, false, "TEXT  NUMBER  COUNT  RATE  LIST  ERRORS\n", "" },
	};

	for (size_t i = 0; i < sizeof(cases) / sizeof(*cases); i++) {
		const struct result_options options = { .format = cases[i].format };
		struct output output;

		begin(&output, &options);
		if (cases[i].row) {
			result_text(output.result, TEXT, NULL);
			result_real(output.result, RATE, NAN);
			result_end_row(output.result);
		}
		finish(&output);
		assert_memory_equal(output.chars, cases[i].head, strlen(cases[i].head));
		assert_string_equal(output.chars + strlen(cases[i].head), cases[i].rest);
		free(output.chars);
	}
}

TEST(bytes_are_two_digits_each)
{
	static const struct column blob = { .key = "blob", .title = "BLOB", .kind = COLUMN_ANY };
	char bytes[256], expected[2 * sizeof(bytes) + 1];
	struct output output;

	for (size_t i = 0; i < sizeof(bytes); i++) {
		bytes[i] = (char)i;
		snprintf(expected + 2 * i, 3, "%02x", (unsigned)i);
	}
	begin_with(&output, &(struct result_options){ .format = RESULT_CSV }, &blob, 1);
	result_hex(output.result, 0, bytes, sizeof(bytes));
	assert_true(result_end_row(output.result));
	result_hex(output.result, 0, bytes, 0);
	assert_true(result_end_row(output.result));
	finish(&output);
	assert_memory_equal(output.chars, "blob\r\n", 6);
	assert_memory_equal(output.chars + 6, expected, 2 * sizeof(bytes));
	assert_string_equal(output.chars + 6 + 2 * sizeof(bytes), "\r\n\r\n");
	free(output.chars);
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

/* --- when output is written, and failures --- */

/* Write until it fails, more than any buffer holds. */
static int pour(FILE *stream, enum result_format format, bool *ret_stopped, struct error *err)
{
	const struct result_options options = { .format = format, .lines = format == RESULT_JSON };
	struct result *result;
	int i, code;

	result = result_create(stream, &options, columns, 1);
	assert_non_null(result);
	for (i = 0, *ret_stopped = false; i < 100000 && !*ret_stopped; i++) {
		result_text(result, TEXT, "a line of text");
		*ret_stopped = !result_end_row(result);
	}
	code = result_finish(result, err);
	result_destroy(result);
	return code;
}

TEST(a_full_disk_is_an_error)
{
	for (int format = RESULT_TABLE; format <= RESULT_CSV; format++) {
		FILE *full = fopen("/dev/full", "w");
		struct error err = { 0 };
		bool stopped;

		assert_non_null(full);
		assert_int_equal(pour(full, (enum result_format)format, &stopped, &err), ERR_IO);
		assert_non_null(strstr(err.text, "No space left"));
		/* Only lines are written before the end. */
		assert_int_equal(stopped, format == RESULT_JSON);
		fclose(full);
	}
}

TEST(more_output_than_allowed_is_an_error_before_any_of_it)
{
	static const struct column one[] = { { .key = "text", .title = "TEXT", .kind = COLUMN_TEXT } };
	char bytes[64];

	for (size_t rows = 1; rows <= 2; rows++) {
		struct result_options options = { .format = RESULT_CSV, .most = 1 << 20 };
		FILE *stream = tmpfile();
		struct result *result = result_create(stream, &options, one, 1);
		struct error err = { 0 };
		char *half = calloc(1, (600 << 10) + 1);

		memset(half, 'x', 600 << 10);
		for (size_t i = 0; i < rows; i++) {
			result_text(result, 0, half);
			result_end_row(result);
		}
		assert_int_equal(result_finish(result, &err), rows == 1 ? 0 : ERR_IO);
		if (rows == 2)
			assert_string_equal(err.text, "the result is larger than 1 MB; select fewer ports");
		result_destroy(result);
		rewind(stream);
		assert_int_equal(fread(bytes, 1, sizeof(bytes), stream), rows == 1 ? sizeof(bytes) : 0);
		fclose(stream);
		free(half);
	}
}

TEST(closed_pipe_is_no_error)
{
	signal(SIGPIPE, SIG_IGN);
	for (int format = RESULT_TABLE; format <= RESULT_CSV; format++) {
		int ends[2];
		bool stopped;
		FILE *stream;

		assert_int_equal(pipe(ends), 0);
		close(ends[0]);
		stream = fdopen(ends[1], "w");
		assert_int_equal(pour(stream, (enum result_format)format, &stopped, NULL), 0);
		assert_int_equal(stopped, format == RESULT_JSON);
		fclose(stream);
	}
}

enum { MEGABYTE = 1000000 };

/* Put rows of a megabyte each. Return: what result_finish() does. */
static int put_megabytes(struct output *output, size_t rows, struct error *err)
{
	const struct result_options options = { .format = RESULT_CSV };
	char *text = malloc(MEGABYTE);
	int code;

	assert_non_null(text);
	begin(output, &options);
	for (size_t i = 0; i < rows; i++) {
		memset(text, 'a' + (int)i, MEGABYTE);
		result_bytes(output->result, TEXT, text, MEGABYTE);
		result_end_row(output->result);
	}
	fflush(output->stream);
	assert_int_equal(output->len, 0);
	code = result_finish(output->result, err);
	result_destroy(output->result);
	fclose(output->stream);
	free(text);
	return code;
}

/* A blocked reader of the output must not keep a database transaction open. */
TEST(no_output_before_the_result_is_complete)
{
	struct error err = { 0 };
	struct output output;

	for (size_t rows = 1; rows <= 20; rows += 19) {
		size_t at = 0;

		assert_int_equal(put_megabytes(&output, rows, NULL), 0);
		for (size_t i = 0; i < rows; i++) {
			at = (size_t)((char *)memchr(output.chars + at, '\n', output.len - at) + 1 - output.chars);
			for (size_t j = 0; j < MEGABYTE; j++)
				assert_int_equal(output.chars[at + j], 'a' + (int)i);
		}
		free(output.chars);
	}
	setenv("TMPDIR", "/nonexistent", 1);
	assert_int_equal(put_megabytes(&output, 20, &err), ERR_IO);
	unsetenv("TMPDIR");
	assert_non_null(strstr(err.text, "cannot write a temporary file in /nonexistent: No such file"));
	free(output.chars);
}

/* A truncated list would be wrong data. */
TEST(cell_without_memory_is_an_error)
{
	for (int i = 0; i < 2 * (RESULT_CSV + 1); i++) {
		const struct result_options options = { .format = (enum result_format)(i / 2) };
		bool failed = i % 2;
		struct text list = { .failed = failed };
		struct output output;

		begin(&output, &options);
		result_text(output.result, TEXT, result_chars(output.result, &list));
		assert_int_equal(result_end_row(output.result), !failed);
		assert_int_equal(result_finish(output.result, NULL), failed ? ERR_NOMEM : 0);
		result_destroy(output.result);
		fclose(output.stream);
		free(output.chars);
	}
}

TEST(a_record_leaves_out_lines_that_are_not_shown)
{
	static const struct column some[] = {
		{ .key = "a", .title = "a", .kind = COLUMN_INTEGER },
		{ .key = "b", .title = "a long title", .kind = COLUMN_INTEGER, .flags = COLUMN_IF_SHOWN },
	};
	struct output output;

	for (int shown = 0; shown < 2; shown++) {
		begin_with(&output, &(struct result_options){ .format = RESULT_TABLE, .record = true }, some, 2);
		result_integer(output.result, 0, 1);
		result_integer(output.result, 1, 2);
		if (shown)
			result_show(output.result, 1, "two", STYLE_PLAIN);
		result_end_row(output.result);
		finish(&output);
		assert_string_equal(output.chars, shown ? "a             1\na long title  two\n" : "a  1\n");
		free(output.chars);
	}
}

TEST(sorted_rows_are_in_the_order_of_a_column)
{
	static const struct column two_columns[] = {
		{ .key = "name", .kind = COLUMN_TEXT },
		{ .key = "number", .kind = COLUMN_INTEGER, .flags = COLUMN_NO_DATA },
	};
	static const struct { const char *name, *number; } rows[] = {
		{ "b10", "3" }, { "b9", NULL }, { "a", "20" }, { NULL, "3" },
	};
	static const char *const expected[] = {
		"name\r\na\r\nb9\r\nb10\r\n\r\n", "name\r\na\r\nb10\r\n\r\nb9\r\n",
	};

	for (size_t sort = 0; sort < 2; sort++) {
		const struct result_options options = { .format = RESULT_CSV, .sort = sort + 1 };
		char *chars = NULL;
		size_t len = 0;
		FILE *stream = open_memstream(&chars, &len);
		struct result *result = result_create(stream, &options, two_columns, 2);

		for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
			result_text(result, 0, rows[i].name);
			if (rows[i].number)
				result_integer(result, 1, atoi(rows[i].number));
			result_end_row(result);
		}
		assert_int_equal(result_finish(result, NULL), 0);
		result_destroy(result);
		fclose(stream);
		assert_string_equal(chars, expected[sort]);
		free(chars);
	}
}

TEST(a_result_without_memory_takes_all_calls_and_fails_at_its_end)
{
	struct error err = { 0 };

	result_text(NULL, TEXT, "a");
	result_hex(NULL, TEXT, "a", 1);
	result_integer(NULL, TEXT, 1);
	result_unsigned(NULL, TEXT, 1);
	result_real(NULL, TEXT, 1);
	result_bool(NULL, TEXT, true);
	result_empty(NULL, TEXT);
	result_item(NULL, TEXT, "%s", "a");
	result_show(NULL, TEXT, "a", STYLE_PLAIN);
	result_showf(NULL, TEXT, STYLE_PLAIN, "%s", "a");
	result_note(NULL, "%s", "a");
	result_none(NULL, "%s", "a");
	assert_false(result_has(NULL, TEXT));
	assert_false(result_end_row(NULL));
	assert_int_equal(result_finish(NULL, &err), ERR_NOMEM);
	assert_non_null(strstr(err.text, "memory"));
	result_destroy(NULL);
}

/* --- escapes --- */

TEST(escaping_removes_unsafe_bytes_and_is_idempotent)
{
	struct text text = { 0 };

	for (int i = 0; i < 20000; i++) {
		char *once, *twice;

		hostile_text(&text);
		once = hostile_escaped(text.chars, text.len);
		for (size_t j = 0; once[j]; j++) {
			unsigned char byte = (unsigned char)once[j];

			assert_true(byte >= 0x20 && byte != 0x7f);
			assert_false(byte == 0xc2 && (unsigned char)once[j + 1] < 0xa0);
		}
		twice = hostile_escaped(once, strlen(once));
		assert_string_equal(once, twice);
		free(once);
		free(twice);
	}
	text_done(&text);
}

TEST(escaping_keeps_safe_text)
{
	static const char *const same[] = { "", " a ", "\\", "\\x", "C:\\x\\", "\xe6\x97\xa5 \xc3\xbc", "a\"b,c;d'" };

	for (size_t i = 0; i < sizeof(same) / sizeof(same[0]); i++) {
		char *after = hostile_escaped(same[i], strlen(same[i]));

		assert_string_equal(after, same[i]);
		free(after);
	}
}
