/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* db_info.c - `ibwire db`: what is kept since when, and what it takes */
#include "config.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "base/err.h"
#include "base/text.h"
#include "base/when.h"
#include "cli/db.h"
#include "cli/options.h"
#include "storage/admin.h"

enum {
	DB, LIVE, COLLECTOR_PID, CREATED, SCHEMA, PROGRAM, SQLITE, FILE_BYTES, LOG, FREE, ASKED_FROM, NODES, PORTS,
	SWEEPS, SAMPLES, PER_SAMPLE, ESTIMATED, FIXED_COUNT,
};

/* And for each kind of knowledge: a line of a table, or four keys. */
enum { KIND_LINE, KIND_SINCE, KIND_UNTIL, KIND_ROWS, KIND_BYTES, KIND_COLUMNS };
enum { COLUMN_COUNT = FIXED_COUNT + KIND_COLUMNS * DATA_KIND_COUNT };

static const struct column fixed_columns[FIXED_COUNT] = {
	[DB] = { .key = "db", .title = "database", .kind = COLUMN_TEXT },
	[LIVE] = { .key = "live", .title = "collector", .kind = COLUMN_BOOL },
	[COLLECTOR_PID] = { .key = "collector_pid", .kind = COLUMN_INTEGER, .flags = COLUMN_NO_TABLE },
	[CREATED] = { .key = "created_time", .title = "created", .kind = COLUMN_TIME },
	[SCHEMA] = { .key = "schema_version", .title = "schema version", .kind = COLUMN_INTEGER },
	[PROGRAM] = { .key = "ibwire_version", .title = "ibwire", .kind = COLUMN_TEXT },
	[SQLITE] = { .key = "sqlite_version", .title = "SQLite", .kind = COLUMN_TEXT },
	[FILE_BYTES] = { .key = "file_bytes", .title = "file", .kind = COLUMN_BYTES },
	[LOG] = { .key = "log_bytes", .title = "  log beside it", .kind = COLUMN_BYTES },
	[FREE] = { .key = "free_bytes", .title = "  free in it", .kind = COLUMN_BYTES },
	[ASKED_FROM] = { .key = "asked_from", .title = "fabric as seen from", .kind = COLUMN_TEXT },
	[NODES] = { .key = "nodes_seen", .title = "  nodes ever seen", .kind = COLUMN_INTEGER },
	[PORTS] = { .key = "ports_seen", .title = "  ports ever seen", .kind = COLUMN_INTEGER },
	[SWEEPS] = { .key = "sweeps", .title = "sweeps kept", .kind = COLUMN_INTEGER },
	[SAMPLES] = { .key = "port_samples", .title = "port-samples", .kind = COLUMN_INTEGER },
	[PER_SAMPLE] = { .key = "bytes_per_port_sample", .title = "  bytes of each", .kind = COLUMN_REAL },
	[ESTIMATED] = { .key = "estimated", .kind = COLUMN_BOOL, .flags = COLUMN_NO_TABLE },
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

static void describe_columns(struct page *page, const struct admin_info *info)
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
			.title = page->titles[kind], .kind = COLUMN_TEXT,
			.flags = COLUMN_NO_DATA | (info->data[kind].there ? 0 : COLUMN_NO_TABLE),
		};
		for (int i = KIND_SINCE; i < KIND_COLUMNS; i++) {
			char *key = page->keys[kind][i];

			snprintf(key, sizeof(page->keys[kind][i]), "%s_%s", data_kind_key((enum data_kind)kind),
				 data[i].suffix);
			page->columns[kind_column((enum data_kind)kind, i)] = (struct column){
				.key = key, .kind = data[i].kind, .flags = COLUMN_NO_TABLE,
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
	if (kept->since_us)
		result_integer(result, kind_column(kind, KIND_SINCE), kept->since_us);
	if (kept->until_us)
		result_integer(result, kind_column(kind, KIND_UNTIL), kept->until_us);
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

static void fill_per_sample(struct result *result, double bytes)
{
	char line[32];

	snprintf(line, sizeof(line), "%.1f", bytes);
	result_real(result, PER_SAMPLE, bytes);
	result_show(result, PER_SAMPLE, line, STYLE_PLAIN);
}

static void fill(struct result *result, const char *path, const struct admin_info *info)
{
	char line[64];

	result_text(result, DB, path);
	result_bool(result, LIVE, info->live);
	if (info->live && info->collector_pid) {
		result_integer(result, COLLECTOR_PID, info->collector_pid);
		snprintf(line, sizeof(line), "live, process %" PRId64, info->collector_pid);
	} else {
		snprintf(line, sizeof(line), "%s", info->live ? "live" : "none runs");
	}
	result_show(result, LIVE, line, STYLE_PLAIN);
	if (info->created_us)
		result_integer(result, CREATED, info->created_us);
	result_integer(result, SCHEMA, info->schema_version);
	result_text(result, PROGRAM, PACKAGE_VERSION);
	result_text(result, SQLITE, info->sqlite_version);
	result_integer(result, FILE_BYTES, info->file_bytes);
	result_integer(result, LOG, info->log_bytes);
	result_integer(result, FREE, info->free_bytes);
	if (info->asked_from[0])
		result_text(result, ASKED_FROM, info->asked_from);
	result_integer(result, NODES, info->nodes);
	result_integer(result, PORTS, info->ports);
	result_integer(result, SWEEPS, info->sweeps);
	result_integer(result, SAMPLES, info->port_samples);
	if (info->port_samples && info->data[DATA_RAW].rows)
		fill_per_sample(result, (double)info->data[DATA_RAW].bytes / (double)info->port_samples);
	result_bool(result, ESTIMATED, info->estimated);
	for (int kind = 0; kind < DATA_KIND_COUNT; kind++)
		fill_kind(result, info, (enum data_kind)kind);
}

int db_show_info(const struct options *options, const char *path, struct error *err)
{
	struct result_options how = options_result(options);
	struct admin_info info;
	struct page page = { 0 };
	struct result *result;
	int code = admin_info(path, &info, err);

	if (code < 0)
		return code;
	describe_columns(&page, &info);
	how.record = how.format != RESULT_CSV;
	code = result_create(stdout, &how, page.columns, COLUMN_COUNT, &result, err);
	if (code < 0)
		return code;
	fill(result, path, &info);
	result_end_row(result);
	code = result_finish(result, err);
	result_destroy(result);
	return code;
}
