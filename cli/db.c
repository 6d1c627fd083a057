/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* db.c - `ibwire db`: look after the database */
#include "cli/db.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "base/clock.h"
#include "base/err.h"
#include "base/stop.h"
#include "base/text.h"
#include "base/when.h"
#include "cli/command.h"
#include "cli/options.h"
#include "storage/admin.h"

/* What was typed, and how its answer goes. */
struct request {
	const struct options *options;
	const char *path;
	const char *target; /* of those that make a file */
	bool anonymise;
};

enum { WHERE, WHAT, CHECK_COLUMNS };
static const struct column check_columns[CHECK_COLUMNS] = {
	[WHERE] = { .key = "where", .title = "WHERE", .kind = COLUMN_TEXT },
	[WHAT] = { .key = "fault", .title = "FAULT", .kind = COLUMN_TEXT, .flags = COLUMN_FLEXIBLE },
};

static void put_fault(void *ctx, const struct admin_fault *fault)
{
	struct result *result = ctx;
	char what[512];

	/* SQLite's words may be of several lines. */
	text_sanitise(fault->what, strlen(fault->what), what, sizeof(what));
	result_text(result, WHERE, fault->where);
	result_text(result, WHAT, what);
	result_end_row(result);
}

static int check(const struct request *request, struct error *err)
{
	struct result_options how = options_result(request->options);
	struct result *result;
	uint64_t faults = 0;
	int code = result_create(stdout, &how, check_columns, CHECK_COLUMNS, &result, err);

	if (code < 0)
		return code;
	code = admin_check(request->path, put_fault, result, &faults, err);
	if (code == 0 && !faults && how.format == RESULT_TABLE)
		printf("%s is sound: no damage was found\n", request->path);
	else if (code == 0)
		code = result_finish(result, err);
	result_destroy(result);
	if (code == 0 && faults)
		return err_set(err, ERR_IO, "%s is damaged: %" PRIu64 " %s; restore a backup, or recover its rows: "
			       "sqlite3 %s .recover | sqlite3 NEW.db", request->path, faults,
			       faults == 1 ? "fault" : "faults", request->path);
	return code;
}

/* One row of numbers; a table says it in words. */
static int print_row(const struct request *request, const struct column *columns, size_t count,
		     const int64_t *numbers, struct error *err)
{
	struct result_options how = options_result(request->options);
	struct result *result;
	int code;

	how.record = how.format != RESULT_CSV;
	code = result_create(stdout, &how, columns, count, &result, err);
	if (code < 0)
		return code;
	for (size_t i = 0; i < count; i++) {
		if (columns[i].kind == COLUMN_TEXT)
			result_text(result, i, i || !request->target ? request->path : request->target);
		else if (numbers[i] || columns[i].kind != COLUMN_TIME)
			result_integer(result, i, numbers[i]);
	}
	result_end_row(result);
	code = result_finish(result, err);
	result_destroy(result);
	return code;
}

static int compact(const struct request *request, struct error *err)
{
	static const struct column columns[] = {
		{ .key = "db", .title = "compacted", .kind = COLUMN_TEXT },
		{ .key = "before_bytes", .title = "before", .kind = COLUMN_BYTES },
		{ .key = "after_bytes", .title = "after", .kind = COLUMN_BYTES },
	};
	int64_t numbers[3] = { 0 };
	int code = admin_compact(request->path, &numbers[1], &numbers[2], err);

	return code < 0 ? code : print_row(request, columns, 3, numbers, err);
}

static int backup(const struct request *request, struct error *err)
{
	static const struct column columns[] = {
		{ .key = "file", .title = "copied to", .kind = COLUMN_TEXT },
		{ .key = "bytes", .title = "size", .kind = COLUMN_BYTES },
	};
	int64_t numbers[2] = { 0 };
	int code = admin_backup(request->path, request->target, &numbers[1], err);

	return code < 0 ? code : print_row(request, columns, 2, numbers, err);
}

static int export_part(const struct request *request, struct error *err)
{
	static const struct column columns[] = {
		{ .key = "file", .title = "exported to", .kind = COLUMN_TEXT },
		{ .key = "since", .title = "from", .kind = COLUMN_TIME },
		{ .key = "until", .title = "to", .kind = COLUMN_TIME },
		{ .key = "sweeps", .title = "sweeps", .kind = COLUMN_INTEGER },
		{ .key = "bytes", .title = "size", .kind = COLUMN_BYTES },
	};
	const struct export_query query = { .since_us = request->options->since_us,
					    .until_us = request->options->until_us,
					    .anonymise = request->anonymise };
	struct export_summary summary;
	int code = admin_export(request->path, request->target, &query, &summary, err);

	if (code < 0)
		return code;
	return print_row(request, columns, 5, (const int64_t[]){ 0, summary.since_us, summary.until_us, summary.sweeps,
								 summary.bytes }, err);
}

static const struct {
	const char *word;
	int arguments; /* behind it */
	int (*run)(const struct request *request, struct error *err);
} parts[] = {
	{ "check", 0, check },
	{ "compact", 0, compact },
	{ "backup", 1, backup },
	{ "export", 1, export_part },
};

static int run_part(const struct command *command, struct request *request, struct error *err)
{
	const struct options *options = request->options;
	const char *word = options->argv[0];
	size_t i, count = sizeof(parts) / sizeof(*parts);

	for (i = 0; i < count && strcmp(parts[i].word, word); i++)
		;
	if (i == count)
		return options_usage_error(command, err, "'%.64s' is none of check, compact, backup, export", word);
	if (options->argc - 1 < parts[i].arguments)
		return options_usage_error(command, err, "%s needs the name of a new file", word);
	if (options->argc - 1 > parts[i].arguments)
		return options_usage_error(command, err, "%s takes no argument such as '%.64s'", word,
					   options->argv[parts[i].arguments + 1]);
	if (parts[i].run != export_part && (options->since_us || options->until_us || request->anonymise))
		return options_usage_error(command, err, "--since, --until and --anonymise are for export");
	/* What is half done is taken back, also at Ctrl-C. */
	stop_install();
	request->target = parts[i].arguments ? options->argv[1] : NULL;
	return parts[i].run(request, err);
}

int database_run(const struct command *command, int argc, char **argv, struct error *err)
{
	struct request request = { 0 };
	const struct option_spec specs[] = {
		{ "anonymise", 0, OPTION_FLAG, NULL, "export: names and GUIDs replaced alike everywhere",
		  &request.anonymise, 0 },
		{ NULL, 0, OPTION_FLAG, NULL, NULL, NULL, 0 },
	};
	struct options options;
	char path[4096];
	int code = options_parse(command, COMMON_DB | COMMON_FORMAT | COMMON_WINDOW | COMMON_COLOR, specs, argc, argv,
				 clock_wall_us(clock_system()), &options, err);

	if (code)
		return code < 0 ? code : 0;
	code = options_db_path(&options, false, path, sizeof(path), err);
	if (code < 0)
		return code;
	request.options = &options;
	request.path = path;
	if (options.argc)
		return run_part(command, &request, err);
	if (options.since_us || options.until_us || request.anonymise)
		return options_usage_error(command, err, "--since, --until and --anonymise are for export");
	return db_show_info(&options, path, err);
}
