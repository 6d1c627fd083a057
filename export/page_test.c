/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* One page in each rendering. The pages of HTML are also left as NAME.html. */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "analysis/metric.h"
#include "analysis/series.h"
#include "base/err.h"
#include "base/text.h"
#include "base/unit_test.h"
#include "export/page.h"
#include "export/test_hostile.h"

enum { NAME, ERRORS, COLUMNS };

static const struct column columns[COLUMNS] = {
	[NAME] = { .key = "name", .title = "NAME", .kind = COLUMN_TEXT },
	[ERRORS] = { .key = "errors", .title = "ERRORS", .kind = COLUMN_INTEGER },
};

/* Two ports in data, in other renderings the one with errors. */
static void put_ports(struct result *result, const void *ctx)
{
	(void)ctx;
	if (result_rendering(result) & (PAGE_JSON | PAGE_CSV)) {
		result_text(result, NAME, "leaf01/1");
		result_integer(result, ERRORS, 0);
		result_end_row(result);
	}
	result_text(result, NAME, "leaf01/2");
	result_integer(result, ERRORS, 7);
	result_show(result, ERRORS, NULL, STYLE_WARNING);
	result_end_row(result);
	result_note(result, "standing out: 1 of 2 ports");
}

static void put_nothing(struct result *result, const void *ctx)
{
	result_none(result, "%s", (const char *)ctx);
}

static void put_failure(struct result *result, const void *ctx)
{
	(void)ctx;
	err_set(result_error(result), ERR_IO, "the disk is gone");
}

static struct page *make_page(void)
{
	static const struct page_sign signs[] = {
		{ .state = PAGE_WARNING, .text = "one" }, { .state = PAGE_INFO, .text = "two" },
		{ .state = PAGE_INFO, .text = "three" },
	};
	static const struct page_field fields[] = {
		{ .name = "time", .value = "10m0s", .note = "14:00 to 14:10" }, { .name = "hosts", .value = "16" },
	};
	static const struct page_item items[] = {
		{ .anchor = "f1", .style = STYLE_CRITICAL, .word = "CRITICAL", .name = "leaf01/2",
		  .about = "symbol-errors",
		  .lines = { { "7 errors", false }, { "since 14:00", true }, { "", false }, { "> replace it", false } },
		  .folded_title = "Evidence", .folded = "errors 7", .command = "ibwire history leaf01/2" },
	};
	struct page *page = page_create("A <page>");

	page_add(page, &(struct page_section){ .kind = PAGE_VERDICT, .state = PAGE_WARNING, .verdict = {
		.subject = "job 17", .heading = "Job 17", .detail = "running", .sentence = "7 errors", .signs = signs,
		.sign_count = 3, .text_most = 2 } });
	page_add(page, &(struct page_section){ .kind = PAGE_FIELDS, .fields = { fields, 2 } });
	page_add(page, &(struct page_section){ .kind = PAGE_CARD, .title = "Ports" });
	page_add(page, &(struct page_section){ .kind = PAGE_TABLE, .key = "ports", .title = "All ports", .about = "1 h",
					       .table = { columns, COLUMNS, put_ports, NULL } });
	page_close(page);
	page_add(page, &(struct page_section){ .kind = PAGE_TABLE, .in = PAGE_TEXT | PAGE_JSON | PAGE_HTML,
					       .key = "events", .title = "Events",
					       .table = { columns, COLUMNS, put_nothing, "none in the window" } });
	page_add(page, &(struct page_section){ .kind = PAGE_RECORD, .in = PAGE_JSON, .key = "first",
					       .table = { columns, COLUMNS, put_ports, NULL } });
	page_add(page, &(struct page_section){ .kind = PAGE_ITEMS, .items = { .list = items, .count = 1 } });
	page_add_note(page, PAGE_TEXT | PAGE_HTML, true, "%d more", 3);
	return page;
}

static char *render(const struct page *page, enum page_target target, unsigned width)
{
	const struct page_options options = { .target = target, .notes = true, .width = width };
	char *chars = NULL;
	size_t size;
	FILE *stream = open_memstream(&chars, &size);

	assert_non_null(stream);
	assert_int_equal(page_render(page, stream, &options, NULL), 0);
	assert_int_equal(fclose(stream), 0);
	return chars;
}

static void keep_file(const char *chars, const char *name)
{
	FILE *file = fopen(name, "we");

	assert_non_null(file);
	assert_true(fputs(chars, file) >= 0);
	assert_int_equal(fclose(file), 0);
}

TEST(text_has_what_stands_out)
{
	struct page *page = make_page();
	char *chars = render(page, PAGE_TEXT, 0);

	assert_string_equal(chars,
			    "job 17: 7 errors\n"
			    "  - one\n"
			    "  - and 2 more: --all\n"
			    "\n"
			    "time      10m0s; 14:00 to 14:10\n"
			    "hosts     16\n"
			    "\n"
			    "ALL PORTS (1 h)\n"
			    "NAME      ERRORS\n"
			    "leaf01/2       7\n"
			    "standing out: 1 of 2 ports\n"
			    "\n"
			    "EVENTS\n"
			    "none in the window\n"
			    "\n"
			    "CRITICAL  leaf01/2  symbol-errors\n"
			    "          7 errors\n"
			    "          since 14:00\n"
			    "          > replace it\n"
			    "\n"
			    "3 more\n");
	free(chars);
	page_destroy(page);
}

TEST(data_has_all_rows_of_the_sections_with_a_key)
{
	struct page *page = make_page();
	char *json = render(page, PAGE_JSON, 0), *csv = render(page, PAGE_CSV, 0);

	assert_string_equal(json,
			    "{\"ports\": [\n"
			    "{\"name\": \"leaf01/1\", \"errors\": 0},\n"
			    "{\"name\": \"leaf01/2\", \"errors\": 7}\n"
			    "]\n"
			    ",\n\"events\": []\n"
			    ",\n\"first\": {\n  \"name\": \"leaf01/1\",\n  \"errors\": 0\n}{\n"
			    "  \"name\": \"leaf01/2\",\n  \"errors\": 7\n}\n"
			    "}\n");
	assert_string_equal(csv, "name,errors\r\nleaf01/1,0\r\nleaf01/2,7\r\n");
	free(json);
	free(csv);
	page_destroy(page);
}

/* A list of checks, and notes with a state: the text of a terminal differs in escape sequences only. */
TEST(checks_and_notes_have_the_same_text_in_colour)
{
	static const struct page_sign checks[] = {
		{ PAGE_CRITICAL, "the limit is 64 kB", "fail", "memlock", "set it to unlimited" },
		{ PAGE_GOOD, "one port", "pass", "hca", NULL },
	};
	const struct page_options plain = { .target = PAGE_TEXT, .width = 40 };
	struct page_options color = plain;
	struct page *page = page_create("Checks");
	char *texts[2] = { NULL }, *to;
	size_t size;

	color.color = true;
	page_add(page, &(struct page_section){ .kind = PAGE_SIGNS, .signs = { checks, 2 } });
	page_add(page, &(struct page_section){ .kind = PAGE_NOTE, .space = SPACE_NONE, .state = PAGE_WARNING,
					       .note = "1 passed" });
	page_add(page, &(struct page_section){ .kind = PAGE_NOTE, .space = SPACE_LINE, .indent = 2,
					       .state = PAGE_WARNING,
					       .note = "a sentence that is longer than a line" });
	for (int i = 0; i < 2; i++) {
		FILE *stream = open_memstream(&texts[i], &size);

		assert_non_null(stream);
		assert_int_equal(page_render(page, stream, i ? &color : &plain, NULL), 0);
		assert_int_equal(fclose(stream), 0);
	}
	assert_string_equal(texts[0],
			    "fail  memlock       the limit is 64 kB\n"
			    "                    fix: set it to\n"
			    "                         unlimited\n"
			    "pass  hca           one port\n"
			    "1 passed\n"
			    "\n"
			    "  a sentence that is longer than a line\n");
	to = texts[1];
	for (const char *from = texts[1]; *from; from++)
		if (*from == '\033')
			from += strcspn(from, "m");
		else
			*to++ = *from;
	*to = '\0';
	assert_string_equal(texts[1], texts[0]);
	free(texts[0]);
	free(texts[1]);
	page_destroy(page);
}

TEST(html_has_signs_and_groups)
{
	struct page *page = make_page();
	char *html = render(page, PAGE_HTML, 0);

	assert_non_null(strstr(html, "<title>A &lt;page&gt;</title>"));
	assert_non_null(strstr(html, "<section class=\"card verdict warning\">"));
	assert_non_null(strstr(html, "<h1>Job 17<span class=\"soft\"> \u00b7 running</span>"));
	assert_non_null(strstr(html, "<h2>Ports</h2>\n<h3>All ports (1 h)</h3>\n<table>"));
	assert_non_null(strstr(html, "<td class=\"warning number\">\u25b2 7</td>"));
	assert_null(strstr(html, "leaf01/1"));
	assert_non_null(strstr(html, "<h2>Events</h2>\n<p>none in the window</p>"));
	assert_non_null(strstr(html, "<li id=\"f1\"><p><strong class=\"critical\">\u2716 "));
	assert_non_null(strstr(html, "<p class=\"soft\">3 more</p>"));
	keep_file(html, "sections.html");
	free(html);
	page_destroy(page);
}

static const char *format(double value, char *ret, size_t size)
{
	snprintf(ret, size, "%.1f GB", value);
	return ret;
}

/* Values over time, per host, and per pair. */
static struct page *make_figures(const char *name)
{
	enum { STEPS = 30 };
	static struct series_step steps[STEPS];
	static const double values[] = { 10, NAN, 45, 100 };
	static struct metric metric;
	static const char *names[4], *spines[] = { "spine01", "spine02" };
	static struct page_series series[1];
	static struct page_bar bars[2];
	struct page *page = page_create("Figures");

	metric_find("bytes", &metric);
	for (int i = 0; i < STEPS; i++)
		steps[i] = (struct series_step){ .from_us = i * INT64_C(1000000),
						 .until_us = (i + 1) * INT64_C(1000000),
						 .mean = i == 7 ? NAN : i * 1e9 };
	names[0] = "leaf01";
	names[1] = name;
	series[0] = (struct page_series){ name, steps, STEPS };
	bars[0] = (struct page_bar){ name, 20, PAGE_WARNING };
	bars[1] = (struct page_bar){ "node02", NAN, PAGE_PLAIN };
	page_add(page, &(struct page_section){ .kind = PAGE_LINES, .lines = {
		.title = "Rate", .series = series, .series_count = 1, .until_us = STEPS * INT64_C(1000000),
		.metric = &metric } });
	page_add(page, &(struct page_section){ .kind = PAGE_BARS, .bars = {
		.title = "Bytes per host", .bars = bars, .count = 2, .format = format, .mean = NAN } });
	page_add(page, &(struct page_section){ .kind = PAGE_MATRIX, .heat = {
		.title = "Load", .row_names = names, .column_names = spines, .rows = 2, .columns = 2,
		.values = values } });
	return page;
}

TEST(figures_are_plots_bars_and_numbers_in_text)
{
	struct page *page = make_figures("leaf02");
	char *chars = render(page, PAGE_TEXT, 60), *bars;

	assert_non_null(strstr(chars, "Rate: leaf02\n"));
	assert_non_null(strstr(chars, "Gb/s"));
	bars = strstr(chars, "Bytes per host\n");
	assert_non_null(bars);
	assert_non_null(strstr(bars, "leaf02  20.0 GB  ########################################\n"));
	assert_non_null(strstr(bars, "node02  unknown"));
	assert_non_null(strstr(bars, "        spine01  spine02\n"
				     "leaf01       10        \u00b7\n"
				     "leaf02       45      100\n"));
	free(chars);
	page_destroy(page);
}

TEST(hostile_names_break_no_rendering)
{
	struct text name = { 0 };

	for (int i = 0; i < 50; i++) {
		struct page *page;
		char *html, *chars;

		hostile_text(&name);
		page = make_figures(text_chars(&name));
		html = render(page, PAGE_HTML, 0);
		chars = render(page, PAGE_TEXT, 80);
		hostile_assert_none(html, strlen(html), "\n");
		hostile_assert_none(chars, strlen(chars), "\n");
		keep_file(html, "hostile-figures.html");
		free(html);
		free(chars);
		page_destroy(page);
	}
	text_done(&name);
}

TEST(the_error_of_a_table_is_that_of_the_page)
{
	static const enum page_target targets[] = { PAGE_TEXT, PAGE_JSON, PAGE_HTML };
	struct page *page = page_create("x");
	FILE *null = fopen("/dev/null", "we");

	assert_non_null(null);
	page_add(page, &(struct page_section){ .kind = PAGE_TABLE, .key = "a",
					       .table = { columns, COLUMNS, put_failure, NULL } });
	for (size_t i = 0; i < sizeof(targets) / sizeof(*targets); i++) {
		const struct page_options options = { .target = targets[i] };
		struct error err = { 0 };

		assert_int_equal(page_render(page, null, &options, &err), ERR_IO);
		assert_string_equal(err.text, "the disk is gone");
	}
	fclose(null);
	page_destroy(page);
}

TEST(without_memory_there_is_an_error)
{
	const struct page_options options = { .target = PAGE_TEXT };

	page_add_note(NULL, 0, false, "x");
	page_close(NULL);
	assert_string_equal(page_print(NULL, "x"), "");
	assert_int_equal(page_render(NULL, stdout, &options, NULL), ERR_NOMEM);
	page_destroy(NULL);
}

TEST(plots_of_one_section_have_the_same_axis)
{
	static const struct series_step peak = { .until_us = INT64_C(60000000), .mean = 1e9, .high = 90e9 };
	static const struct series_step even = { .until_us = INT64_C(60000000), .mean = 2e9, .high = 2e9 };
	const struct page_series series[] = { { "peak", &peak, 1 }, { "even", &even, 1 } };
	struct metric metric;
	const struct page_lines lines = { .title = "Rate", .series = series, .series_count = 2,
					  .until_us = INT64_C(60000000), .metric = &metric };
	struct text plots[2] = { 0 };

	metric_find("bytes", &metric);
	for (size_t i = 0; i < 2; i++) {
		assert_int_equal(page_plot(&lines, i, 60, true, &plots[i]), 0);
		/* The label of the top. */
		assert_true(strspn(text_chars(&plots[i]), " ") < 10);
	}
	assert_memory_equal(text_chars(&plots[0]), text_chars(&plots[1]), 10);
	text_done(&plots[0]);
	text_done(&plots[1]);
}
