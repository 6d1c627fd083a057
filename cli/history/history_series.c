/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* history_series.c - series over time: a plot and a table, or JSON and CSV points */
#include <langinfo.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/clock.h"
#include "base/err.h"
#include "base/text.h"
#include "base/when.h"
#include "cli/history/history.h"
#include "facts/cells.h"
#include "export/page.h"
#include "fabric/fabric.h"

/* Without --step: approximate number of points, or one per sweep; rows of a table. */
enum { POINTS = 200, ROWS = 12, PLOT_LINES = 12 };

enum {
	TIME, UNTIL, SUBJECT, NODE_GUID, NODE, PORT, COUNTER, UNIT, MIN, MEAN, MAX, TOTAL, AT_LEAST, WINDOW, SAMPLES,
	PORTS, SOURCE, COLUMN_COUNT,
};

static const struct column point_columns[COLUMN_COUNT] = {
	[TIME] = { .key = "time", .title = "TIME", .kind = COLUMN_TIME },
	[UNTIL] = { .key = "until", .kind = COLUMN_TIME },
	[SUBJECT] = { .key = "subject", .kind = COLUMN_TEXT },
	CELLS_NODE_COLUMNS(NODE_GUID),
	[COUNTER] = { .key = "counter", .kind = COLUMN_TEXT },
	[UNIT] = { .key = "unit", .kind = COLUMN_TEXT },
	[MIN] = { .key = "min", .title = "MIN", .kind = COLUMN_REAL, .measured = true, .priority = 3 },
	[MEAN] = { .key = "mean", .title = "MEAN", .kind = COLUMN_REAL, .measured = true },
	[MAX] = { .key = "max", .title = "MAX", .kind = COLUMN_REAL, .measured = true, .priority = 1 },
	[TOTAL] = { .key = "total", .title = "TOTAL", .kind = COLUMN_INTEGER, .measured = true, .priority = 2 },
	[AT_LEAST] = { .key = "at_least", .kind = COLUMN_BOOL },
	[WINDOW] = { .key = "window_s", .kind = COLUMN_REAL },
	[SAMPLES] = { .key = "samples", .title = "READINGS", .kind = COLUMN_INTEGER, .priority = 4 },
	[PORTS] = { .key = "ports", .kind = COLUMN_INTEGER },
	[SOURCE] = { .key = "source", .kind = COLUMN_TEXT },
};

/* State while one series is read. */
struct reading_one {
	struct history *history;
	const struct history_subject *subject;
	struct series fine[HISTORY_METRICS_MOST], coarse[HISTORY_METRICS_MOST];
	bool coarse_too;           /* else a table has one row per point */
	size_t pieces[HISTORY_SOURCE_COUNT];
	bool any;                  /* has samples */
};

/* Steps of points and of table rows; 0: one per sweep. */
static void choose_steps(const struct history *history, size_t ports, int64_t *ret_fine_us, int64_t *ret_coarse_us)
{
	int64_t span_us = history->until_us - history->since_us;
	int64_t sweeps = history->range.until - history->range.after;

	*ret_fine_us = *ret_coarse_us = history->step_us;
	if (history->step_us)
		return;
	*ret_fine_us = history_step_us(&history->range, ports, span_us, POINTS);
	*ret_coarse_us = sweeps <= ROWS ? 0 : series_round_span(span_us / ROWS);
	if (*ret_coarse_us && *ret_coarse_us < *ret_fine_us)
		*ret_coarse_us = *ret_fine_us;
}

static int prepare(struct reading_one *one, int64_t fine_us, int64_t coarse_us, struct error *err)
{
	const struct history *history = one->history;
	int64_t zone_us = when_zone_us(history->until_us);
	int code = 0;

	one->coarse_too = history->options.format == RESULT_TABLE && coarse_us != fine_us;
	for (size_t i = 0; code == 0 && i < history->metric_count; i++) {
		code = series_init(&one->fine[i], &history->metrics[i], one->subject->port_count, history->since_us,
				   history->until_us, fine_us, zone_us, err);
		if (code == 0 && one->coarse_too)
			code = series_init(&one->coarse[i], &history->metrics[i], one->subject->port_count,
					   history->since_us, history->until_us, coarse_us, zone_us, err);
	}
	return code;
}

static void done(struct reading_one *one)
{
	for (size_t i = 0; i < one->history->metric_count; i++) {
		series_done(&one->fine[i]);
		series_done(&one->coarse[i]);
	}
}

static int read_one(struct reading_one *one, int64_t fine_us, int64_t coarse_us, struct error *err)
{
	struct history *history = one->history;
	struct series *all[2 * HISTORY_METRICS_MOST];
	struct history_series query = {
		.range = &history->range, .longest_us = fine_us / 2, .series = all, .damage = &history->damage,
	};
	int code = prepare(one, fine_us, coarse_us, err);

	for (size_t i = 0; i < history->metric_count; i++) {
		all[query.series_count++] = &one->fine[i];
		if (one->coarse_too)
			all[query.series_count++] = &one->coarse[i];
	}
	if (code == 0)
		code = history_subject_read(&history->moment, one->subject, &query, err);
	memcpy(one->pieces, query.pieces, sizeof(one->pieces));
	one->any = query.any;
	return code;
}

static void put_source(struct result *result, unsigned tags)
{
	struct text text = { 0 };

	for (int i = 0; i < HISTORY_SOURCE_COUNT; i++)
		if (tags & 1u << i)
			text_appendf(&text, "%s%s", text.len ? ", " : "",
				     history_source_name((enum history_source)i));
	if (*result_chars(result, &text))
		result_text(result, SOURCE, text_chars(&text));
	text_done(&text);
}

static void put_subject(struct result *result, const struct history *history, const struct history_subject *subject,
			const struct metric *metric)
{
	result_text(result, SUBJECT, subject->name);
	if (subject->single)
		cells_port(result, NODE_GUID, history->moment.fabric, subject->ports[0]);
	result_text(result, COUNTER, metric->key);
	result_text(result, UNIT, metric->unit);
}

static void put_value(struct result *result, size_t column, const struct metric *metric, double value, bool at_least)
{
	struct measure measure = measure_of(value, !at_least);
	char shown[METRIC_VALUE_SIZE];

	if (isnan(measure.value))
		return;
	result_measure(result, column, measure);
	result_show(result, column, metric_format_value(metric, value, shown, sizeof(shown)), STYLE_PLAIN);
}

static void put_step(struct result *result, const struct metric *metric, const struct series_step *step)
{
	char number[METRIC_VALUE_SIZE], span[WHEN_SIZE];

	result_integer(result, TIME, step->from_us);
	result_integer(result, UNTIL, step->until_us);
	put_value(result, MIN, metric, step->low, step->at_least);
	put_value(result, MEAN, metric, step->mean, step->at_least);
	put_value(result, MAX, metric, step->high, step->at_least);
	if (step->has_total && (step->total || !step->at_least)) {
		result_unsigned(result, TOTAL, step->total);
		result_show(result, TOTAL, metric_format_total(metric, step->total, number, sizeof(number)),
			    STYLE_PLAIN);
		if (step->at_least)
			result_at_least(result, TOTAL);
	}
	if (step->samples)
		result_bool(result, AT_LEAST, step->at_least);
	result_integer(result, SAMPLES, step->samples);
	if (step->ports) {
		result_real(result, WINDOW, (double)step->window_us / US_PER_S);
		/* A delta that covers earlier steps too. */
		if (step->window_us >= 2 * (step->until_us - step->from_us)) {
			snprintf(number, sizeof(number), "%lld over %s", (long long)step->samples,
				 when_format_span(step->window_us, span));
			result_show(result, SAMPLES, number, STYLE_PLAIN);
		}
	}
	result_integer(result, PORTS, (int64_t)step->ports);
	put_source(result, step->tags);
	result_end_row(result);
}

static void put_points(struct result *result, const struct history *history, const struct history_subject *subject,
		       const struct series *series)
{
	for (size_t i = 0; i < series->count; i++) {
		put_subject(result, history, subject, &series->metric);
		put_step(result, &series->metric, &series->steps[i]);
	}
}

/* The sources of the points: "raw", "chunk sums, raw". */
static void append_sources(const struct reading_one *one, struct text *text)
{
	const char *comma = "";

	for (int i = HISTORY_SOURCE_COUNT; i-- > 0;) {
		if (!one->pieces[i])
			continue;
		text_appendf(text, "%s%s", comma, history_source_name((enum history_source)i));
		comma = ", ";
	}
}

static bool has_bounds(const struct series *series)
{
	bool any = false;

	for (size_t i = 0; i < series->count; i++)
		any |= series->steps[i].at_least;
	return any;
}

/* One metric of a subject: heading, plot on terminals, and table. */
struct section {
	const struct reading_one *one;
	const struct series *rows;
	struct page_series line;
};

static void put_rows(struct result *result, const void *ctx)
{
	const struct section *section = ctx;

	put_points(result, section->one->history, section->one->subject, section->rows);
}

/* "leaf01/12  rcv_bytes  rows of 5m00s, from raw", and the window on a separate line. */
static void add_heading(const struct reading_one *one, const struct series *fine, const struct series *rows,
			bool plotted, struct page *page)
{
	const struct history *history = one->history;
	char from[WHEN_SIZE], until[WHEN_SIZE], span[WHEN_SIZE];
	struct text text = { 0 };

	text_append(&text, one->subject->name);
	if (one->subject->port_count > 1)
		text_appendf(&text, " (sum of %zu ports)", one->subject->port_count);
	text_appendf(&text, "  %s  ", fine->metric.key);
	if (rows->step_us)
		text_appendf(&text, "rows of %s, from ", when_format_span(rows->step_us, span));
	else
		text_append(&text, "one row per sweep, from ");
	append_sources(one, &text);
	page_add(page, &(struct page_section){ .kind = PAGE_NOTE, .space = SPACE_LINE,
					       .note = page_keep(page, &text) });
	text_appendf(&text, "%s to %s%s", when_format_local(history->since_us, from),
		     when_format_local(history->until_us, until), !plotted ? "" :
		     has_bounds(fine) ? "  (bars: mean, dots: largest, +: a lower bound)" :
					"  (bars: mean, dots: largest)");
	page_add(page, &(struct page_section){ .kind = PAGE_NOTE, .note = page_keep(page, &text) });
}

static void add_metric(const struct reading_one *one, size_t index, bool plotted, struct page *page)
{
	const struct series *fine = &one->fine[index];
	struct section *section = page_alloc(page, 1, sizeof(*section));
	bool unknown = series_is_unknown(fine);

	if (!section)
		return;
	*section = (struct section){ one, one->coarse_too ? &one->coarse[index] : fine,
				     { one->subject->name, fine->steps, fine->count } };
	add_heading(one, fine, section->rows, plotted && !unknown, page);
	if (series_is_reset(fine)) {
		page_add_note(page, 0, false, "unknown: the counters were reset, and have counted nothing "
			      "since their reset");
		return;
	}
	if (unknown) {
		page_add_note(page, 0, false, "unknown: the device does not support this counter%s",
			      one->subject->port_count > 1 ? " (nor do the other devices)" : "");
		return;
	}
	if (plotted)
		page_add(page, &(struct page_section){ .kind = PAGE_LINES, .space = SPACE_NONE, .lines = {
			.series = &section->line, .series_count = 1, .from_us = one->history->since_us,
			.until_us = one->history->until_us, .metric = &fine->metric, .height = PLOT_LINES } });
	page_add(page, &(struct page_section){ .kind = PAGE_TABLE, .space = SPACE_NONE,
					       .table = { point_columns, COLUMN_COUNT, put_rows, section } });
}

/* A page for each subject: with thousands of them, only one is in memory. */
static int print_text(const struct reading_one *one, bool first, struct error *err)
{
	struct result_options output = options_result(&one->history->options);
	struct page_options how = page_options_of(&output);
	struct page *page = page_create(one->subject->name);
	int code;

	how.ascii = one->history->ascii || strcmp(nl_langinfo(CODESET), "UTF-8") != 0;
	for (size_t i = 0; i < one->history->metric_count; i++)
		add_metric(one, i, output.width, page);
	if (!first)
		fputc('\n', one->history->options.out);
	code = page_render(page, one->history->options.out, &how, err);
	page_destroy(page);
	return code;
}

static int show(const struct reading_one *one, struct result *result, bool first, struct error *err)
{
	if (one->history->options.format == RESULT_TABLE)
		return print_text(one, first, err);
	for (size_t i = 0; i < one->history->metric_count; i++)
		put_points(result, one->history, one->subject, &one->fine[i]);
	return 0;
}

int history_series(struct history *history, const struct subjects *subjects, struct error *err)
{
	struct result_options output = options_result(&history->options);
	struct result *result = NULL;
	int64_t fine_us, coarse_us;
	size_t ports = 0;
	int code = 0;

	for (size_t i = 0; i < subjects->count; i++)
		ports += subjects->items[i].port_count;
	choose_steps(history, ports, &fine_us, &coarse_us);
	for (size_t i = 0; code == 0 && i < subjects->count; i++) {
		struct reading_one one = { .history = history, .subject = &subjects->items[i] };

		code = read_one(&one, fine_us, coarse_us, err);
		/* A single series without samples is an error, before any output. */
		if (code == 0 && !one.any && subjects->count == 1)
			code = history_nothing(history, one.subject, err);
		if (code == 0 && i == 0 && output.format != RESULT_TABLE)
			result = result_create(history->options.out, &output, point_columns, COLUMN_COUNT);
		if (code == 0)
			code = show(&one, result, i == 0, err);
		done(&one);
	}
	return output.format == RESULT_TABLE ? code : output_end(result, code, err);
}
