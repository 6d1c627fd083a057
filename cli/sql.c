/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* sql.c - `ibwire sql`: run one read-only statement */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/clock.h"
#include "base/err.h"
#include "base/text.h"
#include "cli/command.h"
#include "cli/lib/options.h"
#include "cli/lib/moment_options.h"
#include "storage/reader.h"

struct printer {
	FILE *out;
	struct result_options output;
	struct result *result; /* NULL until the header arrived */
	struct column *columns;
	char **names;
	int count;
	struct error failure;
};

/* Does an earlier column have the same name? JSON keys must be unique. */
static bool is_taken(const struct printer *printer, int until, const char *name)
{
	for (int i = 0; i < until; i++)
		if (!strcmp(printer->names[i], name))
			return true;
	return false;
}

/* A sanitised, unique name for column @i: the statement's, with "_2" and so on for repetitions. */
static char *column_name(const struct printer *printer, int i, const char *name)
{
	struct text harmless = { 0 }, unique = { 0 };

	text_append_escaped(&harmless, name, strlen(name));
	text_append(&unique, text_chars(&harmless));
	for (int number = 2; is_taken(printer, i, text_chars(&unique)); number++) {
		text_clear(&unique);
		text_appendf(&unique, "%s_%d", text_chars(&harmless), number);
	}
	/* An empty name has no buffer. */
	text_append(&unique, "");
	if (text_failed(&harmless) || text_failed(&unique))
		text_done(&unique);
	text_done(&harmless);
	return unique.chars;
}

static bool put_header(void *ctx, const char *const *names, int count)
{
	struct printer *printer = ctx;

	printer->columns = calloc((size_t)count + 1, sizeof(*printer->columns));
	printer->names = calloc((size_t)count + 1, sizeof(*printer->names));
	printer->count = count;
	if (!printer->columns || !printer->names) {
		err_nomem(&printer->failure);
		return false;
	}
	for (int i = 0; i < count; i++) {
		printer->names[i] = column_name(printer, i, names[i]);
		if (!printer->names[i]) {
			err_nomem(&printer->failure);
			return false;
		}
		printer->columns[i] = (struct column){
			.key = printer->names[i], .title = printer->names[i], .kind = COLUMN_ANY,
			.flags = COLUMN_FLEXIBLE,
		};
	}
	printer->result = result_create(printer->out, &printer->output, printer->columns, (size_t)count);
	if (!printer->result)
		err_nomem(&printer->failure);
	return printer->result;
}

static bool put_row(void *ctx, const struct cell *cells, int count)
{
	struct printer *printer = ctx;

	for (int i = 0; i < count && i < printer->count; i++) {
		size_t column = (size_t)i;

		switch (cells[i].type) {
		case CELL_NULL:
			break;
		case CELL_INTEGER:
			result_integer(printer->result, column, cells[i].integer);
			break;
		case CELL_REAL:
			result_real(printer->result, column, cells[i].real);
			break;
		case CELL_TEXT:
			result_bytes(printer->result, column, cells[i].bytes, cells[i].len);
			break;
		case CELL_BLOB:
			/* Blobs are not text. */
			result_hex(printer->result, column, cells[i].bytes, cells[i].len);
			break;
		}
	}
	return result_end_row(printer->result);
}

static void printer_done(struct printer *printer)
{
	result_destroy(printer->result);
	for (int i = 0; printer->names && i < printer->count; i++)
		free(printer->names[i]);
	free(printer->names);
	free(printer->columns);
}

/*
 * The read transaction blocks WAL checkpoints. With one sweep of 4,096 ports per second the WAL
 * grows by 70 MB in a minute, about the size at which a finding opens.
 */
#define TIMEOUT_US (60 * US_PER_S)

static int run_statement(const struct options *options, const char *statement, int64_t timeout_us, struct error *err)
{
	struct printer printer = { .out = options->out, .output = options_result(options) };
	const struct sql_consumer consumer = { .header = put_header, .row = put_row, .ctx = &printer };
	struct moment moment;
	int code = options_open_reader(options, &moment, err);

	if (code < 0)
		return code;
	code = reader_sql(moment.reader, statement, timeout_us, &consumer, err);
	if (code == 0 && printer.failure.code)
		code = err_set(err, printer.failure.code, "%s", printer.failure.text);
	if (code == 0 && printer.result)
		code = result_finish(printer.result, err);
	printer_done(&printer);
	moment_done(&moment);
	return code;
}

int sql_run(const struct command *command, int argc, char **argv, struct error *err)
{
	int64_t timeout_us = TIMEOUT_US;
	const struct option_spec specs[] = {
		OPT_SPAN_OR_0("timeout", 0, &timeout_us, "stop the statement after this time, 0 = unlimited (1m)"),
		{ 0 },
	};
	struct text statement = { 0 };
	struct options options;
	int code = options_parse(command, COMMON_DB | COMMON_FORMAT | COMMON_COLOR | COMMON_PAGER, specs, argc,
				 argv, &options, err);

	if (code)
		return code < 0 ? code : 0;
	if (options.argc != 1)
		return options_usage_error(command, err, "takes one quoted statement, or - for stdin");
	if (strcmp(options.argv[0], "-"))
		return run_statement(&options, options.argv[0], timeout_us, err);
	code = text_read_file(NULL, "the statement from ", TEXT_SMALL_MOST, &statement, err);
	if (code == 0)
		code = run_statement(&options, text_chars(&statement), timeout_us, err);
	text_done(&statement);
	return code;
}
