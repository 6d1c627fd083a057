/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* health_print.c - findings as rows of data, and the descriptions of their kinds */
#include <inttypes.h>
#include <limits.h>
#include <stdio.h>
#include <string.h>
#include <time.h>

#include "base/clock.h"
#include "base/err.h"
#include "base/text.h"
#include "base/when.h"
#include "cli/health/health.h"
#include "cli/lib/columns.h"
#include "cli/lib/moment_options.h"
#include "export/page.h"
#include "fabric/fabric.h"
#include "facts/finding_columns.h"
#include "storage/reader.h"

static const struct column_source finding_source = { .columns = finding_columns };
static const struct column_list finding_list = { .sources = &finding_source, .source_count = 1 };

/* Number of columns; "change" is the last one, only with --watch. */
static size_t column_count(bool watch)
{
	size_t count = 0;

	while (finding_columns[count].key)
		count++;
	return watch ? count : count - 1;
}

void health_put_row(struct result *result, const struct moment *moment, int64_t time_us, const char *change,
		    const struct health_row *health)
{
	const struct finding_facts facts = {
		.row = &health->row, .fabric = moment->fabric, .order = &moment->names_shown, .names = moment->names,
		.time_us = time_us, .drained = health->place == HEALTH_DRAINED, .change = change,
	};

	result_fill(result, &facts);
	result_end_row(result);
}

void health_put_note(struct result *result, int64_t time_us, const char *change, const char *subject,
		     const char *text)
{
	size_t count = column_count(true);

	result_integer(result, columns_find_key(finding_columns, count, "time"), time_us);
	result_text(result, columns_find_key(finding_columns, count, "change"), change);
	result_text(result, columns_find_key(finding_columns, count, "subject"), subject);
	result_text(result, columns_find_key(finding_columns, count, "text"), text);
	result_end_row(result);
}

struct result *health_result(const struct options *options, bool watch)
{
	struct result_options output = options_result(options);

	output.lines = watch;
	return result_create(options->out, &output, finding_columns, column_count(watch));
}

struct data {
	const struct moment *moment;
	const struct health_rows *rows;
};

static void put_rows(struct result *result, const void *ctx)
{
	const struct data *data = ctx;

	for (size_t i = 0; i < data->rows->count; i++)
		health_put_row(result, data->moment, data->moment->snapshot->sweep.wall_us, NULL, &data->rows->list[i]);
}

int health_choose_columns(const struct command *command, const struct options *options, const char *chosen,
			  const char *sort, struct columns *ret, struct error *err)
{
	int code;

	/* The sections of the page have no order of rows. */
	if (!chosen && options->format == RESULT_TABLE)
		chosen = "severity,kind,subject,since,text";
	code = columns_create(command, options, &finding_list, chosen, sort, ret, err);
	for (size_t i = 0; code == 0 && !chosen && i < ret->count; i++)
		if (!strcmp(ret->list[i].key, "change"))
			ret->list[i].flags |= COLUMN_NO_DATA;
	return code;
}

int health_print_columns(const struct moment *moment, const struct health_request *request,
			 const struct health_rows *rows, const struct columns *shown, struct error *err)
{
	const struct data data = { moment, rows };
	struct result *result = columns_begin(request->options, shown);

	put_rows(result, &data);
	result_none(result, "no findings");
	return output_end(result, 0, err);
}

int health_print(const struct moment *moment, const struct health_request *request, const struct health_rows *rows,
		 struct error *err)
{
	const struct data data = { moment, rows };
	struct page *page = page_create("Findings");
	struct text summary = { 0 };

	health_append_summary(moment, &request->filter, rows, &summary);
	page_add_note(page, PAGE_TEXT, false, "%s", page_keep(page, &summary));
	health_add_findings(moment->reference_us, &request->filter, rows,
			    &(struct health_layout){ .in = PAGE_TEXT, .shape = moment->shape }, page);
	page_add(page, &(struct page_section){
		.kind = PAGE_TABLE, .in = PAGE_JSON | PAGE_CSV, .key = "",
		.table = { finding_columns, column_count(false), put_rows, &data },
	});
	return output_page(page, request->options, NULL, err);
}

/* --- descriptions of the kinds --- */

static void append_wrapped(const struct result_options *output, const char *mark, const char *chars, struct text *page)
{
	enum { INDENT = 10 };
	unsigned indent = INDENT + (unsigned)text_columns(mark);

	text_appendf(page, "%*s%s", INDENT, "", mark);
	text_append_wrapped(page, chars, indent, indent, text_wrap_width(output->width));
}

static int explain_data(int first, int last, const struct options *options, struct error *err)
{
	static const struct column columns[] = {
		{ .key = "kind", .kind = COLUMN_TEXT },   { .key = "means", .kind = COLUMN_TEXT },
		{ .key = "limits", .kind = COLUMN_TEXT }, { .key = "reason", .kind = COLUMN_TEXT },
		{ .key = "advice", .kind = COLUMN_TEXT },
	};
	struct result *result = output_begin(options, false, columns, sizeof(columns) / sizeof(columns[0]));

	for (int kind = first; kind <= last; kind++) {
		const struct finding_kind_info *info = finding_kind_info((enum finding_kind)kind);

		result_text(result, 0, info->name);
		result_text(result, 1, info->means);
		result_text(result, 2, info->limits);
		result_text(result, 3, info->reason);
		result_text(result, 4, info->advice);
		result_end_row(result);
	}
	return output_end(result, 0, err);
}

int health_explain(const char *word, const struct options *options, struct error *err)
{
	const struct result_options output = options_result(options);
	int kind = word ? finding_kind_find(word) : -1;
	const struct finding_kind_info *info;
	struct text page = { 0 };

	if (word && kind < 0)
		return err_set(err, ERR_USAGE,
			       "unknown finding kind '%.64s': ibwire health --explain all lists them", word);
	if (output.format != RESULT_TABLE)
		return explain_data(word ? kind : 0, word ? kind : FINDING_KIND_COUNT - 1, options, err);
	for (int i = 0; !word && i < FINDING_KIND_COUNT; i++) {
		text_appendf(&page, "%-20s ", finding_kind_name((enum finding_kind)i));
		text_append_wrapped(&page, finding_kind_info((enum finding_kind)i)->means, 21, 21,
				    output.width ? output.width : UINT_MAX);
	}
	if (word) {
		info = finding_kind_info((enum finding_kind)kind);
		text_appendf(&page, "%s\n", info->name);
		append_wrapped(&output, "what:    ", info->means, &page);
		append_wrapped(&output, "default: ", info->limits, &page);
		append_wrapped(&output, "why:     ", info->reason, &page);
		append_wrapped(&output, "do:      ", info->advice, &page);
	}
	return output_text(options, &page, err);
}
