/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* db.c - `ibwire db`: database contents, check, compact, backup, export, recover */
#include "config.h"

#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <string.h>

#include "base/clock.h"
#include "base/err.h"
#include "base/stop.h"
#include "base/text.h"
#include "base/when.h"
#include "cli/command.h"
#include "facts/cells.h"
#include "cli/lib/options.h"
#include "storage/admin.h"

enum {
	DB, LIVE, COLLECTOR_PID, CREATED, SCHEMA, PROGRAM, SQLITE, FILE_BYTES, LOG, FREE, POLLED_FROM, NODES, PORTS,
	SWEEPS, SAMPLES, PER_SAMPLE, ESTIMATED, FIXED_COUNT,
};

/* Columns of each kind of stored data: one line of a table, or four keys. */
enum { KIND_LINE, KIND_SINCE, KIND_UNTIL, KIND_ROWS, KIND_BYTES, KIND_COLUMNS };
enum { COLUMN_COUNT = FIXED_COUNT + KIND_COLUMNS * DATA_KIND_COUNT };

#define OF(member) COLUMN_MEMBER(struct admin_info, member)

static const struct column fixed_columns[FIXED_COUNT] = {
	[DB] = { .key = "db", .title = "database", .kind = COLUMN_TEXT },
	[LIVE] = { .key = "live", .title = "collector", .kind = COLUMN_BOOL },
	[COLLECTOR_PID] = { .key = "collector_pid", .kind = COLUMN_INTEGER },
	[CREATED] = { .key = "created_time", .title = "created", .kind = COLUMN_TIME, .flags = COLUMN_NONZERO,
		      OF(created_us) },
	[SCHEMA] = { .key = "schema_version", .title = "schema version", .kind = COLUMN_INTEGER, OF(schema_version) },
	[PROGRAM] = { .key = "ibwire_version", .title = "ibwire", .kind = COLUMN_TEXT },
	[SQLITE] = { .key = "sqlite_version", .title = "SQLite", .kind = COLUMN_TEXT, OF(sqlite_version) },
	[FILE_BYTES] = { .key = "file_bytes", .title = "file", .kind = COLUMN_BYTES, OF(file_bytes) },
	[LOG] = { .key = "log_bytes", .title = "  WAL", .kind = COLUMN_BYTES, OF(log_bytes) },
	[FREE] = { .key = "free_bytes", .title = "  free pages", .kind = COLUMN_BYTES, OF(free_bytes) },
	[POLLED_FROM] = { .key = "asked_from", .title = "fabric polled from", .kind = COLUMN_TEXT },
	[NODES] = { .key = "nodes_seen", .title = "  nodes ever seen", .kind = COLUMN_INTEGER, OF(nodes) },
	[PORTS] = { .key = "ports_seen", .title = "  ports ever seen", .kind = COLUMN_INTEGER, OF(ports) },
	[SWEEPS] = { .key = "sweeps", .title = "sweeps stored", .kind = COLUMN_INTEGER, OF(sweeps) },
	[SAMPLES] = { .key = "port_samples", .title = "port-samples", .kind = COLUMN_INTEGER, OF(port_samples) },
	[PER_SAMPLE] = { .key = "bytes_per_port_sample", .title = "  bytes per sample", .kind = COLUMN_REAL },
	[ESTIMATED] = { .key = "estimated", .kind = COLUMN_BOOL, OF(estimated) },
};

struct page {
	struct column columns[COLUMN_COUNT];
	char keys[DATA_KIND_COUNT][KIND_COLUMNS][32];
	char titles[DATA_KIND_COUNT][48];
};

static size_t kind_column(enum data_kind kind, int which)
{
	return FIXED_COUNT + KIND_COLUMNS * (size_t)kind + (size_t)which;
}

static void describe_columns(struct page *page)
{
	static const struct {
		const char *suffix;
		enum column_kind kind;
	} data[KIND_COLUMNS] = {
		[KIND_SINCE] = { "since", COLUMN_TIME }, [KIND_UNTIL] = { "until", COLUMN_TIME },
		[KIND_ROWS] = { "rows", COLUMN_INTEGER }, [KIND_BYTES] = { "bytes", COLUMN_INTEGER },
	};

	memcpy(page->columns, fixed_columns, sizeof(fixed_columns));
	for (int kind = 0; kind < DATA_KIND_COUNT; kind++) {
		snprintf(page->titles[kind], sizeof(page->titles[kind]), "  %s", data_kind_title((enum data_kind)kind));
		page->columns[kind_column((enum data_kind)kind, KIND_LINE)] = (struct column){
			.title = page->titles[kind], .kind = COLUMN_TEXT, .flags = COLUMN_IF_SHOWN,
		};
		for (int i = KIND_SINCE; i < KIND_COLUMNS; i++) {
			char *key = page->keys[kind][i];

			snprintf(key, sizeof(page->keys[kind][i]), "%s_%s", data_kind_key((enum data_kind)kind),
				 data[i].suffix);
			page->columns[kind_column((enum data_kind)kind, i)] = (struct column){
				.key = key, .kind = data[i].kind,
			};
		}
	}
}

static void fill_kind(struct result *result, const struct admin_info *info, enum data_kind kind)
{
	const struct data_info *kept = &info->data[kind];
	char since[WHEN_SIZE], until[WHEN_SIZE];
	struct text line = { 0 };

	if (!kept->there)
		return;
	result_integer(result, kind_column(kind, KIND_ROWS), kept->rows);
	result_integer(result, kind_column(kind, KIND_BYTES), kept->bytes);
	cells_nonzero(result, kind_column(kind, KIND_SINCE), kept->since_us);
	cells_nonzero(result, kind_column(kind, KIND_UNTIL), kept->until_us);
	if (!kept->rows) {
		text_append(&line, "none");
	} else {
		if (kept->since_us && kept->until_us)
			text_appendf(&line, "%s to %s; ", when_format_local(kept->since_us, since),
				     when_format_local(kept->until_us, until));
		text_appendf(&line, "%s%" PRId64 " row%s, ", kept->estimated ? "about " : "", kept->rows,
			     kept->rows == 1 ? "" : "s");
		result_append_bytes(&line, (double)kept->bytes);
	}
	result_show(result, kind_column(kind, KIND_LINE), result_chars(result, &line),
		    kept->rows ? STYLE_PLAIN : STYLE_DIM);
	text_done(&line);
}

static void fill(struct result *result, const char *path, const struct admin_info *info)
{
	result_fill(result, info);
	result_text(result, DB, path);
	result_bool(result, LIVE, info->live);
	result_show(result, LIVE, info->live ? "live" : "not running", STYLE_PLAIN);
	if (info->live && info->collector_pid) {
		result_integer(result, COLLECTOR_PID, info->collector_pid);
		result_showf(result, LIVE, STYLE_PLAIN, "live, process %" PRId64, info->collector_pid);
	}
	result_text(result, PROGRAM, PACKAGE_VERSION);
	result_text(result, POLLED_FROM, info->collector_node[0] ? info->collector_node : NULL);
	if (info->port_samples && info->data[DATA_RAW].rows) {
		double bytes = (double)info->data[DATA_RAW].bytes / (double)info->port_samples;

		result_real(result, PER_SAMPLE, bytes);
		result_showf(result, PER_SAMPLE, STYLE_PLAIN, "%.1f", bytes);
	}
	for (int kind = 0; kind < DATA_KIND_COUNT; kind++)
		fill_kind(result, info, (enum data_kind)kind);
}

static int show_info(const struct options *options, const char *path, struct error *err)
{
	struct admin_info info;
	struct page page = { 0 };
	struct result *result;
	int code = admin_info(path, &info, err);

	if (code < 0)
		return code;
	describe_columns(&page);
	result = output_begin(options, true, page.columns, COLUMN_COUNT);
	fill(result, path, &info);
	result_end_row(result);
	return output_end(result, 0, err);
}

/* The parsed command line. */
struct request {
	const struct options *options;
	const char *path;
	const char *target; /* output file of backup and export */
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

	/* SQLite messages may have several lines. */
	text_sanitise(fault->what, strlen(fault->what), what, sizeof(what));
	result_text(result, WHERE, fault->where);
	result_text(result, WHAT, what);
	result_end_row(result);
}

static int check(const struct request *request, struct error *err)
{
	struct result *result = output_begin(request->options, false, check_columns, CHECK_COLUMNS);
	uint64_t faults = 0;
	int code = admin_check(request->path, put_fault, result, &faults, err);

	if (code == 0 && !faults && request->options->format == RESULT_TABLE) {
		fprintf(request->options->out, "%s: no damage found\n", request->path);
		result_destroy(result);
		return 0;
	}
	code = output_end(result, code, err);
	if (code == 0 && faults)
		return err_set(err, ERR_IO, "%s is damaged: %" PRIu64 " %s; restore a backup, or recover its rows: "
			       "ibwire db recover NEW.db --db %s", request->path, faults,
			       faults == 1 ? "fault" : "faults", request->path);
	return code;
}

enum { TABLE, ROWS, REMOVED, MISSING, RECOVER_COLUMNS };
static const struct column recover_columns[RECOVER_COLUMNS] = {
	[TABLE] = { .key = "table", .title = "TABLE", .kind = COLUMN_TEXT },
	[ROWS] = { .key = "rows", .title = "ROWS", .kind = COLUMN_INTEGER },
	[REMOVED] = { .key = "removed_rows", .title = "REMOVED", .kind = COLUMN_INTEGER },
	[MISSING] = { .key = "missing", .title = "MISSING", .kind = COLUMN_TEXT, .flags = COLUMN_FLEXIBLE },
};

static void put_recovered(void *ctx, const struct admin_recovered *table)
{
	struct result *result = ctx;

	result_text(result, TABLE, table->table);
	result_integer(result, ROWS, table->rows);
	result_integer(result, REMOVED, table->removed);
	result_text(result, MISSING, *table->missing ? table->missing : NULL);
	result_end_row(result);
}

static void ignore_fault(void *ctx, const struct admin_fault *fault)
{
	(void)ctx;
	(void)fault;
}

static int recover(const struct request *request, struct error *err)
{
	struct result *result = output_begin(request->options, false, recover_columns, RECOVER_COLUMNS);
	uint64_t faults = 0;
	int code = admin_recover(request->path, request->target, put_recovered, result, err);

	if (code == 0)
		code = admin_check(request->target, ignore_fault, NULL, &faults, err);
	code = output_end(result, code, err);
	if (code == 0 && faults)
		return err_set(err, ERR_IO, "%s has the rows that can be read, and %" PRIu64 " %s; see: ibwire db "
			       "check --db %s", request->target, faults, faults == 1 ? "fault" : "faults",
			       request->target);
	return code;
}

static int compact(const struct request *request, struct error *err)
{
	static const struct column columns[] = {
		{ .key = "db", .title = "compacted", .kind = COLUMN_TEXT },
		{ .key = "before_bytes", .title = "before", .kind = COLUMN_BYTES },
		{ .key = "after_bytes", .title = "after", .kind = COLUMN_BYTES },
	};
	int64_t before, after;
	int code = admin_compact(request->path, &before, &after, err);

	return code < 0 ? code : output_record(request->options, columns, 3, request->path,
					       (const double[]){ NAN, (double)before, (double)after }, err);
}

static int backup(const struct request *request, struct error *err)
{
	static const struct column columns[] = {
		{ .key = "file", .title = "copied to", .kind = COLUMN_TEXT },
		{ .key = "bytes", .title = "size", .kind = COLUMN_BYTES },
	};
	int64_t bytes;
	int code = admin_backup(request->path, request->target, &bytes, err);

	return code < 0 ? code : output_record(request->options, columns, 2, request->target,
					       (const double[]){ NAN, (double)bytes }, err);
}

static double known_time(int64_t wall_us)
{
	return wall_us ? (double)wall_us : NAN;
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

	return code < 0 ? code : output_record(request->options, columns, 5, request->target, (const double[]){
		NAN, known_time(summary.since_us), known_time(summary.until_us), (double)summary.sweeps,
		(double)summary.bytes,
	}, err);
}

static const struct {
	const char *word;
	int arguments; /* number of arguments */
	int (*run)(const struct request *request, struct error *err);
} parts[] = {
	{ "check", 0, check },
	{ "compact", 0, compact },
	{ "backup", 1, backup },
	{ "export", 1, export_part },
	{ "recover", 1, recover },
};

static int check_export_options(const struct command *command, const struct request *request, struct error *err)
{
	if (request->options->since_us || request->options->until_us || request->anonymise)
		return options_usage_error(command, err, "--since, --until and --anonymise require export");
	return 0;
}

static int run_part(const struct command *command, struct request *request, struct error *err)
{
	const struct options *options = request->options;
	const char *word = options->argv[0];
	size_t i, count = sizeof(parts) / sizeof(*parts);
	int code = 0;

	for (i = 0; i < count && strcmp(parts[i].word, word); i++)
		;
	if (i == count)
		return options_usage_error(command, err,
					   "unknown sub-command '%.64s': use check, compact, backup, export or recover",
					   word);
	if (options->argc - 1 < parts[i].arguments)
		return options_usage_error(command, err, "%s needs the name of a new file", word);
	if (options->argc - 1 > parts[i].arguments)
		return options_usage_error(command, err, "%s does not take the argument '%.64s'", word,
					   options->argv[parts[i].arguments + 1]);
	if (parts[i].run != export_part)
		code = check_export_options(command, request, err);
	if (code < 0)
		return code;
	/* Ctrl-C rolls back unfinished work. */
	stop_install();
	request->target = parts[i].arguments ? options->argv[1] : NULL;
	return parts[i].run(request, err);
}

int database_run(const struct command *command, int argc, char **argv, struct error *err)
{
	struct request request = { 0 };
	const struct option_spec specs[] = {
		OPT_FLAG("anonymise", 0, &request.anonymise, "export: replace names and GUIDs consistently"),
		{ 0 },
	};
	struct options options;
	char path[4096];
	int code = options_parse(command, COMMON_DB | COMMON_FORMAT | COMMON_WINDOW | COMMON_COLOR, specs, argc, argv,
				 &options, err);

	if (code)
		return code < 0 ? code : 0;
	code = options_db_path(&options, false, path, sizeof(path), err);
	if (code < 0)
		return code;
	request.options = &options;
	request.path = path;
	if (options.argc)
		return run_part(command, &request, err);
	code = check_export_options(command, &request, err);
	return code < 0 ? code : show_info(&options, path, err);
}
