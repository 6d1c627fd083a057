/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* output_test.c - when a result is written, and what happens if it cannot be */
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/err.h"
#include "base/text.h"
#include "base/unit_test.h"
#include "export/result.h"

enum { TEXT, COLUMN_COUNT };

static const struct column columns[COLUMN_COUNT] = {
	[TEXT] = { .key = "text", .title = "TEXT", .kind = COLUMN_TEXT, .flags = COLUMN_FLEXIBLE },
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

/* Write until it fails, more than any buffer holds. */
static int pour(FILE *stream, enum result_format format, bool *ret_stopped, struct error *err)
{
	const struct result_options options = { .format = format, .lines = format == RESULT_JSON };
	struct result *result;
	int i, code;

	assert_int_equal(result_create(stream, &options, columns, COLUMN_COUNT, &result, NULL), 0);
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
	static const struct column column = { .key = "list", .kind = COLUMN_TEXT };

	for (int format = RESULT_TABLE; format <= RESULT_CSV; format++)
		for (int failed = 0; failed < 2; failed++) {
			const struct result_options options = { .format = (enum result_format)format };
			struct text list = { 0 };
			struct result *result;
			FILE *stream = fopen("/dev/null", "w");

			assert_non_null(stream);
			assert_int_equal(result_create(stream, &options, &column, 1, &result, NULL), 0);
			text_append(&list, "a");
			list.failed = failed;
			result_text(result, 0, result_chars(result, &list));
			assert_int_equal(result_end_row(result), !failed);
			assert_int_equal(result_finish(result, NULL), failed ? ERR_NOMEM : 0);
			result_destroy(result);
			text_done(&list);
			fclose(stream);
		}
}
