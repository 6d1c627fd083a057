/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* output.c - files, terminal properties and stdout (options.h) */
#include "cli/lib/options.h"

#include <errno.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <unistd.h>

#include "base/err.h"
#include "base/text.h"
#include "fabric/name_map.h"
#include "fabric/names.h"
#include "storage/reader.h"

int output_begin(const struct options *options, bool record, const struct column *columns, size_t count,
		 struct result **ret, struct error *err)
{
	struct result_options output = options_result(options);

	output.record = record;
	return result_create(stdout, &output, columns, count, ret, err);
}

int output_end(struct result *result, int code, struct error *err)
{
	if (code == 0 && result)
		code = result_finish(result, err);
	result_destroy(result);
	return code;
}

int output_record(const struct options *options, const struct column *columns, size_t count, const char *text,
		  const double *numbers, struct error *err)
{
	struct result *result;
	int code = output_begin(options, true, columns, count, &result, err);

	if (code < 0)
		return code;
	for (size_t i = 0; i < count; i++) {
		switch (columns[i].kind) {
		case COLUMN_TEXT:
			result_text(result, i, text);
			break;
		case COLUMN_REAL:
		case COLUMN_PERCENT:
		case COLUMN_PER_S:
		case COLUMN_GBPS:
		case COLUMN_SPAN_S:
			result_real(result, i, numbers[i]);
			break;
		default:
			if (isnan(numbers[i]))
				result_real(result, i, numbers[i]);
			else
				result_integer(result, i, (int64_t)numbers[i]);
		}
	}
	result_end_row(result);
	return output_end(result, 0, err);
}

int output_text(struct text *text, struct error *err)
{
	int code = 0;

	if (text_failed(text))
		code = err_nomem(err);
	else if (fwrite(text_chars(text), 1, text->len, stdout) != text->len && errno != EPIPE)
		code = err_set(err, ERR_IO, "cannot write the output: %s", strerror(errno));
	text_done(text);
	return code;
}

int options_name_map(const struct options *options, struct name_map **ret, struct error *err)
{
	const char *path = options->names_path ? options->names_path : OPTIONS_DEFAULT_NAME_MAP;
	struct text text = { 0 };
	int code;

	*ret = NULL;
	if (!options->names_path && access(path, R_OK) < 0)
		return 0;
	code = text_read_file(path, "the node name map ", TEXT_SMALL_MOST, &text, err);
	if (code == 0)
		code = name_map_parse(text_chars(&text), text.len, ret, err);
	text_done(&text);
	return code;
}

int options_db_path(const struct options *options, bool for_writing, char *ret, size_t size, struct error *err)
{
	if (!options->db)
		return storage_default_path(for_writing, ret, size, err);
	if (strlen(options->db) >= size)
		return err_set(err, ERR_USAGE, "the path of --db is too long");
	strcpy(ret, options->db);
	return 0;
}

/* Apply --color and NO_COLOR. */
static bool wants_color(const struct options *options, bool is_terminal)
{
	const char *no_color = getenv("NO_COLOR"), *term = getenv("TERM");

	if (options->color != COLOR_AUTO)
		return options->color == COLOR_ALWAYS;
	return is_terminal && !(no_color && *no_color) && term && strcmp(term, "dumb") != 0;
}

/* Width of the terminal at stdout; COLUMNS has precedence, as in ls and ps. */
static unsigned terminal_width(void)
{
	const char *columns = getenv("COLUMNS");
	struct winsize size;
	long typed = columns ? strtol(columns, NULL, 10) : 0;

	if (typed > 0 && typed < 10000)
		return (unsigned)typed;
	if (ioctl(STDOUT_FILENO, TIOCGWINSZ, &size) == 0 && size.ws_col > 0)
		return size.ws_col;
	return 80;
}

struct result_options options_result(const struct options *options)
{
	bool is_terminal = isatty(STDOUT_FILENO);

	return (struct result_options){
		.format = options->format,
		.csv_raw = options->csv_raw,
		.color = wants_color(options, is_terminal),
		.notes = is_terminal,
		.width = is_terminal ? terminal_width() : 0,
	};
}
