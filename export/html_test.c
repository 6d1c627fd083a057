/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* Pages of HTML: escaping, and figures of odd data. The page of each test is also left as NAME.html. */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>

#include "analysis/series.h"
#include "base/text.h"
#include "base/unit_test.h"
#include "export/html.h"
#include "export/test_hostile.h"

#define FIRST_US INT64_C(1795430000000000)

enum { STEP_US = 10000000, STEPS = 60, HOSTS = 128, LEAVES = 96, SPINES = 48 };

static const char *format(double value, char *ret, size_t size)
{
	snprintf(ret, size, "%.3g GB", value);
	return ret;
}

/* The Python test parses the files as XML and opens them in a browser. */
static void keep(const struct text *page, const char *name)
{
	FILE *file = fopen(name, "we");

	assert_non_null(file);
	assert_false(text_failed(page));
	assert_int_equal(fwrite(page->chars, 1, page->len, file), page->len);
	assert_int_equal(fclose(file), 0);
}

static size_t count_of(const char *chars, const char *part)
{
	size_t count = 0;

	for (; (chars = strstr(chars, part)); chars += strlen(part))
		count++;
	return count;
}

TEST(markup_in_text_is_escaped)
{
	struct text page = { 0 };

	html_escape(&page, "<script>alert(\"1\")</script> & 'x' 5 %");
	assert_string_equal(text_chars(&page),
			    "&lt;script&gt;alert(&quot;1&quot;)&lt;/script&gt; &amp; &#39;x&#39; 5\u00a0%");
	text_done(&page);
}

TEST(controls_and_characters_that_xml_forbids_are_escaped)
{
	struct text page = { 0 };

	html_escape(&page, "a\033[31m\n\xe2\x80\xae\xff\xef\xbf\xbf\xef\xbf\xbd");
	assert_string_equal(text_chars(&page),
			    "a\\x1b[31m\\x0a\\xe2\\x80\\xae\\xff\\xef\\xbf\\xbf\xef\xbf\xbd");
	text_clear(&page);
	html_escape(&page, NULL);
	assert_string_equal(text_chars(&page), "");
	text_done(&page);
}

static void append_lines(struct text *page, char names[][64], size_t count, size_t points)
{
	struct page_series *series = calloc(count + 1, sizeof(*series));
	struct series_step *step = calloc(count * points + 1, sizeof(*step));
	const struct page_mark marks[] = { { FIRST_US + 5 * STEP_US, names[0], names[1] }, { FIRST_US * 2, "", "" } };
	struct metric metric;

	assert_non_null(series);
	assert_true(metric_find("xmit_bytes", &metric));
	assert_non_null(step);
	for (size_t i = 0; i < count; i++)
		series[i] = (struct page_series){ names[i], &step[i * points], points };
	for (size_t i = 0; i < count * points; i++) {
		size_t at = i % points;
		int64_t from_us = FIRST_US + (int64_t)at * STEP_US;

		step[i] = (struct series_step){ .from_us = from_us, .until_us = from_us + STEP_US,
						.mean = at % 7 == 3 ? NAN : (double)(at % 9 + i / points) };
	}
	html_lines(page, &(struct page_lines){
		.title = names[0], .series = series, .series_count = count, .from_us = FIRST_US,
		.until_us = FIRST_US + STEPS * INT64_C(1) * STEP_US, .marks = marks, .mark_count = 2, .metric = &metric,
	});
	free(series);
	free(step);
}

static void append_heat(struct text *page, char names[][64], size_t rows, size_t columns, size_t missing)
{
	double *values = calloc(rows * columns, sizeof(*values));
	const char **list = calloc(rows + columns, sizeof(*list));
	struct page_place *places = calloc(rows * columns, sizeof(*places));

	assert_non_null(values);
	assert_non_null(places);
	assert_non_null(list);
	for (size_t i = 0; i < rows + columns; i++)
		list[i] = names[i % HOSTS];
	for (size_t i = 0; i < rows * columns; i++)
		values[i] = missing && i % missing == 0 ? NAN : (double)(i % 11);
	html_heat(page, &(struct page_heat){ .title = names[1], .row_names = list, .column_names = list + rows,
					     .rows = rows, .columns = columns, .values = values, .format = format });
	html_matrix(page, &(struct page_heat){ .title = names[1], .row_names = list, .column_names = list + rows,
					       .rows = rows, .columns = columns, .values = values }, NULL);
	for (size_t i = 0; i < rows * columns; i++)
		places[i] = (struct page_place){ .id = i, .number = i % 3, .problem = i % 5 ? NULL : names[i % HOSTS] };
	html_matrix(page, &(struct page_heat){ .title = names[1], .row_names = list, .column_names = list + rows,
					       .rows = rows, .columns = columns, .values = values,
					       .places = places }, "report?subject=");
	free(places);
	free(values);
	free(list);
}

static void append_bars(struct text *page, char names[][64], size_t count)
{
	struct page_bar bars[HOSTS];

	for (size_t i = 0; i < count; i++)
		bars[i] = (struct page_bar){ names[i], i % 9 == 4 ? NAN : (double)(i % 5), i % PAGE_STATES };
	html_bars(page, &(struct page_bars){ names[2], bars, count, format, 2.5 });
}

/* A page with all figures in several sizes. */
static void fill_page(struct text *page, char names[][64])
{
	static const struct html_column columns[] = { { "a <b>", false }, { "b", true } };

	html_begin(page, names[0]);
	html_element(page, "p", "soft", "%s", names[1]);
	html_table_begin(page, columns, 2);
	for (size_t i = 0; i < 5; i++) {
		html_row(page);
		html_cell_begin(page, &columns[0], (enum page_state)i);
		html_escape(page, names[i]);
		text_append(page, "</td>");
		html_cell_begin(page, &columns[1], PAGE_PLAIN);
		html_link_begin(page, "report?subject=", i, (unsigned)i);
		html_escapef(page, "%zu", i);
		text_append(page, "</a></td>");
		html_row_end(page);
	}
	html_table_end(page);
	append_lines(page, names, 8, STEPS);
	append_lines(page, names, 40, 2);
	append_lines(page, names, 1, 1);
	append_lines(page, names, 0, 0);
	append_bars(page, names, 1);
	append_bars(page, names, HTML_BARS_NAMED);
	append_bars(page, names, HOSTS);
	append_heat(page, names, 4, 4, 5);
	append_heat(page, names, LEAVES, SPINES, 0);
	append_heat(page, names, 1, 2, 1);
	html_end(page);
}

TEST(figures_name_every_series_and_have_no_invalid_number)
{
	static char names[HOSTS][64];
	struct text page = { 0 };

	for (size_t i = 0; i < HOSTS; i++)
		snprintf(names[i], sizeof(names[i]), "node%03zu", i);
	fill_page(&page, names);
	assert_int_equal(count_of(text_chars(&page), "class=\"curve s0\" d="), 2 * 3);
	assert_int_equal(count_of(text_chars(&page), ">node007</text>"), 2 + 1 + 2);
	/* Numbers of the matrix, and what it has for an unknown value. */
	assert_int_equal(count_of(text_chars(&page), "<td>\u00b7</td>"), 4 + 2);
	assert_true(count_of(text_chars(&page), "<td class=\"h0\">10</td>") > 1);
	assert_null(strstr(text_chars(&page), "nan"));
	assert_null(strstr(text_chars(&page), "inf "));
	keep(&page, "figures.html");
	text_done(&page);
}

TEST(a_page_of_hostile_names_is_inert)
{
	static char names[HOSTS][64];
	struct text page = { 0 }, name = { 0 };

	for (size_t i = 0; i < HOSTS; i++) {
		hostile_text(&name);
		snprintf(names[i], sizeof(names[i]), "%s", text_chars(&name));
	}
	memcpy(names[0], "</title><script>document.title='run'</script>", 46);
	memcpy(names[1], "\"><img src=http://192.0.2.1/x onerror=alert(1)>", 48);
	memcpy(names[2], "]]><!-- &amp; <svg onload=\"x\">", 31);
	fill_page(&page, names);
	hostile_assert_none(page.chars, page.len, "\n");
	assert_null(strstr(page.chars, "<script"));
	assert_null(strstr(page.chars, "<img"));
	assert_null(strstr(page.chars, "<!-- "));
	keep(&page, "hostile.html");
	text_done(&page);
	text_done(&name);
}
